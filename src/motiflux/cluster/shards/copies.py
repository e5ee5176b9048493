"""Copies of edges with attributes, on their way from files to the shards of their entries.

A copy is sent to both of its ends, as halves of edges are, with its values: so the entries of both rows have
them, and a server judges conditions without asking another one.

    scatter    file i       copies, to the partition of one end
    rename     partition p  that end's internal id; copies go to the other end's partition
    meet       partition q  the other end's internal id; copies go to the shard of the row
    assemble   shard s      copies in the order of entries
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.attributes import EDGE, Types, joined, read_columns, sections_of
from motiflux.errors import InternalError
from motiflux.graph import AttributeTable, Column, Graph
from motiflux.io.binary.sections import SectionFile, write_sections


@dataclass(frozen=True, slots=True)
class CopiesOfFiles:
    """The copies of a graph in building.

    Parameters
    ----------
    codes
        For each file of edges the codes of its edge labels among those of all files.
    types
        The types of the attributes.
    """

    codes: Sequence[NDArray[np.uint32]]
    types: Types


@dataclass(frozen=True, slots=True, eq=False)
class EdgeCopies:
    """The copies of the entries of a shard.

    Parameters
    ----------
    starts
        int64 [entries + 1]: the first copy of each entry; None where each has one.
    columns
        Their attributes, in the order of entries.
    """

    starts: NDArray[np.int64] | None
    columns: Mapping[str, Column]


def edges_of_copies(graph: Graph) -> NDArray[np.int64]:
    """Return the edge of each row of attributes of a graph, by its number."""
    arcs = graph.forward
    edges = np.arange(graph.num_edges)
    if arcs.copies is None:
        return edges
    copies = arcs.copies if graph.directed else arcs.copies[arcs.sources() < arcs.neighbors]
    return np.repeat(edges, copies.astype(np.int64))


def write_copies(
    path: Path, columns: AttributeTable, arrays: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]
) -> None:
    """Write some copies into a file.

    Parameters
    ----------
    arrays
        Other columns, of the same copies.
    """
    facts, values = sections_of(columns.take(rows), EDGE)
    write_sections(path, facts, {**values, **arrays})


def read_copies(
    paths: Sequence[Path], names: Mapping[str, str], types: Types
) -> tuple[dict[str, NDArray[Any]], AttributeTable]:
    """Return the copies of several files, one after the other: other columns, and attributes."""
    found: list[dict[str, NDArray[Any]]] = []
    tables = []
    for path in paths:
        file = SectionFile(path)
        file.verify()
        found.append({name: file.array(name, kind, 1) for name, kind in names.items()})
        size = len(found[-1]["other" if "other" in names else "neighbor"])
        tables.append((size, read_columns(file, size, EDGE)))
    arrays = {name: np.concatenate([one[name] for one in found]) for name in names}
    return arrays, AttributeTable(EDGE, joined(tables, types))


def ordered(
    row: NDArray[np.uint32],
    neighbor: NDArray[np.uint32],
    kind: NDArray[np.uint32],
    columns: AttributeTable,
    entries: int,
) -> EdgeCopies:
    """Return copies in the order of entries, each of which has some."""
    order = np.lexsort((kind, neighbor, row))
    keys = [one[order] for one in (row, neighbor, kind)]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = np.logical_or.reduce([one[1:] != one[:-1] for one in keys])
    if int(begins.sum()) != entries:
        raise InternalError(f"expected copies of {entries:,} entries, found {int(begins.sum()):,}")
    starts = None
    if len(order) > entries:
        starts = np.append(np.flatnonzero(begins), len(order)).astype(np.int64)
    return EdgeCopies(starts, dict(columns.take(order)))
