"""The process that runs a candidate program and answers calls to what it defines.

It never learns the tests: they run in another process (:mod:`.sandbox_checker`), which sends
arguments and gets values back, one frame each way.
"""

import ast
import os
import sys
import types
from typing import Any

from hieramas_lib.tasks.sandbox_wire import decode, encode, read_frame, write_frame

REQUESTS, REPLIES = 3, 4
"""File descriptors of the candidate process; no others are open but 0 to 2 on /dev/null."""


def run_candidate(source: str, module_name: str) -> None:
    """Execute ``source``, then serve requests until the pipe closes; exits the process."""
    own_pid, getpid, leave = os.getpid(), os.getpid, os._exit
    module = types.ModuleType(module_name)
    sys.modules[module_name] = module
    reply = _execute(source, module)
    while getpid() == own_pid:  # a fork of the program's must not answer for it
        write_frame(REPLIES, reply)
        try:
            request = read_frame(REQUESTS)
        except EOFError:
            break
        reply = _answer(request, module.__dict__)
    leave(0)


def _execute(source: str, module: types.ModuleType) -> dict[str, Any]:
    try:
        tree = ast.parse(source)
        if all(isinstance(node, ast.Pass) or _is_constant(node) for node in tree.body):
            return {"raised": "EmptyProgram", "message": ""}
        exec(compile(tree, "<program>", "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        return _raised(error)
    return {"value": None}


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _raised(error: BaseException) -> dict[str, Any]:
    # The whole line of builtin bases, so that a test for ValueError catches a subclass.
    names = [kind.__name__ for kind in type(error).__mro__]
    try:
        message = str.__str__(str(error))[:500]
    except BaseException:
        message = ""
    return {"raised": names[0], "bases": names, "message": message}


def _answer(request: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """Answer one request: ``echo``, ``names`` (what is there?) or ``call``."""
    if "echo" in request:
        return {"echo": request["echo"]}
    try:
        if "names" in request:
            return {"names": {name: _describe(names[name])
                              for name in request["names"] if name in names}}  # fmt: skip
        before = [request["args"], request["kwargs"]]
        arguments, keywords = decode(request["args"]), decode(request["kwargs"])
        reply = {"value": encode(names[request["call"]](*arguments, **keywords))}
        if request.get("watch"):
            reply["changed"] = encode([arguments, keywords]) != before
        return reply
    except BaseException as error:
        return _raised(error)


def _describe(value: Any) -> dict[str, Any]:
    if isinstance(value, types.ModuleType):
        return {"module": value.__name__}
    data = None if callable(value) else encode(value)
    if callable(value) or (isinstance(data, dict) and data.keys() & {"opaque", "long"}):
        return {"callable": True}
    return {"value": data}
