"""Text edge lists (``.txt``, ``.edges``, ``.el``): an edge per line, fields apart by blanks or commas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from motiflux import _native
from motiflux.arguments import resolve_threads
from motiflux.errors import FormatError
from motiflux.interop import ChosenColumns, ColumnMapping, GraphColumns
from motiflux.interop.end_names import find_ends
from motiflux.interop.mapping import How
from motiflux.interop.missing import WORDS
from motiflux.interop.tables import guess_notes
from motiflux.io.text.delimited import column_names, edge_columns, other_separator
from motiflux.io.text.ids import IdRules, Reasons, advised
from motiflux.io.text.table import (
    BLANKS,
    Field,
    Record,
    Rows,
    TextFile,
    TextOptions,
    Want,
    is_integer,
    is_number,
)
from motiflux.units import counted

_EXPECTED = "'source target' or 'source target label'"


def read(
    path: Path, mapping: ColumnMapping, options: TextOptions, *, threads: int | None = None
) -> GraphColumns:
    """Read ``source target`` or ``source target label`` lines, or lines with the fields in `mapping`.

    Lines that start with ``#`` or ``%`` and blank lines are skipped. Fields are apart by blanks, or by commas
    where the first line has one. Ids are integers, or names where neither id of the first edge is a number;
    labels likewise. The vertices are the ends of edges.

    Raises
    ------
    FormatError
        With the line, the value found and the value expected.
    ArgumentError
        There is no such column.
    """
    file = TextFile(path)
    layout, first = _look(file, options)
    edge = file.first_record(layout, first, "surrogateescape") if options.header else first
    if not edge.fields:
        nothing = np.empty(0, dtype=np.int64)
        return GraphColumns(nothing, nothing)
    width, reason = len(first.fields), f" as on line {first.lines_through}"
    names = column_names(first.fields, named=bool(options.header))
    if mapping.given():
        chosen = mapping.choose(names, str(path))
        if not options.header:  # the ends are the first two columns by the format
            chosen = replace(chosen, how=How.SAID)
    elif width in (2, 3):
        chosen = ChosenColumns((0, 1), 2 if width == 3 else None, {})
    else:
        advice = other_separator(first.fields, options.sep)
        raise _fault(path, first, f"expected {_EXPECTED}{advice}")
    if len(edge.fields) != width:
        raise _fault(path, edge, f"expected {width}{reason}")
    rules = _id_rules(chosen, edge, options)
    fields = _fields(chosen, edge, rules)
    lacks_id = any(edge.fields[place] in WORDS for place in chosen.ends)
    if rules.want is Want.NAME and options.header is None and not (options.missing == "drop" and lacks_id):
        _check_next(file, layout, edge, chosen)
    rows = Rows(edge.begin, edge.lines_before, width, reason)
    try:
        table = file.parse(layout, rows, fields, resolve_threads(threads))
    except FormatError as error:
        raise advised(error, rules) from None
    columns = edge_columns(table, rules.read(table), chosen, names if options.header else None)
    named = rules.want is Want.NAME and options.header is None and find_ends(edge.fields) is not None
    return replace(
        columns,
        end_columns=columns.end_columns if mapping.given() else None,
        notes=(
            *guess_notes(chosen, names if options.header else None),
            *columns.notes,
            *(_header_notes(edge) if named else ()),
        ),
    )


def _header_notes(edge: Record) -> tuple[str, ...]:
    ends = " and ".join(map(repr, edge.fields[:2]))
    line = f"line {edge.lines_through} was read as an edge between {ends}"
    return (f"{line}; header=True takes it as the names of the columns",)


def _look(file: TextFile, options: TextOptions) -> tuple[_native.Layout, Record]:
    """Return how the lines are written, and the first one."""
    layout = _layout(options.sep or BLANKS)
    errors = "strict" if options.header else "surrogateescape"  # of ids and labels the parser speaks
    first = file.first_record(layout, errors=errors)
    if options.sep is None and any("," in one for one in first.fields):
        layout = _layout(",")
        first = file.first_record(layout, errors=errors)
    return layout, first


def _layout(separator: str) -> _native.Layout:
    blanks = separator == BLANKS
    return _native.Layout(separator, quotes=not blanks, comments=True, trims=not blanks)


def _fault(path: Path, record: Record, expected: str) -> FormatError:
    count = len(record.fields)
    return FormatError(path, f"found {counted(count, 'field')}, {expected}", record.lines_through)


def _id_rules(chosen: ChosenColumns, edge: Record, options: TextOptions) -> IdRules:
    """Return the rules of ids; the first edge determines whether they are integers or names."""

    def judge(ids: Sequence[str], place: str) -> tuple[Reasons, Want]:
        names = options.ids == "names" or (options.ids is None and not any(map(is_number, ids)))
        reason = None if names else f" as on {place}"
        return (reason, reason), Want.NAME if names else Want.INTEGER

    ids = [edge.fields[place] for place in chosen.ends]
    reasons, want = judge(ids, f"line {edge.lines_through}")
    titles = ("source id", "target id")
    return IdRules(titles, reasons, options.missing, want, chosen.advice(), judge)


def _fields(chosen: ChosenColumns, edge: Record, rules: IdRules) -> list[Field]:
    """Return the fields to read; the first edge determines whether labels are integers or names."""
    fields = rules.fields(chosen.ends)
    if chosen.label is not None:
        want = Want.INTEGER if is_number(edge.fields[chosen.label]) else Want.NAME
        fields.append(Field(chosen.label, "edge label", want, 1))
    for name, place in chosen.attributes.items():
        fields.append(Field(place, f"column {name!r}", Want.ANYTHING, len(fields)))
    return fields


def _check_next(file: TextFile, layout: _native.Layout, edge: Record, chosen: ChosenColumns) -> None:
    """Refuse a first line that names the columns, which would be taken for an edge between two names."""
    after = file.first_record(layout, edge, "surrogateescape")
    if len(after.fields) == len(edge.fields) and all(
        is_integer(after.fields[place]) for place in chosen.ends
    ):
        raise FormatError(
            file.path,
            f"found integers as ids, expected names as on line {edge.lines_through}; "
            "header=True says that this line names the columns, header=False that both hold names",
            after.lines_through,
        )
