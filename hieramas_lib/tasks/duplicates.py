"""Questions that are nearly the same, so that no two of them end up in different splits."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from hieramas_lib.tasks.task import Task

THRESHOLD = 0.9
SHINGLE = 5
"""Characters in a shingle."""


def near_duplicates(
    tasks: Sequence[Task], threshold: float = THRESHOLD
) -> list[tuple[str, str, float]]:
    """Return the pairs of ids whose statements are alike, and how much: above ``threshold``.

    Likeness is the Jaccard index of the sets of character shingles of the statements (question
    and options), in lower case, without punctuation and repeated spaces.
    """
    sets = [shingles(task.statement) for task in tasks]
    alike: list[tuple[str, str, float]] = []
    for first, second in _candidates(sets, threshold):
        common = len(sets[first] & sets[second])
        likeness = common / (len(sets[first]) + len(sets[second]) - common)
        if likeness > threshold:
            alike.append((tasks[first].id, tasks[second].id, likeness))
    return alike


def shingles(text: str) -> frozenset[str]:
    """Return the shingles of a text; of one shorter than a shingle, the text itself.

    Signs of arithmetic count: "3 + 4" and "3 - 4" are two questions.
    """
    plain = "".join(c if c.isalnum() or c in "+-−*/^=<>" else " " for c in text.casefold())
    plain = " ".join(plain.split())
    return frozenset(plain[i : i + SHINGLE] for i in range(max(1, len(plain) - SHINGLE + 1)))


def _candidates(sets: Sequence[frozenset[str]], threshold: float) -> Iterator[tuple[int, int]]:
    """Yield each pair that can pass, the earlier first.

    Two sets with a Jaccard index of at least t share one of the rarest |s| - ceil(t |s|) + 1
    shingles of each (prefix filtering, Bayardo et al. 2007).
    """
    frequency = Counter(shingle for each in sets for shingle in each)
    holders: dict[str, list[int]] = defaultdict(list)
    for number, each in enumerate(sets):
        rarest = sorted(each, key=lambda shingle: (frequency[shingle], shingle))
        met: set[int] = set()
        for shingle in rarest[: len(each) - int(threshold * len(each)) + 1]:
            met.update(holders[shingle])
            holders[shingle].append(number)
        yield from ((other, number) for other in sorted(met))
