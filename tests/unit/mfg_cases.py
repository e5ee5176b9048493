"""Graphs with everything a file can hold, and how two graphs are told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import motiflux as mf
from motiflux.graph import AttributeTable, Graph
from tests.unit.condition_cases import columns
from tests.unit.graph_cases import arrays_of


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draw small graphs with labels, attributes, string ids, copies and self-loops, or without them."""
    vertices = draw(st.integers(0, 6))
    ends = st.integers(0, max(vertices - 1, 0))
    edges = draw(st.lists(st.tuples(ends, ends), max_size=12 if vertices else 0))
    kinds = st.sampled_from([None, [3, -5], ["é", ""], [7]])
    names = [f"v{'x' * vertex}" for vertex in range(vertices)]
    string_ids = draw(st.booleans())
    ids: Any = np.array(names, dtype=np.str_) if string_ids else np.arange(vertices) * 10 - 20

    def labels(count: int) -> Any:
        chosen = draw(kinds)
        return None if chosen is None else [draw(st.sampled_from(chosen)) for _ in range(count)]

    def attributes(count: int) -> dict[str, Any]:
        return draw(columns(count)) | {"none": [None] * count} if draw(st.booleans()) else {}

    sources, targets = ids[np.array(edges, dtype=np.int64).reshape(-1, 2)].T
    return mf.Graph.from_edges(
        (sources, targets),  # an array of two edges might look like an adjacency matrix
        directed=draw(st.booleans()),
        vertex_ids=ids,
        vertex_labels=labels(vertices),
        edge_labels=labels(len(edges)),
        vertex_attributes=attributes(vertices),
        edge_attributes=attributes(len(edges)),
        self_loops="drop",
    )


def full_graph(directed: bool = True) -> Graph:
    """Give a graph with every kind of section."""
    random = np.random.default_rng(3)
    edges = random.integers(0, 30, (200, 2))
    return mf.Graph.from_edges(
        np.array([f"id{'y' * vertex}" for vertex in range(30)])[edges],
        directed=directed,
        vertex_labels=None,
        edge_labels=np.array(["wire", "cash"])[edges[:, 0] % 2],
        vertex_attributes=None,
        edge_attributes={
            "amount": np.ma.MaskedArray(random.random(200), edges[:, 1] % 5 == 0),
            "kind": [None if row % 7 == 0 else f"k{row % 3}" for row in range(200)],
            "many": edges[:, 1].astype(np.int8),
        },
        self_loops="drop",
    )


def written(graph: Graph, path: Path) -> Path:
    mf.write_graph(graph, path)
    return path


def identical(first: Graph, second: Graph) -> bool:
    """Whether two graphs hold the same, array by array."""
    facts = [
        (
            graph.directed,
            graph.num_vertices,
            graph.num_edges,
            graph.vertex_label_table,
            graph.edge_label_table,
            graph.self_loops_dropped,
            graph.duplicate_edges,
            graph.nbytes,
            graph.shape_stats(),
            contents(graph.vertex_attributes),
            contents(graph.edge_attributes),
        )
        for graph in (first, second)
    ]
    arrays = [arrays_of(graph) for graph in (first, second)]
    return repr(facts[0]) == repr(facts[1]) and all(
        a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(*arrays, strict=True)
    )


def contents(table: AttributeTable) -> list[Any]:
    return [(name, column.kind, column.to_numpy().tolist()) for name, column in table.items()]
