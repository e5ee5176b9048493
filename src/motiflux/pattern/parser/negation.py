"""Negated edges of the text, from the names of their ends."""

from __future__ import annotations

from motiflux.conditions import Condition, Operator
from motiflux.pattern.negated import AnyVertex, End, NegatedEdge
from motiflux.pattern.parser.drafts import Drafts, EdgeDraft, VertexDraft, blamed_on
from motiflux.pattern.parser.meaning import condition_of, conjuncts
from motiflux.pattern.parser.syntax import (
    Compared,
    Details,
    EdgeText,
    NegatedPath,
    Symbol,
    TextError,
    VertexText,
)
from motiflux.pattern.where import joined


def negated_edge_of(given: NegatedPath, drafts: Drafts) -> NegatedEdge:
    """Return the edge that NOT stands before.

    Raises
    ------
    TextError
        There is not one edge; a name is not that of a vertex of the pattern; a part has a meaning that is not
        supported.
    """
    if len(given.path) == 1:
        raise TextError(_alone(given.path[0]), given.start)
    if len(given.path) != 3:
        raise TextError(
            "negated paths of several edges are not supported: NOT goes before one edge", given.path[4].start
        )
    left, edge, right = given.path
    assert isinstance(left, VertexText)
    assert isinstance(edge, EdgeText)
    assert isinstance(right, VertexText)
    if edge.details.symbol is not None:
        raise TextError(
            f"expected no name of an edge that is not there, found {edge.details.symbol.name!r}",
            edge.details.symbol.start,
        )
    if edge.details.length is not None:
        raise TextError(
            "negated paths of variable length are not supported: NOT goes before one edge",
            edge.details.length.start,
        )
    ends = [_end(vertex, drafts) for vertex in (left, right)]
    found: list[End] = [end.position if isinstance(end, VertexDraft) else end for end in ends]
    if found[0] == found[1]:
        raise TextError(_not_two(ends[0]), left.start)
    if all(isinstance(end, AnyVertex) for end in found):
        raise TextError("expected a vertex of the pattern at one end of the negated edge", left.start)
    labels = edge.details.labels
    draft = VertexDraft(0, None, edge.start)  # never read: conditions name its attributes alone
    where = _condition(edge.details, EdgeDraft(draft, draft, edge), drafts)
    source, target = found[::-1] if edge.leftward else found
    with blamed_on(edge.start):
        return NegatedEdge(source, target, labels.choice if labels else None, edge.directed, where)


def _alone(vertex: VertexText | EdgeText) -> str:
    if vertex.details.labels is not None:
        return "labels in conditions are not supported: write them at the vertex, as in (a:Person)"
    return "expected an edge after NOT, as in NOT (a)-->(b)"


def _not_two(end: VertexDraft | AnyVertex) -> str:
    if isinstance(end, AnyVertex):
        return "expected a vertex of the pattern at one end of the negated edge"
    return f"expected two different vertices, found {end.name!r} twice: a graph has no self-loops"


def _end(vertex: VertexText, drafts: Drafts) -> VertexDraft | AnyVertex:
    details = vertex.details
    if details.symbol is not None:
        found = drafts.vertex_named(details.symbol)
        if details.labels is not None or details.properties or details.where is not None:
            raise TextError(
                f"expected labels and conditions of {details.symbol.name!r} outside of NOT:"
                " they would be negated",
                vertex.start,
            )
        return found
    labels = details.labels.choice if details.labels else None
    where = _condition(details, VertexDraft(0, None, vertex.start), drafts)
    with blamed_on(vertex.start):
        return AnyVertex(labels, where)


def _condition(details: Details, inside: VertexDraft | EdgeDraft, drafts: Drafts) -> Condition | None:
    """Return the condition in the parentheses or brackets of an element that has no name."""
    tests = [
        Compared((Symbol(key, key, literal.start), literal), (Operator.EQUAL,), literal.start)
        for key, literal in details.properties
    ]
    parts = [*tests, *(conjuncts(details.where) if details.where is not None else ())]
    found = []
    for part in parts:
        subject, condition = condition_of(part, drafts, inside)
        if subject is not inside:
            raise TextError("expected a condition on this element alone: NOT goes before it", part.start)
        found.append(condition)
    return joined(found)
