"""The two-parameter item response model, fitted to a table of right and wrong answers."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDS, _STEPS = 60, 4
_RIDGE = 1e-6


def fit_item_response(right: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Fit P(right) = sigmoid(intercept[LLM] + loading[LLM] * z), z standard normal per question.

    By expectation and maximisation over 41 values of z, with four Newton steps a round.

    Args:
        right: Shape ``[LLMs, questions]``.

    Returns:
        Intercepts and loadings, shape ``[LLMs]`` each.
    """
    z = np.linspace(-5.0, 5.0, 41)
    log_prior = -(z**2) / 2.0
    x = right.astype(float)
    share = x.mean(axis=1).clip(0.01, 0.99)
    intercepts, loadings = 1.5 * np.log(share / (1 - share)), np.full(len(x), 2.0)
    for _ in range(_ROUNDS):
        logits = intercepts[:, None] + loadings[:, None] * z
        log_posterior = x.T @ -np.logaddexp(0, -logits) + (1 - x).T @ -np.logaddexp(0, logits)
        log_posterior += log_prior
        posterior = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        asked, solved = posterior.sum(axis=0), x @ posterior
        for _ in range(_STEPS):
            intercepts, loadings = _newton(intercepts, loadings, z, asked, solved)
    return intercepts, loadings


def _newton(
    intercepts: Floats, loadings: Floats, z: Floats, asked: Floats, solved: Floats
) -> tuple[Floats, Floats]:
    """Take one Newton step of every LLM's logistic regression of right answers on z."""
    p = 1.0 / (1.0 + np.exp(-(intercepts[:, None] + loadings[:, None] * z)))
    rest, weight = solved - asked * p, asked * p * (1 - p)
    first, second = rest.sum(axis=1), (rest * z).sum(axis=1)
    aa = weight.sum(axis=1) + _RIDGE
    ab = (weight * z).sum(axis=1)
    bb = (weight * z * z).sum(axis=1) + _RIDGE
    determinant = aa * bb - ab**2
    return (
        intercepts + (bb * first - ab * second) / determinant,
        loadings + (aa * second - ab * first) / determinant,
    )
