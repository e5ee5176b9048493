"""The memory of a monitor that its rows are in, pinned where it is, so that kernels read it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Mapping
from contextlib import suppress

from motiflux import _native
from motiflux.device import Device, HostRegistration
from motiflux.device.base import NotPinnedError
from motiflux.device.pinned import PinnedBytes, reserve
from motiflux.errors import DeviceError
from motiflux.gpu.runtime.device_cache import release_pinned

WHAT = "rows of the changing graph"
INSTEAD = "engine='batch' or device='cpu'"
"""What else can be done where rows cannot be pinned, for errors."""

_counting = threading.Lock()
_counted: weakref.WeakValueDictionary[int | tuple[int, int], PinnedBytes] = weakref.WeakValueDictionary()
"""What arenas count towards the budget, by `_name`: once, however many devices read them."""
_given_up: weakref.WeakSet[PinnedBytes] = weakref.WeakSet()
"""What counts for arenas that one of the devices could not pin together with others."""


class NotLentError(NotPinnedError):
    """The driver does not pin the pages of a file where they are mapped."""


class PinnedArenas:
    """The arenas of a monitor that a device reads: each is pinned once, in a single piece.

    They count towards the budget of pinned memory. An arena that the monitor does not use any more is kept
    until the next run begins: the run before may have read it.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._pinned: dict[int, tuple[HostRegistration, PinnedBytes]] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of the host that are pinned."""
        return sum(registered.nbytes for registered, _ in self._pinned.values())

    @property
    def registrations(self) -> Mapping[int, HostRegistration]:
        """The registration of each arena, by its number."""
        return {number: registered for number, (registered, _) in self._pinned.items()}

    def follow(self, arenas: Iterable[_native.Arena], lenders: object = None) -> None:
        """Have these arenas pinned, and no others.

        Parameters
        ----------
        lenders
            Keeps the memory of lent arenas alive.

        Raises
        ------
        NotLentError
            The driver does not pin a lent arena; none of the new ones is pinned.
        NotPinnedError
            They cannot be pinned, or the budget does not have the memory.
        DeviceError
            They have other addresses on the device.
        """
        used = {arena.number: arena for arena in arenas}
        for number in self._pinned.keys() - used.keys():
            self._pinned.pop(number)[0].close()
        fresh = {number: arena for number, arena in used.items() if number not in self._pinned}
        if not fresh:
            return
        counted = _count(fresh)
        for number, arena in sorted(fresh.items(), key=lambda one: not one[1].is_lent):
            registered = self._register_lent(arena, lenders) if arena.is_lent else self._register(arena)
            self._pinned[number] = registered, counted[number]

    def _register(self, arena: _native.Arena) -> HostRegistration:
        found = self._device.register_host(arena.address, arena.nbytes, WHAT, arena)
        expect_same_address(self._device, arena.address, found.address)
        return found

    def _register_lent(self, arena: _native.Arena, lenders: object) -> HostRegistration:
        try:
            found = self._device.register_host(
                arena.address, arena.nbytes, WHAT, (arena, lenders), only_reads=True
            )
        except NotPinnedError as error:
            raise NotLentError(*error.args) from error
        expect_same_address(self._device, arena.address, found.address)
        return found

    def give_up(self) -> None:
        """Release the memory, and have engines of other devices do so: copies of rows need the budget."""
        _given_up.update(bytes_ for _, bytes_ in self._pinned.values())
        self.release()

    @property
    def is_given_up(self) -> bool:
        """Whether another device has given up some of these arenas."""
        return any(bytes_ in _given_up for _, bytes_ in self._pinned.values())

    def release(self) -> None:
        """Release the memory, now if no kernel runs; none may read it any more."""
        for registered, _ in self._pinned.values():
            registered.close()
        self._pinned = {}
        with suppress(DeviceError):  # of a child of a fork, to which the device does not belong
            self._device.used_memory()  # settles what was closed: the monitor's memory is large


def _count(arenas: Mapping[int, _native.Arena]) -> Mapping[int, PinnedBytes]:
    """Have arenas count towards the budget while the result is held; raises `NotPinnedError`."""
    with _counting:
        known = {number: _counted.get(_name(arena)) for number, arena in arenas.items()}
        found = {number: bytes_ for number, bytes_ in known.items() if bytes_ is not None}
        others = [number for number in arenas if number not in found]
        reserved = reserve([arenas[number].nbytes for number in others], WHAT, release_pinned, INSTEAD)
        for number, of_arena in zip(others, reserved, strict=True):
            found[number] = _counted[_name(arenas[number])] = of_arena
    return found


def _name(arena: _native.Arena) -> int | tuple[int, int]:
    """Return what no other memory has: of a lent arena its place, which all monitors of one graph share."""
    return (arena.address, arena.nbytes) if arena.is_lent else arena.number


def expect_same_address(device: Device, host: int, there: int) -> None:
    """Raise `DeviceError` if pinned memory has another address on the device."""
    if there != host:
        raise DeviceError(
            f"device={device.name!r}: expected pinned memory at the same address for the host and the device,"
            f" found {host:#x} and {there:#x}; use engine='changing'"
        )
