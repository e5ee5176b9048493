"""Searches by phases on several devices, which share the roots of the first phase.

    device 0    roots 0, 3, 6, ...      its own tables, frontiers and control blocks
    device 1    roots 1, 4, 7, ...
    device 2    roots 2, 5, 8, ...

Neighbouring roots have rows of similar length, so all devices have about as much work. The calling thread,
which Ctrl-C interrupts, sets up one search after the other; a thread for each device runs them.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from motiflux.errors import DeviceMemoryError, MotifluxWarning
from motiflux.gpu.group import DeviceGroup, working_on
from motiflux.gpu.pvm.phase_query import PhaseQuery
from motiflux.gpu.pvm.phase_steps import Watch
from motiflux.gpu.pvm.resident_tile import Traffic
from motiflux.gpu.pvm.row_tables import TableKey
from motiflux.gpu.pvm.run import FullFrontier
from motiflux.gpu.pvm.search import Begun, Counted, FoundEmbeddings
from motiflux.gpu.pvm.set_up import make_tables
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.graph import Graph
from motiflux.plan.phases.data import PhasePlan
from motiflux.request.deadline import Deadline, OutOfTimeError, moments
from motiflux.request.reports import ProgressCallback, ProgressReport
from motiflux.request.request import Request
from motiflux.result.images import Block

_LOOK_SECONDS = 0.05
_WAIT_SECONDS = 0.01
THREAD_NAME = "motiflux phases"
"""The beginning of the names of threads."""
_QUEUED = 2
"""Blocks of each device that wait to be taken."""

Part = TypeVar("Part")


class Reports:
    """The last report of each device, and their sum for the caller."""

    def __init__(self, progress: ProgressCallback | None, deadline: Deadline) -> None:
        self._progress, self._deadline = progress, deadline
        self._seen: dict[int, ProgressReport] = {}
        self._next = deadline.started + _LOOK_SECONDS

    def of(self, device: int) -> ProgressCallback | None:
        """Return the callback of a device; None if nobody wants reports."""
        if self._progress is None:
            return None
        return partial(self._seen.__setitem__, device)

    def tell(self) -> None:
        """Report to the caller, at intervals; raises what its callback raises."""
        now = time.perf_counter()
        if self._progress is None or now < self._next or not self._seen:
            return
        self._next = now + _LOOK_SECONDS
        seen = list(self._seen.values())
        self._progress(
            ProgressReport(
                sum(one.done for one in seen),
                sum(one.total for one in seen),
                sum(one.found for one in seen),
                now - self._deadline.started,
            )
        )


class _CountedShare:
    """The count of one device, in a thread."""

    def __init__(self, accelerator: Accelerator, query: PhaseQuery, watch: Watch) -> None:
        self.accelerator = accelerator
        self._query, self._watch = query, watch
        self._begun: Begun | None = Begun.of(accelerator, query, watch, grows=False)
        self._grows = False
        self._thread: threading.Thread | None = None
        self.result: Counted | None = None
        self.error: BaseException | None = None

    @property
    def found(self) -> int:
        """Embeddings counted so far."""
        if self.result is not None:
            return self.result.found
        return 0 if self._begun is None else self._begun.run.found

    def start(self) -> None:
        """Begin, or begin again with larger frontiers."""
        if self._grows:
            with working_on(self.accelerator):
                self._close()  # before the next search needs memory
                self._begun = Begun.of(self.accelerator, self._query, self._watch, grows=True)
            self._grows = False
        self._thread = threading.Thread(
            target=self._run, name=f"{THREAD_NAME} on {self.accelerator.device.name}"
        )
        self._thread.start()

    def _run(self) -> None:
        assert self._begun is not None
        try:
            with working_on(self.accelerator):
                self.result = self._begun.count()
        except FullFrontier:
            self._grows = True
        except OutOfTimeError:
            self.result = Counted(0, False, ())
        except BaseException as error:  # noqa: BLE001 - raised by the calling thread
            self.error = error

    def done(self) -> bool:
        """Whether the count is over; raises its error."""
        if self._thread is None or self._thread.is_alive():
            return False
        if self.error is not None:
            raise self.error
        if self._grows:
            self.start()
            return False
        return True

    def end(self) -> None:
        """Wait for the thread, which was asked to end, and release what the search holds."""
        if self._thread is not None:
            self._thread.join()
        with self.accelerator.device.current():
            self._close()

    def _close(self) -> None:
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.close()


def count_shared(
    group: DeviceGroup, graph: Graph, phases: PhasePlan, request: Request, deadline: Deadline
) -> Counted:
    """Count the embeddings that the phases find on all devices of a group, as `search.count_phases` does.

    Devices without enough memory are left out with a warning.

    Raises
    ------
    DeviceMemoryError
        No device has enough memory.
    """
    closing = threading.Event()
    reports = Reports(request.progress, deadline)

    def make(accelerator: Accelerator, share: tuple[int, int]) -> _CountedShare:
        query = PhaseQuery(graph, phases, request, counts=True, share=share)
        watch = Watch(deadline, reports.of(share[0]), request.limit, closing.is_set)
        return _CountedShare(accelerator, query, watch)

    try:
        make_tables(PhaseQuery(graph, phases, request, counts=True))
        parts = _set_up(group, make, _CountedShare.end)
    except OutOfTimeError:
        return Counted(0, False, ())
    try:
        for part in parts:
            part.start()
        for _ in moments():
            over = [part.done() for part in parts]  # raises the error of each
            if all(over):
                break
            if _is_enough(parts, request.limit):
                closing.set()
            reports.tell()
    finally:
        closing.set()
        for part in parts:
            part.end()
    return _sum([part.result for part in parts if part.result is not None])


def _is_enough(parts: Sequence[_CountedShare], limit: int | None) -> bool:
    """Whether more than the limit was found, or the number cannot be used."""
    if any(part.result is not None and part.result.overflow for part in parts):
        return True
    return limit is not None and sum(part.found for part in parts) > limit


def _sum(results: Sequence[Counted]) -> Counted:
    sizes = [one.sizes for one in results if one.sizes]
    return Counted(
        sum(one.found for one in results),
        all(one.complete for one in results),
        tuple(map(sum, zip(*sizes, strict=True))),
        any(one.overflow for one in results),
        {key: _sum_of(key, results) for key in dict.fromkeys(key for one in results for key in one.traffic)},
    )


def _sum_of(key: TableKey, results: Sequence[Counted]) -> Traffic:
    """Return the bytes of a table, and those copied to all devices."""
    seen = [one.traffic[key] for one in results if key in one.traffic]
    return Traffic(max(one.nbytes for one in seen), sum(one.copied for one in seen))


def _set_up(
    group: DeviceGroup,
    make: Callable[[Accelerator, tuple[int, int]], Part],
    close: Callable[[Part], object],
) -> list[Part]:
    """Return the search of each device; devices without enough memory are left out with a warning."""
    left = list(group.accelerators)
    while True:
        made: list[Part] = []
        try:
            for number, accelerator in enumerate(left):
                with working_on(accelerator):
                    made.append(make(accelerator, (number, len(left))))
        except BaseException as error:
            for one in made:
                close(one)
            if not isinstance(error, DeviceMemoryError) or len(left) == 1:
                raise
            warnings.warn(f"a device takes no part: {error}", MotifluxWarning, stacklevel=2)
            del left[len(made)]
        else:
            return made


class SharedEmbeddings:
    """Embeddings that the searches of several devices find, each once, in the order in which they come.

    Attributes
    ----------
    complete
        Whether nothing was cut.
    """

    complete = False

    def __init__(
        self,
        group: DeviceGroup,
        graph: Graph,
        phases: PhasePlan,
        request: Request,
        batch_rows: int,
        deadline: Deadline,
    ) -> None:
        self._process = os.getpid()
        self._limit, self._delivered, self._over = request.limit, 0, False
        self._first = group.first.device
        self._reports = Reports(request.progress, deadline)
        self._closing = threading.Event()
        self._lock = threading.RLock()
        self._threads: list[threading.Thread] = []
        self._sources: list[FoundEmbeddings] = []

        def make(accelerator: Accelerator, share: tuple[int, int]) -> FoundEmbeddings:
            mine = replace(request, progress=self._reports.of(share[0]))
            return FoundEmbeddings(accelerator, graph, phases, mine, batch_rows, deadline, share)

        make_tables(PhaseQuery(graph, phases, request, counts=False))
        self._sources = _set_up(group, make, FoundEmbeddings.close)
        self._blocks: queue.Queue[Block | BaseException | None] = queue.Queue(_QUEUED * len(self._sources))
        self._running = len(self._sources)

    def next(self) -> Block | None:
        """Return the next block of internal ids, or None at the end."""
        self._first.use()  # before the lock: refuses forked children
        with self._lock:
            if self._over:
                return None
            try:
                return self._next()
            except BaseException:
                self._end(complete=False)
                raise

    def _next(self) -> Block | None:
        if not self._threads:
            self._threads = [
                threading.Thread(
                    target=_take, args=(source, self._blocks, self._closing), name="motiflux rows"
                )
                for source in self._sources
            ]
            for thread in self._threads:
                thread.start()
        while self._running:
            self._reports.tell()
            try:
                block = self._blocks.get(timeout=_WAIT_SECONDS)
            except queue.Empty:
                if self._closing.is_set():
                    return None
                continue
            if isinstance(block, BaseException):
                raise block
            if block is None:
                self._running -= 1
                continue
            if self._limit is not None and self._delivered + len(block) > self._limit:
                block = block[: self._limit - self._delivered]
                self._end(complete=False)
            self._delivered += len(block)
            return block if len(block) else None
        self._end(complete=all(source.complete for source in self._sources))
        return None

    def _end(self, *, complete: bool) -> None:
        self.complete, self._over = complete, True
        self._closing.set()
        for source in self._sources:
            source.close()
        for thread in self._threads:
            thread.join()

    def close(self) -> None:
        """Stop the searches; rows not taken are dropped."""
        if os.getpid() != self._process:  # threads and devices belong to the parent
            return
        self._closing.set()
        with self._lock:
            if not self._over:
                self._end(complete=False)

    def __del__(self) -> None:
        if hasattr(self, "_running") and not sys.is_finalizing():
            self.close()


def _take(
    source: FoundEmbeddings, blocks: queue.Queue[Block | BaseException | None], closing: threading.Event
) -> None:
    """Put the blocks of a device into a queue, behind them None; or its error."""
    last: BaseException | None = None
    try:
        with working_on(source.accelerator):
            while (block := source.next()) is not None:
                _put(blocks, block, closing)
    except BaseException as error:  # noqa: BLE001 - raised by the thread that takes rows
        last = error
    _put(blocks, last, closing)


def _put(
    blocks: queue.Queue[Block | BaseException | None],
    block: Block | BaseException | None,
    closing: threading.Event,
) -> None:
    while not closing.is_set():
        try:
            blocks.put(block, timeout=_WAIT_SECONDS)
        except queue.Full:
            continue
        return
