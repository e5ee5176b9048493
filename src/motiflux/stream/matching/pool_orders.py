"""Whether orders of plans are preferred in which an engine can pool partial matches."""

from __future__ import annotations

from functools import partial

import numpy as np

from motiflux import _native
from motiflux.graph import Graph

_LONG_ROW = 25.0
"""Least entries of the row of a label that an entry is in, on average, from which partial matches are pooled:
three such levels have as many as pools ask for."""
_GROWTH = 2
"""Growth of the edges since the last decision from which on it is taken again."""
_LEAST_EDGES = 1 << 12
"""Graphs with fewer edges have no such rows."""


class PoolOrders:
    """The decision for the graph of a monitor, taken again when the graph has grown.

    An engine pools partial matches where rows of one label are long (`motiflux.gpu.changing.searches.pools`);
    other orders suit other searches better. Answers do not depend on it.

    Parameters
    ----------
    base
        The graph at the start.
    switch
        That of pooling; ``on``: such orders are always preferred.
    """

    def __init__(self, base: Graph, switch: str) -> None:
        self._base, self._always = base, switch == "on"
        self._row: float | None = None
        self._edges = base.num_edges

    @property
    def are_preferred(self) -> bool:
        """Whether such orders are preferred, as it was decided last."""
        if self._always:
            return True
        if self._row is None:
            self._row = self._base.memo.get("row of a label", partial(_row_of_a_label, self._base))
        return self._row >= _LONG_ROW

    def look(self, native: _native.Monitor, labels: int) -> bool:
        """Decide again if the graph has grown; return whether the decision is another one.

        It takes time for each vertex once the edges have doubled, else none.

        Parameters
        ----------
        labels
            The number of vertex labels.
        """
        if self._always or native.written_edges < max(_LEAST_EDGES, _GROWTH * self._edges):
            return False
        before = self.are_preferred
        self._edges, self._row = native.written_edges, native.typical_row / max(1, labels)
        return self.are_preferred != before


def _row_of_a_label(graph: Graph) -> float:
    """Return the length of the row that an entry is in, on average, over the number of vertex labels."""
    degrees = np.diff(graph.forward.offsets).astype(np.float64)
    labels = 1 if graph.vertex_labels is None else 1 + int(graph.vertex_labels.max(initial=0))
    return float(np.dot(degrees, degrees)) / max(1.0, float(degrees.sum())) / labels
