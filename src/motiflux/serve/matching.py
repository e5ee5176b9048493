"""Monitors of a service: records are applied, and matches become alerts."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.api.counting import count as count_matches
from motiflux.errors import ArgumentError, CountOverflowError, StreamError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query, as_query
from motiflux.serve.batch import ATTRIBUTES, DST, INSERT, LABEL, SRC, TIME, Batch, Numbered
from motiflux.serve.log.group import Alert, PatternRow
from motiflux.serve.settings.parts import MonitorSettings, StreamSettings
from motiflux.serve.slow import LeftOut
from motiflux.serve.watched import Bucket, Watched, parts_of
from motiflux.stream.checkpoint import Checkpoint
from motiflux.stream.copies.facets import edge_conditions
from motiflux.stream.matching.delta import Changes, Delta, PatternDelta
from motiflux.stream.matching.match_rows import MatchRows
from motiflux.stream.monitor import Monitor
from motiflux.stream.sinks.json_values import json_value
from motiflux.stream.updates import Updates
from motiflux.times.iso import format_moment
from motiflux.types import Semantics, Symmetry

_SIZE_SECONDS = 1.0
"""Between two looks at the sizes of a graph: for its edges, updates that were put off are written."""
_MOST_SHOWN = 1_000_000
"""Edges of a graph whose parts are shown: to copy as many takes about a second."""


@dataclass
class Outcome:
    """What came of records.

    Parameters
    ----------
    refused
        Records that a monitor refused, with its name and reason.
    changed
        Patterns whose counts changed.
    paused
        Patterns that are not matched any more, with the reason.
    """

    alerts: list[Alert] = field(default_factory=list)
    refused: list[tuple[Numbered, str]] = field(default_factory=list)
    changed: dict[int, PatternRow] = field(default_factory=dict)
    paused: list[tuple[PatternRow, str]] = field(default_factory=list)

    def is_refused(self, record: Numbered) -> bool:
        """Whether a record was refused last."""
        return bool(self.refused) and self.refused[-1][0].number == record.number


def new_monitor(settings: MonitorSettings, graph: Graph) -> Monitor:
    """Return a monitor that begins with a graph.

    Raises
    ------
    ArgumentError
        The graph has no times where its edges are to have some.
    """
    return Monitor(
        graph,
        matches=True,
        window=settings.window,
        edge_times=settings.graph_times,
        semantics=Semantics(settings.semantics).value,
        symmetry=Symmetry(settings.symmetry).value,
        duplicates=settings.duplicates,
        attributes=settings.attributes,
        device=settings.device,
    )


class LiveMonitor:
    """A monitor with the patterns that the service watches on it.

    Parameters
    ----------
    settings, stream
        Its settings, and those of the stream.
    update_seconds
        What one update may take.
    alert_ids
        What the ids of alerts begin with.
    checkpoint
        The file to go on from; None: the graph is empty.

    Raises
    ------
    FormatError
        The file is damaged.
    """

    def __init__(
        self,
        settings: MonitorSettings,
        stream: StreamSettings,
        update_seconds: float,
        alert_ids: str,
        checkpoint: Path | None = None,
    ) -> None:
        self.settings = settings
        self._sources = None if settings.sources is None else set(settings.sources)
        self._stream = stream
        self._seconds = update_seconds
        self._alert_ids = alert_ids
        self.watched: list[Watched] = []
        self.vertices = self.edges = 0
        """Sizes of the graph, about a second ago."""
        self._sized_at = 0.0
        self.engine, self.reason = "cpu", ""
        """What matched the last records, and why."""
        if checkpoint is None:
            self.monitor = new_monitor(settings, Graph.from_edges([], directed=stream.directed))
        else:
            self.monitor = Monitor.load(checkpoint, device=settings.device)
            for pattern in self.monitor.patterns:
                self.monitor.drop(pattern)

    def checkpoint(self) -> Checkpoint:
        """Return a copy of the monitor's state, which can be written later."""
        return self.monitor._alone(lambda: self.monitor._checkpoint(None))

    def add(self, row: PatternRow) -> None:
        """Watch a pattern from now on.

        Raises
        ------
        ArgumentError, PatternError
            The monitor cannot match it, or matches it already.
        """
        wanted = as_query(row.settings.pattern)
        patterns = [wanted] if isinstance(wanted, Pattern) else wanted.patterns
        if not self.settings.attributes and any(one.comparisons or edge_conditions(one) for one in patterns):
            expected = "true for a monitor of patterns with conditions on edges or comparisons"
            raise ArgumentError("attributes", expected, False)
        self.watched.append(Watched(row, wanted, self._matched(wanted), Bucket(row.settings.rate)))

    @property
    def searches(self) -> int:
        """The number of patterns that the monitor matches."""
        return sum(len(one.parts) for one in self.watched)

    def searches_for(self, pattern: str) -> int:
        """Return how many patterns the monitor would match for a pattern or query.

        Raises
        ------
        ArgumentError
            It cannot match the query.
        """
        return len(parts_of(as_query(pattern), self.settings, directed=self._stream.directed))

    def _matched(self, wanted: Pattern | Query) -> tuple[Pattern, ...]:
        """Have the monitor match a pattern or query; return the patterns that it matches for it."""
        before = len(self.monitor.patterns)
        self.monitor.add(wanted, matches=True)
        return tuple(self.monitor.patterns[before:])

    def drop(self, row: PatternRow) -> None:
        """Stop watching a pattern, if it is watched."""
        for watched in [one for one in self.watched if one.row.id == row.id]:
            self._drop(watched)

    def _drop(self, watched: Watched) -> None:
        self.monitor.drop(watched.pattern)
        self.watched.remove(watched)

    def _add_again(self, watched: Watched) -> None:
        watched.parts = self._matched(watched.pattern)
        self.watched.append(watched)

    def snapshot(self) -> Graph:
        """Return the graph as it is now."""
        return self.monitor.snapshot()

    def count(self, pattern: str, seconds: float, graph: Graph | None = None) -> int:
        """Return the number of matches that are there.

        Parameters
        ----------
        graph
            Of an earlier moment, which any thread may count in; None: as it is now.

        Raises
        ------
        ArgumentError
            Counting takes longer.
        """
        graph = self.snapshot() if graph is None else graph
        if not graph.num_edges:  # nor attributes of edges, which a condition may name
            return 0
        found = count_matches(
            graph,
            as_query(pattern),
            semantics=Semantics(self.settings.semantics),
            symmetry=Symmetry(self.settings.symmetry),
            device=self.settings.device,
            threads=1,
            timeout=seconds,
        )
        if not found.complete:
            raise ArgumentError("backfill", f"a count within {seconds:g} seconds", "one that takes longer")
        return int(found)

    def surroundings(self) -> Graph:
        """Return the graph as it is now, for pictures.

        Raises
        ------
        ArgumentError
            It is so large that records would wait for long.
        """
        if self.monitor.num_edges > _MOST_SHOWN:
            raise ArgumentError(
                "neighbourhood", f"a graph of at most {_MOST_SHOWN} edges", self.monitor.num_edges
            )
        return self.snapshot()

    def replay(self, records: Batch) -> None:
        """Apply records again whose matches are known."""
        watched, self.watched = self.watched, []
        for one in watched:
            self.monitor.drop(one.pattern)
        self._apply(self._taken(records), 0, Outcome(), None)

    def apply(self, records: Batch, arrival: int, outcome: Outcome) -> None:
        """Apply records, and add what came of it to the outcome."""
        self._apply(self._taken(records), arrival, outcome, self._seconds)

    def _taken(self, records: Batch) -> Batch:
        """Return the records of its sources."""
        return records if self._sources is None else records.of_sources(self._sources)

    def _apply(self, records: Batch, arrival: int, outcome: Outcome, seconds: float | None) -> None:
        """Apply records; those that cannot be applied together are divided."""
        left = records.pieces()[::-1]
        while left:
            part = left.pop()
            delta = self._tried(part, seconds, outcome)
            if delta is not None and delta.complete:
                self._tell(delta, part, arrival, outcome)
            elif len(part) > 1:
                left += reversed(_divided(part, None if delta is None else delta.reached))
            elif not outcome.is_refused(part[0]):
                self._without_slow(part, arrival, outcome, delta)

    def _tried(self, records: Batch, seconds: float | None, outcome: Outcome | None = None) -> Delta | None:
        """Return the changes by records; None if they are refused, or a count is too large."""
        try:
            return self.monitor.apply(self._updates(records), timeout=seconds)
        except StreamError as error:
            if len(records) == 1 and outcome is not None:
                outcome.refused.append((records[0], f"monitor {self.settings.name}: {error}"))
        except CountOverflowError:
            pass
        return None

    def _updates(self, records: Batch) -> Updates:
        keeps = self.settings.attributes
        timed = keeps or self.settings.window is not None
        return records.updates(self._stream, times=timed, attributes=keeps)

    def _without_slow(self, records: Batch, arrival: int, outcome: Outcome, delta: Delta | None) -> None:
        """Apply one record that takes too long, and pause the patterns that are to blame.

        Parameters
        ----------
        delta
            Of the try that took too long; None: a count was too large.
        """
        what = "has 2**128 matches" if delta is None else f"takes longer than {self._seconds:g} s"
        reason = f"record {records[0].number} {what}"
        slow = LeftOut(self.watched, self._drop, self._add_again, lambda: self._tried(records, self._seconds))
        delta = slow.search(delta)
        outcome.paused += [(one.row, reason) for one in slow.patterns]
        if delta is None:
            self._apply(records, arrival, outcome, None)
        else:
            self._tell(delta, records, arrival, outcome)

    def _tell(self, delta: Delta, records: Batch, arrival: int, outcome: Outcome) -> None:
        """Count the matches of a call, and make alerts of them."""
        self.engine, self.reason = delta.engine, delta.reason
        if (now := time.monotonic()) - self._sized_at >= _SIZE_SECONDS:
            self._sized_at = now
            self.vertices, self.edges = self.monitor.num_vertices, self.monitor.num_edges
        if not isinstance(delta.patterns, Changes) or not delta.patterns.any():
            return
        alerts: list[tuple[int, Alert]] = []
        for watched in self.watched:
            left: dict[int, int] = {}
            for at, part in enumerate(watched.parts):
                change = delta.patterns[part]
                if change.positive or change.negative:
                    watched.row.positive += change.positive
                    watched.row.negative += change.negative
                    outcome.changed[watched.row.id] = watched.row
                    place = at if isinstance(watched.pattern, Query) else None
                    alerts += self._alerts(watched, place, change, delta.patterns, records, arrival, left)
        alerts.sort(key=lambda one: one[0])
        outcome.alerts += [alert for _, alert in alerts]

    def _alerts(
        self,
        watched: Watched,
        part: int | None,
        change: PatternDelta,
        changes: Changes,
        records: Batch,
        arrival: int,
        left: dict[int, int],
    ) -> list[tuple[int, Alert]]:
        """Return alerts with the position of their record, within the limits of the pattern.

        Parameters
        ----------
        part
            The place of the pattern among those of a query.
        left
            How many alerts of an update there may still be, by update, where there were some.
        """
        assert change.rows is not None
        row, rows = watched.row, change.rows
        wanted = {"appear": (True,), "vanish": (False,), "both": (True, False)}[row.settings.on]
        chosen: list[NDArray[np.int64]] = []
        begin = 0
        told = [positive in wanted for positive in rows.runs.positive.tolist()]
        for update, end, is_told in zip(
            rows.runs.updates.tolist(), rows.runs.ends.tolist(), told, strict=True
        ):
            if is_told:
                allowed = min(end - begin, left.get(update, row.settings.limit))
                taken = watched.bucket.take(allowed, arrival)
                left[update] = left.get(update, row.settings.limit) - taken
                row.suppressed += end - begin - taken
                chosen.append(np.arange(begin, begin + taken))
            begin = end
        places = np.concatenate(chosen) if chosen else np.empty(0, np.int64)
        if not len(places):
            return []
        row.alerts += len(places)
        chosen_rows = MatchRows(rows.vertices[places], rows.updates[places], rows.positive[places])
        names = changes.names(chosen_rows.vertices).tolist()
        edges = self._edges(change.pattern, chosen_rows, changes)
        keys = [vertex.name or f"v{at}" for at, vertex in enumerate(change.pattern.vertices)]
        signs = chosen_rows.positive.tolist()
        alerts = []
        for at, update in enumerate(chosen_rows.updates.tolist()):
            match = dict(zip(keys, names[at], strict=True))
            of_edges = {
                edge: {name: values[at] for name, values in table.items()} for edge, table in edges.items()
            }
            alerts.append(
                (
                    update,
                    self._alert(row, part, records[update], 1 if signs[at] else -1, match, of_edges, arrival),
                )
            )
        return alerts

    def _edges(self, pattern: Pattern, rows: MatchRows, changes: Changes) -> dict[str, dict[str, list[Any]]]:
        if not self.settings.attributes or changes.edges is None:
            return {}
        found: dict[str, dict[str, list[Any]]] = {}
        for edge, table in changes.edges(pattern, rows).items():
            found[edge] = {name: values.to_list() for name, values in table.items()}
        return found

    def _alert(
        self,
        row: PatternRow,
        part: int | None,
        numbered: Numbered,
        sign: int,
        match: dict[str, Any],
        edges: dict[str, dict[str, Any]],
        arrival: int,
    ) -> Alert:
        identity = self._alert_ids + alert_id(row.id, numbered.number, sign, match.values(), part)
        body: dict[str, Any] = {
            "id": identity,
            "pattern": row.settings.name,
            "sign": sign,
            "number": numbered.number,
            "source": numbered.source,
            "time": _moment(numbered.record[TIME]),
            "arrival": _moment(arrival),
            "match": match,
            "update": self._update(numbered),
        }
        if part is not None:
            body["part"] = part
        if edges:
            body["edges"] = {
                edge: {name: json_value(value, name) for name, value in values.items()}
                for edge, values in edges.items()
            }
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return Alert(identity, row.settings.name, row.settings.sinks, text)

    def _update(self, numbered: Numbered) -> dict[str, Any]:
        record = numbered.record
        facts = {"op": "+" if record[INSERT] else "-", "src": record[SRC], "dst": record[DST]}
        if record[LABEL] is not None:
            facts["label"] = record[LABEL]
        for name, value in zip(self._stream.attributes, record[ATTRIBUTES:], strict=True):
            if value is not None:
                facts[name] = value
        return facts


def _divided(records: Batch, reached: int | None) -> list[Batch]:
    """Return the parts to apply one after another of records that take too long together.

    Parameters
    ----------
    reached
        The position of the record at which the time was up, if that is known.
    """
    if reached is None:
        half = len(records) // 2
        ends = [half]
    else:
        ends = [reached, reached + 1]
    cuts = [0, *ends, len(records)]
    return [records.part(first, end) for first, end in pairwise(cuts) if first < end]


def alert_id(pattern: int, number: int, sign: int, vertices: Iterable[Any], part: int | None = None) -> str:
    """Return the id of a match within a log: the same whenever it is found with the same record.

    Parameters
    ----------
    part
        The place of the pattern among those of a query: two of them may have the same vertices.
    """
    place = [] if part is None else [[part]]
    text = json.dumps([sign, *place, *vertices], ensure_ascii=False).encode("utf-8", "surrogatepass")
    return f"{pattern}-{number}-{hashlib.blake2b(text, digest_size=8).hexdigest()}"


@lru_cache(256)
def _moment(nanoseconds: int) -> str:
    return format_moment(nanoseconds, utc=True)
