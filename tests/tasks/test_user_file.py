"""A user's own questions: what is accepted, and how a bad row is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.tasks.grading import grade
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.splits import make_splits
from hieramas_lib.tasks.user_file import UserRow, load_user_file

CHOICE = {
    "id": "1", "kind": "choice", "prompt": "Capital of Italy?", "choices": ["Paris", "Rome"],
    "answer": "B", "subject": "geography", "level": 2,
}  # fmt: skip
MATHS = {"id": "2", "kind": "maths", "prompt": "What is 1/4 + 1/4?", "answer": r"\frac{1}{2}"}
CODE = {
    "id": "3", "kind": "code", "prompt": "Write `twice(x)`.", "entry_point": "twice",
    "tests": "def check(candidate):\n    assert candidate(4) == 8\n",
}  # fmt: skip


def jsonl(tmp_path: Path, *rows: Any) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_the_three_kinds_are_read_and_graded(tmp_path: Path) -> None:
    path = jsonl(tmp_path, CHOICE, MATHS, CODE)
    tasks = load_tasks(path)
    assert tasks == load_tasks(str(path))
    assert [task.id for task in tasks] == ["mine/1", "mine/2", "mine/3"]
    assert {task.benchmark for task in tasks} == {"mine"}
    assert [(task.subject, task.level) for task in tasks] == [
        ("geography", 2), ("general", None), ("general", None),
    ]  # fmt: skip
    right = ["Answer: B", r"\boxed{0.5}", "```python\ndef twice(x):\n    return 2 * x\n```"]
    wrong = ["Answer: A", r"\boxed{0.4}", "```python\ndef twice(x):\n    return 8 - x\n```"]
    assert all(grade(task, text).correct for task, text in zip(tasks, right, strict=True))
    assert [grade(t, text).status for t, text in zip(tasks, wrong, strict=True)] == ["wrong"] * 3


def test_csv_is_read_as_the_same_tasks(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(
        "id,kind,prompt,choices,answer,subject,level,entry_point,tests\r\n"
        '1,choice,Capital of Italy?,"[""Paris"", ""Rome""]",B,geography,2,,\r\n'
        "\r\n"
        "2,maths,What is 1/4 + 1/4?,,\\frac{1}{2},,,,\r\n"
        '3,code,Write `twice(x)`.,,,,,twice,"def check(candidate):\n    assert '
        'candidate(4) == 8\n"\r\n',
        encoding="utf-8-sig",  # as Excel writes it
        newline="",
    )
    assert load_tasks(path) == load_tasks(jsonl(tmp_path, CHOICE, MATHS, CODE))


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (CHOICE | {"answer": "C"}, "answer: a letter from A to B, not 'C'"),
        (CHOICE | {"answer": "Rome"}, "answer: a letter from A to B, not 'Rome'"),
        (CHOICE | {"answer": "AB"}, "answer: a letter"),
        (CHOICE | {"choices": ["Rome"]}, "choices: 2 to 10 are needed, there are 1"),
        (CHOICE | {"choices": ["Rome", "Rome"]}, "choices: they must differ"),
        (CHOICE | {"choices": ["Rome", " "]}, "choices: they must differ, and none be empty"),
        (CHOICE | {"choices": ["Rome", 5]}, "choices.1: "),
        (CHOICE | {"level": 6}, "level: "),
        (CHOICE | {"kind": "essay"}, "kind: "),
        (CHOICE | {"note": "?"}, "note: Extra inputs"),
        (CHOICE | {"id": ""}, "id: "),
        (CHOICE | {"tests": "x"}, "tests: only a row of kind code"),
        (MATHS | {"answer": " "}, "answer: the right expression"),
        (MATHS | {"choices": ["a", "b"]}, "choices: only a row of kind choice"),
        ({"id": "9", "kind": "maths", "answer": "1"}, "prompt: Field required"),
        (CODE | {"entry_point": "a b"}, "entry_point: the name"),
        (CODE | {"tests": "def f(: pass"}, "tests: not valid Python"),
        (CODE | {"tests": "assert twice(4) == 8"}, "tests: they must define check"),
        (CODE | {"tests": None}, "tests: a row of kind code needs it"),
        (["a", "list"], "Input should be a valid dictionary"),
    ],
)
def test_a_bad_row_is_named_by_file_line_and_field(tmp_path: Path, row: Any, field: str) -> None:
    path = jsonl(tmp_path, MATHS | {"id": "first"}, row)
    with pytest.raises(ConfigError) as caught:
        load_user_file(path)
    assert f"{path}: line 2: {field}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,kind,prompt,answers\n", "line 1: 'answers' is no field; there are id, kind, "),
        ("id,kind,id\n", "line 1: 'id' is named twice"),
        ("id,kind,prompt,answer\n1,maths,a,2\n2,maths,b\n", "line 3: row: 3 cells, "),
        ('id,kind,prompt,answer\n1,maths,"a\nb",2\n1,maths,b,2\n', "line 4: id: '1' is also"),
        ('id,kind,prompt,answer\n1,maths,"a\nb",2\n3,maths,"b\nc",\n', "line 4: answer: the"),
        ("id,kind,prompt,choices,answer\n1,choice,a,x|y,A\n", "line 2: choices: a JSON list"),
        ('id,kind,prompt,answer\n1,maths,"a,2\n', "line 2: not valid CSV: "),
        ("id,kind,prompt,answer\n", "there is no question in it"),
        ("", "there is no question in it"),
    ],
)
def test_a_bad_csv_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_user_file(path)
    assert f"{path}: {message}" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none.jsonl: cannot be read: No such file"):
        load_tasks(tmp_path / "none.jsonl")
    with pytest.raises(ConfigError, match=r"mine.txt: a name that ends in .jsonl or .csv"):
        load_tasks(tmp_path / "mine.txt")
    path = jsonl(tmp_path, MATHS)
    path.write_bytes(path.read_bytes() + b"\xff\n")
    with pytest.raises(ConfigError, match=r"mine.jsonl: line 2: not UTF-8"):
        load_tasks(path)
    path.write_text('{"id": 1\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine.jsonl: line 1: not valid JSON"):
        load_tasks(path)


def test_an_id_that_occurs_twice_is_named(tmp_path: Path) -> None:
    path = jsonl(tmp_path, MATHS, CHOICE, MATHS)
    with pytest.raises(ConfigError, match=r"line 3: id: '2' is also that of line 1"):
        load_user_file(path)


def test_an_odd_line_separator_in_a_text_ends_no_row(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    text = json.dumps(MATHS | {"prompt": "one\u2028two"}, ensure_ascii=False)
    path.write_text(f"{text}\n\n{json.dumps(CHOICE)}", encoding="utf-8")
    assert [task.prompt for task in load_user_file(path)] == ["one\u2028two", CHOICE["prompt"]]


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    assert len(load_tasks(jsonl(tmp_path, MATHS))) == 1
    assert len(load_tasks(jsonl(tmp_path, MATHS, CHOICE))) == 2


def test_splits_of_a_users_file(tmp_path: Path) -> None:
    rows = [MATHS | {"id": str(i), "prompt": f"What is {i} + {i * i}?"} for i in range(10)]
    path, splits = jsonl(tmp_path, *rows), tmp_path / "splits.json"
    with pytest.raises(ConfigError, match=r"mine.jsonl' has no default splits; make some with"):
        load_tasks(path, "test")
    make_splits(load_tasks(path), {"train": 6, "test": 4}, seed=0).save(splits)
    drawn = {name: load_tasks(path, name, splits=splits) for name in ("train", "test")}
    assert [len(tasks) for tasks in drawn.values()] == [6, 4]
    jsonl(tmp_path, *rows[1:], rows[0] | {"answer": "0"})
    with pytest.raises(ConfigError, match=r"splits.json: hash: "):
        load_tasks(path, "test", splits=splits)


def test_the_fields_are_those_of_the_readme() -> None:
    assert list(UserRow.model_fields) == [
        "id", "kind", "prompt", "choices", "answer", "subject", "level", "entry_point", "tests",
    ]  # fmt: skip
