"""Simulated twins of real LLMs: as many, as able, of the same families, asked the same questions.

Alone, a simulated LLM is right if its margin and the noise of the call are above 0. So a twin's
answers are worked out from these, without writing and reading texts; :meth:`Twin.ask_client`
gives those of the client for comparison.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.experiments.calibration.real_outcomes import Outcomes
from hieramas_lib.llms.chat import ChatRequest
from hieramas_lib.llms.layout import Header
from hieramas_lib.llms.pool import LLMPool, LLMSpec
from hieramas_lib.llms.simulated import SimulatedClient
from hieramas_lib.llms.simulated_answers import read_answer
from hieramas_lib.llms.world import World
from hieramas_lib.llms.world_draws import as_normal, uniforms
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.prompts import ALONE_ROLE, Prompt, alone_messages
from hieramas_lib.teams.roles import load_roles

_Draws = tuple[NDArray[np.float64], NDArray[np.bool_]]

ALONE: Final = Header(ALONE_ROLE, "alone")


class Twin:
    """A simulated pool in one world.

    Args:
        accuracies: Target of each LLM.
        families: The family of each, in the same order.
        tasks: Questions of one kind.
        settings: The world's knobs; targets and subjects are replaced.
        seed: Of the world.
    """

    def __init__(
        self,
        accuracies: dict[str, float],
        families: Sequence[str],
        tasks: Sequence[Task],
        settings: WorldSettings,
        seed: int,
    ) -> None:
        kind = tasks[0].kind
        self.tasks = tuple(tasks)
        self.pool = _pool(accuracies, families)
        subjects = tuple(sorted({task.subject for task in tasks}))
        several = subjects if len(subjects) > 1 else ()
        changes = {
            "targets": {name: {kind: accuracy} for name, accuracy in accuracies.items()},
            "subjects": {**settings.subjects, kind: several},
        }
        self.world = World(tasks, settings.model_copy(update=changes), self.pool, seed)
        roles = load_roles(kind)
        self._drawn: dict[tuple[tuple[str, ...], int], _Draws] = {}
        self._prompts = [alone_messages(task, roles, ALONE.style) for task in tasks]

    @classmethod
    def of(cls, real: Outcomes, settings: WorldSettings, seed: int) -> "Twin":
        """Return the twin of the LLMs of a table."""
        accuracies = dict(zip(real.llms, map(float, real.right.mean(axis=1)), strict=True))
        return cls(accuracies, real.families, real.tasks, settings, seed)

    def right(self, llms: Sequence[str] = (), *, sample: int = 0) -> NDArray[np.bool_]:
        """Return who is right alone, shape ``[LLMs, questions]``.

        Args:
            llms: Names; all of the pool if empty.
            sample: Number of the repetition.
        """
        names = tuple(llms) or self.pool.names
        knobs = self.world.settings
        call_noise = knobs.difficulty[self.tasks[0].kind].call_noise
        noise, blank = self._draws(names, sample)
        margins = [[self.world.margin(llm, task, ALONE) for task in self.tasks] for llm in names]
        found: NDArray[np.bool_] = np.array(margins) + call_noise * noise > 0.0
        return found & ~blank

    def answers(self, right: NDArray[np.bool_]) -> NDArray[np.str_]:
        """Return the answer of every LLM to every question, ``""`` for none.

        Args:
            right: Who is right, as :meth:`right` returns it for the whole pool.
        """
        blank = self._draws(self.pool.names, 0)[1]
        wrong = [
            [self.world.wrong_answer(llm, task) for task in self.tasks] for llm in self.pool.names
        ]
        gold = np.array([task.gold for task in self.tasks])
        return np.where(blank, "", np.where(right, gold, np.array(wrong)))

    def ask_client(self, llm: int, questions: Sequence[int]) -> list[str | None]:
        """Return what the text client answers, as read by the simulated LLMs; None if blank."""
        spec = self.pool.llms[llm]
        client = SimulatedClient(spec, self.world)

        async def ask() -> list[str]:
            return [
                (await client.complete(ChatRequest(spec.name, self._prompts[q]))).text
                for q in questions
            ]

        texts = asyncio.run(ask())
        return [read_answer(self.tasks[q], t) for q, t in zip(questions, texts, strict=True)]

    def _draws(self, llms: tuple[str, ...], sample: int) -> _Draws:
        """Return noise and blanks of each call, drawn as the client draws them."""
        if (llms, sample) not in self._drawn:
            draws = np.array([[self._draw(llm, sample, p) for p in self._prompts] for llm in llms])
            blank = draws[..., 1] < self.world.settings.replies.blank_rate
            noise = np.vectorize(as_normal, otypes=[float])(draws[..., 0])
            self._drawn[llms, sample] = noise, blank
        return self._drawn[llms, sample]

    def _draw(self, llm: str, sample: int, prompt: Prompt) -> tuple[float, ...]:
        system, user = (message.content for message in prompt)
        return uniforms(4, self.world.seed, "call", llm, sample, system, user)


def _pool(accuracies: dict[str, float], families: Sequence[str]) -> LLMPool:
    llms = tuple(
        LLMSpec(name=name, client="simulated", model=name, family=family, profile="twin")
        for name, family in zip(accuracies, families, strict=True)
    )
    return LLMPool(name="twin", skip_profile="", reference=llms[0].name, llms=llms)
