"""Candidate spaces: the candidates of each query vertex, and the arcs between them.

After gSWORD, section 3.1. Candidates must have the right label and enough neighbours. In each further round,
they must have a neighbour along every query edge that is a candidate too. Search, cost model and sampling
read the same structure. If it does not fit into memory, or filters nothing, they read narrowed rows of the
graph.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from motiflux import _native, log
from motiflux.conditions import Condition
from motiflux.graph import Adjacency, Graph, VertexFilter, filter_mask
from motiflux.graph.labels import mask
from motiflux.plan.bind import BoundEdge, BoundPattern
from motiflux.plan.passes.steps import degree_bounds
from motiflux.plan.shape import SpaceKey
from motiflux.types import Semantics

_Mask: TypeAlias = NDArray[np.uint8] | None

_MOST_KINDS = 64

# A candidate space may take this number of bytes, or this multiple of the memory of the graph if it is more.
_MAX_RATIO = 2
_MIN_BYTES = 256 << 20

_READY, _EMPTY = 0, 1

KEPT_SPACES = "candidate spaces"
"""The pool of `graph.memo` that keeps candidate spaces."""


@dataclass(frozen=True, eq=False, slots=True)
class CandidateSpace:
    """Candidates of a pattern in a graph.

    Parameters
    ----------
    native
        The sets and rows.
    sizes
        Number of candidates of each query vertex.
    arcs
        Number of arcs between candidates for each query edge.
    classes
        A number per query vertex, equal if the candidates are equal and the query vertices have equal labels,
        conditions and ids. An engine whose filter is weaker may give all query vertices of one class the
        union of their candidates.
    empty
        Whether a query vertex has no candidate.
    searches
        Native searches of plans over this space, for repeated calls: they are dropped with it.
    """

    native: _native.Space
    sizes: tuple[int, ...]
    arcs: tuple[int, ...]
    classes: tuple[int, ...]
    empty: bool
    searches: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.native.nbytes


@dataclass(frozen=True, slots=True)
class SpaceArrays:
    """The arrays of a candidate space, from which other processes make the same space without copying them.

    Parameters
    ----------
    sets
        Candidates of each query vertex.
    edges
        Of each query edge its ends, and the rows from each of them, or None.
    rounds
        Rounds of the filter.
    """

    sets: list[NDArray[np.uint32]]
    edges: list[tuple[int, int, Adjacency | None, Adjacency | None]]
    rounds: int

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays; equal sets count once."""
        rows = [array for _, _, *ends in self.edges for one in ends if one is not None for array in one]
        return sum({id(array): array.nbytes for array in [*self.sets, *rows]}.values())


def kept_arrays(graph: Graph, key: SpaceKey) -> SpaceArrays | None:
    """Return the arrays of a space that is kept with a graph; None if there is none, or it has no rows."""
    space = graph.memo.recent(KEPT_SPACES, key)
    if not isinstance(space, CandidateSpace) or space.empty:
        return None
    return SpaceArrays(*space.native.lend())


def keep_space(graph: Graph, key: SpaceKey, arrays: SpaceArrays) -> None:
    """Keep a space for `candidate_space` that another process made for an equal graph and key."""
    native = _native.Space(arrays.sets, arrays.edges, arrays.rounds)
    made = _candidate_space(native, key.pattern)
    graph.memo.get_sized(KEPT_SPACES, key, lambda: made, max_space_bytes(graph))


def space_key(pattern: BoundPattern, semantics: Semantics, switches: Mapping[str, str]) -> SpaceKey | None:
    """Return the key of the candidate space to search; None if rows of the graph are searched.

    Without labels or conditions, only degrees would filter, which the search checks itself.
    """
    if switches["candidates"] == "off" or pattern.missing is not None:
        return None
    if switches["candidates"] == "auto" and not _filters(pattern):
        return None
    degrees = semantics is not Semantics.HOMOMORPHISM and switches["degrees"] == "on"
    injective = semantics is not Semantics.HOMOMORPHISM and not pattern.may_coincide
    return SpaceKey(pattern, injective, degrees, int(switches["rounds"]))


def candidate_space(
    graph: Graph, key: SpaceKey, threads: int, deadline: float | None = None
) -> CandidateSpace | None:
    """Return the candidate space, kept with the graph for later calls; None if it does not fit into memory.

    The result does not depend on the number of threads, and a second call returns an equal space if the first
    one was dropped: plans and seeds rely on that.

    Raises
    ------
    TimeoutError
        `deadline`, a value of `time.perf_counter`, passed before the end. Not checked on small graphs.
    """

    def build() -> CandidateSpace | _TooLarge:
        space = _build(graph, key, threads, deadline) or _TooLarge()
        log.MEMORY.debug("a candidate space: %d bytes, %d allowed", space.nbytes, max_space_bytes(graph))
        return space

    found = graph.memo.recent(KEPT_SPACES, key)
    if found is None:
        found = graph.memo.get_sized(KEPT_SPACES, key, build, max_space_bytes(graph))
    return None if isinstance(found, _TooLarge) else found


class _TooLarge:
    """Memo entry for a candidate space that does not fit into memory."""

    nbytes = 1024
    """Approximate bytes of the entry's key, so that the number of such entries is limited too."""


def max_space_bytes(graph: Graph) -> int:
    """Return the bytes that a candidate space of `graph` may take."""
    return max(_MIN_BYTES, _MAX_RATIO * graph.nbytes)


def _filters(pattern: BoundPattern) -> bool:
    narrowed = (*pattern.labels, *pattern.filters, *(edge.where for edge in pattern.edges))
    return any(one is not None for one in narrowed)


def _build(graph: Graph, key: SpaceKey, threads: int, deadline: float | None) -> CandidateSpace | None:
    pattern = key.pattern
    kinds: dict[_Kind, int] = {}
    edges = [
        (
            edge.source,
            edge.target,
            kinds.setdefault(_kind(edge, edge.source, graph.directed), len(kinds)),
            kinds.setdefault(_kind(edge, edge.target, graph.directed), len(kinds)),
        )
        for edge in pattern.edges
    ]
    if len(kinds) > _MOST_KINDS:
        return None
    forward, reverse = graph.forward, graph.reverse
    num_edge_labels = len(graph.edge_label_table)
    native = _native.Space(
        out=(forward.offsets, forward.neighbors, forward.labels),
        in_=(reverse.offsets, reverse.neighbors, reverse.labels),
        label_groups=graph.label_groups(),
        edge_labels=num_edge_labels,
        vertices=[
            (
                labels or (),
                allowed_vertices(graph, pattern.filters[vertex]),
                *(degree_bounds(pattern, vertex, set()) if key.degrees else (0, 0)),
            )
            for vertex, labels in enumerate(pattern.labels)
        ],
        edges=edges,
        kinds=[kind.native(graph) for kind in kinds],
        injective=key.injective,
        rounds=key.rounds,
        cycles=key.cycles,
        max_bytes=max_space_bytes(graph),
        threads=threads,
        timeout=None if deadline is None else max(0.0, deadline - time.perf_counter()),
    )
    return _candidate_space(native, pattern) if native.state in (_READY, _EMPTY) else None


def _candidate_space(native: _native.Space, pattern: BoundPattern) -> CandidateSpace:
    classes = _classes(native, pattern)
    return CandidateSpace(native, tuple(native.sizes), tuple(native.arcs), classes, native.state == _EMPTY)


def _classes(native: _native.Space, pattern: BoundPattern) -> tuple[int, ...]:
    """Return, for each query vertex, the first query vertex with the same candidates and conditions."""
    first: dict[object, int] = {}
    required = zip(native.classes, pattern.labels, pattern.filters, strict=True)
    return tuple(first.setdefault(one, vertex) for vertex, one in enumerate(required))


def allowed_vertices(graph: Graph, narrowing: VertexFilter | None) -> NDArray[np.uint8] | None:
    """Return a byte per vertex, 1 for the vertices that satisfy the filter; None if there is no filter."""
    if narrowing is None:
        return None
    allowed = filter_mask(graph, narrowing) if narrowing.has_mask else None
    if narrowing.ids is None:
        return allowed
    among = np.zeros(graph.num_vertices, dtype=np.uint8)
    among[list(narrowing.ids)] = 1 if allowed is None else allowed[list(narrowing.ids)]
    return among


class _Kind(NamedTuple):
    """The arcs of a query edge, seen from one of its ends: directions, labels and condition."""

    out: bool
    into: bool
    labels: tuple[int, ...] | None
    where: Condition | None

    def native(self, graph: Graph) -> tuple[bool, bool, _Mask, _Mask, _Mask]:
        """Return the argument of the native code, with masks of labels and arcs."""
        return (
            self.out,
            self.into,
            mask(self.labels, len(graph.edge_label_table)),
            graph.arc_mask(self.where, "out") if self.where is not None and self.out else None,
            graph.arc_mask(self.where, "in") if self.where is not None and self.into else None,
        )


def _kind(edge: BoundEdge, end: int, directed: bool) -> _Kind:
    """Return the arcs of `edge`, seen from `end`."""
    out = not directed or edge.either or end == edge.source
    into = directed and (edge.either or end == edge.target)
    return _Kind(out, into, edge.labels, edge.where)
