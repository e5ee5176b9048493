"""The graph of versions of a stream in device memory, and its first versions."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.layout import Adjacency
from motiflux.codegen.streaming import (
    BATCH_BYTES,
    FARTHEST_END,
    HEAD,
    LOAD_ENTRY,
    MOVE_ENTRY,
    UNIT_BYTES,
    UPDATE_SLOT,
    LoadArgs,
    MoveArgs,
    Pool,
    PoolCounts,
    Progress,
    Stages,
    StreamGraph,
    Versions,
    bytes_of_version,
    load_source,
    move_source,
)
from motiflux.device import Buffer, Stream
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.streaming.kinds import KindTables

_MOST_UNITS = 2**32 - 1
_LOAD_BLOCKS, _LOAD_THREADS = 512, 128
_SPARE = 1.25
"""Memory for versions is at least so much of what the first ones need."""


class Move(NamedTuple):
    """Some rows from `first` on have numbers from `to` on; None: they are dropped."""

    first: int
    to: int | None
    rows: int


class GraphMemory:
    """Versions of rows, the allocator of their memory, and the stages of updates.

    Parameters
    ----------
    rows
        Number of rows.
    units
        Units of memory for versions.
    slot_count
        Maximum number of updates under way.
    stream
        The stream of copies, which no resident kernel runs on.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        budget: int | None,
        rows: int,
        units: int,
        slot_count: int,
        stream: Stream,
    ) -> None:
        self._accelerator, self._stream, self._units, self._slots = accelerator, stream, units, slot_count
        self._budget = budget
        self.rows = rows
        self._buffers: dict[str, Buffer] = {}
        for name, nbytes, what in (
            ("memory", units * UNIT_BYTES, "versions of rows"),
            ("counts", ctypes.sizeof(PoolCounts), "counters of the memory for versions"),
            ("marks", units // 64 * 8 + 8, "marks of free memory"),
            ("heads", max(1, rows) * HEAD.itemsize, "heads of rows"),
            ("progress", ctypes.sizeof(Progress), "progress of updates"),
            ("slots", slot_count * UPDATE_SLOT.itemsize, "updates under way"),
            ("batch", BATCH_BYTES, "a batch of updates"),
        ):
            self._buffers[name] = accelerator.device.allocate(nbytes, what, budget=budget)
            if name != "memory":
                stream.clear(self._buffers[name])
        stream.wait()

    @property
    def buffers(self) -> list[Buffer]:
        """All of its memory."""
        return list(self._buffers.values())

    def release(self) -> None:
        """Free all memory."""
        self._buffers.clear()

    def address(self, name: str) -> int:
        """Return the address of a part, by its name in ``StreamGraph``."""
        return self._buffers[name].address

    @property
    def versions(self) -> Versions:
        """What searches open rows by."""
        return Versions(self.address("heads"), self.address("memory"))

    @property
    def _pool(self) -> Pool:
        return Pool(self.address("memory"), self.address("counts"), self.address("marks"), self._units)

    def graph(self, kinds: KindTables, most_entries: int, copied: int, strip: int) -> StreamGraph:
        """Return the graph as kernels take it; `copied` is the address of rows copied in strips."""
        return StreamGraph(
            self.versions,
            self._pool,
            Stages(self.address("progress"), self.address("slots"), self._slots),
            kinds.address("places_at"),
            kinds.address("places"),
            FARTHEST_END,
            most_entries,
            copied,
            strip,
        )

    def load(
        self, first_row: int, offsets: NDArray[np.uint64], neighbors: NDArray[np.uint32], moment: int = 0
    ) -> None:
        """Write the first versions of rows from `first_row` on.

        Raises
        ------
        DeviceMemoryError
            There is no memory for them.
        """
        device, stream = self._accelerator.device, self._stream
        arrays: list[NDArray[Any]] = [offsets, neighbors, np.zeros(1, np.uint32)]
        given = [
            device.allocate(max(8, array.nbytes), "rows that are loaded", budget=self._budget)
            for array in arrays
        ]
        for buffer, array in zip(given, arrays, strict=True):
            if array.nbytes:
                stream.upload(buffer, array)
        heads = self.address("heads") + first_row * HEAD.itemsize
        adjacency = Adjacency(given[0].address, given[1].address)
        argument = LoadArgs(
            adjacency, heads, self._pool, moment, first_row, len(offsets) - 1, given[2].address
        )
        kernel = self._accelerator.kernel(load_source(), entry=LOAD_ENTRY)
        blocks = max(1, min(_LOAD_BLOCKS, -(-(len(offsets) - 1) // _LOAD_THREADS)))
        stream.launch(kernel, blocks, _LOAD_THREADS, 0, argument)
        stream.download(given[2], arrays[2])
        stream.wait()
        if arrays[2][0]:
            needed = units_of(offsets) * UNIT_BYTES
            raise DeviceMemoryError(
                "versions of rows", needed, self._units * UNIT_BYTES, "give a larger gpu_memory"
            )

    def move(self, rows: int, moves: Sequence[Move]) -> None:
        """Give rows other numbers, while no kernel runs and all updates are collected.

        Parameters
        ----------
        rows
            How many there are then.
        """
        device, stream = self._accelerator.device, self._stream
        before = self._buffers["heads"]
        heads = device.allocate(max(1, rows) * HEAD.itemsize, "heads of rows", budget=self._budget)
        stream.clear(heads)
        kernel = self._accelerator.kernel(move_source(), entry=MOVE_ENTRY)
        for move in moves:
            blocks = max(1, min(_LOAD_BLOCKS, -(-move.rows // _LOAD_THREADS)))
            to = 0 if move.to is None else move.to
            argument = MoveArgs(
                before.address, heads.address, self._pool, move.first, to, move.rows, move.to is None
            )
            stream.launch(kernel, blocks, _LOAD_THREADS, 0, argument)
        stream.wait()
        self._buffers["heads"], self.rows = heads, rows

    def structure(self, name: str, kind: type[ctypes.Structure]) -> Any:
        """Return a copy of a part, when no kernel runs."""
        found = np.zeros(ctypes.sizeof(kind), np.uint8)
        self._stream.download(self._buffers[name], found)
        self._stream.wait()
        return kind.from_buffer_copy(bytes(found))

    def progress(self) -> Progress:
        """Return how far updates are, when no kernel runs."""
        found: Progress = self.structure("progress", Progress)
        return found

    def set_progress(self, progress: Progress) -> None:
        """Set it, when no kernel runs."""
        self._stream.upload(self._buffers["progress"], np.frombuffer(bytes(progress), np.uint8).copy())
        self._stream.wait()

    def counters(self) -> Mapping[str, int]:
        """Return counters of the allocator and of the collector, when no kernel runs."""
        counts: PoolCounts = self.structure("counts", PoolCounts)
        progress = self.progress()
        return {
            "bytes_for_versions": self._units * UNIT_BYTES,
            "bytes_in_use": counts.in_use * UNIT_BYTES,
            "bytes_asked": counts.asked,
            "bytes_high_water": counts.high_water * UNIT_BYTES,
            "blocks_cut": counts.cuts,
            "merges": counts.merges,
            "refusals": counts.refusals,
            "versions_freed": progress.freed_versions,
            "slabs_freed": progress.freed_slabs,
            "violated": progress.violated,
        }


def units_of(offsets: NDArray[np.uint64]) -> int:
    """Return about how many units the first versions of rows need, from above."""
    sizes = np.diff(offsets.astype(np.int64))
    sizes = sizes[sizes > 0]
    units = -(-(bytes_of_version(0) + 12 * sizes + 4) // UNIT_BYTES)
    return int((units + units // 4 + 1).sum())  # a block is up to a quarter larger than what it is for


def units_for(wanted: int | None, share: float, least: int, free: int) -> int:
    """Return the units of memory for versions.

    Parameters
    ----------
    wanted
        Bytes that the settings ask for; None: a share of what is free.
    least
        Units that the first versions need.

    Raises
    ------
    DeviceMemoryError
        There are not as many.
    """
    units = int(share * free) // UNIT_BYTES if wanted is None else wanted // UNIT_BYTES
    if wanted is None:
        units = min(max(units, int(_SPARE * least) + 1024), free // UNIT_BYTES)
    units = min(units, _MOST_UNITS)
    if units <= least:
        raise DeviceMemoryError(
            "versions of rows", (least + 1) * UNIT_BYTES, units * UNIT_BYTES, "give a larger gpu_memory"
        )
    return units
