"""Other Python-installable systems, doing one count each in a process of its own.

    python benchmarks/run_peer.py METHOD GRAPH.npz QUERY.graph --limit SECONDS --runs N

The graph is read as undirected. Prints one JSON object per line: first what the method counts, as
``{"counts": "subgraphs"|"embeddings"}``, then ``{"count": int, "seconds": float}`` per run, in process CPU
seconds, without building the peer's graph. A first run over the limit is killed, whatever the code is doing,
and ``{"stopped": seconds}`` is printed; a peer that needs more than `MEMORY` fails. Linux only.

The peer works in a process of its own, and the limit is kept by a second one that reads the first one's CPU
clock from outside: a CPU timer inside would make that clock advance in scheduler ticks, 4 ms at a time.

Nothing here uses motiflux: files are read by NumPy and by hand, so that a defect of its readers cannot hide.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

MEMORY = 12 << 30
"""Bytes of address space a peer may have."""
LONG_RUN_SECONDS = 5.0
"""A run this long is not repeated, as in the harness."""
PR_SET_PDEATHSIG = 1
CPUCLOCK_SCHED = 2
"""Kind of clock, in the id of another process' CPU clock."""


@dataclass(frozen=True)
class Network:
    """A graph as peers are given it: vertices 0..n-1, each pair once, and labels if it has them."""

    size: int
    edges: list[tuple[int, int]]
    labels: list[int] | None


Prepare = Callable[[Network, Network], Callable[[], int]]
METHODS: dict[str, tuple[str, Prepare]] = {}
"""What each method counts, and the function that takes graph and query and gives the count as a call."""


def method(name: str, counts: str) -> Callable[[Prepare], Prepare]:
    def register(prepare: Prepare) -> Prepare:
        METHODS[name] = (counts, prepare)
        return prepare

    return register


# --- networkx ---


def networkx_graph(network: Network) -> Any:
    import networkx as nx

    graph = nx.Graph()
    labels = network.labels or [0] * network.size
    graph.add_nodes_from((vertex, {"label": label}) for vertex, label in enumerate(labels))
    graph.add_edges_from(network.edges)
    return graph


@method("networkx.triangles", "subgraphs")
def networkx_triangles(data: Network, query: Network) -> Callable[[], int]:
    import networkx as nx

    graph = networkx_graph(data)
    return lambda: sum(nx.triangles(graph).values()) // 3


@method("networkx.enumerate_all_cliques", "subgraphs")
def networkx_cliques(data: Network, query: Network) -> Callable[[], int]:
    """Cliques come in order of size: all of the query's size are there when a larger one comes."""
    import networkx as nx

    graph = networkx_graph(data)
    return lambda: sum(
        len(clique) == query.size
        for clique in takewhile(lambda clique: len(clique) <= query.size, nx.enumerate_all_cliques(graph))
    )


@method("networkx.GraphMatcher", "embeddings")
def networkx_matcher(data: Network, query: Network) -> Callable[[], int]:
    """Count monomorphisms, which are not induced; labels are compared if there are any."""
    from networkx.algorithms.isomorphism import GraphMatcher, categorical_node_match

    graph, pattern = networkx_graph(data), networkx_graph(query)
    node_match = categorical_node_match("label", 0) if data.labels else None
    return lambda: length(GraphMatcher(graph, pattern, node_match=node_match).subgraph_monomorphisms_iter())


@method("networkx.common_neighbors, by hand", "subgraphs")
def networkx_diamonds(data: Network, query: Network) -> Callable[[], int]:
    """Count diamonds as pairs of common neighbours of each edge: the user's formula, not the library's."""
    import networkx as nx

    graph = networkx_graph(data)

    def count() -> int:
        common = (len(nx.common_neighbors(graph, *edge)) for edge in graph.edges)
        return sum(number * (number - 1) // 2 for number in common)

    return count


# --- igraph ---


def igraph_graph(network: Network) -> Any:
    import igraph

    return igraph.Graph(n=network.size, edges=network.edges)


@method("igraph.list_triangles", "subgraphs")
def igraph_triangles(data: Network, query: Network) -> Callable[[], int]:
    graph = igraph_graph(data)
    return lambda: len(graph.list_triangles())


@method("igraph.cliques", "subgraphs")
def igraph_cliques(data: Network, query: Network) -> Callable[[], int]:
    graph = igraph_graph(data)
    return lambda: len(graph.cliques(query.size, query.size))


@method("igraph.motifs_randesu", "subgraphs")
def igraph_motifs(data: Network, query: Network) -> Callable[[], int]:
    """Count induced motifs; the diamond's count adds the six diamonds in each 4-clique."""
    graph, pattern = igraph_graph(data), igraph_graph(query)
    clique = igraph_graph(Network(4, [(u, v) for u in range(4) for v in range(u)], None))
    inside = 6 if (query.size, len(query.edges)) == (4, 5) else 0

    def count() -> int:
        motifs = graph.motifs_randesu(query.size)
        extra = inside * motifs[clique.isoclass()] if inside else 0
        return int(motifs[pattern.isoclass()] + extra)

    return count


@method("igraph.count_subisomorphisms_vf2", "embeddings")
def igraph_vf2(data: Network, query: Network) -> Callable[[], int]:
    graph, pattern = igraph_graph(data), igraph_graph(query)
    return lambda: int(graph.count_subisomorphisms_vf2(pattern, color1=data.labels, color2=query.labels))


@method("igraph.get_subisomorphisms_lad", "embeddings")
def igraph_lad(data: Network, query: Network) -> Callable[[], int]:
    graph, pattern = igraph_graph(data), igraph_graph(query)
    domains = None
    if data.labels is not None and query.labels is not None:
        known = np.asarray(data.labels)
        domains = [np.flatnonzero(known == label).tolist() for label in query.labels]
    return lambda: len(graph.get_subisomorphisms_lad(pattern, domains=domains, induced=False))


@method("igraph.list_triangles, by hand", "subgraphs")
def igraph_diamonds(data: Network, query: Network) -> Callable[[], int]:
    """Count diamonds as pairs of triangles on each edge: the user's formula, not the library's."""
    graph = igraph_graph(data)

    def count() -> int:
        triangles = np.sort(np.asarray(graph.list_triangles(), np.int64).reshape(-1, 3), axis=1)
        sides = np.concatenate([triangles[:, pair] for pair in ([0, 1], [0, 2], [1, 2])])
        number = np.unique(sides[:, 0] * data.size + sides[:, 1], return_counts=True)[1]
        return int((number * (number - 1) // 2).sum())

    return count


# --- rustworkx ---


def rustworkx_graph(network: Network) -> Any:
    import rustworkx

    graph = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(network.labels or [0] * network.size)
    graph.add_edges_from_no_data(network.edges)
    return graph


@method("rustworkx.transitivity", "subgraphs")
def rustworkx_triangles(data: Network, query: Network) -> Callable[[], int]:
    """Count triangles from their share among connected triples: nothing in rustworkx counts them directly."""
    import rustworkx

    graph = rustworkx_graph(data)

    def count() -> int:
        degrees = [graph.degree(vertex) for vertex in graph.node_indices()]
        triples = sum(degree * (degree - 1) // 2 for degree in degrees)
        return round(rustworkx.transitivity(graph) * triples / 3)

    return count


def rustworkx_vf2(data: Network, query: Network, *, id_order: bool) -> Callable[[], int]:
    import rustworkx

    graph, pattern = rustworkx_graph(data), rustworkx_graph(query)
    matcher = (lambda one, other: one == other) if data.labels else None
    options: dict[str, Any] = {"node_matcher": matcher, "subgraph": True, "induced": False}
    return lambda: length(rustworkx.vf2_mapping(graph, pattern, id_order=id_order, **options))


@method("rustworkx.vf2_mapping", "embeddings")
def rustworkx_vf2_in_id_order(data: Network, query: Network) -> Callable[[], int]:
    return rustworkx_vf2(data, query, id_order=True)


@method("rustworkx.vf2_mapping(id_order=False)", "embeddings")
def rustworkx_vf2_in_own_order(data: Network, query: Network) -> Callable[[], int]:
    return rustworkx_vf2(data, query, id_order=False)


# --- running one ---


def length(items: Iterable[object]) -> int:
    return sum(1 for _ in items)


def read_graph(path: Path) -> Network:
    with np.load(path) as file:
        edges = np.sort(file["edges"].astype(np.int64), axis=1)
        labels = file["vertex_labels"].tolist() if "vertex_labels" in file else None
        size = int(file["num_vertices"])
    return Network(size, [tuple(edge) for edge in np.unique(edges, axis=0).tolist()], labels)


def read_query(path: Path, *, labelled: bool) -> Network:
    lines = [line.split() for line in path.read_text().splitlines() if line.strip()]
    labels = [int(line[2]) for line in lines if line[0] == "v"]
    edges = [(int(line[1]), int(line[2])) for line in lines if line[0] == "e"]
    return Network(len(labels), edges, labels if labelled else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("graph", type=Path)
    parser.add_argument("query", type=Path)
    parser.add_argument("--limit", type=float, default=60.0, help="process CPU seconds of one run")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()

    reading, writing = os.pipe()
    worker = os.fork()
    if worker == 0:
        work(options, writing)
        return
    os.close(writing)
    stopped = watch(worker, reading, options.limit)
    status = os.waitpid(worker, 0)[1]
    if stopped:
        print(json.dumps({"stopped": options.limit}))
    elif status:
        sys.exit(1)


def work(options: argparse.Namespace, progress: int) -> None:
    """Count, and write a byte to `progress` before and after the first run."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    data = read_graph(options.graph)
    query = read_query(options.query, labelled=data.labels is not None)
    counts, prepare = METHODS[options.method]
    call = prepare(data, query)
    print(json.dumps({"counts": counts}), flush=True)
    for run in range(options.runs):
        if run == 0:
            os.write(progress, b".")
        start = time.process_time()
        count = call()
        seconds = time.process_time() - start
        if run == 0:
            os.write(progress, b".")
        print(json.dumps({"count": count, "seconds": seconds}), flush=True)
        if seconds > LONG_RUN_SECONDS:
            break


def watch(worker: int, progress: int, limit: float) -> bool:
    """Kill the worker if its first run takes more CPU seconds than `limit`; say whether it was."""
    if not os.read(progress, 1):
        return False  # it failed before
    clock = (~worker << 3) | CPUCLOCK_SCHED
    start = time.clock_gettime(clock)
    while not select.select([progress], [], [], 0.02)[0]:
        if time.clock_gettime(clock) - start > limit:
            os.kill(worker, signal.SIGKILL)
            return True
    return False


if __name__ == "__main__":
    main()
