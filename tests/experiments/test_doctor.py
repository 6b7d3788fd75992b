"""The doctor names keys and files, and never shows a key."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hieramas_lib.experiments import doctor
from hieramas_lib.experiments.cli import app
from hieramas_lib.experiments.doctor import findings, kernel_findings, question_counts

POOL = """
name: own
skip_profile: nobody
reference: a
llms:
  - {name: a, client: openai, model: m, family: f, profile: p, base_url: "http://127.0.0.1:9/v1"}
"""


def test_keys_are_named_and_never_shown() -> None:
    lines = "\n".join(findings({"OPENROUTER_API_KEY": "sk-very-secret"}))
    assert "key OPENROUTER_API_KEY: set" in lines
    assert "secret" not in lines
    assert "key OPENROUTER_API_KEY: not set" in "\n".join(findings({}))


def test_versions_pools_and_model_file_are_told() -> None:
    lines = list(findings({}))
    assert lines[0].startswith("python 3")
    assert any("torch 2" in line for line in lines)
    assert any(line.startswith("pool 'papers' (data/llm_pool.yaml): gpt-5-mini") for line in lines)
    assert any("model file models/" in line for line in lines)


def test_a_blank_key_counts_as_none_and_the_fix_is_told() -> None:
    lines = list(findings({"ANTHROPIC_API_KEY": " "}))
    assert "  key ANTHROPIC_API_KEY: not set: run `export ANTHROPIC_API_KEY=...`" in lines


def test_servers_of_ones_own_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, word in ((True, "listens"), (False, "not running")):
        monkeypatch.setattr(doctor, "listens", lambda address, there=there: there)
        assert f"  server http://localhost:11434/v1: {word}" in list(findings({}))


def test_a_kernel_of_another_python_is_told_with_the_fix(tmp_path: Path) -> None:
    own, other = tmp_path / ".venv", tmp_path.parent / "elsewhere"
    lines = list(kernel_findings(str(own / "bin" / "python"), str(own), tmp_path))
    assert lines == [f"kernel: {Path('.venv', 'bin', 'python')}"]
    _, advice = kernel_findings(str(other / "python"), str(other), tmp_path)
    assert "make lab" in advice


def test_a_link_to_the_projects_environment_is_the_projects(tmp_path: Path) -> None:
    project, link = tmp_path / "project", tmp_path / "link"
    (project / ".venv").mkdir(parents=True)
    link.symlink_to(project, target_is_directory=True)
    prefix = link / ".venv"
    assert len(list(kernel_findings(str(prefix / "python"), str(prefix), project))) == 1


def test_shipped_questions_are_counted() -> None:
    counts = question_counts().set_index("benchmark")
    assert counts.loc["knowledge"].tolist() == [280, 14]
    assert counts.loc["maths"].tolist() == [294, 7]
    assert counts.loc["humaneval"].tolist() == [164, 6]


def test_the_command_calls_on_request_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(POOL, encoding="utf-8")
    asked = CliRunner().invoke(app, ["doctor", "--call", "--pool", str(path)])
    assert asked.exit_code == 0
    assert asked.output.startswith("a (own): not called: nobody listens at http://127.0.0.1:9/v1")
    broken = CliRunner().invoke(app, ["doctor", "--call", "--pool", str(tmp_path / "none.yaml")])
    assert broken.exit_code == 2
    monkeypatch.setattr("hieramas_lib.experiments.first_call.first_call", None)
    assert CliRunner().invoke(app, ["doctor"]).exit_code == 0
