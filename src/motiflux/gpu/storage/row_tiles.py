"""Rows of the host that are copied to a device in turns: roots in batches, each with the rows behind it.

    rows of all vertices, consecutive in pinned memory of the host:

      | ......... | roots: two thirds of the room | rows | rows | rows | ... |
                   stay while the other third of the room takes the rows behind them, one tile after another

Neighbours of roots are greater, so rows before the roots are not needed. A launch reads rows of the device
only. If all rows have k times the bytes of the room, about .75 k times their bytes are copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from motiflux import _native
from motiflux.device import Device
from motiflux.gpu.storage.device_csr import DeviceCsr, RowsKey
from motiflux.gpu.storage.expected_opens import ArcNumbers, Arcs
from motiflux.gpu.storage.placed_rows import ENTRY, LINE, room_for
from motiflux.gpu.storage.row_choice import pieces
from motiflux.graph import Graph
from motiflux.plan.physical import RowCopies
from motiflux.request.deadline import Deadline
from motiflux.types import OffsetArray
from motiflux.units import bytes_text, quantity

_SHARE_OF_ROOTS = 2 / 3
"""Share of the room that roots take. With 1/2 there are 8/9 as many launches, but 4/3 of the copies."""
_BYTES_OF_LAUNCH = 4 << 20
"""Bytes of rows of the host that kernels read while a launch begins and ends, approximately: .14 ms on an
H100, where triangle counts of R-MAT read 28 to 30 GB/s."""
_MOST_LAUNCHES = 20_000
_BITS_OF_ROOM = 5
"""Leading bits of a room that depends on the free memory. Devices that share the work so have the same room,
and expected bytes are remembered for it."""


class Tile(NamedTuple):
    """Rows of consecutive vertices.

    Parameters
    ----------
    first, end
        The vertices.
    begin, arcs
        First entry of the rows, and their number.
    """

    first: int
    end: int
    begin: int
    arcs: int


class RootBatch(NamedTuple):
    """Roots, and the rows behind theirs in tiles."""

    roots: Tile
    behind: Sequence[Tile]


@dataclass(frozen=True)
class RowTiles:
    """The order in which rows are copied.

    Parameters
    ----------
    room
        Entries that there is room for: of roots, and of rows behind them.
    batches
        The roots. There is a launch for the arcs within the roots of each one, and one for each tile behind.
    """

    room: tuple[int, int]
    batches: Sequence[RootBatch]

    @property
    def launches(self) -> int:
        """Number of launches."""
        return sum(1 + len(batch.behind) for batch in self.batches)

    @property
    def nbytes(self) -> int:
        """Bytes that are copied to the device."""
        return ENTRY * sum(tile.arcs for roots, behind in self.batches for tile in (roots, *behind))

    def __str__(self) -> str:
        batches, launches = len(self.batches), quantity(self.launches, "launch")
        return f"roots in {quantity(batches, 'batch')}, {launches}, {bytes_text(self.nbytes)} copied in turns"


def cut(offsets: OffsetArray, longest: int, room: int) -> RowTiles | None:
    """Return tiles of all rows; None if two rows may not fit, or launches would be too many.

    Parameters
    ----------
    longest
        Length of the longest row.
    room
        Entries that there is room for.

    Examples
    --------
    >>> tiles = cut(np.array([0, 2, 4, 5, 7, 8, 8], np.uint64), 2, 6)
    >>> for roots, behind in tiles.batches:
    ...     print(roots.first, roots.end, [(tile.first, tile.end) for tile in behind])
    0 2 [(2, 3), (3, 4), (4, 6)]
    2 6 []
    """
    behind = max(longest, room - int(_SHARE_OF_ROOTS * room))
    roots, arcs = room - behind, int(offsets[-1])
    if roots < longest or arcs * arcs > 2 * _MOST_LAUNCHES * roots * behind:
        return None
    batches = []
    for tile in _tiles(offsets, 0, roots):
        batches.append(RootBatch(tile, list(_tiles(offsets, tile.end, behind))))
    return RowTiles((roots, behind), batches)


def _tiles(offsets: OffsetArray, first: int, room: int) -> list[Tile]:
    """Cut the rows from a vertex on into tiles. No row may be longer than a tile."""
    found, vertices = [], len(offsets) - 1
    while first < vertices and offsets[first] < offsets[-1]:
        begin = int(offsets[first])
        end = int(np.searchsorted(offsets, np.uint64(begin + room), "right")) - 1
        found.append(Tile(first, end, begin, int(offsets[end]) - begin))
        first = end
    return found


def tiles_for(
    copies: DeviceCsr,
    device: Device,
    graph: Graph,
    key: RowsKey,
    how: RowCopies,
    threads: int,
    budget: int | None,
    deadline: Deadline,
) -> RowTiles | None:
    """Return the tiles of rows if roots are to be taken in batches; None if rows are to be placed.

    Roots are taken in batches if that is expected to take less time than reading rows that are not copied
    from the host, or if `how` says so, but not if all rows fit.

    Raises
    ------
    OutOfTimeError
        Time was up before it was known.
    """
    if how.batches == "off":
        return None
    offsets = graph.offsets_above(key.adjacency, threads)
    wanted = ENTRY * int(offsets[-1])
    room = room_for(copies, device, graph, how, wanted, budget).nbytes
    if wanted <= room:
        return None
    about = _rounded_down(room)
    if how.percent is None:
        room = about
    tiles = cut(offsets, _native.longest_row(offsets, threads), room // ENTRY)
    if tiles is None or how.batches == "on":
        return tiles
    missed = graph.memo.get(
        ("missed rows", key, about), lambda: _missed(graph, offsets, about // ENTRY, threads, deadline)
    )
    return tiles if tiles.nbytes + _BYTES_OF_LAUNCH * tiles.launches < missed else None


def _rounded_down(room: int) -> int:
    low = max(0, room.bit_length() - _BITS_OF_ROOM)
    return room >> low << low


def _missed(graph: Graph, offsets: OffsetArray, room: int, threads: int, deadline: Deadline) -> float:
    """Return the bytes of opened rows that would be read from the host.

    The copies are taken to be the rows of the greatest vertices: on R-MAT graphs, as many opens find these as
    find the rows that `frequency` copies.
    """
    arcs, numbers = int(offsets[-1]), ArcNumbers(graph, threads)
    left = int(np.searchsorted(offsets, np.uint64(arcs - room), "right")) - 1
    opened = missed = 0.0
    for first, end in pieces(len(offsets) - 1, deadline):
        lengths = np.diff(offsets[first : end + 1]).astype(np.float64)
        times = numbers.of(Arcs.FROM_LESSER, first, end)
        opened += float(times.sum())
        read = times * np.ceil(ENTRY * lengths / LINE) * LINE
        missed += float(read[: max(0, left - first)].sum())
    return missed * arcs / opened if opened else 0.0
