"""The data graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux.arguments import resolve_threads
from motiflux.conditions import Condition
from motiflux.graph.adjacency import Adjacency, AdjacencyKey, Direction, narrow
from motiflux.graph.assemble import SelfLoops, assemble
from motiflux.graph.attributes import AttributeTable
from motiflux.graph.csr import Csr
from motiflux.graph.edge_rows import edges_by_target, edges_of_arcs, edges_with_any, row_starts
from motiflux.graph.exporters import Exporters
from motiflux.graph.importers import Importers
from motiflux.graph.labels import LabelTable
from motiflux.graph.memo import Memo
from motiflux.graph.numbering import find_ids, split_edges
from motiflux.graph.shape import ShapeStats, describe
from motiflux.graph.stats import GraphStats, LabelFrequencies, summarize
from motiflux.interop import GraphColumns
from motiflux.types import (
    DEFAULT_LABEL,
    VERTEX_DTYPE,
    IdArray,
    Label,
    LabelArray,
    OffsetArray,
    VertexArray,
    VertexId,
)

# Narrowed adjacencies, and likewise masks, are kept for later queries up to this many bytes, or this many
# times the graph.
_KEPT_BYTES = 64 << 20
_KEPT_RATIO = 4


class EdgeList(NamedTuple):
    """Edges in external ids and labels, each distinct edge once.

    ``labels`` is None where all edges have the default label; ``multiplicity`` is int64 [m].
    """

    src: IdArray
    dst: IdArray
    labels: NDArray[Any] | None
    multiplicity: NDArray[np.int64]


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
    memo
        Cache of data that planning and engines derived from the graph.
    """

    directed: bool
    vertex_ids: IdArray
    forward: Csr
    reverse: Csr
    vertex_labels: LabelArray | None
    vertex_label_table: LabelTable
    edge_label_table: LabelTable
    self_loops_dropped: int = 0
    duplicate_edges: int = 0
    vertex_attributes: AttributeTable = field(default_factory=lambda: AttributeTable("vertex"))
    edge_attributes: AttributeTable = field(default_factory=lambda: AttributeTable("edge"))
    _adjacency: dict[AdjacencyKey, Adjacency] = field(default_factory=dict, init=False)
    memo: Memo = field(default_factory=Memo, init=False)

    def __post_init__(self) -> None:
        labels = () if self.vertex_labels is None else (self.vertex_labels,)
        attributes = (*self.vertex_attributes.arrays(), *self.edge_attributes.arrays())
        for array in (self.vertex_ids, *labels, *attributes):
            array.flags.writeable = False
        self.forward.freeze()
        self.reverse.freeze()

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
        self_loops: SelfLoops = "error",
        threads: int | None = None,
    ) -> Graph:
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
            The ids of all vertices, [n], each once. Without this and `num_vertices`, the vertices are those
            that occur in an edge (or ``0..k-1`` for k vertex labels or values of a vertex attribute).
        vertex_labels
            Label of each vertex, [n], integers or strings, in the order of `vertex_ids` or of the ids
            ``0..n-1``. Without it every vertex has the label 0.
        edge_labels
            Label of each edge, [m]. Without it every edge has the label 0.
        vertex_attributes, edge_attributes
            Columns by name: values of each vertex, [n], in the order of `vertex_labels`, and of each edge,
            [m]. A column holds integers, floats, booleans or strings: a NumPy array, masked where values are
            missing; a list, with None for them; or an Arrow array with nulls (pyarrow, polars, pandas: this
            takes the package pyarrow). NaN is a missing value.
        self_loops
            ``"error"`` raises an error for them, ``"drop"`` drops and counts them.
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

    @classmethod
    def from_columns(
        cls, columns: GraphColumns, *, self_loops: SelfLoops = "error", threads: int | None = None
    ) -> Graph:
        """Build a graph from columns, as returned by file readers and importers of other libraries.

        Parameters
        ----------
        columns
            The graph.
        self_loops, threads
            As for `from_edges`.

        Raises
        ------
        GraphError
            The columns do not describe a graph.

        Examples
        --------
        >>> import numpy as np
        >>> import motiflux as mf
        >>> from motiflux.interop import GraphColumns
        >>> ends = np.array([0, 1]), np.array([1, 2])
        >>> mf.Graph.from_columns(GraphColumns(*ends, vertex_ids=["ann", "bob", "cy"], positions=True))
        Graph(3 vertices, 2 edges, undirected)
        """
        return cls(**assemble(columns, self_loops, resolve_threads(threads))._asdict())

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self.forward.num_vertices

    @property
    def num_edges(self) -> int:
        """Number of distinct edges."""
        return self.forward.num_arcs // (1 if self.directed else 2)

    @property
    def num_edge_copies(self) -> int:
        """Number of edges counted with multiplicity, without self-loops."""
        return self.num_edges + self.duplicate_edges

    @property
    def nbytes(self) -> int:
        """Bytes held by the graph's arrays, attributes included."""
        labels = 0 if self.vertex_labels is None else self.vertex_labels.nbytes
        rows = self.forward.nbytes + (self.reverse.nbytes if self.directed else 0)
        attributes = self.vertex_attributes.nbytes + self.edge_attributes.nbytes
        return rows + labels + self.vertex_ids.nbytes + attributes

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

    def to_edges(self) -> EdgeList:
        """Return the distinct edges in external ids and labels; an undirected edge once."""
        sources, targets = self.forward.sources(), self.forward.neighbors
        kept = slice(None) if self.directed else sources < targets
        labels = None
        if self.forward.labels is not None:
            labels = np.array(self.edge_label_table.values)[self.forward.labels[kept]]
        elif self.edge_label_table.values != (DEFAULT_LABEL,):
            labels = np.full(self.num_edges, self.edge_label_table.values[0])
        copies = self.forward.copies
        return EdgeList(
            self.vertex_ids[sources[kept]],
            self.vertex_ids[targets[kept]],
            labels,
            np.ones(self.num_edges, dtype=np.int64) if copies is None else copies[kept].astype(np.int64),
        )

    def vertex_labels_by_id(self) -> dict[VertexId, Label]:
        """Return the label of each vertex by external id."""
        values = self.vertex_label_table.values
        codes = [0] * self.num_vertices if self.vertex_labels is None else self.vertex_labels.tolist()
        return {vertex: values[code] for vertex, code in zip(self.vertex_ids.tolist(), codes, strict=True)}

    def vertex_index(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Return the internal ids of external `ids`: int64 [k], -1 where the graph has no such vertex.

        Raises
        ------
        ArgumentError
            The ids are integers and the graph's are strings, or the other way round.
        GraphError
            They are neither.

        Examples
        --------
        >>> import motiflux as mf
        >>> g = mf.Graph.from_edges([("ann", "bob"), ("bob", "cy")])
        >>> g.vertex_index(["bob", "dan"])
        array([ 2, -1])
        """
        ascending = self.memo.keep("ascending ids", lambda: np.argsort(self.vertex_ids, kind="stable"))
        return find_ids(ids, self.vertex_ids, ascending)

    def vertex_mask(self, condition: Condition) -> NDArray[np.uint8]:
        """Return which vertices satisfy a condition: uint8 [n], in internal order, 1 for those that do.

        Raises
        ------
        PatternError
            The vertices have no such attribute, or its values cannot be compared with the condition's.
        """
        self.vertex_attributes.check(condition)  # first: the key of True = 1 is that of 1 = 1

        def make() -> NDArray[np.uint8]:
            return _frozen(self.vertex_attributes.holds(condition, self.num_vertices))

        return self.memo.get_sized("masks", ("vertex", condition), make, self._room())

    def arc_mask(self, condition: Condition, direction: Literal["out", "in"] = "out") -> NDArray[np.uint8]:
        """Return which arcs have a copy that satisfies a condition: uint8 [arcs], 1 for those that have.

        Arcs are those of `forward` (``"out"``) or of `reverse` (``"in"``), in their order.

        Raises
        ------
        PatternError
            The edges have no such attribute, or its values cannot be compared with the condition's.
        """
        self.edge_attributes.check(condition)
        into = Direction(direction) is Direction.IN and self.directed

        def make() -> NDArray[np.uint8]:
            rows = self.edge_attributes.holds(condition, self.num_edge_copies)
            starts = self.memo.keep("row starts", lambda: row_starts(self.forward, directed=self.directed))
            edges = edges_with_any(rows, starts)
            if into:
                edges = edges[self.memo.keep("edges by target", lambda: edges_by_target(self.forward))]
            elif not self.directed:
                edges = edges[self.memo.keep("edges of arcs", lambda: edges_of_arcs(self.forward))]
            return _frozen(edges)

        return self.memo.get_sized("masks", ("arc", condition, into), make, self._room())

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

    def label_groups(self) -> tuple[OffsetArray, VertexArray]:
        """Return offsets [labels + 1] and the vertices [n] grouped by label, ascending within each."""
        return self.memo.keep("label groups", self._group_labels)

    def _group_labels(self) -> tuple[OffsetArray, VertexArray]:
        labels = self.vertex_labels
        if labels is None:
            everything = np.arange(self.num_vertices, dtype=VERTEX_DTYPE)
            return np.array([0, self.num_vertices], dtype=np.uint64), everything
        counts = np.bincount(labels, minlength=len(self.vertex_label_table))
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
        return offsets, np.argsort(labels, kind="stable").astype(VERTEX_DTYPE)

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

    def _keep_adjacency(self, key: AdjacencyKey, rows: Adjacency) -> None:
        # Single dict operations only: atomic, so that threads share this without a lock a fork could inherit.
        if rows[1] is self.forward.neighbors or rows[1] is self.reverse.neighbors:
            return
        room = self._room() - _bytes(rows)
        for old_key, old_rows in reversed(list(self._adjacency.items())):
            room -= _bytes(old_rows)
            if room < 0:
                self._adjacency.pop(old_key, None)
        self._adjacency[key] = rows

    def _room(self) -> int:
        return max(_KEPT_BYTES, _KEPT_RATIO * self.nbytes)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "memo", Memo())
        object.__setattr__(self, "_adjacency", {})
        self.__post_init__()

    def _repr_html_(self) -> str:
        from motiflux.graph.page import graph_page

        return graph_page(self)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return f"Graph({self.num_vertices:,} vertices, {self.num_edges:,} edges, {kind})"


def _bytes(rows: Adjacency) -> int:
    return rows[0].nbytes + rows[1].nbytes


def _frozen(mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
    mask.flags.writeable = False
    return mask.view(np.uint8)
