"""Graphs: how they are kept, what they tell, and their narrowed adjacencies."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.graph import AdjacencyKey, Direction
from motiflux.graph import arrays as graph_arrays
from tests.rotating import in_turn
from tests.unit.graph_cases import TRIANGLE, arcs, arrays_of, edge, edge_counts, same


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[int] | None]:
    vertices = st.integers(-4, 8)
    edges = draw(st.lists(st.tuples(vertices, vertices).filter(lambda edge: edge[0] != edge[1]), max_size=40))
    labels = draw(st.none() | st.lists(st.integers(-1, 1), min_size=len(edges), max_size=len(edges)))
    return edges, labels


class TestHowAGraphIsKept:
    @given(edge_lists(), st.booleans())
    def test_edges_come_back_as_they_were_given(
        self, given_edges: tuple[list[tuple[int, int]], list[int] | None], directed: bool
    ) -> None:
        edges, labels = given_edges
        graph = mf.Graph.from_edges(edges, directed=directed, edge_labels=labels)
        kinds = [0] * len(edges) if labels is None else labels
        expected = Counter(edge(directed, u, v, label) for (u, v), label in zip(edges, kinds, strict=True))
        assert edge_counts(graph) == expected
        assert graph.num_edges == len(expected)
        assert graph.duplicate_edges == len(edges) - len(expected)

    @given(edge_lists(), st.booleans())
    def test_a_graph_made_from_its_own_edges_is_the_same(
        self, given_edges: tuple[list[tuple[int, int]], list[int] | None], directed: bool
    ) -> None:
        edges, labels = given_edges
        graph = mf.Graph.from_edges(edges, directed=directed, edge_labels=labels)
        sources, targets, kinds, copies = graph.to_edges()
        again = mf.Graph.from_edges(
            (np.repeat(sources, copies), np.repeat(targets, copies)),
            directed=directed,
            edge_labels=None if kinds is None else np.repeat(kinds, copies),
        )
        assert same(graph, again)

    @given(edge_lists(), st.booleans())
    def test_rows_ascend_and_the_reverse_has_the_same_arcs_turned_round(
        self, given_edges: tuple[list[tuple[int, int]], list[int] | None], directed: bool
    ) -> None:
        edges, labels = given_edges
        graph = mf.Graph.from_edges(edges, directed=directed, edge_labels=labels)
        forward, reverse = arcs(graph.forward), arcs(graph.reverse)
        assert forward == sorted(set(forward))
        assert reverse == sorted(set(reverse))
        assert sorted((v, u, label) for u, v, label in reverse) == forward
        assert (graph.forward is graph.reverse) is not directed

    @given(edge_lists(), st.booleans())
    def test_vertices_are_numbered_by_ascending_degree(
        self, given_edges: tuple[list[tuple[int, int]], list[int] | None], directed: bool
    ) -> None:
        edges, labels = given_edges
        graph = mf.Graph.from_edges(edges, directed=directed, edge_labels=labels)
        ends = Counter(vertex for edge in edges for vertex in edge)
        degrees = [ends[vertex] for vertex in graph.vertex_ids.tolist()]
        assert degrees == sorted(degrees)

    def test_vertices_of_equal_degree_keep_the_order_of_their_ids(self) -> None:
        graph = mf.Graph.from_edges([(3, 1), (1, 2), (1, 0)])
        assert graph.vertex_ids.tolist() == [0, 2, 3, 1]

    def test_arrays_are_read_only(self) -> None:
        labelled = mf.Graph.from_edges(
            [(0, 1), (1, 2), (0, 1)], directed=True, vertex_labels=[0, 1, 1], edge_labels=[1, 2, 1]
        )
        for graph in (labelled, mf.Graph.from_edges(TRIANGLE)):
            for array in arrays_of(graph):
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = array[1]

    def test_narrowed_rows_are_read_only(self) -> None:
        graph = mf.Graph.from_edges(TRIANGLE, directed=True, edge_labels=[1, 2, 1])
        for array in graph.adjacency(AdjacencyKey(Direction.EITHER, (0,), None, None)):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[1]

    def test_the_given_arrays_are_not_kept(self) -> None:
        edges, ids, labels = np.array(TRIANGLE), np.array([0, 1, 2]), np.array([5, 6, 7])
        graph = mf.Graph.from_edges(edges, vertex_ids=ids, vertex_labels=labels)
        before = edge_counts(graph), graph.vertex_labels_by_id()
        edges[:] = ids[:] = 9
        labels[:] = 0
        assert (edge_counts(graph), graph.vertex_labels_by_id()) == before

    @pytest.mark.turns(8)
    @pytest.mark.parametrize(
        ("directed", "labelled"), in_turn(2, list(product((False, True), (False, True))))
    )
    def test_a_large_graph_is_what_numpy_builds_whatever_the_threads(
        self, directed: bool, labelled: bool
    ) -> None:
        random = np.random.default_rng(11)
        vertices, edges = 30_000, 200_000
        # Squared: low ids are hubs. Some edges repeat.
        pairs = (vertices * random.random((edges, 2)) ** 2).astype(np.int64)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        labels = random.integers(0, 3, len(pairs)) if labelled else np.zeros(len(pairs), dtype=np.int64)
        given_labels = labels if labelled else None

        graph = mf.Graph.from_edges(
            pairs, directed=directed, num_vertices=vertices, edge_labels=given_labels, threads=1
        )
        parallel = mf.Graph.from_edges(
            pairs, directed=directed, num_vertices=vertices, edge_labels=given_labels, threads=4
        )
        assert same(graph, parallel)
        assert graph.duplicate_edges == parallel.duplicate_edges

        degrees = np.bincount(pairs.reshape(-1), minlength=vertices)
        order = np.argsort(degrees, kind="stable")
        assert np.array_equal(graph.vertex_ids, order)
        new_id = np.empty(vertices, dtype=np.int64)
        new_id[order] = np.arange(vertices)
        ends = new_id[pairs]
        given_arcs = np.column_stack([ends, labels])
        if not directed:
            given_arcs = np.concatenate([given_arcs, given_arcs[:, [1, 0, 2]]])
        for rows, columns in ((graph.forward, [0, 1, 2]), (graph.reverse, [1, 0, 2])):
            expected, copies = np.unique(given_arcs[:, columns], axis=0, return_counts=True)
            assert np.array_equal(rows.sources(), expected[:, 0])
            assert np.array_equal(rows.neighbors, expected[:, 1])
            assert rows.copies is not None
            assert np.array_equal(rows.copies, copies)
            assert labelled == (rows.labels is not None)
            assert rows.labels is None or np.array_equal(rows.labels, expected[:, 2])
        assert graph.duplicate_edges == len(pairs) - graph.num_edges > 0


class TestWhatAGraphTells:
    def test_stats_of_an_undirected_graph(self) -> None:
        graph = mf.Graph.from_edges(
            [(0, 1), (1, 0), (1, 2), (3, 3)],
            num_vertices=5,
            vertex_labels=[1, 1, 2, 2, 2],
            self_loops="drop",
        )
        assert graph.stats() == mf.GraphStats(
            vertices=5,
            edges=2,
            edge_copies=3,
            directed=False,
            vertex_labels=2,
            edge_labels=1,
            self_loops_dropped=1,
            duplicate_edges=1,
            isolated_vertices=2,
            min_degree=0,
            mean_degree=0.8,
            max_degree=2,
        )

    def test_degrees_of_a_directed_graph_count_both_directions(self) -> None:
        stats = mf.Graph.from_edges([(0, 1), (2, 0), (0, 3)], directed=True, edge_labels=[1, 2, 2]).stats()
        assert (stats.edges, stats.edge_labels, stats.directed) == (3, 2, True)
        assert (stats.min_degree, stats.mean_degree, stats.max_degree) == (1, 1.5, 3)

    def test_its_repr_says_its_size(self) -> None:
        assert repr(mf.Graph.from_edges(TRIANGLE)) == "Graph(3 vertices, 3 edges, undirected)"
        many = mf.Graph.from_edges([(0, 1)], num_vertices=12_000, directed=True)
        assert repr(many) == "Graph(12,000 vertices, 1 edge, directed)"

    def test_its_bytes_are_those_of_its_arrays(self) -> None:
        undirected = mf.Graph.from_edges(TRIANGLE)
        assert undirected.nbytes == 3 * 8 + 4 * 8 + 6 * 4
        directed = mf.Graph.from_edges(
            TRIANGLE, directed=True, edge_labels=[1, 2, 3], vertex_labels=[1, 2, 3]
        )
        assert directed.nbytes == 3 * 8 + 3 * 4 + 2 * (4 * 8 + 3 * 4 + 3 * 4)


DIRECTIONS = {False: [Direction.EITHER], True: list(Direction)}


def numpy_rows(graph: mf.Graph, key: AdjacencyKey) -> list[list[int]]:
    """The neighbours that `key` lets through, from the arcs alone."""
    labels = [0] * graph.num_vertices if graph.vertex_labels is None else graph.vertex_labels.tolist()
    rows: list[set[int]] = [set() for _ in range(graph.num_vertices)]
    for u, v, label in arcs(graph.forward):
        ways = {Direction.OUT: [(u, v)], Direction.IN: [(v, u)], Direction.EITHER: [(u, v), (v, u)]}
        for start, end in ways[key.direction]:
            if (
                (key.edge_labels is None or label in key.edge_labels)
                and (key.source_labels is None or labels[start] in key.source_labels)
                and (key.target_labels is None or labels[end] in key.target_labels)
            ):
                rows[start].add(end)
    return [sorted(row) for row in rows]


class TestNarrowedAdjacency:
    @pytest.mark.parametrize("directed", [False, True])
    @pytest.mark.parametrize("vertex_labelled", [False, True])
    @pytest.mark.parametrize("edge_labelled", [False, True])
    def test_rows_hold_the_arcs_of_the_named_labels_and_direction_each_neighbour_once(
        self, directed: bool, vertex_labelled: bool, edge_labelled: bool
    ) -> None:
        random = np.random.default_rng(3)
        pairs = random.integers(0, 30, (250, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        graph = mf.Graph.from_edges(
            pairs,
            directed=directed,
            num_vertices=31,
            vertex_labels=random.integers(0, 3, 31) if vertex_labelled else None,
            edge_labels=random.integers(0, 3, len(pairs)) if edge_labelled else None,
        )
        vertex_choices = [None, (0,), (1, 2)] if vertex_labelled else [None, (0,), ()]
        edge_choices = [None, (0,), (1, 2), ()] if edge_labelled else [None, (0,)]
        for direction, *labels in product(DIRECTIONS[directed], edge_choices, vertex_choices, vertex_choices):
            key = AdjacencyKey(direction, *labels)
            for threads in (1, 3):
                graph.forget()
                offsets, neighbors = graph.adjacency(key, threads)
                found = [part.tolist() for part in np.split(neighbors, offsets[1:-1].astype(np.int64))]
                assert found == numpy_rows(graph, key), key
                assert offsets[0] == 0
                assert offsets[-1] == len(neighbors)

    def test_rows_that_leave_nothing_out_are_the_graph_itself(self) -> None:
        graph = mf.Graph.from_edges(TRIANGLE, directed=True)
        out = graph.adjacency(AdjacencyKey(Direction.OUT, None, None, None))
        into = graph.adjacency(AdjacencyKey(Direction.IN, None, None, None))
        assert out[1] is graph.forward.neighbors
        assert into[1] is graph.reverse.neighbors

    def test_narrowed_rows_are_computed_once_until_forgotten(self) -> None:
        graph = mf.Graph.from_edges(TRIANGLE, edge_labels=[1, 2, 2])
        key = AdjacencyKey(Direction.EITHER, (1,), None, None)
        first = graph.adjacency(key)
        assert graph.adjacency(key) is first
        graph.forget()
        again = graph.adjacency(key)
        assert again is not first
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))

    def test_kept_rows_stay_within_a_bound_the_newest_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        labels = np.arange(40)
        graph = mf.Graph.from_edges([(v, v + 1) for v in range(40)], edge_labels=labels)
        one = sum(array.nbytes for array in graph.adjacency(AdjacencyKey(Direction.EITHER, (0,), None, None)))
        graph.forget()
        monkeypatch.setattr(graph_arrays, "_KEPT_BYTES", 3 * one)
        monkeypatch.setattr(graph_arrays, "_KEPT_RATIO", 0)
        keys = [AdjacencyKey(Direction.EITHER, (code,), None, None) for code in range(40)]
        kept = [graph.adjacency(key) for key in keys]
        assert [graph.adjacency(key) is rows for key, rows in zip(keys[-3:], kept[-3:], strict=True)] == [
            True
        ] * 3
        held = [id(rows) for rows in graph._adjacency.values()]
        assert len(held) == 3
        assert graph.adjacency(keys[0]) is not kept[0]

    def test_a_narrowed_search_leaves_answers_the_same_after_forgetting(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3)], edge_labels=[1, 2, 1])
        pattern = mf.Pattern.from_edges([(0, 1), (1, 2)], edge_labels=[1, 2])
        before = mf.count(graph, pattern)
        graph.forget()
        assert mf.count(graph, pattern) == before == 2
