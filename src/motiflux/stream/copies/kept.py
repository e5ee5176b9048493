"""All copies at one time: of a graph, or in the plain types of files; conditions and comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.comparisons import Duration, Element, Offset, Operand, PatternComparison, Relation, Within
from motiflux.conditions import AllOf, AnyOf, Comparison, Condition, IsMissing, Not, OneOf, Operator
from motiflux.graph import Column, Graph

TIME = "time"
"""The attribute with the times of updates, unless the times of the graph's edges have another name."""

STAYS: int = _native.Copies.STAYS
"""When a copy came into the window, if no window ends it."""


class Kept(NamedTuple):
    """All copies at one time, in their order, for `CopyStore.of` and `CopyStore.load`.

    Parameters
    ----------
    sources, targets, labels
        uint32 [n].
    since
        int64 [n]: when each came into the window; `STAYS` of copies that no window ends.
    came
        The number of all copies that came into a window of copies.
    attributes
        Columns [n] by name.
    time
        The name of the attribute with the times of updates.
    mixed
        The attributes whose values were of several kinds, and are strings that stand for them.
    """

    sources: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    labels: NDArray[np.uint32]
    since: NDArray[np.int64]
    came: int
    attributes: Mapping[str, Column]
    time: str = TIME
    mixed: frozenset[str] = frozenset()


def copies_of(graph: Graph, since: NDArray[np.int64] | None, came: int, time: str) -> Kept:
    """Return the copies of a graph.

    Parameters
    ----------
    since
        When each row of `Graph.edge_attributes` came into the window; None: all stay.
    came
        Copies that came into a window of copies.
    time
        The name of the attribute with the times of updates.
    """
    rows = graph.forward
    sources = rows.sources()
    kept = np.ones(len(sources), dtype=bool) if graph.directed else sources < rows.neighbors
    counts = np.ones(len(sources), dtype=np.int64) if rows.copies is None else rows.copies.astype(np.int64)
    arcs = np.repeat(np.flatnonzero(kept), counts[kept])
    labels = np.zeros(len(arcs), dtype=np.uint32) if rows.labels is None else rows.labels[arcs]
    when = np.full(len(arcs), STAYS, dtype=np.int64) if since is None else since
    order = np.argsort(when, kind="stable") if since is not None else np.arange(len(arcs))
    attributes = {name: column.take(order) for name, column in graph.edge_attributes.items()}
    return Kept(
        np.ascontiguousarray(sources[arcs][order], dtype=np.uint32),
        np.ascontiguousarray(rows.neighbors[arcs][order], dtype=np.uint32),
        np.ascontiguousarray(labels[order], dtype=np.uint32),
        when[order],
        came,
        attributes,
        time,
    )


def comparison_facts(one: PatternComparison) -> list[Any]:
    """Return a comparison as lists of text and numbers."""
    if isinstance(one, Within):
        return ["within", _offset_facts(one.span), one.attribute]
    sides = [[side.element.value, side.position, side.attribute] for side in (one.left, one.right)]
    return ["relation", one.operator.value, *sides, str(one.factor), _offset_facts(one.offset)]


def comparison_of(facts: list[Any]) -> PatternComparison:
    """Return the comparison of `comparison_facts`.

    Raises
    ------
    ValueError, TypeError, LookupError
        It is none.
    """
    kind, *parts = facts
    if kind == "within":
        span, attribute = parts
        return Within(_offset_of(span), attribute)
    if kind == "relation":
        operator, left, right, factor, offset = parts
        sides = [
            Operand(Element(element), position, attribute) for element, position, attribute in (left, right)
        ]
        return Relation(sides[0], Operator(operator), sides[1], Fraction(factor), _offset_of(offset))
    raise ValueError(f"found the comparison {kind!r}, expected one of those that patterns have")


def _offset_facts(offset: Offset) -> list[Any]:
    if isinstance(offset, Duration):
        return ["nanoseconds", offset.nanoseconds]
    return ["number", str(offset)]


def _offset_of(facts: list[Any]) -> Offset:
    unit, value = facts
    return Duration(int(value)) if unit == "nanoseconds" else Fraction(value)


def condition_facts(condition: Condition) -> list[Any]:
    """Return a condition as lists of text and numbers."""
    match condition:
        case Not(inner):
            return ["not", condition_facts(inner)]
        case AllOf(parts):
            return ["all", *map(condition_facts, parts)]
        case AnyOf(parts):
            return ["any", *map(condition_facts, parts)]
        case IsMissing(name):
            return ["missing", name]
        case OneOf(name, values):
            return ["one", name, *values]
        case Comparison(name, operator, value):
            return ["compare", name, operator.value, value]
    raise AssertionError(condition)


def condition_of(facts: list[Any]) -> Condition:
    """Return the condition of `condition_facts`.

    Raises
    ------
    ValueError, TypeError, LookupError
        It is none.
    """
    kind, *parts = facts
    if kind == "not":
        return Not(condition_of(*parts))
    if kind in ("all", "any"):
        return (AllOf if kind == "all" else AnyOf)(tuple(map(condition_of, parts)))
    if kind == "missing":
        return IsMissing(*parts)
    if kind == "one":
        return OneOf(parts[0], tuple(parts[1:]))
    if kind == "compare":
        name, operator, value = parts
        return Comparison(name, Operator(operator), value)
    raise ValueError(f"found the condition {kind!r}, expected one of those that patterns have")
