"""Rows of an enumeration on a device: its search, batches, limits, deadlines and the end."""

from __future__ import annotations

import sys
import threading
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import SearchJob
from motiflux.plan import Plan
from motiflux.request.deadline import Deadline
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request
from motiflux.result.images import Block, Images
from motiflux.result.rows import StoresRows

T = TypeVar("T")

HAND_OUT_SECONDS = 0.05
"""Rows that were found are handed out after this time, whether they fill a batch or not."""


@dataclass
class Delivered:
    """How many rows were handed out, by all devices together."""

    rows: int = 0


class FoundRows(StoresRows):
    """Blocks of rows in internal ids. The kernel runs only while there is room for its rows.

    Rows that were found are counted as such until they are handed out; rows handed out, and limits, are
    counted in images.

    Parameters
    ----------
    delivered
        The rows handed out, if several devices share the enumeration.
    """

    complete = False

    def __init__(
        self,
        job: SearchJob,
        plan: Plan,
        request: Request,
        batch_rows: int,
        deadline: Deadline,
        delivered: Delivered | None = None,
    ) -> None:
        self._job = job
        self._request = request
        self._batch_rows = batch_rows
        self._deadline = deadline
        self._columns = len(plan.order)
        self._images = Images(plan)
        self._shares = delivered is not None
        self._delivered = delivered or Delivered()
        self._next_look = deadline.started + HAND_OUT_SECONDS
        self._closing = False
        self._was_stopped = False
        self._over = False
        self._lock = threading.RLock()
        for level, vertex in enumerate(plan.order):
            job.launches.task.column_levels[vertex] = level
        job.watched = request.progress is not None or self._shares
        try:
            self._connect()
        except BaseException:
            self._over = True
            job.close()
            raise
        if deadline.passed:
            self._end(complete=False)
        else:
            self._launch()

    @property
    def accelerator(self) -> Accelerator:
        """Where it searches."""
        return self._job.accelerator

    @property
    def over(self) -> bool:
        """Whether there will be no more rows."""
        return self._over

    @property
    def met_limit(self) -> bool:
        """Whether it ended because enough rows were handed out."""
        return self._over and not self.complete and not self._was_stopped

    @property
    def inherited(self) -> bool:
        """Whether this process was forked from the one whose search it is."""
        return self._job.inherited

    @abstractmethod
    def _connect(self) -> None:
        """Make room for rows."""

    @abstractmethod
    def _launch(self) -> None:
        """Start the kernel for the first time."""

    @abstractmethod
    def _next(self) -> Block | None:
        """Return the next block, or None at the end."""

    def next(self) -> Block | None:
        """Return the next block, or None at the end."""
        return self._guarded(self._next)

    def _guarded(self, take: Callable[[], T]) -> T | None:
        """Take rows, one thread at a time; what is raised ends the search."""
        self._job.accelerator.device.use()  # first: a fork may have left the lock taken for ever
        with self._lock:
            if self._over:
                return None
            try:
                return take()
            except BaseException:
                self._end(complete=False)
                raise

    def _stop_kernel(self) -> None:
        """Stop for want of time; what was found until then is still handed out."""
        if not self._was_stopped:
            self._was_stopped = True
            self._job.stop_and_wait()

    def _may_go_on(self) -> bool:
        """Whether groups parked, which may go on: there is time left too, however soon they park again."""
        if self._was_stopped:
            return False
        self._job.result()  # refuses a result that is not whole
        if self._job.reader.parked() == 0:
            return False
        self._was_stopped = self._deadline.passed
        return not self._was_stopped

    @property
    def _batch_found(self) -> int:
        """Rows to be found for a batch: one at least, whose images may be more than fit."""
        return max(1, self._batch_rows // self._images.of_each)

    def _reaches_limit(self, found: int) -> bool:
        """Whether there are more rows than the limit, with the images of so many that were found."""
        limit = self._request.limit
        return limit is not None and self._delivered.rows + found * self._images.of_each > limit

    def _cut(self) -> int:
        """End at the limit, one row more than it being known; return the rows that are left to hand out."""
        assert self._request.limit is not None
        self._end(complete=False)
        return self._request.limit - self._delivered.rows

    def _report(self, now: float) -> None:
        if self._request.progress is None or now < self._next_look:
            return
        if (seen := self._job.look()) is not None:  # None until a copy has come: launches may be short
            self._next_look = now + HAND_OUT_SECONDS
            done, total, found = seen
            found *= self._images.of_each
            self._request.progress(ProgressReport(done, total, found, now - self._deadline.started))

    def _end(self, *, complete: bool) -> None:
        self.complete = complete
        self._job.close()
        self._over = True

    def close(self) -> None:
        """Stop the search; rows not taken are dropped."""
        self._closing = True
        if self._job.inherited:
            return
        with self._lock:
            if not self._over:
                with self._job.accelerator.device.current():
                    self._end(complete=False)

    def __del__(self) -> None:
        # Streams are gone by then; the process takes the kernel along.
        if hasattr(self, "_over") and not sys.is_finalizing():
            self.close()
