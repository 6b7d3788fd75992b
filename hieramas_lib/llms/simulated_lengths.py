"""How many tokens a simulated LLM is said to have written (design 7).

Real replies have a heavy tail: of those of two LLMs that were asked for short answers, one in a
hundred is five times as long as the median, where a log-normal that fits the other 99 would have
twice. So a share of the replies is drawn with a larger spread.
"""

from math import exp

from hieramas_lib.llms.world_draws import as_normal
from hieramas_lib.llms.world_settings import Length


def draw_length(usual: float, length: Length, u: float) -> int:
    """Return the number of tokens, at least 1, that the uniform draw ``u`` stands for.

    Before rounding its mean over all draws is ``usual``.
    """
    share = length.long_share
    if u < share:
        sd, u = length.long_log_sd, u / share
    else:
        sd, u = length.log_sd, (u - share) / (1.0 - share)
    return max(1, round(usual * exp(sd * as_normal(u)) / _mean(length)))


def _mean(length: Length) -> float:
    """Return the mean of the lengths whose median is 1."""
    usual = (1.0 - length.long_share) * exp(length.log_sd**2 / 2.0)
    return usual + length.long_share * exp(length.long_log_sd**2 / 2.0)
