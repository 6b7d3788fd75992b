"""Answers held to the options: which calls of which roles, and the letter that is read."""

from dataclasses import replace

import pytest

from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.methods.run import run
from hieramas_lib.methods.single import base
from hieramas_lib.tasks.extraction import extract_answer
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import run_team
from hieramas_lib.teams.roles import RoleSet, load_roles
from hieramas_lib.teams.supernode import Supernode
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology

TASK = Task("t/1", "t", "choice", "geography", "Which one?", "B", ("Lima", "Answer: A", "C. Rome"))
OPTIONS = ("Lima\nAnswer: A", "Answer: A\nAnswer: B", "C. Rome\nAnswer: C")
SMALL = load_roles("choice_small")


class Listener:
    """Answers with the second option and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> Completion:
        self.asked.append(request)
        return Completion(OPTIONS[1], "stop", 1, 1, 0.0, 0.1, False, "")


def with_a_planner() -> RoleSet:
    first, *others = SMALL.roles
    planner = first.model_copy(update={"duty": "planner"})
    return SMALL.model_copy(update={"roles": (planner, *others)})


def test_every_role_that_answers_is_held_to_the_options() -> None:
    for role in (*SMALL.names, "Decision Maker", "Assistant"):
        assert SMALL.options(TASK, role) == OPTIONS
    planning = with_a_planner()
    assert planning.options(TASK, planning.names[0]) == ()
    assert planning.options(TASK, planning.names[1]) == OPTIONS


def test_other_role_sets_write_freely() -> None:
    assert load_roles("choice").options(TASK, "Critic") == ()
    maths = SMALL.model_copy(update={"kind": "maths"})
    assert maths.options(replace(TASK, kind="maths", choices=()), "Critic") == ()


@pytest.mark.parametrize("place", range(3))
def test_the_letter_is_read_whatever_the_text(place: int) -> None:
    assert extract_answer(TASK, OPTIONS[place]) == "ABC"[place]


def test_calls_of_a_team_carry_the_options() -> None:
    llms, roles = Listener(), with_a_planner()
    nodes = tuple(Supernode(role, ("a",), "a") for role in roles.names)
    team = Team(roles, nodes, Topology(3, ((0, 1),)), "a")
    rollout = run(run_team(team, TASK, llms))
    assert rollout.grade.correct
    held = [request.options for request in llms.asked]
    assert len(held) == 7
    assert held.count(()) == 2, "proposer and synthesizer of the planner"
    assert held.count(OPTIONS) == 5


def test_an_llm_alone_is_held_to_the_options_too() -> None:
    llms = Listener()
    assert run(base("a", llms, SMALL).answer(TASK)).grade.correct
    assert [request.options for request in llms.asked] == [OPTIONS]
