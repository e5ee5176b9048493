"""igraph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from peer.methods import method
from peer.network import Network


def igraph_graph(network: Network) -> Any:
    import igraph

    return igraph.Graph(n=network.size, edges=network.edges, directed=network.directed)


@method("igraph.list_triangles", "subgraphs")
def igraph_triangles(data: Network, query: Network) -> Callable[[], int]:
    graph = igraph_graph(data)
    return lambda: len(graph.list_triangles())


@method("igraph.cliques", "subgraphs")
def igraph_cliques(data: Network, query: Network) -> Callable[[], int]:
    graph = igraph_graph(data)
    return lambda: len(graph.cliques(query.size, query.size))


@method("igraph.simple_cycles", "subgraphs")
def igraph_cycles(data: Network, query: Network) -> Callable[[], int]:
    import igraph

    graph = igraph_graph(data)
    return lambda: len(graph.simple_cycles(mode=igraph.OUT, min=query.size, max=query.size))


@method("igraph.motifs_randesu", "subgraphs")
def igraph_motifs(data: Network, query: Network) -> Callable[[], int]:
    """Count induced motifs; of four vertices, those inside denser ones are added.

    A 4-clique holds six diamonds and three 4-cycles, a diamond one 4-cycle.
    """
    graph, pattern = igraph_graph(data), igraph_graph(query)
    clique, diamond = (igraph_graph(Network(4, edges)).isoclass() for edges in (CLIQUE, CLIQUE[1:]))
    inside: dict[int, int] = {}
    if query.size == 4:
        inside = {5: {clique: 6}, 4: {clique: 3, diamond: 1}}.get(len(query.edges), {})

    def count() -> int:
        motifs = graph.motifs_randesu(query.size)
        extra = sum(times * motifs[denser] for denser, times in inside.items())
        return int(motifs[pattern.isoclass()] + extra)

    return count


CLIQUE = [(u, v) for u in range(4) for v in range(u)]


@method("igraph.count_subisomorphisms_vf2", "embeddings")
def igraph_vf2(data: Network, query: Network) -> Callable[[], int]:
    """Labels are its colours; kinds too where every pair has one, and a function of ours elsewhere."""
    graph, pattern = igraph_graph(data), igraph_graph(query)
    options: dict[str, Any] = {"color1": data.labels, "color2": query.labels}
    if data.kinds and query.kinds:
        there, asked = data.kinds, query.kinds
        if all(len(kinds) == 1 for kinds in (*there, *asked)):
            options["edge_color1"], options["edge_color2"] = (
                [min(kinds) for kinds in one] for one in (there, asked)
            )
        else:
            options["edge_compat_fn"] = lambda one, other, edge, needed: asked[needed] <= there[edge]
    return lambda: int(graph.count_subisomorphisms_vf2(pattern, **options))


@method("igraph.get_subisomorphisms_lad", "embeddings")
def igraph_lad(data: Network, query: Network) -> Callable[[], int]:
    """Count with labels of vertices; it knows no kinds, so they may not differ."""
    if data.kinds and len({*data.kinds, *(query.kinds or [])}) > 1:
        raise ValueError("get_subisomorphisms_lad compares no labels of edges")
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
