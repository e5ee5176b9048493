"""Memory of the frontiers between phases, and of the work that launches leave for later ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motiflux.codegen.pvm import BATCH, ITEMS, MOST_MEMBERS
from motiflux.device import Buffer, Device
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.pvm.programs import Program

MOST_BYTES = 1 << 30
"""Bytes of all frontiers, if memory allows."""
SHARE = 0.25
"""Share of the free memory that they take at most."""
MOST_LONG = 4096
"""Most batches of a launch that are put off and shared by many warps."""

_FEWER = 4


@dataclass(frozen=True)
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
    """Room for parts of batches that a launch leaves: parked ones, one for each warp, and long batches."""

    parked: Buffer
    long_batches: Buffer


def least_bytes(phases: Sequence[Program]) -> int:
    """Return the bytes of frontiers that have room for one step of a warp."""
    return sum(4 * one.width * _least(one) for one in phases)


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


def allocate_left(device: Device, warps: int, budget: int | None) -> LeftRoom:
    """Return room for the work that a launch of so many warps leaves."""
    what = "work that a launch leaves"
    return LeftRoom(
        device.allocate(warps * ITEMS.itemsize, what, budget=budget),
        device.allocate(MOST_LONG * ITEMS.itemsize, what, budget=budget),
    )


def _least(phase: Program) -> int:
    """Return the rows of one step of a warp."""
    return BATCH * phase.most_rows


assert MOST_MEMBERS <= 6, "a step of a warp must fit into small frontiers"
