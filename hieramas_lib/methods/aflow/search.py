"""AFlow's search: edit a good workflow, score the result, remember, and stop in time.

Zhang et al. 2024, arXiv 2410.10762. Round 1 is a single call. Each later round draws a parent among
the start and the best rounds, p = 0.3 / n + 0.7 · softmax(0.2 · (100 · score - max)), asks for an
edit until one is valid and new or the tries are used up, and scores it on the validation tasks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.methods.aflow.patch import Patch, apply_patch, read_patch
from hieramas_lib.methods.aflow.proposers import Experience, Failure, Proposer
from hieramas_lib.methods.aflow.purse import Purse, PurseEmpty
from hieramas_lib.methods.aflow.running import run_workflow
from hieramas_lib.methods.aflow.settings import AFlowSettings
from hieramas_lib.methods.aflow.tree import (
    End,
    Rejection,
    Round,
    Search,
    parent_candidates,
    parent_probabilities,
    top_mean,
)
from hieramas_lib.methods.aflow.workflow import Workflow
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import run_jobs
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import Rollout

FAILURES = 3
"""Failed tasks that a proposer is shown."""

_EDIT_CHARACTERS = 400
"""How much of a refused edit is kept."""


@dataclass(frozen=True, slots=True)
class _Job:
    task: Task
    repetition: int


class WorkflowSearch:
    """One search under way.

    Args:
        start: The workflow of round 1.
        val: What workflows are scored on.
        roles: Give the answer format.
        names: LLMs that a workflow may hold.
        purse: Where calls go, and what they may cost.
        unit: US dollars of a reference call.
        proposer: Proposes edits.
        settings: How long and how.
        rng: Draws parents, and failures to be shown.
    """

    def __init__(
        self,
        start: Workflow,
        val: Sequence[Task],
        roles: RoleSet,
        names: tuple[str, ...],
        purse: Purse,
        unit: float,
        proposer: Proposer,
        settings: AFlowSettings,
        rng: np.random.Generator,
    ) -> None:
        self._start, self._val, self._roles, self._names = start, val, roles, names
        self._purse, self._unit = purse, unit
        self._proposer, self._settings, self._rng = proposer, settings, rng
        self._rounds: list[Round] = []
        self._rejections: list[Rejection] = []
        self._failures: dict[int, list[Failure]] = {}
        self._attempts = 0

    async def run(self, on_round: Callable[[Round], None]) -> Search:
        """Search until the rounds, the money or the progress end.

        Raises:
            ConfigError: not even the start can be scored within the limit.
        """
        try:
            on_round(await self._score(1, None, (), self._start))
        except PurseEmpty as error:
            raise ConfigError(
                f"spend: {self._settings.spend:g} reference calls do not pay for scoring the first "
                f"workflow on {len(self._val)} tasks ({error})"
            ) from None
        end = await self._go_on(on_round)
        return Search(
            rounds=tuple(self._rounds),
            rejections=tuple(self._rejections),
            end=end,
            spent=self._purse.spent,
        )

    async def _go_on(self, on_round: Callable[[Round], None]) -> End:
        still = 0
        for number in range(2, self._settings.rounds + 1):
            before, parent = top_mean(self._rounds), self._parent()
            if not self._purse.affords(parent.cost * len(self._val) * self._settings.repeats):
                return "spend"
            try:
                found = await self._edit(number, parent)
                if found is not None:
                    on_round(await self._score(number, parent.number, *found))
            except PurseEmpty:
                return "spend"
            still = still + 1 if top_mean(self._rounds) == before else 0
            if still >= self._settings.patience:
                return "no progress"
        return "rounds"

    def _parent(self) -> Round:
        candidates = parent_candidates(self._rounds, self._settings.parents)
        chances = parent_probabilities([each.score for each in candidates])
        return candidates[int(self._rng.choice(len(candidates), p=chances))]

    async def _edit(self, number: int, parent: Round) -> tuple[Patch, Workflow] | None:
        """Return a valid edit whose result is new, with the result; None if none was found."""
        for _ in range(self._settings.tries):
            text = ""
            try:
                text = await self._proposer.propose(self._experience(parent))
                return self._checked(text, parent)
            except (ConfigError, CallError) as error:
                edit = text[:_EDIT_CHARACTERS]
                self._rejections.append(
                    Rejection(round=number, parent=parent.number, edit=edit, fault=str(error))
                )
            finally:
                self._attempts += 1
        return None

    def _checked(self, text: str, parent: Round) -> tuple[Patch, Workflow]:
        patch = read_patch(text)
        kind = self._roles.kind
        workflow = apply_patch(parent.workflow, patch, kind=kind, llms=self._names)
        for known in self._rounds:
            if known.workflow == workflow:
                raise ConfigError(
                    f"patch: tried before, the result is that of round {known.number}"
                )
        return patch, workflow

    def _experience(self, parent: Round) -> Experience:
        failures = self._failures[parent.number]
        shown = self._rng.permutation(len(failures))[:FAILURES]
        return Experience(
            parent=parent,
            children=[each for each in self._rounds if each.parent == parent.number],
            rejections=[each for each in self._rejections if each.parent == parent.number],
            failures=[failures[i] for i in shown],
            attempt=self._attempts,
        )

    async def _score(
        self, number: int, parent: int | None, edit: Patch, workflow: Workflow
    ) -> Round:
        """Run ``workflow`` on all validation tasks; PurseEmpty if they can't all be paid for."""
        repeats = self._settings.repeats
        jobs = [_Job(task, repetition) for repetition in range(repeats) for task in self._val]
        rollouts = await run_jobs(
            jobs,
            lambda job, halt: run_workflow(
                workflow, job.task, self._roles, self._purse, repetition=job.repetition
            ),
            lambda job: None,
        )
        self._failures[number] = [
            Failure(job.task.statement, rollout.answer, job.task.gold)
            for job, rollout in zip(jobs, rollouts, strict=True)
            if not rollout.grade.correct
        ]
        accuracy, cost = self._means(rollouts)
        score = accuracy - self._settings.cost_weight * cost
        self._rounds.append(
            Round(
                number=number,
                parent=parent,
                edit=edit,
                workflow=workflow,
                score=score,
                accuracy=accuracy,
                cost=cost,
            )
        )
        return self._rounds[-1]

    def _means(self, rollouts: Sequence[Rollout]) -> tuple[float, float]:
        accuracy = float(np.mean([rollout.grade.correct for rollout in rollouts]))
        costs = [rollout.usage.cost_usd for rollout in rollouts]
        return accuracy, float(np.mean(costs)) / self._unit
