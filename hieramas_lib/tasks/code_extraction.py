"""The program in an LLM's reply: a pure function that no text makes raise."""

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hieramas_lib.tasks.parsing import parse_program
from hieramas_lib.tasks.thoughts import without_thoughts

MAX_CHARACTERS = 100_000
"""How much of the end of a reply is read."""

# Bounds the time of the search: characters given to the parser, in all, for one reply.
_PARSER_CHARACTERS = 400_000

_FENCE = re.compile(r"(?P<mark>`{3,}|~{3,})[^\n`~]*$")
_START = re.compile(
    r"(?P<indent>[ \t]*)(?:(?:import|from|def|class|async\s+def)\s|@\w|\w+\s*=[^=]"
    r"|(?:try|if|with)\b[^\n]*:[ \t]*$)"
)
_COMPOUND = re.compile(r"[ \t]*(?:class|def|async|if|elif|else|for|while|with|try)\b")

_FUTURE = re.compile(r"^from __future__ import [^\n(;\\]*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Program:
    source: str
    tree: ast.Module


def extract_code(text: str, entry_point: str) -> str | None:
    """Return the program in ``text`` that defines ``entry_point`` at its top level, or None.

    The last fenced block that defines it wins, over stubs without a body; an import defines
    nothing. What it uses and only other blocks define is added to it. A block that does not
    parse is searched for its longest part that does, and so is the whole text where no block
    helps: no fence, or prose around the code. Text between ``<think>`` tags does not count.
    """
    said = without_thoughts(text[-MAX_CHARACTERS:])
    said = said.replace("\r\n", "\n")
    search = _Search(entry_point)
    blocks = [search.longest(block) or search.parsed(block) for block in _fenced_blocks(said)]
    programs = [program for program in blocks if program is not None]
    chosen = [i for i, program in enumerate(programs) if _defines(program.tree, entry_point)]
    whole = [i for i in chosen if not _is_stub(programs[i].tree, entry_point)]
    if chosen:
        last = (whole or chosen)[-1]
        return _with_helpers(programs, last, entry_point)
    found = search.longest(said)
    return found.source if found else None


def _fenced_blocks(text: str) -> Iterator[str]:
    """Yield the contents of fenced blocks; the last may be unclosed."""
    mark, lines = "", list[str]()
    for line in text.split("\n"):
        fence = _FENCE.search(line)
        glued = _glued(line, mark) if mark else None
        if not mark and fence:
            mark, lines = fence["mark"], []
        elif glued:
            yield _dedented([*lines, glued[0]])
            mark, lines = glued[1], []
        elif mark and mark in line and not line[line.index(mark) :].strip(mark[0] + " \t"):
            yield _dedented([*lines, line[: line.index(mark)]])
            mark = ""
        elif mark:
            lines.append(line)
    if mark:
        yield _dedented(lines)


def _glued(line: str, mark: str) -> tuple[str, str] | None:
    """Split a line that ends a block and begins the next: what is before, and the new mark."""
    before, _, after = line.partition(mark)
    opener = _FENCE.match(after.lstrip())
    return (before, opener["mark"]) if opener and after.strip(" \t`~") else None


def _dedented(lines: list[str]) -> str:
    """Remove the first line's indentation (a block inside a list item) from all lines."""
    indent = next((line[: len(line) - len(line.lstrip())] for line in lines if line.strip()), "")
    return "\n".join(line.removeprefix(indent) for line in lines).strip("\n") + "\n"


class _Search:
    """Looks for programs within a fixed amount of parsing."""

    def __init__(self, entry_point: str) -> None:
        self._entry_point = entry_point
        self._left = _PARSER_CHARACTERS
        self._gave_up = False

    def parsed(self, source: str) -> _Program | None:
        """Parse a whole block."""
        tree = self._parse(source)
        return _Program(source, tree) if isinstance(tree, ast.Module) else None

    def longest(self, text: str) -> _Program | None:
        """Return the longest part of ``text`` that is a valid program, or a stub if all are.

        Each part ends where the parser stops; loose words after the code are cut off.
        """
        if self._entry_point not in text:
            return None
        whole = self.parsed(text)
        if whole and _defines(whole.tree, self._entry_point) and not _loose_end(whole.tree):
            return whole
        parts = list(self._parts(text.split("\n")))
        whole_parts = [part for part in parts if not _is_stub(part.tree, self._entry_point)]
        return max(whole_parts or parts, key=lambda part: len(part.source), default=None)

    def _parts(self, lines: list[str]) -> Iterator[_Program]:
        """Yield the valid programs in ``lines`` that define the entry point, none in another."""
        end = 0
        for number, indent in _starts(lines):
            if number < end:
                continue
            program = self._valid_prefix(lines[number:], indent)
            if program:
                end = number + program.source.count("\n")
                if _defines(program.tree, self._entry_point):
                    yield program
            if self._gave_up:
                return

    def _valid_prefix(self, lines: list[str], indent: str) -> _Program | None:
        kept = list(_below(lines, indent))
        while kept:
            tree = self._parse("\n".join(kept))
            if isinstance(tree, ast.Module):
                end = _code_end(tree)
                source = "\n".join(kept[:end]) + "\n"
                tree.body = [node for node in tree.body if (node.end_lineno or 0) <= end]
                return _Program(source, tree) if end else None
            if tree is None:
                return None
            del kept[min(tree, len(kept)) - 1 :]
        return None

    def _parse(self, source: str) -> ast.Module | int | None:
        """Return the tree, the line where parsing stops (from 1), or None to give up."""
        if len(source) > self._left:
            self._gave_up = True
            return None
        self._left -= len(source) + 100
        try:
            return parse_program(source)
        except SyntaxError as error:
            return max(error.lineno or 1, 1)
        except (ValueError, RecursionError, MemoryError):
            return None


def _below(lines: list[str], indent: str) -> Iterator[str]:
    """Yield ``lines`` without ``indent``, up to the first that has less."""
    for line in lines:
        if line.strip() and not line.startswith(indent):
            return
        yield line.removeprefix(indent)


def _starts(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield number and indentation of lines that may begin a program: no method, no branch."""
    outer: list[tuple[int, bool]] = []
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        width = len(line) - len(line.lstrip())
        while outer and outer[-1][0] >= width:
            outer.pop()
        start = _START.match(line)
        if start and not (outer and outer[-1][1]):
            yield number, start["indent"]
        outer.append((width, bool(_COMPOUND.match(line))))


def _loose(node: ast.stmt) -> bool:
    """Whether a statement may be prose: ``Done``, ``Note: this``."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Call | ast.Constant)
    return isinstance(node, ast.AnnAssign) and node.value is None


def _loose_end(tree: ast.Module) -> bool:
    return bool(tree.body) and _loose(tree.body[-1])


def _code_end(tree: ast.Module) -> int:
    """Return the line of the last statement that is not loose, 0 where there is none."""
    return max((node.end_lineno or 0 for node in tree.body if not _loose(node)), default=0)


_BLOCK = ast.If | ast.Try | ast.TryStar | ast.With | ast.ExceptHandler


def _statements(tree: ast.Module) -> Iterator[ast.stmt | ast.ExceptHandler]:
    """Yield the statements of a module, and in order those inside if, try and with."""
    waiting: list[Any] = tree.body[::-1]
    while waiting:  # a long chain of elif would be a deep recursion
        node = waiting.pop()
        yield node
        if isinstance(node, _BLOCK):
            for part in ("finalbody", "orelse", "handlers", "body"):
                waiting += getattr(node, part, [])[::-1]


def _defined(tree: ast.Module) -> dict[str, ast.stmt]:
    """Map the names that a module binds at its top level to the statements that bind them."""
    names: dict[str, ast.stmt] = {}
    for node in _statements(tree):
        if isinstance(node, ast.With):
            named = [item.optional_vars for item in node.items if item.optional_vars]
            names.update({name.id: node for name in named if isinstance(name, ast.Name)})
        elif isinstance(node, _BLOCK):
            continue
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names[node.name] = node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update({(a.asname or a.name).split(".")[0]: node for a in node.names})
        else:
            names.update({
                part.id: node for part in ast.walk(node)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            })  # fmt: skip
    return names


def _defines(tree: ast.Module, name: str) -> bool:
    """Whether a module defines the name itself: ``from solution import f`` begins a test."""
    return not isinstance(_defined(tree).get(name), ast.Import | ast.ImportFrom | None)


def _is_stub(tree: ast.Module, name: str) -> bool:
    """Whether the named function has no body but a docstring, ``pass`` or ``...``."""
    node = _defined(tree)[name]
    return isinstance(node, ast.FunctionDef) and all(
        isinstance(line, ast.Pass)
        or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
        for line in node.body
    )


def _with_helpers(programs: list[_Program], main: int, entry_point: str) -> str:
    """Return a program with those others that define what it lacks, the nearest before it first.

    A later one is left out if it is about the entry point: a test of it, or a stub.
    """
    own = _defined(programs[main].tree).keys()
    defined, lacking = set(own), _lacking(programs[main].tree)
    before, after = set[int](), set[int]()
    helpers = [i for i in range(main + 1, len(programs))
               if not _uses(programs[i].tree, entry_point)]  # fmt: skip
    for i in [*range(main)[::-1], *helpers] * 2:
        program = programs[i]
        if i in before | after or not lacking & (names := _defined(program.tree).keys()):
            continue
        needs = _lacking(program.tree)
        # Where it stands, if it needs this program; else before it, for decorators and such.
        (after if i > main and needs & own else before).add(i)
        defined |= names
        lacking = (lacking | needs) - defined
    sources = [programs[i].source for i in [*sorted(before), main, *sorted(after)]]
    if len(sources) == 1:
        return sources[0]
    future = dict.fromkeys(_FUTURE.findall("\n".join(sources)))  # a program's first lines
    return "".join(future) + "\n".join(_FUTURE.sub("", source) for source in sources)


def _uses(tree: ast.Module, name: str) -> bool:
    """Whether a module binds the name or, outside functions and classes, calls it."""
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    outside = (node for node in _statements(tree) if not isinstance(node, definitions | _BLOCK))
    return name in _defined(tree) or any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == name
        for node in outside for part in ast.walk(node)
    )  # fmt: skip


def _lacking(tree: ast.Module) -> set[str]:
    """Return the names that a module reads and neither it nor Python binds anywhere."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound = {node.id for node in nodes if not isinstance(node.ctx, ast.Load)}
    return read - bound - arguments - _defined(tree).keys() - set(dir(builtins))
