"""What the suite `temporal` measures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import Clock, Timing, cpu_clock, repeat, wall_clock
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.run import check_count
from motiflux.bench.suite import Settings, load_part
from motiflux.generate import Transfers

PARTS = Path(__file__).resolve().parent
inputs, judge, queries = (load_part(PARTS / f"{name}.py") for name in ("inputs", "judge", "queries"))

TRANSFERS = int(os.environ.get("MOTIFLUX_TRANSFERS", "2000000"))
THREADS = int(os.environ.get("MOTIFLUX_THREADS", "1"))
FEWER = max(1, TRANSFERS // 10)
"""Transfers of the graph that queries are compared on with DuckDB."""
SIZES = (3, 4, 5, 6)
CLOCK: Clock = cpu_clock if THREADS == 1 else wall_clock
ORDERED: dict[str, tuple[str, str]] = {
    "ring of 3": (
        queries.ring(3, falling=False, span=""),
        queries.ring(3, ordered=False, falling=False, span=""),
    ),
    "ring of 4": (
        queries.ring(4, falling=False, span=""),
        queries.ring(4, ordered=False, falling=False, span=""),
    ),
    "path of 3": ("(a)-[x]->(b)-[y]->(c)-[z]->(d) WHERE x.time < y.time < z.time", "(a)-->(b)-->(c)-->(d)"),
    "short cut": (
        "(a)-[x]->(b)-[y]->(c), (a)-[z]->(c) WHERE x.time < y.time < z.time",
        "(a)-->(b)-->(c), (a)-->(c)",
    ),
}
"""A pattern in order of time, and the same one without the order."""


def generator(transfers: int) -> Transfers:
    """Return transfers that repeat, with hubs, rings in order of time, and decoys."""
    rings = max(4, transfers // 5000)
    return Transfers(
        transfers=transfers,
        accounts=max(200, transfers // 10),
        **dict.fromkeys(("rings", "fan_ins", "fan_outs", "gather_scatters"), 0),
        copies=5,
        hubs=max(2, transfers // 20_000),
        hub_share=0.1,
        ordered_rings=rings // 10 + 4,
        ordered_decoys=rings // 10 + 12,
        ordered_copies=3,
        seed=28,
    )


def repeated(transfers: int) -> Transfers:
    """Return transfers with about 100 copies of each edge."""
    none = dict.fromkeys(("rings", "fan_ins", "fan_outs", "gather_scatters"), 0)
    accounts = max(20, transfers // 500)
    # Decoys would be edges with one copy.
    return Transfers(transfers=transfers, accounts=accounts, copies=100, decoy_every=2**40, seed=28, **none)


@lru_cache(maxsize=1)
def loaded(made: Transfers) -> tuple[object, mf.Graph]:
    """Return the tables and the graph of some transfers; the last ones are kept."""
    tables = inputs.tables_of(made)
    return tables, tables.graph()


@dataclass(frozen=True)
class Counted:
    """A count and the seconds of it, None where it was cut short."""

    count: int
    complete: bool
    engine: str
    seconds: Timing


def count(
    graph: mf.Graph,
    pattern: mf.Pattern,
    settings: Settings,
    *,
    threads: int = THREADS,
    clock: Clock = CLOCK,
    before: Callable[[], object] = lambda: None,
    **options: object,
) -> Counted:
    """Count embeddings."""
    found, seconds = repeat(
        lambda: mf.count(
            graph, pattern, threads=threads, timeout=settings.timeout, progress=False, device="cpu", **options
        ),
        clock,
        settings.runs,
        before,
    )
    return Counted(int(found), bool(found.complete), found.engine, seconds)


def listing(
    graph: mf.Graph, pattern: mf.Pattern, settings: Settings, *, threads: int = THREADS, clock: Clock = CLOCK
) -> Counted:
    """List all embeddings, batch by batch."""

    def listed() -> tuple[int, bool, str]:
        with mf.match(
            graph, pattern, threads=threads, timeout=settings.timeout, progress=False, device="cpu"
        ) as matches:
            rows = sum(len(batch) for batch in matches)
        return rows, bool(matches.complete), matches.engine

    (rows, complete, engine), seconds = repeat(listed, clock, settings.runs)
    return Counted(rows, complete, engine, seconds)


@dataclass(frozen=True)
class Unordered:
    """A pattern in order of time beside the same one without the order, with 100 copies of each edge.

    `listed` says whether all matches are listed, and not counted: that leaves out closed forms.
    """

    pattern: str
    listed: bool
    quick: bool = True

    @property
    def name(self) -> str:
        """Says which pattern, and what is asked for."""
        return f"unordered {self.pattern}, {'listed' if self.listed else 'counted'}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Ask for both on one thread."""
        graph = loaded(repeated(TRANSFERS))[1]
        ordered, plain = map(mf.Pattern.parse, ORDERED[self.pattern])
        ask = listing if self.listed else count
        before = ask(graph, plain, settings, threads=1, clock=cpu_clock)
        ours = ask(graph, ordered, settings, threads=1, clock=cpu_clock)
        complete = ours.complete and before.complete
        figures = {
            "times_the_time": ours.seconds.min / before.seconds.min,
            "without_the_order": before.count,
            "copies_per_edge": graph.num_edge_copies / graph.num_edges,
        }
        yield CaseResult(
            self.name,
            ours.engine,
            ours.count if ours.complete else None,
            None,
            ours.seconds,
            BaselineTime("motiflux, without the order", before.seconds.min) if complete else None,
            before.seconds.min / ours.seconds.min if complete else None,
            disagrees=complete and ours.count > before.count,
            figures=figures if complete else {},
        )


@dataclass(frozen=True)
class Rings:
    """Rings of 3 to 6 in order of time, within 3 days, with amounts that fall by at most 10 % an edge.

    On one thread; `first` says whether each count has to plan and to sort copies.
    """

    first: bool
    quick: bool = True

    @property
    def name(self) -> str:
        """Says whether calls are first ones."""
        return f"rings of 3 to 6{', first call' if self.first else ''}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Count each size, then give the sum."""
        graph = loaded(generator(TRANSFERS))[1]
        results = []
        for size in SIZES:
            pattern = mf.Pattern.parse(queries.ring(size))
            ours = count(
                graph,
                pattern,
                settings,
                threads=1,
                clock=cpu_clock,
                before=graph.forget if self.first else lambda: None,
            )
            results.append(ours)
            planted = known(size)
            wrong = ours.complete and ours.count < planted
            by = f"at least the {planted} planted{', DISAGREES' if wrong else ''}"
            name = f"{self.name}: {size}"
            shown = ours.count if ours.complete else None
            yield CaseResult(name, ours.engine, shown, by, ours.seconds, disagrees=wrong)
        complete = all(one.complete for one in results)
        total = Timing(
            sum(one.seconds.median for one in results),
            sum(one.seconds.min for one in results),
            min(one.seconds.runs for one in results),
        )
        counts = sum(one.count for one in results) if complete else None
        yield CaseResult(self.name, results[0].engine, counts, None, total)


@dataclass(frozen=True)
class PlantedRings:
    """The planted rings alone, by their band of amounts: all of them, and no decoys."""

    name: str = "planted rings"
    quick: bool = True

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Count each size."""
        graph = loaded(generator(TRANSFERS))[1]
        for size in SIZES:
            low, high = mf.generate.BANDS["ordered_ring"]
            band = " AND ".join(f"{low} <= e{at}.amount < {high}" for at in range(size))
            ring = queries.ring(size, label="wire")
            pattern = mf.Pattern.parse(ring.replace(" WHERE ", f" WHERE {band} AND ", 1))
            ours = count(graph, pattern, settings, threads=1, clock=cpu_clock)
            checked = check_count(ours.count, ours.complete, known(size), "the generator")
            shown = ours.count if ours.complete else None
            yield CaseResult(
                f"{self.name}: {size}",
                ours.engine,
                shown,
                checked.by,
                ours.seconds,
                disagrees=checked.disagrees,
            )


def known(size: int) -> int:
    """Return how many rings of a size are planted in the large graph."""
    rings = [one for one in generator(TRANSFERS).planted if one.kind == "ordered_ring"]
    return sum(len(one.vertices) == size for one in rings)


@dataclass(frozen=True)
class Beside:
    """A query beside DuckDB: the same number, on as many threads."""

    query: str
    whole: bool = False
    """Whether on all transfers, not a tenth of them."""
    quick: bool = True

    @property
    def name(self) -> str:
        """Says which query."""
        return f"duckdb {self.query}{' of all transfers' if self.whole else ''}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Count embeddings with both; nothing without DuckDB."""
        if not judge.is_here():
            return
        made = generator(TRANSFERS if self.whole else FEWER)
        graph = loaded(made)[1]
        pattern = mf.Pattern.parse(queries.QUERIES[self.query])
        ours = count(graph, pattern, settings)
        theirs = judged(made).run(pattern, "embeddings", CLOCK, settings)
        checked = check_count(ours.count, ours.complete, theirs.count, judge.NAME)
        baseline = None
        if theirs.seconds is not None:
            baseline = BaselineTime(judge.NAME, theirs.seconds.min, theirs.timeout)
        comparable = baseline is not None and ours.complete
        yield CaseResult(
            self.name,
            ours.engine,
            ours.count if ours.complete else None,
            checked.by,
            ours.seconds,
            baseline,
            baseline.seconds / ours.seconds.min if baseline and comparable else None,
            checked.disagrees,
        )
        engine = f"{judge.NAME} ({theirs.note})" if theirs.note else judge.NAME
        yield CaseResult(self.name, engine, theirs.count, None, theirs.seconds)


@lru_cache(maxsize=1)
def judged(made: Transfers) -> judge.Judge:
    """Return DuckDB with the tables of some transfers; the last ones are kept."""
    return judge.Judge(loaded(made)[0], THREADS)
