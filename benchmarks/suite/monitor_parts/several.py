"""What one stream and one pattern do not show: many patterns, deletions alone, a sliding window."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.suite import Settings, load_part

PARTS = Path(__file__).resolve().parent
cases = load_part(PARTS / "cases.py")
streams = cases.streams
ENGINE = "cpu"
PATTERNS = 50
MANY = streams.Stream("50 patterns", "ca_condmat", "tree", 4, 5_000, 0.33, vertex_labels=3)
"""The graph and the updates; with three labels in all, updates concern most of the patterns."""
SHAPES = (("tree", 4), ("cycle", 4), ("sparse", 4), ("tree", 5), ("cycle", 5), ("dense", 5))
"""Of which the patterns are drawn in turn."""


def seconds_of(monitor: mf.Monitor, updates: mf.Updates) -> tuple[mf.Delta, float]:
    begun = time.process_time()
    delta = monitor.apply(updates)
    return delta, time.process_time() - begun


def different_patterns(data: Path) -> list[mf.Pattern]:
    """Draw patterns of four and five vertices from the graph, no two of them isomorphic."""
    met: dict[object, mf.Pattern] = {}
    seed = 0
    while len(met) < PATTERNS:
        shape, size = SHAPES[seed % len(SHAPES)]
        seed += 1
        drawn = streams.draw(dataclasses.replace(MANY, shape=shape, size=size, seed=seed, updates=0), data)
        pairs = [(source, target) for source, target, _ in drawn.query_edges]
        pattern = mf.Pattern.from_edges(pairs, vertex_labels=drawn.query_labels)
        met.setdefault(canonical(drawn.query_labels, pairs), pattern)
    return list(met.values())


def canonical(labels: tuple[int, ...], pairs: list[tuple[int, int]]) -> object:
    """Return what isomorphic patterns have in common: the least of all their numberings."""
    return min(
        (
            [labels[place] for place in order],
            sorted(tuple(sorted((order.index(u), order.index(v)))) for u, v in pairs),
        )
        for order in permutations(range(len(labels)))
    ).__repr__()


@dataclass(frozen=True)
class Several:
    """Fifty different patterns over the same labels on one stream, against the mean of each alone."""

    data: Path
    name: str = f"{PATTERNS} patterns"
    quick: bool = False

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        loaded = cases.load_drawn(MANY, self.data)
        patterns = different_patterns(self.data)
        alone = [self.least([pattern], loaded, 2) for pattern in patterns]
        together = [self.once(patterns, loaded) for _ in range(settings.runs)]
        found, counts = together[-1][0], [counts[0] for counts, _ in alone]
        seconds = Timing.of([taken for _, taken in together])
        one = BaselineTime("motiflux, one pattern (mean)", float(np.mean([taken for _, taken in alone])))
        yield CaseResult(
            self.name,
            ENGINE,
            sum(found),
            f"{sum(counts)} one by one",
            seconds,
            one,
            one.seconds / seconds.min,
            found != counts,
            {"patterns": len(patterns), "times_one": seconds.min / one.seconds},
        )

    def once(self, patterns: list[mf.Pattern], loaded: cases.Loaded) -> tuple[list[int], float]:
        with mf.Monitor(loaded.graph, patterns, threads=1, device="cpu") as monitor:
            delta, taken = seconds_of(monitor, loaded.updates)
        return [delta[pattern].positive + delta[pattern].negative for pattern in patterns], taken

    def least(self, patterns: list[mf.Pattern], loaded: cases.Loaded, runs: int) -> tuple[list[int], float]:
        return min((self.once(patterns, loaded) for _ in range(runs)), key=lambda one: one[1])


@dataclass(frozen=True)
class Deleted:
    """The insertions of a stream, then deletions of the same edges, the last one first."""

    case: cases.StreamCase
    quick: bool = False

    @property
    def name(self) -> str:
        return f"delete {self.case.name}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        loaded = self.case.load()
        updates = loaded.updates
        back = updates.rows(np.arange(len(updates))[::-1].copy())
        back = dataclasses.replace(back, inserts=np.zeros(len(updates), bool))
        inserting, deleting = [], []
        for _ in range(settings.runs):
            with mf.Monitor(loaded.graph, loaded.pattern, threads=1, device="cpu") as monitor:
                gained, taken = seconds_of(monitor, updates)
                inserting.append(taken)
                lost, taken = seconds_of(monitor, back)
                deleting.append(taken)
        yield against(self.name, "insertions", lost[0].negative, gained[0].positive, deleting, inserting)


@dataclass(frozen=True)
class Windowed:
    """A window that slides over the edges of a stream, against deleting the oldest edge by hand."""

    case: cases.StreamCase
    quick: bool = False

    @property
    def name(self) -> str:
        return f"window {self.case.name}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        loaded = self.case.load()
        filling, sliding, by_hand = sliding_updates(loaded)
        empty = without_edges(loaded.graph)
        taken: dict[bool, list[float]] = {True: [], False: []}
        changed: dict[bool, int] = {}
        for _ in range(settings.runs):
            for windowed, updates in ((True, sliding), (False, by_hand)):
                window = len(filling) if windowed else None
                with mf.Monitor(empty, loaded.pattern, threads=1, window=window, device="cpu") as monitor:
                    monitor.apply(filling)
                    delta, seconds = seconds_of(monitor, updates)
                changed[windowed] = delta[0].positive + delta[0].negative
                taken[windowed].append(seconds)
        yield against(
            self.name, "deletions by hand", changed[True], changed[False], taken[True], taken[False]
        )


def without_edges(graph: mf.Graph) -> mf.Graph:
    edges = graph.to_edges()
    return mf.Graph.from_edges(
        (edges.src[:0], edges.dst[:0]),
        num_vertices=graph.num_vertices,
        vertex_labels=graph.vertex_labels,
        edge_labels=None if edges.labels is None else edges.labels[:0],
    )


def sliding_updates(loaded: cases.Loaded) -> tuple[mf.Updates, mf.Updates, mf.Updates]:
    """Return what fills the window, in random order, what slides it, and this with deletions by hand."""
    edges, updates = loaded.graph.to_edges(), loaded.updates
    kinds = np.zeros(len(edges.src), np.int64) if edges.labels is None else edges.labels
    filling = mf.Updates(
        np.ones(len(edges.src), bool), edges.src, edges.dst, None if updates.labels is None else kinds
    ).rows(np.random.default_rng(1).permutation(len(edges.src)))
    size = min(len(filling), len(updates))
    sliding = updates.rows(np.arange(size))
    oldest = filling.rows(np.arange(size))

    def woven(old: np.ndarray, new: np.ndarray) -> np.ndarray:
        return np.column_stack([old, new]).ravel()

    labels = None
    if updates.labels is not None:
        assert sliding.labels is not None
        labels = woven(oldest.labels, sliding.labels)
    by_hand = mf.Updates(
        woven(~oldest.inserts, sliding.inserts),
        woven(oldest.sources, sliding.sources),
        woven(oldest.targets, sliding.targets),
        labels,
    )
    return filling, sliding, by_hand


def against(
    name: str, other: str, found: int, known: int, taken: list[float], compared: list[float]
) -> CaseResult:
    """Return a result whose baseline is motiflux on what should take as long."""
    seconds, baseline = Timing.of(taken), BaselineTime(f"motiflux, {other}", min(compared))
    return CaseResult(
        name,
        ENGINE,
        found,
        f"{known} by {other}",
        seconds,
        baseline,
        baseline.seconds / seconds.min,
        found != known,
    )
