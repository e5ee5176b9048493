"""Checks of a pattern as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index

from motiflux.errors import PatternError
from motiflux.pattern.elements import QueryEdge, QueryVertex
from motiflux.types import MAX_PATTERN_EDGES, MAX_PATTERN_VERTICES

Pair = tuple[int, int]

_MOST_SHOWN = 10
"""Numbers of vertices that an error lists."""


def check_structure(
    vertices: Sequence[QueryVertex], edges: Sequence[QueryEdge], *, connected: bool = True
) -> None:
    """Refuse vertices and edges that are not a pattern of the right size.

    Parameters
    ----------
    connected
        Whether there has to be a path between each two vertices.

    Raises
    ------
    PatternError
        With the value found and the value expected.
    """
    _check_edges(vertices, edges)
    check_size(len(vertices))
    _check_names(vertices, edges)
    left_out = unreached(len(vertices), edges) if connected else None
    if left_out is not None:
        raise PatternError(
            f"expected a connected pattern, found no path from vertex {vertices[0].name!r}"
            f" to {vertices[left_out].name!r}"
        )


def check_size(num_vertices: int) -> None:
    """Refuse too few and too many query vertices.

    Raises
    ------
    PatternError
        Saying how many there are.
    """
    if not 2 <= num_vertices <= MAX_PATTERN_VERTICES:
        raise PatternError(f"expected 2 to {MAX_PATTERN_VERTICES} query vertices, found {num_vertices}")


def unreached(num_vertices: int, edges: Iterable[QueryEdge]) -> int | None:
    """Return the first vertex to which no path leads from vertex 0; None where there is none."""
    neighbors: list[set[int]] = [set() for _ in range(num_vertices)]
    for edge in edges:
        neighbors[edge.source].add(edge.target)
        neighbors[edge.target].add(edge.source)
    reached, frontier = {0}, [0]
    while frontier:
        fresh = neighbors[frontier.pop()] - reached
        reached |= fresh
        frontier.extend(fresh)
    return next((vertex for vertex in range(num_vertices) if vertex not in reached), None)


def pairs_of(pairs: Iterable[Pair], what: str, one: str) -> list[Pair]:
    """Return pairs of vertex numbers as plain integers.

    Raises
    ------
    PatternError
        An element is not a pair of integers; the message calls the argument `what` and each pair `one`.
    """
    if not isinstance(pairs, Iterable):
        raise PatternError(f"{what}: expected pairs of vertex numbers, found {pairs!r}")
    found = []
    for position, pair in enumerate(pairs):
        try:
            first, second = pair
            found.append((index(first), index(second)))
        except (TypeError, ValueError):
            advice = "; PatternBuilder and Pattern.parse take names" if _has_name(pair) else ""
            message = f"{one} {position}: expected two vertex numbers, found {pair!r}{advice}"
            raise PatternError(message) from None
    return found


def check_numbering(pairs: Iterable[Pair]) -> None:
    """Refuse numbers of vertices that leave out a smaller one: it would be a vertex without an edge.

    Raises
    ------
    PatternError
        Says how vertices are numbered.
    """
    used = sorted({end for pair in pairs for end in pair})
    if used and used != list(range(len(used))):
        found = ", ".join(map(str, used[:_MOST_SHOWN])) + (", ..." if len(used) > _MOST_SHOWN else "")
        raise PatternError(
            f"edges: expected vertices numbered from 0 to {len(used) - 1} without gaps, found {found}; "
            "PatternBuilder and Pattern.parse take names"
        )


def coinciding(
    pairs: Iterable[Pair], vertices: Sequence[QueryVertex], edges: Sequence[QueryEdge]
) -> tuple[Pair, ...]:
    """Return the pairs of vertices that may coincide: each once, the smaller number first, in order.

    Raises
    ------
    PatternError
        A vertex that is not there or is paired with itself, or two that an edge joins.
    """
    joined = {frozenset((edge.source, edge.target)) for edge in edges}
    found = set()
    for first, second in pairs_of(pairs, "may_coincide", "may_coincide: pair"):
        last = len(vertices) - 1
        for end in (first, second):
            if not 0 <= end <= last:
                raise PatternError(f"may_coincide: expected vertices 0 to {last}, found {end}")
        names = f"{vertices[first].name!r} and {vertices[second].name!r}"
        if first == second:
            raise PatternError(f"may_coincide: expected two different vertices, found {names}")
        if frozenset((first, second)) in joined:
            raise PatternError(
                f"may_coincide: expected two vertices without an edge between them, found {names} joined by"
                " one (a graph has no self-loops)"
            )
        found.add((min(first, second), max(first, second)))
    return tuple(sorted(found))


def _has_name(pair: object) -> bool:
    return isinstance(pair, (tuple, list)) and any(isinstance(end, str) for end in pair)


def _check_names(vertices: Sequence[QueryVertex], edges: Sequence[QueryEdge]) -> None:
    seen: set[str] = set()
    for vertex in vertices:
        if vertex.name in seen:
            raise PatternError(f"expected each vertex name once, found {vertex.name!r} twice")
        seen.add(vertex.name)
    for edge in edges:
        if not edge.name:
            continue
        if edge.name in seen:
            raise PatternError(
                f"expected an edge name that no vertex and no other edge has, found {edge.name!r} twice"
            )
        seen.add(edge.name)


def _check_edges(vertices: Sequence[QueryVertex], edges: Sequence[QueryEdge]) -> None:
    for position, edge in enumerate(edges):
        for end in (edge.source, edge.target):
            if not 0 <= end < len(vertices):
                last = len(vertices) - 1
                raise PatternError(f"query edge {position}: expected vertices 0 to {last}, found {end}")
        if edge.source == edge.target:
            name = vertices[edge.source].name
            raise PatternError(
                f"query edge {position}: expected two different vertices, found {name!r} twice"
            )
        if edge.directed not in (True, False, None):
            raise PatternError(
                f"query edge {position}: expected directed to be True, False or None, found {edge.directed!r}"
            )
    if len(edges) > MAX_PATTERN_EDGES:
        raise PatternError(f"expected at most {MAX_PATTERN_EDGES} query edges, found {len(edges)}")
