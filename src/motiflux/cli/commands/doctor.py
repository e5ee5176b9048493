"""``motiflux doctor``: a check of the installation."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import ctypes
import importlib.util
import os
import platform
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from motiflux.bench.machine import cpu_model
from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode
from motiflux.cli.output import print_json, print_table
from motiflux.errors import DeviceError, MotifluxError
from motiflux.units import quantity

if TYPE_CHECKING:
    import numpy as np

HELP = "Check this installation, and advise on missing parts."

MINIMUM_PYTHON = (3, 11)
NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")
SET_UP = "in the clone: make setup"
FOR_GPU = "only for GPUs: "
INSTALL = FOR_GPU + "pip install 'motiflux[gpu]'"

_ANY_ARCH = "sm_80"
"""Architecture of the compiler check if there is no GPU."""

_KERNEL = """
struct Job { unsigned int* found; unsigned long long first; unsigned int count; };
extern "C" __global__ void doctor(Job job) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < job.count) job.found[i] = static_cast<unsigned int>(job.first + i);
}
"""
_COUNT = 1000
_BLOCK = 128


class _Job(ctypes.Structure):
    """The kernel's parameter."""

    _fields_ = [("found", ctypes.c_uint64), ("first", ctypes.c_uint64), ("count", ctypes.c_uint32)]


@dataclass(frozen=True)
class Check:
    """One check. A check that is not `required` may fail."""

    check: str
    ok: bool
    required: bool
    found: str
    advice: str = ""


def run(as_json: opt.JsonOption = False) -> ExitCode:
    """Run all checks; the exit code is 0 if the CPU engine works."""
    checks = [
        _python(),
        _package("motiflux"),
        _package("numpy"),
        _extension(),
        _processor(),
        _nvidia_driver(),
        _module("cuda.core"),
        _module("cupy"),
        _compiler(),
        _prebuilt(),
        _kernel_cache(),
        *_gpus(),
    ]
    works = all(check.ok for check in checks if check.required)
    if as_json:
        print_json({"ok": works, "checks": [asdict(check) for check in checks]})
    else:
        rows = [[_mark(check), check.check, check.found, check.advice] for check in checks]
        print_table("motiflux doctor", ["", "check", "found", "what to do"], rows)
        print("The CPU engine works." if works else "The CPU engine does not work: see above.")
    return ExitCode.DONE if works else ExitCode.NO_DEVICE


def _mark(check: Check) -> str:
    if check.ok:
        return "ok"
    return "FAIL" if check.required else "-"


def _python() -> Check:
    good = sys.version_info[:2] >= MINIMUM_PYTHON
    advice = "" if good else "install Python {}.{} or newer".format(*MINIMUM_PYTHON)
    return Check("Python", good, True, f"{platform.python_version()} ({platform.platform()})", advice)


def _package(name: str) -> Check:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return Check(name, True, True, version(name))
    except PackageNotFoundError:
        return Check(name, False, True, "not installed", SET_UP)


def _extension() -> Check:
    """Load the extension and check a known count: K4 has four triangles."""
    try:
        import motiflux as mf

        complete_graph = mf.Graph.from_edges([(u, v) for u in range(4) for v in range(u)])
        triangle = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)])
        found = int(mf.count(complete_graph, triangle, symmetry="subgraphs", engine="cpu"))
    except Exception as error:  # noqa: BLE001 - whatever is wrong is the finding
        return Check("CPU engine", False, True, f"{type(error).__name__}: {error}", f"rebuild it {SET_UP}")
    if found != 4:
        return Check(
            "CPU engine", False, True, f"self-test: {found} triangles in K4, not 4", "report this as a bug"
        )
    return Check("CPU engine", True, True, "loads, and passes its self-test")


def _processor() -> Check:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Check("CPU", True, False, f"{cpu_model()}, {usable} of {os.cpu_count()} cores usable")


def _nvidia_driver() -> Check:
    """Check the driver, and the CUDA version that it supports if the packages are installed."""
    try:
        found = NVIDIA_DRIVER.read_text(encoding="utf-8", errors="replace").splitlines()[0]
    except (OSError, IndexError):
        found = ""
    if _is_installed("cuda.bindings"):
        from motiflux.device.cuda import driver_version

        try:
            return Check(
                "NVIDIA driver", True, False, f"supports CUDA {driver_version()}; {found}".strip("; ")
            )
        except DeviceError as error:
            return Check("NVIDIA driver", False, False, found or "not usable", FOR_GPU + str(error))
    if found:
        return Check("NVIDIA driver", True, False, found)
    return Check("NVIDIA driver", False, False, "not present", FOR_GPU + "install NVIDIA driver 580 or newer")


def _module(name: str) -> Check:
    """Check whether a module is installed, without importing it or its package."""
    if _is_installed(name):
        return Check(name, True, False, "installed")
    return Check(name, False, False, "not installed", INSTALL)


def _is_installed(name: str) -> bool:
    package, _, module = name.partition(".")
    spec = importlib.util.find_spec(package)
    if spec is None or not module:
        return spec is not None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    return any((folder / module).is_dir() or (folder / f"{module}.py").is_file() for folder in folders)


def _compiler() -> Check:
    """Compile a small kernel without the cache, and report the time."""
    from motiflux.jit.base import BuildError, Source
    from motiflux.jit.nvrtc import NvrtcToolchain

    toolchain = NvrtcToolchain(_ANY_ARCH)
    try:
        nvrtc = toolchain.identity().get("version", "of unknown version")
        began = time.perf_counter()
        toolchain.build(Source("doctor", _KERNEL), ())
    except DeviceError as error:
        return Check("GPU compiler", False, False, "not usable", FOR_GPU + str(error))
    except BuildError as error:
        return Check("GPU compiler", False, False, f"NVRTC refuses a small kernel: {error.log}", INSTALL)
    except Exception as error:  # noqa: BLE001 - whatever is wrong is the finding
        return Check("GPU compiler", False, False, f"{type(error).__name__}: {error}", INSTALL)
    seconds = time.perf_counter() - began
    return Check("GPU compiler", True, False, f"NVRTC {nvrtc}, {seconds:.2f} s for a small kernel")


def _prebuilt() -> Check:
    """Say which compiled kernels came with the package."""
    from motiflux.jit.archives import FOLDER
    from motiflux.jit.prebuilt import PrebuiltKernels

    archives = sorted(FOLDER.glob("*.zip"))
    if not archives:
        return Check("kernels in package", True, False, "none: each is compiled when it is first needed")
    found = [f"{path.stem}: {len(PrebuiltKernels(path))}" for path in archives]
    return Check("kernels in package", True, False, ", ".join(found))


def _kernel_cache() -> Check:
    """Check the folder of compiled kernels: its size, and whether it is writable."""
    from motiflux.jit.cache import KernelCache

    advice = FOR_GPU + "set MOTIFLUX_CACHE to a writable folder"
    try:
        folder = KernelCache.from_environment().folder
    except MotifluxError as error:
        return Check("kernel cache", False, False, str(error), FOR_GPU + "correct this variable")
    if folder is None:
        return Check("kernel cache", True, False, "off: each process compiles its kernels again")
    try:
        sizes = [entry.stat().st_size for entry in folder.glob("*.kernel")]
    except OSError as error:
        return Check("kernel cache", False, False, f"{folder}: {error.strerror}", advice)
    found = f"{folder}: {quantity(len(sizes), 'kernel')}, {quantity(sum(sizes), 'byte')}"
    if not _can_be_written(folder):
        return Check("kernel cache", False, False, f"{found}; not writable", advice)
    return Check("kernel cache", True, False, found)


def _can_be_written(folder: Path) -> bool:
    """Return whether a folder is writable or can be created."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _gpus() -> list[Check]:
    """Check the GPUs, and run a kernel on the first one."""
    if not _is_installed("cuda.bindings"):
        return [Check("GPU", False, False, "not checked: packages are missing", INSTALL)]
    from motiflux.device.cuda import list_devices

    try:
        gpus = list_devices()
    except DeviceError:
        return [Check("GPU", False, False, "none", FOR_GPU + "see NVIDIA driver")]
    checks = [
        Check(
            f"GPU {gpu.ordinal}",
            gpu.usable,
            False,
            f"{gpu.model}, {gpu.total_memory:,} bytes, compute capability {gpu.capability}",
            "" if gpu.usable else FOR_GPU + "compute capability 7.5 or more is needed",
        )
        for gpu in gpus
    ]
    return [*checks, _self_test()]


def _self_test() -> Check:
    """Compile and run a kernel on the default GPU, and check its result."""
    import numpy as np

    try:
        found, free = _run_kernel()
    except Exception as error:  # noqa: BLE001 - whatever is wrong is the finding
        return Check("GPU self-test", False, False, type(error).__name__, FOR_GPU + str(error))
    if not np.array_equal(found, np.arange(7, 7 + _COUNT, dtype=np.uint32)):
        return Check(
            "GPU self-test", False, False, "a kernel returned a wrong result", "report this as a bug"
        )
    return Check("GPU self-test", True, False, f"a kernel runs; {free:,} bytes free")


def _run_kernel() -> tuple["np.ndarray[tuple[int, ...], np.dtype[np.uint32]]", int]:
    """Return the output of the kernel, and the free bytes of the device."""
    import numpy as np

    from motiflux.device import open_device
    from motiflux.jit.base import Source
    from motiflux.jit.nvrtc import NvrtcToolchain

    device = open_device("cuda")
    image = NvrtcToolchain(getattr(device, "arch", _ANY_ARCH)).build(Source("doctor", _KERNEL), ()).image
    kernel = device.load(image, "doctor").kernel("doctor")
    stream = device.stream()
    try:
        memory = device.allocate(4 * _COUNT, "the self-test")
        stream.clear(memory)
        stream.launch(kernel, -(-_COUNT // _BLOCK), _BLOCK, 0, _Job(memory.address, 7, _COUNT))
        found = np.empty(_COUNT, np.uint32)
        stream.download(memory, found)
        stream.wait()
    finally:
        stream.close()
    return found, device.free_memory()
