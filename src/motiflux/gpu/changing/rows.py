"""Slack rows: the neighbours that one kind of query edge accepts, on the device, as the graph changes.

Each row has some room to grow. While a run of updates is matched, its touched rows hold every neighbour of
the run, with lifetimes, in memory of the run (``include/motiflux/view/changing.hpp``); then those that stay
are written back in place, or to a new place if the row has outgrown its own. The host knows where each row
is and how long it is, and lays rows out (`_native.ChangedRows`, on the threads of the call); kernels move the
entries (``include/motiflux/changing/write_rows.cuh``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.changing import (
    MERGE_ENTRY,
    MOST_WRITES,
    ROW,
    SETTLE_ENTRY,
    Repeats,
    WriteArgs,
    WritesArgs,
    write_source,
)
from motiflux.codegen.kernels import THREADS
from motiflux.device import Buffer, HostBuffer, Kernel, Stream
from motiflux.gpu.changing.memory import Parcel
from motiflux.gpu.runtime.accelerator import Accelerator

OUT, IN, EITHER = 0, 1, 2
"""Directions of rows, as the native monitor numbers them."""
PIECE_ENTRIES = 1024
"""Entries of a row that a warp moves at a time."""
_LEAST_CHUNK = 1 << 16
_MOST_BLOCKS = 1 << 12
_MEASURED_AGAIN = 2
"""Growth of the entries since rows were last measured, after which they are measured again."""
_WASTE = 2
"""Rows are loaded anew when their memory is this many times that of a fresh load."""


class Rows(ABC):
    """The rows of all vertices in one direction, for one set of classes, in a container on the device.

    Parameters
    ----------
    accelerator, budget
        The device and its kernels, and the maximum number of bytes that motiflux holds there.
    way
        `OUT`, `IN` or `EITHER`.
    directed
        Whether the graph is.

    Attributes
    ----------
    repeats
        Whether a row may hold a neighbour several times: once for each edge.
    entries, longest
        Number of neighbours in all rows; size of the longest row.
    typical
        Size of the row that an entry is in, on average: what a search walks. It is measured when rows are
        loaded, and again when they have twice as many entries.
    writer
        The unit of the kernels that write rows.
    """

    _packed: ClassVar[bool]
    """Whether the rows are in a packed memory array."""

    def __init__(self, accelerator: Accelerator, budget: int | None, *, way: int, directed: bool) -> None:
        self._accelerator, self._device, self._budget = accelerator, accelerator.device, budget
        self._way, self._directed, self.repeats = way, directed, False
        self._classes: NDArray[np.bool_] | None = None
        self._mixes = False  # whether ends of a vertex come class by class, or way by way
        self._address = np.zeros(0, np.uint64)
        self._size = np.zeros(0, np.int64)
        self._capacity = np.zeros(0, np.int64)
        self.typical, self._measured = 0.0, 1
        self.entries = self.longest = 0
        self.writer = write_source()

    @property
    @abstractmethod
    def headers(self) -> int:
        """Address of the headers of all rows."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes held on the device."""

    @property
    def repeats_in_kernels(self) -> Repeats:
        """Equal ids that untouched rows may hold, as kernels are told."""
        if self.repeats:
            return Repeats.OF_EDGES
        return Repeats.IN_GAPS if self._packed else Repeats.NONE

    @property
    def is_wasteful(self) -> bool:
        """Whether the rows take much more memory than if they were loaded anew."""
        return False

    @abstractmethod
    def load(self, stream: Stream, native: _native.Monitor, target: int, threads: int) -> None:
        """Copy the rows of a target from the host to the device, with threads of the host."""

    @abstractmethod
    def cover(self, stream: Stream, vertices: int) -> None:
        """Have empty rows for new vertices, up to this number of vertices in all."""

    @abstractmethod
    def release(self) -> None:
        """Free the memory."""

    @property
    def kernels(self) -> Mapping[str, Kernel]:
        """The kernels that write rows, by entry point."""
        return self._accelerator.kernels(self.writer, (MERGE_ENTRY, SETTLE_ENTRY))

    def accept(self, classes: NDArray[np.uint32] | None, number: int) -> None:
        """Set the classes of the neighbours that rows hold; None: all of the `number` classes."""
        several = (number if classes is None else len(classes)) > 1
        self._mixes = several or (self._directed and self._way == EITHER)
        if classes is None:
            self._classes = None
            return
        self._classes = np.zeros(number, bool)
        self._classes[classes] = True

    def changes(self, run: _native.Run) -> RunOfRows | None:
        """Return the changes that a run makes in these rows; None if there are none."""
        accepts = None if self._classes is None else self._classes.view(np.uint8)
        found = _native.ChangedRows(
            run,
            accepts,
            self._way,
            self._directed,
            self._mixes,
            PIECE_ENTRIES,
            self._address,
            self._size,
            self._capacity,
            self._packed,
        )
        return self._run_of(found) if found.num_rows else None

    @abstractmethod
    def _run_of(self, changed: _native.ChangedRows) -> RunOfRows:
        """Return changes of these rows, as they are written."""

    @property
    def _has_doubled(self) -> bool:
        """Whether there are twice as many entries as when they were measured."""
        return self.entries > _MEASURED_AGAIN * self._measured

    def grown(self, growth: int, longest: int) -> None:
        """Note how many entries there are more, and the size of the longest row with those of the run."""
        if self._has_doubled:
            self._measure(self._size)
        self.entries += growth
        self.longest = max(self.longest, longest)

    def _count(self, size: NDArray[np.int64]) -> None:
        """Note the sizes of rows that are loaded."""
        self.entries, self.longest = int(size.sum()), int(size.max(initial=0))
        self._measure(size)

    def _measure(self, size: NDArray[np.int64]) -> None:
        entries = max(1, int(size.sum()))
        self.typical, self._measured = float(np.square(size, dtype=np.float64).sum()) / entries, entries


class SlackRows(Rows):
    """Rows that have some room each."""

    _packed = False

    def __init__(self, accelerator: Accelerator, budget: int | None, *, way: int, directed: bool) -> None:
        super().__init__(accelerator, budget, way=way, directed=directed)
        self._chunks: list[Buffer | HostBuffer] = []
        self._held = 0  # bytes of the chunks
        self._next = self._left = 0
        self._headers: Buffer | None = None

    @property
    def headers(self) -> int:
        """Address of the headers of all rows."""
        assert self._headers is not None, "the rows are not loaded"
        return self._headers.address

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self._header_bytes + self._held

    @property
    def _header_bytes(self) -> int:
        return 0 if self._headers is None else self._headers.nbytes

    @property
    def is_wasteful(self) -> bool:
        """Whether places that rows have left take more memory than the rows."""
        fresh = self.entries + self.entries // 4 + 4 * len(self._size)
        return self._held // 4 > _WASTE * fresh + 4 * _LEAST_CHUNK

    def load(self, stream: Stream, native: _native.Monitor, target: int, threads: int) -> None:
        """Copy the rows of a target from the host to the device, with threads of the host."""
        self.release()
        places, sizes, entries = native.target_rows(target, self._way, threads, with_room=True)
        total = len(entries)
        begin = self._take_chunk(total + max(_LEAST_CHUNK, total // 8))
        if total:
            self._fill(stream, entries)
        self._next += 4 * total
        self._left -= total
        self._address = np.uint64(begin) + np.uint64(4) * places[:-1]
        self._size = sizes.view(np.int64)
        ends = places.view(np.int64)
        self._capacity = ends[1:] - ends[:-1]
        self._count(self._size)
        self._pad(stream, len(sizes))
        stream.wait()  # the arrays above are not kept

    def _take_chunk(self, entries: int) -> int:
        """Allocate memory for rows; return its address."""
        chunk = self._allocate(4 * entries)
        self._chunks.append(chunk)
        self._held += 4 * entries
        self._next, self._left = chunk.address, entries
        return self._next

    def _allocate(self, nbytes: int) -> Buffer | HostBuffer:
        return self._device.allocate(nbytes, "rows of the changing graph", budget=self._budget)

    def _fill(self, stream: Stream, entries: NDArray[np.uint32]) -> None:
        """Write the beginning of the last chunk."""
        stream.upload(cast("Buffer", self._chunks[-1]), entries)

    def _pad(self, stream: Stream, vertices: int) -> None:
        """Make headers for at least this number of vertices; rows beyond those that there are are empty."""
        more = vertices + vertices // 4 + 4 - len(self._size)
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

    def _run_of(self, changed: _native.ChangedRows) -> RunOfRows:
        return RunOfSlackRows(self, changed)

    def take_room(self, entries: int) -> int:
        """Return the address of memory for rows that outgrow their places.

        Raises
        ------
        DeviceMemoryError
            There is none.
        """
        if entries > self._left:
            self._take_chunk(entries + max(_LEAST_CHUNK, self.entries // 8))
        address = self._next
        self._next += 4 * entries
        self._left -= entries
        return address

    def release(self) -> None:
        """Free the memory."""
        self._chunks, self._headers = [], None
        self._held = self._next = self._left = 0


class RunOfRows(ABC):
    """The changes of one run in the rows of one direction and set of classes.

    They are measured first, so that memory can be allocated; `pack` has what the kernels read written.

    Parameters
    ----------
    rows
        The rows.
    changed
        What changes in them.
    """

    def __init__(self, rows: Rows, changed: _native.ChangedRows) -> None:
        self._rows, self._changed = rows, changed

    @property
    def longest(self) -> int:
        """Size of the longest touched row."""
        return self._changed.longest

    @property
    def touched_at(self) -> int:
        """Place of the touched rows behind the address that `merge` is given."""
        return self._changed.touched_at

    @property
    def num_touched(self) -> int:
        """Number of touched rows."""
        return self._changed.num_rows

    @property
    def nbytes(self) -> int:
        """Bytes of the memory of the run that `merge` fills."""
        return self._changed.memory_nbytes

    def pack(self, parcel: Parcel, memory: int) -> int:
        """Add what the kernels read to a parcel, and decide where the rows are written after the run.

        Parameters
        ----------
        memory
            Address of the memory of the run.

        Returns
        -------
        The place in the parcel.

        Raises
        ------
        DeviceMemoryError
            Rows have no room to grow.
        """
        room = self._take_room(self._changed.room)
        self._rows.grown(self._changed.growth, self._changed.longest)

        def fill(block: NDArray[np.uint8], address: int) -> None:
            self._changed.write(block, address, memory, room)

        return parcel.reserve(self._changed.nbytes, fill)

    @abstractmethod
    def _take_room(self, entries: int) -> int:
        """Return the address of memory for rows that outgrow their places."""

    @classmethod
    @abstractmethod
    def merge(cls, stream: Stream, runs: Sequence[Self], addresses: Sequence[int]) -> None:
        """Write the touched rows of several changes with all entries of the run.

        Parameters
        ----------
        addresses
            Where the changes are, each.
        """

    @classmethod
    @abstractmethod
    def settle(cls, stream: Stream, runs: Sequence[Self], addresses: Sequence[int]) -> None:
        """Write the entries that stay after the run.

        Raises
        ------
        DeviceMemoryError
            There is no room for them.
        """


class RunOfSlackRows(RunOfRows):
    """The changes of one run in slack rows."""

    def _take_room(self, entries: int) -> int:
        return cast("SlackRows", self._rows).take_room(entries)

    @classmethod
    def merge(cls, stream: Stream, runs: Sequence[Self], addresses: Sequence[int]) -> None:
        """Write the touched rows of several changes with all entries of the run."""
        changed = [run._changed for run in runs]
        pieces = [(one.merged_at, one.merged_pieces) for one in changed]
        cls._write(stream, MERGE_ENTRY, runs, addresses, pieces)

    @classmethod
    def settle(cls, stream: Stream, runs: Sequence[Self], addresses: Sequence[int]) -> None:
        """Write the entries that stay after the run."""
        changed = [run._changed for run in runs]
        pieces = [(one.settled_at, one.settled_pieces) for one in changed]
        cls._write(stream, SETTLE_ENTRY, runs, addresses, pieces)

    @classmethod
    def _write(
        cls,
        stream: Stream,
        entry: str,
        runs: Sequence[Self],
        addresses: Sequence[int],
        pieces: Sequence[tuple[int, int]],
    ) -> None:
        """Launch a kernel for all rows; `pieces`: their places behind the addresses, and numbers."""
        if not runs:
            return
        kernel = runs[0]._rows.kernels[entry]
        for first in range(0, len(runs), MOST_WRITES):
            some = slice(first, first + MOST_WRITES)
            args, blocks = WritesArgs(), 0
            for number, (run, address, (at, count)) in enumerate(
                zip(runs[some], addresses[some], pieces[some], strict=True)
            ):
                touched = address + run._changed.touched_at
                args.writes[number] = WriteArgs(
                    run._rows.headers, touched, address + at, count, PIECE_ENTRIES
                )
                blocks += blocks_for(count)
                args.ends[number] = blocks
            stream.launch(kernel, blocks, THREADS, 0, args)


RowsByName = Mapping[tuple[int, int], Rows]
"""Rows by the number of their target in the native monitor, and the direction."""


def blocks_for(pieces: int) -> int:
    """Return the blocks of a kernel with a warp for each piece: up to some thousands."""
    return max(1, min(_MOST_BLOCKS, -(-pieces // (THREADS // 32))))
