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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.changing import CACHE_COPY_ENTRY, CACHE_OPEN_ENTRY, CacheArgs
from motiflux.codegen.kernels import THREADS
from motiflux.device import Buffer, Stream
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.changing.candidates import blocks_of_threads
from motiflux.gpu.changing.memory import Staging, large_pinned
from motiflux.gpu.outofcore.headers import HeaderWriter, PlacedRows
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

    def __getitem__(self, which: NDArray[np.bool_] | slice) -> Wanted:
        return Wanted(self.kinds[which], self.vertices[which])

    def __len__(self) -> int:
        return len(self.vertices)

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


@dataclass
class _Kind:
    """The copies of one kind of rows: their vertices, ascending, and the segments that they are in."""

    rows: HostOrOwnRows
    written: int
    held: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    segments: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))

    def add(self, vertices: NDArray[np.uint32], segment: int) -> None:
        """Note copies of rows of these vertices, ascending."""
        places = np.searchsorted(self.held, vertices)
        self.held = np.insert(self.held, places, vertices)
        self.segments = np.insert(self.segments, places, segment)

    def has(self, vertices: NDArray[np.uint32]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the places of vertices in `held`, and whether they are there."""
        return _found_in(self.held, vertices)

    def drop(self, which: NDArray[np.bool_]) -> NDArray[np.uint32]:
        """Forget copies; return their vertices."""
        dropped = self.held[which]
        self.held, self.segments = self.held[~which], self.segments[~which]
        return dropped


@dataclass
class _Copy:
    """Rows of one kind that are copied, in DCSR: places are bytes from the start of the cache."""

    kind: _Kind
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
    ) -> None:
        self._accelerator, self._device, self._budget = accelerator, accelerator.device, budget
        self.share, self._carries, self._copies_there = share, carries, copies_there
        self._buffer: Buffer | None = None
        self._asked = 0  # bytes that would be enough, when the memory was allocated
        self._segment_bytes = 0
        self._used: list[int] = []  # bytes of each segment
        self._current = 0
        self._kinds: list[_Kind] = []
        self._writer = writer
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
    def room(self) -> int:
        """Bytes of copies that there is room for; one segment is left for those that replace others."""
        return max(0, len(self._used) - 1) * (self._segment_bytes - self._bytes_of_kinds)

    def open(self, stream: Stream, rows: Sequence[HostOrOwnRows]) -> None:
        """Take these kinds of rows, by number, and memory if there is none or the rows have outgrown it.

        Copies of other kinds, and of rows that were loaded anew, are none any more.
        """
        known = {id(kind.rows): kind for kind in self._kinds}
        self._kinds = [known.get(id(one)) or _Kind(one, one.written) for one in rows]
        for kind in self._kinds:
            if kind.written != kind.rows.written:
                kind.drop(np.ones(len(kind.held), bool))
                kind.written = kind.rows.written
        wanted = self._most()
        if not self._kinds or (self._buffer is not None and wanted <= _GROWTH * self._asked):
            return
        self._drop(stream, [np.ones(len(kind.held), bool) for kind in self._kinds])
        self._buffer, self._used, self._asked = None, [], wanted
        free = self._device.free_memory()
        if self._budget is not None:
            free = min(free, self._budget - self._device.used_memory())
        self._allocate(min(int(self.share * free), wanted))

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
        """Drop the copies of rows of these vertices: call it before the addresses of rows change."""
        which = [np.zeros(len(kind.held), bool) for kind in self._kinds]
        for kind, leaves in zip(self._kinds, which, strict=True):
            places, there = kind.has(vertices)
            leaves[places[there]] = True
        self._drop(stream, which)

    def _drop(self, stream: Stream, which: Iterable[NDArray[np.bool_]]) -> list[NDArray[np.uint32]]:
        """Forget copies, and have headers name the rows of the host; return the vertices, by kind."""
        dropped = [kind.drop(some) for kind, some in zip(self._kinds, which, strict=True)]
        moved = [
            PlacedRows(kind.rows.headers, vertices, *kind.rows.places_of(vertices))
            for kind, vertices in zip(self._kinds, dropped, strict=True)
            if len(vertices)
        ]
        self._writer.write(stream, moved)
        return dropped

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
        """
        wanted = wanted[~_found_in(touched, wanted.vertices)[1]]
        wanted = wanted[self._sizes(wanted) > 0]
        self.brought = Brought(wanted=len(wanted))
        if not self._carries:
            self._drop(stream, [np.ones(len(kind.held), bool) for kind in self._kinds])
            self._used, self._current = [0] * len(self._used), 0
        chosen = self._that_fit(wanted)
        held = self._are_held(chosen)
        self.brought.kept = int(held.sum())
        self._fill(stream, chosen, chosen[~held], threads, goes_on)
        self.brought.left_out = len(wanted) - self.brought.kept - self.brought.copied

    def _fill(
        self, stream: Stream, chosen: Wanted, fresh: Wanted, threads: int, goes_on: Callable[[], bool]
    ) -> None:
        """Copy rows into one segment after the other, in pieces; each segment is emptied once at most."""
        emptied = set[int]()
        while len(fresh) and self._used and goes_on():
            left = self._segment_bytes - self._used[self._current] - self._bytes_of_kinds
            ends = np.cumsum(self._bytes_by_row(fresh))
            some = int(np.searchsorted(ends, min(left, _PIECE), "right"))
            if some or ends[0] <= left:
                some = max(some, 1)
                self._copy(stream, fresh[:some], threads)
                fresh = fresh[slice(some, None)]
                continue
            others = [number for number in range(len(self._used)) if number not in {*emptied, self._current}]
            if not others:
                return
            emptied.add(self._current)
            live = self._live_bytes(chosen)
            self._current = min(others, key=lambda number: live[number])
            fresh = fresh.then(self._empty(stream, self._current, chosen))

    def _live_bytes(self, chosen: Wanted) -> NDArray[np.float64]:
        """Return the bytes of each segment that are copies of these rows."""
        live = np.zeros(len(self._used))
        for number, kind in enumerate(self._kinds):
            places, there = kind.has(chosen.vertices[chosen.kinds == number])
            own = places[there]
            nbytes = 4 * kind.rows.places_of(kind.held[own])[1] + _BYTES_OF_ROW
            live += np.bincount(kind.segments[own], nbytes, len(self._used))
        return live

    def _empty(self, stream: Stream, segment: int, chosen: Wanted) -> Wanted:
        """Drop the copies of a segment; return those of the chosen rows, which are to be copied again."""
        dropped = self._drop(stream, [kind.segments == segment for kind in self._kinds])
        self._used[segment] = 0
        again = np.zeros(len(chosen), bool)
        for number, vertices in enumerate(dropped):
            again |= (chosen.kinds == number) & _found_in(vertices, chosen.vertices)[1]
        self.brought.kept -= int(again.sum())  # a segment is emptied once: they are of earlier runs
        return chosen[again]

    def _sizes(self, rows: Wanted) -> NDArray[np.int64]:
        sizes = np.zeros(len(rows), np.int64)
        for number, kind in enumerate(self._kinds):
            own = rows.kinds == number
            sizes[own] = kind.rows.places_of(rows.vertices[own])[1]
        return sizes

    def _are_held(self, rows: Wanted) -> NDArray[np.bool_]:
        held = np.zeros(len(rows), bool)
        for number, kind in enumerate(self._kinds):
            own = rows.kinds == number
            held[own] = kind.has(rows.vertices[own])[1]
        return held

    def _bytes_by_row(self, rows: Wanted) -> NDArray[np.int64]:
        return 4 * self._sizes(rows) + _BYTES_OF_ROW

    def _that_fit(self, rows: Wanted) -> Wanted:
        """Return the best rows that fit; a row that is too long does not keep shorter ones out."""
        nbytes = self._bytes_by_row(rows)
        short = nbytes <= self._segment_bytes - self._bytes_of_kinds
        rows, nbytes = rows[short], nbytes[short]
        return rows[np.cumsum(nbytes) <= self.room]

    def _copy(self, stream: Stream, fresh: Wanted, threads: int) -> None:
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
            self._launch(stream, CACHE_OPEN_ENTRY, len(copy.vertices), args)
            copy.kind.add(copy.vertices, self._current)
            self.brought.copied += len(copy.vertices)
        self.brought.nbytes += end - begin
        self._used[self._current] += _aligned(end) - begin
        stream.wait()  # the memory is used again

    def _lay_out(self, fresh: Wanted, at: int) -> list[_Copy]:
        """Return where copies go: first what tells which rows they are, of all kinds, then the entries."""
        copies = []
        for number, kind in enumerate(self._kinds):
            vertices = np.sort(fresh.vertices[fresh.kinds == number])
            if not len(vertices):
                continue
            starts = np.zeros(len(vertices) + 1, np.uint64)
            addresses, sizes = kind.rows.places_of(vertices)
            np.cumsum(sizes, out=starts[1:])
            rowidx = _aligned(at + starts.nbytes)
            copies.append(_Copy(kind, vertices, addresses, starts, at, rowidx))
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
        self._buffer, self._kinds, self._used = None, [], []
        self._staging.release()


def _found_in(
    ascending: NDArray[np.uint32], values: NDArray[np.uint32]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the place of each value in an ascending array, and whether it is there."""
    places = np.searchsorted(ascending, values)
    if not len(ascending):
        return places, np.zeros(len(values), bool)
    there = ascending[np.minimum(places, len(ascending) - 1)] == values
    return places, there


def _aligned(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT
