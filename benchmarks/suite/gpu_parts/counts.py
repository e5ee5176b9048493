"""Counts of the suite ``gpu``, and what each takes by the device's clock and by the wall clock."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.run import check_count
from motiflux.bench.suite import Case, Settings, load_part
from motiflux.gpu.runtime.kernel_times import DeviceTimes, taking_times

HERE = Path(__file__).resolve().parent
common = load_part(HERE / "common.py")
skeleton = load_part(HERE.parent / "skeleton.py")

GRAPHS = ("email_enron", "soc_slashdot0902", "web_uk2007_100k")
PATTERNS = ("triangle", "diamond", "4cycle", "tailedtri", "house", "4clique", "5clique")
HARD = (
    "dense_16_158", "dense_16_162", "dense_32_146", "dense_32_81", "sparse_16_13", "sparse_32_158",
    "sparse_32_183", "sparse_32_23", "sparse_32_32",
)  # fmt: skip
"""Queries on yeast that a search without closed forms did not finish in 20 s."""
HARD_SECONDS, MOST_SECONDS = 3.0, 12.0
RECORDED = HERE.parents[1] / "results" / "cpu-amd-epyc-2026-11-21.json"
RMAT_LABELLED = {
    "q_6_dense_0": 52_582_933_390, "q_6_dense_1": 21_914_827_502, "q_6_dense_2": 166_426_211_449,
    "q_6_dense_3": 174_011_902_985, "q_6_sparse_0": 844_452_939_130, "q_6_sparse_1": 12_131_212_484_091,
    "q_6_sparse_2": 37_239_196_961_015, "q_6_sparse_3": 8_077_688_344_477,
}  # fmt: skip
"""Embeddings on ``oracle/rmat20``, counted by the CPU engine (benchmarks/NOTES.md)."""
CPU_SECONDS = 20.0
"""Time that the CPU engine has, on all threads, to count what the GPU counted."""
RUNS, MOST_COUNTED = 7, 2.0


@dataclass(frozen=True)
class Counted:
    """One count: candidate space and search by the device's clock, then whole calls by the wall clock.

    Parameters
    ----------
    case
        What is counted: embeddings.
    peer
        The best of other systems.
    most
        Seconds that a count may take.
    by_cpu
        Whether the CPU engine is to count it too.
    quick
        Whether it belongs to the quick run.
    """

    case: Case
    peer: BaselineTime | None = None
    most: float = MOST_SECONDS
    by_cpu: bool = False
    quick: bool = False

    @property
    def name(self) -> str:
        return self.case.name

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        common.tell(self.name)
        graph, pattern = common.read(self.case.graph), self.case.pattern()
        seconds = min(settings.timeout, self.most)
        common.warm(graph, pattern, seconds)
        found, times = counted(graph, pattern, seconds, min(RUNS, settings.runs + 2))
        expected, source = self.case.expected, self.case.source
        if self.by_cpu and (known := count_by_cpu(graph, pattern)) is not None:
            expected, source = known, BY_CPU
        checked = check_count(int(found), found.complete, expected, source)
        number = int(found) if found.complete else None
        total = Timing.of([one.total for one in times])
        ratio = self.peer.seconds / total.median if self.peer and found.complete else None
        yield CaseResult(
            self.name, engine_of(times), number, checked.by, total, self.peer, ratio, checked.disagrees
        )
        if any(one.spaces for one in times):
            spaces = Timing.of([one.spaces for one in times])
            yield CaseResult(f"{self.name}, space", common.ENGINE, number, checked.by, spaces)
        if found.complete:
            call = common.several(lambda: common.count(graph, pattern, seconds).complete, settings.runs + 2)
            yield CaseResult(f"{self.name}, call", common.ENGINE, number, checked.by, call)


BY_CPU = "the CPU engine, same run"


def count_by_cpu(graph: mf.Graph, pattern: mf.Pattern) -> int | None:
    """Return the CPU engine's count, None if that takes too long."""
    found = mf.count(graph, pattern, device="cpu", timeout=CPU_SECONDS)
    return int(found) if found.complete else None


def counted(
    graph: mf.Graph, pattern: mf.Pattern, seconds: float, runs: int
) -> tuple[mf.Count, list[DeviceTimes]]:
    """Count several times, each time with a new candidate space; return what that took on the device."""
    taken: list[DeviceTimes] = []
    began = time.perf_counter()
    while True:
        common.forget_spaces(graph)
        with taking_times() as times:
            found = common.count(graph, pattern, seconds)
        taken.append(times)
        if not found.complete or len(taken) >= runs or time.perf_counter() - began > MOST_COUNTED:
            return found, taken


def engine_of(times: Sequence[DeviceTimes]) -> str:
    """Name the engine, and what it counted by: ``dfs (space, search)``."""
    named = {"space": "spaces", "tables": "tables", "search": "searches", "the host": "host"}
    used = [name for name, part in named.items() if any(getattr(one, part) for one in times)]
    return f"{common.ENGINE} ({', '.join(used)})" if used else common.ENGINE


def best_peers(path: Path) -> dict[tuple[str, str], BaselineTime]:
    """Return, per graph and query, the least total time of a system whose count is the one agreed on.

    Where trusted systems disagree, there is none.
    """
    agreed = skeleton.agreed_embeddings(path)
    best: dict[tuple[str, str], BaselineTime] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            case = row["graph"].removesuffix(".graph"), row["query"].removesuffix(".graph")
            if row["total_ms"] == "NA" or not row["embeddings"].isdigit():
                continue
            seconds = float(row["total_ms"]) / 1000
            right = int(row["embeddings"]) == agreed.get(case)
            if right and (case not in best or seconds < best[case].seconds):
                best[case] = BaselineTime(row["system"], seconds)
    return best


def unlabelled(shared: Path) -> Iterator[Counted]:
    """Give the seven patterns on three graphs."""
    peers = best_peers(shared / "oracle/unlabelled/h100_peers.csv")
    for case in skeleton.unlabelled(shared):
        graph, _, query = case.name.partition(" ")
        if graph in GRAPHS and query in PATTERNS:
            file = skeleton.QUERY_FILES[query]
            yield Counted(embeddings_of(case, file), peers.get((graph, file)), quick=graph == GRAPHS[0])


def embeddings_of(case: Case, file: str) -> Case:
    """Return a case that counts each subgraph once as one that counts every embedding."""
    expected = case.expected
    assert isinstance(expected, int)
    return replace(case, symmetry="embeddings", expected=expected * skeleton.AUTOMORPHISMS[file], scaling=())


def labelled(shared: Path) -> Iterator[Counted]:
    """Give the twelve queries on enron_label20."""
    peers = best_peers(shared / "oracle/labelled/h100_peers.csv")
    for case in skeleton.enron(shared):
        query = case.name.removeprefix("enron_label20 ")
        yield Counted(case, peers.get(("enron_label20", f"q_enron_L20_{query}")), quick=query == "8_s1")


def rmat(shared: Path) -> Iterator[Counted]:
    """Give the seven patterns and the eight labelled queries on the R-MAT graph."""
    for case in skeleton.rmat(shared, common.Drawn(shared, labelled=False), common.Drawn(shared)):
        query = case.name.removeprefix("rmat20 ")
        if query in RMAT_LABELLED:
            known = replace(case, expected=RMAT_LABELLED[query], source="the CPU engine, benchmarks/NOTES.md")
            yield Counted(known, by_cpu=True)
        else:
            yield Counted(embeddings_of(case, skeleton.QUERY_FILES[query]))


def hard(shared: Path) -> Iterator[Counted]:
    """Give the queries on yeast that ask for closed forms; two counts are known from the CPU engine alone."""
    recorded = {one["case"]: one["count"] for one in json.loads(RECORDED.read_text())["cases"]}
    for case in skeleton.yeast(shared):
        if case.name.removeprefix("yeast query_") in HARD:
            if case.expected is None:
                case = replace(case, expected=recorded[case.name], source=f"the CPU engine, {RECORDED.name}")
            yield Counted(case, most=HARD_SECONDS)


@dataclass(frozen=True)
class Begin:
    """Has the R-MAT graph drawn beside what runs first."""

    shared: Path
    name: str = "rmat20, drawn"
    quick: bool = False

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        common.drawing(self.shared)
        return iter(())
