"""Uploads of large arrays, in pieces: the next piece is prepared while one is copied."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.device import Buffer, Device, HostBuffer, Mark, Stream
from motiflux.errors import DeviceError
from motiflux.graph.adjacency import Adjacency
from motiflux.request.deadline import Deadline
from motiflux.request.registry import OUT_OF_CORE
from motiflux.request.request import Request
from motiflux.types import OffsetArray

PIECE = 4 << 20
"""Entries of a piece, 16 MiB: between pieces, Ctrl-C and the deadline are answered."""
_AT_ONCE = 8
"""Most pieces that are copied at once, from ordinary memory, without pinning any."""
_SPIN_SECONDS, _SLEEP = 100e-6, 50e-6
"""Seconds of waiting without a sleep, and of each sleep."""


@dataclass(frozen=True)
class UploadContext:
    """Resources for copies to a device.

    Parameters
    ----------
    stream
        The stream of the copies.
    threads
        Number of host threads that prepare rows.
    budget
        Maximum number of bytes that motiflux holds on the device.
    deadline
        Deadline of the call.
    on_host
        Whether neighbours stay in pinned memory of the host, where kernels read them.
    """

    stream: Stream
    threads: int
    budget: int | None
    deadline: Deadline
    on_host: bool = False

    @classmethod
    def of(cls, stream: Stream, request: Request, deadline: Deadline) -> UploadContext:
        """Return what a request says."""
        on_host = request.engine == OUT_OF_CORE
        return cls(stream, request.threads, request.gpu_memory, deadline, on_host)


@dataclass
class Stage:
    """Host memory of one piece, and the mark behind its copy to the device.

    Parameters
    ----------
    array
        The memory.
    pinned
        The same if it is pinned.
    copied
        Done once the memory can be filled again.
    """

    array: NDArray[np.uint32]
    pinned: HostBuffer | None = None
    copied: Mark | None = None

    @classmethod
    def of(cls, device: Device, entries: int) -> Stage:
        """Return pinned memory, or ordinary memory if none can be pinned."""
        try:
            pinned = device.allocate_host(4 * entries, "the upload of a graph", clear=False)
        except DeviceError:
            return cls(np.empty(entries, np.uint32))
        return cls(pinned.array.view(np.uint32), pinned)

    def wait(self, deadline: Deadline) -> None:
        """Wait until the memory can be filled again."""
        if self.copied is not None:
            wait_for_mark(self.copied, deadline)

    def close(self) -> None:
        """Free pinned memory once all work that may read it is done."""
        if self.pinned is not None:
            self.pinned.close()


def wait_for_mark(mark: Mark, deadline: Deadline) -> None:
    """Wait until a mark is done; raise `OutOfTimeError` if time is up before."""
    began = time.perf_counter()
    while not mark.done():
        deadline.check()
        if time.perf_counter() - began > _SPIN_SECONDS:
            time.sleep(_SLEEP)


def upload_row_ends(
    device: Device, destination: Buffer, rows: Adjacency, kept: OffsetArray, context: UploadContext
) -> None:
    """Copy the last entries of each row to a device, one row after another.

    Of a row, as many entries are copied as between its two offsets in `kept`. Few entries are copied at
    once, whole rows from where they are; others through two buffers. The copy is over when the stream's work
    is.

    Raises
    ------
    OutOfTimeError
        Time was up before all entries were copied.
    """
    arcs, stream = int(kept[-1]), context.stream
    if arcs <= _AT_ONCE * PIECE:
        if arcs:
            stream.upload(destination, _packed(rows, kept, context.threads))
        return
    stages = Stage.of(device, PIECE), Stage.of(device, PIECE)
    try:
        for turn, first in enumerate(range(0, arcs, PIECE)):
            context.deadline.check()
            stage = stages[turn % 2]
            stage.wait(context.deadline)
            piece = stage.array[: min(PIECE, arcs - first)]
            _native.pack_row_ends(*rows, kept, first, piece, context.threads)
            stream.upload(destination, piece, 4 * first)
            stage.copied = stream.mark(stage.copied)
        stream.wait()
    finally:
        for stage in stages:
            stage.close()


def _packed(rows: Adjacency, kept: OffsetArray, threads: int) -> NDArray[np.uint32]:
    if kept is rows[0]:
        return rows[1]
    packed = np.empty(int(kept[-1]), np.uint32)
    _native.pack_row_ends(*rows, kept, 0, packed, threads)
    return packed
