"""The numbers that the choice of phases reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motiflux.graph import Graph
from motiflux.plan.bind import BoundPattern, Codes
from motiflux.plan.passes.order import frequencies


@dataclass(frozen=True, slots=True)
class PhaseStatistics:
    """Sizes of a graph, as a pattern reads it.

    Parameters
    ----------
    candidates
        Expected number of candidates of each query vertex.
    arcs
        Expected number of arcs between candidates for each query edge.
    partitions
        Number of arcs of each edge label, by code; an undirected edge counts as two.
    """

    candidates: tuple[int, ...]
    arcs: tuple[int, ...]
    partitions: tuple[int, ...]

    def has_several(self, labels: Codes) -> bool:
        """Return whether some edge labels are those of several partitions; None: all labels."""
        return len(self.partitions if labels is None else labels) > 1

    def partition_arcs(self, labels: Codes) -> int:
        """Return the number of arcs of some edge labels; None: of all."""
        return sum(self.partitions if labels is None else (self.partitions[code] for code in labels))


def phase_statistics(pattern: BoundPattern, graph: Graph, deadline: float | None = None) -> PhaseStatistics:
    """Return the statistics of a graph for a pattern, by label frequencies.

    `TimeoutError` if `deadline` passes while labels are counted.
    """
    candidates, arcs = frequencies(pattern, graph, deadline)
    counted = graph.label_frequencies(deadline)
    partitions = np.zeros(len(graph.edge_label_table), dtype=np.int64)
    np.add.at(partitions, counted.triples[1], counted.of_triples)
    return PhaseStatistics(tuple(candidates), tuple(arcs), tuple(partitions.tolist()))
