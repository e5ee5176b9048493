"""Tables of edges and of vertices, batch by batch, as columns.

A `Table` has names, and a method to iterate over some of its columns in batches. Arrow tables of
all libraries, mappings from names to arrays, NumPy's structured arrays and files all become one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from motiflux.errors import GraphError
from motiflux.interop import arrow
from motiflux.interop.arrays import as_host_array
from motiflux.interop.columns import GraphColumns
from motiflux.interop.ends import Ends
from motiflux.interop.gather import Gathered
from motiflux.interop.mapping import ChosenColumns, ColumnMapping, VertexMapping
from motiflux.interop.vertices import VertexColumns


class Table(NamedTuple):
    """A table that can be read once.

    Parameters
    ----------
    names
        Of all columns, in their order.
    batches
        Yields the columns at some positions, for each batch: arrays of pyarrow or of NumPy, or lists.
    rows
        How many there are; None where that is not known before the end.
    """

    names: list[str]
    batches: Callable[[list[int]], Iterator[list[Any]]]
    rows: int | None = None


def open_table(table: object, what: str) -> Table:
    """Return an object that holds columns as a `Table`.

    Raises
    ------
    GraphError
        It holds none.
    """
    if arrow.is_arrow(table):
        reader = arrow.open_stream(table, what)
        return Table(reader.schema.names, lambda positions: arrow.batches_of(reader, positions, what))
    if isinstance(table, np.ndarray) and table.dtype.names is not None:
        array = table
        if array.ndim != 1:
            raise GraphError(f"{what}: expected a structured array [m], found {list(array.shape)}")
        return _in_memory({name: array[name] for name in array.dtype.names or ()}, what)
    if isinstance(table, Mapping):
        return _in_memory(table, what)
    raise GraphError(
        f"{what}: expected a table (an object with the Arrow stream or array capsule, a mapping from names "
        f"to arrays, or a structured array of NumPy), found {type(table).__name__}"
    )


def _in_memory(columns: Mapping[Any, Any], what: str) -> Table:
    names = list(columns)
    odd = next((name for name in names if not isinstance(name, str)), None)
    if odd is not None:
        raise GraphError(f"{what}: expected names that are strings, found {odd!r}")

    def batches(positions: list[int]) -> Iterator[list[Any]]:
        batch = [_column(columns[names[position]], f"{what}[{names[position]!r}]") for position in positions]
        lengths = {names[position]: len(column) for position, column in zip(positions, batch, strict=True)}
        if len(set(lengths.values())) > 1:
            raise GraphError(f"{what}: expected columns of one length, found {lengths}")
        yield batch

    return Table(names, batches)


def _column(values: Any, what: str) -> Any:
    if arrow.is_arrow(values):
        return arrow.array_of(values, what)
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise GraphError(f"{what}: expected an array, found {values!r}")
    if isinstance(values, (list, tuple)):
        return list(values)
    array = as_host_array(values, what)
    if array.ndim != 1:
        raise GraphError(f"{what}: expected an array of shape [m], found {list(array.shape)}")
    return array


def read_edges(table: Table, mapping: ColumnMapping, what: str, threads: int = 1) -> GraphColumns:
    """Return a table of edges as columns.

    Raises
    ------
    ArgumentError
        The columns that are wanted are not there.
    GraphError
        An id is missing or no id, or a label is missing; names the column and the row, counted from 0.
    """
    chosen = mapping.choose(table.names, what)
    source, target = chosen.ends
    ends = Ends((table.names[source], table.names[target]), table.rows)
    gathered = _gathered(table, chosen)
    positions = chosen.positions()
    for batch in table.batches(positions):
        columns = dict(zip(positions, batch, strict=True))
        ends.add(columns[source], columns[target])
        for position, column in gathered.items():
            column.add(columns[position])
        del batch, columns
    ids, sources, targets = ends.finish(threads)
    return GraphColumns(
        sources,
        targets,
        vertex_ids=ids,
        positions=True,
        edge_labels=None if chosen.label is None else gathered[chosen.label].labels(),
        edge_attributes={name: gathered[place].values() for name, place in chosen.attributes.items()},
    )


def read_vertices(table: Table, mapping: VertexMapping, what: str, threads: int = 1) -> VertexColumns:
    """Return a table of vertices as columns; raises the same errors as `read_edges`."""
    chosen = mapping.choose(table.names, what)
    (place,) = chosen.ends
    ends = Ends((table.names[place],), table.rows)
    gathered = _gathered(table, chosen)
    positions = chosen.positions()
    for batch in table.batches(positions):
        columns = dict(zip(positions, batch, strict=True))
        ends.add(columns[place])
        for position, column in gathered.items():
            column.add(columns[position])
    ids, codes, _ = ends.finish(threads)
    return VertexColumns(
        ids[codes],
        None if chosen.label is None else gathered[chosen.label].labels(),
        {name: gathered[place].values() for name, place in chosen.attributes.items()},
    )


def _gathered(table: Table, chosen: ChosenColumns) -> dict[int, Gathered]:
    label = () if chosen.label is None else (chosen.label,)
    return {place: Gathered(table.names[place]) for place in {*label, *chosen.attributes.values()}}


def read_table(
    edges: object,
    mapping: ColumnMapping,
    vertices: object | None,
    of_vertices: VertexMapping,
    threads: int = 1,
) -> GraphColumns:
    """Return tables in memory as columns, without a direction.

    Raises
    ------
    ArgumentError, GraphError
        As `read_edges`.
    """
    if vertices is None:
        of_vertices.refuse_alone()
    columns = read_edges(open_table(edges, "table"), mapping, "the table", threads)
    if vertices is None:
        return columns
    table = open_table(vertices, "vertices")
    listed = read_vertices(table, of_vertices, "the table of vertices", threads)
    listed.check_distinct()
    return listed.added_to(columns)
