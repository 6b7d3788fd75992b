"""A benchmark, roles and experts of one's own, by files alone."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import benchmark_source as module
from hieramas_lib.experiments.benchmark import check_plan, held_out, open_benchmark
from hieramas_lib.experiments.benchmark_source import benchmark_source, prepare
from hieramas_lib.experiments.cli import app
from hieramas_lib.experiments.records import evaluate
from hieramas_lib.learning.stage1 import Stage1Settings
from hieramas_lib.llms.layout import Header
from hieramas_lib.llms.world import load_settings
from hieramas_lib.methods.hieramas import HieraMAS, HieraMASSettings
from hieramas_lib.methods.run import run
from hieramas_lib.paths import ROOT
from hieramas_lib.tasks.duplicates import near_duplicates

EXAMPLE = ROOT / "examples" / "own_benchmark"
NAME = "examples/own_benchmark/benchmark.yaml"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A copy of the example, to change."""
    folder = tmp_path / "own"
    shutil.copytree(EXAMPLE, folder)
    return folder / "benchmark.yaml"


def change(path: Path, **fields: object) -> str:
    """Change fields of a YAML file; None takes one away. Return the path as a name."""
    content = yaml.safe_load(path.read_text(encoding="utf-8")) | fields
    kept = {name: value for name, value in content.items() if value is not None}
    path.write_text(yaml.safe_dump(kept), encoding="utf-8")
    return str(path)


def test_the_example_is_complete() -> None:
    source = benchmark_source(NAME)
    assert [len(split) for split in (source.train, source.val, source.test)] == [12, 3, 9]
    assert len(source.tasks) == 24
    assert source.subjects == ("baking", "cheese", "spices")
    assert source.roles.names == ("Baker", "Cheesemonger", "Spice Merchant", "Taster")
    assert not list(near_duplicates(source.tasks))
    assert sorted({task.gold for task in source.tasks}) == ["A", "B", "C", "D"]


def test_the_world_knows_the_roles_and_subjects_and_nothing_else_changes() -> None:
    ours, shipped = benchmark_source(NAME).settings("hard"), load_settings("hard")
    assert ours.role_fit("Baker", "baking") == shipped.fit.own
    assert ours.role_fit("Baker", "cheese") == shipped.fit.other
    assert ours.role_fit("Taster", "cheese") == 0.0
    assert ours.duty(Header("Taster", "proposer")) == "checker"
    assert ours.subjects["choice"] == ("baking", "cheese", "spices")
    same = {"roles": shipped.roles, "subjects": shipped.subjects}
    assert ours.model_copy(update=same) == shipped
    assert benchmark_source("maths").settings("hard") == shipped


def test_the_shipped_vectors_of_the_example_are_of_its_texts(own: Path) -> None:
    source = benchmark_source(NAME)
    encoder = source.encoder()
    texts = [task.prompt for task in source.tasks]
    assert all(text in encoder for text in texts)  # type: ignore[operator]
    vectors = encoder.encode(texts)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(24), abs=1e-3)


def test_a_team_is_trained_and_answers_without_network_or_code() -> None:
    world = open_benchmark(NAME, seed=0, graphs=4, width=1, decision="gemma-3-27b")
    settings = HieraMASSettings(stage1=Stage1Settings(passes=1, group=2))
    system = HieraMAS(world.space, world.llms, world.encoder, settings, 0)
    run(system.fit(world.train))
    frame = run(evaluate(system, world.test, pool=world.llms.pool))
    assert list(frame["benchmark"].unique()) == ["kitchen"]
    assert frame["task_id"].tolist() == [task.id for task in held_out(NAME)]
    assert set(frame["status"]) <= {"correct", "wrong", "unparsed", "empty"}
    assert frame["calls"].min() >= 1


def test_own_roles_on_a_shipped_benchmark(own: Path) -> None:
    name = change(own, questions="knowledge", splits=None, experts={"Baker": ["medicine"]})
    source = benchmark_source(name)
    assert source.test == benchmark_source("knowledge").test
    settings = source.settings("hard")
    assert settings.subjects == load_settings("hard").subjects
    assert settings.role_fit("Baker", "medicine") == settings.fit.own


def test_shipped_roles_on_ones_own_questions(own: Path) -> None:
    source = benchmark_source(change(own, roles=None, experts=None))
    assert source.roles == benchmark_source("knowledge").roles
    assert source.knobs == {}


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"question": "x"}, "question: Extra inputs are not permitted; the fields are questions"),
        ({"questions": None}, "questions: Field required"),
        ({"questions": "none.jsonl"}, "none.jsonl: cannot be read"),
        ({"splits": "none.json"}, "none.json is missing; draw it with `hieramas prepare"),
        ({"splits": None}, "has no default splits"),
        ({"roles": "none.yaml"}, "none.yaml"),
        ({"experts": {"Backer": ["baking"]}}, "experts: there is no role 'Backer'; there are Ba"),
        ({"experts": {"Baker": ["bread"]}}, "experts.Baker: no question has the subject 'bread'"),
        ({"vectors": "none.safetensors"}, "none.safetensors is missing; `hieramas prepare`"),
    ],
)
def test_each_fault_names_file_and_field(own: Path, fields: dict[str, object], fault: str) -> None:
    name = change(own, **fields)
    with pytest.raises(ConfigError, match=fault):
        check_plan(
            pool="simulated", benchmarks=[name], seeds=[0], llms={}, at_least_one={"width": 1}
        )


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("name: Baker", "name: Taster", "roles.yaml: .*roles: role names must be distinct"),
        ("name: Baker", "name: <Baker>", "roles.yaml: .*the name '<Baker>'"),
        ("duty: checker", "duty: chef", r"roles.yaml: roles.3.duty: Input should be 'solver'"),
        ("answer_format:", "answer:", "roles.yaml: answer_format: Field required; answer: Extra"),
    ],
)
def test_a_fault_in_the_roles_names_their_file(own: Path, old: str, new: str, fault: str) -> None:
    roles = own.parent / "roles.yaml"
    roles.write_text(roles.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(ConfigError, match=fault):
        benchmark_source(str(own))


def test_an_empty_split_is_no_split(own: Path) -> None:
    name = change(own, vectors=None)
    (own.parent / "splits.json").unlink()
    prepare(own, {"train": 4, "val": 0, "test": 4})
    with pytest.raises(ConfigError, match=r"splits.json: splits.val: .* with --val above 0"):
        benchmark_source(name)


def test_roles_for_another_kind_of_question_are_refused(own: Path) -> None:
    roles = own.parent / "roles.yaml"
    roles.write_text(roles.read_text(encoding="utf-8").replace("kind: choice", "kind: maths"))
    with pytest.raises(ConfigError, match="roles: they are for questions of kind 'maths'"):
        benchmark_source(str(own))


def test_texts_without_vectors_need_the_extra_and_the_error_says_so(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = own.parent / "kitchen.jsonl"
    questions.write_text(questions.read_text(encoding="utf-8").replace("puff up", "swell"))
    (own.parent / "splits.json").unlink()
    prepare_splits = change(own, vectors=None)
    prepare(Path(prepare_splits), {"train": 4, "val": 2, "test": 4})
    name = change(own, vectors="vectors.safetensors")
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda package: None)
    with pytest.raises(ConfigError, match=r"1 texts have none, such as 'What makes choux pastry"):
        benchmark_source(name).encoder()


def test_prepare_says_when_more_is_asked_for_than_there_is(own: Path) -> None:
    (own.parent / "splits.json").unlink(missing_ok=True)
    sizes = ["--train", "1200", "--val", "3", "--test", "9"]
    done = CliRunner().invoke(app, ["prepare", str(own), *sizes])
    assert done.exit_code == 2
    assert "1200 + 3 + 9 questions are asked for, and it has" in done.output
    assert not (own.parent / "splits.json").exists()


def test_prepare_draws_splits_once(own: Path) -> None:
    change(own, vectors=None)
    splits = own.parent / "splits.json"
    before = splits.read_bytes()
    splits.unlink()
    done = CliRunner().invoke(app, ["prepare", str(own)])
    assert done.exit_code == 2
    assert "say how many go to --train" in done.output
    sizes = ["--train", "12", "--val", "3", "--test", "9"]
    done = CliRunner().invoke(app, ["prepare", str(own), *sizes])
    assert done.exit_code == 0
    assert "12 train, 3 val, 9 test" in done.output
    assert splits.read_bytes() == before
    assert "kept" in CliRunner().invoke(app, ["prepare", str(own), *sizes]).output
