"""Patterns: what they are made from and what is refused."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Callable
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest

import motiflux as mf
from motiflux import Pattern, PatternBuilder, PatternError, QueryEdge, QueryVertex
from motiflux.conditions import AllOf, AnyOf, Comparison, Condition, IsMissing, Not, OneOf, Operator

IS_ADULT = Comparison("age", Operator.AT_LEAST, 18)


def path(size: int) -> list[tuple[int, int]]:
    return [(v, v + 1) for v in range(size - 1)]


class TestFromEdges:
    def test_vertices_are_those_the_edges_number(self) -> None:
        pattern = Pattern.from_edges([(0, 2), (2, 1)])
        assert [vertex.name for vertex in pattern.vertices] == ["0", "1", "2"]
        assert pattern.edges == (QueryEdge(0, 2), QueryEdge(2, 1))
        assert (pattern.num_vertices, pattern.num_edges, pattern.name) == (3, 2, "")

    def test_everything_is_a_wildcard_and_takes_the_graphs_direction_unless_said(self) -> None:
        pattern = Pattern.from_edges([(0, 1)])
        assert all(vertex.labels is None for vertex in pattern.vertices)
        assert pattern.edges[0].labels is None
        assert pattern.edges[0].directed is None

    @pytest.mark.parametrize("directed", [True, False, None])
    def test_a_direction_holds_for_all_edges(self, directed: bool | None) -> None:
        pattern = Pattern.from_edges(path(3), directed=directed)
        assert [edge.directed for edge in pattern.edges] == [directed, directed]

    @pytest.mark.parametrize(
        ("choice", "labels"),
        [
            (None, None),
            (0, frozenset({0})),
            (-1, frozenset({-1})),
            ("person", frozenset({"person"})),
            ("", frozenset({""})),
            ({1, 2}, frozenset({1, 2})),
            (["a", "b", "a"], frozenset({"a", "b"})),
            ((1, "a"), frozenset({1, "a"})),
            (frozenset({7}), frozenset({7})),
            (range(2), frozenset({0, 1})),
        ],
    )
    def test_a_label_choice_is_one_label_or_some_or_any(
        self, choice: Any, labels: frozenset[int | str] | None
    ) -> None:
        pattern = Pattern.from_edges([(0, 1)], vertex_labels=[choice, None], edge_labels=[choice])
        assert pattern.vertices == (QueryVertex("0", labels), QueryVertex("1", None))
        assert pattern.edges == (QueryEdge(0, 1, labels),)

    def test_vertex_labels_say_how_many_vertices_there_are(self) -> None:
        assert Pattern.from_edges(path(3), vertex_labels=[1, None, 2]).num_vertices == 3

    def test_any_iterable_of_pairs_will_do(self) -> None:
        assert Pattern.from_edges(iter(path(4))) == Pattern.from_edges(path(4), num_vertices=4)

    def test_a_query_edge_listed_twice_counts_once(self) -> None:
        assert Pattern.from_edges([(0, 1), (1, 2), (0, 1)]).edges == (QueryEdge(0, 1), QueryEdge(1, 2))

    def test_query_edges_on_one_pair_with_different_labels_are_different(self) -> None:
        assert Pattern.from_edges([(0, 1), (0, 1)], edge_labels=["a", "b"]).num_edges == 2

    def test_thirty_two_vertices_and_all_edges_between_them_are_accepted(self) -> None:
        assert Pattern.from_edges(combinations(range(32), 2)).num_edges == 496

    def test_a_thousand_parallel_query_edges_are_accepted(self) -> None:
        pattern = Pattern.from_edges([(0, 1)] * 1024, edge_labels=list(range(1024)))
        assert pattern.num_edges == 1024

    def test_equal_patterns_are_equal_and_serve_as_keys(self) -> None:
        first = Pattern.from_edges(path(3), vertex_labels=[1, {2, 3}, None], name="p")
        second = Pattern.from_edges(path(3), vertex_labels=[{1}, [3, 2], None], name="p")
        assert first == second
        assert {first: "found"}[second] == "found"
        assert first != Pattern.from_edges(path(3), vertex_labels=[1, {2, 3}, None], name="q")

    def test_a_pattern_cannot_be_changed(self) -> None:
        with pytest.raises(AttributeError):
            Pattern.from_edges(path(3)).name = "other"  # type: ignore[misc]

    def test_a_pattern_can_be_pickled(self) -> None:
        pattern = Pattern.from_edges(path(3), vertex_labels=[1, None, {"a", "b"}], name="p", directed=True)
        assert pickle.loads(pickle.dumps(pattern)) == pattern

    def test_its_repr_says_its_size(self) -> None:
        assert repr(Pattern.from_edges(path(3))) == "Pattern(3 vertices, 2 edges)"
        assert repr(Pattern.from_edges(path(3), name="path")) == "Pattern('path', 3 vertices, 2 edges)"


class TestWhatElementsMayAsk:
    def test_a_vertex_takes_ids_and_a_condition(self) -> None:
        vertex = QueryVertex("a", None, [3, "x", 3], IS_ADULT)  # type: ignore[arg-type]
        assert (vertex.ids, vertex.where) == (frozenset({3, "x"}), IS_ADULT)
        assert QueryVertex("a", ids=5).ids == frozenset({5})  # type: ignore[arg-type]

    def test_an_edge_takes_a_name_and_a_condition(self) -> None:
        edge = QueryEdge(0, 1, name="x", where=IS_ADULT)
        assert (edge.name, edge.where, edge.labels, edge.directed) == ("x", IS_ADULT, None, None)

    def test_from_edges_takes_them_one_each(self) -> None:
        pattern = Pattern.from_edges(
            path(3),
            vertex_ids=[1, None, ["a", "b"]],
            vertex_where=[None, IS_ADULT, None],
            edge_where=[IS_ADULT, None],
            may_coincide=[(2, 0)],
        )
        assert [vertex.ids for vertex in pattern.vertices] == [{1}, None, {"a", "b"}]
        assert [vertex.where for vertex in pattern.vertices] == [None, IS_ADULT, None]
        assert [edge.where for edge in pattern.edges] == [IS_ADULT, None]
        assert pattern.may_coincide == ((0, 2),)

    def test_equal_patterns_are_equal_however_pairs_and_conditions_are_written(self) -> None:
        older = Comparison("age", Operator.GREATER, 60)
        first = Pattern.from_edges(
            path(4),
            vertex_where=[
                AllOf((AllOf((IS_ADULT,)), AllOf((older, Not(AnyOf((IS_ADULT,))))))),
                None,
                None,
                None,
            ],
            may_coincide=[(3, 0), (0, 2), (0, 3)],
        )
        second = Pattern.from_edges(
            path(4),
            vertex_where=[AllOf((older, IS_ADULT, Not(IS_ADULT), older)), None, None, None],
            may_coincide=[(0, 2), (0, 3)],
        )
        assert first == second
        assert {first: "found"}[second] == "found"
        assert pickle.loads(pickle.dumps(first)) == second
        assert first.may_coincide == ((0, 2), (0, 3))

    def test_conditions_that_are_written_in_another_order_are_exchanged(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2)], vertex_attributes={"x": [1] * 3, "y": [2] * 3})
        for where in (
            "a.x = 1 AND a.y = 2 AND b.y = 2 AND b.x = 1",
            "a.x = 1 AND (a.x = 1 AND b.x = 1)",
            "a.x IN [1, 3] AND b.x IN [3, 1, 3]",
            "(a.x IN [1, 3] AND b.y = 2) OR (a.y = 2 AND b.x IN [3, 1])",
            "(a.x = 1 OR a.y = 3) AND (b.y = 3 OR b.x = 1 OR b.y = 3)",
        ):
            assert mf.count(graph, f"(a)--(b) WHERE {where}", symmetry="subgraphs") == 2
        different = "(a.x = 1 OR a.y = 3) AND b.x = 1 AND b.y = 2"
        assert mf.count(graph, f"(a)--(b) WHERE {different}", symmetry="subgraphs") == 4

    def test_values_of_conditions_are_plain_python(self) -> None:
        values = (np.int64(1), np.float32(0.5), np.bool_(True), np.str_("x"))
        where = QueryVertex("a", where=OneOf("k", values)).where  # type: ignore[arg-type]
        assert repr(where) == repr(OneOf("k", (1, 0.5, True, "x")))

    def test_an_operator_may_be_its_sign(self) -> None:
        assert QueryVertex("a", where=Comparison("age", ">=", 18)).where == IS_ADULT  # type: ignore[arg-type]

    def test_an_edge_without_a_name_repeats_one_that_has_one(self) -> None:
        edges = (QueryEdge(0, 1), QueryEdge(0, 1, name="x"), QueryEdge(1, 0), QueryEdge(0, 1, name="x"))
        pattern = Pattern((QueryVertex("a"), QueryVertex("b")), edges)
        assert pattern.edges == (QueryEdge(0, 1, name="x"), QueryEdge(1, 0))

    def test_edges_that_ask_for_different_things_are_different(self) -> None:
        pattern = Pattern.from_edges([(0, 1), (0, 1)], edge_where=[IS_ADULT, None])
        assert pattern.num_edges == 2


class TestFromNetworkx:
    @pytest.mark.parametrize(
        ("kind", "directed"),
        [(nx.Graph, False), (nx.DiGraph, True), (nx.MultiGraph, False), (nx.MultiDiGraph, True)],
    )
    def test_any_kind_of_graph_will_do(self, kind: Any, directed: bool) -> None:
        graph = kind()
        graph.add_node("z", label="bank")
        graph.add_node(3, label={"shop", 7})
        graph.add_edge("z", 3, label="wire")
        graph.add_edge(3, "a")
        pattern = Pattern.from_networkx(graph, name="p")
        assert pattern == Pattern(
            (QueryVertex("z", "bank"), QueryVertex("3", {"shop", 7}), QueryVertex("a")),  # type: ignore[arg-type]
            (QueryEdge(0, 1, "wire", directed), QueryEdge(1, 2, None, directed)),  # type: ignore[arg-type]
            "p",
        )

    def test_parallel_edges_with_labels_of_their_own_stay(self) -> None:
        graph = nx.MultiDiGraph()
        graph.add_edges_from([(0, 1, {"kind": "a"}), (0, 1, {"kind": "b"}), (0, 1, {"kind": "b"})])
        pattern = Pattern.from_networkx(graph, edge_label="kind")
        assert [edge.labels for edge in pattern.edges] == [{"a"}, {"b"}]

    def test_labels_and_directions_can_be_told(self) -> None:
        graph = nx.DiGraph([(0, 1, {"label": 3})])
        graph.nodes[0]["label"] = 4
        pattern = Pattern.from_networkx(
            graph,
            vertex_label=None,
            edge_label=None,
            vertex_attributes=[],
            edge_attributes=[],
            directed=False,
        )
        assert pattern == Pattern.from_edges([(0, 1)], directed=False)

    def test_other_attributes_become_conditions(self) -> None:
        graph = nx.DiGraph()
        graph.add_node("a", type="GABA", label="cell", region=None)
        graph.add_node("b", type={"ACH", "GLUT"})
        graph.add_edge("a", "b", weight=np.int64(5), near=True)
        assert Pattern.from_networkx(graph) == Pattern.parse(
            "(a:cell {type: 'GABA'})-[{weight: 5, near: true}]->(b) WHERE b.type IN ['ACH', 'GLUT']"
        )

    def test_datetimes_become_conditions(self) -> None:
        graph = nx.DiGraph()
        graph.add_edge("a", "b", when=dt.datetime(2024, 3, 1, 12), day=[dt.date(2024, 3, 1)])
        graph.add_edge("b", "c", when=np.datetime64("2024-03-02", "ns"))
        assert Pattern.from_networkx(graph) == Pattern.parse(
            "(a)-[WHERE when = '2024-03-01T12:00:00' AND day IN ['2024-03-01T00:00:00']]->(b)"
            "-[WHERE when = '2024-03-02T00:00:00']->(c)"
        )

    def test_keys_that_are_integers_of_numpy_are_no_conditions(self) -> None:
        graph = nx.MultiGraph()
        graph.add_edge("a", "b", key=np.int64(0))
        assert Pattern.from_networkx(graph) == Pattern.parse("(a)-[]-(b)")

    def test_attributes_become_conditions_if_they_are_chosen(self) -> None:
        graph = nx.DiGraph()
        graph.add_node("a", type="GABA", region=None)
        graph.add_edge("a", "b", weight=5)
        chosen = Pattern.from_networkx(graph, vertex_attributes=["type"], edge_attributes=[])
        assert [edge.where for edge in chosen.edges] == [None]
        assert chosen.vertices[0].where == Comparison("type", Operator.EQUAL, "GABA")

    @pytest.mark.parametrize(
        ("attributes", "message"),
        [
            (
                {"pos": {"x": 1}},
                "node 'a', attribute 'pos': expected an integer, .* found {'x': 1}; vertex_attr",
            ),
            ({"w": float("nan")}, "node 'a', attribute 'w': .* found nan"),
            ({"w": []}, "node 'a', attribute 'w': .* found \\[\\]"),
            ({"label": 2.5}, "node 'a': label: expected an integer, a string, .* found 2.5"),
        ],
    )
    def test_values_that_no_condition_can_have_are_refused_by_name(
        self, attributes: dict[str, Any], message: str
    ) -> None:
        graph = nx.DiGraph([("a", "b")])
        graph.nodes["a"].update(attributes)
        with pytest.raises(PatternError, match=message):
            Pattern.from_networkx(graph)
        if "label" not in attributes:
            assert Pattern.from_networkx(graph, vertex_attributes=[]).num_edges == 1
            with pytest.raises(
                PatternError, match="vertex_attributes: expected names out of those there are"
            ):
                Pattern.from_networkx(graph, vertex_attributes=["nothing"])

    def test_nodes_may_be_tuples(self) -> None:
        pattern = Pattern.from_networkx(nx.grid_2d_graph(2, 2))
        assert [vertex.name for vertex in pattern.vertices] == ["(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)"]
        assert Pattern.parse(str(pattern)) == pattern

    @pytest.mark.parametrize(
        ("graph", "message"),
        [
            ([(0, 1)], "graph: expected a graph of networkx, found list"),
            (None, "graph: expected a graph of networkx, found NoneType"),
            (nx.Graph(), "expected 2 to 32 query vertices, found 0"),
            (nx.Graph([(0, 0), (0, 1)]), "query edge 0: expected two different vertices, found '0' twice"),
            (nx.Graph([(1, "1")]), "expected each vertex name once, found '1' twice"),
            (nx.empty_graph(3), "expected a connected pattern, found no path from vertex '0' to '1'"),
            (nx.path_graph(33), "expected 2 to 32 query vertices, found 33"),
        ],
    )
    def test_what_is_no_pattern_is_refused(self, graph: Any, message: str) -> None:
        with pytest.raises(PatternError) as caught:
            Pattern.from_networkx(graph)
        assert str(caught.value) == message


class TestPatternBuilder:
    def test_builds_what_was_added(self) -> None:
        pattern = (
            PatternBuilder()
            .vertex("payer", "person")
            .vertex("payee", {"person", "shop"})
            .vertex("bank")
            .edge("payer", "payee", {"wire", "cash"}, directed=True)
            .edge("bank", "payee", directed=False)
            .edge("payer", "bank", 3)
            .build("payment")
        )
        assert pattern == Pattern(
            vertices=(
                QueryVertex("payer", frozenset({"person"})),
                QueryVertex("payee", frozenset({"person", "shop"})),
                QueryVertex("bank"),
            ),
            edges=(
                QueryEdge(0, 1, frozenset({"wire", "cash"}), True),
                QueryEdge(2, 1, None, False),
                QueryEdge(0, 2, frozenset({3})),
            ),
            name="payment",
        )

    def test_builds_what_elements_may_ask(self) -> None:
        pattern = (
            PatternBuilder()
            .vertex("a", ids=3)
            .vertex("b", where=IS_ADULT)
            .vertex("c")
            .edge("a", "b", name="x", where=IS_ADULT)
            .edge("b", "c")
            .may_coincide("c", "a")
            .build()
        )
        assert pattern == Pattern(
            (QueryVertex("a", ids=frozenset({3})), QueryVertex("b", where=IS_ADULT), QueryVertex("c")),
            (QueryEdge(0, 1, name="x", where=IS_ADULT), QueryEdge(1, 2)),
            may_coincide=((0, 2),),
        )

    def test_an_edge_added_twice_counts_once(self) -> None:
        builder = PatternBuilder().vertex("a").vertex("b").edge("a", "b").edge("a", "b").edge("b", "a")
        assert builder.build().edges == (QueryEdge(0, 1), QueryEdge(1, 0))

    def test_can_go_on_after_building(self) -> None:
        builder = PatternBuilder().vertex("a").vertex("b").edge("a", "b")
        first = builder.build()
        second = builder.vertex("c").edge("b", "c").build()
        assert (first.num_vertices, second.num_vertices) == (2, 3)

    def test_builds_what_from_edges_makes(self) -> None:
        builder = PatternBuilder().vertex("0").vertex("1").vertex("2").edge("0", "1").edge("1", "2")
        assert builder.build() == Pattern.from_edges(path(3))


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no edges": (lambda: Pattern.from_edges([]), "expected 2 to 32 query vertices, found 0"),
    "one vertex": (
        lambda: Pattern.from_edges([], num_vertices=1),
        "expected 2 to 32 query vertices, found 1",
    ),
    "thirty-three vertices": (
        lambda: Pattern.from_edges(path(33)),
        "expected 2 to 32 query vertices, found 33",
    ),
    "too many query edges": (
        lambda: Pattern.from_edges([(0, 1)] * 1025, edge_labels=list(range(1025))),
        "expected at most 1024 query edges, found 1025",
    ),
    "a self-loop": (
        lambda: Pattern.from_edges([(0, 1), (1, 1)]),
        "query edge 1: expected two different vertices, found '1' twice",
    ),
    "an edge to a vertex beyond the last": (
        lambda: Pattern.from_edges([(0, 1), (1, 5)], num_vertices=3),
        "query edge 1: expected vertices 0 to 2, found 5",
    ),
    "an edge to a vertex before the first": (
        lambda: Pattern.from_edges([(-1, 1)], num_vertices=2),
        "query edge 0: expected vertices 0 to 1, found -1",
    ),
    "two parts": (
        lambda: Pattern.from_edges([(0, 1), (2, 3)]),
        "expected a connected pattern, found no path from vertex '0' to '2'",
    ),
    "a vertex without edges": (
        lambda: Pattern.from_edges([(1, 2)], vertex_labels=[1, 2, 3]),
        "expected a connected pattern, found no path from vertex '0' to '1'",
    ),
    "too few vertex labels": (
        lambda: Pattern.from_edges(path(3), num_vertices=3, vertex_labels=[1]),
        "vertex_labels: expected 3 labels, found 1",
    ),
    "too many edge labels": (
        lambda: Pattern.from_edges(path(3), edge_labels=[1, 2, 3]),
        "edge_labels: expected 2 labels, found 3",
    ),
    "an empty set of labels": (
        lambda: Pattern.from_edges([(0, 1)], vertex_labels=[set(), None]),
        "label: expected at least one label or None (any label), found an empty set",
    ),
    "a fraction for a label": (
        lambda: Pattern.from_edges([(0, 1)], edge_labels=[1.5]),  # type: ignore[list-item]
        "label: expected an integer, a string, a set of them or None, found 1.5",
    ),
    "a boolean for a label": (
        lambda: Pattern.from_edges([(0, 1)], vertex_labels=[True, None]),
        "label: expected an integer, a string, a set of them or None, found True",
    ),
    "None in a set of labels": (
        lambda: Pattern.from_edges([(0, 1)], edge_labels=[{None}]),  # type: ignore[list-item]
        "label: expected an integer, a string, a set of them or None, found None",
    ),
    "two vertices of one name": (
        lambda: Pattern((QueryVertex("a"), QueryVertex("a")), (QueryEdge(0, 1),)),
        "expected each vertex name once, found 'a' twice",
    ),
    "a name taken before": (
        lambda: PatternBuilder().vertex("a").vertex("a"),
        "vertex 'a': expected a new name, found one that is taken",
    ),
    "an edge between unknown vertices": (
        lambda: PatternBuilder().vertex("a").vertex("b").edge("a", "c"),
        "edge 'a' - 'c': expected vertices added before (a, b), found 'c'",
    ),
    "an edge before any vertex": (
        lambda: PatternBuilder().edge("a", "b"),
        "edge 'a' - 'b': expected vertices added before (none), found 'a'",
    ),
    "a built pattern in two parts": (
        lambda: PatternBuilder().vertex("a").vertex("b").build(),
        "expected a connected pattern, found no path from vertex 'a' to 'b'",
    ),
    "a built pattern of nothing": (
        lambda: PatternBuilder().build(),
        "expected 2 to 32 query vertices, found 0",
    ),
}


JOINED = (
    "may_coincide: expected two vertices without an edge between them, found '2' and '1' joined by one"
    " (a graph has no self-loops)"
)
REFUSED |= {
    "an empty set of ids": (
        lambda: Pattern.from_edges([(0, 1)], vertex_ids=[[], None]),
        "id: expected at least one id or None (any vertex), found an empty set",
    ),
    "a fraction for an id": (
        lambda: Pattern.from_edges([(0, 1)], vertex_ids=[1.5, None]),  # type: ignore[list-item]
        "id: expected an integer, a string, a set of them or None, found 1.5",
    ),
    "too few ids": (
        lambda: Pattern.from_edges([(0, 1)], vertex_ids=[1]),
        "vertex_ids: expected 2 ids, found 1",
    ),
    "too many conditions": (
        lambda: Pattern.from_edges([(0, 1)], edge_where=[None, None]),
        "edge_where: expected 1 conditions, found 2",
    ),
    "a number for a name": (
        lambda: QueryVertex(3),  # type: ignore[arg-type]
        "vertex: expected a string for a name, found 3",
    ),
    "None for the name of an edge": (
        lambda: QueryEdge(0, 1, name=None),  # type: ignore[arg-type]
        "edge: expected a string for a name, found None",
    ),
    "two edges of one name": (
        lambda: named_edges("x", "x"),
        "expected an edge name that no vertex and no other edge has, found 'x' twice",
    ),
    "an edge with the name of a vertex": (
        lambda: named_edges("x", "b"),
        "expected an edge name that no vertex and no other edge has, found 'b' twice",
    ),
    "text for a condition": (
        lambda: QueryVertex("a", where="a.x = 1"),  # type: ignore[arg-type]
        "where: expected a condition of motiflux.conditions, found 'a.x = 1'",
    ),
    "a condition on NaN": (
        lambda: QueryVertex("a", where=Comparison("x", Operator.EQUAL, float("nan"))),
        "where: expected an integer, a number, a string, a boolean or a datetime, found nan",
    ),
    "a condition on None": (
        lambda: QueryVertex("a", where=OneOf("x", (None,))),  # type: ignore[arg-type]
        "where: expected an integer, a number, a string, a boolean or a datetime, found None",
    ),
    "an unknown operator": (
        lambda: QueryVertex("a", where=Comparison("x", "~", 1)),  # type: ignore[arg-type]
        "where: expected an operator (=, <>, <, <=, >, >=, STARTS WITH, ENDS WITH, CONTAINS), found '~'",
    ),
    "a number that text starts with": (
        lambda: QueryVertex("a", where=Comparison("x", Operator.STARTS_WITH, 1)),
        "where: expected a string after STARTS WITH, found 1",
    ),
    "an attribute without a name": (
        lambda: QueryVertex("a", where=IsMissing(1)),  # type: ignore[arg-type]
        "where: expected the name of an attribute, found 1",
    ),
    "all of nothing": (
        lambda: QueryVertex("a", where=Not(AllOf(()))),
        "where: expected at least one condition in AllOf, found none",
    ),
    "conditions without end": (
        lambda: QueryVertex("a", where=deep_condition(5000)),
        "where: expected conditions nested at most 50 deep",
    ),
    "a vertex that may coincide with itself": (
        lambda: Pattern.from_edges(path(3), may_coincide=[(1, 1)]),
        "may_coincide: expected two different vertices, found '1' and '1'",
    ),
    "neighbours that may coincide": (
        lambda: Pattern.from_edges(path(3), may_coincide=[(0, 2), (2, 1)]),
        JOINED,
    ),
    "a pair beyond the last vertex": (
        lambda: Pattern.from_edges(path(3), may_coincide=[(0, 3)]),
        "may_coincide: expected vertices 0 to 2, found 3",
    ),
    "three that may coincide": (
        lambda: Pattern.from_edges(path(3), may_coincide=[(0, 1, 2)]),  # type: ignore[list-item]
        "may_coincide: pair 0: expected two vertex numbers, found (0, 1, 2)",
    ),
    "unknown vertices that may coincide": (
        lambda: PatternBuilder().vertex("a").may_coincide("a", "c"),
        "may_coincide 'a', 'c': expected vertices added before (a), found 'c'",
    ),
}


def named_edges(*names: str) -> Pattern:
    edges = (QueryEdge(0, 1, labels, name=name) for labels, name in zip(("p", "q"), names, strict=True))  # type: ignore[arg-type]
    return Pattern((QueryVertex("a"), QueryVertex("b")), tuple(edges))


def deep_condition(depth: int) -> Condition:
    condition: Condition = IS_ADULT
    for _ in range(depth):
        condition = Not(condition)
    return condition


class TestWhatIsRefused:
    @pytest.mark.parametrize(("build", "message"), REFUSED.values(), ids=REFUSED.keys())
    def test_the_error_says_what_was_found_and_expected(
        self, build: Callable[[], object], message: str
    ) -> None:
        with pytest.raises(PatternError) as caught:
            build()
        assert str(caught.value) == message

    @pytest.mark.parametrize(
        "edges",
        [[(0, 1.5)], [("a", "b")], [(0, 1, 2)], [(0,)], [0, 1], [(None, 1)]],
        ids=["a fraction", "names", "a triple", "one end", "bare numbers", "None"],
    )
    def test_what_is_no_pair_of_numbers_is_a_pattern_error(self, edges: Any) -> None:
        with pytest.raises(PatternError, match=r"expected .*found "):
            Pattern.from_edges(edges)

    def test_bytes_are_no_set_of_labels(self) -> None:
        with pytest.raises(PatternError, match=r"found b'ab'"):
            Pattern.from_edges([(0, 1)], edge_labels=[b"ab"])
