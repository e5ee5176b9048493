"""The last step of every reader: arrays to a `Graph`, what is wrong with them said of the file."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motiflux.errors import FormatError, GraphError, MotifluxWarning
from motiflux.graph import Graph

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def build_graph(
    path: Path,
    edges: NDArray[np.integer[Any]] | tuple[NDArray[np.int64], NDArray[np.int64]],
    *,
    directed: bool,
    num_vertices: int | None = None,
    vertex_ids: NDArray[np.int64] | None = None,
    vertex_labels: NDArray[Any] | None = None,
    edge_labels: NDArray[Any] | None = None,
    vertex_attributes: Mapping[str, object] | None = None,
    edge_attributes: Mapping[str, object] | None = None,
    threads: int | None = None,
) -> Graph:
    """Build the graph a file describes; self-loops are left out, with a warning that counts them.

    Raises
    ------
    FormatError
        If the arrays do not describe a graph.
    """
    try:
        graph = Graph.from_edges(
            edges,
            directed=directed,
            num_vertices=num_vertices,
            vertex_ids=vertex_ids,
            vertex_labels=vertex_labels,
            edge_labels=edge_labels,
            vertex_attributes=vertex_attributes,
            edge_attributes=edge_attributes,
            self_loops="drop",
            threads=threads,
        )
    except GraphError as error:
        raise FormatError(path, str(error)) from error
    if graph.self_loops_dropped:
        count = graph.self_loops_dropped
        what = "self-loop was" if count == 1 else "self-loops were"
        warnings.warn(
            f"{path}: {count} {what} left out", MotifluxWarning, stacklevel=4
        )  # where read_graph was called
    return graph
