"""Conditions of the text as conditions on one vertex or edge."""

from __future__ import annotations

from itertools import pairwise

from motiflux.comparisons import MIRRORED
from motiflux.conditions import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Degree,
    IsMissing,
    Not,
    OneOf,
    Operator,
    Value,
)
from motiflux.pattern.parser.drafts import Draft, Drafts
from motiflux.pattern.parser.syntax import (
    Among,
    Attribute,
    Call,
    Compared,
    Joined,
    Length,
    Literal,
    Negated,
    NegatedTest,
    NullTest,
    Operand,
    Product,
    Symbol,
    Test,
    TextError,
    Total,
)
from motiflux.pattern.parser.unquoted import needs_quotes
from motiflux.pattern.text import quoted
from motiflux.pattern.where import TEXT_OPERATORS

DEGREE = "degree"
FUNCTIONS = "there are id(a), degree(a), may_equal(a, b) and induced(a, b)"
"""Said of a function that there is not."""
ONLY_AND_NEGATES = "only AND joins negated edges"
"""Said of one within OR or NOT."""
ALONE = "only AND joins comparisons of two attributes"
"""Said of one within OR or NOT."""


def conjuncts(test: Test) -> tuple[Test, ...]:
    """Return the tests that AND joins."""
    return test.parts if isinstance(test, Joined) and test.every else (test,)


def condition_of(test: Test, drafts: Drafts, inside: Draft | None) -> tuple[Draft, Condition]:
    """Return the vertex or edge that `test` is about, and its condition.

    Parameters
    ----------
    inside
        The vertex or edge whose parentheses or brackets contain the test: names without a variable are its
        attributes.

    Raises
    ------
    TextError
        The test is about several elements or none, or has a condition that is not supported.
    """
    reading = _Reading(drafts, inside)
    condition = reading.condition(test)
    if reading.subject is None:
        raise TextError("expected an attribute of a vertex or an edge in the condition", test.start)
    return reading.subject, condition


def as_symbol(operand: Operand) -> Symbol:
    """Return the name that `operand` is; numbers and strings will do where no value can stand."""
    match operand:
        case Symbol():
            return operand
        case Literal(value=str() as value):
            return Symbol(value, value, operand.start)
        case Literal(value=int() as value) if not isinstance(value, bool):
            return Symbol(operand.source, value, operand.start)
    raise TextError("expected the name of a vertex", operand.start)


class _Reading:
    """One condition being read, and the one vertex or edge that it is about."""

    def __init__(self, drafts: Drafts, inside: Draft | None) -> None:
        self._drafts = drafts
        self._inside = inside
        self._subject_name = ""
        self.subject: Draft | None = None

    def condition(self, test: Test) -> Condition:
        """Return the condition of `test`."""
        match test:
            case Joined(every, parts):
                conditions = tuple(self.condition(part) for part in parts)
                return AllOf(conditions) if every else AnyOf(conditions)
            case NegatedTest():
                raise TextError(f"{ONLY_AND_NEGATES}, as in NOT (a)-->(b) AND a.x = 1", test.start)
            case Negated(inner):
                return Not(self.condition(inner))
            case NullTest(operand, negated):
                missing = IsMissing(self._attribute(operand))
                return Not(missing) if negated else missing
            case Among(operand, literals):
                return OneOf(self._attribute(operand), tuple(map(_value, literals)))
            case Compared(operands, operators):
                return self._chain(operands, operators)

    def _chain(self, operands: tuple[Operand, ...], operators: tuple[Operator, ...]) -> Condition:
        if not operators:
            raise self._no_comparison(operands[0])
        parts = [
            self._comparison(left, operator, right)
            for operator, (left, right) in zip(operators, pairwise(operands), strict=True)
        ]
        return AllOf(tuple(parts)) if len(parts) > 1 else parts[0]

    def _degree(self, call: Call, operator: Operator, number: Literal) -> Degree:
        """Make a condition on the number of edges at a vertex: ``degree(a, in, wire) >= 5``."""
        if not call.arguments:
            raise TextError("degree: expected a vertex, as in degree(a) or degree(a, in, wire)", call.start)
        symbol = as_symbol(call.arguments[0])
        draft = self._drafts.vertex_named(symbol)
        self._be_about(draft, symbol.name, call.start)
        rest = list(call.arguments[1:])
        direction = None
        if rest and isinstance(rest[0], Symbol) and rest[0].name.lower() in ("in", "out"):
            direction = rest.pop(0).name.lower()  # type: ignore[union-attr]
        labels = frozenset(as_symbol(one).label for one in rest) if rest else None
        if isinstance(number.value, bool) or not isinstance(number.value, int):
            raise TextError(f"expected an integer beside degree(...), found {number.source}", number.start)
        return Degree(direction, labels, operator, number.value)

    def _comparison(self, left: Operand, operator: Operator, right: Operand) -> Comparison | Degree:
        if isinstance(left, Literal) and isinstance(right, Literal):
            raise TextError("expected an attribute such as a.age on one side", left.start)
        if isinstance(left, Literal):
            left, operator, right = right, MIRRORED[operator], left
        if isinstance(left, Call) and left.function.lower() == DEGREE and isinstance(right, Literal):
            return self._degree(left, operator, right)
        if not isinstance(right, Literal):
            if self._inside is None and isinstance(left, Symbol) and isinstance(right, Symbol):
                raise TextError(
                    f"expected {left.name} <> {right.name} by itself, joined by AND:"
                    " there is no other condition on two vertices",
                    left.start,
                )
            raise _no_value(left, operator, right)
        attribute = self._attribute(left)
        value = _value(right)
        if operator in TEXT_OPERATORS and not isinstance(value, str):
            raise TextError(f"expected a string after {operator}, found {right.source}", right.start)
        return Comparison(attribute, operator, value)

    def _attribute(self, operand: Operand) -> str:
        """Return the name of an attribute, and hold whose it is against the subject so far."""
        match operand:
            case Attribute(variable, name):
                self._be_about(self._drafts.named(variable), variable.name, operand.start)
                return name
            case Symbol(name) if self._inside is not None:
                self._be_about(self._inside, self._inside.name or "one edge", operand.start)
                return name
            case Symbol():
                self._drafts.named(operand)
                raise TextError(f"expected an attribute such as {operand.name}.age", operand.start)
            case Literal() | Length():
                raise TextError(f"expected an attribute such as a.age, found {operand.source}", operand.start)
            case Call():
                raise misplaced(operand)
            case Product() | Total():
                raise TextError(f"{_ARITHMETIC}, found another condition", operand.start)

    def _be_about(self, draft: Draft, name: str, start: int) -> None:
        if self.subject is None:
            self.subject, self._subject_name = draft, name
        elif self.subject is not draft:
            raise TextError(
                f"expected a condition on {self._subject_name} alone, found {name} too: only AND joins"
                " conditions on different vertices and edges",
                start,
            )

    def _no_comparison(self, operand: Operand) -> TextError:
        match operand:
            case Call():
                return misplaced(operand)
            case Literal() | Length():
                return TextError(
                    f"expected a condition such as a.age > 30, found {operand.source}", operand.start
                )
            case Product() | Total():
                return TextError("expected a condition such as a.age > 30, found arithmetic", operand.start)
            case Attribute(variable, name):
                return TextError(f"expected a comparison, as in {variable.name}.{name} = TRUE", operand.start)
            case Symbol(name):
                return TextError(f"expected a comparison such as {name}.age > 30", operand.start)


_ARITHMETIC = "expected arithmetic in a comparison of two attributes, as in x.amount >= 0.9 * y.amount"


def _no_value(left: Operand, operator: Operator, right: Operand) -> TextError:
    match left, right:
        case (Call() as call, Symbol() as text) | (Symbol() as text, Call() as call) if _is_id_of_one(call):
            if operator is Operator.EQUAL:
                written = f"id({quoted(as_symbol(call.arguments[0]).name)}) = "
                return TextError(needs_quotes(written, text.name), text.start)
    for operand in (left, right):
        if isinstance(operand, Call):
            return misplaced(operand)
        if isinstance(operand, Length):
            return TextError(
                f"expected a value, found the duration {operand.source}: text needs quotes, and durations"
                " are for differences, as in y.time - x.time < 1h",
                operand.start,
            )
        if isinstance(operand, (Product, Total)):
            return TextError(f"{ALONE}: {_ARITHMETIC}", operand.start)
    if isinstance(right, Attribute) and isinstance(left, Symbol):
        left, operator, right = right, MIRRORED[operator], left
    match left, right:
        case Attribute(variable, name), Symbol():
            of = variable.name if isinstance(variable.label, int) else quoted(variable.name)
            return TextError(needs_quotes(f"{of}.{quoted(name)} {operator} ", right.name), right.start)
        case Symbol(), Symbol():
            return TextError(needs_quotes(f"{quoted(left.name)} {operator} ", right.name), right.start)
    return TextError(f"{ALONE}: expected a value on one side", right.start)


def _is_id_of_one(call: Call) -> bool:
    return call.function.lower() == "id" and len(call.arguments) == 1


def misplaced(call: Call) -> TextError:
    """Return the error of a function where none can be."""
    name = call.function.lower()
    if name == "id":
        return TextError("expected id(a) = 5 or id(a) IN [5, 6] by itself, joined by AND", call.start)
    if name == DEGREE:
        return TextError("expected an integer beside it, as in degree(a) >= 5", call.start)
    if name == "count":
        text = (
            "count(...) is a condition on rows: write it after HAVING, behind RETURN DISTINCT, or as having="
        )
        return TextError(text, call.start)
    if name in ("may_equal", "induced"):
        return TextError(f"expected {name}(a, b) by itself, joined by AND", call.start)
    return TextError(f"the function {call.function!r} is not supported: {FUNCTIONS}", call.start)


def _value(literal: Literal) -> Value:
    if literal.value is None:
        raise TextError("nothing equals NULL: expected IS NULL or IS NOT NULL", literal.start)
    return literal.value
