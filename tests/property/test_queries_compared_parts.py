"""Comparisons between parts that are not connected, beside all maps and all choices of copies."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf

SIZE = 4
Copy = tuple[int, int, int | None]

# Text; for each edge its ends; the condition of a choice of copies, of their times, and of the vertices.
CASES: list[tuple[str, list[tuple[int, int]], Any]] = [
    ("(a)-[x]->(b), (c)-[y]->(d) WHERE x.t < y.t", [(0, 1), (2, 3)], lambda t, v: t[0] < t[1]),
    ("(a)-[x]->(b), (c)-[y]->(d) WHERE x.t + 1 = y.t", [(0, 1), (2, 3)], lambda t, v: t[0] + 1 == t[1]),
    (
        "(a)-[x]->(b)-[z]->(e), (c)-[y]->(d) WHERE x.t < y.t AND y.t <= z.t",
        [(0, 1), (1, 2), (3, 4)],
        lambda t, v: t[0] < t[2] <= t[1],
    ),
    ("(a)-[x]->(b), (c)-[y]->(d) WITHIN 1 OF t", [(0, 1), (2, 3)], lambda t, v: abs(t[0] - t[1]) <= 1),
    ("(a)-->(b), (c)-[y]->(d) WHERE a.k < y.t", [(0, 1), (2, 3)], lambda t, v: v[0] < t[1]),
]


def choices(copies: list[Copy], case: Any, values: list[int], semantics: str) -> Counter[tuple[int, ...]]:
    """Return the number of choices of copies of each row that has any."""
    _, edges, holds = case
    size = 1 + max(map(max, edges))
    found: Counter[tuple[int, ...]] = Counter()
    for image in product(range(SIZE), repeat=size):
        if semantics == "isomorphism" and len(set(image)) < size:
            continue
        there = [[one for one in copies if one[:2] == (image[u], image[v])] for u, v in edges]
        for chosen in product(*there):
            times = [one[2] for one in chosen]
            read = [values[vertex] for vertex in image]
            told = times[1:] if "a.k" in case[0] else times
            if None not in told and holds(times, read):
                found[image] += 1
    return found


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
def test_rows_have_choices_of_copies_of_all_parts_together(case: Any, semantics: Any) -> None:
    ends_of_pair = st.permutations(range(SIZE)).map(lambda some: tuple(some[:2]))
    copy = st.tuples(ends_of_pair, st.sampled_from([1, 2, 3, None]))

    @settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.lists(copy, min_size=1, max_size=9), st.lists(st.integers(0, 3), min_size=SIZE, max_size=SIZE))
    def holds(drawn: list[Any], values: list[int]) -> None:
        copies = [(*ends, time) for ends, time in drawn]
        graph = mf.Graph.from_edges(
            [one[:2] for one in copies],
            directed=True,
            num_vertices=SIZE,
            edge_attributes={"t": [one[2] for one in copies]},
            vertex_attributes={"k": values},
        )
        expected = choices(copies, case, values, semantics)
        text = case[0]
        rows = [tuple(row) for row in mf.match(graph, text, semantics=semantics).to_numpy().tolist()]
        assert Counter(rows) == Counter(expected.keys()), text
        assert mf.count(graph, text, semantics=semantics) == len(expected)
        assert mf.count(graph, text, copies=True, semantics=semantics) == expected.total()
        listed = mf.match(graph, text, edges="all", semantics=semantics, names=True, attributes=["t"])
        assert listed.to_arrow().num_rows == expected.total()
        for row in (
            mf.match(graph, text, edges=True, semantics=semantics, names=True, attributes=["t"])
            .to_arrow()
            .to_pylist()
        ):
            if "x.t <" in text and "z.t" not in text:
                assert row["x.t"] < row["y.t"]
            if "WITHIN" in text:
                assert abs(row["x.t"] - row["y.t"]) <= 1
        ends = mf.match(graph, text, distinct=["a"], semantics=semantics).to_numpy()
        assert sorted(ends[:, 0].tolist()) == sorted({row[0] for row in expected})

    holds()


def test_parts_that_comparisons_exchange_are_one_occurrence() -> None:
    graph = mf.Graph.from_edges([(0, 1), (2, 3), (4, 5)], directed=True, edge_attributes={"t": [1, 1, 2]})
    same, earlier = ("(a)-[x]->(b), (c)-[y]->(d) WHERE x.t " + end for end in ("= y.t", "< y.t"))
    for text, embeddings, occurrences in ((same, 2, 1), (earlier, 2, 2)):
        assert mf.count(graph, text) == embeddings
        assert mf.count(graph, text, symmetry="subgraphs") == occurrences
        assert len(mf.match(graph, text, symmetry="subgraphs").to_numpy()) == occurrences
    with pytest.raises(mf.ArgumentError, match="no comparisons beside several parts on streams"):
        mf.Monitor(graph, same)
    with pytest.raises(mf.ArgumentError, match="connected patterns"):
        mf.estimate(graph, same)
    assert "counted one by one" in mf.explain(graph, same)
