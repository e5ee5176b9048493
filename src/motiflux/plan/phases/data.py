"""Phases of a search that matches several query vertices at a time (GENEVA, section 5).

A search keeps a frontier, the embeddings of the query vertices matched so far. An extension phase replaces
each embedding by its extensions; an elimination phase keeps those that have, or lack, some edges. All edges
of a phase have one set of edge labels, so that a device needs the partitions of these labels only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TypeAlias

from motiflux.conditions import Condition
from motiflux.graph import Direction, VertexFilter
from motiflux.plan.bind import Codes
from motiflux.plan.passes.symmetry import Restriction
from motiflux.types import Semantics


class MatchingPattern(IntEnum):
    """The matching patterns of an extension phase, by the numbers of the paper (figure 1)."""

    ONE_VERTEX = 0
    """One vertex."""
    PAIR_OF_ONE_SET = 1
    """One source, two vertices of one set of candidates."""
    TWO_SOURCES_ONE_LABEL = 2
    """Two sources, a vertex from each; their labels may be equal."""
    ONE_SOURCE_TWO_SETS = 3
    """One source, two vertices of two sets of candidates."""
    TWO_SOURCES_TWO_LABELS = 4
    """Two sources, a vertex from each; their labels differ."""
    MANY_OF_ONE_SET = 5
    """One source, three or more vertices of one set of candidates."""
    MANY_OF_ONE_SOURCE = 6
    """One source, three or more vertices of two sets of candidates."""
    MANY_OF_TWO_SOURCES = 7
    """Two sources, three or more vertices of a set of candidates from each."""


PRIORITY = tuple(map(MatchingPattern, (5, 6, 7, 1, 3, 4, 2, 0)))
"""Matching patterns, the first choice first (section 5.5): by the number of vertices, then by efficiency."""
CORE_PATTERNS = frozenset(map(MatchingPattern, (0, 1, 2, 3, 4)))
"""Matching patterns of the core: a cycle needs two vertices at a time at most."""
FIRST_PATTERNS = frozenset(map(MatchingPattern, (0, 1, 3)))
"""Matching patterns of the first phase, whose source comes from the partition."""


class Relation(StrEnum):
    """The order of two data vertices, the first of which is matched before the second.

    Restrictions are made along the matching order, so none requires the second to be smaller.
    """

    LESS = "<"
    DIFFERENT = "!="
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Checks:
    """Comparisons of a candidate with the vertices of an embedding, by query vertex.

    Parameters
    ----------
    distinct
        Query vertices whose images must differ from the candidate, unless another check implies it.
    after
        Query vertices whose images must be smaller than the candidate.
    not_out, not_in
        Induced matching: query vertices whose images must have no arc to (from) the candidate in the
        partitions of the phase. In an undirected graph `not_out` only.
    """

    distinct: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    not_out: tuple[int, ...] = ()
    not_in: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """Candidates that one row has for one or more query vertices.

    Parameters
    ----------
    source
        The query vertex from whose image the candidates are reached.
    direction, where
        The arcs by which they are reached: their direction, and a condition that a copy satisfies.
    labels, narrowing
        Vertex labels of the candidates, and their conditions and ids.
    members
        The query vertices, in matching order.
    common
        Checks that candidates of all members need, with the vertices matched before the phase.
    own
        For each member, its further checks with these vertices.
    """

    source: int
    direction: Direction
    where: Condition | None
    labels: Codes
    narrowing: VertexFilter | None
    members: tuple[int, ...]
    common: Checks = Checks()
    own: tuple[Checks, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """A comparison of two query vertices of one phase; pairs without one are not listed.

    Parameters
    ----------
    first, second
        Query vertices in matching order.
    relation
        The order of their images.
    not_out, not_in
        Induced matching: whether the image of `first` must have no arc to (from) that of `second` in the
        partitions of the phase.
    """

    first: int
    second: int
    relation: Relation
    not_out: bool = False
    not_in: bool = False


@dataclass(frozen=True, slots=True)
class Root:
    """The query vertex whose candidates are the rows of the partition, with its vertex labels and filter."""

    vertex: int
    labels: Codes
    narrowing: VertexFilter | None


@dataclass(frozen=True, slots=True)
class Extension:
    """A phase that matches query vertices.

    Parameters
    ----------
    partitions
        Edge labels of the partitions that it reads; None: all.
    pattern
        The matching pattern.
    sets
        One or two sets of candidates, the one with more members first.
    pairs
        Comparisons among its query vertices.
    root
        The source, where it is taken from the partition instead of an embedding: in the first phase only.
    """

    partitions: Codes
    pattern: MatchingPattern
    sets: tuple[CandidateSet, ...]
    pairs: tuple[Pair, ...] = ()
    root: Root | None = None

    @property
    def vertices(self) -> tuple[int, ...]:
        """The query vertices that the phase matches, in matching order."""
        first = () if self.root is None else (self.root.vertex,)
        return (*first, *(member for one in self.sets for member in one.members))

    @property
    def tests_absent_arcs(self) -> bool:
        """Whether the phase tests that arcs are absent, for induced matching."""
        checks = [one for some in self.sets for one in (some.common, *some.own)]
        absent = any(one.not_out or one.not_in for one in checks)
        return absent or any(pair.not_out or pair.not_in for pair in self.pairs)


@dataclass(frozen=True, slots=True)
class EdgeTest:
    """A query edge whose ends are both matched: ``source -> target``, or with `either` also the reverse."""

    source: int
    target: int
    either: bool
    where: Condition | None


@dataclass(frozen=True, slots=True)
class Elimination:
    """A phase that removes embeddings.

    Parameters
    ----------
    partitions
        Edge labels of the partitions that it reads; None: all.
    required
        Query edges that need an arc in one of these partitions.
    forbidden
        Induced matching: pairs of query vertices. These partitions must not have an arc from the image of the
        first to that of the second.
    """

    partitions: Codes
    required: tuple[EdgeTest, ...]
    forbidden: tuple[tuple[int, int], ...] = ()


Phase: TypeAlias = Extension | Elimination


@dataclass(frozen=True, slots=True)
class PhasePlan:
    """The phases of a search.

    Parameters
    ----------
    phases
        The phases in the order in which they run. The first is an extension.
    order
        All query vertices in matching order.
    core
        The query vertices of the core, in matching order; empty for a tree.
    restrictions
        Pairs of query vertices (u, v) whose images must satisfy u < v.
    automorphisms
        Order of the pattern's automorphism group. With restrictions, the search finds one of as many
        embeddings.
    semantics
        The kind of embeddings.
    """

    phases: tuple[Phase, ...]
    order: tuple[int, ...]
    core: tuple[int, ...]
    restrictions: tuple[Restriction, ...]
    automorphisms: int
    semantics: Semantics

    @property
    def extensions(self) -> tuple[Extension, ...]:
        """The extension phases."""
        return tuple(phase for phase in self.phases if isinstance(phase, Extension))


@dataclass(frozen=True, slots=True)
class HandOver:
    """The reason why a pattern has no phases and another engine should search it."""

    reason: str
