"""Which reader takes which file: by suffix."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from motiflux.errors import ArgumentError, FormatError
from motiflux.graph.assemble import SelfLoops, check_self_loops
from motiflux.graph.attributes.table import make_attributes
from motiflux.interop import ColumnMapping, ColumnName, GraphColumns, VertexColumns, VertexMapping
from motiflux.interop.missing import Missing
from motiflux.interop.tables import open_table, read_vertices
from motiflux.io.binary import mfg
from motiflux.io.binary.sections import refuse_monitor
from motiflux.io.build import build_graph, said_of
from motiflux.io.files.progress import is_shown, reading_meter
from motiflux.io.files.source import format_suffix, is_compressed
from motiflux.io.readers import (
    GRAPH_READERS,
    PATTERN_READERS,
    TABLE_READERS,
    TEXT_READERS,
    TEXT_VERTEX_READERS,
    VERTEX_TABLE_READERS,
    TableReader,
)
from motiflux.io.text.table import IdKind, TextOptions

if TYPE_CHECKING:
    from motiflux.graph import Graph
    from motiflux.pattern import Pattern, Query

_NEVER_COMPRESSED = (mfg.SUFFIX, ".parquet", ".arrow", ".feather")


def read_graph(
    path: str | os.PathLike[str],
    *,
    directed: bool | None = None,
    src: ColumnName | None = None,
    dst: ColumnName | None = None,
    label: ColumnName | None = None,
    time: ColumnName | None = None,
    attributes: Sequence[ColumnName] | None = None,
    vertices: object | None = None,
    vertex_id: ColumnName | None = None,
    vertex_label: ColumnName | None = None,
    header: bool | None = None,
    vertices_header: bool | None = None,
    sep: str | None = None,
    ids: IdKind | None = None,
    missing: Missing = "error",
    self_loops: SelfLoops = "warn",
    threads: int | None = None,
    progress: bool = False,
) -> Graph:
    r"""Read a data graph from a file.

    Parameters
    ----------
    path
        ``.mfg``, ``.npz``, ``.graph``, ``.mtx``, or a text edge list ``.txt``, ``.edges``, ``.el``. Tables of
        edges: ``.csv``, ``.tsv``, ``.parquet``, ``.arrow``, ``.feather`` (the last three take the package
        pyarrow). Text and ``.npz`` also with ``.gz`` or ``.zst``.
    directed
        Whether edges are directed. None: as stored in the file; formats without this information are
        undirected.
        A directed file read as undirected merges the two arcs between a pair of vertices. An undirected
        ``.mfg`` file does not store the original directions and cannot be read as directed.
    src, dst, label, time, attributes
        Columns of a table of edges: names, or positions from 0; `motiflux.interop.ColumnMapping` describes
        the defaults. They are errors for formats that are not tables.
    vertices
        A table of all vertices: the path of a file, or a table as
        `Graph.from_table` takes them.
    vertex_id, vertex_label
        Its columns; defaults: the column ``id``, otherwise the first one, and the column ``label``. All other
        columns are attributes.
    header
        Whether the first line of a text table holds column names. None: yes for a ``.csv`` or ``.tsv`` file,
        unless an id in it is an integer; no for an edge list. A warning names a first line that was taken as
        column names and may be an edge.
    vertices_header
        Whether the first line of a text vertex table holds column names. None: unless its id is an integer.
    sep
        Field separator of a text table. Default: a comma; a tab in a ``.tsv`` file; in an edge list blanks,
        or commas if its first line contains one. It also applies to a vertex table with the same suffix.
    ids
        ``"integers"`` or ``"names"`` (strings): the kind of all ids of a text table. None: a column whose
        first id is an integer holds integers only, and other ids are names unless all of them are integers.
    missing
        Treatment of rows of a table without an id: an empty field, null, NaN, or a word such as ``nan``,
        ``NULL`` or ``N/A``. ``"error"`` refuses them; ``"drop"`` leaves them out, with a `MotifluxWarning`
        that counts them; ``"keep"`` takes such words as names.
    self_loops
        ``"warn"`` leaves self-loops out, with a `MotifluxWarning` that counts them; ``"drop"`` leaves them
        out without a warning; ``"error"`` refuses them. An ``.mfg`` file holds none.
    threads
        Threads that parse text and build the graph; None: one per core.
    progress
        True for a progress bar of reading (on a terminal and in notebooks).

    Returns
    -------
    Graph
        A `MotifluxWarning` names the columns of a table that were taken as ends as the first two of several.

    Raises
    ------
    FormatError
        If the file cannot be read or does not hold what its format says; names the file, the line or row,
        what was found and what was expected.

    Examples
    --------
    >>> import tempfile, pathlib, motiflux as mf
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "triangle.txt")
    >>> _ = path.write_text("# three friends\n10 20\n20 30\n30 10\n")
    >>> graph = mf.read_graph(path)
    >>> graph.num_vertices, graph.num_edges
    (3, 3)
    >>> folder.cleanup()
    """
    source = Path(path)
    wanted = _Wanted(
        ColumnMapping(src, dst, label, time, attributes),
        vertices,
        VertexMapping(vertex_id, vertex_label),
        TextOptions(header, sep, vertices_header, ids, missing),
    )
    check_self_loops(self_loops)
    suffix = format_suffix(source)
    with reading_meter(source) if progress and is_shown() else nullcontext():
        if suffix in TABLE_READERS or suffix in TEXT_READERS:
            direction = False if directed is None else directed
            columns = _read_table(source, wanted, threads=threads)
            columns = replace(columns, directed=direction)
            return build_graph(source, columns, self_loops=self_loops, threads=threads)
        reader = GRAPH_READERS.get(suffix)
        if reader is None:
            refuse_monitor(source)
            raise _unknown_suffix(source, "a graph", (*GRAPH_READERS, *TEXT_READERS, *TABLE_READERS))
        wanted.refuse(suffix)
        return reader(source, directed=directed, self_loops=self_loops, threads=threads)


class _Wanted(NamedTuple):
    """The parts of a table to read."""

    edges: ColumnMapping
    vertices: object | None
    of_vertices: VertexMapping
    text: TextOptions

    def refuse_of_vertices(self) -> None:
        """Refuse arguments for a table of vertices, as there is none."""
        self.of_vertices.refuse_alone()
        if self.text.vertices_header is not None:
            raise ArgumentError(
                "vertices_header", "a table of vertices beside it (vertices=)", self.text.vertices_header
            )

    def refuse(self, suffix: str) -> None:
        """Refuse all arguments, as the format has no columns."""
        beside = {} if self.vertices is None else {"vertices": self.vertices}
        for argument, found in {
            **self.edges.given(),
            **beside,
            **self.of_vertices.given(),
            **self.text.given(),
        }.items():
            raise ArgumentError(argument, f"nothing: {suffix} files have no columns to choose from", found)


def _read_table(path: Path, wanted: _Wanted, *, threads: int | None) -> GraphColumns:
    read = _edge_reader(path, wanted.text)
    if wanted.vertices is None:
        wanted.refuse_of_vertices()
        columns = read(path, wanted.edges, threads=threads)
    else:
        beside = _read_vertices(path, wanted)  # what is wrong there shows before the long read
        columns = read(path, wanted.edges, threads=threads)
        with said_of(path, columns):
            columns = beside.added_to(columns)
    return columns


def _edge_reader(path: Path, options: TextOptions) -> TableReader:
    suffix = format_suffix(path)
    text = TEXT_READERS.get(suffix)
    if text is not None:
        return partial(text, options=options)
    options.refuse_for(suffix)
    return partial(TABLE_READERS[suffix], missing=options.missing)


def _read_vertices(edges: Path, wanted: _Wanted) -> VertexColumns:
    """Read the table of vertices beside a file of edges, from a file or in memory, and check it."""
    given: Any = wanted.vertices
    if not isinstance(given, (str, os.PathLike)):
        columns = read_vertices(
            open_table(given, "vertices"),
            wanted.of_vertices,
            "the table of vertices",
            missing=wanted.text.missing,
        )
        columns.check_distinct()
        return columns
    path = Path(given)
    same_kind = format_suffix(path) == format_suffix(edges)
    columns = _read_vertex_file(path, wanted.of_vertices, wanted.text.of_vertices(same_kind=same_kind))
    with said_of(path, columns):
        attributes = dict(make_attributes("vertex", columns.attributes))
        return replace(columns, attributes=attributes, notes=tuple(f"{path}: {one}" for one in columns.notes))


def _read_vertex_file(path: Path, mapping: VertexMapping, options: TextOptions) -> VertexColumns:
    """Read a table of vertices from a file; each id is there once."""
    suffix = format_suffix(path)
    text = TEXT_VERTEX_READERS.get(suffix)
    reader: Callable[[Path, VertexMapping], VertexColumns]
    if text is not None:
        reader = partial(text, options=options)
    elif suffix in VERTEX_TABLE_READERS:
        reader = partial(VERTEX_TABLE_READERS[suffix], missing=options.missing)
    else:
        raise _unknown_suffix(path, "a table of vertices", (*TEXT_VERTEX_READERS, *VERTEX_TABLE_READERS))
    columns = reader(path, mapping)
    with said_of(path, columns):
        columns.check_distinct()
    return columns


def read_vertex_file(
    path: Path, vertex_id: ColumnName | None = None, vertex_label: ColumnName | None = None
) -> VertexColumns:
    """Read a table of vertices that stands alone; see `read_graph` for its columns."""
    return _read_vertex_file(path, VertexMapping(vertex_id, vertex_label), TextOptions())


def read_pattern(path: str | os.PathLike[str]) -> Pattern:
    r"""Read a pattern from a file.

    ``.pattern`` and ``.cypher`` files hold text as `Pattern.parse` takes it. In a ``.graph`` file the label
    ``-1`` or ``*``, and an edge label left out, is any label; edges take the direction of the data graph, and
    vertices are named after their ids and keep the order of the file.

    Parameters
    ----------
    path
        ``.pattern``, ``.cypher`` or ``.graph``; each also with ``.gz`` or ``.zst``.

    Returns
    -------
    Pattern
        Named after the file.

    Raises
    ------
    FormatError
        If the file cannot be read or does not hold what its format says.
    PatternSyntaxError
        If the text is malformed; names the file, the line and the column.
    PatternError
        If the file holds a graph that is no pattern: disconnected, too small or too large.

    Examples
    --------
    >>> import tempfile, pathlib, motiflux as mf
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "wedge.graph")
    >>> _ = path.write_text("t 3 2\nv 0 7\nv 1 *\nv 2 7\ne 0 1\ne 1 2\n")
    >>> print(mf.read_pattern(path))
    (0:7)~>(1), (1)~>(2:7)
    >>> path = pathlib.Path(folder.name, "wedge.pattern")
    >>> _ = path.write_text("// two of a kind\n(a:7)--(b)--(c:7)\n")
    >>> print(mf.read_pattern(path))
    (a:7)--(b), (b)--(c:7)
    >>> folder.cleanup()
    """
    from motiflux.pattern import Pattern

    found = read_query(path)
    if isinstance(found, Pattern):
        return found
    raise FormatError(Path(path), f"found a query of {len(found.patterns)} patterns, expected one pattern")


def read_query(path: str | os.PathLike[str]) -> Pattern | Query:
    r"""Read a pattern, or a query that stands for several, from a file.

    Parameters
    ----------
    path
        As for `read_pattern`.

    Raises
    ------
    FormatError, PatternSyntaxError, PatternError
        As `read_pattern`.

    Examples
    --------
    >>> import tempfile, pathlib, motiflux as mf
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "rings.pattern")
    >>> _ = path.write_text("(a)-[:wire*3..5]->(a)")
    >>> mf.read_query(path)
    Query('rings', 3 patterns)
    >>> folder.cleanup()
    """
    source = Path(path)
    reader = PATTERN_READERS.get(format_suffix(source))
    if reader is None:
        raise _unknown_suffix(source, "a pattern", PATTERN_READERS)
    return reader(source)


def is_pattern_file(name: str) -> bool:
    """Tell whether `name` is a file that there is, or ends like a file that holds a pattern."""
    path = Path(name)
    try:
        return format_suffix(path) in PATTERN_READERS or path.exists()
    except (OSError, ValueError):  # too long for a name, or with a null character in it
        return False


def _unknown_suffix(path: Path, what: str, known: Iterable[str]) -> FormatError:
    if path.is_dir():
        return FormatError(path, f"found a directory, expected {what}")
    found = "".join(path.suffixes[-2:]) if is_compressed(path) else path.suffix
    mapped = "".join(f", {suffix}" for suffix in known if suffix in _NEVER_COMPRESSED)  # and never compressed
    expected = ", ".join(suffix for suffix in known if suffix not in _NEVER_COMPRESSED)
    described = f"suffix {found!r}" if found else "no suffix"
    text = "; a pattern's text is for Pattern.parse" if "(" in path.name else ""
    return FormatError(
        path, f"found {described}, expected {what} in {expected} (or with .gz or .zst after it){mapped}{text}"
    )
