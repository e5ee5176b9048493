"""Queries of several patterns: paths and rings of variable length, OR, OPTIONAL edges, parts.

``motiflux bench variable``. The graph is drawn (seed 29): arcs between vertices of a skewed choice, each arc
once, of 4 kinds and with a time; vertices of 8 labels, with an attribute. ``MOTIFLUX_ARCS`` is their number,
default 60,000. What a case is named for:

``duckdb``            a query of `variable_parts/queries.py` beside DuckDB, which joins tables
``rings in one query``  rings of 3 to 6 in one query, beside the four counts one after the other

Times are process CPU time of one thread on both sides, calls after the first. Where DuckDB is stopped by
``--timeout``, of process CPU time here, its seconds and the ratio are lower bounds; where it needs more than
4 GB of memory there is no ratio.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import motiflux as mf
from motiflux.bench.measure import Timing, cpu_clock, repeat
from motiflux.bench.results import Bar, BaselineTime, CaseResult, bars_beside
from motiflux.bench.suite import Probe, Settings, Suite, load_part

queries = load_part(Path(__file__).resolve().parent / "variable_parts" / "queries.py")

ARCS = int(os.environ.get("MOTIFLUX_ARCS") or 60_000)
SEED = 29
FASTER, LEAST = 20.0, 2.0
"""Times as fast as DuckDB: the geometric mean, and each query."""
_PATIENCE = 10
"""Seconds of the wall clock of a count, for each second of ``--timeout``."""
_LOOK = 0.05
"""Seconds between looks at DuckDB's time."""
TOGETHER = 1.1
"""Time of rings of 3 to 6 in one query, over that of the four counts."""
RINGS = ("(a)-[*3..6]->(a)", [f"(a)-[*{size}]->(a)" for size in range(3, 7)])


@cache
def columns() -> dict[str, Any]:
    """Draw the arcs and the vertices."""
    rng = np.random.default_rng(SEED)
    size = max(16, ARCS // 10)
    ends = (size * rng.random((2, ARCS)) ** 2.5).astype(np.int64)
    pairs = np.unique(ends[:, ends[0] != ends[1]], axis=1)
    number = pairs.shape[1]
    return {
        "s": pairs[0],
        "t": pairs[1],
        "k": rng.integers(0, 4, number),
        "w": rng.integers(0, 1_000_000, number),
        "i": np.arange(size),
        "l": rng.integers(0, 8, size),
        "x": rng.integers(0, 10, size),
    }


@cache
def graph() -> mf.Graph:
    """Build the graph."""
    drawn = columns()
    return mf.Graph.from_edges(
        (drawn["s"], drawn["t"]),
        directed=True,
        num_vertices=len(drawn["i"]),
        vertex_labels=drawn["l"],
        edge_labels=drawn["k"],
        vertex_attributes={"x": drawn["x"]},
        edge_attributes={"w": drawn["w"]},
    )


@cache
def database() -> Any:
    """Open a database in memory with the same tables."""
    import duckdb

    drawn = columns()
    connection = duckdb.connect(":memory:")
    connection.execute("SET threads = 1; SET memory_limit = '4GB'; SET temp_directory = ''")
    connection.execute("SET enable_progress_bar = false")
    for table, names in (("e", "stkw"), ("v", "ilx")):
        connection.register("given", {name: drawn[name] for name in names})
        connection.execute(f"CREATE TABLE {table} AS SELECT * FROM given")
        connection.unregister("given")
    return connection


@dataclass(frozen=True)
class Beside:
    """A query beside DuckDB."""

    query: Any
    quick: bool = True

    @property
    def name(self) -> str:
        """The case."""
        return f"duckdb {self.query.name}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Count on both sides."""
        data = graph()
        mf.count(data, self.query.text, threads=1)
        found, seconds = repeat(
            lambda: mf.count(data, self.query.text, threads=1, timeout=_PATIENCE * settings.timeout),
            cpu_clock,
            settings.runs,
        )
        expected, theirs = self._judged(settings)
        yield CaseResult(
            self.name,
            "cpu",
            int(found) if found.complete else None,
            _checked("DuckDB", int(found), expected) if found.complete else None,
            seconds,
            None if theirs is None else BaselineTime("duckdb.sql", theirs.min, timeout=expected is None),
            theirs.min / seconds.min if theirs is not None and found.complete else None,
            disagrees=found.complete and expected is not None and found != expected,
        )

    def _judged(self, settings: Settings) -> tuple[int | None, Timing | None]:
        """Return DuckDB's count, None if it was stopped, and its time; none if it is not installed."""
        if importlib.util.find_spec("duckdb") is None:
            return None, None
        import duckdb

        connection = database()
        over = threading.Event()
        started = cpu_clock()

        def stop() -> None:
            """Interrupt DuckDB after so much process CPU time: the wall clock of a busy machine says less."""
            while not over.wait(_LOOK):
                if cpu_clock() - started > settings.timeout * settings.runs:
                    connection.interrupt()

        watch = threading.Thread(target=stop)
        watch.start()
        try:
            return repeat(
                lambda: int(connection.execute(self.query.sql).fetchone()[0]), cpu_clock, settings.runs
            )
        except duckdb.InterruptException:
            return None, Timing.of([(cpu_clock() - started) / settings.runs])
        except duckdb.OutOfMemoryException:
            return None, None
        finally:
            over.set()
            watch.join()


@dataclass(frozen=True)
class RingsTogether:
    """Rings of 3 to 6 in one query, beside the four counts."""

    name: str = "rings in one query"
    quick: bool = True

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Measure both, in turns."""
        data, (together, alone) = graph(), RINGS
        mf.count(data, together, threads=1)
        ours, theirs = [], []
        for _ in range(settings.runs):
            found, time = repeat(lambda: mf.count(data, together, threads=1), cpu_clock, 1)
            ours.append(time.min)
            counts, time = repeat(lambda: [mf.count(data, one, threads=1) for one in alone], cpu_clock, 1)
            theirs.append(time.min)
        yield CaseResult(
            self.name,
            "cpu",
            int(found),
            _checked("four counts", int(found), int(sum(counts))),
            Timing.of(ours),
            BaselineTime("four counts", min(theirs)),
            min(theirs) / min(ours),
            disagrees=int(found) != int(sum(counts)),
            figures={"times_the_sum": min(ours) / min(theirs)},
        )


def _checked(judge: str, count: int, expected: int | None) -> str | None:
    """Return the judge, with its count if it differs; None without one."""
    if expected is None:
        return None
    return judge if count == expected else f"{judge}: {expected}"


def build(shared: Path) -> Suite:
    found: list[Probe] = [Beside(query) for query in queries.QUERIES]
    return Suite("variable", (), bars, ("motiflux", "numpy", "duckdb"), [*found, RingsTogether()])


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """Hold the results against the targets; what was not run has no bar."""
    found = []
    found += bars_beside(results, "DuckDB", FASTER, LEAST)
    for one in results:
        if (times := one.figures.get("times_the_sum")) is not None:
            found.append(Bar("rings of 3 to 6 in one query, over the four counts", times, TOGETHER, "lower"))
    return found
