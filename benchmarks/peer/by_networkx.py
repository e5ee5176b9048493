"""networkx, and grandiso, which works on its graphs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any

from peer.methods import method
from peer.network import Network, length


def networkx_graph(network: Network) -> Any:
    import networkx as nx

    graph = nx.DiGraph() if network.directed else nx.Graph()
    labels = network.labels or [0] * network.size
    graph.add_nodes_from((vertex, {"label": label}) for vertex, label in enumerate(labels))
    if network.kinds is None:
        graph.add_edges_from(network.edges)
    else:
        pairs = zip(network.edges, network.kinds, strict=True)
        graph.add_edges_from((*edge, {"kinds": kinds}) for edge, kinds in pairs)
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


@method("networkx.simple_cycles", "subgraphs")
def networkx_cycles(data: Network, query: Network) -> Callable[[], int]:
    """Cycles as long as the query, among all that are not longer."""
    import networkx as nx

    graph = networkx_graph(data)
    return lambda: sum(len(cycle) == query.size for cycle in nx.simple_cycles(graph, length_bound=query.size))


@method("networkx.GraphMatcher", "embeddings")
def networkx_matcher(data: Network, query: Network) -> Callable[[], int]:
    """Count monomorphisms, which are not induced; labels are compared if there are any."""
    from networkx.algorithms.isomorphism import DiGraphMatcher, GraphMatcher, categorical_node_match

    graph, pattern = networkx_graph(data), networkx_graph(query)
    matcher = DiGraphMatcher if data.directed else GraphMatcher
    node_match = categorical_node_match("label", 0) if data.labels else None
    edge_match = (lambda there, asked: asked["kinds"] <= there["kinds"]) if data.kinds else None
    return lambda: length(
        matcher(graph, pattern, node_match=node_match, edge_match=edge_match).subgraph_monomorphisms_iter()
    )


@method("networkx.common_neighbors, by hand", "subgraphs")
def networkx_diamonds(data: Network, query: Network) -> Callable[[], int]:
    """Count diamonds as pairs of common neighbours of each edge: the user's formula, not the library's."""
    import networkx as nx

    graph = networkx_graph(data)

    def count() -> int:
        common = (len(nx.common_neighbors(graph, *edge)) for edge in graph.edges)
        return sum(number * (number - 1) // 2 for number in common)

    return count


@method("grandiso.find_motifs", "embeddings")
def grandiso_motifs(data: Network, query: Network) -> Callable[[], int]:
    """Count its monomorphisms: injective, not induced. Kinds are compared by a function of ours."""
    from grandiso import find_motifs

    graph, pattern = networkx_graph(data), networkx_graph(query)

    def has_kinds(asked: tuple[int, int], there: tuple[int, int], motif: Any, host: Any) -> bool:
        needed: frozenset[int] = motif.edges[asked]["kinds"]
        return needed <= host.edges[there]["kinds"]

    options = {"is_edge_attr_match": has_kinds} if data.kinds else {}
    return lambda: int(find_motifs(pattern, graph, count_only=True, **options))
