"""What the notebook on robustness says: sentences and counts follow from the records."""

import pandas as pd

from hieramas_lib.experiments.robustness import CLEAN
from hieramas_lib.experiments.robustness_study import (
    FAULTY,
    SOUND,
    cut_sentences,
    drop_sentences,
    messages_sent,
)


def records() -> pd.DataFrame:
    rows = [
        (SOUND, CLEAN, 0, 2), (SOUND, CLEAN, 0, 4), (SOUND, "wrong", 0, 1),
        (FAULTY, CLEAN, 0, 1), (FAULTY, "wrong", 0, 0), (FAULTY, "wrong", 1, 1),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["method", "fault", "seed", "sent"])


def test_messages_are_counted_for_each_state_and_seed() -> None:
    sent = messages_sent(records()).set_index(["method", "state", "seed"])["sent"]
    assert sent[SOUND, "sound", 0] == 3
    assert sent[FAULTY, "wrong", 1] == 1


def test_drops_are_named_the_most_robust_first() -> None:
    table = pd.DataFrame(
        {
            "method": ["A", "B"], "fault": ["wrong", "wrong"], "accuracy_gain": [-0.05, -0.01],
            "accuracy_gain_low": [-0.08, -0.02], "accuracy_gain_high": [-0.02, 0.0],
        }
    )  # fmt: skip
    (sentence,) = drop_sentences(table, "here")
    assert "B -1.0 [-2.0, 0.0]; A -5.0 [-8.0, -2.0]" in sentence and "(here)" in sentence


def test_a_cut_is_claimed_only_where_its_interval_stays_below_zero() -> None:
    cuts = pd.DataFrame(
        {
            "method": [SOUND, FAULTY], "sent": [3.0, 1.0], "sent_gain": [-0.1, -0.5],
            "sent_gain_low": [-0.3, -0.8], "sent_gain_high": [0.1, -0.2],
        }
    )  # fmt: skip
    first, second, last = cut_sentences(cuts, messages_sent(records()))
    assert "neither more nor fewer (-0.100 [-0.300, 0.100])" in first
    assert "fewer (-0.500 [-0.800, -0.200])" in second
    assert "lets it send 0.50 messages, the other 1.00 (means of 2 seeds)" in last
