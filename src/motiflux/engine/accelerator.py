"""A device together with the compiler for it, and the kernels that were loaded on it."""

from __future__ import annotations

import os
import threading
import warnings
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from motiflux.codegen.kernels import ENTRY
from motiflux.device import Device, Kernel, open_device
from motiflux.engine.session import Session
from motiflux.errors import DeviceError, MotifluxWarning
from motiflux.jit import Code, Compiler, KernelCache, NvrtcToolchain, Source

Specialize = str
"""Whether a plan's shape is compiled in: ``auto``, ``on`` or ``off`` (the tuning switch)."""


@dataclass
class Accelerator:
    """Where the GPU engines run.

    Parameters
    ----------
    device, compiler
        The device, and what makes images for it.
    compiles_eagerly
        Whether a shape that is seen again is compiled in the background.
    patience
        How often a listing group looks for room in a full ring before it parks.
    """

    device: Device
    compiler: Compiler
    compiles_eagerly: bool = True
    patience: int = 200
    _kernels: dict[str, Kernel] = field(default_factory=dict, init=False)
    _sessions: deque[Session] = field(default_factory=deque, init=False)
    _meetings: dict[str, int] = field(default_factory=dict, init=False)
    _pending: dict[str, Future[Code]] = field(default_factory=dict, init=False)
    _refused: set[str] = field(default_factory=set, init=False)

    def kernel(self, source: Source) -> Kernel:
        """Return the entry point of a unit, compiled and loaded if it is not yet."""
        found = self._kernels.get(source.text)
        if found is None:
            code = self.compiler.wait(source)
            found = self.device.load(code.image, source.name).kernel(ENTRY)
            self._kernels[source.text] = found
            self._pending.pop(source.text, None)
        return found

    def choose(self, general: Source, special: Source | None, specialize: Specialize) -> tuple[Source, bool]:
        """Return the unit to run and whether it is the special one.

        Without being told (``auto``), the special unit serves once it is compiled; a shape that comes a
        second time is worth compiling for, in the background.
        """
        if special is None or specialize == "off":
            return general, False
        if specialize == "on" or special.text in self._kernels:
            return special, True
        if not self.compiles_eagerly or special.text in self._refused:
            return general, False
        pending = self._pending.get(special.text)
        if pending is None:
            return (special, True) if self._meet(special) else (general, False)
        if not pending.done():
            return general, False
        if (error := pending.exception()) is not None:
            self._pending.pop(special.text, None)
            if special.text in self._refused:
                return general, False
            self._refused.add(special.text)
            warnings.warn(f"a plan runs without its own kernel: {error}", MotifluxWarning, stacklevel=2)
            return general, False
        return special, True

    def _meet(self, special: Source) -> bool:
        """Whether the unit is compiled already, in an earlier process; at the second meeting, compile it."""
        meetings = self._meetings[special.text] = self._meetings.get(special.text, 0) + 1
        if meetings == 1:
            return self.compiler.known(special)
        self._pending[special.text] = self.compiler.submit(special)
        return False

    def session(self) -> Session:
        """Return streams and control memory for one search; give them back with `recycle`."""
        self.device.use()
        try:
            return self._sessions.pop()
        except IndexError:
            return Session(self.device)

    def recycle(self, session: Session) -> None:
        """Keep a session whose work is over for the next search."""
        self._sessions.append(session)


_open: dict[str, tuple[int, Accelerator]] = {}
_makers: dict[str, Callable[[], Accelerator]] = {}
_lock = threading.Lock()


def open_accelerator(name: str) -> Accelerator:
    """Return the accelerator of the device `name`, opened once per process.

    Raises
    ------
    DeviceError
        There is no such device here, or it cannot be used; the message says why.
    """
    process = os.getpid()
    known = _open.get(name)
    if known is not None and known[0] == process:
        return known[1]
    device = open_device(name)  # refuses a device that a parent process has open
    with _lock:
        known = _open.get(name)
        if known is None or known[0] != process:
            maker = _makers.get(name)
            made = maker() if maker is not None else _for_cuda(device)
            _open[name] = known = (process, made)
    return known[1]


def register_accelerator(name: str, make: Callable[[], Accelerator]) -> None:
    """Say how to make the accelerator of a device that was registered with `motiflux.device.register`."""
    _makers[name] = make


def _for_cuda(device: Device) -> Accelerator:
    arch = getattr(device, "arch", None)
    if arch is None:
        raise DeviceError(f"device={device.name!r}: there is no compiler for it")
    return Accelerator(device, Compiler(NvrtcToolchain(arch), KernelCache.from_environment()))
