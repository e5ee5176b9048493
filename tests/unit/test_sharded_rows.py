"""Rows of sharded graphs are those of whole ones, each once, and the same for a share wherever it is read."""

from __future__ import annotations

import math
import random
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import motiflux as mf
from motiflux.cluster.shards import rows, search
from motiflux.cluster.shards.listing import BYTES_OF_VERTEX, RowLister
from motiflux.cluster.shards.planning import ranged
from motiflux.cluster.shards.rows import Rows
from motiflux.cluster.shards.search import RangeSearch
from motiflux.cluster.shares import Share, roots
from motiflux.cluster.tasks import Bounds
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request
from tests.sharded import ids_of, last_rows, sharded
from tests.unit.test_sharded_search import DIRECTED, PATTERNS, random_graph


def lister_of(
    graph: mf.Graph, pattern: str, memory: int, shards: int = 3, hot: int = 0, **options: Any
) -> tuple[RowLister, int] | None:
    """Return who lists rows, and the number of entries; None if there is nothing to list."""
    layout, parts = sharded(graph, shards)
    request = make_request(threads=1, **{"semantics": "isomorphism", "symmetry": "embeddings"} | options)
    made = ranged(graph, mf.Pattern.parse(pattern), request, Deadline.after(None), counting=False)
    assert made is not None
    if made.plan.impossible is not None:
        return None
    near = [True] + [False] * (shards - 1)
    found = Rows(layout, parts, near, last_rows(graph, hot), memory // search.SHARE_OF_ROWS)
    made_search = RangeSearch(found, made, memory, 1, of_part=BYTES_OF_VERTEX)
    return RowLister(made_search, ids_of(graph, layout), made.plan), layout.entries


def listed(lister: RowLister, share: Share, bounds: Bounds) -> tuple[list[NDArray[Any]], int]:
    """Return the rows of a share in batches, and the number of tasks that listed them."""
    found: list[NDArray[Any]] = []
    tasks, left = 0, share
    while left:
        blocks, left, _ = lister.rows(left, bounds)
        found += blocks
        tasks += 1
    return found, tasks


def in_order(found: NDArray[Any], *, as_sets: bool) -> NDArray[Any]:
    """Return rows in one order; as sets: the vertices of each, too."""
    chosen = np.sort(found, axis=1) if as_sets else found
    return np.asarray(chosen[np.lexsort(chosen.T)])


@pytest.mark.turns(4)
@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "induced", "homomorphism"]),
    symmetry=st.sampled_from(["embeddings", "subgraphs"]),
    cuts=st.lists(st.floats(0, 1), max_size=3),
    shards=st.integers(1, 4),
    hot=st.sampled_from([0, 3, 30]),
    memory=st.sampled_from([6_000, 12_000, 1 << 20]),
    work=st.sampled_from([1, 100, 10**9]),
)
def test_rows_are_those_of_the_whole_graph(
    seed: int,
    directed: bool,
    semantics: str,
    symmetry: str,
    cuts: list[float],
    shards: int,
    hot: int,
    memory: int,
    work: int,
) -> None:
    if (semantics, symmetry) == ("homomorphism", "subgraphs"):
        symmetry = "embeddings"
    graph = random_graph(seed, directed=directed)
    pattern = random.Random(seed).choice(PATTERNS + DIRECTED if directed else PATTERNS)
    options: dict[str, Any] = {"semantics": semantics, "symmetry": symmetry}
    expected = mf.match(graph, pattern, limit=20_000, **options).to_numpy()
    if len(expected) == 20_000:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "_LEAST_PIECE", 8)
        patch.setattr(search, "_LEAST", 0)
        made = lister_of(graph, pattern, memory, shards, hot, **options)
        if made is None:
            assert not len(expected)
            return
        lister, entries = made
        ends = sorted({0, entries, *(int(cut * entries) for cut in cuts)})
        found = [np.empty((0, expected.shape[1]), np.int64)]
        for first, last in pairwise(ends):
            found += listed(lister, [roots(first, last)], Bounds(rows=100, work=work))[0]
    # Any embedding of a subgraph may stand for it.
    as_sets = symmetry == "subgraphs"
    every = np.concatenate(found)
    assert np.array_equal(in_order(every, as_sets=as_sets), in_order(expected, as_sets=as_sets))


@pytest.mark.parametrize("memory", [4_000, 1 << 20])
def test_rows_of_one_root_arc_are_several_tasks_if_they_are_many(
    memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_LEAST", 0)
    graph = mf.Graph.from_edges([(0, leaf) for leaf in range(1, 36)] + [(1, 2), (2, 3)])
    star = "(a)--(b), (a)--(c), (a)--(d), (a)--(e), (a)--(f)"
    made = lister_of(graph, star, memory, symmetry="subgraphs")
    assert made is not None
    lister, _ = made
    (expected,) = listed(lister, [roots(0, 1)], Bounds(rows=10**9, work=1))[0]
    found, tasks = listed(lister, [roots(0, 1)], Bounds(rows=500, work=1))
    assert (len(expected), tasks > 3) == (math.comb(34, 4), True)
    assert np.array_equal(np.concatenate(found), expected)


@pytest.mark.parametrize("memory", [6_000, 1 << 20])
def test_the_rows_of_a_share_depend_on_it_alone(memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_LEAST", 0)
    graph = mf.generate.rmat(scale=6, edges=600, seed=2, directed=False)
    pattern, bounds = "(a)--(b)--(c)--(d)--(a)", Bounds(rows=500, work=1)
    one, other = lister_of(graph, pattern, memory), lister_of(graph, pattern, memory, shards=2, hot=9)
    assert one is not None
    assert other is not None
    left = [roots(0, one[1])]
    shares = []
    while left:
        shares.append(left)
        _, left, _ = one[0].rows(left, bounds)
    assert len(shares) > 2
    for share in reversed(shares):  # in another order, by a lister that has other rows near
        (found, rest, _), (expected, behind, _) = other[0].rows(share, bounds), one[0].rows(share, bounds)
        assert rest == behind
        assert np.array_equal(np.concatenate(found), np.concatenate(expected))


def test_the_rows_of_a_share_do_not_depend_on_the_tasks_before(monkeypatch: pytest.MonkeyPatch) -> None:
    clique = 12
    below = 4_000
    ids = range(2 * below + clique)
    low = [(one, below + (one + more) % below) for one in range(below) for more in range(5)]
    high = list(combinations(ids[2 * below :], 2))
    labels = [0 if one < 2 * below else 1 + one % 2 for one in ids]
    graph = mf.Graph.from_edges(low + high, vertex_ids=ids, vertex_labels=labels)
    pattern = "(a)--(b)--(c)--(d:1)--(e)--(a), (a)--(c), (a)--(d)"
    fresh, used = lister_of(graph, pattern, 1 << 22), lister_of(graph, pattern, 1 << 22)
    assert fresh is not None
    assert used is not None
    last = fresh[1] - 2 * len(high)
    assert used[0].rows([roots(0, last)], Bounds(rows=10**6, work=10**9)) == ([], [], 0)  # reads many rows
    share, bounds = [roots(last, fresh[1])], Bounds(rows=10**8, work=1_000)
    (found, rest, _), (expected, behind, _) = used[0].rows(share, bounds), fresh[0].rows(share, bounds)
    assert rest == behind
    assert rest
    assert np.array_equal(np.concatenate(found), np.concatenate(expected))
