"""One search on a device: its memory, its kernel, and how it is started, watched and stopped."""

from __future__ import annotations

import ctypes
import os
import sys
import time
import traceback
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import layout
from motiflux.codegen.kernels import THREADS
from motiflux.device import Buffer, Kernel, Mark, Stream
from motiflux.errors import DeviceError, DeviceMemoryError, InternalError
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.device_cache import CacheEntry, ticks
from motiflux.gpu.runtime.kernel_times import times_taken
from motiflux.gpu.runtime.session import Session
from motiflux.gpu.runtime.work_partition import WorkPartition
from motiflux.jit import Source

_STOP_SECONDS = 100e-6
"""Time between two stop flags."""
_MOST_FAILURES = 100
"""How often stopping a kernel is tried again when something raises."""


S = TypeVar("S", bound="DeviceSearch")


class DeviceSearch:
    """A search on a device, from its first upload to its last row. Close it, or use it as a context.

    It owns what it uses from the moment it has it, so that whatever interrupts its preparation, or itself,
    `close` gives everything back: but for what it was set up with where it was told to rest.

    Attributes
    ----------
    units
        The general kernel and that of its own that it could have, and whether it has that.
    subject
        What it looks for, held on to while it rests.
    """

    units: tuple[Source, Source | None, bool] | None = None
    subject: object = None

    _session: Session | None = None
    part = "searches"
    """What its time is added to (`motiflux.gpu.runtime.kernel_times`)."""

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self._process = os.getpid()
        self._rows: list[CacheEntry] = []
        self._memory: list[Buffer] = []
        self._cleared: list[tuple[Buffer, int]] = []
        self._clears: list[Callable[[], None]] = []
        self._start: Callable[[], None] | None = None
        self._fresh = False
        self._ahead: Mark | None = None
        self._rest: Callable[[DeviceSearch], None] | None = None
        self._kept_rows: list[weakref.ref[CacheEntry]] = []
        self._last: weakref.ref[Session] | None = None
        self._open()

    def _open(self) -> Session:
        self._stopping = self._over = False
        self._times = times_taken()
        self.timed = self._times is not None
        self._begun: Mark | None = None
        session = self._session = self.accelerator.session()
        return session

    @property
    def is_open(self) -> bool:
        """Whether it was not closed yet."""
        return self._session is not None

    @property
    def stream(self) -> Stream:
        """What its copies go through, and its kernel."""
        return self._on().main

    @property
    def inherited(self) -> bool:
        """Whether this process was forked from the one whose search it is."""
        return os.getpid() != self._process

    @property
    def task(self) -> Any:
        """The `layout.Task` that the kernel is given."""
        return self._argument.task

    @property
    def groups(self) -> int:
        """Number of groups of lanes."""
        return self._grid * self._groups_of_block

    @property
    def rows(self) -> Sequence[CacheEntry]:
        """What stays on the device until the search is over."""
        return self._rows

    def read(self, rows: Iterable[CacheEntry]) -> None:
        """Have rows stay on the device until the search is over."""
        for one in rows:
            self._borrow(one)
            for buffer in one.buffers:
                self.stream.hold(buffer)

    def _borrow(self, one: CacheEntry) -> None:
        one.users.add(self)
        one.used = next(ticks)
        self._rows.append(one)

    def hold(self, buffer: Buffer) -> None:
        """Keep memory of the device until the search is over."""
        self.stream.hold(buffer)
        self._memory.append(buffer)

    def set_up(self, kernel: Kernel, argument: Any, grid: int, lanes: int, partition: WorkPartition) -> None:
        """Say what is to be launched and how its work is dealt out, and clear the control block for it."""
        self.partition = partition
        self._kernel = kernel
        self._argument = argument
        self._grid = grid
        self._groups_of_block = THREADS // lanes
        self._start = None
        self._go_on(moved=True)

    def keep_when_over(self, rest: Callable[[DeviceSearch], None]) -> None:
        """Give the search to `rest` when it is closed after its end, with what it was set up with."""
        self._rest = rest

    @property
    def nbytes(self) -> int:
        """Bytes of the device that are its own."""
        return sum(buffer.nbytes for buffer in self._memory)

    def begin_again(self) -> bool:
        """Open a search that rests, to be launched once more; False if rows that it reads were given up."""
        rows = [one for ref in self._kept_rows if (one := ref()) is not None]
        if len(rows) < len(self._kept_rows):
            return False
        session = self._open()
        moved = self._last is None or self._last() is not session
        for one in rows:
            self._borrow(one)
        if moved:
            if self._ahead is not None and not self._ahead.done():
                self.close()  # what it needs clear is still being cleared on another stream
                return False
            self._start = None
            for buffer in (*self._memory, *(buffer for one in rows for buffer in one.buffers)):
                session.main.hold(buffer)
        self._go_on(moved=moved)
        return True

    def _go_on(self, *, moved: bool) -> None:
        """Prepare for the launch, on another session than the last one if it `moved`."""
        session = self._on()
        session.begin()
        self.task.control = session.control.address

    def clear(self, buffer: Buffer) -> None:
        """Have a buffer zero before the kernel runs."""
        self.stream.clear(buffer)

    def clear_at_launches(self, buffer: Buffer, nbytes: int) -> None:
        """Have the first bytes of a buffer that is held be zero before every launch."""
        self._cleared.append((buffer, nbytes))

    def launch(self, *, resume: bool = False) -> None:
        """Start the kernel; with `resume`, where parked groups left off."""
        session = self._on()
        if resume:
            session.side.wait()  # a pause that was asked for late is not meant for this launch
            first = layout.Control.stop.offset
            session.main.clear(session.control, first, ctypes.sizeof(layout.Control) - first)
            self.task.resume = True
        start = self._start or self._bind(session.main)
        self._clear_all()
        session.start(timed=self.timed)
        start()
        session.finish(timed=self.timed)
        self._clear_ahead(session)

    def _bind(self, stream: Stream) -> Callable[[], None]:
        """Return what starts the kernel on a stream; clear on the same one from now on."""
        shared = self._groups_of_block * self.task.shared_bytes
        self._clears = [stream.clearing(buffer, 0, nbytes) for buffer, nbytes in self._cleared]
        self._start = stream.launching(self._kernel, self._grid, THREADS, shared, self._argument)
        return self._start

    def _clear_all(self) -> None:
        """Have be zero what has to be before a launch, unless it is so since the last one."""
        fresh, self._fresh = self._fresh, False
        if not fresh:
            for clear in self._clears:
                clear()

    def _clear_ahead(self, session: Session) -> None:
        """Clear what the next launch needs clear, if there may be one: this one runs meanwhile."""
        if self._rest is None:
            return
        session.clear_ahead()
        if self._clears:
            for clear in self._clears:
                clear()
            self._ahead = session.main.mark(self._ahead)
        self._fresh = True

    def take_share(self, first: int, stride: int, piece: int) -> None:
        """Have the kernel do a part of its work only (`partition`)."""
        self.partition.give(self.task, first, stride, piece)
        self.expect_looks()

    def expect_looks(self) -> None:
        """Have `look` never return what an earlier search has left in the same memory: before the launch."""
        self._begun = self._on().main.mark()

    def done(self) -> bool:
        """Whether the kernel has ended; raises `DeviceError` if it failed."""
        self._over = self._on().done()
        return self._over

    def stop_and_wait(self) -> None:
        """Stop the kernel by its flag and wait for its end, which takes well under a millisecond."""
        self._stopping = True
        while not self.done():
            self._on().stop()
            time.sleep(_STOP_SECONDS)

    def look(self) -> tuple[int, int, int] | None:
        """Return root arcs done, root arcs in all, and what was found a moment ago; None if not known."""
        if self._begun is not None and not self._begun.done():
            return None
        seen = self._on().look()
        return None if seen is None else (_finished(seen), int(self.task.arcs), _total(seen))

    def found(self) -> int:
        """Return what the kernel found, once it is done.

        Raises
        ------
        InternalError
            It was stopped, and not by this search.
        """
        final = self._on().final()
        if final.stop == layout.STOP_HOST and not self._stopping:
            raise InternalError("a search on a device was stopped by another one; its result is not whole")
        return _total(final)

    def kernel_seconds(self) -> float:
        """Return the time of the last launch by the device's own clock, if `timed` was set."""
        return self._on().kernel_seconds()

    def tell_time(self) -> None:
        """Add the time of the launch that ended to the times that are being taken."""
        if self._times is not None:
            self._times.add(self.part, self.kernel_seconds())

    def pause(self) -> None:
        """Ask the groups of a listing kernel to save themselves; they go on with the next launch."""
        self._on().pause()

    def rows_so_far(self) -> int:
        """Return how many rows there were a moment ago, since the launch; 0 if not known."""
        seen = self._on().look()
        return 0 if seen is None else int(seen.reserved)

    def rows_stored(self) -> int:
        """Return how many rows the kernel stored in memory, once it is done."""
        final = self._on().final()
        refused = layout.NO_LIMIT - int(final.refused)
        return min(int(final.reserved), refused)

    @property
    def side(self) -> Stream:
        """What goes past the kernel while it runs."""
        return self._on().side

    def fetch(self, source: Buffer, nbytes: int) -> NDArray[np.uint8]:
        """Return the first bytes of `source`, while the kernel may run; the next call reuses the memory."""
        return self._on().fetch(source, nbytes)

    def parked(self) -> int:
        """Return how many groups saved themselves, once the kernel is done."""
        return int(self._on().final().parked)

    def passed_128_bits(self) -> bool:
        """Whether a number did not fit; what was found is of no use then."""
        return bool(self._on().final().overflow)

    def was_limited(self) -> bool:
        """Whether the search stopped because of its limit."""
        return bool(self._on().final().stop == layout.STOP_LIMIT)

    def close(self) -> None:
        """Stop the kernel if it runs, and give everything back. Safe to repeat.

        An interrupt that comes meanwhile is raised once the kernel is done; one that comes later still leaves
        the rest to the next `close`. In the child of a fork the kernel is the parent's, and is left alone.
        """
        session = self._session
        if session is None:
            return
        usable, error = (False, None) if self.inherited else _end(session)
        rest, self._rest = self._rest, None
        if not (usable and self._over and not self._stopping) or session.told:
            rest = None
        if rest is None:
            self._kept_rows = []
        elif not self._kept_rows:  # what rests reads the same rows each time
            self._kept_rows = [weakref.ref(one) for one in dict.fromkeys(self._rows)]
        for rows in self._rows:
            rows.users.discard(self)
        self._rows.clear()
        if rest is None:
            self._forget()
        self._last = weakref.ref(session)
        self._session = None  # first: a session that is lost can be made again, one that serves two cannot
        if usable:
            self.accelerator.recycle(session)
        if rest is not None:
            rest(self)
        if error is not None:
            raise error

    def _forget(self) -> None:
        """Give back what it was set up with."""
        self._memory.clear()
        self._cleared.clear()
        self._clears.clear()
        self._start = None

    def __del__(self) -> None:
        if self._session is not None and not sys.is_finalizing():
            self._rest = None  # nobody is to hold it from now on
            if self.inherited:
                self.close()
                return
            with self.accelerator.device.current():  # the thread may be at work on another device
                self.close()

    def __enter__(self) -> DeviceSearch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _on(self) -> Session:
        assert self._session is not None, "the search is not open"
        return self._session


@contextmanager
def setting_up(search: S) -> Iterator[S]:
    """Close a search whose set-up fails.

    What handles a `DeviceMemoryError` would hold, by the frames that it passed, rows that could make room.
    """
    try:
        yield search
    except BaseException as error:
        search.close()
        if isinstance(error, DeviceMemoryError):
            traceback.clear_frames(error.__traceback__)
        raise


def _end(session: Session) -> tuple[bool, BaseException | None]:
    """Stop a session's kernel and wait for it: nothing is given back before the kernel is done with it.

    Returns whether the session can serve again, and what was raised meanwhile. It cannot where the device
    failed, or where something fails again and again; memory then goes back when the stream is done with it.
    """
    failures = 0
    held: BaseException | None = None
    while failures <= _MOST_FAILURES:
        try:
            if session.done():
                session.settle()
                return True, held
        except DeviceError:
            break
        except BaseException as error:  # noqa: BLE001 - raised when all is given back
            held = error
            failures += isinstance(error, Exception)
        try:
            session.stop()
            time.sleep(_STOP_SECONDS)
        except DeviceError:
            break
        except BaseException as error:  # noqa: BLE001 - raised when all is given back
            held = error
            failures += isinstance(error, Exception)
    return False, held


def _total(control: layout.Control) -> int:
    return int(control.found[0]) | int(control.found[1]) << 64


def _finished(control: layout.Control) -> int:
    """Return root arcs done; splits on their way make that less, even less than none."""
    done = int(control.done)
    return 0 if done >> 63 else done
