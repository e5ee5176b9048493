"""Whether plans are good: short searches, estimates near the truth, little time for planning itself.

``motiflux bench planner``. Needs the shared graphs and oracles (``MOTIFLUX_SHARED``). All times are process
CPU time on one thread. What a case is named for:

``limit``       the candidate space built anew and the search, up to 100,000 embeddings; the plan is known
``count``       all embeddings, everything known but the count
``cold``        planning, candidate space and search of a query that has no answer
``warm``        its search alone
``planning``    planning a query, candidate space included, on a graph whose labels are counted; its count is
                the number of levels
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import repeat
from motiflux.bench.results import Bar, CaseResult
from motiflux.bench.run import check_count
from motiflux.bench.suite import Case, GraphSource, Probe, Settings, Suite, load_suite
from motiflux.plan import make_plan
from motiflux.plan.candidates.space import KEPT_SPACES

ENGINE = "cpu"
LIMIT = 100_000
LIMIT_MS = {4: 0.4, 8: 0.8, 16: 4.0, 32: 10.0}
"""Targets for the median over the yeast queries of so many vertices."""
LONG_SECONDS = 8.0
PLANNING_MS = {8: 2.0, 32: 20.0}
ANSWERLESS = ("yeast", "hprd", "human")
SIZES = (4, 8, 16, 32)
QUERIES, QUICK_QUERIES = 25, 4
"""Queries without an answer that are drawn per graph and size; those with one are left out."""
GIVE_UP = 10.0
"""Seconds after which a query without an answer counts as not finished."""
CHECK_SECONDS = 0.2
UNLABELLED = ("wiki_vote", "email_enron")
PATTERNS = ("triangle", "diamond", "4cycle", "tailedtri", "house", "4clique", "5clique")
ESTIMATE_RATIO = 4.0

Ratios = list[float]
"""How far the estimated size of each enumerated step is off."""


def build(shared: Path) -> Suite:
    known = load_suite("skeleton", Path(__file__).parent).cases
    yeast = [case for case in known if case.name.startswith("yeast ") and " as is" not in case.name]
    unlabelled = [case for case in known if case.name in _names_of_unlabelled()]
    ratios: Ratios = []
    probes: list[Probe] = [Limited(case) for case in yeast]
    probes += [Planning(case) for case in yeast]
    probes += [NoAnswer(shared, graph, size) for graph in ANSWERLESS for size in SIZES]
    probes += [Whole(case, ratios) for case in [*yeast, *unlabelled] if case.expected is not None]
    return Suite("planner", (), lambda results: bars(results, ratios), probes=probes)


def _names_of_unlabelled() -> set[str]:
    return {f"{graph} {pattern}" for graph in UNLABELLED for pattern in PATTERNS}


def bars(results: Sequence[CaseResult], ratios: Ratios) -> list[Bar]:
    whole = [one for one in results if one.case.startswith("count yeast ")]
    return [
        Bar("counts that disagree", sum(one.disagrees for one in results), 0, "lower"),
        *(
            Bar(
                f"yeast, {size} vertices, limit 1e5: median ms",
                median_ms(results, f"limit yeast {size} "),
                target,
                "lower",
            )
            for size, target in LIMIT_MS.items()
        ),
        Bar("yeast: known counts not finished", sum(one.count is None for one in whole), 0, "lower"),
        Bar("yeast: known counts that take over 8 s", sum(map(is_long, whole)), 2, "lower"),
        *no_answer_bars(results),
        Bar(
            "estimated against actual sizes of steps: median ratio",
            statistics.median(ratios) if ratios else None,
            ESTIMATE_RATIO,
            "lower",
        ),
        *(
            Bar(
                f"yeast, {size} vertices, planning: median ms",
                median_ms(results, f"planning yeast {size} "),
                target,
                "lower",
            )
            for size, target in PLANNING_MS.items()
        ),
    ]


def no_answer_bars(results: Sequence[CaseResult]) -> Iterator[Bar]:
    for kind, what in (("warm", "search alone"), ("cold", "with planning and candidate space")):
        found = [one for one in results if one.case.startswith(f"{kind} ")]
        longest = max((one.seconds.min for one in found if one.seconds), default=None)
        yield Bar(f"no answer, {what}: median ms", median_ms(found, ""), 1.0, "lower")
        yield Bar(f"no answer, {what}: longest s", longest, 1.0, "lower")


def median_ms(results: Sequence[CaseResult], prefix: str) -> float | None:
    taken = [one.seconds.min for one in results if one.case.startswith(prefix) and one.seconds]
    return statistics.median(taken) * 1e3 if taken else None


def is_long(result: CaseResult) -> bool:
    return result.count is None or (result.seconds is not None and result.seconds.min > LONG_SECONDS)


@lru_cache(maxsize=1)
def read(source: GraphSource) -> mf.Graph:
    return source.read()


def case_name(kind: str, case: Case) -> str:
    """Give ``kind yeast SIZE QUERY``, so that the queries of one size are found by their prefix."""
    graph, _, query = case.name.partition(" ")
    return f"{kind} {graph} {case.pattern().num_vertices} {query.removeprefix('query_')}"


def expected_of(case: Case) -> int | None:
    return case.expected() if callable(case.expected) else case.expected


@dataclass(frozen=True)
class Limited:
    """A labelled query up to a limit: its candidate space and its search, planned already."""

    case: Case
    quick: bool = True

    @property
    def name(self) -> str:
        return case_name("limit", self.case)

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph, pattern = read(self.case.graph), self.case.pattern()

        def count() -> mf.Count:
            return mf.count(graph, pattern, limit=LIMIT, threads=1, timeout=settings.timeout)

        count()
        found, seconds = repeat(count, before=lambda: graph.memo.drop(KEPT_SPACES))
        known = expected_of(self.case)
        stopped = not found.complete and found < LIMIT
        checked = check_count(
            int(found), not stopped, None if known is None else min(known, LIMIT), self.case.source
        )
        yield CaseResult(
            self.name,
            ENGINE,
            None if stopped else int(found),
            checked.by,
            seconds,
            disagrees=checked.disagrees,
        )


@dataclass(frozen=True)
class Planning:
    """Planning a labelled query, its candidate space included."""

    case: Case
    quick: bool = True

    @property
    def name(self) -> str:
        return case_name("planning", self.case)

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph, pattern = read(self.case.graph), self.case.pattern()
        plan, seconds = repeat(
            lambda: make_plan(graph, pattern, space=True, tail=True), before=lambda: forget(graph)
        )
        yield CaseResult(self.name, "planner", len(plan.order), None, seconds)


def forget(graph: mf.Graph) -> None:
    """Drop all but what is of the graph alone."""
    graph.forget()
    graph.label_frequencies()
    graph.label_groups()


@dataclass(frozen=True)
class Whole:
    """A known count, and how near the estimated sizes of its steps are."""

    case: Case
    ratios: Ratios = field(repr=False)

    @property
    def name(self) -> str:
        return case_name("count", self.case)

    @property
    def quick(self) -> bool:
        return self.case.quick and not self.case.name.endswith("house")

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        case = self.case
        graph, pattern = read(case.graph), case.pattern()
        found, seconds = repeat(
            lambda: mf.count(
                graph, pattern, symmetry=case.symmetry, threads=1, timeout=settings.timeout, progress=False
            ),
            runs=settings.runs,
        )
        checked = check_count(int(found), found.complete, expected_of(case), case.source)
        if found.complete:
            self.ratios.extend(step_ratios(graph, pattern, case.symmetry, settings.timeout))
        count = int(found) if found.complete else None
        yield CaseResult(self.name, ENGINE, count, checked.by, seconds, disagrees=checked.disagrees)


def step_ratios(graph: mf.Graph, pattern: mf.Pattern, symmetry: str, timeout: float) -> Iterator[float]:
    """Give, per enumerated step, by which factor its estimate is off; fewer than one counts as one."""
    report = mf.explain(graph, pattern, symmetry=symmetry, threads=1, analyze=True, timeout=timeout).report
    if report.actual is None or not report.actual.complete:
        return
    for step in report.steps:
        if not step.tail and step.actual is not None and step.estimated is not None:
            estimated, actual = max(step.estimated, 1.0), max(step.actual, 1)
            yield max(estimated / actual, actual / estimated)


@dataclass(frozen=True)
class NoAnswer:
    """Queries without an answer: random walks over the graph, with the label of one vertex exchanged."""

    shared: Path
    graph: str
    size: int
    quick: bool = True

    @property
    def name(self) -> str:
        return f"{self.graph} {self.size} without an answer"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = read(GraphSource(self.shared / f"data/{self.graph}.npz"))
        draw = Draw(graph, random.Random(f"{self.graph} {self.size}"))
        for number in range(QUICK_QUERIES if settings.quick else QUERIES):
            pattern = draw.query(self.size, dense=number % 2 == 0)
            yield from self._query(graph, pattern, f"{self.graph} {self.size} no {number}", settings)

    def _query(
        self, graph: mf.Graph, pattern: mf.Pattern, name: str, settings: Settings
    ) -> Iterator[CaseResult]:
        def count() -> mf.Count:
            return mf.count(graph, pattern, limit=1, threads=1, timeout=min(GIVE_UP, settings.timeout))

        found, cold = repeat(count, runs=settings.runs, before=lambda: forget(graph))
        if found:
            return
        _, warm = repeat(count, runs=settings.runs)
        wrong, checked = contradicted(graph, pattern)
        number = int(found) if found.complete else None
        for kind, seconds in (("cold", cold), ("warm", warm)):
            yield CaseResult(f"{kind} {name}", ENGINE, number, checked, seconds, disagrees=wrong)


def contradicted(graph: mf.Graph, pattern: mf.Pattern) -> tuple[bool, str | None]:
    """Look for an answer without a candidate space; say whether there is one, and who says there is none."""
    found = mf.count(
        graph,
        pattern,
        limit=1,
        threads=1,
        timeout=CHECK_SECONDS,
        tuning={"candidates": "off", "order": "cost"},
    )
    how = "search without candidate space"
    if found:
        return True, f"{how}, DISAGREES: {int(found)} or more"
    return False, how if found.complete else None


class Draw:
    """Draws queries from a graph."""

    _ATTEMPTS = 200

    def __init__(self, graph: mf.Graph, rng: random.Random) -> None:
        self._rng = rng
        offsets, neighbors = graph.forward.offsets.tolist(), graph.forward.neighbors.tolist()
        self._rows = [neighbors[offsets[v] : offsets[v + 1]] for v in range(graph.num_vertices)]
        values = graph.vertex_label_table.values
        assert graph.vertex_labels is not None
        self._labels = [values[code] for code in graph.vertex_labels.tolist()]
        self._values = values

    def query(self, size: int, *, dense: bool) -> mf.Pattern:
        """Return what a walk over `size` vertices induces, one label exchanged.

        With `dense` its mean degree is 3 or more, else less, if such walks are found.
        """
        for _ in range(self._ATTEMPTS):
            vertices = self._walk(size)
            place = {vertex: position for position, vertex in enumerate(vertices)}
            edges = [(place[u], place[v]) for u in vertices for v in self._rows[u] if u < v and v in place]
            if size <= SIZES[0] or dense == (2 * len(edges) >= 3 * size):
                break
        labels = [self._labels[vertex] for vertex in vertices]
        exchanged = self._rng.randrange(size)
        labels[exchanged] = self._rng.choice([one for one in self._values if one != labels[exchanged]])
        return mf.Pattern.from_edges(edges, vertex_labels=labels)

    def _walk(self, size: int) -> list[int]:
        while True:
            here = self._rng.randrange(len(self._rows))
            seen = {here: None}
            for _ in range(100 * size):
                if not self._rows[here] or len(seen) == size:
                    break
                here = self._rng.choice(self._rows[here])
                seen[here] = None
            if len(seen) == size:
                return list(seen)
