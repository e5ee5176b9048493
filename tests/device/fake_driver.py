"""A CUDA driver whose device is host memory: what `cuda.bindings.driver` offers, as far as motiflux uses it.

Work is done at once; `busy` names the streams that say that theirs is not done.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
from types import SimpleNamespace
from typing import Any

ALREADY_REGISTERED = 712
SUCCESS, OUT_OF_MEMORY, NO_DEVICE, NOT_READY, ILLEGAL_ADDRESS = 0, 2, 100, 600, 700
INVALID_IMAGE, NOT_FOUND = 200, 500
_NAMES = {
    2: b"CUDA_ERROR_OUT_OF_MEMORY",
    3: b"CUDA_ERROR_NOT_INITIALIZED",
    100: b"CUDA_ERROR_NO_DEVICE",
    200: b"CUDA_ERROR_INVALID_IMAGE",
    201: b"CUDA_ERROR_INVALID_CONTEXT",
    500: b"CUDA_ERROR_NOT_FOUND",
    700: b"CUDA_ERROR_ILLEGAL_ADDRESS",
    719: b"CUDA_ERROR_LAUNCH_FAILED",
}
_ATTRIBUTES = {
    "MEMORY_POOLS_SUPPORTED": 1,
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MULTIPROCESSOR_COUNT": 132,
    "CLOCK_RATE": 1_980_000,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232_448,
    "L2_CACHE_SIZE": 50 * 2**20,
}
_FUNCTION_ATTRIBUTES = {
    "MAX_THREADS_PER_BLOCK": 1024,
    "SHARED_SIZE_BYTES": 1024,
    "NUM_REGS": 32,
}


_WITHOUT_VALUE = {"cuInit", "cuLaunchKernel", "cuMemHostRegister"}


class _Names:
    """An enumeration whose members are their own names."""

    def __getattr__(self, name: str) -> str:
        return name


class FakeDriver:
    """Stands in for the module. `calls` lists what was called; `fail` makes calls fail."""

    CUDA_VERSION = 13000
    CU_MEMHOSTALLOC_PORTABLE = 1
    CU_MEMHOSTALLOC_DEVICEMAP = 2
    CU_MEMHOSTREGISTER_PORTABLE = 1
    CU_MEMHOSTREGISTER_DEVICEMAP = 2
    CU_MEMHOSTREGISTER_READ_ONLY = 8
    CUmemAllocationType = CUmemAllocationHandleType = CUmemLocationType = _Names()
    CUmemPool_attribute = CUdevice_attribute = CUfunction_attribute = CUpointer_attribute = _Names()
    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=1)
    CUmemAttach_flags = SimpleNamespace(CU_MEM_ATTACH_GLOBAL=1)
    CUmemorytype = SimpleNamespace(CU_MEMORYTYPE_DEVICE=2)

    def __init__(self, memory: int = 1 << 20) -> None:
        self.memory = memory
        self.version = 13000
        self.devices = 1
        self.attributes = dict(_ATTRIBUTES)
        self.blocks: dict[int, Any] = {}
        self.host: dict[int, Any] = {}
        self.registered: dict[int, int] = {}
        self.register_flags = 0
        self.reserved = 0
        self.streams: set[int] = set()
        self.busy: set[int] = set()
        self.broken: int | None = None
        self.events: dict[int, tuple[int, int]] = {}
        self.parameter_bytes = 24
        self.launched: list[tuple[int, int, int, bytes]] = []
        self.calls: list[str] = []
        self.fail: dict[str, int] = {}
        self._numbers = itertools.count(100)

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if not name.startswith("cu") or name == "cuuint64_t":
            return found

        def call(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append(name)
            if (code := self.fail.get(name)) is not None:
                return (code,) if name in _WITHOUT_VALUE else (code, None)
            answer = found(*arguments)
            return answer if isinstance(answer, tuple) else (answer,)

        return call

    # The driver and the device

    def CUresult(self, code: int) -> int:
        return code

    def CUmemPoolProps(self) -> Any:
        return SimpleNamespace(location=SimpleNamespace())

    def cuuint64_t(self, value: int) -> int:
        return value

    def cuInit(self, flags: int) -> int:
        return SUCCESS if self.devices else NO_DEVICE

    def cuDriverGetVersion(self) -> tuple[int, int]:
        return SUCCESS, self.version

    def cuGetErrorName(self, code: int) -> tuple[int, bytes]:
        return SUCCESS, _NAMES[code]

    def cuGetErrorString(self, code: int) -> tuple[int, bytes]:
        return SUCCESS, b"as the driver puts it"

    def cuDeviceGetCount(self) -> tuple[int, int]:
        return SUCCESS, self.devices

    def cuDeviceGet(self, ordinal: int) -> tuple[int, int]:
        return SUCCESS, ordinal

    def cuDeviceGetName(self, length: int, device: int) -> tuple[int, bytes]:
        return SUCCESS, b"Example GPU\0\0\0"

    def cuDeviceTotalMem(self, device: int) -> tuple[int, int]:
        return SUCCESS, self.memory

    def cuDeviceGetAttribute(self, attribute: str, device: int) -> tuple[int, int]:
        return SUCCESS, self.attributes[attribute.removeprefix("CU_DEVICE_ATTRIBUTE_")]

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int, int]:
        return SUCCESS, 1

    def cuCtxSetCurrent(self, context: int) -> int:
        return SUCCESS

    def cuCtxPushCurrent(self, context: int) -> int:
        return SUCCESS

    def cuCtxPopCurrent(self) -> tuple[int, int]:
        return SUCCESS, 1

    # Memory

    def cuMemPoolCreate(self, properties: Any) -> tuple[int, int]:
        return SUCCESS, 1

    def cuMemPoolSetAttribute(self, pool: int, attribute: str, value: int) -> int:
        return SUCCESS

    def cuMemPoolGetAttribute(self, pool: int, attribute: str) -> tuple[int, int]:
        used = self.used()
        return SUCCESS, used if "USED" in attribute else max(self.reserved, used)

    def cuMemPoolTrimTo(self, pool: int, keep: int) -> int:
        self.reserved = self.used()
        return SUCCESS

    def cuMemAllocFromPoolAsync(self, nbytes: int, pool: int, stream: int) -> tuple[int, int | None]:
        if self.used() + nbytes > self.memory:
            return OUT_OF_MEMORY, None
        block = (ctypes.c_uint8 * nbytes)()
        address = ctypes.addressof(block)
        self.blocks[address] = block
        self.reserved = max(self.reserved, self.used())
        return SUCCESS, address

    def cuMemFreeAsync(self, address: int, stream: int) -> int:
        del self.blocks[address]
        return SUCCESS

    def cuMemGetInfo(self) -> tuple[int, int, int]:
        return SUCCESS, self.memory - max(self.reserved, self.used()), self.memory

    def cuMemHostAlloc(self, nbytes: int, flags: int) -> tuple[int, int]:
        block = (ctypes.c_uint8 * nbytes)(*[255] * min(nbytes, 64))
        address = ctypes.addressof(block)
        self.host[address] = block
        return SUCCESS, address

    def cuMemAllocManaged(self, nbytes: int, flags: int) -> tuple[int, int]:
        return self.cuMemHostAlloc(nbytes, flags)

    def cuMemFree(self, address: int) -> int:
        return self.cuMemFreeHost(address)

    def cuMemFreeHost(self, address: int) -> int:
        del self.host[address]
        return SUCCESS

    def cuMemHostRegister(self, address: int, nbytes: int, flags: int) -> int:
        if any(at < address + nbytes and address < at + size for at, size in self.registered.items()):
            return ALREADY_REGISTERED
        self.registered[address], self.register_flags = nbytes, flags
        return SUCCESS

    def cuMemHostUnregister(self, address: int) -> int:
        del self.registered[address]
        return SUCCESS

    def cuMemHostGetDevicePointer(self, address: int, flags: int) -> tuple[int, int]:
        return SUCCESS, address

    def cuPointerGetAttribute(self, attribute: str, address: int) -> tuple[int, int]:
        return SUCCESS, 2 if "MEMORY_TYPE" in attribute else 0

    def cuMemcpyHtoDAsync(self, destination: int, source: int, nbytes: int, stream: int) -> int:
        ctypes.memmove(destination, source, nbytes)
        return SUCCESS

    def cuMemcpyDtoHAsync(self, destination: int, source: int, nbytes: int, stream: int) -> int:
        ctypes.memmove(destination, source, nbytes)
        return SUCCESS

    def cuMemsetD8Async(self, address: int, value: int, nbytes: int, stream: int) -> int:
        ctypes.memset(address, value, nbytes)
        return SUCCESS

    # Streams and events

    def cuStreamCreate(self, flags: int) -> tuple[int, int]:
        stream = next(self._numbers)
        self.streams.add(stream)
        return SUCCESS, stream

    def cuStreamDestroy(self, stream: int) -> int:
        self.streams.remove(stream)
        return SUCCESS

    def cuStreamQuery(self, stream: int) -> int:
        assert stream in self.streams, "a stream that was destroyed"
        return self.broken or (NOT_READY if stream in self.busy else SUCCESS)

    def cuStreamSynchronize(self, stream: int) -> int:
        return SUCCESS

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> int:
        return SUCCESS

    def cuEventCreate(self, flags: int) -> tuple[int, int]:
        return SUCCESS, next(self._numbers)

    def cuEventDestroy(self, event: int) -> int:
        self.events.pop(event, None)
        return SUCCESS

    def cuEventRecord(self, event: int, stream: int) -> int:
        self.events[event] = (stream, next(self._numbers))
        return SUCCESS

    def cuEventQuery(self, event: int) -> int:
        return self.broken or (NOT_READY if self.events[event][0] in self.busy else SUCCESS)

    def cuEventElapsedTime(self, start: int, end: int) -> tuple[int, float]:
        return SUCCESS, float(self.events[end][1] - self.events[start][1])

    # Kernels

    def cuLibraryLoadData(self, image: bytes, *options: Any) -> tuple[int, int]:
        return SUCCESS, 1

    def cuLibraryGetModule(self, library: int) -> tuple[int, int]:
        return SUCCESS, 1

    def cuLibraryUnload(self, library: int) -> int:
        return SUCCESS

    def cuLibraryGetKernel(self, library: int, name: bytes) -> tuple[int, int | None]:
        return (SUCCESS, 1) if name == b"known" else (NOT_FOUND, None)

    def cuKernelGetFunction(self, kernel: int) -> tuple[int, int]:
        return SUCCESS, 7

    def cuFuncGetAttribute(self, attribute: str, function: int) -> tuple[int, int]:
        return SUCCESS, _FUNCTION_ATTRIBUTES[attribute.removeprefix("CU_FUNC_ATTRIBUTE_")]

    def cuFuncSetAttribute(self, function: int, attribute: str, value: int) -> int:
        return SUCCESS

    def cuFuncGetParamInfo(self, function: int, index: int) -> tuple[int, int, int]:
        return SUCCESS, 0, self.parameter_bytes

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(
        self, function: int, block: int, shared: int
    ) -> tuple[int, int]:
        return SUCCESS, 2048 // block

    def cuLaunchKernel(self, function: int, *arguments: Any) -> int:
        grid, _, _, block, _, _, shared, _, parameters, _ = arguments
        argument = ctypes.c_void_p.from_address(parameters).value
        assert argument is not None
        self.launched.append((grid, block, shared, ctypes.string_at(argument, self.parameter_bytes)))
        return SUCCESS

    # What tests ask

    def used(self) -> int:
        """Return the bytes that are allocated."""
        return sum(len(block) for block in list(self.blocks.values()))

    def counted(self, name: str) -> int:
        """Return how often a function was called."""
        return self.calls.count(name)


def cubin(length: int = 64) -> bytes:
    """Return what passes for a cubin: its header."""
    header = struct.pack("<4s12xHHIQQQIHHHHHH", b"\x7fELF", 2, 190, 1, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0)
    return header.ljust(length, b"\0")
