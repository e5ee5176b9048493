"""Tables of edges and of vertices, batch by batch, as columns.

A `Table` has names, and a method to iterate over some of its columns in batches. Arrow tables of
all libraries, mappings from names to arrays, NumPy's structured arrays and files all become one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import GraphError
from motiflux.interop import arrow
from motiflux.interop.arrays import as_host_array
from motiflux.interop.columns import GraphColumns
from motiflux.interop.dropping import present, rows_of, whole_numbers
from motiflux.interop.ends import Ends, Rows
from motiflux.interop.gather import Gathered
from motiflux.interop.mapping import ChosenColumns, ColumnMapping, VertexMapping
from motiflux.interop.matrices import check_frame
from motiflux.interop.missing import Missing, check_missing, told_of_dropped
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


def read_edges(
    table: Table, mapping: ColumnMapping, what: str, threads: int = 1, missing: Missing = "error"
) -> GraphColumns:
    """Return a table of edges as columns.

    Raises
    ------
    ArgumentError
        The columns that are wanted are not there.
    GraphError
        An id is missing or no id, or a label is missing; names the column and the row, counted from 0.
    """
    chosen = mapping.choose(table.names, what)
    gathered, dropped, (ids, sources, targets) = _read(table, chosen, ("src", "dst"), threads, missing)
    return GraphColumns(
        sources,
        targets,
        vertex_ids=ids,
        positions=True,
        edge_labels=None if chosen.label is None else gathered[chosen.label].labels(),
        edge_attributes={name: gathered[place].values() for name, place in chosen.attributes.items()},
        end_columns=chosen.end_columns(table.names),
        notes=(*guess_notes(chosen, table.names), *told_of_dropped(dropped)),
    )


def read_vertices(
    table: Table, mapping: VertexMapping, what: str, threads: int = 1, missing: Missing = "error"
) -> VertexColumns:
    """Return a table of vertices as columns; raises the same errors as `read_edges`."""
    chosen = mapping.choose(table.names, what)
    gathered, dropped, (ids, codes, _) = _read(table, chosen, ("vertex_id",), threads, missing)
    return VertexColumns(
        ids[codes],
        None if chosen.label is None else gathered[chosen.label].labels(),
        {name: gathered[place].values() for name, place in chosen.attributes.items()},
        notes=told_of_dropped(dropped),
    )


def guess_notes(chosen: ChosenColumns, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the note on ends that are the first two columns because no name means an end."""
    columns = chosen.end_columns(names)
    if not columns.guessed:
        return ()
    return (f"edges taken from columns {columns}; src= and dst= say which",)


def _read(
    table: Table, chosen: ChosenColumns, options: Sequence[str], threads: int, missing: Missing
) -> tuple[dict[int, Gathered], int, tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.uint32]]]:
    """Return the columns of labels and attributes, the number of rows dropped, and the ids as of `Ends`."""
    ends = Ends([table.names[place] for place in chosen.ends], table.rows, missing)
    label = () if chosen.label is None else (chosen.label,)
    gathered = {place: Gathered(table.names[place]) for place in {*label, *chosen.attributes.values()}}
    positions = chosen.positions()
    start = dropped = 0
    for batch in table.batches(positions):
        columns = dict(zip(positions, batch, strict=True))
        count = len(columns[chosen.ends[0]])
        rows: Rows = range(start, start + count)
        start += count
        kept = present([columns[place] for place in chosen.ends]) if missing == "drop" else None
        if kept is not None:
            columns = {place: rows_of(values, kept) for place, values in columns.items()}
            rows = rows[0] + np.flatnonzero(kept)
            dropped += count - len(rows)
        given = [columns[place] for place in chosen.ends]
        with advising(chosen, options):
            ends.add([whole_numbers(one) for one in given] if missing == "drop" else given, rows)
        for position, column in gathered.items():
            column.add(columns[position], rows)
        del batch, columns, given
    with advising(chosen, options):
        return gathered, dropped, ends.finish(threads)


@contextmanager
def advising(chosen: ChosenColumns, options: Sequence[str]) -> Iterator[None]:
    """Add to errors about ids how to choose other columns, unless the caller has chosen these."""
    try:
        yield
    except GraphError as error:
        raise GraphError(f"{error}{chosen.advice(options)}") from error


def read_table(
    edges: object,
    mapping: ColumnMapping,
    vertices: object | None,
    of_vertices: VertexMapping,
    threads: int = 1,
    missing: Missing = "error",
) -> GraphColumns:
    """Return tables in memory as columns, without a direction.

    Raises
    ------
    ArgumentError, GraphError
        As `read_edges`.
    """
    check_missing(missing)
    if vertices is None:
        of_vertices.refuse_alone()
    opened = open_table(edges, "table")
    notes = check_frame(edges, mapping.choose(opened.names, "the table"), "table")
    columns = read_edges(opened, mapping, "the table", threads, missing)
    columns = replace(columns, notes=(*notes, *columns.notes))
    if vertices is None:
        return columns
    table = open_table(vertices, "vertices")
    listed = read_vertices(table, of_vertices, "the table of vertices", threads, missing)
    listed.check_distinct()
    return listed.added_to(columns)
