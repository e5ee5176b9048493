"""What a restart does: monitors from a checkpoint, then the tail of the log."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from motiflux._native import Records
from motiflux.errors import FormatError
from motiflux.serve.batch import Batch, decode
from motiflux.serve.initial import initial_file, keep_initial
from motiflux.serve.log.group import CheckpointRow, LogRow
from motiflux.serve.log.store import Store
from motiflux.serve.matching import LiveMonitor
from motiflux.serve.ordering import BEGIN, Late, Ordering, ordering_of
from motiflux.serve.settings.parts import MonitorSettings
from motiflux.serve.settings.read import Settings

LOG = logging.getLogger("motiflux.serve.recovery")

_FIXED = ("directed", "ids", "labels", "vertex_labels", "attributes")
"""Settings of the stream that cannot change."""
_BETWEEN_STOPS = ("lateness", "idle", "late", "ahead")
"""Settings that can change after a stop, when no records are to be applied again."""
_NOT_KEPT = ("device", "graph", "graph_times")
"""Settings of monitors that can change; the graph is read when the monitor begins, and never again."""
_PIECE = 4096


def order_records(
    ordering: Ordering, first: int, source: str, arrival: int, records: Records
) -> tuple[Batch, list[Late]]:
    """Put the records of one row of the log in order; return those to apply now, and those refused."""
    if source == BEGIN:
        ordering.begin(arrival)
    late = ordering.put(first, source, records, arrival)
    return ordering.release(arrival), late


class Recovery:
    """Brings monitors and ordering to the state of the log.

    Parameters
    ----------
    settings, store
        Of the service, and its log.

    Raises
    ------
    FormatError
        The state is of another configuration, or damaged.
    """

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._check_stream()
        self._since = self._settle_monitors()
        self.replayed = 0
        """Records that were applied again."""
        self._stream = settings.stream
        self.ordering = ordering_of(self._stream)
        self.monitors: dict[str, LiveMonitor] = {}
        self.checkpoint: CheckpointRow | None = None
        """The one that was read."""
        self._load()
        self._replay()
        self.store_order()
        self._drop_initial()

    def _check_stream(self) -> None:
        facts = json.loads(json.dumps(asdict(self._settings.stream)))
        fixed = {name: facts[name] for name in _FIXED}
        known = self._store.meta("stream")
        if known is None:
            self._store.set_meta("stream", json.dumps(fixed))
            return
        earlier = json.loads(known)
        for name in _FIXED:
            if json.dumps(earlier[name]) != json.dumps(fixed[name]):  # records have attributes in their order
                raise FormatError(
                    self._store.path,
                    f"expected stream.{name} = {earlier[name]!r}, which the log was begun with, "
                    f"found {fixed[name]!r}; another folder (service.state) begins anew",
                )

    def _settle_monitors(self) -> dict[str, int]:
        """Return the row of the log since which each monitor takes records."""
        known, found = self._store.monitors(), {}
        for settings in self._settings.monitors:
            facts = asdict(settings)
            for name in _NOT_KEPT:
                del facts[name]
            facts = json.loads(json.dumps(facts))
            if settings.name not in known:
                keep_initial(settings, self._settings.stream, self._store.folder)
            earlier, since = known.get(settings.name, (facts, self._store.next_row - 1))
            for name, value in facts.items():
                if earlier.get(name) != value:
                    raise FormatError(
                        self._store.path,
                        f"expected {name} = {earlier.get(name)!r} of the monitor {settings.name!r}, which it "
                        f"was begun with, found {value!r}; another name begins an empty monitor",
                    )
            found[settings.name] = facts, since
        if found != known:
            self._store.set_monitors(found)
        return {name: since for name, (_, since) in found.items()}

    def _load(self) -> None:
        """Load the latest checkpoint that is whole; without any, monitors are empty."""
        faults = []
        for checkpoint in self._store.checkpoints():
            try:
                self.monitors = self._loaded(checkpoint)
            except FormatError as error:
                LOG.warning("a checkpoint cannot be read; trying an earlier one: %s", error)
                faults.append(error)
                continue
            self.checkpoint = checkpoint
            return
        if faults and self._first_row() > 1:
            raise faults[0]
        self.monitors = {one.name: self._monitor(one) for one in self._settings.monitors}

    def _drop_initial(self) -> None:
        """Remove first states of monitors that the log could not go on from any more."""
        first = self._first_row()
        for name, since in self._since.items():
            if first > since + 1:
                initial_file(self._store.folder, name).unlink(missing_ok=True)

    def _first_row(self) -> int:
        with self._store.reader() as reader:
            return int(reader.execute("SELECT min(row) FROM log").fetchone()[0] or self._store.next_row)

    def _loaded(self, checkpoint: CheckpointRow) -> dict[str, LiveMonitor]:
        found = {}
        for settings in self._settings.monitors:
            begins_later = self._since[settings.name] >= checkpoint.row
            # An earlier monitor of this name may have a file.
            file = None if begins_later else checkpoint.files.get(settings.name)
            if file is None and not begins_later:
                missing = f"expected a checkpoint of the monitor {settings.name!r}"
                raise FormatError(self._store.path, missing)
            found[settings.name] = self._monitor(
                settings, None if file is None else self._store.folder / file
            )
        return found

    def _monitor(self, settings: MonitorSettings, file: Path | None = None) -> LiveMonitor:
        seconds = self._settings.limits.update_seconds
        if file is None:
            initial = initial_file(self._store.folder, settings.name)
            file = initial if initial.exists() else None
        return LiveMonitor(settings, self._settings.stream, seconds, self._store.alert_ids, file)

    def _replay(self) -> None:
        begin = 0
        if self.checkpoint is not None:
            begin = self.checkpoint.row
            self.ordering.restore(self.checkpoint.ordering)
        if len(self.ordering) or self._store.next_row > begin + 1:
            self._keep_order()
        pending: list[Batch] = []
        waiting = 0
        for row, logged in enumerate(self._store.tail(begin), begin + 1):
            if released := self._released(logged):
                pending.append(released)
                waiting += len(released)
            self.replayed += logged.count
            if waiting >= _PIECE or row in self._since.values():
                self._apply(pending, row)
                pending, waiting = [], 0
        self._apply(pending, self._store.next_row)

    def _keep_order(self) -> None:
        """Have records applied again in the order of before; a default of before stays until the next stop.

        Raises
        ------
        FormatError
            The configuration has another order.
        """
        known = json.loads(self._store.meta("order") or "null")
        if known is None or known == self._order_facts():
            return
        if self._stream.sets_ahead or known != {**self._order_facts(), "ahead": known["ahead"]}:
            raise self._order_fault()
        self._stream = replace(self._stream, ahead=known["ahead"])
        ordering = ordering_of(self._stream)
        ordering.restore(self.ordering.state())
        self.ordering = ordering

    def _released(self, row: LogRow) -> Batch:
        records = decode(row.records, self._stream)
        released, _ = order_records(self.ordering, row.first, row.source, row.arrival, records)
        return released

    def _apply(self, pending: list[Batch], row: int) -> None:
        """Apply the records up to a row of the log to the monitors that were there then."""
        records = Batch.joined(pending)
        for name, monitor in self.monitors.items():
            if self._since[name] < row and len(records):
                monitor.replay(records)

    def _order_facts(self) -> dict[str, Any]:
        facts = asdict(self._stream)
        return {name: facts[name] for name in _BETWEEN_STOPS}

    def store_order(self) -> None:
        """Note the settings by which records are put in order."""
        self._store.set_meta("order", json.dumps(self._order_facts()))

    def _order_fault(self) -> FormatError:
        known = self._store.meta("order")
        return FormatError(
            self._store.path,
            f"expected the settings {known} of the stream: records have to be applied again by them; start "
            "with these, and stop the service before changing them",
        )
