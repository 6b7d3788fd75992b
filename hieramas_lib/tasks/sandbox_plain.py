"""Running a program where there is no fork (Windows): one plain subprocess a program.

A time limit, an empty environment and an empty working folder; nothing keeps the program from
files, network or memory, nor what it starts from outliving it, and tests run in its own process.
Enough for the references and mutants that ship, not for a language model's programs: run those
under WSL or in a container.
"""

import json
import os
import secrets
import subprocess
import sys
import tempfile
from typing import Literal

PlainStatus = Literal["passed", "failed", "timeout"]

_RUNNER = """
import json, os, sys
given = json.load(sys.stdin)
out, sys.stdout = sys.stdout, open(os.devnull, "w")
scope = {"__name__": "program" if given["tests"] else "__main__"}
try:
    code = compile(given["program"], "<program>", "exec", dont_inherit=True)
    if not given["program"].strip():
        raise SyntaxError
    exec(code, scope)
    exec(compile(given["tests"], "<tests>", "exec", dont_inherit=True), scope)
    verdict = given["nonce"]
except BaseException as error:
    verdict = type(error).__name__
out.write(verdict)
out.flush()
os._exit(0)
"""


def run_plain(program: str, tests: str, timeout_s: float) -> tuple[PlainStatus, str]:
    """Return status and detail as :class:`hieramas_lib.tasks.sandbox.ProgramResult` has them."""
    nonce = secrets.token_hex(16)
    given = json.dumps({"program": program, "tests": tests, "nonce": nonce})
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "PATH") if name in os.environ}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", _RUNNER],
                input=given, capture_output=True, text=True, timeout=timeout_s, cwd=folder,
                env={**kept, "PYTHONHASHSEED": "0"}, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "timeout", f"{timeout_s:g} s"
    if done.stdout == nonce:
        return "passed", ""
    return "failed", done.stdout or f"exit {done.returncode}"
