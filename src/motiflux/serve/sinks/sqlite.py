"""Alerts in a table of an SQLite database of their own."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from motiflux.serve.sinks.sink import Sent, Sink

_TABLE = """
CREATE TABLE IF NOT EXISTS alerts (
  id TEXT PRIMARY KEY, number INTEGER NOT NULL, pattern TEXT NOT NULL, sign INTEGER NOT NULL,
  time TEXT NOT NULL, body TEXT NOT NULL)
"""


class Database(Sink):
    """Inserts alerts that the table does not have yet."""

    promise = "exactly once"
    _connection: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open the database."""
        path = self.settings.options["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=10, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute(_TABLE)

    def deliver(self, alerts: Sequence[Sent]) -> Any:
        """Insert alerts in one transaction."""
        assert self._connection is not None
        rows = []
        for alert in alerts:
            facts = json.loads(alert.body)
            of_alert = facts["pattern"], facts["sign"], facts["time"]
            rows.append((alert.id, alert.number, *of_alert, alert.body))
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.executemany("INSERT OR IGNORE INTO alerts VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
