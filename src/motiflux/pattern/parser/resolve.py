"""From the syntax tree to the pattern: resolves names, and assigns conditions to vertices and edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from motiflux.comparisons import NEGATED, PatternComparison
from motiflux.conditions import Operator
from motiflux.pattern.checks import unreached
from motiflux.pattern.elements import LabelChoice, QueryEdge, QueryVertex
from motiflux.pattern.negated import NegatedEdge, induced_edges, negated_edges
from motiflux.pattern.parser.drafts import Draft, Drafts, VertexDraft, blamed_on
from motiflux.pattern.parser.linear import is_relation, relation_of, within_of
from motiflux.pattern.parser.meaning import DEGREE, as_symbol, condition_of, conjuncts, misplaced
from motiflux.pattern.parser.negation import negated_edge_of
from motiflux.pattern.parser.syntax import (
    Among,
    Call,
    Compared,
    Details,
    EdgeText,
    Literal,
    Negated,
    NegatedPath,
    NegatedTest,
    Operand,
    PathParts,
    PatternText,
    Symbol,
    Test,
    TextError,
    VertexText,
    WithinText,
)
from motiflux.pattern.query_graph import QueryGraph
from motiflux.types import VertexId

_ID, _MAY_EQUAL, INDUCED = "id", "may_equal", "induced"

MONOTONE = {
    "increasing": Operator.LESS,
    "decreasing": Operator.GREATER,
    "nondecreasing": Operator.AT_MOST,
    "nonincreasing": Operator.AT_LEAST,
}
"""Functions of attributes along a path, and the operator between neighbouring edges; they are for queries."""

_Pair = tuple[int, int]

Q = TypeVar("Q", bound=QueryGraph)


def resolve(tree: PatternText, name: str, pattern_class: Callable[..., Q]) -> Q:
    """Return the pattern that the tree describes, as an object of `pattern_class`.

    Raises
    ------
    TextError
        A name has two meanings or none, a condition is about several elements, a part is not supported, or
        the result is not a pattern.
    """
    refuse_many(tree)
    return _resolver_of(tree).pattern(name, pattern_class)


@dataclass(frozen=True, slots=True)
class Elements:
    """The parts of a pattern that a text has, not yet a pattern: its vertices need not be connected.

    `starts` has the position in the text of each vertex.
    """

    vertices: tuple[QueryVertex, ...]
    edges: tuple[QueryEdge, ...]
    may_coincide: tuple[tuple[int, int], ...]
    comparisons: tuple[PatternComparison, ...]
    starts: tuple[int, ...]
    negated: tuple[NegatedEdge, ...] = ()


def elements_of(tree: PatternText) -> Elements:
    """Return the elements that a tree without paths of variable length describes; it may be disconnected.

    Raises
    ------
    TextError
        As `resolve`.
    """
    return _resolver_of(tree).elements()


def refuse_many(tree: PatternText) -> None:
    """Refuse text that stands for several patterns.

    Raises
    ------
    TextError
        Names the construct, at its position.
    """
    for path in tree.paths:
        for part in path:
            if part.details.length is not None:
                raise TextError(f"a path of variable length {_MANY}", part.details.length.start)
    for mark in tree.marks:
        if mark is not None:
            raise TextError(f"a {'named path' if mark.name else 'walk'} {_MANY}", mark.start)
    for optional in tree.optionals:
        raise TextError(f"an OPTIONAL edge {_MANY}", optional.start)


_MANY = (
    "makes a query of several patterns: give its text to count, match or estimate, or make it by Query.parse"
)


def _resolver_of(tree: PatternText) -> _Resolver:
    resolver = _Resolver()
    for path in tree.paths:
        resolver.add_path(path)
    for negated in tree.negated:
        resolver.add_negated(negated)
    resolver.add_conditions(tree.where)
    resolver.add_spans(tree.spans)
    for optional in tree.optionals:
        resolver.allow(optional.path)
    return resolver


class _Resolver:
    def __init__(self) -> None:
        self._drafts = Drafts()
        self._inside: list[tuple[Draft, Test]] = []
        self._may_equal: dict[_Pair, None] = {}
        self._unequal: set[_Pair] = set()
        self._comparisons: list[PatternComparison] = []
        self._negated: list[NegatedEdge] = []
        self._induced: list[tuple[tuple[int, ...], LabelChoice, int]] = []
        self._allowed: list[QueryEdge] = []

    def add_path(self, path: tuple[VertexText | EdgeText, ...]) -> None:
        """Take in the vertices of a path and the edges between them."""
        ends = []
        for vertex in path[::2]:
            assert isinstance(vertex, VertexText)
            ends.append(self._drafts.add_vertex(vertex))
            self._keep_conditions(ends[-1], vertex.details)
        for edge, (left, right) in zip(path[1::2], pairwise(ends), strict=True):
            assert isinstance(edge, EdgeText)
            self._keep_conditions(self._drafts.add_edge(edge, left, right), edge.details)

    def add_conditions(self, where: Test | None) -> None:
        """Assign the conditions of the WHERE clauses, inside of elements and at the end."""
        for draft, test in self._inside:
            for part in conjuncts(test):
                self._add_condition(part, draft)
        for part in conjuncts(where) if where else ():
            self._add_condition(part, None)

    def add_negated(self, given: NegatedPath) -> None:
        """Take in an edge that must not be there."""
        self._negated.append(negated_edge_of(given, self._drafts))

    def allow(self, path: PathParts) -> None:
        """Take in an optional edge: between its ends, induced matching allows data edges in its direction."""
        if len(path) != 3 or path[1].details.length is not None:
            return
        left, edge, right = path
        assert isinstance(edge, EdgeText)
        ends = [self._drafts.find(end.details.symbol) for end in (left, right)]
        if edge.leftward:
            ends.reverse()
        source, target = ends
        if source is not None and target is not None:
            labels = edge.details.labels
            choice = None if labels is None else labels.choice
            self._allowed.append(QueryEdge(source.position, target.position, choice, edge.directed))

    def add_spans(self, spans: Sequence[WithinText]) -> None:
        """Take in the spans over all edges."""
        self._comparisons += map(within_of, spans)

    def pattern(self, name: str, pattern_class: Callable[..., Q]) -> Q:
        """Return the pattern."""
        vertices, edges = self._drafts.built_vertices(), self._drafts.built_edges()
        left_out = unreached(len(vertices), edges)
        if left_out is not None or len(vertices) == 1:
            place = self._drafts.vertices[left_out or 0].start
        else:
            place = self._drafts.edges[-1].text.start
        self._add_induced_edges(edges)
        with blamed_on(place):
            return pattern_class(
                vertices,
                edges,
                name,
                tuple(self._may_equal),
                tuple(self._comparisons),
                tuple(self._negated),
            )

    def elements(self) -> Elements:
        """Return the vertices and edges, which need not be a pattern."""
        vertices, edges = self._drafts.built_vertices(), self._drafts.built_edges()
        self._add_induced_edges(edges)
        with blamed_on(self._drafts.vertices[0].start):
            negated = negated_edges(self._negated, vertices)
        return Elements(
            vertices,
            edges,
            tuple(self._may_equal),
            tuple(self._comparisons),
            tuple(draft.start for draft in self._drafts.vertices),
            negated,
        )

    def _add_induced_edges(self, edges: Sequence[QueryEdge]) -> None:
        """Negate the edges that are missing between the vertices that `induced` names."""
        for chosen, labels, start in self._induced:
            with blamed_on(start):
                self._negated += induced_edges(chosen, (*edges, *self._allowed), labels, None)

    def _keep_conditions(self, draft: Draft, details: Details) -> None:
        for key, literal in details.properties:
            operand = Symbol(key, key, literal.start)
            self._inside.append((draft, Compared((operand, literal), (Operator.EQUAL,), literal.start)))
        if details.where is not None:
            self._inside.append((draft, details.where))

    def _add_condition(self, test: Test, inside: Draft | None) -> None:
        match test:
            case NegatedTest(path):
                self.add_negated(path)
            case Compared(operands=(Call() as call,), operators=()) if _function(call) == INDUCED:
                self._add_induced(call)
            case Compared(operands=(Call() as call,), operators=()):
                self._add_may_equal(call)
            case (
                Compared(operands=(Call() as call, Literal() as value), operators=(Operator.EQUAL,))
                | Compared(operands=(Literal() as value, Call() as call), operators=(Operator.EQUAL,))
            ) if call.function.lower() != DEGREE:
                self._add_anchor(call, (value,))
            case Among(operand=Call() as call, values=values):
                self._add_anchor(call, values)
            case Compared(operands=(Symbol(), Symbol(), *_)) if inside is None:
                self._compare_vertices(test)
            case Compared(operands, operators) if self._relates(test, inside):
                for operator, (left, right) in zip(operators, pairwise(operands), strict=True):
                    self._add_comparison(left, operator, right, inside)
            case Negated(inner=Compared(operands=(left, right), operators=(operator,)) as inner) if (
                operator in NEGATED and self._relates(inner, inside)
            ):
                self._add_comparison(left, NEGATED[operator], right, inside)
            case _:
                draft, condition = condition_of(test, self._drafts, inside)
                draft.conditions.append(condition)

    def _relates(self, test: Compared, inside: Draft | None) -> bool:
        """Whether one of the comparisons of a chain is about two attributes."""
        return any(is_relation(left, right, inside) for left, right in pairwise(test.operands))

    def _add_comparison(
        self, left: Operand, operator: Operator, right: Operand, inside: Draft | None
    ) -> None:
        """Assign one comparison of a chain, of two attributes or of one with a value."""
        if is_relation(left, right, inside):
            self._comparisons.append(relation_of(left, operator, right, self._drafts, inside))
        else:
            self._add_condition(Compared((left, right), (operator,), left.start), inside)

    def _add_anchor(self, call: Call, values: tuple[Literal, ...]) -> None:
        if _function(call) != _ID:
            raise TextError("expected may_equal(a, b) by itself, joined by AND", call.start)
        (vertex,) = self._vertices_in(call, 1)
        ids = frozenset(_id(value) for value in values)
        vertex.ids = ids if vertex.ids is None else vertex.ids & ids
        if not vertex.ids:
            raise TextError(
                f"expected at least one id that vertex {vertex.name!r} may have, found none", call.start
            )

    def _add_may_equal(self, call: Call) -> None:
        if _function(call) != _MAY_EQUAL:
            raise TextError(f"expected '=' or IN after {call.function}(...)", call.start)
        pair = _pair(self._vertices_in(call, 2), call.start)
        if pair in self._unequal:
            raise TextError("expected may_equal of vertices that are not said to be different", call.start)
        if any({edge.source.position, edge.target.position} == set(pair) for edge in self._drafts.edges):
            raise TextError(
                "expected may_equal of vertices that no edge joins: a graph has no self-loops", call.start
            )
        self._may_equal[pair] = None

    def _add_induced(self, call: Call) -> None:
        found = [self._drafts.vertex_named(as_symbol(one)) for one in call.arguments]
        chosen = tuple(one.position for one in found)
        if len(chosen) < 2:
            raise TextError(
                f"induced: expected two different vertices or more, found {len(chosen)}", call.start
            )
        if (twice := next((one for at, one in enumerate(found) if one in found[:at]), None)) is not None:
            raise TextError(f"induced: expected different vertices, found {twice.name!r} twice", call.start)
        self._induced.append((chosen, call.labels.choice if call.labels else None, call.start))

    def _compare_vertices(self, test: Compared) -> None:
        for operator, (first, second) in zip(test.operators, pairwise(test.operands), strict=True):
            vertices = [self._drafts.vertex_named(as_symbol(operand)) for operand in (first, second)]
            if operator is Operator.EQUAL:
                raise TextError(
                    "vertices cannot be made equal: name one vertex in both places, or allow it with"
                    " may_equal(a, b) or semantics='homomorphism'",
                    test.start,
                )
            if operator is not Operator.UNEQUAL:
                raise TextError(f"expected '<>' between vertices, found {operator.value!r}", test.start)
            pair = _pair(vertices, test.start)
            if pair in self._may_equal:
                raise TextError("these vertices may be equal: may_equal says so", test.start)
            self._unequal.add(pair)

    def _vertices_in(self, call: Call, number: int) -> list[VertexDraft]:
        if call.labels is not None:
            raise TextError("expected labels in induced(a, b :wire) alone", call.labels.start)
        if len(call.arguments) != number:
            expected = "one vertex" if number == 1 else "two vertices"
            raise TextError(f"{call.function}: expected {expected}, found {len(call.arguments)}", call.start)
        return [self._drafts.vertex_named(as_symbol(argument)) for argument in call.arguments]


def _pair(vertices: Sequence[VertexDraft], start: int) -> _Pair:
    first, second = sorted(vertex.position for vertex in vertices)
    if first == second:
        raise TextError(f"expected two different vertices, found {vertices[0].name!r} twice", start)
    return first, second


def _function(call: Call) -> str:
    name = call.function.lower()
    if name in MONOTONE:
        raise TextError(f"{name}(...) {_MANY}", call.start)
    if name not in (_ID, _MAY_EQUAL, INDUCED):
        raise misplaced(call)
    return name


def _id(literal: Literal) -> VertexId:
    value = literal.value
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        return value
    raise TextError(f"expected a vertex id, an integer or a string, found {literal.source}", literal.start)
