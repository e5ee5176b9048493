"""Finds queries that samples hardly ever answer.

``python benchmarks/micro/trawl_queries.py GRAPH FIRST LAST`` draws dense and sparse queries of 16 vertices,
always the same; of hprd, whose 307 labels leave nothing to chance, the labels of one vertex in seven are
kept. It writes to `benchmarks/queries` those of which at most ten of a million samples are embeddings (Alley,
none inherits) and which the CPU engine counts within the seconds given.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from pathlib import Path

import motiflux as mf
from motiflux.bench.suite import load_part

random_queries = load_part(Path(__file__).resolve().parents[1] / "suite/estimate_parts/random_queries.py")

SHARED = Path(os.environ["MOTIFLUX_SHARED"])
QUERIES = Path(__file__).resolve().parents[1] / "queries"
GRAPHS = {"hprd": ("hprd", 0.15), "wordnet30": ("wordnet30_relations", 1.0)}
"""File, and the share of labels that are kept."""
VERTICES = 16
SAMPLES = 1_000_000
MOST_VALID = 10
OFF = {"trawling": "off", "inheritance": "off"}


def query(graph: mf.Graph, name: str, kind: str, number: int) -> mf.Pattern:
    randomness = random.Random(f"estimate {name} {VERTICES} {kind} {number}")
    draw = {"sparse": random_queries.sparse_query, "dense": random_queries.dense_query}[kind]
    drawn = draw(graph, VERTICES, randomness)
    kept = GRAPHS[name][1]
    if kept == 1:
        return drawn
    labels = [min(v.labels) if v.labels and randomness.random() < kept else None for v in drawn.vertices]
    edges = [(edge.source, edge.target) for edge in drawn.edges]
    return mf.Pattern.from_edges(edges, num_vertices=VERTICES, vertex_labels=labels)


def is_hard(graph: mf.Graph, pattern: mf.Pattern) -> bool:
    for samples in (SAMPLES // 10, SAMPLES):
        found = mf.estimate(graph, pattern, estimator="alley", samples=samples, seed=5, threads=1, tuning=OFF)
        if found.valid_samples > MOST_VALID or found.estimator == "exact":
            return False
    return True


def text_of(pattern: mf.Pattern) -> str:
    lines = [f"t {pattern.num_vertices} {pattern.num_edges}"]
    degrees = [0] * pattern.num_vertices
    for edge in pattern.edges:
        degrees[edge.source] += 1
        degrees[edge.target] += 1
    for number, vertex in enumerate(pattern.vertices):
        label = min(vertex.labels) if vertex.labels else -1
        lines.append(f"v {number} {label} {degrees[number]}")
    lines += [f"e {edge.source} {edge.target}" for edge in pattern.edges]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", choices=list(GRAPHS))
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    graph = random_queries.read_labelled(SHARED / f"data/{GRAPHS[given.graph][0]}.npz", None, 0)
    table = QUERIES / "trawl_counts.json"
    for number in range(given.first, given.last):
        for kind in ("sparse", "dense"):
            pattern = query(graph, given.graph, kind, number)
            if not is_hard(graph, pattern):
                continue
            found = mf.count(graph, pattern, timeout=given.seconds)
            print(given.graph, kind, number, found, flush=True)
            if not found.complete:
                continue
            name = f"trawl_{given.graph}_{kind}_{number}"
            (QUERIES / f"{name}.graph").write_text(text_of(pattern))
            counts = json.loads(table.read_text()) if table.exists() else {}
            counts[name] = int(found)
            table.write_text(json.dumps(dict(sorted(counts.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
