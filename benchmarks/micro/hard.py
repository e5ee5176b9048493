"""Queries that thrash plain backtracking, each with a few seconds at most, with what prunes on and off.

``MOTIFLUX_SHARED=... python benchmarks/micro/hard.py [--seconds S] [--each N] [--only TEXT] [--tuning ...]``

Queries are random connected pieces of yeast, human and hprd with all edges between their vertices, some of
which are left out where they are to be sparse. Labels are those of the graph or coarsened (label modulo 3 or
8); *none* means that two vertices swapped labels or that an edge was added, so that most have no answer. The
synthetic ones fail on injectivity, on a missing edge, or on rows too short for what must come from them.
Told are: queries answered within the limit, CPU seconds over all (those not answered count as long as they
ran), and the sum over those that all settings answered.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import motiflux as mf
from motiflux.config import private_tuning

SETTINGS = (
    "backjump=off,room=off",
    "backjump=off",
    "backjump=on",
    "order=adaptive,backjump=off",
    "order=adaptive",
    "backjump=auto",
)
SEED = 7


class Query(NamedTuple):
    """A query of a group of queries, what it is searched in and how."""

    group: str
    graph: mf.Graph
    pattern: mf.Pattern
    options: dict[str, object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--slowest", type=int, default=0)
    parser.add_argument("--tuning", nargs="*", default=SETTINGS)
    args = parser.parse_args()
    answered: dict[tuple[str, str], int] = defaultdict(int)
    spent: dict[tuple[str, str], float] = defaultdict(float)
    common: dict[tuple[str, str], float] = defaultdict(float)
    asked: dict[str, int] = defaultdict(int)
    for query in queries(args.each, args.only):
        asked[query.group] += 1
        runs = {}
        for setting in args.tuning:
            runs[setting] = measured(query, setting, args.seconds)
            answered[query.group, setting] += runs[setting][1] is not None
            spent[query.group, setting] += runs[setting][0]
        found = {count for _, count in runs.values() if count is not None}
        if len(found) > 1:
            raise AssertionError(f"{query.group}: {runs}")
        if all(count is not None for _, count in runs.values()):
            for setting, (seconds, _) in runs.items():
                common[query.group, setting] += seconds
        if args.slowest and max(seconds for seconds, _ in runs.values()) > args.seconds / args.slowest:
            print(query.group, runs)
    for group in asked:
        for setting in args.tuning:
            print(
                f"{group:34} {setting:34} {answered[group, setting]:4} of {asked[group]:4}"
                f" {spent[group, setting]:9.3f} s, common {common[group, setting]:9.4f} s"
            )
    for setting in args.tuning:
        total = sum(seconds for (_, of), seconds in spent.items() if of == setting)
        done = sum(count for (_, of), count in answered.items() if of == setting)
        shared = sum(seconds for (_, of), seconds in common.items() if of == setting)
        print(
            f"{'all':34} {setting:34} {done:4} of {sum(asked.values()):4} {total:9.3f} s,"
            f" common {shared:9.4f} s"
        )


def measured(query: Query, setting: str, seconds: float) -> tuple[float, int | None]:
    """Return the CPU time of a count whose plan is made already, and the count; None if time was up."""
    tuning = dict(one.split("=") for one in setting.split(",") if one)
    options = {"threads": 1, "timeout": seconds, "tuning": private_tuning(tuning), **query.options}
    mf.explain(query.graph, query.pattern, **{k: v for k, v in options.items() if k != "timeout"})
    best, number = float("inf"), None
    for _ in range(3):
        started = time.process_time()
        found = mf.count(query.graph, query.pattern, **options)
        best = min(best, time.process_time() - started)
        limit = query.options.get("limit")
        number = int(found) if found.complete or found == limit else None
        if best > 0.05:
            break
    return best, number


def queries(each: int, only: str) -> Iterator[Query]:
    for query in itertools.chain(
        synthetic(), *(from_graph(name, each, only) for name in ("yeast", "human", "hprd"))
    ):
        if only in query.group:
            yield query


def from_graph(name: str, each: int, only: str) -> Iterator[Query]:
    """Draw queries from a real graph."""
    with np.load(Path(os.environ["MOTIFLUX_SHARED"]) / f"data/{name}.npz") as stored:
        edges, labels = stored["edges"], stored["vertex_labels"].astype(np.int64)
    neighbors: dict[int, set[int]] = defaultdict(set)
    for u, v in edges.tolist():
        neighbors[u].add(v)
        neighbors[v].add(u)
    for kinds, size, shape in itertools.product((0, 8, 3), (8, 12, 16, 24, 32), ("dense", "sparse", "none")):
        group = f"{name} labels{kinds or ''} {shape} {size:02}"
        if only not in group:
            continue
        kept = labels % kinds if kinds else labels
        graph = mf.Graph.from_edges(edges, num_vertices=len(kept), vertex_labels=kept)
        rng = random.Random(f"{SEED} {group}")
        for _ in range(each):
            pattern = piece(neighbors, kept.tolist(), size, shape, rng)
            yield Query(group, graph, pattern, {"limit": 100_000})


def piece(
    neighbors: dict[int, set[int]], labels: list[int], size: int, shape: str, rng: random.Random
) -> mf.Pattern:
    """Return a connected piece of a graph; what no walk from its start reaches is begun anew."""
    found: list[int] = []
    while len(found) < size:
        at = rng.choice(sorted(neighbors))
        found = [at]
        for _ in range(40 * size):
            at = rng.choice(sorted(neighbors[at]))
            if at not in found:
                found.append(at)
            if len(found) == size:
                break
    inside = [(i, j) for i, j in itertools.combinations(range(size), 2) if found[j] in neighbors[found[i]]]
    if shape == "sparse":
        tree = {
            next((i, j) for i, j in inside if j == vertex)
            for vertex in range(1, size)
            if any(j == vertex for _, j in inside)
        }
        inside = [edge for edge in inside if edge in tree or rng.random() < 0.25]
    own = [labels[vertex] for vertex in found]
    if shape == "none":
        apart = sorted(set(itertools.combinations(range(size), 2)) - set(inside))
        if apart and rng.random() < 0.5:
            inside.append(rng.choice(apart))
        else:
            one, other = rng.sample(range(size), 2)
            own[one], own[other] = own[other], own[one]
    return mf.Pattern.from_edges(inside, num_vertices=size, vertex_labels=own)


def synthetic() -> Iterator[Query]:
    """Give patterns that have few embeddings or none, and many partial ones."""
    subgraphs = {"symmetry": "subgraphs", "limit": 1000}
    complete = mf.Graph.from_edges(list(itertools.combinations(range(33), 2)))
    for size in (24, 28, 31):
        yield Query("room clique in K33", complete, clique(size), subgraphs)
        yield Query("room star in K33", complete, star(size), subgraphs)
    for size in (8, 12, 16):
        graph = mf.Graph.from_edges([(0, v) for v in range(1, size)], vertex_labels=[0] + [1] * (size - 1))
        pattern = mf.Pattern.from_edges([(0, v) for v in range(1, size + 1)], vertex_labels=[0] + [1] * size)
        yield Query("leaves too many", graph, pattern, {"limit": 1000})
    rng = random.Random(SEED)
    for seed in range(10):
        rng.seed(seed)
        yield Query("clique less an edge", *missing_edge(rng), {"limit": 1000})
        yield Query("trees that share leaves", *crowded_trees(rng), {"limit": 1000})
        yield Query("late failure", *late_failure(rng), {"limit": 1000})


def clique(size: int) -> mf.Pattern:
    return mf.Pattern.from_edges(list(itertools.combinations(range(size), 2)))


def star(leaves: int) -> mf.Pattern:
    return mf.Pattern.from_edges([(0, leaf) for leaf in range(1, leaves + 1)])


def missing_edge(rng: random.Random) -> tuple[mf.Graph, mf.Pattern]:
    """Search a 6-clique with a path in nearly bipartite neighbourhoods with cliques that lack an edge."""
    left, right = range(40), range(40, 80)
    edges = {(u, v) for u in left for v in right if rng.random() < 0.5}
    for _ in range(20):
        group = sorted(rng.sample(range(80), 6))
        pairs = list(itertools.combinations(group, 2))
        edges |= set(pairs[1:])
        edges.discard(pairs[0])
    labels = [rng.randrange(2) for _ in range(80)]
    graph = mf.Graph.from_edges(sorted(edges), num_vertices=80, vertex_labels=labels)
    asked = [*itertools.combinations(range(6), 2), (0, 6), (6, 7), (7, 8), (8, 9)]
    return graph, mf.Pattern.from_edges(asked, vertex_labels=[rng.randrange(2) for _ in range(10)])


def crowded_trees(rng: random.Random) -> tuple[mf.Graph, mf.Pattern]:
    """Search a tree whose leaves of one label share too few vertices."""
    middles, leaves = range(1, 13), range(13, 18)
    edges = [(0, m) for m in middles] + [(m, leaf) for m in middles for leaf in leaves if rng.random() < 0.7]
    graph = mf.Graph.from_edges(sorted(edges), num_vertices=18, vertex_labels=[0] + [1] * 12 + [2] * 5)
    asked = [(0, m) for m in range(1, 7)] + [(m, m + 6) for m in range(1, 7)]
    return graph, mf.Pattern.from_edges(asked, vertex_labels=[0] + [1] * 6 + [2] * 6)


def late_failure(rng: random.Random) -> tuple[mf.Graph, mf.Pattern]:
    """Search two triangles far apart on a path with bushes between: one triangle is never there."""
    size, labels = 300, [rng.randrange(3) for _ in range(300)]
    edges = {tuple(sorted(rng.sample(range(size), 2))) for _ in range(2400)}
    graph = mf.Graph.from_edges(sorted(edges), num_vertices=size, vertex_labels=labels)
    asked = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (0, 7), (1, 8), (3, 9), (4, 10)]
    asked += list(itertools.combinations((6, 11, 12, 13), 2))
    return graph, mf.Pattern.from_edges(asked, vertex_labels=[rng.randrange(3) for _ in range(14)])


if __name__ == "__main__":
    main()
