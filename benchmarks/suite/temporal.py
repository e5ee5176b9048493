"""Patterns with comparisons between transfers: order of time, spans, amounts that fall.

``motiflux bench temporal``. The transfers are drawn (`motiflux.generate.Transfers`, seed 28): pairs repeat,
hubs take part in a tenth of them, and rings in order of time are planted beside decoys.
``MOTIFLUX_TRANSFERS`` is their number, default 2,000,000. What a case is named for:

``rings of 3 to 6``  in order of time, within 3 days, amounts falling by at most 10 % from edge to edge: each
                     size, and their sum; calls after the first, and first calls, which plan and sort copies
``live``             the same rings on a stream of the transfers: a `Monitor` on two threads, wall clock
``planted rings``    the same within a band of amounts, in which the generator knows all of them
``unordered``        a pattern in order of time, beside the same one without the order, with about 100 copies
                     of each edge: ``listed``, and ``counted``, where the one without may have a closed form
``duckdb``           a query of `temporal_parts/queries.py` beside DuckDB (group ``peers``), which joins a
                     table with a row per copy and counts distinct maps: on a tenth of the transfers, rings
                     on all too

Other times are process CPU time of one thread. With ``MOTIFLUX_THREADS``, cases beside DuckDB run on as many
threads on both sides, by the wall clock. Where DuckDB is stopped by ``--timeout``, its seconds and the ratio
are lower bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from motiflux.bench.results import Bar, CaseResult, bars_beside
from motiflux.bench.suite import Probe, Suite, load_part

PARTS = Path(__file__).resolve().parent / "temporal_parts"
probes, queries = load_part(PARTS / "probes.py"), load_part(PARTS / "queries.py")
live = load_part(PARTS / "live.py")

RING_SECONDS = 2.0
LIVE = 200_000
"""Transfers a second of the live stream."""
ENOUGH = 2_000_000
"""Transfers that the bar of the rings is set for."""
SLOWER = 3.0
FASTER, LEAST = 20.0, 2.0
"""Times as fast as DuckDB: the geometric mean, and each query."""


def build(shared: Path) -> Suite:
    found: list[Probe] = [probes.Rings(first=False), probes.Rings(first=True), live.LiveRings()]
    found.append(probes.PlantedRings())
    found += [probes.Beside(f"ring of {size}", whole=True) for size in probes.SIZES]
    found += [probes.Beside(query) for query in queries.QUERIES]
    found += [probes.Unordered(pattern, listed) for listed in (True, False) for pattern in probes.ORDERED]
    return Suite("temporal", (), bars, ("motiflux", "numpy", "duckdb"), found)


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """Hold the results against the targets; what was not run has no bar."""
    found = []
    if probes.TRANSFERS >= ENOUGH:
        for one in results:
            if one.case in ("rings of 3 to 6", "rings of 3 to 6, first call"):
                seconds = one.seconds.min if one.seconds and one.count is not None else None
                found.append(
                    Bar(f"{one.case} of {probes.TRANSFERS:,} transfers, s", seconds, RING_SECONDS, "lower")
                )
            if one.case == "rings of 3 to 6, live":
                rate = None if one.disagrees else one.figures["transfers_per_second"]
                found.append(Bar(f"{one.case}, transfers/s on {live.THREADS} threads", rate, LIVE, "higher"))
    for what, patterns in (("listed", ""), ("counted", "ring")):
        slower = [
            one.figures.get("times_the_time")
            for one in results
            if one.case.startswith(f"unordered {patterns}") and one.case.endswith(what)
        ]
        if slower:
            worst = None if None in slower else max(filter(None, slower))
            text = f"order of time over none, {patterns or 'pattern'}s {what}: worst"
            found.append(Bar(text, worst, SLOWER, "lower"))
    found += bars_beside(results, "DuckDB", FASTER, LEAST)
    return found
