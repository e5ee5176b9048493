"""Memory of the emulated device: the host's, in blocks of exactly the size asked for."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import DeviceMemoryError, InternalError

ALIGNMENT = 256
UNWRITTEN = 0xCD
"""What every byte of device memory holds that nobody has written yet."""

# Not numpy's: it keeps small blocks for itself, and the sanitizer would see no over-run of them.
_libc = ctypes.CDLL(None)
_libc.posix_memalign.argtypes = (ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_size_t)
_libc.free.argtypes = (ctypes.c_void_p,)
_libc.free.restype = None


def allocate(nbytes: int, what: str, fill: int) -> int:
    """Return the address of `nbytes` bytes that all hold `fill`; even no bytes have one."""
    address = ctypes.c_void_p()
    if _libc.posix_memalign(ctypes.byref(address), ALIGNMENT, nbytes) != 0 or address.value is None:
        raise DeviceMemoryError(what, nbytes, 0, "this machine has no more memory")
    ctypes.memset(address.value, fill, nbytes)
    return address.value


def release(address: int) -> None:
    """Free what `allocate` returned."""
    _libc.free(address)


class EmulatedBuffer:
    """Memory of the device.

    Parameters
    ----------
    nbytes
        Its size.
    what
        What it is for, for errors.
    retire
        Called once with the address and the streams that used it, when nobody needs it any more; finalizers
        call it.
    """

    def __init__(self, nbytes: int, what: str, retire: Callable[[int, set[Any]], None]) -> None:
        self._nbytes = nbytes
        self._address = allocate(nbytes, what, UNWRITTEN)
        self.lines: set[Any] = set()
        self._close = weakref.finalize(self, retire, self._address, self.lines)
        self._close.atexit = False

    @property
    def address(self) -> int:
        return self._address

    @property
    def nbytes(self) -> int:
        return self._nbytes

    def close(self) -> None:
        self._close()

    def span(self, offset: int, nbytes: int) -> int:
        """Return the address `offset` bytes in; `InternalError` if the memory is not there, or closed."""
        if not self._close.alive:
            raise InternalError("device memory is used after it was closed")
        if offset < 0 or nbytes < 0 or offset + nbytes > self._nbytes:
            raise InternalError(
                f"device memory of {self._nbytes:,} bytes: expected a part of it, found {nbytes:,} bytes at "
                f"{offset:,}"
            )
        return self._address + offset


class EmulatedHostBuffer:
    """Host memory, which an emulated kernel sees as it is. Lives as long as it, or its array, is held.

    Parameters
    ----------
    nbytes, what
        Its size, and what it is for.
    retire
        Called once with the address, when nobody holds it any more; finalizers call it.
    fill
        What every byte holds at first.
    """

    def __init__(self, nbytes: int, what: str, retire: Callable[[int], None], fill: int = 0) -> None:
        self._address = allocate(nbytes, what, fill)
        memory = (ctypes.c_uint8 * nbytes).from_address(self._address)
        # The array holds `memory`, and not this object.
        self._close = weakref.finalize(memory, retire, self._address)
        self._close.atexit = False
        self._array = np.ctypeslib.as_array(memory) if nbytes else np.empty(0, np.uint8)
        self._memory = memory

    @property
    def address(self) -> int:
        return self._address

    @property
    def array(self) -> NDArray[np.uint8]:
        return self._array

    def close(self) -> None:
        self._close()


class EmulatedHostRegistration:
    """Memory of the host that belongs to others: an emulated kernel sees it as it is.

    Parameters
    ----------
    address, nbytes
        Where it is, and its size.
    retire
        Called once, when nobody needs it any more; finalizers call it.
    """

    def __init__(self, address: int, nbytes: int, retire: Callable[[], None]) -> None:
        self._address, self._nbytes = address, nbytes
        self._close = weakref.finalize(self, retire)
        self._close.atexit = False

    @property
    def address(self) -> int:
        if not self._close.alive:
            raise InternalError("memory of the host is used after its registration was closed")
        return self._address

    @property
    def nbytes(self) -> int:
        return self._nbytes

    def close(self) -> None:
        self._close()
