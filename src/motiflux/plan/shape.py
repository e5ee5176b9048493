"""The search of a plan, which every engine executes. Mirrored by ``include/motiflux/view/plan.hpp``.

A search assigns data vertices to levels 0, 1, ... in matching order. `PlanShape` holds the intersections and
comparisons; compiled code depends on nothing else. `PlanArgs` holds labels and bounds, with which the same
code may run. Both are frozen data: hashable, printable, comparable.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial, prod

from motiflux.graph import AdjacencyKey, Direction
from motiflux.plan.bind import BoundPattern


@dataclass(frozen=True, slots=True)
class Source:
    """Candidates are reached from the vertex at `level` by an arc in `direction`.

    The entry of ``StepArgs.adjacencies`` at the same position names the arcs.
    """

    level: int
    direction: Direction


@dataclass(frozen=True, slots=True)
class StepShape:
    """Operations that find the candidates of one level.

    Parameters
    ----------
    sources
        The adjacency rows to intersect, without the rows that the intersection of level `reuse` has.
    reuse
        An earlier level whose intersection is a prefix of this one, or None.
    anchor
        The last level that the intersection depends on; changes of later levels do not change it.
    after, before
        Levels whose vertex must be smaller (greater) than the candidate. Symmetry breaking along the matching
        order gives `after` only.
    distinct
        Levels whose vertex must differ from the candidate, unless another condition implies it.
    not_out, not_in
        Levels whose vertex must have no arc to (from) the candidate: for induced matching and negated edges.
        `StepArgs.apart` says which arcs.
    bounds_out, bounds_in
        Whether the out-degree and the in-degree of the candidate have lower bounds. They never do at the
        last level, whose sources require all its arcs.
    """

    sources: tuple[Source, ...] = ()
    reuse: int | None = None
    anchor: int = 0
    after: tuple[int, ...] = ()
    before: tuple[int, ...] = ()
    distinct: tuple[int, ...] = ()
    not_out: tuple[int, ...] = ()
    not_in: tuple[int, ...] = ()
    bounds_out: bool = False
    bounds_in: bool = False


@dataclass(frozen=True, slots=True)
class PlanShape:
    """The steps of a search, one per level.

    Level 0 has no source: its candidates have rows in the first source of level 1.
    """

    steps: tuple[StepShape, ...]


@dataclass(frozen=True, slots=True)
class StepArgs:
    """The arguments of one level: the arcs of each source, and the least degrees of a candidate.

    Parameters
    ----------
    adjacencies
        The arcs of each source, as rows of the graph.
    edges
        The same as rows of the candidate space: the query edge (by position in the bound pattern) and whether
        it is followed from its source.
    min_out_degree, min_in_degree
        Bounds on a candidate's degrees in the graph.
    apart
        Levels and arcs: the candidate must not be reached from the vertex of the level by these arcs. Empty:
        all arcs of the graph, from the levels of `not_out` and, backwards, `not_in`.
    """

    adjacencies: tuple[AdjacencyKey, ...] = ()
    edges: tuple[tuple[int, bool], ...] = ()
    min_out_degree: int = 0
    min_in_degree: int = 0
    apart: tuple[tuple[int, AdjacencyKey], ...] = ()


@dataclass(frozen=True, slots=True)
class PlanArgs:
    """The labels and bounds of each step."""

    steps: tuple[StepArgs, ...]


@dataclass(frozen=True, slots=True)
class TailComponent:
    """Levels of a tail whose vertices might coincide.

    Parameters
    ----------
    levels
        The levels, ascending.
    sets
        A number for each of `levels`, the same for levels with the same set: 0, 1, ... by appearance.
    chains
        Sizes of the groups of levels that are ordered among themselves: each choice is counted once for each
        order of a group.
    child_blocks
        For each level, the block that is counted once the vertex of the level is matched; None for none.
        Empty if no level has a block.
    lists
        Branches that may share data vertices with others in several levels; then `child_blocks` is empty.
    """

    levels: tuple[int, ...]
    sets: tuple[int, ...]
    chains: tuple[int, ...] = ()
    child_blocks: tuple[TailBlock | None, ...] = ()
    lists: tuple[TailList, ...] = ()

    @property
    def deep(self) -> bool:
        """Whether any of its levels are matched one by one."""
        return bool(self.child_blocks or self.lists)

    @property
    def divisor(self) -> int:
        """The divisor of the number of ordered choices."""
        return prod(map(factorial, self.chains))


@dataclass(frozen=True, slots=True)
class TailList:
    """A branch of a component as a list: choices for its separators, each with the number of its completions.

    The separators are the levels in which the branch may share data vertices with other branches.

    Parameters
    ----------
    levels
        The levels, which are matched in this ascending order.
    listed
        The members of `levels` whose vertices an entry of the list holds: the separators, and then, if
        `kept`, the levels that must avoid vertices matched before.
    separators
        Number of separators at the start of `listed`.
    exact
        Levels matched before on which the list depends, other than by excluding their vertices.
    kept
        Whether the list is cached by the vertices of `exact`, with entries that are to be excluded.
    child_block
        The block that is counted once all `levels` are matched; None for none.
    """

    levels: tuple[int, ...]
    listed: tuple[int, ...]
    separators: int
    exact: tuple[int, ...]
    kept: bool
    child_block: TailBlock | None = None


@dataclass(frozen=True, slots=True)
class TailBlock:
    """Independent components: their numbers multiply.

    Parameters
    ----------
    exact
        Levels matched before on which the number depends, other than those in `excluded`.
    excluded
        Levels of the block, each with levels matched before whose vertices it must not take. The number does
        not depend on the order of these vertices.
    kept
        Whether numbers are cached by the vertices of these levels.
    """

    components: tuple[TailComponent, ...]
    exact: tuple[int, ...] = ()
    excluded: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Tail:
    """The levels from `start` on, counted as the product over the components instead of enumerated.

    Together with the levels before it, the tail is a block: see `TailBlock` for the other parameters.
    """

    start: int
    components: tuple[TailComponent, ...]
    exact: tuple[int, ...] = ()
    excluded: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    kept: bool = False

    @property
    def nested(self) -> bool:
        """Whether any level of the tail is matched, with a block counted below it."""
        return any(component.deep for component in self.components)


@dataclass(frozen=True, slots=True)
class SpaceKey:
    """Names a candidate space of a graph (`motiflux.plan.candidates.space`).

    Parameters
    ----------
    pattern
        The pattern.
    injective
        Whether different query vertices have different images, so that they need different neighbours.
    degrees
        Whether candidates must have the least degree that the query vertex needs.
    rounds
        Most rounds of filtering by neighbours.
    cycles
        Longest length of query cycles that must close over every arc; 0: no cycles are checked.
    """

    pattern: BoundPattern
    injective: bool
    degrees: bool
    rounds: int
    cycles: int = 0


@dataclass(frozen=True, slots=True)
class AdaptiveOrder:
    """Data of a search over a candidate space whose matching order changes between partial embeddings.

    Parameters
    ----------
    links
        For each query edge: two levels, its position in the bound pattern, and whether it is followed from
        its source by going from the first level to the second.
    compared
        For each level, three masks of other levels: whose vertex must differ, be smaller, be greater.
    always
        Whether the search has an adaptive order from the start.
    """

    links: tuple[tuple[int, int, int, bool], ...]
    compared: tuple[tuple[int, int, int], ...]
    always: bool
