"""Work that changes hands, in blocks and between them: kernel times of counts and of listing, every way.

    python benchmarks/micro/gpu_stealing.py [SET...] [--device cuda] [--only TEXT] [--scale 15] [--timeout 3]

SET is ``hubs`` (an R-MAT graph of 2^scale vertices, and one where all matches hang from one arc), ``enron``
(email_enron) or ``labelled`` (enron_label20); the last two are read from shared graphs (``MOTIFLUX_SHARED``).
For ``stealing`` none, passive and active, each with ``handover`` on and off: milliseconds by the
device's own clock, the median of up to five launches, and, in brackets, how often work changed hands within
blocks. A count that differs from the CPU engine's, or from the others where that had no time, is marked, and
the last line says how many did. Rows are stored in memory of the device.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from gpu_jobs import DfsEngine, open_engine, planned, search_job

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.plan import Plan
from motiflux.request.request import Request, make_request

RUNS, MOST_SECONDS = 5, 0.3
WAYS = tuple(product(("none", "passive", "active"), ("on", "off")))
MATCHED = {"tables": "off", "bitmaps": "off", "tail": "off", "parts": "off"}
"""Every level is matched, the last two packed."""
WALKED = {**MATCHED, "packing": "off"}
TAIL = {"tables": "off", "bitmaps": "off"}
LABELLED = ("6_s1", "8_d1", "8_s0", "8_s1", "12_d0", "12_s0", "12_s1")


@dataclass(frozen=True)
class Case:
    """A search, how it is done, and whether its rows are wanted."""

    name: str
    graph: mf.Graph
    pattern: mf.Pattern
    tuning: dict[str, str]
    rows: bool = False


def hubs(scale: int) -> Iterator[Case]:
    """Give an R-MAT graph with four labels, and a graph in which one vertex labelled 1 leads to all."""
    plain = mf.generate.rmat(scale, 8 << scale, directed=False, seed=3)
    rmat = mf.Graph.from_edges(_edges_of(plain), vertex_labels=np.arange(plain.num_vertices) % 4)
    path = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)], vertex_labels=[0, 1, 2, 3, 0])
    cycle = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)], vertex_labels=[0, 1, 2, 3])
    clique = mf.Pattern.from_edges([(u, v) for v in range(4) for u in range(v)])
    yield Case("rmat path", rmat, path, TAIL)
    yield Case("rmat 4-cycle", rmat, cycle, MATCHED)
    yield Case("rmat 4-clique", plain, clique, MATCHED)
    yield Case("rmat 4-clique, walked", plain, clique, WALKED)
    yield Case("rmat 4-cycle, rows", rmat, cycle, MATCHED, rows=True)
    one = _from_one_arc(1 << max(4, scale - 5))
    walk = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)], vertex_labels=[1, 0, 0, 0, 0])
    yield Case("one arc path", one, walk, MATCHED)
    yield Case("one arc path, rows", one, walk, MATCHED, rows=True)


def _edges_of(graph: mf.Graph) -> np.ndarray:
    offsets = graph.forward.offsets.astype(np.int64)
    sources = np.repeat(np.arange(graph.num_vertices), np.diff(offsets))
    edges = np.column_stack([sources, graph.forward.neighbors])
    return edges[edges[:, 0] < edges[:, 1]]


def _from_one_arc(vertices: int) -> mf.Graph:
    pairs = np.random.default_rng(5).integers(1, vertices, (12 * vertices, 2))
    edges = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    edges = np.concatenate([[(0, 1)], edges])
    return mf.Graph.from_edges(edges, vertex_labels=[1] + [0] * (vertices - 1), num_vertices=vertices)


def enron() -> Iterator[Case]:
    """Give patterns without labels in email_enron."""
    graph = mf.read_graph(_shared() / "data/email_enron.npz", directed=False)
    clique = mf.Pattern.from_edges([(u, v) for v in range(5) for u in range(v)])
    cycle = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
    tailed = mf.Pattern.parse("(a)--(b), (b)--(c), (c)--(a), (a)--(d), (d)--(e)")
    yield Case("enron 5-clique", graph, clique, MATCHED)
    yield Case("enron 4-cycle", graph, cycle, MATCHED)
    yield Case("enron triangle with a path", graph, tailed, {**TAIL, "parts": "off"})
    yield Case("enron 5-clique, rows", graph, clique, MATCHED, rows=True)


def labelled() -> Iterator[Case]:
    """Give queries of enron_label20, as they are planned."""
    graph = mf.read_graph(_shared() / "data/enron_label20.npz", directed=False)
    for name in LABELLED:
        query = mf.read_pattern(_shared() / f"oracle/labelled/queries/q_enron_L20_{name}.graph")
        yield Case(f"labelled {name}", graph, query, TAIL)


def _shared() -> Path:
    return Path(os.environ["MOTIFLUX_SHARED"])


def measured(
    engine: DfsEngine, case: Case, request: Request, plan: Plan, timeout: float
) -> tuple[int, int, float] | None:
    """Return the count, how often work changed hands in a block, and milliseconds; None: took too long."""
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < RUNS and (len(times) < 2 or time.perf_counter() - began < MOST_SECONDS):
        with search_job(engine, case.graph, plan, request) as search:
            search.launch()
            start = time.perf_counter()
            while not search.done():
                if time.perf_counter() - start > timeout:
                    search.stop_and_wait()
                    return None
            times.append(1000 * search.timer.seconds())
            found, stolen = search.result().found * plan.multiplier, int(search.control.final.stolen)
    return found, stolen, statistics.median(times[1:])


def listed(case: Case, tuning: dict[str, str], device: str, timeout: float) -> tuple[int, float] | None:
    """Return the rows and the milliseconds until all are there; None if it took too long."""
    times: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        matches = mf.match(case.graph, case.pattern, device=device, tuning=tuning, timeout=timeout)
        found = sum(len(batch) for batch in matches)
        times.append(1000 * (time.perf_counter() - start))
        if not matches.complete:
            return None
    return found, min(times)


def shown(
    engine: DfsEngine, case: Case, way: tuple[str, str], device: str, timeout: float
) -> tuple[str, int]:
    """Return what to print of one way to do a case, and its count; -1 if there was no time for it."""
    tuning = private_tuning({**case.tuning, "specialize": "off", "stealing": way[0], "handover": way[1]})
    if case.rows:
        rows = listed(case, tuning, device, timeout)
        return ("over", -1) if rows is None else (f"{rows[1]:.3f}", rows[0])
    request = make_request(
        semantics="isomorphism", symmetry="embeddings", device=device, timeout=timeout, tuning=tuning
    )
    plan = planned(engine, case.graph, case.pattern, request).plan
    found = measured(engine, case, request, plan, timeout)
    return ("over", -1) if found is None else (f"{found[2]:.3f} ({found[1]})", found[0])


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sets", nargs="*", help="hubs, enron, labelled; all if none is named")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="", help="cases whose name has one of these, by commas")
    parser.add_argument("--scale", type=int, default=15, help="of the R-MAT graph")
    parser.add_argument("--timeout", type=float, default=3.0, help="seconds that a search may take")
    given = parser.parse_args()
    engine = open_engine((given.device,))
    sets = {"hubs": lambda: hubs(given.scale), "enron": enron, "labelled": labelled}
    wrong = 0
    print(" | ".join(["case", "count", *(f"{inside}, {outside}" for inside, outside in WAYS)]), flush=True)
    for name in given.sets or sets:
        for case in sets[name]():
            if not any(part in case.name for part in given.only.split(",")):
                continue
            known = mf.count(case.graph, case.pattern, device="cpu", timeout=given.timeout)
            expected = int(known) if known.complete else None
            line = [case.name]
            for way in WAYS:
                text, found = shown(engine, case, way, given.device, given.timeout)
                if found >= 0 and expected is None:
                    expected = found
                differs = found >= 0 and found != expected
                wrong += differs
                line.append(text + (f" WRONG {found}" if differs else ""))
            line.insert(1, "unknown" if expected is None else f"{expected}")
            print(" | ".join(line), flush=True)
    print(f"{wrong} wrong", flush=True)
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
