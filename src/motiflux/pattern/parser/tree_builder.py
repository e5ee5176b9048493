"""Builds the syntax tree of pattern text while the parser runs.

So parentheses of any depth need no depth of Python's stack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
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
    LengthText,
    Literal,
    Negated,
    NegatedPath,
    NegatedTest,
    NullTest,
    Operand,
    OptionalText,
    PathMark,
    PathParts,
    PatternText,
    Product,
    ReturnText,
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


@dataclass(frozen=True, slots=True)
class MarkedPath:
    """A path with the mark before it."""

    mark: PathMark | None
    path: PathParts


@v_args(inline=True)
class TreeBuilder(Transformer[Token, PatternText]):
    """Builds the syntax tree: a method for each rule of the grammar."""

    def start(self, *parts: Any) -> PatternText:
        """Return the whole tree; the paths come first."""
        given = [part for part in parts if isinstance(part, (tuple, MarkedPath))]
        marked = [part if isinstance(part, MarkedPath) else MarkedPath(None, part) for part in given]
        negated = tuple(part for part in parts if isinstance(part, NegatedPath))
        spans = tuple(part for part in parts if isinstance(part, WithinText))
        optionals = tuple(part for part in parts if isinstance(part, OptionalText))
        returned = next((part for part in parts if isinstance(part, ReturnText)), None)
        first = len(given) + len(negated)
        others = first + len(spans) + len(optionals) + (returned is not None)
        where = parts[first] if len(parts) > others else None
        marks = tuple(one.mark for one in marked) if any(one.mark for one in marked) else ()
        return PatternText(
            tuple(one.path for one in marked), where, spans, marks, optionals, negated, returned
        )

    def marked_path(self, mark: PathMark, path: PathParts) -> MarkedPath:
        """Put a mark before a path."""
        return MarkedPath(mark, path)

    def named_mark(self, name: Symbol, equals: Token, walk: Token | None) -> PathMark:
        """Make the mark of a name before a path."""
        if equals != "=":
            raise TextError(f"expected '=' after the name of a path, found {str(equals)!r}", _start(equals))
        return PathMark(name, walk is not None, name.start)

    def walk_mark(self, walk: Token) -> PathMark:
        """Make the mark of WALK alone."""
        return PathMark(None, True, _start(walk))

    def optional(self, word: Token, path: PathParts, where: Test | None = None) -> OptionalText:
        """Make a path that need not be there."""
        return OptionalText(path, where, _start(word))

    def repeated(self, edge: EdgeText, length: LengthText) -> EdgeText:
        """Make a path of an edge."""
        if edge.details.length is not None:
            raise TextError("expected one length, in the brackets or after the edge", length.start)
        length = length if length.start else replace(length, start=edge.start)
        return replace(edge, details=replace(edge.details, length=length))

    def exact_length(self, *parts: Token | None) -> LengthText:
        """Make the length of a path; without a number, any length."""
        number = parts[-1]
        length = None if number is None else _integer(number)
        return LengthText(1 if length is None else length, length, _start_of(parts))

    def length_range(self, *parts: Token | None) -> LengthText:
        """Make a range of lengths of a path."""
        least, most = (None if number is None else _integer(number) for number in parts[-2:])
        return LengthText(least, most, _start_of(parts))

    def negated_path(self, path: PathParts) -> NegatedPath:
        """Negate a path."""
        return NegatedPath(path, path[0].start)

    def negated_test(self, path: PathParts) -> NegatedTest:
        """Negate a path in a condition."""
        return NegatedTest(NegatedPath(path, path[0].start), path[0].start)

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
        symbol, labels, length, properties, where = details
        return replace(_details(symbol, labels, properties, where), length=length)

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

    def returned(self, word: Token, *parts: Any) -> ReturnText:
        """Make the vertices that rows have; HAVING and its condition come last, or None twice."""
        *names, having, condition = parts
        return ReturnText(tuple(names), condition if having else None, _start(word))

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

    def call(self, function: Symbol, *arguments: Operand | Token | Labels | None) -> Call:
        """Make a call; a star is a symbol of that name, and labels come last."""
        given = [Symbol("*", "*", _start(one)) if isinstance(one, Token) else one for one in arguments]
        operands = tuple(one for one in given if one is not None and not isinstance(one, Labels))
        labels = next((one for one in given if isinstance(one, Labels)), None)
        return Call(function.name, operands, function.start, labels)

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


def _start_of(parts: tuple[Token | None, ...]) -> int:
    """Return the position of the first part; 0 if there is none."""
    return next((_start(part) for part in parts if part is not None), 0)


def _start(token: Token) -> int:
    assert token.start_pos is not None
    return token.start_pos


def _present(parts: tuple[T | None, ...]) -> tuple[T, ...]:
    """Leave out None, which is an empty list."""
    return tuple(part for part in parts if part is not None)
