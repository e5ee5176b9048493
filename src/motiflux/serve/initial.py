"""Monitors that begin with a graph: it is read once, and kept with the log until checkpoints have it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import FormatError, MotifluxError
from motiflux.graph import AttributeTable, Column, Graph, Kind
from motiflux.io import read_graph
from motiflux.serve.matching import new_monitor
from motiflux.serve.settings.parts import MonitorSettings, StreamSettings
from motiflux.stream.window import TIME_UNITS, nanoseconds


def initial_file(folder: Path, monitor: str) -> Path:
    """Return the file with the state that a monitor began with; it is missing if that was an empty graph."""
    return folder / f"{monitor}.initial"


def keep_initial(settings: MonitorSettings, stream: StreamSettings, folder: Path) -> None:
    """Read the graph that a new monitor begins with, and have the monitor's first state on disk.

    Raises
    ------
    FormatError
        The file cannot be read, or its graph does not fit the stream: names the monitor and the file.
    OutputError
        The state cannot be written.
    """
    file = initial_file(folder, settings.name)
    if settings.graph is None:
        file.unlink(missing_ok=True)  # of an earlier monitor of this name
        return
    try:
        graph = read_graph(settings.graph, directed=stream.directed)
        _check(graph, stream)
        if settings.graph_times is not None:
            graph = _with_times(graph, settings.graph_times, stream)
        monitor = new_monitor(settings, graph)
    except (MotifluxError, OSError) as error:
        raise FormatError(settings.graph, f"the graph of the monitor {settings.name!r}: {error}") from None
    with monitor:
        monitor.save(file)


def _check(graph: Graph, stream: StreamSettings) -> None:
    """Check that ids and labels are of the kinds of those in records.

    Raises
    ------
    FormatError
        They are not.
    """
    labels = {"vertex_labels": graph.vertex_label_table.values, "labels": graph.edge_label_table.values}
    found = {"ids": _kind(graph.vertex_ids)} | {key: _kind(np.asarray(one)) for key, one in labels.items()}
    for key, kind in found.items():
        expected = getattr(stream, key)
        is_plain = expected is None and labels[key] in ((), (0,))  # without labels, all are 0
        if graph.num_vertices and kind != expected and not is_plain:
            said = f"ids or labels of the kind of those in records, stream.{key} = {expected!r}"
            raise FormatError("graph", f"expected {said}, found {kind}")


def _with_times(graph: Graph, name: str, stream: StreamSettings) -> Graph:
    """Return a graph whose edges have times of the kind of those in records.

    Raises
    ------
    FormatError
        There is no such attribute, or it has no times.
    StreamError
        A time is out of range.
    """
    column = graph.edge_attributes.get(name)
    if column is None or (column.times is None and column.kind not in (Kind.INTEGER, Kind.FLOAT)):
        found = "none" if column is None else column.kind.value
        raise FormatError("graph_times", f"expected an attribute of edges with times, {name}, found {found}")
    moments, there = np.zeros(len(column), dtype=np.int64), ~column.missing()
    if column.times is None:
        unit = next(unit for unit, length in TIME_UNITS.items() if length == stream.unit)
        moments[there] = nanoseconds(column.data[there], unit)
    else:
        moments[there] = column.data[there]
    made = Column(moments, None if there.all() else ~there, None, Kind.DATETIME_UTC)
    return replace(graph, edge_attributes=AttributeTable("edge", {**graph.edge_attributes, name: made}))


def _kind(values: NDArray[np.generic]) -> str:
    return "integer" if values.dtype.kind in "iu" else "text"
