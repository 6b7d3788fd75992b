"""Compare maths answers in a process of its own, so that a hard time limit can be set.

``python -m hieramas_lib.tasks.maths_worker`` writes ``{"ready": true}``, then reads one JSON
line ``{"gold", "answer"}`` after another and writes ``{"verdict"}`` of :data:`VERDICTS`, or
``{"error"}``. It ends with its input, or with its parent.
"""

import json
import logging
import os
import re
import sys
import threading
import time
from typing import Any

from hieramas_lib.tasks.maths_rules import as_interval, prepare

VERDICTS = ("equal", "different", "unreadable answer", "unreadable gold")
MAX_ANSWER = 1000
MEMORY_LIMIT = 3 * 2**30
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
    return value.xreplace(plain)


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


def _end_with_parent(parent: int) -> None:
    """Leave once the parent is gone: a pipe inherited by a fork would keep us waiting."""
    while os.getppid() == parent:
        time.sleep(2)
    os._exit(0)


def main() -> None:
    """Serve comparisons until the input ends."""
    import math_verify  # noqa: F401  (loaded before the first request, and the memory limit)

    logging.disable(logging.CRITICAL)
    _limit_memory()
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    replies, sys.stdout = sys.stdout, sys.stderr  # nothing but replies may reach the pipe
    compare("1", "2")
    replies.write(json.dumps({"ready": True}) + "\n")
    replies.flush()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = {"verdict": compare(request["gold"], request["answer"])}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"[:300]}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
