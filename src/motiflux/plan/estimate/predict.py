"""Predictions of a run of a plan: seconds from sampled sizes, bytes from the sizes of rows.

The time of a search on the CPU is estimated as

    seconds = start + (step * partial embeddings + read * set elements) / threads

with constants that `benchmarks/micro/predict.py` fits. On one thread of an AMD EPYC, over 44 searches from
30 us to 9 s, predicted and actual times differ by a factor of 1.2 in the median and 2.2 at the ninth decile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

from motiflux.graph import AdjacencyKey, Direction, Graph
from motiflux.plan.candidates.space import candidate_space
from motiflux.plan.estimate.prediction import MemoryReport
from motiflux.plan.ir import Plan
from motiflux.plan.shape import TailComponent

_SET_LOOKS = 4.0
"""Cost of taking a row from the candidates of the last level, in partial embeddings."""
START_SECONDS = 35e-6
STEP_SECONDS = 27e-9
READ_SECONDS = 0.55e-9

_VERTEX_BYTES, _OFFSET_BYTES = 4, 8

# A brief search runs on the calling thread for up to 100 us (csrc/bind_search.cpp); if it takes longer, this
# time is lost.
_BRIEF_SECONDS = 50e-6

MEMO_BYTES = 192 << 20
"""Approximate bytes in which a thread may cache the numbers of parts (csrc/search/nested_tail.cpp)."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a search: partial embeddings that it extends, and elements of sets that it reads."""

    steps: float
    read: float

    def seconds(self, threads: int = 1) -> float:
        """Return the seconds of the search."""
        return START_SECONDS + (STEP_SECONDS * self.steps + READ_SECONDS * self.read) / threads


def expected_work(plan: Plan) -> Work | None:
    """Return the work of a whole search; None if it was not sampled.

    Sampling reads the set of each level of a tail. The search computes a set once for all levels that share
    it.
    """
    if not plan.scanned:
        return None
    looks = _looks(plan)
    if plan.tail is None or plan.tail.nested:  # an upper bound for parts
        return Work(sum(plan.estimates[:-1]) + looks, sum(plan.scanned))
    start = plan.tail.start
    read = sum(plan.scanned[:start])
    for component in plan.tail.components:
        read += sum(plan.scanned[level] for level in _first_levels(component))
    return Work(sum(plan.estimates[:start]) + looks, read)


def _looks(plan: Plan) -> float:
    """Return the cost of looking for arcs that must not be there, in partial embeddings.

    At the last level a whole set is taken from another one; at others, and in candidate spaces, whose rows
    have positions, each candidate is looked up.
    """
    last = len(plan.shape.steps) - 1
    looks = 0.0
    for level, step in enumerate(plan.shape.steps):
        rows = len(plan.args.steps[level].apart) or len(step.not_out) + len(step.not_in)
        if rows:
            looks += rows * (
                _SET_LOOKS * plan.estimates[level - 1]
                if level == last and plan.space is None
                else plan.estimates[level]
            )
    return looks


def _first_levels(component: TailComponent) -> list[int]:
    """Return the first level of each set of a component."""
    firsts: dict[int, int] = {}
    for level, number in zip(component.levels, component.sets, strict=True):
        firsts.setdefault(number, level)
    return list(firsts.values())


def is_brief(plan: Plan) -> bool:
    """Return whether a search is expected to take less time than starting a thread for it."""
    if not plan.scanned or (plan.tail is not None and plan.tail.nested):
        return False
    enumerated = len(plan.order) - 1 if plan.tail is None else plan.tail.start
    steps, read = sum(plan.estimates[:enumerated]), sum(plan.scanned)
    return STEP_SECONDS * steps + READ_SECONDS * read < _BRIEF_SECONDS


def expected_count(plan: Plan, limit: int | None) -> float | None:
    """Return the expected result, at most `limit`; None if it exceeds the range of floats."""
    count = plan.estimates[-1] * _rows_per_embedding(plan)
    if limit is not None:
        count = min(count, float(limit))
    return count if isfinite(count) else None


def _rows_per_embedding(plan: Plan) -> int:
    """Return the number of embeddings, or of rows, for each embedding that the search finds."""
    return max(plan.multiplier, len(plan.images))


def expected_seconds(plan: Plan, threads: int, limit: int | None) -> float | None:
    """Return the expected seconds of a search on the CPU; None if it was not sampled.

    With a limit, embeddings are assumed to be spread evenly over the search.
    """
    work = expected_work(plan)
    if work is None:
        return None
    count = plan.estimates[-1] * _rows_per_embedding(plan)
    share = 1.0 if limit is None or count <= limit else limit / count
    if plan.probed is not None:
        seconds = START_SECONDS + plan.probed * share / threads
    else:
        seconds = Work(work.steps * share, work.read * share).seconds(threads)
    return seconds if isfinite(seconds) else None


def host_memory(graph: Graph, plan: Plan, threads: int) -> MemoryReport:
    """Return an upper bound on the bytes that a search on the CPU holds."""
    longest = graph.longest_row(Direction.EITHER, threads)
    if plan.space is not None:
        space = candidate_space(graph, plan.space, threads)
        if space is not None:
            largest = max(space.sizes, default=0)
            of_thread = _thread_bytes(plan, min(longest, largest), largest)
            return MemoryReport(space.nbytes, threads * of_thread + _position_bytes(plan, space.sizes))
    rows = sum(narrowed_bytes(graph, key) for key in distinct_keys(plan))
    return MemoryReport(rows, threads * _thread_bytes(plan, longest, graph.num_vertices))


def distinct_keys(plan: Plan) -> Iterable[AdjacencyKey]:
    """Return the rows of the graph that a plan reads, each once."""
    return dict.fromkeys(key for step in plan.args.steps for key in step.adjacencies)


def narrowed_bytes(graph: Graph, key: AdjacencyKey) -> int:
    """Return an upper bound on the bytes of the rows that `key` names; 0 for rows of the graph itself."""
    both_ways = graph.directed and key.direction is Direction.EITHER
    if key.lets_all_through and not both_ways and graph.forward.labels is None:
        return 0
    return _OFFSET_BYTES * (graph.num_vertices + 1) + _VERTEX_BYTES * arcs_of(graph, key)


def arcs_of(graph: Graph, key: AdjacencyKey) -> int:
    """Return an upper bound on the number of arcs that `key` names, by label frequencies."""
    labels = graph.label_frequencies()
    along = labels.arcs(key.source_labels, key.edge_labels, key.target_labels)
    against = labels.arcs(key.target_labels, key.edge_labels, key.source_labels)
    if not graph.directed or key.direction is Direction.OUT:
        return along
    return against if key.direction is Direction.IN else along + against


def _thread_bytes(plan: Plan, longest: int, values: int) -> int:
    """Return a bound on the bytes of one thread's buffers: lists and bit sets per intersecting level."""
    intersecting = sum(len(step.sources) + (step.reuse is not None) > 1 for step in plan.shape.steps)
    subsets = 0
    cached = 0
    if plan.tail is not None:
        subsets = max(2 ** len(set(c.sets)) for c in plan.tail.components)
        cached = MEMO_BYTES if plan.tail.nested else 0
    # Two lists for each intersecting level, two for the last level, and lists of subsets, which grow by
    # doubling.
    lists = 2 * intersecting + 2 + 2 * subsets
    return lists * longest * _VERTEX_BYTES + intersecting * (values // 8 + 8) + cached


def _position_bytes(plan: Plan, sizes: Sequence[int]) -> int:
    """Return the bytes of the positions of candidates in the candidate sets of compared levels."""
    return _VERTEX_BYTES * sum(
        sizes[plan.order[earlier]]
        for step in plan.shape.steps
        for earlier in {*step.after, *step.before, *step.distinct}
    )
