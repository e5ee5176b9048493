"""Search kernels on a GPU: ``python benchmarks/micro/gpu_search.py SET [--only TEXT] [--tuning A=B,C=D]``.

SET is ``unlabelled``, ``labelled``, ``yeast`` or ``rmat20`` (its cliques; MOTIFLUX_RMAT20 names the graph
that ``oracle/rmat20/generate.py`` makes). Queries and counts are with shared graphs (``MOTIFLUX_SHARED``).
Times are milliseconds by the device's clock, the median of up to seven launches; in brackets, wall times. A
count that is wrong is marked.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from gpu_jobs import DfsEngine, open_engine, search_job

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.plan import make_plan
from motiflux.request.request import Request, make_request

SHARED = Path(os.environ["MOTIFLUX_SHARED"])
RUNS = 7
MOST_SECONDS = 0.5


def cases(which: str) -> Iterator[tuple[str, str, int | None, float | None]]:
    """Give graph, query, embeddings and the best peer's milliseconds of each case."""
    if which == "yeast":
        for query, count in json.loads((SHARED / "oracle/yeast/embeddings.json").read_text()).items():
            if count is not None:
                yield "yeast", f"yeast/queries/{query.removesuffix('.graph')}.graph", int(count), None
        return
    if which == "rmat20":
        counts = json.loads((SHARED / "oracle/rmat20/counts.json").read_text())
        for query, name in {"q_tri": "triangle", "q_k4": "4-clique", "q_k5": "5-clique"}.items():
            yield "rmat20", f"unlabelled/queries/{query}.graph", counts[name], None
        return
    best: dict[tuple[str, str], tuple[int, float]] = {}
    with (SHARED / f"oracle/{which}/h100_peers.csv").open() as file:
        for row in csv.DictReader(file):
            if row["total_ms"] == "NA" or row["system"] == "stmatch":
                continue
            key = row["graph"].removesuffix(".graph"), row["query"]
            one = int(row["embeddings"]), float(row["total_ms"])
            best[key] = min(best.get(key, one), one, key=lambda two: two[1])
    for (graph, query), (count, milliseconds) in best.items():
        yield graph, f"{which}/queries/{query}", count, milliseconds


def kernel(
    engine: DfsEngine, graph: mf.Graph, pattern: mf.Pattern, tuning: dict[str, str], longest: float
) -> tuple[float, float, int | None]:
    """Return kernel and wall milliseconds, medians, and the count; None if it takes too long."""
    request: Request = make_request(
        semantics="isomorphism",
        symmetry="embeddings",
        device="cuda",
        tuning=private_tuning(tuning),
        timeout=longest,
    )
    plan = make_plan(graph, pattern, tuning=request.tuning)
    inner, outer, began = [], [], time.perf_counter()
    while len(inner) < RUNS + 1 and (len(inner) < 2 or time.perf_counter() - began < MOST_SECONDS):
        start = time.perf_counter()
        with search_job(engine, graph, plan, request) as search:
            search.launch()
            while not search.done():
                if time.perf_counter() - start > longest:
                    search.stop_and_wait()
                    return 1000 * longest, 1000 * longest, None
            inner.append(1000 * search.timer.seconds())
            found = search.result().found * plan.multiplier
        outer.append(1000 * (time.perf_counter() - start))
    return statistics.median(inner[1:]), statistics.median(outer[1:]), found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", choices=("unlabelled", "labelled", "yeast", "rmat20"))
    parser.add_argument("--only", default="", help="cases whose graph and query have one of these, by commas")
    parser.add_argument("--timeout", type=float, default=6.0, help="seconds that a search may take")
    parser.add_argument("--tuning", action="append", help="switches, by commas")
    given = parser.parse_args()
    tunings = [
        dict(one.split("=") for one in text.split(",") if one) for text in given.tuning or ["specialize=on"]
    ]
    engine = open_engine(("cuda",))
    graphs: dict[str, mf.Graph] = {}
    for name, query, expected, peer in cases(given.set):
        if given.only and not any(part in f"{name} {query}" for part in given.only.split(",")):
            continue
        if name not in graphs:
            path = os.environ["MOTIFLUX_RMAT20"] if name == "rmat20" else SHARED / f"data/{name}.npz"
            graphs[name] = mf.read_graph(path, directed=False)
        pattern = mf.read_pattern(SHARED / "oracle" / query)
        line = f"{name:<18}{Path(query).stem:<22}{'' if peer is None else f'{peer:.3f}':>10} "
        for tuning in tunings:
            inner, outer, found = kernel(engine, graphs[name], pattern, tuning, given.timeout)
            wrong = "" if found == expected else " timeout" if found is None else f" WRONG {found}"
            line += f" | {inner:9.3f} ({outer:8.3f}){wrong}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
