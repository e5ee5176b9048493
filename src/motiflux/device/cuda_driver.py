"""The CUDA driver: loading it, checking its version, and checking all its results in one place."""

from __future__ import annotations

import importlib
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from motiflux.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Iterator

INSTALL = "pip install 'motiflux[gpu]'"
NEEDED_VERSION = (12, 1)
"""CUDA 12.1 is the first version with more than 4 KB of kernel parameters."""

NOT_READY = 600
OUT_OF_MEMORY = 2
NOT_INITIALIZED = 3
NO_DEVICE = 100
INVALID_CONTEXT = 201

_STICKY = frozenset({214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 911, 999})
"""Results after which the process cannot use the device any more: faults of a kernel or of the hardware."""


def import_bindings() -> Any:
    """Return the module `cuda.bindings.driver`.

    Raises
    ------
    DeviceError
        The package is not installed.
    """
    try:
        driver: Any = importlib.import_module("cuda.bindings.driver")
    except ImportError as error:
        raise DeviceError(
            f"device 'cuda': expected the GPU packages, found none ({error}); install them: {INSTALL}"
        ) from error
    return driver


def version_text(version: int) -> str:
    """Return a version number of CUDA as text.

    Examples
    --------
    >>> version_text(12010)
    '12.1'
    """
    return f"{version // 1000}.{version % 1000 // 10}"


class CudaDriver:
    """The driver's functions, by their names in C, with results turned into values or errors.

    ``driver.cuMemGetInfo()`` returns the result of the bindings, a tuple that starts with the status;
    ``driver.ask("purpose", driver.cuMemGetInfo())`` returns the rest of it, or raises an error.
    """

    def __init__(self, bindings: Any) -> None:
        self._bindings = bindings
        self._process = os.getpid()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._bindings, name)
        setattr(self, name, found)
        return found

    def has(self, name: str) -> bool:
        """Return whether the installed packages have a function."""
        return hasattr(self._bindings, name)

    def check_process(self) -> None:
        """Raise `DeviceError` in a process that was forked from the process that opened the device."""
        if os.getpid() != self._process:
            raise DeviceError(
                f"device 'cuda': opened by process {self._process}, used in process {os.getpid()}, which was "
                "forked from it; CUDA does not survive a fork: start processes with multiprocessing's "
                "'spawn', or fork before the parent first uses a GPU"
            )

    @property
    def inherited(self) -> bool:
        """Whether this process was forked from the process that opened the device."""
        return os.getpid() != self._process

    def ask(self, what: str, answer: tuple[Any, ...]) -> Any:
        """Return the result of a call (None, a value, or a tuple); raise `DeviceError` if it failed."""
        if answer[0] != 0:
            raise self.error(what, answer[0])
        if len(answer) == 2:
            return answer[1]
        return answer[1:] or None

    def refuses_memory(self, result: Any) -> bool:
        """Whether a failed call that pins memory was refused, and not the whole device has failed."""
        return int(result) not in _STICKY and int(result) != INVALID_CONTEXT

    def error(self, what: str, result: Any, kind: type[DeviceError] = DeviceError) -> DeviceError:
        """Return the error for a status: its name, its meaning, and advice."""
        code = int(result)
        name, meaning = self._describe(result)
        message = f"device 'cuda': {what}: {name} ({meaning})"
        if code in _STICKY:
            message += (
                "; a kernel or the hardware failed: this process cannot use the device any more, restart it"
            )
        elif code == INVALID_CONTEXT:
            message += "; the device is not this thread's: call use() on every thread first"
        return kind(message)

    def _describe(self, result: Any) -> tuple[str, str]:
        try:
            code = self.CUresult(int(result))
            texts = [self.cuGetErrorName(code), self.cuGetErrorString(code)]
        except Exception:  # noqa: BLE001 - a result the bindings do not know, or no driver at all
            return f"CUDA error {int(result)}", "unknown to the installed packages"
        name, meaning = (
            text[1].decode(errors="replace") if text[0] == 0 and text[1] else f"CUDA error {int(result)}"
            for text in texts
        )
        return name, meaning


def start_driver() -> CudaDriver:
    """Return the driver, initialised and new enough.

    Raises
    ------
    DeviceError
        Packages, driver or device are missing, or do not fit together.
    """
    bindings = import_bindings()
    driver = CudaDriver(bindings)
    try:
        (started,) = bindings.cuInit(0)
        answer = bindings.cuDriverGetVersion()
    except Exception as error:
        # The bindings load libcuda at the first call; each version raises other exceptions.
        raise DeviceError(
            "device 'cuda': expected the NVIDIA driver, found no libcuda that works; install the driver of "
            f"your GPU, and give a container access to it (docker run --gpus all): {error}"
        ) from error
    if started == NO_DEVICE:
        raise DeviceError(
            "device 'cuda': the driver is installed, but finds no GPU (CUDA_ERROR_NO_DEVICE); look at "
            "nvidia-smi, and at CUDA_VISIBLE_DEVICES, which is "
            + repr(os.environ.get("CUDA_VISIBLE_DEVICES", "not set"))
        )
    if started == NOT_INITIALIZED:
        raise DeviceError(
            "device 'cuda': CUDA_ERROR_NOT_INITIALIZED: a parent of this process used CUDA before it forked, "
            "and CUDA does not survive a fork; start processes with multiprocessing's 'spawn'"
        )
    if answer[0] == 0:
        check_version(int(answer[1]), int(bindings.CUDA_VERSION))
    if started != 0:
        raise driver.error("the driver does not start", started)
    return driver


def check_version(supported: int, installed: int) -> None:
    """Check that the driver supports the versions that motiflux and the installed packages need.

    Parameters
    ----------
    supported
        The CUDA version that the driver supports, from ``cuDriverGetVersion``.
    installed
        The CUDA version of the installed packages. Within a major version, any driver works with any package.

    Raises
    ------
    DeviceError
        The driver is too old.
    """
    have, major = version_text(supported), installed // 1000
    if (supported // 1000, supported % 1000 // 10) < NEEDED_VERSION:
        raise DeviceError(
            f"device 'cuda': expected a driver that supports CUDA {NEEDED_VERSION[0]}.{NEEDED_VERSION[1]} or "
            f"newer, found one for {have}; install NVIDIA driver 530 or newer"
        )
    if supported // 1000 < major:
        driver = {13: "580"}.get(major, "of that CUDA version")
        raise DeviceError(
            f"device 'cuda': the driver supports CUDA {have}, the installed packages are for CUDA {major}; "
            f"install NVIDIA driver {driver} or newer, or the packages for CUDA 12: "
            "pip install 'cuda-core[cu12]' cupy-cuda12x"
        )


class CudaContext:
    """The device's primary context, which other libraries of this process share."""

    def __init__(self, driver: CudaDriver, ordinal: int) -> None:
        self.driver = driver
        self.ordinal = ordinal
        self.device = driver.ask(f"no device {ordinal}", driver.cuDeviceGet(ordinal))
        self._context = driver.ask("the context", driver.cuDevicePrimaryCtxRetain(self.device))

    def use(self) -> None:
        """Make it the calling thread's current context."""
        self.driver.check_process()
        self.driver.ask("make the context current", self.driver.cuCtxSetCurrent(self._context))

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make it the calling thread's current context in a ``with`` block."""
        driver = self.driver
        driver.check_process()
        driver.ask("make the context current", driver.cuCtxPushCurrent(self._context))
        try:
            yield
        finally:
            driver.cuCtxPopCurrent()

    def attribute(self, name: str) -> int:
        """Return an attribute of the device, by its name without ``CU_DEVICE_ATTRIBUTE_``."""
        return attribute_of(self.driver, self.device, name)


def attribute_of(driver: CudaDriver, device: Any, name: str) -> int:
    """Return an attribute of a device, by its name without ``CU_DEVICE_ATTRIBUTE_``."""
    attribute = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(driver.ask(f"attribute {name}", driver.cuDeviceGetAttribute(attribute, device)))


def capability_of(driver: CudaDriver, device: Any) -> tuple[int, int]:
    """Return a device's compute capability: (9, 0)."""
    major = attribute_of(driver, device, "COMPUTE_CAPABILITY_MAJOR")
    return major, attribute_of(driver, device, "COMPUTE_CAPABILITY_MINOR")


def model_of(driver: CudaDriver, device: Any) -> str:
    """Return the name of a device."""
    name: bytes = driver.ask("its name", driver.cuDeviceGetName(128, device))
    return name.split(b"\0", 1)[0].decode(errors="replace")
