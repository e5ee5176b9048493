"""The stages of building a sharded graph for copies of edges; see `motiflux.cluster.shards.copies`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.attributes import EDGE
from motiflux.cluster.shards.between import HALVES, between_file, partition_of, split
from motiflux.cluster.shards.copies import (
    CopiesOfFiles,
    EdgeCopies,
    edges_of_copies,
    ordered,
    read_copies,
    write_copies,
)
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.errors import FormatError
from motiflux.graph import AttributeTable
from motiflux.io.binary.sections import SectionFile


def kept_attributes(path: str, attributes: AttributeTable, names: Sequence[Any] | None) -> AttributeTable:
    """Return some attributes of the edges of a file.

    Raises
    ------
    FormatError
        It does not have one of them.
    """
    if names is None:
        return attributes
    for name in names:
        if name not in attributes:
            raise FormatError(
                Path(path), f"expected the attribute {name!r} of edges, found {list(attributes)}"
            )
    return AttributeTable(EDGE, {name: attributes[name] for name in names})


def scatter_copies(
    number: int,
    folder: str,
    partitions: int,
    halves: Mapping[str, NDArray[Any]],
    graph: Any,
    attributes: AttributeTable,
) -> None:
    """Write the copies of the edges of a file, to the partitions of both ends."""
    edges = edges_of_copies(graph)
    half = np.concatenate([edges, edges + len(halves["own"]) // 2])
    rows = np.concatenate([np.arange(len(edges))] * 2)
    columns = {name: column[half] for name, column in halves.items()} | {"copy": rows}
    parts = split(partition_of(columns["own"], partitions), partitions, columns)
    for partition, part in enumerate(parts):
        copy = part.pop("copy")
        write_copies(between_file(folder, "copies", number, partition), attributes, part, copy)


def rename_copies(
    partition: int,
    folder: str,
    partitions: int,
    vertices: tuple[Ids, NDArray[np.uint32]],
    sides: int,
    copies: CopiesOfFiles,
) -> None:
    """Give one end of copies its internal id, and send copies to the partitions of the other ends."""
    paths = [between_file(folder, "copies", file, partition) for file in range(len(copies.codes))]
    found, table = read_copies(paths, HALVES, copies.types)
    sizes = [len(SectionFile(path).array("kind", "<u4", 1)) for path in paths]
    ends = np.cumsum([0, *sizes]).tolist()
    kinds = found["kind"]
    for codes, (begin, end) in zip(copies.codes, pairwise(ends), strict=True):
        own = kinds[begin:end]
        kinds[begin:end] = codes[own // sides] * sides + own % sides if len(codes) else own
    ids, new = vertices
    columns = {
        "row": new[np.searchsorted(ids, found["own"])],
        "other": found["other"],
        "kind": kinds,
        "copy": np.arange(len(kinds)),
    }
    parts = split(partition_of(found["other"], partitions), partitions, columns)
    for other, part in enumerate(parts):
        copy = part.pop("copy")
        write_copies(between_file(folder, "sent", partition, other), table, part, copy)


def send_copies(
    partition: int,
    folder: str,
    partitions: int,
    layout: Layout,
    vertices: Mapping[str, NDArray[Any]],
) -> None:
    """Send the copies whose other ends are in a partition to the shards of their rows."""
    paths = [between_file(folder, "sent", other, partition) for other in range(partitions)]
    names = {"row": "<u4", "other": "<i8", "kind": "<u4"}
    found, table = read_copies(paths, names, layout.edge_attributes)
    at = np.searchsorted(vertices["ids"], found["other"])
    columns = {
        "row": found["row"],
        "neighbor": vertices["new"][at],
        "kind": found["kind"] * np.uint32(len(layout.vertex_label_table)) + vertices["labels"][at],
        "copy": np.arange(len(at)),
    }
    shards = len(layout.starts) - 1
    parts = split(layout.shards_of(found["row"].astype(np.int64)), shards, columns)
    for shard, part in enumerate(parts):
        copy = part.pop("copy")
        write_copies(between_file(folder, "copies-of", partition, shard), table, part, copy)


def copies_of(shard: int, folder: str, partitions: int, layout: Layout, entries: int) -> EdgeCopies:
    """Return the copies of the entries of a shard."""
    paths = [between_file(folder, "copies-of", partition, shard) for partition in range(partitions)]
    names = {"row": "<u4", "neighbor": "<u4", "kind": "<u4"}
    found, table = read_copies(paths, names, layout.edge_attributes)
    return ordered(found["row"], found["neighbor"], found["kind"], table, entries)
