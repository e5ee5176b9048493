"""Makes a graph of objects of many types."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.interop.arrays import is_array
from motiflux.interop.arrow import is_arrow
from motiflux.interop.libraries.adjacency import is_adjacency
from motiflux.interop.libraries.igraph import is_igraph
from motiflux.interop.libraries.networkx import is_networkx
from motiflux.interop.libraries.pyg import is_pyg
from motiflux.interop.libraries.scipy_sparse import is_sparse
from motiflux.io.registry import read_graph


def as_graph(graph: Any, **options: Any) -> Graph:
    """Convert a supported object to a graph.

    Parameters
    ----------
    graph
        A `Graph`, which is returned as it is; a path (`read_graph`); a graph of networkx
        (`Graph.from_networkx`) or igraph (`Graph.from_igraph`); a sparse matrix of scipy
        (`Graph.from_scipy`); a Data or HeteroData of PyTorch Geometric (`Graph.from_pyg`); a table
        (`Graph.from_table`); a dict of the neighbours of each vertex (`Graph.from_adjacency`); an array or a
        list of edges (`Graph.from_edges`). A dict of columns is a table if two of its names mean the ends of
        edges, as ``from`` and ``to`` do.
    options
        Options of the function in parentheses.

    Raises
    ------
    ArgumentError
        The object is not supported, a dict might be a table or hold neighbours, or the function has no such
        option.
    MotifluxError
        Errors of that function.

    Examples
    --------
    >>> import motiflux as mf
    >>> mf.as_graph([("ann", "bob"), ("bob", "cy")], directed=True)
    Graph(3 vertices, 2 edges, directed)
    >>> mf.as_graph({"from": [1, 2], "to": [2, 3]})
    Graph(3 vertices, 2 edges, undirected)
    >>> mf.as_graph({"ann": ["bob", "cy"], "bob": ["cy"]})
    Graph(3 vertices, 3 edges, undirected)
    """
    maker = _maker(graph, options)
    try:
        made: Graph = maker(graph, **options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise ArgumentError("options", f"those of {maker.__qualname__}", sorted(options)) from error
    return made


def _maker(graph: Any, options: Iterable[str]) -> Any:
    if isinstance(graph, Graph):
        return _as_it_is
    if isinstance(graph, (str, os.PathLike)):
        return read_graph
    if isinstance(graph, Mapping) and not graph:
        expected = "a dict that has columns or neighbours (Graph.from_adjacency takes an empty one)"
        raise ArgumentError("graph", expected, graph)
    structured = getattr(getattr(graph, "dtype", None), "names", None) is not None
    makers = (
        (is_sparse, Graph.from_scipy),
        (is_networkx, Graph.from_networkx),
        (is_igraph, Graph.from_igraph),
        (is_pyg, Graph.from_pyg),
        (lambda one: isinstance(one, Mapping) and is_adjacency(one, options), Graph.from_adjacency),
        (lambda one: is_arrow(one) or isinstance(one, Mapping) or structured, Graph.from_table),
        (lambda one: is_array(one) or isinstance(one, (list, tuple)), Graph.from_edges),
    )
    for fits, maker in makers:
        if fits(graph):
            return maker
    expected = "a graph, a path, a table, an array of edges, or a graph of networkx, igraph, scipy or PyG"
    if hasattr(graph, "snapshot"):
        expected += " (Monitor.count counts in a monitor, Monitor.snapshot returns its graph)"
    raise ArgumentError("graph", expected, type(graph).__name__)


def _as_it_is(graph: Graph) -> Graph:
    return graph
