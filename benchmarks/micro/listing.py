"""Rows a second that one thread lists: ``python benchmarks/micro/listing.py [graph ...]``.

Process CPU seconds of everything up to NumPy batches, the least of three runs: of the search with internal
ids, and of `motiflux.match`, which gives external ids. Needs the shared graphs (``MOTIFLUX_SHARED``).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

import motiflux as mf
from motiflux.api.matching import DEFAULT_BATCH_ROWS
from motiflux.bench.suite import shared_folder
from motiflux.cpu.engine import CpuEngine
from motiflux.plan import make_plan
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request
from motiflux.result.images import written

MOST_ROWS = 20_000_000
PATTERNS = {
    "4-path": [(0, 1), (1, 2), (2, 3)],
    "3-star": [(0, 1), (0, 2), (0, 3)],
    "tailed triangle": [(0, 1), (1, 2), (0, 2), (2, 3)],
    "4-cycle": [(0, 1), (1, 2), (2, 3), (3, 0)],
    "diamond": [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)],
    "4-clique": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
}
GRAPHS = ("wiki_vote", "email_enron")


def main() -> None:
    shared = shared_folder(Path(__file__).parents[1] / "suite")
    for name in sys.argv[1:] or GRAPHS:
        graph = mf.read_graph(shared / f"data/{name}.npz", directed=False)
        random = np.random.default_rng(1)
        labels = random.integers(0, 4, graph.num_vertices)
        edges = inner_edges(graph)
        labelled = mf.Graph.from_edges(edges, vertex_labels=labels)
        for pattern_name, pairs in PATTERNS.items():
            for symmetry in ("embeddings", "subgraphs"):
                report(f"{name} {pattern_name}, {symmetry}", graph, mf.Pattern.from_edges(pairs), symmetry)
            pattern = mf.Pattern.from_edges(pairs, vertex_labels=[0, 1, 2, 3])
            report(f"{name} {pattern_name}, labelled", labelled, pattern, "embeddings")


def inner_edges(graph: mf.Graph) -> np.ndarray:
    """Return the edges by internal ids, each once."""
    offsets, neighbors = graph.forward.offsets, graph.forward.neighbors
    sources = np.repeat(np.arange(graph.num_vertices), np.diff(offsets).astype(np.int64))
    return np.stack([sources, neighbors], axis=1)[sources < neighbors]


def report(case: str, graph: mf.Graph, pattern: mf.Pattern, symmetry: str) -> None:
    request = make_request(semantics="isomorphism", symmetry=symmetry, threads=1, limit=MOST_ROWS)
    plan = make_plan(graph, pattern, symmetry=request.symmetry, counting=False, images=True, space=True)

    engine = CpuEngine()
    physical = engine.strategy(graph, plan, request, counting=False)

    def internal() -> Iterable[np.ndarray]:
        rows, _ = engine.rows(graph, physical, request, DEFAULT_BATCH_ROWS, Deadline.after(None))
        while (block := rows.next()) is not None:
            yield written(block)

    def external() -> Iterable[np.ndarray]:
        return mf.match(graph, pattern, symmetry=symmetry, threads=1, limit=MOST_ROWS)

    (rows, search), (_, whole) = fastest(internal), fastest(external)
    print(
        f"{case:<44} {rows:10,} rows: search {rows / search / 1e6:6.1f} M/s, with external ids"
        f" {rows / whole / 1e6:6.1f} M/s",
        flush=True,
    )


def fastest(batches: Callable[[], Iterable[np.ndarray]]) -> tuple[int, float]:
    best, rows = float("inf"), 0
    for _ in range(3):
        start = time.process_time()
        rows = sum(len(batch) for batch in batches())
        best = min(best, time.process_time() - start)
    return rows, best


if __name__ == "__main__":
    main()
