"""Splits: sizes, no overlap, strata, and the checks on reading them."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.errors import ConfigError
from hieramas_lib.tasks import load
from hieramas_lib.tasks.load import BENCHMARKS, load_all, load_tasks
from hieramas_lib.tasks.split_file import read_splits
from hieramas_lib.tasks.splits import SIZES, UNSEEN_SUBJECTS, apportion, build_splits, template_of


def names(benchmark: str) -> tuple[str, ...]:
    return (*SIZES[benchmark], *(["unseen"] if benchmark == "knowledge" else []))


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_committed_file_is_what_the_builder_gives(benchmark: str) -> None:
    tasks = load_all(benchmark)
    assert read_splits(benchmark, tasks) == build_splits(benchmark, tasks)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_sizes_and_no_overlap(benchmark: str) -> None:
    splits = {name: load_tasks(benchmark, name) for name in names(benchmark)}
    sizes = {name: len(tasks) for name, tasks in splits.items()}
    assert sizes == SIZES[benchmark] | ({"unseen": 80} if benchmark == "knowledge" else {})
    ids = [task.id for tasks in splits.values() for task in tasks]
    prompts = {task.statement for tasks in splits.values() for task in tasks}
    assert len(ids) == len(set(ids)) == len(prompts)


def test_knowledge_has_every_seen_subject_everywhere_and_unseen_ones_nowhere_else() -> None:
    for name, low, high in (("train", 7, 8), ("val", 2, 3), ("test", 10, 10)):
        counts = Counter(task.subject for task in load_tasks("knowledge", name))
        assert len(counts) == 10 and not counts.keys() & set(UNSEEN_SUBJECTS)
        assert low <= min(counts.values()) and max(counts.values()) <= high
    unseen = Counter(task.subject for task in load_tasks("knowledge", "unseen"))
    assert unseen == dict.fromkeys(UNSEEN_SUBJECTS, 20)


def test_maths_splits_share_no_template_and_have_all_subjects_and_levels() -> None:
    templates: dict[str, str] = {}
    for name in SIZES["maths"]:
        tasks = load_tasks("maths", name)
        assert len({task.subject for task in tasks}) == 7
        assert {task.level for task in tasks} == {1, 2, 3, 4, 5}
        for task in tasks:
            assert templates.setdefault(template_of(task.id), name) == name
    assert len(templates) == 49


def test_apportion_by_hand() -> None:
    assert apportion(10, {"a": 20, "b": 20}, "s") == {"a": 5, "b": 5}
    assert apportion(4, {"a": 1, "b": 3}, "s") == {"a": 1, "b": 3}
    assert apportion(5, {"a": 10, "b": 29, "c": 1}, "s") == {"a": 1, "b": 4, "c": 0}
    with pytest.raises(ValueError, match="there are 3"):
        apportion(4, {"a": 3}, "s")


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.data())
def test_apportion_keeps_to_the_total_and_the_sizes(sizes: list[int], data: st.DataObject) -> None:
    total = data.draw(st.integers(0, sum(sizes)))
    groups = {str(k): size for k, size in enumerate(sizes)}
    counts = apportion(total, groups, "s")
    assert sum(counts.values()) == total
    for name, size in groups.items():
        assert 0 <= counts[name] <= size
        assert abs(counts[name] - total * size / sum(sizes)) < 1


def test_changed_files_are_noticed(tmp_path: Path) -> None:
    tasks = load_all("maths")
    content = json.loads(build_splits("maths", tasks).model_dump_json())
    path = tmp_path / "maths.json"

    def message(change: dict[str, object]) -> str:
        path.write_text(json.dumps(content | change), encoding="utf-8")
        with pytest.raises(ConfigError) as caught:
            read_splits("maths", tasks, path)
        return str(caught.value)

    splits = content["splits"]
    gone = message({"splits": splits | {"val": ["maths/none/0"]}})
    assert "maths.json: splits.val: 'maths/none/0'" in gone and "tasks.splits" in gone
    moved = splits | {"val": splits["val"][1:], "train": [*splits["train"], splits["val"][0]]}
    assert "maths.json: hash:" in message({"splits": moved})
    assert "maths.json: seed:" in message({"seed": "x"})
    assert "extra" in message({"note": 1}).lower()


def test_a_changed_question_is_noticed(tmp_path: Path) -> None:
    tasks = load_all("maths")
    path = tmp_path / "maths.json"
    path.write_text(build_splits("maths", tasks).model_dump_json(), encoding="utf-8")
    used = load_tasks("maths", "test")[0]
    changed = [type(t)(**{**_fields(t), "gold": "0"}) if t.id == used.id else t for t in tasks]
    with pytest.raises(ConfigError, match="hash"):
        read_splits("maths", changed, path)


def _fields(task: load.Task) -> dict[str, object]:
    return {name: getattr(task, name) for name in task.__slots__}


def test_unknown_names() -> None:
    with pytest.raises(ConfigError, match="there are knowledge, maths, humaneval"):
        load_tasks("mmlu")
    with pytest.raises(ConfigError, match="it has train, val, test"):
        load_tasks("maths", "unseen")


ROW = {
    "id": "knowledge/x/01", "subject": "x", "area": "other", "question": "Which?",
    "choices": ["1", "2", "3", "4"], "answer": "A", "level": 3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"answer": "E"}, "answer"),
        ({"level": 6}, "level"),
        ({"choices": ["1", "2", "3", "3"]}, "choices"),
        ({"choices": ["1", "2"]}, "choices"),
        ({"area": "misc"}, "area"),
        ({"note": "?"}, "note"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, change: dict[str, object], field: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n{json.dumps(ROW | change)}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"rows.jsonl: line 2: .*{field}"):
        load._read(path, load._KnowledgeRecord)


def test_an_id_that_occurs_twice_or_broken_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n" * 2, encoding="utf-8")
    with pytest.raises(ConfigError, match="line 2: id: 'knowledge/x/01' occurs twice"):
        load._read(path, load._KnowledgeRecord)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 1: not valid JSON"):
        load._read(path, load._KnowledgeRecord)


def test_knowledge_questions_are_balanced() -> None:
    tasks = load_tasks("knowledge")
    assert len(tasks) == 280
    assert set(Counter(task.subject for task in tasks).values()) == {20}
    assert max(Counter(task.gold for task in tasks).values()) <= 80
    assert len({task.prompt for task in tasks}) == 280
