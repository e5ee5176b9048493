"""Typed views of device memory, exchanged with other libraries without a copy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from motiflux.device import dlpack
from motiflux.errors import ArgumentError, DeviceError

if TYPE_CHECKING:
    from motiflux.device.base import Buffer, Device, Stream

_LEGACY_STREAM = 1


class _Ordered(Protocol):
    """A stream that can be ordered with streams of other libraries."""

    @property
    def handle(self) -> int: ...

    def wait_for(self, other: int) -> None: ...

    def go_before(self, other: int) -> None: ...


class ForeignBuffer:
    """A `Buffer` that another library owns."""

    def __init__(self, address: int, nbytes: int, owner: object) -> None:
        self._address = address
        self._nbytes = nbytes
        self._owner: object = owner

    @property
    def address(self) -> int:
        """Device address of the first byte."""
        return self._address

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._nbytes

    def close(self) -> None:
        """Drop the reference to the owner."""
        self._owner = None


class DeviceArray:
    """A contiguous array of one or two dimensions in device memory.

    It exports ``__dlpack__`` and, on CUDA, ``__cuda_array_interface__``, without a copy. Memory lives as long
    as this array and all views of it; a library that releases a view must not use it any more.

    Parameters
    ----------
    device
        The device of the memory.
    buffer
        The memory.
    dtype
        Type of an element: integer, floating-point number or boolean.
    shape
        One or two lengths.
    offset
        Bytes from the start of the buffer.
    stream
        The stream of the last write, for which consumers on other streams wait; None if the write is done.

    Raises
    ------
    ArgumentError
        The buffer does not hold such an array.
    """

    def __init__(
        self,
        device: Device,
        buffer: Buffer,
        dtype: DTypeLike,
        shape: int | tuple[int, ...],
        *,
        offset: int = 0,
        stream: Stream | None = None,
    ) -> None:
        self.device = device
        self.buffer = buffer
        self.dtype = check_dtype(np.dtype(dtype))
        self.shape = check_shape((shape,) if isinstance(shape, int) else tuple(shape))
        self.offset = offset
        self.stream = stream
        if offset < 0 or offset + self.nbytes > buffer.nbytes or offset % self.dtype.itemsize:
            raise ArgumentError(
                "offset",
                f"room for {self.nbytes:,} bytes, aligned, in a buffer of {buffer.nbytes:,}",
                offset,
            )

    @classmethod
    def empty(
        cls,
        device: Device,
        shape: int | tuple[int, ...],
        dtype: DTypeLike,
        what: str,
        *,
        budget: int | None = None,
        stream: Stream | None = None,
    ) -> DeviceArray:
        """Return a new array of unspecified values; errors contain `what`, its purpose."""
        checked = check_shape((shape,) if isinstance(shape, int) else tuple(shape))
        nbytes = math.prod(checked) * check_dtype(np.dtype(dtype)).itemsize
        return cls(device, device.allocate(nbytes, what, budget=budget), dtype, checked, stream=stream)

    @classmethod
    def from_numpy(
        cls,
        device: Device,
        array: NDArray[Any],
        stream: Stream,
        what: str,
        *,
        budget: int | None = None,
    ) -> DeviceArray:
        """Return a copy of `array` on the device, written in the order of `stream`."""
        made = cls.empty(device, array.shape, array.dtype, what, budget=budget, stream=stream)
        stream.upload(made.buffer, np.ascontiguousarray(array))
        return made

    @property
    def address(self) -> int:
        """Device address of the first element."""
        return self.buffer.address + self.offset

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"DeviceArray({self.dtype}, {self.shape}, {self.device.name})"

    def to_numpy(self, stream: Stream | None = None) -> NDArray[Any]:
        """Return a copy in host memory, once all work on the array's stream, or on `stream`, is done."""
        found = np.empty(self.shape, self.dtype)
        chosen = stream or self.stream
        with self.device.current():  # the thread may use another device
            if chosen is not None:
                chosen.download(self.buffer, found, self.offset)
                chosen.wait()
                return found
            own = self.device.stream()
            try:
                own.download(self.buffer, found, self.offset)
            finally:
                own.close()
        return found

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The interface, version 3, with the stream of the last write."""
        if not is_cuda(self.device):
            raise AttributeError("__cuda_array_interface__: the array is not on a CUDA device")
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address if self.size else 0, False),
            "strides": None,
            "version": 3,
            "stream": ordered.handle if (ordered := _ordered(self.stream)) else None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack_device(self.device)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """Return a capsule ``dltensor``; the consumer's stream waits for the array's stream.

        Raises
        ------
        BufferError
            A copy, or another device, is requested.
        """
        device = self.__dlpack_device__()
        if copy or (dl_device is not None and tuple(map(int, dl_device)) != device):
            raise BufferError("a DeviceArray is exported where it is, without a copy")
        if device[0] == dlpack.CPU:
            if self.stream is not None:
                with self.device.current():
                    self.stream.wait()
        elif stream != -1 and (ordered := _ordered(self.stream)):
            with self.device.current():
                ordered.go_before(_LEGACY_STREAM if stream is None else stream)
        return dlpack.export(self.address, self.dtype, self.shape, device, self)


def from_any(found: Any, device: Device) -> DeviceArray:
    """Return a view of another library's array on `device`, without a copy, once pending writes are done.

    Parameters
    ----------
    found
        A `DeviceArray`, or any object with ``__cuda_array_interface__`` or ``__dlpack__``: of CuPy, PyTorch,
        Numba, JAX, cuDF.
    device
        The device on which the array must be.

    Raises
    ------
    ArgumentError
        The object is no such array, not contiguous, or has more than two dimensions or an unsupported type.
    DeviceError
        The array is on another device.
    """
    if isinstance(found, DeviceArray):
        if found.device is not device:
            raise _elsewhere(f"a DeviceArray on {found.device!r}", device)
        if found.stream is not None:
            found.stream.wait()
        return found
    if hasattr(found, "__dlpack__") and hasattr(found, "__dlpack_device__"):
        return _from_dlpack(found, device)
    if is_cuda(device) and hasattr(found, "__cuda_array_interface__"):
        return _from_interface(found, device)
    raise ArgumentError(
        "array", "an array with __dlpack__ or __cuda_array_interface__", f"{type(found).__name__} without"
    )


def is_cuda(device: Device) -> bool:
    """Return whether a device is a CUDA device: ``"cuda"``, ``"cuda:1"``."""
    return device.name.partition(":")[0] == "cuda"


def dlpack_device(device: Device) -> tuple[int, int]:
    """Return DLPack's type and number of a device. All devices but CUDA's have host memory."""
    if is_cuda(device):
        return dlpack.CUDA, int(getattr(device, "ordinal", 0))
    return dlpack.CPU, 0


def check_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return `dtype`; raise `ArgumentError` if it is not an integer, float or boolean type."""
    if dtype.kind not in "iufb" or not dtype.isnative or dtype.itemsize > 8:
        raise ArgumentError("dtype", "integers, floats or booleans of this machine's byte order", dtype.str)
    return dtype


def check_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return `shape`; raise `ArgumentError` if it does not have one or two lengths."""
    if len(shape) not in (1, 2) or min(shape) < 0:
        raise ArgumentError("shape", "one or two lengths", shape)
    return tuple(int(length) for length in shape)


def _from_interface(found: Any, device: Device) -> DeviceArray:
    interface = found.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise ArgumentError("array", "an array without a mask", "one with a mask")
    address, _ = interface["data"]
    dtype = np.dtype(interface["typestr"])
    strides = interface.get("strides")
    if strides is not None and dtype.itemsize:
        strides = tuple(stride / dtype.itemsize for stride in strides)
    if address:
        _check_place(address, device, f"a {type(found).__name__}")
    producer = interface.get("stream")
    if producer is not None:
        _wait_for(device, int(producer))
    return _view(device, address, dtype, tuple(interface["shape"]), strides, found)


def _from_dlpack(found: Any, device: Device) -> DeviceArray:
    wanted = dlpack_device(device)
    kind, ordinal = (int(part) for part in found.__dlpack_device__())
    if (kind, ordinal) != wanted:
        place = "host memory: upload it" if kind == dlpack.CPU else f"device ({kind}, {ordinal}) of DLPack"
        raise _elsewhere(f"a {type(found).__name__} in {place}", device)
    try:
        capsule = _capsule(found, device)
    except BufferError as error:
        raise ArgumentError("array", "an array that can be exported through DLPack", str(error)) from error
    tensor = dlpack.read(capsule)
    return _view(device, tensor.address, tensor.dtype, tensor.shape, tensor.strides, tensor.owner)


def _capsule(found: Any, device: Device) -> object:
    """Return an array's capsule, once pending writes are done."""
    if dlpack_device(device)[0] == dlpack.CPU:
        return found.__dlpack__()
    own = device.stream()
    try:
        return found.__dlpack__(stream=ordered.handle if (ordered := _ordered(own)) else None)
    finally:
        own.close()


def _view(
    device: Device,
    address: int,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[float, ...] | None,
    owner: object,
) -> DeviceArray:
    """Return an array over foreign memory; `strides` are in elements."""
    if strides is not None and not _is_contiguous(shape, strides):
        raise ArgumentError(
            "array", "a contiguous array", f"strides {strides} (in elements) of shape {shape}"
        )
    nbytes = math.prod(shape) * dtype.itemsize
    return DeviceArray(device, ForeignBuffer(address, nbytes, owner), dtype, shape)


def _is_contiguous(shape: tuple[int, ...], strides: tuple[float, ...]) -> bool:
    if 0 in shape:
        return True
    expected = 1
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length > 1 and stride != expected:
            return False
        expected *= length
    return True


def _check_place(address: int, device: Device, what: str) -> None:
    ordinal_of = getattr(device, "ordinal_of", None)
    if ordinal_of is None:
        return
    ordinal = ordinal_of(address)
    if ordinal != getattr(device, "ordinal", 0):
        place = "host or managed memory" if ordinal is None else f"memory of GPU {ordinal}"
        raise _elsewhere(f"{what} in {place}", device)


def _elsewhere(what: str, device: Device) -> DeviceError:
    return DeviceError(f"array: expected memory of {device!r}, found {what}")


def _wait_for(device: Device, producer: int) -> None:
    """Wait for the work on another library's stream, given by its handle."""
    own = device.stream()
    try:
        if ordered := _ordered(own):
            ordered.wait_for(producer)
    finally:
        own.close()


def _ordered(stream: Stream | None) -> _Ordered | None:
    """Return a stream if streams of other libraries can wait for it; else None."""
    return cast("_Ordered", stream) if hasattr(stream, "handle") else None
