"""Values are numbered as NumPy would, whatever they are and however many threads there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import motiflux as mf
from motiflux import _native
from motiflux.interop.dense import dense_codes

MANY = 300_000
"""Enough for several threads and for a table that grows."""


def check(columns: list[Any], threads: int) -> None:
    values, codes = dense_codes(columns, threads)
    expected, inverse = np.unique(np.concatenate(columns), return_inverse=True)
    assert values.tolist() == expected.tolist()
    assert np.array_equal(np.concatenate(codes), inverse.reshape(-1))


@pytest.mark.turns(8)
@settings(max_examples=200, deadline=None)
@given(
    first=hnp.arrays(np.int64, st.integers(0, 20), elements=st.integers(-(2**63), 2**63 - 1)),
    second=hnp.arrays(np.int64, st.integers(0, 20), elements=st.integers(-3, 3)),
)
def test_integers_are_numbered_in_ascending_order(first: Any, second: Any) -> None:
    check([first, second], 2)


@pytest.mark.turns(8)
@settings(max_examples=100, deadline=None)
@given(
    first=hnp.arrays("U3", st.integers(0, 20)),
    second=hnp.arrays("U1", st.integers(0, 20), elements=st.sampled_from(["", "a", "ä", "\U0001f600"])),
)
def test_strings_are_numbered_in_ascending_order(first: Any, second: Any) -> None:
    check([first, second], 2)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", ">i4", ">i8"])
def test_every_width_is_numbered(dtype):
    limits = np.iinfo(np.dtype(dtype).newbyteorder("="))
    column = np.array([limits.max, limits.min, 5, limits.max], dtype=dtype)
    check([column, np.array([7, 5], dtype=dtype)], 1)
    check([column, np.array([-1, 2**40])], 1)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("spread", [1, 2**40 // 3, -(2**44) + 1])
def test_many_integers_are_numbered_by_several_threads(threads, spread):
    rng = np.random.default_rng(1)
    edges = rng.integers(0, MANY // 2, size=(MANY, 2)) * spread
    check([edges[:, 0], edges[:, 1]], threads)
    check([edges[::-3, 0]], threads)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_many_strings_are_numbered_by_several_threads(threads):
    rng = np.random.default_rng(1)
    check([rng.integers(0, MANY // 4, MANY).astype("U7"), np.array(["x", "x"])], threads)


def test_columns_that_no_number_of_entries_apart_are_numbered():
    packed = np.zeros(5, dtype=[("flag", "i1"), ("id", "i8")])
    packed["id"] = [2**50, -1, 7, 7, 2**50]
    check([packed["id"]], 1)


def test_the_largest_span_is_numbered():
    check([np.array([2**63 - 1, -(2**63), 0])], 2)


def test_types_that_are_not_numbered_are_refused():
    for columns in ([np.zeros(2)], [np.zeros(2, np.int64), np.zeros(2, np.int32)]):
        with pytest.raises(TypeError):
            _native.number_integers(columns, 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a column"):
        _native.number_integers([], 1)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), directed=st.booleans(), labelled=st.booleans())
def test_edges_are_sorted_by_their_ends_their_label_and_their_place(data, directed, labelled):
    count = data.draw(st.integers(2, 6))
    end = st.integers(0, count - 1)
    pairs = data.draw(st.lists(st.tuples(end, end).filter(lambda pair: pair[0] != pair[1]), max_size=12))
    labels = data.draw(st.lists(st.integers(0, 2), min_size=len(pairs), max_size=len(pairs)))
    order = np.array(data.draw(st.permutations(range(count))), dtype=np.uint32)
    internal = np.argsort(order)

    def key(place: int) -> tuple[Any, ...]:
        ends = [int(internal[vertex]) for vertex in pairs[place]]
        return (*(ends if directed else sorted(ends)), labels[place] if labelled else 0, place)

    ends = np.array(pairs, dtype=np.uint32).reshape(-1, 2)
    codes = np.array(labels, dtype=np.uint32) if labelled else None
    columns = np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])
    found = _native.sort_edges(*columns, codes, order, directed, 2)
    assert found.tolist() == sorted(range(len(pairs)), key=key)


def test_many_edges_keep_their_attributes_on_several_threads():
    rng = np.random.default_rng(2)
    edges = rng.integers(0, 3000, size=(MANY, 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    weights = edges[:, 0] * 10_000 + edges[:, 1]
    graph = mf.Graph.from_edges(edges, directed=True, edge_attributes={"w": weights}, threads=3)
    sources, targets, _, copies = graph.to_edges()
    expected = np.repeat(sources * 10_000 + targets, copies)
    assert np.array_equal(graph.edge_attributes["w"].to_numpy(), expected)


def test_rows_of_many_edges_are_the_same_on_any_number_of_threads():
    rng = np.random.default_rng(3)
    edges = rng.integers(0, 2**60, 40_000)[rng.integers(0, 40_000, size=(MANY, 2))]
    one, other = (mf.Graph.from_edges(edges, self_loops="drop", threads=threads) for threads in (1, 4))
    assert np.array_equal(one.vertex_ids, other.vertex_ids)
    assert np.array_equal(one.forward.neighbors, other.forward.neighbors)
    assert one.self_loops_dropped == other.self_loops_dropped == int((edges[:, 0] == edges[:, 1]).sum())
