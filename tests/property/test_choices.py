"""Choices of copies (csrc/copies/choices.cpp): existence, number, lists; against all products of copies."""

from __future__ import annotations

from itertools import product
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux import _native
from motiflux.graph import Direction
from motiflux.graph import copies as copies_module
from motiflux.graph.copies import ColumnKey, CopyKey, Form

OPERATORS = [eq, ne, lt, le, gt, ge]


@st.composite
def networks(
    draw: st.DrawFn,
) -> tuple[list[list[np.ndarray]], list[tuple[Any, ...]], Any, list[tuple[int, int]]]:
    """Draw columns of variables, comparisons, a span or None, and ranges of copies."""
    floats = draw(st.booleans())
    size = draw(st.integers(1, 4))
    columns, ranges = [], []
    for _ in range(size):
        copies = draw(st.integers(1, 6))
        values = draw(st.lists(st.integers(-3, 6), min_size=copies, max_size=copies))
        others = draw(st.lists(st.integers(-3, 6), min_size=copies, max_size=copies))
        one = [np.array(sorted(values)), np.array(others)]
        columns.append([_bits(column, floats) for column in one])
        first = draw(st.integers(0, copies - 1))
        ranges.append((first, draw(st.integers(first, copies))))
    place, column = st.integers(0, size - 1), st.sampled_from((0, 0, 1))
    comparisons = []
    for _ in range(draw(st.integers(0, 5))):
        m, n = draw(st.integers(1, 3)), draw(st.sampled_from((1, 1, 2, -1, -2)))
        c = draw(st.integers(-3, 3))
        operator = draw(st.integers(0, 5))
        plain = draw(st.booleans())
        comparisons.append(
            (
                draw(place), draw(place), draw(column), draw(column), operator, floats,
                *((1, 1, 0, 0, 1.0, 0.0) if plain else (m, n, c >> 64, c & (2**64 - 1), n / m, c / m)),
            )
        )  # fmt: skip
    length = draw(st.none() | st.integers(0, 5))
    span = None if length is None else (floats, 0, length, float(length))
    return columns, comparisons, span, ranges


def _bits(values: np.ndarray, floats: bool) -> np.ndarray:
    return values.astype(np.float64).view(np.int64) if floats else values.astype(np.int64)


def _value(column: np.ndarray, place: int, floats: bool) -> Any:
    return float(column.view(np.float64)[place]) if floats else int(column[place])


def _expected(
    columns: list[list[np.ndarray]],
    comparisons: list[tuple[Any, ...]],
    span: Any,
    ranges: list[tuple[int, int]],
) -> list[tuple[int, ...]]:
    def holds(one: tuple[Any, ...], choice: tuple[int, ...]) -> bool:
        left, right, left_column, right_column, operator, floats, m, n, high, low, factor, offset = one
        a = _value(columns[left][left_column], choice[left], floats)
        b = _value(columns[right][right_column], choice[right], floats)
        sides = (a, factor * b + offset) if floats else (m * a, n * b + (high << 64 | low))
        return bool(OPERATORS[operator](*sides))

    def within(choice: tuple[int, ...]) -> bool:
        if span is None:
            return True
        floats = span[0]
        values = [_value(one[0], place, floats) for one, place in zip(columns, choice, strict=True)]
        return bool(max(values) <= min(values) + (span[3] if floats else span[2]))

    return [
        choice
        for choice in product(*(range(first, last) for first, last in ranges))
        if within(choice) and all(holds(one, choice) for one in comparisons)
    ]


def _native_of(
    columns: list[list[np.ndarray]], comparisons: list[tuple[Any, ...]], span: Any, levels: int = 1
) -> _native.Comparisons:
    return _native.Comparisons(
        variables=[(False, 0, 0, one, None, None) for one in columns],
        comparisons=comparisons,
        span=span,
        levels=levels,
        count_choices=False,
    )


@given(networks())
def test_choices_are_those_of_all_products(network: Any) -> None:
    columns, comparisons, span, ranges = network
    expected = _expected(columns, comparisons, span, ranges)
    native = _native_of(columns, comparisons, span)
    assert native.list(ranges) == expected
    assert native.count(ranges) == native.count_to_many(ranges) == len(expected)
    assert native.exists(ranges) == bool(expected)


def test_many_copies_are_counted_without_listing_them() -> None:
    times = np.arange(1000, dtype=np.int64)
    chain = [(at, at + 1, 0, 0, 2, False, 1, 1, 0, 0, 1.0, 0.0) for at in range(5)]
    native = _native_of([[times]] * 6, chain, None)
    assert native.count([(0, 1000)] * 6) == 1_368_173_298_991_500  # 1000 choose 6
    cycle = [*chain, (5, 0, 0, 0, 2, False, 1, 1, 0, 0, 1.0, 0.0)]
    assert not _native_of([[times[:30]]] * 6, cycle, None).exists([(0, 30)] * 6)


def test_a_number_of_choices_beyond_128_bits_is_an_error() -> None:
    times = np.zeros(2**14, dtype=np.int64)
    native = _native_of([[times]] * 10, [], None)
    with pytest.raises(OverflowError, match=r"exceeds 2\^128 - 1"):
        native.count([(0, 2**14)] * 10)
    assert native.count_to_many([(0, 2**14)] * 10) == 2**64
    assert native.count_to_many([(0, 2**14)] * 4 + [(0, 1)] * 6) == 2**56


@pytest.mark.parametrize("operator", range(6))
@pytest.mark.parametrize("length", [None, 0, 1, 5])
def test_numbers_of_choices_are_exact_up_to_many_beside_larger_ones(
    operator: int, length: int | None
) -> None:
    few, many = np.arange(4), np.array([0] * 4096 + [1, 3, 3])
    below = {0: 4096**11, 1: 1, 2: 0, 3: 2**11}  # eleven edges whose value is that of the second one
    second = [(1, at, 0, 0, 0, False, 1, 1, 0, 0, 1.0, 0.0) for at in range(2, 13)]
    first = (0, 1, 0, 0, operator, False, 1, 1, 0, 0, 1.0, 0.0)
    span = None if length is None else (False, 0, length, float(length))
    native = _native_of([[few], [few], *([[many]] * 11)], [first, *second], span)
    for begin in range(4):
        ranges = [(begin, 4), (0, 4), *([(0, len(many))] * 11)]
        expected = sum(
            number
            for one in range(begin, 4)
            for other, number in below.items()
            if OPERATORS[operator](one, other) and (length is None or abs(one - other) <= length)
        )
        assert native.count_to_many(ranges) == min(expected, 2**64)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from((-1.5, -0.0, 0.0, 2.0, 7.5)))),
    st.booleans(),
)
def test_copies_are_sorted_by_pair_and_by_vertex(edges: list[tuple[int, int, float]], floats: bool) -> None:
    edges = sorted((u, v, value) for u, v, value in edges)
    arcs = sorted({(u, v) for u, v, _ in edges})
    starts = [next(at for at, edge in enumerate(edges) if edge[:2] == arc) for arc in arcs]
    values = np.array([edge[2] for edge in edges])
    column = values.view(np.int64) if floats else values.astype(np.int64)
    marks = np.array([at % 3 != 2 for at in range(len(edges))], dtype=np.uint8)
    offsets, neighbors, firsts, rows, columns, by_value, others = _native.build_copies(
        offsets=np.array([sum(u < vertex for u, _ in arcs) for vertex in range(6)], dtype=np.uint64),
        neighbors=np.array([v for _, v in arcs], dtype=np.uint32),
        edges=None,
        starts=np.array(starts, dtype=np.int64),
        copies=len(edges),
        arc_mask=None,
        row_mask=marks,
        columns=[column],
        floats=floats,
        by_value=True,
    )
    assert others is not None
    others, places = others
    decoded = [(one.view(np.float64) if floats else one).tolist() for one in (*columns, *by_value)]
    kept = [at for at in range(len(edges)) if marks[at]]
    assert sorted(rows.tolist()) == kept
    plain = column.view(np.float64) if floats else column
    for vertex in range(5):
        first, last = int(offsets[vertex]), int(offsets[vertex + 1])
        pairs = [v for u, v in arcs if u == vertex and any(edges[at][:2] == (u, v) for at in kept)]
        assert neighbors[first:last].tolist() == pairs
        for pair, other in zip(range(first, last), pairs, strict=True):
            group = slice(int(firsts[pair]), int(firsts[pair + 1]))
            expected = sorted(plain[at] for at in kept if edges[at][:2] == (vertex, other))
            assert decoded[0][group] == expected
        whole = slice(int(firsts[first]), int(firsts[last]))
        expected_row = sorted((plain[at], edges[at][1]) for at in kept if edges[at][0] == vertex)
        assert decoded[1][whole] == [value for value, _ in expected_row]
    again, places_again = _native.sort_copies(
        offsets=offsets, neighbors=neighbors, starts=firsts, columns=columns, floats=floats
    )
    for first_time, second_time in zip((*by_value, others, places), (*again, *places_again), strict=True):
        np.testing.assert_array_equal(first_time, second_time)
        assert sorted(zip(decoded[1][whole], others[whole].tolist(), strict=True)) == expected_row
        assert neighbors[first:last][places[whole]].tolist() == others[whole].tolist()


@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.integers(0, 4),
            st.sampled_from(("a", "b")),
            st.sampled_from((None, -1.5, -0.0, 0.0, 7.5)),
            st.integers(0, 3),
        ),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
    st.sampled_from(
        (
            (),
            (ColumnKey("time", Form.INTEGER),),
            (ColumnKey("x", Form.FLOAT), ColumnKey("time", Form.INTEGER)),
        )
    ),
    st.booleans(),
)
def test_copies_turned_around_are_those_read_by_target(
    edges: list[tuple[int, int, str, float | None, int]],
    one_label: bool,
    columns: tuple[ColumnKey, ...],
    by_value: bool,
) -> None:
    graph = mf.Graph.from_edges(
        [edge[:2] for edge in edges],
        directed=True,
        num_vertices=5,
        edge_labels=[edge[2] for edge in edges],
        edge_attributes={"x": [edge[3] for edge in edges], "time": [edge[4] for edge in edges]},
        self_loops="drop",
    )
    key = CopyKey(Direction.IN, (0,) if one_label else None, None, columns, by_value)
    found, expected = copies_module.copy_index(graph, key), copies_module._built(graph, key)
    for array in ("offsets", "neighbors", "starts", "rows", "lasts"):
        np.testing.assert_array_equal(getattr(found, array), getattr(expected, array))
    np.testing.assert_array_equal(found.columns, expected.columns)
    assert (found.by_value is None) == (expected.by_value is None)
    if found.by_value is not None and expected.by_value is not None:
        np.testing.assert_array_equal(found.by_value.columns, expected.by_value.columns)
        for one, other in zip(found.by_value.arrays, expected.by_value.arrays, strict=True):
            np.testing.assert_array_equal(one, other)


def test_copies_that_are_malformed_are_not_turned_around() -> None:
    given = {
        "offsets": np.array([0, 1, 1], dtype=np.uint64),
        "neighbors": np.array([1], dtype=np.uint32),
        "starts": np.array([0, 2], dtype=np.uint64),
        "rows": np.array([4, 7]),
        "columns": [],
    }
    assert _native.turn_copies(**given)[0].tolist() == [0, 0, 1]
    for name, value, message in (
        ("neighbors", np.array([2], dtype=np.uint32), "no such vertex"),
        ("rows", np.array([4]), "one row of attributes for each copy"),
        ("starts", np.array([1, 2], dtype=np.uint64), "starts do not ascend from 0"),
        ("offsets", np.array([1, 1, 1], dtype=np.uint64), "offsets do not ascend from 0"),
    ):
        with pytest.raises(ValueError, match=message):
            _native.turn_copies(**{**given, name: value})
