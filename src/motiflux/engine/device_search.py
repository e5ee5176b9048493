"""One search on a device: its memory, its kernel, and how it is started, watched and stopped."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from motiflux.codegen import layout
from motiflux.codegen.kernels import THREADS
from motiflux.device import Buffer, HostBuffer, Kernel
from motiflux.engine.accelerator import Accelerator
from motiflux.engine.resident import DeviceRows
from motiflux.engine.session import Session
from motiflux.errors import DeviceError, InternalError

_STOP_SECONDS = 100e-6
"""Time between two stop flags."""


class DeviceSearch:
    """A search that is ready to be launched. Close it, or use it as a context."""

    def __init__(
        self,
        accelerator: Accelerator,
        session: Session,
        kernel: Kernel,
        argument: Any,
        grid: int,
        lanes: int,
        memory: Sequence[Buffer | DeviceRows],
    ) -> None:
        self.accelerator = accelerator
        self._kernel = kernel
        self._argument = argument
        self._grid = grid
        self._groups_of_block = THREADS // lanes
        self._memory: list[Buffer | DeviceRows | HostBuffer] = list(memory)
        self._session: Session | None = session
        session.begin()
        self.task.control = session.control.address
        self._stopping = False
        self.timed = False

    @property
    def task(self) -> Any:
        """The `layout.Task` that the kernel is given."""
        return self._argument.task

    @property
    def groups(self) -> int:
        """Number of groups of lanes."""
        return self._grid * self._groups_of_block

    def hold(self, *memory: Buffer | HostBuffer) -> None:
        """Keep memory until the search is over."""
        self._memory += memory

    def clear(self, buffer: Buffer) -> None:
        """Have a buffer zero before the kernel runs."""
        self._on().main.clear(buffer)

    def launch(self, *, resume: bool = False) -> None:
        """Start the kernel; with `resume`, where parked groups left off."""
        session = self._on()
        self.task.resume = resume
        if resume:
            session.main.clear(session.control, layout.Control.parked.offset, 4)
        shared = self._groups_of_block * self.task.shared_bytes
        session.launch(self._kernel, self._grid, THREADS, shared, self._argument, timed=self.timed)

    def done(self) -> bool:
        """Whether the kernel has ended; raises `DeviceError` if it failed."""
        return self._on().done()

    def stop_and_wait(self) -> None:
        """Stop the kernel by its flag and wait for its end, which takes well under a millisecond."""
        self._stopping = True
        while not self.done():
            self._on().stop()
            time.sleep(_STOP_SECONDS)

    def look(self) -> tuple[int, int, int] | None:
        """Return root arcs done, root arcs in all, and what was found a moment ago; None if not known."""
        seen = self._on().look()
        return None if seen is None else (int(seen.done), int(self.task.arcs), _total(seen))

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

    def parked(self) -> int:
        """Return how many groups wait for room in the ring, once the kernel is done."""
        return int(self._on().final().parked)

    def was_limited(self) -> bool:
        """Whether the search stopped because of its limit."""
        return bool(self._on().final().stop == layout.STOP_LIMIT)

    def close(self) -> None:
        """Stop the kernel if it runs, and give everything back. Safe to repeat."""
        session = self._session
        if session is None:
            return
        held: BaseException | None = None
        while True:  # whatever interrupts, nothing is given back before the kernel is done with it
            try:
                if self.done():
                    session.settle()
                    self.accelerator.recycle(session)
                    break
            except DeviceError:
                break  # the device is lost: nothing to wait for, and no session to use again
            except BaseException as error:  # noqa: BLE001 - raised again below
                held = error
                continue
            try:
                session.stop()
                time.sleep(_STOP_SECONDS)
            except DeviceError:
                continue
            except BaseException as error:  # noqa: BLE001 - raised again below
                held = error
        self._session = None
        for rows in self._memory:
            if isinstance(rows, DeviceRows):
                rows.users.pop(id(session), None)
        self._memory.clear()
        if held is not None:
            raise held

    def __del__(self) -> None:
        if getattr(self, "_session", None) is not None:
            self.accelerator.device.use()
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


def _total(control: layout.Control) -> int:
    return int(control.found[0]) | int(control.found[1]) << 64
