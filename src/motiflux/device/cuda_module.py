"""Compiled images on a CUDA device, and their entry points."""

from __future__ import annotations

import struct
import weakref
from functools import partial
from typing import TYPE_CHECKING

from motiflux.errors import ArgumentError, DeviceError, InternalError

if TYPE_CHECKING:
    from motiflux.device.cuda_driver import CudaContext
    from motiflux.device.retire import Retirement

PLAIN_SHARED = 48 * 1024
"""Most dynamic shared bytes of a block without opting in to more."""

MAX_GRID = 2**31 - 1

_ELF_HEADER = struct.Struct("<4s12xHHIQQQIHHHHHH")
_CUDA_MACHINE = 190


class CudaModule:
    """A `Module`: a cubin that the driver has loaded."""

    def __init__(
        self, context: CudaContext, retirement: Retirement, image: bytes, name: str, shared_per_block: int
    ) -> None:
        check_cubin(image, name)
        driver = context.driver
        answer = driver.cuLibraryLoadData(image, [], [], 0, [], [], 0)
        self._library = driver.ask(f"loading {name}", answer)
        release = partial(driver.cuLibraryUnload, self._library)
        finalizer = weakref.finalize(self, retirement.add, (), release)
        finalizer.atexit = False
        # The driver loads lazily, and may then wait for running kernels: make it load, or refuse, now.
        driver.ask(f"loading {name}", driver.cuLibraryGetModule(self._library))
        self._context = context
        self._name = name
        self._shared_per_block = shared_per_block

    def kernel(self, name: str) -> CudaKernel:
        """Return the entry point of that name.

        Raises
        ------
        InternalError
            There is no such entry point.
        """
        driver = self._context.driver
        answer = driver.cuLibraryGetKernel(self._library, name.encode())
        if answer[0] != 0:
            reason = driver.error(f"entry point {name}", answer[0])
            raise InternalError(
                f"module {self._name}: expected an entry point {name!r}, found none: {reason}"
            )
        function = driver.ask(f"kernel {name}", driver.cuKernelGetFunction(answer[1]))
        return CudaKernel(self, self._context, function, name, self._shared_per_block)


class CudaKernel:
    """A `Kernel`. It keeps its module loaded.

    Attributes
    ----------
    function
        The function that the driver launches.
    """

    def __init__(
        self, module: CudaModule, context: CudaContext, function: object, name: str, shared_per_block: int
    ) -> None:
        self.function = function
        self._module = module
        self._driver = context.driver
        self._name = name
        self._max_block = self._attribute("MAX_THREADS_PER_BLOCK")
        self._max_shared = shared_per_block - self._attribute("SHARED_SIZE_BYTES")
        self._parameter = self._parameter_size()
        self._allowed_shared = min(PLAIN_SHARED, self._max_shared)
        self._checked: set[tuple[int, int, int]] = set()
        self._resident: dict[tuple[int, int], int] = {}

    @property
    def name(self) -> str:
        """Name of the entry point."""
        return self._name

    @property
    def registers(self) -> int:
        """Registers per thread."""
        return self._attribute("NUM_REGS")

    def blocks_per_multiprocessor(self, block: int, shared: int) -> int:
        """Return the number of blocks of `block` threads and `shared` bytes that run at once; 0 if none."""
        if not 0 < block <= self._max_block or not 0 <= shared <= self._max_shared:
            return 0
        if (known := self._resident.get((block, shared))) is not None:
            return known
        self._allow_shared(shared)
        driver = self._driver
        answer = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(self.function, block, shared)
        found = self._resident[block, shared] = int(driver.ask(f"occupancy of {self._name}", answer))
        return found

    def check(self, block: int, shared: int, parameter: int) -> None:
        """Check a launch's block, dynamic shared bytes and parameter bytes; a repeated check is quick.

        Raises
        ------
        DeviceError
            The device cannot run such blocks.
        InternalError
            The kernel's parameter has another size.
        """
        if (block, shared, parameter) in self._checked:
            return
        if not 0 < block <= self._max_block:
            raise DeviceError(
                f"kernel {self._name}: expected blocks of 1 to {self._max_block} threads, found {block}"
            )
        if not 0 <= shared <= self._max_shared:
            raise DeviceError(
                f"kernel {self._name}: expected at most {self._max_shared:,} bytes of dynamic shared memory "
                f"per block on this device, found {shared:,}"
            )
        if self._parameter is not None and parameter != self._parameter:
            raise InternalError(
                f"kernel {self._name}: expected a structure of {self._parameter} bytes, found {parameter}"
            )
        self._allow_shared(shared)
        self._checked.add((block, shared, parameter))

    def _allow_shared(self, shared: int) -> None:
        if shared <= self._allowed_shared:
            return
        driver = self._driver
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        # Always the device's maximum, so that threads that need different sizes cannot lower it.
        answer = driver.cuFuncSetAttribute(self.function, attribute, self._max_shared)
        driver.ask(f"shared memory of {self._name}", answer)
        self._allowed_shared = self._max_shared

    def _attribute(self, name: str) -> int:
        attribute = getattr(self._driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        answer = self._driver.cuFuncGetAttribute(attribute, self.function)
        return int(self._driver.ask(f"kernel {self._name}", answer))

    def _parameter_size(self) -> int | None:
        """Return the bytes of the only parameter; None if the driver cannot tell (before CUDA 12.4)."""
        driver = self._driver
        if not driver.has("cuFuncGetParamInfo"):
            return None
        try:
            answer = driver.cuFuncGetParamInfo(self.function, 0)
        except RuntimeError:  # the packages have the function, the driver does not
            return None
        return int(answer[2]) if answer[0] == 0 else None


def check_grid(grid: int) -> None:
    """Check a number of blocks."""
    if not 0 < grid <= MAX_GRID:
        raise ArgumentError("grid", f"1 to {MAX_GRID} blocks", grid)


def check_cubin(image: bytes, name: str) -> None:
    """Check that an image is a complete cubin; the driver reads past the end of a truncated one.

    Raises
    ------
    DeviceError
        The image is no complete cubin.
    """
    if len(image) < _ELF_HEADER.size:
        raise DeviceError(f"{name}: expected a cubin, found {len(image)} bytes")
    fields = _ELF_HEADER.unpack_from(image)
    magic, machine = fields[0], fields[2]
    if magic != b"\x7fELF" or machine != _CUDA_MACHINE:
        raise DeviceError(f"{name}: expected a cubin, found an image of another kind ({image[:8]!r}...)")
    programs, sections = fields[5], fields[6]
    program_size, program_count, section_size, section_count = fields[9:13]
    end = max(programs + program_size * program_count, sections + section_size * section_count)
    if end > len(image):
        raise DeviceError(
            f"{name}: expected a cubin of at least {end:,} bytes, found {len(image):,}: it is cut off"
        )
