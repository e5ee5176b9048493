"""OR between conditions of several vertices or edges, as disjoint cases and alternatives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product
from math import prod
from typing import TypeAlias

from motiflux.pattern.parser.meaning import conjuncts
from motiflux.pattern.parser.syntax import (
    Among,
    Attribute,
    Compared,
    Joined,
    Literal,
    Negated,
    NegatedTest,
    NullTest,
    Operand,
    Test,
    TextError,
)
from motiflux.pattern.queries.rewriting import form_of, is_degree, names_in, nodes

MAX_CASES = 64
"""Most cases of the conditions of one pattern."""
MAX_ALTERNATIVES = 5
"""Most alternatives of conditions on several edges: there is a pattern for each set of them."""
MAX_PRODUCT = 1024
"""Most combinations of alternatives, before stricter ones are left out."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A condition of one element, by its name, or an edge that must not be there, under a name of its own."""

    name: str
    test: Test


@dataclass(frozen=True, slots=True)
class Choice:
    """AND (`every`) or OR of formulas."""

    every: bool
    parts: tuple[Formula, ...]


Formula: TypeAlias = "Atom | Choice"


def is_formula(test: Test) -> bool:
    """Whether OR or NOT joins conditions of several elements, or edges that must not be there, in `test`."""
    inner = test
    while isinstance(inner, Negated):
        inner = inner.inner
    if not isinstance(inner, Joined):
        return False
    return len(names_in(inner)) > 1 or any(isinstance(one, NegatedTest) for one in nodes(inner))


def formula_of(test: Test, *, negated: bool = False) -> Formula:
    """Return a condition as AND and OR of conditions of one element each.

    Raises
    ------
    TextError
        A part compares two elements, or is about none.
    """
    names = names_in(test)
    if len(names) == 1 and not _has_call(test):
        return Atom(next(iter(names)), Negated(test, test.start, test.depth + 1) if negated else test)
    match test:
        case Negated(inner):
            return formula_of(inner, negated=not negated)
        case Joined(every, parts):
            return Choice(every is not negated, tuple(formula_of(part, negated=negated) for part in parts))
        case NegatedTest() if negated:
            raise TextError(
                "expected AND and OR alone around a negated edge, found NOT before it", test.start
            )
        case NegatedTest():
            return Atom(f"NOT {form_of(test)}", test)
    raise TextError(
        "expected conditions of one vertex or edge each beside OR and NOT, as in a.x = 1 OR b.y = 2",
        test.start,
    )


def normal_formula(formula: Formula, *, split: bool = False) -> Formula:
    """Return a formula in which no part of AND, or of OR, is joined by it again, and each is there once.

    A part that another one implies is left out, if it is about several elements: A OR (A AND B) is A.

    Parameters
    ----------
    split
        Whether parts of conditions of one element count as parts, too. Such formulas are equal if they differ
        in nothing else than the order of parts.
    """
    if isinstance(formula, Choice):
        every, parts = formula.every, formula.parts
    elif split and isinstance(formula.test, Joined):
        every = formula.test.every
        parts = tuple[Formula, ...](Atom(formula.name, part) for part in formula.test.parts)
    else:
        return formula
    found: dict[object, Formula] = {}
    for part in (normal_formula(one, split=split) for one in parts):
        own = part.parts if isinstance(part, Choice) and part.every is every else (part,)
        for one in own:
            found.setdefault(_form_of_formula(one), one)
    kept = [one for one in found.values() if _is_of_one(one) or found.keys().isdisjoint(_forms_in(one))]
    return kept[0] if len(kept) == 1 else Choice(every, tuple(kept))


def _is_of_one(formula: Formula) -> bool:
    return len({atom.name for atom in _atoms(formula)}) == 1


def _forms_in(formula: Formula) -> set[object]:
    return set(map(_form_of_formula, formula.parts)) if isinstance(formula, Choice) else set()


def _form_of_formula(formula: Formula) -> object:
    if isinstance(formula, Atom):
        return form_of_atom(formula)
    return formula.every, frozenset(map(_form_of_formula, formula.parts))


def _has_call(test: Test) -> bool:
    """Whether a test is a call such as ``id(a) = 5``, which is no condition of attributes."""
    match test:
        case Compared(operands):
            return not any(isinstance(operand, Attribute) or is_degree(operand) for operand in operands)
        case Among(operand) | NullTest(operand):
            return not isinstance(operand, Attribute)
        case Joined(_, parts):
            return any(map(_has_call, parts))
        case Negated(inner):
            return _has_call(inner)
        case NegatedTest():
            return True


def disjoint_cases(formulas: Sequence[Formula], vertices: frozenset[str]) -> list[list[list[Test]]]:
    """Return the alternatives of each of the disjoint cases in which all formulas hold.

    Conditions of vertices are decided one by one: true, or not true. Those of edges are not, as an edge has
    copies, of which some may satisfy a condition and others not; nor is it decided whether an edge is there.
    So a case has alternatives: conditions that AND joins, of which those of one alternative at least hold.
    Several are there only if OR joins conditions of several edges, or negated edges.

    Raises
    ------
    TextError
        There are too many cases or alternatives.
    """
    cases = list(islice(_decided(Choice(True, tuple(formulas)), vertices), MAX_CASES + 1))
    place = next(_atoms(formulas[0])).test.start
    if len(cases) > MAX_CASES:
        raise TextError(f"expected at most {MAX_CASES} disjoint cases of OR, found more", place)
    most = max(map(len, cases), default=0)
    if most > MAX_ALTERNATIVES:
        expected = f"expected at most {MAX_ALTERNATIVES} alternatives of conditions on edges"
        raise TextError(f"{expected}, found {most}", place)
    return cases


def _decided(formula: Formula, vertices: frozenset[str]) -> Iterator[list[list[Test]]]:
    atom = next((one for one in _atoms(formula) if one.name in vertices), None)
    if atom is None:
        yield _of_edges(formula)
        return
    for holds in (True, False):
        rest = _with(formula, form_of_atom(atom), holds=holds)
        if rest is False:
            continue
        decided = atom.test if holds else not_true(atom.test)
        left: Iterable[list[list[Test]]] = [[[]]] if rest is True else _decided(rest, vertices)
        for alternatives in left:
            yield [[decided, *one] for one in alternatives]


def beside(formulas: Sequence[Formula], tests: Sequence[Test], vertices: frozenset[str]) -> list[Formula]:
    """Return what is left of formulas beside conditions of a vertex each: A AND (A OR B) is A."""
    left = list(formulas)
    for test in tests:
        names = names_in(test)
        if len(names) == 1 and vertices.issuperset(names) and not _has_call(test):
            known = form_of_atom(Atom(next(iter(names)), test))
            found = (_with(formula, known, holds=True) for formula in left)
            left = [formula for formula in found if not isinstance(formula, bool)]
    return left


def _with(formula: Formula, decided: object, *, holds: bool) -> Formula | bool:
    """Return a formula in which one condition is decided: what is left of it, or its truth."""
    if isinstance(formula, Atom):
        return holds if form_of_atom(formula) == decided else formula
    parts: list[Formula] = []
    for part in formula.parts:
        left = _with(part, decided, holds=holds)
        if left is True or left is False:
            if left is not formula.every:
                return left
        else:
            parts.append(left)
    if not parts:
        return formula.every
    return parts[0] if len(parts) == 1 else Choice(formula.every, tuple(parts))


def form_of_atom(atom: Atom) -> object:
    """Return what is equal for equal conditions of the same element."""
    return atom.name, form_of(atom.test)


def _of_edges(formula: Formula) -> list[list[Test]]:
    """Return alternatives: conditions of edges, and edges that must not be there, that AND joins."""
    atoms = list(_atoms(formula))
    of_one = len({atom.name for atom in atoms}) == 1 and not isinstance(atoms[0].test, NegatedTest)
    if isinstance(formula, Atom) or of_one:
        return [[_whole(formula)]]
    parts = [_of_edges(part) for part in formula.parts]
    found: list[list[Test]]
    if formula.every:
        if prod(map(len, parts)) > MAX_PRODUCT:
            place = next(_atoms(formula)).test.start
            raise TextError(f"expected at most {MAX_PRODUCT} combinations of conditions on edges", place)
        found = [[test for one in chosen for test in one] for chosen in product(*parts)]
    else:
        found = [one for part in parts for one in part]
    return _without_stricter(found)


def _without_stricter(alternatives: Sequence[list[Test]]) -> list[list[Test]]:
    """Return the alternatives without those that have all conditions of another one, and more."""
    kept: list[list[Test]] = []
    forms = [frozenset((tuple(names_in(test)), form_of(test)) for test in one) for one in alternatives]
    for at, (one, form) in enumerate(zip(alternatives, forms, strict=True)):
        if not any(other < form or (other == form and place < at) for place, other in enumerate(forms)):
            kept.append(one)
    return kept


def _whole(formula: Formula) -> Test:
    if isinstance(formula, Atom):
        return formula.test
    parts = tuple(_whole(part) for part in formula.parts)
    return Joined(formula.every, parts, parts[0].start, 1 + max(part.depth for part in parts))


def _atoms(formula: Formula) -> Iterator[Atom]:
    if isinstance(formula, Atom):
        yield formula
    else:
        for part in formula.parts:
            yield from _atoms(part)


def not_true(test: Test) -> Test:
    """Return the condition that another one is false or, for missing values, neither true nor false."""
    return _opposite(test, of_true=True)


def _opposite(test: Test, *, of_true: bool) -> Test:
    """Return a condition that is never unknown: that `test` is not true, or that it is not false."""
    match test:
        case Negated(inner):
            return _opposite(inner, of_true=not of_true)
        case Joined(every, parts):
            turned = tuple(_opposite(part, of_true=of_true) for part in parts)
            return Joined(every is not of_true, turned, test.start, 1 + max(one.depth for one in turned))
        case NullTest():
            return _other_null_test(test) if of_true else test
        case Compared(operands, operators) if len(operators) > 1:
            links = zip(operators, pairwise(operands), strict=True)
            chain = tuple(Compared(pair, (operator,), test.start) for operator, pair in links)
            return _opposite(Joined(True, chain, test.start, 2), of_true=of_true)
    told: Test = Negated(test, test.start, test.depth + 1) if of_true else test
    missing = tuple(NullTest(operand, False, test.start) for operand in _attributes(test))
    if not missing:
        return told
    return Joined(False, (told, *missing), test.start, told.depth + 1)


def _other_null_test(test: NullTest) -> NullTest:
    """Return the opposite of a test for a missing value."""
    return NullTest(test.operand, not test.negated, test.start)


def _attributes(test: Test) -> Iterator[Operand]:
    match test:
        case Compared(operands):
            yield from (one for one in operands if not (isinstance(one, Literal) or is_degree(one)))
        case Among(operand):
            yield operand


def conditions_of(test: Test | None) -> tuple[Test, ...]:
    """Return the conditions that AND joins; none without a test."""
    return () if test is None else conjuncts(test)
