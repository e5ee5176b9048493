"""Work in order on a CUDA device: copies, launches, marks."""

from __future__ import annotations

import ctypes
import time
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.device.cuda_driver import NOT_READY
from motiflux.device.cuda_memory import CudaBuffer
from motiflux.device.cuda_module import CudaKernel, check_grid
from motiflux.errors import ArgumentError, DeviceError, InternalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiflux.device.base import Buffer, Kernel, Mark
    from motiflux.device.cuda_driver import CudaContext, CudaDriver
    from motiflux.device.retire import Retirement

_SPIN_SECONDS = 100e-6
_LONGEST_SLEEP = 1e-3
_MANY_LINES = 16

_OneParameter = ctypes.c_void_p * 1


class CudaMark:
    """A `Mark`: an event with timing."""

    __slots__ = ("__weakref__", "_done", "_driver", "event")

    def __init__(self, driver: CudaDriver, stream: Any) -> None:
        self._driver = driver
        self.event = event = driver.ask("a mark", driver.cuEventCreate(0))
        # The driver keeps recorded events; destroying an event waits for nothing.
        weakref.finalize(self, _destroy_event, driver, event).atexit = False
        self.move(stream)

    def move(self, stream: Any) -> None:
        """Move the mark to the point after all work enqueued on a stream so far."""
        self._done = False
        self._driver.ask("a mark", self._driver.cuEventRecord(self.event, stream))

    def done(self) -> bool:
        """Whether all work before it is done; raises `DeviceError` if that work failed."""
        if not self._done:
            (result,) = self._driver.cuEventQuery(self.event)
            if result == NOT_READY:
                return False
            self._driver.ask("the work on a stream failed", (result,))
            self._done = True
        return True

    def milliseconds_since(self, earlier: Mark) -> float:
        """Return the time between two marks that are done, by the device's clock."""
        if not isinstance(earlier, CudaMark):
            raise InternalError(f"mark: expected one of this device, found {type(earlier).__name__}")
        if not (earlier.done() and self.done()):
            raise InternalError("mark: expected two marks that are done, found one that is not")
        answer = self._driver.cuEventElapsedTime(earlier.event, self.event)
        return float(self._driver.ask("the time between two marks", answer))


def _destroy_event(driver: CudaDriver, event: Any) -> None:
    if not driver.inherited:
        driver.cuEventDestroy(event)


class CudaLine:
    """The driver's stream in a `CudaStream`, which it outlives until its work is done."""

    def __init__(self, driver: CudaDriver, retirement: Retirement) -> None:
        self.driver = driver
        self.retirement = retirement
        self.stream = driver.ask("a stream", driver.cuStreamCreate(_non_blocking(driver)))
        self.destroyed = False

    def tail(self) -> CudaMark | None:
        """Return the point after all work so far; None if all is done, or failed."""
        (result,) = self.driver.cuStreamQuery(self.stream)
        if result != NOT_READY:
            return None
        try:
            return CudaMark(self.driver, self.stream)
        except DeviceError:
            return None

    def end(self) -> None:
        """Destroy the stream, on which no work is left."""
        self.retirement.end_line(self)
        self._destroy()

    def retire(self) -> None:
        """Destroy the stream, as an action of `Retirement`."""
        self.retirement.close_line(self)
        self._destroy()

    def _destroy(self) -> None:
        self.destroyed = True
        self.driver.cuStreamDestroy(self.stream)


def _non_blocking(driver: CudaDriver) -> int:
    return int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)


class CudaStream:
    """A `Stream`.

    Attributes
    ----------
    handle
        The driver's ``CUstream`` as a number, for libraries that can work on this stream (CuPy, Numba).
    """

    def __init__(self, context: CudaContext, retirement: Retirement) -> None:
        self._driver = driver = context.driver
        self._line = CudaLine(driver, retirement)
        self._stream = self._line.stream
        self.handle = int(self._stream)
        self._launch = driver.cuLaunchKernel
        retirement.open_line(self._line)
        self._finalizer = weakref.finalize(self, retirement.add, (self._line,), self._line.retire)
        self._finalizer.atexit = False

    @property
    def is_open(self) -> bool:
        """Whether the stream was neither closed nor released by the garbage collector."""
        return bool(self._finalizer.alive)

    def upload(self, destination: Buffer, source: NDArray[Any], offset: int = 0) -> None:
        """Copy a contiguous array into `destination`, `offset` bytes from its start."""
        _check_array("source", source)
        self.hold(destination)
        if nbytes := _check_range(destination, offset, source.nbytes):
            driver = self._driver
            address = destination.address + offset
            answer = driver.cuMemcpyHtoDAsync(address, source.ctypes.data, nbytes, self._stream)
            driver.ask("copying to the device", answer)

    def download(self, source: Buffer, destination: NDArray[Any], offset: int = 0) -> None:
        """Fill a contiguous array from `source`, beginning `offset` bytes from its start."""
        self._downloading(source, destination, offset)()

    def downloading(self, source: Buffer, destination: NDArray[Any]) -> Callable[[], None]:
        """Return a function that does the same as `download` at each call."""
        return self._downloading(source, destination, 0)

    def _downloading(self, source: Buffer, destination: NDArray[Any], offset: int) -> Callable[[], None]:
        _check_array("destination", destination)
        if not destination.flags.writeable:
            raise ArgumentError("destination", "an array that can be written to", "a read-only one")
        self.hold(source)
        nbytes = _check_range(source, offset, destination.nbytes)
        if nbytes == 0:
            return _do_nothing
        driver, stream, address = self._driver, self._stream, source.address + offset
        memory = ctypes.c_char.from_buffer(destination.data)  # held, so that the array is not resized
        target, copy = ctypes.addressof(memory), driver.cuMemcpyDtoHAsync

        def download(_held: object = memory) -> None:
            (result,) = copy(target, address, nbytes, stream)
            if result != 0:
                raise driver.error("copying from the device", result)

        return download

    def clear(self, buffer: Buffer, offset: int = 0, nbytes: int | None = None) -> None:
        """Set bytes to zero: from `offset` to the end, or `nbytes` of them."""
        self.clearing(buffer, offset, nbytes)()

    def clearing(self, buffer: Buffer, offset: int = 0, nbytes: int | None = None) -> Callable[[], None]:
        """Return a function that does the same as `clear` at each call."""
        self.hold(buffer)
        count = _check_range(buffer, offset, buffer.nbytes - offset if nbytes is None else nbytes)
        if count == 0:
            return _do_nothing
        driver, stream, address = self._driver, self._stream, buffer.address + offset
        fill = driver.cuMemsetD8Async

        def clear() -> None:
            (result,) = fill(address, 0, count, stream)
            if result != 0:
                raise driver.error("clearing memory", result)

        return clear

    def launch(self, kernel: Kernel, grid: int, block: int, shared: int, argument: ctypes.Structure) -> None:
        """Run a kernel whose only parameter is a structure, by value; raise `DeviceError` if refused."""
        self.launching(kernel, grid, block, shared, argument)()

    def launching(
        self, kernel: Kernel, grid: int, block: int, shared: int, argument: ctypes.Structure
    ) -> Callable[[], None]:
        """Return a function that does the same as `launch` at each call."""
        if not isinstance(kernel, CudaKernel):
            raise InternalError(f"kernel: expected one of this device, found {type(kernel).__name__}")
        check_grid(grid)
        kernel.check(block, shared, ctypes.sizeof(argument))
        parameters = _OneParameter(ctypes.addressof(argument))
        driver, stream, run = self._driver, self._stream, self._launch
        function, name, given = kernel.function, kernel.name, ctypes.addressof(parameters)

        def launch(_held: object = (kernel, argument, parameters)) -> None:
            # The driver copies the structure before it returns.
            (result,) = run(function, grid, 1, 1, block, 1, 1, shared, stream, given, 0)
            if result != 0:
                raise driver.error(f"launching {name}", result)

        return launch

    def mark(self, again: Mark | None = None) -> CudaMark:
        """Return the point after all work enqueued so far: a new one, or an earlier one, moved there."""
        if not isinstance(again, CudaMark):
            return CudaMark(self._driver, self._stream)
        again.move(self._stream)
        return again

    def follow(self, mark: Mark) -> None:
        """Have later work begin once a mark of another stream of the device is done; return at once."""
        if not isinstance(mark, CudaMark):
            raise InternalError(f"mark: expected one of this device, found {type(mark).__name__}")
        answer = self._driver.cuStreamWaitEvent(self._stream, mark.event, 0)
        self._driver.ask("ordering two streams", answer)

    def wait(self) -> None:
        """Wait for all work enqueued so far, interruptibly; raise `DeviceError` if it failed."""
        mark = self.mark()
        began = time.monotonic()
        pause = 20e-6
        while not mark.done():
            if time.monotonic() - began > _SPIN_SECONDS:
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_SLEEP)

    def close(self) -> None:
        """Wait, then release the stream."""
        if not self._finalizer.alive:
            return
        try:
            self.wait()
        except DeviceError:
            self._end()
            raise
        except BaseException:  # an interrupt: released later, when its work is done
            self._finalizer()
            raise
        self._end()

    def _end(self) -> None:
        if self._finalizer.detach() is not None:
            self._line.end()

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the stream for CuPy and cuda.core: the version of the protocol, and the handle."""
        return 0, self.handle

    def hold(self, buffer: Buffer) -> None:
        """Keep a buffer that work on this stream uses until its end, even if it is closed before."""
        if not self._finalizer.alive:
            raise InternalError("stream: expected one in use, found one that was closed")
        if isinstance(buffer, CudaBuffer):
            buffer.lines.add(self._line)
            if len(buffer.lines) > _MANY_LINES:
                for line in tuple(buffer.lines):
                    if isinstance(line, CudaLine) and line.destroyed:
                        buffer.lines.discard(line)

    def wait_for(self, other: int) -> None:
        """Make later work on this stream wait for all work so far on another stream, given by its handle."""
        self._order(first=other, then=self.handle)

    def go_before(self, other: int) -> None:
        """Make later work on another stream, given by its handle, wait for all work so far on this stream."""
        self._order(first=self.handle, then=other)

    def _order(self, first: int, then: int) -> None:
        if first == then:
            return
        driver = self._driver
        mark = CudaMark(driver, first)
        driver.ask("ordering two streams", driver.cuStreamWaitEvent(then, mark.event, 0))


def _do_nothing() -> None:
    """Copy or clear no bytes."""


def _check_array(argument: str, array: NDArray[Any]) -> None:
    if not isinstance(array, np.ndarray) or array.dtype.hasobject:
        raise ArgumentError(
            argument, "a NumPy array of numbers", getattr(array, "dtype", type(array).__name__)
        )
    if not array.flags.c_contiguous:
        raise ArgumentError(argument, "a contiguous array", f"strides {array.strides} of shape {array.shape}")


def _check_range(buffer: Buffer, offset: int, nbytes: int) -> int:
    if offset < 0 or nbytes < 0 or offset + nbytes > buffer.nbytes:
        raise ArgumentError(
            "offset", f"a range within {buffer.nbytes:,} bytes", f"{nbytes:,} bytes from {offset:,}"
        )
    return nbytes
