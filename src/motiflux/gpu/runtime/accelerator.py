"""A device, its compiler, and the kernels that were loaded on it."""

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

from motiflux.codegen.kernels import ENTRY, LANES, Goal, search_source
from motiflux.device import Device, Kernel, Module, open_device
from motiflux.errors import CompileError, DeviceError, DeviceMemoryError, MotifluxWarning
from motiflux.gpu.runtime.session import Session
from motiflux.jit import Code, Compiler, KernelCache, NvrtcToolchain, PrebuiltKernels, Source
from motiflux.request.deadline import Deadline, OutOfTimeError

Specialize = str
"""Value of the tuning switch for kernels specialized to a plan's shape: ``auto``, ``on`` or ``off``."""


class _Reclaimer(Protocol):
    @property
    def nbytes(self) -> int: ...

    def reclaim(self, needed: int) -> int: ...


_turns = itertools.count()

SPECIAL_SECONDS = 0.5
"""Seconds of jobs after which a kernel for their shape is compiled, in 1 to 3 seconds of a CPU."""
_MOST_UNITS = 256
"""Maximum number of units that an accelerator keeps loaded; the least recently used are dropped."""


@dataclass(slots=True)
class _Unit:
    """State of one compilation unit.

    Parameters
    ----------
    kernel
        The entry point, once loaded. If the unit is dropped, the kernel stays loaded while a search holds it.
    entries
        Entry points by name, if the unit has several.
    seconds
        Time of jobs that ran without this specialized unit.
    asked
        Whether the cache of earlier processes was searched for the unit.
    pending
        The compilation in the background, running or done.
    begun
        The compilation ahead of the first call that needs the unit, running or done.
    is_awaited
        Whether it was begun at once, as a call waits for it.
    full
        The compilation of the full version, running or done, while the quick version is in use.
    refused
        Whether the unit failed to compile, with a warning.
    """

    kernel: Kernel | None = None
    entries: dict[str, Kernel] = field(default_factory=dict)
    seconds: float = 0.0
    asked: bool = False
    pending: Future[Code] | None = None
    begun: Future[Code] | None = None
    is_awaited: bool = False
    full: Future[Code] | None = None
    refused: bool = False


@dataclass
class Accelerator:
    """A device on which GPU engines run.

    Parameters
    ----------
    device, compiler
        The device, and the compiler for it.
    compiles_eagerly
        Whether specialized kernels are compiled in the background for shapes whose searches take long.
    compiles_quickly
        Whether a kernel that a call waits for is first compiled to slower code, in less time, and to full
        speed in the background.
    compiles_long_quickly
        The same of kernels alone that take long to compile.
    common
        Units that most calls need, which `begin_common` has compiled.
    """

    device: Device
    compiler: Compiler
    compiles_eagerly: bool = True
    compiles_quickly: bool = False
    compiles_long_quickly: bool = False
    common: tuple[Source, ...] = ()
    _units: OrderedDict[str, _Unit] = field(default_factory=OrderedDict, init=False)
    _sessions: deque[Session] = field(default_factory=deque, init=False)
    _job_pools: weakref.WeakValueDictionary[int, _Reclaimer] = field(
        default_factory=weakref.WeakValueDictionary, init=False
    )

    def __post_init__(self) -> None:
        # Before any graph is copied: when memory is short, kept jobs of all graphs are dropped first.
        self.device.add_reclaimer(self.reclaim)

    def add_job_pool(self, pool: _Reclaimer) -> None:
        """Drop jobs of a pool when memory is short, for as long as the pool exists."""
        self._job_pools[next(_turns)] = pool  # a single operation: threads share this without a lock

    def kept_bytes(self) -> int:
        """Return the bytes of the device that kept jobs hold: they are dropped when memory is short."""
        pools = [pool for ref in self._job_pools.valuerefs() if (pool := ref()) is not None]
        return sum(pool.nbytes for pool in pools)

    def reclaim(self, needed: int) -> int:
        """Drop kept jobs; return the bytes of the device that they held."""
        freed = 0
        for ref in self._job_pools.valuerefs():
            if freed < needed and (pool := ref()) is not None:
                freed += pool.reclaim(needed - freed)
        return freed

    def kernel(
        self,
        source: Source,
        deadline: Deadline | None = None,
        entry: str = ENTRY,
        *,
        asks_again: bool = False,
        takes_long: bool = False,
    ) -> Kernel:
        """Return the entry point of a unit, compiled and loaded if necessary.

        Parameters
        ----------
        asks_again
            Whether the caller asks `is_best` before it runs the kernel again, so that slower code may be
            returned at first.
        takes_long
            Whether the unit takes long to compile.

        Raises
        ------
        OutOfTimeError
            The unit is not compiled by the deadline. The compilation continues for the next call.
        """
        unit = self._unit(source)
        if unit.full is not None and unit.full.done():
            self._replace(unit, source, entry)
        found = unit.kernel
        if found is None:
            is_quick = self.compiles_quickly or (takes_long and self.compiles_long_quickly)
            quick = self._quickly_compiled(source, deadline) if asks_again and is_quick else None
            module = self._module(source, deadline) if quick is None else quick
            found = unit.kernel = module.kernel(entry)
            unit.pending = None
            unit.full = None if quick is None else self.compiler.submit(source)
        return found

    def begin(self, source: Source, *, at_once: bool = False) -> bool:
        """Have a unit compiled in the background; return whether compilation is over, failed or not.

        Parameters
        ----------
        at_once
            Whether somebody waits for it: it is compiled before those begun earlier.

        Raises
        ------
        DeviceError
            There is no compiler on this machine.
        """
        unit = self._unit(source)
        if unit.kernel is not None:
            return True
        if unit.begun is None or (at_once and not unit.is_awaited):
            if unit.begun is None and self.compiler.known(source):
                return True
            unit.begun = self.compiler.start(source) if at_once else self.compiler.submit(source)
            unit.is_awaited = at_once
        return unit.begun.done()

    def begin_common(self) -> None:
        """Have the units that most calls need compiled in the background, once."""
        common, self.common = self.common, ()
        with contextlib.suppress(DeviceError):  # without NVRTC: the first kernel that needs it raises
            for source in common:
                self.begin(source)

    def look_for_common(self) -> None:
        """Read those of these units that are compiled already."""
        with contextlib.suppress(DeviceError):
            for source in self.common:
                self.compiler.known(source)

    def is_compiled(self, source: Source) -> bool:
        """Whether a unit is compiled; raises the errors of `begin`."""
        return self._unit(source).kernel is not None or self.compiler.known(source)

    def has_loaded(self, source: Source) -> bool:
        """Whether a unit is loaded."""
        return self._unit(source).kernel is not None

    def is_best(self, source: Source, kernel: Kernel) -> bool:
        """Whether the method `kernel` would still return this one: no faster version is ready."""
        unit = self._unit(source)
        return unit.kernel is kernel and (unit.full is None or not unit.full.done())

    def serves_quickly_compiled(self, source: Source) -> bool:
        """Whether a unit's quick version serves, as the full one is being compiled or not loaded yet."""
        return self._unit(source).full is not None

    def _replace(self, unit: _Unit, source: Source, entry: str) -> None:
        """Replace the quick version of a unit by the full one, unless that failed to compile."""
        full, unit.full = unit.full, None
        if full is not None and full.exception() is None:
            unit.kernel = self._module(source, None).kernel(entry)

    def _quickly_compiled(self, source: Source, deadline: Deadline | None) -> Module | None:
        """Return a unit compiled in less time, to slower code; None if unnecessary or impossible."""
        if self.compiler.known(source):
            return None
        try:
            return self._module(source.quick(), deadline)
        except CompileError:  # NVRTC before 12.9 lacks the option
            self.compiles_quickly = self.compiles_long_quickly = False
            return None

    def kernels(
        self, source: Source, names: Iterable[str], deadline: Deadline | None = None
    ) -> Mapping[str, Kernel]:
        """Return several entry points of a unit by their names; raises the errors of `kernel`."""
        unit = self._unit(source)
        if not unit.entries:
            module = self._module(source, deadline)
            unit.entries = {name: module.kernel(name) for name in names}
        return unit.entries

    def _module(self, source: Source, deadline: Deadline | None) -> Module:
        """Return a unit compiled and loaded."""
        code = self._compiled(source, deadline)
        try:
            return self.device.load(code.image, source.name)
        except DeviceMemoryError:
            raise
        except DeviceError:
            if not code.prebuilt:
                raise
        # The driver is older than the compiler of the package's prebuilt kernels.
        self.compiler.drop_prebuilt()
        return self.device.load(self._compiled(source, deadline).image, source.name)

    def _compiled(self, source: Source, deadline: Deadline | None) -> Code:
        if deadline is not None:
            deadline.check()
        try:
            return self.compiler.wait(source, None if deadline is None else deadline.left())
        except TimeoutError as error:
            raise OutOfTimeError from error

    def _unit(self, source: Source) -> _Unit:
        """Return the state of a unit, mark it as used, and drop the least recently used units.

        Single dictionary operations only, as in `Memo`: threads share the units without a lock.
        """
        if (found := self._units.get(source.text)) is None:
            found = self._units.setdefault(source.text, _Unit())
        with contextlib.suppress(KeyError):  # another thread may have dropped it just now
            self._units.move_to_end(source.text)
            while len(self._units) > _MOST_UNITS:
                self._units.popitem(last=False)
        return found

    def choose(self, general: Source, special: Source | None, specialize: Specialize) -> tuple[Source, bool]:
        """Return the unit to run and whether it is the special one.

        With ``auto``, the special unit runs once it is compiled. It is compiled in the background after its
        shape took `SPECIAL_SECONDS` in total.
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
        """Whether an earlier process compiled the unit; start its compilation once that pays."""
        if not unit.asked and self.compiler.is_loaded:
            unit.asked = True
            if self.compiler.known(special):
                unit.pending = self.compiler.submit(special)  # in memory now: returns at once
                return True
        if unit.seconds >= SPECIAL_SECONDS:
            unit.pending = self.compiler.submit(special)
        return False

    def add_seconds(self, special: Source, seconds: float) -> None:
        """Add the seconds of a job that ran without its special unit."""
        self._unit(special).seconds += seconds

    @property
    def has_kernels(self) -> bool:
        """Whether any kernel was loaded."""
        return any(unit.kernel is not None or unit.entries for unit in list(self._units.values()))

    def session(self) -> Session:
        """Return the streams of one job; pass them to `recycle` afterwards."""
        self.device.use()
        try:
            return self._sessions.pop()
        except IndexError:
            return Session(self.device)

    def recycle(self, session: Session) -> None:
        """Keep a session whose work is over for the next job."""
        self._sessions.append(session)


_open: dict[str, tuple[int, Accelerator]] = {}
_makers: dict[str, Callable[[], Accelerator]] = {}
_compilers: dict[tuple[int, str], Compiler] = {}
"""Compilers by process and architecture: devices of one kind share compiled kernels."""
_lock = threading.Lock()


def _after_fork() -> None:
    # A thread of the parent may have held the lock; it does not exist in the child and cannot release it.
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
        There is no such device, or it cannot be used; the message says why.
    """
    accelerator = _opened(name)
    accelerator.begin_common()
    return accelerator


def _opened(name: str) -> Accelerator:
    process = os.getpid()
    known = _open.get(name)
    if known is not None and known[0] == process:
        known[1].device.use()  # another thread may have opened it
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


def begin_accelerator(name: str) -> threading.Thread | None:
    """Begin to open an accelerator on a thread of its own.

    `open_accelerator` waits for it, or raises its error. It also begins to compile what is not compiled yet:
    that imports packages, which would delay a thread that plans meanwhile. Return the thread; None without
    more threads.
    """

    def opening() -> None:
        with contextlib.suppress(Exception):  # `open_accelerator` tries again
            _opened(name).look_for_common()

    begun = threading.Thread(target=opening, name=f"motiflux: opening the compiler for {name}")
    try:
        begun.start()
    except RuntimeError:
        return None
    return begun


def register_accelerator(name: str, make: Callable[[], Accelerator]) -> None:
    """Register the maker of the accelerator of a device registered by `motiflux.device.register`."""
    _makers[name] = make


def _for_cuda(device: Device) -> Accelerator:
    arch = getattr(device, "arch", None)
    if arch is None:
        raise DeviceError(f"device={device.name!r}: there is no compiler for it")
    key = (os.getpid(), arch)
    if (compiler := _compilers.get(key)) is None:  # the lock is held
        prebuilt = PrebuiltKernels.for_architecture(arch)
        compiler = Compiler(NvrtcToolchain(arch), KernelCache.from_environment(), prebuilt=prebuilt)
        _compilers[key] = compiler
    # No quick compilation but of resident kernels: on an H200, it saves .4 to 1.9 s of first calls of 1.7 to
    # 5.1 s, but kernels are 1.5 to 5 times slower meanwhile (benchmarks/NOTES.md).
    common = tuple(search_source(goal, LANES[-1]) for goal in (Goal.COUNT, Goal.TAIL))
    return Accelerator(device, compiler, compiles_long_quickly=True, common=common)
