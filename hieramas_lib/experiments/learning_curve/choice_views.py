"""A policy in training seen from inside: by position, by role, and what it chooses in the end.

Each function turns the traces of several trainings, one a seed, into what a figure takes.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.learning.choice_trace import Choices, mean_choices

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

Trace = Sequence[Choices]
Curves = NDArray[np.floating[Any]]


def position_names(width: int) -> list[str]:
    """Return the names of the positions of a supernode with ``width`` proposers."""
    return [*(f"proposer {place + 1}" for place in range(width)), "synthesizer"]


def position_shares(traces: Sequence[Trace], positions: Sequence[str]) -> dict[str, Curves]:
    """Return the probability of each action by position, mean over roles, ``[steps, A]``."""
    by_position = np.stack([entry.shares.mean(dim=0).numpy() for entry in _means(traces)])
    return {name: by_position[:, place] for place, name in enumerate(positions)}


def training_panels(
    traces: Sequence[Trace], roles: Sequence[str]
) -> dict[str, Mapping[str, Curves]]:
    """Return what ``training_curves`` draws: pruning and entropy by role, kept roles, price.

    Values by role are means over seeds, ``[steps]``; the others are ``[seeds, steps]``.
    """
    entries = _means(traces)

    def by_role(quantity: str) -> dict[str, Curves]:
        values = np.stack([getattr(entry, quantity).numpy() for entry in entries])
        return {role: values[:, place] for place, role in enumerate(roles)}

    def kept(quantity: str) -> Curves:
        return np.array([[float(getattr(e, quantity).sum()) for e in trace] for trace in traces])

    return {
        "role is pruned (%)": {r: 100 - 100 * k for r, k in by_role("kept_sampled").items()},
        "entropy of a role (nats)": by_role("entropy"),
        "roles kept": {"arg-max": kept("kept"), "drawn": kept("kept_sampled")},
        "expected price (ref. calls)": {"drawn": np.array([[e.cost for e in t] for t in traces])},
    }


def chosen_shares(
    actions: "Tensor", roles: Sequence[str], positions: Sequence[str], columns: Sequence[str]
) -> "pd.DataFrame":
    """Return how often each position of each role is given each action, "Role · position".

    Args:
        actions: What is chosen for every question and seed, ``[questions, R, P]``.
        roles, positions: Names.
        columns: Names of the actions, SKIP the last.
    """
    import pandas as pd
    import torch

    counts = actions[..., None].eq(torch.arange(len(columns))).double().mean(dim=0)
    return pd.DataFrame(
        counts.flatten(0, 1).numpy(),
        index=[f"{role} · {position}" for role in roles for position in positions],
        columns=list(columns),
    )


def kept_sentence(traces: Sequence[Trace]) -> str:
    """Say how many roles are kept before and after training."""
    entries = _means(traces)
    (first, first_drawn), (last, last_drawn) = (
        (float(entry.kept.sum()), float(entry.kept_sampled.sum()))
        for entry in (entries[0], entries[-1])
    )
    return (
        f"After training {last:.1f} of {len(entries[0].kept)} roles are kept by arg-max and "
        f"{last_drawn:.1f} when drawn; before, {first:.1f} and {first_drawn:.1f}."
    )


def _means(traces: Sequence[Trace]) -> list[Choices]:
    return [mean_choices(at) for at in zip(*traces, strict=True)]
