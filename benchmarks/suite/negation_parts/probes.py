"""What the suite `negation` measures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import motiflux as mf
from motiflux.bench.measure import Timing, cpu_clock, repeat
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.run import check_count
from motiflux.bench.suite import Settings, load_part
from motiflux.generate import Transfers

PARTS = Path(__file__).resolve().parent
TEMPORAL = PARTS.parent / "temporal_parts"
queries = load_part(PARTS / "queries.py")
inputs, judge = load_part(TEMPORAL / "inputs.py"), load_part(TEMPORAL / "judge.py")

TRANSFERS = int(os.environ.get("MOTIFLUX_TRANSFERS", "1000000"))
FEWER = max(1, TRANSFERS // 10)
UPDATES = 20_000


def generator(transfers: int) -> Transfers:
    """Return transfers that repeat, with hubs."""
    none = dict.fromkeys(("rings", "fan_ins", "fan_outs", "gather_scatters"), 0)
    return Transfers(
        transfers=transfers,
        accounts=max(200, transfers // 10),
        copies=5,
        hubs=max(2, transfers // 20_000),
        hub_share=0.1,
        seed=29,
        **none,
    )


@lru_cache(maxsize=1)
def loaded(transfers: int) -> tuple[Any, mf.Graph]:
    """Return the tables and the graph of some transfers; the last ones are kept."""
    tables = inputs.tables_of(generator(transfers))
    return tables, tables.graph()


@lru_cache(maxsize=1)
def judged(transfers: int) -> judge.Judge:
    """Return DuckDB with the tables of some transfers; the last ones are kept."""
    return judge.Judge(loaded(transfers)[0], 1)


def ask(graph: mf.Graph, pattern: mf.Pattern, settings: Settings, how: str) -> tuple[int, bool, str, Timing]:
    """Count embeddings or list them on one thread: their number, whether it is all, the engine, the time."""
    options: dict[str, Any] = {"threads": 1, "timeout": settings.timeout, "device": "cpu", "progress": False}

    def listed() -> tuple[int, bool, str]:
        with mf.match(graph, pattern, **options) as matches:
            rows = sum(len(batch) for batch in matches)
        return rows, bool(matches.complete), matches.engine

    def counted() -> tuple[int, bool, str]:
        found = mf.count(graph, pattern, **options)
        return int(found), bool(found.complete), found.engine

    found, seconds = repeat(listed if how == "listed" else counted, cpu_clock, settings.runs)
    return *found, seconds


@dataclass(frozen=True)
class Beside:
    """A query beside DuckDB: the same number, on one thread."""

    query: str
    quick: bool = True

    @property
    def name(self) -> str:
        """Says which query."""
        return f"duckdb {self.query}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Count embeddings with both; nothing without DuckDB."""
        if not judge.is_here():
            return
        graph, pattern = loaded(FEWER)[1], mf.Pattern.parse(queries.QUERIES[self.query])
        count, complete, engine, seconds = ask(graph, pattern, settings, "counted")
        theirs = judged(FEWER).run(pattern, "embeddings", cpu_clock, settings)
        checked = check_count(count, complete, theirs.count, judge.NAME)
        baseline = None
        if theirs.seconds is not None:
            baseline = BaselineTime(judge.NAME, theirs.seconds.min, theirs.timeout)
        yield CaseResult(
            self.name,
            engine,
            count if complete else None,
            checked.by,
            seconds,
            baseline,
            baseline.seconds / seconds.min if baseline and complete else None,
            checked.disagrees,
        )
        yield CaseResult(self.name, judge.NAME, theirs.count, None, theirs.seconds)


@dataclass(frozen=True)
class Without:
    """A query beside the same without its negated edges; `how`: ``"listed"`` or ``"counted"``."""

    query: str
    how: str
    quick: bool = True

    @property
    def name(self) -> str:
        """Says which query."""
        return f"{self.query}, {self.how}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Ask for both, in turns."""
        graph, pattern = loaded(FEWER)[1], mf.Pattern.parse(queries.QUERIES[self.query])
        plain = replace(pattern, negated=())
        all_of, all_complete, _, before = ask(graph, plain, settings, self.how)
        count, complete, engine, seconds = ask(graph, pattern, settings, self.how)
        both = complete and all_complete
        figures = {"times_the_time": seconds.min / before.min, "without": all_of}
        yield CaseResult(
            self.name,
            engine,
            count if complete else None,
            None,
            seconds,
            BaselineTime("motiflux, without the negated edges", before.min) if both else None,
            before.min / seconds.min if both else None,
            disagrees=both and count > all_of,
            figures=figures if both else {},
        )


@dataclass(frozen=True)
class Watched:
    """A query on a stream, beside the same without its negated edges; matches are listed."""

    query: str
    quick: bool = True

    @property
    def name(self) -> str:
        """Says which query."""
        return f"{self.query}, watched"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Apply the same updates for both, in turns."""
        tables, _ = loaded(FEWER)
        pattern = mf.Pattern.parse(queries.QUERIES[self.query])
        net, before = watch(tables, replace(pattern, negated=()), settings)
        changed, seconds = watch(tables, pattern, settings)
        yield CaseResult(
            self.name,
            "cpu",
            changed,
            None,
            seconds,
            BaselineTime("motiflux, without the negated edges", before.min),
            before.min / seconds.min,
            figures={"times_the_time": seconds.min / before.min, "without": net},
        )


def watch(tables: Any, pattern: mf.Pattern, settings: Settings) -> tuple[int, Timing]:
    """Delete and insert the last transfers again: the number of matches that came and went, and the time."""
    first = len(tables.src) - UPDATES
    graph = mf.Graph.from_edges(
        (tables.src, tables.dst),
        directed=True,
        num_vertices=len(tables.vertex_labels),
        edge_labels=tables.edge_labels,
        vertex_labels=tables.vertex_labels,
    )
    ends = [tables.src[first:], tables.dst[first:], tables.edge_labels[first:]]
    updates = mf.Updates(
        np.repeat([False, True], len(ends[0])), *(np.concatenate([column, column]) for column in ends)
    )

    def applied() -> int:
        delta = monitor.apply(updates)
        return int(delta[0].positive + delta[0].negative)

    with mf.Monitor(graph, pattern, matches=True, threads=1, device="cpu") as monitor:
        return repeat(applied, cpu_clock, settings.runs)
