"""How a count is put together from tables of local counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from motiflux.plan.ir import Plan
from motiflux.plan.local.rooted import Kinds, Rooted


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Ones:
    """One for each image of the roots."""

    pattern: Rooted


@dataclass(frozen=True, slots=True)
class OfEnd:
    """On the arcs of two roots: what a table says of the root at `end`."""

    pattern: Rooted
    end: int
    table: Table


@dataclass(frozen=True, slots=True)
class Triangles:
    """The triangles at each arc, where all three vertices can be exchanged."""

    pattern: Rooted


@dataclass(frozen=True, slots=True)
class Joined:
    """The product of `factors`, summed over roots that `pattern` does not have, less `minus`.

    Parameters
    ----------
    factors
        Tables with the same roots: those of `pattern`, or more.
    minus
        How often each of some tables with the roots of `pattern` is taken away.
    """

    pattern: Rooted
    factors: tuple[Table, ...]
    minus: tuple[tuple[int, Table], ...]


Table: TypeAlias = Searched | Wedges | Triangles | Ones | OfEnd | Joined
"""A number for each image of the roots of `pattern`: how many embeddings of it there are."""


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
    table: Table
    seconds: float

    def tables(self) -> list[Table]:
        """Return every table once, those that others need first."""
        return list(dict.fromkeys(_with_parts(self.table)))


def parts_of(table: Table) -> tuple[Table, ...]:
    """Return the tables that a table is made of."""
    match table:
        case OfEnd():
            return (table.table,)
        case Joined():
            return (*table.factors, *(lesser for _, lesser in table.minus))
    return ()


def _with_parts(table: Table) -> Iterator[Table]:
    for part in parts_of(table):
        yield from _with_parts(part)
    yield table
