"""The public call `null_graph`: a random graph that keeps something of a given one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.api.subject import GraphLike, data_graph
from motiflux.arguments import check_integer
from motiflux.cpu.null_models import labelled_wiring, mixing, shuffled_labels
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.request.deadline import Deadline
from motiflux.types import DEFAULT_LABEL, Label

MODELS = ("degrees", "labels")
MAX_SEED = 2**64 - 1
MAX_NULLS = 1_000_000


def null_graph(
    graph: GraphLike,
    model: str = "degrees",
    *,
    number: int = 0,
    reciprocal: bool = False,
    keep_labels: bool = False,
    swaps: float | None = None,
    seed: int = 0,
) -> Graph:
    """Return a random graph that keeps the degrees, or the edges, of a given one.

    Parameters
    ----------
    model
        ``"degrees"``: edges exchange their ends; each vertex keeps its label and its degree, in and out,
        among the edges of each label. ``"labels"``: vertices exchange their labels, edges stay.
    number
        Which random graph: different numbers give independent ones.
    reciprocal
        Directed graphs: pairs of opposite arcs stay pairs, and no others arise.
    keep_labels
        Keep the number of edges between vertices of each two labels.
    swaps
        Swaps proposed for each edge; default: by the mixing rule.
    seed
        Equal arguments give equal graphs.

    Returns
    -------
    Graph
        With the same ids and labels; without multiplicities and attributes.

    Raises
    ------
    ArgumentError
        An argument is invalid.
    KeyboardInterrupt
        Within 100 ms of Ctrl-C.

    Notes
    -----
    ``docs/design/census.md`` describes the mixing rule, and which graphs are equally likely.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.generate.erdos_renyi(vertices=50, edges=200, seed=1)
    >>> other = mf.null_graph(g, seed=7)
    >>> sorted(other.forward.degrees()) == sorted(g.forward.degrees()), other.num_edges
    (True, 200)
    """
    data = data_graph(graph)
    check_model(model)
    number = check_integer("number", number, 0, 2**63)
    seed = check_integer("seed", seed, 0, MAX_SEED)
    proposals = check_swaps(swaps)
    if model == "labels":
        return relabelled(data, seed, number)
    rewiring = Rewiring(data, reciprocal=reciprocal, keep_labels=keep_labels)
    if proposals is None:
        found = mixing(rewiring.wiring, seed, Deadline.after(None))
        assert found is not None
        proposals = found.proposals
    made = rewiring.graph(proposals, seed, number, Deadline.after(None))
    assert made is not None
    return made[0]


class Rewiring:
    """Random graphs of one graph, edge labels and all.

    Parameters
    ----------
    graph
        The given graph.
    reciprocal, keep_labels
        As for `null_graph`.
    """

    def __init__(self, graph: Graph, *, reciprocal: bool, keep_labels: bool) -> None:
        self._graph = graph
        self.wiring, self.labels = labelled_wiring(graph, reciprocal=reciprocal, keep_labels=keep_labels)

    def graph(self, proposals: float, seed: int, number: int, deadline: Deadline) -> tuple[Graph, int] | None:
        """Return a random graph and the number of swaps that made it; None if late."""
        found = _native.rewired(self.wiring, proposals, seed, number, deadline.left())
        if found is None:
            return None
        sources, targets, swaps = found
        ids = self._graph.vertex_ids
        labels = _values(self._graph.edge_label_table.values, self.labels, len(sources))
        made = Graph.from_edges(
            (ids[sources], ids[targets]),
            directed=self._graph.directed,
            vertex_ids=ids,
            vertex_labels=_vertex_labels(self._graph, self._graph.vertex_labels),
            edge_labels=labels,
        )
        return made, swaps


def relabelled(graph: Graph, seed: int, number: int) -> Graph:
    """Return the graph with its vertex labels in a random order."""
    rewiring = Rewiring(graph, reciprocal=False, keep_labels=False)
    _, _, _, sources, targets, _, _ = rewiring.wiring
    ids, labels = graph.vertex_ids, rewiring.labels
    return Graph.from_edges(
        (ids[sources], ids[targets]),
        directed=graph.directed,
        vertex_ids=ids,
        vertex_labels=_vertex_labels(graph, shuffled_labels(graph, seed, number)),
        edge_labels=_values(graph.edge_label_table.values, labels, len(sources)),
    )


def check_model(model: object) -> None:
    """Refuse what is no null model."""
    if model not in MODELS:
        raise ArgumentError("model", f"one of {', '.join(MODELS)}", model)


def check_swaps(swaps: object) -> float | None:
    """Return a number of swaps for each edge."""
    if swaps is None:
        return None
    number = isinstance(swaps, (int, float, np.integer, np.floating)) and not isinstance(swaps, bool)
    if not number or not 0 <= float(swaps) <= 1e6:  # type: ignore[arg-type]
        raise ArgumentError("swaps", "a number from 0 to 1,000,000, or None", swaps)
    return float(swaps)  # type: ignore[arg-type]


def _vertex_labels(graph: Graph, codes: NDArray[np.uint32] | None) -> list[Label] | None:
    return _values(graph.vertex_label_table.values, codes, graph.num_vertices)


def _values(values: Sequence[Label], codes: NDArray[np.uint32] | None, number: int) -> list[Label] | None:
    """Return labels by their codes; None: all are the default."""
    if codes is not None:
        return [values[code] for code in codes.tolist()]
    return None if not values or values[0] == DEFAULT_LABEL else [values[0]] * number
