"""Names of the arcs that a query edge may use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from motiflux.conditions import Condition
from motiflux.types import OffsetArray, VertexArray

Adjacency = tuple[OffsetArray, VertexArray]
"""Offsets [n + 1] and ascending distinct neighbours of every vertex."""


class Direction(StrEnum):
    """How an arc is followed."""

    OUT = "out"
    IN = "in"
    EITHER = "either"


@dataclass(frozen=True, slots=True)
class VertexFilter:
    """The vertices that satisfy `condition`, are among `ids`, and have no arc that `without` names.

    Parameters
    ----------
    condition
        On their attributes; None lets all through.
    ids
        Internal ids, ascending; None: all vertices.
    without
        Arcs from the vertex.
    """

    condition: Condition | None = None
    ids: tuple[int, ...] | None = None
    without: tuple[AdjacencyKey, ...] = ()

    @property
    def has_mask(self) -> bool:
        """Whether there is a condition beyond ids."""
        return self.condition is not None or bool(self.without)


@dataclass(frozen=True, slots=True)
class AdjacencyKey:
    """Names the arcs that go from a vertex with one of `source_labels` to one with one of `target_labels`.

    Labels are codes, ascending; None: all labels. In an undirected graph the direction is ``EITHER``.
    `edge_where` is a condition that a copy of the edge satisfies; `source_where` and `target_where` are
    filters of the vertices.
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
        """Whether the key has no condition but the direction."""
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
