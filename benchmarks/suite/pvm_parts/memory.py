"""A search whose tables take many times the memory that it may hold, beside one that holds them all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

import motiflux as mf
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.suite import Settings, load_part
from motiflux.generate import Rmat

HERE = Path(__file__).resolve().parent
runs, trials, experiments = (load_part(HERE / f"{name}.py") for name in ("runs", "trials", "experiments"))

SCALE = int(os.environ.get("MOTIFLUX_RMAT", "22"))
EDGES, MAX_DEGREE = 32, 5000
"""Edges drawn for each vertex of the graph, and the most that a vertex keeps.

With few edges, arrays of a number for each vertex would take most of the memory that a search may hold.
"""
VERTEX_LABELS, EDGE_LABELS = 16, 4
SECONDS = 10 * experiments.SECONDS
SHARES = (8, 2)
"""Ratios of the bytes of the tables to those that may be held."""
PATTERNS = {
    "path": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "cycle": [(0, 1), (1, 2), (2, 0), (2, 3)],
}
"""Query edges, one of each label, so that the search reads all tables. Vertices have different labels."""
BOUNDED, COPIED, RESIDENT = "bounded", "resident, tables copied", "resident"
OVER_LARGER, OVER_COPIED, COPIES = "over_larger", "over_copied", "copied_over_tables"
OVERLAP = "copies_and_searches_over_whole"
OTHER = "dfs"
"""The engine whose count is compared."""
CHECK_SECONDS = 20.0
BASELINES = {OVER_LARGER: "the larger of copy and computation", OVER_COPIED: COPIED}


@lru_cache(maxsize=1)
def graph() -> mf.Graph:
    """Draw the graph; few labels of edges make large tables.

    Labels are drawn before it is assembled: at scale 22 it has 10^8 edges.
    """
    drawn = Rmat(
        scale=SCALE,
        edges=EDGES << SCALE,
        directed=False,
        duplicates="drop",
        max_degree=MAX_DEGREE,
        seed=1,
    ).columns()
    rng = np.random.default_rng(VERTEX_LABELS)
    return mf.Graph.from_edges(
        (drawn.sources, drawn.targets),
        directed=False,
        num_vertices=drawn.num_vertices,
        vertex_labels=rng.integers(0, VERTEX_LABELS, drawn.num_vertices, np.uint32),
        edge_labels=rng.integers(0, EDGE_LABELS, len(drawn), np.uint32),
    )


def pattern(name: str) -> mf.Pattern:
    """Return a pattern."""
    edges = PATTERNS[name]
    vertices = 1 + max(map(max, edges))
    return mf.Pattern.from_edges(
        edges, vertex_labels=list(range(vertices)), edge_labels=list(range(EDGE_LABELS))
    )


@lru_cache(maxsize=len(PATTERNS))
def known_count(name: str) -> int | None:
    """Return the count of a pattern by another engine; None if that does not end in time."""
    found: int | None = trials.ask(
        graph(), pattern(name), trials.Way(OTHER, experiments.ENUMERATE), CHECK_SECONDS
    ).count
    return found


@dataclass(frozen=True)
class Bounded:
    """A count within a share of the bytes of its tables."""

    query: str
    share: int
    quick: bool = False

    @property
    def name(self) -> str:
        """The pattern, and the ratio of the tables to the memory."""
        return f"memory {self.query}, tables of {self.share} times the memory"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Count with all memory, once with the tables there, once without, and with little memory."""
        resident = trials.Way("pvm", experiments.ENUMERATE)
        if reason := trials.lacking([resident]):
            yield CaseResult(f"{self.name} (skipped: {reason})", "pvm", None, None, None)
            return
        data, query = graph(), pattern(self.query)
        clock = runs.Clock(SECONDS, 2)
        computed = trials.outcomes(data, query, {RESIDENT: resident}, clock)
        whole = trials.breakdown(data, query, resident)
        most = int(whole["copied_bytes"] / self.share)
        bounded = trials.Way("pvm", experiments.ENUMERATE, gpu_memory=most)
        ways = {BOUNDED: bounded, COPIED: resident}
        found = trials.outcomes(data, query, ways, clock, lambda: trials.forget_tables(data))
        parts = {}
        if found[BOUNDED].times:
            parts = trials.breakdown(data, query, bounded)
            parts |= {
                f"tables_{name}": float(copied)
                for name, way in (("copied", bounded), ("copied_whole", resident))
                if (copied := trials.tables_copied(data, query, way)) is not None
            }
        known = known_count(self.query)
        yield self._result({**found, **computed}, whole, parts, most, known)

    def _result(
        self,
        found: Mapping[str, trials.Outcome],
        whole: Mapping[str, float],
        parts: Mapping[str, float],
        most: int,
        known: int | None,
    ) -> CaseResult:
        """Compare with the larger of copy and computation, or with a count that copies its tables."""
        times = {name: outcome.times for name, outcome in found.items()}
        figures = {"scale": float(SCALE), "gpu_memory": float(most), "table_bytes": whole["copied_bytes"]}
        figures |= {f"{BOUNDED}: {name}": value for name, value in parts.items()}
        figures |= {f"{COPIED}: {name}": value for name, value in whole.items()}
        baselines = {}
        if times[COPIED] and times[RESIDENT]:
            larger = max(whole["copies_ms"] / 1e3, times[RESIDENT].median)
            baselines = {OVER_LARGER: larger, OVER_COPIED: times[COPIED].median}
        ours = times[BOUNDED]
        if ours:
            figures |= {name: ours.median / seconds for name, seconds in baselines.items()}
            copied, once = (
                parts.get(f"tables_{name}", other["copied_bytes"])
                for name, other in (("copied", parts), ("copied_whole", whole))
            )
            figures[COPIES] = copied / max(once, 1.0)
            figures[OVERLAP] = (parts["copies_ms"] + parts.get("searches_ms", 0.0)) / parts["whole_ms"]
        held = OVER_LARGER if self.share == max(SHARES) else OVER_COPIED
        base = baselines.get(held)
        checked, disagrees = experiments.compared(found, known, f"engine {OTHER}")
        return CaseResult(
            self.name,
            experiments.engine_text("pvm", found),
            found[BOUNDED].answer.count,
            checked,
            ours.timing if ours else None,
            None if base is None else BaselineTime(BASELINES[held], base),
            None if base is None or ours is None else base / ours.median,
            disagrees,
            figures,
        )


def probes() -> list[Bounded]:
    """Return all cases."""
    return [Bounded(query, share) for query in PATTERNS for share in SHARES]
