"""Programs are parsed in threads, and Python's parser is not made for that everywhere."""

import ast
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from hieramas_lib.tasks import parsing
from hieramas_lib.tasks.parsing import parse_program


def test_one_thread_parses_at_a_time(monkeypatch: pytest.MonkeyPatch):
    """Two at once meet a SystemError on Python 3.11, too seldom for a test to wait for it."""
    inside, most = 0, 0

    def slow(source: str) -> ast.Module:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.001)
        inside -= 1
        return ast.parse(source)

    monkeypatch.setattr(parsing, "ast", SimpleNamespace(parse=slow))
    with ThreadPoolExecutor(8) as threads:
        trees = list(threads.map(parse_program, ["x = 1"] * 40))
    assert most == 1
    assert {ast.dump(tree) for tree in trees} == {ast.dump(ast.parse("x = 1"))}


def test_no_warning_comes_out():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_program("x = '\\d' is 1")


@pytest.mark.parametrize("source", ["def f(:", "\0"])
def test_what_is_no_program_is_an_error(source: str):
    with pytest.raises((SyntaxError, ValueError)):
        parse_program(source)
