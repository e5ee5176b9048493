"""Queries whose rows would take days: parts beside each other, and optional paths that few rows lack."""

from __future__ import annotations

from itertools import permutations

import pytest

import motiflux as mf

PARTS = "(a)-->(b), (c)-->(d) WHERE id(a) < id(d) AND id(b) <> id(c) + 1"
PATHS = "(a)-->(b) OPTIONAL (b)-[*7]->(c) WHERE NOT (b)-->(c)"


@pytest.fixture(scope="module")
def wide() -> mf.Graph:
    """120,000 edges, of which 10^10 pairs are combined."""
    return mf.generate.rmat(scale=13, edges=120_000, seed=2, directed=True)


@pytest.fixture(scope="module")
def dense() -> mf.Graph:
    """A complete graph: each row has 10^11 walks, none of which is such a path."""
    return mf.Graph.from_edges(list(permutations(range(40), 2)), directed=True)


@pytest.mark.parametrize("threads", [1, 2])
def test_counts_end_with_the_time(wide: mf.Graph, dense: mf.Graph, threads: int) -> None:
    for graph, query in ((wide, PARTS), (dense, PATHS)):
        found = mf.count(graph, query, timeout=0.2, threads=threads)
        assert not found.complete
        assert found >= 0


def test_listings_end_with_the_time(wide: mf.Graph, dense: mf.Graph) -> None:
    for graph, query in ((wide, PARTS), (dense, PATHS)):
        matches = mf.match(graph, query, timeout=0.2)
        for _ in matches:
            pass
        assert not matches.complete


def test_what_is_in_time_is_complete() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3)], directed=True)
    for query in (PARTS, "(a)-->(b) OPTIONAL (b)-[*2]->(c) WHERE NOT (b)-->(c)"):
        expected = mf.count(graph, query)
        found = mf.count(graph, query, timeout=60.0)
        assert (found, found.complete) == (expected, True)
