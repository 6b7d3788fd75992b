"""Common mistakes, counted by hand on six questions."""

import pandas as pd
import pytest

from hieramas_lib.experiments.mistakes import common_mistakes


def records(**answers: str) -> pd.DataFrame:
    """One letter a question; the right answer is A everywhere, "-" cannot be read."""
    return pd.DataFrame(
        [
            {
                "method": method,
                "task_id": f"q{number}",
                "extracted": None if letter == "-" else letter,
                "correct": letter == "A",
            }
            for method, letters in answers.items()
            for number, letter in enumerate(letters)
        ]
    )


def test_pairs_are_compared_where_both_are_wrong() -> None:
    table = common_mistakes(records(x="AABBCC", y="ABBCCA")).set_index(["first", "second"])
    pair = table.loc[("x", "y")]
    assert pair["common"] == 3  # questions 2, 3 and 4
    assert pair["same"] == pytest.approx(2 / 3)  # B and B, B and C, C and C
    assert pair["expected"] == pytest.approx(4 * 4 / 6)
    assert table.loc[("y", "x"), "same"] == pair["same"]
    assert table.loc[("x", "x"), ["common", "same"]].tolist() == [4, 1]


def test_what_cannot_be_read_is_no_mistake() -> None:
    pair = common_mistakes(records(x="BB", y="-B")).set_index(["first", "second"]).loc[("x", "y")]
    assert pair["common"] == 1


def test_without_common_mistakes_there_is_no_share() -> None:
    pair = common_mistakes(records(x="AB", y="BA")).set_index(["first", "second"]).loc[("x", "y")]
    assert pair["common"] == 0
    assert pd.isna(pair["same"])
