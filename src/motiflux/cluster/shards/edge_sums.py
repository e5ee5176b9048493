"""The edges of a sharded graph that have counts: sums of all tasks, in ranges of rows, as tables or files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.api.per_vertex import divided_by
from motiflux.cluster.folder import Folder
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.cluster.shards.pairs import Keys, Runs, Sums, ends_of, sums_by_ranges
from motiflux.cluster.shards.rows import Rows, Slices
from motiflux.cluster.shards.search import SHARE_OF_ROWS
from motiflux.cluster.shards.server import Served, ids_of, rows_of
from motiflux.conditions import Condition
from motiflux.cpu.image_counts import exact
from motiflux.errors import CountOverflowError
from motiflux.graph import Column, Direction
from motiflux.packages import require
from motiflux.result.arc_counts import sum_of
from motiflux.result.columns import label_column
from motiflux.result.tabled import Tabled, integer_column

_SHARE_OF_SUMS = 4
"""Sums take one part of so many of the memory of a task."""
_BYTES_OF_NUMBER = 8


@dataclass(frozen=True, slots=True)
class EdgePart:
    """Numbers of pairs that a query edge has at the edges between them.

    Parameters
    ----------
    search, place
        The search that counted them, and their sum there.
    times
        Numbers are multiplied by it.
    labels, where
        Codes of the labels of edges that have the numbers, and a condition on these edges; None: all.
    """

    search: int
    place: int
    times: int
    labels: tuple[int, ...] | None = None
    where: Condition | None = None


@dataclass(frozen=True, slots=True)
class EdgeColumn:
    """The numbers of a query edge: the sum of parts, divided by a number; without parts they are 0."""

    name: str
    divisor: int = 1
    parts: tuple[EdgePart, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Edges and a number for each column, by ascending ends.

    Parameters
    ----------
    sources, targets
        Internal ids.
    labels
        Codes; None where all edges have one label.
    counts
        [edges, columns]: int64, or Python integers.
    """

    sources: Ids
    targets: Ids
    labels: NDArray[np.uint32] | None
    counts: NDArray[Any]

    def none(self) -> Edges:
        """Return the same columns without edges."""
        labels = None if self.labels is None else self.labels[:0]
        return Edges(self.sources[:0], self.targets[:0], labels, self.counts[:0])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, of which Python integers are references."""
        labels = 0 if self.labels is None else self.labels.nbytes
        return self.sources.nbytes + self.targets.nbytes + labels + self.counts.nbytes


@dataclass(frozen=True, slots=True)
class SumsOfEdges:
    """The files that tasks wrote, and the columns that are made of them.

    Parameters
    ----------
    runs
        The paths of the files of each search.
    either
        Whether a column counts both directions of pairs of a directed graph.
    """

    served: Served
    runs: tuple[tuple[str, ...], ...]
    columns: tuple[EdgeColumn, ...]
    either: bool

    def tables(self, first: int, last: int) -> list[Edges]:
        """Return the edges whose sources are in a range, of which some column has a number above 0."""
        return list(self._pieces(first, last))

    def files(self, first: int, last: int, folder: str, name: str, head: EdgeTable) -> tuple[int, int]:
        """Write the same into Parquet files; return the numbers of rows and files."""
        ids, rows, files = ids_of(self.served), 0, 0
        for files, piece in enumerate(self._pieces(first, last), 1):
            if piece.counts.dtype == object:
                raise CountOverflowError(
                    "count_per_edge: output=: expected counts of 64 bits, found one beyond 2^63 - 1: "
                    "without output= they are Python integers"
                )
            table = head.of(_ids_at(ids, piece.sources), _ids_at(ids, piece.targets), piece)
            Folder(folder).write(f"{name}-{files - 1:05}.parquet", table.parquet())
            rows += len(table)
        return rows, files

    def _pieces(self, first: int, last: int) -> Iterator[Edges]:
        places: dict[int, list[int]] = {}
        every = [part for column in self.columns for part in column.parts]
        for part in every:
            if part.place not in places.setdefault(part.search, []):
                places[part.search].append(part.place)
        opened = {search: Runs(self.runs[search], own) for search, own in places.items()}
        room = self.served.memory // (_SHARE_OF_SUMS * (1 + max(len(every), len(self.columns))))
        for sums_of in sums_by_ranges(list(opened.values()), first << 32, last << 32, room):
            found = {
                (search, place): sums
                for search, of_search in zip(opened, sums_of, strict=True)
                for place, sums in zip(places[search], of_search, strict=True)
            }
            piece = self._edges(found)
            if len(piece.sources):
                yield piece

    def _edges(self, found: Mapping[tuple[int, int], Sums]) -> Edges:
        """Return the edges between pairs of which a column has a number above 0."""
        keys = np.unique(np.concatenate([one for one, _, _ in found.values()]))
        sources, targets = ends_of(keys)
        layout, kinds, labels = self.served.layout, None, None
        if len(layout.edge_label_table) > 1 or self.either:
            rows = rows_of(self.served, SHARE_OF_ROWS)
            layout = rows.layout
            at, kinds = edges_between(rows, sources, targets)
            sources, targets, keys = sources[at], targets[at], keys[at]
            labels = layout.edge_label_of(kinds) if len(layout.edge_label_table) > 1 else None
        columns = []
        for column in self.columns:
            numbers: NDArray[Any] = np.zeros(len(keys), np.int64)
            for part in column.parts:
                more = _numbers_at(keys, found[part.search, part.place], part.times)
                if kinds is not None and (part.labels is not None or part.where is not None):
                    more[~layout.kinds_of(Direction.EITHER, part.labels, part.where)[kinds]] = 0
                numbers = sum_of(numbers, more)
            columns.append(divided_by(numbers, column.divisor))
        counts = np.stack(columns, axis=1)
        if counts.dtype == object and counts.max(initial=0) < 2**63:
            counts = counts.astype(np.int64)
        return _above_zero(Edges(sources, targets, labels, counts))


def _numbers_at(keys: Keys, found: Sums, times: int) -> NDArray[Any]:
    """Return the numbers of pairs by their keys, some of which may be there several times; 0 for others."""
    own, words, above = found
    if not len(own):
        return np.zeros(len(keys), np.int64)
    more = [(int(np.searchsorted(own, np.uint64(key))), one) for key, one in above.items()]
    exactly = exact(words, 1, more, times)
    at = np.minimum(np.searchsorted(own, keys), len(own) - 1)
    return np.where(own[at] == keys, exactly[at], 0)


def edges_between(rows: Rows, sources: Ids, targets: Ids) -> tuple[Ids, NDArray[np.uint32]]:
    """Return the edges from sources to targets: the place of the pair of each, and its kind.

    Pairs are distinct, and ascend by source and target. A piece has all entries of each.
    """
    layout = rows.layout
    places, found = [np.empty(0, np.int64)], [np.empty(0, np.uint32)]
    for begin in range(0, len(sources), rows.window):
        ids, wanted = sources[begin : begin + rows.window], targets[begin : begin + rows.window]
        done = begin
        for piece in rows.pieces(ids, Slices(wanted, wanted + 1)):
            lengths = piece.lengths
            at = np.repeat(np.arange(len(lengths)), lengths)
            entries = np.arange(len(at)) + (piece.begins - (np.cumsum(lengths) - lengths))[at]
            kinds = np.zeros(len(at), np.uint8) if piece.kinds is None else piece.kinds[entries]
            outward = layout.side_of(kinds) == 0
            places.append(done + at[outward])
            found.append(kinds[outward].astype(np.uint32))
            done += len(piece.ids)
    return np.concatenate(places), np.concatenate(found)


def _above_zero(edges: Edges) -> Edges:
    kept = np.asarray(edges.counts > 0, np.bool_).any(axis=1)
    labels = None if edges.labels is None else edges.labels[kept]
    return Edges(edges.sources[kept], edges.targets[kept], labels, edges.counts[kept])


def _ids_at(ids: Any, vertices: Ids) -> Ids:
    distinct, back = np.unique(vertices, return_inverse=True)
    found: Ids = ids.of(distinct)[back]
    return found


@dataclass(frozen=True, slots=True)
class EdgeTable:
    """The columns of files of edges.

    Parameters
    ----------
    titles
        The names of the columns of counts.
    """

    titles: tuple[str, ...]
    layout: Layout
    metadata: Mapping[str, str]

    def of(self, sources: Ids, targets: Ids, edges: Edges) -> _Table:
        """Return the table of some edges."""
        columns = {"src": Column(sources), "dst": Column(targets)}
        if edges.labels is not None:
            columns["label"] = label_column(self.layout.edge_label_table, edges.labels, len(sources))
        for at, title in enumerate(self.titles):
            columns[titled(title, columns)] = integer_column(edges.counts[:, at])
        return _Table(columns, self.metadata)

    def empty(self) -> bytes:
        """Return a file without rows."""
        none = np.empty(0, np.int64)
        labels = np.empty(0, np.uint32) if len(self.layout.edge_label_table) > 1 else None
        counts = np.empty((0, len(self.titles)), np.int64)
        return self.of(none, none, Edges(none, none, labels, counts)).parquet()


def titled(name: str, taken: Mapping[str, Any]) -> str:
    """Return the title of a column of counts beside others."""
    while name in taken:
        name = f"count of {name}"
    return name


class _Table(Tabled):
    def __init__(self, columns: Mapping[str, Column], metadata: Mapping[str, str]) -> None:
        self._of_table, self._metadata = columns, metadata

    def __len__(self) -> int:
        return len(self._of_table["src"].data)

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata of files."""
        return dict(self._metadata)

    def _columns(self) -> Mapping[str, Column]:
        return self._of_table

    def parquet(self) -> bytes:
        """Return the table as a Parquet file."""
        pa = require("pyarrow", "count_per_edge: output=")
        pq = require("pyarrow.parquet", "count_per_edge: output=")
        sink = pa.BufferOutputStream()
        pq.write_table(self.to_arrow(), sink, compression="zstd")
        found: bytes = sink.getvalue().to_pybytes()
        return found
