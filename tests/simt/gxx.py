"""Compiles kernels for the CPU with g++, as shared libraries that hold the emulator's runtime too."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from motiflux.errors import DeviceError
from motiflux.jit.base import QUICK, BuildError, Built, Source

HERE = Path(__file__).resolve().parent
BUILT_INS = HERE / "simt.hpp"
RUNTIME = HERE / "emulator" / "runtime.cpp"
SANITIZE = "MOTIFLUX_SIMT_SANITIZE"

_COMMON = ("-std=c++20", "-fPIC", "-pthread", "-Wall", "-Wextra", "-Werror", "-fno-omit-frame-pointer")
# A unique symbol is one for the whole process: two images would share the shared memory of their kernels, and
# could not be unloaded.
_HIDDEN = ("-fvisibility=hidden", "-fno-gnu-unique")
_KERNEL = ("-O1", "-Wno-unknown-pragmas")
# What NVRTC's options are called here.
_OF_NVRTC = {"--fmad=false": "-ffp-contract=off", QUICK: "-O0"}
_SANITIZERS = ("-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-D_GLIBCXX_ASSERTIONS")


def sanitized() -> bool:
    """Return whether images are compiled with sanitizers; this process then has to run under them."""
    return os.environ.get(SANITIZE, "0") == "1"


def sanitizer_environment() -> dict[str, str]:
    """Return the environment in which Python can load images with sanitizers, and makes them.

    The sanitizer has to be loaded before anything else, and libstdc++ with it: at its start it looks for the
    functions that throw exceptions, and Python alone does not bring them.
    """
    libraries = [
        _output((_compiler(), f"-print-file-name={name}")) for name in ("libasan.so", "libstdc++.so")
    ]
    # Python does not free everything at exit.
    asan = "detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", "")
    ubsan = "print_stacktrace=1:" + os.environ.get("UBSAN_OPTIONS", "")
    ours = {"LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": asan, "UBSAN_OPTIONS": ubsan, SANITIZE: "1"}
    return {**os.environ, **ours}


class GxxToolchain:
    """The toolchain of the emulated device. Safe to use from several threads.

    Parameters
    ----------
    sanitize
        Whether to compile with sanitizers; by default as the environment says.
    """

    def __init__(self, sanitize: bool | None = None) -> None:
        self._lock = threading.Lock()
        self._runtime: bytes | None = None
        self._flags = (
            *_COMMON,
            *_HIDDEN,
            *(_SANITIZERS if (sanitized() if sanitize is None else sanitize) else ()),
        )

    def identity(self) -> Mapping[str, str]:
        """Return the compiler's version, its flags, and a digest of the emulator."""
        digest = hashlib.sha256()
        for path in [BUILT_INS, *sorted((HERE / "emulator").iterdir())]:
            text = path.read_bytes()
            digest.update(f"{path.name} {len(text)}\n".encode() + text)
        return {
            "toolchain": "g++",
            "version": _output((_compiler(), "--version")).splitlines()[0],
            "machine": platform.machine(),
            "flags": " ".join((*self._flags, *_KERNEL)),
            "runtime": digest.hexdigest(),
        }

    def build(self, source: Source, include: tuple[Path, ...]) -> Built:
        """Return a shared library with the kernels of `source`, and the emulator to run them."""
        with self._lock:
            if self._runtime is None:
                self._runtime = self._build_runtime()
        with tempfile.TemporaryDirectory(prefix="motiflux-simt-") as name:
            folder = Path(name)
            text, runtime = folder / f"{source.name}.cu", folder / "runtime.o"
            text.write_text(source.text)
            runtime.write_bytes(self._runtime)
            options = (_OF_NVRTC.get(option, option) for option in source.options)
            given = ("-include", str(BUILT_INS), *(f"-I{path}" for path in include), *options)
            files = ("-x", "c++", str(text), "-x", "none", str(runtime))
            return self._compile((*_KERNEL, *given, "-shared", *files), folder / "image.so")

    def _build_runtime(self) -> bytes:
        with tempfile.TemporaryDirectory(prefix="motiflux-simt-") as name:
            return self._compile(("-O2", "-c", str(RUNTIME)), Path(name) / "runtime.o").image

    def _compile(self, arguments: tuple[str, ...], output: Path) -> Built:
        command = (_compiler(), *self._flags, *arguments, "-o", str(output))
        # A compiler that runs sanitized itself takes several times as long.
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            check=False,
        )
        if done.returncode != 0:
            raise BuildError(f"{shlex.join(command)}\n{done.stdout}")
        return Built(output.read_bytes(), done.stdout)


def _compiler() -> str:
    found = shutil.which(os.environ.get("CXX", "g++"))
    if found is None:
        raise DeviceError("device 'emulated': expected a C++ compiler, found none; install g++ or set CXX")
    return found


@functools.cache
def _output(command: tuple[str, ...]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
