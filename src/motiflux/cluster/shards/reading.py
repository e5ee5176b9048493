"""The reading of rows that a search of a sharded graph is expected to take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from motiflux.cluster.shards.reach import Reach, reach_of, sources_of_level
from motiflux.cluster.shards.search import Ranged, part_memory, shares_of_part
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.estimate.predict import arcs_of

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph

_SECONDS_OF_ENTRY, _SECONDS_OF_PART = 14e-9, 1e-3
"""Time of a worker for an entry that it reads, and for a part, in seconds (``benchmarks/NOTES.md``)."""
_PARTS = 5.0
"""Parts of a search whose rows take r times the memory, for each of r^k - 1, k query vertices having rows."""
_PASSES = 1.5
"""How often a search in one part reads all rows; a part of blocks reads about as much as it has room for."""
MOST = 10**18
"""Numbers above are not told: they are no more than a guess."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The reading of rows, by a model that fits a few searches within a factor of about eight, mostly.

    Parameters
    ----------
    of_part
        Entries that a part reads.
    """

    parts: float
    of_part: float

    @classmethod
    def of(cls, graph: ShardedGraph, plan: Plan, reach: Reach, beside: int, share: int) -> Reading:
        """Return the reading of a whole count.

        Parameters
        ----------
        beside
            Bytes beside the search.
        share
            See `motiflux.cluster.shards.search.RangeSearch`.
        """
        entries, nbytes = graph.layout.entries, graph.layout.nbytes
        kept = min(1.0, _kept(graph.sketch, plan, reach) / max(1, 2 * graph.sketch.num_edges))
        room = part_memory(graph.layout, reach, graph.memory, beside, share) / nbytes
        parts = 1.0
        if kept > room:
            parts = min(MOST, 1 + _PARTS * ((kept / room) ** len(reach.cover) - 1))
        return cls(parts, entries * (_PASSES if kept <= room else min(_PASSES, room)))

    @property
    def entries(self) -> float:
        """Entries that all parts read."""
        return self.parts * self.of_part

    @property
    def seconds(self) -> float:
        """Seconds of one worker."""
        return _SECONDS_OF_ENTRY * self.entries + _SECONDS_OF_PART * self.parts


def expected_parts(graph: ShardedGraph, planned: Ranged) -> float:
    """Return the number of parts that a whole count is expected to take; 0 if the plan has no search."""
    if planned.plan.impossible is not None:
        return 0.0
    reach = reach_of(planned.bound, planned.plan, graph.layout)
    share = shares_of_part(planned, reach, graph.layout)
    return Reading.of(graph, planned.plan, reach, planned.nbytes, share).parts


def _kept(sketch: Graph, plan: Plan, reach: Reach) -> float:
    """Return about the number of entries of a graph that the rows of a plan have."""
    found = {
        (key, reach.side(plan.order[earlier], plan.order[level]))
        for level in range(1, len(plan.order))
        for earlier, key in sources_of_level(plan, level)
    }
    return sum(arcs_of(sketch, key) / (2 if side else 1) for key, side in found)
