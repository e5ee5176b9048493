"""What a second thread brings: ``python benchmarks/micro/threads.py [graph ...]``.

Wall-clock seconds of one and of two threads in turn, the least of several runs, for searches whose work is
spread and for one whose work lies below a single arc. On a machine that others use too, the wall says little:
*idle machine* is the CPU time of one thread over that of the busier of two, which is what two processors to
themselves would give. *CPU* is what two threads took over what one took: the price of sharing. Linux only.
Needs the shared graphs (``MOTIFLUX_SHARED``) for all but the last cases.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import motiflux as mf
from motiflux.bench.suite import shared_folder

RUNS = 5
QUERIES = {"5-clique": "q_k5", "tailed triangle": "q_tailtri", "4-cycle": "q_c4"}
OPTIONS = {"symmetry": "subgraphs", "timeout": 60}


def main() -> None:
    for name, call in (*unlabelled(sys.argv[1:]), *one_arc(), *tiny()):
        runs = {threads: [measured(call, threads) for _ in range(RUNS)] for threads in (1, 2)}
        wall = {threads: min(run.wall for run in of) for threads, of in runs.items()}
        total = {threads: min(run.total for run in of) for threads, of in runs.items()}
        busiest = min(run.busiest for run in runs[2])
        print(
            f"{name:<32} {wall[1] * 1e3:9.2f} ms, two threads {wall[2] * 1e3:9.2f} ms:"
            f" {wall[1] / wall[2]:5.2f} times, idle machine {total[1] / busiest:5.2f},"
            f" CPU {total[2] / total[1]:5.2f}",
            flush=True,
        )


@dataclass(frozen=True)
class Run:
    """Seconds of one call: by the wall, CPU of all threads, CPU of the thread that took most."""

    wall: float
    total: float
    busiest: float


def measured(call: Callable[[int], object], threads: int) -> Run:
    """Call, looking at the CPU time of each thread of this process as long as that takes."""
    first, last = thread_seconds(), dict[str, float]()
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.002):
            last.update(thread_seconds())

    watcher = threading.Thread(target=watch)
    watcher.start()
    watching = str(watcher.native_id)
    wall, process = time.perf_counter(), time.process_time()
    call(threads)
    wall, process = time.perf_counter() - wall, time.process_time() - process
    over.set()
    watcher.join()
    taken = [now - first.get(thread, 0.0) for thread, now in last.items() if thread != watching]
    return Run(wall, process - last.get(watching, 0.0), max(taken, default=process))


def thread_seconds() -> dict[str, float]:
    """Return the CPU time of each thread of this process."""
    seconds = {}
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it ended meanwhile
            seconds[task.name] = int((task / "schedstat").read_text().split()[0]) * 1e-9
    return seconds


Case = tuple[str, Callable[[int], object]]


def unlabelled(names: list[str]) -> Iterator[Case]:
    shared = shared_folder(Path(__file__).parents[1] / "suite")
    for name in names or ["wiki_vote", "email_enron"]:
        graph = mf.read_graph(shared / f"data/{name}.npz", directed=False)
        for query, file in QUERIES.items():
            pattern = mf.read_pattern(shared / f"oracle/unlabelled/queries/{file}.graph")
            yield (
                f"{name} {query}",
                lambda threads, g=graph, p=pattern: mf.count(g, p, threads=threads, **OPTIONS),
            )
            if query == "5-clique":
                yield (
                    f"{name} {query}, listed",
                    lambda threads, g=graph, p=pattern: listed(g, p, threads),
                )


def one_arc() -> Iterator[Case]:
    """Give searches that start at one labelled arc, beside a clique where all the work is."""
    size = 320
    edges = [*combinations(range(size), 2), (size, 0)]
    graph = mf.Graph.from_edges(edges, vertex_labels=[1] * size + [0])
    pattern = mf.Pattern.from_edges([(0, 1), *combinations(range(1, 6), 2)], vertex_labels=[0, 1, 1, 1, 1, 1])
    yield "below one arc", lambda threads: mf.count(graph, pattern, threads=threads, tuning={"tail": "off"})


def tiny() -> Iterator[Case]:
    ring = [(v, (v + step) % 50) for v in range(50) for step in (1, 7)]
    graph, pattern = mf.Graph.from_edges(ring), mf.Pattern.parse("(a)--(b)--(c)--(a)")
    yield "tiny", lambda threads: [mf.count(graph, pattern, threads=threads) for _ in range(200)]


def listed(graph: mf.Graph, pattern: mf.Pattern, threads: int) -> int:
    return sum(len(block) for block in mf.match(graph, pattern, threads=threads, symmetry="subgraphs"))


if __name__ == "__main__":
    main()
