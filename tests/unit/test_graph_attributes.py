"""Attributes of vertices and edges, and the conditions on them."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.conditions import AllOf, Comparison, Condition, IsMissing, Not, OneOf, Operator
from motiflux.graph import AdjacencyKey, Direction, VertexFilter
from motiflux.graph.attributes.columns import Kind
from tests.unit.condition_cases import columns, conditions, truth
from tests.unit.graph_cases import arcs

KINDS = "integers, floats, booleans, strings or datetimes"
AMOUNT = Comparison("amount", Operator.GREATER, 100)


def greater(name: str, value: Any) -> Condition:
    return Comparison(name, Operator.GREATER, value)


def of_vertices(**attributes: Any) -> mf.Graph:
    """Give a path of three vertices, whose internal order is 0, 2, 1."""
    return mf.Graph.from_edges([(0, 1), (1, 2)], vertex_attributes=attributes)


def chosen(graph: mf.Graph, condition: Condition) -> list[int]:
    """Give the external ids of the vertices that satisfy the condition."""
    return sorted(graph.vertex_ids[graph.vertex_mask(condition).astype(bool)].tolist())


class TestWhatAColumnIsMadeFrom:
    @pytest.mark.parametrize(
        ("values", "kind", "expected"),
        [
            (np.array([3, 1, 2], dtype=np.int8), Kind.INTEGER, [3, 1, 2]),
            (np.array([3, 1, 2], dtype=">u4"), Kind.INTEGER, [3, 1, 2]),
            (np.array([0, 1, 2**64 - 1], dtype=np.uint64), Kind.INTEGER, [0, 1, 2**64 - 1]),
            (np.array([0.5, 1, -1], dtype=np.float16), Kind.FLOAT, [0.5, 1.0, -1.0]),
            (np.array([True, False, True]), Kind.BOOLEAN, [True, False, True]),
            (np.array(["b", "a", "b"]), Kind.STRING, ["b", "a", "b"]),
            (np.array(["b", None, "b"], dtype=object), Kind.STRING, ["b", None, "b"]),
            (np.array(["b", float("nan"), ""], dtype=object), Kind.STRING, ["b", None, ""]),
            (np.ma.MaskedArray([1, 2, 3], [False, True, False]), Kind.INTEGER, [1, None, 3]),
            (np.ma.MaskedArray(["a", "b", "c"], [False, True, False]), Kind.STRING, ["a", None, "c"]),
            (np.ma.MaskedArray([1, 2, 3], False), Kind.INTEGER, [1, 2, 3]),
            ([1, None, 3], Kind.INTEGER, [1, None, 3]),
            ([1, None, 0.5], Kind.FLOAT, [1.0, None, 0.5]),
            ([np.int64(1), None, np.int64(3)], Kind.INTEGER, [1, None, 3]),
            ((True, None, False), Kind.BOOLEAN, [True, None, False]),
            (["\U0001f600", "a\0", "\ud800"], Kind.STRING, ["\U0001f600", "a\0", "\ud800"]),
            ([None, None, None], Kind.NOTHING, [None, None, None]),
            ([0, 2**63, 1], Kind.INTEGER, [0, 2**63, 1]),
            ((value for value in (1, 2, 3)), Kind.INTEGER, [1, 2, 3]),
        ],
        ids=str,
    )
    def test_values_come_back_as_they_were_given(self, values: Any, kind: Kind, expected: list[Any]) -> None:
        column = of_vertices(a=values).vertex_attributes["a"]
        assert column.kind is kind
        in_order = [column.to_numpy().tolist()[place] for place in (0, 2, 1)]
        assert in_order == expected
        assert column.missing().tolist() == [expected[place] is None for place in (0, 2, 1)]

    def test_arrow_arrays_with_nulls_come_back_as_they_were_given(self) -> None:
        pa = pytest.importorskip("pyarrow")
        cases = [
            (pa.array([1, None, 3], pa.int16()), [1, None, 3]),
            (pa.chunked_array([[1], [None, 3]], pa.uint64()), [1, None, 3]),
            (pa.array([0.5, None, 3]), [0.5, None, 3.0]),
            (pa.array([True, None, False]), [True, None, False]),
            (pa.array(["b", None, "a"]), ["b", None, "a"]),
            (pa.chunked_array([["b"], [None, "a"]], pa.large_string()), ["b", None, "a"]),
            (pa.array(["b", None, "a"], pa.string_view()), ["b", None, "a"]),
            (pa.array(["b", None, "b"]).dictionary_encode(), ["b", None, "b"]),
            (pa.array([5, None, 5]).dictionary_encode(), [5, None, 5]),
            (pa.array([None, None, None]), [None, None, None]),
        ]
        for values, expected in cases:
            found = of_vertices(a=values).vertex_attributes["a"].to_numpy().tolist()
            assert [found[place] for place in (0, 2, 1)] == expected, values.type

    def test_an_empty_graph_has_empty_columns_of_any_type(self) -> None:
        pa = pytest.importorskip("pyarrow")
        empty: list[Any] = [
            [],
            np.array([]),
            np.array([], dtype=np.str_),
            pa.chunked_array([], pa.string()),
            pa.chunked_array([], pa.dictionary(pa.int8(), pa.string_view())),
        ]
        for values in empty:
            graph = mf.Graph.from_edges([], vertex_attributes={"a": values}, edge_attributes={"a": values})
            assert graph.vertex_mask(IsMissing("a")).tolist() == []
            assert graph.arc_mask(IsMissing("a"), "in").tolist() == []

    def test_without_pyarrow_an_arrow_array_is_refused_and_said_why(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Capsule:
            def __arrow_c_array__(self) -> None: ...

        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(
            mf.MotifluxError, match=r"^vertex_attributes\['a'\]: .* takes the package pyarrow; install it"
        ):
            of_vertices(a=Capsule())

    def test_an_arrow_array_of_another_type_is_refused(self) -> None:
        pa = pytest.importorskip("pyarrow")
        with pytest.raises(mf.GraphError, match=r"datetimes, found struct<a: int64>"):
            of_vertices(a=pa.table({"a": [1, 2, 3]}))

    def test_strings_take_what_they_need_however_long_the_longest_is(self) -> None:
        names = ["x" * 100_000, *map(str, range(999))]
        edges = [(0, vertex) for vertex in range(1, 1000)]
        graph = mf.Graph.from_edges(edges, vertex_attributes={"name": names})
        assert graph.vertex_attributes.nbytes < 120_000

    def test_the_given_arrays_are_not_kept_and_the_kept_ones_are_read_only(self) -> None:
        ages, times = np.array([1, 2, 3]), np.array([1, 2])
        graph = mf.Graph.from_edges(
            [(0, 1), (1, 2)], vertex_attributes={"age": ages}, edge_attributes={"time": times}
        )
        ages[:] = times[:] = 9
        assert sorted(graph.vertex_attributes["age"].to_numpy().tolist()) == [1, 2, 3]
        assert sorted(graph.edge_attributes["time"].to_numpy().tolist()) == [1, 2]
        with pytest.raises(ValueError, match="read-only"):
            graph.vertex_attributes["age"].data[0] = 5

    def test_attributes_alone_say_how_many_vertices_there_are(self) -> None:
        graph = mf.Graph.from_edges([(0, 1)], vertex_attributes={"a": [1, 2, 3]})
        assert graph.num_vertices == 3

    def test_a_column_serves_another_graph(self) -> None:
        column = of_vertices(a=["x", "y", None]).vertex_attributes["a"]
        again = mf.Graph.from_edges([], num_vertices=3, vertex_attributes={"a": column})
        assert again.vertex_attributes["a"].to_numpy().tolist() == column.to_numpy().tolist()


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "too many values": (
        lambda: mf.Graph.from_edges([(0, 1)], edge_attributes={"t": [1, 2]}),
        "edge_attributes['t']: expected 1 value, one for each edge, found 2",
    ),
    "too few values": (
        lambda: mf.Graph.from_edges([(0, 1)], num_vertices=4, vertex_attributes={"a": [1, 2]}),
        "vertex_attributes['a']: expected 4 values, one for each vertex, found 2",
    ),
    "columns of different length": (
        lambda: of_vertices(a=[1, 2, 3], b=[1]),
        "vertex_attributes['b']: expected 3 values, one for each vertex, found 1",
    ),
    "no mapping": (
        lambda: mf.Graph.from_edges([(0, 1)], edge_attributes=[[1]]),  # type: ignore[arg-type]
        "edge_attributes: expected a mapping from names to columns, found [[1]]",
    ),
    "a name that is none": (
        lambda: mf.Graph.from_edges([(0, 1)], edge_attributes={"": [1]}),
        "edge_attributes: expected names that are strings and not empty, found ''",
    ),
    "two kinds": (
        lambda: of_vertices(a=[1, "b", None]),
        f"vertex_attributes['a']: expected {KINDS}, all of one kind, found 'b'",
    ),
    "booleans beside integers": (
        lambda: of_vertices(a=[1, True, 0]),
        f"vertex_attributes['a']: expected {KINDS}, all of one kind, found True",
    ),
    "bytes": (
        lambda: of_vertices(a=np.array([b"a", b"b", b"c"])),
        f"vertex_attributes['a']: expected {KINDS}, found |S1",
    ),
    "long doubles": (
        lambda: of_vertices(a=np.zeros(3, dtype=np.longdouble)),
        f"vertex_attributes['a']: expected {KINDS}, found {np.dtype('g')}",
    ),
    "integers of more than 64 bits": (
        lambda: of_vertices(a=[0, -(2**64), 1]),
        f"vertex_attributes['a']: expected integers of 64 bits, found {-(2**64)}",
    ),
    "integers that floats cannot hold": (
        lambda: of_vertices(a=[0.5, 2**53 + 1, 1]),
        f"vertex_attributes['a']: expected integers of at most 2**53 among floats, found {2**53 + 1}",
    ),
    "a table": (
        lambda: of_vertices(a=np.zeros((3, 1))),
        "vertex_attributes['a']: expected an array of shape [n], found [3, 1]",
    ),
    "a text": (
        lambda: of_vertices(a="abc"),
        f"vertex_attributes['a']: expected an array of {KINDS}, found 'abc'",
    ),
    "a number": (
        lambda: of_vertices(a=5),
        (f"vertex_attributes['a']: expected an array of {KINDS}, found none: 'int' object is not iterable"),
    ),
    "no characters": (
        lambda: of_vertices(a=np.array([65, 2**30, 66], dtype=np.uint32).view("U1")),
        "vertex_attributes['a']: expected characters up to 0x10ffff, found 0x40000000",
    ),
}


@pytest.mark.parametrize(("build", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_column_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises((mf.GraphError, mf.ArgumentError)) as caught:
        build()
    assert str(caught.value) == message


class TestConditions:
    @given(columns(4), conditions())
    def test_a_vertex_is_let_through_where_the_condition_is_true(
        self, attributes: dict[str, list[Any]], condition: Condition
    ) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2)], num_vertices=4, vertex_attributes=attributes)
        # A column of missing values only has no kind; everything compares with it.
        rows = [{name: values[vertex] for name, values in attributes.items()} for vertex in range(4)]
        expected = [vertex for vertex in range(4) if truth(condition, rows[vertex]) is True]
        assert chosen(graph, condition) == expected
        opposite = [vertex for vertex in range(4) if truth(condition, rows[vertex]) is False]
        assert chosen(graph, Not(condition)) == opposite

    @pytest.mark.parametrize(
        ("values", "condition"),
        [
            (np.array([2**53, 2**53 + 1, 0]), greater("a", 2.0**53)),
            (np.array([2**63, 2**63 + 1, 0], dtype=np.uint64), greater("a", 2.0**63)),
            (np.array([2.0**53, 2.0**53 + 2, 0]), greater("a", 2**53 + 1)),
            (np.array([2.0**53, 2.0**53 + 2, 0]), Comparison("a", Operator.AT_LEAST, 2**53 + 1)),
            (np.array([1.0, np.inf, 0]), greater("a", 10**400)),
            (np.array([0.1, 0.2, 0], dtype=np.float32), greater("a", 0.2)),
            (np.array([1, 127, -128], dtype=np.int8), greater("a", 126.5)),
        ],
        ids=str,
    )
    def test_numbers_of_any_type_are_compared_exactly(
        self, values: np.ndarray[Any, Any], condition: Condition
    ) -> None:
        assert chosen(of_vertices(a=values), condition) == [1]

    @pytest.mark.parametrize("value", [300, -300, 127.5, -(10**30), float("inf"), float("-inf")])
    @pytest.mark.parametrize("operator", [Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.EQUAL])
    def test_numbers_outside_the_type_of_a_column_compare_too(self, value: float, operator: Operator) -> None:
        values = [-128, 0, 127]
        condition = Comparison("a", operator, value)
        expected = [vertex for vertex in range(3) if truth(condition, {"a": values[vertex]})]
        assert chosen(of_vertices(a=np.array(values, dtype=np.int8)), condition) == expected

    def test_a_float_of_32_bits_is_not_the_nearest_of_64(self) -> None:
        graph = of_vertices(a=np.array([0.1, 0.5, 1], dtype=np.float32))
        assert chosen(graph, Comparison("a", Operator.EQUAL, 0.1)) == []
        assert chosen(graph, Comparison("a", Operator.EQUAL, float(np.float32(0.1)))) == [0]

    def test_among_many_values(self) -> None:
        graph = of_vertices(a=[5, None, 2**53 + 1], s=["x", "y", None])
        assert chosen(graph, OneOf("a", (5, 5.5, 2.0**53, 2**53 + 1, 10**30))) == [0, 2]
        assert chosen(graph, OneOf("s", ("y", "z", ""))) == [1]
        assert chosen(graph, Not(OneOf("s", ("y", "z")))) == [0]
        assert chosen(graph, Not(OneOf("a", ()))) == [0, 2]

    @pytest.mark.parametrize(
        ("condition", "message"),
        [
            (
                greater("aeg", 1),
                (
                    "vertex attribute 'aeg': expected one of the graph's vertex attributes "
                    "('age', 'flag', 'name'), perhaps 'age'"
                ),
            ),
            (
                IsMissing("x"),
                "vertex attribute 'x': expected one of the graph's vertex attributes ('age', 'flag', 'name')",
            ),
            (
                greater("age", "1"),
                "vertex attribute 'age': expected a number to compare its integers with, found '1'",
            ),
            (
                greater("age", True),
                "vertex attribute 'age': expected a number to compare its integers with, found True",
            ),
            (
                Not(AllOf((OneOf("name", ("a", 1)),))),
                "vertex attribute 'name': expected a string to compare its strings with, found 1",
            ),
            (
                Comparison("flag", Operator.EQUAL, 1),
                "vertex attribute 'flag': expected a boolean to compare its booleans with, found 1",
            ),
            (
                Comparison("age", Operator.CONTAINS, "1"),
                "vertex attribute 'age': expected strings for CONTAINS, found integers",
            ),
        ],
    )
    def test_what_cannot_be_asked_is_refused_by_name(self, condition: Condition, message: str) -> None:
        graph = of_vertices(age=[1, 2, 3], name=["a", "b", "c"], flag=[True, False, None])
        with pytest.raises(mf.PatternError) as caught:
            graph.vertex_mask(condition)
        assert str(caught.value) == message

    def test_a_graph_without_attributes_says_so(self) -> None:
        graph = mf.Graph.from_edges([(0, 1)])
        with pytest.raises(mf.PatternError) as caught:
            graph.arc_mask(AMOUNT)
        assert str(caught.value) == (
            "edge attribute 'amount': expected one of the graph's edge attributes (it has none)"
        )
        assert graph.arc_mask(AllOf(())).tolist() == [1, 1]

    def test_equal_keys_of_values_of_different_kinds_are_still_told_apart(self) -> None:
        graph = of_vertices(flag=[True, False, True])
        assert chosen(graph, Comparison("flag", Operator.EQUAL, True)) == [0, 2]
        with pytest.raises(mf.PatternError, match="expected a boolean"):
            graph.vertex_mask(Comparison("flag", Operator.EQUAL, 1))

    def test_masks_are_kept_read_only_and_forgotten_with_the_rest(self) -> None:
        graph = of_vertices(a=[1, 2, 3])
        mask = graph.vertex_mask(greater("a", 1))
        assert mask.dtype == np.uint8
        assert graph.vertex_mask(greater("a", 1)) is mask
        with pytest.raises(ValueError, match="read-only"):
            mask[0] = 1
        graph.forget()
        assert graph.vertex_mask(greater("a", 1)) is not mask

    def test_masks_that_are_kept_stay_within_a_bound_the_newest_kept(self) -> None:
        from motiflux.graph.memo import Memo

        memo = Memo()
        made = [memo.get_sized("masks", key, lambda: np.zeros(10), room=200) for key in range(4)]
        assert len(memo) == 2
        assert memo.get_sized("masks", 3, lambda: np.zeros(10), room=200) is made[3]
        assert memo.get_sized("masks", "large", lambda: np.zeros(100), room=200).nbytes == 800
        assert len(memo) == 1


@st.composite
def attributed_edges(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[int] | None, list[int | None]]:
    """Draw edges with many copies, labels or none, and an amount for each."""
    vertices = st.integers(0, 5)
    edges = draw(st.lists(st.tuples(vertices, vertices), max_size=30))
    labels = draw(st.none() | st.lists(st.integers(0, 1), min_size=len(edges), max_size=len(edges)))
    amounts = st.none() | st.integers(99, 102)
    return edges, labels, draw(st.lists(amounts, min_size=len(edges), max_size=len(edges)))


def with_amounts(
    case: tuple[list[tuple[int, int]], list[int] | None, list[int | None]], directed: bool
) -> mf.Graph:
    edges, labels, amounts = case
    return mf.Graph.from_edges(
        edges,
        directed=directed,
        edge_labels=labels,
        edge_attributes={"amount": amounts},
        vertex_ids=range(6),  # type: ignore[arg-type]
        vertex_attributes={"odd": [vertex % 2 == 1 for vertex in range(6)]},
        self_loops="drop",
    )


class TestEdges:
    @given(attributed_edges(), st.booleans())
    def test_an_arc_is_let_through_if_one_of_its_copies_is(self, case: Any, directed: bool) -> None:
        edges, labels, amounts = case
        graph = with_amounts(case, directed)
        through = set()
        for (u, v), label, amount in zip(edges, labels or [0] * len(edges), amounts, strict=True):
            if amount is not None and amount > 100:
                through |= {(u, v, label)} if directed else {(u, v, label), (v, u, label)}
        values, ids = graph.edge_label_table.values, graph.vertex_ids.tolist()
        for direction, rows in (("out", graph.forward), ("in", graph.reverse)):
            mask = graph.arc_mask(AMOUNT, direction)  # type: ignore[arg-type]
            assert len(mask) == len(rows.neighbors)
            for (first, second, code), holds in zip(arcs(rows), mask.tolist(), strict=True):
                ends = (ids[first], ids[second])
                ends = ends[::-1] if direction == "in" and directed else ends
                assert holds == ((*ends, values[code]) in through)

    @given(attributed_edges(), st.booleans())
    def test_rows_are_in_the_order_of_the_edges_copies_in_the_order_given(
        self, case: Any, directed: bool
    ) -> None:
        edges, labels, amounts = case
        graph = with_amounts(case, directed)
        expected: dict[Any, list[Any]] = {}
        for (u, v), label, amount in zip(edges, labels or [0] * len(edges), amounts, strict=True):
            if u != v:
                ends = (u, v) if directed else (min(u, v), max(u, v))
                expected.setdefault((*ends, label), []).append(amount)
        sources, targets, kinds, copies = graph.to_edges()
        found = iter(graph.edge_attributes["amount"].to_numpy().tolist())
        names = [0] * len(sources) if kinds is None else kinds.tolist()
        for u, v, label, many in zip(sources.tolist(), targets.tolist(), names, copies.tolist(), strict=True):
            ends = (u, v) if directed else (min(u, v), max(u, v))
            assert [next(found) for _ in range(many)] == expected[*ends, label]
        assert list(found) == []

    def test_each_copy_keeps_its_values_and_one_row_must_satisfy_all(self) -> None:
        graph = mf.Graph.from_edges(
            [("a", "b"), ("a", "b")], directed=True, edge_attributes={"amount": [500, 50], "time": [1, 9]}
        )
        late = greater("time", 5)
        assert graph.arc_mask(AMOUNT).tolist() == graph.arc_mask(late).tolist() == [1]
        assert graph.arc_mask(AllOf((AMOUNT, late))).tolist() == [0]


class TestNarrowedAdjacency:
    @given(attributed_edges(), st.booleans(), st.sampled_from([1, 3]))
    def test_rows_hold_what_conditions_ids_and_labels_let_through(
        self, case: Any, directed: bool, threads: int
    ) -> None:
        graph = with_amounts(case, directed)
        odd = Comparison("odd", Operator.EQUAL, True)
        filters = [None, VertexFilter(odd), VertexFilter(None, (0, 2, 5)), VertexFilter(odd, (1, 2, 3, 4))]
        codes = range(len(graph.edge_label_table))
        for edge_where, label, source, target, direction in product(
            [None, AMOUNT], [None, *codes], filters, filters, list(Direction) if directed else ["either"]
        ):
            key = AdjacencyKey(
                Direction(direction),
                None if label is None else (label,),
                None,
                None,
                edge_where=edge_where,
                source_where=source,
                target_where=target,
            )
            offsets, neighbors = graph.adjacency(key, threads)
            found = [part.tolist() for part in np.split(neighbors, offsets[1:-1].astype(np.int64))]
            assert found == self.expected(graph, key), key

    @staticmethod
    def expected(graph: mf.Graph, key: AdjacencyKey) -> list[list[int]]:
        odd = [vertex % 2 == 1 for vertex in graph.vertex_ids.tolist()]

        def passes(where: VertexFilter | None, vertex: int) -> bool:
            return where is None or (
                (where.condition is None or odd[vertex]) and (where.ids is None or vertex in where.ids)
            )

        rows: list[set[int]] = [set() for _ in range(graph.num_vertices)]
        holds = graph.arc_mask(AMOUNT).tolist()
        for (u, v, label), through in zip(arcs(graph.forward), holds, strict=True):
            if (key.edge_where is not None and not through) or label not in (key.edge_labels or (label,)):
                continue
            ways = {Direction.OUT: [(u, v)], Direction.IN: [(v, u)], Direction.EITHER: [(u, v), (v, u)]}
            for start, end in ways[key.direction]:
                if passes(key.source_where, start) and passes(key.target_where, end):
                    rows[start].add(end)
        return [sorted(row) for row in rows]

    def test_vertex_labels_and_conditions_narrow_together(self) -> None:
        graph = mf.Graph.from_edges(
            [(0, 1), (0, 2), (0, 3)], vertex_labels=[0, 1, 1, 2], vertex_attributes={"a": [0, 0, 1, 1]}
        )
        where = VertexFilter(Comparison("a", Operator.EQUAL, 1))
        key = AdjacencyKey(Direction.EITHER, None, None, (1,), target_where=where)
        assert graph.vertex_ids[graph.adjacency(key)[1]].tolist() == [2]
        swapped = AdjacencyKey(Direction.EITHER, None, (1,), None, source_where=where)
        assert graph.vertex_ids[graph.adjacency(swapped)[1]].tolist() == [0]

    def test_equal_keys_name_the_same_rows(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2)], edge_attributes={"amount": [1, 500]})

        def key() -> AdjacencyKey:
            where = VertexFilter(None, (0, 1, 2))
            return AdjacencyKey(
                Direction.EITHER, None, None, None, edge_where=greater("amount", 100), source_where=where
            )

        assert key() == key()
        assert hash(key()) == hash(key())
        assert graph.adjacency(key()) is graph.adjacency(key())


class TestAGraphWithAttributes:
    def test_it_is_pickled_with_them(self) -> None:
        graph = of_vertices(age=[1, None, 3], name=["a", "b", None])
        again = pickle.loads(pickle.dumps(graph))
        assert list(again.vertex_attributes) == ["age", "name"]
        for name, column in graph.vertex_attributes.items():
            assert again.vertex_attributes[name].to_numpy().tolist() == column.to_numpy().tolist()
        with pytest.raises(ValueError, match="read-only"):
            again.vertex_attributes["age"].data[0] = 5

    def test_its_bytes_count_them(self) -> None:
        plain, more = mf.Graph.from_edges([(0, 1), (1, 2)]), of_vertices(a=np.zeros(3), b=["x", "y", "x"])
        assert more.nbytes - plain.nbytes == 3 * 8 + 3 * 4 + 2 + 3 * 8

    def test_they_are_read_by_name(self) -> None:
        graph = of_vertices(a=[1, 2, 3])
        assert dict(graph.vertex_attributes).keys() == {"a"}
        assert repr(graph.vertex_attributes) == "AttributeTable(vertex: {'a': Column(3 integers, 0 missing)})"
        assert len(graph.edge_attributes) == 0


class TestVertexIndex:
    def test_ids_that_are_known_are_found_and_others_are_minus_one(self) -> None:
        graph = mf.Graph.from_edges([(10, 70), (70, -5)])
        found = graph.vertex_index([70, 11, -5, 10, 2**62])
        assert found.dtype == np.int64
        assert found.tolist() == [
            2,
            -1,
            *(graph.vertex_ids.tolist().index(vertex) for vertex in (-5, 10)),
            -1,
        ]

    def test_ids_may_be_strings_of_any_length(self) -> None:
        graph = mf.Graph.from_edges([("ann", "bob"), ("bob", "cy")])
        found = graph.vertex_index(["bob", "annabel", "", "cy"])
        assert found.tolist() == [2, -1, -1, graph.vertex_ids.tolist().index("cy")]

    @given(st.lists(st.integers(-3, 30), max_size=20), st.lists(st.integers(-3, 30), unique=True))
    def test_it_is_the_inverse_of_the_ids(self, wanted: list[int], ids: list[int]) -> None:
        graph = mf.Graph.from_edges([], vertex_ids=np.array(ids, dtype=np.int64))
        known = graph.vertex_ids.tolist()
        expected = [known.index(vertex) if vertex in known else -1 for vertex in wanted]
        assert graph.vertex_index(wanted).tolist() == expected

    def test_ids_of_another_kind_are_refused(self) -> None:
        with pytest.raises(
            mf.ArgumentError, match=r"^ids: expected strings, as the graph's ids are, found 3$"
        ):
            mf.Graph.from_edges([("a", "b")]).vertex_index([3])
