"""Continuous matching on the CPU: streams, modes, threads, latency, many patterns, memory.

``motiflux bench monitor``. Needs the shared graphs and oracles (``MOTIFLUX_SHARED``). Times are process CPU
time of applying all updates by one call on one thread, the updates being there as arrays; with "wall", by
the wall clock. If ``MOTIFLUX_RAPIDFLOW`` names the program of RapidFlow, it is run on the same streams, in
turns with ours on the same core, and is the baseline (`benchmarks/peer/by_rapidflow.py`); streams where it
crashes or is wrong are named in its row and are in no ratio. Streams are the recorded ones (``c01`` ...) and
those that `monitor_parts/streams.py` draws. What a case is named for:

``count``, ``list``  a stream, its matches counted or listed into memory; making the Monitor is in its figures
``batch``            the same as one batch; its count is the net change
``apply``            a call for each of the first updates: latency; its count is the updates
``50 patterns``      different patterns over the same labels, against the mean of each alone
``delete``           the insertions of a stream undone, against inserting
``window``           a window of edges that slides, against deleting the oldest edge by hand
``pass``             updates that touch no labels of the pattern; its count is the updates
``stream``           a random stream on an R-MAT graph, triangles counted; its count is those gained
``bytes``            what the changing graph holds; its count is the bytes
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import motiflux as mf
from motiflux.bench.results import Bar, CaseResult
from motiflux.bench.suite import Probe, Suite, load_part

PARTS = Path(__file__).resolve().parent / "monitor_parts"
cases = load_part(PARTS / "cases.py")
beside = load_part(PARTS / "beside.py")
modes = load_part(PARTS / "modes.py")
passing = load_part(PARTS / "passing.py")
several = load_part(PARTS / "several.py")
streams = cases.streams

SCALE = passing.SCALE
RECORDED = ("c01", "c03", "c04", "c06", "c08", "c10")
LONG = ("human sparse 6", "enron cycle 4, no labels", "votes cycle 4")
"""Drawn streams whose updates take long enough to share them among threads."""
COUNTED, WORST, LISTED = 0.7, 1.0, 1.5
"""Times RapidFlow's time: the geometric mean and the greatest of counting, and the mean of listing."""
SYMMETRIC = 1.2
CREATION_SECONDS = 0.005


def build(shared: Path) -> Suite:
    folder, data = shared / "oracle/csm", shared / "data"
    expected = json.loads((folder / "expected.json").read_text())
    recorded = [
        cases.Recorded(folder / name, expected[name]["positive"], expected[name]["negative"])
        for name in RECORDED
    ]
    drawn = [cases.Drawn(stream, data) for stream in streams.STREAMS]
    every = [*recorded, *drawn]
    long = [one for one in drawn if one.name in LONG]
    probes: list[Probe] = [beside.Beside(one, quick=one in recorded) for one in every]
    probes += [modes.Modes(one) for one in (*recorded, *long)]
    probes += [modes.Latency(one, quick=one in recorded) for one in every]
    probes += [several.Several(data)]
    inserting = [one for one in every if not one.deletes]
    probes += [several.Deleted(one) for one in inserting]
    probes += [several.Windowed(one) for one in inserting]
    probes += [passing.Passed("c04 graph", lambda: mf.read_graph(folder / "c04" / "data.graph.gz"))]
    probes += [passing.Passed(f"R-MAT {SCALE}", passing.random_graph)]
    probes += [passing.Streamed(threads) for threads in dict.fromkeys((1, modes.all_threads()))]
    probes += [modes.LargeBatch(passing.random_graph)]
    probes += [passing.Held()]
    return Suite("monitor", (), bars, probes=probes)


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    return [
        Bar("streams that disagree with what is known", sum(one.disagrees for one in results), 0, "lower"),
        *against_rapidflow(results),
        *creation(results),
        *parallel(results),
        *symmetric(results),
        *passed(results),
    ]


@dataclass(frozen=True)
class Named:
    """The results of one kind, by the name of the stream."""

    results: Sequence[CaseResult]

    def ratios(self, kind: str, names: Sequence[str]) -> list[float]:
        """Return how many times the baseline's time each took, of those that have a baseline."""
        wanted = {f"{kind} {name}" for name in names}
        return [1 / one.ratio for one in self.results if one.case in wanted and one.ratio]

    def figure(self, case: str, name: str) -> float | None:
        found = (one.figures[name] for one in self.results if one.case == case and name in one.figures)
        return next(found, None)


def geometric_mean(values: Sequence[float]) -> float | None:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def against_rapidflow(results: Sequence[CaseResult]) -> Iterator[Bar]:
    """Yield bars of the recorded streams and of our own, if RapidFlow was run."""
    named = Named(results)
    own = [stream.name for stream in streams.STREAMS]
    for which, names in (("recorded streams", RECORDED), ("own streams", own)):
        counted, listed = named.ratios("count", names), named.ratios("list", names)
        if counted:
            text = f"{len(counted)} {which}, times RapidFlow's time"
            yield Bar(f"{text}: counted, geometric mean", geometric_mean(counted), COUNTED, "lower")
            yield Bar(f"{text}: counted, the greatest", max(counted), WORST, "lower")
            yield Bar(f"{text}: listed, geometric mean", geometric_mean(listed), LISTED, "lower")


def creation(results: Sequence[CaseResult]) -> Iterator[Bar]:
    named = Named(results)
    made = [named.figure(f"count {name}", "create_seconds") for name in RECORDED]
    known = [seconds for seconds in made if seconds is not None]
    text = "making a Monitor of a recorded graph: s, the greatest"
    yield Bar(text, max(known, default=None), CREATION_SECONDS, "lower")


def parallel(results: Sequence[CaseResult]) -> Iterator[Bar]:
    """Yield bars of two threads or more against one."""
    threads = modes.all_threads()
    if threads == 1:
        return
    speedup = {one.case: one.ratio for one in results}
    for case, target in (
        ("count enron cycle 4, no labels", 1.8),
        ("list c08", 1.7),
        ("batch count enron cycle 4, no labels", 1.7),
        ("batch list c08", 1.7),
        (f"batch R-MAT {SCALE} triangle", 1 / 0.55),
    ):
        text = f"{threads} threads over 1, {case}"
        yield Bar(text, speedup.get(modes.on_threads(case, threads)), target, "higher")


def symmetric(results: Sequence[CaseResult]) -> Iterator[Bar]:
    for kind, text in (
        ("delete", "deletions, times the time of insertions"),
        ("window", "a sliding window, times the time of deletions by hand"),
    ):
        ratios = [1 / one.ratio for one in results if one.case.startswith(f"{kind} ") and one.ratio]
        yield Bar(f"{text}: the greatest", max(ratios, default=None), SYMMETRIC, "lower")
    times = Named(results).figure(several.Several.name, "times_one")
    yield Bar(f"{several.PATTERNS} patterns, times the time of one", times, 10, "lower")


def passed(results: Sequence[CaseResult]) -> Iterator[Bar]:
    named = Named(results)
    for graph in ("c04 graph", f"R-MAT {SCALE}"):
        found = named.figure(f"pass {graph}", "nanoseconds_per_update")
        yield Bar(f"updates of no concern, {graph}: ns", found, 60, "lower")
    share = named.figure(f"bytes R-MAT {SCALE}", "share")
    yield Bar("bytes over 24 an edge and 32 a vertex", share, 1.0, "lower")
