"""A device together with the compiler for it, and the kernels that were loaded on it."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import warnings
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from motiflux.codegen.kernels import ENTRY
from motiflux.device import Device, Kernel, open_device
from motiflux.errors import DeviceError, MotifluxWarning
from motiflux.gpu.runtime.session import Session
from motiflux.jit import Code, Compiler, KernelCache, NvrtcToolchain, Source
from motiflux.request.deadline import Deadline, OutOfTimeError

Specialize = str
"""Whether a plan's shape is compiled in: ``auto``, ``on`` or ``off`` (the tuning switch)."""


class _Reclaimer(Protocol):
    def reclaim(self, needed: int) -> int: ...


_turns = itertools.count()

_MOST_UNITS = 256
"""Units that an accelerator remembers, and keeps loaded: those used last."""


@dataclass(slots=True)
class _Unit:
    """What is known of one unit.

    Parameters
    ----------
    kernel
        Its entry point, once it is loaded. Forgotten here, it stays loaded for as long as a search holds it.
    entries
        The same, by name, of a unit that has several.
    uses
        How often it could have served.
    pending
        It is being compiled in the background, or was.
    refused
        It does not compile, which was said.
    """

    kernel: Kernel | None = None
    entries: dict[str, Kernel] = field(default_factory=dict)
    uses: int = 0
    pending: Future[Code] | None = None
    refused: bool = False


@dataclass
class Accelerator:
    """Where the GPU engines run.

    Parameters
    ----------
    device, compiler
        The device, and what makes images for it.
    compiles_eagerly
        Whether a shape that is seen again is compiled in the background.
    """

    device: Device
    compiler: Compiler
    compiles_eagerly: bool = True
    _units: OrderedDict[str, _Unit] = field(default_factory=OrderedDict, init=False)
    _sessions: deque[Session] = field(default_factory=deque, init=False)
    _job_pools: weakref.WeakValueDictionary[int, _Reclaimer] = field(
        default_factory=weakref.WeakValueDictionary, init=False
    )

    def __post_init__(self) -> None:
        # Before any copy of a graph can be there: kept jobs are given up first, of all graphs.
        self.device.add_reclaimer(self.reclaim)

    def add_job_pool(self, pool: _Reclaimer) -> None:
        """Have jobs of a pool be given up when memory is short, for as long as the pool is there."""
        self._job_pools[next(_turns)] = pool  # a single operation: threads share this without a lock

    def reclaim(self, needed: int) -> int:
        """Give up jobs that are kept; return the bytes of the device that they held."""
        freed = 0
        for ref in self._job_pools.valuerefs():
            if freed < needed and (pool := ref()) is not None:
                freed += pool.reclaim(needed - freed)
        return freed

    def kernel(self, source: Source, deadline: Deadline | None = None, entry: str = ENTRY) -> Kernel:
        """Return the entry point of a unit, compiled and loaded if it is not yet.

        Raises
        ------
        OutOfTimeError
            It is not compiled by then. The compilation goes on, for the next call.
        """
        unit = self._unit(source)
        found = unit.kernel
        if found is None:
            code = self._compiled(source, deadline)
            found = unit.kernel = self.device.load(code.image, source.name).kernel(entry)
            unit.pending = None
        return found

    def kernels(
        self, source: Source, names: Iterable[str], deadline: Deadline | None = None
    ) -> Mapping[str, Kernel]:
        """Return several entry points of a unit by their names; raises what `kernel` does."""
        unit = self._unit(source)
        if not unit.entries:
            module = self.device.load(self._compiled(source, deadline).image, source.name)
            unit.entries = {name: module.kernel(name) for name in names}
        return unit.entries

    def _compiled(self, source: Source, deadline: Deadline | None) -> Code:
        if deadline is not None:
            deadline.check()
        try:
            return self.compiler.wait(source, None if deadline is None else deadline.left())
        except TimeoutError as error:
            raise OutOfTimeError from error

    def _unit(self, source: Source) -> _Unit:
        """Return what is known of a unit, which is used now; forget those not used for longest.

        Single dictionary operations only, as in `Memo`: threads share this without a lock.
        """
        if (found := self._units.get(source.text)) is None:
            found = self._units.setdefault(source.text, _Unit())
        with contextlib.suppress(KeyError):  # another thread may have forgotten it just now
            self._units.move_to_end(source.text)
            while len(self._units) > _MOST_UNITS:
                self._units.popitem(last=False)
        return found

    def choose(self, general: Source, special: Source | None, specialize: Specialize) -> tuple[Source, bool]:
        """Return the unit to run and whether it is the special one.

        Without being told (``auto``), the special unit serves once it is compiled; a shape that comes a
        second time is worth compiling for, in the background.
        """
        if special is None or specialize == "off":
            return general, False
        unit = self._unit(special)
        if specialize == "on" or unit.kernel is not None:
            return special, True
        if not self.compiles_eagerly or unit.refused:
            return general, False
        pending = unit.pending
        if pending is None:
            return (special, True) if self._is_compiled(unit, special) else (general, False)
        if not pending.done():
            return general, False
        if (error := pending.exception()) is not None:
            unit.refused, unit.pending = True, None
            warnings.warn(f"a plan runs without its own kernel: {error}", MotifluxWarning, stacklevel=2)
            return general, False
        return special, True

    def _is_compiled(self, unit: _Unit, special: Source) -> bool:
        """Whether an earlier process compiled the unit; at the second use, have it compiled."""
        unit.uses += 1
        if unit.uses == 1:
            return self.compiler.known(special)
        unit.pending = self.compiler.submit(special)
        return False

    @property
    def has_kernels(self) -> bool:
        """Whether any kernel was loaded."""
        return any(unit.kernel is not None or unit.entries for unit in list(self._units.values()))

    def session(self) -> Session:
        """Return the streams of one job; give them back with `recycle`."""
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
_compilers: dict[tuple[int, str], Compiler] = {}
"""By process and architecture: devices of one kind share what was compiled."""
_lock = threading.Lock()


def _after_fork() -> None:
    # Another thread of the parent may have held the lock; it is not in the child to let it go.
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def known_accelerator(name: str) -> Accelerator | None:
    """Return the accelerator of the device `name` if this process has it open."""
    known = _open.get(name)
    return known[1] if known is not None and known[0] == os.getpid() else None


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
    name = "cuda" if name == "cuda:0" else name
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
    key = (os.getpid(), arch)
    if (compiler := _compilers.get(key)) is None:  # the lock is held
        compiler = _compilers[key] = Compiler(NvrtcToolchain(arch), KernelCache.from_environment())
    return Accelerator(device, compiler)
