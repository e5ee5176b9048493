"""What the tests of importers share: a graph as plain data, and what a graph of motiflux holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

import motiflux as mf


@dataclass(frozen=True)
class Plain:
    """A graph as plain data; None is a missing value."""

    directed: bool
    ids: list[Any]
    edges: list[tuple[int, int]]
    vertex_labels: list[Any] | None
    edge_labels: list[Any] | None
    vertex_attributes: dict[str, list[Any]]
    edge_attributes: dict[str, list[Any]]

    def sources(self) -> list[Any]:
        return [self.ids[source] for source, _ in self.edges]

    def targets(self) -> list[Any]:
        return [self.ids[target] for _, target in self.edges]

    def edge_table(self) -> dict[str, list[Any]]:
        label = {} if self.edge_labels is None else {"label": self.edge_labels}
        return {"src": self.sources(), "dst": self.targets(), **label, **self.edge_attributes}

    def vertex_table(self) -> dict[str, list[Any]]:
        label = {} if self.vertex_labels is None else {"label": self.vertex_labels}
        return {"id": self.ids, **label, **self.vertex_attributes}

    def graph(self) -> mf.Graph:
        kind = object if not self.ids else None
        ends = np.array(self.sources(), dtype=kind), np.array(self.targets(), dtype=kind)
        if not self.edges:
            ends = np.array(self.ids)[:0], np.array(self.ids)[:0]
        return mf.Graph.from_edges(
            ends,
            directed=self.directed,
            vertex_ids=np.array(self.ids),
            vertex_labels=self.vertex_labels,
            edge_labels=self.edge_labels,
            vertex_attributes=self.vertex_attributes,
            edge_attributes=self.edge_attributes,
            self_loops="drop",
        )


def contents(graph: mf.Graph) -> tuple[bool, dict[Any, Any], Counter[Any]]:
    """Return all that a graph holds, in no order: direction, vertices by id, and edges with their copies."""
    labels = graph.vertex_labels_by_id()
    vertex_values = values_by_row(graph.vertex_attributes, graph.num_vertices)
    vertices = {
        vertex: (labels[vertex], values)
        for vertex, values in zip(graph.vertex_ids.tolist(), vertex_values, strict=True)
    }
    sources, targets, edge_labels, copies = graph.to_edges()
    kinds = np.zeros(len(sources), dtype=int) if edge_labels is None else edge_labels
    rows = zip(
        np.repeat(sources, copies).tolist(),
        np.repeat(targets, copies).tolist(),
        np.repeat(kinds, copies).tolist(),
        values_by_row(graph.edge_attributes, int(copies.sum())),
        strict=True,
    )
    return (
        graph.directed,
        vertices,
        Counter(
            ((u, v) if graph.directed else tuple(sorted((u, v))), label, values)
            for u, v, label, values in rows
        ),
    )


def values_by_row(attributes: Any, rows: int) -> list[frozenset[Any]]:
    """Return the values that are there, with their names and types, for each row."""
    held: list[set[Any]] = [set() for _ in range(rows)]
    for name, column in attributes.items():
        missing = column.missing().tolist()
        for row, value in enumerate(column.to_numpy().tolist()):
            if not missing[row]:
                held[row].add((name, isinstance(value, bool), value))
    return [frozenset(values) for values in held]
