"""NumPy archives (``.npz``): ``edges`` and further arrays.

===============  =========  ==================================================================
key              shape      holds
===============  =========  ==================================================================
edges            [m, 2]     integers, vertex ids 0..n-1
vertex_labels    [n]        integers of any sign, or strings (optional)
edge_labels      [m]        integers of any sign, or strings (optional)
vertex.NAME      [n]        a vertex attribute: numbers, bools, strings or datetimes
edge.NAME        [m]        an edge attribute
timestamps       [m]        numbers or datetimes: the edge attribute ``time``
utc              [k]        strings, the keys of datetimes that have a time zone: UTC (optional)
vertex_ids       [n]        integers or strings, the ids of the vertices 0..n-1 (optional)
directed         []         bool (optional, False)
num_vertices     []         n (optional: the number of values a vertex has, else the largest id + 1)
===============  =========  ==================================================================

Other keys are ignored.
"""

from __future__ import annotations

import dataclasses
import io
import math
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from motiflux.errors import FormatError, GraphError
from motiflux.graph.attributes.columns import Kind, make_column
from motiflux.interop import GraphColumns
from motiflux.io.binary.npz_writer import UTC_KEY
from motiflux.io.build import build_graph
from motiflux.io.files.source import CHUNK_BYTES, is_compressed, open_source, read_chunks
from motiflux.types import MAX_VERTICES
from motiflux.units import counted

if TYPE_CHECKING:
    from motiflux.graph import Graph
    from motiflux.graph.assemble import SelfLoops

AnyArray: TypeAlias = NDArray[Any]

_Header: TypeAlias = tuple[tuple[int, ...], bool, np.dtype[Any]]
"""Shape, whether columns come first, and type."""
_Begin: TypeAlias = Callable[[tuple[int, ...], bool, np.dtype[Any]], Callable[[bytes], object]]

_MAX_ID = MAX_VERTICES - 1
_MAX_INT64 = 2**63 - 1
# More vertices than this need edges, or values of their own: one damaged number would fill the memory.
_FREE_VERTICES = 2**26
_VERTICES_PER_EDGE = 256
# Errors of the standard library on damaged archives.
_BAD_ARCHIVE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ArithmeticError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    ValueError,
)
# Errors of NumPy on damaged header text.
_BAD_HEADER = (
    tokenize.TokenError,
    ArithmeticError,
    LookupError,
    MemoryError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)


def read(
    path: Path,
    *,
    directed: bool | None = None,
    self_loops: SelfLoops = "warn",
    threads: int | None = None,
) -> Graph:
    """Read an archive; `directed` overrides its own value.

    Raises
    ------
    FormatError
        With the key, the row if there is one, the value found and the value expected.
    """
    with io.BytesIO(b"".join(read_chunks(path))) if is_compressed(path) else open_source(path) as content:
        archive = _Archive(path, content)
        edges = archive.edges()
        num_vertices = archive.num_vertices()
        vertex_ids = archive.labels("vertex_ids")
        vertex_labels = archive.labels("vertex_labels")
        edge_labels = archive.labels("edge_labels")
        vertex_attributes = archive.attributes("vertex.")
        edge_attributes = archive.attributes("edge.")
        times = archive.times()
        zoned = archive.zoned()
        says_directed = archive.directed()
    of_vertices = next(
        (one for one in (vertex_ids, vertex_labels, *vertex_attributes.values()) if one is not None), None
    )
    given = num_vertices is not None
    if num_vertices is None:
        num_vertices = _implied_vertices(edges, of_vertices)
    _check_length(path, "vertex_ids", vertex_ids, num_vertices, "vertices")
    _check_length(path, "vertex_labels", vertex_labels, num_vertices, "vertices")
    _check_length(path, "edge_labels", edge_labels, len(edges), "edges")
    for name, column in vertex_attributes.items():
        _check_length(path, f"vertex.{name}", column, num_vertices, "vertices")
    for name, column in edge_attributes.items():
        _check_length(path, f"edge.{name}", column, len(edges), "edges")
    if times is not None:
        _check_length(path, "timestamps", times, len(edges), "edges")
        edge_attributes["time"] = times
    _mark_zoned(path, zoned, {"vertex.": vertex_attributes, "edge.": edge_attributes})
    _check_ids(path, edges, num_vertices)
    if of_vertices is None:
        _check_size(path, num_vertices, len(edges), given=given)
    columns = GraphColumns(
        *edges.take(),
        vertex_ids=vertex_ids,
        num_vertices=num_vertices if vertex_ids is None else None,
        positions=vertex_ids is not None,
        vertex_labels=vertex_labels,
        edge_labels=edge_labels,
        vertex_attributes=vertex_attributes,
        edge_attributes=edge_attributes,
        directed=says_directed if directed is None else directed,
    )
    return build_graph(path, columns, self_loops=self_loops, threads=threads)


class _Edges:
    """The ends of edges as they are read: as 32-bit ids, with the position of the first invalid one."""

    def __init__(self) -> None:
        self._sources: list[NDArray[np.uint32]] = []
        self._targets: list[NDArray[np.uint32]] = []
        self._bad: tuple[int, int, int] | None = None
        self._length = 0
        self.largest = -1

    def __len__(self) -> int:
        return self._length

    def add(self, data: bytes, dtype: np.dtype[Any]) -> None:
        """Add the next edges; the rest at the end is not an edge."""
        edges = np.frombuffer(data, dtype, len(data) // dtype.itemsize // 2 * 2).reshape(-1, 2)
        if not edges.size:
            return
        low, high = int(edges.min()), int(edges.max())
        self.largest = max(self.largest, high)
        if self._bad is None and (low < 0 or high > _MAX_ID):
            row, column = np.argwhere((edges < 0) | (edges > _MAX_ID))[0].tolist()
            self._bad = self._length + row, column, int(edges[row, column])
        self._sources.append(edges[:, 0].astype(np.uint32))
        self._targets.append(edges[:, 1].astype(np.uint32))
        self._length += len(edges)

    def first_outside(self, num_vertices: int) -> tuple[int, int, int] | None:
        """Return row, column and value of the first id outside of ``0..num_vertices-1``."""
        if self._bad is None and self.largest < num_vertices:
            return None
        start = 0
        for sources, targets in zip(self._sources, self._targets, strict=True):
            if self._bad is not None and start + len(sources) > self._bad[0]:
                sources, targets = sources[: self._bad[0] - start], targets[: self._bad[0] - start]
            outside = np.argwhere(np.stack([sources, targets], axis=1) >= num_vertices)
            if outside.size:
                row, column = outside[0].tolist()
                return start + row, column, int((sources, targets)[column][row])
            start += len(sources)
            if self._bad is not None and start == self._bad[0]:
                break
        return self._bad

    def take(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return sources and targets, and keep nothing."""
        return _joined(self._sources), _joined(self._targets)


def _joined(chunks: list[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """Return the chunks in one array, and drop each as soon as it is copied."""
    whole = np.empty(sum(map(len, chunks)), dtype=np.uint32)
    start = 0
    chunks.reverse()
    while chunks:
        chunk = chunks.pop()
        whole[start : start + len(chunk)] = chunk
        start += len(chunk)
    return whole


class _Archive:
    """The arrays of one archive; the type and shape of each are checked on access."""

    def __init__(self, path: Path, content: IO[bytes]) -> None:
        self._path = path
        try:
            self._zip = zipfile.ZipFile(content)
        except (*_BAD_ARCHIVE, MemoryError) as error:
            raise self._fault(f"found no readable zip archive, expected one: {error}") from error
        self._keys = {
            name.removesuffix(".npy"): name for name in self._zip.namelist() if name.endswith(".npy")
        }

    def edges(self) -> _Edges:
        if "edges" not in self._keys:
            held = ", ".join(sorted(self._keys)) or "nothing"
            raise self._fault(f"edges: found no such key (the file holds {held}), expected integers [m, 2]")
        edges = _Edges()

        def begin(
            shape: tuple[int, ...], column_major: bool, dtype: np.dtype[Any]
        ) -> Callable[[bytes], object]:
            if dtype.kind not in "iu" or len(shape) != 2 or shape[1] != 2:
                raise self._mismatch("edges", dtype, shape, "integers [m, 2]")
            return (lambda _: None) if column_major else (lambda data: edges.add(data, dtype))

        if self._read("edges", begin)[1]:  # not how NumPy writes a list of edges; read whole
            columns = self._array("edges")
            edges.add(np.ascontiguousarray(columns).tobytes(), columns.dtype)
        return edges

    def labels(self, key: str) -> AnyArray | None:
        if key not in self._keys:
            return None
        labels = self._array(key)
        if labels.dtype.kind not in "iuU" or labels.ndim != 1:
            raise self._mismatch(key, labels.dtype, labels.shape, "integers or strings, 1-d")
        if labels.dtype.kind == "u" and labels.size and int(labels.max()) > _MAX_INT64:
            row = int(labels.argmax())
            raise self._fault(f"{key}[{row}]: found {labels[row]}, expected at most {_MAX_INT64}")
        return labels

    def attributes(self, prefix: str) -> dict[str, Any]:
        """Return the columns whose keys begin so, by the rest of the key."""
        columns: dict[str, Any] = {}
        for key in self._keys:
            name = key.removeprefix(prefix)
            if name and name != key:
                columns[name] = self._column(key, "biufUM", "numbers, bools, strings or datetimes, 1-d")
        return columns

    def zoned(self) -> list[str]:
        """Return the keys of datetimes that have a time zone."""
        if UTC_KEY not in self._keys:
            return []
        keys: list[str] = self._column(UTC_KEY, "U", "strings, 1-d").tolist()
        return keys

    def times(self) -> AnyArray | None:
        if "timestamps" not in self._keys:
            return None
        if "edge.time" in self._keys:
            raise self._fault("timestamps: found edge.time too, expected one of them")
        return self._column("timestamps", "iufM", "numbers or datetimes, 1-d")

    def _column(self, key: str, kinds: str, expected: str) -> AnyArray:
        array = self._array(key)
        if array.dtype.kind not in kinds or array.ndim != 1 or array.dtype == np.longdouble:
            raise self._mismatch(key, array.dtype, array.shape, expected)
        return array

    def directed(self) -> bool:
        if "directed" not in self._keys:
            return False
        flag = self._array("directed")
        if flag.dtype.kind not in "biu" or flag.size != 1:
            raise self._mismatch("directed", flag.dtype, flag.shape, "one bool")
        value = int(flag.reshape(()))
        if value not in (0, 1):
            raise self._fault(f"directed: found {value}, expected one bool")
        return bool(value)

    def num_vertices(self) -> int | None:
        if "num_vertices" not in self._keys:
            return None
        number = self._array("num_vertices")
        if number.dtype.kind not in "iu" or number.size != 1:
            raise self._mismatch("num_vertices", number.dtype, number.shape, "one integer")
        value = int(number.reshape(()))
        if not 0 <= value <= MAX_VERTICES:
            raise self._fault(f"num_vertices: found {value}, expected an integer from 0 to {MAX_VERTICES}")
        return value

    def _array(self, key: str) -> AnyArray:
        """Read one member whole."""
        data = bytearray()
        shape, column_major, dtype = self._read(key, lambda *_: data.extend)
        array: AnyArray = np.ndarray(shape, dtype, data, order="F" if column_major else "C")
        return array.astype(dtype.newbyteorder("="), copy=False)

    def _read(self, key: str, begin: _Begin) -> _Header:
        """Read one member in chunks; its size must agree with its header.

        `begin` is called with the header, and returns a function that takes the chunks. All but the last are
        `CHUNK_BYTES` long; the last may be one byte too long. At the end the checksum of the archive is
        compared.
        """
        try:
            with self._zip.open(self._plainly_compressed(key)) as member:
                header = self._header(key, member)
                take = begin(*header)
                shape, _, dtype = header
                size, found = math.prod(shape) * dtype.itemsize, 0
                while found <= size and (chunk := member.read(min(CHUNK_BYTES, size + 1 - found))):
                    found += len(chunk)
                    take(chunk)
            if found != size:
                size_text = counted(found, "byte") if found < size else "more bytes"
                raise self._fault(
                    f"{key}: found {size_text} of data, expected {size} as its header announces"
                )
        except FormatError:
            raise
        except _BAD_ARCHIVE as error:
            raise self._fault(f"{key}: the archive is damaged or cut short: {error}") from error
        return header

    def _plainly_compressed(self, key: str) -> zipfile.ZipInfo:
        info = self._zip.getinfo(self._keys[key])
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise self._fault(f"{key}: found zip method {info.compress_type}, expected stored or deflated")
        return info

    def _header(self, key: str, member: IO[bytes]) -> _Header:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                version = npy.read_magic(member)
                reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                shape, column_major, dtype = reader(member)
        except _BAD_HEADER as error:
            raise self._fault(f"{key}: found no NumPy array, expected one: {error}") from error
        if dtype.hasobject:
            raise self._fault(f"{key}: found pickled Python objects, expected a plain array")
        if dtype.itemsize == 0 or any(extent < 0 for extent in shape):
            raise self._fault(f"{key}: found dtype {dtype} and shape {shape}, expected a plain array")
        return shape, column_major, dtype

    def _mismatch(
        self, key: str, dtype: np.dtype[Any], extents: tuple[int, ...], expected: str
    ) -> FormatError:
        shape = ", ".join(map(str, extents))
        return self._fault(f"{key}: found {dtype} [{shape}], expected {expected}")

    def _fault(self, message: str) -> FormatError:
        return FormatError(self._path, message)


def _implied_vertices(edges: _Edges, of_vertices: AnyArray | None) -> int:
    if of_vertices is not None:
        return len(of_vertices)
    # An id that no graph can have is left to _check_ids, which names its row.
    return max(0, min(edges.largest, _MAX_ID) + 1)


def _check_size(path: Path, num_vertices: int, num_edges: int, *, given: bool) -> None:
    if num_vertices > max(_FREE_VERTICES, _VERTICES_PER_EDGE * num_edges):
        found = (
            f"num_vertices: found {num_vertices}" if given else f"edges: found an id of {num_vertices - 1}"
        )
        edges = counted(num_edges, "edge")
        raise FormatError(
            path, f"{found} with {edges}, expected at most {_VERTICES_PER_EDGE} vertices for each"
        )


def _mark_zoned(path: Path, keys: list[str], columns: dict[str, dict[str, Any]]) -> None:
    """Give datetimes that have a time zone their kind."""
    for key in keys:
        prefix, dot, name = key.partition(".")
        of_prefix = columns.get(prefix + dot, {})
        array = of_prefix.get(name)
        if not isinstance(array, np.ndarray) or array.dtype.kind != "M":
            raise FormatError(
                path, f"{UTC_KEY}: found {key!r}, expected the key of an attribute of datetimes"
            )
        try:
            column = make_column(array, key)
        except GraphError as error:
            raise FormatError(path, str(error)) from None
        of_prefix[name] = dataclasses.replace(column, times=Kind.DATETIME_UTC)


def _check_length(path: Path, key: str, array: Any, expected: int, what: str) -> None:
    if array is not None and len(array) != expected:
        raise FormatError(
            path,
            f"{key}: found {counted(len(array), 'entry')}, expected {expected}, the number of {what}",
        )


def _check_ids(path: Path, edges: _Edges, num_vertices: int) -> None:
    place = edges.first_outside(num_vertices)
    if place is None:
        return
    row, column, found = place
    expected = f"an id from 0 to {num_vertices - 1}" if num_vertices else "no edges, as there are no vertices"
    raise FormatError(path, f"edges[{row}, {column}]: found {found}, expected {expected}")
