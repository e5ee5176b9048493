"""Rows of the host that are copied to the device before a run: those that its search opens most often.

The memory is cut into segments. The copies of one run lie one behind another, in DCSR (GCSM, section V-B;
``include/motiflux/changing/cache_rows.cuh``), in the segment that is filled:

    segment 0  | copies of run 1 | copies of run 2 | free |      rowptr rowidx colidx, for each kind of rows
    segment 1  | ...

Copies stay for later runs. When a segment is full, the one with the fewest bytes that the run wants is
emptied, and filled next. A row that a run changes is no longer copied: the run has the whole row in its own
memory, and the host's is written afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.changing import CACHE_COPY_ENTRY, CACHE_OPEN_ENTRY, CacheArgs
from motiflux.codegen.kernels import THREADS
from motiflux.device import Buffer, Stream
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.changing.candidates import blocks_of_threads
from motiflux.gpu.changing.memory import Staging, large_pinned
from motiflux.gpu.outofcore.headers import HeaderWriter, RowPlaces
from motiflux.gpu.outofcore.held_rows import HeldRows
from motiflux.gpu.outofcore.own_rows import HostOrOwnRows
from motiflux.gpu.runtime.accelerator import Accelerator

_ALIGNMENT = 16
_ENTRIES_OF_WARP = 1024
"""``changing::kCopied``."""
_LEAST_CACHE = 1 << 16
_GROWTH = 2
"""Growth of the rows after which a cache that has room for all gets more memory."""
_BYTES_OF_ROW = 12
"""Of a row's entries in `rowptr` and `rowidx`."""
_PIECE = 16 << 20
"""Bytes that are put together and sent at a time, but for longer rows."""
_MOST_SEGMENTS, _LEAST_SEGMENTS = 16, 4
_ROWS_OF_SEGMENT = 4
"""Of the longest rows, as many fit into a segment if there are more than the fewest segments."""


@dataclass(frozen=True)
class Wanted:
    """Rows that are to be in the cache, best first.

    Attributes
    ----------
    kinds
        The kind of rows, as numbered by the caller, uint32 [rows].
    vertices
        Whose row, uint32 [rows].
    """

    kinds: NDArray[np.uint32]
    vertices: NDArray[np.uint32]

    def __getitem__(self, which: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Wanted:
        return Wanted(self.kinds[which], self.vertices[which])

    def __len__(self) -> int:
        return len(self.vertices)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """A number for each row, which tells it from all others."""
        return self.kinds.astype(np.uint64) << np.uint64(32) | self.vertices

    def then(self, others: Wanted) -> Wanted:
        """Return these rows and others behind them."""
        return Wanted(np.append(self.kinds, others.kinds), np.append(self.vertices, others.vertices))


NOTHING = Wanted(np.empty(0, np.uint32), np.empty(0, np.uint32))


@dataclass
class Brought:
    """What a run brought to the cache.

    Attributes
    ----------
    wanted, kept, copied, left_out
        Rows that were to be there, but for touched and empty ones; of these those that were there already,
        that were copied, and that had no room.
    nbytes
        Bytes copied.
    """

    wanted: int = 0
    kept: int = 0
    copied: int = 0
    left_out: int = 0
    nbytes: int = 0


@dataclass(frozen=True)
class _Placed:
    """Rows, where they are in memory of the host, and how many entries they have."""

    rows: Wanted
    addresses: NDArray[np.uint64]
    sizes: NDArray[np.int64]

    def __getitem__(self, which: NDArray[np.bool_] | slice) -> _Placed:
        return _Placed(self.rows[which], self.addresses[which], self.sizes[which])

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> NDArray[np.int64]:
        """Bytes of each row's copy."""
        return 4 * self.sizes + _BYTES_OF_ROW

    def then(self, others: _Placed) -> _Placed:
        """Return these rows and others behind them."""
        return _Placed(
            self.rows.then(others.rows),
            np.append(self.addresses, others.addresses),
            np.append(self.sizes, others.sizes),
        )


@dataclass
class _Copy:
    """Rows of one kind that are copied, in DCSR: places are bytes from the start of the cache."""

    kind: HeldRows
    vertices: NDArray[np.uint32]
    addresses: NDArray[np.uint64]
    starts: NDArray[np.uint64]
    rowptr: int
    rowidx: int
    colidx: int = 0

    @property
    def entries(self) -> int:
        return int(self.starts[-1])

    def args(self, begin: int) -> CacheArgs:
        return CacheArgs(
            rows=self.kind.rows.headers,
            rowptr=begin + self.rowptr,
            rowidx=begin + self.rowidx,
            colidx=begin + self.colidx,
            row_count=len(self.vertices),
        )


class RowCache:
    """Memory of the device with copies of rows of the host.

    Attributes
    ----------
    left
        The rows whose copies were dropped since all wanted ones were there, as their vertices were touched;
        None if others may have been dropped.
    brought
        What the last run brought.
    most_bytes
        Bytes of device memory that it takes at most, apart from its share; set before it is opened.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    writer
        Writes headers.
    share
        Share of the free memory that it takes at most.
    carries
        Whether copies stay for the next run.
    copies_there
        Whether a kernel copies the rows; or the host puts them together, and they come in one copy.
    names_copies
        Whether headers name copies; if not, they always name the rows of the host, and `RowIndex` tells where
        copies are.
    notes_left
        Whether `left` is kept up.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        budget: int | None,
        writer: HeaderWriter,
        share: float,
        *,
        carries: bool,
        copies_there: bool,
        names_copies: bool = True,
        notes_left: bool = True,
    ) -> None:
        self._names_copies, self._notes_left = names_copies, notes_left
        self._accelerator, self._device, self._budget = accelerator, accelerator.device, budget
        self.share, self.carries, self._copies_there = share, carries, copies_there
        self._buffer: Buffer | None = None
        self._asked = 0  # bytes that would be enough, when the memory was allocated
        self._segment_bytes = 0
        self._used: list[int] = []  # bytes of each segment
        self._current = 0
        self._kinds: list[HeldRows] = []
        self._is_touched = np.zeros(0, np.bool_)
        self._writer = writer
        self.left: Wanted | None = None
        self.most_bytes = sys.maxsize
        self._staging = Staging(self._device, large_pinned(self._device))
        self.brought = Brought()

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return 0 if self._buffer is None else self._buffer.nbytes

    @property
    def is_open(self) -> bool:
        """Whether it has memory."""
        return self._buffer is not None

    @property
    def memory(self) -> Buffer | None:
        """The memory of all copies, if it is open."""
        return self._buffer

    def copies_of(self, rows: HostOrOwnRows) -> HeldRows | None:
        """Return the copies of a kind of rows; None: the cache does not know it."""
        return next((kind for kind in self._kinds if kind.rows is rows), None)

    @property
    def holds_rows(self) -> bool:
        """Whether there are copies."""
        return any(map(len, self._kinds))

    @property
    def room(self) -> int:
        """Bytes of copies that there is room for; one segment is left for those that replace others."""
        return max(0, len(self._used) - 1) * (self._segment_bytes - self._bytes_of_kinds)

    def open(self, stream: Stream, rows: Sequence[HostOrOwnRows]) -> None:
        """Take these kinds of rows, by number, and memory if there is none or the rows have outgrown it.

        Copies of other kinds, and of rows that were loaded anew, are none any more.
        """
        known = {id(kind.rows): kind for kind in self._kinds}
        if [kind.rows for kind in self._kinds] != list(rows):
            self.left = None
        self._kinds = [known[id(one)] if id(one) in known else self._no_copies_of(one) for one in rows]
        for kind in self._kinds:
            if kind.written != kind.rows.written:
                kind.drop(kind.held)
                kind.written, self.left = kind.rows.written, None
        wanted = self._most()
        if not self._kinds or (self._buffer is not None and wanted <= _GROWTH * self._asked):
            return
        self._drop(stream, [kind.held for kind in self._kinds])
        self._buffer, self._used, self._asked, self.left = None, [], wanted, None
        free = self._device.free_memory()
        if self._budget is not None:
            free = min(free, self._budget - self._device.used_memory())
        self._allocate(min(int(self.share * free), wanted, self.most_bytes))

    def _no_copies_of(self, rows: HostOrOwnRows) -> HeldRows:
        return HeldRows(rows, keeps_places=not self._names_copies)

    def _most(self) -> int:
        """Return bytes that are enough for all rows and those to come."""
        rows = sum(kind.rows.num_rows for kind in self._kinds)
        entries = sum(kind.rows.entries for kind in self._kinds)
        return max(_LEAST_CACHE, 2 * 4 * entries + _BYTES_OF_ROW * rows)

    def _allocate(self, nbytes: int) -> None:
        longest = 4 * max((kind.rows.longest for kind in self._kinds), default=0) + self._bytes_of_kinds
        segments = nbytes // (_ROWS_OF_SEGMENT * longest)
        segments = max(_LEAST_SEGMENTS, min(_MOST_SEGMENTS, segments))
        size = nbytes // segments // _ALIGNMENT * _ALIGNMENT
        if size <= self._bytes_of_kinds:
            return
        try:
            self._buffer = self._device.allocate(
                size * segments, "rows of the host in a cache", budget=self._budget
            )
        except DeviceMemoryError:
            self._allocate(nbytes // 2)
            return
        self._segment_bytes, self._used, self._current = size, [0] * segments, 0

    @property
    def _bytes_of_kinds(self) -> int:
        """Bytes for the ends of `rowptr`, and for alignment."""
        return len(self._kinds) * (8 + 4 * _ALIGNMENT)

    def leave(self, stream: Stream, vertices: NDArray[np.uint32]) -> None:
        """Drop the copies of rows of these vertices, ascending: call it before addresses of rows change."""
        dropped = [vertices[kind.has(vertices)] for kind in self._kinds]
        self._drop(stream, dropped)
        if self.left is not None:
            for number, some in enumerate(dropped):
                self.left = self.left.then(Wanted(np.full(len(some), number, np.uint32), some))

    def empty(self, stream: Stream, gone: Sequence[HostOrOwnRows] = ()) -> None:
        """Drop all copies; no headers are written of rows that are `gone`, as they are not used any more."""
        for kind in self._kinds:
            if any(kind.rows is one for one in gone):
                kind.drop(kind.held)
        self._drop(stream, [kind.held for kind in self._kinds])
        self._used, self._current, self.left = [0] * len(self._used), 0, None

    def _drop(self, stream: Stream, vertices: Sequence[NDArray[np.uint32]]) -> None:
        """Forget copies, by kind, and have headers name the rows of the host."""
        moved = []
        for kind, some in zip(self._kinds, vertices, strict=True):
            if len(some):
                kind.drop(some)
            if len(some) and self._names_copies:
                moved.append(RowPlaces(kind.rows.headers, some, *kind.rows.places_of(some, 1)))
        self._writer.write(stream, moved)

    def _launch(self, stream: Stream, entry: str, threads: int, args: CacheArgs) -> None:
        if threads:
            stream.launch(self._writer.kernel(entry), blocks_of_threads(threads), THREADS, 0, args)

    def bring(
        self,
        stream: Stream,
        wanted: Wanted,
        touched: NDArray[np.uint32],
        threads: int,
        goes_on: Callable[[], bool] = lambda: True,
        most_rows: int | None = None,
    ) -> None:
        """Copy rows that are not there, as far as there is room; headers name the copies.

        Parameters
        ----------
        touched
            Vertices whose rows the run has in its own memory, ascending: they are left out.
        threads
            Threads of the host that put rows together.
        goes_on
            Whether to go on, asked between pieces; the rows that are not copied then are read from the host.
        most_rows
            Rows that are copied at most; None: as many as there is room for.
        """
        if not self.carries:
            self.empty(stream)
        before, self.left = self.left, None
        is_touched = self._are_touched(wanted, touched)
        placed = self._placed(wanted[~is_touched], threads)
        placed = placed[placed.sizes > 0]
        self.brought = Brought(wanted=len(placed))
        chosen = self._that_fit(placed)
        held = self._are_held(chosen.rows)
        self.brought.kept = int(held.sum())
        fresh = chosen[~held]
        all_there = self._fill(stream, chosen, fresh[:most_rows], threads, goes_on)
        self.brought.left_out = len(placed) - self.brought.kept - self.brought.copied
        if self._notes_left and self.carries and all_there and self.brought.copied == len(fresh):
            # `wanted` may be no more than what had left before this run, which has dropped others since.
            self.left = self._not_held((NOTHING if before is None else before).then(wanted[is_touched]))

    def _not_held(self, rows: Wanted) -> Wanted:
        """Return those of some rows that have no copies, each once."""
        rows = rows[np.sort(np.unique(rows.keys, return_index=True)[1])]
        return rows[~self._are_held(rows)]

    def _are_touched(self, wanted: Wanted, touched: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Return which rows are of touched vertices."""
        if not len(wanted):
            return np.zeros(0, np.bool_)
        most = max(kind.rows.num_rows for kind in self._kinds)
        if len(self._is_touched) < most:
            self._is_touched = np.zeros(most + most // 4, np.bool_)
        self._is_touched[touched] = True
        found = self._is_touched[wanted.vertices]
        self._is_touched[touched] = False
        return found

    def _placed(self, rows: Wanted, threads: int) -> _Placed:
        addresses, sizes = np.empty(len(rows), np.uint64), np.empty(len(rows), np.int64)
        for number, kind in enumerate(self._kinds):
            own = np.flatnonzero(rows.kinds == number)
            addresses[own], sizes[own] = kind.rows.places_of(rows.vertices[own], threads)
        return _Placed(rows, addresses, sizes)

    def _fill(
        self, stream: Stream, chosen: _Placed, fresh: _Placed, threads: int, goes_on: Callable[[], bool]
    ) -> bool:
        """Copy rows into one segment after the other, in pieces; each segment is emptied once at most.

        Returns whether all rows are there, and none was dropped for them.
        """
        emptied = set[int]()
        while len(fresh) and self._used and goes_on():
            left = self._segment_bytes - self._used[self._current] - self._bytes_of_kinds
            ends = np.cumsum(fresh.nbytes)
            some = int(np.searchsorted(ends, min(left, _PIECE), "right"))
            if some or ends[0] <= left:
                some = max(some, 1)
                self._copy(stream, fresh[:some], threads)
                fresh = fresh[some:]
                continue
            others = [number for number in range(len(self._used)) if number not in {*emptied, self._current}]
            if not others:
                return False
            emptied.add(self._current)
            live = self._live_bytes(chosen)
            self._current = min(others, key=lambda number: live[number])
            fresh = fresh.then(self._empty(stream, self._current, chosen))
        return not len(fresh) and not emptied

    def _live_bytes(self, chosen: _Placed) -> NDArray[np.float64]:
        """Return the bytes of each segment that are copies of these rows."""
        live = np.zeros(len(self._used))
        for number, kind in enumerate(self._kinds):
            own = chosen[chosen.rows.kinds == number]
            own = own[kind.has(own.rows.vertices)]
            live += np.bincount(kind.segments_of(own.rows.vertices), own.nbytes, len(self._used))
        return live

    def _empty(self, stream: Stream, segment: int, chosen: _Placed) -> _Placed:
        """Drop the copies of a segment; return those of the chosen rows, which are to be copied again."""
        dropped = [kind.in_segment(segment) for kind in self._kinds]
        self._drop(stream, dropped)
        self._used[segment] = 0
        again = np.zeros(len(chosen), bool)
        for number, vertices in enumerate(dropped):
            again |= (chosen.rows.kinds == number) & found_in(vertices, chosen.rows.vertices)
        self.brought.kept -= int(again.sum())  # a segment is emptied once: they are of earlier runs
        return chosen[again]

    def _are_held(self, rows: Wanted) -> NDArray[np.bool_]:
        held = np.zeros(len(rows), bool)
        for number, kind in enumerate(self._kinds):
            own = np.flatnonzero(rows.kinds == number)
            held[own] = kind.has(rows.vertices[own])
        return held

    def _that_fit(self, rows: _Placed) -> _Placed:
        """Return the best rows that fit; a row that is too long does not keep shorter ones out."""
        rows = rows[rows.nbytes <= self._segment_bytes - self._bytes_of_kinds]
        return rows[np.cumsum(rows.nbytes) <= self.room]

    def _copy(self, stream: Stream, fresh: _Placed, threads: int) -> None:
        """Copy rows into the segment that is being filled; what the host sends is one copy."""
        assert self._buffer is not None, "rows fit into a buffer that there is"
        stream.hold(self._buffer)
        begin = self._current * self._segment_bytes + self._used[self._current]
        copies = self._lay_out(fresh, begin)
        end = copies[-1].colidx + 4 * copies[-1].entries
        sent = self._staging.of((copies[0].colidx if self._copies_there else end) - begin)
        for copy in copies:
            sent[copy.rowptr - begin :][: copy.starts.nbytes].view(np.uint64)[:] = copy.starts
            sent[copy.rowidx - begin :][: copy.vertices.nbytes].view(np.uint32)[:] = copy.vertices
            if not self._copies_there:
                to = sent[copy.colidx - begin :][: 4 * copy.entries].view(np.uint32)
                _native.copy_rows(copy.addresses, copy.starts, to, threads)
        stream.upload(self._buffer, sent, begin)
        for copy in copies:
            args = copy.args(self._buffer.address)
            if self._copies_there:
                warps = -(-copy.entries // _ENTRIES_OF_WARP)
                self._launch(stream, CACHE_COPY_ENTRY, 32 * warps, args)
            if self._names_copies:
                self._launch(stream, CACHE_OPEN_ENTRY, len(copy.vertices), args)
            copy.kind.add(copy.vertices, self._current, copy.colidx // 4, copy.starts)
            self.brought.copied += len(copy.vertices)
        self.brought.nbytes += end - begin
        self._used[self._current] += _aligned(end) - begin
        self._staging.copies(stream)

    def _lay_out(self, fresh: _Placed, at: int) -> list[_Copy]:
        """Return where copies go: first what tells which rows they are, of all kinds, then the entries."""
        copies = []
        for number, kind in enumerate(self._kinds):
            own = np.flatnonzero(fresh.rows.kinds == number)
            if not len(own):
                continue
            own = own[np.argsort(fresh.rows.vertices[own])]
            vertices = fresh.rows.vertices[own]
            starts = np.zeros(len(vertices) + 1, np.uint64)
            np.cumsum(fresh.sizes[own], out=starts[1:])
            rowidx = _aligned(at + starts.nbytes)
            copies.append(_Copy(kind, vertices, fresh.addresses[own], starts, at, rowidx))
            at = _aligned(rowidx + vertices.nbytes)
        for copy in copies:
            copy.colidx = at
            at = _aligned(at + 4 * copy.entries)
        return copies

    def sent(self) -> None:
        """Give back memory that copies were sent from: they are done."""
        self._staging.sent()

    def release(self) -> None:
        """Free the memory; headers must not be used any more."""
        self._buffer, self._kinds, self._used, self.left = None, [], [], None
        self._staging.release()


def found_in(ascending: NDArray[Any], values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each value is in an ascending array."""
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    places = np.searchsorted(ascending, values)
    return np.asarray(ascending[np.minimum(places, len(ascending) - 1)] == values)


def _aligned(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT
