"""Text edge lists (``.txt``, ``.edges``, ``.el``)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from motiflux._native import EdgeListParser, ParseError
from motiflux.interop import GraphColumns
from motiflux.io.build import build_graph
from motiflux.io.source import feed_all, parse_failure

if TYPE_CHECKING:
    from motiflux.graph import Graph


def read(path: Path, *, directed: bool | None = None, threads: int | None = None) -> Graph:
    """Read ``source target`` or ``source target label`` lines of integers.

    Lines that start with ``#`` or ``%`` and blank lines are skipped. The vertices are those that occur;
    without `directed` the graph is undirected.

    Raises
    ------
    FormatError
        Naming the line, what was found there and what was expected.
    """
    parser = EdgeListParser()
    try:
        feed_all(parser, path)
        source, target, labels = parser.finish()
    except ParseError as error:
        raise parse_failure(path, error) from None
    columns = GraphColumns(source, target, edge_labels=labels, directed=bool(directed))
    return build_graph(path, columns, threads=threads)
