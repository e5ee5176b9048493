"""Comparisons of the text as relations between attributes: both sides are linear in two attributes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from motiflux.comparisons import MIRRORED, Duration, Element, Offset, Operand, Relation, Within
from motiflux.conditions import Operator
from motiflux.errors import PatternError
from motiflux.pattern.compared import number_of
from motiflux.pattern.parser.drafts import Draft, Drafts, VertexDraft
from motiflux.pattern.parser.meaning import as_symbol, misplaced
from motiflux.pattern.parser.syntax import (
    Attribute,
    Call,
    Length,
    Literal,
    Product,
    Symbol,
    TextError,
    Total,
    WithinText,
)
from motiflux.pattern.parser.syntax import Operand as OperandText
from motiflux.pattern.parser.unquoted import needs_quotes
from motiflux.times import parse_duration

_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")


def is_relation(left: OperandText, right: OperandText, inside: Draft | None) -> bool:
    """Whether a comparison of two sides is about two attributes, or has arithmetic."""
    if any(isinstance(side, (Product, Total, Length)) for side in (left, right)):
        return True
    return (
        _is_attribute(left, inside)
        and _is_attribute(right, inside)
        and not (isinstance(left, Symbol) and isinstance(right, Symbol))
    )


def relation_of(
    left: OperandText, operator: Operator, right: OperandText, drafts: Drafts, inside: Draft | None
) -> Relation:
    """Return the relation between the two attributes of a comparison.

    Raises
    ------
    TextError
        The sides are not linear in two attributes.
    """
    form = _Form(drafts, inside)
    _refuse_dates(left, operator, right)
    form.add(left, Fraction(1))
    form.add(right, Fraction(-1))
    return form.relation(operator, left.start, right.start)


def within_of(text: WithinText) -> Within:
    """Return a span over all edges.

    Raises
    ------
    TextError
        The span is no number and no duration.
    """
    span: Offset
    match text.span:
        case Length(nanoseconds):
            span = Duration(nanoseconds)
        case Literal(value=str() as value) if (parsed := parse_duration(value)) is not None:
            span = Duration(parsed)
        case Literal() as literal:
            span = _number(literal, "a number or a duration such as 3d")
    length = span.nanoseconds if isinstance(span, Duration) else span
    if length < 0:
        raise TextError(f"expected a span that is not negative, found {text.span.source}", text.span.start)
    return Within(span, "time" if text.attribute is None else text.attribute)


@dataclass
class _Form:
    """A sum of multiples of attributes, of a number and of a duration, that is compared with zero."""

    drafts: Drafts
    inside: Draft | None
    multiples: dict[Operand, Fraction] = field(default_factory=dict)
    number: Fraction = Fraction(0)
    length: int | None = None

    def add(self, side: OperandText, sign: Fraction) -> None:
        """Add one side of the comparison."""
        terms = side.terms if isinstance(side, Total) else ((False, side),)
        for subtracted, term in terms:
            self._add_term(term, -sign if subtracted else sign)

    def relation(self, operator: Operator, start: int, right_start: int) -> Relation:
        """Return the relation that the sum has with zero."""
        multiples = {operand: multiple for operand, multiple in self.multiples.items() if multiple}
        if len(multiples) != 2:
            raise TextError(
                "expected two attributes in a comparison with arithmetic, as in x.amount >= 0.9 * y.amount,"
                f" found {len(multiples) or 'none'}" + ("; write a value as one number" if multiples else ""),
                start,
            )
        (left, scale), (right, multiple) = multiples.items()
        if abs(scale) != 1 and abs(multiple) == 1:
            left, scale, right, multiple = right, multiple, left, scale
        if self.length is not None:
            if self.number or abs(scale) != 1 or scale != -multiple:
                raise TextError(
                    "expected a duration in a difference of two times, as in y.time - x.time < 1h", start
                )
            offset: Offset = Duration(int(-self.length / scale))
        else:
            offset = -self.number / scale
        return Relation(left, operator if scale > 0 else MIRRORED[operator], right, -multiple / scale, offset)

    def _add_term(self, term: OperandText, scale: Fraction) -> None:
        factors = term.factors if isinstance(term, Product) else ((False, term),)
        found: Operand | None = None
        length: Length | None = None
        for divides, factor in factors:
            match factor:
                case Length():
                    length = self._only(factor, found or length, divides)
                case Literal():
                    scale = _scaled(scale, factor, divides)
                case _:
                    found = self._only(self._operand(factor), found or length, divides, factor.start)
        if found is not None:
            self.multiples[found] = self.multiples.get(found, Fraction(0)) + scale
        elif length is not None:
            nanoseconds = scale * length.nanoseconds
            if nanoseconds.denominator != 1:
                raise TextError("expected a whole number of nanoseconds", length.start)
            self.length = (self.length or 0) + int(nanoseconds)
        else:
            self.number += scale

    def _only(self, part, before, divides: bool, start: int | None = None):  # type: ignore[no-untyped-def]
        """Return a part that a product may have once, and not as a divisor."""
        if before is not None or divides:
            raise TextError(
                "expected a number times an attribute: products of attributes are not supported",
                part.start if start is None else start,
            )
        return part

    def _operand(self, operand: OperandText) -> Operand:
        match operand:
            case Attribute(variable, name):
                return _operand_of(self.drafts.named(variable), self.drafts, name)
            case Symbol(name) if self.inside is not None:
                return _operand_of(self.inside, self.drafts, name)
            case Symbol():
                self.drafts.named(operand)
                raise TextError(f"expected an attribute such as {operand.name}.age", operand.start)
            case Call() if _is_id(operand):
                vertex = self.drafts.vertex_named(as_symbol(operand.arguments[0]))
                return Operand(Element.VERTEX, vertex.position)
            case Call():
                raise misplaced(operand)
        raise TextError("expected an attribute such as a.age", operand.start)


def _operand_of(draft: Draft, drafts: Drafts, attribute: str) -> Operand:
    if isinstance(draft, VertexDraft):
        return Operand(Element.VERTEX, draft.position, attribute)
    return Operand(Element.EDGE, drafts.edges.index(draft), attribute)


def _is_attribute(side: OperandText, inside: Draft | None) -> bool:
    return (
        isinstance(side, Attribute)
        or (isinstance(side, Symbol) and inside is not None)
        or (isinstance(side, Call) and _is_id(side))
    )


def _is_id(call: Call) -> bool:
    return call.function.lower() == "id" and len(call.arguments) == 1


def _scaled(scale: Fraction, literal: Literal, divides: bool) -> Fraction:
    number = _number(literal, "a number")
    if divides and number == 0:
        raise TextError("expected a divisor that is not 0", literal.start)
    return scale / number if divides else scale * number


def _number(literal: Literal, expected: str) -> Fraction:
    if isinstance(literal.value, (int, float)) and not isinstance(literal.value, bool):
        try:
            return number_of(Decimal(literal.source), "number")
        except PatternError:
            raise TextError("expected a number of ordinary size", literal.start) from None
    raise TextError(f"expected {expected}, found {literal.source}", literal.start)


def _refuse_dates(*sides: OperandText | Operator) -> None:
    """Refuse a date without quotes, which reads as a difference of three numbers."""
    left, operator, right = sides
    for side in (left, right):
        if not isinstance(side, Total):
            continue
        literals = [term for subtracted, term in side.terms if isinstance(term, Literal)]
        date = "-".join(literal.source for literal in literals)
        if len(literals) == len(side.terms) and _DATE.fullmatch(date):
            other = right if side is left else left
            before = _compared_text(other)
            written = MIRRORED[operator] if side is left else operator  # type: ignore[index]
            raise TextError(needs_quotes(f"{before} {written} " if before else "", date), side.start)


def _compared_text(side: OperandText | Operator) -> str:
    match side:
        case Attribute(variable, name):
            return f"{variable.name}.{name}"
        case Symbol(name):
            return name
    return ""
