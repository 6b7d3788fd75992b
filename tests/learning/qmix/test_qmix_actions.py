"""The six actions and the graphs they make, by hand and by counting."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.qmix.actions import LABELS, Action, graph_of, requests
from hieramas_lib.teams.topology import find_cycle

joints = st.lists(st.integers(0, 5), min_size=1, max_size=6)

SOLO, BROADCAST, QUERY, AGGREGATE, VERIFY, DEBATE = range(6)


def test_what_each_action_asks_for() -> None:
    assert LABELS == ("solo", "broadcast", "selective", "aggregate", "execute", "debate")
    asked = {action: requests(1, action, 4) for action in Action}
    assert asked == {
        SOLO: (),
        BROADCAST: ((1, 0), (1, 2), (1, 3)),
        QUERY: ((1, 2),),
        AGGREGATE: ((0, 1), (2, 1), (3, 1)),
        VERIFY: ((1, 2),),
        DEBATE: ((1, 3), (3, 1)),
    }
    assert requests(3, Action.SELECTIVE_QUERY, 4) == ((3, 0),)
    assert requests(3, Action.EXECUTE_VERIFY, 4) == ()


@pytest.mark.parametrize(
    ("joint", "edges"),
    [
        ((SOLO, SOLO, SOLO), ()),
        ((BROADCAST, SOLO, SOLO), ((0, 1), (0, 2))),
        ((SOLO, AGGREGATE, SOLO), ((0, 1), (2, 1))),
        ((DEBATE, SOLO, SOLO), ((0, 1), (1, 0))),
        ((BROADCAST,) * 3, ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))),
        ((QUERY,) * 3, ((0, 1), (1, 2), (2, 0))),
        ((VERIFY,) * 3, ((0, 1), (1, 2))),
    ],
)
def test_synchronous_graphs_by_hand(joint: tuple[int, ...], edges: tuple) -> None:
    graph = graph_of(joint)
    assert graph.edges == graph.requested == edges
    assert graph.refused == graph.late == ()


@pytest.mark.parametrize(
    ("joint", "edges", "refused", "late"),
    [
        ((BROADCAST,) * 3, ((0, 1), (0, 2), (1, 2)), ((1, 0), (2, 0), (2, 1)), ()),
        ((AGGREGATE,) * 3, ((1, 0), (2, 0), (2, 1)), ((0, 1), (0, 2), (1, 2)), ()),
        ((QUERY,) * 3, ((0, 1), (1, 2)), ((2, 0),), ()),
        ((DEBATE, SOLO, SOLO), ((0, 1),), (), ((1, 0),)),
        # 2 -> 0 is there already, so the way back is let in, and closes 0 -> 2 -> 1 -> 0: with the
        # published code, nobody on that cycle would ever be run.
        (
            (AGGREGATE, AGGREGATE, DEBATE, SOLO),
            ((1, 0), (2, 0), (2, 1), (3, 0), (3, 1)),
            ((0, 1),),
            ((0, 2),),
        ),
    ],
)
def test_the_published_mapping_by_hand(joint, edges, refused, late) -> None:
    graph = graph_of(joint, "reference")
    assert (graph.edges, graph.refused, graph.late) == (edges, refused, late)


@pytest.mark.parametrize(("size", "graphs"), [(2, 4), (3, 43), (4, 201), (5, 1487)])
def test_number_of_distinct_published_graphs(size: int, graphs: int) -> None:
    """As counted on the published code, whose graphs have both edges of a debate."""
    made = [graph_of(joint, "reference") for joint in product(range(6), repeat=size)]
    assert len({frozenset((*g.edges, *g.late)) for g in made}) == graphs


def test_86_of_216_joint_actions_lose_a_request_as_published() -> None:
    every = list(product(range(6), repeat=3))
    assert sum(bool(graph_of(joint, "reference").refused) for joint in every) == 86
    assert len({graph_of(joint).edges for joint in every}) == 51


@given(joints)
def test_synchronous_graphs_hold_every_request(joint: list[int]) -> None:
    asked = {e for i, a in enumerate(joint) for e in requests(i, Action(a), len(joint))}
    assert set(graph_of(joint).edges) == asked


@given(joints)
def test_published_graphs_can_always_be_scheduled(joint: list[int]) -> None:
    graph = graph_of(joint, "reference")
    assert not find_cycle(graph.size, graph.edges)
    parts = (graph.edges, graph.refused, graph.late)
    assert sum(map(len, parts)) == len(graph.requested)
    assert graph.requested == graph_of(joint).edges
    assert graph == graph_of(joint, "reference")


@given(joints, st.data())
def test_solo_adds_nothing(joint: list[int], data: st.DataObject) -> None:
    agent = data.draw(st.integers(0, len(joint) - 1))
    silent = [SOLO if i == agent else a for i, a in enumerate(joint)]
    assert set(graph_of(silent).edges) <= set(graph_of(joint).edges)


@pytest.mark.parametrize("joint", [(), (6,), (0, -1)])
def test_no_joint_action(joint: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="joint action"):
        graph_of(joint)
    with pytest.raises(ConfigError, match="mode"):
        graph_of((0,), "ordered")  # type: ignore[arg-type]
