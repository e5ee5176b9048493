"""Distinct rows, thresholds and existence over transfers, on the CPU.

``motiflux bench distinct``. The transfers are those of the suite `temporal`: ``MOTIFLUX_TRANSFERS`` is their
number, default 2,000,000. What a case is named for:

``threshold``  accounts with at least five payers who are passed on: calls after the first, and a first call,
               with the number of all matches
``duckdb``     a query of `distinct_parts/queries.py` beside DuckDB (group ``peers``), which groups the same
               rows: on a tenth of the transfers

Times are process CPU time of one thread. Where DuckDB is stopped by ``--timeout``, its seconds and the ratio
are lower bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from motiflux.bench.results import Bar, CaseResult, bars_beside
from motiflux.bench.suite import Probe, Suite, load_part

PARTS = Path(__file__).resolve().parent / "distinct_parts"
probes, queries = load_part(PARTS / "probes.py"), load_part(PARTS / "queries.py")

SECONDS = 0.2
"""Of the threshold query on two million transfers."""
ENOUGH = 2_000_000
FASTER, LEAST = 20.0, 2.0
"""Times as fast as DuckDB: the geometric mean, and each query."""


def build(shared: Path) -> Suite:
    found: list[Probe] = [probes.Threshold(name) for name in queries.THRESHOLDS]
    found += [probes.Beside(query) for query in queries.QUERIES]
    return Suite("distinct", (), bars, ("motiflux", "numpy", "duckdb"), found)


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """Hold the results against the targets; what was not run has no bar."""
    found = []
    transfers = probes.temporal.TRANSFERS
    for one in results:
        if one.case.startswith("threshold ") and one.case.endswith(", again") and transfers >= ENOUGH:
            seconds = one.seconds.min if one.seconds and one.count is not None else None
            found.append(Bar(f"{one.case}, of {transfers:,} transfers, s", seconds, SECONDS, "lower"))
    found += bars_beside(results, "DuckDB", FASTER, LEAST)
    return found
