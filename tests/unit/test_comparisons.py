"""Comparisons between attributes of several query vertices and edges, as patterns keep and write them."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from motiflux import Pattern, PatternBuilder, PatternError
from motiflux.comparisons import Duration, Element, Operand, Relation, Within
from motiflux.conditions import Operator
from motiflux.pattern.automorphism import automorphisms

PATH = "(a)-[x]->(b)-[y]->(c)"
HOUR = 3600 * 10**9


def edge(position: int, attribute: str = "t") -> Operand:
    return Operand(Element.EDGE, position, attribute)


def relation_with(offset: Any) -> Relation:
    return Relation(edge(0), Operator.LESS, edge(1), offset=offset)


def vertex(position: int, attribute: str | None) -> Operand:
    return Operand(Element.VERTEX, position, attribute)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.t < y.t", Relation(edge(0), Operator.LESS, edge(1))),
        ("y.t > x.t", Relation(edge(0), Operator.LESS, edge(1))),
        ("NOT x.t >= y.t", Relation(edge(0), Operator.LESS, edge(1))),
        ("y.t - x.t < 1h", Relation(edge(0), Operator.GREATER, edge(1), offset=Duration(-HOUR))),
        ("y.t < x.t + 1h", Relation(edge(0), Operator.GREATER, edge(1), offset=Duration(-HOUR))),
        ("y.t - 1h < x.t", Relation(edge(0), Operator.GREATER, edge(1), offset=Duration(-HOUR))),
        ("1h > y.t - x.t", Relation(edge(0), Operator.GREATER, edge(1), offset=Duration(-HOUR))),
        ("y.t - x.t < 2 * 30m", Relation(edge(0), Operator.GREATER, edge(1), offset=Duration(-HOUR))),
        ("y.t >= 0.9 * x.t", Relation(edge(1), Operator.AT_LEAST, edge(0), Fraction(9, 10))),
        ("0.9 * x.t <= y.t", Relation(edge(1), Operator.AT_LEAST, edge(0), Fraction(9, 10))),
        ("x.t * 9 / 10 - y.t <= 0", Relation(edge(1), Operator.AT_LEAST, edge(0), Fraction(9, 10))),
        ("2 * x.t < 3 * y.t + 1", Relation(edge(0), Operator.LESS, edge(1), Fraction(3, 2), Fraction(1, 2))),
        ("x.t + y.t = 5", Relation(edge(0), Operator.EQUAL, edge(1), Fraction(-1), Fraction(5))),
        ("a.k <> c.k", Relation(vertex(0, "k"), Operator.UNEQUAL, vertex(2, "k"))),
        ("id(a) < id(c)", Relation(vertex(0, None), Operator.LESS, vertex(2, None))),
        ("x.fee < x.t", Relation(edge(0, "fee"), Operator.LESS, edge(0))),
        ("x.t > b.opened", Relation(vertex(1, "opened"), Operator.LESS, edge(0))),
    ],
)
def test_a_comparison_has_one_form(text: str, expected: Relation) -> None:
    pattern = Pattern.parse(f"{PATH} WHERE {text}")
    assert pattern.comparisons == (expected,)
    assert Pattern.parse(str(pattern)) == pattern


def test_a_chain_is_a_comparison_for_each_two_neighbours() -> None:
    ring = "(a)-[x]->(b)-[y]->(c)-[z]->(a)"
    chain = Pattern.parse(f"{ring} WHERE x.t < y.t <= z.t")
    assert chain == Pattern.parse(f"{ring} WHERE z.t >= y.t AND x.t < y.t")
    assert str(Pattern.parse(f"{ring} WHERE 5 < x.t < y.t")).endswith("WHERE x.t > 5 AND x.t < y.t")


def test_a_comparison_inside_brackets_names_its_own_attributes_bare() -> None:
    inside = Pattern.parse("(a)-[x]->(b)-[y WHERE t > x.t AND k = 1]->(c)")
    assert inside == Pattern.parse(f"{PATH} WHERE x.t < y.t AND y.k = 1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("WITHIN 3d", Within(Duration(72 * HOUR))),
        ("WITHIN '3d'", Within(Duration(72 * HOUR))),
        ("WITHIN 1h30m OF t", Within(Duration(HOUR * 3 // 2), "t")),
        ("WITHIN 250 OF `my time`", Within(Fraction(250), "my time")),
        ("WITHIN 2h WITHIN 1h", Within(Duration(HOUR))),
    ],
)
def test_a_span_is_over_all_edges(text: str, expected: Within) -> None:
    pattern = Pattern.parse(f"{PATH} {text}")
    assert pattern.comparisons == (expected,)
    assert Pattern.parse(str(pattern)) == pattern


def test_vertices_and_attributes_may_be_called_within_and_of() -> None:
    pattern = Pattern.parse("(within)-[of]->(b) WHERE of.within < b.of WITHIN 1 OF of")
    assert Pattern.parse(str(pattern)) == pattern
    assert [one.name for one in (*pattern.vertices, *pattern.edges)] == ["within", "b", "of"]


def test_edges_that_are_compared_and_have_no_name_get_one() -> None:
    pattern = Pattern.from_edges(
        [(0, 1), (1, 2), (0, 1)], comparisons=[Relation(edge(2), Operator.LESS, edge(1))], directed=True
    )
    assert str(pattern) == "(0), (1), (2), (1)-[e0]->(2), (0)-[e1]->(1) WHERE e0.t > e1.t"


def test_comparisons_follow_edges_of_which_repetitions_are_left_out() -> None:
    pattern = Pattern.from_edges(
        [(0, 1), (0, 1), (1, 2), (2, 0)],
        comparisons=[Relation(edge(2), Operator.LESS, edge(3))],
        directed=True,
    )
    assert str(pattern) == "(0)-->(1), (1)-[e0]->(2), (2)-[e1]->(0) WHERE e0.t < e1.t"


@pytest.mark.parametrize("hour", ["1h", dt.timedelta(hours=1), np.timedelta64(60, "m"), Duration(HOUR)])
def test_patterns_are_built_with_comparisons_by_name(hour: object) -> None:
    builder = PatternBuilder().vertex("a").vertex("b").vertex("c")
    builder = builder.edge("a", "b", name="x", directed=True).edge("b", "c", name="y", directed=True)
    builder = builder.compare(("y", "t"), "<", ("x", "t"), offset=hour)  # type: ignore[arg-type]
    builder = builder.compare(("y", "k"), ">=", ("x", "k"), factor=0.9).compare("a", "<>", "c")
    expected = f"{PATH} WHERE y.t - x.t < 1h AND y.k >= 0.9 * x.k AND id(a) <> id(c) WITHIN 2"
    assert builder.within(2).build() == Pattern.parse(expected)
    with pytest.raises(PatternError, match=r"expected a vertex or an edge added before \(a, b, c, x, y\)"):
        builder.compare(("z", "t"), "<", ("x", "t"))


@pytest.mark.parametrize(
    ("comparison", "message"),
    [
        (Relation(edge(0), Operator.LESS, edge(7)), "expected edges 0 to 1, found 7"),
        (Relation(edge(0), Operator.LESS, vertex(-1, "t")), "expected vertices 0 to 2, found -1"),
        (Relation(edge(0), Operator.CONTAINS, edge(1)), "expected an operator"),
        (Relation(edge(0), Operator.LESS, edge(0)), "expected two different attributes, found one twice"),
        (Relation(edge(0), Operator.LESS, edge(1), Fraction(0)), "factor: expected a number that is not 0"),
        (Relation(edge(0), Operator.LESS, edge(1), Fraction(2), Duration(1)), "expected 1 beside a duration"),
        (Relation(edge(0), Operator.LESS, edge(1), Fraction(2**70)), "at most 18 digits"),
        (relation_with("soon"), "expected a number or a duration"),
        (relation_with(float("nan")), "expected a number"),
        (Relation(Operand(Element.EDGE, 0), Operator.LESS, edge(1)), "an edge, which has no id"),
        (Relation(edge(0, ""), Operator.LESS, edge(1)), "expected the name of an attribute"),
        (Within(Fraction(-1)), "expected a span that is not negative"),
        (Within(Duration(1), ""), "expected the name of an attribute"),
        ("x < y", "expected a comparison of motiflux.comparisons"),
    ],
)
def test_what_is_no_comparison_is_refused(comparison: Relation, message: str) -> None:
    with pytest.raises(PatternError, match=message):
        Pattern.from_edges([(0, 1), (1, 2)], comparisons=[comparison])


def test_a_span_is_a_number_or_a_duration() -> None:
    with pytest.raises(PatternError, match="found both"):
        Pattern.from_edges([(0, 1)], comparisons=[Within(Fraction(1)), Within(Duration(1))])


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("(a)-[x]->(b)-[y]->(c)-[z]->(a)", 3),
        ("(a)-[x]->(b)-[y]->(c)-[z]->(a) WITHIN 3d", 3),
        ("(a)-[x]->(b)-[y]->(c)-[z]->(a) WHERE x.t < y.t < z.t", 1),
        ("(a)-[x]->(b)-[y]->(c)-[z]->(a) WHERE x.t = y.t = z.t AND x.t = z.t", 3),
        ("(a)-[x]->(b), (a)-[y]->(c) WHERE x.t <> y.t", 2),
        ("(a)-[x]->(b), (a)-[y]->(c) WHERE x.t + y.t < 3", 2),
        ("(a)-[x]->(b), (a)-[y]->(c) WHERE x.t + y.k < 3", 1),
        ("(a)-[x]->(b), (a)-[y]->(c) WHERE x.t - y.t < 3", 1),
        ("(a)-[x]->(b), (a)-[y]->(c) WHERE x.t - y.t < 3 AND y.t - x.t < 3", 2),
        ("(a)--(b)--(c) WHERE id(a) < id(c)", 1),
        ("(a)--(b)--(c) WHERE a.k < c.k AND c.k < a.k", 2),
        # Exchanging b and c exchanges the parallel edges too.
        ("(a)-[x]->(b), (a)-[y]->(b), (a)-[z]->(c), (a)-[w]->(c) WHERE x.t < y.t AND w.t < z.t", 2),
        ("(a)-[x]->(b), (a)-[y]->(b), (a)-[z]->(c), (a)-[w]->(c) WHERE x.t < y.t < z.t AND w.t < z.t", 1),
    ],
)
def test_automorphisms_keep_comparisons(text: str, order: int) -> None:
    assert automorphisms(Pattern.parse(text), directed=True).order == order


def test_automorphisms_of_choices_keep_the_number_of_query_edges() -> None:
    pattern = Pattern.parse("(a)-[x]->(b), (a)-[y]->(b), (a)-[z]->(c)")
    assert automorphisms(pattern, directed=True).order == 2
    assert automorphisms(pattern, directed=True, every_edge=True).order == 1
