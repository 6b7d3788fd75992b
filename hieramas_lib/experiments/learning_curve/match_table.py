"""How well the match of question and role tells whose question it is, where that is known."""

from typing import TYPE_CHECKING

from hieramas_lib.experiments.benchmark import Benchmark
from hieramas_lib.learning.match_quality import ENOUGH, margin_match, own_questions, sensitivity
from hieramas_lib.llms.world import load_settings

if TYPE_CHECKING:
    import pandas as pd


def match_table(world: Benchmark, difficulty: str) -> "pd.DataFrame":
    """Return d' of every role's match, on the training and test questions of ``world``.

    Columns ``role, questions, d_prime, d_prime_margin``: the number of its own questions, d' as
    learners see the match, and d' of its distance to the best of the other roles. NaN for a role
    without questions of its own.
    """
    import pandas as pd

    tasks, roles = (*world.train, *world.test), world.space.roles
    match = world.featurizer()(tasks).match
    own = own_questions(load_settings(difficulty), roles, tasks)
    return pd.DataFrame(
        {
            "role": roles.names,
            "questions": own.sum(dim=0).tolist(),
            "d_prime": sensitivity(match, own),
            "d_prime_margin": sensitivity(margin_match(match), own),
        }
    )


def match_sentence(table: "pd.DataFrame") -> str:
    """Say between what values d' lies, and for which roles it is too low to go by."""
    weak = table[table["d_prime"] < ENOUGH]["role"].tolist()
    return (
        f"The match tells own questions from others with d' of {table['d_prime'].min():.2f} to "
        f"{table['d_prime'].max():.2f}; under {ENOUGH:.0f}: {', '.join(weak) or 'no role'}."
        + (" Nothing replaces it there but the role's own learned bias." if weak else "")
    )
