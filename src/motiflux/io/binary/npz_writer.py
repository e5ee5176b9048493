"""Graphs as NumPy archives (``.npz``), in the form that `motiflux.io.binary.npz` reads; streamed."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from motiflux.atomic import AtomicFile
from motiflux.errors import OutputError
from motiflux.graph import Column, Graph, Kind
from motiflux.io.files.sinks import CountingFile
from motiflux.io.tables.graph_tables import ID, LABEL, EdgeTable, VertexTable
from motiflux.io.tables.match_tables import Field

SUFFIX = ".npz"

UTC_KEY = "utc"
"""The key of the names of the keys that hold datetimes with a time zone."""

_PIECE = 1 << 20
"""Values written at once."""


def write(graph: Graph, path: Path) -> int:
    """Write an archive; return the bytes of the file.

    Ids other than ``0..n-1`` go into ``vertex_ids``, and edges name their positions there.

    Raises
    ------
    OutputError
        If the file cannot be written, or an attribute other than floats has missing values.
    """
    for table in (graph.vertex_attributes, graph.edge_attributes):
        for name, column in table.items():
            _check(path, f"the {table.of} attribute {name!r}", column)
    vertices, edges = VertexTable(graph), EdgeTable(graph)
    place = np.empty(graph.num_vertices, dtype=np.int64)
    place[vertices.order] = np.arange(graph.num_vertices)
    keys = {LABEL: "vertex_labels"}
    with AtomicFile(path) as file:
        counting = CountingFile(file)
        with zipfile.ZipFile(cast(BinaryIO, counting), "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            write_member(archive, "edges", np.dtype(np.int64), (len(edges), 2), edges.positions(place))
            write_member(archive, "directed", np.dtype(np.bool_), (), [np.array(graph.directed)])
            if np.array_equal(graph.vertex_ids[vertices.order], np.arange(graph.num_vertices)):
                number = np.array(graph.num_vertices, dtype=np.int64)
                write_member(archive, "num_vertices", number.dtype, (), [number])
            else:
                keys[ID] = "vertex_ids"
            _columns(archive, vertices, keys, "vertex.")
            _columns(archive, edges, {LABEL: "edge_labels"}, "edge.")
            _note_zones(archive, graph)
        return counting.tell()


def _check(path: Path, what: str, column: Column) -> None:
    if column.mask is None or column.times is not None or column.kind in (Kind.FLOAT, Kind.NOTHING):
        return
    raise OutputError(
        f"{path}: .npz holds missing values of floats and datetimes only, "
        f"found some among the {column.kind.value} of {what}"
    )


def _note_zones(archive: zipfile.ZipFile, graph: Graph) -> None:
    """Write the keys of the datetimes that have a time zone, which NumPy's do not say."""
    tables = ((f"{table.of}.", table) for table in (graph.vertex_attributes, graph.edge_attributes))
    kinds = ((prefix + name, kind) for prefix, table in tables for name, kind in table.kinds().items())
    keys = np.array([key for key, kind in kinds if kind is Kind.DATETIME_UTC], dtype=np.str_)
    if len(keys):
        write_member(archive, UTC_KEY, keys.dtype, keys.shape, [keys])


def _columns(
    archive: zipfile.ZipFile, table: EdgeTable | VertexTable, keys: Mapping[str, str], prefix: str
) -> None:
    """Write the columns that `keys` names, and all attributes."""
    for at, field in enumerate(table.fields):
        key = prefix + field.name if at >= table.fixed else keys.get(field.name)
        if key is not None:
            dtype = _npy_type(field)
            parts = (_values(columns[at], field, dtype) for columns in table.tables())
            write_member(archive, key, dtype, (len(table),), parts)


def _npy_type(field: Field) -> np.dtype[Any]:
    if field.strings is not None:
        return np.dtype(f"<U{max(map(len, field.strings), default=1) or 1}")
    if field.times is not None:
        return np.dtype("datetime64[ns]")
    return np.dtype(np.float64) if field.kind is Kind.NOTHING else field.dtype


def _values(column: Column, field: Field, dtype: np.dtype[Any]) -> NDArray[Any]:
    if field.strings is not None:
        texts = [field.strings[code] for code in column.data.tolist()]
        return np.array(texts, dtype=dtype)
    if column.times is not None:
        return column.to_numpy()
    if field.kind is Kind.NOTHING:
        return np.full(len(column), np.nan)
    if column.kind is Kind.FLOAT and column.mask is not None:
        return np.where(column.mask, column.data.dtype.type(np.nan), column.data)
    return column.data


def write_member(
    archive: zipfile.ZipFile,
    key: str,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    parts: Iterable[NDArray[Any]],
) -> None:
    """Add an array to an archive, from its parts one after the other."""
    info = zipfile.ZipInfo(f"{key}.npy")  # without the time of writing: equal graphs give equal files
    with archive.open(info, "w", force_zip64=True) as member:
        header = io.BytesIO()
        described = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(header, described)
        member.write(header.getvalue())
        for part in parts:
            content = np.ascontiguousarray(part, dtype=dtype).reshape(-1)
            for start in range(0, len(content), _PIECE):  # between two, Ctrl-C is answered
                member.write(content[start : start + _PIECE].tobytes())
