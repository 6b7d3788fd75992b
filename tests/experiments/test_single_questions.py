"""Questions are found by id or refused by name; a team made by hand is the one that was meant."""

import asyncio

import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.single_questions import (
    find_questions,
    hand_made_team,
    simulated_llms,
)
from hieramas_lib.methods.single import cot
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.supernode import Supernode
from hieramas_lib.teams.team import Team

ROLES = load_roles("choice_small")


def team(*edges: tuple[str, str]) -> Team:
    proposers = {"Historian": ["a", "b"], "Critic": []}
    return hand_made_team(ROLES, proposers, edges, synthesizer="s", decision="d")


def test_questions_come_in_the_order_in_which_they_are_named() -> None:
    found = find_questions(
        "knowledge", question="knowledge/law/02", more=["knowledge/law/01", "knowledge/business/03"]
    )
    assert [task.id for task in found] == [
        "knowledge/law/02", "knowledge/law/01", "knowledge/business/03",
    ]  # fmt: skip


def test_an_unknown_question_is_refused_with_its_field_and_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r"^more: .*'knowledge/lav/01'.*mean 'knowledge/law/01'"):
        find_questions("knowledge", question="knowledge/law/02", more=["knowledge/lav/01"])


def test_a_simulated_pool_answers_and_another_seed_is_another_world() -> None:
    tasks = find_questions("knowledge", ids=[f"knowledge/law/{n:02}" for n in range(1, 11)])

    def answers(seed: int) -> list[str]:
        llms = simulated_llms("knowledge", "hard", seed)
        method = cot("llama-3.1-8b", llms, load_roles("choice"))
        return [asyncio.run(method.answer(task)).answer for task in tasks]

    assert answers(0) == answers(0)
    assert answers(0) != answers(1)
    assert any("Answer:" in text for text in answers(0))


def test_roles_that_are_not_named_are_pruned() -> None:
    made = team(("Historian", "Critic"))
    assert [ROLES.names[node] for node in made.kept] == ["Historian", "Critic"]
    by_role = {node.role: node for node in made.supernodes}
    assert by_role["Historian"] == Supernode("Historian", ("a", "b"), "s")
    assert by_role["Critic"].active_proposers == ()
    assert by_role["Scientist"].pruned
    assert [(ROLES.names[u], ROLES.names[v]) for u, v in made.edges] == [("Historian", "Critic")]
    assert made.decision == "d"


def test_what_is_no_team_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"proposers: .* has no 'Pirate', it has Scientist"):
        hand_made_team(ROLES, {"Pirate": []}, [], synthesizer="s", decision="d")
    with pytest.raises(ConfigError, match="cycle"):
        team(("Historian", "Critic"), ("Critic", "Historian"))
