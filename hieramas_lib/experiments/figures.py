"""Saving figures: PDF and PNG, stamped, byte-stable, with a caption and a text alternative."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from hieramas_lib.experiments.runs import Run
from hieramas_lib.experiments.tables import full_caption

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = Path(__file__).with_name("hieramas.mplstyle")
COLUMN, PAGE = 3.4, 6.9
"""Widths in inches of one column and of a page; figures are printed at 1:1."""

_STAMP = "provenance"
_STAMP_INCHES = 0.2


@contextmanager
def style() -> Iterator[None]:
    """Use the project's matplotlib style, for figures drawn by hand as well."""
    from matplotlib import pyplot

    with pyplot.style.context(STYLE):
        yield


def save_figure(
    run: Run, figure: "Figure", name: str, caption: str, *, simulated: bool, alt: str
) -> "Figure":
    """Stamp ``figure``, save it into the run, and return it, so that a notebook shows it.

    Args:
        run: The run it belongs to.
        figure: What to save; it grows by a line at the bottom for the stamp.
        name: File name without ending.
        caption: One or two sentences; say what the spread is.
        simulated: Whether any simulated answer is shown; stamped, and added to the caption.
        alt: What the figure shows, for people who cannot see it.
    """
    with style():
        _stamp(figure, " · ".join([*(["simulated LLMs"] if simulated else []), run.stamp]))
        for ending, metadata in (("pdf", _pdf_metadata(name, run)), ("png", {"Software": None})):
            buffer = BytesIO()
            figure.savefig(buffer, format=ending, metadata=metadata)
            run.save_file(f"figures/{name}.{ending}", buffer.getvalue())
    about = {"caption": full_caption(caption, simulated), "alt": alt, "simulated": simulated}
    text = json.dumps(about, indent=2, ensure_ascii=False)
    run.save_file(f"figures/{name}.json", text.encode())
    return figure


def _pdf_metadata(name: str, run: Run) -> dict[str, str | None]:
    # Without a date the same figure is the same bytes.
    return {"CreationDate": None, "Title": name, "Keywords": run.stamp}


def _stamp(figure: "Figure", text: str) -> None:
    """Write ``text`` on a strip of its own below the figure, once."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    for old in figure.texts:
        if old.get_gid() == _STAMP:
            old.set_text(text)
            return
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + _STAMP_INCHES)
    strip = _STAMP_INCHES / (height + _STAMP_INCHES)
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0, strip, 1, 1 - strip))
    else:
        _lift(figure, strip)
        # matplotlib restores the layout engine None, after saving, as the style's default one.
        figure.set_layout_engine("constrained")
        figure.set_layout_engine("none")
    figure.text(
        1 - 0.04 / width, strip * 0.25, text,
        ha="right", va="bottom", size=6, color="#666666", gid=_STAMP,
    )  # fmt: skip


def _lift(figure: "Figure", strip: float) -> None:
    """Keep everything that was placed by hand at its size, above the strip."""
    for axes in figure.axes:
        box = axes.get_position()
        bottom, height = strip + box.y0 * (1 - strip), box.height * (1 - strip)
        axes.set_position((box.x0, bottom, box.width, height))
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0, strip, 1, 1 - strip), figure.transFigure)
