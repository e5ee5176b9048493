"""Random columns, and the numbers of the random streams."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from motiflux import _native


class Stream(IntEnum):
    """Streams of random numbers; 1, 2 and 3 are used inside the extension (``csrc/generate``)."""

    RMAT_IDS = 16
    ENDS = 17
    SOURCE_IDS = 18
    TARGET_IDS = 19
    EDGE_LABELS = 20
    VERTEX_LABELS = 21
    TIMES = 22
    AMOUNTS = 23
    QUADRANT_NOISE = 24
    ACCOUNTS = 25
    SLICES = 26
    RELATIONS = 27
    HUBS = 28
    BANDS = 32
    """The first of a few: an order of accounts for each kind of planted structure."""
    STRUCTURES = 1 << 16
    """The first of many: where each planted structure lies."""
    ORDERED = 1 << 28
    """The first of many: two for each planted ring in order of time."""


def draw_units(
    seed: int,
    stream: int,
    first: int,
    size: int,
    threads: int,
    numbers: NDArray[np.uint64] | None = None,
) -> NDArray[np.float64]:
    """Return the numbers `first`, ... of a stream, or those of `numbers`: float64 [size] of [0, 1)."""
    out = np.empty(size, dtype=np.float64)
    _native.draw_units(seed, stream, first, out, threads, numbers)
    return out


def draw_codes(
    seed: int,
    stream: int,
    shares: NDArray[np.float64],
    first: int,
    size: int,
    threads: int,
    numbers: NDArray[np.uint64] | None = None,
) -> NDArray[np.uint32]:
    """Return codes with the frequencies `shares`, of numbers as in `draw_units`: uint32 [size]."""
    out = np.empty(size, dtype=np.uint32)
    ends = np.minimum(np.cumsum(shares) / np.sum(shares) * 2**32, 2**32 - 1).astype(np.uint32)
    _native.draw_codes(seed, stream, ends, first, out, threads, numbers)
    return out


def permute(
    seed: int, stream: int, size: int, values: NDArray[np.uint32], threads: int
) -> NDArray[np.uint32]:
    """Return where a random order of ``0..size-1`` puts each value: uint32, as many."""
    out = np.array(values, dtype=np.uint32)
    _native.permute(_native.make_permutation(seed, stream, size), out, threads)
    return out


def zipf_shares(count: int, exponent: float) -> NDArray[np.float64]:
    """Return shares of `count` values, the k-th in proportion to 1 / k ** `exponent`."""
    return np.arange(1, count + 1, dtype=np.float64) ** -exponent


def times_of(seed: int, first: int, size: int, rows: int, span: int, threads: int) -> NDArray[np.int64]:
    """Return times in ``[0, span)`` of edges number `first`, ...: one in each of `rows` equal parts."""
    units = draw_units(seed, Stream.TIMES, first, size, threads)
    return ((first + np.arange(size) + units) * (span / max(rows, 1))).astype(np.int64)
