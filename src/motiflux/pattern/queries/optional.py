"""Optional edges and paths that are not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from motiflux.comparisons import Operand, Relation
from motiflux.pattern.negated import AnyVertex
from motiflux.pattern.parser.syntax import NegatedTest, TextError, VertexText
from motiflux.pattern.queries.alternatives import conditions_of
from motiflux.pattern.queries.rewriting import names_in
from motiflux.pattern.queries.shapes import Absent, AbsentPath, LonePath
from motiflux.pattern.queries.written import OptionalPath, edge_name, vertex_name


def names_checked(optional: OptionalPath) -> None:
    """Refuse conditions behind OPTIONAL on others than its edges and new vertices.

    Raises
    ------
    TextError
        Names the vertex or edge.
    """
    own = {*optional.fresh, *map(edge_name, optional.path.steps)} - {""}
    for name, symbol in names_in(optional.text.where).items():
        if name not in own:
            raise TextError(
                f"expected conditions of the edge and of its new vertex after OPTIONAL, found {name!r}",
                symbol.start,
            )
    ends = list(map(vertex_name, optional.path.vertices))
    for test in conditions_of(optional.text.where):
        for part in test.path.path if isinstance(test, NegatedTest) else ():
            end = part.details.symbol
            if isinstance(part, VertexText) and end is not None and end.name not in ends:
                raise TextError(
                    f"expected negated edges of the vertices after OPTIONAL, found {end.name!r}", end.start
                )


def absent_of(
    optional: OptionalPath, paths: Sequence[LonePath], position: Mapping[str, int]
) -> Absent | AbsentPath:
    """Return an optional path that is not there.

    Parameters
    ----------
    paths
        The path for each choice of lengths.
    position
        The vertices of the shape whose images its new vertices could not have.
    """
    names = [vertex_name(one) for one in (optional.path.vertices[0], optional.path.vertices[-1])]
    ends = tuple(position.get(name) for name in names)
    before = tuple(sorted(position.values()))
    is_edge = len(optional.path.steps) == 1 and optional.path.steps[0].length is None
    if is_edge and not paths[0].pattern.comparisons:
        return Absent(paths[0].pattern, ends, before)
    start, end = ends
    if start is None:
        start, end = end, start
        paths = [one.turned for one in paths]
    assert start is not None
    form = _form(paths)
    if end is None:
        shortest = _shortest(optional, paths)
        if [len(one.vertices) for one in shortest] == [2] and not shortest[0].pattern.comparisons:
            first = shortest[0].vertices[0] == 0
            return Absent(shortest[0].pattern, (start, None) if first else (None, start), before, form)
        return AbsentPath(tuple(shortest), (start, None), before, form)
    turned = _form([one.turned for one in paths])
    if turned < form:
        start, end, form, turned = end, start, turned, form
        paths = [one.turned for one in paths]
    return AbsentPath(tuple(paths), (start, end), before, form, form == turned)


def _shortest(optional: OptionalPath, paths: Sequence[LonePath]) -> Sequence[LonePath]:
    """Return the paths of which one is there if any is: the shortest, if any vertex may be its end.

    A longer path begins with a shorter one then, whose vertices are new, too.
    """
    ends = [one.pattern.vertices[one.vertices[-1]] for one in paths]
    bare = all(end.labels is None and end.ids is None and end.where is None for end in ends)
    relations = [one for path in paths for one in path.pattern.comparisons if isinstance(one, Relation)]
    bare = bare and all(one.left.is_edge and one.right.is_edge for one in relations)
    if len(optional.path.steps) > 1 or not bare or any(one.pattern.negated for one in paths):
        return paths
    return paths[:1]


def _form(paths: Sequence[LonePath]) -> str:
    """Return what is equal for paths that are the same but for names."""
    return repr([_form_of(one) for one in paths])


def _form_of(path: LonePath) -> Any:
    pattern, walk = path.pattern, path.vertices
    place = {vertex: at for at, vertex in reversed(list(enumerate(walk)))}
    fresh = [pattern.vertices[vertex] for vertex in dict.fromkeys(walk)]
    vertices = [(_labels(one.labels), _labels(one.ids), repr(one.where)) for one in fresh]
    edges = []
    for (start, _), number in zip(pairwise(walk), path.edges, strict=True):
        edge = pattern.edges[number]
        way = None if edge.directed is False else edge.source == start
        edges.append((way, edge.directed, _labels(edge.labels), repr(edge.where)))

    def told(operand: Operand) -> tuple[Any, ...]:
        at = path.edges.index(operand.position) if operand.is_edge else place[operand.position]
        return operand.is_edge, at, operand.attribute

    comparisons = sorted(
        repr((told(one.left), str(one.operator), one.factor, told(one.right), one.offset))
        for one in pattern.comparisons
        if isinstance(one, Relation)
    )
    negated = []
    for one in pattern.negated:
        ends = [
            ("any", _labels(end.labels), repr(end.where)) if isinstance(end, AnyVertex) else place[end]
            for end in (one.source, one.target)
        ]
        shown = sorted(map(repr, ends)) if one.directed is False else list(map(repr, ends))
        negated.append(repr((shown, one.directed, _labels(one.labels), repr(one.where))))
    return vertices, edges, comparisons, sorted(negated)


def _labels(labels: frozenset[Any] | None) -> list[str] | None:
    return None if labels is None else sorted(map(repr, labels))
