"""The search of a plan: what every engine executes. Mirrored by ``include/motiflux/view/plan.hpp``.

A search assigns data vertices to levels 0, 1, ... in matching order. `PlanShape` says which sets are
intersected and which comparisons are made: all that a compiled search must know. `PlanArgs` holds the labels
and bounds that the same search may run with. Both are plain frozen data: hashable, printable, comparable.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial, prod

from motiflux.graph import AdjacencyKey, Direction
from motiflux.plan.bind import BoundPattern


@dataclass(frozen=True, slots=True)
class Source:
    """Candidates are reached from the vertex at `level` by an arc in `direction`.

    Which arcs serve is an argument: the entry of ``StepArgs.adjacencies`` at the same position.
    """

    level: int
    direction: Direction


@dataclass(frozen=True, slots=True)
class StepShape:
    """How the candidates of one level come about.

    Parameters
    ----------
    sources
        The adjacency rows to intersect, beyond those that `reuse` has already.
    reuse
        An earlier level whose intersection is a prefix of this one, or None.
    anchor
        The last level that the intersection depends on: it may be kept while later levels change.
    after, before
        Levels whose vertex must be smaller (greater) than the candidate. Symmetry breaking along the matching
        order gives `after` only.
    distinct
        Levels whose vertex must differ from the candidate; only those that nothing else separates.
    not_out, not_in
        Induced matching: levels whose vertex must have no arc to (from) the candidate.
    bounds_out, bounds_in
        Whether the candidate's numbers of arcs out and in are bounded from below. Never so at the last level,
        whose sources ask for all its arcs.
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

    Level 0 has no source: the rows of level 1's first source root it.
    """

    steps: tuple[StepShape, ...]


@dataclass(frozen=True, slots=True)
class StepArgs:
    """What one level runs with: the arcs of each source, and the least degrees of a candidate.

    Parameters
    ----------
    adjacencies
        The arcs of each source, as rows of the graph.
    edges
        The same as rows of the candidate space: the query edge (by position in the bound pattern) and whether
        it is followed from its source.
    min_out_degree, min_in_degree
        Bounds on a candidate's degrees in the graph.
    """

    adjacencies: tuple[AdjacencyKey, ...] = ()
    edges: tuple[tuple[int, bool], ...] = ()
    min_out_degree: int = 0
    min_in_degree: int = 0


@dataclass(frozen=True, slots=True)
class PlanArgs:
    """The labels and bounds of each step."""

    steps: tuple[StepArgs, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive levels reached from the same vertices (`motiflux.plan.passes.groups`).

    Parameters
    ----------
    levels
        Ascending.
    one_set
        Whether all have the same candidates, order restrictions and injectivity apart.
    """

    levels: tuple[int, ...]
    one_set: bool


@dataclass(frozen=True, slots=True)
class TailComponent:
    """Levels of a tail whose vertices might coincide.

    Parameters
    ----------
    levels
        Ascending.
    sets
        A number for each of `levels`, the same for levels with the same set: 0, 1, ... by appearance.
    chains
        Sizes of the groups of levels that are ordered among themselves: each choice was counted once for each
        of their orders.
    hanging
        The block that hangs from each level: what is counted with its vertex matched; None where nothing
        does. Empty if nothing hangs from any.
    lists
        Pieces that meet others in several levels, beside `levels`; nothing hangs from those then.
    """

    levels: tuple[int, ...]
    sets: tuple[int, ...]
    chains: tuple[int, ...] = ()
    hanging: tuple[TailBlock | None, ...] = ()
    lists: tuple[TailList, ...] = ()

    @property
    def deep(self) -> bool:
        """Whether any of its levels are matched one by one."""
        return bool(self.hanging or self.lists)

    @property
    def divisor(self) -> int:
        """By how much the number of ordered choices is divided."""
        return prod(map(factorial, self.chains))


@dataclass(frozen=True, slots=True)
class TailList:
    """A piece of a component as a list: the choices for its doors, each with the ways to choose the rest.

    Parameters
    ----------
    levels
        Matched in turn, ascending.
    listed
        Those of `levels` whose vertices an entry of the list names: the doors, in which the piece meets
        others, and then, where `kept`, those that levels matched before exclude.
    doors
        How many of `listed` are doors.
    exact
        Levels matched before that the list depends on, but for what they exclude.
    kept
        Whether the list is kept for their vertices, with what is excluded still in it.
    hanging
        What is counted once all `levels` are matched; None if nothing is.
    """

    levels: tuple[int, ...]
    listed: tuple[int, ...]
    doors: int
    exact: tuple[int, ...]
    kept: bool
    hanging: TailBlock | None = None


@dataclass(frozen=True, slots=True)
class TailBlock:
    """Components that have nothing in common: their numbers multiply.

    Parameters
    ----------
    exact
        Levels matched before that the number depends on, `excluded` apart.
    excluded
        Levels of the block, and levels matched before whose vertices those must not take. In which order the
        latter have them makes no difference.
    kept
        Whether numbers are remembered by the vertices of these levels.
    """

    components: tuple[TailComponent, ...]
    exact: tuple[int, ...] = ()
    excluded: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Tail:
    """The levels from `start` on are not enumerated: the product over the components.

    Together with the levels before it, the tail is a block: see `TailBlock` for the other parameters.
    """

    start: int
    components: tuple[TailComponent, ...]
    exact: tuple[int, ...] = ()
    excluded: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    kept: bool = False

    @property
    def nested(self) -> bool:
        """Whether anything hangs from a level of the tail."""
        return any(component.deep for component in self.components)


@dataclass(frozen=True, slots=True)
class SpaceKey:
    """Names a candidate space of a graph (`motiflux.plan.candidates.space`).

    Parameters
    ----------
    pattern
        Whose candidates.
    injective
        Whether any two query vertices have different images, so that they need a neighbour each.
    degrees
        Whether candidates must have as many neighbours as the query vertex certainly needs.
    rounds
        Most rounds of consistency.
    cycles
        Edges of the longest cycles of the pattern that must close over every arc; 0 if none needs to.
    """

    pattern: BoundPattern
    injective: bool
    degrees: bool
    rounds: int
    cycles: int = 0


@dataclass(frozen=True, slots=True)
class FreeOrder:
    """What a search over a candidate space needs whose order changes from one partial embedding to the next.

    Parameters
    ----------
    links
        For each query edge: two levels, its position in the bound pattern, and whether it is followed from
        its source by going from the first level to the second.
    compared
        For each level, three masks of others: whose vertex must be another one, a smaller, a greater one.
    always
        Whether no other order is tried before.
    """

    links: tuple[tuple[int, int, int, bool], ...]
    compared: tuple[tuple[int, int, int], ...]
    always: bool
