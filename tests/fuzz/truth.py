"""What is right, by `motiflux.cpu.reference` alone.

Where a pattern asks for more than labels, each data vertex and each data edge is its own label for the
reference, and what a query vertex or edge accepts is a set of these.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeAlias

from motiflux.conditions import AllOf, AnyOf, Comparison, Condition, IsMissing, Not, OneOf
from motiflux.cpu import reference
from motiflux.types import DEFAULT_LABEL, Label
from tests.fuzz.scenario import DataGraph, Query

Row: TypeAlias = tuple[Any, ...]
"""An embedding: the external id of each query vertex's image."""

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Truth:
    """The embeddings of one pattern in one graph; each set is computed when it is first asked for."""

    def __init__(self, graph: DataGraph, query: Query) -> None:
        self._graph = graph
        self._query = query
        self._embeddings: dict[str, frozenset[Row]] = {}
        self._distinct: dict[tuple[str, str], list[Row]] = {}

    def rows(self, semantics: str, symmetry: str) -> list[Row]:
        """Return all rows in order: embeddings, or for ``subgraphs`` one of each occurrence."""
        key = semantics, symmetry
        if key not in self._distinct:
            self._distinct[key] = sorted({self.canonical(row, symmetry) for row in self._found(semantics)})
        return self._distinct[key]

    def canonical(self, row: Row, symmetry: str) -> Row:
        """Return the smallest row of the same occurrence, or the row where each counts for itself."""
        return min(tuple(row[u] for u in one) for one in self.group(symmetry))

    def group(self, symmetry: str) -> list[tuple[int, ...]]:
        """Return the permutations of a row that are taken for the same."""
        identity = tuple(range(len(self._query.vertices)))
        return self._automorphisms if symmetry == "subgraphs" else [identity]

    @cached_property
    def _automorphisms(self) -> list[tuple[int, ...]]:
        """Compare what vertices and edges accept as it is written, conditions included."""
        query = self._query
        choices = [frozenset({(_label_set(one.labels), one.anchors, one.where)}) for one in query.vertices]
        edges = [
            (one.source, one.target, frozenset({(_label_set(one.labels), one.where)}), one.kind)
            for one in query.edges
        ]
        found = reference.automorphisms(
            choices,  # type: ignore[arg-type]
            edges,  # type: ignore[arg-type]
            directed=self._graph.directed,
            may_coincide=query.coinciding,
        )
        return sorted(found)

    def _found(self, semantics: str) -> frozenset[Row]:
        if semantics not in self._embeddings:
            graph, ids = self._graph, self._graph.ids
            images = reference.embeddings(
                len(ids),
                graph.edges,
                *self._asked,
                directed=graph.directed,
                **self._labels,
                semantics=semantics,
                may_coincide=self._query.coinciding,
            )
            self._embeddings[semantics] = frozenset(tuple(ids[v] for v in image) for image in images)
        return self._embeddings[semantics]

    @property
    def _labels(self) -> dict[str, Any]:
        graph = self._graph
        if not self._query.has_conditions:
            return {"vertex_labels": graph.vertex_labels, "edge_labels": graph.edge_labels}
        return {"vertex_labels": range(len(graph.ids)), "edge_labels": range(len(graph.edges))}

    @property
    def _asked(self) -> tuple[list[Any], list[Any]]:
        query, graph = self._query, self._graph
        if not query.has_conditions:
            return (
                [one.labels for one in query.vertices],
                [(one.source, one.target, one.labels, one.kind) for one in query.edges],
            )
        edges = [
            (one.source, one.target, accepted_edges(graph, one.labels, one.where), one.kind)
            for one in query.edges
        ]
        return [accepted_vertices(graph, query, u) for u in range(len(query.vertices))], edges


def accepted_vertices(graph: DataGraph, query: Query, position: int) -> frozenset[int]:
    """Return the data vertices that a query vertex accepts, by themselves."""
    choice = query.vertices[position]
    labels = graph.vertex_labels or (DEFAULT_LABEL,) * len(graph.ids)
    return frozenset(
        vertex
        for vertex, label in enumerate(labels)
        if _accepts(choice.labels, label)
        and (choice.anchors is None or vertex in choice.anchors)
        and (choice.where is None or holds(choice.where, _value(graph.vertex_values, vertex)))
    )


def accepted_edges(graph: DataGraph, choice: Any, where: Condition | None) -> frozenset[int]:
    """Return the rows of the graph's edges that a query edge accepts, directions apart."""
    labels = graph.edge_labels or (DEFAULT_LABEL,) * len(graph.edges)
    return frozenset(
        row
        for row, label in enumerate(labels)
        if _accepts(choice, label) and (where is None or holds(where, _value(graph.edge_values, row)))
    )


def holds(condition: Condition, value: float | None) -> bool | None:
    """Tell whether a value satisfies a condition; None if that is unknown."""
    match condition:
        case IsMissing():
            return value is None
        case Comparison(operator=word, value=other):
            return None if value is None else _COMPARE[word](value, other)  # type: ignore[arg-type]
        case OneOf(values=values):
            return None if value is None else value in values
        case Not(condition=inner):
            known = holds(inner, value)
            return None if known is None else not known
        case AllOf(conditions=parts):
            found = {holds(part, value) for part in parts}
            return False if False in found else None if None in found else True
        case AnyOf(conditions=parts):
            found = {holds(part, value) for part in parts}
            return True if True in found else None if None in found else False
    raise AssertionError(condition)


def _value(values: tuple[float | None, ...] | None, position: int) -> float | None:
    return None if values is None else values[position]


def _accepts(choice: Any, label: Label) -> bool:
    accepted = _label_set(choice)
    return accepted is None or label in accepted


def _label_set(choice: Any) -> frozenset[Label] | None:
    if choice is None or isinstance(choice, frozenset):
        return choice
    return frozenset({choice})
