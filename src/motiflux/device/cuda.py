"""NVIDIA GPUs, through the driver API (`cuda.bindings.driver`).

cuda.core is not used here: it cannot pass a structure by value to a kernel, which all kernels of motiflux
need. The other calls are few, and `cuda_driver` checks their results in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from motiflux.arguments import check_integer
from motiflux.device.account import MemoryAccount
from motiflux.device.cuda_driver import CudaContext, capability_of, model_of, start_driver, version_text
from motiflux.device.cuda_memory import (
    Block,
    CudaBuffer,
    CudaHostBuffer,
    CudaHostRegistration,
    CudaManagedBuffer,
    MemoryPool,
)
from motiflux.device.cuda_module import CudaModule
from motiflux.device.cuda_stream import CudaStream
from motiflux.device.retire import Retirement
from motiflux.errors import DeviceError, DeviceMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from motiflux.device.cuda_driver import CudaDriver

NEEDED_CAPABILITY = (7, 5)

_PATIENCE = 1.0
"""Seconds to wait for closed buffers that running work still uses, before memory is refused."""


class CudaDevice:
    """A `Device`: one GPU of this machine.

    Attributes
    ----------
    name
        Name for ``device=``: ``"cuda"``, or ``"cuda:1"``.
    model
        Model, such as ``"NVIDIA H100 80GB HBM3"``.
    arch
        Target for the compiler: ``"sm_90"``.
    ordinal
        Number of the GPU in this process.
    multiprocessors
        Number of multiprocessors.
    shared_per_block
        Most dynamic shared memory of a block, in bytes.
    speed
        Multiprocessors times their clock, in hertz.
    total_memory, l2_bytes
        Sizes of the memory and of the L2 cache in bytes.
    driver_cuda
        The CUDA version that the driver supports: ``"13.0"``.
    """

    def __init__(self, ordinal: int = 0) -> None:
        self._driver = driver = start_driver()
        count = int(driver.ask("counting devices", driver.cuDeviceGetCount()))
        if not 0 <= ordinal < count:
            raise DeviceError(f"device 'cuda': expected GPU 0 to {count - 1}, found {ordinal}")
        self.ordinal = ordinal
        self.name = "cuda" if ordinal == 0 else f"cuda:{ordinal}"
        self._context = context = CudaContext(driver, ordinal)
        with context.current():
            self._look()
            self._pool = MemoryPool(context)
        self._retirement = Retirement()
        self._account = MemoryAccount(self.settle)

    def _look(self) -> None:
        driver, context = self._driver, self._context
        self.model = model_of(driver, context.device)
        capability = capability_of(driver, context.device)
        if capability < NEEDED_CAPABILITY:
            raise DeviceError(
                "device 'cuda': expected a GPU of compute capability {}.{} or more, found {}.{} ({}); choose "
                "another with CUDA_VISIBLE_DEVICES, or use device='cpu'".format(
                    *NEEDED_CAPABILITY, *capability, self.model
                )
            )
        self.arch = "sm_{}{}".format(*capability)
        self.multiprocessors = context.attribute("MULTIPROCESSOR_COUNT")
        self.shared_per_block = context.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        self.speed = self.multiprocessors * 1000.0 * context.attribute("CLOCK_RATE")
        self.l2_bytes = context.attribute("L2_CACHE_SIZE")
        self.total_memory = int(driver.ask("its memory", driver.cuDeviceTotalMem(context.device)))
        self.driver_cuda = version_text(int(driver.ask("its version", driver.cuDriverGetVersion())))

    def __repr__(self) -> str:
        return f"CudaDevice({self.ordinal}: {self.model}, {self.arch})"

    def use(self) -> None:
        """Make it the calling thread's current device; call this first on every thread."""
        self._context.use()

    def current(self) -> AbstractContextManager[None]:
        """Make it the calling thread's current device in a context."""
        return self._context.current()

    def free_memory(self) -> int:
        """Return the bytes that can be allocated now: free memory of the device and of motiflux's pool."""
        with self._context.current():
            self._retirement.drain()
            return self._free_on_device()[0] + self._pool.idle()

    def used_memory(self) -> int:
        """Return the bytes that motiflux holds on the device now."""
        with self._context.current():
            self._retirement.drain()
        return self._account.held()

    def allocate(self, nbytes: int, what: str, *, budget: int | None = None) -> CudaBuffer:
        """Return device memory; errors contain `what`, its purpose.

        Raises
        ------
        DeviceMemoryError
            motiflux would hold more than `budget` bytes, or the device has too little memory. The device
            stays usable.
        """
        nbytes = check_integer("nbytes", nbytes, 0)
        with self._context.current():
            self._retirement.drain()
            # Created before its memory is allocated: an interrupt at any point returns the memory allocated
            # until then.
            buffer = CudaBuffer(nbytes, self._pool, self._account, self._retirement)
            try:
                self._account.take(buffer.block, nbytes, what, budget=budget)
                if not self._take(nbytes, buffer.block):
                    raise self._refusal(nbytes, what)
            except BaseException:
                buffer.give_up()
                raise
        return buffer

    def _take(self, nbytes: int, block: Block) -> bool:
        """Fill a block from the pool; if there is too little memory, first release all that can be."""
        if self._pool.take(nbytes, block):
            return True
        self.settle()
        self._pool.trim()
        if self._pool.take(nbytes, block):
            return True
        if not self._account.reclaim(nbytes):
            return False
        self._pool.trim()
        return self._pool.take(nbytes, block)

    def _refusal(self, nbytes: int, what: str) -> DeviceMemoryError:
        free, total = self._free_on_device()
        available = free + self._pool.idle()
        held = self._account.held() - nbytes
        pieces = (
            "the driver gives memory in large pieces, so not all of it can be had; "
            if available >= nbytes
            else ""
        )
        return DeviceMemoryError(
            what,
            nbytes,
            available,
            f"{pieces}of {total:,} bytes on {self.model}, {free:,} are free, motiflux holds {held:,}, and "
            "the rest belongs to other libraries of this process and to other programs (nvidia-smi shows "
            "them): end those, or search a smaller graph",
        )

    def _free_on_device(self) -> tuple[int, int]:
        free, total = self._driver.ask("its memory", self._driver.cuMemGetInfo())
        return int(free), int(total)

    def settle(self) -> None:
        """Wait briefly for running work that uses closed buffers, and release their memory."""
        with self._context.current():
            self._retirement.drain(_PATIENCE)

    def add_reclaimer(self, reclaim: Callable[[int], int]) -> None:
        """Call `reclaim` for memory before a `DeviceMemoryError` is raised."""
        self._account.add_reclaimer(reclaim)

    def allocate_host(self, nbytes: int, what: str, *, clear: bool = True) -> CudaHostBuffer:
        """Return pinned host memory that is mapped into the device's address space, zeroed if `clear`."""
        nbytes = check_integer("nbytes", nbytes, 0)
        with self._context.current():
            self._retirement.drain()
            return CudaHostBuffer(self._context, self._retirement, nbytes, what, clear=clear)

    def allocate_managed(self, nbytes: int, what: str) -> CudaManagedBuffer:
        """Return unified memory, at most as much as is free on the device."""
        nbytes = check_integer("nbytes", nbytes, 0)
        with self._context.current():
            self._retirement.drain()
            free, _ = self._free_on_device()
            if nbytes > free:
                raise DeviceMemoryError(
                    what, nbytes, free, "search a smaller graph, or without unified memory"
                )
            return CudaManagedBuffer(self._context, self._retirement, nbytes, what)

    def register_host(
        self, address: int, nbytes: int, what: str, owner: object, *, only_reads: bool = False
    ) -> CudaHostRegistration:
        """Pin memory of the host where it is, for all devices, and map it into this one's address space.

        Raises
        ------
        DeviceError
            The driver does not pin it; the message has the cause and advice.
        """
        nbytes = check_integer("nbytes", nbytes, 1)
        with self._context.current():
            self._retirement.drain()
            return CudaHostRegistration(
                self._context, self._retirement, address, nbytes, what, owner, only_reads=only_reads
            )

    def stream(self) -> CudaStream:
        """Return a new non-blocking stream."""
        with self._context.current():
            self._retirement.drain()
            return CudaStream(self._context, self._retirement)

    def load(self, image: bytes, name: str) -> CudaModule:
        """Load a cubin; raise `DeviceError` if the device or driver refuses it."""
        with self._context.current():
            return CudaModule(self._context, self._retirement, image, name, self.shared_per_block)

    def ordinal_of(self, address: int) -> int | None:
        """Return the number of the GPU to whose memory an address belongs; None if there is none."""
        driver = self._driver
        attributes = driver.CUpointer_attribute
        with self._context.current():
            kind = driver.cuPointerGetAttribute(attributes.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)
            if kind[0] != 0 or int(kind[1]) != int(driver.CUmemorytype.CU_MEMORYTYPE_DEVICE):
                return None
            answer = driver.cuPointerGetAttribute(attributes.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address)
        return int(driver.ask("an address", answer))


@dataclass(frozen=True)
class GpuFacts:
    """Facts about a GPU that are known without opening it.

    Parameters
    ----------
    ordinal
        Number of the GPU in this process.
    model
        Model, such as ``"NVIDIA H100 80GB HBM3"``.
    capability
        Compute capability: ``"9.0"``.
    total_memory
        Memory in bytes.
    usable
        Whether the compute capability is high enough for motiflux.
    """

    ordinal: int
    model: str
    capability: str
    total_memory: int
    usable: bool


def driver_version() -> str:
    """Return the CUDA version that the driver supports, such as ``"13.0"``.

    Raises
    ------
    DeviceError
        The driver or the packages are missing, or do not fit together.
    """
    driver = start_driver()
    return version_text(int(driver.ask("its version", driver.cuDriverGetVersion())))


def list_devices() -> tuple[GpuFacts, ...]:
    """Return the GPUs that are visible to this process.

    Raises
    ------
    DeviceError
        The driver or the packages are missing, or do not fit together.
    """
    driver = start_driver()
    count = int(driver.ask("counting devices", driver.cuDeviceGetCount()))
    return tuple(_facts(driver, ordinal) for ordinal in range(count))


def _facts(driver: CudaDriver, ordinal: int) -> GpuFacts:
    device = driver.ask(f"no device {ordinal}", driver.cuDeviceGet(ordinal))
    capability = capability_of(driver, device)
    return GpuFacts(
        ordinal,
        model_of(driver, device),
        "{}.{}".format(*capability),
        int(driver.ask("its memory", driver.cuDeviceTotalMem(device))),
        capability >= NEEDED_CAPABILITY,
    )


def open_device(ordinal: int = 0) -> CudaDevice:
    """Open a GPU and make it the calling thread's current device.

    Raises
    ------
    DeviceError
        The GPU cannot be used; the message has the cause and advice.
    """
    device = CudaDevice(ordinal)
    device.use()
    return device
