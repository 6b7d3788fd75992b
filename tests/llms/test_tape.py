"""A tape: the calls as one file, the same bytes for the same calls, checked when it is read."""

import gzip
import json
from pathlib import Path

import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.call_summary import summarise
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.tape import Imported, export_tape, import_tape


def put(store: CallStore, sample: int, text: str = "me", cost: float | None = 0.5) -> str:
    """Store an answer and return its key."""
    request = ChatRequest("small", (Message("user", "Wer? — \ud800"),), sample=sample)
    key = request.key("openai", "maker/small")
    store.put(
        Completion(text, "stop", 10, 2, cost, 1.5, False, key),
        name="small",
        client="openai",
        model="maker/small",
        request=request.canonical("openai", "maker/small"),
        paid=True,
        role="Solver",
    )
    return key


@pytest.fixture
def store() -> CallStore:
    store = CallStore(experiment="05_train")
    put(store, 1)
    put(store, 2, "du — ünï\0", None)
    store.experiment = "07_main"
    put(store, 3)
    return store


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def write(path: Path, lines: list[dict]) -> Path:
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    return path


def test_a_tape_replays_elsewhere_and_is_not_paid_for_there(
    store: CallStore, tmp_path: Path
) -> None:
    assert export_tape(store, tmp_path / "new" / "tape.jsonl.gz") == 3
    other = CallStore(tmp_path / "calls.sqlite")
    assert import_tape(other, tmp_path / "new" / "tape.jsonl.gz") == Imported(new=3, known=0)
    key = ChatRequest("small", (Message("user", "Wer? — \ud800"),), sample=2).key(
        "openai", "maker/small"
    )
    assert summarise(other, "experiment") == {}
    assert other.get(key) == Completion("du — ünï\0", "stop", 10, 2, None, 1.5, True, key)
    other.experiment = "class"
    other.get(key)
    used = summarise(other, "experiment")
    assert [(t.calls, t.made, t.paid_usd) for t in used.values()] == [(1, 0, 0.0)] * 2


def test_the_same_calls_give_the_same_bytes(store: CallStore, tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("1", "2", "3"))
    export_tape(store, one)
    export_tape(store, two)
    assert one.read_bytes() == two.read_bytes()
    other = CallStore()
    import_tape(other, one)
    export_tape(other, three)
    assert one.read_bytes() == three.read_bytes()


def test_any_tool_reads_it(store: CallStore, tmp_path: Path) -> None:
    export_tape(store, tmp_path / "tape.gz")
    header, *calls = lines_of(tmp_path / "tape.gz")
    assert header == {"format": "hieramas calls", "version": 1, "calls": 3}
    assert {call["request"]["sample"] for call in calls} == {1, 2, 3}
    assert {call["role"] for call in calls} == {"Solver"}
    assert [call["key"] for call in calls] == sorted(call["key"] for call in calls)


def test_the_part_that_one_experiment_used(store: CallStore, tmp_path: Path) -> None:
    key = put(store, 1, "again")
    assert export_tape(store, tmp_path / "tape", "05_train") == 2
    store.experiment = "05_train"
    store.get(key)
    assert export_tape(store, tmp_path / "tape", "05_train") == 3
    assert export_tape(store, tmp_path / "tape", "none such") == 0


def test_an_import_changes_no_answer_and_can_be_repeated(store: CallStore, tmp_path: Path) -> None:
    export_tape(store, tmp_path / "tape")
    mine = CallStore()
    key = put(mine, 3, "mine")
    assert import_tape(mine, tmp_path / "tape") == Imported(new=2, known=1)
    assert mine.get(key).text == "mine"
    assert import_tape(mine, tmp_path / "tape") == Imported(new=0, known=3)
    assert mine.count() == 3


def test_the_newest_of_several_answers_stays_the_newest(tmp_path: Path) -> None:
    store = CallStore(None, "live")
    put(store, 1, "old")
    key = put(store, 1, "new")
    export_tape(store, tmp_path / "tape")
    other = CallStore()
    assert import_tape(other, tmp_path / "tape") == Imported(new=2, known=0)
    assert other.get(key).text == "new"


def test_a_tape_without_request_texts(tmp_path: Path) -> None:
    store = CallStore(keep_requests=False)
    key = put(store, 1)
    export_tape(store, tmp_path / "tape")
    other = CallStore()
    import_tape(other, tmp_path / "tape")
    assert other.get(key).text == "me"


@pytest.mark.parametrize(
    ("line", "change", "expected"),
    [
        (0, {"format": "other"}, r"line 1 \(header\): format"),
        (0, {"version": 2}, r"line 1 \(header\): version"),
        (0, {"calls": 4}, "calls: the header says 4, the file has 3"),
        (2, {"prompt_tokens": -1}, "line 3: prompt_tokens"),
        (2, {"finish_reason": "tired"}, "line 3: finish_reason"),
        (2, {"cost_usd": float("nan")}, "line 3: cost_usd"),
        (2, {"secret": "x"}, "line 3: secret: Extra inputs are not permitted"),
        (3, {"request": {"sample": 7}}, "line 4: key: is not that of the request"),
    ],
)
def test_a_tape_at_fault_is_refused_whole(
    store: CallStore, tmp_path: Path, line: int, change: dict, expected: str
) -> None:
    export_tape(store, tmp_path / "tape")
    lines = lines_of(tmp_path / "tape")
    lines[line] |= change
    other = CallStore()
    with pytest.raises(ConfigError, match=expected):
        import_tape(other, write(tmp_path / "changed", lines))
    assert other.count() == 0


def test_what_is_no_tape(store: CallStore, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere: no such tape"):
        import_tape(store, tmp_path / "nowhere")
    export_tape(store, tmp_path / "tape")
    whole = (tmp_path / "tape").read_bytes()
    for content in (b"plain text", whole[:-20], whole[:60] + b"???" + whole[63:], b""):
        (tmp_path / "broken").write_bytes(content)
        with pytest.raises(ConfigError, match="broken: "):
            import_tape(store, tmp_path / "broken")
