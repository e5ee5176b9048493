"""Graphs: what they are made from and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from tests.unit.graph_cases import TRIANGLE, edge_counts


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
            mf.GraphError, match=r"^edges, row 1: expected two different vertices, found 7 twice; self_loops="
        ):
            mf.Graph.from_edges([(0, 7), (7, 7), (0, 0)], self_loops="error")

    def test_self_loops_are_left_out_with_a_warning_at_the_line_of_the_call(self) -> None:
        with pytest.warns(mf.MotifluxWarning, match="^graph: 2 self-loops were left out$") as notes:
            graph = mf.Graph.from_edges([(0, 7), (7, 7), (0, 0)])
        assert (graph.num_edges, graph.self_loops_dropped) == (1, 2)
        assert [one.filename for one in notes] == [__file__]

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
        "edge_labels: expected 1 label, found 2",
    ),
    "a table of labels": (
        lambda: mf.Graph.from_edges([(0, 1)], edge_labels=[[1]]),
        "edge_labels: expected an array of shape [n], found [1, 1]",
    ),
    "unknown word for self-loops": (
        lambda: mf.Graph.from_edges([], self_loops="keep"),  # type: ignore[arg-type]
        "self_loops: expected one of 'warn', 'drop', 'error', found 'keep'",
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
