"""Single questions looked at closely: what every member of a team did, and what if one is gone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hieramas_lib.experiments.records import answer_all, item_record
from hieramas_lib.learning.explanation import Explanation
from hieramas_lib.llms.chat import LLMClient
from hieramas_lib.llms.service import LLMService
from hieramas_lib.methods.hieramas import HieraMAS
from hieramas_lib.methods.method import Method
from hieramas_lib.tasks.task import Grade, Task
from hieramas_lib.teams.executor import run_team
from hieramas_lib.teams.oracle.options import without_role
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.team import Team

if TYPE_CHECKING:
    import pandas as pd

RIGHT, WRONG = "✓", "✗"
_ANSWER_LETTERS = 11


@dataclass(frozen=True, slots=True)
class Case:
    """A question that was chosen, and the rule that chose it."""

    task: Task
    rule: str


@dataclass(frozen=True, slots=True)
class CaseCard:
    """Everything about one case.

    Attributes:
        case: The question, and why it is looked at.
        team: The team chosen for it.
        rollout: What the team did, with a verdict on every node.
        without: By role that acted: what the team does without it. Graph and LLMs of the others
            stay as they are.
        alone: What it is compared with.
        explanation: Why this team.
    """

    case: Case
    team: Team
    rollout: Rollout
    without: Mapping[str, Rollout]
    alone: Rollout
    explanation: Explanation


def pick_cases(
    tasks: Sequence[Task], ours: Sequence[Rollout], theirs: Sequence[Rollout]
) -> list[Case]:
    """Choose a case that goes well and one that goes wrong, by a rule and not by hand.

    The first question by id that only we get right, and the first that only they get right. Where
    there is none, the first that we get right (or wrong) at all; where there is none of these
    either, the case is left out.
    """
    order = sorted(range(len(tasks)), key=lambda index: tasks[index].id)
    cases = []
    for right in (True, False):
        of_kind = [i for i in order if ours[i].grade.correct == right]
        differ = [i for i in of_kind if theirs[i].grade.correct != right]
        verb = "right" if right else "wrong"
        if differ:
            cases.append(Case(tasks[differ[0]], f"first by id where only the team is {verb}"))
        elif of_kind:
            cases.append(Case(tasks[of_kind[0]], f"first by id where the team is {verb}, as both"))
    return cases


async def study_cases(
    system: HieraMAS, alone: Method, tasks: Sequence[Task], llms: LLMService, seed: int
) -> "tuple[list[CaseCard], pd.DataFrame]":
    """Let both answer ``tasks``; return the cards of the cases picked, and all records.

    Args:
        system: Trained in both stages.
        alone: What it is compared with.
        tasks: Questions to pick from.
        llms: Who answers.
        seed: A column of the records.
    """
    import pandas as pd

    ours, theirs = [await answer_all(method, tasks) for method in (system, alone)]
    rows = [
        item_record(rollout, task, method.name, pool=llms.pool, seed=seed)
        for method, rollouts in ((system, ours), (alone, theirs))
        for task, rollout in zip(tasks, rollouts, strict=True)
    ]
    picked = pick_cases(tasks, ours, theirs)
    return [await make_card(case, system, alone, llms) for case in picked], pd.DataFrame(rows)


def who_is_right(records: "pd.DataFrame", team: str, other: str) -> "pd.DataFrame":
    """Count questions by who gets them right, one row a benchmark.

    Columns: ``benchmark, both_right, only_the_team, only_the_other, both_wrong``.
    """
    import pandas as pd

    right = records.pivot_table(
        index=["benchmark", "task_id"], columns="method", values="correct", sort=False
    ).astype(bool)
    a, b = right[team], right[other]
    kinds = {
        "both_right": a & b, "only_the_team": a & ~b, "only_the_other": ~a & b,
        "both_wrong": ~a & ~b,
    }  # fmt: skip
    return pd.DataFrame(kinds).groupby("benchmark", sort=False).sum().reset_index()


def roles_that_decide(card: CaseCard) -> list[str]:
    """Return the roles without which the verdict on the team is another one."""
    verdict = card.rollout.grade.correct
    return [role for role, other in card.without.items() if other.grade.correct != verdict]


async def make_card(case: Case, system: HieraMAS, alone: Method, llms: LLMClient) -> CaseCard:
    """Run the team of ``system`` on one case, then again without each role that acts."""
    team, task = system.team(case.task), case.task
    return CaseCard(
        case=case,
        team=team,
        rollout=await run_team(team, task, llms, grade_nodes=True),
        without={
            team.roles.names[node]: await run_team(without_role(team, node), task, llms)
            for node in team.kept
        },
        alone=await alone.answer(task),
        explanation=system.explain(task),
    )


def member_rows(card: CaseCard, *, letters: int = 160) -> "pd.DataFrame":
    """Return one row for each role that acted.

    Columns: ``role, reads`` (whose messages), ``proposers, synthesizer, says`` (its answer with the
    verdict, or ``"plan"``), ``message`` (shortened to so many letters), ``call_usd`` (all calls of
    the role), and ``without_it`` (the final answer of the team without the role).
    """
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "role": node.role,
                "reads": ", ".join(u for u, v in card.rollout.delivered_edges if v == node.role)
                or "–",
                "proposers": ", ".join(call.llm for call in node.proposals) or "–",
                "synthesizer": node.synthesis.llm,
                "says": "plan" if node.grade is None else verdict(node.grade, card.case.task),
                "message": shorten(node.synthesis.text, letters),
                "call_usd": node.usage.cost_usd,
                "without_it": verdict(card.without[node.role].grade, card.case.task),
            }
            for node in card.rollout.nodes
        ],
        columns=[
            "role", "reads", "proposers", "synthesizer", "says", "message", "call_usd",
            "without_it",
        ],
    )  # fmt: skip


def reason_rows(card: CaseCard) -> "pd.DataFrame":
    """Return why each position that acts holds its LLM: one row a position.

    Columns: ``role, position, chosen, probability, runner_up, margin`` (logits), ``from_match``
    (the part of the margin that comes from how well the role matches the question).
    """
    import pandas as pd

    fields = ("role", "position", "chosen", "probability", "runner_up", "margin", "from_match")
    return pd.DataFrame(
        [
            {name: getattr(choice, name) for name in fields}
            for choice in card.explanation.positions
            if choice.acts
        ]
    )


def verdict(grade: Grade, task: Task) -> str:
    """Return a mark and the answer in a few letters, ``"✗ B"``; of a program the mark alone."""
    mark = RIGHT if grade.correct else WRONG if grade.status == "wrong" else grade.status
    answer = "" if task.kind == "code" else shorten(grade.extracted or "", _ANSWER_LETTERS)
    return f"{mark} {answer}".strip()


def shorten(text: str, letters: int) -> str:
    """Return ``text`` on one line, cut to so many letters with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= letters else f"{line[: letters - 1].rstrip()}…"
