"""Numbers of vertices and edges by labels of a changing graph, from which orders are planned."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.graph.stats import LabelFrequencies
from motiflux.plan.passes.numbers import Numbers

_APART = 2.0
"""Plans are made anew when a number has grown so many times as much as another of the same kind."""
_DENSER = 4.0
"""The same for the numbers of arcs against those of vertices: if all grow alike, orders seldom change."""
_SLACK = 16
"""Added to all numbers: small ones change by chance."""
_FEWEST = 4096
_SHARE = 64
"""Numbers are looked at after this many changes, and after one for so many vertices."""
_MOST_LOOKUPS = 1024
MOST_TRIPLES = 1 << 16
"""Combinations of labels; with more, counting them costs more than good orders bring."""

Codes = tuple[int, ...] | None


class LabelCounts:
    """How many vertices have a label, and how many arcs a (label, edge label, label) triple, at the moment.

    An undirected edge counts as two arcs. Edges that concern no pattern may be missing.

    Parameters
    ----------
    arcs
        By labels of the source, the edge and the target.
    vertices
        By label.
    directed
        Whether edges are directed.
    """

    def __init__(
        self, arcs: dict[tuple[int, int, int], int], vertices: NDArray[np.int64], *, directed: bool
    ) -> None:
        self._arcs = arcs
        self._vertices = vertices
        self._directed = directed

    @classmethod
    def of(cls, native: _native.Monitor, *, directed: bool) -> LabelCounts:
        """Return the counts of a graph; linear in its vertices and in the labels of their rows."""
        counted = dict(_rows(native.label_counts()))
        native.take_label_changes()
        return cls(counted, native.vertex_counts(), directed=directed)

    @classmethod
    def of_frequencies(cls, labels: LabelFrequencies, *, directed: bool) -> LabelCounts:
        """Return counts as a graph that does not change has them."""
        triples = zip(*(column.tolist() for column in labels.triples), strict=True)
        counted = dict(zip(triples, labels.of_triples.tolist(), strict=True))
        return cls(counted, labels.of_vertices, directed=directed)

    def __len__(self) -> int:
        return len(self._arcs)

    def follow(self, native: _native.Monitor) -> None:
        """Bring the counts up to date."""
        self._vertices = native.vertex_counts()
        for (source, edge, target), more in _rows(native.take_label_changes()):
            turned = () if self._directed else ((target, edge, source),)
            for labels in ((source, edge, target), *turned):
                self._arcs[labels] = max(0, self._arcs.get(labels, 0) + more)

    def vertices(self, labels: Codes) -> int:
        """Return the number of vertices with one of `labels`; None: all labels."""
        if labels is None:
            return int(self._vertices.sum())
        return sum(int(self._vertices[code]) for code in labels if code < len(self._vertices))

    def arcs(self, sources: Codes, edges: Codes, targets: Codes) -> int:
        """Return the number of arcs between vertices of such labels; None: all labels."""
        named = (sources, edges, targets)
        choices = [codes for codes in named if codes is not None]
        if len(choices) == len(named) and prod(map(len, choices)) <= _MOST_LOOKUPS:
            return sum(self._arcs.get((u, e, v), 0) for u, e, v in product(*choices))
        sets = [None if codes is None else frozenset(codes) for codes in named]
        return sum(
            number
            for labels, number in self._arcs.items()
            if all(allowed is None or label in allowed for allowed, label in zip(sets, labels, strict=True))
        )


def are_due(native: _native.Monitor) -> bool:
    """Return whether so many edges came and went that the counts should be looked at."""
    changes = native.num_label_changes
    return changes >= _FEWEST and changes * _SHARE >= native.num_vertices


def have_moved(before: Numbers, now: Numbers) -> bool:
    """Return whether orders planned by the first numbers may be bad for the second ones."""
    vertices, arcs = (
        [(new + _SLACK) / (old + _SLACK) for old, new in zip(*numbers, strict=True)]
        for numbers in zip(before, now, strict=True)
    )
    apart = any(max(grown) > _APART * min(grown) for grown in (vertices, arcs))
    denser = max(arcs) / min(vertices)
    return apart or not 1 / _DENSER <= denser <= _DENSER


def _rows(
    columns: tuple[NDArray[np.int64], ...],
) -> Iterator[tuple[tuple[int, int, int], int]]:
    for source, edge, target, number in zip(*(column.tolist() for column in columns), strict=True):
        yield (source, edge, target), number
