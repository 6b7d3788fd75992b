"""How a simulated LLM is moved by what it reads (design 7)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log2

from hieramas_lib.llms.layout import Duty, Section
from hieramas_lib.llms.simulated_answers import read_answer
from hieramas_lib.llms.simulated_plans import judge_plan
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Evidence:
    """What messages and proposals told their reader.

    Attributes:
        votes: How many texts give each answer.
        read: How many texts were read, with or without an answer.
        plans: Whether each plan among them is sound, once each.
    """

    votes: Mapping[str, int]
    read: int = 0
    plans: frozenset[bool] = frozenset()


def read_evidence(task: Task, sections: Iterable[Section], seed: int) -> Evidence:
    """Read the messages and proposals among ``sections``."""
    votes: Counter[str] = Counter()
    plans: set[bool] = set()
    read = 0
    for section in sections:
        if section.tag == "task":
            continue
        read += 1
        sound = judge_plan(task, section.text, seed)
        if sound is not None:
            plans.add(sound)
            continue
        answer = read_answer(task, section.text)
        if answer is not None:
            votes[answer] += 1
    return Evidence(votes, read, frozenset(plans))


def choose_answer(
    right: str, own_wrong: str, margin: float, evidence: Evidence, duty: Duty, knobs: WorldSettings
) -> str:
    """Return the answer with the highest score.

    Own belief is ``margin`` for the right answer, 0 for the reader's own wrong one and
    ``-doubt`` for any other; production (plans, fatigue, a checker's handicap) moves the
    margin, reading moves every answer that was read::

        score[c] = belief[c] + kappa * log2(1 + votes[c]) + recognition * (c is right and was read)

    Args:
        right: The right answer.
        own_wrong: The wrong answer that this LLM falls for.
        margin: Logits of right against own wrong, call noise included.
        evidence: What was read.
        duty: The role's duty; a checker produces worse, recognises better, is swayed less.
        knobs: The world's settings.
    """
    reading, checker = knobs.reading, knobs.checker
    kappa, recognition = reading.persuasion, reading.recognition
    if duty == "checker":
        margin += checker.production
        kappa *= checker.persuasion
        recognition += checker.recognition
    margin -= reading.fatigue * evidence.read
    margin += reading.sound_plan if True in evidence.plans else 0.0
    margin += reading.unsound_plan if False in evidence.plans else 0.0
    scores = {own_wrong: 0.0, right: margin}
    for answer in sorted(evidence.votes):
        scores.setdefault(answer, -reading.doubt)
        scores[answer] += kappa * log2(1 + evidence.votes[answer])
    if right in evidence.votes:
        scores[right] += recognition
    return max(scores, key=scores.__getitem__)
