"""Which arcs a query edge may use, and the rows narrowed to them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from motiflux import _native
from motiflux.graph.csr import Csr
from motiflux.graph.labels import mask
from motiflux.types import LabelArray, OffsetArray, VertexArray

Adjacency = tuple[OffsetArray, VertexArray]
"""Offsets [n + 1] and ascending distinct neighbours of every vertex."""


class Direction(StrEnum):
    """How an arc is followed."""

    OUT = "out"
    IN = "in"
    EITHER = "either"


@dataclass(frozen=True, slots=True)
class AdjacencyKey:
    """Names the arcs that go from a vertex with one of `source_labels` to one with one of `target_labels`.

    Labels are codes, ascending; None lets all through. In an undirected graph the direction is ``EITHER``.
    """

    direction: Direction
    edge_labels: tuple[int, ...] | None
    source_labels: tuple[int, ...] | None
    target_labels: tuple[int, ...] | None


def narrow(
    key: AdjacencyKey,
    forward: Csr,
    reverse: Csr,
    vertex_labels: LabelArray | None,
    label_counts: tuple[int, int],
    threads: int,
) -> Adjacency:
    """Return the rows of the arcs that `key` names.

    Parameters
    ----------
    forward, reverse
        Arcs as given and turned round; the same object for an undirected graph.
    label_counts
        Number of distinct vertex labels and of distinct edge labels.
    """
    both = key.direction is Direction.EITHER and forward is not reverse
    chosen = [forward, reverse] if both else [reverse if key.direction is Direction.IN else forward]
    unfiltered = key.edge_labels is None and key.source_labels is None and key.target_labels is None
    if unfiltered and not both and chosen[0].labels is None:
        return chosen[0].offsets, chosen[0].neighbors
    offsets, neighbors = _native.filter_rows(
        [(rows.offsets, rows.neighbors, rows.labels) for rows in chosen],
        mask(key.edge_labels, label_counts[1]),
        mask(key.source_labels, label_counts[0]),
        mask(key.target_labels, label_counts[0]),
        vertex_labels,
        threads,
    )
    offsets.flags.writeable = False
    neighbors.flags.writeable = False
    return offsets, neighbors
