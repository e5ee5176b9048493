"""How far predicted times are off, and the constants that fit best: ``python benchmarks/micro/predict.py``.

Searches of the yeast queries and of unlabelled patterns on wiki_vote, on one thread, each as often as its
time allows. Needs the shared graphs and queries (``MOTIFLUX_SHARED``). The constants in use are those of
`motiflux.plan.estimate.predict`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import cpu_clock, repeat
from motiflux.bench.suite import shared_folder
from motiflux.cpu.engine import CpuEngine
from motiflux.plan import make_plan
from motiflux.plan.estimate.predict import READ_SECONDS, START_SECONDS, STEP_SECONDS, Work, expected_work
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request

TIMEOUT = 20.0
"""Seconds for one search; those that take longer are left out."""
STEPS = [1e-9 * 1.2**power for power in range(30)]
READS = [1e-10 * 1.2**power for power in range(24)]
STARTS = [10e-6, 15e-6, 20e-6, 25e-6, 30e-6, 35e-6, 40e-6]

Constants = tuple[float, float, float]


@dataclass(frozen=True)
class Measured:
    """One search: what was expected of it, and its seconds."""

    name: str
    work: Work
    seconds: float

    def error(self, constants: Constants) -> float:
        """Return the logarithm of predicted over measured."""
        start, step, read = constants
        return log((start + step * self.work.steps + read * self.work.read) / self.seconds)


def main() -> None:
    measured = list(searches(shared_folder(Path(__file__).parents[1] / "suite")))
    in_use = (START_SECONDS, STEP_SECONDS, READ_SECONDS)
    for one in sorted(measured, key=lambda one: one.error(in_use)):
        print(f"{one.name:<24} {one.seconds:9.2e} s, predicted {exp(one.error(in_use)):5.2f} times that")
    report("in use", in_use, measured)
    grid = ((start, step, read) for start in STARTS for step in STEPS for read in READS)
    report("best fit", min(grid, key=lambda constants: mean_error(constants, measured)), measured)


def searches(shared: Path) -> Iterator[Measured]:
    yeast = mf.read_graph(shared / "data/yeast.npz")
    for path in sorted((shared / "oracle/yeast/queries").glob("*.graph")):
        yield from search(yeast, path)
    wiki = mf.read_graph(shared / "data/wiki_vote.npz", directed=False)
    for path in sorted((shared / "oracle/unlabelled/queries").glob("*.graph")):
        yield from search(wiki, path)


def search(graph: mf.Graph, path: Path) -> Iterator[Measured]:
    """Measure one search, if it is sampled and ends in time."""
    request = make_request(semantics="isomorphism", symmetry="embeddings", threads=1, timeout=TIMEOUT)
    plan = make_plan(graph, mf.read_pattern(path), space=True, tail=True)
    engine = CpuEngine()
    physical = engine.strategy(graph, plan, request)
    work = expected_work(plan)
    outcome, seconds = repeat(
        lambda: engine.count(graph, physical, request, Deadline.after(TIMEOUT)), cpu_clock, 20
    )
    if work is not None and outcome.complete:
        yield Measured(path.stem, work, seconds.min)


def mean_error(constants: Constants, measured: Sequence[Measured]) -> float:
    return sum(abs(one.error(constants)) for one in measured) / len(measured)


def report(name: str, constants: Constants, measured: Sequence[Measured]) -> None:
    start, step, read = constants
    off = sorted(exp(abs(one.error(constants))) for one in measured)
    print(
        f"{name}: start {start * 1e6:.0f} us, step {step * 1e9:.1f} ns, read {read * 1e9:.2f} ns;"
        f" off by {statistics.median(off):.2f} in the median, {off[len(off) * 9 // 10]:.2f} at the ninth"
        f" decile, {off[-1]:.2f} at most, over {len(off)} searches"
    )


if __name__ == "__main__":
    main()
