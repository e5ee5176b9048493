"""The results of counts per vertex and per edge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.arguments import check_integer
from motiflux.errors import ArgumentError
from motiflux.graph import Column, Graph
from motiflux.interop.strings import StringTable
from motiflux.pattern import Pattern
from motiflux.result.arc_counts import edge_ends
from motiflux.result.columns import edge_label_column
from motiflux.result.tabled import Tabled, integer_column
from motiflux.types import IdArray, VertexId
from motiflux.units import quantity, seconds_text

if TYPE_CHECKING:
    from motiflux.device.arrays import DeviceArray


class Top(list[tuple[Any, int]]):
    """The greatest counts: a list of pairs of a vertex id (or the two ids of an edge) and a count.

    Attributes
    ----------
    complete : bool
        False if a timeout cut the counts short: they are then lower bounds, and others may be greater.
    """

    def __init__(self, pairs: Iterable[tuple[Any, int]] = (), *, complete: bool = True) -> None:
        super().__init__(pairs)
        self.complete = complete


@dataclass(frozen=True, eq=False, repr=False)
class ImageCounts(Tabled):
    """Counts at each vertex or edge of a graph.

    ``numpy.asarray(result)`` is `counts`.

    Parameters
    ----------
    graph, pattern
        Those of the call; orbits have no pattern.
    columns
        The names of the query vertices, query edges or orbits that were counted.
    counts
        The counts: int64, or Python integers (dtype object) if one of them passes 2^63 - 1. A row for each
        vertex or edge of the graph; with a second axis for `columns` unless the call named a single one.
    complete
        False if a timeout cut the search short: the counts are then lower bounds.
    seconds, plan_seconds
        Wall-clock seconds of the search, and of planning.
    engine, device, reason
        The engine and device that counted, and why and how, in words.
    """

    graph: Graph
    pattern: Pattern | None
    columns: tuple[str, ...]
    counts: NDArray[Any]
    complete: bool
    seconds: float
    plan_seconds: float
    engine: str
    device: str
    reason: str

    def __len__(self) -> int:
        return len(self.counts)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.counts, dtype=dtype, copy=copy)

    def column(self, name: str | None = None) -> NDArray[Any]:
        """Return the counts of one query vertex or edge: [rows]; by default of the only one."""
        if name is None and len(self.columns) > 1:
            raise ArgumentError("column", f"one of {', '.join(self.columns)}", name)
        if name is not None and name not in self.columns:
            raise ArgumentError("column", f"one of {', '.join(self.columns)}", name)
        counts: NDArray[Any] = self.counts
        return counts if counts.ndim == 1 else counts[:, self.columns.index(name or self.columns[0])]

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata of files: the pattern as text, if there is one."""
        return {} if self.pattern is None else {"motiflux.pattern": str(self.pattern)}

    def _columns(self) -> Mapping[str, Column]:
        return self._table

    def to_device(self, device: str | None = None) -> DeviceArray:
        """Return the counts in memory of a GPU: int64, of the shape of `counts`.

        Use them with ``cupy.asarray(found.to_device())`` or ``torch.from_dlpack(found.to_device())``.

        Parameters
        ----------
        device
            ``"cuda"`` or ``"cuda:1"``; None: the device that counted, or ``"cuda"`` if the CPU did.

        Raises
        ------
        ArgumentError
            A count passes 2^63 - 1: `counts` are Python integers.
        DeviceError
            The device does not exist.
        DeviceMemoryError
            The counts do not fit there.
        """
        from motiflux.device import open_device
        from motiflux.device.arrays import DeviceArray

        if self.counts.dtype == object:
            raise ArgumentError("counts", "counts of 64 bits", "one beyond 2^63 - 1")
        there = open_device(device or ("cuda" if self.device == "cpu" else self.device))
        there.use()
        stream = there.stream()
        counts = np.ascontiguousarray(self.counts)
        array = DeviceArray.from_numpy(there, counts, stream, "counts by images")
        stream.wait()
        stream.close()
        return DeviceArray(there, array.buffer, array.dtype, array.shape)

    @cached_property
    def _table(self) -> Mapping[str, Column]:
        named = self._ids()
        for name in self.columns:
            title = "count" if self.counts.ndim == 1 else name
            while title in named:
                title = f"count of {title}"
            named[title] = integer_column(self.column(name))
        return named

    def _ids(self) -> dict[str, Column]:
        raise NotImplementedError

    def _greatest(self, k: int, column: str | None) -> NDArray[np.int64]:
        """Return the positions of the greatest counts above 0: at least `k`, if there are as many."""
        check_integer("k", k, 1)
        counts = self.column(column)
        least = np.partition(counts, len(counts) - k)[len(counts) - k] if k < len(counts) else 0
        return np.flatnonzero(counts >= max(least, 1))

    def _top(self, at: Sequence[Any], chosen: NDArray[np.int64], k: int, column: str | None) -> Top:
        pairs = zip(at, map(int, self.column(column)[chosen]), strict=True)
        return Top(sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k], complete=self.complete)

    def _said(self, what: str) -> str:
        columns = "" if self.counts.ndim == 1 else f" by {', '.join(self.columns)}"
        cut = "" if self.complete else ", incomplete"
        return f"{quantity(len(self), what)}{columns}{cut}, {seconds_text(self.seconds)}"


class VertexCounts(ImageCounts):
    """Counts at each vertex of a graph, in the order of `ids`.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges([("ann", "bob"), ("bob", "cy"), ("cy", "ann"), ("cy", "eve")])
    >>> found = mf.count_per_vertex(g, "(a)--(b)--(c)", by="b")
    >>> found["cy"], found["eve"], int(found.counts.sum())
    (6, 0, 10)
    >>> found.top(2)
    [('cy', 6), ('ann', 2)]
    >>> found.to_arrow().to_pylist()[-1]
    {'id': 'cy', 'count': 6}
    """

    @property
    def ids(self) -> IdArray:
        """The ids of the vertices: those of ``graph.vertex_ids``, in this order."""
        return self.graph.vertex_ids

    def __getitem__(self, vertex: VertexId) -> Any:
        """Return the count at a vertex, by its id; several columns: a tuple."""
        at = int(self.graph.vertex_index([vertex])[0])
        if at < 0:
            raise KeyError(vertex)
        return int(self.counts[at]) if self.counts.ndim == 1 else tuple(map(int, self.counts[at]))

    def top(self, k: int = 20, column: str | None = None) -> Top:
        """Return the `k` vertices with the greatest counts above 0; equal counts by ascending ids."""
        chosen = self._greatest(k, column)
        return self._top(self.ids[chosen].tolist(), chosen, k, column)

    def _ids(self) -> dict[str, Column]:
        return {"id": id_column(self.graph, None)}

    def __repr__(self) -> str:
        return f"VertexCounts({self._said('vertex')})"


class OrbitCounts(VertexCounts):
    """Graphlet degree vectors: counts at each vertex, in the order of `ids`, a column for each orbit.

    Examples
    --------
    >>> import motiflux as mf
    >>> found = mf.orbits(mf.Graph.from_edges([("ann", "bob"), ("bob", "cy"), ("cy", "ann"), ("cy", "eve")]))
    >>> len(found), len(found.columns)
    (4, 15)
    >>> found.top(1, "o11")
    [('cy', 1)]
    """

    def __repr__(self) -> str:
        cut = "" if self.complete else ", incomplete"
        size = f"{quantity(len(self), 'vertex')} by {quantity(len(self.columns), 'orbit')}"
        return f"OrbitCounts({size}{cut}, {seconds_text(self.seconds)})"


class EdgeCounts(ImageCounts):
    """Counts at each edge of a graph, in the order of ``graph.to_edges()``.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges([("ann", "bob"), ("bob", "cy"), ("cy", "ann"), ("cy", "eve")])
    >>> found = mf.count_per_edge(g, "(a)-[x]-(b)--(c)--(a)", by="x", symmetry="subgraphs")
    >>> sorted(zip(found.sources.tolist(), found.targets.tolist(), found.counts.tolist()))
    [('ann', 'bob', 1), ('ann', 'cy', 1), ('bob', 'cy', 1), ('eve', 'cy', 0)]
    """

    @property
    def sources(self) -> IdArray:
        """The ids of the sources of the edges."""
        return self.graph.vertex_ids[self._ends[0]]

    @property
    def targets(self) -> IdArray:
        """The ids of their targets."""
        return self.graph.vertex_ids[self._ends[1]]

    def top(self, k: int = 20, column: str | None = None) -> Top:
        """Return the `k` edges with the greatest counts above 0: pairs of their two ends and the count.

        Edges of equal counts are in the order of their ends. Parallel edges are listed one by one.
        """
        chosen = self._greatest(k, column)
        ids, (sources, targets) = self.graph.vertex_ids, self._ends
        ends = zip(ids[sources[chosen]].tolist(), ids[targets[chosen]].tolist(), strict=True)
        return self._top(list(ends), chosen, k, column)

    @cached_property
    def _ends(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        return edge_ends(self.graph)

    def _ids(self) -> dict[str, Column]:
        found = {
            name: id_column(self.graph, ends) for name, ends in zip(("src", "dst"), self._ends, strict=True)
        }
        if self.graph.forward.labels is not None:
            found["label"] = edge_label_column(self.graph)
        return found

    def __repr__(self) -> str:
        return f"EdgeCounts({self._said('edge')})"


class EdgeOrbitCounts(EdgeCounts):
    """Orbits of edges: counts at each edge, in the order of ``graph.to_edges()``, a column for each orbit.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges([("ann", "bob"), ("bob", "cy"), ("cy", "ann"), ("cy", "eve")])
    >>> found = mf.edge_orbits(g)
    >>> len(found), len(found.columns)
    (4, 12)
    >>> found.top(1, "e6")
    [(('eve', 'cy'), 1)]
    """

    def __repr__(self) -> str:
        cut = "" if self.complete else ", incomplete"
        size = f"{quantity(len(self), 'edge')} by {quantity(len(self.columns), 'orbit')}"
        return f"EdgeOrbitCounts({size}{cut}, {seconds_text(self.seconds)})"


def id_column(graph: Graph, vertices: NDArray[np.uint32] | None) -> Column:
    """Return a column of the ids of vertices, by their internal ids; None: all."""
    ids = graph.vertex_ids
    if ids.dtype.kind != "U":
        return Column(ids if vertices is None else ids[vertices])
    strings = graph.memo.keep("id strings", lambda: StringTable.of(ids.tolist()))
    every = np.arange(len(ids), dtype=np.uint32) if vertices is None else vertices
    return Column(every, None, strings)
