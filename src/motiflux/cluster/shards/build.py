"""Building of sharded graphs from many files, in stages of tasks; no task has more than a part of the graph.

    scatter    file i       reads its edges; each end's half goes to a partition, by a hash of its id
    number     partition p  has the vertices of a hash, with all their edges: distinct ones, degrees
               driver       turns the degrees of all partitions into first ids by ascending degree
    rename     partition p  replaces its vertices by their internal ids; halves go to their other ends
    meet       partition q  replaces the other ends too; entries go to the shard of their row
    assemble   shard s      sorts its rows and writes them

Between stages there are files in the folder, each of which appears whole, so that a task may run twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.attributes import (
    EDGE,
    Types,
    joined,
    placed,
    read_columns,
    sections_of,
    types_of,
)
from motiflux.cluster.shards.between import BETWEEN, HALVES, MULTIPLIER, between_file, partition_of, split
from motiflux.cluster.shards.build_copies import (
    copies_of,
    kept_attributes,
    rename_copies,
    scatter_copies,
    send_copies,
)
from motiflux.cluster.shards.copies import CopiesOfFiles
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.cluster.shards.rows import Piece, RowArrays
from motiflux.cluster.shards.store import shard_path, write_rows
from motiflux.errors import FormatError, GraphError
from motiflux.graph import AttributeTable, Column
from motiflux.graph.attributes.table import make_attributes
from motiflux.io.binary.sections import SectionFile, write_sections
from motiflux.types import MAX_VERTICES, Label

_SKETCH_ENTRIES = 400_000
"""About the number of entries of a sketch."""
_NO_LABEL = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Scattered:
    """The properties of a file that was read.

    Parameters
    ----------
    vertex_labels, edge_labels
        The labels that occur in it: none if it has no vertices, or no edges.
    copies
        Number of edges with multiplicity.
    attributes
        The types of the columns of vertices that it has.
    edge_attributes
        The types of the columns of edges that it has.
    """

    path: str
    directed: bool
    vertex_labels: tuple[Label, ...]
    edge_labels: tuple[Label, ...]
    self_loops: int
    copies: int
    attributes: Types = field(default_factory=dict)
    edge_attributes: Types = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Numbered:
    """The degrees that occur in a partition, ascending, and the number of vertices of each."""

    degrees: Ids
    vertices: Ids


def _read(path: Path, names: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    file = SectionFile(path)
    return {name: file.sound_array(name, kind, 1) for name, kind in names.items()}


def _read_all(paths: Sequence[Path], names: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    found = [_read(path, names) for path in paths]
    return {name: np.concatenate([one[name] for one in found]) for name in names}


_VERTICES = {"ids": "<i8", "labels": "<u4"}


def scatter(
    path: str,
    number: int,
    folder: str,
    partitions: int,
    options: Mapping[str, Any],
    *,
    vertices: bool,
    copies: bool = False,
    kept: Sequence[Any] | None = None,
) -> Scattered:
    """Read a file of edges, or of vertices and their labels, and write its halves for each partition.

    Parameters
    ----------
    copies
        Whether copies of edges are written as well, with their attributes.
    kept
        The attributes that are kept of those that the file has; None: all.
    """
    if vertices:
        return _scatter_vertices(path, number, folder, partitions, options)
    from motiflux.io import read_graph

    graph = read_graph(path, threads=1, self_loops="drop", **options)
    _check_ids(path, graph.vertex_ids)
    edges = graph.to_edges()
    ends = edges.src.astype(np.int64), edges.dst.astype(np.int64)
    labels = np.zeros(len(ends[0]), np.uint32)
    table = graph.edge_label_table.values
    if edges.labels is not None and len(table) > 1:
        labels = np.searchsorted(np.array(table), edges.labels).astype(np.uint32)
    sides = 2 if graph.directed else 1
    columns = {
        "own": np.concatenate(ends),
        "other": np.concatenate(ends[::-1]),
        "kind": np.concatenate([sides * labels, sides * labels + (1 if graph.directed else 0)]),
    }
    attributes = kept_attributes(path, graph.edge_attributes, kept) if copies else AttributeTable(EDGE)
    if copies:
        scatter_copies(number, folder, partitions, columns, graph, attributes)
    named = graph.vertex_label_table.values
    codes = np.full(graph.num_vertices, _NO_LABEL)
    if named != (0,):
        codes = (
            np.zeros(graph.num_vertices, np.uint32) if graph.vertex_labels is None else graph.vertex_labels
        )
    ids = graph.vertex_ids.astype(np.int64)
    _write(number, folder, partitions, columns, ids, codes)
    return Scattered(
        path,
        graph.directed,
        () if named == (0,) else named,
        table if len(ends[0]) else (),
        graph.self_loops_dropped,
        graph.num_edge_copies,
        edge_attributes=types_of(attributes),
    )


def _scatter_vertices(
    path: str, number: int, folder: str, partitions: int, options: Mapping[str, Any]
) -> Scattered:
    from motiflux.graph.labels import encode_labels
    from motiflux.io.registry import read_vertex_file

    found = read_vertex_file(Path(path), **options)
    _check_ids(path, found.ids)
    table, codes = encode_labels(found.labels, len(found.ids), "vertex_labels")
    if codes is None:
        codes = np.full(len(found.ids), _NO_LABEL if found.labels is None else 0, np.uint32)
    empty = {name: np.empty(0, kind) for name, kind in HALVES.items()}
    _write(number, folder, partitions, empty, found.ids.astype(np.int64), codes)
    named = () if found.labels is None or not len(found.ids) else table.values
    attributes = make_attributes("vertex", found.attributes, len(found.ids))
    if attributes:
        rows = {"row": np.arange(len(found.ids))}
        parts = split(partition_of(found.ids, partitions), partitions, rows)
        for partition, part in enumerate(parts):
            facts, arrays = sections_of(attributes.take(part["row"]))
            arrays["ids"] = found.ids[part["row"]].astype(np.int64)
            write_sections(between_file(folder, "columns", number, partition), facts, arrays)
    return Scattered(path, False, named, (), 0, 0, types_of(attributes))


def _check_ids(path: str, ids: NDArray[Any]) -> None:
    if ids.dtype.kind != "i":
        example = f", such as {str(ids[0])!r}" if len(ids) else ""
        raise FormatError(Path(path), f"expected integer ids for a sharded graph, found strings{example}")


def _write(
    number: int,
    folder: str,
    partitions: int,
    halves: Mapping[str, NDArray[Any]],
    ids: Ids,
    labels: NDArray[np.uint32],
) -> None:
    parts = split(partition_of(halves["own"], partitions), partitions, halves)
    vertices = split(partition_of(ids, partitions), partitions, {"ids": ids, "labels": labels})
    for partition in range(partitions):
        write_sections(
            between_file(folder, "halves", number, partition), {}, {**parts[partition], **vertices[partition]}
        )


def number(
    partition: int,
    folder: str,
    sides: int,
    label_codes: Sequence[tuple[NDArray[np.uint32], NDArray[np.uint32]]],
    *,
    labelled: bool,
) -> Numbered:
    """Gather the vertices and distinct halves of a partition.

    Parameters
    ----------
    label_codes
        For each file the codes of its vertex labels and of its edge labels among those of all files.
    labelled
        Whether each vertex needs a label.
    """
    halves, vertices = [], []
    for file, (of_vertices, of_edges) in enumerate(label_codes):
        found = _read(between_file(folder, "halves", file, partition), HALVES | _VERTICES)
        kinds = (
            of_edges[found["kind"] // sides] * sides + found["kind"] % sides
            if len(of_edges)
            else found["kind"]
        )
        halves.append((found["own"], found["other"], kinds.astype(np.uint32)))
        labels = found["labels"].copy()
        known = labels != _NO_LABEL
        labels[known] = of_vertices[labels[known]]
        vertices.append((found["ids"], labels))
    own, other, kinds = (np.concatenate(column) for column in zip(*halves, strict=True))
    order = np.lexsort((kinds, other, own))
    own, other, kinds = own[order], other[order], kinds[order]
    first = np.ones(len(own), np.bool_)
    first[1:] = (own[1:] != own[:-1]) | (other[1:] != other[:-1]) | (kinds[1:] != kinds[:-1])
    own, other, kinds = own[first], other[first], kinds[first]
    every, of_every = (np.concatenate(column) for column in zip(*vertices, strict=True))
    ids, labels = _labelled(every, of_every, labelled)
    at = np.searchsorted(ids, own)
    sizes = np.bincount(at, minlength=len(ids)).astype(np.int64)
    write_sections(
        Path(folder, BETWEEN, f"partition-{partition:05}"),
        {},
        {
            "ids": ids,
            "labels": labels,
            "sizes": sizes,
            "own": at.astype(np.uint32),
            "other": other,
            "kind": kinds,
        },
    )
    degrees, numbers = np.unique(sizes, return_counts=True)
    return Numbered(degrees.astype(np.int64), numbers.astype(np.int64))


def _labelled(ids: Ids, labels: NDArray[np.uint32], needed: bool) -> tuple[Ids, NDArray[np.uint32]]:
    """Return the distinct ids, ascending, and their labels: 0 where none has any.

    Raises
    ------
    GraphError
        A vertex has two labels, or none.
    """
    order = np.lexsort((labels, ids))
    ids, labels = ids[order], labels[order]
    begins = np.ones(len(ids), np.bool_)
    begins[1:] = ids[1:] != ids[:-1]
    # Of each id the least label comes first; no label is the greatest.
    differs = ~begins & (labels != _NO_LABEL)
    differs[1:] &= labels[1:] != labels[:-1]
    if differs.any():
        odd = ids[int(differs.argmax())]
        raise GraphError(f"vertices: expected one label of each vertex, found two of {odd}")
    ids, labels = ids[begins], labels[begins]
    missing = labels == _NO_LABEL
    if needed and missing.any():
        odd = ids[int(missing.argmax())]
        raise GraphError(f"vertices: expected a label of each vertex, found none of {odd}")
    labels[missing] = 0
    return ids, labels


def first_ids(numbered: Sequence[Numbered]) -> tuple[Ids, Ids, list[Ids]]:
    """Return the degrees that occur, the number of vertices of each, and each partition's first ids.

    Vertices of one degree follow one another by partition; a partition's first ids are in the order of its
    degrees.

    Raises
    ------
    GraphError
        There are too many vertices.
    """
    degrees = np.unique(np.concatenate([one.degrees for one in numbered]))
    table = np.zeros((len(numbered), len(degrees)), np.int64)
    for row, one in zip(table, numbered, strict=True):
        row[np.searchsorted(degrees, one.degrees)] = one.vertices
    vertices = table.sum(axis=0)
    if int(vertices.sum()) > MAX_VERTICES:
        raise GraphError(f"expected at most {MAX_VERTICES:,} vertices, found {int(vertices.sum()):,}")
    before = np.cumsum(table, axis=0) - table + np.cumsum(vertices) - vertices
    firsts = [row[np.searchsorted(degrees, one.degrees)] for row, one in zip(before, numbered, strict=True)]
    return degrees, vertices, firsts


def rename(
    partition: int,
    folder: str,
    partitions: int,
    numbered: Numbered,
    firsts: Ids,
    sides: int = 1,
    copies: CopiesOfFiles | None = None,
) -> None:
    """Give the vertices of a partition their internal ids, and send halves to the other ends."""
    names = {**_VERTICES, "sizes": "<i8", "own": "<u4", "other": "<i8", "kind": "<u4"}
    found = _read(Path(folder, BETWEEN, f"partition-{partition:05}"), names)
    order = np.argsort(found["sizes"], kind="stable")
    new = np.empty(len(order), np.uint32)
    behind = np.cumsum(numbered.vertices) - numbered.vertices
    new[order] = np.repeat(firsts - behind, numbered.vertices) + np.arange(len(order))
    write_sections(
        Path(folder, BETWEEN, f"vertices-{partition:05}"),
        {},
        {"ids": found["ids"], "new": new, "labels": found["labels"]},
    )
    halves = {"row": new[found["own"]], "other": found["other"], "kind": found["kind"]}
    parts = split(partition_of(found["other"], partitions), partitions, halves)
    for other, columns in enumerate(parts):
        write_sections(between_file(folder, "renamed", partition, other), {}, columns)
    if copies is not None:
        rename_copies(partition, folder, partitions, (found["ids"], new), sides, copies)


def meet(
    partition: int,
    folder: str,
    partitions: int,
    layout: Layout,
    files: Sequence[int],
    *,
    copies: bool = False,
) -> None:
    """Replace the other ends, whose partition this is, and send entries to the shards of their rows.

    Parameters
    ----------
    files
        The numbers of files that have attributes, which go to the shards of their vertices.
    copies
        Whether there are copies of edges.
    """
    names = {"ids": "<i8", "new": "<u4", "labels": "<u4"}
    vertices = _read(Path(folder, BETWEEN, f"vertices-{partition:05}"), names)
    halves = _read_all(
        [between_file(folder, "renamed", other, partition) for other in range(partitions)],
        {"row": "<u4", "other": "<i8", "kind": "<u4"},
    )
    at = np.searchsorted(vertices["ids"], halves["other"])
    number = np.uint32(len(layout.vertex_label_table))
    entries = {
        "row": halves["row"],
        "neighbor": vertices["new"][at],
        "kind": halves["kind"] * number + vertices["labels"][at],
    }
    shards = len(layout.starts) - 1
    parts = split(layout.shards_of(entries["row"].astype(np.int64)), shards, entries)
    named = split(layout.shards_of(vertices["new"].astype(np.int64)), shards, vertices)
    for shard in range(shards):
        write_sections(
            between_file(folder, "entries", partition, shard), {}, {**parts[shard], **named[shard]}
        )
    if files:
        _send_columns(partition, folder, layout, files, vertices)
    if copies:
        send_copies(partition, folder, partitions, layout, vertices)


def _send_columns(
    partition: int,
    folder: str,
    layout: Layout,
    files: Sequence[int],
    vertices: Mapping[str, NDArray[Any]],
) -> None:
    """Send the attributes of the vertices of a partition to their shards.

    Raises
    ------
    GraphError
        A vertex has those of two rows.
    """
    every, tables = [], []
    for number in files:
        file = SectionFile(between_file(folder, "columns", number, partition))
        file.verify()
        every.append(file.array("ids", "<i8", 1))
        tables.append((len(every[-1]), read_columns(file, len(every[-1]))))
    ids = np.concatenate(every)
    ordered = np.sort(ids)
    if len(twice := ordered[1:][ordered[1:] == ordered[:-1]]):
        raise GraphError(
            f"vertices: expected one row of attributes of each vertex, found two of {int(twice[0])}"
        )
    columns = AttributeTable("vertex", joined(tables, layout.attributes))
    new = vertices["new"][np.searchsorted(vertices["ids"], ids)].astype(np.int64)
    shards = len(layout.starts) - 1
    parts = split(layout.shards_of(new), shards, {"new": new, "row": np.arange(len(new))})
    for shard, part in enumerate(parts):
        facts, arrays = sections_of(columns.take(part["row"]))
        arrays["new"] = part["new"]
        write_sections(between_file(folder, "attributes", partition, shard), facts, arrays)


def _columns_of(shard: int, folder: str, partitions: int, layout: Layout) -> dict[str, Column]:
    """Return the attributes of the vertices of a shard, in their order."""
    if not layout.attributes:
        return {}
    places, tables = [], []
    for partition in range(partitions):
        file = SectionFile(between_file(folder, "attributes", partition, shard))
        file.verify()
        places.append(file.array("new", "<i8", 1) - layout.starts[shard])
        tables.append((len(places[-1]), read_columns(file, len(places[-1]))))
    size = int(layout.starts[shard + 1] - layout.starts[shard])
    return placed(joined(tables, layout.attributes), np.concatenate(places), size)


def assemble(shard: int, folder: str, partitions: int, layout: Layout) -> Piece:
    """Write the rows of a shard; return its part of the sketch."""
    found = [
        _read(
            between_file(folder, "entries", partition, shard),
            {"row": "<u4", "neighbor": "<u4", "kind": "<u4", "ids": "<i8", "new": "<u4", "labels": "<u4"},
        )
        for partition in range(partitions)
    ]
    columns = {name: np.concatenate([one[name] for one in found]) for name in found[0]}
    found.clear()
    first, last = int(layout.starts[shard]), int(layout.starts[shard + 1])
    order = np.lexsort((columns["kind"], columns["neighbor"], columns["row"]))
    row, neighbors = columns["row"][order], columns["neighbor"][order]
    kind_type = layout.kind_type
    kinds = None if kind_type is None else columns["kind"][order].astype(kind_type)
    vertex_ids = np.empty(last - first, np.int64)
    labels = np.empty(last - first, np.uint32)
    place = columns["new"].astype(np.int64) - first
    vertex_ids[place], labels[place] = columns["ids"], columns["labels"]
    offsets = np.searchsorted(row, np.arange(first, last + 1)).astype(np.uint64)
    labelled = len(layout.vertex_label_table) > 1
    rows = RowArrays(first, offsets, neighbors, kinds, labels if labelled else None)
    columns_of_vertices = _columns_of(shard, folder, partitions, layout)
    copies = None
    if layout.copies:
        copies = copies_of(shard, folder, partitions, layout, len(row))
    write_rows(shard_path(folder, shard), rows, vertex_ids, columns_of_vertices, copies)
    return _sampled(layout, row, neighbors, kinds, labels, first)


def _sampled(
    layout: Layout,
    row: NDArray[np.uint32],
    neighbors: NDArray[np.uint32],
    kinds: NDArray[Any] | None,
    labels: NDArray[np.uint32],
    first: int,
) -> Piece:
    """Return the entries of edges whose ends have a small hash; both entries of an edge have the same."""
    low, high = np.minimum(row, neighbors).astype(np.uint64), np.maximum(row, neighbors).astype(np.uint64)
    mixed = ((low << np.uint64(32)) ^ high) * MULTIPLIER
    share = min(1.0, _SKETCH_ENTRIES / max(1, layout.entries))
    chosen = (mixed >> np.uint64(40)) < np.uint64(share * (1 << 24))
    ids, lengths = np.unique(row[chosen], return_counts=True)
    return Piece.of(
        ids.astype(np.int64),
        labels[ids.astype(np.int64) - first],
        lengths.astype(np.int64),
        neighbors[chosen],
        None if kinds is None else kinds[chosen],
    )


def starts_of(degrees: Ids, vertices: Ids, shards: int) -> Ids:
    """Return the first vertices of shards of about equal size: 8 bytes for a vertex and 4 for an entry."""
    first = np.concatenate([[0], np.cumsum(vertices)])
    sizes = np.concatenate([[0], np.cumsum(vertices * (degrees + 2))])
    wanted = sizes[-1] * np.arange(1, shards) // shards
    at = np.searchsorted(sizes, wanted, side="right") - 1
    inside = first[at] + (wanted - sizes[at]) // (degrees[at] + 2)
    return np.concatenate([[0], inside, first[-1:]]).astype(np.int64)
