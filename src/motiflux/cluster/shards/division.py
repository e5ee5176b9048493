"""How candidates are divided into blocks, so that parts of one block of each fit into the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.part import Gathering, Span, Spans, Weights, arcs_of
from motiflux.cluster.shards.reach import Reach, RowsOfPlan

_LEAST_BOXES = 2048
_SHARE_OF_BOXES = 8
"""Boxes take one part of so many of the memory, if they are more than the least."""


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Boxes of blocks of candidates: each embedding is in one of them.

    Parameters
    ----------
    divided
        The query vertices that have several blocks, without the root.
    buckets
        uint8 [boxes, vertices, 2]: first buckets, and those behind the last.
    parts
        float32 [boxes]: about the number of parts that each takes; 1 if it is expected to fit.
    """

    divided: frozenset[int]
    buckets: NDArray[np.uint8]
    parts: NDArray[np.float32]
    bounds: Sequence[NDArray[np.int64]]

    def boxes(self) -> list[tuple[NDArray[np.uint8], bool]]:
        """Return the buckets of each box, and whether it is expected to fit."""
        return list(zip(self.buckets, (self.parts == 1).tolist(), strict=True))

    def spans(self, box: NDArray[np.uint8]) -> Spans:
        """Return the spans of a box."""
        found: dict[int, Span] = {}
        for vertex, (begin, end) in enumerate(box.tolist()):
            bounds = self.bounds[vertex]
            found[vertex] = int(bounds[begin]), int(bounds[end])
        return found

    def halves(self, box: NDArray[np.uint8], root: int) -> list[NDArray[np.uint8]]:
        """Return two halves of a box; none if it has one bucket of each query vertex that may be divided."""
        lengths = {
            vertex: int(box[vertex, 1]) - int(box[vertex, 0]) for vertex in sorted(self.divided | {root})
        }
        widest = max(lengths, key=lambda vertex: lengths[vertex])
        if lengths[widest] < 2:
            return []
        first, last = box.copy(), box.copy()
        first[widest, 1] = last[widest, 0] = int(box[widest, 0]) + lengths[widest] // 2
        return [first, last]


def divided(
    gathering: Gathering,
    weights: Weights,
    reach: Reach,
    planned: Mapping[frozenset[int], RowsOfPlan],
    filled: float,
) -> Blocks:
    """Return the fewest boxes of those that plans for divided parts allow.

    Parameters
    ----------
    filled
        Boxes may take this share of the memory, as their weights tell.
    """
    best: Blocks | None = None
    least = 0.0
    for vertices, rows in planned.items():
        most = None if best is None else ceil(least) + 1  # with more boxes, it is no better
        found = _divided_by(gathering, weights, reach, vertices, rows, filled, most)
        cost = float(found.parts.sum(dtype=np.float64))
        if best is None or cost < least:
            best, least = found, cost
    assert best is not None
    return best


def _divided_by(
    gathering: Gathering,
    weights: Weights,
    reach: Reach,
    vertices: frozenset[int],
    rows: RowsOfPlan,
    filled: float,
    most: int | None,
) -> Blocks:
    sources = replace(rows, keys=[rows.keys[at] for at in sorted(set(rows.sources))])
    needed = {weights.arcs[arc] for arc in arcs_of(sources) if len(arc[0]) == 1}
    of_box = 2 * reach.size + 4
    boxes = max(_LEAST_BOXES, gathering.memory // (_SHARE_OF_BOXES * of_box))
    buckets, parts = weights.native.divide(
        arcs=[weights.arcs[arc] for arc in arcs_of(rows)],
        needed=sorted(needed),
        less=sorted(reach.less),
        sources=[sorted({pair[0] for pair in pairs}) for pairs, _ in rows.keys],
        divisible=sum(1 << vertex for vertex in vertices | {reach.root}),
        beside=gathering.beside,
        room=gathering.memory * filled,
        most=boxes if most is None else min(boxes, most),
    )
    return Blocks(vertices, buckets, parts, weights.bounds)
