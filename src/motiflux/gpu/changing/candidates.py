"""The candidate table on a device: which data vertices may be matched to which query vertices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.changing import CANDIDATES_ENTRY, CandidateArgs, candidates_source
from motiflux.codegen.kernels import THREADS
from motiflux.device import Buffer, Stream
from motiflux.gpu.changing.memory import Parcel
from motiflux.gpu.changing.plans import RowsName
from motiflux.gpu.changing.rows import RowsByName, RunOfRows
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.jit import Source

COLUMNS_OF_BYTE = 8
_MOST_BLOCKS = 1024
_WORD_BYTES = 8

Written = Callable[[int, Sequence[RunOfRows], Sequence[int]], None]
"""Writes the table once a run is merged into the rows: the address of the parcel, what changes, and where."""


class CandidateTable(ABC):
    """A bit for each data vertex and query vertex, which searches test.

    Attributes
    ----------
    sources
        The units that write it.
    address, row_bytes
        Address of the row of the first vertex, 0 while there is none, and bytes of a vertex.
    """

    sources: ClassVar[tuple[Source, ...]]

    def __init__(self) -> None:
        self.address = self.row_bytes = 0

    def rows(self, native: _native.Monitor) -> list[RowsName]:
        """Return the rows that it needs beside those of the plans."""
        return []

    @abstractmethod
    def follow(
        self, stream: Stream, native: _native.Monitor, run: _native.Run, rows: RowsByName, parcel: Parcel
    ) -> Written | None:
        """Bring the table to the state of a run; return a function that writes what the parcel has of it."""

    @abstractmethod
    def settled(self, stream: Stream, runs: Sequence[RunOfRows], starts: Sequence[int]) -> None:
        """Learn that the rows hold what stays after a run."""

    @abstractmethod
    def release(self) -> None:
        """Free the memory."""


class UploadedCandidates(CandidateTable):
    """A copy of the native monitor's table, which is kept in step by the changes that runs bring.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    """

    sources = (candidates_source(),)

    def __init__(self, accelerator: Accelerator, budget: int | None) -> None:
        super().__init__()
        self._accelerator, self._budget = accelerator, budget
        self._buffer: Buffer | None = None
        self._vertices = 0
        self._state: tuple[int, int] | None = None

    def follow(
        self, stream: Stream, native: _native.Monitor, run: _native.Run, rows: RowsByName, parcel: Parcel
    ) -> Written | None:
        """Bring the table to the state of a run."""
        changes = run.candidate_changes
        if changes is None:
            return None
        version, taken, vertices, words = changes
        if self._state != (version, taken) or native.num_vertices > self._vertices:
            self._load(stream, native)
            return None
        self._state = version, taken + 1
        if not len(vertices):
            return None
        packed = self._packed(words)
        at_vertices, at_rows = parcel.add(vertices), parcel.add(packed)
        kernel = self._accelerator.kernels(candidates_source(), (CANDIDATES_ENTRY,))[CANDIDATES_ENTRY]

        def write(start: int, runs: Sequence[RunOfRows], starts: Sequence[int]) -> None:
            args = CandidateArgs(
                self.address, start + at_vertices, start + at_rows, len(vertices), self.row_bytes
            )
            stream.launch(kernel, blocks_of_threads(packed.nbytes), THREADS, 0, args)

        return write

    def settled(self, stream: Stream, runs: Sequence[RunOfRows], starts: Sequence[int]) -> None:
        """Do nothing: the next run brings what has changed."""

    def _load(self, stream: Stream, native: _native.Monitor) -> None:
        """Upload the whole table, with room for more vertices."""
        self._state = None
        version, taken, columns, words = native.candidates()
        self.row_bytes = -(-columns // COLUMNS_OF_BYTE)
        vertices = native.num_vertices
        self._vertices = vertices + vertices // 4 + 64
        nbytes = self._vertices * self.row_bytes
        if self._buffer is None or self._buffer.nbytes < nbytes:
            self._buffer = None
            self._buffer = self._accelerator.device.allocate(
                nbytes, "candidates of query vertices", budget=self._budget
            )
        self.address = self._buffer.address
        stream.hold(self._buffer)
        table = np.zeros(nbytes, np.uint8)
        table[: vertices * self.row_bytes] = self._packed(words).reshape(-1)
        stream.upload(self._buffer, table)
        stream.wait()  # the array is not kept
        self._state = version, taken

    def _packed(self, words: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """Return rows without bytes that no column needs."""
        width = -(-self.row_bytes // _WORD_BYTES)
        rows = words.view(np.uint8).reshape(-1, width * _WORD_BYTES)
        return np.ascontiguousarray(rows[:, : self.row_bytes])

    def release(self) -> None:
        """Free the memory."""
        self._buffer, self._state = None, None
        self._vertices = self.address = 0


def blocks_of_threads(items: int) -> int:
    """Return the blocks of a kernel with a thread for each item: up to some thousands."""
    return max(1, min(_MOST_BLOCKS, -(-items // THREADS)))
