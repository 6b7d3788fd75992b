from statistics import fmean, median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hieramas_lib.llms.simulated_lengths import draw_length
from hieramas_lib.llms.world import load_settings
from hieramas_lib.llms.world_settings import Length

HEAVY = Length(log_sd=0.28, long_share=0.12, long_log_sd=1.2)
PLAIN = Length(log_sd=0.6, long_share=0.0, long_log_sd=0.0)


def lengths(usual: float, spread: Length, draws: int = 20_000) -> list[int]:
    return [draw_length(usual, spread, (i + 0.5) / draws) for i in range(draws)]


def test_without_long_ones_it_is_a_log_normal() -> None:
    # Median = mean / exp(0.6^2 / 2); at one standard deviation exp(0.6) times that.
    assert draw_length(450, PLAIN, 0.5) == 376
    assert draw_length(450, PLAIN, 0.8413447) == 685
    assert draw_length(450, PLAIN, 1e-12) == 6
    assert draw_length(1, PLAIN, 1e-6) == 1


@settings(max_examples=25, deadline=None)
@given(
    st.floats(20, 2000), st.floats(0, 0.8), st.floats(0, 0.5), st.floats(0, 1.2)
)  # fmt: skip
def test_the_mean_is_the_usual_number(usual: float, sd: float, share: float, long: float) -> None:
    spread = Length(log_sd=sd, long_share=share, long_log_sd=long)
    assert fmean(lengths(usual, spread, 4_000)) == pytest.approx(usual, rel=0.03, abs=0.5)


def test_long_ones_make_the_tail_heavy_and_leave_the_rest() -> None:
    heavy, light = (
        np.quantile(lengths(1000, spread), [0.25, 0.5, 0.75, 0.99])
        for spread in (HEAVY, HEAVY.model_copy(update={"long_share": 0.0}))
    )
    assert heavy[3] / heavy[1] > 2 * light[3] / light[1]
    assert heavy[2] / heavy[0] == pytest.approx(light[2] / light[0], rel=0.15)


def test_all_long_is_a_log_normal_of_the_other_spread() -> None:
    spread = Length(log_sd=0.1, long_share=1.0, long_log_sd=0.6)
    assert lengths(450, spread, 99) == lengths(450, PLAIN, 99)


@pytest.mark.parametrize("difficulty", ["hard", "mmlu-like"])
def test_shipped_short_answers_have_the_measured_tail(difficulty: str) -> None:
    drawn = lengths(67, load_settings(difficulty).replies.length["answer only"])
    # RouterArena, gemini-2.0-flash-001: median 59, 90 % 94, 99 % 291 (269 by the lower rule).
    assert median(drawn) == pytest.approx(59, rel=0.15)
    assert np.quantile(drawn, 0.9) == pytest.approx(94, rel=0.15)
    assert np.quantile(drawn, 0.99) == pytest.approx(291, rel=0.15)
    assert np.quantile(drawn, 0.99) == pytest.approx(269, rel=0.15)
