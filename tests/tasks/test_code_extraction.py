import ast
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hieramas_lib.paths import ROOT
from hieramas_lib.tasks.code_extraction import extract_code

PLAIN = "def f(x):\n    return x\n"
CASES = ROOT.parent / "shared" / "data" / "answer_extraction_cases.jsonl"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        f"```python\n{PLAIN}```",
        f"```\n{PLAIN}```",
        f"```Python3 title=a.py\n{PLAIN}```\nIt returns x.",
        f"~~~py\n{PLAIN}~~~",
        f"````python\n{PLAIN}````",
        f"Sure!\n```python\n{PLAIN}",
        "```python\ndef f(x):\n    return x```",
        f"Here: ```python\n{PLAIN}```",
        f"{PLAIN}\nThis function returns x.",
        f"Here is the function\n{PLAIN}Note: that\nDone",
        f"The code:\n\n{PLAIN}\n```\n>>> f(1)\n1\n```",
        "1. First\n   ```python\n   def f(x):\n       return x\n   ```\n",
        "Code:\n\n    def f(x):\n        return x\n\nIt returns x.",
        PLAIN.replace("\n", "\r\n"),
        f"<think>def f(x): return 0</think>\n{PLAIN}",
        f"<think>```python\ndef f(x): return 0\n```</think>```python\n{PLAIN}```",
        f"```python\ndef f(x): return 0\n```\nBetter:\n```python\n{PLAIN}```",
        f"```python\n{PLAIN}```\nthat is\n```python\ndef f(x):\n    ...\n```",
        f"```python\n{PLAIN}```\nTest it:\n```python\nassert f(1) == 1\n```",
        f"```bash\npip install f\n```\n```python\n{PLAIN}```",
        f"```python\n{PLAIN}\nAnd this is prose inside the fence\n```",
    ],
)
def test_the_program_is_found(text: str) -> None:
    program = extract_code(text, "f")
    assert program is not None and program.strip() == PLAIN.strip()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot solve f.",
        "```python\ndef g(x): return f(x)\n```",
        "```python\ndef f(x:\n```",
        "<think>def f(x): return 0",
        "<think>```python\ndef f(x): return 0\n```</think>",
        "def f(x): return 0</think> I do not know",
        "class Solution:\n    def f(self, x):\n        return x\n",
        "```python\nclass Solution:\n    def f(self, x):\n        return x\n```",
    ],
)
def test_no_program_is_none(text: str) -> None:
    assert extract_code(text, "f") is None


def _run(program: str | None) -> object:
    assert program is not None
    scope: dict[str, object] = {}
    exec(program, scope)
    return scope["f"](3)  # type: ignore[operator]


def test_helpers_and_imports_are_kept() -> None:
    text = "```python\nimport math\nONE = 1\ndef h(x):\n    return math.floor(x) + ONE\n" + (
        "\ndef f(x):\n    return h(x)\n```"
    )
    assert _run(extract_code(text, "f")) == 4


def test_what_only_an_earlier_block_defines_is_put_before() -> None:
    text = (
        "```python\nimport math\n```\nA helper:\n```python\ndef h(x):\n    return math.floor(x)\n"
        "```\n```python\nunused = 1\n```\nNow:\n```python\ndef f(x):\n    return h(x) + 1\n```"
    )
    program = extract_code(text, "f")
    assert _run(program) == 4 and "unused" not in str(program)


def test_without_a_fence_the_longest_valid_part_wins() -> None:
    text = "Imports first.\nimport math\n\ndef h(x):\n    return math.floor(x)\n\ndef f(x):\n" + (
        "    return h(x)\n\nExample usage below shows it.\n\ndef f(x):\n    return -1\n"
    )
    assert _run(extract_code(text, "f")) == 3


LONG = "import math\n\n\ndef f(x):\n    y = math.floor(x)\n    return y\n"


@pytest.mark.parametrize("fence", ["", "```python\n"])
@pytest.mark.parametrize(
    "text",
    [
        f"def f(x): return -1\nThat fails. Better:\n\n{LONG}",
        f"def f(x):\n    pass\n\nThat is a stub: now the body:\n\n{LONG}\nDone.",
        f"{LONG}\nIt is not the same as:\n\ndef f(x): return -1\n",
        f"def f(x):\n    return (\n\nI start again!\n\n{LONG}\nThat is it.\n\ndef f(x): ...\n",
    ],
)
def test_the_longest_valid_part_wins_wherever_it_stands(text: str, fence: str) -> None:
    program = extract_code(fence + text, "f")
    assert program is not None and program.strip() == LONG.strip()


def test_a_stub_is_taken_only_where_nothing_else_is() -> None:
    stub = "def f(x):\n    '''Return x, and then explain at length why that is right.'''\n"
    assert _run(extract_code(f"{stub}\nHere it is.\n\n{PLAIN}\nDone now.", "f")) == 3
    assert extract_code(f"{stub}\nThat is all.", "f") == stub


def test_a_fence_inside_a_string_does_not_end_the_program() -> None:
    program = "def f(x):\n    '''Use\n    ```\n    f(1)\n    ```\n    '''\n    return x\n"
    assert _run(extract_code(f"```python\n{program}```", "f")) == 3


def test_a_lambda_or_an_alias_is_a_definition() -> None:
    assert _run(extract_code("```python\nf = lambda x: x\n```", "f")) == 3
    assert _run(extract_code("```python\ndef g(x): return x\nf = g\n```", "f")) == 3


def test_real_replies() -> None:
    if not CASES.exists():
        pytest.skip("the folder of real replies is not here")
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["kind"] == "code_fence"]
    assert len(rows) >= 5
    for row in rows:
        tree = ast.parse(row["gold"])
        name = next(n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef))
        program = extract_code(row["raw_output"], name)
        assert program is not None, row["id"]
        assert program.strip() == row["gold"].strip(), row["id"]


_PIECES = st.sampled_from(
    ["```", "~~~", "\n", "python", "def f(x):", "    return x", "(", "'''", '"', "\\", "f",
     "class A:", "\x00", "\ud800",
     "<think>", "</think>", " ", "\t", "@f", "import f", "f = ", "#", "\r", "é"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES, max_size=40).map("".join) | st.text(max_size=200))
def test_any_text_gives_a_valid_program_or_none(text: str) -> None:
    program = extract_code(text, "f")
    if program is not None:
        assert "f" in program
        compile(program, "<program>", "exec", ast.PyCF_ONLY_AST)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "f" + "(" * 100_000,
        "def f(x):\n" * 10_000,
        " x = f\n" * 15_000,
        "import f\n" * 12_000 + "(",
        "```\nf=1\n" * 12_000,
        "-" * 100_000 + "f",
        "f=" + "-" * 90_000 + "1",
        "f=" + "a." * 45_000 + "b",
        "'''f\n" * 20_000,
        "def f(x):\n  " + "if 1:\n " * 10_000,
        "`" * 100_000,
        "``` \n" * 20_000,
        "<think>f" * 12_000,
    ],
    ids=range(14),
)
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    extract_code(text, "f")
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize("usage", ["from solution import f", "import solution as f"])
def test_an_import_of_the_entry_point_is_no_definition(usage: str) -> None:
    text = f"```python\n{PLAIN}```\nUse it:\n```python\n{usage}\nassert f(1) == 1\n```"
    assert extract_code(text, "f") == PLAIN
    assert extract_code(f"```python\n{usage}\n```", "f") is None


@pytest.mark.parametrize("fence", ["", "```python\n"])
@pytest.mark.parametrize(
    "program",
    [
        "try:\n    import g\nexcept ImportError:\n    def f(x):\n        return x\n",
        "try:\n    from g import f\nexcept ImportError:\n    def f(x):\n        return x\n",
        "if True:\n    def f(x):\n        return x\nelse:\n    g = 1\n",
        "import contextlib\nwith contextlib.suppress(OSError):\n    def f(x):\n        return x\n",
    ],
)
def test_a_definition_inside_try_if_or_with_is_found(program: str, fence: str) -> None:
    assert _run(extract_code(f"{fence}{program}", "f")) == 3


def test_a_helper_block_after_the_main_block_is_kept() -> None:
    main = "```python\ndef f(x):\n    return h(x) + 1\n```\nwith the helper\n"
    helper = "```python\nimport math\ndef h(x):\n    return math.floor(x)\n```\n"
    test = "```python\nprint(f(2))\nh = 0\n```"
    assert _run(extract_code(main + helper + test, "f")) == 4
    assert "print" not in str(extract_code(main + helper + test, "f"))


def test_a_later_helper_goes_where_it_can_run() -> None:
    decorated = "```python\n@twice\ndef f(x):\n    return x\n```\n"
    decorator = "```python\ndef twice(g):\n    return lambda x: 2 * g(x)\n```"
    assert _run(extract_code(decorated + decorator, "f")) == 6
    main = "```python\nimport math\ndef f(x):\n    return x + ROOT\n```\n"
    assert _run(extract_code(main + "```python\nROOT = math.isqrt(4)\n```", "f")) == 5


def test_a_closing_fence_glued_to_the_next_opener_loses_no_block() -> None:
    text = "```python\ndef h(x):\n    return x\n``````python\ndef f(x):\n    return h(x)\n```"
    assert _run(extract_code(text, "f")) == 3


@pytest.mark.parametrize("main_first", [True, False])
def test_a_helper_does_not_push_a_future_import_down(main_first: bool) -> None:
    main = "```python\nfrom __future__ import annotations\ndef f(x: X):\n    return h(x)\n```\n"
    helper = "```python\ndef h(x):\n    return x\n```\n"
    assert _run(extract_code(main + helper if main_first else helper + main, "f")) == 3
