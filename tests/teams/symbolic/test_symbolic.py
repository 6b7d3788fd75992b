"""Replays without texts hold the same replies as the text path, and cost the same."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from symbolic_cases import (
    HARD,
    POOL,
    again,
    random_team,
    service,
    settings,
    some_tasks,
    with_texts,
)

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.layout import Style
from hieramas_lib.llms.service import LLMService
from hieramas_lib.llms.simulated_answers import read_answer, render_answer
from hieramas_lib.llms.simulated_plans import judge_plan
from hieramas_lib.llms.world import World
from hieramas_lib.llms.world_settings import RoleKnobs, WorldSettings
from hieramas_lib.tasks.extraction import extract_answer
from hieramas_lib.tasks.task import Kind, Task
from hieramas_lib.teams.oracle.options import without_role
from hieramas_lib.teams.prompts import alone_messages
from hieramas_lib.teams.roles import RoleSet, load_roles
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.symbolic.noise import CallNoise
from hieramas_lib.teams.symbolic.replay import Replay, SymbolicTeams
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology

SEED = 3
STYLES: tuple[Style, ...] = ("answer only", "step by step")
KINDS: tuple[Kind, ...] = ("choice", "maths", "code")
QUIET = settings()
KNOBS = {
    "usual": QUIET,
    "no persuasion": QUIET.with_knobs("reading", persuasion=0.0),
    # 0.5 log2(1 + 1) = 0.5 = doubt: one vote for another wrong answer ties with one's own.
    "ties": QUIET.with_knobs("reading", persuasion=0.5, doubt=0.5).with_knobs(
        "checker", persuasion=0.0
    ),
    "gullible": QUIET.with_knobs("reading", persuasion=2.0, recognition=0.0, fatigue=0.3),
    # Whoever decides has to answer, whatever the settings say.
    "planning decision": QUIET.model_copy(
        update={"roles": QUIET.roles | {"Decision Maker": RoleKnobs(duty="planner")}}
    ),
}


def replayer(tasks: list[Task], roles: RoleSet, knobs: WorldSettings, draws: int) -> SymbolicTeams:
    return SymbolicTeams(World((), knobs, POOL, SEED), POOL, roles, tasks, draws=draws)


def same_reply(replayed: SymbolicTeams, column: int, answers: bool, code: int, text: str) -> bool:
    task = replayed.tasks[column]
    if not answers:
        return judge_plan(task, text, SEED) == (code == 0)
    written = replayed.codes.text(column, code)
    if written is None:
        return False
    return extract_answer(task, text) == extract_answer(task, render_answer(task, written))


def differences(
    replayed: SymbolicTeams, replay: Replay, rollouts: list[Rollout], team: Team
) -> int:
    """Count the calls in which the two paths differ."""
    found = 0
    for column, rollout in enumerate(rollouts):
        found += (replay.decision[0, column] == 0) != rollout.grade.correct
        found += not same_reply(replayed, column, True, replay.decision[0, column], rollout.answer)
        for record in rollout.nodes:
            node = team.roles.names.index(record.role)
            answers = team.roles.roles[node].answers
            places = [p for p, llm in enumerate(team.supernodes[node].proposers, 1) if llm != SKIP]
            codes = [replay.proposals[node, place][0, column] for place in places]
            codes.append(replay.nodes[node][0, column])
            for code, call in zip(codes, record.calls, strict=True):
                found += not same_reply(replayed, column, answers, code, call.text)
    return found


def compare(tasks: list[Task], knobs: WorldSettings, teams: int) -> None:
    """Hold every reply of random teams against that of the text path."""
    roles = load_roles(tasks[0].kind)
    replayed = replayer(tasks, roles, knobs, draws=1)
    llms = service(tasks, knobs, SEED)
    rng = np.random.default_rng(8)
    replies: list[int] = []
    for _ in range(teams):
        team = random_team(roles, rng)
        replay = replayed.replay(team)
        assert set(replay.nodes) == set(team.kept)
        assert differences(replayed, replay, with_texts(team, tasks, llms), team) == 0
        for codes in (replay.decision, *replay.nodes.values()):
            replies.extend(codes.ravel().tolist())
    assert 0.02 < np.mean(np.array(replies) > 0) < 0.8, "hardly anything was put to the test"


@pytest.mark.parametrize("knobs", KNOBS)
@pytest.mark.parametrize("kind", KINDS)
def test_without_luck_every_reply_is_that_of_the_text_path(kind: Kind, knobs: str) -> None:
    compare(some_tasks(kind, 8), KNOBS[knobs], teams=5)


def bracket_tasks(count: int) -> list[Task]:
    """Programs two of whose three wrong ones differ in brackets only: they are read as one."""
    (task,) = some_tasks("code", 1)
    name = task.tests.entry_point if task.tests else ""
    wrong = tuple(f"def {name}(*a):\n    return {x}" for x in ("1 + 2", "(1 + 2)", "3 + 1"))
    return [again(replace(task, tempting=wrong), number) for number in range(count)]


@pytest.mark.parametrize("tempting", [0.6, 0.0])
def test_programs_that_read_alike_are_one_answer_to_a_reader(tempting: float) -> None:
    # At 0.0 nobody falls for the first wrong program, but it is what the second is read as.
    knobs = KNOBS["gullible"].with_knobs("wrong", tempting=tempting)
    tasks = bracket_tasks(60)
    codes = replayer(tasks, load_roles("code"), knobs, draws=1).codes
    assert codes.as_read is not None
    all_three = [column for column, answers in enumerate(codes.answers) if len(answers) == 4]
    for column in all_three:
        read = dict(zip(codes.answers[column], codes.as_read[:, column].tolist(), strict=True))
        first, second, third = (read[text] for text in tasks[column].tempting)
        assert first == second != third and read[tasks[column].gold] == 0
    compare([tasks[column] for column in all_three][:6], knobs, teams=8)
    assert replayer(some_tasks("choice", 5), load_roles("choice"), QUIET, 1).codes.as_read is None


def test_other_readers_find_the_world_that_a_new_one_would_be() -> None:
    team, tasks = small_team(), some_tasks("choice", 60)
    shipped, others = settings(call_noise=0.5), settings(call_noise=0.5)
    others = others.with_knobs("reading", recognition=0.0, fatigue=2.0)
    others = others.with_knobs("checker", recognition=0.0)
    first = replayer(tasks, team.roles, shipped, draws=2)
    before = first.replay(team)
    moved = first.with_reading(others).replay(team)
    fresh = replayer(tasks, team.roles, others, draws=2).replay(team)
    assert np.array_equal(moved.decision, fresh.decision)
    assert np.array_equal(moved.cost, fresh.cost)
    assert not np.array_equal(moved.decision, before.decision)
    assert np.array_equal(first.replay(team).decision, before.decision)
    for section, knobs in (("fit", {"own": 0.0}), ("difficulty", {"call_noise": 0.0})):
        with pytest.raises(ConfigError, match="more than reading and checker"):
            first.with_reading(others.with_knobs(section, **knobs))  # type: ignore[arg-type]


def test_half_of_the_blank_replies_can_be_read_but_say_nothing() -> None:
    roles, tasks = load_roles("choice"), some_tasks("choice", 50)
    replayed = replayer(tasks, roles, settings(blank_rate=0.4), draws=40)
    team = small_team()
    codes = replayed.replay(team).nodes[1]
    for blank in (replayed.codes.mute, replayed.codes.empty):
        assert np.mean(codes == blank) == pytest.approx(0.2, abs=0.04)
    # An empty message is as good as none; a mute one tires its reader, and is paid for.
    held = {
        name: replayed.replay(team, held={0: np.full(50, code, np.int8), 1: np.zeros(50, np.int8)})
        for name, code in (("mute", replayed.codes.mute), ("empty", replayed.codes.empty))
    }
    alone = replayed.replay(without_role(team, 0), held={1: np.zeros(50, np.int8)})
    assert np.array_equal(held["empty"].decision, alone.decision)
    assert held["empty"].cost == pytest.approx(alone.cost)
    assert (held["mute"].cost > alone.cost).all()


async def alone_with_texts(
    llm: str, tasks: list[Task], style: Style, llms: LLMService, samples: int = 1
) -> list[Completion]:
    roles = load_roles(tasks[0].kind)
    messages = [alone_messages(task, roles, style) for task in tasks]
    asked = [ChatRequest(llm, m, sample=sample) for sample in range(samples) for m in messages]
    return list(await asyncio.gather(*map(llms.complete, asked)))


@pytest.mark.parametrize("style", STYLES)
def test_llms_alone_answer_as_with_texts(style: Style) -> None:
    tasks = some_tasks("choice", 60)
    replayed = replayer(tasks, load_roles("choice"), QUIET, draws=1)
    llms = service(tasks, QUIET, SEED)
    for llm in POOL.names:
        done = asyncio.run(alone_with_texts(llm, tasks, style, llms))
        right = [read_answer(t, c.text) == t.gold for t, c in zip(tasks, done, strict=True)]
        assert replayed.alone(llm, style).right[0].tolist() == right


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("kind", KINDS)
def test_expected_cost_of_a_call_is_the_mean_over_many(kind: Kind, style: Style) -> None:
    tasks, samples = some_tasks(kind, 6), 150
    replayed = replayer(tasks, load_roles(kind), QUIET, draws=1)
    llms = service(tasks, QUIET, SEED)
    for llm in ("gpt-5-mini", "llama-3.1-8b"):
        done = asyncio.run(alone_with_texts(llm, tasks, style, llms, samples))
        spent = np.array([c.cost_usd for c in done]) / POOL.reference_cost
        expected = replayed.alone(llm, style).estimate().cost
        assert abs(spent.mean() - expected) < 4 * spent.std() / np.sqrt(spent.size) + 1e-9
        assert spent.mean() == pytest.approx(expected, rel=0.15)


def agree(kind: Kind, teams: int, samples: int, skip: float) -> tuple[float, float]:
    """Compare both paths with luck; return their mean costs."""
    roles, tasks = load_roles(kind), some_tasks(kind, 20)
    knobs = settings(call_noise=1.0, blank_rate=0.15)
    replayed = replayer(tasks, roles, knobs, draws=400)
    llms = service(tasks, knobs, SEED)
    rng = np.random.default_rng(1)
    costs, expected_costs = [], []
    for _ in range(teams):
        team = random_team(roles, rng, skip=skip)
        rollouts = with_texts(team, tasks, llms, samples)
        right = np.array([r.grade.correct for r in rollouts])
        cost = np.array([r.usage.cost_usd / POOL.reference_cost for r in rollouts])
        results = replayed.results(team)
        expected = results.right.mean(axis=0)
        luck = np.sqrt((expected * (1 - expected)).sum() / samples) / len(tasks)
        assert abs(right.mean() - expected.mean()) < 3.5 * luck + 0.005
        assert abs(cost.mean() - results.cost.mean()) < 4 * cost.std() / np.sqrt(cost.size)
        costs.append(cost.mean())
        expected_costs.append(results.cost.mean())
    return float(np.mean(costs)), float(np.mean(expected_costs))


@pytest.mark.parametrize("kind", KINDS)
def test_with_luck_expectations_are_those_of_the_text_path(kind: Kind) -> None:
    agree(kind, teams=3, samples=3, skip=0.6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_expected_cost_is_within_two_percent_of_the_text_path(kind: Kind) -> None:
    cost, expected = agree(kind, teams=4, samples=20, skip=0.1)
    assert cost == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_prompt_tokens_are_those_of_the_text_path_up_to_wording(kind: Kind) -> None:
    roles, tasks = load_roles(kind), some_tasks(kind, 10)
    free = [
        spec.model_copy(update={"price": spec.price.model_copy(update={"output": 0.0})})
        for spec in POOL.llms
        if spec.price
    ]
    pool = POOL.model_copy(update={"llms": tuple(free)})
    replayed = SymbolicTeams(World((), QUIET, pool, SEED), pool, roles, tasks, draws=1)
    llms = service(tasks, QUIET, SEED)
    rng = np.random.default_rng(2)
    for _ in range(4):
        team = random_team(roles, rng)
        calls = [call for rollout in with_texts(team, tasks, llms) for call in rollout.calls]
        spent = sum(
            pool[call.llm].cost(call.completion.prompt_tokens, 0) or 0.0
            for call in calls
            if call.completion
        )
        # A phrase more or less is a token or two among some hundred.
        expected = replayed.replay(team).cost.sum() * pool.reference_cost
        assert spent == pytest.approx(expected, rel=0.005)


def small_team(reads: str = "all") -> Team:
    """Two kept roles, the second of which reads the first."""
    roles = load_roles("choice")
    nodes = [Supernode(name, (SKIP,), SKIP) for name in roles.names]
    nodes[0] = Supernode(roles.names[0], ("gpt-4o-mini",), "qwen3-8b")
    nodes[1] = Supernode(roles.names[1], (SKIP,), "gemma-3-27b")
    graph = Topology(len(nodes), ((0, 1),))
    return Team(roles, tuple(nodes), graph, "llama-3.1-8b", reads)  # type: ignore[arg-type]


def test_held_messages_are_read_like_the_same_ones_replayed_and_cost_nothing() -> None:
    team, tasks = small_team(), some_tasks("choice", 40)
    replayed = replayer(tasks, team.roles, settings(call_noise=0.5), draws=3)
    whole = replayed.replay(team)
    held = replayed.replay(team, held={0: whole.nodes[0]})
    assert np.array_equal(held.decision, whole.decision)
    assert np.array_equal(held.nodes[1], whole.nodes[1])
    assert (held.cost < whole.cost).all()
    right = replayed.replay(team, held=dict.fromkeys((0, 1), np.zeros(len(tasks), np.int8)))
    assert right.results.right.mean() > whole.results.right.mean() + 0.05


def test_luck_is_the_seeds_and_the_seats() -> None:
    team, tasks = small_team(), some_tasks("choice", 40)
    knobs = settings(call_noise=1.0)
    first, second = (replayer(tasks, team.roles, knobs, draws=4) for _ in range(2))
    assert np.array_equal(first.replay(team).decision, second.replay(team).decision)
    other = first.redrawn(1)
    assert not np.array_equal(first.replay(team).nodes[0], other.replay(team).nodes[0])
    # Another synthesizer in the second role is no reason for the first to answer otherwise.
    changed = list(team.supernodes)
    changed[1] = replace(changed[1], synthesizer="gpt-5-mini")
    sibling = replace(team, supernodes=tuple(changed))
    assert np.array_equal(first.replay(team).nodes[0], second.replay(sibling).nodes[0])


def test_every_seat_has_luck_of_its_own() -> None:
    noise = CallNoise(draws=50, tasks=100, seed=0, blank_rate=0.2)
    seats = [noise.normal(seat) for seat in ((0, 0), (0, 1), (1, 0))]
    assert np.abs(np.corrcoef(seats) - np.eye(3)).max() < 0.06
    assert np.abs([[draws.mean(), draws.std() - 1.0] for draws in seats]).max() < 0.06
    first, second = (noise.blanks(seat) for seat in ((0, 0), (0, 1)))
    assert first is not None and second is not None
    assert not np.array_equal(first[0], second[0])
    assert CallNoise(draws=50, tasks=100, seed=0, blank_rate=0.0).blanks((0, 0)) is None


def test_forgetting_replayed_calls_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    roles, tasks = load_roles("choice"), some_tasks("choice", 12)
    knobs = settings(call_noise=0.5, blank_rate=0.1)
    rng = np.random.default_rng(0)
    teams = [random_team(roles, rng) for _ in range(12)]
    keeping = replayer(tasks, roles, knobs, draws=3)
    kept = [keeping.replay(team) for team in teams]
    monkeypatch.setattr("hieramas_lib.teams.symbolic.calls.MEMORY", 0)
    forgetful = replayer(tasks, roles, knobs, draws=3)
    for team, before in zip(teams * 2, kept * 2, strict=True):
        now = forgetful.replay(team)
        assert np.array_equal(now.decision, before.decision)
        assert np.array_equal(now.cost, before.cost)


def test_a_question_in_other_company_is_the_same_question() -> None:
    team, tasks = small_team("sinks"), some_tasks("choice", 30)
    alone = replayer(tasks[5:9], team.roles, QUIET, draws=1).results(team).right
    together = replayer(tasks, team.roles, QUIET, draws=1).results(team).right
    assert np.array_equal(alone, together[:, 5:9])


def test_what_cannot_be_replayed_is_refused() -> None:
    choice, maths = some_tasks("choice", 3), some_tasks("maths", 3)
    roles = load_roles("choice")
    for tasks, why in (([], "at least one"), ([*choice, *maths], "one kind"), (maths, "for tasks")):
        with pytest.raises(ConfigError, match=why):
            replayer(tasks, roles, HARD, draws=1)
    with pytest.raises(ConfigError, match="draws: at least 1"):
        replayer(choice, roles, HARD, draws=0)
    with pytest.raises(ConfigError, match="roles are 'maths'"):
        replayer(choice, roles, HARD, draws=1).replay(
            random_team(load_roles("maths"), np.random.default_rng(0))
        )
    long = [replace(task, choices=("x" * 5000, *task.choices[1:])) for task in choice]
    with pytest.raises(ConfigError, match="characters is cut on its way"):
        replayer(long, roles, HARD, draws=1).alone("qwen3-8b")
    cut = [spec.model_copy(update={"max_tokens": 5}) for spec in POOL.llms]
    short = POOL.model_copy(update={"llms": tuple(cut)})
    with pytest.raises(ConfigError, match="max_tokens 5 cuts a reply"):
        SymbolicTeams(World((), HARD, short, 0), short, roles, choice).alone("gpt-5-mini")
    free = [
        spec.model_copy(update={"price": None}) if spec.name == "qwen3-8b" else spec
        for spec in POOL.llms
    ]
    unpriced = POOL.model_copy(update={"llms": tuple(free)})
    with pytest.raises(ConfigError, match="'qwen3-8b' a price"):
        SymbolicTeams(World((), HARD, POOL, 0), unpriced, roles, choice).alone("qwen3-8b")
