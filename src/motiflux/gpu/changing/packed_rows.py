"""Rows in a packed memory array: the container that ``container="gpma"`` chooses (GAMMA, V-C).

A run of updates reads them as slack rows: its touched rows are merged into memory of the run. After the run
the array takes what the run leaves, as one batch of insertions and deletions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from motiflux import _native
from motiflux.codegen.changing import WriteArgs
from motiflux.codegen.gpma import THREADS, PackedMergeArgs, entry_of
from motiflux.device import Stream
from motiflux.gpu.changing.gpma import PackedMemoryArray
from motiflux.gpu.changing.gpma_settings import PackedSettings
from motiflux.gpu.changing.rows import PIECE_ENTRIES, Rows, RunOfRows, blocks_for
from motiflux.gpu.runtime.accelerator import Accelerator

_ANY_SIZE = 1 << 62


class PackedRows(Rows):
    """Rows in a packed memory array."""

    _packed = True

    def __init__(
        self,
        accelerator: Accelerator,
        budget: int | None,
        settings: PackedSettings,
        *,
        way: int,
        directed: bool,
    ) -> None:
        super().__init__(accelerator, budget, way=way, directed=directed)
        self.array = PackedMemoryArray(accelerator, budget, settings)

    @property
    def headers(self) -> int:
        """Address of the headers of all rows."""
        return int(self.array.rows.rows)

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self.array.nbytes

    def load(self, stream: Stream, native: _native.Monitor, target: int, threads: int) -> None:
        """Copy the rows of a target from the host to the device, with threads of the host."""
        offsets, sizes, neighbors = native.target_rows(target, self._way, threads)
        self._size = sizes.view(np.int64)
        self._count(self._size)
        self._extend(len(self._size))
        self.array.load(stream, offsets, neighbors)

    def cover(self, stream: Stream, vertices: int) -> None:
        """Have empty rows for new vertices, up to this number of vertices in all."""
        if vertices > len(self._size):
            self._extend(vertices)
        self.array.cover(stream, vertices)

    def _extend(self, vertices: int) -> None:
        """Have sizes for this number of vertices, for the plan of a run; rows never outgrow a place."""
        sizes = np.zeros(vertices + vertices // 4 + 4, np.int64)
        sizes[: len(self._size)] = self._size
        self._size = sizes
        self._address = np.zeros(len(sizes), np.uint64)
        self._capacity = np.full(len(sizes), _ANY_SIZE)

    def _run_of(self, changed: _native.ChangedRows) -> RunOfRows:
        return RunOfPackedRows(self, changed)

    def release(self) -> None:
        """Free the memory."""
        self.array.release()


class RunOfPackedRows(RunOfRows):
    """The changes of one run in a packed memory array."""

    _rows: PackedRows

    def _take_room(self, entries: int) -> int:
        return 0

    @classmethod
    def merge(cls, stream: Stream, runs: Sequence[Self], addresses: Sequence[int]) -> None:
        """Write the touched rows of several changes with all entries of the run."""
        for run, address in zip(runs, addresses, strict=True):
            run._launch(stream, "merge", address, run._changed.merged_pieces)

    @classmethod
    def settle(cls, stream: Stream, runs: Sequence[Self], addresses: Sequence[int]) -> None:
        """Insert and delete entries, and open the rows in the array again.

        Raises
        ------
        DeviceMemoryError
            An array has no room to grow.
        """
        for run, address in zip(runs, addresses, strict=True):
            changed = run._changed
            run._rows.array.update(
                stream, address + changed.updates_at, changed.num_updates, changed.num_inserts
            )
            run._launch(stream, "restore", address, -(-changed.num_rows // 32))

    def _launch(self, stream: Stream, name: str, address: int, warps: int) -> None:
        changed, array = self._changed, self._rows.array
        args = PackedMergeArgs(
            WriteArgs(
                self._rows.headers,
                address + changed.touched_at,
                address + changed.merged_at,
                changed.merged_pieces,
                PIECE_ENTRIES,
            ),
            array.array,
            array.rows,
            changed.num_rows,
        )
        stream.launch(array.kernels[entry_of(name)], blocks_for(warps), THREADS, 0, args)
