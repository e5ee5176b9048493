"""What dropping unfinished searches costs: ``python benchmarks/micro/trawling.py [--slots N]``.

Of random graphs with hubs and of yeast, one pattern each: the mean of slots over the true count, with its
standard error, by budget of candidates for each slot. ``deepen`` goes one level on and searches again,
``sample`` goes on to the end, ``drop`` leaves the slot out, as the paper does. Then the spread: standard
deviation of a slot over the count.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import motiflux as mf
from motiflux.config import resolve_tuning
from motiflux.cpu.sampling import sample_graph
from motiflux.cpu.trawling import DROPPED, Trawl, searches_of
from motiflux.plan.sampling import sampling_plan
from motiflux.statistics import UNIT_BITS
from motiflux.types import Semantics, Symmetry

BUDGETS = (4, 16, 64, 256, 1024, 16_384)
WAYS = ("deepen", "sample", "drop")


def hubs(seed: int, vertices: int, edges: int) -> mf.Graph:
    """Return a graph whose vertices of low number have most of the edges."""
    randomness = np.random.default_rng(seed)
    ends = (vertices * randomness.random((edges, 2)) ** 2).astype(np.int64)
    ends = ends[ends[:, 0] != ends[:, 1]]
    return mf.Graph.from_edges(np.unique(np.sort(ends, axis=1), axis=0), num_vertices=vertices)


def cases() -> Iterator[tuple[str, mf.Graph, mf.Pattern]]:
    for name, text in (
        ("cycle of 6", "(a)--(b)--(c)--(d)--(e)--(f)--(a)"),
        ("path of 6", "(a)--(b)--(c)--(d)--(e)--(f)"),
        ("two triangles", "(a)--(b)--(c)--(a), (c)--(d)--(e)--(f)--(d)"),
    ):
        yield f"{name} among hubs", hubs(1, 200, 700), mf.Pattern.parse(text)
    if shared := os.environ.get("MOTIFLUX_SHARED"):
        graph = mf.read_graph(Path(shared) / "data/yeast.npz")
        for query in ("sparse_8_16", "dense_16_162", "sparse_16_36"):
            file = Path(shared) / f"oracle/yeast/queries/query_{query}.graph"
            yield f"yeast {query}", graph, mf.read_pattern(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, default=64_000)
    given = parser.parse_args()
    switches = resolve_tuning(None)
    for name, graph, pattern in cases():
        count = int(mf.count(graph, pattern))
        plan = sampling_plan(
            graph,
            pattern,
            semantics=Semantics.ISOMORPHISM,
            symmetry=Symmetry.EMBEDDINGS,
            threads=1,
            deadline=None,
            switches=switches,
        )
        trawl = Trawl(sample_graph(graph, plan, 1), searches_of(graph, plan, 1, switches), look_every=4)
        print(f"{name}, {count:,}")
        for nodes in BUDGETS:
            line = f"  {nodes:>6}"
            for way in WAYS:
                found = trawl.run(7, 0, given.slots, nodes=nodes, unfinished=way, threads=1)
                kept = found.outcomes != DROPPED
                worth = np.ldexp(found.weights[kept], UNIT_BITS) / count
                spread = worth.std()
                error = spread / len(worth) ** 0.5
                line += f" | {way} {worth.mean():6.3f} +- {error:.3f}, spread {spread:7.2f}"
            print(f"{line}, {1 - kept.mean():.1%} dropped", flush=True)


if __name__ == "__main__":
    main()
