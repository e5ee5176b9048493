"""Slack rows: the neighbours that one kind of query edge accepts, on the device, as the graph changes.

Each row has some room to grow. While a run of updates is matched, its touched rows hold every neighbour of
the run, with lifetimes, in memory of the run (``include/motiflux/view/changing.hpp``); then those that stay
are written back in place, or to a new place if the row has outgrown its own. The host knows where each row is
and how long it is, and lays rows out; kernels move the entries
(``include/motiflux/changing/write_rows.cuh``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.changing import CHANGE, FOREVER, LIFE_BYTES, PIECE, ROW, TOUCHED, WriteArgs
from motiflux.codegen.kernels import THREADS
from motiflux.device import Buffer, Device, Kernel, Stream
from motiflux.gpu.changing.memory import Parcel

_BACK = np.uint32(1 << 31)
"""In the class of an end: the end is in the rows of incoming edges."""
_VERTEX, _CLASS, _NEIGHBOR, _FIRST, _LAST, _FRESH = range(6)
"""Columns of the ends of a run."""
OUT, IN, EITHER = 0, 1, 2
"""Directions of rows, as the native monitor numbers them."""
PIECE_ENTRIES = 1024
"""Entries of a row that a warp moves at a time."""
_LEAST_CHUNK = 1 << 16
_MOST_BLOCKS = 1 << 12
_WASTE = 2
"""Rows are loaded anew when their memory is this many times that of a fresh load."""


def room_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the entries that rows of these sizes get room for."""
    return sizes + sizes // 4 + 4


class SlackRows:
    """The rows of all vertices in one direction, for one set of classes.

    Parameters
    ----------
    device, budget
        The device, and the maximum number of bytes that motiflux holds there.
    way
        `OUT`, `IN` or `EITHER`.
    directed
        Whether the graph is.

    Attributes
    ----------
    repeats
        Whether a row may hold a neighbour several times: once for each edge.
    """

    def __init__(self, device: Device, budget: int | None, *, way: int, directed: bool) -> None:
        self._device, self._budget = device, budget
        self._way, self._directed, self.repeats = way, directed, False
        self._classes: NDArray[np.bool_] | None = None
        self._mixes = False  # whether ends of a vertex come class by class, or way by way
        self._chunks: list[Buffer] = []
        self._next = self._left = 0
        self._headers: Buffer | None = None
        self._address = np.zeros(0, np.uint64)
        self._size = np.zeros(0, np.int64)
        self._capacity = np.zeros(0, np.int64)
        self._filled = 0
        self.entries = self.longest = 0

    @property
    def headers(self) -> int:
        """Address of the headers of all rows."""
        assert self._headers is not None, "the rows are not loaded"
        return self._headers.address

    @property
    def mean(self) -> float:
        """Approximate mean size of rows that are not empty."""
        return self.entries / max(1, self._filled)

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        headers = 0 if self._headers is None else self._headers.nbytes
        return headers + sum(chunk.nbytes for chunk in self._chunks)

    @property
    def is_wasteful(self) -> bool:
        """Whether places that rows have left take more memory than the rows."""
        held = sum(chunk.nbytes for chunk in self._chunks) // 4
        fresh = self.entries + self.entries // 4 + 4 * len(self._size)
        return held > _WASTE * fresh + 4 * _LEAST_CHUNK

    def accept(self, classes: NDArray[np.uint32] | None, number: int) -> None:
        """Set the classes of the neighbours that rows hold; None: all of the `number` classes."""
        several = (number if classes is None else len(classes)) > 1
        self._mixes = several or (self._directed and self._way == EITHER)
        if classes is None:
            self._classes = None
            return
        self._classes = np.zeros(number, bool)
        self._classes[classes] = True

    def load(self, stream: Stream, offsets: NDArray[np.uint64], neighbors: NDArray[np.uint32]) -> None:
        """Copy the rows of the host to the device."""
        self.release()
        first = offsets.astype(np.int64)
        size: NDArray[np.int64] = first[1:] - first[:-1]
        capacity = room_of(size)
        places = np.cumsum(capacity) - capacity
        total = int(capacity.sum())
        self.entries, self.longest = int(size.sum()), int(size.max(initial=0))
        self._filled = int(np.count_nonzero(size))
        chunk = self._take_chunk(total + max(_LEAST_CHUNK, total // 8))
        laid_out = np.zeros(total, np.uint32)
        if len(neighbors):
            laid_out[np.arange(len(neighbors)) + np.repeat(places - first[:-1], size)] = neighbors
            stream.upload(chunk, laid_out)
        self._next += 4 * total
        self._left -= total
        self._address = np.uint64(chunk.address) + np.uint64(4) * places.astype(np.uint64)
        self._size, self._capacity = size, capacity
        self._pad(stream, len(size))
        stream.wait()  # the arrays above are not kept

    def _take_chunk(self, entries: int) -> Buffer:
        chunk = self._device.allocate(4 * entries, "rows of the changing graph", budget=self._budget)
        self._chunks.append(chunk)
        self._next, self._left = chunk.address, entries
        return chunk

    def _pad(self, stream: Stream, vertices: int) -> None:
        """Make headers for at least this number of vertices; rows beyond those that there are are empty."""
        more = int(room_of(np.array([vertices]))[0]) - len(self._size)
        self._address = np.concatenate([self._address, np.zeros(more, np.uint64)])
        self._size = np.concatenate([self._size, np.zeros(more, np.int64)])
        self._capacity = np.concatenate([self._capacity, np.zeros(more, np.int64)])
        headers = np.zeros(len(self._size), ROW)
        headers["neighbors"], headers["size"] = self._address, self._size
        self._headers = self._device.allocate(
            headers.nbytes, "places of the rows of the changing graph", budget=self._budget
        )
        stream.upload(self._headers, headers)
        stream.wait()

    def cover(self, stream: Stream, vertices: int) -> None:
        """Have empty rows for new vertices, up to this number of vertices in all."""
        if vertices > len(self._size):
            self._pad(stream, vertices)

    def changes(self, ends: NDArray[np.uint32]) -> RunOfRows | None:
        """Return the changes that a run makes in these rows; None if there are none.

        Parameters
        ----------
        ends
            Rows (vertex, class, neighbour, first, last, fresh), sorted by vertex, way, class and neighbour.
        """
        mine = self._mine(ends)
        if len(mine) == 0:
            return None
        if self._mixes:
            since = (mine[:, _FIRST] + 1) * mine[:, _FRESH]
            mine = mine[np.lexsort((since, mine[:, _NEIGHBOR], mine[:, _VERTEX]))]
        return RunOfRows.of(mine, self._size, self._address)

    def _mine(self, ends: NDArray[np.uint32]) -> NDArray[np.uint32]:
        found: NDArray[np.bool_] | None = None
        classes = ends[:, _CLASS]
        if self._directed:
            back = (classes & _BACK) != 0
            if self._way != EITHER:
                found = back if self._way == IN else ~back
            classes = classes & ~_BACK
        if self._classes is not None:
            accepted = self._classes[classes]
            found = accepted if found is None else found & accepted
        return ends if found is None else ends[found]

    def place(self, run: RunOfRows) -> None:
        """Decide where the rows of a run are written after it.

        Raises
        ------
        DeviceMemoryError
            Rows have no room to grow.
        """
        rows, after = run.vertices, run.after
        address, capacity = self._address[rows], self._capacity[rows]
        moves = np.flatnonzero(after > capacity)
        if len(moves):
            room = room_of(after[moves])
            total = int(room.sum())
            if total > self._left:
                self._take_chunk(total + max(_LEAST_CHUNK, int(self._size.sum()) // 8))
            address[moves] = np.uint64(self._next) + np.uint64(4) * (np.cumsum(room) - room).astype(np.uint64)
            capacity[moves] = room
            self._next += 4 * total
            self._left -= total
        run.address, run.capacity = address, capacity

    def settled(self, run: RunOfRows) -> None:
        """Note where the rows of a run are, and how long."""
        rows = run.vertices
        self._address[rows], self._capacity[rows], self._size[rows] = run.address, run.capacity, run.after
        self.entries += int(run.after.sum()) - int(run.old.sum())
        self.longest = max(self.longest, int(run.after.max()))

    def write_args(self, touched: int, pieces: int, count: int) -> WriteArgs:
        """Return the argument of the kernels that write rows."""
        return WriteArgs(self.headers, touched, pieces, count, PIECE_ENTRIES)

    def release(self) -> None:
        """Free the memory."""
        self._chunks, self._headers = [], None
        self._next = self._left = 0


class Packed(NamedTuple):
    """Addresses of the touched rows of a run, and of the pieces of both kernels with their numbers."""

    touched: int
    merged: tuple[int, int]
    settled: tuple[int, int]


@dataclass(eq=False)
class RunOfRows:
    """The changes of one run in the rows of one direction and set of classes.

    Parameters
    ----------
    vertices
        Whose rows are touched, ascending.
    old, all, after
        Their sizes before the run, with all entries of the run, and after it.
    changes
        The changes of all rows, one row after another.
    first_change
        The first change of each row, and the number of changes at the end.
    old_address
        Where rows were before.
    address, capacity
        Where they are to be afterwards, once `SlackRows.place` was called.
    """

    vertices: NDArray[np.uint32]
    old: NDArray[np.int64]
    all: NDArray[np.int64]
    after: NDArray[np.int64]
    changes: NDArray[np.void]
    first_change: NDArray[np.int64]
    old_address: NDArray[np.uint64]
    address: NDArray[np.uint64]
    capacity: NDArray[np.int64]

    @classmethod
    def of(cls, ends: NDArray[np.uint32], size: NDArray[np.int64], address: NDArray[np.uint64]) -> RunOfRows:
        """Return the changes of ends, which are sorted by vertex, neighbour and first moment."""
        vertex = ends[:, _VERTEX]
        first_change = np.flatnonzero(np.concatenate([[True], vertex[1:] != vertex[:-1]]))
        rows = vertex[first_change]
        fresh = ends[:, _FRESH].astype(np.int64)
        dead = (ends[:, _LAST] != FOREVER).astype(np.int64)
        counts = np.diff(np.append(first_change, len(ends)))

        def before(flags: NDArray[np.int64]) -> NDArray[np.int64]:
            earlier = np.cumsum(flags) - flags
            return earlier - np.repeat(earlier[first_change], counts)

        changes = np.empty(len(ends), CHANGE)
        changes["neighbor"] = ends[:, _NEIGHBOR]
        # Moments of updates begin with 1; what was there before lives from 0.
        changes["first"] = np.where(fresh, ends[:, _FIRST] + 1, 0)
        changes["last"] = np.where(dead, ends[:, _LAST] + 1, FOREVER)
        changes["fresh_before"], changes["dead_before"] = before(fresh), before(dead)
        old = size[rows]
        with_fresh = old + np.add.reduceat(fresh, first_change)
        after = with_fresh - np.add.reduceat(dead, first_change)
        where = address[rows]
        return cls(
            rows,
            old,
            with_fresh,
            after,
            changes,
            np.append(first_change, len(ends)),
            where,
            where,
            np.zeros(0, np.int64),
        )

    @property
    def longest(self) -> int:
        """Size of the longest touched row."""
        return int(self.all.max())

    @property
    def nbytes(self) -> int:
        """Bytes of the memory of the run that `write` fills, at most."""
        entries, changes = int(self.all.sum()), len(self.changes)
        return _aligned(4 * entries) + _aligned(LIFE_BYTES * entries) + _aligned(4 * changes)

    def pack(self, parcel: Parcel, memory: int) -> Callable[[int], Packed]:
        """Add what the kernels read to a parcel.

        Parameters
        ----------
        memory
            Address of the memory of the run.

        Returns
        -------
        A function that takes the address of the parcel and completes the arrays in it.
        """
        touched = np.zeros(len(self.vertices), TOUCHED)
        total = int(self.all.sum())
        first = np.cumsum(self.all) - self.all
        lives = memory + _aligned(4 * total)
        positions = lives + LIFE_BYTES * total
        touched["old"], touched["after"] = self.old_address, self.address
        touched["neighbors"], touched["lives"] = memory + 4 * first, lives + LIFE_BYTES * first
        touched["positions"] = positions + 4 * self.first_change[:-1]
        touched["vertex"], touched["old_size"] = self.vertices, self.old
        touched["change_count"] = np.diff(self.first_change)
        touched["size"], touched["after_size"] = self.all, self.after
        merged, settled = _pieces(self.old), _pieces(self.all)
        at_changes = parcel.add(self.changes)
        at_touched = parcel.add(touched)
        at_merged, at_settled = parcel.add(merged), parcel.add(settled)

        def completed(parcel_address: int) -> Packed:
            touched["changes"] = parcel_address + at_changes + CHANGE.itemsize * self.first_change[:-1]
            return Packed(
                parcel_address + at_touched,
                (parcel_address + at_merged, len(merged)),
                (parcel_address + at_settled, len(settled)),
            )

        return completed


def _aligned(nbytes: int) -> int:
    return -(-nbytes // 16) * 16


def _pieces(sizes: NDArray[np.int64]) -> NDArray[np.void]:
    """Return the pieces of rows, at least one of each row."""
    counts = np.maximum(1, -(-sizes // PIECE_ENTRIES))
    pieces = np.empty(int(counts.sum()), PIECE)
    pieces["row"] = np.repeat(np.arange(len(sizes)), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    pieces["first"] = (np.arange(len(pieces)) - first) * PIECE_ENTRIES
    return pieces


def write(stream: Stream, kernel: Kernel, args: WriteArgs) -> None:
    """Launch a kernel that writes rows: a warp for each piece, up to some thousands of blocks."""
    warps = THREADS // 32
    stream.launch(kernel, max(1, min(_MOST_BLOCKS, -(-args.piece_count // warps))), THREADS, 0, args)
