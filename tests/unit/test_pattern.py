"""Patterns: what they are made from and what is refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

from motiflux import Pattern, PatternBuilder, PatternError, QueryEdge, QueryVertex


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
