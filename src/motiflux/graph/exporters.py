"""Methods of `Graph` that return objects of other libraries."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import GraphError
from motiflux.graph.arrays import GraphArrays
from motiflux.graph.attributes.columns import Column, Kind
from motiflux.graph.attributes.table import AttributeTable
from motiflux.packages import require
from motiflux.types import DEFAULT_LABEL

_SURROGATE = re.compile("[\ud800-\udfff]")


class ArrowTables(NamedTuple):
    """A graph as two tables of pyarrow; `Graph.from_table` takes them again.

    ``edges`` has the columns ``src``, ``dst``, ``label`` (if edges have labels) and the edge attributes, and
    a row for every copy of an edge; ``vertices`` has ``id``, ``label`` (if vertices have labels) and the
    vertex attributes.
    """

    edges: Any
    vertices: Any


class Exporters(GraphArrays):
    """The ways from a graph to objects of other libraries."""

    def to_arrow(self) -> ArrowTables:
        """Return the graph as two tables of pyarrow, of edges and of vertices.

        Returns
        -------
        ArrowTables
            ``edges`` and ``vertices``, see there.

        Raises
        ------
        GraphError
            An attribute is called as another column is, or ``label``, which would be read as labels; or a
            string has no form in UTF-8.

        Examples
        --------
        >>> import motiflux as mf
        >>> g = mf.Graph.from_edges([("ann", "bob")], vertex_labels=["x", "y"], vertex_ids=["ann", "bob"])
        >>> edges, vertices = g.to_arrow()
        >>> vertices.to_pylist()
        [{'id': 'ann', 'label': 'x'}, {'id': 'bob', 'label': 'y'}]
        """
        pa = require("pyarrow", "to_arrow")
        sources, targets, labels, copies = self.to_edges()
        edges: dict[str, Any] = {"src": np.repeat(sources, copies), "dst": np.repeat(targets, copies)}
        if labels is not None:
            edges["label"] = np.repeat(labels, copies)
        vertices: dict[str, Any] = {"id": self.vertex_ids}
        if _has_vertex_labels(self):
            vertices["label"] = _labels(self)
        return ArrowTables(
            _arrow_table(pa, edges, self.edge_attributes),
            _arrow_table(pa, vertices, self.vertex_attributes),
        )

    def to_networkx(self) -> Any:
        """Return the graph as one of networkx.

        Returns
        -------
        networkx.Graph
            Or a DiGraph; with copies of an edge, or edges that differ in their labels alone, a MultiGraph or
            MultiDiGraph. Labels are the attribute ``label``; a value that is missing is left out.

        Examples
        --------
        >>> import motiflux as mf
        >>> since = {"since": [2019]}
        >>> g = mf.Graph.from_edges([("ann", "bob")], edge_labels=["knows"], edge_attributes=since)
        >>> g.to_networkx()["ann"]["bob"]
        {'since': 2019, 'label': 'knows'}
        """
        nx = require("networkx", "to_networkx")
        sources, targets, labels, copies = self.to_edges()
        pairs = np.stack([self.forward.sources(), self.forward.neighbors], axis=1)
        parallel = bool((copies > 1).any()) or bool((pairs[1:] == pairs[:-1]).all(axis=1).any())
        made = getattr(nx, ("Multi" if parallel else "") + ("DiGraph" if self.directed else "Graph"))()
        vertex_labels = _labels(self) if _has_vertex_labels(self) else None
        made.add_nodes_from(
            zip(
                self.vertex_ids.tolist(),
                _records(self.vertex_attributes, vertex_labels, self.num_vertices),
                strict=True,
            )
        )
        rows = int(copies.sum())
        every_label = None if labels is None else np.repeat(labels, copies)
        made.add_edges_from(
            zip(
                np.repeat(sources, copies).tolist(),
                np.repeat(targets, copies).tolist(),
                _records(self.edge_attributes, every_label, rows),
                strict=True,
            )
        )
        return made

    def to_scipy(self, weight: str | None = None) -> Any:
        """Return the adjacency matrix.

        Parameters
        ----------
        weight
            The edge attribute whose values are the entries, of numbers or booleans without a missing one.
            None: the entry is how often the edge was given.

        Returns
        -------
        scipy.sparse.coo_array
            [n, n]; rows and columns are the vertices by ascending id, so that vertex i of ``0..n-1`` is row
            i. Each edge is an entry, an undirected one two; with `weight`, each copy of an edge.

        Raises
        ------
        GraphError
            There is no such attribute, or its values are no numbers, or some are missing.

        Examples
        --------
        >>> import motiflux as mf
        >>> mf.Graph.from_edges([(0, 1), (1, 2)]).to_scipy().toarray().tolist()
        [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
        """
        sparse = require("scipy.sparse", "to_scipy")
        ascending = np.argsort(self.vertex_ids, kind="stable")
        row_of = np.empty(self.num_vertices, dtype=np.int64)
        row_of[ascending] = np.arange(self.num_vertices)
        first, second = self.forward.sources(), self.forward.neighbors
        kept = np.ones(len(first), dtype=bool) if self.directed else first < second
        values = self.to_edges().multiplicity
        rows, columns = row_of[first[kept]], row_of[second[kept]]
        if weight is not None:
            rows, columns = np.repeat(rows, values), np.repeat(columns, values)
            values = _weights(self.edge_attributes, weight)
        if not self.directed:
            rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
            values = np.concatenate([values, values])
        return sparse.coo_array((values, (rows, columns)), shape=(self.num_vertices, self.num_vertices))


def _has_vertex_labels(graph: GraphArrays) -> bool:
    return graph.vertex_labels is not None or graph.vertex_label_table.values != (DEFAULT_LABEL,)


def _labels(graph: GraphArrays) -> Any:
    values = np.array(graph.vertex_label_table.values)
    if graph.vertex_labels is None:
        return np.repeat(values, graph.num_vertices)
    return values[graph.vertex_labels]


def _arrow_table(pa: Any, columns: dict[str, Any], attributes: AttributeTable) -> Any:
    for name, column in attributes.items():
        if name in columns or name == "label":
            raise GraphError(
                f"{attributes.of}_attributes[{name!r}]: expected another name, as "
                + ("a column of the table has this one" if name in columns else "labels are read from this")
            )
        columns[name] = column
    try:
        return pa.table(
            {
                name: _arrow_column(pa, column) if isinstance(column, Column) else _arrow_array(pa, column)
                for name, column in columns.items()
            }
        )
    except UnicodeError:
        bad = next(filter(_SURROGATE.search, chain.from_iterable(map(_texts, columns.values()))))
        raise GraphError(f"{bad!r} has no form in UTF-8, which Arrow's strings need") from None


def _texts(column: Any) -> list[str]:
    """Return the strings of a column, or of an array; none where it holds no strings."""
    if isinstance(column, Column):
        return list(column.strings or ())
    return column.tolist() if column.dtype.kind == "U" else []


def _arrow_column(pa: Any, column: Column) -> Any:
    if column.kind is Kind.NOTHING:
        return pa.nulls(len(column))
    missing = column.missing()
    mask = missing if missing.any() else None
    if column.times is not None:
        zone = "UTC" if column.times is Kind.DATETIME_UTC else None
        return pa.array(column.data, mask=mask).view(pa.timestamp("ns", zone))
    if column.strings is None:
        return pa.array(column.data, mask=mask)
    strings = pa.array(list(column.strings), type=pa.large_string())
    return strings.take(pa.array(column.data, mask=mask))


def _arrow_array(pa: Any, values: NDArray[Any]) -> Any:
    return pa.array(values, type=pa.large_string() if values.dtype.kind == "U" else None)


def _records(attributes: AttributeTable, labels: Any, rows: int) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [{} for _ in range(rows)]
    for name, column in attributes.items():
        values, missing = column.to_list(), column.missing().tolist()
        for record, value, absent in zip(records, values, missing, strict=True):
            if not absent:
                record[name] = value
    if labels is not None:
        if "label" in attributes:
            raise GraphError(
                f"{attributes.of}_attributes['label']: expected another name, as labels have this"
            )
        for record, label in zip(records, labels.tolist(), strict=True):
            record["label"] = label
    return records


def _weights(attributes: AttributeTable, name: str) -> Any:
    if name not in attributes:
        known = ", ".join(map(repr, attributes)) or "it has none"
        raise GraphError(f"weight: expected an edge attribute ({known}), found {name!r}")
    column = attributes[name]
    numeric = column.kind in (Kind.INTEGER, Kind.FLOAT, Kind.BOOLEAN)
    if not numeric or column.missing().any():
        raise GraphError(f"weight: expected numbers, none of them missing, found {column!r}")
    return column.data
