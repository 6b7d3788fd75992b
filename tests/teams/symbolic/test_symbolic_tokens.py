"""Billed tokens where they can be worked out by hand."""

import pytest
from symbolic_cases import HARD, POOL

from hieramas_lib.llms.world import World
from hieramas_lib.llms.world_settings import Length
from hieramas_lib.teams.symbolic.tokens import billed_tokens


def table(limit: int, length: Length) -> list[float]:
    """Mean billed tokens by visible ones, of an LLM that usually writes 100."""
    knobs = HARD.with_knobs(
        "replies", length={"answer only": length, "step by step": length}, blank_rate=0.0
    )
    spec = POOL.llms[0].model_copy(update={"usual_tokens": (50, 100), "max_tokens": limit})
    return billed_tokens(spec, "step by step", World((), knobs, POOL, 0)).tolist()


def test_a_reply_of_fixed_length_is_billed_for_what_is_longer() -> None:
    fixed = Length(log_sd=0.0, long_share=0.0, long_log_sd=0.0)
    assert table(120, fixed) == [100.0] * 101 + [float(v) for v in range(101, 121)]
    assert table(60, fixed) == [60.0] * 61


def test_the_mean_length_is_the_usual_one_unless_the_limit_cuts_its_tail() -> None:
    spread = Length(log_sd=0.5, long_share=0.1, long_log_sd=1.0)
    assert table(4000, spread)[0] == pytest.approx(100.0, rel=0.01)
    assert 70.0 < table(150, spread)[0] < 97.0
    # The tail of the longest replies cannot make up for what the limit takes.
    assert table(150, spread)[150] == 150.0
