"""Random numbers that are a function of their place, and random orders."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiflux import _native
from motiflux.generate.draws import Stream, draw_codes, draw_units, permute, zipf_shares

# Published with the generator: counter, key, result.
KNOWN_ANSWERS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_philox_gives_the_published_answers(
    counter: tuple[int, int, int, int], key: tuple[int, int], expected: tuple[int, int, int, int]
) -> None:
    assert _native.philox(counter, key) == expected


def test_a_place_is_the_seed_as_key_and_index_stream_part_as_counter() -> None:
    seed, index, stream = 0x0123456789ABCDEF, 2**32 + 5, 7
    words = _native.philox((5, 1, stream, 0), (seed & 0xFFFFFFFF, seed >> 32))
    expected = ((words[1] << 32 | words[0]) >> 11) * 2.0**-53
    assert draw_units(seed, stream, index, 1, 1)[0] == expected


@given(st.integers(1, 3000), st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
def test_a_random_order_has_every_number_once(size: int, seed: int, stream: int) -> None:
    order = permute(seed, stream, size, np.arange(size, dtype=np.uint32), 1)
    assert np.array_equal(np.sort(order), np.arange(size))


def test_every_order_of_a_few_numbers_comes_equally_often() -> None:
    numbers = np.arange(4, dtype=np.uint32)
    orders = [tuple(permute(seed, 1, 4, numbers, 1).tolist()) for seed in range(4800)]
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 24
    # 23 degrees of freedom: 60 is passed once in 30,000 times.
    assert ((counts - 200) ** 2 / 200).sum() < 60


def test_where_a_number_goes_says_nothing_of_where_the_next_one_does() -> None:
    size = 100_003
    order = permute(3, 1, size, np.arange(size, dtype=np.uint32), 2).astype(np.int64)
    steps = np.histogram(np.diff(order) % size, bins=50, range=(0, size))[0]
    assert ((steps - size / 50) ** 2 / (size / 50)).sum() < 110  # 49 degrees of freedom
    assert abs(np.corrcoef(np.arange(size), order)[0, 1]) < 0.02


def test_units_are_uniform_and_the_same_from_any_start() -> None:
    units = draw_units(5, 1, 0, 100_000, 2)
    assert 0 <= units.min() < units.max() < 1
    counts = np.histogram(units, bins=100, range=(0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 180  # 99 degrees of freedom
    assert np.array_equal(draw_units(5, 1, 777, 100, 1), units[777:877])
    numbers = np.array([99_999, 0, 5, 5], dtype=np.uint64)
    assert np.array_equal(draw_units(5, 1, 777, 4, 1, numbers), units[numbers])
    with pytest.raises(ValueError, match="a number for each item expected"):
        draw_units(5, 1, 0, 5, 1, numbers)


def test_codes_come_as_often_as_their_shares_say() -> None:
    shares = zipf_shares(5, 1.0)
    codes = draw_codes(1, Stream.EDGE_LABELS, shares, 0, 100_000, 2)
    expected = shares / shares.sum() * 100_000
    assert ((np.bincount(codes, minlength=5) - expected) ** 2 / expected).sum() < 25  # 4 degrees of freedom
    assert set(draw_codes(1, 1, np.array([0.0, 1.0, 0.0]), 0, 1000, 1).tolist()) == {1}


@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 9)), max_size=300), st.integers(1, 3))
def test_distinct_edges_are_each_there_once_in_order(edges: list[tuple[int, int]], threads: int) -> None:
    ends = np.array(edges, dtype=np.uint32).reshape(-1, 2)
    sources, targets = ends[:, 0].copy(), ends[:, 1].copy()
    kept = _native.keep_distinct(sources, targets, threads)
    assert list(zip(sources[:kept].tolist(), targets[:kept].tolist(), strict=True)) == sorted(set(edges))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_distinct_edges_of_many_are_those_that_numpy_finds(threads: int) -> None:
    keys = (np.random.default_rng(1).random(400_000) ** 8 * 2**40).astype(np.uint64)
    sources, targets = (keys >> np.uint64(20)).astype(np.uint32), (keys % 2**20).astype(np.uint32)
    kept = _native.keep_distinct(sources, targets, threads)
    found = sources[:kept].astype(np.uint64) << np.uint64(20) | targets[:kept]
    assert np.array_equal(found, np.unique(keys))


def test_structures_of_another_size_are_refused() -> None:
    nothing = np.empty(0, dtype=np.uint32)
    with pytest.raises(ValueError, match="another size"):
        _native.permute(b"short", nothing, 1)
    with pytest.raises(ValueError, match="differ in length"):
        _native.keep_distinct(nothing, np.empty(1, dtype=np.uint32), 1)
    with pytest.raises(ValueError, match="below the size"):
        permute(0, 0, 5, np.array([5], dtype=np.uint32), 1)
