"""Rows of an enumeration on a device: search, batches, limits, deadlines and the end."""

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
"""Seconds after which found rows are handed out, even if they do not fill a batch."""


@dataclass
class Delivered:
    """Number of rows that all devices together handed out."""

    rows: int = 0


class FoundRows(StoresRows):
    """Blocks of rows in internal ids. The kernel runs only while there is memory for its rows.

    A found row yields several images by symmetry. Found rows are counted without images; rows handed out, and
    limits, with images.

    Parameters
    ----------
    delivered
        The common number of rows handed out, if several devices share the enumeration.
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
        self._last_seen: tuple[int, int, int] | None = None
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
        """The accelerator of the search."""
        return self._job.accelerator

    @property
    def over(self) -> bool:
        """Whether there are no more rows."""
        return self._over

    @property
    def met_limit(self) -> bool:
        """Whether the search ended because enough rows were handed out."""
        return self._over and not self.complete and not self._was_stopped

    @property
    def inherited(self) -> bool:
        """Whether the search belongs to a parent process from which this one was forked."""
        return self._job.inherited

    @abstractmethod
    def _connect(self) -> None:
        """Allocate memory for rows."""

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
        """Take rows, one thread at a time; an exception ends the search."""
        self._job.accelerator.device.use()  # before the lock: refuses forked children
        with self._lock:
            if self._over:
                return None
            try:
                return take()
            except BaseException:
                self._end(complete=False)
                raise

    def _stop_kernel(self) -> None:
        """Stop because time is up; rows found until then are still handed out."""
        if not self._was_stopped:
            self._was_stopped = True
            self._job.stop_and_wait()

    def _may_go_on(self) -> bool:
        """Whether groups have saved themselves (parked) and there is time to resume them."""
        if self._was_stopped:
            return False
        self._job.result()  # raises if the result is incomplete
        if self._job.reader.parked() == 0:
            return False
        self._was_stopped = self._deadline.passed
        return not self._was_stopped

    @property
    def _batch_found(self) -> int:
        """Found rows per batch: at least one, even if its images exceed the batch."""
        return max(1, self._batch_rows // self._images.of_each)

    def _reaches_limit(self, found: int) -> bool:
        """Whether the images of `found` more rows exceed the limit."""
        limit = self._request.limit
        return limit is not None and self._delivered.rows + found * self._images.of_each > limit

    def _cut(self) -> int:
        """End at the limit, which is exceeded; return the number of rows left to hand out."""
        assert self._request.limit is not None
        self._end(complete=False)
        return self._request.limit - self._delivered.rows

    def _report(self, now: float) -> None:
        if self._request.progress is None or now < self._next_look:
            return
        # None until the first copy arrives, and once the kernel has ended; a copy may be an old one.
        known = [one for one in (self._job.look(), self._last_seen) if one is not None]
        if known:
            self._next_look = now + HAND_OUT_SECONDS
            done, total, found = max(known, key=lambda one: one[2])
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
        # When Python exits, streams are gone, and the kernel ends with the process.
        if hasattr(self, "_over") and not sys.is_finalizing():
            self.close()
