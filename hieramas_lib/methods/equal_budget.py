"""Base at equal budget: one LLM that may cost as much per item as another method does.

Let c be the mean cost of one of its calls, measured in ``fit`` on the training tasks, B the budget
per item, and s = B / c. Task t is asked

    n(t) = max(1, ⌊s⌋ + [u(t) < s - ⌊s⌋])

times, u(t) uniform in [0, 1) drawn from seed and task alone, and the votes are counted as in
self-consistency. So the expected cost is B, as far as a call costs on test tasks what it costs on
training tasks. Where one call costs more than B, one call is made and the budget is passed;
``within_budget`` says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, fsum
from typing import get_args
from zlib import crc32

import numpy as np
import torch
from torch import Tensor

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.layout import Style
from hieramas_lib.llms.service import LLMService
from hieramas_lib.methods.agents import ask_all
from hieramas_lib.methods.single import VOTE_TEMPERATURE, SingleLLM, SingleSettings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import Rollout

NAME = "Base, equal budget"


@dataclass(frozen=True, slots=True)
class EqualBudgetSettings:
    """The LLM and what it may cost.

    Attributes:
        llm: Who is asked.
        reference_calls: Budget per item, in usual calls of the pool's reference LLM: the mean of
            ``cost_reference`` in the other method's records.
        style: Answer only, or step by step, as teams' members are asked: votes on answers only buy
            less, and would be too weak a control.

    Raises:
        ConfigError: names the field.
    """

    llm: str
    reference_calls: float
    style: Style = "step by step"

    def __post_init__(self) -> None:
        if not self.reference_calls > 0:
            raise ConfigError(f"reference_calls: above 0, got {self.reference_calls}")
        if self.style not in get_args(Style):
            raise ConfigError(f"style: one of {', '.join(get_args(Style))}, got {self.style!r}")


class EqualBudget:
    """Self-consistency with as many samples as a budget per item allows; see the module.

    Attributes:
        call_cost: Mean US dollars of one call, None before :meth:`fit`.
    """

    name = NAME

    def __init__(
        self, roles: RoleSet, llms: LLMService, settings: EqualBudgetSettings, seed: int
    ) -> None:
        """Fix the budget; ``seed`` decides which tasks get the odd sample."""
        self.roles, self.llms, self.settings, self.seed = roles, llms, settings, seed
        self.call_cost: float | None = None

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Measure what a call costs: ask each task of ``train`` once.

        Raises:
            ConfigError: there is no task, no call came back, or a call's price is unknown or 0.
        """
        if not train:
            raise ConfigError("train: give tasks to measure the cost of a call on")
        requests = [request for task in train for request in self._asking(1).requests(task)]
        calls = await ask_all(self.llms, requests)
        came_back = [call.completion for call in calls if call.completion]
        if not came_back:
            raise ConfigError(f"llm: no call to {self.settings.llm!r} came back")
        costs = [completion.cost_usd for completion in came_back]
        known = [cost for cost in costs if cost is not None]
        if len(known) < len(costs) or not fsum(known) > 0:
            raise ConfigError(f"llm: {self.settings.llm!r} has no price, so no budget limits it")
        self.call_cost = fsum(known) / len(known)

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``.

        Raises:
            ConfigError: before :meth:`fit`.
        """
        return await self._asking(self.samples(task)).answer(task)

    @property
    def mean_samples(self) -> float:
        """The budget in calls of the LLM, s; ConfigError before :meth:`fit`."""
        if self.call_cost is None:
            raise ConfigError(f"{NAME}: fit it first, to know what a call costs")
        return self.settings.reference_calls * self.llms.pool.reference_cost / self.call_cost

    @property
    def within_budget(self) -> bool:
        """Whether the budget is enough for one call an item; ConfigError before :meth:`fit`."""
        return self.mean_samples >= 1

    def samples(self, task: Task) -> int:
        """Return how often ``task`` is asked, n(t); ConfigError before :meth:`fit`."""
        whole = floor(self.mean_samples)
        drawn = np.random.default_rng(crc32(f"{self.seed} {task.id}".encode())).random()
        return max(1, whole + (drawn < self.mean_samples - whole))

    def tensors(self) -> dict[str, Tensor]:
        """Return what was measured; ConfigError before :meth:`fit`."""
        if self.call_cost is None:
            raise ConfigError(f"{NAME}: fit it first, there is nothing to save")
        return {"call_cost": torch.tensor([self.call_cost], dtype=torch.float64)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take what :meth:`tensors` returned in place of measuring."""
        self.call_cost = float(tensors["call_cost"].item())

    def _asking(self, samples: int) -> SingleLLM:
        """One sample is Base (or CoT) itself; several are drawn as in self-consistency."""
        settings = SingleSettings(NAME, self.settings.llm, self.settings.style)
        if samples > 1:
            settings = replace(settings, samples=samples, temperature=VOTE_TEMPERATURE)
        return SingleLLM(self.roles, self.llms, settings)
