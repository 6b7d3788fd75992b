"""A simulated world: what each LLM knows about each question (design 7).

Item response, in logits::

    margin = a[LLM, kind] + b[LLM, subject] + load[LLM] * z[q] + family[f, q] + residual[LLM, q]
             + role noise + role fit + style

An LLM alone is right if margin plus call noise is above 0. The residual is logistic, so that over
(LLM, question) pairs P(right) = sigmoid(the rest / its scale); being persistent, it makes
repetition nearly deterministic. ``a`` is solved by integration over all draws, never over the
tasks at hand, so that adding a task changes no answer to another one. The spreads of all these
draws are knobs of the kind of task (:class:`~hieramas_lib.llms.world_settings.Difficulty`).
"""

from collections.abc import Iterable
from copy import copy
from math import fsum, hypot, sqrt

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.layout import Header, Section, parse_sections
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.llms.simulated_answers import stray_answers, wrong_answers
from hieramas_lib.llms.world_draws import (
    logistic,
    normal,
    solve_intercept,
    uniform,
    uniforms,
)
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.llms.yaml_file import read_yaml
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.task import Kind, Task


def load_settings(difficulty: str) -> WorldSettings:
    """Read the settings of a shipped difficulty, ``"mmlu-like"`` or ``"hard"``.

    Raises:
        ConfigError: no such difficulty, or its file is malformed.
    """
    folder = data_path("simulation")
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    if difficulty not in names:
        raise ConfigError(f"difficulty: {difficulty!r} is not one of {', '.join(names)}")
    return read_yaml(folder / f"{difficulty}.yaml", WorldSettings)


class World:
    """The questions, and how able every LLM of a pool is at each of them.

    Two tasks with one statement are one question to an LLM; the first of them counts.

    Raises:
        ConfigError: the right answer to a task is not known, so that nobody could give it.
    """

    def __init__(
        self, tasks: Iterable[Task], settings: WorldSettings, pool: LLMPool, seed: int
    ) -> None:
        self.settings = settings
        self.seed = seed
        self._families = {spec.name: spec.family for spec in pool.llms}
        self._tasks: dict[str, Task] = {}
        for task in tasks:
            _check_gold(task)
            self._tasks.setdefault(_as_read(task.statement), task)
        self._intercepts: dict[tuple[str, Kind], float] = {}
        self._effects: dict[tuple[str, Kind], dict[str, float]] = {}
        self._difficulties: dict[str, float] = {}
        self._in_any_role: dict[tuple[str, str], float] = {}
        self._margins: dict[tuple[str, str, Header], float] = {}
        self._wrong: dict[tuple[str, str], str] = {}

    def with_reading(self, settings: WorldSettings) -> "World":
        """Return the same world, with the same questions, to readers of another kind.

        Raises:
            ConfigError: ``settings`` differ in more than their ``reading`` and ``checker``.
        """
        ours = {"reading": self.settings.reading, "checker": self.settings.checker}
        if settings.model_copy(update=ours) != self.settings:
            raise ConfigError(
                f"settings {settings.name!r}: they differ from the world's in more than reading "
                "and checker; open a world of their own"
            )
        # What is remembered of margins and wrong answers depends on neither section.
        other = copy(self)
        other.settings = settings
        return other

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The questions, each once."""
        return tuple(self._tasks.values())

    def find(self, statement: str) -> Task | None:
        """Return the task with this text, as read out of a prompt's task section."""
        return self._tasks.get(statement)

    def check(self, llm: str) -> None:
        """Make sure that ``llm`` can be simulated.

        Raises:
            ConfigError: it is not in the world's pool, or has no target accuracy.
        """
        if llm not in self._families:
            known = ", ".join(self._families)
            raise ConfigError(f"the simulated world's pool has no LLM {llm!r}; it has {known}")
        if llm not in self.settings.targets:
            raise ConfigError(
                f"settings {self.settings.name!r}: targets has no LLM {llm!r}; add its accuracy "
                f"for choice, maths and code, or use one of {', '.join(self.settings.targets)}"
            )

    def margin(self, llm: str, task: Task, header: Header) -> float:
        """Return the persistent logits of the right answer against ``llm``'s own wrong one."""
        key = (llm, task.id, header)
        if key not in self._margins:
            self._margins[key] = self._margin(llm, task, header)
        return self._margins[key]

    def difficulty(self, task: Task) -> float:
        """Return z[q], standard normal over questions; high is easy."""
        if task.id not in self._difficulties:
            knobs = self.settings.difficulty[task.kind]
            subject, level, left = 0.0, 0.0, 1.0
            effects = self._subject_effects("everybody", task.kind)
            if task.subject in effects:
                subject = knobs.subject_share * effects[task.subject]
                left -= knobs.subject_share**2
            if task.level is not None:
                # Levels 1 to 5, equally frequent, have mean 3 and standard deviation sqrt(2).
                level = knobs.level_share * (3 - task.level) / sqrt(2.0)
                left -= knobs.level_share**2
            own = sqrt(left) * normal(self.seed, "question", task.id)
            self._difficulties[task.id] = subject + level + own
        return self._difficulties[task.id]

    def wrong_answers(self, task: Task) -> tuple[str, ...]:
        """Return all wrong answers that an LLM of this world can fall for."""
        strays = stray_answers(task) if self.settings.wrong.stray else ()
        return (*wrong_answers(task), *strays)

    def wrong_answer(self, llm: str, task: Task) -> str:
        """Return the wrong answer that ``llm`` falls for.

        Raises:
            ConfigError: the right one is not known.
        """
        key = (llm, task.id)
        if key not in self._wrong:
            _check_gold(task)
            self._wrong[key] = self._wrong_answer(llm, task)
        return self._wrong[key]

    def loading(self, llm: str, kind: Kind) -> float:
        """Return how strongly a question's difficulty acts on ``llm``."""
        low, high = self.settings.difficulty[kind].loading
        return low + (high - low) * uniform(self.seed, "loading", llm, kind)

    def intercept(self, llm: str, kind: Kind) -> float:
        """Return a[LLM, kind], at which the mean accuracy alone is the target.

        Raises:
            ConfigError: there is no target for it.
        """
        key = (llm, kind)
        if key not in self._intercepts:
            target = self.settings.targets.get(llm, {}).get(kind)
            if target is None:
                raise ConfigError(
                    f"settings {self.settings.name!r}: targets.{llm} has no accuracy for {kind}"
                )
            knobs = self.settings.difficulty[kind]
            interaction = knobs.interaction_sd if self.settings.subjects.get(kind) else 0.0
            noise = hypot(knobs.role_noise, knobs.call_noise)
            spread = hypot(self.loading(llm, kind), knobs.family_sd, interaction, noise)
            scale = knobs.residual
            self._intercepts[key] = scale * solve_intercept(target, spread / scale)
        return self._intercepts[key]

    def _margin(self, llm: str, task: Task, header: Header) -> float:
        knobs = self.settings.difficulty[task.kind]
        key = (llm, task.id)
        if key not in self._in_any_role:
            self._in_any_role[key] = self._margin_in_any_role(llm, task)
        role = normal(self.seed, "role", llm, task.id, header.role, header.position)
        fit = self.settings.role_fit(header.role, task.subject)
        margin = self._in_any_role[key] + (knobs.role_noise * role + fit)
        return margin + knobs.answer_only if header.style == "answer only" else margin

    def _margin_in_any_role(self, llm: str, task: Task) -> float:
        knobs, seed = self.settings.difficulty[task.kind], self.seed
        margin = self.intercept(llm, task.kind)
        margin += self.loading(llm, task.kind) * self.difficulty(task)
        interaction = self._subject_effects(llm, task.kind).get(task.subject, 0.0)
        margin += knobs.interaction_sd * interaction
        margin += knobs.family_sd * normal(seed, "family", self._families[llm], task.id)
        return margin + knobs.residual * logistic(seed, "residual", llm, task.id)

    def _wrong_answer(self, llm: str, task: Task) -> str:
        knobs = self.settings.wrong
        if knobs.stray and (strays := stray_answers(task)):
            stray, which = uniforms(2, self.seed, "stray", llm, task.id)
            if stray < knobs.stray:
                return strays[int(which * len(strays))]
        family, wrong = self._families[llm], wrong_answers(task)
        follows = uniform(self.seed, "follows", llm, task.id) < knobs.family
        u = uniform(self.seed, "wrong", family if follows else llm, follows, task.id)
        if u < knobs.tempting or len(wrong) == 1:
            return wrong[0]
        rest = (u - knobs.tempting) / (1.0 - knobs.tempting)
        return wrong[1 + int(rest * (len(wrong) - 1))]

    def _subject_effects(self, of: str, kind: Kind) -> dict[str, float]:
        """Return the effect of every listed subject, standardised over the list."""
        if (of, kind) not in self._effects:
            names = self.settings.subjects.get(kind, ())
            draws = [normal(self.seed, "subject", of, kind, name) for name in names]
            mean = fsum(draws) / max(len(draws), 1)
            sd = sqrt(fsum((draw - mean) ** 2 for draw in draws) / max(len(draws), 1)) or 1.0
            effects = {name: (d - mean) / sd for name, d in zip(names, draws, strict=True)}
            self._effects[of, kind] = effects
        return self._effects[of, kind]


def _as_read(statement: str) -> str:
    """Return the statement as a prompt's task section gives it back."""
    return parse_sections(Section("task", statement).render())[0].text


def _check_gold(task: Task) -> None:
    if not task.gold:
        raise ConfigError(
            f"task {task.id!r}: simulated LLMs need to know the right answer, and it has none; "
            "give one, or use a pool of real LLMs"
        )
