"""The database of the log: what is written, and what a restart and the page read."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from motiflux.errors import FormatError
from motiflux.serve.log.group import CheckpointRow, Group, LogRow, PatternRow
from motiflux.serve.log.schema import ALERT_IDS, connect, prepare, unusable
from motiflux.serve.settings.parts import PatternSettings

FILE = "log.sqlite"
_PIECE = 2000
"""Rows that are dropped in one transaction."""
_REQUESTS_KEPT = 86_400 * 10**9
_VACUUM_PAGES = 256


class Store:
    """The database of a log. One thread writes; `reader` gives connections for others.

    Parameters
    ----------
    folder
        The folder of the state, which is made if it is missing.

    Raises
    ------
    FormatError
        It cannot be opened.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = connect(self.path)
        except (OSError, sqlite3.Error) as error:
            raise unusable(self.path, error) from None
        self.folder = folder
        prepare(self._connection, self.path)
        self.next_alert = 1 + max(
            self._number("SELECT max(number) FROM outbox"), self._number("SELECT max(delivered) FROM sinks")
        )
        self.next_row = 1 + max(
            self._number("SELECT max(row) FROM log"), self._number("SELECT max(row) FROM checkpoints")
        )

    def close(self) -> None:
        """Close the connection of the writer."""
        self._connection.close()

    def reader(self) -> contextlib.closing[sqlite3.Connection]:
        """Return a connection that only reads; it closes itself as a context manager."""
        connection = connect(self.path)
        connection.execute("PRAGMA query_only=ON")
        return contextlib.closing(connection)

    def _number(self, statement: str) -> int:
        return int(self._connection.execute(statement).fetchone()[0] or 0)

    # What a restart reads.

    def meta(self, key: str) -> str | None:
        """Return a fact about the log."""
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def identity(self) -> str:
        """Return what tells the log from all others; any thread may ask."""
        with self.reader() as reader:
            return str(reader.execute("SELECT value FROM meta WHERE key = 'log'").fetchone()[0])

    @property
    def alert_ids(self) -> str:
        """What the ids of alerts begin with."""
        return self.meta(ALERT_IDS) or ""

    def set_meta(self, key: str, value: str) -> None:
        """Keep a fact about the log."""
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def positions(self) -> dict[str, Any]:
        """Return the position of each source."""
        rows = self._connection.execute("SELECT source, position FROM positions")
        return {source: json.loads(position) for source, position in rows}

    def monitors(self) -> dict[str, tuple[dict[str, Any], int]]:
        """Return the settings of monitors, and the row of the log since which each takes records."""
        rows = self._connection.execute("SELECT name, settings, since FROM monitors")
        return {name: (json.loads(settings), since) for name, settings, since in rows}

    def set_monitors(self, monitors: dict[str, tuple[dict[str, Any], int]]) -> None:
        """Replace the monitors."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("DELETE FROM monitors")
        rows = [(name, json.dumps(settings), since) for name, (settings, since) in monitors.items()]
        self._connection.executemany("INSERT INTO monitors VALUES (?, ?, ?)", rows)
        self._connection.execute("COMMIT")

    def patterns(self) -> list[PatternRow]:
        """Return all patterns, those that were dropped too."""
        columns = "id, settings, origin, state, reason, since, base, positive, negative, alerts, suppressed"
        rows = self._connection.execute(f"SELECT {columns} FROM patterns ORDER BY id")
        return [_pattern_row(row) for row in rows]

    def checkpoints(self) -> list[CheckpointRow]:
        """Return the checkpoints, the latest first."""
        rows = self._connection.execute(
            "SELECT number, row, arrival, files, ordering FROM checkpoints ORDER BY row DESC"
        )
        return [
            CheckpointRow(number, row, arrival, json.loads(files), ordering)
            for number, row, arrival, files, ordering in rows
        ]

    def tail(self, row: int) -> Iterator[LogRow]:
        """Yield the records behind a row of the log.

        Raises
        ------
        FormatError
            Rows are missing.
        """
        columns = "row, first, count, arrival, source, records"
        expected = row + 1
        for number, *rest in self._connection.execute(
            f"SELECT {columns} FROM log WHERE row > ? ORDER BY row", (row,)
        ):
            if number != expected:
                raise FormatError(self.path, f"expected row {expected} of the log, found row {number}")
            expected += 1
            yield LogRow(*rest)

    def last_row(self) -> tuple[int, int]:
        """Return the number of the next record, and the time of the last arrival."""
        number = arrival = 0
        for statement in (
            "SELECT first + count, arrival FROM log ORDER BY row DESC LIMIT 1",
            "SELECT number, arrival FROM checkpoints ORDER BY row DESC LIMIT 1",
        ):
            found = self._connection.execute(statement).fetchone()
            if found is not None:
                number, arrival = max(number, found[0]), max(arrival, found[1])
        return number, arrival

    def sinks(self) -> dict[str, tuple[int, Any]]:
        """Return how far each sink is, and its state."""
        rows = self._connection.execute("SELECT name, delivered, state FROM sinks")
        return {name: (delivered, json.loads(state or "null")) for name, delivered, state in rows}

    def set_sinks(self, names: Sequence[str]) -> None:
        """Have these sinks and no others; new ones begin with the next alert."""
        self._connection.execute("BEGIN IMMEDIATE")
        for name in set(self.sinks()) - set(names):
            self._connection.execute("DELETE FROM sinks WHERE name = ?", (name,))
        rows = [(name, self.next_alert - 1) for name in names]
        self._connection.executemany("INSERT OR IGNORE INTO sinks VALUES (?, ?, NULL)", rows)
        self._connection.execute("COMMIT")

    # What the committer writes.

    def write(self, groups: Sequence[Group], marks: dict[str, tuple[int, Any]]) -> None:
        """Write groups and positions of sinks in one transaction; after an error none of it is there."""
        execute = self._connection.execute
        next_row, next_alert = self.next_row, self.next_alert
        execute("BEGIN IMMEDIATE")
        try:
            for group in groups:
                self._write_group(group)
            for name, (delivered, state) in marks.items():
                text = None if state is None else json.dumps(state)
                execute("UPDATE sinks SET delivered = ?, state = ? WHERE name = ?", (delivered, text, name))
            execute("COMMIT")
        except BaseException:
            self.next_row, self.next_alert = next_row, next_alert
            if self._connection.in_transaction:
                execute("ROLLBACK")
            raise

    def _write_group(self, group: Group) -> None:
        many = self._connection.executemany
        rows = [
            (self.next_row + at, one.first, one.count, one.arrival, one.source, one.records)
            for at, one in enumerate(group.rows)
        ]
        self.next_row += len(rows)
        many("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)", rows)
        alerts = []
        for alert in group.alerts:
            sinks = None if alert.sinks is None else f" {' '.join(alert.sinks)} "
            alerts.append((self.next_alert, alert.id, alert.pattern, group.arrival, sinks, alert.body))
            self.next_alert += 1
        many("INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?)", alerts)
        dead = [(one.arrival, one.source, one.place, one.record, one.reason) for one in group.dead]
        many("INSERT INTO dead (arrival, source, place, record, reason) VALUES (?, ?, ?, ?, ?)", dead)
        positions = [(source, json.dumps(position)) for source, position in group.positions.items()]
        many("INSERT OR REPLACE INTO positions VALUES (?, ?)", positions)
        many("DELETE FROM patterns WHERE id = ?", [(one,) for one in group.forgotten])
        patterns = [_row_of_pattern(one) for one in group.patterns.values()]
        many("INSERT OR REPLACE INTO patterns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", patterns)
        requests = [(key, group.arrival, json.dumps(answer)) for key, answer in group.requests]
        many("INSERT OR IGNORE INTO requests VALUES (?, ?, ?)", requests)
        if (made := group.checkpoint) is not None:
            values = (made.row, made.number, made.arrival, json.dumps(made.files), made.ordering)
            self._connection.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?)", values)

    def drop_checkpoints(self, but: int = 2) -> None:
        """Forget all but the latest checkpoints."""
        piece = "SELECT row FROM checkpoints ORDER BY row DESC LIMIT ?"
        self._connection.execute(f"DELETE FROM checkpoints WHERE row NOT IN ({piece})", (but,))

    def clean(self, arrival: int, keep: int, keep_bytes: int, keep_alerts: int, keep_dead: int) -> bool:
        """Drop some of what is not needed any more; return whether there is more of it.

        Records stay that are behind the older checkpoint. Of others, those stay that arrived within `keep`
        nanoseconds, up to `keep_bytes`.
        """
        execute = self._connection.execute
        before = self._connection.total_changes
        execute("BEGIN IMMEDIATE")
        try:
            end = self._number("SELECT min(row) FROM checkpoints") if len(self.checkpoints()) > 1 else 0
            size = self._number(f"SELECT sum(length(records)) FROM log WHERE row <= {end}") if keep else 0
            youngest = arrival - keep if size <= keep_bytes else arrival
            piece = "SELECT row FROM log WHERE row <= ? AND arrival <= ? ORDER BY row LIMIT ?"
            execute(f"DELETE FROM log WHERE row IN ({piece})", (end, youngest, _PIECE))
            last = self.next_alert - 1 - keep_alerts
            if (slowest := execute("SELECT min(delivered) FROM sinks").fetchone()[0]) is not None:
                last = min(last, slowest)
            piece = "SELECT number FROM outbox WHERE number <= ? ORDER BY number LIMIT ?"
            execute(f"DELETE FROM outbox WHERE number IN ({piece})", (last, 4 * _PIECE))
            newest = self._number("SELECT max(number) FROM dead")
            piece = "SELECT number FROM dead WHERE number <= ? ORDER BY number LIMIT ?"
            execute(f"DELETE FROM dead WHERE number IN ({piece})", (newest - keep_dead, 4 * _PIECE))
            execute("DELETE FROM requests WHERE arrival < ?", (arrival - _REQUESTS_KEPT,))
            execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                execute("ROLLBACK")
            raise
        dropped = self._connection.total_changes - before
        if dropped:
            execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()
        return dropped >= _PIECE

    # What other threads read.

    @staticmethod
    def checkpoint_files(reader: sqlite3.Connection, latest: int) -> set[str]:
        """Return the names of the files of the latest checkpoints."""
        rows = reader.execute("SELECT files FROM checkpoints ORDER BY row DESC LIMIT ?", (latest,))
        return {file for (files,) in rows for file in json.loads(files).values()}

    @staticmethod
    def answer(key: str, reader: sqlite3.Connection) -> Any:
        """Return the answer of a request that came before; None: none did."""
        row = reader.execute("SELECT answer FROM requests WHERE key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    @staticmethod
    def alerts_behind(
        reader: sqlite3.Connection, number: int, most: int
    ) -> list[tuple[int, str, str | None, str]]:
        """Return alerts behind a number: number, id, sinks between blanks or None, and body."""
        return reader.execute(
            "SELECT number, id, sinks, body FROM outbox WHERE number > ? ORDER BY number LIMIT ?",
            (number, most),
        ).fetchall()


def _pattern_row(row: Sequence[Any]) -> PatternRow:
    number, settings, origin, state, reason, since, base, positive, negative, alerts, suppressed = row
    facts = json.loads(settings)
    if facts["sinks"] is not None:
        facts["sinks"] = tuple(facts["sinks"])
    return PatternRow(
        number,
        PatternSettings(**facts),
        origin,
        state,
        reason,
        since,
        None if base is None else int(base),
        int(positive),
        int(negative),
        alerts,
        suppressed,
    )


@lru_cache(maxsize=1024)
def _text_of(settings: PatternSettings) -> str:
    return json.dumps(asdict(settings))


def _row_of_pattern(row: PatternRow) -> tuple[Any, ...]:
    return (
        row.id,
        row.settings.name,
        _text_of(row.settings),
        row.origin,
        row.state,
        row.reason,
        row.since,
        None if row.base is None else str(row.base),
        str(row.positive),
        str(row.negative),
        row.alerts,
        row.suppressed,
    )
