"""The arrays of a data graph, and methods that read them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux.arguments import resolve_threads
from motiflux.conditions import Condition, Degree
from motiflux.graph.adjacency import Direction
from motiflux.graph.assemble import SelfLoops, assemble, told_of_self_loops
from motiflux.graph.attributes.table import AttributeTable
from motiflux.graph.csr import Csr
from motiflux.graph.edge_rows import edges_by_target, edges_of_arcs, edges_with_any, row_starts
from motiflux.graph.labels import LabelTable
from motiflux.graph.memo import Memo
from motiflux.graph.numbering import find_ids
from motiflux.interop import EndColumns, GraphColumns
from motiflux.notes import note
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


class Shares(NamedTuple):
    """The parts of a graph's edges and vertices that a sketch of it has, above 0 and at most 1."""

    edges: float
    vertices: float


@dataclass(frozen=True, eq=False, repr=False)
class GraphArrays:
    """The fields of `Graph`, which describes them, and the methods that need nothing else."""

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
    end_columns: EndColumns | None = None
    sketched: Shares | None = None
    memo: Memo = field(default_factory=Memo, init=False)

    def __post_init__(self) -> None:
        labels = () if self.vertex_labels is None else (self.vertex_labels,)
        attributes = (*self.vertex_attributes.arrays(), *self.edge_attributes.arrays())
        for array in (self.vertex_ids, *labels, *attributes):
            array.flags.writeable = False
        self.forward.freeze()
        self.reverse.freeze()

    @classmethod
    def from_columns(
        cls, columns: GraphColumns, *, self_loops: SelfLoops = "warn", threads: int | None = None
    ) -> Self:
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
        made = cls(**assemble(columns, self_loops, resolve_threads(threads))._asdict())
        loops = told_of_self_loops(made.self_loops_dropped) if self_loops == "warn" else ()
        for sentence in (*columns.notes, *loops):
            note(f"{columns.name}: {sentence}")
        return made

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
        return self._nbytes

    @cached_property
    def _nbytes(self) -> int:  # each call asks for it, and adding up all arrays takes 10 us
        labels = 0 if self.vertex_labels is None else self.vertex_labels.nbytes
        rows = self.forward.nbytes + (self.reverse.nbytes if self.directed else 0)
        attributes = self.vertex_attributes.nbytes + self.edge_attributes.nbytes
        return rows + labels + self.vertex_ids.nbytes + attributes

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
        """Return which vertices satisfy a condition: uint8 [n], 1 if they do, in internal order.

        Raises
        ------
        PatternError
            The vertices have no such attribute, or its values cannot be compared with the condition's.
        """
        self.vertex_attributes.check(condition)  # first: the key of True = 1 is that of 1 = 1

        def make() -> NDArray[np.uint8]:
            return _frozen(self.vertex_attributes.holds(condition, self.num_vertices, self._degrees))

        return self.memo.get_sized("masks", ("vertex", condition), make, self.cache_bytes())

    def _degrees(self, condition: Degree) -> NDArray[np.int64]:
        """Return the number of edges at each vertex that a condition on degrees counts: int64 [n]."""
        table = self.edge_label_table
        codes = None if condition.labels is None else table.codes(condition.labels)
        out, into = (condition.direction in (None, way) for way in ("out", "in"))
        total = np.zeros(self.num_vertices, np.int64)
        sides = [self.forward] if out or not self.directed else []
        if into and self.directed:
            sides.append(self.reverse)
        for rows in sides:
            offsets = rows.offsets.astype(np.int64)
            if codes is None or (rows.labels is None and codes):
                total += np.diff(offsets)
            elif rows.labels is not None:
                counted = np.isin(rows.labels, np.array(codes, np.uint32))
                sums = np.concatenate([[0], np.cumsum(counted, dtype=np.int64)])
                total += sums[offsets[1:]] - sums[offsets[:-1]]
        return total

    def arc_mask(self, condition: Condition, direction: Literal["out", "in"] = "out") -> NDArray[np.uint8]:
        """Return which arcs have a copy that satisfies a condition: uint8 [arcs], 1 if an arc has one.

        The arcs are in the order of `forward` (``"out"``) or of `reverse` (``"in"``).

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

        return self.memo.get_sized("masks", ("arc", condition, into), make, self.cache_bytes())

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

    def cache_bytes(self) -> int:
        """Return how many bytes of narrowed rows, or of masks, are kept for later queries."""
        return max(_KEPT_BYTES, _KEPT_RATIO * self.nbytes)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "memo", Memo())
        self.__post_init__()


def _frozen(mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
    mask.flags.writeable = False
    return mask.view(np.uint8)
