"""Public benchmarks, read by the ``datasets`` library from tiny folders in the hub's layout."""

import base64
import importlib.util
import json
import os
import pickle
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.tasks import hub_code_rows
from hieramas_lib.tasks.grading import grade
from hieramas_lib.tasks.hub import hub_set, load_hub
from hieramas_lib.tasks.hub_rows import Place, last_boxed, slug
from hieramas_lib.tasks.hub_sets import HUB_SETS, MMLU_SUBJECTS
from hieramas_lib.tasks.humaneval_plus import originfmt_program
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.splits import make_splits
from hieramas_lib.tasks.task import Task

needs_datasets = pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None, reason="the extra `hub` is not installed"
)

Rows = Sequence[Mapping[str, Any]]
Repo = Callable[[str, Mapping[str, Mapping[str, Rows]]], Path]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """Return a function that lays out a copy of a hub repository: rows by config and split."""
    datasets = pytest.importorskip("datasets", reason="the extra `hub` is not installed")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()

    def build(name: str, configs: Mapping[str, Mapping[str, Rows]]) -> Path:
        import pyarrow
        import pyarrow.parquet

        folder = tmp_path / name
        lines = ["---", "configs:"]
        for config, splits in configs.items():
            lines += [f"- config_name: {config or 'default'}", "  data_files:"]
            for split, rows in splits.items():
                file = f"{config or 'data'}/{split}-00000-of-00001.parquet"
                lines += [f"  - split: {split}", f"    path: {file}"]
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                table = pyarrow.Table.from_pylist([dict(row) for row in rows])
                pyarrow.parquet.write_table(table, folder / file)
        (folder / "README.md").write_text("\n".join([*lines, "---", ""]), encoding="utf-8")
        return folder

    return build


def redux(**changes: Any) -> dict[str, Any]:
    return {
        "question": "Which is even?", "choices": ["1", "2", "3", "5"], "answer": 1,
        "error_type": "ok", "source": None, "correct_answer": None, "potential_reason": None,
    } | changes  # fmt: skip


@needs_datasets
def test_mmlu_redux_and_its_label_errors(repo: Repo, caplog: pytest.LogCaptureFixture) -> None:
    wrong = "wrong_groundtruth"
    rows = [
        redux(),
        redux(question="By number", error_type=wrong, answer=0, correct_answer="1"),
        redux(question="By letter", error_type=wrong, answer=0, correct_answer=" C "),
        redux(question="By text", error_type=wrong, answer=0, correct_answer="5"),
        redux(question="Not usable", error_type=wrong, answer=0, correct_answer="none of them"),
        redux(question="Vague", error_type="bad_question_clarity"),
    ]
    folder = repo("r", {"virology": {"test": rows}, "anatomy": {"test": [redux()]}})

    def golds(**named: Any) -> dict[str, str]:
        tasks = load_hub("mmlu_redux", configs=["virology"], source=folder, **named)
        assert {task.subject for task in tasks} == {"virology"}
        return {task.id.removeprefix("mmlu_redux/virology/"): task.gold for task in tasks}

    assert golds() == {"0": "B"}
    assert caplog.messages == [
        "mmlu_redux: 5 of 6 rows left out: 1 bad_question_clarity, 4 wrong_groundtruth"
    ]
    caplog.clear()
    assert golds(labels="corrected") == {"0": "B", "1": "B", "2": "C", "3": "D"}
    assert "2 of 6 rows left out: 1 bad_question_clarity, 1 wrong_groundtruth" in caplog.text
    caplog.clear()
    assert golds(labels="original") == dict(zip("012345", "BAAAAB", strict=True))
    assert not caplog.messages
    both = load_hub("mmlu_redux", configs=["anatomy", "virology"], source=folder)
    assert [task.id for task in both] == ["mmlu_redux/anatomy/0", "mmlu_redux/virology/0"]
    assert both[0].statement == "Which is even?\nA. 1\nB. 2\nC. 3\nD. 5"


@needs_datasets
def test_mmlu_pro(repo: Repo) -> None:
    row = {
        "question_id": 70, "question": "Which letter?", "options": list("abcdefghij"),
        "answer": "J", "answer_index": 9, "cot_content": "", "category": "computer science",
        "src": "x",
    }  # fmt: skip
    folder = repo("p", {"": {"validation": [row], "test": [row | {"question_id": 71}]}})
    assert [task.id for task in load_hub("mmlu_pro", source=folder)] == [
        "mmlu_pro/70", "mmlu_pro/71",
    ]  # fmt: skip
    (task,) = load_tasks("mmlu_pro", "val", source=folder)
    assert (task.id, task.gold, task.subject) == ("mmlu_pro/70", "J", "computer_science")
    assert grade(task, "Answer: J").correct and not grade(task, "Answer: A").correct
    twice = repo("q", {"": {"validation": [row], "test": [row]}})
    with pytest.raises(ConfigError, match="'mmlu_pro/70' occurs twice"):
        load_hub("mmlu_pro", source=twice)
    wrong = repo("s", {"": {"validation": [row], "test": [row | {"answer": "A"}]}})
    with pytest.raises(ConfigError, match=r"mmlu_pro: TIGER-Lab/MMLU-Pro: row 0: answer: 'A'"):
        load_hub("mmlu_pro", "test", source=wrong)


@needs_datasets
def test_math(repo: Repo) -> None:
    row = {
        "problem": "What is $1/2 + 0$?", "level": "Level 3", "type": "Counting & Probability",
        "solution": r"First $\boxed{7}$ no, then $\boxed{\frac{1}{2}}$.",
    }  # fmt: skip
    folder = repo("m", {"algebra": {"train": [row], "test": [row, row | {"level": "Level ?"}]}})
    tasks = load_hub("hendrycks_math", configs=["algebra"], source=folder)
    assert [task.id for task in tasks] == [
        f"hendrycks_math/{end}" for end in ("train/algebra/0", "test/algebra/0", "test/algebra/1")
    ]
    assert [task.level for task in tasks] == [3, 3, None]
    assert tasks[0].gold == r"\frac{1}{2}" and tasks[0].subject == "counting_and_probability"
    assert grade(tasks[0], "Answer: 0.5").correct
    bare = repo("n", {"algebra": {"train": [row | {"solution": "It is 7."}]}})
    with pytest.raises(ConfigError, match=r"hendrycks_math algebra: row 0: solution: no"):
        load_hub("hendrycks_math", "train", configs=["algebra"], source=bare)


def test_last_boxed_by_hand() -> None:
    assert last_boxed(r"\boxed{\text{a \} b}} x") == r"\text{a \} b}"
    assert last_boxed(r"so $\fbox{12}$") == "12"
    assert last_boxed(r"so $\boxed 3$.") == "3"
    assert last_boxed(r"\boxed{1} \boxed{2") is None
    assert last_boxed("3") is None


@needs_datasets
def test_math500(repo: Repo) -> None:
    row = {
        "problem": "What is $(1,2)$?", "solution": "", "answer": r"\left( 1, 2 \right)",
        "subject": "Intermediate Algebra", "level": 4, "unique_id": "test/algebra/1.json",
    }  # fmt: skip
    (task,) = load_tasks("math500", source=repo("m", {"": {"test": [row]}}))
    assert (task.id, task.level) == ("math500/test/algebra/1.json", 4)
    assert task.subject == "intermediate_algebra"
    assert grade(task, r"\boxed{(1,2)}").correct


@needs_datasets
def test_gsm8k(repo: Repo) -> None:
    def row(answer: str) -> dict[str, str]:
        return {"question": "How many?", "answer": answer}

    rows = [row("2+2 = <<2+2=4>>4\n#### 1,204"), row("#### -3")]
    folder = repo("g", {"main": {"train": rows[1:], "test": rows}})
    tasks = load_tasks("gsm8k", source=folder)
    assert [(task.id, task.gold) for task in tasks] == [
        ("gsm8k/train/0", "-3"), ("gsm8k/test/0", "1204"), ("gsm8k/test/1", "-3"),
    ]  # fmt: skip
    assert [task.id for task in load_tasks("gsm8k", "train", source=folder)] == ["gsm8k/train/0"]
    bad = repo("h", {"main": {"test": [*rows, row("four")]}})
    with pytest.raises(ConfigError, match="gsm8k main: row 2: answer: no number"):
        load_hub("gsm8k", "test", source=bad)


@needs_datasets
@pytest.mark.parametrize(
    ("name", "answer", "gold", "extra", "subject"),
    [
        ("aime2025", 70, "70", {"problem_type": ["Number Theory"]}, "number_theory"),
        ("aime2026", 70, "70", {}, "contest"),
        ("hmmt_feb2025", r"\frac{1}{2}", r"\frac{1}{2}", {"problem_type": ["Algebra"]}, "algebra"),
    ],
)
def test_contests(
    repo: Repo, name: str, answer: object, gold: str, extra: dict[str, object], subject: str
) -> None:
    row = {"problem_idx": 1, "problem": "Find it.", "answer": answer} | extra
    (task,) = load_tasks(name, "test", source=repo("c", {"": {"train": [row]}}))
    assert (task.id, task.gold, task.subject) == (f"{name}/1", gold, subject)
    assert grade(task, f"Answer: \\boxed{{{gold}}}").correct


@needs_datasets
def test_beyond_aime(repo: Repo) -> None:
    row = {"problem": "Find it.", "answer": "1234"}
    (task,) = load_tasks("beyond_aime", source=repo("b", {"": {"test": [row]}}))
    assert (task.id, task.gold) == ("beyond_aime/0", "1234")


@needs_datasets
def test_hle_keeps_choices_without_pictures(repo: Repo, caplog: pytest.LogCaptureFixture) -> None:
    def row(name: str, **changes: Any) -> dict[str, Any]:
        return {
            "id": name, "question": "Which?\n\nAnswer Choices:\nA. One\nB. Two\nlines\nC. Three",
            "image": "", "answer": "B", "answer_type": "multipleChoice", "rationale": "",
            "raw_subject": "x", "category": "Humanities/Social Science", "canary": "",
        } | changes  # fmt: skip

    many = "Which?\nAnswer Choices:\n" + "\n".join(f"{c}. {c}{c}" for c in "ABCDEFGHIJK")
    rows = [
        row("a"),
        row("b", answer_type="exactMatch", answer="7"),
        row("c", image="data:image/png;base64,xx"),
        row("d", question=many),
        row("e", question="Which?\nAnswer Choices:\nA. 1\nC. 3", answer="A"),
        row("f", answer="D"),
    ]
    (task,) = load_tasks("hle", source=repo("h", {"": {"test": rows}}))
    assert (task.id, task.prompt, task.gold) == ("hle/a", "Which?", "B")
    assert task.choices == ("One", "Two\nlines", "Three")
    assert task.subject == "humanities_social_science"
    assert caplog.messages == [
        "hle: 5 of 6 rows left out: 1 has a picture, 1 not multiple choice, "
        "3 options not readable as A to J"
    ]


@needs_datasets
def test_humaneval_plus(repo: Repo) -> None:
    row = {
        "task_id": "HumanEval/53", "prompt": "def add(x: int, y: int):\n",
        "canonical_solution": "    return x + y\n", "entry_point": "add",
        "test": "def check(candidate):\n    assert candidate(2, 3) == 5\n",
    }  # fmt: skip
    (task,) = load_tasks("humaneval_plus", source=repo("e", {"": {"test": [row]}}))
    assert (task.id, task.subject) == ("humaneval_plus/053", "maths")
    assert grade(task, f"```python\n{task.gold}```").correct
    assert grade(task, "```python\ndef add(x, y):\n    return x * y\n```").status == "wrong"


def test_humaneval_plus_has_the_tests_that_its_file_loader_gives() -> None:
    test = (
        "import numpy as np\ndef assertion(out, exp, atol):\n        assert exact_match\n"
        "def check(candidate):\n    assert _poly(*candidate(*inp), inp) <= 0.0001\n"
    )
    row = hub_code_rows.HumanEvalPlusRow(
        task_id="HumanEval/32", prompt="def find_zero(xs):\n", canonical_solution="    pass\n",
        entry_point="find_zero", test=test,
    )  # fmt: skip
    task = row.task(Place("humaneval_plus", "test", "", 32))
    assert isinstance(task, Task) and task.tests is not None
    assert task.tests.program == originfmt_program(test)
    assert "numpy" not in task.tests.program
    assert "abs(_poly(*inp, candidate(*inp))) <= 0.0001" in task.tests.program


# --- LiveCodeBench ----------------------------------------------------------------------------


def livecodebench(**changes: Any) -> dict[str, Any]:
    hidden = json.dumps([{"input": "4\n", "output": "8 0.5\nok", "testtype": "stdin"}])
    return {
        "question_title": "t", "question_content": "Read n, print 2n.", "platform": "atcoder",
        "question_id": "abc_a", "contest_id": "c", "contest_date": "2024-01-01T00:00:00",
        "starter_code": "", "difficulty": "medium", "metadata": "{}",
        "public_test_cases": json.dumps(
            [{"input": "1\n", "output": "2 0.5\nok\n", "testtype": "stdin"}]
        ),
        "private_test_cases": packed(hidden),
    } | changes  # fmt: skip


def packed(value: object) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


METHOD = livecodebench(
    question_id="3001", platform="leetcode", difficulty="easy",
    starter_code="class Solution:\n"
    "    def pairUp(self, xs: List[int], k: int) -> List[int]:\n        ",
    metadata='{"func_name": "pairUp"}',
    public_test_cases=json.dumps(
        [{"input": "[1, 2]\n1", "output": "[2, 3]", "testtype": "functional"}]
    ),
    private_test_cases=json.dumps(
        [{"input": "[]\n5", "output": "[]", "testtype": "functional"}]
    ),
)  # fmt: skip


@pytest.fixture
def problems(tmp_path: Path, repo: Repo) -> Callable[..., tuple[Task, ...]]:
    def load(*rows: dict[str, Any], files: str = "test.jsonl", **named: Any) -> tuple[Task, ...]:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / files).write_text(text, encoding="utf-8")
        return load_hub("livecodebench", source=tmp_path, **named)

    return load


SOLVES = "def solve(text):\n    return f'{2 * int(text)} 0.50\\nok \\n'\n"


@needs_datasets
def test_livecodebench_programs(problems: Callable[..., tuple[Task, ...]]) -> None:
    (task,) = problems(livecodebench())
    assert (task.id, task.subject, task.level) == ("livecodebench/abc_a", "atcoder", 3)
    assert "solve(text: str) -> str" in task.prompt and task.gold == ""
    assert grade(task, f"```python\n{SOLVES}```").correct
    for slip in (
        SOLVES.replace("2 *", "1 +"),  # passes the public test, fails the hidden one
        SOLVES.replace("0.50", "0.51"),
        SOLVES.replace("ok", "OK"),
        SOLVES.replace("ok ", "ok\\nok"),
        "def solve(text):\n    print(2 * int(text), 0.5)\n    print('ok')\n",
        "def solve(text):\n    import sys\n    sys.exit(0)\n",
    ):
        assert grade(task, f"```python\n{slip}```").status == "wrong", slip


@needs_datasets
def test_livecodebench_methods_are_asked_as_functions(
    problems: Callable[..., tuple[Task, ...]],
) -> None:
    (task,) = problems(METHOD)
    assert "`pairUp(xs: list[int], k: int) -> list[int]`" in task.prompt and task.level == 1
    program = "def pairUp(xs, k):\n    return {}\n"
    answers = {"[x + k for x in xs]": "correct", "tuple(x + k for x in xs)": "correct"}
    for body, status in (answers | {"[2, 3]": "wrong", "xs": "wrong"}).items():
        assert grade(task, f"```python\n{program.format(body)}```").status == status, body
    in_class = "class Solution:\n    def pairUp(self, xs, k):\n        return [x + k for x in xs]\n"
    assert grade(task, f"```python\n{in_class}```").status == "unparsed"


@needs_datasets
def test_livecodebench_limits_each_test(
    problems: Callable[..., tuple[Task, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (task,) = problems(livecodebench())
    assert task.tests is not None and task.tests.time_limit_s == 2 * 6.0 + 5.0
    monkeypatch.setattr(hub_code_rows, "CASE_LIMIT_S", 0.5)
    (task,) = problems(livecodebench())
    slow = SOLVES.replace(
        "    return", "    if int(text) == 4:\n        while True: pass\n    return"
    )
    started = time.monotonic()
    verdict = grade(task, f"```python\n{slow}```")
    assert (verdict.status, verdict.detail) == ("wrong", "CaseTimeout")
    assert time.monotonic() - started < 4


@needs_datasets
def test_livecodebench_releases_add_files(
    tmp_path: Path, problems: Callable[..., tuple[Task, ...]]
) -> None:
    (tmp_path / "test2.jsonl").write_text(json.dumps(METHOD) + "\n", encoding="utf-8")
    assert len(problems(livecodebench())) == 1
    assert len(problems(livecodebench(), configs=["release_v2"])) == 2
    with pytest.raises(ConfigError, match="no configuration 'v9'; it has release_v1, "):
        problems(livecodebench(), configs=["v9"])


@needs_datasets
def test_a_pickle_from_the_hub_runs_nothing(
    tmp_path: Path, problems: Callable[..., tuple[Task, ...]]
) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "harmed"),)

    with pytest.raises(ConfigError, match=r"row 0: private_test_cases: the pickle asks for "):
        problems(livecodebench(private_test_cases=packed(Evil())))
    assert not (tmp_path / "harmed").exists()


@needs_datasets
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"public_test_cases": "[]", "private_test_cases": "[]"}, "no tests"),
        ({"public_test_cases": METHOD["public_test_cases"]}, "tests of two types"),
        ({"difficulty": "odd"}, "difficulty: "),
        ({"public_test_cases": "["}, "row 0: Expecting value"),
    ],
)
def test_livecodebench_bad_rows(
    problems: Callable[..., tuple[Task, ...]], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        problems(livecodebench(**changes))


# --- what a user reads when something is wrong ------------------------------------------------


def test_unknown_names() -> None:
    with pytest.raises(ConfigError, match="there are mmlu_redux, mmlu_pro, "):
        load_hub("mmlu")
    with pytest.raises(ConfigError, match="'gsm8k' has no part 'val'; it has train, test"):
        load_tasks("gsm8k", "val")
    with pytest.raises(ConfigError, match="no configuration 'cooking'"):
        load_hub("mmlu_redux", configs=["cooking"])
    with pytest.raises(ConfigError, match="'gsm8k' has no paper splits; make some"):
        load_tasks("gsm8k", "test", splits="paper")
    with pytest.raises(ConfigError, match="labels: only mmlu_redux"):
        load_tasks("gsm8k", labels="corrected")
    with pytest.raises(ConfigError, match="source: no folder /none"):
        load_tasks("gsm8k", source="/none")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ConfigError, match=r"'gsm8k' .* not installed: `pip install .*\[hub\]"):
        load_tasks("gsm8k")


@needs_datasets
@pytest.mark.parametrize("name", [each.name for each in HUB_SETS])
def test_without_the_hub_one_line_says_what_to_do(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    def fail(*args: object, **named: object) -> None:
        raise ConnectionError("Couldn't reach it\non the Hub")

    monkeypatch.setattr(datasets, "load_dataset", fail)
    with pytest.raises(ConfigError) as caught:
        load_tasks(name)
    message, described = str(caught.value), hub_set(name)
    assert described is not None and described.repo in message and "\n" not in message
    for part in ("ConnectionError: Couldn't reach it on the Hub", "HF_HUB_OFFLINE=1", ".jsonl"):
        assert part in message
    assert ("HF_TOKEN" in message) == (name == "hle")


@needs_datasets
def test_a_folder_that_is_no_copy(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="no copy of the hub's files"):
        load_tasks("gsm8k", source=tmp_path / "empty")
    other = repo("o", {"main": {"train": [{"question": "?"}], "test": [{"question": "?"}]}})
    with pytest.raises(ConfigError, match="gsm8k main: row 0: answer: Field required"):
        load_tasks("gsm8k", source=other)


@needs_datasets
def test_a_set_that_gives_no_task_is_an_error(repo: Repo) -> None:
    folder = repo("r", {"virology": {"test": [redux(error_type="expert")]}})
    with pytest.raises(ConfigError, match=r"mmlu_redux: .* gave no task"):
        load_hub("mmlu_redux", configs=["virology"], source=folder)


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    code = (
        "import sys; from hieramas_lib.tasks.load import load_tasks; load_tasks('knowledge');"
        "sys.exit(bool({'datasets', 'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_descriptions() -> None:
    assert len({each.name for each in HUB_SETS}) == len(HUB_SETS) == 12
    assert len(set(MMLU_SUBJECTS)) == 57 and list(MMLU_SUBJECTS) == sorted(MMLU_SUBJECTS)
    assert slug("Counting & Probability") == "counting_and_probability"
    assert slug("???") == "other"


@needs_datasets
def test_splits_of_a_public_benchmark(repo: Repo, tmp_path: Path) -> None:
    words = ["apple", "river", "stone", "cloud", "tiger", "piano", "ocean", "maple"]
    rows = [{"question": f"How many {w}s has {w[::-1]}?", "answer": "#### 1"} for w in words]
    folder = repo("g", {"main": {"train": rows[:4], "test": rows[4:]}})
    tasks = load_tasks("gsm8k", source=folder)
    file = make_splits(tasks, {"train": 5, "test": 3}, seed=1)
    file.save(tmp_path / "mine.json")
    test = load_tasks("gsm8k", "test", splits=tmp_path / "mine.json", source=folder)
    assert tuple(task.id for task in test) == file.splits["test"]
    changed = repo(
        "g2", {"main": {"train": rows[:4], "test": [*rows[4:7], rows[7] | {"answer": "#### 2"}]}}
    )
    with pytest.raises(ConfigError, match="hash"):
        load_tasks("gsm8k", "test", splits=str(tmp_path / "mine.json"), source=changed)
