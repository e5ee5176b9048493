"""The resident kernel as the host sees it: it starts, is given updates, gives answers, parks and stops."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.streaming import UPDATE, End
from motiflux.device import Mark
from motiflux.errors import CountOverflowError, DeviceError, DeviceMemoryError, InternalError
from motiflux.gpu.changing.plans import PlanTable
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.streaming.kinds import Kind
from motiflux.gpu.streaming.memory import Before, StreamMemory
from motiflux.gpu.streaming.named_rows import NamedRows
from motiflux.gpu.streaming.records import COUNT, Taken, divide, none
from motiflux.gpu.streaming.settings import StreamSettings
from motiflux.gpu.streaming.watching import StreamProgress, StreamStalledError, Watchdog

_UPDATE_WORDS = UPDATE.itemsize // 4
_PACKET = 32
_SLICE = 200e-6
"""Seconds between looks at the kernel's progress while nothing comes."""
_STOP_SECONDS, _EXIT_SECONDS = 10.0, 2.0
"""Seconds after which a kernel that was told to stop is given up, also at the end of the process."""
_REASONS = {
    End.NONE: "",
    End.PARKED: "it was parked",
    End.EXHAUSTED: "memory does not suffice for the next update",
    End.TOO_LONG: "a row has outgrown the candidate lists",
    End.OVERFLOW: "a number of matches exceeds 2^128 - 1",
}


class ResidentStream:
    """One kernel that stays on a device and answers updates in the order of their arrival.

    One thread submits updates, one takes answers, which may be the same; no other call runs meanwhile, but
    for `stop`.

    Parameters
    ----------
    accelerator
        The device and its kernels.
    gpu_memory
        Maximum number of bytes that motiflux holds on the device.
    settings
        Sizes.

    Attributes
    ----------
    moment
        The moment of the last update that was submitted; the first one has moment 1.
    """

    def __init__(
        self, accelerator: Accelerator, gpu_memory: int | None, settings: StreamSettings | None = None
    ) -> None:
        self._accelerator, self._budget = accelerator, gpu_memory
        self._settings = settings or StreamSettings()
        self._rows: NamedRows | None = None
        self._memory: StreamMemory | None = None
        self._end: Mark | None = None
        self._watchdog = Watchdog(self._settings.stall_seconds)
        self._finalizer: Any = None
        self._failure: Exception | None = None
        self._submitted: deque[tuple[int, NDArray[Any]]] = deque()
        self._kept: list[NDArray[np.uint32]] = []
        self._reading = threading.Lock()  # stop() may come while another thread takes
        self.moment = self._finished = self._base = 0

    # Life

    def load(self, native: _native.Monitor, table: PlanTable, threads: int) -> None:
        """Copy plans and rows of a monitor to the device, and prepare all that the kernel needs.

        Parameters
        ----------
        table
            The plans; they share no levels and pool nothing.
        threads
            Threads that read the rows of the host.

        Raises
        ------
        DeviceMemoryError
            They do not fit.
        """
        self.close()
        device = self._accelerator.device
        device.use()
        self._failure = None
        self._submitted.clear()
        self._kept.clear()
        self.moment = self._finished = 0
        rows = NamedRows.of(native, table, self._settings.spare_vertices, threads)
        self._memory = StreamMemory(self._accelerator, self._budget, self._settings, rows, native, table)
        self._rows = rows.without_entries()

    def replace_plans(self, native: _native.Monitor, table: PlanTable, threads: int) -> None:
        """Have other plans from now on; the kernel parks, and runs again if it ran.

        Rows that are there already stay as they are. Kinds of before are not valid any more. If it fails, the
        stream has to be loaded again.

        Parameters
        ----------
        native
            The monitor, in whose rows all that was submitted is written.
        table, threads
            As `load` takes them.

        Raises
        ------
        InternalError
            There are answers that were not taken.
        """
        memory, rows = self._loaded(), self._rows
        assert rows is not None

        def change() -> None:
            if self._kept:
                raise InternalError("replace_plans() comes once all answers were taken")
            wanted = NamedRows.of(native, table, self._settings.spare_vertices, threads, rows)
            self._memory = self._rows = None
            self._memory = StreamMemory(
                self._accelerator, self._budget, self._settings, wanted, native, table, Before(memory, rows)
            )
            self._rows = wanted.without_entries()

        self._while_parked(change)

    def reserve(self, vertices: int) -> None:
        """Have rows for so many vertices, at least; the kernel parks if there are fewer, and runs again."""
        memory, rows = self._loaded(), self._rows
        assert rows is not None
        if vertices <= rows.vertices:
            return
        more = replace(rows, vertices=vertices).checked()

        def change() -> None:
            memory.renumber(more, rows)
            self._rows = more

        self._while_parked(change)

    def start(self) -> None:
        """Start the kernel, or let it go on after `park`; nothing is done if it runs."""
        memory = self._loaded()
        if self.is_running:
            return
        self._accelerator.device.use()
        memory.prepare_launch()
        memory.main.launch(memory.kernel, memory.blocks, memory.threads, memory.shared_bytes, memory.argument)
        self._end = memory.main.mark()
        # Memory that a running kernel uses cannot be freed: it is told to stop if nobody else does so.
        self._let_go()
        self._finalizer = weakref.finalize(self, _end_kernel, memory, self._end, os.getpid())
        self._watchdog.begin()

    def park(self) -> None:
        """Wait until all that was submitted is finished, and end the kernel; `start` lets it go on.

        Answers that come meanwhile are kept for `take`.
        """
        memory = self._loaded()
        self._check()
        while self.is_running and self._finished < self.moment:
            self._keep_some(_SLICE)
        if not self.is_running:
            return
        memory.control["park"] = 1
        last = time.monotonic() + max(_STOP_SECONDS, self._settings.stall_seconds)
        while self._end is not None and not self._has_ended():
            self._keep_some(_SLICE)
            if time.monotonic() > last:
                raise self._stalled()
        self._see_end()

    def stop(self) -> None:
        """End the kernel now; updates that are not finished are in `unanswered`.

        Raises
        ------
        DeviceError
            The kernel does not end: it ends with this process only.
        """
        memory = self._memory
        if memory is None or not self.is_running:
            return
        memory.control["stop"] = 1
        last = time.monotonic() + _STOP_SECONDS
        try:
            while not self._has_ended():
                if time.monotonic() > last:
                    self._end = None
                    memory.abandon()
                    name = self._accelerator.device.name
                    raise DeviceError(
                        f"device={name!r}: the resident kernel stays until this process ends; {self.where()}"
                    )
                time.sleep(_SLICE)
        finally:
            if self._failure is None:
                self._failure = DeviceError("the stream was stopped: load it again")
        self._end = None
        self._let_go()
        self._drain()
        self._finished = max(self._finished, memory.finished())

    def close(self) -> None:
        """End the kernel and free all memory."""
        try:
            self.stop()
        finally:
            memory, self._memory, self._rows, self._end = self._memory, None, None, None
            self._let_go()
            if memory is not None:
                self._accelerator.device.use()  # whichever thread lets the last monitor go
                memory.release()

    def _let_go(self) -> None:
        """Forget the kernel that is over: what tells it to stop holds its memory."""
        if self._finalizer is not None:
            self._finalizer.detach()
            self._finalizer = None

    @property
    def is_running(self) -> bool:
        """Whether the kernel was started, and not seen to end."""
        return self._end is not None

    @property
    def has_best_kernel(self) -> bool:
        """Whether the kernel is the one at full speed, not one that took less time to compile.

        The next start after it is compiled takes it.
        """
        return self._memory is None or self._memory.has_best_kernel

    @property
    def vertices(self) -> int:
        """Number of vertices that rows are reserved for."""
        return 0 if self._rows is None else self._rows.vertices

    # Kinds and updates

    def accept_classes(self, native: _native.Monitor) -> None:
        """Learn which classes the rows hold: new labels bring new ones."""
        assert self._rows is not None, "load() comes first"
        self._rows = self._rows.with_classes(native)

    def kind(
        self, forward: int, back: int, plans: Sequence[int], skipped: frozenset[int] = frozenset()
    ) -> int:
        """Return the number of a kind of updates; the same one for the same arguments.

        Parameters
        ----------
        forward, back
            The classes of an edge, as the native monitor numbers them: seen from its source, and its target.
        plans
            The plans that updates of this kind concern: roots have the source at level 0.
        skipped
            Numbers of kinds of rows that are not changed, although the class belongs there.
        """
        memory, rows = self._loaded(), self._rows
        assert rows is not None
        kind: Kind = rows.places(forward, back, skipped), tuple(plans)
        number = memory.kinds.number(kind)
        if number is not None:
            return number
        self._accelerator.device.use()
        while not memory.kinds.has_room(kind):
            self._while_parked(memory.enlarge_kinds)
        return memory.kinds.add(kind)

    def _while_parked(self, change: Callable[[], None]) -> None:
        runs = self.is_running
        self.park()
        self._accelerator.device.use()
        change()
        if runs:
            self.start()

    def submit(self, updates: NDArray[Any]) -> int:
        """Write updates to their lines; return how many there was room for, from the first on.

        Parameters
        ----------
        updates
            `UPDATE` records.
        """
        self._check()
        memory = self._loaded()
        if len(updates) and max(updates["source"].max(), updates["target"].max()) >= self.vertices:
            raise InternalError(
                f"updates: expected vertices below {self.vertices:,}, that rows are there for"
            )
        words = np.ascontiguousarray(updates, UPDATE).view(np.uint32).reshape(-1, _UPDATE_WORDS)
        if self._finished == self.moment:
            self._watchdog.begin()  # the time without work does not count
        written = 0
        if len(memory.lines):
            words = words[: max(0, len(memory.lines) - (self.moment - self._finished))]
        while written < len(words) and memory.writer.try_write(words[written : written + _PACKET]):
            written = min(len(words), written + _PACKET)
        if written:
            self._submitted.append((self.moment + 1, np.array(updates[:written], UPDATE)))
            self.moment += written
        else:
            self._look_after(drained=False)
        return written

    def pace(
        self, updates: NDArray[Any], due: NDArray[np.uint64], *, keeps: bool = False
    ) -> NDArray[np.uint64]:
        """Submit updates at given times, and return how long their answers took, [updates, 2].

        It does so without Python's lock, and alone: no other thread submits or takes. All that was submitted
        before is finished.

        Parameters
        ----------
        updates
            `UPDATE` records.
        due
            When each update arrives, in nanoseconds after the call; ascending.
        keeps
            Whether `take` gives the answers; else they are dropped.

        Returns
        -------
        NDArray[np.uint64]
            Nanoseconds after an update was due at which it was written to its line, and answered: by
            its first record, or when it was finished without any; with `keeps`, when it was finished.

        Raises
        ------
        TimeoutError
            Nothing is finished for `stall_seconds`.
        """
        self._check()
        memory = self._loaded()
        if self._finished < self.moment:
            raise InternalError("pace() is for a stream that has finished all updates")
        words = np.ascontiguousarray(updates, UPDATE).view(np.uint32).reshape(-1, _UPDATE_WORDS)
        self._submitted.append((self.moment + 1, np.array(updates, UPDATE)))
        first, self.moment = self.moment + 1, self.moment + len(updates)
        limit = self._settings.stall_seconds
        times, answers = _native.pace(
            memory.reader, memory.writer, memory.told, memory.lines, words, due, first, limit, keeps
        )
        if len(answers):
            self._kept.append(answers.reshape(-1, memory.room_for(0).shape[1]))
        self._finish(self.moment)
        return times.reshape(-1, 2)

    def exchange(self, updates: _native.StreamUpdates, seconds: float) -> bool:
        """Submit the updates of a run and take their answers, without Python's lock.

        All that was submitted before is finished. To be called again with the same updates until all are
        answered, and `submit` and `take` not meanwhile.

        Returns
        -------
        bool
            Whether all are answered; else nothing has happened for so long.
        """
        self._check()
        memory = self._loaded()
        if updates.sent == 0:
            self._base = self.moment
        with self._reading:
            is_done = updates.exchange(
                memory.reader, memory.writer, memory.told, memory.lines, self._base, seconds
            )
        self.moment = self._base + updates.sent
        if is_done:
            self._finish(self.moment)
            return True
        self._look_after(drained=True)
        kept, self._kept = self._kept, []
        for records in kept:
            updates.take(records, self._base)
        self._check()
        return False

    def arm(self, updates: _native.StreamUpdates, native: _native.Monitor) -> None:
        """Have runs of a monitor matched natively (`StreamUpdates.arm`); the kernel runs and has no updates.

        Until `disarm`, no other method is called but `stop`.
        """
        memory = self._loaded()
        updates.arm(
            memory.reader,
            memory.writer,
            memory.told,
            memory.lines,
            self.moment,
            self.vertices,
            native,
            1 + memory.levels,
        )

    def disarm(self, updates: _native.StreamUpdates) -> None:
        """Take note of what was matched since `arm`; a run that was begun may be under way."""
        if not updates.is_armed:
            return
        updates.disarm()
        self._base = updates.moment
        self._finish(self._base)
        self.moment = self._base + updates.sent

    # Answers

    def take(self, timeout: float = 0.0, *, most: int = 1 << 16) -> Taken:
        """Return answers; wait up to `timeout` seconds for a first one, or for more that are finished.

        Each answer comes once and is complete, in the order of `StreamSettings.order`. Of an update up to
        `Taken.finished` all have come.

        Parameters
        ----------
        most
            Maximum number of records, at least 3.
        """
        memory = self._loaded()
        before = self._finished
        deadline = time.monotonic() + timeout
        while True:
            found = self._read(most, 0.0)
            left = deadline - time.monotonic()
            if len(found) or self._finished > before or self._kept or left <= 0:
                break
            found = self._read(most, min(_SLICE, left))
            if len(found) or self._finished > before:
                break
            self._look_after(drained=True)
            self._check()
        if not len(found) and not self._kept:
            self._look_after(drained=True)  # the kernel may have ended; what it left is kept then
        kept, self._kept = self._kept, []
        records = np.concatenate([*kept, found]) if kept else found
        levels = memory.levels
        if len(records):
            return Taken(*divide(records, levels), self._finished)
        if self._finished == before:
            self._check()
        return Taken(np.zeros(0, COUNT), none(levels), self._finished)

    def _read(self, most: int, seconds: float) -> NDArray[np.uint32]:
        """Return records that are there, and note what is finished if all records of it were read."""
        memory = self._loaded()
        with self._reading:
            room = memory.room_for(most)
            last = self.moment if self._settings.order == "completion" else 0
            count, finished = _native.take_answers(
                memory.reader, memory.told, memory.lines, room, self._finished, seconds, last
            )
            found = room[:count].copy()
        if finished > self._finished:
            self._finish(finished)
        return found

    def _finish(self, moment: int) -> None:
        self._finished = moment
        while self._submitted and self._submitted[0][0] + len(self._submitted[0][1]) - 1 <= moment:
            self._submitted.popleft()

    def _keep_some(self, seconds: float) -> None:
        """Keep records for `take`, and look after the kernel."""
        found = self._read(1 << 16, seconds)
        if len(found):
            self._kept.append(found)
        else:
            self._look_after(drained=True)
            self._check()

    def _drain(self) -> None:
        """Keep all records that are there, of a kernel that has ended."""
        while len(found := self._read(1 << 16, 0.0)):
            self._kept.append(found)

    # Watching

    def _loaded(self) -> StreamMemory:
        if self._memory is None:
            raise InternalError("load() comes first")
        return self._memory

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _has_ended(self) -> bool:
        if self._end is None:
            return True
        self._accelerator.device.use()
        try:
            return self._end.done()
        except DeviceError as error:
            self._end = None
            self._failure = error
            raise

    def _look_after(self, *, drained: bool) -> None:
        """See whether the kernel has ended, or makes no progress.

        Parameters
        ----------
        drained
            Whether all answers were read.
        """
        memory = self._memory
        if memory is None or self._end is None or self._failure is not None:
            return
        if memory.wants_to_look() and self._has_ended():
            self._see_end()
            return
        if self._watchdog.is_stalled(self.progress(), drained=drained):
            raise self._stalled()

    def _stalled(self) -> Exception:
        """Stop a kernel that makes no progress; return the error that says where it stood."""
        where = self.where()
        self._failure = StreamStalledError(
            f"device={self._accelerator.device.name!r}: no progress for"
            f" {self._settings.stall_seconds:g} seconds; {where}"
        )
        self.stop()
        return self._failure

    def _see_end(self) -> None:
        """Do what the end of the kernel asks for."""
        memory = self._loaded()
        self._end = None
        self._let_go()
        self._drain()
        reason = memory.see_end()
        if self._finished < memory.finished():
            self._drain()
            self._finish(memory.finished())
        if reason is End.TOO_LONG:
            memory.enlarge_lists()
            self.start()
        elif reason is End.EXHAUSTED:
            counters = memory.graph.counters()
            room = counters["bytes_for_versions"] - counters["bytes_in_use"]
            self._failure = DeviceMemoryError(
                "versions that one update makes", room + 1, room, "give a larger gpu_memory"
            )
        elif reason is End.OVERFLOW:
            self._failure = CountOverflowError(f"update {self._finished + 1:,} or later: {_REASONS[reason]}")
        elif memory.control["stop"][0]:
            self._failure = DeviceError("the stream was stopped: load it again")

    def progress(self) -> StreamProgress:
        """Return where the stages stand."""
        memory = self._loaded()
        status = memory.status[0]
        return StreamProgress(
            submitted=self.moment,
            received=int(status["received"]),
            published=int(status["published"]),
            finished=int(status["finished"]),
            collected=int(status["collected"]),
            issued=int(status["issued"]),
            taken=int(status["taken"]),
            begun=int(status["packets"]),
            read=memory.reader.position,
            beats=int(status["beats"]),
            turns=int(status["turns"]),
            reason=_REASONS[End(int(status["reason"]))],
        )

    def where(self) -> str:
        """Return where the stages stand, in words."""
        return str(self.progress())

    def counters(self) -> Mapping[str, int]:
        """Return counters of memory and collection, while the kernel is parked or stopped."""
        if self.is_running:
            raise InternalError("counters() is for a kernel that is parked or stopped")
        return self._loaded().counters()

    def stamps(self, moments: range) -> NDArray[np.uint64]:
        """Return when updates were at each stage, [updates, stages], if the settings say that it `measures`.

        The kernel is parked or stopped; of many updates the last ones are returned.
        """
        if self.is_running:
            raise InternalError("stamps() is for a kernel that is parked or stopped")
        return self._loaded().stamps(moments)

    def unanswered(self) -> NDArray[Any]:
        """Return updates that are not finished, the first one of the moment after the last that is."""
        parts = [updates[max(0, self._finished + 1 - first) :] for first, updates in self._submitted]
        return np.concatenate(parts) if parts else np.zeros(0, UPDATE)


def _end_kernel(memory: StreamMemory, end: Mark, process: int) -> None:
    """Tell a kernel to stop whose stream is gone, and wait a moment; a child of a fork leaves it alone."""
    if os.getpid() != process:
        return
    memory.control["stop"] = 1
    last = time.monotonic() + _EXIT_SECONDS
    with suppress(DeviceError):
        while time.monotonic() < last and not end.done():
            time.sleep(_SLICE)
