"""The data graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux import _native
from motiflux.arguments import resolve_threads
from motiflux.graph.adjacency import Adjacency, AdjacencyKey, Direction, VertexFilter
from motiflux.graph.assemble import SelfLoops
from motiflux.graph.csr import Csr
from motiflux.graph.exporters import Exporters
from motiflux.graph.importers import Importers
from motiflux.graph.narrow import allowed_vertices, narrow
from motiflux.graph.numbering import split_edges
from motiflux.graph.shape import ShapeStats, describe
from motiflux.graph.stats import GraphStats, LabelFrequencies, summarize
from motiflux.interop import GraphColumns
from motiflux.types import OffsetArray
from motiflux.units import quantity


@dataclass(frozen=True, eq=False, repr=False)
class Graph(Importers, Exporters):
    """A data graph: immutable, safe to share between threads.

    Vertices have internal ids ``0..n-1`` in order of ascending degree, so that an order restriction between
    two matched vertices is a degree-ordered orientation at the same time. Public results use external ids.
    Make a graph with `Graph.from_edges` or `motiflux.read_graph`.

    Parameters
    ----------
    directed
        Whether arcs have a direction.
    vertex_ids
        External id of each vertex in internal order, int64 or string [n].
    forward, reverse
        Arcs by source and by target; the same object for an undirected graph.
    vertex_labels
        Label code of each vertex in internal order, or None where all have one label.
    vertex_label_table, edge_label_table
        The labels behind the codes.
    self_loops_dropped, duplicate_edges
        Number of dropped self-loops, and of copies beyond the first of each edge.
    vertex_attributes
        Columns by name, in internal order.
    edge_attributes
        Columns by name with a value for every copy of an edge: the edges in the order of `to_edges`, the
        copies of each in the order they were given.
    end_columns
        The columns of a table that the ends of edges were taken from, if it was made from one.
    sketched
        None; or this graph has some of the edges of a larger one, for which plans are made on it.
    memo
        Cache of data that planning and engines derived from the graph.
    """

    _adjacency: dict[AdjacencyKey, Adjacency] = field(default_factory=dict, init=False)

    @classmethod
    def from_edges(
        cls,
        edges: ArrayLike | tuple[ArrayLike, ArrayLike],
        *,
        directed: bool = False,
        num_vertices: int | None = None,
        vertex_ids: ArrayLike | None = None,
        vertex_labels: ArrayLike | None = None,
        edge_labels: ArrayLike | None = None,
        vertex_attributes: Mapping[str, object] | None = None,
        edge_attributes: Mapping[str, object] | None = None,
        self_loops: SelfLoops = "warn",
        threads: int | None = None,
    ) -> Self:
        """Build a graph from an edge list.

        Parameters
        ----------
        edges
            Array [m, 2], or a tuple of two arrays [m] (sources, targets), of ids: integers or strings. Arrays
            of other libraries come through DLPack or ``__cuda_array_interface__``. An array [2, m] is taken
            as sources and targets, where it cannot be [m, 2].
        directed
            Whether ``(u, v)`` goes from u to v only.
        num_vertices
            The ids are ``0..num_vertices-1``, whether they occur in an edge or not.
        vertex_ids
            The ids of all vertices, [n], each once. Without this and `num_vertices`, the vertices are the
            ends of edges (or ``0..k-1`` for k vertex labels or values of a vertex attribute).
        vertex_labels
            Label of each vertex, [n], integers or strings, in the order of `vertex_ids` or of the ids
            ``0..n-1``. Without it every vertex has the label 0.
        edge_labels
            Label of each edge, [m]. Without it every edge has the label 0.
        vertex_attributes, edge_attributes
            Columns by name: values of each vertex, [n], in the order of `vertex_labels`, and of each edge,
            [m]. A column holds integers, floats, booleans, strings or datetimes: a NumPy array, masked where
            values are missing; a list, with None for them; or an Arrow array with nulls (pyarrow, polars,
            pandas: this takes the package pyarrow). NaN and NaT are missing values.
        self_loops
            ``"warn"`` leaves self-loops out, with a `MotifluxWarning` that counts them; ``"drop"`` leaves
            them out without a warning; ``"error"`` raises an error that names the first.
        threads
            Threads to build with; default: as many as this process may use.

        Returns
        -------
        Graph
            Equal edges (same source, target and label; reversed too if undirected) are one edge with a
            multiplicity. Each copy keeps its attributes.

        Raises
        ------
        GraphError
            The arrays do not describe a graph: shapes, types, ids out of range, repeated or unknown ids.

        Examples
        --------
        >>> import motiflux as mf
        >>> g = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
        >>> g
        Graph(3 vertices, 3 edges, undirected)
        >>> g = mf.Graph.from_edges(
        ...     [("ann", "bob"), ("bob", "cy")], directed=True, edge_attributes={"amount": [250.0, None]}
        ... )
        >>> g.edge_attributes["amount"]
        Column(2 floats, 1 missing)
        """
        sources, targets = split_edges(edges)
        columns = GraphColumns(
            sources,
            targets,
            vertex_ids=vertex_ids,
            num_vertices=num_vertices,
            vertex_labels=vertex_labels,
            edge_labels=edge_labels,
            vertex_attributes={} if vertex_attributes is None else vertex_attributes,
            edge_attributes={} if edge_attributes is None else edge_attributes,
            directed=directed,
        )
        return cls.from_columns(columns, self_loops=self_loops, threads=threads)

    def stats(self) -> GraphStats:
        """Return the sizes of the graph."""
        return summarize(self)

    def shape_stats(self) -> ShapeStats:
        """Return statistics of degrees, wedges and closed wedges; computed once."""
        return self.memo.keep("shape", lambda: describe(self, resolve_threads(None)))

    def keep_stats(self, shape: ShapeStats, frequencies: LabelFrequencies | None) -> None:
        """Store statistics from a file, so that they are not computed again."""
        self.memo.keep("shape", lambda: shape)
        if frequencies is not None:
            self.memo.keep("label frequencies", lambda: frequencies)

    def forget(self) -> None:
        """Drop cached data of earlier queries: plans, label frequencies, narrowed rows, copies on devices."""
        self.memo.clear()
        self._adjacency.clear()

    def label_frequencies(self, deadline: float | None = None) -> LabelFrequencies:
        """Return the label frequencies, computed once.

        Raises
        ------
        TimeoutError
            `deadline`, a moment of `time.perf_counter`, passed meanwhile.
        """
        return self.memo.keep("label frequencies", lambda: self._count_labels(deadline))

    def _count_labels(self, deadline: float | None) -> LabelFrequencies:
        return LabelFrequencies.count(
            self.forward,
            self.vertex_labels,
            len(self.vertex_label_table),
            len(self.edge_label_table),
            deadline,
        )

    def adjacency(self, key: AdjacencyKey, threads: int = 1) -> Adjacency:
        """Return the rows narrowed to the arcs `key` names; kept for later calls within a bound on memory."""
        found = self._adjacency.get(key)
        if found is None:
            found = narrow(key, self, threads)
            self._keep_adjacency(key, found)
        return found

    def narrowed(self, key: AdjacencyKey) -> Adjacency | None:
        """Return the rows that `adjacency` has kept for a key; None if it has none."""
        return self._adjacency.get(key)

    def keep_narrowed(self, key: AdjacencyKey, rows: Adjacency) -> None:
        """Keep rows that `adjacency` returned for a key in another process, for the same graph."""
        if key not in self._adjacency:
            self._keep_adjacency(key, rows)

    def forget_narrowed(self, key: AdjacencyKey) -> None:
        """Drop the rows kept for a key; what still uses them keeps them."""
        self._adjacency.pop(key, None)

    def allowed_vertices(
        self, labels: tuple[int, ...] | None, where: VertexFilter | None
    ) -> NDArray[np.uint8] | None:
        """Return a byte for each vertex, 1 if it has one of some labels and satisfies a filter; None: all do.

        Kept for later calls within a bound on memory.
        """
        if labels is None and where is None:
            return None

        def make() -> NDArray[np.uint8]:
            found = allowed_vertices(self, labels, where)
            assert found is not None
            found.flags.writeable = False
            return found

        return self.memo.get_sized("allowed vertices", (labels, where), make, self.cache_bytes())

    def offsets_above(self, key: AdjacencyKey, threads: int = 1) -> OffsetArray:
        """Return the offsets of the rows that `key` names without neighbours less than the row's vertex.

        Kept as the rows are. Reads few entries of each row, as rows ascend.
        """
        rows = self.adjacency(key, threads)

        def make() -> OffsetArray:
            above = _native.offsets_above(*rows, threads)
            above.flags.writeable = False
            return above

        return self.memo.get_sized("offsets above", key, make, self.cache_bytes())

    def longest_row(self, direction: Direction, threads: int = 1) -> int:
        """Return the most arcs of a vertex in a direction; ``EITHER``: the sum of both directions' maxima.

        In an undirected graph, directions are the same.
        """
        sides = [self.reverse if direction is Direction.IN else self.forward]
        if self.directed and direction is Direction.EITHER:
            sides = [self.forward, self.reverse]
        return sum(self._longest_of(side, threads) for side in sides)

    def _longest_of(self, rows: Csr, threads: int) -> int:
        key = ("longest row", rows is self.forward)
        return self.memo.keep(key, lambda: _native.longest_row(rows.offsets, threads))

    def _keep_adjacency(self, key: AdjacencyKey, rows: Adjacency) -> None:
        # Single dict operations only: atomic, so that threads share this without a lock a fork could inherit.
        if rows[1] is self.forward.neighbors or rows[1] is self.reverse.neighbors:
            return
        room = self.cache_bytes() - _bytes(rows)
        for old_key, old_rows in reversed(list(self._adjacency.items())):
            room -= _bytes(old_rows)
            if room < 0:
                self._adjacency.pop(old_key, None)
        self._adjacency[key] = rows

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        object.__setattr__(self, "_adjacency", {})

    def _repr_html_(self) -> str:
        from motiflux.graph.page import graph_page

        return graph_page(self, self.stats())

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        ends = self.end_columns
        taken = f", edges taken from columns {ends}" if ends is not None and ends.guessed else ""
        vertices, edges = quantity(self.num_vertices, "vertex"), quantity(self.num_edges, "edge")
        return f"Graph({vertices}, {edges}, {kind}{taken})"


def _bytes(rows: Adjacency) -> int:
    return rows[0].nbytes + rows[1].nbytes
