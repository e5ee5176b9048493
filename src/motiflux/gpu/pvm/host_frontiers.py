"""Embeddings that leave a device whose frontier is full, until the next phase reads them.

    segment 0:  embeddings of tile 0 | of tile 1 | ...       in columns, in memory of the host
    segment 1:  embeddings of tile 0 | of tile 1 | ...

A segment is a frontier, sorted by tiles. The next phase gets the embeddings of a tile from all segments one
after another, so each embedding goes to the host and back once, and each tile is read once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer, Device, Mark, Stream
from motiflux.device.host_memory import available
from motiflux.gpu.pvm.frontiers import Frontier
from motiflux.gpu.storage.upload import wait_for_mark
from motiflux.request.deadline import Deadline
from motiflux.types import VERTEX_DTYPE, VertexArray

MOST_BYTES = 8 << 30
"""Most bytes of the host that a search takes for embeddings, if so many are available."""
_SHARE = 0.25
"""Share of the memory that is available that it takes at most."""
_PIECE_BYTES = 4 << 20
_SPINS = 200


def host_room() -> int:
    """Return the bytes of the host that a search may take for embeddings."""
    there = available()
    return MOST_BYTES if there is None else min(MOST_BYTES, int(_SHARE * there))


@dataclass(frozen=True)
class Segment:
    """Embeddings in columns, uint32 [columns, rows], and the first row of each tile, int64 [tiles + 1]."""

    columns: VertexArray
    firsts: NDArray[np.int64]


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


class FrontierCopies:
    """Copies embeddings between a device and the host, through two pieces of pinned memory.

    Parameters
    ----------
    stream
        The stream of the search.

    Attributes
    ----------
    copied_bytes
        Bytes copied, in both directions.
    """

    def __init__(self, device: Device, stream: Stream, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline
        self._pinned = device.allocate_host(
            2 * _PIECE_BYTES, "embeddings on their way to the host", clear=False
        )
        words = self._pinned.array.view(VERTEX_DTYPE)
        self._pieces = (words[: _PIECE_BYTES // 4], words[_PIECE_BYTES // 4 :])
        self._marks: list[Mark | None] = [None, None]
        self._turn = 0
        self.copied_bytes = 0

    def download(self, frontier: Frontier, rows: int, firsts: NDArray[np.int64]) -> Segment:
        """Return the first rows of a frontier; raises `OutOfTimeError`."""
        columns = np.empty((frontier.width, rows), VERTEX_DTYPE)
        behind: list[tuple[int, VertexArray]] = []
        for column in range(frontier.width):
            for first in range(0, rows, _PIECE_BYTES // 4):
                part = columns[column, first : first + _PIECE_BYTES // 4]
                if len(behind) == 2:
                    self._take(*behind.pop(0))
                at = self._turn
                self._turn = 1 - at
                offset = 4 * (column * frontier.capacity + first)
                self._stream.download(frontier.buffer, self._pieces[at][: len(part)], offset)
                self._marks[at] = self._stream.mark()
                behind.append((at, part))
        for at, part in behind:
            self._take(at, part)
        self.copied_bytes += columns.nbytes
        return Segment(columns, firsts)

    def upload(self, pieces: list[VertexArray], frontier: Frontier) -> int:
        """Copy embeddings to the beginning of a frontier; return their number. Raises `OutOfTimeError`."""
        rows = 0
        for piece in pieces:
            for column in range(frontier.width):
                self._upload(piece[column], frontier.buffer, 4 * (column * frontier.capacity + rows))
            rows += piece.shape[1]
        return rows

    def _upload(self, words: VertexArray, buffer: Buffer, offset: int) -> None:
        for first in range(0, len(words), _PIECE_BYTES // 4):
            part = words[first : first + _PIECE_BYTES // 4]
            at = self._turn
            self._turn = 1 - at
            self._wait(at)
            self._pieces[at][: len(part)] = part
            self._stream.upload(buffer, self._pieces[at][: len(part)], offset + 4 * first)
            self._marks[at] = self._stream.mark()
        self.copied_bytes += words.nbytes

    def _take(self, at: int, into: VertexArray) -> None:
        self._wait(at)
        into[:] = self._pieces[at][: len(into)]

    def _wait(self, at: int) -> None:
        self._deadline.check()
        if (mark := self._marks[at]) is None:
            return
        for _ in range(_SPINS):  # most copies are over within a sleep
            if mark.done():
                return
        wait_for_mark(mark, self._deadline)
