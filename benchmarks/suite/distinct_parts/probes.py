"""What the suite `distinct` measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import Timing, cpu_clock, repeat
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.run import check_count
from motiflux.bench.suite import Settings, load_part
from motiflux.pattern.asked import asked_of

PARTS = Path(__file__).resolve().parent
temporal = load_part(PARTS.parent / "temporal_parts/probes.py")
queries = load_part(PARTS / "queries.py")
pattern_sql = temporal.judge.pattern_sql


def count(
    graph: mf.Graph, query: str, settings: Settings, before: Callable[[], object] = lambda: None
) -> tuple[mf.Count, Timing]:
    """Count rows on one thread."""
    found, seconds = repeat(
        lambda: mf.count(graph, query, threads=1, timeout=settings.timeout, device="cpu"),
        cpu_clock,
        settings.runs,
        before,
    )
    return found, seconds


@dataclass(frozen=True)
class Threshold:
    """A question for accounts with at least five payers, on all transfers."""

    query: str
    quick: bool = True

    @property
    def name(self) -> str:
        """Says which question."""
        return f"threshold {self.query}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Count the rows, in later calls and in first ones, beside a count of the matches."""
        graph = temporal.loaded(temporal.generator(temporal.TRANSFERS))[1]
        query = queries.THRESHOLDS[self.query]
        matches = mf.count(graph, asked_of(query, None, None)[0], threads=1, timeout=settings.timeout)
        for which, before in (("again", lambda: None), ("first call", graph.forget)):
            found, seconds = count(graph, query, settings, before)
            yield CaseResult(
                f"{self.name}, {which}",
                found.engine,
                int(found) if found.complete else None,
                None,
                seconds,
                figures={"matches": float(matches)},
            )


@dataclass(frozen=True)
class Beside:
    """A question beside DuckDB: the same number of rows."""

    query: str
    quick: bool = True

    @property
    def name(self) -> str:
        """Says which question."""
        return f"duckdb {self.query}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Count rows with both; nothing without DuckDB."""
        if not temporal.judge.is_here():
            return
        made = temporal.generator(temporal.FEWER)
        graph = temporal.loaded(made)[1]
        text = queries.QUERIES[self.query]
        pattern, projection = asked_of(text, None, None)
        found, seconds = count(graph, text, settings)
        judge = temporal.judged(made)
        theirs = judge.count(pattern_sql.rows_sql(pattern, projection, judge.schema), cpu_clock, settings)
        checked = check_count(int(found), found.complete, theirs.count, temporal.judge.NAME)
        baseline = None
        if theirs.seconds is not None:
            baseline = BaselineTime(temporal.judge.NAME, theirs.seconds.min, theirs.timeout)
        comparable = baseline is not None and found.complete
        yield CaseResult(
            self.name,
            found.engine,
            int(found) if found.complete else None,
            checked.by,
            seconds,
            baseline,
            baseline.seconds / seconds.min if baseline and comparable else None,
            checked.disagrees,
        )
        engine = f"{temporal.judge.NAME} ({theirs.note})" if theirs.note else temporal.judge.NAME
        yield CaseResult(self.name, engine, theirs.count, None, theirs.seconds)
