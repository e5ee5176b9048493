"""The bars of the search experiments; those of experiments that were not run are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import geometric_mean, mean

from motiflux.bench.results import Bar, CaseResult
from motiflux.bench.suite import load_part

HERE = Path(__file__).resolve().parent
experiments, memory, trials = (load_part(HERE / f"{name}.py") for name in ("experiments", "memory", "trials"))

SHARE_FASTER = 0.5
PV_OVER_SV, PV_SLOWER, PUBLISHED = 1.15, 1.05, 3.0
NOT_SLOWER = 1.0
CLASSES = (0, 1, 2, 3)
"""Numbers of phases of several vertices; the last one stands for more, too."""
SAME, MEAN_OF_CLASS = 0.95, 1.0
OVER_LARGER, OVER_COPIED, COPIED = 1.25, 1.5, 2.0
AUTO, AUTO_SECONDS = 1.1, 1e-3


def bars(results: Sequence[CaseResult]) -> Iterator[Bar]:
    """Return the bars of all experiments that have results."""
    for what, of in BARS.items():
        if cases := [one for one in results if one.case.startswith(f"{what} ")]:
            yield from of(cases)
            failed = sum(f" {trials.FAILED}: " in one.engine for one in cases)
            yield Bar(f"{what}: queries that failed", failed, 0, "lower")


def of_overall(cases: Sequence[CaseResult]) -> Iterator[Bar]:
    """Hold the share of queries that are faster; one that only one engine ended is faster by that engine."""
    for mode, of_mode in (("counting", ", counting, "), ("listing", ", listing, ")):
        faster = [
            one.figures[experiments.FASTER]
            for one in cases
            if of_mode in one.case and experiments.FASTER in one.figures
        ]
        name = f"overall, {mode}: faster than dfs, share of the queries"
        yield Bar(name, mean(faster) if faster else None, SHARE_FASTER, "higher")


def of_pv_sv(cases: Sequence[CaseResult]) -> Iterator[Bar]:
    """Hold the mean of queries with phases of several vertices, each class, and the slowest query."""
    found = [(int(one.figures[experiments.PHASES]), one.ratio) for one in cases if one.ratio is not None]
    several = [ratio for number, ratio in found if number]
    name = "pv over sv, queries with phases of several vertices, geometric mean"
    yield Bar(name, _mean(several), PV_OVER_SV, "higher")
    for number in CLASSES:
        of_class = [ratio for phases, ratio in found if min(phases, CLASSES[-1]) == number]
        more = " or more" if number == CLASSES[-1] else ""
        target = MEAN_OF_CLASS if number else SAME
        yield Bar(
            f"pv over sv, {number}{more} such phases, geometric mean", _mean(of_class), target, "higher"
        )
    slowest = max((1 / ratio for number, ratio in found if number), default=None)
    yield Bar("pv over sv: times of sv, most", slowest, PV_SLOWER, "lower")
    if equal := [max(ratio, 1 / ratio) for number, ratio in found if not number]:
        yield Bar("pv over sv: ratio of equal plans, most", max(equal), PV_SLOWER, "lower")
    kernels = [
        one.figures[experiments.KERNELS_RATIO]
        for one in cases
        if one.figures.get(experiments.PHASES) and experiments.KERNELS_RATIO in one.figures
    ]
    if kernels:
        yield Bar("pv over sv, kernels alone, geometric mean", _mean(kernels), NOT_SLOWER, "higher")


def of_published(cases: Sequence[CaseResult]) -> Iterator[Bar]:
    """Hold the mean."""
    ratios = [one.ratio for one in cases if one.ratio is not None]
    yield Bar(
        "over the published switches, tables copied, geometric mean", _mean(ratios), PUBLISHED, "higher"
    )


def of_memory(cases: Sequence[CaseResult]) -> Iterator[Bar]:
    """Hold the time at each share, and the bytes that are copied."""

    def most(figure: str, share: int | None = None) -> float | None:
        of_share = "" if share is None else f", tables of {share} times the memory"
        return max(
            (one.figures[figure] for one in cases if of_share in one.case and figure in one.figures),
            default=None,
        )

    large, small = memory.SHARES
    name = "memory, tables of {} times the memory: over {}, most"
    over: tuple[tuple[int, str, str, float], ...] = (
        (large, "the larger of copy and computation", memory.OVER_LARGER, OVER_LARGER),
        (small, "tables copied and resident", memory.OVER_COPIED, OVER_COPIED),
    )
    for share, what, figure, target in over:
        yield Bar(name.format(share, what), most(figure, share), target, "lower")
    yield Bar("memory: bytes copied over those of the tables, most", most(memory.COPIES), COPIED, "lower")


def of_auto(cases: Sequence[CaseResult]) -> Iterator[Bar]:
    """Hold the query that takes longest beside the better engine."""
    times = [
        1 / one.ratio
        for one in cases
        if one.ratio is not None and one.baseline is not None and one.baseline.seconds >= AUTO_SECONDS
    ]
    yield Bar("auto: times the better engine, most, from 1 ms", max(times, default=None), AUTO, "lower")


BARS: dict[str, Callable[[Sequence[CaseResult]], Iterator[Bar]]] = {
    "overall": of_overall,
    "pv_sv": of_pv_sv,
    "published": of_published,
    "memory": of_memory,
    "auto": of_auto,
}


def _mean(ratios: Sequence[float]) -> float | None:
    return geometric_mean(ratios) if ratios else None
