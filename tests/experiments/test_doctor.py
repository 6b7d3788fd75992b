"""The doctor names keys and files, and never shows a key."""

from hieramas_lib.experiments.doctor import findings


def test_keys_are_named_and_never_shown() -> None:
    lines = "\n".join(findings({"OPENROUTER_API_KEY": "sk-very-secret"}))
    assert "key OPENROUTER_API_KEY: set" in lines
    assert "secret" not in lines
    assert "key OPENROUTER_API_KEY: not set" in "\n".join(findings({}))


def test_versions_pools_and_model_file_are_told() -> None:
    lines = list(findings({}))
    assert lines[0].startswith("python 3")
    assert any("torch 2" in line for line in lines)
    assert any(line.startswith("pool 'papers': gpt-5-mini") for line in lines)
    assert any("model file models/" in line for line in lines)
