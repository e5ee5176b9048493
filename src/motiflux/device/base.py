"""The interface of a device, independent of graphs, plans and compilers.

Handles belong to the process that opened the device; after a fork, the child must not use them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import DeviceError


class NotPinnedError(DeviceError):
    """Memory of the host cannot be pinned: a limit of the machine, of the process or of the budget."""


class Buffer(Protocol):
    """Memory of the device. Released when it is closed, or when it is not referenced any more."""

    @property
    def address(self) -> int:
        """Device address of the first byte."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""

    def close(self) -> None:
        """Release the memory, once all work that was enqueued before on its streams is done.

        Its streams are the streams that copied to or from it, cleared it or hold it; if there are none, or
        they are closed by now, all streams of the device. Kernels on other streams must be done before.
        """


class HostBuffer(Protocol):
    """Pinned host memory that is mapped into the device's address space, or unified memory."""

    @property
    def address(self) -> int:
        """Device address of the first byte."""

    @property
    def array(self) -> NDArray[np.uint8]:
        """The memory as an array of the host."""

    def close(self) -> None:
        """Release the memory; no kernel may use it any more."""


class HostRegistration(Protocol):
    """Memory of the host that belongs to others, pinned where it is and mapped for the device."""

    @property
    def address(self) -> int:
        """Device address of the first byte."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""

    def close(self) -> None:
        """Release the memory once the work that was enqueued before is done; no later work may use it."""


class Kernel(Protocol):
    """An entry point of a loaded module."""

    @property
    def name(self) -> str:
        """Name of the entry point."""

    def blocks_per_multiprocessor(self, block: int, shared: int) -> int:
        """Return the number of blocks of `block` threads and `shared` bytes that run at once; 0 if none."""


class Module(Protocol):
    """A loaded binary image."""

    def kernel(self, name: str) -> Kernel:
        """Return the entry point of that name; raise `InternalError` if there is none."""


class Mark(Protocol):
    """A point in a stream (an event)."""

    def done(self) -> bool:
        """Whether all work before it is done; raises `DeviceError` if that work failed."""

    def milliseconds_since(self, earlier: Mark) -> float:
        """Return the time between two marks that are done, by the device's clock."""


class Stream(Protocol):
    """Work in order. Different streams run concurrently, and never wait for the legacy default stream.

    Calls return at once; but if host memory is not pinned, `upload` and `download` may wait for the copy.
    Arrays must stay alive and unchanged until a later mark is done. Only threads that called the device's
    `use` may use a stream; others get a `DeviceError`.
    """

    @property
    def is_open(self) -> bool:
        """Whether the stream was neither closed nor released by the garbage collector."""

    def upload(self, destination: Buffer, source: NDArray[Any], offset: int = 0) -> None:
        """Copy a contiguous array into `destination`, `offset` bytes from its start."""

    def download(self, source: Buffer, destination: NDArray[Any], offset: int = 0) -> None:
        """Fill a contiguous array from `source`, beginning `offset` bytes from its start."""

    def clear(self, buffer: Buffer, offset: int = 0, nbytes: int | None = None) -> None:
        """Set bytes to zero."""

    def launch(self, kernel: Kernel, grid: int, block: int, shared: int, argument: ctypes.Structure) -> None:
        """Run a kernel whose only parameter is a structure, by value; raise `DeviceError` if refused."""

    def clearing(self, buffer: Buffer, offset: int = 0, nbytes: int | None = None) -> Callable[[], None]:
        """Return a function that does the same as `clear` at each call; arguments are checked only now.

        This function, like those of the methods below, is valid while its arguments and the stream are open.
        """

    def downloading(self, source: Buffer, destination: NDArray[Any]) -> Callable[[], None]:
        """Return a function that does the same as `download` at each call."""

    def launching(
        self, kernel: Kernel, grid: int, block: int, shared: int, argument: ctypes.Structure
    ) -> Callable[[], None]:
        """Return a function that does the same as `launch` at each call, with the argument's value then."""

    def hold(self, buffer: Buffer) -> None:
        """Keep a buffer that kernels on this stream use until their end, even if it is closed before."""

    def mark(self, again: Mark | None = None) -> Mark:
        """Return the point after all work enqueued so far: a new one, or an earlier one, moved there."""

    def follow(self, mark: Mark) -> None:
        """Have later work begin once a mark of another stream of the device is done; return at once."""

    def wait(self) -> None:
        """Wait for all work enqueued so far; raise `DeviceError` if it failed."""

    def close(self) -> None:
        """Wait, then release the stream."""


class Device(Protocol):
    """One device of this machine."""

    @property
    def name(self) -> str:
        """Name for ``device=``: ``"cuda"``, ``"cuda:1"``."""

    @property
    def model(self) -> str:
        """Model, such as ``"NVIDIA H100 80GB HBM3"``."""

    @property
    def multiprocessors(self) -> int:
        """Number of multiprocessors."""

    @property
    def shared_per_block(self) -> int:
        """Most dynamic shared memory of a block, in bytes."""

    def use(self) -> None:
        """Make it the calling thread's current device; call this first on every thread."""

    def current(self) -> AbstractContextManager[None]:
        """Make it the thread's current device in a context; needed for work with several devices."""

    def free_memory(self) -> int:
        """Return the number of bytes that can be allocated now."""

    def used_memory(self) -> int:
        """Return the bytes that motiflux holds on the device now."""

    def settle(self) -> None:
        """Wait briefly for running work that uses closed buffers, and release their memory."""

    def allocate(self, nbytes: int, what: str, *, budget: int | None = None) -> Buffer:
        """Return device memory; errors contain `what`, its purpose.

        Raise `DeviceMemoryError` if motiflux would hold more than `budget` bytes on the device, or the device
        does not have enough memory, and the functions of `add_reclaimer` do not release enough.
        """

    def add_reclaimer(self, reclaim: Callable[[int], int]) -> None:
        """Call `reclaim` for memory before a `DeviceMemoryError` is raised.

        It takes the number of missing bytes, closes buffers that can be made again (a cached upload), and
        returns the number of bytes released. Any thread that allocates may call it, without a lock of the
        device; it must not allocate. A method is removed with its object; a function is kept as long as the
        device.
        """

    def allocate_host(self, nbytes: int, what: str, *, clear: bool = True) -> HostBuffer:
        """Return pinned host memory that is mapped into the device's address space, zeroed if `clear`.

        Large memory that is written anyway is better not cleared: one thread does it. Raises
        `NotPinnedError`, with `what`, its purpose, if there is none.
        """

    def allocate_managed(self, nbytes: int, what: str) -> HostBuffer:
        """Return unified memory: the driver moves its pages to where they are used. It is not cleared.

        It counts towards no budget. Raises `DeviceMemoryError` if it is more than what is free on the device.
        """

    def register_host(
        self, address: int, nbytes: int, what: str, owner: object, *, only_reads: bool = False
    ) -> HostRegistration:
        """Pin memory of the host where it is, and map it into the device's address space.

        If the device `only_reads` it, the memory may be that of a file that is mapped for reading.

        It must not overlap with other pinned memory, but the same may be registered again, by all devices of
        the process: it is released with the last registration. `owner` is kept until then: it keeps the
        memory alive. Raises `NotPinnedError`, with `what`, its purpose, if so much cannot be pinned.
        """

    def stream(self) -> Stream:
        """Return a new non-blocking stream."""

    def load(self, image: bytes, name: str) -> Module:
        """Load a compiled image; raise `DeviceError` if the device or driver refuses it."""
