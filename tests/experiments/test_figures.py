"""Saved figures: stamped once, the same bytes each time, captioned, complete in PDF and PNG."""

import json

import pytest
from matplotlib.figure import Figure

from hieramas_lib.experiments.figures import save_figure, style
from hieramas_lib.experiments.plots import anchors
from hieramas_lib.experiments.runs import Run, start_run


@pytest.fixture
def run() -> Run:
    return start_run("demo", {"seed": 3})


def drawn(layout: str | None = "constrained") -> Figure:
    figure = Figure(figsize=(3, 2), layout=layout)
    axes = figure.add_subplot()
    axes.plot([0, 1], [1, 2])
    axes.set(xlabel="tasks", ylabel="accuracy (%)")
    return figure


def test_pdf_png_and_words_are_saved(run: Run) -> None:
    figure = drawn()
    assert save_figure(run, figure, "curve", "A curve.", simulated=True, alt="Rises.") is figure
    folder = run.folder / "figures"
    assert (folder / "curve.pdf").read_bytes().startswith(b"%PDF")
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    words = json.loads((folder / "curve.json").read_text())
    assert words["alt"] == "Rises."
    assert words["caption"].startswith("A curve. Simulated LLMs")


def test_stamp_says_simulated_seed_run_and_commit_once(run: Run) -> None:
    figure = drawn()
    for _ in range(2):
        save_figure(run, figure, "curve", "A curve.", simulated=True, alt="Rises.")
    texts = [text.get_text() for text in figure.texts]
    assert texts == [f"simulated LLMs · seed 3 · run {run.run_id} · commit {run.commit}"]
    assert figure.get_size_inches().tolist() == pytest.approx([3, 2.2])


def test_real_results_are_not_stamped_simulated(run: Run) -> None:
    figure = drawn()
    save_figure(run, figure, "curve", "A curve.", simulated=False, alt="Rises.")
    assert "simulated" not in figure.texts[0].get_text()
    assert "Simulated" not in json.loads((run.folder / "figures/curve.json").read_text())["caption"]


@pytest.mark.parametrize("layout", ["constrained", None])
def test_same_figure_is_the_same_bytes(run: Run, layout: str | None) -> None:
    for name in ("a", "b"):
        save_figure(run, drawn(layout), "curve", "A curve.", simulated=False, alt="Rises.")
        (run.folder / "figures").rename(run.folder / name)
    for ending in ("pdf", "png", "json"):
        first, second = (run.folder / n / f"curve.{ending}" for n in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()
    assert b"CreationDate" not in (run.folder / "a" / "curve.pdf").read_bytes()


def test_nothing_lies_under_the_stamp(run: Run) -> None:
    for layout in ("constrained", None):
        figure = drawn(layout)
        save_figure(run, figure, "curve", "A curve.", simulated=False, alt="Rises.")
        figure.draw_without_rendering()
        stamp = figure.texts[0].get_window_extent()
        assert stamp.x0 >= 0
        if layout:
            assert figure.axes[0].get_tightbbox().y0 >= stamp.y1
        else:  # placed by hand: moved up by the strip, and as tall as before
            box = figure.axes[0].get_position()
            inches = box.y0 * figure.get_figheight(), box.height * figure.get_figheight()
            assert inches == pytest.approx((0.11 * 2 + 0.2, 0.77 * 2))


def test_style_keeps_small_print_readable() -> None:
    import matplotlib as mpl

    with style():
        sizes = [mpl.rcParams[f"{part}.labelsize"] for part in ("xtick", "ytick", "axes")]
        looks = list(mpl.rcParams["axes.prop_cycle"])
    assert min(sizes) >= 8
    assert len({look["marker"] for look in looks}) == len(looks)
    assert len({str(look["linestyle"]) for look in looks}) == len(looks)
    assert anchors.__doc__
