"""Heat maps with spread and price marks show what they are given."""

import numpy as np
import pandas as pd

from hieramas_lib.experiments.preference_plots import call_prices, share_heatmap


def test_cells_hold_mean_and_range_in_the_panel_of_their_group() -> None:
    table = pd.DataFrame(
        [
            ("x", "p", "a", 0.75, 0.5, 1.0),
            ("x", "p", "b", 0.25, 0.0, 0.5),
            ("x", "s", "a", 1.0, 1.0, 1.0),
            ("x", "s", "b", 0.0, 0.0, 0.0),
            ("y", "p", "a", 0.1, 0.1, 0.1),
            ("y", "p", "b", 0.9, 0.9, 0.9),
        ],
        columns=["set", "place", "llm", "share", "lowest", "highest"],
    )
    figure = share_heatmap(table, group="set", row="place", column="llm", of="positions")
    first, second, bar = figure.axes
    assert first.images[0].get_array().tolist() == [[75, 25], [100, 0]]
    assert [text.get_text() for text in first.texts] == ["75", "50–100", "25", "0–50", "100"]
    assert [text.get_text() for text in second.texts] == ["10", "90"]
    assert second.get_title(loc="left") == "y"
    assert bar.get_ylabel() == "share of positions (%)"


def test_prices_are_per_thousand_calls_and_the_unknown_is_empty() -> None:
    table = pd.DataFrame(
        {"llm": ["a", "b"], "short_usd": [0.0002, None], "reasoned_usd": [0.001, None]}
    )
    (axes,) = call_prices(table).axes
    short, reasoned = axes.lines
    assert short.get_xdata()[0] == 0.2
    assert reasoned.get_xdata()[0] == 1.0
    assert np.isnan(short.get_xdata()[1])
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
