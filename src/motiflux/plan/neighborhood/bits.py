"""The choice to count a pattern with a universal vertex in bitmaps, and the expected time."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from motiflux.graph import AdjacencyKey, Graph
from motiflux.plan.estimate.predict import distinct_keys, narrowed_bytes
from motiflux.plan.ir import Plan
from motiflux.plan.neighborhood.choices import UniversalVertexPlan, universal_vertex_plans
from motiflux.units import seconds_text

MOST_MEMBERS = 4096
"""Most neighbours of a root for bitmaps, which take megabytes for more; a search counts from other roots."""
WORTH_BITS = 5e-3
"""Least expected seconds of a search on the device for which orders for bitmaps are compared."""
MARGIN = 2.0
"""Least ratio of the search's time to that of bitmaps, which is not predicted well."""
_NARROWED_ARC = 10e-9
"""Seconds of the host for each arc that is read to narrow rows."""
_START = 30e-6
STEP, WORD, LOOK_UP, ROOT = 100.0, 0.4, 2.0, 1500.0
"""Instructions of a warp for a vertex that it matches, a word that a lane reads, a neighbour that is looked
up among the members (neighbours of the root), and a root."""
_INSTRUCTIONS = 2e11
"""Approximate instructions of warps per second of the whole device, measured on that of `H100`."""
_WARP = 32


@dataclass(frozen=True, slots=True)
class Bits:
    """A count of a plan in bitmaps.

    Parameters
    ----------
    seconds, searching
        Expected time of bitmaps, and of a search instead; None if nothing was sampled.
    left
        Estimated share of the work at roots with too many neighbours, which a search counts.
    call
        Seconds of a call without its kernels.
    """

    universal: UniversalVertexPlan
    seconds: float
    searching: float | None
    left: float
    call: float

    @property
    def expected(self) -> float:
        """Expected seconds of the whole count."""
        return self.call + self.seconds + self.left * (self.searching or 0.0)

    @property
    def pays(self) -> bool:
        """Whether the count in bitmaps is expected to be clearly faster than the search."""
        return self.searching is None or MARGIN * self.expected < self.searching

    @property
    def words(self) -> str:
        """Description for `explain`."""
        if not self.pays:
            return f"level by level: in bits it is expected to take {seconds_text(self.expected)}"
        told = "in bits that say which neighbours of a vertex are linked"
        if self.searching is not None:
            told += f": level by level it is expected to take {seconds_text(self.searching)}"
        if self.left > 0:
            told += f"; from vertices with more than {MOST_MEMBERS:,} neighbours level by level"
        return told


def is_worth_bits(searching: float | None, graph: Graph, plan: Plan) -> bool:
    """Return whether a search takes long enough for a comparison of orders for bitmaps."""
    return searching is not None and searching >= WORTH_BITS + _narrowing(graph, plan)


def _narrowing(graph: Graph, plan: Plan) -> float:
    """Return the seconds of narrowing rows to labels and conditions, which a space does not need."""
    keys = set(distinct_keys(plan))
    narrowed = [key for key in keys if narrowed_bytes(graph, key) > 0]
    return _NARROWED_ARC * 2 * graph.num_edges * (len(narrowed) + 2) if narrowed else 0.0


def bits_of(
    graph: Graph, plan: Plan, threads: int, searching: float | None, *, scale: float, call: float
) -> list[Bits]:
    """Return counts of a plan in bitmaps, in several orders; none if no vertex is universal.

    Parameters
    ----------
    scale
        Time of the device, divided by that of the measured one.
    call
        Seconds of a call without its kernels.
    """
    return [
        _bits(graph, universal, threads, searching, scale, call)
        for universal in universal_vertex_plans(graph, plan, threads)
    ]


def _bits(
    graph: Graph,
    universal: UniversalVertexPlan,
    threads: int,
    searching: float | None,
    scale: float,
    call: float,
) -> Bits:
    degrees = degrees_of(graph, universal, threads)
    squares = degrees.astype(np.float64) ** 2
    left = float(squares[degrees > MOST_MEMBERS].sum() / max(1.0, squares.sum()))
    return Bits(universal, bits_seconds(universal, degrees, graph, scale), searching, left, call)


def degrees_of(graph: Graph, universal: UniversalVertexPlan, threads: int) -> NDArray[np.int64]:
    """Return the number of members of each root."""
    return np.diff(graph.adjacency(universal.rows.roots, threads)[0]).astype(np.int64)


def words_of(degrees: NDArray[np.int64]) -> float:
    """Return the average number of words of a set, over pairs of members."""
    squares = degrees.astype(np.float64) ** 2
    return float((squares * (degrees / _WARP + 1)).sum() / max(1.0, squares.sum()))


def instructions(universal: UniversalVertexPlan, words: float) -> float:
    """Return the expected instructions of warps within neighbourhoods whose sets have `words` words."""
    taken, read = universal.weight(words)
    return taken * STEP + read * WORD


def bits_seconds(
    universal: UniversalVertexPlan, degrees: NDArray[np.int64], graph: Graph, scale: float = 1.0
) -> float:
    """Return the expected seconds of a device, from sampled sizes."""
    degrees = degrees[(degrees >= universal.least) & (degrees <= MOST_MEMBERS)]
    longest_above = sqrt(2.0 * graph.num_edges)
    looked_up = float((degrees * np.minimum(degrees, longest_above)).sum())
    work = instructions(universal, words_of(degrees)) + looked_up * LOOK_UP + len(degrees) * ROOT
    return _START + scale * work / _INSTRUCTIONS


def clique_key(plan: Plan) -> AdjacencyKey | None:
    """Return the arcs of the clique that a plan finds in ascending order; None if it finds other patterns.

    Each level must be reached from all earlier levels by the same arcs, and its vertex must be greater than
    that of the level before. All other conditions of its steps must follow from these.
    """
    steps = plan.shape.steps
    key = plan.args.steps[1].adjacencies[0] if len(steps) > 2 else None
    if key is None:
        return None
    reached: list[set[int]] = []
    for level, (step, args) in enumerate(zip(steps, plan.args.steps, strict=True)):
        known = set() if step.reuse is None else reached[step.reuse]
        reached.append(known | {source.level for source in step.sources})
        follows = reached[level] == set(range(level)) and all(other == key for other in args.adjacencies)
        ascends = level == 0 or level - 1 in step.after
        asks = step.before or step.not_out or step.not_in
        most = max(args.min_out_degree, args.min_in_degree)
        if not follows or not ascends or asks or most >= len(steps):
            return None
    return key
