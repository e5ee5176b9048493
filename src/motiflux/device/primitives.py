"""Sorting, prefix sums and the like on device memory: CuPy's, on our streams and out of our memory.

CuPy gets, per call, a stream to work on and an allocator of memory; the user's own settings of CuPy
stays as it is, and the budget holds for temporary memory too. Arrays have one dimension.
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from motiflux.device.arrays import DeviceArray, ForeignBuffer, from_any
from motiflux.device.cuda import CudaDevice
from motiflux.device.cuda_stream import CudaStream
from motiflux.errors import ArgumentError, DeviceError, DeviceMemoryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiflux.device.base import Device, Stream

REDUCTIONS = ("sum", "min", "max")


def sort(keys: DeviceArray, stream: Stream, *, budget: int | None = None) -> DeviceArray:
    """Return a sorted copy of `keys` (an empty array itself)."""
    with _cupy(keys.device, stream, budget) as work:
        wrapped = work.wrap(keys)
        return work.result(work.cupy.sort(wrapped) if keys.size else wrapped)


def sort_pairs(
    keys: DeviceArray, values: DeviceArray, stream: Stream, *, budget: int | None = None
) -> tuple[DeviceArray, DeviceArray]:
    """Return copies of `keys`, sorted, and of `values`, moved with them; equal keys keep their order."""
    if keys.shape != values.shape:
        raise ArgumentError("values", f"the shape of the keys, {keys.shape}", values.shape)
    with _cupy(keys.device, stream, budget) as work:
        wrapped = work.wrap(keys)
        if not keys.size:
            return work.result(wrapped), work.result(work.wrap(values))
        order = work.cupy.argsort(wrapped, kind="stable")
        sorted_keys = work.result(wrapped[order])
        return sorted_keys, work.result(work.wrap(values)[order])


def offsets(counts: DeviceArray, stream: Stream, *, budget: int | None = None) -> DeviceArray:
    """Return the exclusive prefix sums of `counts`, and their total: one more element (uint64)."""
    with _cupy(counts.device, stream, budget) as work:
        found = work.cupy.zeros(len(counts) + 1, dtype=np.uint64)
        if counts.size:
            work.cupy.cumsum(work.wrap(counts), dtype=np.uint64, out=found[1:])
        return work.result(found)


def reduce(values: DeviceArray, operation: str, stream: Stream, *, budget: int | None = None) -> int | float:
    """Return the sum, minimum or maximum, once it is there. Sums of integers are taken in 64 bits.

    Raises
    ------
    ArgumentError
        The operation is another, or nothing is there to find the minimum or maximum of.
    """
    if operation not in REDUCTIONS:
        raise ArgumentError("operation", "one of " + ", ".join(REDUCTIONS), operation)
    if not values.size:
        if operation != "sum":
            raise ArgumentError("values", f"at least one value to find the {operation} of", "none")
        return 0
    with _cupy(values.device, stream, budget) as work:
        found = getattr(work.cupy, operation)(work.wrap(values))
        there = work.result(found.reshape(1))
    answer: int | float = there.to_numpy(stream)[0].item()
    return answer


def unique_counts(
    keys: DeviceArray, stream: Stream, *, budget: int | None = None
) -> tuple[DeviceArray, DeviceArray]:
    """Return the distinct keys, ascending, and how often each occurs (64 bits). Waits for their number."""
    with _cupy(keys.device, stream, budget) as work:
        wrapped = work.wrap(keys)
        if not keys.size:
            return work.result(wrapped), work.result(work.cupy.empty(0, np.int64))
        found, counts = work.cupy.unique(wrapped, return_counts=True)
        counts = counts.astype(np.int64, copy=False)
        return work.result(found), work.result(counts)


class _Work:
    """CuPy while it works on a stream of ours."""

    def __init__(self, cupy: Any, device: CudaDevice, stream: CudaStream) -> None:
        self.cupy = cupy
        self._device = device
        self._stream = stream

    def wrap(self, array: DeviceArray) -> Any:
        """Return CuPy's view of an array, which it keeps alive; the stream waits for the array's."""
        if len(array.shape) != 1:
            raise ArgumentError("array", "one dimension", array.shape)
        from_any(array, self._device, stream=self._stream)
        self._stream.hold(array.buffer)
        # Not through the array's interfaces: CuPy would wait on the host for the stream they name.
        memory = self.cupy.cuda.UnownedMemory(array.address, array.nbytes, array, self._device.ordinal)
        return self.cupy.ndarray(array.shape, array.dtype, self.cupy.cuda.MemoryPointer(memory, 0))

    def result(self, found: Any) -> DeviceArray:
        """Return our view of an array of CuPy; its memory is ours already."""
        found = found if found.flags.c_contiguous else found.copy()
        buffer = ForeignBuffer(found.data.ptr, found.nbytes, found)
        return DeviceArray(self._device, buffer, found.dtype, found.shape, stream=self._stream)


class _Allocator:
    """The allocator of CuPy during a call."""

    def __init__(self, cupy: Any, device: CudaDevice, stream: CudaStream, budget: int | None) -> None:
        self._cupy = cupy
        self._device = device
        self._stream = stream
        self._budget = budget
        self.refused: DeviceMemoryError | None = None

    def __call__(self, nbytes: int) -> Any:
        try:
            buffer = self._device.allocate(nbytes, "sorting and counting", budget=self._budget)
        except DeviceMemoryError as error:
            self.refused = error
            raise
        self._stream.hold(buffer)
        memory = self._cupy.cuda.UnownedMemory(buffer.address, nbytes, buffer, self._device.ordinal)
        return self._cupy.cuda.MemoryPointer(memory, 0)


@contextmanager
def _cupy(device: Device, stream: Stream, budget: int | None) -> Iterator[_Work]:
    """Have CuPy set to the device, the stream and our memory on this thread, for now."""
    if not isinstance(device, CudaDevice) or not isinstance(stream, CudaStream):
        raise DeviceError(f"device {device.name!r}: sorting and counting on the device needs device 'cuda'")
    cupy = import_cupy()
    allocator = _Allocator(cupy, device, stream, budget)
    device.use()
    try:
        with (
            cupy.cuda.Device(device.ordinal),
            _external(cupy, device, stream),
            cupy.cuda.using_allocator(allocator),
        ):
            yield _Work(cupy, device, stream)
    except Exception as error:
        # CuPy calls the allocator from C++ in places, and then reports only that there was no memory.
        if allocator.refused is not None and error is not allocator.refused:
            raise allocator.refused from error
        raise


def import_cupy() -> Any:
    """Return the module `cupy`.

    Raises
    ------
    DeviceError
        It is not installed, or does not fit the driver.
    """
    try:
        return importlib.import_module("cupy")
    except ImportError as error:
        raise DeviceError(
            f"device 'cuda': expected CuPy, which sorts and counts on the device, found none ({error}); "
            "install it: pip install 'motiflux[gpu]'"
        ) from error


def _external(cupy: Any, device: CudaDevice, stream: CudaStream) -> Any:
    if hasattr(cupy.cuda.Stream, "from_external"):  # CuPy 14 and later
        return cupy.cuda.Stream.from_external(stream)
    return cupy.cuda.ExternalStream(stream.handle, device.ordinal)
