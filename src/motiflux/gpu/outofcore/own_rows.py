"""Rows of the monitor itself, which kernels read where they are (GCSM, section V-A)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.changing import ROW
from motiflux.device import Buffer, Stream
from motiflux.gpu.changing.rows import PIECE_ENTRIES, Rows, RunOfRows, RunOfSlackRows
from motiflux.gpu.outofcore.headers import HeaderWriter, RowPlaces
from motiflux.gpu.outofcore.host_rows import HostRows, next_writing
from motiflux.gpu.runtime.accelerator import Accelerator

_PIECE = 1 << 18
"""Rows whose places the monitor is asked for at a time."""


class OwnRows(Rows):
    """The rows of a target that are runs of rows of the monitor.

    The device has their headers. The monitor writes the rows; a `_native.GraphReader` tells whose headers
    have to be written again.

    Parameters
    ----------
    writer
        Writes headers.

    Attributes
    ----------
    written
        A number that is new whenever all headers were written: they name the rows of the host then.
    """

    _packed = False

    def __init__(
        self, accelerator: Accelerator, budget: int | None, writer: HeaderWriter, *, way: int, directed: bool
    ) -> None:
        super().__init__(accelerator, budget, way=way, directed=directed)
        self._writer, self.written = writer, 0
        self._native: _native.Monitor | None = None
        self._target, self._threads = -1, 1
        self._headers: Buffer | None = None
        self._covered = 0  # vertices that there are headers for

    @property
    def headers(self) -> int:
        """Address of the headers of all rows."""
        assert self._headers is not None, "the rows are not loaded"
        return self._headers.address

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return 0 if self._headers is None else self._headers.nbytes

    @property
    def monitor(self) -> _native.Monitor:
        """The monitor whose rows these are."""
        assert self._native is not None, "the rows are not loaded"
        return self._native

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.monitor.num_vertices

    @property
    def all_sizes(self) -> NDArray[np.int64]:
        """Number of entries of each row, [vertices]."""
        return self.monitor.places_in_rows(self._target, self._way, 0, self.num_rows)[1]

    def places_of(
        self, vertices: NDArray[np.uint32], threads: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the addresses of rows in memory of the host, and their numbers of entries."""
        return self.monitor.places_of_rows(self._target, self._way, vertices, threads)

    def load(self, stream: Stream, native: _native.Monitor, target: int, threads: int) -> None:
        """Write the headers of all rows of a target; threads of the host measure the rows."""
        self.release()
        self._native, self._target, self._threads = native, target, threads
        self._measure_all()
        self._write_all(stream)

    def _measure_all(self) -> None:
        found = self.monitor.sums_of_rows(self._target, self._way, self._threads)
        self.entries, self.longest, squares = found
        self._measured = max(1, self.entries)
        self.typical = squares / self._measured

    def _write_all(self, stream: Stream) -> None:
        """Make headers for all rows, and for as many more that are empty as there may soon be."""
        vertices = self.num_rows
        room = vertices + vertices // 4 + 4
        self._headers = None  # before the new ones: both might not fit
        self._headers = self._device.allocate(
            room * ROW.itemsize, "places of the rows of the changing graph", budget=self._budget
        )
        stream.clear(self._headers)
        self._covered, self.written = room, next_writing()
        for first in range(0, vertices, _PIECE):
            last = min(first + _PIECE, vertices)
            addresses, sizes = self.monitor.places_in_rows(self._target, self._way, first, last)
            some = np.arange(first, last, dtype=np.uint32)
            self._writer.write(stream, [RowPlaces(self.headers, some, addresses, sizes)])

    def cover(self, stream: Stream, vertices: int) -> None:
        """Have headers for new vertices, up to this number of vertices in all."""
        if vertices > self._covered:
            self._write_all(stream)

    def placed(self, vertices: NDArray[np.uint32]) -> RowPlaces:
        """Return where the rows of vertices are now."""
        return RowPlaces(self.headers, vertices, *self.places_of(vertices, self._threads))

    def changes(self, run: _native.Run) -> RunOfRows | None:
        """Return the changes that a run makes in these rows; None if there are none."""
        found = self.monitor.changed_rows(run, self._target, self._way, PIECE_ENTRIES)
        return self._run_of(found) if found.num_rows else None

    def _run_of(self, changed: _native.ChangedRows) -> RunOfRows:
        return RunOfOwnRows(self, changed)

    def grown(self, growth: int, longest: int) -> None:
        """Note how many entries there are more, and the size of the longest row with those of the run."""
        if self._has_doubled:
            self._measure_all()
        self.entries += growth
        self.longest = max(self.longest, longest)

    def release(self) -> None:
        """Free the headers."""
        self._headers, self._native, self._covered = None, None, 0


class RunOfOwnRows(RunOfSlackRows):
    """The changes of one run in rows of the monitor, which writes them itself."""

    def _take_room(self, entries: int) -> int:
        return 0


HostOrOwnRows = HostRows | OwnRows
"""Rows in memory of the host: copies in pinned memory, or those of the monitor."""
