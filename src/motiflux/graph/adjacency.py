"""Which arcs a query edge may use, and the rows narrowed to them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.conditions import Condition
from motiflux.graph.labels import mask
from motiflux.types import OffsetArray, VertexArray

if TYPE_CHECKING:
    from motiflux.graph.graph import Graph

Adjacency = tuple[OffsetArray, VertexArray]
"""Offsets [n + 1] and ascending distinct neighbours of every vertex."""


class Direction(StrEnum):
    """How an arc is followed."""

    OUT = "out"
    IN = "in"
    EITHER = "either"


@dataclass(frozen=True, slots=True)
class VertexFilter:
    """The vertices that satisfy `condition` and are among `ids`.

    Parameters
    ----------
    condition
        On their attributes; None lets all through.
    ids
        Internal ids, ascending; None stands for all vertices.
    """

    condition: Condition | None = None
    ids: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class AdjacencyKey:
    """Names the arcs that go from a vertex with one of `source_labels` to one with one of `target_labels`.

    Labels are codes, ascending; None lets all through. In an undirected graph the direction is ``EITHER``.
    `edge_where` asks for a copy of the edge that satisfies it; `source_where` and `target_where` narrow the
    vertices further.
    """

    direction: Direction
    edge_labels: tuple[int, ...] | None
    source_labels: tuple[int, ...] | None
    target_labels: tuple[int, ...] | None
    edge_where: Condition | None = None
    source_where: VertexFilter | None = None
    target_where: VertexFilter | None = None

    @property
    def lets_all_through(self) -> bool:
        """Whether nothing but the direction is asked for."""
        return not any(
            part is not None
            for part in (
                self.edge_labels,
                self.source_labels,
                self.target_labels,
                self.edge_where,
                self.source_where,
                self.target_where,
            )
        )


def narrow(key: AdjacencyKey, graph: Graph, threads: int) -> Adjacency:
    """Return the rows of the arcs that `key` names.

    Raises
    ------
    PatternError
        A condition asks for an attribute that is not there, or compares it with another kind of value.
    """
    directions = [key.direction]
    if key.direction is Direction.EITHER:
        directions = [Direction.OUT, Direction.IN] if graph.directed else [Direction.OUT]
    chosen = [graph.reverse if way is Direction.IN else graph.forward for way in directions]
    if key.lets_all_through and len(chosen) == 1 and chosen[0].labels is None:
        return chosen[0].offsets, chosen[0].neighbors
    offsets, neighbors = _native.filter_rows(
        [
            (rows.offsets, rows.neighbors, rows.labels, _arc_mask(graph, key.edge_where, way))
            for rows, way in zip(chosen, directions, strict=True)
        ],
        mask(key.edge_labels, len(graph.edge_label_table)),
        mask(key.source_labels, len(graph.vertex_label_table)),
        mask(key.target_labels, len(graph.vertex_label_table)),
        graph.vertex_labels,
        _vertex_mask(graph, key.source_where),
        _vertex_mask(graph, key.target_where),
        threads,
    )
    offsets.flags.writeable = False
    neighbors.flags.writeable = False
    return offsets, neighbors


def _arc_mask(graph: Graph, where: Condition | None, way: Direction) -> NDArray[np.uint8] | None:
    return None if where is None else graph.arc_mask(where, "in" if way is Direction.IN else "out")


def _vertex_mask(graph: Graph, where: VertexFilter | None) -> NDArray[np.uint8] | None:
    if where is None:
        return None
    named = mask(where.ids, graph.num_vertices)
    if where.condition is None:
        return named
    holds = graph.vertex_mask(where.condition)
    return holds if named is None else holds & named
