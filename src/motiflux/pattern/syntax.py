"""The syntax tree of pattern text: the parts of the text, not yet held against each other.

`TreeBuilder` makes it while the parser runs, so that no depth of parentheses is too deep for Python's stack.
Every ``start`` is a position in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from lark import Token, Transformer, v_args

from motiflux.conditions import Operator, Value
from motiflux.pattern.where import MAX_CONDITION_DEPTH

T = TypeVar("T")

_MOST_DIGITS = 1000
"""Of an integer: Python reads no more than a few thousand."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))")
_ESCAPED = {**{c: c for c in "\\'\"`"}, "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


class TextError(Exception):
    """An error in the text, and its position."""

    def __init__(self, message: str, position: int) -> None:
        self.message = message
        self.position = position
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name or a label: its text, and its value as a label."""

    name: str
    label: int | str
    start: int


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels after the colon; None for the star."""

    choice: frozenset[int | str] | None
    start: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A value; None for NULL. `source` is how it is written."""

    value: Value | None
    source: str
    start: int


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the element `variable`."""

    variable: Symbol
    name: str
    start: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function and its arguments."""

    function: str
    arguments: tuple[Operand, ...]
    start: int


Operand: TypeAlias = Symbol | Attribute | Call | Literal


@dataclass(frozen=True, slots=True)
class Compared:
    """Operands with an operator between each two; one operand alone compares nothing."""

    operands: tuple[Operand, ...]
    operators: tuple[Operator, ...]
    start: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Among:
    """Whether the operand is one of the values."""

    operand: Operand
    values: tuple[Literal, ...]
    start: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class NullTest:
    """Whether the operand has a value (`negated`) or has none."""

    operand: Operand
    negated: bool
    start: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Negated:
    """NOT."""

    inner: Test
    start: int
    depth: int


@dataclass(frozen=True, slots=True)
class Joined:
    """AND (`every`) or OR of tests; no part is joined the same way."""

    every: bool
    parts: tuple[Test, ...]
    start: int
    depth: int


Test: TypeAlias = Compared | Among | NullTest | Negated | Joined


@dataclass(frozen=True, slots=True)
class Details:
    """The content of the parentheses of a vertex or of the brackets of an edge."""

    symbol: Symbol | None
    labels: Labels | None
    properties: tuple[tuple[str, Literal], ...]
    where: Test | None


_NOTHING = Details(None, None, (), None)


@dataclass(frozen=True, slots=True)
class VertexText:
    """A vertex, wherever it is mentioned."""

    details: Details
    start: int


@dataclass(frozen=True, slots=True)
class EdgeText:
    """An edge between the vertices before and after it; `leftward` turns it round."""

    details: Details
    start: int
    directed: bool | None
    leftward: bool = False


@dataclass(frozen=True, slots=True)
class PatternText:
    """The paths, and the condition after WHERE."""

    paths: tuple[tuple[VertexText | EdgeText, ...], ...]
    where: Test | None


@v_args(inline=True)
class TreeBuilder(Transformer[Token, PatternText]):
    """Builds the syntax tree: a method for each rule of the grammar."""

    def start(self, *parts: Any) -> PatternText:
        """Make the whole; the paths come first."""
        where = None if isinstance(parts[-1], tuple) else parts[-1]
        return PatternText(tuple(part for part in parts if isinstance(part, tuple)), where)

    def path(self, *parts: VertexText | EdgeText) -> tuple[VertexText | EdgeText, ...]:
        """Make a path: vertices and the edges between them."""
        return parts

    def vertex(self, parenthesis: Token, *details: Any) -> VertexText:
        """Make a vertex."""
        return VertexText(_details(*details), _start(parenthesis))

    def line_edge(
        self, less: Token | None, line: Token, details: Details | None, _line: Token, greater: Token | None
    ) -> EdgeText:
        """Make an arc, or an edge that takes an arc either way."""
        start = _start(less or line)
        if less and greater:
            raise TextError("'<-->' is not supported: write '--' for an arc either way, or two edges", start)
        return EdgeText(details or _NOTHING, start, bool(less or greater), leftward=less is not None)

    def wave_right(self, wave: Token, details: Details | None, *_: Token | None) -> EdgeText:
        """Make an edge that takes the direction of the graph."""
        return EdgeText(details or _NOTHING, _start(wave), None)

    def wave_left(self, less: Token, _wave: Token, details: Details | None, *_: Token | None) -> EdgeText:
        """Make the same from right to left."""
        return EdgeText(details or _NOTHING, _start(less), None, leftward=True)

    def detail(self, *details: Any) -> Details:
        """Return the content of the brackets of an edge."""
        return _details(*details)

    def labels(self, *parts: Token | Symbol) -> Labels:
        """Make a choice of labels."""
        first = parts[0]
        if isinstance(first, Token):
            return Labels(None, _start(first))
        return Labels(frozenset(part.label for part in parts if isinstance(part, Symbol)), first.start)

    def properties(self, *properties: tuple[str, Literal] | None) -> tuple[tuple[str, Literal], ...]:
        """Make the equalities in braces."""
        return _present(properties)

    def property(self, key: Symbol, value: Literal) -> tuple[str, Literal]:
        """Make one equality."""
        return key.name, value

    def where(self, _where: Token, condition: Test) -> Test:
        """Return the condition after WHERE."""
        return condition

    def any_of(self, *parts: Test) -> Joined:
        """Join by OR."""
        return _join(False, parts)

    def all_of(self, *parts: Test) -> Joined:
        """Join by AND."""
        return _join(True, parts)

    def negated(self, word: Token, inner: Test) -> Negated:
        """Negate."""
        return Negated(inner, _start(word), _depth_above([inner], _start(word)))

    def compared(self, *parts: Any) -> Compared:
        """Make a comparison, or a chain of them."""
        operators = (Operator(_operator_name(token)) for token in parts[1::2])
        return Compared(parts[::2], tuple(operators), parts[0].start)

    def one_of(self, operand: Operand, *values: Literal | None) -> Among:
        """Make a test for a list of values."""
        return Among(operand, _present(values), operand.start)

    def is_null(self, operand: Operand, _is: Token) -> NullTest:
        """Make a test for a missing value."""
        return NullTest(operand, False, operand.start)

    def is_not_null(self, operand: Operand, _is: Token) -> NullTest:
        """Make a test for a value."""
        return NullTest(operand, True, operand.start)

    def operand(self, operand: Operand) -> Operand:
        """Pass on an operand."""
        return operand

    def bare(self, symbol: Symbol) -> Symbol:
        """Pass on a name that stands alone."""
        return symbol

    def attribute(self, variable: Symbol, name: Symbol) -> Attribute:
        """Make an attribute."""
        return Attribute(variable, name.name, variable.start)

    def call(self, function: Symbol, *arguments: Operand | None) -> Call:
        """Make a call."""
        return Call(function.name, _present(arguments), function.start)

    def word(self, token: Token) -> Symbol:
        """Make a symbol of a plain word."""
        return Symbol(str(token), str(token), _start(token))

    def backticked(self, token: Token) -> Symbol:
        """Return the symbol between backticks; two backticks in it are one character."""
        name = token[1:-1].replace("``", "`")
        return Symbol(name, name, _start(token))

    def string_symbol(self, token: Token) -> Symbol:
        """Make a symbol of a string."""
        name = _unescaped(token)
        return Symbol(name, name, _start(token))

    def integer_symbol(self, token: Token) -> Symbol:
        """Return an integer as a symbol; as a name, it is the text."""
        return Symbol(str(token), _integer(token), _start(token))

    def integer_value(self, token: Token) -> Literal:
        """Make an integer."""
        return Literal(_integer(token), str(token), _start(token))

    def float_value(self, token: Token) -> Literal:
        """Make a floating-point number."""
        return Literal(float(token), str(token), _start(token))

    def string_value(self, token: Token) -> Literal:
        """Make a string."""
        return Literal(_unescaped(token), str(token), _start(token))

    def true_value(self, token: Token) -> Literal:
        """Make TRUE."""
        return Literal(True, str(token), _start(token))

    def false_value(self, token: Token) -> Literal:
        """Make FALSE."""
        return Literal(False, str(token), _start(token))

    def null_value(self, token: Token) -> Literal:
        """Make NULL."""
        return Literal(None, str(token), _start(token))


def _details(
    symbol: Symbol | None,
    labels: Labels | None,
    properties: tuple[tuple[str, Literal], ...] | None,
    where: Test | None,
) -> Details:
    return Details(symbol, labels, properties or (), where)


def _join(every: bool, parts: tuple[Test, ...]) -> Joined:
    flat: list[Test] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Joined) and part.every is every else [part])
    start = parts[0].start
    return Joined(every, tuple(flat), start, _depth_above(flat, start))


def _depth_above(parts: list[Test], start: int) -> int:
    depth = 1 + max(part.depth for part in parts)
    if depth > MAX_CONDITION_DEPTH:
        raise TextError(f"expected conditions nested at most {MAX_CONDITION_DEPTH} deep", start)
    return depth


def _operator_name(token: Token) -> str:
    name = " ".join(token.upper().split())
    return "<>" if name == "!=" else name


def _integer(token: Token) -> int:
    if len(token) > _MOST_DIGITS:
        raise TextError(f"expected an integer of at most {_MOST_DIGITS} digits", _start(token))
    return int(token)


def _unescaped(token: Token) -> str:
    def character(escape: re.Match[str]) -> str:
        code = escape[1] or escape[2]
        if code is not None and int(code, 16) <= 0x10FFFF:
            return chr(int(code, 16))
        if code is None and escape[3] in _ESCAPED:
            return _ESCAPED[escape[3]]
        known = r"\\ \' \" \n \t \r \b \f \uXXXX \UXXXXXXXX"
        raise TextError(f"expected one of {known}, found {escape[0]!r}", _start(token) + 1 + escape.start())

    return _ESCAPE.sub(character, token[1:-1])


def _start(token: Token) -> int:
    assert token.start_pos is not None
    return token.start_pos


def _present(parts: tuple[T | None, ...]) -> tuple[T, ...]:
    """Leave out None, which is an empty list."""
    return tuple(part for part in parts if part is not None)
