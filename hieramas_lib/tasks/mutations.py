"""Small changes to a program: what a hasty programmer gets wrong."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """A program with one change.

    Attributes:
        program: The whole program.
        change: Kind of change, e.g. ``"comparison"``.
        line: Line of the change in the original, from 1.
    """

    program: str
    change: str
    line: int


_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
# Of equal precedence, so that the text around the operator keeps its meaning.
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.Div: ast.FloorDiv, ast.Mod: ast.FloorDiv, ast.BitXor: ast.BitOr, ast.Pow: ast.Mult,
}  # fmt: skip
_NAMES = {
    "min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor",
    "lower": "upper", "upper": "lower", "islower": "isupper", "isupper": "islower",
    "isalpha": "isalnum", "isdigit": "isalnum", "startswith": "endswith", "find": "rfind",
    "append": "extend", "swapcase": "upper", "md5": "sha1", "round": "int", "set": "list",
    "strip": "lstrip", "sum": "len", "int": "float", "sqrt": "floor",
}  # fmt: skip
_UNWRAPPED = ("sorted", "abs", "set", "list", "reversed", "round")


def mutants_of(program: str, entry_point: str) -> tuple[Mutant, ...]:
    """Return the distinct mutants of the function ``entry_point`` and of those after it.

    They compile, keep the docstring, and stand in the order of the text.
    """
    tree = ast.parse(program)
    names = [getattr(node, "name", "") for node in tree.body]
    nodes = tree.body[names.index(entry_point) :]
    found: dict[str, Mutant] = {}
    for node in (inner for outer in nodes for inner in _code_nodes(outer)):
        for change, replacement in _changes(node):
            text = _replaced(program, node, replacement)
            if text != program and _compiles(text):
                found.setdefault(text, Mutant(text, change, node.lineno))
    return tuple(found.values())


def _code_nodes(function: ast.stmt) -> Iterator[ast.expr | ast.stmt]:
    """Yield expressions and statements inside a function, without signature and docstring."""
    body = function.body if isinstance(function, ast.FunctionDef) else [function]
    for statement in body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        inside_format = {
            id(part)
            for node in ast.walk(statement)
            if isinstance(node, ast.JoinedStr)
            for part in ast.walk(node)
        }  # fmt: skip  (positions inside an f-string are wrong before Python 3.12)
        for node in ast.walk(statement):
            if isinstance(node, ast.expr | ast.stmt) and id(node) not in inside_format:
                yield node


def _changes(node: ast.expr | ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield kinds of change and the text that takes the node's place."""
    if isinstance(node, ast.stmt):
        yield from _statement_changes(node)
    elif isinstance(node, ast.Constant):
        yield from _constant_changes(node)
    elif isinstance(node, ast.Call):
        yield from _call_changes(node)
    else:
        yield from _expression_changes(node)


def _statement_changes(node: ast.stmt) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.If) and not node.orelse:
        yield "dropped branch", "pass"
    if isinstance(node, ast.AugAssign):
        other = _OPERATORS.get(type(node.op))
        if other:
            yield "operator", ast.unparse(ast.AugAssign(node.target, other(), node.value))
        yield "assignment", ast.unparse(ast.Assign([node.target], node.value, lineno=1))
    if isinstance(node, ast.Break):
        yield "loop exit", "pass"
    if isinstance(node, ast.Return) and node.value is not None:
        yield from _return_changes(node.value)


def _return_changes(value: ast.expr) -> Iterator[tuple[str, str]]:
    text = ast.unparse(value)
    if isinstance(value, ast.Compare | ast.BoolOp):
        yield "wrong return", f"return not ({text})"
    elif isinstance(value, ast.Tuple) and len(value.elts) == 2:
        first, second = (ast.unparse(item) for item in value.elts)
        yield "wrong return", f"return ({second}, {first})"
    elif not isinstance(value, ast.Constant):
        # Of a value's type nothing is known here; the tests sort out what raises.
        yield "off by one", f"return {_bracketed(value)} + 1"
        yield "off by one", f"return {_bracketed(value)}[:-1]"
        yield "wrong return", f"return {_bracketed(value)}[::-1]"


def _constant_changes(node: ast.Constant) -> Iterator[tuple[str, str]]:
    value = node.value
    if isinstance(value, bool):
        yield "truth value", str(not value)
    elif isinstance(value, int | float):
        yield "off by one", repr(value + 1)
        if value >= 1:
            yield "off by one", repr(value - 1)
    elif isinstance(value, str) and value:
        yield "string", repr(value[:-1])
        yield "string", repr(value.swapcase())


def _call_changes(node: ast.Call) -> Iterator[tuple[str, str]]:
    function, text = node.func, ast.unparse(node)
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    if name in _NAMES:
        if isinstance(function, ast.Name):
            renamed: ast.expr = ast.Name(_NAMES[name])
        else:
            renamed = ast.Attribute(_attribute_owner(function), _NAMES[name])
        yield "function", ast.unparse(ast.Call(renamed, node.args, node.keywords))
    if name in _UNWRAPPED and node.args:
        yield "dropped call", _bracketed(node.args[0])
    if name == "len":
        yield "off by one", f"({text} - 1)"
    if name == "range":
        yield from _range_changes([ast.unparse(argument) for argument in node.args])
    if node.keywords:
        yield "dropped keyword", ast.unparse(ast.Call(function, node.args, node.keywords[1:]))


def _attribute_owner(function: ast.expr) -> ast.expr:
    assert isinstance(function, ast.Attribute)
    return function.value


def _range_changes(arguments: list[str]) -> Iterator[tuple[str, str]]:
    if len(arguments) == 1:
        yield "loop bound", f"range(1, {arguments[0]})"
        yield "loop bound", f"range({arguments[0]} - 1)"
    else:
        start, stop, *step = arguments
        yield "loop bound", f"range({', '.join([start, f'{stop} - 1', *step])})"
        yield "loop bound", f"range({', '.join([f'{start} + 1', stop, *step])})"


def _expression_changes(node: ast.expr) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Compare):
        other = _COMPARISONS.get(type(node.ops[-1]))
        if other:
            ops = [*node.ops[:-1], other()]
            yield "comparison", ast.unparse(ast.Compare(node.left, ops, node.comparators))
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        changed = ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
        yield "operator", ast.unparse(changed)
        if isinstance(node.op, ast.Sub | ast.Mod | ast.FloorDiv | ast.Div):
            yield "operands", ast.unparse(ast.BinOp(node.right, node.op, node.left))
    elif isinstance(node, ast.BoolOp):
        swapped = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "logic", f"({ast.unparse(ast.BoolOp(swapped, node.values))})"
        yield "dropped condition", f"({ast.unparse(node.values[0])})"
        yield "dropped condition", f"({ast.unparse(node.values[-1])})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "sign", _bracketed(node.operand)
    elif isinstance(node, ast.IfExp):
        swapped_arms = ast.IfExp(node.test, node.orelse, node.body)
        yield "branches", f"({ast.unparse(swapped_arms)})"
        yield "dropped branch", _bracketed(node.body)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        yield "slice", ast.unparse(node.value)
    elif isinstance(node, ast.ListComp | ast.GeneratorExp) and node.generators[0].ifs:
        yield "dropped condition", ast.unparse(_without_condition(node))


def _without_condition(node: ast.ListComp | ast.GeneratorExp) -> ast.expr:
    first = node.generators[0]
    bare = ast.comprehension(first.target, first.iter, first.ifs[1:], first.is_async)
    return type(node)(node.elt, [bare, *node.generators[1:]])


def _bracketed(node: ast.expr) -> str:
    text = ast.unparse(node)
    simple = ast.Name | ast.Call | ast.Subscript | ast.Attribute | ast.List | ast.ListComp
    return text if isinstance(node, simple) else f"({text})"


def _replaced(program: str, node: ast.expr | ast.stmt, text: str) -> str:
    """Put ``text`` in the node's place; its columns count bytes of UTF-8."""
    lines = program.encode().splitlines(keepends=True)
    assert node.end_lineno is not None
    before = [*lines[: node.lineno - 1], lines[node.lineno - 1][: node.col_offset]]
    last = lines[node.end_lineno - 1][node.end_col_offset :]
    after = [last, *lines[node.end_lineno :]]
    return b"".join([*before, text.encode(), *after]).decode()


def _compiles(program: str) -> bool:
    try:
        compile(program, "<mutant>", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
