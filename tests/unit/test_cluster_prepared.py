"""What the driver prepared for a search, and workers map: candidate spaces and narrowed rows."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux import _native
from motiflux.cluster import prepared, tasks
from motiflux.graph import Graph
from motiflux.graph import graph as graphs
from motiflux.plan.candidates import space as spaces
from tests.inline_ray import InlineRay, replace_ray

TRIANGLE = "(a:0)--(b:1)--(c:2)--(a)"
SQUARE = "(a:0)--(b:1)--(c:0)--(d:1)--(a)"
PATH = "(a:0)-->(b:1)-->(c:2)"
WALKS = "(a)-->(b)--(c), (a)--(c)"
SEARCH = {"tables": "off"}


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.setattr(prepared, "_LEAST_BYTES", 1)
    for kept in (tasks._KEPT, tasks._MAPPED):
        kept.clear()
    return replace_ray(monkeypatch)


@pytest.fixture
def made_here(monkeypatch: pytest.MonkeyPatch) -> list[Graph]:
    """The graphs for which a space or rows were made; not mapped."""
    found: list[Graph] = []
    build, narrow = spaces._build, graphs.narrow

    def builds(graph: Any, *given: Any) -> Any:
        found.append(graph)
        return build(graph, *given)

    def narrows(key: Any, graph: Any, threads: int) -> Any:
        rows = narrow(key, graph, threads)
        if rows[1] is not graph.forward.neighbors and rows[1] is not graph.reverse.neighbors:
            found.append(graph)
        return rows

    monkeypatch.setattr(spaces, "_build", builds)
    monkeypatch.setattr(graphs, "narrow", narrows)
    return found


def random_graph(seed: int = 1, *, directed: bool = False, edges: int = 1500) -> mf.Graph:
    ends = mf.generate.rmat(scale=8, edges=edges, seed=seed).to_edges()
    labels = [vertex % 3 for vertex in range(256)]
    return mf.Graph.from_edges(
        (ends.src, ends.dst), directed=directed, vertex_ids=range(256), vertex_labels=labels
    )


@pytest.mark.parametrize("pattern", [TRIANGLE, SQUARE])
def test_workers_make_no_space_themselves(ray: InlineRay, made_here: list[Graph], pattern: str) -> None:
    graph = random_graph()
    expected = mf.count(graph, pattern, tuning=SEARCH)
    with mf.Cluster() as cluster:
        assert cluster.count(graph, pattern, tuning=SEARCH) == expected
        rows = cluster.match(graph, pattern).to_numpy()
        numbers = cluster.count_per_vertex(graph, pattern, tuning=SEARCH)
    assert len(rows) == expected > 0
    assert np.array_equal(numbers, mf.count_per_vertex(graph, pattern, tuning=SEARCH))
    assert made_here
    assert all(one is graph for one in made_here)


def test_workers_narrow_no_rows_themselves(ray: InlineRay, made_here: list[Graph]) -> None:
    graph = random_graph(directed=True)
    expected = mf.count(graph, WALKS, tuning=SEARCH)
    with mf.Cluster() as cluster:
        assert cluster.count(graph, WALKS, tuning=SEARCH) == expected > 0
    assert made_here
    assert all(one is graph for one in made_here)


@pytest.mark.parametrize(("name", "value"), [("_LEAST_BYTES", 1 << 30), ("_STORE", 1 << 10)])
def test_a_small_or_a_large_space_is_made_by_workers(
    ray: InlineRay, made_here: list[Graph], monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    monkeypatch.setattr(prepared, name, value)
    graph = random_graph()
    with mf.Cluster() as cluster:
        assert cluster.count(graph, TRIANGLE, tuning=SEARCH) == mf.count(graph, TRIANGLE, tuning=SEARCH)
    assert [one is graph for one in made_here] == [True, False]


def test_a_store_without_room_is_no_error(
    ray: InlineRay, made_here: list[Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, put = random_graph(), ray.put

    def full(value: Any) -> Any:
        if isinstance(value, prepared.Prepared):
            raise ray.exceptions.ObjectStoreFullError
        return put(value)

    monkeypatch.setattr(ray, "put", full)
    with mf.Cluster() as cluster:
        assert cluster.count(graph, TRIANGLE, tuning=SEARCH) == mf.count(graph, TRIANGLE, tuning=SEARCH)
    assert any(one is not graph for one in made_here)


def test_the_last_searches_are_kept_and_older_ones_forgotten(ray: InlineRay) -> None:
    graph = random_graph()
    patterns = [TRIANGLE, SQUARE, "(a:0)--(b:1)--(c:0)", "(a:2)--(b:1)--(c:2)--(a)", TRIANGLE]
    with mf.Cluster() as cluster:
        for pattern in patterns:
            assert cluster.count(graph, pattern, tuning=SEARCH) == mf.count(graph, pattern, tuning=SEARCH)
            assert 0 < len(tasks._MAPPED) <= prepared.MOST_KEPT
            read = [key for _, key in tasks._MAPPED]
            plans = [kept[1] for kept in tasks._KEPT.values()]
            assert {prepared.read_by(plan) for plan in plans} == set(read)
            (there, _), *_ = tasks._MAPPED.values()
            assert len(there.memo._pools[spaces.KEPT_SPACES]) <= prepared.MOST_KEPT
        assert len(cluster._workers._prepared._put) == prepared.MOST_KEPT
        found = cluster.count(graph, patterns, tuning=SEARCH)
        assert found == mf.count(graph, patterns, tuning=SEARCH)


def test_what_was_lost_is_put_again(ray: InlineRay, made_here: list[Graph]) -> None:
    graph = random_graph()
    with mf.Cluster() as cluster:
        expected = cluster.count(graph, TRIANGLE, tuning=SEARCH)
        left = 1

        def lose() -> None:
            nonlocal left
            if left:
                left -= 1
                tasks._KEPT.clear()
                tasks._MAPPED.clear()
                tasks.opened.__globals__["_OPEN"].clear()
                ray.lose_objects()

        ray.before = lose
        assert cluster.count(graph, TRIANGLE, tuning=SEARCH) == expected
    assert left == 0
    assert all(one is graph for one in made_here)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    pattern=st.sampled_from([TRIANGLE, SQUARE, PATH, WALKS]),
    semantics=st.sampled_from(["isomorphism", "induced", "homomorphism"]),
    tuning=st.sampled_from([{}, {"candidates": "off"}, {"order": "adaptive"}, {"backjump": "on"}]),
)
def test_results_are_those_of_one_machine(
    ray: InlineRay, seed: int, directed: bool, pattern: str, semantics: str, tuning: dict[str, str]
) -> None:
    if not directed:
        pattern = pattern.replace("->", "-")
    graph = random_graph(seed, directed=directed, edges=500)
    options: dict[str, Any] = {"semantics": semantics, "tuning": {**tuning, "tables": "off"}}
    estimated: dict[str, Any] = {"semantics": semantics, "samples": 5_000, "seed": seed}
    with mf.Cluster() as cluster:
        assert cluster.count(graph, pattern, **options) == mf.count(graph, pattern, **options)
        found = cluster.estimate(graph, pattern, **estimated)
    expected = mf.estimate(graph, pattern, **estimated)
    assert (found.value, found.low, found.high) == (expected.value, expected.low, expected.high)


def test_a_lent_space_is_the_space_that_lent_it() -> None:
    graph = random_graph()
    mf.count(graph, SQUARE, tuning=SEARCH)
    (space,) = graph.memo._pools[spaces.KEPT_SPACES].values()
    lent = _native.Space(*space.native.lend())
    assert lent.sizes == space.native.sizes
    assert lent.arcs == space.native.arcs
    assert lent.classes == space.native.classes == [0, 1, 0, 1]
    assert (lent.rounds, lent.nbytes, lent.state) == (space.native.rounds, space.native.nbytes, 0)
    sets, edges, rounds = lent.lend()
    assert sets[0] is sets[2]
    assert not sets[0].flags.writeable
    del space, lent
    graph.memo.clear()
    again = _native.Space(sets, edges, rounds)  # the arrays keep their space
    assert [len(one) for one in sets] == again.sizes


def test_arrays_that_are_no_space_are_refused() -> None:
    graph = random_graph()
    mf.count(graph, TRIANGLE, tuning=SEARCH)
    (space,) = graph.memo._pools[spaces.KEPT_SPACES].values()
    sets, edges, rounds = space.native.lend()
    source, target, forward, backward = edges[0]
    with pytest.raises(ValueError, match="one row per candidate"):
        _native.Space([one[:-1] for one in sets], edges, rounds)
    with pytest.raises(ValueError, match="without rows"):
        _native.Space(sets, [(source, target, None, None)], rounds)
    with pytest.raises(ValueError, match="no such query vertex"):
        _native.Space(sets, [(9, target, forward, backward)], rounds)
    offsets, neighbors = forward or backward  # type: ignore[misc]
    cut = (offsets, neighbors[:-1])
    given = (source, target, cut, None) if forward else (source, target, None, cut)
    with pytest.raises(ValueError, match="last neighbour"):
        _native.Space(sets, [given], rounds)


def test_what_was_prepared_for_a_graph_that_is_gone_is_dropped(ray: InlineRay) -> None:
    with mf.Cluster() as cluster:
        for seed in (1, 2):
            graph = random_graph(seed)
            cluster.count(graph, TRIANGLE, tuning=SEARCH)
            assert [there() is graph for there, _ in cluster._workers._prepared._put.values()] == [True]
            del graph
            gc.collect()
