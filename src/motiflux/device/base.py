"""The interface of a device. Nothing here knows graphs, plans or compilers.

Handles belong to the process that opened the device; after a fork the child must not use them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Buffer(Protocol):
    """Memory of the device. Released when it is closed, or when it is not referenced any more."""

    @property
    def address(self) -> int:
        """Where it starts, as kernels see it."""

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""

    def close(self) -> None:
        """Give it back, once all work that was enqueued before on its stream is done.

        Its streams are the streams that copied to or from it, cleared it or hold it; if there are none, or
        they are closed by now, every stream of the device. A kernel on yet another stream must be done
        before.
        """


class HostBuffer(Protocol):
    """Pinned host memory that kernels see too (mapped)."""

    @property
    def address(self) -> int:
        """Where it starts, as kernels see it."""

    @property
    def array(self) -> NDArray[np.uint8]:
        """The memory as the host sees it."""

    def close(self) -> None:
        """Give it back; no kernel may be using it."""


class Kernel(Protocol):
    """An entry point of a loaded module."""

    @property
    def name(self) -> str:
        """Name of the entry point."""

    def blocks_per_multiprocessor(self, block: int, shared: int) -> int:
        """Return how many blocks of `block` threads and `shared` bytes run at once; 0 if none fits."""


class Module(Protocol):
    """A loaded binary image."""

    def kernel(self, name: str) -> Kernel:
        """Return the entry point of that name; `InternalError` if there is none."""


class Mark(Protocol):
    """A point in a stream (an event)."""

    def done(self) -> bool:
        """Whether everything before it is done; raise `DeviceError` if something before it failed."""

    def milliseconds_since(self, earlier: Mark) -> float:
        """Return the device's own time between two marks that are done."""


class Stream(Protocol):
    """Work in order. Different streams run side by side, and never wait for the legacy default stream.

    Calls return at once, except where the host's memory is not pinned: `upload` and `download` then may
    wait for the copy. Arrays must stay alive and unchanged until a later mark is done. Only threads that
    called the device's `use` may call them; others get a `DeviceError`.
    """

    @property
    def is_open(self) -> bool:
        """Whether it was neither closed nor given back by the garbage collector."""

    def upload(self, destination: Buffer, source: NDArray[Any], offset: int = 0) -> None:
        """Copy a contiguous array into `destination`, `offset` bytes from its start."""

    def download(self, source: Buffer, destination: NDArray[Any], offset: int = 0) -> None:
        """Copy from `offset` bytes into `source` to fill a contiguous array."""

    def clear(self, buffer: Buffer, offset: int = 0, nbytes: int | None = None) -> None:
        """Set bytes to zero."""

    def launch(self, kernel: Kernel, grid: int, block: int, shared: int, argument: ctypes.Structure) -> None:
        """Run a kernel whose only parameter is a structure, passed by value; `DeviceError` if refused."""

    def clearing(self, buffer: Buffer, offset: int = 0, nbytes: int | None = None) -> Callable[[], None]:
        """Return a function that does the same as `clear` at each call; arguments are checked once, now.

        Like the methods below, it is valid as long as its arguments, and the stream, are in use.
        """

    def downloading(self, source: Buffer, destination: NDArray[Any]) -> Callable[[], None]:
        """Return a function that does the same as `download` at each call."""

    def launching(
        self, kernel: Kernel, grid: int, block: int, shared: int, argument: ctypes.Structure
    ) -> Callable[[], None]:
        """Return a function that does the same as `launch` at each call, with the argument as it is then."""

    def hold(self, buffer: Buffer) -> None:
        """Have a buffer that kernels on this stream use outlive their work, if it is closed before."""

    def mark(self, again: Mark | None = None) -> Mark:
        """Return the point after all work enqueued so far: a new one, or an earlier one, moved there."""

    def wait(self) -> None:
        """Wait for everything enqueued so far; `DeviceError` if something failed."""

    def close(self) -> None:
        """Wait, then give the stream back."""


class Device(Protocol):
    """One device of this machine."""

    @property
    def name(self) -> str:
        """As ``device=`` takes it: ``"cuda"``, ``"cuda:1"``."""

    @property
    def model(self) -> str:
        """Such as ``"NVIDIA H100 80GB HBM3"``."""

    @property
    def multiprocessors(self) -> int:
        """Number of multiprocessors."""

    @property
    def shared_per_block(self) -> int:
        """Most dynamic shared memory of a block, in bytes."""

    def use(self) -> None:
        """Make it the calling thread's current device; call this first on every thread."""

    def current(self) -> AbstractContextManager[None]:
        """Make it the calling thread's current device for a while; needed for work with several devices."""

    def free_memory(self) -> int:
        """Return the bytes that can be allocated now, by this process's budget and by the device itself."""

    def used_memory(self) -> int:
        """Return the bytes that motiflux holds on the device now."""

    def allocate(self, nbytes: int, what: str, *, budget: int | None = None) -> Buffer:
        """Return device memory for `what` (a text for errors).

        `DeviceMemoryError` if motiflux would then hold more than `budget` bytes on the device, or the device
        has not enough memory, and the functions of `add_reclaimer` did not release enough.
        """

    def add_reclaimer(self, reclaim: Callable[[int], int]) -> None:
        """Call `reclaim` for memory before a `DeviceMemoryError` is raised.

        It is given the bytes that are missing, closes buffers that can be made again (a cached upload), and
        returns the bytes it released; 0 for none. It may be called on any thread that
        allocates, with no lock of the device held, and must not allocate. A method is removed with its
        object; a function is kept for as long as the device.
        """

    def allocate_host(self, nbytes: int, what: str) -> HostBuffer:
        """Return zeroed pinned memory that kernels see too."""

    def stream(self) -> Stream:
        """Return a new non-blocking stream."""

    def load(self, image: bytes, name: str) -> Module:
        """Load a compiled image; `DeviceError` if the device or driver refuses it."""
