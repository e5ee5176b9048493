"""Rows of a search on a cluster, as an iterator with bounded memory."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from motiflux.cluster.row_tasks import RowTasks, rows_of_task
from motiflux.cluster.shares import FEW_PARTS, Order, Shares
from motiflux.cluster.tasks import Bounds, Done, plain
from motiflux.request.deadline import Deadline
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request
from motiflux.types import VertexArray

if TYPE_CHECKING:
    from motiflux.cluster.workers import Workers

ROWS_OF_TASK = 1 << 19
"""Rows after which a task ends, about, with all images of each."""
FIRST_WORK, MOST_WORK = 1 << 24, 1 << 40
"""Steps of a search in the first tasks, about .1 s, and the most of any task."""


class RowSearch:
    """A listing by tasks that are bounded by steps and rows, so that a task finds the same rows each time.

    Its shares are given out as those of other searches, but their times become numbers of steps, by the steps
    per second of the tasks before.
    """

    divisible = False

    def __init__(self, workers: Workers, tasks: RowTasks, request: Request, slots: int) -> None:
        self.tasks, self.request = tasks, request
        self.name = f"match {workers.pattern}"
        self.shares = Shares(tasks.units, slots, parts=FEW_PARTS)
        self.found = 0
        self.stopped = False
        self._rows = rows_of_task(ROWS_OF_TASK, tasks)
        self._steps, self._seconds = 0.0, 0.0
        self.works: dict[int, int] = {}

    @property
    def over(self) -> bool:
        """Whether the search was stopped, or a limit is reached."""
        limit = self.request.limit
        return self.stopped or (limit is not None and self.found > limit)

    def bounds(self, order: Order) -> Bounds:
        """Return the bounds of a task: those that it had before, if it was lost."""
        work = self.works.get(order.number)
        if work is None:
            work = FIRST_WORK
            if self._seconds > 0:
                expected = int(self._steps / self._seconds * order.seconds)
                work = max(FIRST_WORK // 16, min(MOST_WORK, expected))
            self.works[order.number] = work
        return Bounds(work=work, rows=self._rows)

    def submit(self, order: Order) -> Any:
        """Start a task."""
        return self.tasks.rows(self.name, order.share, self.bounds(order))

    def take(self, order: Order, done: Done) -> None:
        """Take the rows of a task."""
        self.note(order, done, len(done.value))

    def note(self, order: Order, done: Done, rows: int) -> None:
        """Take note of the end of a task."""
        work = self.works.pop(order.number)
        if done.left and done.rows < self._rows:  # it ended by its steps
            self._steps, self._seconds = self._steps + work, self._seconds + done.seconds
        self.found += rows
        self.shares.finished(order.share, done.left, done.seconds)

    def renew(self) -> None:
        """Share the graph again."""
        self.tasks.renew()


class _KeptRows(RowSearch):
    """A listing whose rows wait for the reader."""

    def __init__(self, workers: Workers, tasks: RowTasks, request: Request, slots: int) -> None:
        super().__init__(workers, tasks, request, slots)
        self.blocks: deque[VertexArray] = deque()

    def take(self, order: Order, done: Done) -> None:
        super().take(order, done)
        if len(done.value):
            self.blocks.append(done.value)


class ClusterRows:
    """Rows as they arrive. Tasks start while fewer results wait for the reader than tasks can run at a time.

    Their number is that of tasks that run or wait, each with about `ROWS_OF_TASK` rows.

    Parameters
    ----------
    slots
        Number of tasks that can run at a time; None: that of the cluster's CPUs.
    """

    def __init__(
        self,
        workers: Workers,
        tasks: RowTasks,
        request: Request,
        batch_rows: int,
        deadline: Deadline,
        slots: int | None = None,
    ) -> None:
        self._slots = workers.slots if slots is None else slots
        self._search = _KeptRows(workers, tasks, plain(request), self._slots)
        self._batch_rows = batch_rows
        self._left = request.limit
        self._report, self._deadline = request.progress, deadline
        self._events: Iterator[bool] | None = workers.driver(self._slots).run(
            [self._search], deadline, self._tell if request.progress else None, self._has_room
        )
        self._lock = threading.Lock()
        self._block: VertexArray | None = None
        self.complete = False
        self._cut = False

    def next(self) -> VertexArray | None:
        """Return the next rows, or None at the end."""
        with self._lock:
            if self._block is None or not len(self._block):
                self._block = self._next_result()
                if self._block is None:
                    return None
            given, self._block = self._block[: self._batch_rows], self._block[self._batch_rows :]
            return self._up_to_limit(given)

    def _next_result(self) -> VertexArray | None:
        blocks = self._search.blocks
        while not blocks and self._events is not None:
            try:
                in_time = next(self._events)
            except StopIteration:
                self._events = None
                self.complete = not self._cut and not self._search.over
            else:
                self._cut |= not in_time
        return blocks.popleft() if blocks else None

    def _up_to_limit(self, rows: VertexArray) -> VertexArray | None:
        if self._left is None:
            return rows
        given = rows[: self._left]
        self._left -= len(given)
        if len(given) < len(rows):
            self.complete, self._cut = False, True
            self._cancel()
        return given if len(given) else None

    def _has_room(self) -> bool:
        return len(self._search.blocks) <= self._slots

    def _tell(self) -> None:
        shares = self._search.shares
        if self._report is not None:
            self._report(
                ProgressReport(shares.done, shares.units, self._search.found, self._deadline.elapsed())
            )

    def close(self) -> None:
        """Cancel all tasks; rows not taken are dropped."""
        self._search.stopped = True
        with self._lock:
            self._cancel()

    def _cancel(self) -> None:
        events, self._events = self._events, None
        self._search.blocks.clear()
        if events is not None:
            events.close()  # type: ignore[attr-defined]
