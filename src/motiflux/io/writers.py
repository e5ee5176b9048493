"""Which writer makes which file: by suffix."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias, TypeVar

from motiflux.atomic import check_place
from motiflux.errors import ArgumentError, OutputError
from motiflux.graph import Graph
from motiflux.io import table_graphs
from motiflux.io.arrow import table_writers
from motiflux.io.binary import mfg, npy_writer, npz_writer
from motiflux.io.files.sinks import split_suffix
from motiflux.io.files.source import format_suffix, is_compressed
from motiflux.io.tables.match_tables import MatchBatches, MatchTables, as_tables
from motiflux.io.text import csv_writer, graph_writers

Writer = TypeVar("Writer")
MatchWriter: TypeAlias = Callable[[MatchTables, Path], int]

GraphWriter: TypeAlias = Callable[[Graph, Path], int]

MATCH_WRITERS: dict[str, MatchWriter] = {
    ".parquet": table_writers.write_parquet,
    ".arrow": table_writers.write_arrow,
    ".csv": csv_writer.write,
    ".npy": npy_writer.write,
}
"""Writers of matches; ``.csv`` may be followed by ``.gz`` or ``.zst``."""

GRAPH_WRITERS: dict[str, GraphWriter] = {
    mfg.SUFFIX: mfg.write,
    npz_writer.SUFFIX: npz_writer.write,
    ".graph": graph_writers.write_graph_file,
    ".txt": graph_writers.write_edge_list,
    ".mtx": graph_writers.write_matrix,
    **dict.fromkeys(table_graphs.WRITERS, table_graphs.write),
}
"""Writers of graphs; suffixes of text formats may be followed by ``.gz`` or ``.zst``."""

COMPRESSED = (".csv", ".tsv", ".graph", ".txt", ".mtx")
"""The formats that may be compressed."""


def check_output(path: str | os.PathLike[str]) -> None:
    """Refuse a name that matches cannot be written under, before any work is done.

    Parameters
    ----------
    path
        The output file, which need not exist.

    Raises
    ------
    OutputError
        If the suffix is unknown, something is there that is no regular file, or the folder is missing or
        not writable.

    Examples
    --------
    >>> from motiflux.io import check_output
    >>> check_output("matches.xlsx")
    Traceback (most recent call last):
    motiflux.errors.OutputError: matches.xlsx: found suffix '.xlsx', expected .parquet, .arrow, .csv, .npy
    """
    _check_output(_path("path", path), MATCH_WRITERS)


def check_table_output(path: str | os.PathLike[str]) -> None:
    """Refuse a name that a table of numbers and words cannot be written under, as `check_output` does.

    Examples
    --------
    >>> from motiflux.io.writers import check_table_output
    >>> check_table_output("trace.npy")
    Traceback (most recent call last):
    motiflux.errors.OutputError: trace.npy: found suffix '.npy', expected .parquet, .arrow, .csv
    """
    writers = {suffix: writer for suffix, writer in MATCH_WRITERS.items() if suffix != ".npy"}
    _check_output(_path("path", path), writers)


def check_graph_output(
    path: str | os.PathLike[str],
    vertices: str | os.PathLike[str] | None = None,
    *,
    class_order: bool = False,
) -> None:
    """Refuse a name that a graph cannot be written under, as `check_output` does for matches.

    Parameters
    ----------
    path
        The output file, which need not exist.
    vertices
        The output file of a table of vertices.
    class_order
        Whether rows sorted by labels are to be written.

    Raises
    ------
    OutputError
        As `check_output` does; or `path` is no table and `vertices` is given, or no ``.mfg`` file and
        `class_order` is.

    Examples
    --------
    >>> from motiflux.io import check_graph_output
    >>> check_graph_output("graph.csv", vertices="vertices.mfg")
    Traceback (most recent call last):
    motiflux.errors.OutputError: vertices.mfg: found suffix '.mfg', expected .csv, .tsv, .parquet, .arrow
    """
    output = _path("path", path)
    if is_compressed(output) and (suffix := format_suffix(output)) == mfg.SUFFIX:
        raise OutputError(
            f"{output}: found suffix '{suffix}{output.suffix.lower()}', expected {suffix}: "
            "it is used from where it lies, not compressed"
        )
    _check_output(output, GRAPH_WRITERS)
    if class_order and format_suffix(output) != mfg.SUFFIX:
        raise OutputError(f"{output}: found suffix {output.suffix!r}, expected {mfg.SUFFIX} for class_order")
    if vertices is not None:
        if split_suffix(output)[0] not in table_graphs.WRITERS:
            raise OutputError(
                f"{output}: expected a table of edges beside a table of vertices "
                f"({', '.join(table_graphs.WRITERS)}), found {output.suffix}, which holds all it can itself"
            )
        _check_output(_path("vertices", vertices), table_graphs.WRITERS)
        if os.path.realpath(vertices) == os.path.realpath(path):
            raise OutputError(f"{vertices}: expected another file than that of the edges")


def write_graph(
    graph: Graph,
    path: str | os.PathLike[str],
    *,
    vertices: str | os.PathLike[str] | None = None,
    class_order: bool = False,
) -> int:
    """Write a graph to a file.

    The file appears under its name when it is complete. After an error or Ctrl-C there is no partial file,
    and an existing file of that name is unchanged: graphs read from it stay valid.

    Parameters
    ----------
    graph
        The graph.
    path
        By suffix:

        - ``.mfg``: the whole graph as it is in memory; `read_graph` opens it in milliseconds.
        - ``.npz``: everything except missing values of integers, booleans and strings.
        - ``.csv``, ``.tsv``, ``.parquet``, ``.arrow``: a table of edges, with labels and attributes.
        - ``.graph``: labels; ids and labels are integers of at least 0.
        - ``.txt``: edges and their labels, likewise.
        - ``.mtx``: edges and their attribute ``weight``; ids are ``1..n``; ids ``0..n-1`` are renumbered.

        Text formats may end with ``.gz`` or ``.zst``. Data that the format cannot store are omitted, and a
        `MotifluxWarning` names them. Every copy of an edge is written.
    vertices
        For a table of edges: the file of a vertex table with ids, labels and attributes. It appears before
        the file of the edges.
    class_order
        For an ``.mfg`` file of a graph with labels: also write its rows sorted by labels. A `Monitor` with
        ``engine="outofcore"`` then leaves rows in the file, as it does without labels, if the host lacks
        memory for copies.

    Returns
    -------
    int
        Bytes of the file, or of both.

    Raises
    ------
    OutputError
        If the file cannot be written, or the format cannot represent an id, a label or a value; or
        `class_order` is asked for in another format than ``.mfg``.

    Examples
    --------
    >>> import tempfile, pathlib, motiflux as mf
    >>> graph = mf.Graph.from_edges([("ann", "bob"), ("bob", "cy")], directed=True)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "friends.mfg")
    >>> _ = mf.write_graph(graph, path)
    >>> mf.read_graph(path)
    Graph(3 vertices, 2 edges, directed)
    >>> path = pathlib.Path(folder.name, "friends.csv")
    >>> _ = mf.write_graph(graph, path)
    >>> path.read_text().splitlines()[:2]
    ['src,dst', 'ann,bob']
    >>> folder.cleanup()
    """
    if not isinstance(graph, Graph):
        raise ArgumentError("graph", "a motiflux.Graph", graph)
    check_graph_output(path, vertices, class_order=class_order)
    output = Path(path)
    if class_order:
        return mfg.write(graph, output, class_order=True)
    if vertices is not None:
        return table_graphs.write(graph, output, Path(vertices))
    return _writer(output, GRAPH_WRITERS)(graph, output)


def _path(argument: str, name: object) -> Path:
    if not isinstance(name, (str, os.PathLike)):
        raise ArgumentError(argument, "the name of a file", name)
    return Path(name)


def _check_output(output: Path, writers: Mapping[str, object]) -> None:
    _writer(output, writers)
    check_place(output)


def write_matches(matches: MatchTables | MatchBatches, path: str | os.PathLike[str]) -> int:
    """Write matches to a file as they are found, never all in memory.

    The file appears under its name when it is complete. If an error or Ctrl-C stops the call before, no file
    appears, and an existing file of that name stays as it was. If a limit or a timeout stops the search, the
    matches until then are written: ``matches.complete`` is False then. The caller must close `matches`.

    Parameters
    ----------
    matches
        The result of `match`; it is exhausted.
    path
        ``.parquet`` or ``.arrow`` (a column for each of ``matches.fields``; the package pyarrow writes them),
        ``.csv`` (a line of column names, then one line per match; also ``.csv.gz``, ``.csv.zst``), or
        ``.npy`` (int64 [rows, columns]; integers only).

    Returns
    -------
    int
        Rows written.

    Raises
    ------
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib, motiflux as mf
    >>> from motiflux.io import write_matches
    >>> graph = mf.Graph.from_edges([[10, 20]])
    >>> edge = mf.Pattern.from_edges([(0, 1)])
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "matches.csv")
    >>> write_matches(mf.match(graph, edge, symmetry="subgraphs"), path)
    1
    >>> path.read_text().splitlines()[0]
    'v0,v1'
    >>> folder.cleanup()
    """
    check_output(path)
    output = _path("path", path)
    return _writer(output, MATCH_WRITERS)(as_tables(matches), output)


def _writer(path: Path, writers: Mapping[str, Writer]) -> Writer:
    suffix, compression = split_suffix(path)
    writer = writers.get(suffix)
    if writer is None or (compression and suffix not in COMPRESSED):
        found = f"suffix {path.suffix!r}" if path.suffix else "no suffix"
        raise OutputError(f"{path}: found {found}, expected {', '.join(writers)}")
    return writer
