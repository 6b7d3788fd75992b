"""Parameters cells are read without a kernel, and values are checked against them."""

import json
from pathlib import Path

import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import config as subject
from hieramas_lib.experiments.config import Parameter, parse_cell, resolve, run_id

CELL = """
# Change a number and run again.
seeds = [0, 1]  # one training for each
learning_rate = 0.01  # of Adam
width = 2  # proposers of a supernode
benchmark = "maths"  # knowledge, maths or humaneval
local = True  # whether to run the local model
"""
DECLARED = parse_cell(CELL, "05_demo.ipynb")


def test_cell_is_read_in_order_with_types_and_meanings() -> None:
    assert [p.name for p in DECLARED] == ["seeds", "learning_rate", "width", "benchmark", "local"]
    assert DECLARED[0] == Parameter("seeds", [0, 1], "one training for each")
    assert DECLARED[4].default is True


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("import os", "plain assignment"),
        ("x: int = 3  # annotated", "plain assignment"),
        ("a = b = 3  # chained", "plain assignment"),
        ("Width = 3  # upper case", "lower-case"),
        ("width = 1 + 1  # computed", "literal"),
        ('name = f"run"  # f-string', "literal"),
        ("limit = None  # no type", "number, text"),
        ("width = 3", "meaning"),
        ("width = 3  # default = 3", "meaning"),
        ('name = "a#b"  # papermill cuts it', "'#'"),
        ("seeds = [0,\n  1]  # two lines", "one line"),
        ("width = ", "invalid syntax"),
    ],
)
def test_cell_outside_the_grammar_is_refused(line: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=f"demo.*{fault}"):
        parse_cell(line, "demo")


def test_a_name_given_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="twice"):
        parse_cell("a = 1  # one\na = 2  # two", "demo")


def test_defaults_and_given_values_become_typed_attributes() -> None:
    config = resolve(DECLARED, {"learning_rate": "1e-4", "seeds": [7]})
    assert config.learning_rate == 1e-4
    assert config.seeds == (7,)
    assert config.benchmark == "maths"
    assert config.plain()["seeds"] == [7]
    with pytest.raises(ValueError, match="frozen"):
        config.width = 3


def test_unknown_name_is_refused_with_the_nearest_and_all_names() -> None:
    with pytest.raises(
        ConfigError, match=r"05.*'learning_rte'.*did you mean 'learning_rate'.*width"
    ):
        resolve(DECLARED, {"learning_rte": 1}, "05")


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("seeds", "[0, 1]", r"a list \(papermill's own -p passes a list as text"),
        ("seeds", [0, "x"], "a list"),
        ("seeds", 3, "a list"),
        ("width", 2.5, "a whole number"),
        ("width", True, "a whole number"),
        ("width", None, "a whole number"),
        ("learning_rate", "fast", "a number"),
        ("benchmark", 3, "a text"),
        ("local", "maybe", "true or false"),
    ],
)
def test_wrong_type_is_refused_with_the_fix(name: str, value: object, fix: str) -> None:
    with pytest.raises(ConfigError, match=f"parameter {name} = .*Fix: give {fix}"):
        resolve(DECLARED, {name: value})


def test_messages_speak_of_lists() -> None:
    with pytest.raises(ConfigError, match=r"seeds = 3: input should be a list. Fix: give a list"):
        resolve(DECLARED, {"seeds": 3})


def test_run_id_follows_every_parameter_and_nothing_else() -> None:
    base = run_id("05_demo", resolve(DECLARED, {}))
    changes = {"seeds": [0], "learning_rate": 0.02, "width": 3, "benchmark": "x", "local": False}
    ids = {run_id("05_demo", resolve(DECLARED, {name: v})) for name, v in changes.items()}
    assert len(ids | {base, run_id("06_demo", resolve(DECLARED, {}))}) == 7
    assert base == run_id("05_demo", resolve(DECLARED, {"width": "2", "learning_rate": "1e-2"}))
    assert len(base) == 10


def test_whole_number_for_a_float_is_the_same_configuration() -> None:
    declared = (Parameter("rate", 1.0),)
    assert run_id("a", resolve(declared, {"rate": 1})) == run_id("a", resolve(declared, {}))


def test_read_parameters_finds_the_one_tagged_cell(tmp_path: Path) -> None:
    path = tmp_path / "05_demo.ipynb"
    cell = {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": [CELL]}
    path.write_text(json.dumps({"cells": [cell]}))
    assert subject.read_parameters(path) == DECLARED
    path.write_text(json.dumps({"cells": [cell, cell]}))
    with pytest.raises(ConfigError, match="2 cells are tagged"):
        subject.read_parameters(path)
    path.write_text("not json")
    with pytest.raises(ConfigError, match="not a Jupyter notebook"):
        subject.read_parameters(path)
    with pytest.raises(ConfigError, match="no such notebook"):
        subject.read_parameters(tmp_path / "06.ipynb")


@pytest.mark.parametrize(
    ("text", "fault"),
    [("", "must hold"), ("- 1", "must hold"), ("a: [1", "not valid YAML"), ("1: 2", "must hold")],
)
def test_bad_parameter_file_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "values.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"values.yaml: {fault}"):
        subject.read_values(path)


def test_yaml_float_without_a_point_reaches_a_float_parameter(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    path.write_text("learning_rate: 1e-4\nseeds: [3, 4]\n")
    assert resolve(DECLARED, subject.read_values(path)).learning_rate == 1e-4
    with pytest.raises(ConfigError, match="no such parameter file"):
        subject.read_values(tmp_path / "none.yaml")


def test_command_line_text_is_read_as_what_is_declared() -> None:
    assert subject.parse_value("[0, 1]", [5]) == [0, 1]
    assert subject.parse_value("007", "text") == "007"
    assert subject.parse_value("3", 1) == 3
    assert subject.parse_value("[", [5]) == "["
