"""Counts per vertex beside the counts, and orbits beside ORCA: ``python benchmarks/micro/per_vertex.py``.

CPU time on one thread, the least of five runs of which each pair follows one another. Needs the shared graphs
(``MOTIFLUX_SHARED``). With ``--orca PROGRAM`` (built from github.com/thocevar/orca, which is no part of this
repository) orbits are compared with it, in time and number; its time contains reading and writing text. With
``--edges`` these are the orbits of edges; after ``--limit`` seconds of CPU time, ORCA is stopped.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import motiflux as mf
from motiflux.bench.suite import shared_folder

PATTERNS = {
    "triangle": "(a)--(b)--(c)--(a)",
    "4-cycle": "(a)--(b)--(c)--(d)--(a)",
    "house": "(r)--(a)--(b)--(c)--(d)--(a), (r)--(b)",
    "4-clique": "(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d)",
}
GRAPHS = ("wiki_vote", "email_enron", "soc_slashdot0902", "ego_facebook", "ca_condmat")


def seconds(call: Callable[[], Any]) -> float:
    """Return the CPU time of a call in this process."""
    began = time.process_time()
    call()
    return time.process_time() - began


def seconds_of_program(command: list[str], limit: int) -> float:
    """Return the CPU time of a program; raise CalledProcessError if it passes the limit."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    limited = ["prlimit", f"--cpu={limit}", *command]
    subprocess.run(limited, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def graph_of(name: str) -> mf.Graph:
    folder = shared_folder(Path(__file__).parents[1] / "suite")
    return mf.read_graph(folder / "data" / f"{name}.npz", directed=False)


def compare_counts(name: str, runs: int) -> None:
    """Print the time of counts per vertex and edge as multiples of the time of the count."""
    graph = graph_of(name)
    for pattern, text in PATTERNS.items():
        query = mf.Pattern.parse(text)
        calls: dict[str, Callable[[], Any]] = {
            vertex.name: lambda by=vertex.name, q=query: mf.count_per_vertex(graph, q, by, threads=1)  # type: ignore[misc]
            for vertex in query.vertices
        }
        calls["all"] = lambda q=query: mf.count_per_vertex(graph, q, threads=1)  # type: ignore[misc]
        calls["edge"] = lambda q=query: mf.count_per_edge(graph, q, 0, threads=1)  # type: ignore[misc]
        calls["count"] = lambda q=query: mf.count(graph, q, threads=1, device="cpu")  # type: ignore[misc]
        best = dict.fromkeys(calls, float("inf"))
        for _ in range(runs):
            for call, run in calls.items():
                best[call] = min(best[call], seconds(run))
        count = best.pop("count")
        ratios = ", ".join(f"{call} {one / count:.2f}" for call, one in best.items())
        print(f"{name} {pattern}: count {count:.4f} s, times it: {ratios}", flush=True)


def compare_orbits(name: str, size: int, orca: Path, runs: int, limit: int, *, edges: bool) -> None:
    """Print the times of both, and whether the numbers are equal."""
    graph = graph_of(name)
    call: Callable[..., Any] = mf.edge_orbits if edges else mf.orbits
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "graph"), Path(folder, "orbits")
        sources, targets = graph.forward.sources(), graph.forward.neighbors
        ends = np.stack([sources, targets], axis=1)[sources < targets]
        pairs, firsts = np.unique(ends, axis=0, return_index=True)  # labels make parallel edges
        with given.open("w") as file:
            file.write(f"{graph.num_vertices} {len(pairs)}\n")
            np.savetxt(file, pairs, fmt="%d")
        command = [str(orca), "edge" if edges else "node", str(size), str(given), str(made)]
        times, theirs, stopped = [], float("inf"), False
        found: Any = None
        for _ in range(runs):
            graph.forget()
            began = time.process_time()
            found = call(graph, size, threads=1)
            times.append(time.process_time() - began)
            try:
                theirs = theirs if stopped else min(theirs, seconds_of_program(command, limit))
            except subprocess.CalledProcessError:
                stopped, theirs = True, float(limit)
        numbers = found.counts[firsts] if edges else found.counts
        equal = stopped or np.array_equal(numbers, np.loadtxt(made, dtype=np.int64))
    said = "stopped" if stopped else "equal" if equal else "DIFFERENT"
    ours, ratio = min(times), theirs / min(times)
    print(
        f"{name} orbits {size}{' of edges' if edges else ''}: {ours:.3f} s, at first {times[0]:.3f}, "
        f"ORCA {'more than ' * stopped}{theirs:.3f} s, {ratio:.1f} times, {said}",
        flush=True,
    )


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orca", type=Path, help="the program to compare orbits with")
    parser.add_argument("--size", type=int, default=4, choices=(4, 5))
    parser.add_argument("--graphs", nargs="+", default=GRAPHS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--edges", action="store_true", help="orbits of edges, not of vertices")
    parser.add_argument("--limit", type=int, default=3600, help="seconds of CPU time of ORCA")
    given = parser.parse_args()
    for name in given.graphs:
        if given.orca is None:
            compare_counts(name, given.runs)
        else:
            compare_orbits(name, given.size, given.orca, given.runs, given.limit, edges=given.edges)


if __name__ == "__main__":
    main()
