"""The GPU engine: counts against the best other system, rows, calls, dispatch, several GPUs.

``motiflux bench gpu``, on a machine with a GPU. Needs the shared graphs and oracles (``MOTIFLUX_SHARED``);
the R-MAT graph is drawn (half a minute) unless ``MOTIFLUX_RMAT20`` names it. Graphs lie on the device and
kernels are compiled before anything is timed. What a case is named for:

GRAPH QUERY    candidate space and search by the device's own clock, the space made anew each time;
               ``, space`` of it the space; ``, call`` a call of `count` by the wall clock, the space known
``rows``       listing: ids in device memory, NumPy arrays, Arrow batches; its count is the rows
``again``      a known query: a call beyond its kernels, by the wall clock, and the kernels
``two GPUs``   one GPU and two, by the wall clock; its ratio is how many times faster
``auto``       ``device="auto"`` by the wall clock, its ratio that to the better of both engines; the query is
               known, or new: planned, and its space made
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, log
from pathlib import Path

from motiflux.bench.results import Bar, CaseResult
from motiflux.bench.suite import Probe, Suite, load_part

HERE = Path(__file__).resolve().parent
common = load_part(HERE / "gpu_parts/common.py")
counts = load_part(HERE / "gpu_parts/counts.py")
calls = load_part(HERE / "gpu_parts/calls.py")
dispatch = load_part(HERE / "gpu_parts/dispatch.py")
skeleton = load_part(HERE / "skeleton.py")

TIMES_PEER = {"triangle": 1.0, "diamond": 0.5, "4clique": 0.7, "5clique": 0.7, "tailedtri": 0.5}
"""Targets for the total time against the best other system's."""
MILLISECONDS = {"4cycle": (0.2, 0.6, 5.0), "house": (1.0, 3.0, 100.0)}
"""Targets for the total time on the three graphs."""
RMAT_SECONDS = {"4cycle": 0.3, "house": 3.0}
LABELLED_PREFIX, RMAT_PREFIX = "enron_label20 ", "rmat20 "
LISTED = ("4clique", "diamond", "4cycle", "tailedtri")
ROWS_PER_SECOND = {"device": 2e9, "NumPy": 100e6}
LONG = "rmat20 q_6_dense_0"
"""A count over 200 ms."""
RMAT_CHOSEN = ("triangle", "4cycle", "house", "q_6_dense_0", "q_6_sparse_0", "q_6_sparse_2")
"""What is counted on the R-MAT graph for `auto`: the others are like one of these."""
SHORT_SECONDS = 1e-3


def build(shared: Path) -> Suite:
    unlabelled, labelled = list(counts.unlabelled(shared)), list(counts.labelled(shared))
    hard, rmat = list(counts.hard(shared)), list(counts.rmat(shared))
    cases = {one.name: one.case for one in [*unlabelled, *labelled, *rmat]}
    brief = [case for case in skeleton.yeast(shared) if case.quick]
    yeast = {case.name.removeprefix("yeast query_"): case for case in brief}
    probes: list[Probe] = [counts.Begin(shared), *unlabelled, *labelled]
    probes += calls.listed([cases[f"email_enron {pattern}"] for pattern in LISTED])
    probes += [
        calls.Again("search", cases["email_enron tailedtri"], {"tables": "off"}),
        calls.Again("tables", cases["email_enron 4cycle"]),
        calls.Again("clique", cases["email_enron 4clique"]),
        calls.Again("search of a space", yeast["dense_8_112"]),
    ]
    probes += [*hard, *rmat]
    probes += [calls.TwoDevices(cases[name]) for name in ("rmat20 4cycle", "rmat20 house", LONG)]
    quick = {"email_enron triangle", "email_enron 4cycle", "enron_label20 8_s1", "yeast query_dense_8_112"}
    chosen = [*(one.case for one in unlabelled), *(one.case for one in labelled), *brief]
    chosen += [cases[RMAT_PREFIX + query] for query in RMAT_CHOSEN]
    probes += [dispatch.Auto(case, quick=case.name in quick) for case in chosen]
    return Suite(
        "gpu",
        (),
        bars,
        packages=("motiflux", "numpy", "cuda-core", "cuda-bindings", "cupy-cuda13x"),
        probes=probes,
        device=lambda: common.accelerator().device.model,
    )


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    by_name = {one.case: one for one in results}
    return [
        Bar("counts that disagree", sum(one.disagrees for one in results), 0, "lower"),
        *peer_bars(by_name),
        *labelled_bars(results),
        *rmat_bars(by_name),
        *(
            Bar(
                f"million rows a second, {where}, slowest pattern",
                slowest(results, where),
                least / 1e6,
                "higher",
            )
            for where, least in ROWS_PER_SECOND.items()
        ),
        *(
            Bar(
                f"known {what} again, beyond its kernels, us",
                median(by_name.get(f"again {what}"), 1e6),
                150,
                "lower",
            )
            for what in ("search", "tables", "clique", "search of a space")
        ),
        Bar("two GPUs over one, counts over 200 ms: least", two_devices(results), 1.85, "higher"),
        *auto_bars(results),
    ]


def peer_bars(by_name: dict[str, CaseResult]) -> Iterator[Bar]:
    for query, target in TIMES_PEER.items():
        for graph in counts.GRAPHS:
            found = by_name.get(f"{graph} {query}")
            yield Bar(f"{graph} {query}: times the best peer", times_peer(found), target, "lower")
    for query, targets in MILLISECONDS.items():
        for graph, target in zip(counts.GRAPHS, targets, strict=True):
            yield Bar(f"{graph} {query}: ms", median(by_name.get(f"{graph} {query}"), 1e3), target, "lower")


def labelled_bars(results: Sequence[CaseResult]) -> Iterator[Bar]:
    """Give those of the twelve labelled queries: no value unless all are there."""
    queries = [one for one in results if one.case.startswith(LABELLED_PREFIX) and "," not in one.case]
    ratios = [ratio for one in queries if (ratio := times_peer(one)) is not None]
    whole = len(queries) == len(ratios) == 12
    mean = exp(sum(map(log, ratios)) / len(ratios)) if whole else None
    yield Bar("enron_label20: times the best peer, geometric mean", mean, 0.5, "lower")
    yield Bar("enron_label20: times the best peer, most", max(ratios) if whole else None, 1.0, "lower")


def rmat_bars(by_name: dict[str, CaseResult]) -> Iterator[Bar]:
    for query, target in RMAT_SECONDS.items():
        yield Bar(f"rmat20 {query}: s", median(by_name.get(RMAT_PREFIX + query)), target, "lower")
    queries = [by_name.get(RMAT_PREFIX + query) for query in counts.RMAT_LABELLED]
    seconds = [taken for one in queries if (taken := median(one)) is not None]
    longest = max(seconds) if len(seconds) == len(queries) else None
    yield Bar("rmat20 labelled queries, longest: s", longest, 10.0, "lower")
    agreed = sum(one is not None and one.checked_against == counts.BY_CPU for one in queries)
    yield Bar("rmat20 labelled queries that CPU and GPU agree on", agreed, len(queries), "higher")


def auto_bars(results: Sequence[CaseResult]) -> Iterator[Bar]:
    """Hold long calls to a share of the better engine's time, short ones to what is lost."""
    autos = [one for one in results if one.case.startswith("auto ") and one.baseline and one.seconds]
    long = [one for one in autos if one.baseline and one.baseline.seconds >= SHORT_SECONDS]
    short = [one for one in autos if one not in long]
    ratios = [one.seconds.min / one.baseline.seconds for one in long if one.seconds and one.baseline]
    lost = [1e6 * (one.seconds.min - one.baseline.seconds) for one in short if one.seconds and one.baseline]
    yield Bar("auto: times the better engine, most, from 1 ms", max(ratios, default=None), 1.10, "lower")
    yield Bar("auto: us beyond the better engine, most, under 1 ms", max(lost, default=None), 100, "lower")


def median(result: CaseResult | None, scale: float = 1.0) -> float | None:
    """Return the median time of a case that was finished."""
    if result is None or result.seconds is None or result.count is None:
        return None
    return scale * result.seconds.median


def times_peer(result: CaseResult | None) -> float | None:
    """Return how many times longer a count takes than with the best peer."""
    seconds = median(result)
    if seconds is None or result is None or result.baseline is None:
        return None
    return seconds / result.baseline.seconds


def slowest(results: Sequence[CaseResult], where: str) -> float | None:
    """Return the least rate of rows, in millions a second."""
    listed = [one for one in results if one.case.startswith("rows ") and one.case.endswith(f", {where}")]
    rates = [one.count / one.seconds.min / 1e6 for one in listed if one.count and one.seconds]
    return min(rates, default=None)


def two_devices(results: Sequence[CaseResult]) -> float | None:
    """Return the least speed-up of counts that take one GPU over 200 ms."""
    pairs = [one for one in results if one.case.startswith("two GPUs ") and one.baseline]
    return min((one.ratio for one in pairs if one.ratio and one.baseline.seconds > 0.2), default=None)
