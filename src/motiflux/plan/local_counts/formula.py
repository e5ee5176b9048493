"""How a count is put together from tables of local counts."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import TypeAlias

from motiflux.plan.ir import Plan
from motiflux.plan.local_counts.rooted import Kinds, Rooted


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """Found by a search from every image of the roots."""

    pattern: Rooted
    plan: Plan


@dataclass(frozen=True, slots=True)
class Middles:
    """Alike vertices between the ends x and z of wedges.

    Parameters
    ----------
    first, second
        The query edges from x to one of them and from it to z, by their ends in the pattern.
    number
        How many there are.
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
        The ends are x and z, joined by nothing but middles.
    kinds
        The middles. Those of one kind differ; of two kinds two may be the same vertex.
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
    """One for each image of the roots."""

    pattern: Rooted


@dataclass(frozen=True, slots=True, eq=False)
class OfEnd:
    """On the arcs of two roots: what a table says of the root at `end`."""

    pattern: Rooted
    end: int
    table: Table


@dataclass(frozen=True, slots=True, eq=False)
class Triangles:
    """The triangles at each arc, where all three vertices can be exchanged."""

    pattern: Rooted


class Move(IntEnum):
    """What a step of walks does (`csrc/local_counts/walks.hpp`)."""

    SEED, PUSH, PULL, ENDS, TIMES, SCALE, POWER = range(7)


class Finish(IntEnum):
    """What is made of the numbers of the last step."""

    SUM, EDGES, ARCS = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of walks: how the numbers of one query vertex come of those of another.

    Parameters
    ----------
    into, source
        The registers that hold them, a number for each data vertex.
    ends
        The query vertices whose edge is followed, as the rows go.
    weights
        A table that arcs, or vertices, are weighed by.
    power
        How often what is found counts.
    below
        Whether only vertices less than where the walks start are gone to.
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
    """Walks from each image of the first vertex in turn; their vertices differ from that one alone.

    Parameters
    ----------
    apart
        Whether they differ from it.
    ends
        The query vertices whose rows `finish` goes over.
    """

    pattern: Rooted
    steps: tuple[Step, ...]
    finish: Finish
    ends: tuple[int, int] | None
    apart: bool

    @property
    def is_near(self) -> bool:
        """Whether they go no further than to neighbours: a product that is summed over rows."""
        first, *others = self.steps
        simple = {Move.SCALE, Move.POWER}
        return self.finish is Finish.SUM and not first.below and all(step.move in simple for step in others)


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """`times` the product of `factors`, summed over roots that `pattern` does not have, less `minus`.

    Parameters
    ----------
    factors
        Tables with the same roots: those of `pattern`, or more.
    minus
        How often each of some tables with the roots of `pattern` is taken away.
    times
        More than one only for a pattern without roots.
    """

    pattern: Rooted
    factors: tuple[Table, ...]
    minus: tuple[tuple[int, Table], ...]
    times: int = 1


Table: TypeAlias = Searched | Wedges | Triangles | Ones | OfEnd | Walks | Joined
"""A number for each image of the roots of `pattern`: how many embeddings of it there are.

Tables are made of others that they share, so they are compared by what they are, not by what they hold.
"""


@dataclass(frozen=True, slots=True)
class Formula:
    """A count put together from tables.

    Parameters
    ----------
    kinds
        What the patterns of the tables name by number.
    table
        The one whose pattern is all of the query, without roots.
    seconds
        How long it is expected to take.
    """

    kinds: Kinds
    table: Table = field(compare=False)
    seconds: float
    listed: tuple[object, ...] = field(init=False, repr=False)
    """What each table holds, other tables by number: formulas are equal where that is."""

    def __post_init__(self) -> None:
        number: dict[Table, int] = {}
        listed = []
        for table in self.tables():
            listed.append((type(table).__name__, *_content(table, number)))
            number[table] = len(number)
        object.__setattr__(self, "listed", tuple(listed))

    def tables(self) -> list[Table]:
        """Return every table once, those that others need first."""
        found: dict[Table, None] = {}
        frontier: list[tuple[Table, bool]] = [(self.table, False)]
        while frontier:
            table, expanded = frontier.pop()
            if table in found:
                continue
            if expanded:
                found[table] = None
            else:
                frontier.append((table, True))
                frontier += [(part, False) for part in reversed(parts_of(table))]
        return list(found)


def parts_of(table: Table) -> tuple[Table, ...]:
    """Return the tables that a table is made of."""
    match table:
        case OfEnd():
            return (table.table,)
        case Walks():
            return tuple(step.weights for step in table.steps if step.weights is not None)
        case Joined():
            return (*table.factors, *(lesser for _, lesser in table.minus))
    return ()


def _content(value: Table | Step, number: dict[Table, int]) -> tuple[object, ...]:
    """Return the fields of a table or step, with a number in the place of each table."""

    def plain(one: object) -> object:
        if isinstance(one, tuple):
            return tuple(plain(part) for part in one)
        if isinstance(one, Step):
            return _content(one, number)
        return number[one] if isinstance(one, Table) else one

    return tuple(plain(getattr(value, part.name)) for part in fields(value))
