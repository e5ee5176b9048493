"""Copies of tables to a device, on a stream of their own, while kernels run on others."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer, Device, Mark, Stream
from motiflux.device.base import NotPinnedError
from motiflux.device.pinned import PinnedMemory, pin
from motiflux.gpu.pcsr.images import read_image
from motiflux.gpu.pvm.pinned_blocks import PinnedBlock, PinnedBlocks
from motiflux.gpu.runtime.device_cache import CacheEntry, DeviceCache, release_pinned
from motiflux.gpu.storage.upload import Stage, wait_for_mark
from motiflux.request.deadline import Deadline

PIECE_BYTES = 16 << 20
"""Bytes of a piece: between pieces, Ctrl-C and the deadline are answered."""
AT_ONCE = 1 << 20
"""Most bytes that are copied from ordinary memory, for which pinning takes longer than copying."""
LEAST_IMAGE = 32 << 10
"""Least bytes of an image that is kept: pinning it takes longer than a copy, but is done once."""
_WHAT = "tables of rows that are copied to a device again and again"
_INSTEAD = "more gpu_memory"

Arrays = Sequence[NDArray[Any]]
"""Arrays of words of 4 or 8 bytes that are consecutive on the device."""


@dataclass(eq=False)
class PinnedImage(CacheEntry):
    """An image of rows in pinned memory of the host, from which it is copied without a thread of the host."""

    memory: PinnedMemory

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The memory, which is not of the device."""
        return (self.memory,)

    @property
    def pinned(self) -> tuple[PinnedMemory, ...]:
        """The memory."""
        return (self.memory,)


class TableCopies:
    """Copies arrays to a device.

    Few bytes are copied from where they are; many through two pieces of pinned memory. An image with a name
    is kept in pinned memory, as far as the budget for that suffices, and copied from there.

    Parameters
    ----------
    device, deadline
        The device, and the deadline of the call.
    cache
        Keeps images in pinned memory.
    threads
        Number of threads that copy to pinned memory.
    """

    def __init__(self, device: Device, cache: DeviceCache, deadline: Deadline, threads: int) -> None:
        self._device, self._cache, self._deadline = device, cache, deadline
        self.stream: Stream = device.stream()
        self.blocks = PinnedBlocks(device, cache, deadline)
        self._stages: list[Stage] = []
        self._of_stages: list[PinnedBlock] = []
        self._threads, self._turn = threads, 0
        self._pins = True
        self._followed: list[Mark] = []
        self._held: list[tuple[NDArray[Any], Mark]] = []

    def has_image(self, name: Hashable) -> bool:
        """Whether an image is kept: its copy takes no time of the caller."""
        return name is not None and isinstance(self._cache.known(("image", name)), PinnedImage)

    def copy(self, to: Buffer, arrays: Arrays, marks: Iterable[Mark] = (), name: Hashable = None) -> Mark:
        """Copy consecutive arrays into a buffer; return the mark behind the copy.

        Parameters
        ----------
        marks
            Points after which the buffer may be written. Ordinary memory is copied once they are done.
        name
            If not None: the name of the arrays, whose image is kept.

        Raises
        ------
        OutOfTimeError
            Time was up before all was copied.
        """
        self._deadline.check()
        nbytes = sum(array.nbytes for array in arrays)
        for mark in marks:
            self.stream.follow(mark)
            self._followed = [*(one for one in self._followed if not one.done()), mark]
        if name is not None and self._pins and nbytes > LEAST_IMAGE:
            self._copy_image(to, arrays, nbytes, ("image", name))
        elif nbytes > AT_ONCE:
            self._copy_by_stages(to, arrays, nbytes)
        elif nbytes:
            self._wait_for_followed()
            image = np.empty(nbytes // 4, np.uint32)
            read_image(arrays, 0, image)
            self.stream.upload(to, image)
            self._hold(image)
        return self.stream.mark()

    def close(self) -> None:
        """Free memory and stream once what was begun is done."""
        for stage, block in zip(self._stages, self._of_stages, strict=False):
            block.busy = stage.copied
            self.blocks.give(block)
        self._stages, self._of_stages = [], []

    def _wait_for_followed(self) -> None:
        """Wait for the marks that the stream follows: the driver might, which Ctrl-C does not interrupt."""
        for mark in self._followed:
            wait_for_mark(mark, self._deadline)
        self._followed = []

    def _hold(self, image: NDArray[np.uint32]) -> None:
        """Keep ordinary memory until it is copied."""
        self._held = [one for one in self._held if not one[1].done()]
        self._held.append((image, self.stream.mark()))

    def _copy_by_stages(self, to: Buffer, arrays: Arrays, nbytes: int) -> None:
        while len(self._stages) < 2:
            self._stages.append(self._stage())
        if len(self._of_stages) < 2:
            self._wait_for_followed()
        words = PIECE_BYTES // 4
        for first in range(0, nbytes // 4, words):
            self._deadline.check()
            stage = self._stages[self._turn]
            self._turn = 1 - self._turn
            stage.wait(self._deadline)
            piece = stage.array[: min(words, nbytes // 4 - first)]
            read_image(arrays, first, piece, self._threads)
            self.stream.upload(to, piece, 4 * first)
            stage.copied = self.stream.mark(stage.copied)

    def _stage(self) -> Stage:
        """Return pinned memory, or ordinary memory if none can be pinned: for that and all later stages."""
        block = None if len(self._of_stages) < len(self._stages) else self.blocks.take(PIECE_BYTES)
        if block is None:
            return Stage(np.empty(PIECE_BYTES // 4, np.uint32))
        self._of_stages.append(block)
        return Stage(block.memory.array.view(np.uint32), copied=block.busy)

    def _copy_image(self, to: Buffer, arrays: Arrays, nbytes: int, name: Hashable) -> None:
        known = self._cache.known(name)
        if isinstance(known, PinnedImage):
            assert known.memory.host_nbytes == nbytes, "an image of other rows"
            self.stream.upload(to, known.memory.array[:nbytes])
            return
        try:
            memory = pin(self._device, nbytes, _WHAT, release_pinned, self._deadline.check, _INSTEAD)
        except NotPinnedError:
            self._pins = False
            self._copy_by_stages(to, arrays, nbytes)
            return
        image, words = memory.array[:nbytes].view(np.uint32), PIECE_BYTES // 4
        for first in range(0, len(image), words):
            self._deadline.check()
            piece = image[first : first + words]
            read_image(arrays, first, piece, self._threads)
            self.stream.upload(to, piece, 4 * first)
        self._cache.keep(name, lambda: PinnedImage(memory))
