"""All copies of a monitor at one time, and conditions, in the plain types of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.conditions import AllOf, AnyOf, Comparison, Condition, IsMissing, Not, OneOf, Operator
from motiflux.graph import Column


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
    """

    sources: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    labels: NDArray[np.uint32]
    since: NDArray[np.int64]
    came: int
    attributes: Mapping[str, Column]


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
