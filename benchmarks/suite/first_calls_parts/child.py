"""The counts of one graph in a process of its own: ``child.py GRAPH.npz DEVICE``, one JSON object per query.

Queries are drawn from the graph: 3 to 7 vertices, labelled as there, the same in each run.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

import motiflux as mf

SEED = 2011
SIZES = (3, 4, 5, 6, 7)
OF_EACH = 3
SECONDS = 10.0


def walked(ends: list[list[int]], vertices: int, randomness: random.Random) -> list[int]:
    """Return the first vertices that a random walk meets."""
    while True:
        met = [randomness.randrange(len(ends))]
        vertex = met[0]
        for _ in range(20 * vertices):
            if not ends[vertex]:
                break
            vertex = randomness.choice(ends[vertex])
            if vertex not in met:
                met.append(vertex)
            if len(met) == vertices:
                return met


def queries(graph: mf.Graph, name: str) -> list[tuple[str, mf.Pattern]]:
    """Draw queries: one with all edges between its vertices, the others with edges left out."""
    edges = graph.to_edges()
    index = {int(id_): at for at, id_ in enumerate(graph.vertex_ids)}
    src, dst = ([index[int(id_)] for id_ in ids] for ids in (edges.src, edges.dst))
    ends: list[list[int]] = [[] for _ in range(graph.num_vertices)]
    between: dict[tuple[int, int], list[int]] = {}
    for at, (v, w) in enumerate(zip(src, dst, strict=True)):
        ends[v].append(w)
        ends[w].append(v)
        between.setdefault((v, w), []).append(at)
    found = []
    for size in SIZES:
        for number in range(OF_EACH):
            randomness = random.Random(f"{SEED} {name} {size} {number}")
            met = walked(ends, size, randomness)
            pairs = [(v, w) for v in met for w in met if (v, w) in between]
            if number:
                randomness.shuffle(pairs)
                pairs = connected(met, pairs, size - 1 + number - 1)
            place = {vertex: at for at, vertex in enumerate(met)}
            codes, table = graph.vertex_labels, graph.vertex_label_table
            labels = None if codes is None else [table.values[int(codes[vertex])] for vertex in met]
            kinds = (
                None if edges.labels is None else [edges.labels[between[pair][0]].item() for pair in pairs]
            )
            pattern = mf.Pattern.from_edges(
                [(place[v], place[w]) for v, w in pairs],
                num_vertices=size,
                vertex_labels=labels,
                edge_labels=kinds,
                directed=graph.directed,
            )
            found.append((f"{name} {size} no {number}", pattern))
    return found


def connected(vertices: list[int], pairs: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """Return pairs that join all vertices, and more of them up to a number."""
    part = {vertex: vertex for vertex in vertices}
    tree, rest = [], []
    for v, w in pairs:
        if part[v] == part[w]:
            rest.append((v, w))
            continue
        old, new = part[v], part[w]
        part = {vertex: new if one == old else one for vertex, one in part.items()}
        tree.append((v, w))
    return tree + rest[: max(0, most - len(tree))]


def main() -> None:
    """Count each query twice."""
    path, device = Path(sys.argv[1]), sys.argv[2]
    graph = mf.read_graph(path)
    for name, pattern in queries(graph, path.stem):
        seconds, counts = [], []
        for _ in range(2):
            began = time.perf_counter()
            counts.append(mf.count(graph, pattern, device=device, timeout=SECONDS))
            seconds.append(time.perf_counter() - began)
        count = int(counts[0]) if all(one.complete for one in counts) else None
        assert count is None or len(set(counts)) == 1, (name, counts)
        told = {"case": name, "count": count, "engine": counts[0].engine, "seconds": seconds}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
