"""Occurrences of cases of OR: a case may be more symmetric than the whole condition."""

from __future__ import annotations

import numpy as np
import pytest

import motiflux as mf

CASES = [
    # The case v1.x = 1 may be turned round, the query may not.
    ("(v0)--(v1)--(v2) WHERE (v1.x = 1 OR v0.x = 1)", [(0, 1), (1, 2)], False, 2),
    ("(v0)--(v1)--(v2) WHERE (v0.x = 1 OR v2.x = 1)", [(0, 1), (1, 2)], False, 1),
    ("(v0)--(v1), (v2)-->(v3) WHERE (v2.x = 1 OR v0.x = 1)", [(0, 1), (3, 2)], True, 4),
    ("(v0)--(v1), (v2)--(v3) WHERE (v2.x = 1 OR v0.x = 1)", [(0, 4), (3, 2)], False, 4),
    ("(v0)--(v1), (v2)--(v3) WHERE v2.x = 1", [(0, 1), (3, 2)], False, 4),
]


@pytest.mark.parametrize("matches", [False, True])
@pytest.mark.parametrize(("text", "edges", "directed", "occurrences"), CASES)
def test_occurrences_that_vanish_are_those_of_the_whole_query(
    text: str, edges: list[tuple[int, int]], directed: bool, occurrences: int, matches: bool
) -> None:
    ends = np.array(edges)
    graph = mf.Graph.from_edges(
        (ends[:, 0], ends[:, 1]),
        num_vertices=6,
        directed=directed,
        vertex_attributes={"x": np.array([1, 1, 1, 1, 0, 0])},
    )
    query = mf.Query.parse(text)
    assert int(mf.count(graph, query, symmetry="subgraphs")) == occurrences
    with mf.Monitor(graph, query, symmetry="subgraphs", matches=matches) as monitor:
        vanished = monitor.apply([("-", *edges[-1])])[query]
        appeared = monitor.apply([("+", *edges[-1])])[query]
    assert (vanished.negative, vanished.positive) == (occurrences, 0)
    assert (appeared.positive, appeared.negative) == (occurrences, 0)
