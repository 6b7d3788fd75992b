"""MASRouter: type, mode, number, roles and LLMs chosen one after another for each question.

Yue et al. 2025, arXiv 2502.11133. Loss, over rollouts of a batch::

    cross-entropy(type) - mean(log p(plan) · (right - lambda · cost - baseline)) + 0.001 · VAE

What differs from the paper and from its code is in ``docs/methods/masrouter.md``.
"""

from collections.abc import Callable, Mapping, Sequence
from zlib import crc32

import torch
from torch import Tensor

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.encoder import Encoder
from hieramas_lib.learning.masrouter_cascade import MODES, Cascade, Choices, Texts
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.learning.training_state import part
from hieramas_lib.llms.service import LLMService
from hieramas_lib.methods.masrouter_modes import Agent, Plan, PlanJob, run_plan
from hieramas_lib.methods.masrouter_settings import PAPER_COST_WEIGHTS, MASRouterSettings
from hieramas_lib.methods.masrouter_training import CascadeTraining, Questions, RouterStep
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import run_jobs
from hieramas_lib.teams.halt import Halt, UntilHalt
from hieramas_lib.teams.rollout import Rollout


class MASRouter:
    """The cascade, trained by REINFORCE; at test the most probable choice at each step.

    Types are the subjects of the training questions, each described by the mean of their text
    vectors. Which type a question has is known in training and not at test.
    """

    name = "MASRouter"

    def __init__(
        self,
        space: TeamSpace,
        llms: LLMService,
        encoder: Encoder,
        settings: MASRouterSettings,
        seed: int,
    ) -> None:
        """Set up; :meth:`fit` trains it, :meth:`start` leaves it untrained but able to answer.

        Of ``space`` the roles and LLMs are used: graphs, proposers and decision are its own.
        """
        self.space, self.llms, self.encoder = space, llms, encoder
        self.settings, self.seed = settings, seed
        self.cascade: Cascade | None = None
        self.history: list[RouterStep] = []

    @property
    def cost_weight(self) -> float:
        """Accuracy that one usual call of the reference LLM must bring."""
        given = self.settings.cost_weight
        return PAPER_COST_WEIGHTS[self.space.roles.kind] if given is None else given

    def cost(self, rollout: Rollout) -> float:
        """Return the cost of ``rollout`` in usual calls of the reference LLM."""
        return rollout.usage.cost_usd / self.llms.pool.reference_cost

    def reward(self, rollout: Rollout) -> float:
        """Return right (0 or 1) less lambda times the cost."""
        return float(rollout.grade.correct) - self.cost_weight * self.cost(rollout)

    def start(self, train: Sequence[Task]) -> None:
        """Make the untrained network, with the types of ``train``."""
        subjects = _subjects(train)
        vectors = self._vectors([task.prompt for task in train])
        of_type = [[i for i, task in enumerate(train) if task.subject == s] for s in subjects]
        pool, roles = self.llms.pool, self.space.roles.roles
        texts = Texts(
            types=torch.stack([vectors[rows].mean(0) for rows in of_type]),
            modes=self._vectors(list(MODES.values())),
            roles=self._vectors([role.profile for role in roles]),
            llms=self._vectors([pool[llm].profile for llm in self.space.actions.llms]),
        )
        self.cascade = Cascade(texts, seed=self.seed, hidden=self.settings.hidden)
        self.history = []

    async def fit(
        self,
        train: Sequence[Task],
        val: Sequence[Task] = (),
        on_step: Callable[[RouterStep], None] = lambda step: None,
    ) -> None:
        """Train anew on ``train``; ``val`` is not used. ``on_step`` is called after each batch."""
        self.start(train)
        types = {subject: i for i, subject in enumerate(_subjects(train))}
        questions = Questions(
            tasks=train,
            vectors=self._vectors([task.prompt for task in train]),
            types=torch.tensor([types[task.subject] for task in train]),
        )
        training = CascadeTraining(
            self._started, questions, self.settings, self._run, self.reward, self.cost, self.seed
        )
        await training.passes(on_step)
        self.history = training.history

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task`` as planned for it."""
        return await run_plan(self.plan(task), task, self.space.roles, self.llms)

    def plan(self, task: Task) -> Plan:
        """Return what is chosen for ``task``."""
        draw = crc32(f"{self.seed} {task.id}".encode())
        draws = torch.Generator().manual_seed(draw) if self.settings.sampled else None
        with torch.no_grad():
            decisions = self._started(self._vectors([task.prompt]), draws=draws)
        (plan,) = self.plans(decisions.choices)
        return plan

    def plans(self, choices: Choices) -> list[Plan]:
        """Spell out ``choices`` as one plan a question."""
        modes, llms = tuple(MODES), self.space.actions.llms
        rows = (choices.mode, self._started.acting(choices), choices.roles, choices.llms)
        plans = []
        for mode, acting, roles, of in zip(*(row.tolist() for row in rows), strict=True):
            pairs = list(zip(roles, of, strict=True))[:acting]
            plans.append(Plan(modes[mode], tuple(Agent(role, llms[llm]) for role, llm in pairs)))
        return plans

    def tensors(self) -> dict[str, Tensor]:
        """Return the network, with the text vectors that it chooses among.

        Raises:
            ConfigError: there is none yet.
        """
        return {f"cascade.{name}": t for name, t in self._started.state_dict().items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the network that :meth:`tensors` returned."""
        state = part(tensors, "cascade")
        texts = Texts(*(state[name] for name in ("types", "modes", "roles", "llms")))
        self.cascade = Cascade(texts, seed=self.seed, hidden=self.settings.hidden)
        self.cascade.load_state_dict(state)

    @property
    def _started(self) -> Cascade:
        if self.cascade is None:
            raise ConfigError("MASRouter: call fit() or start() first")
        return self.cascade

    async def _run(
        self, choices: Choices, tasks: Sequence[Task], samples: Sequence[int]
    ) -> list[Rollout]:
        plans = self.plans(choices)
        jobs = [PlanJob(*of) for of in zip(plans, tasks, samples, strict=True)]

        async def make(job: PlanJob, halt: Halt) -> Rollout:
            llms = UntilHalt(self.llms, halt, job.task)
            return await run_plan(job.plan, job.task, self.space.roles, llms, sample=job.sample)

        return await run_jobs(jobs, make, lambda job: None)

    def _vectors(self, texts: Sequence[str]) -> Tensor:
        return torch.from_numpy(self.encoder.encode(texts))


def _subjects(tasks: Sequence[Task]) -> list[str]:
    return sorted({task.subject for task in tasks})
