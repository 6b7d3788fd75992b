"""Graph pools: distinct, connected, as many as there are, and read back as written."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from team_stubs import topologies

from hieramas_lib.errors import ConfigError
from hieramas_lib.teams import graph_pool
from hieramas_lib.teams.dag_sampling import (
    all_dags,
    count_connected_dags,
    count_dags,
    reference_dag,
    uniform_connected_dag,
)
from hieramas_lib.teams.graph_pool import GraphPool, reference_pool, uniform_pool
from hieramas_lib.teams.topology import Topology


def test_counts_are_the_known_sequences() -> None:
    # OEIS A003024 and A082402.
    assert [count_dags(n) for n in range(1, 7)] == [1, 3, 25, 543, 29281, 3781503]
    assert [count_connected_dags(n) for n in range(1, 7)] == [1, 2, 18, 446, 26430, 3596762]
    assert [len(all_dags(n)) for n in range(1, 5)] == [1, 2, 18, 446]
    with pytest.raises(ConfigError, match="3,781,503"):
        all_dags(6)


@settings(max_examples=40)
@given(st.integers(2, 8), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**32))
def test_reference_generator(size: int, a: float, b: float, seed: int) -> None:
    low, high = sorted((a, b))
    dag = reference_dag(size, (low, high), np.random.default_rng(seed))
    pairs = size * (size - 1) // 2
    assert len(dag.sources) == 1
    assert dag.connected
    assert max(size - 1, int(low * pairs)) <= len(dag.edges) <= max(size - 1, int(high * pairs))


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 8), st.integers(1, 60), st.booleans(), st.integers(0, 99))
def test_pools_hold_distinct_connected_graphs(
    size: int, count: int, reference: bool, seed: int
) -> None:
    make = reference_pool if reference else uniform_pool
    pool = make(size, count, seed=seed)
    assert len(pool) == min(count, count_connected_dags(size))
    assert len(set(pool.ids)) == len(pool)
    assert all(graph.connected for graph in pool)
    assert all(sorted(graph.order()) == list(range(size)) for graph in pool)
    assert make(size, count, seed=seed) == pool


def test_reference_pool_of_eight_has_the_papers_density() -> None:
    pool = reference_pool(8, 200, seed=0)
    edges = [len(graph.edges) for graph in pool]
    assert (min(edges), max(edges)) == (8, 19)
    assert pool.note == ""
    assert reference_pool(8, 200, seed=1) != pool


@pytest.mark.parametrize("make", [reference_pool, uniform_pool])
def test_three_roles_have_eighteen_graphs_and_the_pool_says_so(make: object) -> None:
    pool = make(3, 100, seed=0)  # type: ignore[operator]
    assert set(pool) == set(all_dags(3))
    assert "only 18" in pool.note and "100" in pool.note


def test_exhausted_reference_generator_is_filled_up_and_says_so() -> None:
    pool = reference_pool(3, 16, seed=0)
    assert len(pool) == 16
    assert "gave 9 distinct graphs" in pool.note and "other 7" in pool.note


def test_uniform_generator_is_uniform() -> None:
    rng = np.random.default_rng(0)
    counts = Counter(uniform_connected_dag(4, rng) for _ in range(446 * 20))
    chi2 = sum((n - 20) ** 2 / 20 for n in counts.values()) + 20 * (446 - len(counts))
    # 445 degrees of freedom: mean 445, standard deviation 30.
    assert chi2 < 445 + 5 * 30


def test_generators_leave_the_global_state_alone() -> None:
    np.random.seed(0)
    before = np.random.get_state()[1].tolist()  # type: ignore[union-attr, index]
    reference_pool(5, 10, seed=3)
    uniform_pool(5, 10, seed=3)
    assert np.random.get_state()[1].tolist() == before  # type: ignore[union-attr, index]


def test_save_and_load(tmp_path: Path) -> None:
    path = tmp_path / "pools" / "five.json"
    pool = GraphPool(3, all_dags(3), note='all "18" of them')
    pool.save(path)
    assert GraphPool.load(path) == pool
    assert '{"id": "3-09", "edges": [[0, 1], [1, 2]]}' in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"size": 3, "graphs": [{"id": "3-09", "edges": [[0, 1]]}]}', r"graphs\.0\.id.*3-01"),
        ('{"size": 3, "graphs": []}', "at least one"),
        ('{"size": 3, "graf": []}', "graphs: Field required; graf: Extra"),
        ('{"size": 2, "graphs": [{"id": "2-0", "edges": []}, {"id": "2-1"}]}', r"phs\.1\.edges"),
        (
            '{"size": 2, "graphs": [{"id": "2-1", "edges": [[0, 2]]}]}',
            r"graphs\.0\.edges: edge",
        ),
        ('{"size": "x", "graphs": []}', "size: Input should be a valid integer"),
        ('{"size": 2, "graphs": [{"id": "x", "edges": [[0, 1], [1, 0]]}]}', "0 -> 1 -> 0"),
        ("nonsense", "JSON"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "pool.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=fault) as caught:
        GraphPool.load(path)
    assert "pool.json" in str(caught.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json: cannot be read"):
        GraphPool.load(tmp_path / "none.json")


@settings(max_examples=30, deadline=None)
@given(
    st.lists(topologies(4, 4), min_size=1, max_size=8, unique=True),
    st.text(st.characters(codec="utf-8")),
)
def test_any_pool_is_read_back_as_written(graphs: list[Topology], note: str) -> None:
    pool = GraphPool(4, tuple(graphs), note)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pool.json"
        pool.save(path)
        read = GraphPool.load(path)
    assert read == pool
    assert read.ids == tuple(graph.id for graph in graphs)


def test_pool_refuses_duplicates_and_other_sizes() -> None:
    with pytest.raises(ConfigError, match="once"):
        GraphPool(2, (Topology(2), Topology(2)))
    with pytest.raises(ConfigError, match="size 2"):
        GraphPool(2, (Topology(3),))


def test_position_in_the_pool() -> None:
    pool = GraphPool(3, all_dags(3))
    assert all(pool.position(graph.id) == i for i, graph in enumerate(pool))
    with pytest.raises(ConfigError, match="not in this pool"):
        pool.position("3-00")


def test_families() -> None:
    assert graph_pool.empty(3).edges == ()
    assert graph_pool.chain(4).edges == ((0, 1), (1, 2), (2, 3))
    assert graph_pool.star(4).edges == ((0, 1), (0, 2), (0, 3))
    assert graph_pool.full(3).edges == ((0, 1), (0, 2), (1, 2))
    assert graph_pool.full(8).density == 0.5
    assert graph_pool.layered(5).edges == ((0, 3), (0, 4), (1, 3), (1, 4), (2, 3), (2, 4))
    assert graph_pool.layered(3, 3) == graph_pool.chain(3)
    with pytest.raises(ConfigError, match="layers"):
        graph_pool.layered(3, 4)


def test_reference_pool_refuses_bad_parameters() -> None:
    with pytest.raises(ConfigError, match="count"):
        uniform_pool(4, 0, seed=0)
    with pytest.raises(ConfigError, match="density"):
        reference_pool(4, 5, (0.7, 0.3), seed=0)
