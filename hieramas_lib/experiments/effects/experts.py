"""What an expert's role is worth in its own subjects and in others (design 7)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.oracle.options import TeamOptions
from hieramas_lib.teams.symbolic.replay import SymbolicTeams
from hieramas_lib.teams.topology import Topology


def experts(questions: SymbolicTeams) -> list[int]:
    """Return the nodes of the roles that are experts in some subjects."""
    return [node for node, role in enumerate(questions.roles.roles) if role.duty == "expert"]


def worth_of_experts(
    questions: SymbolicTeams, settings: WorldSettings, llm: str, decision: str
) -> list[dict[str, object]]:
    """Let each expert in turn, one ``llm`` without proposers, inform the decision.

    Returns:
        A row for each expert and each place, ``"own subjects"`` and ``"other subjects"``:
        accuracy of its message, and accuracy and utility of the final answer minus those of the
        decision without any expert, under equal luck.
    """
    size = len(questions.roles.roles)
    options = TeamOptions(questions.roles, (llm,), 0, (Topology(size),), decision)
    without = questions.results(options.alone())
    rows: list[dict[str, object]] = []
    for node in experts(questions):
        replay = questions.replay(options.only({node: llm}))
        gain = replay.results.minus(without)
        right = replay.nodes[node] == 0
        own = _at_home(questions.tasks, settings, questions.roles.names[node])
        for place, there in (("own subjects", own), ("other subjects", ~own)):
            rows.append(
                {
                    "role": questions.roles.names[node],
                    "place": place,
                    "message_right": float(right[:, there].mean()),
                    "accuracy_gain": float(gain.right[:, there].mean()),
                    "utility_gain": float(gain.utility[:, there].mean()),
                }
            )
    return rows


def _at_home(tasks: Sequence[Task], settings: WorldSettings, role: str) -> NDArray[np.bool_]:
    subjects = settings.roles[role].subjects
    return np.array([task.subject in subjects for task in tasks])
