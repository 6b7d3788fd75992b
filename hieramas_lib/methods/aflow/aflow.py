"""AFlow behind the common protocol; what differs from paper and code: ``docs/methods/aflow.md``."""

import json
from collections.abc import Callable, Sequence

import numpy as np
from pydantic import ValidationError

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.encoder import Encoder
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.llms.service import LLMService
from hieramas_lib.methods.aflow.proposers import LLMProposer, Proposer, RandomProposer
from hieramas_lib.methods.aflow.purse import Purse
from hieramas_lib.methods.aflow.running import run_workflow
from hieramas_lib.methods.aflow.search import WorkflowSearch
from hieramas_lib.methods.aflow.settings import AFlowSettings
from hieramas_lib.methods.aflow.tree import Round, Search
from hieramas_lib.methods.aflow.workflow import Workflow, first_workflow, read_workflow
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rollout import Rollout


class AFlow:
    """One workflow for all tasks of a kind, found by a search on the validation tasks."""

    name = "AFlow"

    def __init__(
        self,
        space: TeamSpace,
        llms: LLMService,
        encoder: Encoder,
        settings: AFlowSettings,
        seed: int,
    ) -> None:
        """Set up; :meth:`fit` searches, :meth:`start` leaves the workflow that searches start with.

        Of ``space`` the LLMs and the answer format are used. ``encoder`` is not read: a workflow
        is the same for every task.

        Raises:
            ConfigError: a setting names an LLM that is not there.
        """
        self.space, self.llms, self.encoder = space, llms, encoder
        self.settings, self.seed = settings, seed
        if settings.llm not in space.actions.llms:
            known = ", ".join(space.actions.llms)
            raise ConfigError(f"llm: {settings.llm!r} is not one of {known}")
        if settings.optimiser and settings.optimiser not in llms.pool.names:
            known = ", ".join(llms.pool.names)
            raise ConfigError(f"optimiser: {settings.optimiser!r} is not one of {known}")
        self.workflow: Workflow | None = None
        self.search: Search | None = None

    def start(self, train: Sequence[Task] = ()) -> None:
        """Take the workflow that every search starts with, one call; ``train`` is not used."""
        self.workflow, self.search = first_workflow(self.settings.llm), None

    async def fit(
        self,
        train: Sequence[Task],
        val: Sequence[Task],
        on_round: Callable[[Round], None] = lambda round: None,
    ) -> None:
        """Search anew, and take the workflow with the best score on ``val``.

        ``train`` is not used. ``on_round`` is called after each round that scored a workflow.

        Raises:
            ConfigError: there are no validation tasks, an LLM has no price, or the limit is too
                low for a single round.
        """
        if not val:
            raise ConfigError("val: AFlow scores workflows on validation tasks, and there are none")
        self.start(train)
        rng = np.random.default_rng(self.seed)
        purse = Purse(self.llms, self.settings.spend)
        search = WorkflowSearch(
            start=first_workflow(self.settings.llm),
            val=val,
            roles=self.space.roles,
            names=self.space.actions.llms,
            purse=purse,
            unit=self.llms.pool.reference_cost,
            proposer=self._proposer(purse, rng),
            settings=self.settings,
            rng=rng,
        )
        self.search = await search.run(on_round)
        self.workflow = self.search.best.workflow

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task`` by the workflow.

        Raises:
            ConfigError: there is none yet.
        """
        return await run_workflow(self._found, task, self.space.roles, self.llms)

    def learned_json(self) -> str:
        """Return the workflow, and the search that found it, as JSON.

        Raises:
            ConfigError: there is none yet.
        """
        search = self.search.model_dump(mode="json") if self.search else None
        workflow = self._found.model_dump(mode="json")
        return json.dumps({"workflow": workflow, "search": search}, ensure_ascii=False)

    def restore_json(self, text: str) -> None:
        """Take the workflow that :meth:`learned_json` wrote.

        Raises:
            ConfigError: it is not of this kind of task and these LLMs; names the field.
        """
        try:
            fields = json.loads(text)
            workflow, search = fields["workflow"], fields["search"]
            found = Search.model_validate_json(json.dumps(search)) if search else None
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, ("search", *fault["loc"])))
            raise ConfigError(f"{place}: {fault['msg']}") from None
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigError(f"AFlow: not what learned_json wrote: {error}") from None
        kind, names = self.space.roles.kind, self.space.actions.llms
        self.workflow, self.search = read_workflow(workflow, kind=kind, llms=names), found

    @property
    def _found(self) -> Workflow:
        if self.workflow is None:
            raise ConfigError("AFlow: call fit() or start() first")
        return self.workflow

    def _proposer(self, purse: Purse, rng: np.random.Generator) -> Proposer:
        kind, names = self.space.roles.kind, self.space.actions.llms
        if self.settings.proposer == "random":
            return RandomProposer(kind, names, rng)
        return LLMProposer(self.settings.optimiser, purse, kind, names)
