"""``hieramas calls``: what the command prints and how it ends."""

from pathlib import Path

from typer.testing import CliRunner, Result

from hieramas_lib.experiments.cli import app
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["calls", *map(str, words)])


def store_with_a_call(path: Path) -> Path:
    store = CallStore(path, experiment="07_main")
    request = ChatRequest("a", ())
    store.put(
        Completion("x", "stop", 10, 2, 0.25, 0.1, False, request.key("openai", "m")),
        name="a", client="openai", model="m", request=request.canonical("openai", "m"),
        paid=True, role="Solver",
    )  # fmt: skip
    store.close()
    return path


def test_totals_of_the_usual_store(results: Path) -> None:
    store_with_a_call(results / "calls.sqlite")
    for by, group in (("model", "a"), ("role", "Solver"), ("experiment", "07_main")):
        done = call("--by", by)
        assert done.exit_code == 0, done.output
        assert done.output.splitlines()[1].split()[:2] == [group, "1"]
    assert call("--by", "colour").exit_code == 2


def test_nothing_there_yet(results: Path) -> None:
    for words in ((), ("export", results / "tape"), ("--store", "nowhere.sqlite")):
        done = call(*words)
        assert done.exit_code == 2
        assert "no calls yet" in done.output
    assert not (results / "calls.sqlite").exists()


def test_out_and_in_again(results: Path, tmp_path: Path) -> None:
    mine, tape = store_with_a_call(tmp_path / "mine.sqlite"), tmp_path / "tape.jsonl.gz"
    assert call("export", tape, "--store", mine).output.startswith("1 calls in ")
    assert call("--store", mine, "export", tape, "--experiment", "x").output.startswith("0 calls")
    assert call("--store", mine, "export", tape).output.startswith("1 calls in ")
    assert call("import", tape).output == "1 calls are new, 0 were there already\n"
    assert call("import", tape).output == "0 calls are new, 1 were there already\n"
    assert CallStore(results / "calls.sqlite").count() == 1
    tape.write_bytes(b"no tape")
    done = call("import", tape)
    assert (done.exit_code, "no tape, or not a whole one" in done.output) == (2, True)


def test_no_calls_in_a_store(results: Path) -> None:
    CallStore(results / "calls.sqlite").close()
    assert call().output == "no calls yet\n"
