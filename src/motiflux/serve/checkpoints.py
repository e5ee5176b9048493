"""Checkpoints: monitors are copied between two groups, and written by a thread of its own."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from motiflux.serve.figures import Figures
from motiflux.serve.log.committer import Committer
from motiflux.serve.log.group import CheckpointRow, Group
from motiflux.serve.log.store import Store
from motiflux.serve.matching import LiveMonitor
from motiflux.serve.settings.parts import LogSettings
from motiflux.stream.checkpoint import Checkpoint

LOG = logging.getLogger("motiflux.serve.checkpoints")

_RETRY = 30 * 10**9


class Moment(NamedTuple):
    """The state between two groups.

    Parameters
    ----------
    number, row
        Of the next record, and of the last row of the log that was handed to the committer.
    ordering
        The state of the records that wait.
    """

    number: int
    row: int
    arrival: int
    monitors: Mapping[str, LiveMonitor]
    ordering: str


class _Copied(NamedTuple):
    """The state at one moment, which is not written yet."""

    row: CheckpointRow
    monitors: dict[str, Checkpoint]


class Checkpoints:
    """Takes checkpoints. Only the engine's thread calls it.

    Parameters
    ----------
    settings, store, committer, figures
        Of the service.
    earlier
        The checkpoint that the engine began with.
    arrival
        The time of its begin.
    """

    def __init__(
        self,
        settings: LogSettings,
        store: Store,
        committer: Committer,
        figures: Figures,
        earlier: CheckpointRow | None,
        arrival: int,
    ) -> None:
        self._settings, self._store = settings, store
        self._committer, self._figures = committer, figures
        self._number, self._row = (0, 0) if earlier is None else (earlier.number, earlier.row)
        self._due, self._not_before = arrival + settings.checkpoint_every, 0
        self._writer: threading.Thread | None = None

    def is_due(self, number: int, arrival: int) -> bool:
        """Return whether it is time for one; `number`: of the next record."""
        if self._writer is not None or number <= self._number or arrival < self._not_before:
            return False
        return number - self._number >= self._settings.checkpoint_updates or arrival >= self._due

    def begin(self, now: Moment, call: Callable[[Callable[[], None]], object]) -> None:
        """Copy the state, and have it written while further records are applied.

        Parameters
        ----------
        call
            Has a function called between two groups.
        """
        began, arrival = time.perf_counter(), now.arrival
        copied = self._copied(now)
        self._figures.checkpoint_hold.add(time.perf_counter() - began)
        if copied is None:
            self._due = arrival + self._settings.checkpoint_every
            return

        def write() -> None:
            fault = self._written(copied)

            def end() -> None:
                self._writer = None
                self._note(copied.row, fault, began)

            call(end)

        self._writer = threading.Thread(target=write, name="motiflux-checkpoint", daemon=True)
        self._writer.start()

    def take(self, now: Moment) -> None:
        """Take the last one: what is being written is awaited, and no further records are applied."""
        began = time.perf_counter()
        self._committer.flush()  # it fails if the log cannot be written, whether there are records or not
        if self._writer is not None:
            self._writer.join()
            self._writer = None
        if (copied := self._copied(now)) is not None:
            self._note(copied.row, self._written(copied), began)
            self._committer.flush()

    def _copied(self, now: Moment) -> _Copied | None:
        """Return a copy of the state; None if the log has no rows behind the last checkpoint.

        The committer may still have to write rows of before: it names the checkpoint after them.
        """
        if now.row <= self._row:
            return None
        files = {name: f"{name}-{now.row}.mfg" for name in now.monitors}
        copies = {name: monitor.checkpoint() for name, monitor in now.monitors.items()}
        return _Copied(CheckpointRow(now.number, now.row, now.arrival, files, now.ordering), copies)

    def _written(self, copied: _Copied) -> Exception | None:
        """Write the files; return why they could not be written."""
        try:
            for name, monitor in copied.monitors.items():
                monitor.write(self._store.folder / copied.row.files[name])
        except Exception as error:  # noqa: BLE001 - it is told, and the next one is tried later
            return error
        return None

    def _note(self, row: CheckpointRow, fault: Exception | None, began: float) -> None:
        """Have the log name the files, which are complete on disk."""
        if fault is not None:
            LOG.warning("no checkpoint can be written now: %s", fault)
            self._figures.trouble["checkpoint"] = str(fault)
            self._not_before = row.arrival + _RETRY
            return
        self._figures.trouble.pop("checkpoint", None)
        self._number, self._row = row.number, row.row
        self._due = row.arrival + self._settings.checkpoint_every
        self._figures.checkpoint_time.add(time.perf_counter() - began)
        self._committer.submit(
            Group(checkpoint=row, arrival=row.arrival, done=[partial(self._remove_files, row.row)])
        )
        LOG.info("checkpoint after record %d, row %d", row.number, row.row)

    def _remove_files(self, row: int) -> None:
        """Remove checkpoints up to a row that the log does not need; a later one may not be named yet."""
        with self._store.reader() as reader:
            kept = self._store.checkpoint_files(reader, 2)
        for file in self._store.folder.glob("*-*.mfg"):
            if file.name not in kept and _row_of(file) <= row:
                with contextlib.suppress(OSError):
                    file.unlink()


def _row_of(file: Path) -> int:
    """Return the row of the log in the name of a checkpoint."""
    number = file.stem.rpartition("-")[2]
    return int(number) if number.isdigit() else 0
