"""Which reader takes which file: by suffix."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from motiflux.errors import FormatError
from motiflux.io import edge_list, graph_file, mfg, npz, pattern_text
from motiflux.io.progress import is_shown, reading_meter
from motiflux.io.source import format_suffix

if TYPE_CHECKING:
    from motiflux.graph import Graph
    from motiflux.pattern import Pattern


class GraphReader(Protocol):
    """What a reader module's ``read`` looks like."""

    def __call__(self, path: Path, *, directed: bool | None = None, threads: int | None = None) -> Graph:
        """Read one file."""


GRAPH_READERS: dict[str, GraphReader] = {
    mfg.SUFFIX: mfg.read,
    ".npz": npz.read,
    ".graph": graph_file.read,
    ".txt": edge_list.read,
    ".edges": edge_list.read,
    ".el": edge_list.read,
}
"""Readers of data graphs; each suffix but ``.mfg`` may be followed by ``.gz``."""

PATTERN_READERS: dict[str, Callable[[Path], Pattern]] = {
    ".graph": graph_file.read_query,
    ".pattern": pattern_text.read_query,
    ".cypher": pattern_text.read_query,
}
"""Readers of patterns; each suffix may be followed by ``.gz``."""


def read_graph(
    path: str | os.PathLike[str],
    *,
    directed: bool | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Graph:
    r"""Read a data graph from a file.

    Parameters
    ----------
    path
        ``.mfg``, ``.npz``, ``.graph``, or a text edge list ``.txt``, ``.edges``, ``.el``; each but the first
        also with ``.gz``.
    directed
        Whether edges have a direction. None: as the file says; formats that say nothing are undirected.
        A directed file read as undirected merges the two arcs between a pair of vertices. An undirected
        ``.mfg`` file does not say which way its edges went, and is not read as directed.
    threads
        Threads that build the graph; None: one per core.
    progress
        True for a bar on stderr (if that is a terminal): how much of the file has been read.

    Returns
    -------
    Graph
        Self-loops are left out and counted in a `MotifluxWarning`.

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
    reader = GRAPH_READERS.get(format_suffix(source))
    if reader is None:
        raise _unknown_suffix(source, "a graph", GRAPH_READERS)
    with reading_meter(source) if progress and is_shown() else nullcontext():
        return reader(source, directed=directed, threads=threads)


def read_pattern(path: str | os.PathLike[str]) -> Pattern:
    r"""Read a pattern from a file.

    ``.pattern`` and ``.cypher`` files hold text as `Pattern.parse` takes it. In a ``.graph`` file the label
    ``-1`` or ``*``, and an edge label left out, is any label; edges take the direction of the data graph, and
    vertices are named after their ids and keep the order of the file.

    Parameters
    ----------
    path
        ``.pattern``, ``.cypher`` or ``.graph``; each also with ``.gz``.

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
    found = "".join(path.suffixes[-2:]) if path.suffix.lower() == ".gz" else path.suffix
    mapped = "".join(f", {suffix}" for suffix in known if suffix == mfg.SUFFIX)  # and never compressed
    expected = ", ".join(suffix for suffix in known if suffix != mfg.SUFFIX)
    said = f"suffix {found!r}" if found else "no suffix"
    return FormatError(path, f"found {said}, expected {what} in {expected} (or with .gz after it){mapped}")
