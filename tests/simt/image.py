"""Loads images of the emulator and launches their kernels."""

from __future__ import annotations

import _ctypes
import atexit
import ctypes
import functools
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from motiflux.errors import DeviceError, InternalError
from tests.simt.gxx import sanitized

MOST_THREADS = 1024
LEAST_ARGUMENT = 17
"""Smaller structures travel in registers, where the emulator cannot put them (see emulator/fiber.hpp)."""

POLICIES = ("random", "lowest", "highest")


@dataclass(frozen=True, slots=True)
class Scheduling:
    """Who runs when.

    Parameters
    ----------
    seed
        Of the random policy. Threads of one block run in the same order under the same seed, unless they look
        at what others change meanwhile.
    chances
        Seed of what ``motiflux/device/chance.hpp`` draws: filters that stop early, words that are old,
        numbers that are not found again. 0: nothing is drawn.
    policy
        Which thread of a block runs next: ``random``; ``lowest`` or ``highest`` number first, where one that
        spins lets all others run before it runs again.
    stall_seconds
        A block whose threads have only spun for so long ends the launch with an error; 0: never.
    launch_seconds
        A launch that takes longer ends with an error; 0: never.
    idle_yields
        A block whose threads have done so many atomics, with no collective, barrier or return, ends the
        launch with an error; 0: never.
    stack_bytes
        Of each thread; a multiple of the page.
    """

    seed: int = 1
    chances: int = 1
    policy: str = "random"
    stall_seconds: float = 60.0
    launch_seconds: float = 240.0
    idle_yields: int = 0
    stack_bytes: int = 0

    @classmethod
    def from_environment(cls) -> Scheduling:
        """Return the default, but for ``MOTIFLUX_SIMT_SEED``, ``_CHANCES`` and ``_POLICY``."""
        return cls(
            seed=int(os.environ.get("MOTIFLUX_SIMT_SEED", "1")),
            chances=int(os.environ.get("MOTIFLUX_SIMT_CHANCES", "1")),
            policy=os.environ.get("MOTIFLUX_SIMT_POLICY", "random"),
        )


class _Options(ctypes.Structure):
    # `Options` of emulator/launch.hpp.
    _fields_ = (
        ("seed", ctypes.c_uint64),
        ("chances", ctypes.c_uint64),
        ("idle_yields", ctypes.c_uint64),
        ("stall_seconds", ctypes.c_double),
        ("launch_seconds", ctypes.c_double),
        ("policy", ctypes.c_uint32),
        ("resident", ctypes.c_uint32),
        ("stack_bytes", ctypes.c_uint64),
    )


SHARED_PER_BLOCK = 100_000
"""Most dynamic shared memory of a block, in bytes: about what current GPUs have."""


class EmulatedModule:
    """A loaded image. It is unloaded when neither it, nor a kernel of it, is held or running."""

    def __init__(self, image: bytes, name: str) -> None:
        folder = _folder()
        descriptor, path = tempfile.mkstemp(prefix=f"{name}-", suffix=".so", dir=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(image)
        try:
            self._library = ctypes.CDLL(path)
            self._launch = self._library.motiflux_simt_launch
        except (OSError, AttributeError) as error:
            raise DeviceError(f"device 'emulated': image {name} cannot be loaded: {error}") from error
        finally:
            # The sanitizers read function names and lines from it when they report.
            if not sanitized():
                Path(path).unlink()
        self._name = name
        self._launch.argtypes = (
            *(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32),
            *(ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(_Options), ctypes.c_char_p, ctypes.c_size_t),
        )
        unload = weakref.finalize(self, _unload, self._library._handle, self._library.motiflux_simt_forget)
        unload.atexit = False

    def kernel(self, name: str) -> EmulatedKernel:
        try:
            address = ctypes.cast(self._library[name], ctypes.c_void_p).value
        except AttributeError:
            raise InternalError(f"image {self._name}: expected kernel {name}, found none") from None
        assert address is not None
        return EmulatedKernel(self, name, address)

    def run(
        self, kernel: int, grid: int, block: int, shared: int, argument: bytes, resident: int, how: Scheduling
    ) -> str:
        """Run a kernel to its end; return what went wrong, or nothing."""
        options = _Options(
            seed=how.seed,
            chances=how.chances if _chances is None else _chances,
            idle_yields=how.idle_yields,
            stall_seconds=how.stall_seconds,
            launch_seconds=how.launch_seconds,
            policy=POLICIES.index(how.policy),
            resident=resident,
            stack_bytes=how.stack_bytes or (256 << 10 if sanitized() else 64 << 10),
        )
        error = ctypes.create_string_buffer(4096)
        self._launch(
            *(kernel, grid, block, shared, argument, len(argument), ctypes.byref(options), error, len(error))
        )
        return error.value.decode(errors="replace")


class EmulatedKernel:
    """An entry point; it holds its module."""

    def __init__(self, module: EmulatedModule, name: str, address: int) -> None:
        self.module = module
        self.address = address
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def blocks_per_multiprocessor(self, block: int, shared: int) -> int:
        return int(1 <= block <= MOST_THREADS and 0 <= shared <= SHARED_PER_BLOCK)


def _unload(handle: int, forget: Callable[[], None]) -> None:
    forget()
    _ctypes.dlclose(handle)


_chances: int | None = None


@contextmanager
def chances_by(seed: int) -> Iterator[None]:
    """Have all launches draw chances by another seed; 0: nothing is drawn."""
    global _chances  # launches run on the threads of their streams
    before, _chances = _chances, seed
    try:
        yield
    finally:
        _chances = before


@functools.cache
def _folder() -> str:
    folder = tempfile.mkdtemp(prefix="motiflux-simt-")
    process = os.getpid()

    def remove() -> None:
        # A child of a fork inherits this, and its parent may still be at work.
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder
