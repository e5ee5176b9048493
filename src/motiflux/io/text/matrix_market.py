"""Matrix Market files (``.mtx``): the entries of a square matrix are the edges of a graph.

``%%MatrixMarket matrix coordinate FIELD SYMMETRY``, comments, ``rows columns entries``, then an entry per
line: ``row column`` for the field ``pattern``, ``row column value`` for ``integer`` and ``real``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.arguments import resolve_threads
from motiflux.errors import FormatError
from motiflux.graph import Graph
from motiflux.graph.assemble import SelfLoops
from motiflux.graph.attributes.columns import Column
from motiflux.interop import GraphColumns
from motiflux.io.build import build_graph
from motiflux.io.text.ids import integers
from motiflux.io.text.table import BLANKS, Field, Record, Rows, TextFile, Want, is_integer
from motiflux.types import MAX_VERTICES
from motiflux.units import counted

WEIGHT = "weight"
"""The edge attribute that holds the values."""

_BANNER = "'%%MatrixMarket matrix coordinate FIELD SYMMETRY'"
_FIELDS = ("pattern", "integer", "real")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")
# A matrix with more vertices than this needs entries: a damaged size would fill the memory.
_FREE_VERTICES = 2**22
_VERTICES_PER_ENTRY = 256


@dataclass(frozen=True)
class _Header:
    """The header of a file."""

    field: str
    symmetry: str
    vertices: int
    entries: int
    size_line: Record

    def rows(self) -> Rows:
        width = 2 if self.field == "pattern" else 3
        reason = f", as the field is {self.field!r}"
        return Rows(self.size_line.end, self.size_line.lines_through, width, reason)

    def fields(self) -> list[Field]:
        ends = [
            Field(place, what, Want.INTEGER, low=1, high=self.vertices)
            for place, what in enumerate(("row", "column"))
        ]
        if self.field == "pattern":
            return ends
        want = Want.INTEGER if self.field == "integer" else Want.FLOAT
        least = -(2**63) + (self.symmetry == "skew-symmetric")  # each value has its negative
        return [*ends, Field(2, "value", want, low=least)]


def read(
    path: Path,
    *,
    directed: bool | None = None,
    self_loops: SelfLoops = "warn",
    threads: int | None = None,
) -> Graph:
    """Read a matrix of which each entry is an edge from its row to its column.

    The vertices are ``1..n``, as the file numbers them. A ``general`` or ``skew-symmetric`` matrix is
    directed, a ``symmetric`` one is not; values are the edge attribute ``weight``. Entries below the diagonal
    are read as entries above it too: a skew-symmetric matrix, and a symmetric one read as directed, has these
    as edges of their own.

    Raises
    ------
    FormatError
        With the line, the value found and the value expected.
    """
    file = TextFile(path)
    header = _read_header(file)
    if header.vertices > max(_FREE_VERTICES, _VERTICES_PER_ENTRY * header.entries):
        raise _fault(
            path,
            header.size_line,
            f"found {header.vertices} rows for {counted(header.entries, 'entry')}, "
            f"expected at most {_VERTICES_PER_ENTRY} for each",
        )
    layout = _native.Layout(BLANKS, quotes=False, comments=True, trims=False)
    table = file.parse(layout, header.rows(), header.fields(), resolve_threads(threads))
    if table.rows != header.entries:
        raise FormatError(
            path,
            f"the file ends here: found {counted(table.rows, 'entry')}, expected {header.entries} as line "
            f"{header.size_line.lines_through} announces",
            table.lines,
        )
    rows, columns = (integers(column) for column in table.columns[:2])
    weights = None if len(table.columns) < 3 else table.columns[2].as_attribute()
    graph = GraphColumns(
        _positions(rows),
        _positions(columns),
        vertex_ids=np.arange(1, header.vertices + 1),
        positions=True,
        edge_attributes={} if weights is None else {WEIGHT: weights},
        directed=header.symmetry != "symmetric" if directed is None else directed,
    )
    if header.symmetry == "skew-symmetric" or (header.symmetry == "symmetric" and graph.directed):
        graph = _mirrored(graph, -1 if header.symmetry == "skew-symmetric" else 1)
    return build_graph(path, graph, self_loops=self_loops, threads=threads)


def _read_header(file: TextFile) -> _Header:
    lines = _native.Layout(BLANKS, quotes=False, comments=False, trims=False)
    banner = file.first_record(lines)
    words = [word.lower() for word in banner.fields]
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise _fault(file.path, banner, f"found {' '.join(banner.fields)[:80]!r}, expected {_BANNER}")
    for what, found, known in (
        ("format", words[2], ("coordinate",)),
        ("field", words[3], _FIELDS),
        ("symmetry", words[4], _SYMMETRIES),
    ):
        if found not in known:
            raise _fault(
                file.path, banner, f"{what}: found {found!r}, expected {' or '.join(map(repr, known))}"
            )
    if words[3:] == ["pattern", "skew-symmetric"]:
        raise _fault(file.path, banner, "found a skew-symmetric pattern, expected values with the symmetry")
    comments = _native.Layout(BLANKS, quotes=False, comments=True, trims=False)
    size = file.first_record(comments, banner)
    expected = "'rows columns entries'"
    if len(size.fields) != 3 or not all(is_integer(one) and len(one) < 19 for one in size.fields):
        raise _fault(file.path, size, f"size: found {' '.join(size.fields)[:80]!r}, expected {expected}")
    rows, columns, entries = map(int, size.fields)
    if rows != columns:
        sides = f"{counted(rows, 'row')} and {counted(columns, 'column')}"
        raise _fault(file.path, size, f"size: found {sides}, expected a square matrix")
    if not 0 <= rows <= MAX_VERTICES or entries < 0:
        raise _fault(
            file.path, size, f"size: found {' '.join(size.fields)}, expected 0 to {MAX_VERTICES} rows"
        )
    return _Header(words[3], words[4], rows, entries, size)


def _positions(ids: NDArray[Any]) -> NDArray[np.uint32]:
    return (ids - 1).astype(np.uint32)


def _mirrored(graph: GraphColumns, sign: int) -> GraphColumns:
    """Return the columns with the entries on the other side of the diagonal too."""
    off = graph.sources != graph.targets
    attributes: dict[str, object] = {}
    for name, column in graph.edge_attributes.items():
        assert isinstance(column, Column)
        attributes[name] = np.concatenate([column.data, sign * column.data[off]])
    return replace(
        graph,
        sources=np.concatenate([graph.sources, graph.targets[off]]),
        targets=np.concatenate([graph.targets, graph.sources[off]]),
        edge_attributes=attributes,
    )


def _fault(path: Path, record: Record, message: str) -> FormatError:
    return FormatError(path, message, max(record.lines_through, 1))
