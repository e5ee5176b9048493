"""The shape of graphs: what is counted is exact, what is sampled is near the truth and always the same."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf

Pairs = list[tuple[int, int]]
pairs = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=30)


def neighbor_sets(edges: Pairs, size: int = 8) -> list[set[int]]:
    rows: list[set[int]] = [set() for _ in range(size)]
    for u, v in edges:
        if u != v:
            rows[u].add(v)
            rows[v].add(u)
    return rows


@pytest.mark.filterwarnings("ignore:.*zeros and ones were read as two edges")
@given(pairs, st.booleans(), st.booleans())
def test_degrees_and_wedges_are_counted(edges: Pairs, directed: bool, labelled: bool) -> None:
    graph = mf.Graph.from_edges(
        np.array(edges).reshape(-1, 2),
        directed=directed,
        num_vertices=8,
        edge_labels=[row % 2 for row in range(len(edges))] if labelled else None,
        self_loops="drop",
    )
    shape = graph.shape_stats()
    for rows, histogram, total, squares in (
        (graph.forward, shape.out_histogram, shape.out_degree_sum, shape.out_degree_squares),
        (graph.reverse, shape.in_histogram, shape.in_degree_sum, shape.in_degree_squares),
    ):
        degrees = rows.degrees().tolist()
        assert (total, squares) == (sum(degrees), sum(degree**2 for degree in degrees))
        for power, count in enumerate(histogram):
            low, high = (2 ** (power - 1), 2**power - 1) if power else (0, 0)
            assert count == sum(low <= degree <= high for degree in degrees)
        assert sum(histogram) == 8
    rows = neighbor_sets(edges)
    assert shape.wedges == sum(len(row) * (len(row) - 1) // 2 for row in rows)
    assert 0 <= shape.closed_wedges <= 1
    closed = sum(b in rows[a] for row in rows for a, b in combinations(row, 2))
    assert (shape.closed_wedges > 0) <= (closed > 0)
    assert (shape.closed_wedges == 1.0) >= (0 < closed == shape.wedges)


@pytest.mark.turns(8)
@pytest.mark.parametrize("directed", [False, True])
def test_samples_come_near_the_truth(directed: bool) -> None:
    random = np.random.default_rng(5)
    edges = (400 * random.random((9000, 2)) ** 2).astype(np.int64)
    rows = neighbor_sets(edges.tolist(), 400)
    shape = mf.Graph.from_edges(edges, directed=directed, num_vertices=400, self_loops="drop").shape_stats()
    closed = [b in rows[a] for row in rows for a, b in combinations(row, 2)]
    assert shape.closed_wedges == pytest.approx(np.mean(closed), rel=0.1)
    common = [len(rows[u] & rows[v]) for u, row in enumerate(rows) for v in row]
    assert shape.common_neighbors == pytest.approx(np.mean(common), rel=0.1)


def test_the_same_graph_has_the_same_shape_whenever_it_is_asked() -> None:
    graph = mf.Graph.from_edges([(u, v) for u in range(20) for v in range(u) if (u * v) % 3])
    first = graph.shape_stats()
    assert graph.shape_stats() is first
    graph.forget()
    assert graph.shape_stats() == first


def test_a_complete_graph_is_all_closed_and_a_star_is_not() -> None:
    complete = mf.Graph.from_edges(list(combinations(range(6), 2))).shape_stats()
    assert (complete.wedges, complete.closed_wedges) == (60, 1.0)
    assert complete.common_neighbors == pytest.approx(4, rel=0.05)
    star = mf.Graph.from_edges([(0, leaf) for leaf in range(1, 9)]).shape_stats()
    assert (star.wedges, star.closed_wedges, star.common_neighbors) == (28, 0.0, 0.0)


@pytest.mark.parametrize(("vertices", "histogram"), [(0, ()), (3, (3,))])
def test_a_graph_without_edges_has_a_shape(vertices: int, histogram: tuple[int, ...]) -> None:
    shape = mf.Graph.from_edges([], num_vertices=vertices).shape_stats()
    assert (shape.out_histogram, shape.wedges, shape.samples) == (histogram, 0, 0)


def test_sums_are_exact_beyond_64_bits() -> None:
    from motiflux.graph.shape import _Degrees

    degrees = _Degrees(np.full(5, 2**32 - 2, dtype=np.int64))
    assert degrees.squares == 5 * (2**32 - 2) ** 2 > 2**64
