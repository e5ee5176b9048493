"""The toolchain for GPUs: NVRTC, called through cuda.core. It needs no GPU and no CUDA toolkit.

The GPU packages are imported when a toolchain is first used, so that this module imports without them.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import importlib.metadata
import io
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from motiflux.errors import DeviceError, InternalError
from motiflux.jit.base import QUICK, BuildError, Built, Source

# Options of every unit. The line table lets profilers and sanitizers show sources; ptxas reports resources of
# kernels. Headers come from the given folders only: by default, NVRTC also searches the process's current
# folder, which no key covers.
_OPTIONS: Mapping[str, Any] = {
    "std": "c++20",
    "lineinfo": True,
    "ptxas_options": ["-v"],
    "no_source_include": True,
    # Without this option, NVRTC 13.0 takes a generic lambda in a kernel for a host function.
    "device_as_default_execution_space": True,
}

_MACRO = re.compile(r"-D(?P<name>[A-Za-z_]\w*)(?:=(?P<value>.*))?", re.ASCII | re.DOTALL)
_REGISTERS = re.compile(r"--?maxrregcount=(?P<count>\d+)", re.ASCII)


class NvrtcToolchain:
    """Compiles units to cubins.

    Parameters
    ----------
    arch
        The target, such as ``"sm_90"``.
    line_table
        Whether images contain the source line of each instruction, which takes 60 % of their bytes.

    Notes
    -----
    Options that a unit may have: ``-DNAME``, ``-DNAME=VALUE``, ``--maxrregcount=COUNT``, ``--fmad=false``
    (products and sums are rounded separately, as on a CPU), and the option of `Source.quick`.
    """

    def __init__(self, arch: str, *, line_table: bool = True) -> None:
        self.arch = arch
        self._line_table = line_table

    def identity(self) -> Mapping[str, str]:
        """Return the inputs of the compilation beside source and headers.

        Raises
        ------
        DeviceError
            The GPU packages are not installed, or NVRTC cannot be loaded.
        """
        return {
            "name": "nvrtc",
            "arch": self.arch,
            "options": options_of(line_table=self._line_table),
            **_versions(),
        }

    def build(self, source: Source, include: tuple[Path, ...]) -> Built:
        """Compile `source`. Other Python threads run meanwhile.

        Raises
        ------
        BuildError
            NVRTC or ptxas refused the unit.
        DeviceError
            The GPU packages are not installed, NVRTC cannot be loaded, or the interpreter is shutting down.
        """
        _versions()  # a missing package must raise a `DeviceError`, not a `BuildError`
        core = _core()
        options = core.ProgramOptions(
            name=source.name,
            arch=self.arch,
            include_path=[str(folder) for folder in include] or None,
            **{**_OPTIONS, "lineinfo": self._line_table},
            **_unit_options(source),
        )
        log = io.StringIO()
        with _building():
            # cuda.core's exceptions have no public names, hence the bare Exception. The whole log is in the
            # exception if NVRTC refuses the unit, else in `logs`.
            try:
                code = core.Program(source.text, "c++", options).compile("cubin", logs=log)
            except Exception as error:
                raise BuildError(_readable(f"{log.getvalue()}{error}")) from error
        return Built(bytes(code.code), _readable(log.getvalue()))


def options_of(*, line_table: bool) -> str:
    """Return the options of all units, as text for keys."""
    return repr(sorted({**_OPTIONS, "lineinfo": line_table}.items()))


def _unit_options(source: Source) -> dict[str, Any]:
    """Return a unit's options as arguments of cuda.core."""
    macros: list[str | tuple[str, str]] = []
    options: dict[str, Any] = {}
    for option in source.options:
        if macro := _MACRO.fullmatch(option):
            macros.append(macro["name"] if macro["value"] is None else (macro["name"], macro["value"]))
        elif registers := _REGISTERS.fullmatch(option):
            options["max_register_count"] = int(registers["count"])
        elif option == "--fmad=false":
            options["fma"] = False
        elif option == QUICK:
            options["ofast_compile"] = "mid"
        else:
            raise InternalError(
                f"unit {source.name}: expected options -DNAME[=VALUE], --maxrregcount=N, --fmad=false, "
                f"found {option!r}"
            )
    return options | ({"define_macro": macros} if macros else {})


def _readable(log: str) -> str:
    """Return a log without the NUL bytes that end its parts."""
    return log.replace("\0", "").strip()


@cache
def _versions() -> Mapping[str, str]:
    """Return the versions of NVRTC and of the package that calls it.

    That package is not imported, which takes several times as long as everything else here: a kernel that was
    compiled before does not need it.
    """
    core = _core_version()
    nvrtc: Any = _gpu_package("cuda.bindings.nvrtc")
    pathfinder: Any = _gpu_package("cuda.pathfinder")
    try:
        library = Path(pathfinder.load_nvidia_dynamic_lib("nvrtc").abs_path)
        result, major, minor = nvrtc.nvrtcVersion()
        # NVRTC does not report its patch release; the library's size distinguishes them.
        size = library.stat().st_size
    except (RuntimeError, OSError) as error:
        why = " ".join(str(error).split()).rstrip(". ")
        raise DeviceError(f"NVRTC cannot be loaded: {why}. {_INSTALL}") from error
    if int(result) != 0:
        raise DeviceError(f"NVRTC does not tell its version: {result}")
    return {"version": f"{major}.{minor}", "library bytes": str(size), "cuda.core": core}


def _core_version() -> str:
    """Return the version of cuda.core as it is installed; imported only if its installation does not say."""
    try:
        return importlib.metadata.version("cuda-core")
    except importlib.metadata.PackageNotFoundError:
        return str(_core().__version__)


_core_lock = threading.Lock()
_NAMES_OF_CORE = "Program", "ProgramOptions"
_MOST_WAIT = 60.0
"""Seconds that another thread may take to import cuda.core."""


def _core() -> Any:
    """Return cuda.core once it is imported.

    While it is imported it takes the name and the import state of its module for the version of CUDA, so
    that Python hands it to other threads before it has its own names. Threads of motiflux wait at the lock;
    another library may have begun.
    """
    with _core_lock:
        core: Any = _gpu_package("cuda.core")
        last = time.monotonic() + _MOST_WAIT
        while not all(hasattr(core, name) for name in _NAMES_OF_CORE):
            if time.monotonic() > last:
                raise DeviceError(f"cuda.core lacks {' or '.join(_NAMES_OF_CORE)}. {_INSTALL}")
            time.sleep(0.001)
        return core


_INSTALL = "Install what a GPU needs with: pip install 'motiflux[gpu]'"


def _gpu_package(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise DeviceError(
            f"compiling for a GPU needs the package {name.split('.')[0]}: {error}. {_INSTALL}"
        ) from error


# NVRTC cannot be stopped while ptxas runs, and a process that exits meanwhile crashes: exit() runs the
# destructors of NVRTC's globals while another thread uses them. So a process that exits during a compilation
# calls _exit() instead, after Python's exit handlers and before any destructor.
_builds_lock = threading.Lock()
_builds = 0
_exiting = False


@contextlib.contextmanager
def _building() -> Iterator[None]:
    global _builds
    with _builds_lock:
        if _exiting:
            raise DeviceError("nothing is compiled while the interpreter shuts down")
        _builds += 1
    try:
        yield
    finally:
        with _builds_lock:
            _builds -= 1


def _leave_before_destructors() -> None:
    global _exiting
    with _builds_lock:
        _exiting = True
        if not _builds:
            return
    libc = ctypes.CDLL(None)
    with contextlib.suppress(AttributeError):  # only glibc has on_exit; elsewhere the process may crash
        libc.fflush(None)
        libc.on_exit(
            libc._exit, None
        )  # exit() calls it with the exit status, before functions that were registered earlier


def _start_anew() -> None:
    """Reset the number of compilations: in a forked child there are none."""
    global _builds, _builds_lock
    _builds_lock = threading.Lock()
    _builds = 0


atexit.register(_leave_before_destructors)
os.register_at_fork(after_in_child=_start_anew)
