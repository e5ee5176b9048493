"""The files of a sharded graph in a folder: its layout, a sketch for planning, and its shards."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.atomic import AtomicFile
from motiflux.cluster.shards.attributes import EDGE, read_columns, sections_of, types_of
from motiflux.cluster.shards.copies import EdgeCopies
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.cluster.shards.rows import Piece, RowArrays
from motiflux.cluster.shards.sketch import sketch_of
from motiflux.errors import FormatError
from motiflux.graph import AttributeTable, Column, Graph
from motiflux.io.binary.sections import SectionFile, write_sections

LAYOUT, SKETCH = "layout.json", "sketch.rows"
_FORMAT = 1


def shard_path(folder: str, number: int) -> Path:
    """Return the file of a shard."""
    return Path(folder, f"shard-{number:05}.rows")


def write_rows(
    path: Path,
    rows: RowArrays,
    vertex_ids: Ids,
    attributes: Mapping[str, Column],
    copies: EdgeCopies | None = None,
) -> int:
    """Write the rows of a shard, and attributes of its vertices and edges; return the size of the file."""
    arrays: dict[str, NDArray[Any]] = {
        "offsets": rows.offsets,
        "neighbors": rows.neighbors,
        "vertex_ids": vertex_ids,
    }
    if rows.kinds is not None:
        arrays["kinds"] = rows.kinds
    if rows.labels is not None:
        arrays["labels"] = rows.labels
    facts, columns = sections_of(attributes)
    if copies is not None:
        of_edges, values = sections_of(copies.columns, EDGE)
        facts, columns = facts | of_edges, columns | values
        if copies.starts is not None:
            columns["copies"] = copies.starts
    return write_sections(path, {"first": rows.first, **facts}, arrays | columns)


def open_rows(path: Path, layout: Layout, number: int) -> RowArrays:
    """Return the rows of a shard, mapped.

    Raises
    ------
    FormatError
        The file is not that of the shard.
    """
    file = SectionFile(path)
    first, last = int(layout.starts[number]), int(layout.starts[number + 1])
    ends = layout.first_entries_of(np.array([first, last])) if last < layout.num_vertices else None
    begin = int(layout.first_entries_of(np.array([first]))[0]) if first < last else 0
    end = layout.entries if ends is None else int(ends[1])
    entries = end - begin if first < last else 0
    if file.facts.get("first") != first:
        raise FormatError(path, f"found rows from vertex {file.facts.get('first')}, expected {first}")
    kind = layout.kind_type
    labelled = len(layout.vertex_label_table) > 1
    return RowArrays(
        first,
        file.array("offsets", "<u8", (last - first + 1,)),
        file.array("neighbors", "<u4", (entries,)),
        None if kind is None else file.array("kinds", kind.str, (entries,)),
        file.array("labels", "<u4", (last - first,)) if labelled else None,
    )


def open_vertex_ids(path: Path, layout: Layout, number: int) -> Ids:
    """Return the ids of the vertices of a shard, mapped.

    Raises
    ------
    FormatError
        The file has others.
    """
    size = int(layout.starts[number + 1] - layout.starts[number])
    ids: Ids = SectionFile(path).array("vertex_ids", "<i8", (size,))
    return ids


def open_attributes(path: Path, layout: Layout, number: int) -> AttributeTable:
    """Return the attributes of the vertices of a shard, mapped.

    Raises
    ------
    FormatError
        The file has others.
    """
    size = int(layout.starts[number + 1] - layout.starts[number])
    file = SectionFile(path)
    columns = read_columns(file, size)
    if types_of(columns) != layout.attributes:
        raise FormatError(path, f"expected the attributes {list(layout.attributes)}, found {list(columns)}")
    return AttributeTable("vertex", columns)


def open_copies(path: Path, layout: Layout, number: int) -> EdgeCopies:
    """Return the copies of the entries of a shard, mapped.

    Raises
    ------
    FormatError
        The file has others.
    """
    file = SectionFile(path)
    ends = layout.starts[number : number + 2]
    entries = int(np.diff(_first_entries(layout, ends))[0])
    starts = file.array("copies", "<i8", (entries + 1,)) if "copies" in file.sections else None
    columns = read_columns(file, entries if starts is None else int(starts[-1]), EDGE)
    if types_of(columns) != layout.edge_attributes:
        expected = list(layout.edge_attributes)
        raise FormatError(path, f"expected the attributes of edges {expected}, found {list(columns)}")
    return EdgeCopies(starts, columns)


def _first_entries(layout: Layout, vertices: Ids) -> Ids:
    inside = np.minimum(vertices, layout.num_vertices - 1)
    return np.where(vertices < layout.num_vertices, layout.first_entries_of(inside), layout.entries)


def digest_of_shards(folder: str) -> str:
    """Return a digest that differs for graphs that were built apart."""
    digest = hashlib.blake2b(digest_size=16)
    for name in (LAYOUT, SKETCH):
        digest.update(Path(folder, name).read_bytes())
    return digest.hexdigest()


def write_layout(folder: str, layout: Layout, sketch: Piece) -> None:
    """Write the layout and the sketch; a folder without a layout is no sharded graph."""
    arrays: dict[str, NDArray[Any]] = {
        "ids": sketch.ids,
        "labels": sketch.labels,
        "lengths": sketch.lengths,
        "neighbors": sketch.neighbors,
    }
    if sketch.kinds is not None:
        arrays["kinds"] = sketch.kinds
    write_sections(Path(folder, SKETCH), {}, arrays)
    with AtomicFile(Path(folder, LAYOUT)) as file:
        file.write(json.dumps({"format": _FORMAT, "build": uuid.uuid4().hex, **layout.facts()}).encode())


def read_layout(folder: str) -> tuple[Layout, Graph]:
    """Return the layout of a sharded graph, and its sketch.

    Raises
    ------
    FormatError
        The folder has none.
    """
    path = Path(folder, LAYOUT)
    try:
        facts = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise FormatError(path, f"expected the layout of a sharded graph: {error}") from error
    if facts.get("format") != _FORMAT:
        raise FormatError(path, f"expected format {_FORMAT}, found {facts.get('format')!r}")
    layout = Layout.of(facts)
    file = SectionFile(Path(folder, SKETCH))
    kind = layout.kind_type
    piece = Piece.of(
        file.array("ids", "<i8", 1),
        file.array("labels", "<u4", 1),
        file.array("lengths", "<i8", 1),
        file.array("neighbors", "<u4", 1),
        None if kind is None else file.array("kinds", kind.str, 1),
    )
    return layout, sketch_of(layout, piece)
