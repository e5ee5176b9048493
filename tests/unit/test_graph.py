"""Data graphs: what they are built from, what is refused, how they are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import motiflux as mf
from motiflux.graph import AdjacencyKey, Direction
from motiflux.graph import graph as graph_module
from motiflux.graph.csr import Csr

Edge = tuple[Any, Any, Any]
"""Source, target, label."""

TRIANGLE = [(0, 1), (1, 2), (2, 0)]


def edge_counts(graph: mf.Graph) -> Counter[Edge]:
    """Give every edge with its multiplicity; the ends of an undirected one in ascending order."""
    sources, targets, labels, copies = graph.to_edges()
    kinds = [0] * len(sources) if labels is None else labels.tolist()
    rows = zip(sources.tolist(), targets.tolist(), kinds, copies.tolist(), strict=True)
    return Counter({_edge(graph.directed, u, v, label): many for u, v, label, many in rows})


def _edge(directed: bool, source: Any, target: Any, label: Any = 0) -> Edge:
    return (source, target, label) if directed else (*sorted((source, target)), label)


def arcs(rows: Csr) -> list[tuple[int, int, int]]:
    """Give the arcs of the rows as (first vertex, neighbour, label code)."""
    labels = np.zeros_like(rows.neighbors) if rows.labels is None else rows.labels
    return list(zip(rows.sources().tolist(), rows.neighbors.tolist(), labels.tolist(), strict=True))


def arrays_of(graph: mf.Graph) -> list[NDArray[Any]]:
    labels = [] if graph.vertex_labels is None else [graph.vertex_labels]
    return [graph.vertex_ids, *labels, *graph.forward.arrays(), *graph.reverse.arrays()]


def same(first: mf.Graph, second: mf.Graph) -> bool:
    pairs = zip(arrays_of(first), arrays_of(second), strict=True)
    return all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in pairs)


class TestWhatAGraphIsMadeFrom:
    @pytest.mark.parametrize(
        "edges",
        [
            TRIANGLE,
            tuple(TRIANGLE),
            [list(edge) for edge in TRIANGLE],
            np.array(TRIANGLE),
            np.array(TRIANGLE, dtype=np.int8),
            np.array(TRIANGLE, dtype=np.uint64),
            np.array(TRIANGLE, dtype=">i4"),
            np.array(TRIANGLE, dtype=object),
            np.asfortranarray(TRIANGLE),
            np.array([TRIANGLE, TRIANGLE]).reshape(6, 2)[::2],
            (np.array([0, 1, 2]), np.array([1, 2, 0])),
            (np.array([0, 1, 2], dtype=np.uint8), np.array([1, 2, 0], dtype=np.int64)),
            (np.array([0, 9, 1, 9, 2])[::2], np.array([1, 2, 0])),
        ],
        ids=lambda edges: type(edges).__name__,
    )
    def test_edges_may_be_pairs_or_two_columns_of_any_integers(self, edges: Any) -> None:
        graph = mf.Graph.from_edges(edges)
        assert sorted(graph.vertex_ids.tolist()) == [0, 1, 2]
        assert edge_counts(graph) == {(0, 1, 0): 1, (1, 2, 0): 1, (0, 2, 0): 1}
        assert graph.vertex_ids.dtype == np.int64

    def test_a_list_of_two_lists_is_two_edges_not_two_columns(self) -> None:
        assert edge_counts(mf.Graph.from_edges([[0, 1], [2, 3]])) == {(0, 1, 0): 1, (2, 3, 0): 1}

    @pytest.mark.parametrize(
        "edges",
        [
            [("ann", "bob"), ("bob", "cy")],
            np.array([("ann", "bob"), ("bob", "cy")]),
            np.array([("ann", "bob"), ("bob", "cy")], dtype=object),
            (np.array(["ann", "bob"]), np.array(["bob", "cy"], dtype=object)),
        ],
    )
    def test_ids_may_be_strings(self, edges: Any) -> None:
        graph = mf.Graph.from_edges(edges, directed=True)
        assert graph.vertex_ids.dtype.kind == "U"
        assert edge_counts(graph) == {("ann", "bob", 0): 1, ("bob", "cy", 0): 1}

    def test_ids_keep_their_value_from_one_end_of_64_bits_to_the_other(self) -> None:
        ids = [-(2**63), -1, 0, 2**63 - 1]
        graph = mf.Graph.from_edges(list(pairwise(ids)))
        assert sorted(graph.vertex_ids.tolist()) == ids

    def test_vertices_are_those_that_occur_if_nothing_else_is_said(self) -> None:
        assert sorted(mf.Graph.from_edges([(10, 70)]).vertex_ids.tolist()) == [10, 70]

    def test_a_number_of_vertices_brings_isolated_ones(self) -> None:
        graph = mf.Graph.from_edges([(1, 3)], num_vertices=5)
        assert sorted(graph.vertex_ids.tolist()) == [0, 1, 2, 3, 4]
        assert graph.stats().isolated_vertices == 3

    def test_listed_vertices_bring_isolated_ones_and_labels_follow_the_list(self) -> None:
        graph = mf.Graph.from_edges([("c", "a")], vertex_ids=["a", "b", "c"], vertex_labels=[1, 2, 3])
        assert graph.vertex_labels_by_id() == {"a": 1, "b": 2, "c": 3}
        assert graph.stats().isolated_vertices == 1
        assert edge_counts(graph) == {("a", "c", 0): 1}

    def test_listed_vertices_need_no_order(self) -> None:
        graph = mf.Graph.from_edges([(5, -2), (5, 9)], vertex_ids=[9, 5, -2], vertex_labels=["n", "f", "m"])
        assert graph.vertex_labels_by_id() == {9: "n", 5: "f", -2: "m"}

    def test_labels_alone_say_how_many_vertices_there_are(self) -> None:
        graph = mf.Graph.from_edges([(0, 1)], vertex_labels=[4, 4, 5])
        assert graph.vertex_labels_by_id() == {0: 4, 1: 4, 2: 5}

    def test_labels_may_be_negative(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2)], vertex_labels=[-3, 2**40, -3], edge_labels=[-1, -2])
        assert graph.vertex_label_table.values == (-3, 2**40)
        assert graph.vertex_labels_by_id() == {0: -3, 1: 2**40, 2: -3}
        assert edge_counts(graph) == {(0, 1, -1): 1, (1, 2, -2): 1}

    def test_labels_may_be_strings_the_empty_one_too(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2)], vertex_labels=["", "é", "b b"], edge_labels=["w", ""])
        assert graph.vertex_labels_by_id() == {0: "", 1: "é", 2: "b b"}
        assert edge_counts(graph) == {(0, 1, "w"): 1, (1, 2, ""): 1}

    def test_one_label_everywhere_is_kept_as_a_label(self) -> None:
        graph = mf.Graph.from_edges(TRIANGLE, vertex_labels=["x"] * 3, edge_labels=[7] * 3)
        assert set(graph.vertex_labels_by_id().values()) == {"x"}
        assert edge_counts(graph) == {(0, 1, 7): 1, (1, 2, 7): 1, (0, 2, 7): 1}

    def test_no_labels_are_the_label_0(self) -> None:
        graph = mf.Graph.from_edges(TRIANGLE)
        assert graph.vertex_labels_by_id() == {0: 0, 1: 0, 2: 0}
        assert graph.to_edges().labels is None

    @pytest.mark.parametrize("edges", [[], (), np.empty((0, 2)), np.empty((0, 2), dtype=np.uint8)])
    @pytest.mark.parametrize("directed", [False, True])
    def test_a_graph_may_be_empty(self, edges: Any, directed: bool) -> None:
        graph = mf.Graph.from_edges(edges, directed=directed)
        assert (graph.num_vertices, graph.num_edges) == (0, 0)
        assert edge_counts(graph) == Counter()
        assert graph.vertex_labels_by_id() == {}
        assert graph.stats().mean_degree == 0.0

    @pytest.mark.parametrize("edges", [(np.array([], dtype=int),) * 2, np.empty((0, 2), dtype=np.str_)])
    def test_vertices_need_no_edges(self, edges: Any) -> None:
        assert mf.Graph.from_edges(edges, vertex_ids=["a", "b"]).num_vertices == 2

    @pytest.mark.parametrize("dtype", [np.str_, object, float, int], ids=lambda kind: kind.__name__)
    def test_no_edges_have_no_kind_of_ids(self, dtype: Any) -> None:
        graph = mf.Graph.from_edges(np.empty((0, 2), dtype=dtype), num_vertices=3)
        assert (graph.num_vertices, graph.num_edges) == (3, 0)
        assert graph.stats().isolated_vertices == 3


class TestCopiesAndLoops:
    def test_copies_of_a_directed_edge_are_one_edge_with_a_multiplicity(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (0, 1), (1, 0), (0, 1)], directed=True)
        assert edge_counts(graph) == {(0, 1, 0): 3, (1, 0, 0): 1}
        assert (graph.num_edges, graph.duplicate_edges, graph.num_edge_copies) == (2, 2, 4)

    def test_reversed_copies_of_an_undirected_edge_are_copies_too(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 0), (1, 2), (0, 1)])
        assert edge_counts(graph) == {(0, 1, 0): 3, (1, 2, 0): 1}
        assert (graph.num_edges, graph.duplicate_edges, graph.num_edge_copies) == (2, 2, 4)

    def test_both_directions_of_an_undirected_edge_know_its_multiplicity(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 0), (1, 2)])
        assert graph.forward.copies is not None
        assert graph.forward.copies.sum() == 2 * graph.num_edge_copies

    def test_parallel_edges_with_different_labels_are_different_edges(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (0, 1), (1, 0), (0, 1)], edge_labels=["a", "b", "a", "b"])
        assert edge_counts(graph) == {(0, 1, "a"): 2, (0, 1, "b"): 2}
        assert (graph.num_edges, graph.duplicate_edges) == (2, 2)

    def test_a_self_loop_is_refused_by_row(self) -> None:
        with pytest.raises(
            mf.GraphError, match=r"^edges, row 1: expected two different vertices, found 7 twice$"
        ):
            mf.Graph.from_edges([(0, 7), (7, 7), (0, 0)])

    def test_self_loops_may_be_dropped_and_are_counted(self) -> None:
        graph = mf.Graph.from_edges(
            [(0, 1), (7, 7), (1, 0), (8, 8), (8, 8)], edge_labels=[1, 2, 3, 4, 5], self_loops="drop"
        )
        assert edge_counts(graph) == {(0, 1, 1): 1, (0, 1, 3): 1}
        assert (graph.self_loops_dropped, graph.duplicate_edges) == (3, 0)
        assert sorted(graph.vertex_ids.tolist()) == [0, 1, 7, 8]


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "one column": (
        lambda: mf.Graph.from_edges([0, 1, 2]),
        "edges: expected an array of shape [m, 2], found [3]",
    ),
    "three columns": (
        lambda: mf.Graph.from_edges([(0, 1, 2)]),
        "edges: expected an array of shape [m, 2], found [1, 3]",
    ),
    "three columns of nothing": (
        lambda: mf.Graph.from_edges(np.empty((0, 3), dtype=int)),
        "edges: expected an array of shape [m, 2], found [0, 3]",
    ),
    "columns of different length": (
        lambda: mf.Graph.from_edges((np.array([0, 1]), np.array([1]))),
        "edges: expected as many targets as sources, found 2 and 1",
    ),
    "columns of different kinds": (
        lambda: mf.Graph.from_edges((np.array([0]), np.array(["a"]))),
        "edges: expected ids of one kind, found integers and strings",
    ),
    "fractions": (
        lambda: mf.Graph.from_edges([(0.5, 1)]),
        "edges: expected integers or strings, found float64 such as 0.5",
    ),
    "not a number": (
        lambda: mf.Graph.from_edges([(0, 1)], edge_labels=[float("nan")]),
        "edge_labels: expected integers or strings, found float64 such as nan",
    ),
    "booleans": (
        lambda: mf.Graph.from_edges([(False, True)]),
        "edges: expected integers or strings, found bool such as False",
    ),
    "booleans where there are none": (
        lambda: mf.Graph.from_edges(np.empty((0, 2), dtype=bool)),
        "edges: expected integers or strings, found bool",
    ),
    "nothing": (
        lambda: mf.Graph.from_edges([(0, None)]),
        "edges: expected all integers or all strings, found None",
    ),
    "bytes": (
        lambda: mf.Graph.from_edges(np.array([(b"a", b"b")])),
        "edges: expected integers or strings, found |S1 such as b'a'",
    ),
    "mixed objects": (
        lambda: mf.Graph.from_edges(np.array([(0, "a")], dtype=object)),
        "edges: expected all integers or all strings, found 'a'",
    ),
    "ids of 64 bits without a sign": (
        lambda: mf.Graph.from_edges(np.array([(0, 2**63)], dtype=np.uint64)),
        "edges: expected integers below 2**63, found 9223372036854775808",
    ),
    "ids of more than 64 bits": (
        lambda: mf.Graph.from_edges([(0, 2**64)]),
        "edges: expected integers below 2**63, found a larger one",
    ),
    "id out of range": (
        lambda: mf.Graph.from_edges([(0, 1), (1, 3)], num_vertices=3),
        "edges, row 1: expected ids from 0 to 2, found 3",
    ),
    "negative id": (
        lambda: mf.Graph.from_edges([(0, 1), (2, 1), (-1, 0)], num_vertices=3),
        "edges, row 2: expected ids from 0 to 2, found -1",
    ),
    "strings with a number of vertices": (
        lambda: mf.Graph.from_edges([("a", "b")], num_vertices=2),
        "edges: expected integer ids with num_vertices, found 'a'",
    ),
    "negative number of vertices": (
        lambda: mf.Graph.from_edges([], num_vertices=-1),
        "num_vertices: expected an integer of at least 0, found -1",
    ),
    "fraction of vertices": (
        lambda: mf.Graph.from_edges([], num_vertices=2.0),  # type: ignore[arg-type]
        "num_vertices: expected an integer of at least 0, found 2.0",
    ),
    "too many vertices": (
        lambda: mf.Graph.from_edges([], num_vertices=2**32 - 1),
        "expected at most 4,294,967,294 vertices, found 4,294,967,295",
    ),
    "two ways to say which vertices": (
        lambda: mf.Graph.from_edges([], num_vertices=1, vertex_ids=[0]),
        "num_vertices and vertex_ids: expected one of them, found both",
    ),
    "unlisted id": (
        lambda: mf.Graph.from_edges([("a", "b"), ("a", "c")], vertex_ids=["b", "a"]),
        "edges, row 1: expected an id listed in vertex_ids, found 'c'",
    ),
    "repeated id": (
        lambda: mf.Graph.from_edges([], vertex_ids=[4, 5, 4]),
        "vertex_ids: expected each id once, found 4 twice",
    ),
    "listed ids of another kind": (
        lambda: mf.Graph.from_edges([(0, 1)], vertex_ids=["0", "1"]),
        "vertex_ids and edges: expected ids of one kind, found integers and strings",
    ),
    "a table of listed ids": (
        lambda: mf.Graph.from_edges([(0, 1)], vertex_ids=[[0, 1]]),
        "vertex_ids: expected an array of shape [n], found [1, 2]",
    ),
    "too few vertex labels": (
        lambda: mf.Graph.from_edges([(0, 1)], num_vertices=3, vertex_labels=[1, 2]),
        "vertex_labels: expected 3 labels, found 2",
    ),
    "too many edge labels": (
        lambda: mf.Graph.from_edges([(0, 1)], edge_labels=[1, 2]),
        "edge_labels: expected 1 labels, found 2",
    ),
    "a table of labels": (
        lambda: mf.Graph.from_edges([(0, 1)], edge_labels=[[1]]),
        "edge_labels: expected an array of shape [n], found [1, 1]",
    ),
    "unknown word for self-loops": (
        lambda: mf.Graph.from_edges([], self_loops="keep"),  # type: ignore[arg-type]
        "self_loops: expected 'error' or 'drop', found 'keep'",
    ),
    "no threads": (
        lambda: mf.Graph.from_edges([], threads=0),
        "threads: expected an integer from 1 to 1024, found 0",
    ),
}


class TestWhatIsRefused:
    @pytest.mark.parametrize(("build", "message"), REFUSED.values(), ids=REFUSED.keys())
    def test_the_error_names_argument_row_found_and_expected(
        self, build: Callable[[], object], message: str
    ) -> None:
        with pytest.raises((mf.GraphError, mf.ArgumentError)) as caught:
            build()
        assert str(caught.value) == message

    @pytest.mark.parametrize(
        ("argument", "build"),
        [
            ("edges", lambda: mf.Graph.from_edges([(0, 1), (2,)])),
            ("edges", lambda: mf.Graph.from_edges(5)),
            ("edges", lambda: mf.Graph.from_edges([(0, "a")])),
            ("edges", lambda: mf.Graph.from_edges([(0, 2**63)])),
            ("edges|sources", lambda: mf.Graph.from_edges((np.zeros((2, 2), int), np.ones((2, 2), int)))),
            ("edges|sources", lambda: mf.Graph.from_edges((np.array(0), np.array(1)))),
            ("vertex_labels", lambda: mf.Graph.from_edges([(0, 1)], vertex_labels=5)),
            ("vertex_labels", lambda: mf.Graph.from_edges([(0, 1)], vertex_labels=[1, "a"])),
            ("vertex_ids", lambda: mf.Graph.from_edges([(0, 1)], vertex_ids=5)),
            ("edge_labels", lambda: mf.Graph.from_edges([(0, 1)], edge_labels=5)),
            ("edge_labels", lambda: mf.Graph.from_edges([(0, 1)], edge_labels=[[1], [2, 3]])),
        ],
        ids=[
            "ragged edges",
            "a number for edges",
            "integers beside strings",
            "an id just too large",
            "two tables for two columns",
            "two numbers for two columns",
            "a number for vertex labels",
            "labels of two kinds",
            "a number for ids",
            "a number for edge labels",
            "ragged labels",
        ],
    )
    def test_what_is_no_table_of_ids_is_a_graph_error_naming_the_argument(
        self, argument: str, build: Callable[[], object]
    ) -> None:
        with pytest.raises(mf.GraphError, match=rf"^({argument})\b.*expected "):
            build()


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
        expected = Counter(_edge(directed, u, v, label) for (u, v), label in zip(edges, kinds, strict=True))
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

    @pytest.mark.parametrize("directed", [False, True])
    @pytest.mark.parametrize("labelled", [False, True])
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
        assert repr(many) == "Graph(12,000 vertices, 1 edges, directed)"

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
        monkeypatch.setattr(graph_module, "_KEPT_BYTES", 3 * one)
        monkeypatch.setattr(graph_module, "_KEPT_RATIO", 0)
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
