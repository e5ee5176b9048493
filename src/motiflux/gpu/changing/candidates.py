"""The candidate table on a device: which data vertices may be matched to which query vertices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.changing import CANDIDATES_ENTRY, CandidateArgs, candidates_source
from motiflux.device import Buffer, Stream
from motiflux.gpu.changing.memory import Parcel
from motiflux.gpu.runtime.accelerator import Accelerator

_THREADS, _MOST_BLOCKS = 256, 1024
_COLUMNS_OF_BYTE = 8
_WORD_BYTES = 8


class Candidates:
    """A copy of the native monitor's table, which is kept in step by the changes that runs bring.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    """

    def __init__(self, accelerator: Accelerator, budget: int | None) -> None:
        self._accelerator, self._budget = accelerator, budget
        self._buffer: Buffer | None = None
        self._vertices = 0
        self._state: tuple[int, int] | None = None
        self.row_bytes = 0
        """Bytes of a vertex."""

    @property
    def address(self) -> int:
        """Address of the row of the first vertex."""
        return 0 if self._buffer is None else self._buffer.address

    def follow(
        self, stream: Stream, native: _native.Monitor, run: _native.Run, parcel: Parcel
    ) -> Callable[[int], None] | None:
        """Bring the copy to the state of a run.

        Returns
        -------
        A function that writes what was added to the parcel, called with the address of the parcel; None if
        there is nothing to write.
        """
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
        rows = self._packed(words)
        at_vertices, at_rows = parcel.add(vertices), parcel.add(rows)
        kernel = self._accelerator.kernels(candidates_source(), (CANDIDATES_ENTRY,))[CANDIDATES_ENTRY]
        blocks = max(1, min(_MOST_BLOCKS, -(-rows.nbytes // _THREADS)))

        def write(start: int) -> None:
            args = CandidateArgs(
                self.address, start + at_vertices, start + at_rows, len(vertices), self.row_bytes
            )
            stream.launch(kernel, blocks, _THREADS, 0, args)

        return write

    def _load(self, stream: Stream, native: _native.Monitor) -> None:
        """Upload the whole table, with room for more vertices."""
        self._state = None
        version, taken, columns, words = native.candidates()
        self.row_bytes = -(-columns // _COLUMNS_OF_BYTE)
        vertices = native.num_vertices
        self._vertices = vertices + vertices // 4 + 64
        nbytes = self._vertices * self.row_bytes
        if self._buffer is None or self._buffer.nbytes < nbytes:
            self._buffer = None
            self._buffer = self._accelerator.device.allocate(
                nbytes, "candidates of query vertices", budget=self._budget
            )
        stream.hold(self._buffer)
        table = np.zeros(nbytes, np.uint8)
        table[: vertices * self.row_bytes] = self._packed(words).reshape(-1)
        stream.upload(self._buffer, table)
        stream.wait()  # the array is not kept
        self._state = version, taken

    def _packed(self, words: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """Return rows without bytes that no column needs."""
        width = -(-self.row_bytes // _WORD_BYTES)
        rows: NDArray[Any] = words.view(np.uint8).reshape(-1, width * _WORD_BYTES)
        return np.ascontiguousarray(rows[:, : self.row_bytes])

    def release(self) -> None:
        """Free the memory."""
        self._buffer, self._state, self._vertices = None, None, 0
