"""Compare maths answers in a process of its own, so that a hard time limit can be set.

``python -m hieramas_lib.tasks.maths_worker`` writes ``{"ready": true}``, then reads one JSON
line ``{"gold", "answer", "limit_s"}`` after another and writes ``{"verdict"}`` of
:data:`VERDICTS`, or ``{"error"}``. It ends with its input, or with its parent.
"""

import json
import logging
import os
import re
import select
import signal
import sys
import threading
import time
from collections.abc import Mapping
from typing import IO, Any

from hieramas_lib.tasks.maths_rules import as_interval, prepare

VERDICTS = ("equal", "different", "unreadable answer", "unreadable gold")
MAX_ANSWER = 1000
MEMORY_LIMIT = 3 * 2**30
WARM_UP = (("1", "2"), (r"\frac{1}{2}", "0.5"), ("[1,2)", r"(1,2)"), ("x+1=0", "2x+2=0"))
"""Compared before the first request, which would else pay for building the parsers."""
_EQUATION = re.compile(r"^([^=<>]+)=([^=<>]+)$")


def compare(gold: str, answer: str) -> str:
    """Return one of :data:`VERDICTS`."""
    if len(answer) > MAX_ANSWER:
        return "unreadable answer"
    ours, theirs = prepare(gold), prepare(answer)
    if ours[:1] in ("(", "["):
        theirs = as_interval(theirs)
    golds = _parse(ours)
    if not golds:
        return "unreadable gold"
    answers = _parse(theirs)
    if not answers:
        return "unreadable answer"
    equations = _EQUATION.match(ours), _EQUATION.match(theirs)
    if equations[0] and equations[1]:
        equal = _same_equation(equations[0].groups(), equations[1].groups())
    else:
        equal = _verify(golds, answers) and _same_size(golds[0], answers[0])
    return "equal" if equal else "different"


def _parse(answer: str) -> list[Any]:
    """Parse ``answer`` as the content of a box; math-verify misses bare expressions.

    A reading that is only the string itself is none.
    """
    from math_verify import parse

    try:
        parsed = parse(rf"\boxed{{{answer}}}", parsing_timeout=None)
    except Exception:
        return []
    if not parsed or isinstance(parsed[0], str):
        return []
    return [_with_plain_symbols(parsed[0]), *parsed[1:]]


def _with_plain_symbols(value: Any) -> Any:
    """Give symbols of one name one identity, and ``i`` its meaning.

    math-verify assumes ``3i`` real and ``\\sqrt{3}i`` not, and so finds them different letters.
    """
    import sympy

    if not hasattr(value, "free_symbols"):
        return value
    plain = {s: sympy.I if s.name == "i" else sympy.Symbol(s.name) for s in value.free_symbols}
    try:
        return value.xreplace(plain)
    except TypeError:  # ``0 < i``: complex numbers have no order, so here it is a variable
        return value.xreplace({symbol: sympy.Symbol(symbol.name) for symbol in plain})


def _verify(golds: Any, answers: Any) -> bool:
    from math_verify import verify

    return bool(verify(golds, answers, timeout_seconds=None))


def _same_size(gold: Any, answer: Any) -> bool:
    """Check two numbers that were found equal, as tiny ones are all equal when rounded."""
    if not (getattr(gold, "is_number", False) and getattr(answer, "is_number", False)):
        return True
    ours, theirs = gold.evalf(30), answer.evalf(30)
    return bool(abs(ours - theirs) <= 1e-5 * abs(ours)) if ours != 0 else bool(abs(theirs) < 1e-9)


def _same_equation(gold: tuple[str, ...], answer: tuple[str, ...]) -> bool:
    """Compare two equations: one is a constant multiple of the other."""
    import sympy

    sides = [_parse(side) for side in (*gold, *answer)]
    if not all(sides) or not all(isinstance(side[0], sympy.Expr) for side in sides):
        return "=".join(gold).replace(" ", "") == "=".join(answer).replace(" ", "")
    left, right, other_left, other_right = (side[0].doit() for side in sides)
    ours, theirs = sympy.expand(left - right), sympy.expand(other_left - other_right)
    if ours == 0 or theirs == 0:
        return bool(ours == theirs)
    ratio = sympy.simplify(ours / theirs)
    return bool(ratio.is_number and ratio.is_nonzero)


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))


def _serve_in_children(parent: int, replies: IO[str]) -> bool:
    """Serve in a forked child, and in another where one is ended by its time limit.

    A fork costs milliseconds where a new process would import sympy again. Returns True in a
    child, which is to serve, and False in the forking process once the input has ended.
    """
    while True:
        ended, held = os.pipe()  # readable once the child, which holds the other end, is gone
        child = os.fork()
        if child == 0:
            os.close(ended)
            return True
        os.close(held)
        while not select.select([ended], [], [], 2.0)[0]:
            if os.getppid() != parent:  # a pipe inherited by a fork would keep us waiting
                os.kill(child, signal.SIGKILL)
        os.close(ended)
        status = os.waitpid(child, 0)[1]
        if os.getppid() != parent or not os.WIFSIGNALED(status):
            return False
        is_limit = os.WTERMSIG(status) == signal.SIGPROF
        _write(replies, {"error": "timeout" if is_limit else "the comparing process crashed"})


def _serve(replies: IO[str]) -> None:
    """Answer one request after another until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        _limit_time(request["limit_s"])
        try:
            reply = {"verdict": compare(request["gold"], request["answer"])}
        except Exception as error:
            reply = {"error": f"the maths worker failed: {type(error).__name__}: {error}"[:300]}
        _limit_time(0)
        _write(replies, reply)


def _limit_time(limit_s: float) -> None:
    """Let the system end this process after so much CPU time, also within C code; 0 for never.

    CPU time, not wall time, so that the verdict is the same on a busy machine.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, limit_s)


def _write(replies: IO[str], reply: Mapping[str, object]) -> None:
    replies.write(json.dumps(reply) + "\n")
    replies.flush()


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(2)
    os._exit(0)


def main() -> None:
    """Serve comparisons until the input ends."""
    import math_verify  # noqa: F401  (loaded before the first request, and the memory limit)

    logging.disable(logging.CRITICAL)
    _limit_memory()
    replies, sys.stdout = sys.stdout, sys.stderr  # nothing but replies may reach the pipe
    for gold, answer in WARM_UP:
        compare(gold, answer)
    _write(replies, {"ready": True})
    parent = os.getppid()
    if hasattr(os, "fork"):
        parent = os.getpid()
        if not _serve_in_children(os.getppid(), replies):
            return
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    _serve(replies)


if __name__ == "__main__":
    main()
