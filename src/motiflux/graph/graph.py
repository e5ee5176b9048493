"""The data graph."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux import _native
from motiflux.arguments import check_integer
from motiflux.errors import ArgumentError, GraphError
from motiflux.graph.adjacency import Adjacency, AdjacencyKey, narrow
from motiflux.graph.csr import Csr
from motiflux.graph.labels import LabelTable, as_column, as_names, dense_codes, encode_labels
from motiflux.graph.memo import Memo
from motiflux.graph.stats import GraphStats, LabelFrequencies, summarize
from motiflux.types import (
    DEFAULT_LABEL,
    MAX_VERTICES,
    VERTEX_DTYPE,
    IdArray,
    Label,
    LabelArray,
    OffsetArray,
    VertexArray,
    VertexId,
)

SelfLoops = Literal["error", "drop"]

# Narrowed adjacencies are kept for later queries up to this many bytes, or this many times the graph.
_KEPT_BYTES = 64 << 20
_KEPT_RATIO = 4

MAX_THREADS = 1024


class EdgeList(NamedTuple):
    """Edges in external ids and labels, each distinct edge once.

    ``labels`` is None where all edges have the default label; ``multiplicity`` is int64 [m].
    """

    src: IdArray
    dst: IdArray
    labels: NDArray[Any] | None
    multiplicity: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A data graph: immutable, safe to share between threads.

    Vertices have internal ids ``0..n-1`` in order of ascending degree, so that an order restriction between
    two matched vertices is a degree-ordered orientation at the same time. Everything a user sees is in
    external ids. Make one with `Graph.from_edges` or `motiflux.read_graph`.

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
        Edges of the input that were left out, and copies beyond the first that were folded into one edge.
    memo
        What planning and engines have derived from the graph.
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
    _adjacency: dict[AdjacencyKey, Adjacency] = field(default_factory=dict, init=False)
    memo: Memo = field(default_factory=Memo, init=False)

    def __post_init__(self) -> None:
        labels = () if self.vertex_labels is None else (self.vertex_labels,)
        for array in (*self.forward.arrays(), *self.reverse.arrays(), self.vertex_ids, *labels):
            array.flags.writeable = False

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
        self_loops: SelfLoops = "error",
        threads: int | None = None,
    ) -> Graph:
        """Build a graph from an edge list.

        Parameters
        ----------
        edges
            Array [m, 2], or a tuple of two NumPy arrays [m] (sources, targets), of ids: integers or strings.
        directed
            Whether ``(u, v)`` goes from u to v only.
        num_vertices
            The ids are ``0..num_vertices-1``, whether they occur in an edge or not.
        vertex_ids
            The ids of all vertices, [n], each once. Without this and `num_vertices`, the vertices are those
            that occur in an edge (or ``0..len(vertex_labels)-1``).
        vertex_labels
            Label of each vertex, [n], integers or strings, in the order of `vertex_ids` or of the ids
            ``0..n-1``. Without it every vertex has the label 0.
        edge_labels
            Label of each edge, [m]. Without it every edge has the label 0.
        self_loops
            ``"error"`` refuses them, ``"drop"`` leaves them out and counts them.
        threads
            Threads to build with; default: as many as this process may use.

        Returns
        -------
        Graph
            Equal edges (same source, target and label; reversed too if undirected) are one edge with a
            multiplicity.

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
        """
        if not isinstance(directed, (bool, np.bool_)):
            raise ArgumentError("directed", "True or False", directed)
        sources, targets = _split(edges)
        if self_loops not in ("error", "drop"):
            raise ArgumentError("self_loops", "'error' or 'drop'", self_loops)
        edge_label_table, edge_codes = encode_labels(edge_labels, len(sources), "edge_labels")
        if vertex_labels is not None and num_vertices is None and vertex_ids is None:
            vertex_labels = as_column(vertex_labels, "vertex_labels")
            num_vertices = len(vertex_labels)
        ids, source_index, target_index = _number_vertices(sources, targets, num_vertices, vertex_ids)
        vertex_label_table, vertex_codes = encode_labels(vertex_labels, len(ids), "vertex_labels")

        loops = np.flatnonzero(source_index == target_index)
        if loops.size:
            if self_loops == "error":
                row = int(loops[0])
                raise GraphError(
                    f"edges, row {row}: expected two different vertices, found {sources[row].item()!r} twice"
                )
            kept = source_index != target_index
            source_index, target_index = source_index[kept], target_index[kept]
            edge_codes = None if edge_codes is None else edge_codes[kept]

        order, forward, reverse, duplicates = _native.build_rows(
            source_index, target_index, edge_codes, len(ids), bool(directed), resolve_threads(threads)
        )
        forward_rows = Csr(*forward)
        return cls(
            directed=bool(directed),
            vertex_ids=ids[order],
            forward=forward_rows,
            reverse=forward_rows if reverse is None else Csr(*reverse),
            vertex_labels=None if vertex_codes is None else vertex_codes[order],
            vertex_label_table=vertex_label_table,
            edge_label_table=edge_label_table,
            self_loops_dropped=int(loops.size),
            duplicate_edges=duplicates,
        )

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self.forward.num_vertices

    @property
    def num_edges(self) -> int:
        """Number of distinct edges."""
        return len(self.forward.neighbors) // (1 if self.directed else 2)

    @property
    def num_edge_copies(self) -> int:
        """Number of edges with their multiplicities: all that were given, self-loops apart."""
        return self.num_edges + self.duplicate_edges

    @property
    def nbytes(self) -> int:
        """Bytes held by the graph's arrays."""
        labels = 0 if self.vertex_labels is None else self.vertex_labels.nbytes
        rows = self.forward.nbytes + (self.reverse.nbytes if self.directed else 0)
        return rows + labels + self.vertex_ids.nbytes

    def stats(self) -> GraphStats:
        """Return the sizes of the graph."""
        return summarize(self)

    def to_edges(self) -> EdgeList:
        """Return the distinct edges in external ids and labels; an undirected edge once, either way round."""
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

    def forget(self) -> None:
        """Drop what earlier queries left: plans, label frequencies, narrowed rows, copies on devices."""
        self.memo.clear()
        self._adjacency.clear()

    def label_frequencies(self) -> LabelFrequencies:
        """Return the label frequencies, computed once."""
        return self.memo.keep("label frequencies", self._count_labels)

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

    def _count_labels(self) -> LabelFrequencies:
        return LabelFrequencies(
            self.forward, self.vertex_labels, len(self.vertex_label_table), len(self.edge_label_table)
        )

    def adjacency(self, key: AdjacencyKey, threads: int = 1) -> Adjacency:
        """Return the rows narrowed to the arcs `key` names; kept for later calls within a bound on memory."""
        found = self._adjacency.get(key)
        if found is None:
            counts = (len(self.vertex_label_table), len(self.edge_label_table))
            found = narrow(key, self.forward, self.reverse, self.vertex_labels, counts, threads)
            self._keep_adjacency(key, found)
        return found

    def _keep_adjacency(self, key: AdjacencyKey, rows: Adjacency) -> None:
        # Single dict operations only: atomic, so that threads share this without a lock a fork could inherit.
        if rows[1] is self.forward.neighbors or rows[1] is self.reverse.neighbors:
            return
        room = max(_KEPT_BYTES, _KEPT_RATIO * self.nbytes) - _bytes(rows)
        for old_key, old_rows in reversed(list(self._adjacency.items())):
            room -= _bytes(old_rows)
            if room < 0:
                self._adjacency.pop(old_key, None)
        self._adjacency[key] = rows

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "memo", Memo())
        object.__setattr__(self, "_adjacency", {})
        self.__post_init__()

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return f"Graph({self.num_vertices:,} vertices, {self.num_edges:,} edges, {kind})"


def resolve_threads(threads: int | None) -> int:
    """Return `threads`, or as many as this process may run on.

    Raises
    ------
    ArgumentError
        `threads` is not an integer from 1 to 1024.
    """
    if threads is None:
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(usable, MAX_THREADS)
    return check_integer("threads", threads, 1, MAX_THREADS)


def _bytes(rows: Adjacency) -> int:
    return rows[0].nbytes + rows[1].nbytes


def _split(edges: ArrayLike | tuple[ArrayLike, ArrayLike]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return sources and targets as arrays of equal length and kind."""
    if isinstance(edges, tuple) and len(edges) == 2 and all(isinstance(part, np.ndarray) for part in edges):
        sources, targets = as_column(edges[0], "sources"), as_column(edges[1], "targets")
        if sources.shape != targets.shape:
            raise GraphError(
                f"edges: expected as many targets as sources, found {len(sources)} and {len(targets)}"
            )
        if sources.dtype.kind != targets.dtype.kind:
            raise GraphError("edges: expected ids of one kind, found integers and strings")
        return sources, targets
    array = as_names(edges, "edges")  # type: ignore[arg-type]
    if array.size == 0 and array.ndim == 1:
        array = array.reshape(0, 2)
    if array.ndim != 2 or array.shape[1] != 2:
        raise GraphError(f"edges: expected an array of shape [m, 2], found {list(array.shape)}")
    return array[:, 0], array[:, 1]


def _number_vertices(
    sources: NDArray[Any], targets: NDArray[Any], num_vertices: int | None, vertex_ids: ArrayLike | None
) -> tuple[IdArray, NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the external ids and, for each edge, the positions of its ends among them."""
    if num_vertices is not None and vertex_ids is not None:
        raise GraphError("num_vertices and vertex_ids: expected one of them, found both")
    if num_vertices is not None:
        return _numbers(sources, targets, num_vertices)
    if vertex_ids is not None:
        return _listed(sources, targets, as_column(vertex_ids, "vertex_ids"))
    ids, codes = dense_codes(np.concatenate([sources, targets]))
    _check_vertices(len(ids))
    return ids, codes[: len(sources)], codes[len(sources) :]


def _numbers(
    sources: NDArray[Any], targets: NDArray[Any], num_vertices: int
) -> tuple[IdArray, NDArray[np.uint32], NDArray[np.uint32]]:
    _check_vertices(check_integer("num_vertices", num_vertices, 0))
    for column in (sources, targets):
        if not column.size:
            continue
        if column.dtype.kind != "i":
            raise GraphError(f"edges: expected integer ids with num_vertices, found {column[0].item()!r}")
        outside = np.flatnonzero((column < 0) | (column >= num_vertices))
        if outside.size:
            row = int(outside[0])
            raise GraphError(
                f"edges, row {row}: expected ids from 0 to {num_vertices - 1}, found {column[row]}"
            )
    ids = np.arange(num_vertices, dtype=np.int64)
    return ids, sources.astype(VERTEX_DTYPE), targets.astype(VERTEX_DTYPE)


def _listed(
    sources: NDArray[Any], targets: NDArray[Any], ids: NDArray[Any]
) -> tuple[IdArray, NDArray[np.uint32], NDArray[np.uint32]]:
    _check_vertices(len(ids))
    if sources.size and sources.dtype.kind != ids.dtype.kind:
        raise GraphError("vertex_ids and edges: expected ids of one kind, found integers and strings")
    order = np.argsort(ids, kind="stable")
    ascending = ids[order]
    repeated = np.flatnonzero(ascending[1:] == ascending[:-1])
    if repeated.size:
        raise GraphError(f"vertex_ids: expected each id once, found {ascending[repeated[0]].item()!r} twice")

    def positions(column: NDArray[Any]) -> NDArray[np.uint32]:
        place = np.searchsorted(ascending, column)
        known = place < len(ascending)
        known[known] = ascending[place[known]] == column[known]
        if not known.all():
            row = int(np.flatnonzero(~known)[0])
            raise GraphError(
                f"edges, row {row}: expected an id listed in vertex_ids, found {column[row].item()!r}"
            )
        return order[place].astype(VERTEX_DTYPE)

    return ids, positions(sources), positions(targets)


def _check_vertices(count: int) -> None:
    if count > MAX_VERTICES:
        raise GraphError(f"expected at most {MAX_VERTICES:,} vertices, found {count:,}")
