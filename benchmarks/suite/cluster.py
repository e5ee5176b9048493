"""Searches on Ray clusters of this machine: ``motiflux bench cluster``.

What a case is named for:

overhead QUERY    a count on a running cluster of one worker, beside one thread without a cluster: processor
                  time of all tasks and of the driver; figures ``wall`` and ``alone_wall``: the wall clock
workers N QUERY   the wall clock of a count with N workers, as many as there are processors; figures: the
                  efficiency to one worker; the longest task over the mean; the wall clock of the first run;
                  the share of the time in which workers had tasks, and the processor time of these, in the
                  fastest run; the efficiency of N CPU threads without a cluster, as far as this machine lets
                  anything scale
tasks             tasks that do nothing: seconds of each; figures: processor time of the driver for one, and
                  the time until the result of one alone is there
rows              rows of a data set; figures: bytes and processor time of workers for each row
sharded QUERY     a count in a sharded graph of four times a worker's memory, beside that in the same graph
                  whole: processor time of all tasks; figures: tasks, and the longest over the mean
kills             counts, data sets and estimates while workers are killed; figures: kills and calls.
                  Labelled counts have a candidate space that the driver sends once

``MOTIFLUX_RMAT`` is the scale of the R-MAT graph, with 16 edges a vertex; else 18, and 14 in the quick run.
Houses on several workers are counted in a graph of scale 14 always.
Ray's object store has 256 MB, with ``MOTIFLUX_RMAT`` 1 GB. On a machine that does other work, only processor
times say something. Workers of one machine share memory and caches, and have no network between them.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, BaselineTime, CaseResult
from motiflux.bench.suite import Settings, Suite
from motiflux.cluster.records import TaskRecord
from motiflux.cluster.tasks import nothing

SCALE = os.environ.get("MOTIFLUX_RMAT")
STORE = "256MB" if SCALE is None else "1GB"
SEARCH = {"tables": "off"}
QUERIES = {
    "triangle": "(a)--(b)--(c)--(a)",
    "diamond": "(a)--(b)--(c)--(d)--(a), (a)--(c)",
    "4clique": "(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d)",
    "house": "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
    "labelled": "(a:0)--(b:1)--(c:2)--(d:0)--(a), (a)--(c)",
}
WORKERS, WORKERS_RUNS = (1, 2, 4, 8), 3
SMALL = ("house",)
LEAST_EFFICIENCY = 0.85
MOST_OVERHEAD, OVERHEAD_SECONDS = 1.05, 0.5
"""Times one thread, beside seconds that every call may cost."""
MOST_OVER_MEAN = 3.0
MOST_SHARDED, SHARDED_RATIO = 3.0, 4
SHARDED = ("triangle", "diamond", "4clique")
KILLS, QUICK_KILLS = 200, 20
KILLED = "(a:0)--(b:1)--(c:2)--(d:0)--(e:1)--(f:2)--(a)"
"""The labelled count of `Kills`: it takes long enough for a worker to be killed meanwhile."""
ESTIMATE: Any = {"samples": 300_000, "seed": 1, "tuning": {"count_first": "off"}}


def graph_of(*, quick: bool, scaled: bool = True) -> mf.Graph:
    """Return an R-MAT graph with labels; `scaled=False` leaves ``MOTIFLUX_RMAT`` out."""
    scale, edges = (14, 250_000) if quick else (18, 4_000_000)
    if scaled and SCALE is not None:
        scale, edges = int(SCALE), 16 << int(SCALE)
    return labelled(mf.generate.rmat(scale=scale, edges=edges, seed=1))


def labelled(graph: mf.Graph) -> mf.Graph:
    """Return a graph with three labels of vertices, in turns."""
    ends = graph.to_edges()
    labels = [vertex % 3 for vertex in range(graph.num_vertices)]
    return mf.Graph.from_edges(
        (ends.src, ends.dst), vertex_ids=range(graph.num_vertices), vertex_labels=labels
    )


@dataclass(frozen=True)
class Overhead:
    """A count on one worker, and without a cluster."""

    query: str
    quick: bool

    @property
    def name(self) -> str:
        return f"overhead {self.query}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph, pattern = graph_of(quick=settings.quick), QUERIES[self.query]
        mf.count(graph, pattern, threads=1, tuning=SEARCH, limit=1)
        alone, alone_wall, there, wall = [], [], [], []
        with mf.Cluster(cpus=1, object_store=STORE) as cluster:
            cluster.count(graph, pattern, tuning=SEARCH, limit=1)
            for _ in range(settings.runs):
                cpu, began = time.process_time(), time.perf_counter()
                expected = mf.count(graph, pattern, threads=1, tuning=SEARCH)
                alone.append(time.process_time() - cpu)
                alone_wall.append(time.perf_counter() - began)
                before = len(cluster.tasks)
                cpu, began = time.process_time(), time.perf_counter()
                found = cluster.count(graph, pattern, threads=1, tuning=SEARCH)
                tasks = cluster.tasks[before:]
                there.append(time.process_time() - cpu + sum(task.cpu_seconds for task in tasks))
                wall.append(time.perf_counter() - began)
        yield CaseResult(
            self.name,
            "cluster",
            int(found),
            "one thread",
            Timing.of(there),
            BaselineTime("one thread", min(alone)),
            min(alone) / min(there),
            figures={"wall": min(wall), "alone_wall": min(alone_wall), "tasks": len(tasks)},
            disagrees=found != expected,
        )


@dataclass(frozen=True)
class Workers:
    """A count with growing numbers of workers."""

    query: str
    quick: bool

    @property
    def name(self) -> str:
        return f"workers {self.query}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        small = self.query in SMALL
        graph = graph_of(quick=settings.quick or small, scaled=not small)
        pattern = QUERIES[self.query]
        expected = mf.count(graph, pattern, tuning=SEARCH)
        one = one_thread = 0.0
        for workers in WORKERS:
            if workers > len(os.sched_getaffinity(0)):
                return
            walls, threads, tasks = list[float](), list[float](), list[list[TaskRecord]]()
            with mf.Cluster(cpus=workers, object_store=STORE) as cluster:
                cluster.count(graph, pattern, tuning=SEARCH, limit=1)
                while len(walls) < min(settings.runs, WORKERS_RUNS) and sum(walls) < settings.timeout:
                    before, began = len(cluster.tasks), time.perf_counter()
                    found = cluster.count(graph, pattern, tuning=SEARCH)
                    walls.append(time.perf_counter() - began)
                    tasks.append(cluster.tasks[before:])
                    began = time.perf_counter()
                    mf.count(graph, pattern, threads=workers, device="cpu", tuning=SEARCH)
                    threads.append(time.perf_counter() - began)
            one, one_thread = one or min(walls), one_thread or min(threads)
            best = tasks[walls.index(min(walls))]
            yield CaseResult(
                f"workers {workers} {self.query}",
                "cluster",
                int(found),
                "one machine",
                Timing.of(walls),
                BaselineTime("one worker", one),
                one / min(walls),
                figures={
                    "efficiency": one / (workers * min(walls)),
                    "longest_over_mean": min(longest_over_mean(each) for each in tasks),
                    "tasks": len(best),
                    "first": walls[0],
                    "busy": sum(task.seconds for task in best) / (workers * min(walls)),
                    "cpu": sum(task.cpu_seconds for task in best),
                    "threads_efficiency": one_thread / (workers * min(threads)),
                },
                disagrees=found != expected,
            )


@dataclass(frozen=True)
class Tasks:
    """Tasks that do nothing."""

    name: str = "tasks"
    quick: bool = True

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        number = 200
        with mf.Cluster(cpus=1, object_store=STORE) as cluster:
            workers, ray = cluster._workers, cluster._connection.ray
            ray.get(workers.submit(nothing, "nothing"))
            each, cpus = [], []
            for _ in range(settings.runs):
                cpu, began = time.process_time(), time.perf_counter()
                ray.get([workers.submit(nothing, "nothing") for _ in range(number)])
                each.append((time.perf_counter() - began) / number)
                cpus.append((time.process_time() - cpu) / number)
            single = []
            for _ in range(50):
                began = time.perf_counter()
                ray.get(workers.submit(nothing, "nothing"))
                single.append(time.perf_counter() - began)
        yield CaseResult(
            self.name,
            "cluster",
            number,
            None,
            Timing.of(each),
            None,
            None,
            figures={"driver_cpu": min(cpus), "until_result": min(single)},
        )


@dataclass(frozen=True)
class Rows:
    """Rows of a data set."""

    name: str = "rows"
    quick: bool = True

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = graph_of(quick=True)
        expected = mf.count(graph, QUERIES["triangle"])
        folder = Path(tempfile.mkdtemp(prefix="motiflux-rows-"))
        try:
            with mf.Cluster(cpus=1, object_store=STORE) as cluster:
                began = time.perf_counter()
                written = cluster.match(graph, QUERIES["triangle"], output=folder)
                seconds = time.perf_counter() - began
                cpu = sum(task.cpu_seconds for task in cluster.tasks)
            nbytes = sum(one.stat().st_size for one in folder.glob("*.parquet"))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        yield CaseResult(
            self.name,
            "cluster",
            written.rows,
            "count",
            Timing.of([seconds]),
            None,
            None,
            figures={
                "files": written.files,
                "bytes_per_row": nbytes / max(1, written.rows),
                "cpu_per_row": cpu / max(1, written.rows),
            },
            disagrees=written.rows != expected,
        )


@dataclass(frozen=True)
class Sharded:
    """A count in a graph of several times a worker's memory; all shards are on the worker's node."""

    query: str
    quick: bool

    @property
    def name(self) -> str:
        return f"sharded {self.query}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        scale, edges = (16, 1 << 20) if settings.quick else (18, 4_000_000)
        graph, pattern = mf.generate.rmat(scale=scale, edges=edges, seed=1), QUERIES[self.query]
        whole, sharded = [], []
        folder = Path(tempfile.mkdtemp(prefix="motiflux-shards-"))
        try:
            mf.write_graph(graph, folder / "edges.npz")
            with mf.Cluster(cpus=1, object_store=STORE) as cluster:
                made = cluster.shard([folder / "edges.npz"], folder / "shards", shards=4)
                made.close()
                opened = cluster.open_sharded(folder / "shards", memory=made.nbytes // SHARDED_RATIO)
                cluster.count(graph, pattern, tuning=SEARCH, limit=1)
                cluster.count(opened, pattern, limit=1)
                for _ in range(settings.runs):
                    expected, tasks = self._counted(cluster, graph, pattern)
                    whole.append(sum(task.cpu_seconds for task in tasks))
                    found, tasks = self._counted(cluster, opened, pattern)
                    sharded.append(sum(task.cpu_seconds for task in tasks))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        yield CaseResult(
            self.name,
            "cluster",
            found,
            "whole",
            Timing.of(sharded),
            BaselineTime("whole", min(whole)),
            min(whole) / min(sharded),
            figures={
                "tasks": len(tasks),
                "longest_over_mean": longest_over_mean(tasks),
            },
            disagrees=found != expected,
        )

    def _counted(self, cluster: mf.Cluster, graph: Any, pattern: str) -> tuple[int, list[Any]]:
        before = len(cluster.tasks)
        found = cluster.count(graph, pattern, threads=1, tuning=SEARCH)
        return int(found), list(cluster.tasks[before:])


@dataclass(frozen=True)
class Kills:
    """Counts, data sets and estimates while workers are killed."""

    name: str = "kills"
    quick: bool = True

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = labelled(mf.generate.rmat(scale=11, edges=30_000, seed=1))
        most = QUICK_KILLS if settings.quick else KILLS
        calls, wrong = {"count": 0, "labelled": 0, "rows": 0, "estimate": 0}, 0
        expected = {name: self._expected(graph, name) for name in calls}
        draws = random.Random(1)
        began = time.perf_counter()
        with mf.Cluster(cpus=2, object_store=STORE) as cluster, Killer(cluster, most, draws) as killer:
            while killer.kills < most and time.perf_counter() - began < settings.timeout * 10:
                name = draws.choice(sorted(calls))
                calls[name] += 1
                wrong += self._found(cluster, graph, name) != expected[name]
            seconds = time.perf_counter() - began
        yield CaseResult(
            self.name,
            "cluster",
            expected["count"],
            "one machine",
            Timing.of([seconds]),
            None,
            None,
            figures={"kills": killer.kills, "wrong": wrong, **calls},
            disagrees=wrong > 0,
        )

    def _expected(self, graph: mf.Graph, name: str) -> object:
        if name == "count":
            return int(mf.count(graph, QUERIES["house"]))
        if name == "labelled":
            return int(mf.count(graph, KILLED))
        if name == "rows":
            return sorted_rows(mf.match(graph, QUERIES["triangle"]).to_numpy())
        found = mf.estimate(graph, QUERIES["house"], **ESTIMATE)
        return found.value, found.low, found.high

    def _found(self, cluster: mf.Cluster, graph: mf.Graph, name: str) -> object:
        if name == "count":
            return int(cluster.count(graph, QUERIES["house"], tuning=SEARCH))
        if name == "labelled":
            return int(cluster.count(graph, KILLED, tuning=SEARCH))
        if name == "estimate":
            found = cluster.estimate(graph, QUERIES["house"], **ESTIMATE)
            return found.value, found.low, found.high
        folder = Path(tempfile.mkdtemp(prefix="motiflux-rows-"))
        try:
            cluster.match(graph, QUERIES["triangle"], output=folder)
            table = parquet.read_table(folder)
            return sorted_rows(np.column_stack([table.column(name) for name in table.column_names]))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class Killer:
    """Kills the worker of one of the last tasks at random moments, at most `most` times."""

    def __init__(self, cluster: mf.Cluster, most: int, draws: random.Random) -> None:
        self.kills = 0
        self._cluster, self._most, self._draws = cluster, most, random.Random(draws.random())
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while self.kills < self._most and not self._stop.wait(self._draws.uniform(0.3, 1.5)):
            recent = sorted({task.process for task in self._cluster.tasks[-4:]})
            if recent:
                with suppress(ProcessLookupError):  # killed before
                    os.kill(self._draws.choice(recent), signal.SIGKILL)
                    self.kills += 1


def longest_over_mean(tasks: Sequence[TaskRecord]) -> float:
    """Return how much longer the longest task took than the mean one."""
    seconds = [task.seconds for task in tasks]
    return max(seconds) * len(seconds) / sum(seconds)


def sorted_rows(rows: np.ndarray) -> bytes:
    """Return rows in one order, as bytes."""
    rows = np.asarray(rows, dtype=np.int64)
    return rows[np.lexsort(rows.T)].tobytes()


def build(shared: Path) -> Suite:
    probes = [
        *(Overhead(query, query == "4clique") for query in QUERIES),
        *(Workers(query, query == "4clique") for query in QUERIES),
        Tasks(),
        Rows(),
        *(Sharded(query, query == "triangle") for query in SHARDED),
        Kills(),
    ]
    return Suite("cluster", (), bars, packages=("motiflux", "numpy", "ray"), probes=probes)


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    found = [Bar("counts that differ", sum(one.disagrees for one in results), 0, "lower")]
    for one in results:
        if one.case.startswith("overhead") and one.baseline is not None and one.baseline.seconds:
            times = (one.seconds.min - OVERHEAD_SECONDS) / one.baseline.seconds
            name = f"{one.case}, times one thread, beside {OVERHEAD_SECONDS} s"
            found.append(Bar(name, times, MOST_OVERHEAD, "lower"))
        if one.case.startswith("sharded") and one.ratio is not None:
            found.append(Bar(f"{one.case}, times the whole graph", 1 / one.ratio, MOST_SHARDED, "lower"))
        if one.case.startswith("workers") and not one.case.startswith("workers 1 "):
            found.append(
                Bar(f"{one.case}, efficiency", one.figures["efficiency"], LEAST_EFFICIENCY, "higher")
            )
            over = one.figures["longest_over_mean"]
            found.append(Bar(f"{one.case}, longest task over mean", over, MOST_OVER_MEAN, "lower"))
    return found
