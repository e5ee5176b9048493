"""The budget of pinned memory of the host, in which copies of graphs are that kernels read where they are.

Pinned memory cannot be moved to a disk: other programs of the machine lack what is pinned.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Mapping

from motiflux.arguments import check_bytes
from motiflux.device.base import Device, HostBuffer
from motiflux.errors import DeviceError
from motiflux.units import bytes_text

VARIABLE = "MOTIFLUX_PINNED_MEMORY"
"""The environment variable with the budget."""

_SHARE = 0.5
"""Default budget: this share of the memory of the machine."""
_SMALL = 64 << 20
"""Bytes that are pinned within a few milliseconds, on the calling thread."""
_POLL_SECONDS = 5e-3

Release = Callable[[int], object]
"""Drops copies that no search reads, of this many bytes if there are so many."""


def budget(environment: Mapping[str, str] = os.environ) -> int:
    """Return the most bytes of graphs that may be pinned.

    Raises
    ------
    ArgumentError
        The environment variable is no number of bytes.
    """
    given = environment.get(VARIABLE, "").strip()
    if given:
        return check_bytes(VARIABLE, int(given) if given.isdecimal() else given)
    return int(_SHARE * _memory_of_machine())


def _memory_of_machine() -> int:
    return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))


class PinnedMemory:
    """Pinned memory that counts towards the budget until it is freed.

    Parameters
    ----------
    host_nbytes
        Its size in bytes.
    """

    nbytes = 0
    """Bytes of the device: none. As a `Buffer` has it."""

    def __init__(self, host_nbytes: int) -> None:
        self.host_nbytes = host_nbytes
        self._memory: HostBuffer | None = None
        # As a stream wants it; the device waits for all streams before it frees pinned memory.
        self.lines: set[object] = set()
        weakref.finalize(self, _held.pop, id(self), None).atexit = False
        _held[id(self)] = host_nbytes

    def take(self, memory: HostBuffer) -> None:
        """Hold the memory."""
        self._memory = memory

    @property
    def memory(self) -> HostBuffer:
        """The memory."""
        assert self._memory is not None, "it is reserved only"
        return self._memory

    @property
    def address(self) -> int:
        """Address of the first byte, for kernels."""
        return self.memory.address

    def close(self) -> None:
        """Free the memory; no kernel may read it any more."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        _held.pop(id(self), None)


_held: dict[int, int] = {}
"""Bytes of each `PinnedMemory`, by its id. Single dictionary operations only, as finalizers change it."""


def held() -> int:
    """Return the bytes that count towards the budget."""
    return sum(list(_held.values()))


def pin(device: Device, nbytes: int, what: str, release: Release, check: Callable[[], None]) -> PinnedMemory:
    """Return pinned memory, which is not cleared.

    Parameters
    ----------
    release
        Called if the budget does not have the bytes.
    check
        Called every few milliseconds while a thread pins the memory; what it raises, as Ctrl-C does, is
        raised here, and the memory is freed once it is pinned.

    Raises
    ------
    DeviceError
        The budget or the machine does not have the memory.
    """
    check()
    most = budget()
    pinned = PinnedMemory(nbytes)  # first: other threads count it, too
    if held() > most:
        release(held() - most)
    if held() > most:
        pinned.close()
        others = held()
        raise DeviceError(
            f"{what}: expected at most {bytes_text(most)} of pinned memory of the host, found"
            f" {bytes_text(nbytes)} beside {bytes_text(others)} that are in use; set {VARIABLE} to more,"
            " call forget() of graphs that are no longer searched, or use device='cpu'"
        )
    try:
        pinned.take(_pinned(device, nbytes, what, check))
    except BaseException:
        pinned.close()
        raise
    return pinned


def _pinned(device: Device, nbytes: int, what: str, check: Callable[[], None]) -> HostBuffer:
    if nbytes <= _SMALL:
        return device.allocate_host(nbytes, what, clear=False)
    work = _Pinning(device, nbytes, what)
    try:
        while not work.over.wait(_POLL_SECONDS):
            check()
    except BaseException:
        work.abandon()
        raise
    return work.result()


class _Pinning:
    """Pins memory on a thread of its own, as it takes the driver about a second for some gigabytes."""

    def __init__(self, device: Device, nbytes: int, what: str) -> None:
        self.over = threading.Event()
        self._lock = threading.Lock()
        self._abandoned = False
        self._memory: HostBuffer | None = None
        self._error: BaseException | None = None
        threading.Thread(target=self._run, args=(device, nbytes, what), daemon=True).start()

    def _run(self, device: Device, nbytes: int, what: str) -> None:
        try:
            device.use()
            memory = device.allocate_host(nbytes, what, clear=False)
            with self._lock:
                if self._abandoned:
                    memory.close()
                else:
                    self._memory = memory
        except BaseException as error:  # noqa: BLE001 - it is raised by the thread that waits
            self._error = error
        finally:
            self.over.set()

    def abandon(self) -> None:
        """Have the memory freed as soon as it is pinned."""
        with self._lock:
            self._abandoned = True
            memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()

    def result(self) -> HostBuffer:
        """Return the memory, or raise the error."""
        if self._error is not None:
            raise self._error
        assert self._memory is not None
        return self._memory
