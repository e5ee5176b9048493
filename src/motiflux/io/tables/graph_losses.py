"""The data of a graph that a format cannot hold, and values that it cannot represent.

The first is left out with a warning that names it; the second is an error that names it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

from motiflux.errors import MotifluxWarning, OutputError
from motiflux.graph import AttributeTable, Graph, LabelTable
from motiflux.interop.mapping import TIME
from motiflux.io.tables.graph_tables import LABEL, has_edge_labels, has_vertex_labels, isolated
from motiflux.units import counted

_MOST_NAMES = 8


def warn_of_losses(
    path: Path,
    graph: Graph,
    *,
    keeps: Sequence[str] = (),
    edge_attributes: Iterable[str] = (),
    advice: str = "",
) -> None:
    """Warn of data of a graph that the file does not hold.

    Parameters
    ----------
    keeps
        The data that the format holds: ``"vertex labels"``, ``"edge labels"``, ``"vertex attributes"``,
        ``"edge attributes"``, ``"vertices"`` (vertices without an edge).
    edge_attributes
        Names of edge attributes that it has a place for.
    advice
        How to keep more.
    """
    lost = []
    if "vertex labels" not in keeps and has_vertex_labels(graph):
        lost.append("vertex labels")
    if "edge labels" not in keeps and has_edge_labels(graph):
        lost.append("edge labels")
    if "vertex attributes" not in keeps:
        lost += _named("vertex", graph.vertex_attributes, ())
    if "edge attributes" not in keeps:
        lost += _named("edge", graph.edge_attributes, edge_attributes)
    if "vertices" not in keeps and (alone := isolated(graph)):
        lost.append(f"{counted(alone, 'vertex')} without an edge")
    if lost:
        warnings.warn(
            f"{path}: left out, the file has no place for: {'; '.join(lost)}{advice}",
            MotifluxWarning,
            stacklevel=4,  # where write_graph was called
        )


def check_integer_ids(path: Path, graph: Graph, suffix: str) -> None:
    """Refuse ids that are strings or negative.

    Raises
    ------
    OutputError
        Names one.
    """
    ids = graph.vertex_ids
    if ids.dtype.kind == "U":
        example = f", such as {str(ids[0])!r}" if len(ids) else ""
        raise OutputError(f"{path}: {suffix} holds ids that are integers, found strings{example}")
    if len(ids) and int(ids.min()) < 0:
        raise OutputError(f"{path}: {suffix} holds ids of at least 0, found {int(ids.min())}")


def check_numbered_ids(path: Path, graph: Graph, suffix: str) -> int:
    """Return the difference of row numbers and ids: 1 for ids 0 to n - 1, with a warning; 0 for 1 to n.

    Raises
    ------
    OutputError
        There are others.
    """
    check_integer_ids(path, graph, suffix)
    ids, number = graph.vertex_ids, graph.num_vertices
    first, last = (int(ids.min()), int(ids.max())) if number else (1, 0)
    if last - first != number - 1 or first > 1:
        size = counted(number, "vertex")
        raise OutputError(
            f"{path}: {suffix} holds ids from 1 to {number} for {size}, found {first} to {last}"
        )
    if first == 0:
        warnings.warn(
            f"{path}: the vertices 0 to {last} are written as 1 to {number}, as {suffix} numbers them",
            MotifluxWarning,
            stacklevel=4,  # where write_graph was called
        )
    return 1 - first


def check_names(path: Path, graph: Graph, labels: LabelTable) -> None:
    """Refuse ids and labels that are the empty string: as a cell of text they would be missing.

    Raises
    ------
    OutputError
        Says where.
    """
    ids = graph.vertex_ids
    if ids.dtype.kind == "U" and bool((ids == "").any()):
        raise OutputError(f"{path}: expected ids that are not empty, found '', which text has no form for")
    if "" in labels.values:
        raise OutputError(f"{path}: expected labels that are not empty, found '', which text has no form for")


def check_integer_labels(path: Path, graph: Graph, suffix: str, *, vertices: bool) -> None:
    """Refuse labels that are strings or negative, of edges, and of vertices where these count.

    Raises
    ------
    OutputError
        Names one.
    """
    tables = [("edge", graph.edge_label_table)]
    if vertices:
        tables.append(("vertex", graph.vertex_label_table))
    for what, table in tables:
        odd = next((label for label in table.values if isinstance(label, str) or label < 0), None)
        if odd is not None:
            raise OutputError(
                f"{path}: {suffix} holds {what} labels that are integers of at least 0, found {odd!r}"
            )


def check_column_names(path: Path, table: AttributeTable, taken: Sequence[str]) -> None:
    """Refuse attributes whose columns would be read as something else.

    Parameters
    ----------
    taken
        Names of the columns that are there besides.

    Raises
    ------
    OutputError
        Names one.
    """
    for name in table:
        lower = name.lower()
        is_label = lower == LABEL and LABEL not in taken
        is_time = table.of == "edge" and lower in (TIME, "timestamp") and name != TIME
        if name in taken or is_label or is_time:
            raise OutputError(
                f"{path}: expected another name for the {table.of} attribute {name!r}: "
                "as a column it would be read as something else"
            )


def _named(of: str, table: AttributeTable, kept: Iterable[str]) -> list[str]:
    names = [name for name in table if name not in kept]
    if not names:
        return []
    shown = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    return [f"{of} attributes ({shown})"]
