"""From the elements of a shape to its connected patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from motiflux.comparisons import Operand, Relation, Within
from motiflux.errors import PatternError
from motiflux.pattern.elements import QueryEdge
from motiflux.pattern.negated import NegatedEdge
from motiflux.pattern.parser.drafts import blamed_on
from motiflux.pattern.parser.resolve import Elements
from motiflux.pattern.parser.syntax import TextError
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.queries.shapes import Case, Part, PartsTogether, absent_of_negated
from motiflux.pattern.queries.skeleton import Mark, Skeleton

MAX_APART = 4
"""Most negated edges between parts: there is a case for each set of them."""


def case_of(elements: Elements, walking: frozenset[int]) -> Case:
    """Return the connected patterns of elements.

    Parameters
    ----------
    walking
        Vertices that may coincide with all that no edge joins them to.

    Raises
    ------
    TextError
        A part is no pattern.
    """
    parts = []
    places = [(0, 0)] * len(elements.edges)
    groups = _groups(len(elements.vertices), elements.edges)
    joint = _joint(elements, groups) if len(groups) > 1 else None
    assert not _negated_apart(elements), "between parts, negated edges are cases of their own"
    free = (*elements.may_coincide, *_free_pairs(elements, walking))
    for number, group in enumerate(groups):
        with blamed_on(elements.starts[group[0]]):
            part, edges = _part(elements, group, free)
        for at, place in edges.items():
            places[at] = (number, place)
        parts.append(part)
    joint_edges = () if joint is None else tuple(position_of(edge, joint) for edge in elements.edges)
    return Case(tuple(parts), tuple(places), joint=joint, joint_edges=joint_edges)


def cases_of(alternatives: Sequence[Elements], walking: frozenset[int]) -> list[Case]:
    """Return the cases of alternatives, which differ by the conditions of edges and by negated edges.

    Embeddings of several alternatives are counted by inclusion and exclusion: a set of alternatives holds
    where each has witnesses of its own, so the pattern of a set has the edges of all of them, and all negated
    ones.

    Raises
    ------
    TextError
        There are several alternatives, and several parts or comparisons.
    """
    if len(alternatives) == 1:
        return _cases_of_parts(alternatives[0], walking)
    first = alternatives[0]
    if len(_groups(len(first.vertices), first.edges)) > 1 or first.comparisons:
        raise TextError(
            "expected no comparisons and one connected part beside OR across edges",
            first.starts[0],
        )
    alone = [case_of(one, walking) for one in alternatives]
    patterns = [case.pattern for case in alone]
    found = [replace(case, without=tuple(patterns[:at])) for at, case in enumerate(alone)]
    for size in range(2, len(alternatives) + 1):
        for chosen in combinations(alternatives, size):
            others = [replace(edge, name="") for one in chosen[1:] for edge in one.edges]
            negated = tuple(dict.fromkeys(edge for one in chosen for edge in one.negated))
            both = replace(first, edges=(*chosen[0].edges, *others), negated=negated)
            together = case_of(both, walking)
            found.append(replace(together, factor=(-1) ** (size + 1), without=None))
    return found


def _cases_of_parts(elements: Elements, walking: frozenset[int]) -> list[Case]:
    """Return the case of elements, and those that take off rows with negated edges between its parts."""
    apart = _negated_apart(elements)
    if not apart:
        return [case_of(elements, walking)]
    if len(apart) > MAX_APART:
        expected = f"expected at most {MAX_APART} negated edges between parts"
        raise TextError(f"{expected}, found {len(apart)}", elements.starts[apart[0].ends[0]])
    rest = replace(elements, negated=tuple(one for one in elements.negated if one not in apart))
    found = [replace(case_of(rest, walking), apart=tuple(map(absent_of_negated, apart)))]
    for size in range(1, len(apart) + 1):
        for chosen in combinations(apart, size):
            together = replace(rest, edges=(*rest.edges, *(one.as_edge() for one in chosen)))
            found.append(replace(case_of(together, walking), factor=(-1) ** size, without=None))
    return found


def _negated_apart(elements: Elements) -> list[NegatedEdge]:
    """Return the negated edges between vertices of two parts."""
    groups = _groups(len(elements.vertices), elements.edges)
    part = {vertex: number for number, group in enumerate(groups) for vertex in group}
    return [one for one in elements.negated if len({part[end] for end in one.ends}) > 1]


def skeleton_of(
    elements: Elements, walking: frozenset[int], marks: tuple[Mark, ...], more: Sequence[QueryEdge] = ()
) -> Skeleton:
    """Return the structure of elements, of marks on them, and of edges that are not there."""
    free = {(min(pair), max(pair)) for pair in (*elements.may_coincide, *_free_pairs(elements, walking))}
    edges = (*elements.edges, *more)
    coinciding = tuple(sorted(free))
    return Skeleton(elements.vertices, edges, coinciding, elements.comparisons, marks, elements.negated)


def _groups(num_vertices: int, edges: Sequence[QueryEdge]) -> list[list[int]]:
    """Return the vertices of each connected part, in order."""
    group = list(range(num_vertices))
    for edge in edges:
        one, other = group[edge.source], group[edge.target]
        group = [one if at == other else at for at in group]
    return [[v for v in range(num_vertices) if group[v] == number] for number in dict.fromkeys(group)]


def _joint(elements: Elements, groups: Sequence[Sequence[int]]) -> PartsTogether | None:
    """Return all parts as one pattern if comparisons are about several of them."""
    part = {vertex: number for number, group in enumerate(groups) for vertex in group}

    def part_of(operand: Operand) -> int:
        return part[elements.edges[operand.position].source if operand.is_edge else operand.position]

    if not any(
        isinstance(one, Within) or part_of(one.left) != part_of(one.right) for one in elements.comparisons
    ):
        return None
    with blamed_on(elements.starts[groups[1][0]]):
        return PartsTogether(elements.vertices, elements.edges, comparisons=elements.comparisons)


def _free_pairs(elements: Elements, walking: frozenset[int]) -> list[tuple[int, int]]:
    """Return the pairs of vertices that may coincide because a walk goes through one of them."""
    joined = {frozenset((edge.source, edge.target)) for edge in elements.edges}
    return [
        (min(vertex, other), max(vertex, other))
        for vertex in sorted(walking)
        for other in range(len(elements.vertices))
        if other != vertex and frozenset((vertex, other)) not in joined
    ]


def _part(
    elements: Elements, group: Sequence[int], free: Sequence[tuple[int, int]]
) -> tuple[Part, dict[int, int]]:
    """Return one part, and the position of each of its edges, by the position among all."""
    at = {vertex: place for place, vertex in enumerate(group)}
    if len(group) == 1:
        name = elements.vertices[group[0]].name
        raise PatternError(f"expected an edge at each vertex, found none at {name!r}")
    numbers = [number for number, edge in enumerate(elements.edges) if edge.source in at]
    edges = [
        replace(elements.edges[n], source=at[elements.edges[n].source], target=at[elements.edges[n].target])
        for n in numbers
    ]
    moved = {number: place for place, number in enumerate(numbers)}
    comparisons = []
    for one in elements.comparisons:
        if isinstance(one, Relation):
            places = [moved if operand.is_edge else at for operand in (one.left, one.right)]
            if one.left.position not in places[0] or one.right.position not in places[1]:
                continue
            left, right = (
                replace(operand, position=place[operand.position])
                for operand, place in zip((one.left, one.right), places, strict=True)
            )
            one = replace(one, left=left, right=right)
        comparisons.append(one)
    pattern = Pattern(
        tuple(elements.vertices[v] for v in group),
        tuple(edges),
        may_coincide=tuple((at[u], at[v]) for u, v in free if u in at and v in at),
        comparisons=tuple(comparisons),
        negated=tuple(one.between(at) for one in elements.negated if one.ends[0] in at),
    )
    kept = [position_of(edge, pattern) for edge in edges]
    return Part(pattern, tuple(group)), dict(zip(numbers, kept, strict=True))


def position_of(edge: QueryEdge, pattern: Pattern) -> int:
    """Return the position of an edge in a pattern, which keeps equal edges once."""
    if edge in pattern.edges:
        return pattern.edges.index(edge)
    nameless = [replace(one, name="") for one in pattern.edges]
    return nameless.index(replace(edge, name=""))
