"""The results of estimates per vertex."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.arguments import check_integer
from motiflux.graph import Column, Graph
from motiflux.pattern import Pattern
from motiflux.result.image_counts import id_column
from motiflux.result.tabled import Tabled
from motiflux.statistics.shares import certainly_among
from motiflux.types import IdArray, VertexId
from motiflux.units import quantity, seconds_text

Floats = NDArray[np.float64]


class EstimateAt(NamedTuple):
    """The estimate at one vertex.

    Attributes
    ----------
    id : int or str
        The vertex.
    value : float
        The estimate.
    low, high : float
        The ends of its interval.
    certain : bool
        Of a ranking: whether the vertex is among the greatest k wherever the intervals hold; else False.
    """

    id: Any
    value: float
    low: float
    high: float
    certain: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class VertexEstimates(Tabled):
    """Estimated counts at each vertex, in the order of `ids`, with intervals.

    Parameters
    ----------
    graph, pattern
        Those of the call.
    query_vertex
        The name of the query vertex.
    value, low, high
        Estimates and the ends of their intervals: float64 [vertices].
    confidence
        The confidence level.
    simultaneous
        Whether all intervals hold together with this confidence; else each of them does.
    samples, valid
        Samples drawn, and those that were embeddings.
    complete
        False if a timeout left fewer samples than asked for: the intervals are wider, and hold.
    seconds
        Wall-clock seconds of the call.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.generate.erdos_renyi(vertices=50, edges=300, seed=1)
    >>> found = mf.estimate_per_vertex(g, "(a)--(b)--(c)--(a)", by="a", samples=200_000, simultaneous=True)
    >>> exact = mf.count_per_vertex(g, "(a)--(b)--(c)--(a)", by="a").counts
    >>> bool(((found.low <= exact) & (exact <= found.high)).all())
    True
    """

    graph: Graph
    pattern: Pattern
    query_vertex: str
    value: Floats
    low: Floats
    high: Floats
    confidence: float
    simultaneous: bool
    samples: int
    valid: int
    complete: bool
    seconds: float

    @property
    def ids(self) -> IdArray:
        """The ids of the vertices: those of ``graph.vertex_ids``, in this order."""
        return self.graph.vertex_ids

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, vertex: VertexId) -> EstimateAt:
        """Return the estimate at a vertex, by its id."""
        at = int(self.graph.vertex_index([vertex])[0])
        if at < 0:
            raise KeyError(vertex)
        return EstimateAt(vertex, float(self.value[at]), float(self.low[at]), float(self.high[at]))

    def top(self, k: int = 20) -> EstimatedTop:
        """Return the `k` greatest estimates, and which of them are certainly among the greatest counts.

        That holds with `confidence` if the intervals are `simultaneous`; else nothing is certain.
        """
        k = check_integer("k", k, 1)
        certain = np.zeros(len(self), np.bool_)
        if self.simultaneous:
            certain = certainly_among(self.low, self.high, k)
        # What is certain comes first: by the lower end of its interval, nothing can be greater than it is.
        order = np.lexsort((-self.low, -self.value, ~certain))[:k]
        rows = [
            EstimateAt(identity, float(value), float(low), float(high), bool(sure))
            for identity, value, low, high, sure in zip(
                self.ids[order].tolist(),
                self.value[order],
                self.low[order],
                self.high[order],
                certain[order],
                strict=True,
            )
        ]
        rows.sort(key=lambda row: -row.value)
        return EstimatedTop(rows, confidence=self.confidence, samples=self.samples, complete=self.complete)

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata of files: the pattern as text."""
        return {"motiflux.pattern": str(self.pattern)}

    def _columns(self) -> Mapping[str, Column]:
        named = {"value": self.value, "low": self.low, "high": self.high}
        return {"id": id_column(self.graph, None), **{name: Column(column) for name, column in named.items()}}

    def __repr__(self) -> str:
        cut = "" if self.complete else ", incomplete"
        size, drawn = quantity(len(self), "vertex"), quantity(self.samples, "sample")
        return f"VertexEstimates({size}, {drawn}{cut}, {seconds_text(self.seconds)})"


class EstimatedTop(list[EstimateAt]):
    """The vertices with the greatest estimates, greatest first.

    Attributes
    ----------
    confidence : float
        The probability that all rows that say so are truly among the greatest.
    samples : int
        Samples drawn.
    complete : bool
        False if a timeout ended the sampling.
    """

    def __init__(self, rows: list[EstimateAt], *, confidence: float, samples: int, complete: bool) -> None:
        super().__init__(rows)
        self.confidence = confidence
        self.samples = samples
        self.complete = complete

    @property
    def certain(self) -> bool:
        """Whether all rows are certainly among the greatest."""
        return all(row.certain for row in self)
