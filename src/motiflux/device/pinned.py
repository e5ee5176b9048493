"""The budget of pinned memory of the host: rows of graphs and monitors that kernels read where they are.

Pinned memory cannot be moved to a disk: other programs of the machine lack what is pinned.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from motiflux.arguments import check_bytes
from motiflux.device.base import Device, HostBuffer, NotPinnedError
from motiflux.device.host_memory import available, total
from motiflux.units import bytes_text

VARIABLE = "MOTIFLUX_PINNED_MEMORY"
"""The environment variable with the budget."""

_SHARE = 0.5
"""Default budget: this share of the memory of the machine, or of the limit of the control group."""
_SMALL = 64 << 20
"""Bytes that are pinned within a few milliseconds, on the calling thread."""
_POLL_SECONDS = 5e-3

Release = Callable[[int], int]
"""Drops copies that no search reads, of this many bytes if there are so many; returns the bytes."""


def budget(environment: Mapping[str, str] = os.environ) -> int:
    """Return the most bytes of graphs and monitors that may be pinned.

    Raises
    ------
    ArgumentError
        The environment variable is no number of bytes.
    """
    given = environment.get(VARIABLE, "").strip()
    if given:
        return check_bytes(VARIABLE, int(given) if given.isdecimal() else given)
    return int(_SHARE * total())


class PinnedBytes:
    """Bytes of pinned memory that count towards the budget until they are closed.

    Parameters
    ----------
    host_nbytes
        How many.
    """

    def __init__(self, host_nbytes: int) -> None:
        self.host_nbytes = host_nbytes
        weakref.finalize(self, _held.pop, id(self), None).atexit = False
        _held[id(self)] = host_nbytes

    def close(self) -> None:
        """Have them count no more."""
        _held.pop(id(self), None)


class PinnedMemory(PinnedBytes):
    """Pinned memory that counts towards the budget until it is freed.

    Parameters
    ----------
    host_nbytes
        Its size in bytes.
    """

    nbytes = 0
    """Bytes of the device: none. As a `Buffer` has it."""

    def __init__(self, host_nbytes: int) -> None:
        super().__init__(host_nbytes)
        self._memory: HostBuffer | None = None
        # As a stream wants it; the device waits for all streams before it frees pinned memory.
        self.lines: set[object] = set()

    def take(self, memory: HostBuffer) -> None:
        """Hold the memory."""
        self._memory = memory

    @property
    def memory(self) -> HostBuffer:
        """The memory."""
        assert self._memory is not None, "it is reserved only"
        return self._memory

    @property
    def array(self) -> NDArray[np.uint8]:
        """The memory as an array of the host."""
        return self.memory.array

    @property
    def address(self) -> int:
        """Address of the first byte, for kernels."""
        return self.memory.address

    def close(self) -> None:
        """Free the memory; no kernel may read it any more."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        super().close()


_held: dict[int, int] = {}
"""The bytes of each `PinnedBytes`, by its id. Single dictionary operations only, as finalizers change it."""


def held() -> int:
    """Return the bytes that count towards the budget."""
    return sum(list(_held.values()))


def reserve(sizes: Sequence[int], what: str, release: Release, instead: str) -> list[PinnedBytes]:
    """Return bytes of the budget, for several pieces of memory that exist: all or none.

    Parameters
    ----------
    what
        The use of the memory, for errors.
    release
        Called if the budget does not have the bytes.
    instead
        What else can be done, for errors.

    Raises
    ------
    NotPinnedError
        The budget does not have them.
    """
    reserved = [PinnedBytes(nbytes) for nbytes in sizes]  # first: other threads count them, too
    try:
        _check_budget(sum(sizes), what, release, instead)
    except BaseException:
        for one in reserved:
            one.close()
        raise
    return reserved


def _check_budget(nbytes: int, what: str, release: Release, instead: str) -> None:
    """Check that all that is held, these bytes included, is within the budget."""
    most = budget()
    if held() > most and nbytes <= most:
        release(held() - most)
    if held() > most:
        raise NotPinnedError(
            f"{what}: expected at most {bytes_text(most)} of pinned memory of the host, found"
            f" {bytes_text(nbytes)} beside {bytes_text(max(0, held() - nbytes))} that are in use; set"
            f" {VARIABLE} to more, call forget() of graphs that are no longer searched, or use {instead}"
        )


def _check_available(device: Device, nbytes: int, what: str, release: Release, instead: str) -> None:
    """Check that there is memory, which would else be taken from other programs, or end this one."""
    there = available()
    if there is not None and nbytes > there and release(nbytes - there):
        device.used_memory()  # frees what no running work needs
        there = available()
    if there is not None and nbytes > there:
        raise NotPinnedError(
            f"{what}: expected {bytes_text(nbytes)} of memory of the host that can be pinned, found"
            f" {bytes_text(there)} that are available on the machine and within its control group's limit;"
            f" free memory, call forget() of graphs that are no longer searched, or use {instead}"
        )


def pin(
    device: Device,
    nbytes: int,
    what: str,
    release: Release,
    check: Callable[[], None],
    instead: str = "device='cpu'",
) -> PinnedMemory:
    """Return pinned memory, which is not cleared.

    Parameters
    ----------
    what, release, instead
        As `reserve` has them.
    check
        Called every few milliseconds while a thread pins the memory; what it raises, as Ctrl-C does, is
        raised here, and the memory is freed once it is pinned.

    Raises
    ------
    NotPinnedError
        The budget or the machine does not have the memory.
    """
    check()
    pinned = PinnedMemory(nbytes)  # first: other threads count it, too
    try:
        _check_budget(nbytes, what, release, instead)
        _check_available(device, nbytes, what, release, instead)
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
