"""Alerts in a table of PostgreSQL, through ADBC."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from motiflux.packages import require
from motiflux.serve.sinks.sink import Sent, Sink

_COLUMNS = (
    "id text PRIMARY KEY, number bigint NOT NULL, pattern text NOT NULL, sign smallint NOT NULL, "
    "time timestamptz NOT NULL, body jsonb NOT NULL"
)


class Postgres(Sink):
    """Inserts alerts that the table does not have yet.

    The address of the database, which may have a password, is in a file.
    """

    promise = "exactly once"
    _connection: Any = None

    def open(self) -> None:
        """Connect, and make the table if it is missing."""
        options = self.settings.options
        driver = require("adbc_driver_postgresql.dbapi", f"sink {self.name}")
        self._connection = driver.connect(options["uri_file"].read_text("utf-8").strip())
        self._execute(f'CREATE TABLE IF NOT EXISTS "{options["table"]}" ({_COLUMNS})')

    def deliver(self, alerts: Sequence[Sent]) -> Any:
        """Insert alerts in one transaction."""
        rows = []
        for alert in alerts:
            facts = json.loads(alert.body)
            rows.append((alert.id, alert.number, facts["pattern"], facts["sign"], facts["time"], alert.body))
        table = self.settings.options["table"]
        values = "$1, $2, $3, CAST($4 AS smallint), CAST($5 AS timestamptz), CAST($6 AS jsonb)"
        self._execute(f'INSERT INTO "{table}" VALUES ({values}) ON CONFLICT (id) DO NOTHING', rows)

    def _execute(self, statement: str, rows: Sequence[Any] = ()) -> None:
        try:
            with self._connection.cursor() as cursor:
                if rows:
                    cursor.executemany(statement, rows)
                else:
                    cursor.execute(statement)
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
