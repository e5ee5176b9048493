"""RETURN DISTINCT and HAVING: the query vertices that rows have, and thresholds on the images of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from motiflux.comparisons import MIRRORED
from motiflux.conditions import Operator
from motiflux.errors import PatternSyntaxError
from motiflux.pattern.parser.meaning import as_symbol, conjuncts
from motiflux.pattern.parser.parse import checked_tree
from motiflux.pattern.parser.syntax import (
    Call,
    Compared,
    Literal,
    Operand,
    PatternText,
    Symbol,
    Test,
    TextError,
)
from motiflux.pattern.projection import Projection, Threshold

COUNT = "count"
NOT_ALL = "expected names in count(...) for a query with paths of variable length or OPTIONAL vertices"
EVERY = "*"
"""The argument of ``count(*)``."""
_MOST_TEXTS = 256
"""Number of texts whose patterns are cached: patterns do not change."""
_EXPECTED = "expected thresholds such as count(b) >= 5, joined by AND"
_BEFORE = "(a)--(b) RETURN DISTINCT a HAVING "
"""Text that makes a condition a whole text."""


@dataclass(frozen=True, slots=True)
class ThresholdText:
    """A threshold: the names that it counts (None: all that rows do not have), and where they stand."""

    counted: tuple[str, ...] | None
    operator: Operator
    number: int
    start: int


@lru_cache(_MOST_TEXTS)
def parse_thresholds(text: str) -> tuple[ThresholdText, ...]:
    """Return the thresholds of a text such as ``count(b) >= 5 AND count(c, d) < 3``.

    Raises
    ------
    PatternSyntaxError
        With a caret under the place.
    """
    try:
        tree = checked_tree(_BEFORE + text)
        assert tree.returned is not None
        if tree.returned.having is None:
            raise TextError(_EXPECTED, len(_BEFORE))
        return tuple(thresholds_of(tree.returned.having))
    except TextError as fault:
        place = min(max(fault.position - len(_BEFORE), 0), len(text))
        raise PatternSyntaxError(fault.message, text, place) from None


@lru_cache(_MOST_TEXTS)
def returns_rows(text: str) -> bool:
    """Return whether a text has RETURN DISTINCT; not if it is malformed."""
    try:
        return checked_tree(text).returned is not None
    except TextError:
        return False


def thresholds_of(test: Test) -> list[ThresholdText]:
    """Return the thresholds that a condition is made of.

    Raises
    ------
    TextError
        It has something else.
    """
    found = []
    for part in conjuncts(test):
        if not isinstance(part, Compared) or not part.operators:
            raise TextError(_EXPECTED, part.start)
        for operator, (left, right) in zip(part.operators, pairwise(part.operands), strict=True):
            found.append(_threshold(left, operator, right))
    return found


def _threshold(left: Operand, operator: Operator, right: Operand) -> ThresholdText:
    if isinstance(left, Literal):
        if operator not in MIRRORED:
            raise TextError(_EXPECTED, left.start)
        left, operator, right = right, MIRRORED[operator], left
    if not isinstance(left, Call) or left.function.lower() != COUNT or operator not in MIRRORED:
        raise TextError(_EXPECTED, left.start)
    if not isinstance(right, Literal) or isinstance(right.value, bool) or not isinstance(right.value, int):
        raise TextError("expected an integer beside count(...)", right.start)
    if not 0 <= right.value < 1 << 63:
        raise TextError(f"expected an integer from 0 to 2^63 - 1, found {right.source}", right.start)
    match left.arguments:
        case ():
            raise TextError("count: expected vertices, or * for all that rows do not have", left.start)
        case (Symbol(name="*"),):
            return ThresholdText(None, operator, right.value, left.start)
    names = tuple(as_symbol(argument).name for argument in left.arguments)
    return ThresholdText(names, operator, right.value, left.start)


def projection_in(tree: PatternText, names: Sequence[str], *, counts_all: bool) -> Projection | None:
    """Return the projection that RETURN DISTINCT behind a text asks for; None without it.

    Parameters
    ----------
    names
        The names of the vertices that rows may have.
    counts_all
        Whether ``count(*)`` has a meaning.

    Raises
    ------
    TextError
        A name is unknown or there twice; a threshold counts vertices that rows have.
    """
    if tree.returned is None:
        return None
    position = {name: at for at, name in enumerate(names)}

    def place(name: str, start: int) -> int:
        if name not in position:
            raise TextError(f"no vertex is called {name!r}", start)
        return position[name]

    returned: list[int] = []
    for symbol in tree.returned.names:
        at = place(symbol.name, symbol.start)
        if at in returned:
            raise TextError(f"expected each vertex once, found {symbol.name!r} again", symbol.start)
        returned.append(at)
    others = tuple(at for at in range(len(names)) if at not in returned)
    thresholds: dict[Threshold, None] = {}
    for one in () if tree.returned.having is None else thresholds_of(tree.returned.having):
        counted = others
        if one.counted is None and not counts_all:
            raise TextError(NOT_ALL, one.start)
        if one.counted is not None:
            counted = tuple(sorted({place(name, one.start) for name in one.counted}))
        if not counted or set(counted) & set(returned):
            raise TextError("expected counts of vertices that rows do not have", one.start)
        thresholds[Threshold(counted, one.operator, one.number)] = None
    return Projection(tuple(returned), tuple(thresholds))
