"""The figure of a case: the question, the graph, and what every member said."""

from textwrap import wrap
from typing import TYPE_CHECKING

from hieramas_lib.experiments.case_cards import CaseCard, member_rows, shorten, verdict
from hieramas_lib.experiments.figures import PAGE, style
from hieramas_lib.experiments.graph_drawing import draw_topology
from hieramas_lib.experiments.number_texts import dollars
from hieramas_lib.teams.topology import Topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE, _SIZE, _EDGE = 0.145, 7, 0.06
"""Inches of a line, points of its letters, and inches of the margin."""

_LINE_LETTERS, _QUESTION_LINES, _MESSAGE_LETTERS = 112, 12, 108
_COLUMNS = {"role": 0.0, "llms": 1.2, "says": 4.45, "cost": 5.3, "without": 5.95}
"""Left ends of the columns in inches from the margin."""

_LLMS_LETTERS = 60


def draw_card(card: CaseCard, decision: str, strongest: str) -> "Figure":
    """Draw one case.

    Args:
        card: What to draw.
        decision: Name of the LLM that decides.
        strongest: Name of what stands beside the team.
    """
    head, foot = _head(card), _foot(card, decision, strongest)
    acting = [node.role for node in card.rollout.nodes]
    if acting:
        graph = Topology.from_names(acting, card.rollout.requested_edges)
        figure = draw_topology(graph, acting)
    else:
        names = card.team.roles.names
        figure = draw_topology(card.team.topology, names, pruned=names)
    with style():
        _frame(figure, _LINE * len(head) + 2 * _EDGE, _LINE * len(foot) + 2 * _EDGE)
        top, bottom = figure.axes[-2:]
        for axes, lines in ((top, head), (bottom, foot)):
            for number, cells in enumerate(lines):
                for x, text, look in cells:
                    _write(axes, x, number, text, look)
    return figure


Cell = tuple[float, str, str]
"""Inches from the margin, a text, and its look: ``plain``, ``strong`` or ``quiet``."""


def _head(card: CaseCard) -> list[list[Cell]]:
    task = card.case.task
    # Line breaks of a program matter; a long statement is cut.
    lines = [
        part
        for line in task.statement.strip().splitlines()
        for part in wrap(line, _LINE_LETTERS, drop_whitespace=False, replace_whitespace=False)
    ]
    if len(lines) > _QUESTION_LINES:
        lines = [*lines[:_QUESTION_LINES], "…"]
    gold = "" if task.kind == "code" else f"; right answer {task.gold}"
    title = f"{task.id} ({task.subject.replace('_', ' ')}): {card.case.rule}{gold}"
    return [
        [(0.0, title, "strong")],
        *([(0.0, line, "plain")] for line in lines),
    ]


def _foot(card: CaseCard, decision: str, strongest: str) -> list[list[Cell]]:
    heads = ("role", "proposers → synthesizer", "says", "cost", "without it")
    lines: list[list[Cell]] = [
        [(x, text, "strong") for x, text in zip(_COLUMNS.values(), heads, strict=True)]
    ]
    for row in member_rows(card, letters=_MESSAGE_LETTERS).itertuples():
        llms = f"{row.proposers.replace(', ', ' + ')} → {row.synthesizer}"
        llms = row.synthesizer if row.proposers == "–" else shorten(llms, _LLMS_LETTERS)
        cells = (row.role, llms, row.says, dollars(row.call_usd), row.without_it)
        lines.append([(x, text, "plain") for x, text in zip(_COLUMNS.values(), cells, strict=True)])
        lines.append([(0.12, row.message, "quiet")])
    pruned = ", ".join(card.rollout.pruned) or "none"
    lines.append([(0.0, f"Pruned by the policy: {pruned}", "quiet")])
    for name, rollout in (
        (f"decision, {decision}", card.rollout),
        (f"{strongest} alone", card.alone),
    ):
        says = verdict(rollout.grade, card.case.task)
        calls = rollout.usage.calls
        total = f"{dollars(rollout.usage.cost_usd)}, {calls} call{'s' if calls != 1 else ''}"
        lines.append([(0.0, name, "strong"), (_COLUMNS["says"], says, "strong"),
                      (_COLUMNS["cost"], total, "strong")])  # fmt: skip
        lines.append([(0.12, shorten(rollout.answer, _MESSAGE_LETTERS), "quiet")])
    return lines


def _frame(figure: "Figure", above: float, below: float) -> None:
    """Make room above and below what is drawn, and put an axes in inches into each."""
    width, height = figure.get_size_inches()
    total = height + above + below
    figure.set_size_inches(PAGE, total)
    left = (PAGE - width) / 2
    for axes in figure.axes:
        box = axes.get_position()
        axes.set_position(
            ((left + box.x0 * width) / PAGE, (below + box.y0 * height) / total,
             box.width * width / PAGE, box.height * height / total)
        )  # fmt: skip
    for bottom, size in ((below + height, above), (0.0, below)):
        axes = figure.add_axes((0, bottom / total, 1, size / total))
        axes.set(xlim=(0, PAGE), ylim=(size, 0))
        axes.set_axis_off()
    for legend in figure.legends:
        # One of the axes, which keeps its place when the figure is stamped.
        handles = [handle for handle in legend.legend_handles if handle is not None]
        labels = [text.get_text() for text in legend.get_texts()]
        axes.legend(
            handles, labels, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3,
            borderaxespad=0.3,
        )  # fmt: skip
        legend.remove()


def _write(axes: "Axes", x: float, line: int, text: str, look: str) -> None:
    axes.text(
        # A dollar sign would begin a formula.
        _EDGE + x, _EDGE + _LINE * line, text.replace("$", r"\$"), va="top", size=_SIZE,
        weight="bold" if look == "strong" else "normal",
        color="#555555" if look == "quiet" else "black",
    )  # fmt: skip
