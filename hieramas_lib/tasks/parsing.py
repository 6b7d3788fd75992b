"""Python source to a syntax tree, by one thread at a time.

Up to Python 3.12.1 two threads that parse at once can meet a SystemError ("AST constructor
recursion depth mismatch"), and the filters of warnings belong to the whole process. Programs are
graded in threads, so whatever may run beside that parses here.
"""

import ast
import threading
import warnings

_lock = threading.Lock()


def parse_program(source: str) -> ast.Module:
    """Parse a program, without warnings of odd escapes and the like.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as ``ast.parse`` does.
    """
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)
