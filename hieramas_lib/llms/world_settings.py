"""The knobs of a simulated world, each with what it causes (design 7).

Abilities are in logits. What a logit is worth depends on ``loading``: about 5 points of
accuracy at loading 4 and 85 % accuracy, about 9 at loading 2. So a small loading makes every
other knob count for more.

Where the values come from is said beside them in ``data/simulation``, and how near ``mmlu-like``
comes to real LLMs in its ``calibration.md``.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.layout import Duty, Header, Style
from hieramas_lib.tasks.task import Kind

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
NonNegative = Annotated[float, Field(ge=0.0)]
Section = Literal["difficulty", "wrong", "reading", "checker", "fit", "replies"]
Accuracy = Annotated[float, Field(gt=0.01, lt=0.99)]


class _Knobs(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Difficulty(_Knobs):
    """What makes a question of one kind right or wrong for an LLM that answers alone.

    Attributes:
        loading: Least and largest weight of a question's difficulty; each LLM has its own.
            Large: the same questions are hard for everybody, and choosing LLMs matters less.
        subject_share: Standard deviation of difficulty that is the subject's. Some subjects
            are hard for every LLM.
        level_share: The same for the task's level, where it has one.
        interaction_sd: LLM x subject. Why the best LLM depends on the question's subject.
        residual: LLM x question, scale of a logistic draw. What only this LLM gets wrong: why a
            second LLM, even of the same family, adds something. Small: phi between LLMs rises.
        family_sd: Family x question. LLMs of one family fail together; a team of several
            families covers more. At 0 families mean nothing.
        role_noise: LLM x question x role x position. Another prompt is another chance.
        call_noise: Repetition of one call. Small: asking again changes nothing, so that
            voting over samples of one LLM helps little.
        answer_only: Logits added when asked to answer without steps.
    """

    loading: tuple[Positive, Positive]
    subject_share: Share
    level_share: Share
    interaction_sd: NonNegative
    residual: Positive
    family_sd: NonNegative
    role_noise: NonNegative
    call_noise: NonNegative
    answer_only: float

    @model_validator(mode="after")
    def _check(self) -> "Difficulty":
        if self.loading[0] > self.loading[1]:
            raise ValueError("loading: the least must not be above the largest")
        if self.subject_share**2 + self.level_share**2 > 1.0:
            raise ValueError("subject_share^2 + level_share^2 must be at most 1")
        return self


class WrongAnswers(_Knobs):
    """Which wrong answer is given.

    Attributes:
        tempting: How often a wrong answer is the question's most tempting one; the others
            share the rest. High: errors agree, and a majority may be wrong.
        family: How often an LLM falls for what its family falls for.
        stray: How often a wrong answer to a maths question is one of 20 other numbers instead.
            High: errors seldom agree, and a vote helps. Of choice and code there are no others.
    """

    tempting: Share
    family: Share
    stray: Share


class Reading(_Knobs):
    """What messages do to their reader.

    Attributes:
        recognition: Logits for the right answer if it is among those read. Why teams help:
            it is easier to see that an answer is right than to find it.
        persuasion: Logits per log2(1 + n) for an answer that n messages give. Errors that
            agree sway a better reader; good answers spread.
        doubt: Logits against a wrong answer that the reader would not have thought of.
        fatigue: Logits lost per message read. Why many proposers hurt in the end.
        sound_plan: Logits for having read a plan that works.
        unsound_plan: Logits for having read one that does not (negative).
    """

    recognition: NonNegative
    persuasion: NonNegative
    doubt: NonNegative
    fatigue: NonNegative
    sound_plan: NonNegative
    unsound_plan: Annotated[float, Field(le=0.0)]


class Checker(_Knobs):
    """How a checking role differs from a solver.

    Attributes:
        production: Logits added to finding the answer itself (negative).
        recognition: Logits added to recognising a right answer among those read.
        persuasion: Factor on persuasion; below 1 it is swayed less.
    """

    production: float
    recognition: NonNegative
    persuasion: NonNegative


class Fit(_Knobs):
    """What an expert's role does in its own subjects and in others, in logits.

    The gap between the two is what role pruning and query-dependent choice can gain.
    """

    own: float
    other: float


class RoleKnobs(_Knobs):
    """One role: its duty and, if it is an expert in some, the subjects it fits.

    ``elsewhere`` replaces :attr:`Fit.other` for a role that is no worse outside its subjects.
    """

    duty: Duty
    subjects: tuple[str, ...] = ()
    elsewhere: float | None = None


class Length(_Knobs):
    """How the number of completion tokens varies around the LLM's usual one, which is its mean.

    Most replies are log-normal; a share of them is log-normal with another spread and the same
    median, which makes a heavy tail.

    Attributes:
        log_sd: Spread of most replies on the log scale.
        long_share: Share of replies with the other spread; 0 is a plain log-normal.
        long_log_sd: The other spread. Large: a few replies are many times as long.
    """

    log_sd: NonNegative
    long_share: Share
    long_log_sd: NonNegative


class Replies(_Knobs):
    """Form of a reply.

    Attributes:
        blank_rate: Share of replies that are empty or hold no answer.
        length: Spread of the number of completion tokens, by style.
        start_s: Seconds until the first token.
        read_per_s: Prompt tokens read in a second.
        write_per_s: Completion tokens written in a second.
    """

    blank_rate: Share
    length: Mapping[Style, Length]
    start_s: NonNegative
    read_per_s: Positive
    write_per_s: Positive

    @model_validator(mode="after")
    def _check(self) -> "Replies":
        _check_keys("length", self.length, ("answer only", "step by step"))
        return self


class WorldSettings(_Knobs):
    """Everything about a simulated world but its tasks, its LLMs and its seed.

    Attributes:
        name: Name of the difficulty, stamped on figures.
        source: Where the targets come from.
        targets: Accuracy by LLM and kind of task, alone, step by step. Intercepts are solved
            for these.
        difficulty: Its knobs, by kind of task.
        subjects: Subjects that have effects of their own, by kind. Effects sum to zero over
            each list, so that the targets hold for a set that covers it evenly. A subject
            that is not listed has none.
        roles: Duty and fit by role name; a role that is not listed is a neutral solver.
    """

    name: str
    source: str
    targets: dict[str, dict[Kind, Accuracy]]
    difficulty: Mapping[Kind, Difficulty]
    wrong: WrongAnswers
    reading: Reading
    checker: Checker
    fit: Fit
    replies: Replies
    subjects: dict[Kind, tuple[str, ...]]
    roles: dict[str, RoleKnobs]

    @model_validator(mode="after")
    def _check(self) -> "WorldSettings":
        _check_keys("difficulty", self.difficulty, ("choice", "maths", "code"))
        return self

    def with_knobs(self, section: Section, **knobs: Any) -> "WorldSettings":
        """Return these settings with other values of some knobs of ``section``.

        For asking what a knob causes, as in ``with_knobs("reading", fatigue=0.0)``. Those of
        ``difficulty`` are changed for every kind of task.

        Raises:
            ConfigError: no such knob, or a value that it can't have.
        """
        fields = self.model_dump()
        changed = fields[section]
        for target in changed.values() if section == "difficulty" else (changed,):
            target.update(knobs)
        try:
            return WorldSettings.model_validate(fields)
        except ValidationError as error:
            raise ConfigError(f"settings {self.name!r}: {error}") from None

    def duty(self, header: Header) -> Duty:
        """Return the duty of a seat; the decision and an LLM alone always have to answer."""
        knobs = self.roles.get(header.role)
        last = header.position in ("decision", "alone")
        if knobs is None or (last and knobs.duty == "planner"):
            return "solver"
        return knobs.duty

    def role_fit(self, role: str, subject: str) -> float:
        """Return the logits that ``role`` adds on ``subject``."""
        knobs = self.roles.get(role)
        if knobs is None or not knobs.subjects:
            return 0.0
        if subject in knobs.subjects:
            return self.fit.own
        return self.fit.other if knobs.elsewhere is None else knobs.elsewhere


def _check_keys(field: str, values: Mapping[Any, Any], keys: tuple[str, ...]) -> None:
    if missing := [key for key in keys if key not in values]:
        raise ValueError(f"{field}: no value for {', '.join(missing)}")
