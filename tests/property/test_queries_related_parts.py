"""Counts of two parts that one comparison joins, beside all combinations of all choices of copies."""

from __future__ import annotations

import operator
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.api.queries import related_parts, rows

SIZE = 5
OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
# Text, ends of the edges by name, the edges and vertices that may be compared, the condition of the part.
FIRST: list[tuple[str, dict[str, tuple[str, str]], str]] = [
    ("(a)-[x]->(b)", {"x": ("a", "b")}, ""),
    ("(a:1)-[x]->(b)", {"x": ("a", "b")}, ""),
    ("(a)-[x]->(b)-[z]->(e)", {"x": ("a", "b"), "z": ("b", "e")}, ""),
    ("(a)-[x]->(b)-[z]->(e)", {"x": ("a", "b"), "z": ("b", "e")}, "x.t <= z.t"),
    ("(a)-[x]->(b)-[z]->(e)", {"x": ("a", "b"), "z": ("b", "e")}, "a.k < z.t"),
]
SECOND = ("(c)-[y]->(d)", "(c)-[y]->(d:2)")


def compared(left: Any, symbol: str, right: Any) -> bool:
    """Return whether a comparison holds; False where a value is missing."""
    return left is not None and right is not None and bool(OPERATORS[symbol](left, right))


def choices(
    text: str,
    ends: dict[str, tuple[str, str]],
    copies: list[tuple[int, int, Any]],
    values: list[Any],
    holds: Any,
    *,
    differ: bool,
) -> Counter[tuple[int, ...]]:
    """Return the number of choices of copies of each row that has any."""
    names = [name for name in "abecd" if f"({name}" in text]
    odd_or_even = {f"({name}:{label}": range(label - 1, SIZE, 2) for name in names for label in (1, 2)}
    fits = [
        next((some for start, some in odd_or_even.items() if start in text and start[1] == name), range(SIZE))
        for name in names
    ]
    found: Counter[tuple[int, ...]] = Counter()
    for images in product(*fits):
        if differ and len(set(images)) < len(images):
            continue
        image = dict(zip(names, images, strict=True))
        there = [[one for one in copies if one[:2] == (image[u], image[v])] for u, v in ends.values()]
        for chosen in product(*there):
            read = {f"{name}.t": copy[2] for name, copy in zip(ends, chosen, strict=True)}
            read |= {f"{name}.k": values[vertex] for name, vertex in image.items()}
            found[images] += holds(read)
    return Counter({row: number for row, number in found.items() if number})


@st.composite
def cases(draw: Any) -> tuple[str, dict[str, tuple[str, str]], Any]:
    first, ends, own = draw(st.sampled_from(FIRST))
    symbol = draw(st.sampled_from(list(OPERATORS)))
    sides = [draw(st.sampled_from(["x.t", "a.k", "b.k"])), draw(st.sampled_from(["y.t", "c.k"]))]
    if draw(st.booleans()):
        sides.reverse()
    factor = draw(st.sampled_from([1, 1, 2, -1, -2, Fraction(1, 2)]))
    offset = draw(st.sampled_from([0, 0, 1, -2]))
    where = f"{sides[0]} {symbol} {float(factor)} * {sides[1]} + {offset}"
    if (factor, offset) == (1, 0):
        where = f"{sides[0]} {symbol} {sides[1]}"

    def holds(read: dict[str, Any]) -> bool:
        if own:
            left, sign, right = own.split()
            if not compared(read[left], sign, read[right]):
                return False
        right = read[sides[1]]
        return compared(read[sides[0]], symbol, None if right is None else factor * right + offset)

    wheres = " AND ".join(one for one in (own, where) if one)
    return f"{first}, {draw(st.sampled_from(SECOND))} WHERE {wheres}", ends | {"y": ("c", "d")}, holds


ENDS = st.permutations(range(SIZE)).map(lambda some: tuple(some[:2]))
NUMBER = st.sampled_from([0, 1, 2, 3, None])
HALF = st.sampled_from([0.5, 1.0, 2.5, -1.0, None])


@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
@pytest.mark.parametrize("kind", ["whole numbers", "floats"])
@pytest.mark.turns(4)
def test_counts_are_those_of_all_combinations(semantics: Any, kind: str) -> None:
    number = NUMBER if kind == "whole numbers" else HALF

    @settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
    @given(
        cases(),
        st.lists(st.tuples(ENDS, number), min_size=1, max_size=12),
        st.lists(NUMBER, min_size=SIZE, max_size=SIZE),
    )
    def holds(case: Any, drawn: list[Any], values: list[Any]) -> None:
        text, ends, condition = case
        copies = [(*pair, time) for pair, time in drawn]
        graph = mf.Graph.from_edges(
            [one[:2] for one in copies],
            directed=True,
            num_vertices=SIZE,
            vertex_labels=[1 + vertex % 2 for vertex in range(SIZE)],
            edge_attributes={"t": [one[2] for one in copies]},
            vertex_attributes={"k": values},
        )
        expected = choices(text, ends, copies, values, condition, differ=semantics == "isomorphism")
        assert mf.count(graph, text, semantics=semantics) == len(expected), text
        assert mf.count(graph, text, copies=True, semantics=semantics) == expected.total(), text
        limited = mf.count(graph, text, semantics=semantics, limit=2)
        assert (limited, limited.complete) == (min(2, len(expected)), len(expected) <= 2)

    holds()


def transfers(size: int) -> mf.Graph:
    """Return random transfers, several between most pairs of few vertices."""
    rng = np.random.default_rng(5)
    return mf.Graph.from_edges(
        [rng.permutation(12)[:2] for _ in range(size)],
        directed=True,
        edge_attributes={"t": rng.integers(0, 50, size), "w": rng.random(size)},
    )


@pytest.mark.parametrize(
    "text",
    [
        "(a)-[x]->(b), (c)-[y]->(d) WHERE x.t < y.t",
        "(a)-[x]->(b)-[z]->(e), (c)-[y]->(d) WHERE x.t < z.t AND z.w >= 0.9 * y.w - 0.1",
        "(a)-[x]->(b), (c)-[y]->(d)-[z]->(c) WHERE id(a) < id(d)",
    ],
)
@pytest.mark.parametrize("copies", [False, True])
def test_no_combination_is_listed(text: str, copies: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = transfers(150)
    monkeypatch.setattr(related_parts, "_MOST_CHOICES", 7)
    found = mf.count(graph, text, copies=copies)
    with monkeypatch.context() as patch:
        patch.setattr(rows.CaseSearch, "counted", lambda *_: None)
        assert mf.count(graph, text, copies=copies) == found > 0
    monkeypatch.setattr(rows.CaseSearch, "begin", None)
    assert mf.count(graph, text, copies=copies) == found


@pytest.mark.parametrize("most", ["_MOST_SETS", "_MOST_HELD"])
def test_combinations_are_listed_where_parts_are_too_many_ways_the_same(
    most: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "(a)-[x]->(b), (c)-[y]->(d) WHERE x.t < y.t"
    expected = mf.count(transfers(100), text)
    monkeypatch.setattr(related_parts, most, 2)
    assert mf.count(transfers(100), text) == expected


def test_sets_of_vertices_that_coincide_have_each_vertex_once() -> None:
    rivals = list(product(range(2), range(3)))
    assert related_parts.coinciding([]) == [()]
    found = related_parts.coinciding(rivals)
    assert found is not None
    assert Counter(map(len, found)) == {0: 1, 1: 6, 2: 6}
    assert related_parts.coinciding(list(product(range(5), range(5)))) is None


def test_a_count_that_runs_out_of_time_is_a_lower_bound() -> None:
    graph = transfers(150)
    text = "(a)-[x]->(b), (c)-[y]->(d) WHERE x.t < y.t"
    found = mf.count(graph, text, timeout=1e-9)
    assert not found.complete
    assert found <= mf.count(graph, text)
