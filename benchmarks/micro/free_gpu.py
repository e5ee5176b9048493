"""A GPU that does nothing: its launches are free, so that what is left of a call is the host's part."""

from __future__ import annotations

import ctypes
import itertools
import struct
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from motiflux.codegen.kernels import ENTRY
from motiflux.codegen.local_counts_kernels import LocalCountKernel, local_counts_source
from motiflux.codegen.local_counts_layout import OrderArgs
from motiflux.device import cuda_driver
from motiflux.device.cuda import open_device
from motiflux.gpu.runtime import accelerator
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.jit import Code, Source

_ATTRIBUTES = {
    "MEMORY_POOLS_SUPPORTED": 1,
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MULTIPROCESSOR_COUNT": 132,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232_448,
    "L2_CACHE_SIZE": 50 << 20,
    "CLOCK_RATE": 1_980_000,
    "MAX_THREADS_PER_BLOCK": 1024,
    "SHARED_SIZE_BYTES": 1024,
    "NUM_REGS": 32,
    "LOCAL_SIZE_BYTES": 0,
}
_HEADER = struct.pack("<4s12xHHIQQQIHHHHHH", b"\x7fELF", 2, 190, 1, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0).ljust(64)
_ORDER = local_counts_source(LocalCountKernel.ORDER, ENTRY).name


class _Names:
    def __getattr__(self, name: str) -> str:
        return name


class FreeDriver:
    """What `cuda.bindings.driver` offers. Memory is the host's; every root of tables has some work."""

    CUDA_VERSION = 13000
    CU_MEMHOSTALLOC_PORTABLE = 1
    CU_MEMHOSTALLOC_DEVICEMAP = 2
    CUmemAllocationType = CUmemAllocationHandleType = CUmemLocationType = _Names()
    CUmemPool_attribute = CUdevice_attribute = CUfunction_attribute = _Names()
    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=1)

    def __init__(self) -> None:
        self.calls = 0
        self._blocks: dict[int, Any] = {}
        self._free: dict[int, list[Any]] = {}
        self._numbers = itertools.count(100)

    def __getattr__(self, name: str) -> Any:
        if name.endswith(("Create", "Retain")) or name == "cuDeviceGet":
            return self._numbered
        if not name.startswith("cu"):
            raise AttributeError(name)
        return self._nothing

    def _nothing(self, *_: object) -> tuple[int]:
        self.calls += 1
        return (0,)

    def _numbered(self, *_: object) -> tuple[int, int]:
        self.calls += 1
        return 0, next(self._numbers)

    def CUresult(self, code: int) -> int:  # noqa: N802
        return code

    def CUmemPoolProps(self) -> Any:  # noqa: N802
        return SimpleNamespace(location=SimpleNamespace())

    def cuuint64_t(self, value: int) -> int:
        return value

    def cuDriverGetVersion(self) -> tuple[int, int]:  # noqa: N802
        return 0, 13000

    def cuDeviceGetCount(self) -> tuple[int, int]:  # noqa: N802
        return 0, 1

    def cuDeviceGetName(self, *_: object) -> tuple[int, bytes]:  # noqa: N802
        return 0, b"nothing\0"

    def cuDeviceTotalMem(self, _: object) -> tuple[int, int]:  # noqa: N802
        return 0, 80 << 30

    def cuMemGetInfo(self) -> tuple[int, int, int]:  # noqa: N802
        return 0, 80 << 30, 80 << 30

    def cuDeviceGetAttribute(self, attribute: str, _: object) -> tuple[int, int]:  # noqa: N802
        return 0, _ATTRIBUTES[attribute.removeprefix("CU_DEVICE_ATTRIBUTE_")]

    def cuFuncGetAttribute(self, attribute: str, _: object) -> tuple[int, int]:  # noqa: N802
        return 0, _ATTRIBUTES[attribute.removeprefix("CU_FUNC_ATTRIBUTE_")]

    def cuMemPoolGetAttribute(self, *_: object) -> tuple[int, int]:  # noqa: N802
        return 0, 0

    def cuMemAllocFromPoolAsync(self, nbytes: int, *_: object) -> tuple[int, int]:  # noqa: N802
        self.calls += 1
        free = self._free.get(nbytes)
        block = free.pop() if free else (ctypes.c_uint8 * nbytes)()
        address = ctypes.addressof(block)
        self._blocks[address] = block
        return 0, address

    def cuMemFreeAsync(self, address: int, _: object) -> tuple[int]:  # noqa: N802
        self.calls += 1
        block = self._blocks.pop(address)
        self._free.setdefault(len(block), []).append(block)
        return (0,)

    def cuMemHostAlloc(self, nbytes: int, _: object) -> tuple[int, int]:  # noqa: N802
        return self.cuMemAllocFromPoolAsync(nbytes)

    def cuMemHostGetDevicePointer(self, address: int, _: object) -> tuple[int, int]:  # noqa: N802
        return 0, address

    def cuMemcpyHtoDAsync(self, destination: int, source: int, nbytes: int, _: object) -> tuple[int]:  # noqa: N802
        self.calls += 1
        ctypes.memmove(destination, source, nbytes)
        return (0,)

    cuMemcpyDtoHAsync = cuMemcpyHtoDAsync  # noqa: N815

    def cuEventElapsedTime(self, *_: object) -> tuple[int, float]:  # noqa: N802
        return 0, 0.0

    def cuLibraryLoadData(self, image: bytes, *_: object) -> tuple[int, str]:  # noqa: N802
        return 0, image[64:].decode()

    def cuLibraryGetKernel(self, library: str, _: bytes) -> tuple[int, str]:  # noqa: N802
        return 0, library

    def cuKernelGetFunction(self, kernel: str) -> tuple[int, str]:  # noqa: N802
        return 0, kernel

    def cuFuncGetParamInfo(self, *_: object) -> tuple[int]:  # noqa: N802
        return (1,)

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, *_: object) -> tuple[int, int]:  # noqa: N802
        self.calls += 1
        return 0, 4

    def cuLaunchKernel(self, function: str, *arguments: Any) -> tuple[int]:  # noqa: N802
        self.calls += 1
        if function == _ORDER:
            at = ctypes.c_void_p.from_address(arguments[8]).value
            assert at is not None
            order = OrderArgs.from_address(at)
            ctypes.memset(order.work, 1, 4 * order.vertices)
        return (0,)


class _NoCompiler:
    """Gives images that say what they are instead of doing it."""

    def wait(self, source: Source, timeout: float | None = None) -> Code:
        return Code(source.name, _HEADER + source.name.encode(), "")

    def known(self, source: Source) -> bool:
        return True

    def submit(self, source: Source) -> Future[Code]:
        done: Future[Code] = Future()
        done.set_result(self.wait(source))
        return done

    @property
    def is_loaded(self) -> bool:
        return True


def install() -> FreeDriver:
    """Let ``device="cuda"`` be the GPU that does nothing, in this process."""
    driver: Any = FreeDriver()
    cuda_driver.import_bindings = lambda: driver
    made = Accelerator(open_device(), _NoCompiler())  # type: ignore[arg-type]
    accelerator.register_accelerator("cuda", lambda: made)
    return driver  # type: ignore[no-any-return]
