"""CPU, GPU and ``device="auto"``: ``python benchmarks/micro/dispatch.py [SET ...] [--cold GRAPH QUERY]``.

SET is ``unlabelled``, ``labelled``, ``yeast`` or ``rmat20`` (MOTIFLUX_RMAT20 names the graph that
``oracle/rmat20/generate.py`` makes). Queries and counts are with shared graphs (``MOTIFLUX_SHARED``).

Each case is counted with ``device="cpu"``, ``"cuda"`` and ``"auto"``: as a new query on a graph that is
resident (``new``: it is planned first), and again (the least of three). Times are milliseconds of wall clock
of the whole call. ``loss`` is what auto takes beyond the better of the two; one of under 1 ms or 10 % does
not count. A count that is wrong is marked. ``--cold`` does it in a process that has not touched the GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import motiflux as mf
from motiflux.bench.suite import GraphSource
from motiflux.codegen.kernels import LANES, TAILS, Goal, search_source
from motiflux.gpu.runtime.accelerator import open_accelerator

SHARED = Path(os.environ["MOTIFLUX_SHARED"])
GRAPHS = ("email_enron", "soc_slashdot0902", "web_uk2007_100k", "wiki_vote", "ego_facebook")
DEVICES = ("cpu", "cuda", "auto")
PLAIN = "rmat20 plain"
"""Without its labels, that is."""
RUNS = 3
NOISE_SECONDS, NOISE_SHARE = 1e-3, 0.1


def cases(which: str) -> Iterator[tuple[str, Path, int | None]]:
    """Give graph, query and embeddings of each case; None where they are compared between engines only."""
    oracle = SHARED / "oracle"
    if which == "yeast":
        for name, count in json.loads((oracle / "yeast/embeddings.json").read_text()).items():
            if count is not None:
                yield "yeast", oracle / f"yeast/queries/{name.removesuffix('.graph')}.graph", int(count)
        return
    if which == "labelled":
        yield from (("enron_label20", path, None) for path in sorted((oracle / "labelled/queries").iterdir()))
        return
    unlabelled = sorted((oracle / "unlabelled/queries").glob("*.graph"))
    if which == "rmat20":
        yield from ((PLAIN, path, None) for path in unlabelled)
        yield from (("rmat20", path, None) for path in sorted((oracle / "rmat20/queries").glob("*.graph")))
        return
    for graph in GRAPHS:
        yield from ((graph, path, None) for path in unlabelled)


def read(name: str) -> mf.Graph:
    if name in ("rmat20", PLAIN):
        path = Path(os.environ["MOTIFLUX_RMAT20"])
        return GraphSource(path, directed=False, labelled=name != PLAIN).read()
    return mf.read_graph(SHARED / f"data/{name}.npz", directed=False)


def compile_all() -> None:
    """Have the kernels for any plan ready: a timeout would else be over before they are."""
    accelerator = open_accelerator("cuda")
    for goal in (Goal.COUNT, *TAILS):
        accelerator.kernel(search_source(goal, LANES[1] if goal is Goal.STARS else LANES[2]))


def taken(graph: mf.Graph, pattern: mf.Pattern, device: str, timeout: float) -> tuple[float, mf.Count]:
    started = time.perf_counter()
    found = mf.count(graph, pattern, device=device, timeout=timeout)
    return time.perf_counter() - started, found


def measure(
    graph: mf.Graph, pattern: mf.Pattern, device: str, timeout: float
) -> tuple[float, float, mf.Count]:
    """Return the seconds of a new query and of one that comes again, and the count."""
    graph.memo.forget_queries()  # not copies of the graph on a device
    new, found = taken(graph, pattern, device, timeout)
    again = new
    for _ in range(RUNS):
        if not found.complete or again > timeout / 2:
            break
        seconds, found = taken(graph, pattern, device, timeout)
        again = min(again, seconds)
    return new, again, found


def loss(seconds: dict[str, float]) -> float:
    """Return what auto takes beyond the better of the others, as a share of it; 0 for noise."""
    best = min(seconds["cpu"], seconds["cuda"])
    more = seconds["auto"] - best
    return 0.0 if more <= NOISE_SECONDS or more <= NOISE_SHARE * best else more / best


def kind(told: mf.Explanation) -> str:
    """Return how a plan counts, in a word."""
    if told.report.tables:
        return "tables"
    if not told.report.tail:
        return "search"
    return "parts" if any(part.under for part in told.report.tail) else "tail"


def in_words(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1000 * seconds:.3f}"


def run(which: str, timeout: float, only: str) -> None:
    graphs: dict[str, mf.Graph] = {}
    losses = []
    for name, path, expected in cases(which):
        if only not in f"{name} {path.stem}":
            continue
        graph = graphs.setdefault(name, graphs.get(name) or read(name))
        pattern = mf.read_pattern(path)
        # Rows are there, and kernels compiled, those of the plan's shape too.
        mf.count(graph, pattern, device="cuda", timeout=timeout)
        mf.count(graph, pattern, device="cuda", timeout=timeout)
        told = {one: mf.explain(graph, pattern, device=one) for one in DEVICES[:2]}
        measured = {one: measure(graph, pattern, one, timeout) for one in DEVICES}
        counts = {int(found) for _, _, found in measured.values() if found.complete}
        if expected is not None:
            counts.add(expected)
        new, again = (loss({one: measured[one][at] for one in DEVICES}) for at in (0, 1))
        losses += [new, again]
        line = f"{name:<18}{path.stem:<16}"
        for one in DEVICES[:2]:
            predicted = told[one].report.predicted
            line += (
                f"{one} {kind(told[one]):<7}{in_words(None if predicted is None else predicted.seconds):>10} "
            )
        for one in DEVICES:
            late = "" if measured[one][2].complete else ">"
            line += f"| {one} {late}{in_words(measured[one][0]):>9} {in_words(measured[one][1]):>9} "
        line += f"| {measured['auto'][2].engine:<4} loss {new:.2f} {again:.2f}"
        print(line + (" WRONG" if len(counts) > 1 else ""), flush=True)
    print(f"{which}: largest loss {max(losses, default=0):.2f}, {sum(map(bool, losses))} of {len(losses)}")


COLD = """
import sys, time
import motiflux as mf
graph, pattern, device = mf.read_graph(sys.argv[1], directed=False), mf.read_pattern(sys.argv[2]), sys.argv[3]
for _ in range(3):
    started = time.perf_counter()
    found = mf.count(graph, pattern, device=device)
    seconds = time.perf_counter() - started
    print(f"{device:<5} {1000 * seconds:9.2f} ms, plan {1000 * found.plan_seconds:8.2f}, {found.engine}")
"""


def cold(graph: str, query: str) -> None:
    path = SHARED / f"data/{graph}.npz"
    for device in DEVICES:
        for _ in range(2):
            subprocess.run(
                [sys.executable, "-c", COLD, path, SHARED / f"oracle/{query}.graph", device], check=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", choices=("unlabelled", "labelled", "yeast", "rmat20", []))
    parser.add_argument("--only", default="", help="cases whose graph and query have this")
    parser.add_argument("--timeout", type=float, default=4.0, help="seconds that a count may take")
    parser.add_argument("--cold", nargs=2, action="append", metavar=("GRAPH", "QUERY"), default=[])
    given = parser.parse_args()
    if given.sets:
        compile_all()
    for which in given.sets:
        run(which, given.timeout, given.only)
    for graph, query in given.cold:
        print(f"{graph} {query}, three counts of a new process")
        cold(graph, query)


if __name__ == "__main__":
    main()
