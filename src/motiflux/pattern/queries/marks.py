"""Conditions of a shape that no pattern has, as marks: OR across vertices, and edges that are not there."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from motiflux.pattern.elements import QueryEdge
from motiflux.pattern.negated import AnyVertex
from motiflux.pattern.parser.syntax import EdgeText, NegatedTest
from motiflux.pattern.queries.alternatives import Atom, Choice, Formula, normal_formula
from motiflux.pattern.queries.rewriting import form_of
from motiflux.pattern.queries.shapes import Absent, AbsentPath
from motiflux.pattern.queries.skeleton import Mark


def absent_marks(absent: Sequence[Absent | AbsentPath], first: int) -> list[Mark]:
    """Return the marks of optional edges and paths that are not there; the first one will be at `first`."""
    marks: list[Mark] = []
    for one in absent:
        if isinstance(one, AbsentPath):
            marks += _path_marks(one, first + len(marks))
        elif None in one.ends:
            marks.append(absent_mark(one))
        elif one.edge.negated:
            marks.append(absent_pair_mark(one))
    return marks


def _path_marks(absent: AbsentPath, first: int) -> list[Mark]:
    """Return the mark of both ends of a path that is not there, and one that adds the vertices before it."""
    start, end = absent.ends
    kind = ("absent path", absent.form)
    if end is None:
        return [Mark(kind, (start,), around=absent.before)]
    ends = Mark(kind, around=(start, end)) if absent.turns else Mark(kind, (start, end))
    return [ends, Mark("before a path", marks=(first,), around=absent.before)]


def absent_mark(absent: Absent) -> Mark:
    """Return the mark of an edge to a new vertex that is not there."""
    known = tuple(at for at in absent.ends if at is not None)
    (edge,) = absent.edge.edges
    if edge.directed is False and absent.ends[edge.source] is None:
        edge = replace(edge, source=edge.target, target=edge.source)
    ends = ["new" if at is None else "known" for at in absent.ends]
    roles = [ends[at] for at in (edge.source, edge.target)]
    kinds = [
        (vertex.labels, vertex.ids, vertex.where)
        for vertex, at in zip(absent.edge.vertices, absent.ends, strict=True)
        if at is None
    ]
    without = _without(absent, tuple(ends))
    kind = (
        "absent",
        tuple(roles),
        tuple(kinds),
        edge.labels,
        edge.where,
        edge.directed,
        without,
        absent.form,
    )
    return Mark(kind, known, around=absent.before)


def absent_pair_mark(absent: Absent) -> Mark:
    """Return the mark of an edge that is not there between two vertices, without some negated edges."""
    (edge,) = absent.edge.edges
    ends = tuple(at for at in absent.ends if at is not None)
    forms = []
    for roles in ((0, 1), (1, 0)):
        pair: Hashable = (roles[edge.source], roles[edge.target])
        if edge.directed is False:
            pair = frozenset((0, 1))
        forms.append((repr((pair, edge.labels, edge.where, edge.directed, _without(absent, roles))), roles))
    (first, roles), (second, _) = sorted(forms)
    if first == second:
        return Mark(("absent pair", first), around=ends)
    return Mark(("absent pair", first), (ends[roles.index(0)], ends[roles.index(1)]))


def _without(absent: Absent, roles: Sequence[Hashable]) -> tuple[str, ...]:
    """Return the negated edges of an optional edge, in a form in which ends have their roles."""
    forms = []
    for one in absent.edge.negated:
        ends = [
            repr((end.labels, end.where)) if isinstance(end, AnyVertex) else repr(roles[end])
            for end in (one.source, one.target)
        ]
        shown = sorted(ends) if one.directed is False else ends
        forms.append(repr((shown, sorted(map(repr, one.labels or ())), one.where, one.directed)))
    return tuple(sorted(forms))


def absent_edges(absent: Sequence[Absent | AbsentPath]) -> list[QueryEdge]:
    """Return edges in the place of those that are not there between two vertices of the shape.

    Their labels are none that a text can have.
    """
    found = []
    for one in absent:
        if isinstance(one, AbsentPath) or one.edge.negated:
            continue  # `absent_marks`
        (edge,) = one.edge.edges
        source, target = one.ends[edge.source], one.ends[edge.target]
        if source is not None and target is not None:
            labels = frozenset({"\0absent", *(edge.labels or ("\0any",))})
            found.append(replace(edge, source=source, target=target, labels=labels, name=""))
    return found


def formula_marks(
    formulas: Sequence[Formula], position: Mapping[str, int], edge_names: Sequence[str]
) -> list[Mark]:
    """Return the marks of formulas that AND joins: each comes after those that it joins."""
    marks: list[Mark] = []

    def add(formula: Formula) -> int:
        if isinstance(formula, Atom) and isinstance(formula.test, NegatedTest):
            marks.append(_negated_mark(formula.test, position))
        elif isinstance(formula, Atom):
            kind = ("condition", form_of(formula.test))
            if formula.name in position:
                marks.append(Mark(kind, (position[formula.name],)))
            else:
                marks.append(Mark(kind, edges=(edge_names.index(formula.name),)))
        else:
            parts = tuple(add(part) for part in formula.parts)
            marks.append(Mark("and" if formula.every else "or", marks=parts))
        return len(marks) - 1

    if formulas:
        whole = normal_formula(Choice(True, tuple(formulas)), split=True)
        for formula in whole.parts if isinstance(whole, Choice) and whole.every else (whole,):
            add(formula)
    return marks


def _negated_mark(test: NegatedTest, position: Mapping[str, int]) -> Mark:
    """Return the mark of an edge that must not be there, as a part of a formula."""
    left, edge, right = test.path.path
    assert isinstance(edge, EdgeText)
    ends = (right, left) if edge.leftward else (left, right)
    places: list[int] = []
    any_end: list[Hashable] = []
    for at, end in enumerate(ends):
        symbol = end.details.symbol
        if symbol is None:
            way = None if edge.directed is False else at
            any_end.append((way, form_of((end.details.labels, end.details.properties, end.details.where))))
        else:
            places.append(position[symbol.name])
    details = form_of((edge.details.labels, edge.details.properties, edge.details.where))
    kind = ("no edge", edge.directed, details, tuple(any_end))
    return Mark(kind, around=tuple(places)) if edge.directed is False else Mark(kind, tuple(places))
