"""The memory of a monitor that its rows are in, pinned where it is, so that kernels read it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from motiflux import _native
from motiflux.device import Device, HostRegistration
from motiflux.errors import DeviceError


class PinnedArenas:
    """The arenas of a monitor that a device reads: each is pinned once, in a single piece.

    An arena that the monitor does not use any more is kept until the next run begins: the run before may have
    read it.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._pinned: dict[int, HostRegistration] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of the host that are pinned."""
        return sum(registered.nbytes for registered in self._pinned.values())

    def follow(self, arenas: Iterable[_native.Arena]) -> None:
        """Have these arenas pinned, and no others.

        Raises
        ------
        DeviceError
            They cannot be pinned, or have other addresses on the device.
        """
        used = {arena.number: arena for arena in arenas}
        for number in self._pinned.keys() - used.keys():
            self._pinned.pop(number).close()
        for number in used.keys() - self._pinned.keys():
            self._pinned[number] = self._register(used[number])

    def _register(self, arena: _native.Arena) -> HostRegistration:
        found = self._device.register_host(arena.address, arena.nbytes, "rows of the changing graph", arena)
        expect_same_address(self._device, arena.address, found.address)
        return found

    def release(self) -> None:
        """Release the memory, now if no kernel runs; none may read it any more."""
        for registered in self._pinned.values():
            registered.close()
        self._pinned = {}
        with suppress(DeviceError):  # of a child of a fork, to which the device does not belong
            self._device.used_memory()  # settles what was closed: the monitor's memory is large


def expect_same_address(device: Device, host: int, there: int) -> None:
    """Raise `DeviceError` if pinned memory has another address on the device."""
    if there != host:
        raise DeviceError(
            f"device={device.name!r}: expected pinned memory at the same address for the host and the device,"
            f" found {host:#x} and {there:#x}; use engine='changing'"
        )
