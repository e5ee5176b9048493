"""Memory of the frontiers between phases, and of the work that launches leave for later ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motiflux.codegen.pvm import BATCH, ITEMS
from motiflux.device import Buffer, Device
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.pvm.programs import Program

FIRST_BYTES, GROWN_BYTES, MOST_BYTES = 64 << 20, 768 << 20, 8 << 30
"""Bytes of all frontiers at first, once one of them was full, and beside tables in tiles, if memory allows.

A job of more than 1 GiB is not kept (`motiflux.gpu.launch.job_pool`), and to allocate 8 GiB and free them
took 3 to 4 ms in each call on an H100, while a chunk of 768 MiB costs some tenths.
"""
SHARE, TILED_SHARE = 0.25, 0.4
"""Share of the free memory that they take at most, and that beside tables in tiles."""
MOST_LONG, LEAST_LONG = 1 << 18, 1 << 8
"""Most parts of long batches that a launch puts off, and as many where memory is short."""
LONG_SHARE = 1 / 16
"""Share of the bytes of frontiers that room for them takes at most."""

_FEWER = 4
_LEFT_OF_WARP = 2


@dataclass
class Frontier:
    """Room for embeddings in columns (``pvm::Columns``)."""

    buffer: Buffer
    width: int
    capacity: int

    @property
    def address(self) -> int:
        """Address of the first column."""
        return self.buffer.address


@dataclass(frozen=True)
class LeftRoom:
    """Room for parts of batches.

    Parameters
    ----------
    parked
        Those that a launch had no room for, at most one for each warp.
    long_parts
        Those that a launch puts off.
    left
        Those that earlier launches left, and a launch does.
    """

    parked: Buffer
    long_parts: Buffer
    left: Buffer

    @property
    def most_long(self) -> int:
        """Most parts that are put off."""
        return self.long_parts.nbytes // ITEMS.itemsize

    @property
    def most_left(self) -> int:
        """Most parts that a launch does of those that earlier ones left."""
        return self.left.nbytes // ITEMS.itemsize

    @property
    def buffers(self) -> list[Buffer]:
        """All memory."""
        return [self.parked, self.long_parts, self.left]


def allocate_frontiers(
    device: Device, phases: Sequence[Program], budget: int | None, most_bytes: int, last_bytes: int
) -> list[Frontier]:
    """Return a frontier behind each of some phases, all of as many bytes.

    Parameters
    ----------
    most_bytes
        Bytes of all of them, if memory allows.
    last_bytes
        Most bytes of the last one.

    Raises
    ------
    DeviceMemoryError
        Not even one step of a warp has room.
    """
    while True:
        share = most_bytes // max(1, len(phases))
        sizes = [max(_least(one), share // (4 * one.width)) for one in phases]
        if sizes:
            last = phases[-1]
            sizes[-1] = max(_least(last), min(sizes[-1], last_bytes // (4 * last.width)))
        try:
            return [
                Frontier(
                    device.allocate(4 * one.width * size, "the frontiers of a search", budget=budget),
                    one.width,
                    size,
                )
                for one, size in zip(phases, sizes, strict=True)
            ]
        except DeviceMemoryError:
            if share <= min(4 * one.width * _least(one) for one in phases):
                raise
            most_bytes //= _FEWER


def allocate_equal(
    device: Device, phases: Sequence[Program], nbytes: int, budget: int | None
) -> list[Frontier]:
    """Return a frontier behind each of some phases, all of the same bytes: they can change places.

    Raises
    ------
    DeviceMemoryError
        There is too little memory.
    """
    each = max([nbytes // max(1, len(phases)), *map(least_bytes, phases)])
    return [
        Frontier(
            device.allocate(each, "the frontiers of a search", budget=budget),
            one.width,
            each // (4 * one.width),
        )
        for one in phases
    ]


def least_bytes(phase: Program) -> int:
    """Return the bytes of the smallest frontier behind a phase."""
    return 4 * phase.width * _least(phase)


def allocate_left(device: Device, warps: int, budget: int | None, frontier_bytes: int) -> LeftRoom:
    """Return room for the work that a launch of so many warps leaves, beside frontiers of so many bytes."""
    what = "work that a launch leaves"
    parts = (warps, _most_long(frontier_bytes), _most_left(warps))
    return LeftRoom(*(device.allocate(number * ITEMS.itemsize, what, budget=budget) for number in parts))


def left_bytes(warps: int, frontier_bytes: int) -> int:
    """Return the bytes of the same room."""
    return (warps + _most_long(frontier_bytes) + _most_left(warps)) * ITEMS.itemsize


def _most_long(frontier_bytes: int) -> int:
    return max(LEAST_LONG, min(MOST_LONG, int(LONG_SHARE * frontier_bytes) // ITEMS.itemsize))


def _most_left(warps: int) -> int:
    """Return the parts of an earlier launch that are done at once: several for each warp."""
    return max(LEAST_LONG, _LEFT_OF_WARP * warps)


def _least(phase: Program) -> int:
    """Return the rows of one step of a warp."""
    return BATCH * phase.most_rows
