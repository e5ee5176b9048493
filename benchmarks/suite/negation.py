"""Patterns with negated edges: beside DuckDB, and beside the same patterns without the negated edges.

``motiflux bench negation``. The transfers are drawn as for `temporal`; ``MOTIFLUX_TRANSFERS`` is their
number, default 1,000,000. What a case is named for:

``duckdb``      a query of `negation_parts/queries.py` beside DuckDB (group ``peers``), with ``NOT EXISTS``
for each
                negated edge: all embeddings are counted, on a tenth of the transfers
``listed``      all matches of a query beside all of the same pattern without its negated edges, times and
rows ``counted``     their numbers; `subtract` and `search` are the two ways (`tuning={"negation": ...}`)
``watched``     a stream of insertions and deletions on a tenth of the transfers, beside the same without
negated
                edges: matches are listed

Times are process CPU time of one thread. Where DuckDB is stopped by ``--timeout``, its seconds and the ratio
are lower bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean

from motiflux.bench.results import Bar, CaseResult, bars_beside
from motiflux.bench.suite import Probe, Suite, load_part

PARTS = Path(__file__).resolve().parent / "negation_parts"
probes, queries = load_part(PARTS / "probes.py"), load_part(PARTS / "queries.py")

SLOWER = 1.5
"""Times the time of the same pattern without negated edges: the geometric mean of each way of asking."""
FASTER, LEAST = 20.0, 2.0
"""Times as fast as DuckDB: the geometric mean, and each query."""


def build(shared: Path) -> Suite:
    found: list[Probe] = [probes.Beside(query) for query in queries.QUERIES]
    found += [probes.Without(query, how) for how in ("listed", "counted") for query in queries.QUERIES]
    found += [probes.Watched(query) for query in queries.WATCHED]
    return Suite("negation", (), bars, ("motiflux", "numpy", "duckdb"), found)


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """Hold the results against the targets; what was not run has no bar."""
    found = []
    for how in ("listed", "counted", "watched"):
        times = [one.figures.get("times_the_time") for one in results if one.case.endswith(f", {how}")]
        if times:
            known = [time for time in times if time is not None]
            mean = geometric_mean(known) if len(known) == len(times) else None
            found.append(Bar(f"negated over not, {how}: geometric mean", mean, SLOWER, "lower"))
    found += bars_beside(results, "DuckDB", FASTER, LEAST)
    return found
