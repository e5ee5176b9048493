"""Embeddings that leave a device whose frontier is full, until the next phase reads them.

    segment 0:  embeddings of tile 0 | of tile 1 | ...       in columns, in memory of the host
    segment 1:  embeddings of tile 0 | of tile 1 | ...

A segment is a frontier, sorted by tiles. The next phase gets the embeddings of a tile from all segments one
after another, so each embedding goes to the host and back once, and each tile is read once for all of them.

Copies run beside kernels, in both directions: the frontier that is copied to the host changes places with the
one that frontiers are sorted into, and goes on being filled there. What comes back is copied to one half of a
frontier while kernels read the other one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer, Device, Mark, Stream
from motiflux.device.host_memory import available
from motiflux.gpu.pvm.frontiers import Frontier
from motiflux.gpu.pvm.pinned_blocks import PinnedBlock, PinnedBlocks
from motiflux.request.deadline import Deadline
from motiflux.types import VERTEX_DTYPE, VertexArray

MOST_BYTES = 8 << 30
"""Most bytes of the host that a search takes for embeddings, if so many are available."""
_SHARE = 0.25
"""Share of the memory that is available that it takes at most."""
_PIECE_BYTES = 16 << 20
"""Bytes of a copy: between copies, the deadline is looked at."""


def host_room() -> int:
    """Return the bytes of the host that a search may take for embeddings."""
    there = available()
    return MOST_BYTES if there is None else min(MOST_BYTES, int(_SHARE * there))


@dataclass(frozen=True)
class Segment:
    """Embeddings in columns.

    Parameters
    ----------
    columns
        uint32 [columns, rows]. Their copy may not be over: `FrontierCopies` waits for it.
    firsts
        The first row of each tile, and the number of all, int64 [tiles + 1].
    block
        Pinned memory that they are in; None: ordinary memory.
    """

    columns: VertexArray
    firsts: NDArray[np.int64]
    block: PinnedBlock | None = None


@dataclass
class HostFrontier:
    """Embeddings between two phases in memory of the host."""

    segments: list[Segment] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        """Bytes of all segments."""
        return sum(one.columns.nbytes for one in self.segments)

    def rows(self, tile: int) -> int:
        """Return the number of embeddings of a tile."""
        return sum(int(one.firsts[tile + 1] - one.firsts[tile]) for one in self.segments)

    def chunks(self, tile: int, most_rows: int) -> Iterator[list[VertexArray]]:
        """Yield the embeddings of a tile in pieces that have at most so many rows together."""
        pieces: list[VertexArray] = []
        room = most_rows
        for one in self.segments:
            first, end = int(one.firsts[tile]), int(one.firsts[tile + 1])
            while first < end:
                size = min(room, end - first)
                pieces.append(one.columns[:, first : first + size])
                first, room = first + size, room - size
                if room == 0:
                    yield pieces
                    pieces, room = [], most_rows
        if pieces:
            yield pieces


class Uploaded(NamedTuple):
    """Embeddings that are copied to a part of a frontier.

    Parameters
    ----------
    tile
        Their tile.
    first, rows
        The first row of the frontier that they take, and their number.
    copied
        Behind the copy.
    """

    tile: int
    first: int
    rows: int
    copied: Mark


class FrontierCopies:
    """Copies embeddings between a device and the host, on streams of their own.

    Parameters
    ----------
    stream
        The stream of the search, which writes and reads frontiers.
    blocks
        Pinned memory of the host.

    Attributes
    ----------
    copied_bytes
        Bytes copied, in both directions.
    """

    def __init__(self, device: Device, stream: Stream, blocks: PinnedBlocks, deadline: Deadline) -> None:
        self._stream, self._blocks, self._deadline = stream, blocks, deadline
        self._down: Stream = device.stream()
        self._up: Stream = device.stream()
        self._behind: dict[int, Mark] = {}  # copies to the host that read a buffer, by its address
        self._last: Mark | None = None
        self.copied_bytes = 0

    def download(self, frontier: Frontier, rows: int, firsts: NDArray[np.int64]) -> Segment:
        """Begin to copy the first rows of a frontier to the host; raises `OutOfTimeError`."""
        nbytes = 4 * frontier.width * rows
        block = self._blocks.take(frontier.buffer.nbytes)
        if block is None:
            columns = np.empty((frontier.width, rows), VERTEX_DTYPE)
        else:
            columns = block.memory.array[:nbytes].view(VERTEX_DTYPE).reshape(frontier.width, rows)
        self._down.follow(self._stream.mark())
        for column in range(frontier.width):
            for first in range(0, rows, _PIECE_BYTES // 4):
                self._deadline.check()
                part = columns[column, first : first + _PIECE_BYTES // 4]
                self._down.download(frontier.buffer, part, 4 * (column * frontier.capacity + first))
        self._last = self._behind[frontier.address] = self._down.mark()
        if block is not None:
            block.busy = self._last
        self.copied_bytes += nbytes
        return Segment(columns, firsts, block)

    def before_writing(self, buffer: Buffer) -> None:
        """Have kernels that are launched later wait for copies to the host that read a buffer."""
        mark = self._behind.pop(buffer.address, None)
        if mark is not None and not mark.done():
            self._stream.follow(mark)

    def upload(self, tile: int, pieces: list[VertexArray], frontier: Frontier, first: int) -> Uploaded:
        """Begin to copy embeddings of a tile to a part of a frontier; raises `OutOfTimeError`."""
        self._up.follow(self._stream.mark())
        for mark in (self._last, self._behind.pop(frontier.address, None)):
            if mark is not None and not mark.done():
                self._up.follow(mark)
        rows = 0
        for piece in pieces:
            self._deadline.check()
            for column in range(frontier.width):
                offset = 4 * (column * frontier.capacity + first + rows)
                self._up.upload(frontier.buffer, piece[column], offset)
            rows += piece.shape[1]
        self.copied_bytes += 4 * frontier.width * rows
        return Uploaded(tile, first, rows, self._up.mark())

    def chunks(
        self, kept: HostFrontier, frontier: Frontier, tiles: Iterable[int]
    ) -> Generator[Uploaded, None, None]:
        """Yield the embeddings of some tiles in chunks of at most half a frontier.

        Kernels that read a chunk are over when the next one is asked for, of which a copy was begun before.
        """
        half = max(1, frontier.capacity // 2)
        places = cycle((0, half) if frontier.capacity > 1 else (0,))
        ahead: Uploaded | None = None
        for tile in tiles:
            for pieces in kept.chunks(tile, half):
                if frontier.capacity == 1 and ahead is not None:
                    yield self._given(ahead)
                    ahead = None
                begun = self.upload(tile, pieces, frontier, next(places))
                if ahead is not None:
                    yield self._given(ahead)
                ahead = begun
        if ahead is not None:
            yield self._given(ahead)

    def _given(self, chunk: Uploaded) -> Uploaded:
        """Return a chunk, for which kernels that are launched later wait."""
        if not chunk.copied.done():
            self._stream.follow(chunk.copied)
        return chunk

    def release(self, kept: HostFrontier) -> None:
        """Leave the memory of embeddings to others: they are not read any more."""
        blocks = [one.block for one in kept.segments if one.block is not None]
        if not blocks:
            return
        if self._last is not None:
            self._up.follow(self._last)
        behind = self._up.mark()
        for block in blocks:
            block.busy = behind
            self._blocks.give(block)

    def close(self) -> None:
        """Wait for all copies, and release the streams."""
        self._down.close()
        self._up.close()
