"""Cases are picked by the rule, and a card says what was said and what changes without whom."""

import asyncio
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.text import Text

from hieramas_lib.experiments.case_cards import (
    CaseCard,
    make_card,
    member_rows,
    pick_cases,
    roles_that_decide,
    shorten,
    study_cases,
    verdict,
    who_is_right,
)
from hieramas_lib.experiments.case_drawing import draw_card
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.layout import role_of
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.methods.single import base
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.task import Grade, Task
from hieramas_lib.teams.executor import run_team
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology

ROLES = load_roles("choice_small")
TASK = Task(
    "toy/1", "toy", "choice", "money", "What costs $5 and $7?", "A", choices=("this", "that")
)
SAYS = {"Scientist": "B", "Historian": "A", "Critic": "A"}


class Parrot:
    """Members say what is listed; the decision says A if the Critic's message is there."""

    async def complete(self, request: ChatRequest) -> Completion:
        role, body = role_of(request), request.messages[-1].content
        letter = SAYS.get(role) or ("A" if 'from="Critic"' in body else "B")
        return Completion(f"I say so.\nAnswer: {letter}", "stop", 10, 5, 0.0001, 1.0, False, "key")


def team(pruned: str = "") -> Team:
    nodes = [
        Supernode("Scientist", ("some-llm", SKIP), "other-llm"),
        Supernode("Historian", (SKIP, SKIP), "other-llm"),
        Supernode("Critic", (SKIP, SKIP), "other-llm"),
    ]
    nodes = [Supernode(n.role, n.proposers, SKIP) if n.role == pruned else n for n in nodes]
    return Team(ROLES, tuple(nodes), Topology(3, ((0, 2), (1, 2))), "judge")


def card(pruned: str = "") -> CaseCard:
    system: Any = SimpleNamespace(team=lambda task: team(pruned), explain=lambda task: None)
    (case,) = pick_cases([TASK], [Rollout("toy/1", "", Grade("correct"), ())], [wrong("toy/1")])
    return asyncio.run(make_card(case, system, base("judge", Parrot(), ROLES), Parrot()))


def wrong(task_id: str) -> Rollout:
    return Rollout(task_id, "", Grade("wrong"), ())


def rollouts(**marks: str) -> list[Rollout]:
    return [
        Rollout(name, "", Grade("correct" if mark == "+" else "wrong"), ())
        for name, mark in marks.items()
    ]


def tasks(names: str) -> list[Task]:
    return [Task(name, "toy", "choice", "none", "?", "A") for name in names]


def test_the_first_by_id_where_they_differ_is_picked_in_whatever_order() -> None:
    ours = rollouts(e="+", d="-", c="+", b="-", a="+")
    theirs = rollouts(e="-", d="+", c="-", b="-", a="+")
    picked = pick_cases(tasks("edcba"), ours, theirs)
    assert [case.task.id for case in picked] == ["c", "d"]
    assert [case.rule for case in picked] == [
        "first by id where only the team is right",
        "first by id where only the team is wrong",
    ]


def test_without_a_difference_the_rule_says_so_and_what_is_not_there_is_left_out() -> None:
    same = rollouts(b="+", a="+")
    (case,) = pick_cases(tasks("ba"), same, same)
    assert case.task.id == "a"
    assert case.rule == "first by id where the team is right, as both"


def test_rows_say_what_was_said_by_whom_and_what_changes_without_them() -> None:
    table = member_rows(card()).set_index("role")
    assert list(table.index) == ["Scientist", "Historian", "Critic"]
    assert table["says"].tolist() == ["✗ B", "✓ A", "✓ A"]
    assert table["reads"].tolist() == ["–", "–", "Scientist, Historian"]
    assert table["proposers"].tolist() == ["some-llm", "–", "–"]
    assert table["call_usd"].tolist() == pytest.approx([0.0002, 0.0001, 0.0001])
    # The decision follows the Critic: only without it does the team go wrong.
    assert table["without_it"].tolist() == ["✓ A", "✓ A", "✗ B"]


def test_the_role_without_which_the_verdict_changes_decides() -> None:
    assert roles_that_decide(card()) == ["Critic"]
    assert roles_that_decide(card(pruned="Critic")) == []


def test_a_study_keeps_all_answers_and_makes_a_card_of_each_case() -> None:
    class System:
        name = "Team"

        def team(self, task: Task) -> Team:
            return team()

        def explain(self, task: Task) -> None:
            return None

        async def answer(self, task: Task) -> Rollout:
            return await run_team(team(), task, Parrot())

    llms: Any = Parrot()
    llms.pool = load_pool(data_path("llm_pool.yaml")).simulated()
    alone = base("judge", llms, ROLES, name="Alone")
    cards, records = asyncio.run(study_cases(System(), alone, [TASK], llms, 3))  # type: ignore[arg-type]
    assert [made.case.rule for made in cards] == ["first by id where only the team is right"]
    assert records[["method", "correct", "seed"]].to_numpy().tolist() == [
        ["Team", True, 3],
        ["Alone", False, 3],
    ]
    (row,) = who_is_right(records, "Team", "Alone").to_dict("records")
    assert row == {
        "benchmark": "toy", "both_right": 0, "only_the_team": 1, "only_the_other": 0,
        "both_wrong": 0,
    }  # fmt: skip


def test_a_pruned_role_has_no_row() -> None:
    made = card(pruned="Historian")
    assert list(member_rows(made)["role"]) == ["Scientist", "Critic"]
    assert set(made.without) == {"Scientist", "Critic"}


@pytest.mark.parametrize("pruned", ["", "Historian"])
def test_the_figure_holds_it_all_and_no_text_lies_on_another(pruned: str) -> None:
    figure = draw_card(card(pruned), "judge", "judge")
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if text.get_text().strip()]
    said = " | ".join(text.get_text() for text in texts)
    assert r"What costs \$5 and \$7?" in said
    assert "toy/1 (money): first by id where only the team is right; right answer A" in said
    assert "some-llm → other-llm" in said
    assert f"Pruned by the policy: {pruned or 'none'}" in said
    assert "judge alone" in said
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    for (a, box), (b, other) in combinations(boxes, 2):
        across = min(box.x1, other.x1) - max(box.x0, other.x0)
        down = min(box.y1, other.y1) - max(box.y0, other.y0)
        assert across <= 1.5 or down <= 2.5, (a, b)


def test_verdicts_are_short_and_keep_programs_out() -> None:
    assert verdict(Grade("wrong", "B"), TASK) == "✗ B"
    assert verdict(Grade("unparsed"), TASK) == "unparsed"
    program = Task("code/1", "code", "code", "lists", "?", "def f(): ...")
    assert verdict(Grade("correct", "def f():\n    return 1"), program) == "✓"
    assert verdict(Grade("correct", r"\frac{1234}{5678}"), TASK) == r"✓ \frac{1234…"


def test_long_texts_end_in_an_ellipsis() -> None:
    assert shorten("a  b\nc", 9) == "a b c"
    assert shorten("one two three", 8) == "one two…"
