"""Memory of a CUDA device, and host memory that is mapped into its address space."""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.device.base import NotPinnedError
from motiflux.device.cuda_driver import OUT_OF_MEMORY
from motiflux.errors import DeviceError, InternalError

if TYPE_CHECKING:
    from motiflux.device.account import MemoryAccount
    from motiflux.device.cuda_driver import CudaContext, CudaDriver
    from motiflux.device.retire import Line, Retirement

KEEP_ALL = 2**64 - 1
"""Release threshold of the pool: it keeps freed memory, so that the next allocation takes microseconds."""


class Block:
    """Memory of a pool, or none: the driver's answer to the allocation.

    Allocations are recorded and removed by single steps, between which Python raises no KeyboardInterrupt
    (`map` calls the driver, whose functions are not Python code): each allocation is recorded, and freed
    once.
    """

    __slots__ = ("answers",)

    def __init__(self) -> None:
        self.answers: list[tuple[Any, ...]] = []

    @property
    def address(self) -> int | None:
        """Device address; None while there is no memory."""
        answers = self.answers[:1]
        return int(answers[0][1]) if answers and answers[0][0] == 0 else None


class MemoryPool:
    """A separate pool, so that the settings of the process's default pool do not change.

    The driver orders allocations by stream. All allocations of the pool go through one stream that runs no
    other work and is therefore always idle: new memory can be used on every stream as soon as the call
    returns, and memory that `Retirement` frees is free at once.
    """

    def __init__(self, context: CudaContext) -> None:
        self._driver = driver = context.driver
        if not context.attribute("MEMORY_POOLS_SUPPORTED"):
            raise DeviceError(
                "device 'cuda': expected a GPU with memory pools, found one without; a virtual GPU needs "
                "unified memory switched on"
            )
        properties = driver.CUmemPoolProps()
        properties.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.handleTypes = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_NONE
        properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = context.ordinal
        self._pool = driver.ask("a memory pool", driver.cuMemPoolCreate(properties))
        self._attributes = driver.CUmemPool_attribute
        threshold = self._attributes.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        driver.ask(
            "the memory pool",
            driver.cuMemPoolSetAttribute(self._pool, threshold, driver.cuuint64_t(KEEP_ALL)),
        )
        flags = int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
        self._stream = driver.ask("a stream for memory", driver.cuStreamCreate(flags))

    def take(self, nbytes: int, block: Block) -> bool:
        """Fill an empty block with memory; return False if there is not enough."""
        driver, answers = self._driver, block.answers
        allocate = driver.cuMemAllocFromPoolAsync
        answers.extend(map(allocate, (max(nbytes, 1),), (self._pool,), (self._stream,)))
        if answers[0][0] == OUT_OF_MEMORY:
            answers.clear()
            return False
        driver.ask("allocating memory", answers[0])
        driver.ask("allocating memory", driver.cuStreamSynchronize(self._stream))
        return True

    def give(self, block: Block) -> None:
        """Return the memory of a block, if any, to the pool.

        Errors are ignored: after a failed kernel, every call fails.
        """
        if block.address is not None:
            taken = map(itemgetter(1), map(block.answers.pop, (0,)))
            list(map(self._driver.cuMemFreeAsync, taken, (self._stream,)))

    def trim(self) -> None:
        """Return the unused memory of the pool to the driver."""
        driver = self._driver
        driver.ask("trimming memory", driver.cuStreamSynchronize(self._stream))
        driver.ask("trimming memory", driver.cuMemPoolTrimTo(self._pool, 0))

    def idle(self) -> int:
        """Return the unused bytes of the pool."""
        reserved = self._attribute("CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT")
        return max(0, reserved - self._attribute("CU_MEMPOOL_ATTR_USED_MEM_CURRENT"))

    def _attribute(self, name: str) -> int:
        attribute = getattr(self._attributes, name)
        answer = self._driver.cuMemPoolGetAttribute(self._pool, attribute)
        return int(self._driver.ask("the memory pool", answer))


class CudaBuffer:
    """A `Buffer` from a `MemoryPool`.

    Attributes
    ----------
    block
        The memory of the buffer, which holds it in the account.
    """

    __slots__ = ("__weakref__", "_finalizer", "_nbytes", "_release", "block", "lines")

    def __init__(self, nbytes: int, pool: MemoryPool, account: MemoryAccount, retirement: Retirement) -> None:
        self.block = Block()
        self._nbytes = nbytes
        self.lines: set[Line] = set()
        self._release = release = partial(_release, pool, account, self.block)
        self._finalizer = weakref.finalize(self, retirement.add, self.lines, release, True)
        self._finalizer.atexit = False

    @property
    def address(self) -> int:
        """Device address of the first byte."""
        if not self._finalizer.alive:
            raise InternalError("device memory: expected a buffer in use, found one that was closed")
        return int(self.block.answers[0][1])

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._nbytes

    def close(self) -> None:
        """Release the memory, once the work enqueued so far on its streams is done."""
        self._finalizer()

    def give_up(self) -> None:
        """Release the memory at once: no work has used it yet."""
        self._release()
        self._finalizer.detach()

    def __repr__(self) -> str:
        state = f"at {self.address:#x}" if self._finalizer.alive else "closed"
        return f"CudaBuffer({self._nbytes:,} bytes, {state})"


def _release(pool: MemoryPool, account: MemoryAccount, block: Block) -> None:
    pool.give(block)
    account.give_back(block)


class _MappedBuffer:
    """A `HostBuffer` that the device reaches, too.

    The memory lives as long as the buffer or any view of `array`.

    Parameters
    ----------
    retirement, release
        Free the memory: what releases it once running work is done, and how.
    host
        Its address for the host.
    what
        Its kind, in errors.
    """

    _address: int

    def __init__(
        self, retirement: Retirement, nbytes: int, host: int, release: Callable[[], None], what: str
    ) -> None:
        self._what = what
        memory: Any = (ctypes.c_uint8 * max(nbytes, 1)).from_address(host)
        finalizer = weakref.finalize(memory, retirement.add, (), release)
        finalizer.atexit = False
        self._array: NDArray[np.uint8] | None = np.frombuffer(memory, dtype=np.uint8)[:nbytes]

    @property
    def address(self) -> int:
        """Device address of the first byte."""
        self._open()
        return self._address

    @property
    def array(self) -> NDArray[np.uint8]:
        """The memory as an array of the host."""
        return self._open()

    def close(self) -> None:
        """Close the buffer; the memory is freed when no view is left and running work is done."""
        self._array = None

    def _open(self) -> NDArray[np.uint8]:
        if self._array is None:
            raise InternalError(f"{self._what}: expected a buffer in use, found one that was closed")
        return self._array


class CudaHostBuffer(_MappedBuffer):
    """A `HostBuffer`: pinned, zeroed if `clear`, mapped into the device's address space.

    The memory lives as long as the buffer or any view of `array`.
    """

    def __init__(
        self, context: CudaContext, retirement: Retirement, nbytes: int, what: str, *, clear: bool = True
    ) -> None:
        driver = context.driver
        flags = int(driver.CU_MEMHOSTALLOC_PORTABLE) | int(driver.CU_MEMHOSTALLOC_DEVICEMAP)
        answer = driver.cuMemHostAlloc(max(nbytes, 1), flags)
        if answer[0] == OUT_OF_MEMORY:
            raise NotPinnedError(
                f"{what}: expected {nbytes:,} bytes of pinned host memory, and the driver refused them "
                "(CUDA_ERROR_OUT_OF_MEMORY); free host memory, or raise the limits on locked memory "
                "(ulimit -l) and of the container"
            )
        if answer[0] != 0:
            raise _refusal(driver, f"pinned memory for {what}", answer)
        host = int(answer[1])
        super().__init__(retirement, nbytes, host, partial(driver.cuMemFreeHost, host), "pinned memory")
        if clear:
            ctypes.memset(host, 0, max(nbytes, 1))
        mapped = driver.cuMemHostGetDevicePointer(host, 0)
        self._address = int(driver.ask(f"mapping pinned memory for {what}", mapped))


class CudaManagedBuffer(_MappedBuffer):
    """A `HostBuffer` of unified memory, whose pages the driver moves to where they are used.

    The memory lives as long as the buffer or any view of `array`.
    """

    def __init__(self, context: CudaContext, retirement: Retirement, nbytes: int, what: str) -> None:
        driver = context.driver
        flags = int(driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL)
        answer = driver.cuMemAllocManaged(max(nbytes, 1), flags)
        if answer[0] != 0:
            raise driver.error(f"unified memory for {what}", answer[0], DeviceError)
        self._address = int(answer[1])
        release = partial(driver.cuMemFree, self._address)
        super().__init__(retirement, nbytes, self._address, release, "unified memory")


class _Piece:
    """Memory that calls of the driver pin, for all devices of the process, while it has users.

    Attributes
    ----------
    answers
        The driver's answer to the last call that pinned it.
    users
        Numbers of registrations that are not released yet.
    """

    __slots__ = ("answers", "users")

    def __init__(self) -> None:
        self.answers: list[tuple[Any, ...]] = []
        self.users: set[int] = set()

    @property
    def is_pinned(self) -> bool:
        """Whether the driver has pinned it."""
        return bool(self.answers) and self.answers[0][0] == 0


_pinning = threading.Lock()
_pieces: dict[tuple[int, int], _Piece] = {}
"""By address and size, until they are released. Nothing that is called with the lock waits or releases."""
_numbers = itertools.count()


def _release_piece(driver: CudaDriver, key: tuple[int, int], number: int, owner: object) -> None:
    """Note that a registration is released; its memory is, with the last one.

    Errors are ignored: after a failed kernel, every call fails.
    """
    with _pinning:
        piece = _pieces.get(key)
        if piece is None:
            return
        piece.users.discard(number)
        if not piece.users:
            del _pieces[key]
            if piece.is_pinned:
                driver.cuMemHostUnregister(key[0])


class CudaHostRegistration:
    """A `HostRegistration`: pinned for all devices of the process, mapped into this one's address space."""

    def __init__(
        self,
        context: CudaContext,
        retirement: Retirement,
        address: int,
        nbytes: int,
        what: str,
        owner: object,
        *,
        only_reads: bool = False,
    ) -> None:
        driver = context.driver
        self._nbytes, key, number = nbytes, (address, nbytes), next(_numbers)
        # The finalizer and the user are there before the call: an interrupt loses nothing, whenever it comes.
        # A call that asks for the same memory again gets it, though it may not be released yet.
        release = partial(_release_piece, driver, key, number, owner)
        self._close = weakref.finalize(self, retirement.add, (), release)
        self._close.atexit = False
        with _pinning:
            piece = _pieces.setdefault(key, _Piece())
            piece.users.add(number)
            if not piece.is_pinned:
                piece.answers.clear()
                flags = int(driver.CU_MEMHOSTREGISTER_PORTABLE) | int(driver.CU_MEMHOSTREGISTER_DEVICEMAP)
                if only_reads:  # without it, the driver asks for pages that can be written
                    flags |= int(driver.CU_MEMHOSTREGISTER_READ_ONLY)
                piece.answers.extend(map(driver.cuMemHostRegister, (address,), (nbytes,), (flags,)))
            answer = piece.answers[0]
        if answer[0] != 0:
            raise _not_pinned(driver, what, nbytes, answer)
        mapped = driver.cuMemHostGetDevicePointer(address, 0)
        self._address = int(driver.ask(f"mapping memory of the host for {what}", mapped))

    @property
    def address(self) -> int:
        """Device address of the first byte."""
        if not self._close.alive:
            raise InternalError("pinned memory: expected a registration in use, found one that was closed")
        return self._address

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._nbytes

    def close(self) -> None:
        """Release the memory once no other device has it registered and running work is done."""
        self._close()


def _not_pinned(driver: CudaDriver, what: str, nbytes: int, answer: tuple[Any, ...]) -> DeviceError:
    if answer[0] == OUT_OF_MEMORY:
        return NotPinnedError(
            f"{what}: expected {nbytes:,} bytes of host memory that can be pinned, and the driver refused "
            "them (CUDA_ERROR_OUT_OF_MEMORY); free host memory, or raise the limits on locked memory "
            "(ulimit -l) and of the container"
        )
    return _refusal(driver, f"pinning {nbytes:,} bytes of host memory for {what}", answer)


def _refusal(driver: CudaDriver, what: str, answer: tuple[Any, ...]) -> DeviceError:
    kind = NotPinnedError if driver.refuses_memory(answer[0]) else DeviceError
    return driver.error(what, answer[0], kind)
