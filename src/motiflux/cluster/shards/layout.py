"""The layout of a sharded graph: what every process knows of it without reading a row.

Vertices have internal ids by ascending degree, as those of a `Graph` have, so a table of degrees tells the
degree of each. An *entry* of a row is an arc out of its vertex or, in a directed graph, into it, and has a
*kind*: a number for the edge label, the direction and the label of the neighbour.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.attributes import EDGE, Types, schema
from motiflux.conditions import Condition
from motiflux.graph import AttributeTable, Direction, LabelTable
from motiflux.plan.bind import BoundEdge
from motiflux.types import Label

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Layout:
    """The sizes, labels and degrees of a sharded graph.

    Parameters
    ----------
    vertex_label_table, edge_label_table
        The labels that occur.
    degrees, vertices
        int64 [d]: the degrees that occur, ascending, and the number of vertices of each. The degree of a
        vertex is the number of entries of its row.
    starts
        int64 [shards + 1]: shard s has the vertices ``starts[s] .. starts[s + 1] - 1``.
    attributes
        The types of the attributes of vertices, by name.
    build
        Differs for graphs that were built apart.
    edge_attributes
        The same types, of edges.
    judged
        Conditions on edges whose bits kinds have.
    copies
        Whether the copies of each edge are kept; they are where edges have attributes.
    """

    directed: bool
    num_edges: int
    vertex_label_table: LabelTable
    edge_label_table: LabelTable
    degrees: Ids
    vertices: Ids
    starts: Ids
    self_loops_dropped: int = 0
    duplicate_edges: int = 0
    attributes: Types = field(default_factory=dict)
    build: str = ""
    edge_attributes: Types = field(default_factory=dict)
    judged: tuple[Condition, ...] = ()
    copies: bool = False
    first_ids: Ids = field(init=False)
    """int64 [d + 1]: the first vertex of each degree."""
    first_entries: Ids = field(init=False)
    """int64 [d + 1]: its first entry, if all rows lay one after another."""

    def __post_init__(self) -> None:
        for name, sizes in (("first_ids", self.vertices), ("first_entries", self.vertices * self.degrees)):
            object.__setattr__(self, name, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return int(self.first_ids[-1])

    @property
    def entries(self) -> int:
        """Number of entries of all rows."""
        return int(self.first_entries[-1])

    @property
    def sides(self) -> int:
        """Number of directions that an entry may have."""
        return 2 if self.directed else 1

    @property
    def kinds(self) -> int:
        """Number of kinds of entries."""
        return (len(self.edge_label_table) * self.sides * len(self.vertex_label_table)) << len(self.judged)

    @property
    def kind_type(self) -> np.dtype[Any] | None:
        """The type of kinds; None where all entries are of one kind."""
        return None if self.kinds == 1 else np.dtype(np.min_scalar_type(self.kinds - 1))

    @property
    def nbytes(self) -> int:
        """Bytes of all rows: 8 for a vertex, 4 for an entry, and its kind."""
        kind = 0 if self.kind_type is None else self.kind_type.itemsize
        return 8 * self.num_vertices + (4 + kind) * self.entries

    def edge_attribute_table(self) -> AttributeTable:
        """Return the attributes of edges without values, for checking conditions."""
        return schema(self.edge_attributes, EDGE)

    def attribute_table(self) -> AttributeTable:
        """Return the attributes without values, for checking conditions."""
        return schema(self.attributes)

    def degrees_of(self, ids: NDArray[Any]) -> Ids:
        """Return the degrees of vertices."""
        return self.degrees[np.searchsorted(self.first_ids, ids, side="right") - 1]

    def first_entries_of(self, ids: NDArray[Any]) -> Ids:
        """Return the positions of the first entries of vertices among the entries of all rows."""
        at = np.searchsorted(self.first_ids, ids, side="right") - 1
        return self.first_entries[at] + (ids - self.first_ids[at]) * self.degrees[at]

    def vertex_of_entry(self, entry: int) -> int:
        """Return the vertex in whose row an entry lies."""
        return int(self.vertices_of_entries(np.array([entry]))[0])

    def vertices_of_entries(self, entries: Ids) -> Ids:
        """Return the vertices in whose rows entries lie."""
        at = np.searchsorted(self.first_entries, entries, side="right") - 1
        return self.first_ids[at] + (entries - self.first_entries[at]) // self.degrees[at]

    def shards_of(self, ids: NDArray[Any]) -> NDArray[np.intp]:
        """Return the shards of vertices."""
        return np.searchsorted(self.starts, ids, side="right") - 1

    def label_of_neighbor(self, kinds: NDArray[Any]) -> NDArray[np.uint32]:
        """Return the code of the neighbour's label, for kinds of entries."""
        return self._of_arcs(kinds) % np.uint32(len(self.vertex_label_table))

    def side_of(self, kinds: NDArray[Any]) -> NDArray[np.uint8]:
        """Return 0 for entries that are arcs out of their row's vertex, else 1."""
        of_arcs = self._of_arcs(kinds) // np.uint32(len(self.vertex_label_table))
        return (of_arcs % np.uint32(self.sides)).astype(np.uint8)

    def edge_label_of(self, kinds: NDArray[Any]) -> NDArray[np.uint32]:
        """Return the code of the edge label, for kinds of entries."""
        return self._of_arcs(kinds) // np.uint32(len(self.vertex_label_table) * self.sides)

    def _of_arcs(self, kinds: NDArray[Any]) -> NDArray[np.uint32]:
        """Return kinds without the bits of conditions."""
        return kinds.astype(np.uint32) >> np.uint32(len(self.judged))

    def _satisfying(self, where: Condition | None) -> NDArray[np.bool_]:
        """Return which kinds entries have that satisfy a condition."""
        if where is None:
            return np.ones(self.kinds, np.bool_)
        bit = self.judged.index(where)
        return ((np.arange(self.kinds) >> bit) & 1).astype(np.bool_)

    def allowed_kinds(self, edge: BoundEdge, start: int, labels: Iterable[int] | None) -> NDArray[np.bool_]:
        """Return which kinds of entries a query edge may use from `start` to one of `labels`; None: any."""
        kinds = np.arange(self.kinds)
        allowed = self._satisfying(edge.where)
        if edge.labels is not None:
            allowed &= np.isin(self.edge_label_of(kinds), list(edge.labels))
        if self.directed and not edge.either:
            allowed &= self.side_of(kinds) == (0 if edge.source == start else 1)
        if labels is not None:
            allowed &= np.isin(self.label_of_neighbor(kinds), list(labels))
        return allowed

    def kinds_of(
        self, direction: Direction, labels: Sequence[int] | None, where: Condition | None = None
    ) -> NDArray[np.bool_]:
        """Return which kinds entries of one direction have, with one of some edge labels; None: any.

        Parameters
        ----------
        where
            A condition that a copy satisfies, one of `judged`.
        """
        kinds = np.arange(self.kinds)
        chosen = self._satisfying(where)
        if labels is not None:
            chosen &= np.isin(self.edge_label_of(kinds), list(labels))
        if self.directed and direction is not Direction.EITHER:
            chosen &= self.side_of(kinds) == (1 if direction is Direction.IN else 0)
        return chosen

    def facts(self) -> dict[str, Any]:
        """Return the layout as values that JSON has."""
        return {
            "directed": self.directed,
            "num_edges": self.num_edges,
            "vertex_labels": list(self.vertex_label_table.values),
            "edge_labels": list(self.edge_label_table.values),
            "degrees": self.degrees.tolist(),
            "vertices": self.vertices.tolist(),
            "starts": self.starts.tolist(),
            "self_loops_dropped": self.self_loops_dropped,
            "duplicate_edges": self.duplicate_edges,
            "attributes": {name: list(types) for name, types in self.attributes.items()},
            "edge_attributes": {name: list(types) for name, types in self.edge_attributes.items()},
            "copies": self.copies,
        }

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Layout:
        """Return the layout that `facts` describes."""

        def table(values: list[Label]) -> LabelTable:
            return LabelTable(tuple(values))

        def of(name: str) -> Types:
            return {one: (kind, dtype) for one, (kind, dtype) in facts.get(name, {}).items()}

        degrees, vertices, starts = (
            np.array(facts[name], np.int64) for name in ("degrees", "vertices", "starts")
        )
        return cls(
            facts["directed"],
            facts["num_edges"],
            table(facts["vertex_labels"]),
            table(facts["edge_labels"]),
            degrees,
            vertices,
            starts,
            facts["self_loops_dropped"],
            facts["duplicate_edges"],
            of("attributes"),
            facts.get("build", ""),
            of("edge_attributes"),
            copies=facts.get("copies", bool(facts.get("edge_attributes"))),
        )
