"""``.graph`` files: ``t N M`` (optional), ``v id label [degree]``, ``e source target [label]``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from motiflux._native import GraphFileParser, ParseError
from motiflux.errors import PatternError
from motiflux.interop import Coded, GraphColumns
from motiflux.interop.strings import StringTable
from motiflux.io.build import build_graph
from motiflux.io.files.source import base_name, feed_all, parse_failure
from motiflux.io.text.table import as_names
from motiflux.pattern import Pattern, PatternBuilder
from motiflux.types import MAX_PATTERN_EDGES, MAX_PATTERN_VERTICES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from motiflux.graph import Graph
    from motiflux.graph.assemble import SelfLoops

_WILDCARD = -1


_Names: TypeAlias = "tuple[NDArray[np.uint8], NDArray[np.int64]]"


class _Columns(NamedTuple):
    """The content of a file, in file order."""

    vertices: NDArray[np.int64]
    vertex_labels: NDArray[np.int64]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    edge_labels: NDArray[np.int64] | None
    vertex_names: _Names | None
    edge_names: _Names | None


def read(
    path: Path,
    *,
    directed: bool | None = None,
    self_loops: SelfLoops = "warn",
    threads: int | None = None,
) -> Graph:
    """Read a data graph; without `directed` it is undirected.

    Labels are names where the first one does not begin as a number does; of vertices and of edges apart.

    Raises
    ------
    FormatError
        With the line, the value found and the value expected.
    """
    parsed = _parse(path, wildcards=False)
    count = len(parsed.vertices)
    numbered = np.array_equal(parsed.vertices, np.arange(count))  # nearly always; saves sorting the ids
    columns = GraphColumns(
        parsed.sources,
        parsed.targets,
        num_vertices=count if numbered else None,
        vertex_ids=None if numbered else parsed.vertices,
        vertex_labels=_labels(path, parsed.vertex_labels, parsed.vertex_names),
        edge_labels=_labels(path, parsed.edge_labels, parsed.edge_names),
        directed=bool(directed),
    )
    return build_graph(path, columns, self_loops=self_loops, threads=threads)


def _labels(
    path: Path, labels: NDArray[np.int64] | None, names: _Names | None
) -> NDArray[np.int64] | Coded | None:
    if labels is None or names is None:
        return labels
    return Coded(labels.astype(np.uint32), as_names(path, StringTable(*names)))


def read_query(path: Path) -> Pattern:
    """Read a pattern. Its edges take the direction of the data graph.

    The label ``-1`` or ``*``, and an edge label left out, is any label. The pattern's vertices are named
    after the ids in the file and keep their order.

    Raises
    ------
    FormatError
        With the line, the value found and the value expected.
    PatternError
        If the file holds a graph that is no pattern: disconnected, too small or too large.
    """
    columns = _parse(path, wildcards=True)
    _check_size(path, len(columns.vertices), MAX_PATTERN_VERTICES, "vertices")
    _check_size(path, len(columns.sources), MAX_PATTERN_EDGES, "edges")
    try:
        return _build_pattern(columns, name=base_name(path))
    except PatternError as error:
        raise PatternError(f"{path}: {error}") from error


def _parse(path: Path, *, wildcards: bool) -> _Columns:
    parser = GraphFileParser(wildcards)
    try:
        feed_all(parser, path)
        return _Columns(*parser.finish())
    except ParseError as error:
        raise parse_failure(path, error) from None


def _check_size(path: Path, found: int, most: int, what: str) -> None:
    if found > most:
        raise PatternError(f"{path}: found {found} {what}, expected a pattern of at most {most}")


def _build_pattern(columns: _Columns, name: str) -> Pattern:
    builder = PatternBuilder()
    names = _listed(columns.vertex_names)
    for vertex, label in zip(columns.vertices.tolist(), columns.vertex_labels.tolist(), strict=True):
        builder.vertex(str(vertex), _label(label, names))
    sources, targets = columns.sources.tolist(), columns.targets.tolist()
    labels = [_WILDCARD] * len(sources) if columns.edge_labels is None else columns.edge_labels.tolist()
    names = _listed(columns.edge_names)
    for source, target, label in zip(sources, targets, labels, strict=True):
        builder.edge(str(source), str(target), _label(label, names))
    return builder.build(name=name)


def _listed(names: _Names | None) -> list[str] | None:
    return None if names is None else list(StringTable(*names))


def _label(label: int, names: list[str] | None) -> int | str | None:
    if label == _WILDCARD:
        return None
    return label if names is None else names[label]
