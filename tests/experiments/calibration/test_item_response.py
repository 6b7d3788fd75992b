import numpy as np
import pytest

from hieramas_lib.experiments.calibration.item_response import fit_item_response


def test_known_parameters_are_found() -> None:
    rng = np.random.default_rng(0)
    intercepts, loadings = np.array([1.0, -1.0, 2.0, 0.0]), np.array([1.0, 2.0, 3.0, 1.5])
    z = rng.standard_normal(20_000)
    chance = 1 / (1 + np.exp(-(intercepts[:, None] + loadings[:, None] * z)))
    found = fit_item_response(rng.random(chance.shape) < chance)
    assert found[0] == pytest.approx(intercepts, abs=0.15)
    assert found[1] == pytest.approx(loadings, abs=0.25)


def test_answers_by_chance_have_no_loading() -> None:
    right = np.random.default_rng(0).random((5, 5_000)) < 0.7
    intercepts, loadings = fit_item_response(right)
    assert intercepts == pytest.approx(np.full(5, np.log(0.7 / 0.3)), abs=0.2)
    assert np.abs(loadings).max() < 0.6
