"""Formulas as text, a line per table."""

from __future__ import annotations

from motiflux.plan.ir import (
    EndLookup,
    Formula,
    Joined,
    Ones,
    Searched,
    Table,
    Triangles,
    Walks,
    Wedges,
    WeightedCycles,
)
from motiflux.plan.rooted import Rooted

_OVER = ("", " at each vertex", " at each edge")
_LETTERS = "abcdefgh"


def lines_of(formula: Formula) -> tuple[str, ...]:
    """Return a line ``T1 = ...`` for each table, after the lines of the tables that it needs."""
    named = [table for table in formula.tables() if not isinstance(table, (Ones, EndLookup))]
    names: dict[Table, str] = {table: f"T{number}" for number, table in enumerate(named, 1)}
    return tuple(f"{names[table]} = {_text(table, names)}" for table in named)


def _text(table: Table, names: dict[Table, str]) -> str:
    pattern = table.pattern
    match table:
        case Triangles():
            return "triangles at each edge"
        case Wedges():
            middles = " * ".join(str(kind.number) for kind in table.kinds)
            noun = "vertex" if middles == "1" else "vertices"
            counted = "4-cycles" if table.uniform else f"{middles} {noun} between two"
            return f"{counted}{_OVER[pattern.roots]}, by a histogram of wedges"
        case Searched():
            return f"{_edges(pattern)}{_greatest(pattern)}{_OVER[pattern.roots]}, by search"
        case Walks():
            weighted = [
                f" by {_factor(step.weights, names)}" for step in table.steps if step.weights is not None
            ]
            by = f", weighted{' and'.join(weighted)}" if weighted else ""
            return f"{_edges(pattern)}{_greatest(pattern)}{_OVER[pattern.roots]}, by walks from a{by}"
        case WeightedCycles():
            weights = _factor(table.weights, names)
            return f"4-cycles at each vertex, weighted by {weights} from a neighbour to the opposite vertex"
        case Joined():
            factors = " * ".join(_factor(factor, names) for factor in table.factors)
            more = table.factors[0].pattern.roots - pattern.roots
            text = f"sum of {factors}" if more else factors
            if table.times > 1:
                text = f"{table.times} {text}"
            for times, lesser in table.minus:
                text += f" - {'' if times == 1 else f'{times} '}{_factor(lesser, names)}"
            return f"{text}: {_edges(pattern)}{_greatest(pattern)}{_OVER[pattern.roots]}"
    raise AssertionError("a table that has no line")


def _factor(table: Table, names: dict[Table, str]) -> str:
    match table:
        case Ones():
            return "1"
        case EndLookup():
            return f"{names[table.table]}({'ab'[table.end]})"
    return names[table]


def _edges(pattern: Rooted) -> str:
    """Return the edges by letters, roots first."""
    return " ".join(f"{_LETTERS[u]}-{_LETTERS[v]}" for u, v, _ in pattern.edges)


def _greatest(pattern: Rooted) -> str:
    if not pattern.below:
        return ""
    return f" where a > {', '.join(_LETTERS[v] for v in sorted(pattern.below))}"
