"""A job on a device: set up once, launched, watched, stopped, and launched again if it is asked for again.

Its parts are objects of their own: memory, launches, control block, reader of results, timer.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Generic, TypeVar

from motiflux.device import Kernel, Mark, Stream
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.control_block import CONTROL_BYTES, ControlBlock
from motiflux.gpu.runtime.job_memory import JobMemory
from motiflux.gpu.runtime.kernel_times import LaunchTimer, times_taken
from motiflux.gpu.runtime.launches import Bound, KernelLaunch, Launches
from motiflux.gpu.runtime.readers import Reader, SearchReader
from motiflux.gpu.runtime.session import Session
from motiflux.gpu.runtime.work_partition import WorkPartition
from motiflux.jit import Source

_STOP_SECONDS = 100e-6
"""Time between two stop flags."""
_MOST_FAILURES = 100
"""How often stopping a kernel is tried again when something raises."""

L = TypeVar("L", bound=Launches)
R = TypeVar("R", bound=Reader)


class KernelJob(Generic[L, R]):
    """A job on a device, from its first upload to its last result. Close it, or use it as a context.

    It owns its memory from the moment it has it: whatever interrupts its preparation, or itself, `close`
    gives everything back, except where the job rests, to be launched again.

    Attributes
    ----------
    launches, reader
        Its work, and what reads its results: from `set_up` on.
    units
        The general kernel and the special one that it could have, and whether it has the special one.
    subject
        An object that it holds while it rests.
    watched
        Whether `look` will be called: then it never returns what an earlier launch has left.
    """

    launches: L
    reader: R
    units: tuple[Source, Source | None, bool] | None = None
    subject: object = None
    watched = False
    _session: Session | None = None

    def __init__(
        self, accelerator: Accelerator, part: str = "searches", block_bytes: int = CONTROL_BYTES
    ) -> None:
        self.accelerator = accelerator
        self._process = os.getpid()
        self._last: Session | None = None
        self._rest: Callable[[AnyJob], None] | None = None
        self._bound: list[Bound] | None = None
        self._clears: list[Bound] = []
        self._cleared_ahead = False
        self._ahead: Mark | None = None
        self._part = part
        accelerator.device.use()
        self.control = ControlBlock(accelerator.device, block_bytes)
        self.memory = JobMemory(self.control.buffer)
        self._open()

    def _open(self) -> Session:
        self._over = False
        self._begun: Mark | None = None
        self.timer = None if (times := times_taken()) is None else LaunchTimer(self._part, times)
        session = self._session = self.accelerator.session()
        self.memory.stream = session.main
        return session

    def set_up(self, launches: L, reader: R) -> None:
        """Say what is launched, and what reads its results."""
        self.launches, self.reader = launches, reader
        self._bound = None

    @property
    def session(self) -> Session:
        """Its streams."""
        assert self._session is not None, "the job is not open"
        return self._session

    @property
    def stream(self) -> Stream:
        """The stream of its copies and kernels."""
        return self.session.main

    @property
    def is_open(self) -> bool:
        """Whether it was not closed yet."""
        return self._session is not None

    @property
    def inherited(self) -> bool:
        """Whether this process was forked from the one whose job it is."""
        return os.getpid() != self._process

    @property
    def nbytes(self) -> int:
        """Bytes of the device that are its own."""
        return self.memory.nbytes

    def keep_when_over(self, rest: Callable[[AnyJob], None]) -> None:
        """Give the job to `rest` when it is closed after its end, with what it was set up with."""
        self._rest = rest

    def begin_again(self) -> bool:
        """Open a job that rests, to be launched once more; False if it cannot be."""
        if not self.memory.borrow_again():
            return False
        session = self._open()
        if session is not self._last:
            if self._ahead is None or not self._ahead.done():  # its memory is being cleared on another stream
                self.close()
                return False
            self.memory.move(session.main)
            self._bound = None
        self.control.told = False
        return True

    def launch(self, *, resume: bool = False) -> None:
        """Start the kernels; with `resume`, for groups that saved themselves, and keep what was found."""
        session, control = self.session, self.control
        bound = self._bound or self._bind(session)
        if resume:
            session.side.wait()  # a pause that was asked for late is not meant for this launch
            control.clear_to_resume(session)
        elif not self._cleared_ahead:
            control.clear()
        if not self._cleared_ahead:
            for clear in self._clears:
                clear()
        self._cleared_ahead = False
        if self.watched:
            self._begun = session.main.mark()
        session.start()
        if self.timer is not None:
            self.timer.start(session.main)
        for work in bound:
            work()
        if self.timer is not None:
            self.timer.stop(session.main)
        session.finish(control.fetch)
        if self._rest is not None:  # clear for the next launch while this one runs
            self._cleared_ahead = True  # first: `look` may not show what is cleared
            control.clear()
            for clear in self._clears:
                clear()
            self._ahead = session.main.mark(self._ahead)

    def _bind(self, session: Session) -> list[Bound]:
        """Bind all work to the streams of a session."""
        self.control.bind(session)
        self._clears = [session.main.clearing(buffer, 0, nbytes) for buffer, nbytes in self.memory.cleared]
        bound = self._bound = self.launches.bind(session.main)
        return bound

    def done(self) -> bool:
        """Whether the kernels have ended; raises `DeviceError` if one failed."""
        self._over = self.session.done()
        return self._over

    def stop_and_wait(self) -> None:
        """Stop the kernels by their flag and wait for the end, which takes well under a millisecond."""
        while not self.done():
            self.control.stop(self.session)
            time.sleep(_STOP_SECONDS)

    def pause(self) -> None:
        """Ask the groups of a listing kernel to save themselves; they go on with the next launch."""
        self.control.pause(self.session)

    def seen(self) -> Any:
        """Return the control block as it was a moment ago, since the launch; None if not known."""
        if self._begun is not None and not self._begun.done():
            return None
        if self._cleared_ahead and self.session.done():  # what came may be what was cleared
            return None
        return self.session.look(self.control.buffer)

    def look(self) -> tuple[int, int, int] | None:
        """Return units of work done, units in all, and the number found a moment ago; None if not known."""
        seen = self.seen()
        return None if seen is None else self.reader.progress(seen)

    def result(self) -> Any:
        """Return what its reader returns, once the kernels have ended."""
        return self.reader.result()

    def tell_time(self) -> None:
        """Add the time of the launch that ended to the times that are being taken."""
        if self.timer is not None:
            self.timer.tell()

    def close(self) -> None:
        """Stop the kernels if they run, and give everything back. Safe to repeat.

        An interrupt that comes meanwhile is raised once the kernels have ended; one that comes later still
        leaves the rest to the next `close`. In the child of a fork the kernels are the parent's, and are left
        alone.
        """
        session = self._session
        if session is None:
            return
        usable, error = False, None
        if not self.inherited and session.is_open:
            usable, error = self._end(session)
        rest, self._rest = self._rest, None
        if not (usable and self._over) or self.control.told:
            rest = None
        self.memory.release(rests=rest is not None)
        if rest is None:
            self.control.release()
            self._bound, self._clears = None, []
        self._last = session
        self._session = None  # first: a session that is lost can be made again, one that serves two cannot
        if usable:
            self.accelerator.recycle(session)
        if rest is not None:
            rest(self)
        if error is not None:
            raise error

    def _end(self, session: Session) -> tuple[bool, BaseException | None]:
        """Stop the kernels and wait for them: nothing is given back before they are done with it.

        Returns whether the session can serve again, and what was raised meanwhile. It cannot where the device
        failed, or where something fails again and again; memory then goes back once the stream is done.
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
                self.control.stop(session)
                time.sleep(_STOP_SECONDS)
            except DeviceError:
                break
            except BaseException as error:  # noqa: BLE001 - raised when all is given back
                held = error
                failures += isinstance(error, Exception)
        return False, held

    def __del__(self) -> None:
        if self._session is not None and not sys.is_finalizing():
            self._rest = None  # nobody is to hold it from now on
            if self.inherited:
                self.close()
                return
            with self.accelerator.device.current():  # the thread may be at work on another device
                self.close()

    def __enter__(self) -> KernelJob[L, R]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


AnyJob = KernelJob[Any, Any]
J = TypeVar("J", bound=AnyJob)
SearchJob = KernelJob[KernelLaunch, SearchReader]
"""The job of one search kernel."""


def set_up_search(
    job: SearchJob, kernel: Kernel, argument: Any, grid: int, lanes: int, partition: WorkPartition
) -> None:
    """Say which search kernel a job launches."""
    launch = KernelLaunch(kernel, argument, grid, lanes, partition)
    launch.task.control = job.control.address
    job.set_up(launch, SearchReader(job.control, launch))


@contextmanager
def setting_up(job: J) -> Iterator[J]:
    """Close a job whose set-up fails.

    What handles a `DeviceMemoryError` would hold, by the frames that it passed, rows that could make room.
    """
    try:
        yield job
    except BaseException as error:
        job.close()
        if isinstance(error, DeviceMemoryError):
            traceback.clear_frames(error.__traceback__)
        raise
