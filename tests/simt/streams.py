"""Streams of the emulated device: a thread of the host each, which does one thing after another."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import DeviceError, InternalError
from tests.simt.image import LEAST_ARGUMENT, MOST_THREADS, SHARED_PER_BLOCK, EmulatedKernel, Scheduling
from tests.simt.memory import EmulatedBuffer

T = TypeVar("T")


class EmulatedMark:
    """A point in a stream."""

    def __init__(self) -> None:
        self._passed = threading.Event()
        self._failure = ""
        self._time = 0

    def done(self) -> bool:
        if not self._passed.is_set():
            if sys.is_finalizing():
                raise DeviceError("device 'emulated': its threads have ended with the interpreter")
            return False
        if self._failure:
            raise DeviceError(self._failure)
        return True

    def milliseconds_since(self, earlier: EmulatedMark) -> float:
        if not (self._passed.is_set() and earlier._passed.is_set()):
            raise InternalError("the time between two marks is known once both are done")
        return (self._time - earlier._time) / 1e6

    def wait(self) -> None:
        while not self._passed.wait(0.1):
            self.done()
        self.done()

    def pass_by(self, failure: str) -> None:
        """Have it done now; by the stream."""
        self._failure = failure
        self._time = time.perf_counter_ns()
        self._passed.set()


class Line:
    """A stream's inner part, which its thread holds: nobody holds the stream itself but its user.

    What fails is told by every mark until the stream is waited for; until then nothing else is done.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._failure = ""
        self._last: EmulatedMark | None = None
        threading.Thread(target=self._run, name="motiflux-emulated-stream", daemon=True).start()

    def add(self, work: Callable[[], None]) -> None:
        self._last = None
        self._work.put(lambda: None if self._failure else work())

    def mark(self) -> EmulatedMark:
        mark = EmulatedMark()
        self._work.put(lambda: mark.pass_by(self._failure))
        self._last = mark
        return mark

    def wait(self) -> None:
        mark = EmulatedMark()

        def settle() -> None:
            failure, self._failure = self._failure, ""
            mark.pass_by(failure)

        self._work.put(settle)
        mark.wait()

    def tail(self) -> EmulatedMark | None:
        last = self._last or self.mark()
        return None if last._passed.is_set() else last

    def stop(self) -> None:
        """End its thread after what it has to do; nothing is added later on. Finalizers call it."""
        if self._last is None:
            self.mark()  # so that `tail` asks no thread that has ended
        self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - whatever it is, whoever waits for it is to know
                self._failure = self._failure or str(error) or repr(error)
            # What it holds is freed now, not when there is something else to do.
            del work


class EmulatedStream:
    """A stream. Copies are asynchronous, whatever memory they come from or go to."""

    def __init__(
        self,
        line: Line,
        resident: int,
        how: Scheduling,
        check_thread: Callable[[], None],
        leave: Callable[[Line], None],
    ) -> None:
        self._line = line
        self._resident = resident
        self._how = how
        self._check_thread = check_thread
        self._leave = weakref.finalize(self, leave, line)
        self._leave.atexit = False

    @property
    def is_open(self) -> bool:
        return bool(self._leave.alive)

    def upload(self, destination: EmulatedBuffer, source: NDArray[Any], offset: int = 0) -> None:
        _check_contiguous(source)
        self.hold(destination)
        address = destination.span(offset, source.nbytes)
        self._copy(address, source.ctypes.data, source.nbytes, source)

    def download(self, source: EmulatedBuffer, destination: NDArray[Any], offset: int = 0) -> None:
        _check_contiguous(destination)
        if not destination.flags.writeable:
            raise InternalError("download: expected an array that can be written")
        self.hold(source)
        address = source.span(offset, destination.nbytes)
        self._copy(destination.ctypes.data, address, destination.nbytes, destination)

    def clear(self, buffer: EmulatedBuffer, offset: int = 0, nbytes: int | None = None) -> None:
        self.hold(buffer)
        nbytes = buffer.nbytes - offset if nbytes is None else nbytes
        address = buffer.span(offset, nbytes)
        self._line.add(partial(ctypes.memset, address, 0, nbytes))

    def launch(
        self, kernel: EmulatedKernel, grid: int, block: int, shared: int, argument: ctypes.Structure
    ) -> None:
        self._check_thread()
        given = bytes(argument)
        for what, value, least, most in (
            ("blocks", grid, 1, 2**31 - 1),
            ("threads of a block", block, 1, MOST_THREADS),
            ("bytes of shared memory", shared, 0, SHARED_PER_BLOCK),
            ("bytes of argument", len(given), LEAST_ARGUMENT, 32_764),
        ):
            if not least <= value <= most:
                raise DeviceError(
                    f"device 'emulated': kernel {kernel.name}: expected {least:,} to {most:,} {what}, "
                    f"found {value:,}"
                )

        def work() -> None:
            failure = kernel.module.run(kernel.address, grid, block, shared, given, resident, how)
            if failure:
                raise DeviceError(f"device 'emulated': kernel {kernel.name}: {failure}")

        # Not the stream itself: the work would hold it.
        resident, how = self._resident, self._how
        self._line.add(work)

    # As on a GPU, what can be done again holds neither the stream nor the buffer.

    def clearing(
        self, buffer: EmulatedBuffer, offset: int = 0, nbytes: int | None = None
    ) -> Callable[[], None]:
        self.hold(buffer)
        stream, cleared = weakref.ref(self), weakref.ref(buffer)
        return lambda: _there(stream).clear(_there(cleared), offset, nbytes)

    def downloading(self, source: EmulatedBuffer, destination: NDArray[Any]) -> Callable[[], None]:
        self.hold(source)
        stream, copied = weakref.ref(self), weakref.ref(source)
        return lambda: _there(stream).download(_there(copied), destination)

    def launching(
        self, kernel: EmulatedKernel, grid: int, block: int, shared: int, argument: ctypes.Structure
    ) -> Callable[[], None]:
        stream = weakref.ref(self)
        return lambda: _there(stream).launch(kernel, grid, block, shared, argument)

    def hold(self, buffer: EmulatedBuffer) -> None:
        if not self._leave.alive:
            raise InternalError("stream: expected one in use, found one that was closed")
        self._check_thread()
        buffer.lines.add(self._line)

    def mark(self, again: object = None) -> EmulatedMark:
        self._check_thread()
        return self._line.mark()

    def follow(self, mark: EmulatedMark) -> None:
        self._check_thread()
        if not isinstance(mark, EmulatedMark):
            raise InternalError(f"mark: expected one of this device, found {type(mark).__name__}")
        self._line.add(mark.wait)

    def wait(self) -> None:
        self._check_thread()
        self._line.wait()

    def close(self) -> None:
        if not self._leave.alive:
            return
        try:
            self.wait()
        finally:
            self._leave()

    def _copy(self, destination: int, source: int, nbytes: int, held: NDArray[Any]) -> None:
        self._line.add(partial(_move, destination, source, nbytes, held))


def _there(ref: weakref.ref[T]) -> T:
    found = ref()
    assert found is not None, "what was to be used again is gone"
    return found


def _move(destination: int, source: int, nbytes: int, _held: object) -> None:
    """Copy, and hold the host's end until then. Device memory stays until its streams are done with it."""
    ctypes.memmove(destination, source, nbytes)


def _check_contiguous(array: NDArray[Any]) -> None:
    if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
        raise InternalError("a copy to or from the device: expected a contiguous array")
