"""Automorphisms of shapes, and shapes that are the same but for the names of their vertices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache

from motiflux.comparisons import Operand, PatternComparison, Relation, Within
from motiflux.errors import PatternError
from motiflux.pattern.automorphism import Automorphisms, Permutation, Structure, group_of
from motiflux.pattern.comparison_points import ComparisonPoints, comparison_points
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.queries.shapes import Shape
from motiflux.pattern.queries.skeleton import Mark, Skeleton

MAX_AUTOMORPHISMS = 5040
"""Most automorphisms of a shape whose rows are compared with their images."""

_MOST_GROUPS = 128
_ROUNDS = 3
"""Edges between a vertex and those that its color tells of, before patterns are compared."""


def automorphisms_of(skeleton: Skeleton, *, directed: bool) -> Automorphisms:
    """Return the automorphisms of a shape: those of its elements that keep its marks.

    Parameters
    ----------
    directed
        The direction of the data graph.
    """
    return _automorphisms(skeleton, directed)


@lru_cache(_MOST_GROUPS)
def _automorphisms(skeleton: Skeleton, directed: bool) -> Automorphisms:
    structure = Structure(skeleton, directed, _points(skeleton, directed))
    return group_of(structure, tuple(range(skeleton.num_vertices)))


def images_of(skeleton: Skeleton, *, directed: bool) -> tuple[Permutation, ...]:
    """Return all automorphisms of a shape.

    Raises
    ------
    PatternError
        There are too many of them.
    """
    group = automorphisms_of(skeleton, directed=directed)
    if group.order > MAX_AUTOMORPHISMS:
        raise PatternError(
            f"symmetry='subgraphs': expected at most {MAX_AUTOMORPHISMS:,} automorphisms of a query with OR,"
            f" OPTIONAL or several parts, found {group.order:,}"
        )
    return group.elements()


def distinct_shapes(shapes: Sequence[Shape], *, directed: bool) -> list[Shape]:
    """Return the shapes without those that are the same as an earlier one but for names.

    Embeddings of such shapes are the same occurrences.
    """
    return list(_distinct(tuple(shapes), directed))


@lru_cache(_MOST_GROUPS)
def _distinct(shapes: tuple[Shape, ...], directed: bool) -> tuple[Shape, ...]:
    kept: dict[Hashable, list[Shape]] = {}
    for shape in shapes:
        alike = kept.setdefault(_invariant(shape.skeleton), [])
        if not any(_are_same(shape.skeleton, other.skeleton, directed) for other in alike):
            alike.append(shape)
    chosen = {id(shape) for alike in kept.values() for shape in alike}
    return tuple(shape for shape in shapes if id(shape) in chosen)


def first_alike(patterns: Sequence[Pattern], *, directed: bool, copies: bool = False) -> list[int]:
    """Return for each pattern the position of the first one that is the same but for names and numbers.

    Parameters
    ----------
    directed
        The direction of the data graph.
    copies
        Whether choices of copies are counted: then equal patterns are the same alone, as edges beside each
        other tell patterns apart.
    """
    if copies:
        places: dict[Pattern, int] = {}
        return [places.setdefault(pattern, at) for at, pattern in enumerate(patterns)]
    firsts: dict[Hashable, list[tuple[int, Skeleton]]] = {}
    found = []
    for at, pattern in enumerate(patterns):
        skeleton = Skeleton(
            pattern.vertices,
            pattern.edges,
            pattern.may_coincide,
            pattern.comparisons,
            negated=pattern.negated,
        )
        spans = frozenset(one for one in pattern.comparisons if isinstance(one, Within))
        alike = firsts.setdefault((type(pattern), spans, _invariant(skeleton), _colors(skeleton)), [])
        first = next((one for one, other in alike if _are_same(skeleton, other, directed)), at)
        if first == at:
            alike.append((at, skeleton))
        found.append(first)
    return found


def _colors(skeleton: Skeleton) -> tuple[int, ...]:
    """Return a value that is equal for skeletons that are the same: a number for each neighbourhood."""
    colors = [0] * skeleton.num_vertices
    for _ in range(_ROUNDS):
        near: list[list[int]] = [[] for _ in colors]
        for edge in skeleton.edges:
            near[edge.source].append(colors[edge.target])
            near[edge.target].append(colors[edge.source])
        told = [(color, tuple(sorted(some))) for color, some in zip(colors, near, strict=True)]
        ranks = {one: at for at, one in enumerate(sorted(set(told)))}
        colors = [ranks[one] for one in told]
    return tuple(sorted(colors))


def _invariant(skeleton: Skeleton) -> Hashable:
    """Return a value that is equal for shapes that are the same."""
    vertices: Counter[Hashable] = Counter(
        (vertex.labels, vertex.ids, vertex.where) for vertex in skeleton.vertices
    )
    edges: Counter[Hashable] = Counter((edge.labels, edge.where, edge.directed) for edge in skeleton.edges)
    marks: Counter[Hashable] = Counter(mark.kind for mark in skeleton.marks)
    counts = (len(skeleton.may_coincide), len(skeleton.comparisons), len(skeleton.negated))
    return *(frozenset(one.items()) for one in (vertices, edges, marks)), counts


def _are_same(first: Skeleton, second: Skeleton, directed: bool) -> bool:
    """Whether some permutation of the vertices turns one shape into the other."""
    both = _beside(first, second)
    structure = Structure(both, directed, _points(both, directed))
    last = structure.size - 1
    begun = structure.assign(structure.domains, last - 1, last)
    return begun is not None and structure.search(begun) is not None


def _beside(first: Skeleton, second: Skeleton) -> Skeleton:
    """Return both shapes as one; its last two marks are around the first one and around the second one."""
    vertices, edges, marks = first.num_vertices, first.num_edges, len(first.marks)

    def moved(operand: Operand) -> Operand:
        return replace(operand, position=operand.position + (edges if operand.is_edge else vertices))

    comparisons: list[PatternComparison] = list(first.comparisons)
    for one in second.comparisons:
        if isinstance(one, Relation):
            one = replace(one, left=moved(one.left), right=moved(one.right))
        comparisons.append(one)
    moved_marks = [
        Mark(
            mark.kind,
            tuple(at + vertices for at in mark.vertices),
            tuple(at + edges for at in mark.edges),
            tuple(at + marks for at in mark.marks),
            tuple(at + vertices for at in mark.around),
        )
        for mark in second.marks
    ]
    whole = range(vertices + second.num_vertices)
    return Skeleton(
        (*first.vertices, *second.vertices),
        (
            *first.edges,
            *(replace(e, source=e.source + vertices, target=e.target + vertices) for e in second.edges),
        ),
        (*first.may_coincide, *((u + vertices, v + vertices) for u, v in second.may_coincide)),
        tuple(comparisons),
        (
            *first.marks,
            *moved_marks,
            Mark("whole", around=tuple(whole[:vertices])),
            Mark("whole", around=tuple(whole[vertices:])),
        ),
        (*first.negated, *(one.between(whole[vertices:]) for one in second.negated)),
    )


def _points(skeleton: Skeleton, directed: bool) -> ComparisonPoints:
    """Return the points of comparisons, and one for each mark, after them."""
    of_edges = any(mark.edges for mark in skeleton.marks)
    found = comparison_points(skeleton, directed, every_edge=of_edges)
    colors, links = list(found.colors), list(found.links)
    first = skeleton.num_vertices + len(colors)
    for mark in skeleton.marks:
        point = skeleton.num_vertices + len(colors)
        colors.append(("mark", mark.kind))
        links += [(vertex, point, ("vertex", place)) for place, vertex in enumerate(mark.vertices)]
        links += [(skeleton.num_vertices + edge, point, "edge") for edge in mark.edges]
        links += [(first + other, point, "joined") for other in mark.marks]
        links += [(vertex, point, "around") for vertex in mark.around]
    return ComparisonPoints(tuple(colors), tuple(links))
