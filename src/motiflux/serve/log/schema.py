"""The tables of the log, by version."""

from __future__ import annotations

import sqlite3
import uuid
from pathlib import Path

from motiflux.errors import FormatError, MotifluxError, OutputError

VERSION = 2

ALERT_IDS = "alert_ids"
"""The fact in `meta` with what the ids of alerts begin with."""
_IDENTITY_SHOWN = 12
"""Characters of the log's identity in ids of alerts."""

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- Records in the order in which they were taken: of one source and group. Without records, a moment.
CREATE TABLE log (
  row INTEGER PRIMARY KEY, first INTEGER NOT NULL, count INTEGER NOT NULL, arrival INTEGER NOT NULL,
  source TEXT NOT NULL, records BLOB NOT NULL);
CREATE INDEX log_first ON log (first);
CREATE TABLE positions (source TEXT PRIMARY KEY, position TEXT NOT NULL) WITHOUT ROWID;
-- Answers of requests that may come again.
CREATE TABLE requests (key TEXT PRIMARY KEY, arrival INTEGER NOT NULL, answer TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX requests_arrival ON requests (arrival);
-- Alerts; sinks: NULL for all, or their names between blanks.
CREATE TABLE outbox (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL, pattern TEXT NOT NULL, arrival INTEGER NOT NULL, sinks TEXT,
  body TEXT NOT NULL);
-- How far the outbox was delivered; state is the sink's own.
CREATE TABLE sinks (name TEXT PRIMARY KEY, delivered INTEGER NOT NULL, state TEXT) WITHOUT ROWID;
CREATE TABLE dead (
  number INTEGER PRIMARY KEY AUTOINCREMENT, arrival INTEGER NOT NULL, source TEXT NOT NULL,
  place TEXT NOT NULL, record TEXT NOT NULL, reason TEXT NOT NULL);
-- Counts are text: they may have 128 bits.
CREATE TABLE patterns (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, settings TEXT NOT NULL, origin TEXT NOT NULL,
  state TEXT NOT NULL, reason TEXT NOT NULL, since INTEGER NOT NULL, base TEXT, positive TEXT NOT NULL,
  negative TEXT NOT NULL, alerts INTEGER NOT NULL, suppressed INTEGER NOT NULL);
CREATE TABLE monitors (name TEXT PRIMARY KEY, settings TEXT NOT NULL, since INTEGER NOT NULL) WITHOUT ROWID;
-- State after all records below a number: files of the monitors, and the records that wait for earlier ones.
CREATE TABLE checkpoints (
  row INTEGER PRIMARY KEY, number INTEGER NOT NULL, arrival INTEGER NOT NULL, files TEXT NOT NULL,
  ordering TEXT NOT NULL);
"""

_MIGRATIONS: dict[int, str] = {
    2: f"INSERT INTO meta VALUES ('{ALERT_IDS}', '')",
}
"""What makes a version of the version before it.

Version 2 has what ids of alerts begin with: the identity of a new log; nothing in an earlier one, as before.
"""


def connect(path: Path, *, seconds: float = 10.0) -> sqlite3.Connection:
    """Return a connection to a database, whose transactions are begun and ended by statements."""
    connection = sqlite3.connect(path, timeout=seconds, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables of an empty database, or bring older ones up to date, in one transaction.

    Raises
    ------
    FormatError
        It is of a later version, no database of motiflux, or damaged.
    OutputError
        The disk is full.
    """
    try:
        _prepare(connection, path)
    except sqlite3.DatabaseError as error:
        raise unusable(path, error) from None


def unusable(path: Path, error: Exception) -> MotifluxError:
    """Return the error of a log that cannot be opened."""
    if isinstance(error, sqlite3.OperationalError) and "full" in str(error):
        return unwritable(path.parent, error)
    if isinstance(error, (sqlite3.OperationalError, OSError)):
        return FormatError(path, f"the log cannot be opened: {error}")
    return FormatError(path, f"expected a log of motiflux, found an error: {error}")


def unwritable(path: Path, error: object) -> OutputError:
    """Return the error of a log that cannot be written when a service begins."""
    return OutputError(
        f"{path}: expected a folder with room for the log, found an error: {error}; the service begins once "
        "the log can be written"
    )


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # before the first table, or never
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA wal_autocheckpoint=10000")
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection, path)
        if version == 0:
            _run(connection, _TABLES)
            identity = uuid.uuid4().hex
            facts = {"schema": str(VERSION), "log": identity, ALERT_IDS: f"{identity[:_IDENTITY_SHOWN]}-"}
            connection.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())
        elif version > VERSION:
            raise FormatError(path, f"found version {version} of the log, expected {VERSION} or earlier")
        for older in range(version, VERSION) if version else ():
            _run(connection, _MIGRATIONS[older + 1])
        connection.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (str(VERSION),))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, path: Path) -> int:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return 0
    row = None
    if "meta" in tables:
        row = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    if row is None or not row[0].isdigit():
        raise FormatError(path, f"expected a log of motiflux, found the tables {', '.join(sorted(tables))}")
    return int(row[0])


def _run(connection: sqlite3.Connection, statements: str) -> None:
    """Run statements in the open transaction, which `executescript` would commit."""
    lines = [line for line in statements.splitlines() if not line.startswith("--")]
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            connection.execute(statement)
