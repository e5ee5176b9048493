"""DuckDB counts patterns over the tables of transfers, within a time limit."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import motiflux as mf
from motiflux.bench.measure import Clock, Timing, repeat
from motiflux.bench.suite import BaselineResult, Settings, load_part

pattern_sql = load_part(Path(__file__).resolve().parents[2] / "peer/pattern_sql.py")

MEMORY = "8GB"
NAME = "duckdb.sql"


def is_here() -> bool:
    """Whether DuckDB is installed, and pyarrow, by which it takes arrays."""
    return all(importlib.util.find_spec(package) is not None for package in ("duckdb", "pyarrow"))


@dataclass(eq=False)
class Judge:
    """A database in memory that has the tables of one graph."""

    tables: Any
    threads: int
    connection: Any = field(init=False)
    schema: Any = field(init=False)

    def __post_init__(self) -> None:
        import duckdb

        self.connection = duckdb.connect(":memory:")
        self.connection.execute(f"SET threads = {self.threads}; SET memory_limit = '{MEMORY}'")
        self.connection.execute("SET enable_progress_bar = false; SET temp_directory = ''")
        self.schema = pattern_sql.load(self.connection, directed=True, **self.tables.columns())

    def run(self, pattern: mf.Pattern, what: str, clock: Clock, settings: Settings) -> BaselineResult:
        """Count ``"embeddings"`` or ``"choices"``; a count that takes longer than the limit has no result."""
        return self.count(pattern_sql.count_sql(pattern, self.schema, what=what), clock, settings)

    def count(self, sql: str, clock: Clock, settings: Settings) -> BaselineResult:
        """Run a query for a number; one that takes longer than the limit has no result."""
        import duckdb

        started = clock()

        def counted() -> int:
            nonlocal started
            started = clock()
            with self._stopped_after(settings.timeout):
                return int(self.connection.execute(sql).fetchone()[0])

        try:
            count, seconds = repeat(counted, clock, settings.runs)
        except (duckdb.InterruptException, RuntimeError) as error:
            if not _was_interrupted(error):
                raise
            given = Timing.of([clock() - started])  # on a busy machine less CPU time than the limit
            return BaselineResult(None, given, timeout=True, note="stopped by the limit")
        except (duckdb.OutOfMemoryException, MemoryError):
            return BaselineResult(None, None, note=f"failed: needs more memory than {MEMORY}")
        return BaselineResult(count, seconds)

    @contextmanager
    def _stopped_after(self, seconds: float) -> Iterator[None]:
        stop: Callable[[], None] = self.connection.interrupt
        timer = threading.Timer(seconds, stop)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()  # so that it stops no later query


def _was_interrupted(error: Exception) -> bool:
    """Whether DuckDB stopped a query that was asked to stop: version 2 also raises a plain RuntimeError."""
    return "interrupt" in f"{type(error).__name__} {error}".lower()
