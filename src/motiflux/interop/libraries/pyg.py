"""Data and HeteroData of PyTorch Geometric, recognized by their methods, without importing it or PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import ArgumentError, GraphError
from motiflux.interop.arrays import as_host_array, is_array
from motiflux.interop.columns import Coded, GraphColumns
from motiflux.interop.libraries.mirrors import one_way
from motiflux.notes import note

_EDGES = "edge_index"
_COUNT = "num_nodes"


def is_pyg(data: object) -> bool:
    """Tell whether an object is a Data or a HeteroData."""
    return is_hetero(data) or (hasattr(data, _EDGES) and hasattr(data, _COUNT))


def is_hetero(data: object) -> bool:
    """Tell whether an object is a HeteroData."""
    return hasattr(data, "edge_types") and hasattr(data, "node_types")


class Chosen(NamedTuple):
    """The attributes of vertices, or of edges, that are taken.

    Parameters
    ----------
    label
        The attribute that holds the labels; None: there is none.
    attributes
        Names of the attributes to take; None: all of one dimension but the label.
    """

    label: str | None
    attributes: Sequence[str] | None


def from_pyg(data: Any, vertices: Chosen, edges: Chosen, directed: bool | None) -> GraphColumns:
    """Return data of PyTorch Geometric as columns; a note names the attributes that are left out.

    Raises
    ------
    GraphError
        It is none, or has no such edges.
    ArgumentError
        It has no such labels or attributes.
    """
    if not is_pyg(data):
        raise GraphError(
            f"data: expected a Data or HeteroData of PyTorch Geometric, found {type(data).__name__}"
        )
    columns = _hetero(data) if is_hetero(data) else _homogeneous(data)
    attributes = {"vertex": dict(columns.vertex_attributes), "edge": dict(columns.edge_attributes)}
    if vertices.attributes is None and edges.attributes is None:
        _tell_left_out(data, {*attributes["vertex"], *attributes["edge"]})
    labels: dict[str, Any] = {"vertex": columns.vertex_labels, "edge": columns.edge_labels}
    for of, chosen in (("vertex", vertices), ("edge", edges)):
        every = attributes[of]
        if chosen.label is not None:
            labels[of] = _one(every, f"{of}_label", chosen.label)
            attributes[of] = {name: values for name, values in every.items() if name != chosen.label}
        if chosen.attributes is not None:
            attributes[of] = {name: _one(every, f"{of}_attributes", name) for name in chosen.attributes}
    made = GraphColumns(
        columns.sources,
        columns.targets,
        num_vertices=columns.num_vertices,
        vertex_labels=labels["vertex"],
        edge_labels=labels["edge"],
        vertex_attributes=attributes["vertex"],
        edge_attributes=attributes["edge"],
        directed=True if directed is None else directed,
    )
    return _one_way(made) if directed is None and _is_undirected(data) else made


def _one(attributes: Mapping[str, Any], argument: str, name: str) -> Any:
    if name not in attributes:
        known = ", ".join(map(repr, attributes)) or "it has none"
        raise ArgumentError(argument, f"a one-dimensional attribute ({known})", name)
    return attributes[name]


def _tell_left_out(data: Any, taken: set[str]) -> None:
    """Give a note that names the attributes left out."""
    parts = [(f"data[{kind!r}].", data[kind]) for kind in _kinds(data)] if is_hetero(data) else [("", data)]
    left_out = [
        f"{where}{name}"
        for where, storage in parts
        for name, _ in _items(storage)
        if name not in (_EDGES, _COUNT) and name not in taken
    ]
    if left_out:
        note(
            f"data: left out {', '.join(left_out)}: an attribute has one number for each vertex or edge; "
            "vertex_attributes=[...] and edge_attributes=[...] take those that they list, without this note"
        )


def _kinds(data: Any) -> list[Any]:
    return [*data.node_types, *data.edge_types]


def _is_undirected(data: Any) -> bool:
    """Return whether the graph is undirected as the library defines it: each edge has its reverse."""
    return bool(data.is_undirected()) if hasattr(data, "is_undirected") else False


def _one_way(columns: GraphColumns) -> GraphColumns:
    """Return the columns with each edge once instead of in both directions, if both have equal values."""
    labels = [] if columns.edge_labels is None else [columns.edge_labels]
    given = [*labels, *columns.edge_attributes.values()]
    kept = one_way(columns.sources, columns.targets, [part for values in given for part in _parts(values)])
    if kept is None:
        return columns

    def of(values: Any) -> Any:
        return Coded(values.codes[kept], values.values) if isinstance(values, Coded) else values[kept]

    return GraphColumns(
        columns.sources[kept],
        columns.targets[kept],
        num_vertices=columns.num_vertices,
        vertex_labels=columns.vertex_labels,
        edge_labels=None if columns.edge_labels is None else of(columns.edge_labels),
        vertex_attributes=columns.vertex_attributes,
        edge_attributes={name: of(values) for name, values in columns.edge_attributes.items()},
    )


def _parts(values: Any) -> list[NDArray[Any]]:
    if isinstance(values, Coded):
        return [values.codes]
    return [np.ma.getdata(values), np.ma.getmaskarray(values)]


def _homogeneous(data: Any) -> GraphColumns:
    ends = _ends(data, "data")
    count = _count(data, "data")
    columns = _columns(data)
    of_edges = {name: values for name, values in columns.items() if _is_of_edges(data, name)}
    return GraphColumns(
        ends[0],
        ends[1],
        num_vertices=count,
        vertex_attributes={
            name: v for name, v in columns.items() if name not in of_edges and len(v) == count
        },
        edge_attributes={name: v for name, v in of_edges.items() if len(v) == ends.shape[1]},
    )


def _is_of_edges(data: Any, name: str) -> bool:
    return bool(data.is_edge_attr(name)) if hasattr(data, "is_edge_attr") else name.startswith("edge_")


def _hetero(data: Any) -> GraphColumns:
    """Return all types in one graph: the vertices of the first node type come first, then the next."""
    counts = [_count(data[kind], f"data[{kind!r}]") for kind in data.node_types]
    count_of = dict(zip(data.node_types, counts, strict=True))
    starts = dict(zip(data.node_types, np.cumsum([0, *counts[:-1]], dtype=np.int64), strict=True))
    ends, of_edges = [], []
    for kind in data.edge_types:
        source, _, target = kind
        own = _ends(data[kind], f"data[{kind!r}]").astype(np.int64)
        _check_range(own, (count_of[source], count_of[target]), f"data[{kind!r}].edge_index")
        ends.append(own + np.array([[starts[source]], [starts[target]]], dtype=np.int64))
        of_edges.append(_columns(data[kind]))
    lengths = [part.shape[1] for part in ends]
    joined = np.concatenate([np.zeros((2, 0), dtype=np.int64), *ends], axis=1)
    node_types = np.array(data.node_types, dtype=np.str_)
    relations = np.array([relation for _, relation, _ in data.edge_types], dtype=np.str_)
    names, codes = np.unique(relations, return_inverse=True)
    return GraphColumns(
        joined[0],
        joined[1],
        num_vertices=sum(counts),
        vertex_labels=Coded(np.repeat(np.arange(len(counts), dtype=np.uint32), counts), node_types),
        edge_labels=Coded(np.repeat(codes.astype(np.uint32), lengths), names),
        vertex_attributes=_stacked([_columns(data[kind]) for kind in data.node_types], counts),
        edge_attributes=_stacked(of_edges, lengths),
    )


def _check_range(ends: NDArray[np.int64], counts: tuple[int, int], what: str) -> None:
    for row, count in enumerate(counts):
        outside = np.flatnonzero((ends[row] < 0) | (ends[row] >= count))
        if outside.size:
            column = int(outside[0])
            found = ends[row, column]
            raise GraphError(f"{what}[{row}, {column}]: expected a node from 0 to {count - 1}, found {found}")


def _stacked(parts: list[dict[str, NDArray[Any]]], lengths: list[int]) -> dict[str, NDArray[Any]]:
    """Return the columns of several types one below the other, masked where a type has no such column."""
    stacked: dict[str, NDArray[Any]] = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        own = [part.get(name) for part in parts]
        have = [v is not None and len(v) == n for v, n in zip(own, lengths, strict=True)]
        kinds = [v.dtype for v, there in zip(own, have, strict=True) if v is not None and there]
        if not kinds:
            continue
        column = np.zeros(sum(lengths), dtype=np.result_type(*kinds))
        mask = np.repeat(~np.array(have, dtype=bool), lengths)
        start = 0
        for values, there, length in zip(own, have, lengths, strict=True):
            if values is not None and there:
                column[start : start + length] = values
            start += length
        stacked[name] = np.ma.MaskedArray(column, mask) if mask.any() else column
    return stacked


def _ends(storage: Any, what: str) -> NDArray[Any]:
    found = getattr(storage, _EDGES, None)
    if found is None:
        raise GraphError(f"{what}: expected an edge_index, found none")
    ends = as_host_array(found, f"{what}.edge_index")
    if ends.ndim != 2 or ends.shape[0] != 2 or ends.dtype.kind not in "iu":
        raise GraphError(
            f"{what}.edge_index: expected integers [2, m], found {ends.dtype} {list(ends.shape)}"
        )
    return ends


def _count(storage: Any, what: str) -> int:
    count = storage.num_nodes
    if count is None:
        raise GraphError(f"{what}.num_nodes: expected a number, found None")
    return int(count)


def _columns(storage: Any) -> dict[str, NDArray[Any]]:
    """Return the one-dimensional arrays of a storage; [n, 1] counts as such."""
    columns = {}
    for name, values in _items(storage):
        shape = tuple(getattr(values, "shape", ()))
        if name in (_EDGES, _COUNT) or not is_array(values) or shape[1:] not in ((), (1,)) or not shape:
            continue
        array = as_host_array(values, name).reshape(-1)
        if array.dtype.kind in "biuf":
            columns[name] = array
    return columns


def _items(storage: Any) -> list[tuple[str, Any]]:
    if hasattr(storage, "to_dict"):
        return list(storage.to_dict().items())
    return list(vars(storage).items())
