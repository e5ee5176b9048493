"""Optional edges that are not there: which rows have none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.api.per_vertex import count_per_vertex
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.pattern.queries.shapes import Absent
from motiflux.request.request import Request
from motiflux.result.witnesses import Witnesses
from motiflux.types import VERTEX_DTYPE, Semantics, VertexArray


class AbsentEdge:
    """Tells which rows of a shape have no optional edge.

    An edge to a new vertex is missing if all vertices that it could lead to are images of the row already:
    their number is compared with the number of such images.

    Parameters
    ----------
    graph, absent, request
        The graph, the edge, and the options of the call.
    """

    def __init__(self, graph: Graph, absent: Absent, request: Request) -> None:
        self._absent = absent
        self._witnesses = Witnesses(graph, absent.edge, request.threads)
        self._negated: Witnesses | None = None
        if pairs := absent.edge.negated_pairs:
            edges = tuple(one.as_edge() for one in pairs)
            self._negated = Witnesses(graph, Pattern(absent.edge.vertices, edges), request.threads)
        self._may_coincide = request.semantics is Semantics.HOMOMORPHISM
        ends = list(absent.ends)
        self._partners: NDArray[np.int64] | None = None
        self._fits: NDArray[np.bool_] | None = None
        self._ends: NDArray[np.bool_] | None = None
        if None in ends or absent.edge.negated:
            counts = count_per_vertex(
                graph, absent.edge, threads=request.threads, device="cpu", tuning=dict(request.tuning)
            )
            self._ends = counts.counts > 0
        if None in ends:
            new = ends.index(None)
            self._partners = counts.counts[:, 1 - new].astype(np.int64)
            self._fits = counts.counts[:, new] > 0

    def holds(self, vertices: VertexArray) -> NDArray[np.bool_]:
        """Return where there is no such edge: bool [rows], of the vertices of the shape [rows, vertices]."""
        known = [at for at in self._absent.ends if at is not None]
        if self._partners is None or self._fits is None:
            return ~self._joined(vertices[:, known[0]], vertices[:, known[1]])
        (place,) = known
        start = vertices[:, place]
        left: NDArray[np.int64] = self._partners[start].copy()
        if self._may_coincide:
            return np.asarray(left == 0)
        rows = np.flatnonzero((left > 0) & (left < len(self._absent.before)))
        seen: list[VertexArray] = []
        for at in self._absent.before:
            if at == place:
                continue
            other = vertices[rows, at]
            fits = self._fits[other] & (other != start[rows])
            for earlier in seen:
                fits &= other != earlier
            seen.append(other)
            chosen = np.flatnonzero(fits)
            left[rows[chosen]] -= self._joined(start[rows[chosen]], other[chosen], from_known=True)
        return np.asarray(left == 0)

    def _joined(
        self, first: VertexArray, second: VertexArray, *, from_known: bool = False
    ) -> NDArray[np.bool_]:
        """Return where the edge is between two vertices: its ends, or the known end and the other one."""
        if from_known and self._absent.ends[0] is None:
            first, second = second, first
        pairs = np.ascontiguousarray(np.stack([first, second], axis=1), VERTEX_DTYPE)
        joined = np.asarray(self._witnesses.found(pairs)[0] >= 0)
        if self._negated is not None:
            joined &= (self._negated.found(pairs) < 0).all(axis=0)
        if self._ends is not None:  # of vertices that must not have an edge at all
            joined &= self._ends[first, 0] & self._ends[second, 1]
        return joined
