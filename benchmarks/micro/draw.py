"""How long pictures take, and how often lines cross that need not: ``python benchmarks/micro/draw.py``.

Crossings are counted over all connected planar graphs of 3 to 7 vertices (networkx's atlas), times are of
pictures of random patterns.
"""

from __future__ import annotations

import networkx as nx
import numpy as np

import motiflux as mf
from motiflux.bench.measure import repeat
from motiflux.draw import Picture, place
from motiflux.draw.layout import _place
from motiflux.draw.layout.stress import distances
from motiflux.draw.layout.untangle import Judge

SIZES = (4, 8, 16, 32)


def main() -> None:
    planar = crossed = covered = 0
    for graph in nx.graph_atlas_g():
        count = graph.number_of_nodes()
        if count < 3 or not nx.is_connected(graph) or not nx.check_planarity(graph)[0]:
            continue
        pairs = [(int(u), int(v)) for u, v in graph.edges]
        flaws = Judge(count, pairs, distances(count, pairs)).flaws(place(count, pairs))
        planar += 1
        crossed += flaws.crossings > 0
        covered += flaws.covered > 0
    print(f"{planar} planar graphs: {crossed} with crossings, {covered} with a line close to another vertex")

    for size in SIZES:
        random = np.random.default_rng(size)
        edges = [(int(random.integers(v)), v) for v in range(1, size)]
        edges += [(int(u), int(v)) for u, v in random.integers(0, size, (size, 2)) if u != v]
        pattern = mf.Pattern.from_edges(edges, vertex_labels=["a", "b"] * (size // 2))

        def drawn(pattern: mf.Pattern = pattern) -> Picture:
            _place.cache_clear()
            return pattern.to_svg()

        picture, seconds = repeat(drawn)
        print(f"pattern of {size:>2} vertices  {seconds.min * 1e3:6.1f} ms  {len(picture):>6} characters")


if __name__ == "__main__":
    main()
