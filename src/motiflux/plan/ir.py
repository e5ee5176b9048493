"""The plan of a count or a row listing: a search, or a formula over tables of local counts.

Searches with separate plans may fill tables, so plans and formulas are defined together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import TypeAlias

from motiflux.pattern import Pattern
from motiflux.plan.comparisons.bound import BoundComparisons
from motiflux.plan.comparisons.copy_walk import CopyWalk
from motiflux.plan.rooted import Kinds, Rooted
from motiflux.plan.shape import AdaptiveOrder, PlanArgs, PlanShape, SpaceKey, Tail
from motiflux.types import Semantics, Symmetry


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole search.

    Parameters
    ----------
    order
        The query vertex at each level.
    shape, args
        The search itself.
    semantics, symmetry
        Options of the call.
    multiplier
        Factor by which the number of embeddings found is multiplied (counting only; 1 when enumerating).
    automorphisms
        Order of the pattern's automorphism group; 1 for an empty plan.
    restrictions
        Pairs of query vertices (u, v) whose images must satisfy u < v.
    estimates
        Expected number of partial embeddings up to each level.
    scanned
        Expected number of set elements read for each level, to find its candidates or to count it in closed
        form; empty where not sampled.
    tail
        The levels counted in closed form (counting only); None if there are none.
    space
        The candidate space to search; None to search the rows of the graph.
    classes
        Over a candidate space: a number per level, equal for levels whose candidates the plan assumes to be
        equal. Empty without a candidate space.
    impossible
        The reason if it is known without a search that there is no embedding; None otherwise. An empty plan
        has no steps.
    probed
        Expected seconds on one thread, from a probe; None without one.
    formula
        The formula over tables of local counts that counts in less time than this search is expected to
        take (counting only); None if there is none.
    all_different
        For each level, the number of later levels that need different vertices from its candidates, and the
        number of these vertices that must be greater than the vertex of the level. Empty if there are none.
    adaptive_order
        Data for matching levels in an order that changes during the search; None if the order is fixed.
    images
        Automorphisms: for each, an embedding found yields a row in which query vertex v has the image of
        ``automorphism[v]`` (enumerating only). Empty if the search finds every embedding itself.
    comparisons
        Comparisons of attributes that a choice of copies must satisfy, and whether choices are counted; None
        for none.
    copy_walk
        How to search from copy to copy of compared edges, instead of level by level; None: do not.
    asked
        The pattern that the plan was made for; equal plans may differ in it.
    """

    order: tuple[int, ...]
    shape: PlanShape
    args: PlanArgs
    semantics: Semantics
    symmetry: Symmetry
    multiplier: int
    automorphisms: int
    restrictions: tuple[tuple[int, int], ...]
    estimates: tuple[float, ...]
    scanned: tuple[float, ...] = ()
    tail: Tail | None = None
    space: SpaceKey | None = None
    classes: tuple[int, ...] = ()
    impossible: str | None = None
    probed: float | None = None
    formula: Formula | None = None
    all_different: tuple[tuple[int, int], ...] = ()
    adaptive_order: AdaptiveOrder | None = None
    images: tuple[tuple[int, ...], ...] = ()
    comparisons: BoundComparisons | None = None
    copy_walk: CopyWalk | None = None
    asked: Pattern | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SharedStep:
    """A level that several plans match together: the restrictions that hold in all of them.

    Parameters
    ----------
    after, before
        Levels whose vertex must be smaller (greater) than the candidate in each plan.
    distinct
        Levels whose vertex must differ from the candidate: all matches are injective.
    """

    after: tuple[int, ...]
    before: tuple[int, ...]
    distinct: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SharedLevels:
    """The levels that the plans of a group match together, before each continues on its own.

    The sets of these levels are equal in all plans of the group, as an automorphism of the kept query
    vertices maps the order of one plan to that of another. What a plan requires beyond `steps` it tests for
    each vertex of a shared level: order restrictions, and neighbours for later levels.

    Parameters
    ----------
    group
        A number for each group of a pattern.
    removed
        The query vertices that are not in the shared part of the pattern (GAMMA section V-B).
    steps
        Of level 2 and the following shared levels.
    """

    group: int
    removed: tuple[int, ...]
    steps: tuple[SharedStep, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """A table that a search from every image of the roots fills."""

    pattern: Rooted
    plan: Plan


@dataclass(frozen=True, slots=True)
class Middles:
    """Interchangeable vertices between the ends x and z of wedges.

    Parameters
    ----------
    first, second
        The query edges from x to one middle vertex and from it to z, by their ends in the pattern.
    number
        Number of these vertices.
    """

    first: tuple[int, int]
    second: tuple[int, int]
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Wedges:
    """Vertices between the ends of wedges, by histograms of wedges from each vertex.

    Parameters
    ----------
    pattern
        Its vertices are the ends x and z, which are not joined, and the middles.
    kinds
        The middles. Images of middles of one kind differ; two middles of different kinds may share one.
    symmetric
        Whether x and z can be exchanged.
    uniform
        Whether all four vertices of a 4-cycle can be exchanged.
    """

    pattern: Rooted
    kinds: tuple[Middles, ...]
    symmetric: bool
    uniform: bool


@dataclass(frozen=True, slots=True, eq=False)
class Ones:
    """A table of ones."""

    pattern: Rooted


@dataclass(frozen=True, slots=True, eq=False)
class EndLookup:
    """For each arc between two roots: the number that `table` has for the root at `end`."""

    pattern: Rooted
    end: int
    table: Table


@dataclass(frozen=True, slots=True, eq=False)
class Triangles:
    """The triangles at each arc; all three query vertices are interchangeable."""

    pattern: Rooted


@dataclass(frozen=True, slots=True, eq=False)
class WeightedCycles:
    """For each vertex c: the sum over 4-cycles c, b, a, d of the number that `weights` has for b and a.

    All vertices of the cycle have one kind, and all its edges one that goes either way.

    Parameters
    ----------
    edge
        A query edge of the cycle, by its ends in the pattern.
    """

    pattern: Rooted
    edge: tuple[int, int]
    weights: Table


class Move(IntEnum):
    """The operation of a step of walks (`csrc/local_counts/walks.hpp`)."""

    SEED, PUSH, PULL, ENDS, TIMES, SCALE, POWER = range(7)


class Finish(IntEnum):
    """The operation on the numbers of the last step."""

    SUM, EDGES, ARCS = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of walks: computes the numbers of one query vertex from those of another.

    Parameters
    ----------
    into, source
        The registers of both, with a number for each data vertex.
    ends
        The ends of the query edge that the step follows, in this direction.
    weights
        A table of weights of arcs, or of vertices.
    power
        The exponent of the result.
    below
        Whether walks reach only vertices less than their first vertex.
    """

    move: Move
    into: int
    source: int = 0
    ends: tuple[int, int] | None = None
    weights: Table | None = None
    power: int = 1
    below: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Walks:
    """Walks from each image of the first vertex; apart from this image, vertices may repeat.

    Parameters
    ----------
    apart
        Whether the walks avoid the image of the first vertex.
    ends
        The query edge whose rows `finish` reads.
    """

    pattern: Rooted
    steps: tuple[Step, ...]
    finish: Finish
    ends: tuple[int, int] | None
    apart: bool

    @property
    def is_near(self) -> bool:
        """Whether all walks have one edge: they are a product that is summed over rows."""
        first, *others = self.steps
        simple = {Move.SCALE, Move.POWER}
        return self.finish is Finish.SUM and not first.below and all(step.move in simple for step in others)


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """`times` the product of `factors`, summed over the roots that `pattern` does not have, minus `minus`.

    Parameters
    ----------
    factors
        Tables with the same roots: the roots of `pattern`, or more.
    minus
        Tables with the roots of `pattern` to subtract, each with its coefficient.
    times
        More than one only for a pattern without roots.
    """

    pattern: Rooted
    factors: tuple[Table, ...]
    minus: tuple[tuple[int, Table], ...]
    times: int = 1


Table: TypeAlias = Searched | Wedges | Triangles | Ones | EndLookup | WeightedCycles | Walks | Joined
"""The number of embeddings of `pattern` for each image of its roots.

Tables are computed from other tables, which they share, so they are compared by identity.
"""


@dataclass(frozen=True, slots=True)
class Formula:
    """A count that is computed from tables.

    Parameters
    ----------
    kinds
        The kinds to which the patterns of the tables refer by number.
    table
        The table whose pattern is the whole query, without roots.
    seconds
        Expected seconds.
    """

    kinds: Kinds
    table: Table = field(compare=False)
    seconds: float
    listed: tuple[object, ...] = field(init=False, repr=False)
    """The fields of each table, with other tables by number: equal formulas have equal lists."""

    def __post_init__(self) -> None:
        number: dict[Table, int] = {}
        listed = []
        for table in self.tables():
            listed.append((type(table).__name__, *_content(table, number)))
            number[table] = len(number)
        object.__setattr__(self, "listed", tuple(listed))

    def tables(self) -> list[Table]:
        """Return every table once, after the tables that it needs."""
        return all_tables(self.table)


def all_tables(table: Table) -> list[Table]:
    """Return a table and all from which it is computed, each once, after the tables that it needs."""
    found: dict[Table, None] = {}
    frontier: list[tuple[Table, bool]] = [(table, False)]
    while frontier:
        one, expanded = frontier.pop()
        if one in found:
            continue
        if expanded:
            found[one] = None
        else:
            frontier.append((one, True))
            frontier += [(part, False) for part in reversed(parts_of(one))]
    return list(found)


def parts_of(table: Table) -> tuple[Table, ...]:
    """Return the tables from which a table is computed."""
    match table:
        case EndLookup():
            return (table.table,)
        case WeightedCycles():
            return (table.weights,)
        case Walks():
            return tuple(step.weights for step in table.steps if step.weights is not None)
        case Joined():
            return (*table.factors, *(lesser for _, lesser in table.minus))
    return ()


def _content(value: Table | Step, number: dict[Table, int]) -> tuple[object, ...]:
    """Return the fields of a table or step, with a number in place of each table."""

    def plain(one: object) -> object:
        if isinstance(one, tuple):
            return tuple(plain(part) for part in one)
        if isinstance(one, Step):
            return _content(one, number)
        return number[one] if isinstance(one, Table) else one

    return tuple(plain(getattr(value, part.name)) for part in fields(value))
