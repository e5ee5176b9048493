"""Builds the syntax tree of pattern text while the parser runs.

So parentheses of any depth need no depth of Python's stack.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

from lark import Token, Transformer, v_args

from motiflux.conditions import Operator
from motiflux.pattern.parser.syntax import (
    Among,
    Attribute,
    Call,
    Compared,
    Details,
    EdgeText,
    Joined,
    Labels,
    Length,
    Literal,
    Negated,
    NullTest,
    Operand,
    PatternText,
    Product,
    Symbol,
    Test,
    TextError,
    Total,
    VertexText,
    WithinText,
)
from motiflux.pattern.where import MAX_CONDITION_DEPTH
from motiflux.times import parse_duration

T = TypeVar("T")

_MOST_DIGITS = 1000
"""Most digits of an integer: Python reads a few thousand at most."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))")
_ESCAPED = {**{c: c for c in "\\'\"`"}, "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_NO_DETAILS = Details(None, None, (), None)


@v_args(inline=True)
class TreeBuilder(Transformer[Token, PatternText]):
    """Builds the syntax tree: a method for each rule of the grammar."""

    def start(self, *parts: Any) -> PatternText:
        """Return the whole tree; the paths come first, and spans last."""
        paths = tuple(part for part in parts if isinstance(part, tuple))
        spans = tuple(part for part in parts if isinstance(part, WithinText))
        where = parts[len(paths)] if len(parts) > len(paths) + len(spans) else None
        return PatternText(paths, where, spans)

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
        return EdgeText(details or _NO_DETAILS, start, bool(less or greater), leftward=less is not None)

    def wave_right(self, wave: Token, details: Details | None, *_: Token | None) -> EdgeText:
        """Make an edge that takes the direction of the graph."""
        return EdgeText(details or _NO_DETAILS, _start(wave), None)

    def wave_left(self, less: Token, _wave: Token, details: Details | None, *_: Token | None) -> EdgeText:
        """Make the same from right to left."""
        return EdgeText(details or _NO_DETAILS, _start(less), None, leftward=True)

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

    def total(self, *parts: Any) -> Total:
        """Make a sum; signs are between its terms."""
        return Total(_alternating(parts, "-"), parts[0].start)

    def product(self, *parts: Any) -> Product:
        """Make a product; the first factor is never a divisor."""
        return Product(_alternating(parts, "/"), parts[0].start)

    def within(self, word: Token, span: Literal | Length, attribute: Symbol | None) -> WithinText:
        """Make a span over all edges."""
        return WithinText(span, attribute.name if attribute else None, _start(word))

    def duration(self, token: Token) -> Length:
        """Make a duration."""
        text = str(token)
        nanoseconds = parse_duration(text.removeprefix("-"))
        if nanoseconds is None:
            raise TextError(
                f"expected a duration such as 90s or 1h30m, the largest unit first, found {text!r}",
                _start(token),
            )
        return Length(-nanoseconds if text.startswith("-") else nanoseconds, text, _start(token))

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
        """Return a name without a variable."""
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


def _alternating(parts: tuple[Any, ...], inverse: str) -> tuple[tuple[bool, Operand], ...]:
    """Return the operands among operands and signs, and whether the sign before each is the inverse one."""
    signs = (False, *(str(sign) == inverse for sign in parts[1::2]))
    return tuple(zip(signs, parts[::2], strict=True))


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
