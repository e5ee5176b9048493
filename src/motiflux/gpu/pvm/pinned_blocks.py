"""Pinned memory of the host that searches of a graph use one after another.

To pin memory takes the driver longer than to copy as much, so blocks stay with the graph, as far as the
budget of pinned memory suffices.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from motiflux.device import Buffer, Device, Mark
from motiflux.device.base import NotPinnedError
from motiflux.device.pinned import PinnedMemory, pin
from motiflux.gpu.runtime.device_cache import CacheEntry, DeviceCache, release_pinned
from motiflux.request.deadline import Deadline

MOST_KEPT = 1 << 30
"""Most bytes of blocks of one size that stay with a graph while no search uses them."""
_WHAT, _INSTEAD = "data of a search in phases that does not fit on a device", "more gpu_memory"


@dataclass(eq=False)
class PinnedBlock:
    """A block.

    Parameters
    ----------
    memory
        The memory.
    busy
        Behind the copies that use it last; None: none do.
    """

    memory: PinnedMemory
    busy: Mark | None = None

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return self.memory.host_nbytes


@dataclass(eq=False)
class _Unused(CacheEntry):
    """Blocks of one size that no search uses."""

    blocks: list[PinnedBlock] = field(default_factory=list)

    def take(self) -> PinnedBlock | None:
        """Remove a block that no copy uses, and return it; None if there is none."""
        for block in list(self.blocks):
            if block.busy is None or block.busy.done():
                try:
                    self.blocks.remove(block)
                except ValueError:  # another thread was faster
                    continue
                block.busy = None
                return block
        return None

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Their memory, which is not of the device."""
        return self.pinned

    @property
    def pinned(self) -> tuple[PinnedMemory, ...]:
        """Their memory."""
        return tuple(one.memory for one in list(self.blocks))


class PinnedBlocks:
    """Blocks for one search.

    Parameters
    ----------
    device, deadline
        The device, and the deadline of the call.
    cache
        Keeps blocks that no search uses.
    """

    def __init__(self, device: Device, cache: DeviceCache, deadline: Deadline) -> None:
        self._device, self._cache, self._deadline = device, cache, deadline
        self._pins = True

    def take(self, nbytes: int) -> PinnedBlock | None:
        """Return a block of so many bytes that no copy uses; None if no memory can be pinned.

        Raises
        ------
        OutOfTimeError
            Time was up before memory was pinned.
        """
        known = self._cache.known(_name(nbytes))
        if isinstance(known, _Unused) and (block := known.take()) is not None:
            return block
        if not self._pins:
            return None
        try:
            check = self._deadline.check
            return PinnedBlock(pin(self._device, nbytes, _WHAT, release_pinned, check, _INSTEAD))
        except NotPinnedError:
            self._pins = False
            return None

    def give(self, block: PinnedBlock) -> None:
        """Leave a block to later searches; copies that were begun may still use it."""
        unused = self._cache.keep(_name(block.nbytes), _Unused)
        if (len(unused.blocks) + 1) * block.nbytes <= MOST_KEPT:
            unused.blocks.append(block)


def _name(nbytes: int) -> Hashable:
    return "pinned blocks", nbytes
