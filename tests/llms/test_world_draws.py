from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.llms.world_draws import (
    logistic,
    mean_right,
    normal,
    solve_intercept,
    uniform,
    uniforms,
)


def test_a_draw_is_pinned_to_its_names() -> None:
    # A changed hash would silently change every simulated figure.
    assert uniform(1, "question", "made/0") == 0.5541505121273739
    assert uniform(1, "a") == uniform(1, "a") != uniform(2, "a") != uniform(1, "b")


def test_names_do_not_run_into_each_other() -> None:
    assert uniform("ab", "c") != uniform("a", "bc")


@given(st.text(), st.integers())
def test_uniform_draws_stay_inside_the_open_interval(name: str, number: int) -> None:
    assert all(0.0 < u < 1.0 for u in uniforms(4, name, number))


def test_moments() -> None:
    normals = [normal("n", i) for i in range(20_000)]
    logistics = [logistic("l", i) for i in range(20_000)]
    assert fmean(normals) == pytest.approx(0.0, abs=0.03)
    assert pstdev(normals) == pytest.approx(1.0, abs=0.02)
    assert pstdev(logistics) == pytest.approx(1.814, abs=0.04)  # pi / sqrt(3)


def test_mean_right_at_known_points() -> None:
    assert mean_right(0.0, 3.0) == pytest.approx(0.5)
    assert mean_right(1.0, 0.0) == pytest.approx(0.7310586)


@given(st.floats(0.02, 0.98), st.floats(0.0, 8.0))
def test_the_intercept_meets_its_target(target: float, spread: float) -> None:
    assert mean_right(solve_intercept(target, spread), spread) == pytest.approx(target, abs=1e-6)
