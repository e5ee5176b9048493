"""rustworkx."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peer.methods import method
from peer.network import Network, length


def rustworkx_graph(network: Network) -> Any:
    import rustworkx

    graph = (rustworkx.PyDiGraph if network.directed else rustworkx.PyGraph)(multigraph=False)
    graph.add_nodes_from(network.labels or [0] * network.size)
    if network.kinds is None:
        graph.add_edges_from_no_data(network.edges)
    else:
        pairs = zip(network.edges, network.kinds, strict=True)
        graph.add_edges_from([(*edge, kinds) for edge, kinds in pairs])
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
    options: dict[str, Any] = {"subgraph": True, "induced": False, "id_order": id_order}
    if data.labels:
        options["node_matcher"] = lambda one, other: one == other
    if data.kinds:
        # Queries ask for one kind a pair; which of the two comes first is not what its documentation says.
        options["edge_matcher"] = lambda one, other: not one.isdisjoint(other)
    return lambda: length(rustworkx.vf2_mapping(graph, pattern, **options))


@method("rustworkx.vf2_mapping", "embeddings")
def rustworkx_vf2_in_id_order(data: Network, query: Network) -> Callable[[], int]:
    return rustworkx_vf2(data, query, id_order=True)


@method("rustworkx.vf2_mapping(id_order=False)", "embeddings")
def rustworkx_vf2_in_own_order(data: Network, query: Network) -> Callable[[], int]:
    return rustworkx_vf2(data, query, id_order=False)
