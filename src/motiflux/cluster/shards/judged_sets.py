"""Conditions on edges that servers of a sharded graph have judged: the last few sets, and those in use."""

from __future__ import annotations

import shutil
import threading
import uuid
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from motiflux.cluster.shards.judging import Judged
from motiflux.cluster.shards.server import Served
from motiflux.conditions import Condition
from motiflux.errors import OutputError
from motiflux.request.deadline import Deadline, OutOfTimeError

MOST_KEPT = 4
"""Sets that are kept for later calls: each has a folder, and rows in the object store."""


@dataclass(slots=True, eq=False)
class _Set:
    judged: Judged
    served: Served | None = None
    """The graph with the kinds that servers wrote; None before a call has asked for it."""
    ready: bool = False
    failed: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: list[weakref.ref[Judged]] = field(default_factory=list)

    def own(self) -> Judged:
        """Return conditions that a call holds for as long as it needs their folder."""
        found = replace(self.judged)
        self.users.append(weakref.ref(found))
        return found

    @property
    def used(self) -> bool:
        self.users = [one for one in self.users if one() is not None]
        return bool(self.users)


class JudgedSets:
    """What servers have judged, by conditions, in the order of their last use. Threads may call at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sets: dict[tuple[Condition, ...], _Set] = {}
        self._folders: list[str] = []
        """Of sets that are kept no more; servers that were late may have written into some."""

    def judged(
        self,
        folder: str,
        conditions: tuple[Condition, ...],
        ask: Callable[[Judged], object],
        deadline: Deadline,
    ) -> Judged:
        """Return judged conditions, which `ask` has servers judge unless another call has.

        The files stay for as long as somebody holds the returned object, and for some calls more.

        Parameters
        ----------
        folder
            The folder of the graph.

        Raises
        ------
        OutputError
            It cannot be written to.
        OutOfTimeError
            Time was up while another call had them judged.
        """
        key = tuple(sorted(conditions, key=repr))  # equal sets have one folder
        while True:
            with self._lock:
                found = self._sets.pop(key, None)
                if found is None:
                    found = _Set(Judged(str(Path(folder, f"judged-{uuid.uuid4().hex}")), key))
                self._sets[key] = found
                own = found.own()
                self._delete_oldest()
            left = deadline.left()
            if not found.lock.acquire(timeout=-1 if left is None else min(left, threading.TIMEOUT_MAX)):
                raise OutOfTimeError
            try:
                if not found.failed:
                    self._ask(found, key, own, ask)
                    return own
            finally:
                found.lock.release()

    def _ask(
        self, found: _Set, key: tuple[Condition, ...], own: Judged, ask: Callable[[Judged], object]
    ) -> None:
        """Have servers judge conditions unless they have done so."""
        if found.ready:
            return
        try:
            _make(own.folder)
            ask(own)
        except BaseException:
            found.failed = True  # a call that waits for it begins anew
            with self._lock:
                if self._sets.get(key) is found:
                    del self._sets[key]
                self._delete(own.folder)
            raise
        found.ready = True

    def served(self, judged: Judged, make: Callable[[Judged], Served]) -> Served:
        """Return the graph with the kinds of judged conditions, which is made once: calls share its rows."""
        with self._lock:
            found = self._sets.get(judged.conditions)
        if found is None or found.judged.folder != judged.folder:
            return make(judged)
        with found.lock:
            if found.served is None:
                found.served = make(found.judged)
            return replace(found.served, judged=judged)

    def close(self) -> None:
        """Delete all files."""
        with self._lock:
            for one in self._sets.values():
                self._delete(one.judged.folder)
            self._sets.clear()
            for folder in self._folders:
                shutil.rmtree(folder, ignore_errors=True)

    def _delete_oldest(self) -> None:
        """Delete the sets beyond the last few that no call uses."""
        for key in list(self._sets)[:-MOST_KEPT]:
            if not self._sets[key].used:
                self._delete(self._sets.pop(key).judged.folder)

    def _delete(self, folder: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        if Path(folder).exists():
            self._folders.append(folder)


def _make(folder: str) -> None:
    try:
        Path(folder).mkdir()
    except OSError as error:
        raise OutputError(f"{folder}: {error}") from error
