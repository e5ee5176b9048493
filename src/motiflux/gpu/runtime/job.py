"""A job on a device: set up once, launched, watched, stopped, and launched again for an equal query.

Its parts are separate objects: memory, launches, control block, reader of results, timer.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

from motiflux.codegen import layout
from motiflux.device import Kernel, Mark, Stream
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.gpu.runtime.accelerator import Accelerator, Specialize
from motiflux.gpu.runtime.control_block import ControlBlock
from motiflux.gpu.runtime.device_cache import JobMemory
from motiflux.gpu.runtime.kernel_times import LaunchTimer, times_taken
from motiflux.gpu.runtime.launches import Bound, KernelLaunch, Launches, Reader, SearchReader, Wave
from motiflux.gpu.runtime.session import CONTROL_BYTES, Session
from motiflux.gpu.runtime.waves import Waves
from motiflux.gpu.runtime.work_partition import WorkPartition
from motiflux.jit import Source
from motiflux.request.deadline import Deadline

_STOP_SECONDS = 100e-6
"""Time between two stop flags."""
_MOST_FAILURES = 100
"""Maximum number of errors while stopping a kernel, after which the job is abandoned."""

L = TypeVar("L", bound=Launches)
R = TypeVar("R", bound=Reader)


class KernelChoice(NamedTuple):
    """The kernel of a job, from the general unit or from the special one, if there is any."""

    general: Source
    special: Source | None
    specialized: bool
    kernel: Kernel

    @property
    def source(self) -> Source:
        """The unit of the kernel."""
        return self.special if self.specialized and self.special is not None else self.general


class KernelJob(Generic[L, R]):
    """A job on a device, from its first upload to its last result. Close it, or use it as a context.

    The job owns all memory as soon as it is allocated: after an interrupt at any point, `close` releases it.
    A job that is kept for later calls (`keep_when_over`) releases its cache entries only.

    Parameters
    ----------
    part
        The part of the measured times to which its kernels belong (`motiflux.gpu.runtime.kernel_times`).
    block_bytes, budget
        Size of its control block; maximum number of bytes that motiflux holds on the device.

    Attributes
    ----------
    launches, reader
        The launches of the job and the reader of its results, once `set_up` was called.
    choice
        The kernel of the job and the choice it was taken from; None for a job of several kernels.
    subject
        An object that the job holds while it is kept.
    watched
        Whether `look` will be called. Set it before the launch: `look` then returns None until the control
        block is cleared.
    """

    launches: L
    reader: R
    choice: KernelChoice | None = None
    subject: object = None
    watched = False
    _session: Session | None = None

    def __init__(
        self,
        accelerator: Accelerator,
        part: str = "searches",
        block_bytes: int = CONTROL_BYTES,
        budget: int | None = None,
    ) -> None:
        self.accelerator = accelerator
        self._process = os.getpid()
        self._last: weakref.ref[Session] | None = None
        self._keep: Callable[[AnyJob], None] | None = None
        self._launched, self._waited = 0.0, False
        self._bound: Sequence[Wave] | None = None
        self._waves: Waves | None = None
        self._clearings: list[Bound] = []
        self._is_cleared = False
        self._cleared: Mark | None = None
        self._part = part
        accelerator.device.use()
        self.control = ControlBlock(accelerator.device, block_bytes, budget)
        self.memory = JobMemory(self.control.buffer)
        self._open()

    def _open(self) -> Session:
        self._over, self._waves = False, None
        self._begun: Mark | None = None
        self.timer = None if (times := times_taken()) is None else LaunchTimer(self._part, times)
        session = self._session = self.accelerator.session()
        self.memory.stream = session.main
        return session

    def choose_kernel(
        self, general: Source, special: Source | None, specialize: Specialize, deadline: Deadline
    ) -> tuple[Kernel, bool]:
        """Return the kernel to run, and whether it is the special one."""
        source, specialized = self.accelerator.choose(general, special, specialize)
        kernel = self.accelerator.kernel(source, deadline, asks_again=True)
        self.choice = KernelChoice(general, special, specialized, kernel)
        return kernel, specialized

    def has_best_kernel(self, specialize: Specialize) -> bool:
        """Whether `choose_kernel` would return the same kernel now. A special kernel is kept."""
        choice = self.choice
        if choice is None:
            return True
        if not self.accelerator.is_best(choice.source, choice.kernel):
            return False
        if choice.specialized:
            return specialize != "off"
        return not self.accelerator.choose(choice.general, choice.special, specialize)[1]

    def set_up(self, launches: L, reader: R) -> None:
        """Set the launches and the reader of their results."""
        self.launches, self.reader = launches, reader
        self._bound = None

    def bind_again(self) -> None:
        """Have the next launch take the launches anew: they have changed."""
        self._bound = None

    @property
    def session(self) -> Session:
        """The job's streams."""
        assert self._session is not None, "the job is not open"
        return self._session

    @property
    def stream(self) -> Stream:
        """The stream of the job's copies and kernels."""
        return self.session.main

    @property
    def is_open(self) -> bool:
        """Whether the job is not closed."""
        return self._session is not None

    @property
    def inherited(self) -> bool:
        """Whether the job belongs to a parent process from which this one was forked."""
        return os.getpid() != self._process

    @property
    def nbytes(self) -> int:
        """Bytes of the job's device memory, without cache entries."""
        return self.memory.nbytes

    def keep_when_over(self, keep: Callable[[AnyJob], None] | None) -> None:
        """Pass the job with its memory to `keep` when it is closed after its end; None: release it."""
        self._keep = keep

    def begin_again(self, keep: Callable[[AnyJob], None] | None = None) -> bool:
        """Open a kept job to launch it again; close it and return False if that is impossible.

        `keep` receives the job when it is over.
        """
        session = self._open()
        if not self.memory.borrow_again():
            self.close()
            return False
        if self._last is None or session is not self._last():
            if self._cleared is None or not self._cleared.done():  # another stream is still clearing memory
                self.close()
                return False
            self.memory.move(session.main)
            self._bound = None
        self._keep = keep
        return True

    def launch(self, *, resume: bool = False) -> None:
        """Start the kernels; with `resume`, continue groups that saved themselves, and keep the numbers."""
        session, control = self._session, self.control
        assert session is not None, "the job is not open"
        bound = self._bind(session) if self._bound is None else self._bound
        if resume:
            assert self._keep is None, "a job that is kept begins anew"
            session.side.wait()  # for a late pause flag, which is not meant for this launch
            control.clear_to_resume(session)
            self.launches.resume()
        elif not self._is_cleared:
            control.clear()
        if not self._is_cleared:
            for clear in self._clearings:
                clear()
        self._is_cleared = False
        self._launched, self._waited = time.perf_counter(), False
        if self.watched:
            self._begun = session.main.mark(self._begun)
        session.start()
        if self.timer is not None:
            self.timer.start(session.main)
        if len(bound) > 1:
            self._waves = Waves(bound, session.main, control)
            self._enqueue_waves(self._waves)
            return
        for work in bound[0]:
            work()
        self._finish(session)

    def _enqueue_waves(self, waves: Waves) -> bool:
        """Enqueue waves whose turn it is; return whether all are enqueued that will be."""
        if not waves.enqueue():
            return False
        self._waves = None
        self._finish(self.session)
        return True

    def _finish(self, session: Session) -> None:
        """Enqueue what follows the kernels."""
        control = self.control
        if self.timer is not None:
            self.timer.stop(session.main)
        session.finish(control.fetch)
        if self._keep is not None:  # clear memory for the next launch behind the kernels of this one
            self._is_cleared = True  # before clearing: `look` must not show a cleared block
            control.clear()
            for clear in self._clearings:
                clear()
            self._cleared = session.main.mark(self._cleared)

    def _bind(self, session: Session) -> Sequence[Wave]:
        """Bind all work to the streams of a session."""
        self.control.bind(session)
        self._clearings = [session.main.clearing(buffer, 0, nbytes) for buffer, nbytes in self.memory.cleared]
        bound = self._bound = self.launches.bind(session.main)
        return bound

    def done(self) -> bool:
        """Whether the kernels have ended; raises `DeviceError` if one failed."""
        assert self._session is not None, "the job is not open"
        if self._waves is not None and not self._enqueue_waves(self._waves):
            self._waited = True
            return False
        self._over = self._session.done()
        if not self._over:
            self._waited = True
        elif self._launched:
            seconds, self._launched = time.perf_counter() - self._launched, 0.0
            choice = self.choice
            if choice is not None and choice.special is not None and not choice.specialized:
                # If the first call found it done, the kernel may have ended long ago.
                self.accelerator.add_seconds(choice.special, seconds if self._waited else 0.0)
        return self._over

    def stop_and_wait(self) -> None:
        """Stop the kernels by the stop flag and wait for their end, which takes well under a millisecond."""
        while not self.done():
            self.control.stop(self.session)
            time.sleep(_STOP_SECONDS)

    def pause(self) -> None:
        """Ask the groups of a listing kernel to save themselves; the next launch resumes them."""
        self.control.pause(self.session)

    def seen(self) -> layout.Control | None:
        """Return the control block as it was a moment ago, after the launch; None if unknown."""
        if self._begun is not None and not self._begun.done():
            return None
        seen = self.session.look(self.control.buffer)
        # Tested after the copy: if the kernels still run, the copied block was not cleared.
        return None if self._is_cleared and self.session.done() else seen

    def look(self) -> tuple[int, int, int] | None:
        """Return units of work done, units in total, and the number found a moment ago; None if unknown."""
        seen = self.seen()
        return None if seen is None else self.reader.progress(seen)

    def result(self) -> Any:
        """Return the reader's result. Call it after the end of the kernels and before `close`."""
        assert self._session is not None, "the job is closed"
        return self.reader.result()

    def tell_time(self) -> None:
        """Add the time of the launch that ended to the times that are being measured."""
        if self.timer is not None:
            self.timer.tell()

    def close(self) -> None:
        """Stop the kernels if they run, and release all resources. Safe to repeat.

        An interrupt before the end of the kernels is raised after it; a later one leaves the rest to the next
        `close`. In a forked child, the kernels belong to the parent and continue.
        """
        session = self._session
        if session is None:
            return
        usable, error = False, None
        if os.getpid() == self._process and session.is_open:
            usable, error = self._end(session)
        keep, self._keep = self._keep, None
        if not (usable and self._over) or self.control.flagged:
            keep = None
        self.memory.release(keep=keep is not None)
        if keep is None:
            self._forget()
        self._last = weakref.ref(session)
        self._session = None  # before `recycle`: after an interrupt, no two jobs may have the same session
        if usable:
            self.accelerator.recycle(session)
        if keep is not None:
            keep(self)
        if error is not None:
            raise error

    def _forget(self) -> None:
        """Release memory that parts of the job hold."""
        self.control.release()
        self._bound, self._clearings = None, []
        if hasattr(self, "launches"):
            self.launches.release()

    def _end(self, session: Session) -> tuple[bool, BaseException | None]:
        """Stop the kernels and wait for their end: memory must not be released before.

        Return whether the session can be used again, and an error that was raised meanwhile. The session
        cannot be used again if the device failed, or after too many errors.
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
            self._keep = None  # the pool must not hold the job from now on
            if self.inherited:
                self.close()
                return
            with self.accelerator.device.current():  # the thread may use another device
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
    """Set the search kernel of a job."""
    launch = KernelLaunch(kernel, argument, grid, lanes, partition)
    launch.task.control = job.control.address
    job.set_up(launch, SearchReader(job.control, launch))


@contextmanager
def setting_up(job: J) -> Iterator[J]:
    """Close a job if its set-up fails.

    The frames in the traceback of a `DeviceMemoryError` are cleared: they would keep cache entries in use.
    """
    try:
        yield job
    except BaseException as error:
        job.close()
        if isinstance(error, DeviceMemoryError):
            traceback.clear_frames(error.__traceback__)
        raise
