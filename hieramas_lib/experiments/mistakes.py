"""Do LLMs make the same mistakes? What a second opinion is worth depends on it."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def common_mistakes(records: "pd.DataFrame") -> "pd.DataFrame":
    """Compare the mistakes of every two methods on the questions that both got wrong.

    Args:
        records: As :func:`~.records.evaluate` gives them, one row a method and question; questions
            that a method gave no readable answer to are left out for it.

    Returns:
        One row a pair: ``first, second``, ``common`` (questions that both got wrong), ``expected``
        (how many that would be if mistakes were independent), ``same`` (the share of the common
        ones on which both gave the same wrong answer; NaN if there are none).
    """
    import pandas as pd

    read = records[records["extracted"].notna()]
    answers = read.pivot_table(
        index="task_id", columns="method", values="extracted", aggfunc="first", sort=False
    )
    wrong = read.pivot_table(
        index="task_id", columns="method", values="correct", aggfunc="first", sort=False
    ).eq(False)  # fmt: skip
    rows = []
    for first in answers.columns:
        for second in answers.columns:
            both = wrong[first] & wrong[second]
            same = (answers[first] == answers[second])[both]
            rows.append(
                {
                    "first": first,
                    "second": second,
                    "common": int(both.sum()),
                    "expected": float(wrong[first].mean() * wrong[second].sum()),
                    "same": float(same.mean()) if len(same) else np.nan,
                }
            )
    return pd.DataFrame(rows)
