"""The process that decides: it runs the tests and calls the candidate in another process.

The candidate's code never runs here, so no trick inside one interpreter (a patched builtin, an
object equal to everything, a search through frames and memory) reaches the verdict.
"""

import ast
import builtins
import os
import secrets
import signal
import time
from collections.abc import Callable
from typing import Any

from hieramas_lib.tasks.sandbox_wire import Unsendable, decode, encode, read_frame, write_frame

Verdict = dict[str, str]


class _Ended(BaseException):
    """The candidate process ended, or answered with something that is no answer.

    A BaseException, so that a test's ``except Exception`` does not swallow it.
    """


class Candidate:
    """The candidate process, seen from the tests."""

    def __init__(self, pid: int, requests: int, replies: int) -> None:
        self._pid, self._requests, self._replies = pid, requests, replies
        self.calls = 0
        self.watch, self.changed = False, False
        self.raised: BaseException | None = None

    def read(self) -> Any:
        """Return what the next reply carries, or raise the exception that it reports."""
        try:
            reply = read_frame(self._replies)
            self.changed |= reply.get("changed") is True
            if "raised" in reply:
                self.raised = _exception(reply)
            else:
                return decode(reply["value"]) if "value" in reply else reply
        except (OSError, EOFError):
            raise _Ended(self._cause_of_death()) from None
        except Exception:
            raise _Ended("unreadable value") from None
        raise self.raised

    def ask(self, request: dict[str, Any]) -> Any:
        """Send one request and return :meth:`read`."""
        try:
            write_frame(self._requests, request)
        except OSError:
            raise _Ended(self._cause_of_death()) from None
        return self.read()

    def echoes(self) -> bool:
        """Whether the program ran to its end and still answers, with a number unknown to it."""
        nonce = secrets.token_hex(16)
        reply = self.ask({"echo": nonce})
        return isinstance(reply, dict) and reply.get("echo") == nonce

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function that calls the candidate's ``name``."""

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            request = {"call": name, "args": _sendable(args), "kwargs": _sendable(kwargs)}
            return self.ask(request | {"watch": self.watch})

        call.__name__ = name
        return call

    def names(self, wanted: list[str]) -> dict[str, Any]:
        """Return stand-ins for those of the candidate's globals that the tests may use."""
        reply = self.ask({"names": wanted})
        found: dict[str, Any] = {}
        for name, description in dict(reply.get("names", {})).items():
            if "value" in description:
                found[name] = decode(description["value"])
            elif "callable" in description:
                found[name] = self.function(name)
        return found

    def _cause_of_death(self) -> str:
        for _ in range(20):
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                return signal.Signals(-code).name if code < 0 else f"exit {code}"
            time.sleep(0.005)
        return "closed its pipe"


def _sendable(value: Any) -> Any:
    data = encode(value)
    if _holds_opaque(data):
        raise Unsendable("a test passes an argument of another kind")
    return data


def _holds_opaque(data: Any) -> bool:
    if isinstance(data, dict):
        opaque = bool(data.keys() & {"opaque", "long"})
        return opaque or any(_holds_opaque(item) for item in data.values())
    return isinstance(data, list) and any(_holds_opaque(item) for item in data)


def _exception(reply: dict[str, Any]) -> BaseException:
    """Rebuild the candidate's exception as the builtin one, or as a subclass of it."""
    name, message = str(reply["raised"]), str(reply["message"])
    for base in reply.get("bases", ()):
        kind = getattr(builtins, str(base), None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            own = kind if base == name else type(name, (kind,), {"__init__": _any_init})
            try:
                error: BaseException = own(message)
                return error
            except TypeError:  # UnicodeDecodeError and the like want five arguments
                break
    return _Ended(name)


def _any_init(self: BaseException, *args: Any) -> None:
    self.args = args


def check(candidate: Candidate, tests: str) -> Verdict:
    """Wait for the program to finish, run the tests on it, and decide."""
    try:
        candidate.read()
        if tests:
            return _run_tests(candidate, tests)
        if not candidate.echoes():
            return _verdict("failed", "did not run to the end")
    except Unsendable as error:
        return _verdict("error", str(error))
    except _Ended as error:
        return _verdict("failed", str(error))
    except BaseException as error:
        return _verdict("failed", type(error).__name__)
    return _verdict("passed")


def _run_tests(candidate: Candidate, tests: str) -> Verdict:
    try:
        code = compile(tests, "<tests>", "exec", dont_inherit=True)
        tree = ast.parse(tests)
    except (SyntaxError, ValueError) as error:
        return _verdict("error", f"the tests do not compile: {error}")
    scope: dict[str, Any] = {"__name__": "tests"}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    scope.update(candidate.names(sorted(names - set(dir(builtins)))))
    theirs = [scope.get(name) for name in _asked_for(tree)]
    candidate.watch = _discards_a_result(tree)
    try:
        exec(code, scope)
    except Exception as error:
        if candidate.calls == 0 and all(callable(value) for value in theirs):
            cause = f"{type(error).__name__}: {error}"
            return _verdict("error", f"the tests fail before they call the program: {cause}")
        if candidate.changed and error is not candidate.raised:
            raise Unsendable("the program changes its argument in place, a copy") from None
        raise
    if candidate.calls == 0:
        return _verdict("error", "the tests never call the program")
    return _verdict("passed")


def _bound(tree: ast.Module) -> set[str]:
    """Return the names that the tests define by themselves."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)} | {
        node.id for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }  # fmt: skip


def _asked_for(tree: ast.Module) -> set[str]:
    """Return what the last statement, ``check(f)``, wants of the program."""
    last = {node.id for node in ast.walk(tree.body[-1]) if isinstance(node, ast.Name)}
    return last - _bound(tree) - set(dir(builtins))


def _discards_a_result(tree: ast.Module) -> bool:
    """Whether the tests call something for what it does to its arguments."""
    own = _bound(tree) | set(dir(builtins))
    return any(
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name) and node.value.func.id not in own
        for node in ast.walk(tree)
    )  # fmt: skip


def _verdict(status: str, detail: str = "") -> Verdict:
    return {"status": status, "detail": detail}
