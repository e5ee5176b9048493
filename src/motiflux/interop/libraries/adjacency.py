"""Adjacency dicts: the neighbours of each vertex, and how they are told from tables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from motiflux.errors import ArgumentError, GraphError
from motiflux.interop.arrays import as_host_array, is_array
from motiflux.interop.columns import GraphColumns
from motiflux.interop.end_names import find_ends
from motiflux.interop.libraries.mirrors import one_way
from motiflux.interop.libraries.records import Wanted, ids_of, split_records

_EXPECTED = "a list, a set or an array of neighbours, or a dict from neighbours to attributes"


def is_adjacency(mapping: Mapping[Any, Any], options: Iterable[str] = ()) -> bool:
    """Tell whether a dict is one of neighbours, not a table: a dict of columns.

    It is a table if `options` names columns, or if it has columns of one length of which two have names that
    mean the ends of edges, and no column holds the name of another. A dict that cannot be a table is one of
    neighbours, and so is one whose keys are neighbours, too.

    Raises
    ------
    ArgumentError
        It might be either.
    """
    if not set(options).isdisjoint(_OF_TABLES) or not mapping:
        return False
    if len(mapping) < 2 or not all(isinstance(key, str) for key in mapping):
        return not _has_ends(mapping)
    lengths = {_length(values) for values in mapping.values()}
    if len(lengths) > 1 or None in lengths:
        return not _has_ends(mapping)
    names, neighbors = _has_ends(mapping), _mentions_keys(mapping)
    if names != neighbors:
        return neighbors
    keys = list(mapping)[:5]
    raise ArgumentError(
        "graph",
        "a table or an adjacency dict, and a dict with these keys might be either: Graph.from_table(..., "
        "src=, dst=) reads columns, Graph.from_adjacency reads neighbours",
        keys,
    )


_OF_TABLES = ("src", "dst", "label", "time", "attributes", "vertices", "vertex_id", "missing")
"""Options of `Graph.from_table` alone."""


def from_adjacency(adjacency: Any, edges: Wanted, *, directed: bool) -> GraphColumns:
    """Return an adjacency dict as columns; the vertices are its keys, then the other neighbours.

    Undirected, an entry and its mirror image are one edge if all entries have one, with equal attributes.

    Raises
    ------
    GraphError
        It is no dict, a value holds no neighbours, or an error of `ids_of` or `split_records`.
    """
    if not isinstance(adjacency, Mapping):
        raise GraphError(f"adjacency: expected a dict of neighbours, found {type(adjacency).__name__}")
    place = {vertex: position for position, vertex in enumerate(adjacency)}
    sources: list[int] = []
    targets: list[int] = []
    records: list[Mapping[str, Any]] = []
    for vertex, values in adjacency.items():
        for neighbor, record in _neighbors(vertex, values):
            sources.append(place[vertex])
            targets.append(place.setdefault(neighbor, len(place)))
            records.append(record)
    names = list(place)
    labels, attributes = split_records(
        records, edges, lambda e: f"edge {names[sources[e]]!r} -> {names[targets[e]]!r}", "edge"
    )
    ends = np.array(sources, dtype=np.uint32), np.array(targets, dtype=np.uint32)
    columns: dict[str, list[Any]] = {**attributes}
    if not directed:
        kept = _one_way(*ends, [*columns.values(), *([] if labels is None else [labels])])
        if kept is not None:
            ends = ends[0][kept], ends[1][kept]
            rows = np.flatnonzero(kept).tolist()
            columns = {name: [values[row] for row in rows] for name, values in columns.items()}
            labels = None if labels is None else [labels[row] for row in rows]
    return GraphColumns(
        *ends,
        vertex_ids=ids_of(names, "vertex", "other keys make their texts differ"),
        positions=True,
        edge_labels=labels,
        edge_attributes=columns,
        directed=directed,
    )


def _neighbors(vertex: Hashable, values: Any) -> list[tuple[Any, Mapping[str, Any]]]:
    """Return the neighbours of a vertex, each with its attributes."""
    if isinstance(values, Mapping):
        odd = next((one for one in values.items() if not isinstance(one[1], Mapping)), None)
        if odd is not None:
            raise GraphError(
                f"adjacency[{vertex!r}][{odd[0]!r}]: expected a dict of attributes, found {odd[1]!r}"
            )
        return list(values.items())
    if is_array(values):
        values = as_host_array(values, f"adjacency[{vertex!r}]").tolist()
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise GraphError(f"adjacency[{vertex!r}]: expected {_EXPECTED}, found {values!r}")
    neighbors = list(values)
    odd = next((one for one in neighbors if not isinstance(one, Hashable)), None)
    if odd is not None:
        raise GraphError(f"adjacency[{vertex!r}]: expected {_EXPECTED}, found the neighbour {odd!r}")
    return [(neighbor, {}) for neighbor in neighbors]


def _one_way(sources: Any, targets: Any, columns: list[list[Any]]) -> Any:
    """Return the entries that hold each edge once, as `one_way` does, for columns of any values."""
    codes = []
    for values in columns:
        code: dict[Any, int] = {}
        codes.append(np.array([code.setdefault((type(value), value), len(code)) for value in values]))
    return one_way(sources, targets, codes)


def _has_ends(mapping: Mapping[Any, Any]) -> bool:
    return all(isinstance(key, str) for key in mapping) and find_ends(list(mapping)) is not None


def _length(values: Any) -> int | None:
    """Return the length of a column, or None if the values are no column."""
    if isinstance(values, (str, bytes, Mapping, set, frozenset)) or not hasattr(values, "__len__"):
        return None
    return len(values)


def _mentions_keys(mapping: Mapping[str, Any]) -> bool:
    """Tell whether a key is among the values."""
    for values in mapping.values():
        listed = as_host_array(values, "graph").ravel().tolist() if is_array(values) else values
        if any(isinstance(one, str) and one in mapping for one in listed):
            return True
    return False
