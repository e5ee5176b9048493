"""Counts per vertex and per edge are what the definitions say, whatever the way they are made."""

from __future__ import annotations

from itertools import combinations
from math import factorial, inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux import _native
from motiflux.config import private_tuning
from motiflux.cpu import reference
from motiflux.plan.ir import WeightedCycles
from motiflux.plan.local_counts import derive
from motiflux.plan.local_counts.estimate_costs import CostEstimator
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
WAYS = {
    "auto": {},
    "tables": {"tables": "on"},
    "rooted": {"tables": "off", "images_by": "rooted"},
    "listing": {"tables": "off", "images_by": "listing"},
}


def results_of(case: Case, combination: Combination) -> set[Any]:
    """The embeddings or occurrences of a case, with data vertices by number."""
    find = reference.embeddings if combination.symmetry == "embeddings" else reference.occurrences
    return find(
        len(case.ids),
        case.edges,
        case.pattern_vertex_labels,
        case.pattern_edges,
        directed=case.directed,
        vertex_labels=case.vertex_labels,
        edge_labels=case.edge_labels,
        semantics=combination.semantics,
    )


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(COMBINATIONS), ids=str)
def test_those_of_vertices_are_counts_of_images(combination: Combination, depth: str, device: str) -> None:
    @settings(settings.get_profile(depth))
    @given(
        cases(combination.directed, combination.labels),
        st.sampled_from(sorted(WAYS)),
        st.sampled_from([1, 2]),
    )
    def holds(case: Case, way: str, threads: int) -> None:
        results = results_of(case, combination)
        graph = case.graph()
        found = mf.count_per_vertex(
            graph,
            case.pattern(),
            semantics=combination.semantics,
            symmetry=combination.symmetry,
            tuning=private_tuning(WAYS[way]),
            threads=threads,
            device=device,
        )
        assert found.complete
        assert found.counts.shape == (graph.num_vertices, len(case.pattern_vertex_labels))
        for place in range(len(case.pattern_vertex_labels)):
            expected = reference.counts_of_images(results, place, len(case.ids))
            by_id = dict(zip(case.ids, expected, strict=True))
            assert found.counts[:, place].tolist() == [by_id[one] for one in found.ids.tolist()], (way, place)

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(COMBINATIONS), ids=str)
def test_those_of_edges_are_counts_of_witnesses(combination: Combination, depth: str, device: str) -> None:
    @settings(settings.get_profile(depth))
    @given(
        cases(combination.directed, combination.labels),
        st.sampled_from(sorted(WAYS)),
        st.sampled_from([1, 2]),
    )
    def holds(case: Case, way: str, threads: int) -> None:
        results = results_of(case, combination)
        graph, pattern = case.graph(), case.pattern()
        found = mf.count_per_edge(
            graph,
            pattern,
            semantics=combination.semantics,
            symmetry=combination.symmetry,
            tuning=private_tuning(WAYS[way]),
            threads=threads,
            device=device,
        )
        number = {name: at for at, name in enumerate(case.ids)}
        edges = graph.to_edges()
        ends = [(number[u], number[v]) for u, v in zip(edges.src.tolist(), edges.dst.tolist(), strict=True)]
        labels = None if edges.labels is None else edges.labels.tolist()
        assert found.complete
        assert found.counts.shape == (graph.num_edges, pattern.num_edges)
        kinds = {None: "follow", False: "either", True: "arc"}
        for place, edge in enumerate(pattern.edges):
            query = (edge.source, edge.target, edge.labels, kinds[edge.directed])
            expected = reference.counts_of_witnesses(
                results, query, ends, directed=case.directed, edge_labels=labels
            )
            assert found.counts[:, place].tolist() == expected, (way, place)

    holds()


@st.composite
def connected_patterns(draw: st.DrawFn) -> mf.Pattern:
    size = draw(st.integers(3, 7))
    edges = {(draw(st.integers(0, v - 1)), v) for v in range(1, size)}
    edges |= draw(st.sets(st.sampled_from(list(combinations(range(size), 2))), max_size=4))
    return mf.Pattern.from_edges(sorted(edges))


@pytest.mark.turns(4)
@given(connected_patterns(), st.sampled_from(sorted(WAYS)))
def test_on_a_complete_graph_they_are_falling_factorials(pattern: mf.Pattern, way: str) -> None:
    graph = mf.Graph.from_edges(list(combinations(range(9), 2)))
    tuning = private_tuning(WAYS[way])
    each = factorial(8) // factorial(9 - pattern.num_vertices)
    if way == "listing" and each > 10_000:
        pattern, each = mf.Pattern.parse("(a)--(b)--(c)--(a)"), 56
    assert (mf.count_per_vertex(graph, pattern, tuning=tuning).counts == each).all()
    assert (mf.count_per_edge(graph, pattern, tuning=tuning).counts == each * 2 // 8).all()


@pytest.mark.turns(4)
@given(
    connected_patterns(),
    st.sets(st.sampled_from(list(combinations(range(12), 2))), min_size=12),
    st.sampled_from([1, 2]),
)
def test_tables_and_searches_agree(pattern: mf.Pattern, edges: set[tuple[int, int]], threads: int) -> None:
    graph = mf.Graph.from_edges(sorted(edges))
    found = [
        mf.count_per_vertex(graph, pattern, tuning=private_tuning(WAYS[way]), threads=threads).counts
        for way in ("tables", "rooted")
    ]
    assert np.array_equal(*found)
    total = mf.count(graph, pattern)
    assert (found[0].sum(axis=0) == total).all()


@st.composite
def pieces_on_a_square(draw: st.DrawFn) -> mf.Pattern:
    """Draw a 4-cycle c, b, a, d with further vertices at b and a."""
    edges = {(0, 1), (1, 2), (2, 3), (3, 0)}
    size = draw(st.integers(5, 7))
    for vertex in range(4, size):
        above = [1, 2, *range(4, vertex)]
        edges |= {(draw(st.sampled_from(above)), vertex), (draw(st.sampled_from(above)), vertex)}
    return mf.Pattern.from_edges(sorted(edges))


@pytest.mark.turns(2)
@given(
    pieces_on_a_square(),
    st.sets(st.sampled_from(list(combinations(range(10), 2))), min_size=15),
    st.sampled_from([1, 2]),
)
def test_weighted_cycles_count_what_a_search_finds(
    pattern: mf.Pattern, edges: set[tuple[int, int]], threads: int
) -> None:
    made = []

    def noted(*given: Any) -> WeightedCycles:
        made.append(WeightedCycles(*given))
        return made[-1]

    by_cycles = derive.Derivation._by_weighted_cycles

    def for_nothing(derivation: Any, rooted: Any, _: float) -> Any:
        found = by_cycles(derivation, rooted, inf)
        return None if found is None else (found[0], dict.fromkeys(found[1], 0.0))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(derive, "_MIN_SECONDS_FOR_WALKS", -1.0)
        patch.setattr(
            derive.Derivation, "_by_weighted_cycles", for_nothing
        )  # the cheapest, where there is one
        patch.setattr(CostEstimator, "walks", lambda *_: 1.0)
        patch.setattr(derive, "WeightedCycles", noted)
        found = mf.count_per_vertex(
            mf.Graph.from_edges(sorted(edges)),
            pattern,
            tuning=private_tuning(WAYS["tables"]),
            threads=threads,
        )
    assert made
    searched = mf.count_per_vertex(
        mf.Graph.from_edges(sorted(edges)), pattern, tuning=private_tuning(WAYS["rooted"])
    )
    assert np.array_equal(found.counts, searched.counts)


def test_weighted_cycles_of_a_square_add_up() -> None:
    square = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
    rows = (square.forward.offsets, square.forward.neighbors)
    weights = np.arange(1, 9, dtype=np.uint64)
    table = _native.weighted_cycles(rows, weights, 1, None)
    assert table is not None
    words, width = table
    arc = {
        (u, int(v)): int(weights[at])
        for u in range(4)
        for at in range(int(rows[0][u]), int(rows[0][u + 1]))
        for v in [rows[1][at]]
    }
    joined = {u: [v for w, v in arc if w == u] for u in range(4)}
    expected = [sum(arc[b, a] for b in joined[c] for a in joined[b] if a != c) for c in range(4)]
    assert (words.tolist(), width) == (expected, 1)
    with pytest.raises(OverflowError):
        _native.weighted_cycles(rows, np.full(8, 2**60, np.uint64), 1, None)
