"""Patterns as text that `Pattern.parse` takes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from motiflux.comparisons import MIRRORED, Duration, Offset, Operand, Relation, Within
from motiflux.conditions import AllOf, AnyOf, Comparison, Condition, Degree, IsMissing, Not, OneOf, Value
from motiflux.pattern.elements import QueryEdge, QueryVertex
from motiflux.pattern.negated import AnyVertex, NegatedEdge, PossibleEnd
from motiflux.pattern.query_graph import QueryGraph
from motiflux.times import format_duration
from motiflux.types import Label, VertexId

_IDENTIFIER = re.compile(r"[^\W\d]\w*")  # the grammar's NAME
_INTEGER = re.compile(r"-?[0-9]+")  # the grammar's INTEGER
_KEYWORDS = frozenset(
    "MATCH WALK OPTIONAL WITHIN WHERE AND OR NOT IN STARTS ENDS WITH CONTAINS IS NULL TRUE FALSE".split()  # noqa: SIM905
)
_ESCAPES = {"\\": r"\\", "'": r"\'", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
_OVERFLOW = "1e999"
"""A number that reads as infinity, which has no name of its own."""

_MOST_PLACES = 64
"""Decimals of a number that is written with a point; factors and offsets with more do not exist."""

_LOOSEST, _ALL_OF, _TIGHTEST = range(3)
"""How tightly the place of a condition binds: OR needs no parentheses in the first only."""


def pattern_text(pattern: QueryGraph) -> str:
    """Return `pattern` as text; `Pattern.parse` restores all of it but the name.

    Examples
    --------
    >>> from motiflux import Pattern
    >>> print(Pattern.from_edges([(0, 1), (1, 2)], vertex_labels=["bank", None, 7], directed=True))
    (0:bank)-->(1), (1)-->(2:7)
    """
    first = pattern.vertices
    parts = []
    mentioned: list[int] = []
    for edge in pattern.edges:
        mentioned += (end for end in (edge.source, edge.target) if end not in mentioned)
    listed = mentioned != sorted(mentioned)
    if listed:
        parts = [_vertex(vertex, labelled=True) for vertex in first]
    seen: set[int] = set(range(len(first))) if listed else set()
    for edge in pattern.edges:
        ends = []
        for end in (edge.source, edge.target):
            ends.append(_vertex(first[end], labelled=end not in seen))
            seen.add(end)
        parts.append(ends[0] + _edge(edge) + ends[1])
    parts += negated_texts(pattern)
    conditions = [*_conditions(pattern), *comparison_texts(pattern)]
    text = ", ".join(parts) + (" WHERE " + " AND ".join(conditions) if conditions else "")
    return " ".join([text, *(span_text(one) for one in pattern.comparisons if isinstance(one, Within))])


def negated_texts(pattern: QueryGraph) -> list[str]:
    """Return the negated edges of a pattern as text, one by one.

    Examples
    --------
    >>> from motiflux import Pattern
    >>> negated_texts(Pattern.parse("(a)-->(b), NOT (b)-[:wire]->(), NOT (b)-->(a)"))
    ['NOT (b)-->(a)', 'NOT (b)-[:wire]->()']
    """
    return [f"NOT {negated_edge_text(one, pattern)}" for one in pattern.negated]


def negated_edge_text(one: NegatedEdge, pattern: QueryGraph) -> str:
    """Return the edge that a negated edge forbids as text.

    The grammar has no text for vertices that may be there all the same, nor for ids and negated edges of any
    vertex: ``EXCEPT``, ``ID`` and ``NOT`` in it are for readers alone.
    """
    besides = [quoted(pattern.vertices[at].name) for at in sorted(one.besides)]
    return _negated_text(one, [_vertex(vertex, labelled=False) for vertex in pattern.vertices], besides)


def _negated_text(one: NegatedEdge, vertices: Sequence[str], besides: Sequence[str]) -> str:
    ends = [
        _any_vertex(end, besides) if isinstance(end, AnyVertex) else vertices[end]
        for end in (one.source, one.target)
    ]
    return ends[0] + _edge(QueryEdge(0, 1, one.labels, one.directed, where=one.where)) + ends[1]


def _any_vertex(end: AnyVertex, besides: Sequence[str]) -> str:
    inside = _labels(end.labels)
    if end.ids is not None:
        inside += f"{' ' if inside else ''}ID {_among(end.ids)}"
    if besides:
        inside += f"{' ' if inside else ''}EXCEPT {', '.join(besides)}"
    if end.where is not None:
        inside += f"{' ' if inside else ''}WHERE {condition_text(end.where)}"
    for one in end.negated if isinstance(end, PossibleEnd) else ():
        inside += f"{' ' if inside else ''}NOT {_negated_text(one, ('(start)', '(end)'), ())}"
    return f"({inside})"


def comparison_texts(pattern: QueryGraph) -> list[str]:
    """Return the relations of a pattern as text, one by one.

    Examples
    --------
    >>> from motiflux import Pattern
    >>> text = "(a)-[x]->(b)-[y]->(c) WHERE x.t < y.t AND 0.9 * x.amount <= y.amount"
    >>> comparison_texts(Pattern.parse(text))
    ['x.t < y.t', 'y.amount >= 0.9 * x.amount']
    """
    return [_relation(one, pattern) for one in pattern.comparisons if isinstance(one, Relation)]


def span_text(one: Within) -> str:
    """Return a span over all edges as text.

    Examples
    --------
    >>> from motiflux.comparisons import Duration, Within
    >>> span_text(Within(Duration(3600 * 10**9)))
    'WITHIN 1h'
    """
    return f"WITHIN {_offset(one.span)}" + ("" if one.attribute == "time" else f" OF {quoted(one.attribute)}")


def _relation(one: Relation, pattern: QueryGraph) -> str:
    left, right = _operand(one.left, pattern), _operand(one.right, pattern)
    operator, offset = one.operator, one.offset
    length = offset.nanoseconds if isinstance(offset, Duration) else offset
    if one.factor == -1:
        return f"{left} + {right} {operator} {_offset(offset)}"
    if one.factor == 1 and length == 0:
        return f"{left} {operator} {right}"
    if one.factor == 1 and length > 0:
        return f"{left} - {right} {operator} {_offset(offset)}"
    if one.factor == 1:
        return f"{right} - {left} {MIRRORED[operator]} {_offset(_negative(offset))}"
    decimal = _decimal(one.factor)
    if decimal is not None:
        scaled = f"{decimal} * {right}"
    else:
        multiple = right if one.factor.numerator == 1 else f"{one.factor.numerator} * {right}"
        scaled = f"{multiple} / {one.factor.denominator}"
    added = "" if length == 0 else f" {'+' if length > 0 else '-'} {_offset(abs(Fraction(length)))}"
    return f"{left} {operator} {scaled}{added}"


def _operand(operand: Operand, pattern: QueryGraph) -> str:
    if operand.is_edge:
        name = quoted(pattern.edges[operand.position].name)
    else:
        name = pattern.vertices[operand.position].name
        name = name if _INTEGER.fullmatch(name) else quoted(name)
    return f"id({name})" if operand.attribute is None else f"{name}.{quoted(operand.attribute)}"


def _offset(offset: Offset) -> str:
    if isinstance(offset, Duration):
        sign = "-" if offset.nanoseconds < 0 else ""
        return sign + format_duration(abs(offset.nanoseconds))
    decimal = _decimal(offset)
    return f"{offset.numerator} / {offset.denominator}" if decimal is None else decimal


def _negative(offset: Offset) -> Offset:
    return Duration(-offset.nanoseconds) if isinstance(offset, Duration) else -offset


def _decimal(number: Fraction) -> str | None:
    """Return a number with finitely many decimals; None for others."""
    if number.denominator == 1:
        return str(number.numerator)
    places = 0
    scaled = number
    while scaled.denominator != 1 and places < _MOST_PLACES:
        scaled, places = scaled * 10, places + 1
    if scaled.denominator != 1:
        return None
    digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def quoted(name: str) -> str:
    """Return a name or a string label as it stands in text: in backticks unless it is a plain word."""
    if _IDENTIFIER.fullmatch(name) and name.upper() not in _KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def condition_text(condition: Condition) -> str:
    """Return a condition on the attributes of one vertex or edge that needs no name.

    Examples
    --------
    >>> from motiflux.conditions import Comparison, Operator
    >>> condition_text(Comparison("amount", Operator.GREATER, 100))
    'amount > 100'
    """
    return _condition(condition, "", _LOOSEST)


def _vertex(vertex: QueryVertex, *, labelled: bool) -> str:
    name = vertex.name if _INTEGER.fullmatch(vertex.name) else quoted(vertex.name)
    return f"({name}{_labels(vertex.labels) if labelled else ''})"


def _edge(edge: QueryEdge) -> str:
    inside = (quoted(edge.name) if edge.name else "") + _labels(edge.labels)
    if edge.where is not None and not edge.name:
        inside += f"{' ' if inside else ''}WHERE {condition_text(edge.where)}"
    if edge.directed is None:
        return f"~[{inside}]~>" if inside else "~>"
    head = ">" if edge.directed else ""
    return f"-[{inside}]-{head}" if inside else f"--{head}"


def _labels(labels: frozenset[Label] | None) -> str:
    if labels is None:
        return ""
    return ":" + "|".join(
        quoted(label) if isinstance(label, str) else str(label) for label in _sorted(labels)
    )


def _sorted(values: frozenset[int | str]) -> list[int | str]:
    """Return numbers, then strings, each in order."""
    return sorted(values, key=lambda value: (isinstance(value, str), value))


def _conditions(pattern: QueryGraph) -> Iterable[str]:
    """Yield the conditions of the WHERE clause, which AND joins."""
    for vertex in pattern.vertices:
        name = quoted(vertex.name)
        if vertex.ids is not None:
            yield f"id({name}) {_among(vertex.ids)}"
        if vertex.where is not None:
            yield _condition(vertex.where, f"{name}.", _ALL_OF)
    for edge in pattern.edges:
        if edge.name and edge.where is not None:
            yield _condition(edge.where, f"{quoted(edge.name)}.", _ALL_OF)
    for pair in pattern.may_coincide:
        first, second = (quoted(pattern.vertices[end].name) for end in pair)
        yield f"may_equal({first}, {second})"


def _among(ids: frozenset[VertexId]) -> str:
    values = [_value(one) for one in _sorted(ids)]
    return f"= {values[0]}" if len(values) == 1 else f"IN [{', '.join(values)}]"


def _condition(condition: Condition, variable: str, place: int) -> str:
    """Return a condition on the element `variable`: empty, or a name and a dot."""
    match condition:
        case Comparison(attribute, operator, value):
            return f"{variable}{quoted(attribute)} {operator} {_value(value)}"
        case OneOf(attribute, values):
            return f"{variable}{quoted(attribute)} IN [{', '.join(map(_value, values))}]"
        case IsMissing(attribute):
            return f"{variable}{quoted(attribute)} IS NULL"
        case Degree():
            return _degree(condition, variable.removesuffix("."))
        case Not(IsMissing(attribute)):
            return f"{variable}{quoted(attribute)} IS NOT NULL"
        case Not(inner):
            return f"NOT {_condition(inner, variable, _TIGHTEST)}"
        case AllOf(parts):
            text = " AND ".join(_condition(part, variable, _ALL_OF) for part in parts)
            return f"({text})" if place == _TIGHTEST else text
        case AnyOf(parts):
            text = " OR ".join(_condition(part, variable, _LOOSEST) for part in parts)
            return text if place == _LOOSEST else f"({text})"


def _degree(condition: Degree, name: str) -> str:
    parts = [name, condition.direction or ""]
    for label in _sorted(condition.labels) if condition.labels is not None else ():
        parts.append(
            _value(label) if isinstance(label, int) or label.lower() in ("in", "out") else quoted(label)
        )
    return f"degree({', '.join(filter(None, parts))}) {condition.operator} {condition.value}"


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + "".join(map(_escaped, value)) + "'"
    if isinstance(value, float) and math.isinf(value):
        return _OVERFLOW if value > 0 else f"-{_OVERFLOW}"
    return repr(value)


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"
