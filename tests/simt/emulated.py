"""A device that runs the GPU's kernels on the CPU, so that they are tested where there is no GPU.

`GxxToolchain` compiles the sources that NVRTC compiles for a GPU; `EmulatedDevice` runs them, with every
thread of a block a fiber (see emulator/block.hpp). With ``MOTIFLUX_SIMT_SANITIZE=1`` they run under
AddressSanitizer and UndefinedBehaviorSanitizer, in a process started with `sanitizer_environment`.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from motiflux.device.account import MemoryAccount
from motiflux.device.base import NotPinnedError
from motiflux.device.retire import Retirement
from motiflux.errors import DeviceError, DeviceMemoryError
from tests.simt.gxx import GxxToolchain, sanitized, sanitizer_environment
from tests.simt.image import SHARED_PER_BLOCK, EmulatedKernel, EmulatedModule, Scheduling
from tests.simt.memory import (
    UNWRITTEN,
    EmulatedBuffer,
    EmulatedHostBuffer,
    EmulatedHostRegistration,
    release,
)
from tests.simt.streams import EmulatedMark, EmulatedStream, Line

__all__ = [
    "EmulatedBuffer",
    "EmulatedDevice",
    "EmulatedHostBuffer",
    "EmulatedKernel",
    "EmulatedMark",
    "EmulatedModule",
    "EmulatedStream",
    "GxxToolchain",
    "Scheduling",
    "open_emulated",
    "sanitized",
    "sanitizer_environment",
]


_here = threading.local()
"""Which device is the thread's, by its name, as a CUDA thread has one context."""


def can_be_written(address: int, nbytes: int) -> bool:
    """Return whether the first and the last page of memory are mapped for writing."""
    found = 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        ends, rights = line.split()[:2]
        first, last = (int(end, 16) for end in ends.split("-"))
        found += sum(first <= at < last and "w" in rights for at in (address, address + nbytes - 1))
    return found == 2


class EmulatedDevice:
    """The emulated device.

    Parameters
    ----------
    memory
        Bytes of device memory it has.
    scheduling
        Who runs when; by default as the environment says.
    multiprocessors
        How many blocks of a launch run at once, each on a thread of the host.
    name
        As ``device=`` takes it.

    Attributes
    ----------
    registered
        The bytes of registered memory of the host, by address.
    """

    model = "SIMT emulator"
    shared_per_block = SHARED_PER_BLOCK

    def __init__(
        self,
        memory: int = 1 << 30,
        scheduling: Scheduling | None = None,
        multiprocessors: int = 2,
        name: str = "emulated",
    ) -> None:
        self.name = name
        self._memory = memory
        self._scheduling = scheduling or Scheduling.from_environment()
        self.multiprocessors = multiprocessors
        self._retirement = Retirement()
        self._account = MemoryAccount(partial(self._retirement.drain, 1.0))
        self._process = os.getpid()
        self.registered: dict[int, int] = {}
        self._registrations: dict[int, dict[int, object]] = {}  # their owners, by address
        self._numbers = itertools.count()
        self.use()

    def use(self) -> None:
        """Let the calling thread call its streams, as CUDA asks for; who made the device may at once."""
        if os.getpid() != self._process:
            raise DeviceError(
                f"device {self.name!r}: opened by process {self._process}, used in process {os.getpid()}, "
                "which was forked from it"
            )
        _here.device = self.name

    @contextmanager
    def current(self) -> Iterator[None]:
        before = getattr(_here, "device", None)
        self.use()
        try:
            yield
        finally:
            _here.device = before

    def check_thread(self) -> None:
        """Refuse a thread whose device this is not; CUDA would have another context there, or none."""
        if getattr(_here, "device", None) != self.name:
            raise DeviceError(
                f"device {self.name!r}: the device is not this thread's: call use() on every thread first"
            )

    def free_memory(self) -> int:
        return max(0, self._memory - self.used_memory())

    def used_memory(self) -> int:
        self._retirement.drain()
        return self._account.held()

    def settle(self) -> None:
        self._retirement.drain(1.0)

    def allocate(self, nbytes: int, what: str, *, budget: int | None = None) -> EmulatedBuffer:
        self._retirement.drain()
        holder = object()
        self._account.take(holder, nbytes, what, budget=budget)
        try:
            self._find_room(nbytes, what)
            return EmulatedBuffer(nbytes, what, partial(self._retire, holder))
        except BaseException:
            self._account.give_back(holder)
            raise

    def add_reclaimer(self, reclaim: Callable[[int], int]) -> None:
        self._account.add_reclaimer(reclaim)

    def allocate_host(self, nbytes: int, what: str, *, clear: bool = True) -> EmulatedHostBuffer:
        return EmulatedHostBuffer(nbytes, what, self._retire_host, 0 if clear else UNWRITTEN)

    def allocate_managed(self, nbytes: int, what: str) -> EmulatedHostBuffer:
        return EmulatedHostBuffer(nbytes, what, self._retire_host, UNWRITTEN)

    def register_host(
        self, address: int, nbytes: int, what: str, owner: object, *, only_reads: bool = False
    ) -> EmulatedHostRegistration:
        """Note memory of the host; `registered` has what is not released yet, by address.

        As of the driver, memory that is mapped for reading is refused unless the device `only_reads` it.
        """
        if not only_reads and not can_be_written(address, nbytes):
            raise NotPinnedError(f"{what}: expected memory that can be written, found {address:#x}")
        others = {**self.registered}
        if others.pop(address, nbytes) != nbytes or any(
            at < address + nbytes and address < at + size for at, size in others.items()
        ):
            raise NotPinnedError(f"{what}: expected memory that is not registered yet, found {address:#x}")
        number, users = next(self._numbers), self._registrations.setdefault(address, {})
        self.registered[address], users[number] = nbytes, owner

        def release_it() -> None:
            del users[number]
            if not users:
                del self.registered[address], self._registrations[address]

        return EmulatedHostRegistration(address, nbytes, partial(self._retirement.add, (), release_it))

    def stream(self) -> EmulatedStream:
        line = Line()
        self._retirement.open_line(line)
        return EmulatedStream(line, self.multiprocessors, self._scheduling, self.check_thread, self._leave)

    def load(self, image: bytes, name: str) -> EmulatedModule:
        return EmulatedModule(image, name)

    def _find_room(self, nbytes: int, what: str) -> None:
        """Check that all that is held, `nbytes` included, fits; have something given back if not."""
        missing = self.used_memory() - self._memory
        if missing > 0 and self._account.reclaim(missing):
            missing = self.used_memory() - self._memory
        if missing > 0:
            available = max(0, nbytes - missing)
            raise DeviceMemoryError(what, nbytes, available, "the emulated device has no more")

    def _retire(self, holder: object, address: int, lines: set[Line]) -> None:
        def give_back() -> None:
            release(address)
            self._account.give_back(holder)

        self._retirement.add(lines, give_back)

    def _retire_host(self, address: int) -> None:
        self._retirement.add((), partial(release, address))

    def _leave(self, line: Line) -> None:
        """Give a stream back after what it has to do; its thread ends then, whether or not anybody looks."""
        line.stop()
        self._retirement.add([line], partial(self._retirement.close_line, line))


_opening = threading.Lock()
_shared: dict[tuple[int, int], tuple[EmulatedDevice, GxxToolchain]] = {}


def open_emulated(ordinal: int = 0) -> tuple[EmulatedDevice, GxxToolchain]:
    """Return one of this process's devices and the toolchain; a child of a fork gets its own."""
    process = os.getpid()
    with _opening:
        for key in [key for key in _shared if key[0] != process]:
            del _shared[key]
        if (process, ordinal) not in _shared:
            name = f"emulated:{ordinal}" if ordinal else "emulated"
            _shared[process, ordinal] = (EmulatedDevice(name=name), GxxToolchain())
        return _shared[process, ordinal]
