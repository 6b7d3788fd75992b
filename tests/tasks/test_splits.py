"""Splits: sizes, no overlap, strata, and the checks on reading them."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.errors import ConfigError
from hieramas_lib.paths import ROOT
from hieramas_lib.tasks import load
from hieramas_lib.tasks.duplicates import near_duplicates, shingles
from hieramas_lib.tasks.load import BENCHMARKS, load_all, load_tasks
from hieramas_lib.tasks.split_file import SplitFile, content_hash, read_splits
from hieramas_lib.tasks.splits import (
    SIZES,
    UNSEEN_SUBJECTS,
    apportion,
    build_splits,
    main,
    make_splits,
    template_of,
)
from hieramas_lib.tasks.task import Task

FOLDER = ROOT / "data" / "splits"
KNOWLEDGE_UNSEEN = UNSEEN_SUBJECTS["knowledge"]
SHIPPED = [(benchmark, layout) for layout in SIZES for benchmark in BENCHMARKS]


def test_the_committed_files_are_what_the_builder_gives(tmp_path: Path) -> None:
    main(tmp_path)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(built) == 6
    assert built == {name: (FOLDER / name).read_bytes() for name in built}


@pytest.mark.parametrize(("benchmark", "layout"), SHIPPED)
def test_sizes_and_no_overlap(benchmark: str, layout: str) -> None:
    names = SIZES[layout][benchmark]
    splits = {name: load_tasks(benchmark, name, splits=layout) for name in names}
    assert {name: len(tasks) for name, tasks in splits.items()} == names
    ids = [task.id for tasks in splits.values() for task in tasks]
    prompts = {task.statement for tasks in splits.values() for task in tasks}
    assert len(ids) == len(set(ids)) == len(prompts)


@pytest.mark.parametrize(("benchmark", "layout"), SHIPPED)
def test_no_question_is_nearly_one_of_another_split(benchmark: str, layout: str) -> None:
    split_of = {
        task.id: name
        for name in SIZES[layout][benchmark]
        for task in load_tasks(benchmark, name, splits=layout)
    }
    alike = near_duplicates([task for task in load_all(benchmark) if task.id in split_of])
    # Maths problems of one template may differ in a number only; a template is in one split.
    assert [pair for pair in alike if split_of[pair[0]] != split_of[pair[1]]] == []


def test_the_papers_test_sizes() -> None:
    sizes = {name: SIZES["paper"][name]["test"] for name in BENCHMARKS}
    assert sizes == {"humaneval": 64, "maths": 90, "knowledge": 125}
    text = (FOLDER / "mmlu_redux.json").read_text(encoding="utf-8")
    redux = SplitFile.model_validate_json(text)
    assert {name: len(ids) for name, ids in redux.splits.items()} == SIZES["default"]["mmlu_redux"]
    assert (len(redux.splits["test"]), len(redux.splits["unseen"])) == (125, 25)
    assert redux.hash == content_hash(redux.splits, (), "ids") and redux.covers == "ids"


def test_knowledge_has_every_seen_subject_everywhere_and_unseen_ones_nowhere_else() -> None:
    for name, low, high in (("train", 7, 8), ("val", 2, 3), ("test", 10, 10)):
        counts = Counter(task.subject for task in load_tasks("knowledge", name))
        assert len(counts) == 10 and not counts.keys() & set(KNOWLEDGE_UNSEEN)
        assert low <= min(counts.values()) and max(counts.values()) <= high
    paper = Counter(task.subject for task in load_tasks("knowledge", "unseen", splits="paper"))
    assert paper.keys() == set(KNOWLEDGE_UNSEEN) and set(paper.values()) == {6, 7}
    unseen = Counter(task.subject for task in load_tasks("knowledge", "unseen"))
    assert unseen == dict.fromkeys(KNOWLEDGE_UNSEEN, 20)


@pytest.mark.parametrize("layout", SIZES)
def test_maths_splits_share_no_template_and_have_all_subjects_and_levels(layout: str) -> None:
    templates: dict[str, str] = {}
    for name in SIZES[layout]["maths"]:
        tasks = load_tasks("maths", name, splits=layout)
        assert len({task.subject for task in tasks}) == 7
        assert {task.level for task in tasks} == {1, 2, 3, 4, 5}
        for task in tasks:
            assert templates.setdefault(template_of(task.id), name) == name
    assert len(templates) == 49


def test_apportion_by_hand() -> None:
    assert apportion(10, {"a": 20, "b": 20}, "s") == {"a": 5, "b": 5}
    assert apportion(4, {"a": 1, "b": 3}, "s") == {"a": 1, "b": 3}
    assert apportion(5, {"a": 10, "b": 29, "c": 1}, "s") == {"a": 1, "b": 4, "c": 0}
    with pytest.raises(ConfigError, match="there are 3"):
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
    twice = message({"splits": splits | {"val": [*splits["val"], splits["test"][0]]}})
    assert "maths.json: splits.test:" in twice and "is in val too" in twice
    assert "benchmark: 'other', and 'maths'" in message({"benchmark": "other"})
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
    with pytest.raises(
        ConfigError, match=r"there are knowledge, maths, humaneval, on the hub .*gsm8k.*\.csv"
    ):
        load_tasks("mmlu")
    with pytest.raises(ConfigError, match="it has train, val, test"):
        load_tasks("maths", "unseen")


def test_unknown_split_files() -> None:
    with pytest.raises(ConfigError, match="splits: default, paper or a path"):
        load_tasks("maths", "test", splits="papers")
    with pytest.raises(ConfigError, match=r"none.json: cannot be read: No such file"):
        load_tasks("maths", "test", splits="none.json")


def question(number: int, subject: str, text: str = "") -> Task:
    words = text or f"Topic {number * 7919} and {number * 104729}"
    return Task(f"q/{number}", "q", "maths", subject, words, "1")


def test_drawing_by_hand() -> None:
    tasks = [question(i, "ab"[i % 2]) for i in range(20)]
    file = make_splits(tasks, {"train": 6, "test": 10}, seed=3)
    assert file == make_splits(tasks, {"train": 6, "test": 10}, seed=3)
    assert file.splits != make_splits(tasks, {"train": 6, "test": 10}, seed=4).splits
    subject = {task.id: task.subject for task in tasks}
    drawn = {name: Counter(subject[i] for i in ids) for name, ids in file.splits.items()}
    assert drawn == {"train": {"a": 3, "b": 3}, "test": {"a": 5, "b": 5}}
    apart = make_splits(tasks, {"train": 9, "unseen": 4}, seed=3, unseen_subjects=["b"])
    assert {name: {subject[i] for i in ids} for name, ids in apart.splits.items()} == {
        "train": {"a"}, "unseen": {"b"},
    }  # fmt: skip


def test_of_near_duplicates_only_the_first_is_drawn() -> None:
    long = "How many marbles in the bag that stands in the hall are red, if all but five are"
    tasks = [
        question(0, "a", long + "?"), question(1, "b", long.upper() + " ?!"),
        question(2, "a", long.replace("marbles", "elephants")),
    ]  # fmt: skip
    assert [pair[:2] for pair in near_duplicates(tasks)] == [("q/0", "q/1")]
    assert make_splits(tasks, {"train": 2}, seed=0).splits == {"train": ("q/0", "q/2")}
    with pytest.raises(ConfigError, match="3 tasks are asked for, there are 2"):
        make_splits(tasks, {"train": 3}, seed=0)


def test_shingles_by_hand() -> None:
    assert shingles("Ab, cd  E?") == {"ab cd", "b cd ", " cd e"}
    assert shingles("Hi") == {"hi"}
    assert shingles("3 + 4 = ?") != shingles("3 - 4 = ?")


@given(st.lists(st.text("abc ", min_size=1, max_size=30), max_size=12))
def test_no_pair_is_missed(texts: list[str]) -> None:
    tasks = [question(i, "a", text) for i, text in enumerate(texts)]
    sets = [shingles(text) for text in texts]
    for threshold in (0.5, 0.9):
        found = {pair[:2] for pair in near_duplicates(tasks, threshold)}
        assert found == {
            (f"q/{i}", f"q/{j}")
            for j in range(len(sets)) for i in range(j)
            if len(sets[i] & sets[j]) / len(sets[i] | sets[j]) > threshold
        }  # fmt: skip


def test_requests_that_cannot_be_met() -> None:
    tasks = [question(i, "a") for i in range(4)]
    for sizes, unseen, message in (
        ({"train": 5}, (), "5 tasks are asked for, there are 4"),
        ({"train": 1, "unseen": 1}, (), "needs unseen_subjects"),
        ({"train": 1}, ("a",), "needs unseen_subjects"),
        ({"unseen": 1}, ("z",), "no task has z"),
        ({"train": -1}, (), r"sizes\.train"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_splits(tasks, sizes, seed=0, unseen_subjects=unseen)
    with pytest.raises(ConfigError, match="of one benchmark"):
        make_splits([*tasks, *load_all("maths")], {"train": 1}, seed=0)


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
