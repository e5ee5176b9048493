"""The thread that writes groups to the log, several in one transaction where they wait."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from motiflux.serve.log.group import Group
from motiflux.serve.log.store import Store

LOG = logging.getLogger("motiflux.serve.log")

_MOST_WAITING = 4
"""Groups that the engine may be ahead of the disk."""
_MARK_SECONDS = 0.05
"""How long positions of sinks wait for a group to be written with."""
_RETRY_SECONDS = 0.25


class Committer:
    """Writes groups in their order, and repeats a transaction that fails until it succeeds.

    Parameters
    ----------
    store
        The database, which no other thread writes to.
    committed
        Called after each transaction, with its groups and the seconds that it took.
    cleaning
        Called about once a second in this thread; returns whether it wants to be called again soon.
    """

    def __init__(
        self, store: Store, committed: Callable[[list[Group], float], None], cleaning: Callable[[], bool]
    ) -> None:
        self._store, self._committed, self._cleaning = store, committed, cleaning
        self._groups: deque[Group] = deque()
        self._marks: dict[str, tuple[int, Any]] = {}
        self._marked, self._written = 0, 0
        self._hurries = False
        self._changed = threading.Condition()
        self._writing = self._ends = self._gives_up = False
        self._next_cleaning = 0.0
        self.trouble: str | None = None
        """Why the log cannot be written at the moment."""
        self.failed: BaseException | None = None
        """What ended the thread."""
        self._thread = threading.Thread(target=self._run, name="motiflux-log", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def is_idle(self) -> bool:
        """Whether no group is being written or waits."""
        return not self._groups and not self._writing

    def submit(self, group: Group) -> None:
        """Have a group written; waits while many are waiting."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._groups) < _MOST_WAITING or self._has_ended)
            self._raise_if_failed()
            self._groups.append(group)
            self._changed.notify_all()

    def mark(self, sink: str, delivered: int, state: Any) -> None:
        """Have the position of a sink written, with the next group or soon."""
        with self._changed:
            self._marks[sink] = delivered, state
            self._marked += 1
            self._changed.notify_all()

    def mark_now(self, sink: str, delivered: int, state: Any) -> None:
        """Have the position of a sink written, and wait until it is on disk."""
        with self._changed:
            self.mark(sink, delivered, state)
            number, self._hurries = self._marked, True
            self._changed.wait_for(lambda: self._written >= number or self._has_ended)
            self._raise_if_failed()

    def flush(self) -> None:
        """Wait until all groups are on disk."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_idle or self._has_ended)
            self._raise_if_failed()

    def first_trouble(self) -> str | None:
        """Wait until all groups are on disk, or cannot be written at the first try; return why not."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_idle or self._has_ended or self.trouble is not None)
            self._raise_if_failed()
            return self.trouble

    def give_up(self) -> None:
        """From now on, end where the log cannot be written instead of trying again."""
        with self._changed:
            self._gives_up = True
            self._changed.notify_all()

    def stop(self) -> None:
        """Write all that waits, and end."""
        with self._changed:
            self._ends = True
            self._changed.notify_all()
        self._thread.join()

    @property
    def _has_ended(self) -> bool:
        return self.failed is not None or (self._gives_up and self.trouble is not None)

    def _raise_if_failed(self) -> None:
        if self._has_ended:
            raise RuntimeError(f"the log cannot be written: {self.failed or self.trouble}")

    def _run(self) -> None:
        try:
            while self._turn():
                pass
        except BaseException as error:  # whoever waits for this thread raises it
            LOG.exception("the log cannot be written any more")
            with self._changed:
                self.failed = error
                self._changed.notify_all()

    def _turn(self) -> bool:
        """Write what is there; return whether more may come."""
        with self._changed:
            self._changed.wait_for(lambda: self._marks or self._is_urgent, self._idle_seconds)
            if self._marks:
                self._changed.wait_for(lambda: self._is_urgent, _MARK_SECONDS)
            groups, marks, marked = list(self._groups), self._marks, self._marked
            self._writing, self._marks = bool(groups), {}
            self._groups.clear()
            self._hurries = False
            self._changed.notify_all()
            ending = self._ends
        if groups or marks:
            began = time.perf_counter()
            if not self._write(groups, marks):
                return False
            for group in groups:
                for done in group.done:
                    done()
            self._committed(groups, time.perf_counter() - began)
        with self._changed:
            self._writing, self._written = False, marked
            self._changed.notify_all()
            if ending and not self._groups and not self._marks:
                return False
        self._clean()
        return True

    @property
    def _is_urgent(self) -> bool:
        return bool(self._groups) or self._hurries or self._ends

    @property
    def _idle_seconds(self) -> float:
        return max(0.0, min(1.0, self._next_cleaning - time.monotonic()))

    def _write(self, groups: list[Group], marks: dict[str, tuple[int, Any]]) -> bool:
        """Write until it succeeds; return False if the thread is to end before that."""
        while True:
            try:
                self._store.write(groups, marks)
            except sqlite3.OperationalError as error:  # a full disk, a lock
                if self.trouble is None:
                    LOG.warning("the log cannot be written; trying again: %s", error)
                self.trouble = f"the log cannot be written: {error}"
            else:
                if self.trouble is not None:
                    LOG.warning("the log is written again")
                self.trouble = None
                return True
            with self._changed:
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._gives_up, _RETRY_SECONDS)
                if self._gives_up:
                    self._writing = False
                    self._changed.notify_all()
                    return False

    def _clean(self) -> None:
        if time.monotonic() < self._next_cleaning:
            return
        more = False
        try:
            more = self._cleaning()
        except sqlite3.OperationalError as error:
            LOG.warning("old records cannot be dropped now: %s", error)
        self._next_cleaning = time.monotonic() + (0.05 if more else 1.0)
