"""Random patterns for a data graph, most of them taken from it, so that they occur."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from math import prod
from typing import Any, TypeVar

from motiflux.conditions import AllOf, AnyOf, Comparison, Condition, IsMissing, Not, OneOf
from tests.fuzz.draws import Draws
from tests.fuzz.edits import without_vertex
from tests.fuzz.scenario import ATTRIBUTE, DataGraph, EdgeChoice, Query, VertexChoice
from tests.fuzz.truth import accepted_vertices

T = TypeVar("T")

SIZES = (2, 3, 3, 4, 4, 4, 5, 5, 5)
KINDS: dict[bool, tuple[tuple[str, ...], ...]] = {
    False: (("follow",), ("either",), ("follow", "either")),
    True: (("follow",), ("either",), ("arc",), ("follow", "either", "arc")),
}
"""The kinds of query edges that one pattern has, on an undirected and on a directed graph."""


def draw_query(draws: Draws, graph: DataGraph, most_maps: int) -> Query:
    """Draw a pattern of 2 to 5 vertices of which the reference tries at most `most_maps` maps."""
    size = draws.choice(SIZES)
    image = _connected_vertices(draws, graph, size) if draws.happens(0.65) else []
    query = _query_at(draws, graph, image) if len(image) > 1 else _free_query(draws, graph, size)
    if graph.vertex_values is not None:
        query = _with_conditions(draws, query)
    if draws.happens(0.12):
        query = _with_anchors(draws, query, len(graph.ids))
    if draws.happens(0.12):
        query = replace(query, coinciding=_coinciding(draws, query))
    return _narrowed(draws, graph, query, most_maps)


def _connected_vertices(draws: Draws, graph: DataGraph, size: int) -> list[int]:
    """Return up to `size` connected data vertices, in any order."""
    if not graph.edges:
        return []
    found = [draws.choice(draws.choice(graph.edges))]
    while len(found) < size:
        near = [v for edge in graph.edges for v in edge if v not in found and {*edge} & {*found}]
        if not near:
            break
        found.append(draws.choice(near))
    draws.shuffle(found)
    return found


def _query_at(draws: Draws, graph: DataGraph, image: list[int]) -> Query:
    """Return a pattern that has `image` for an embedding, but where it accepts an absent label only."""
    place = {vertex: position for position, vertex in enumerate(image)}
    inside = [row for row, edge in enumerate(graph.edges) if place.keys() >= {*edge}]
    draws.shuffle(inside)
    kept = _spanning_tree(graph, inside)
    share = draws.choice((0.0, 0.3, 1.0, 1.0))
    kept += [row for row in inside if row not in kept and draws.happens(share)]
    draws.shuffle(kept)
    kinds, wildcard = draws.choice(KINDS[graph.directed]), draws.choice((0.2, 0.5, 1.0))
    edges = []
    for row in kept:
        u, v = (place[end] for end in graph.edges[row])
        kind, labels = draws.choice(kinds), draws.label_choice(graph.edge_labels, wildcard, row)
        turned = (not graph.directed or kind == "either") and draws.happens(0.5)
        edges.append(EdgeChoice(v, u, labels, kind) if turned else EdgeChoice(u, v, labels, kind))
    wildcard = draws.choice((0.2, 0.4, 0.4, 1.0))
    vertices = [draws.label_choice(graph.vertex_labels, wildcard, vertex) for vertex in image]
    return Query(tuple(map(VertexChoice, vertices)), tuple(edges))


def _spanning_tree(graph: DataGraph, rows: list[int]) -> list[int]:
    """Return rows that form a spanning tree of the graph that all of `rows` form."""
    reached, kept = {graph.edges[rows[0]][0]}, list[int]()
    while grown := [row for row in rows if len(reached & {*graph.edges[row]}) == 1]:
        kept.append(grown[0])
        reached |= {*graph.edges[grown[0]]}
    return kept


def _free_query(draws: Draws, graph: DataGraph, size: int) -> Query:
    """Return any connected pattern, often with one choice everywhere, so that it has automorphisms."""
    pairs = [(draws.randrange(vertex), vertex) for vertex in range(1, size)]
    others = [(u, v) for u in range(size) for v in range(size) if u != v]
    pairs += draws.choices(others, k=draws.choice((0, 0, 1, 1, 2, 3, size)))
    kinds, wildcard = draws.choice(KINDS[graph.directed]), draws.choice((0.2, 0.4, 1.0))
    vertices = _each(draws, size, lambda: draws.label_choice(graph.vertex_labels, wildcard))
    labels = _each(draws, len(pairs), lambda: draws.label_choice(graph.edge_labels, wildcard))
    edges = [
        EdgeChoice(*(pair if draws.happens(0.5) else pair[::-1]), choice, draws.choice(kinds))
        for pair, choice in zip(pairs, labels, strict=True)
    ]
    draws.shuffle(edges)
    return Query(tuple(map(VertexChoice, vertices)), tuple(edges))


def _each(draws: Draws, number: int, draw: Callable[[], T]) -> list[T]:
    return [draw()] * number if draws.happens(0.4) else [draw() for _ in range(number)]


def _with_conditions(draws: Draws, query: Query) -> Query:
    """Ask for values of some vertices and edges."""
    vertices = [
        replace(one, where=_condition(draws)) if draws.happens(0.3) else one for one in query.vertices
    ]
    edges = [replace(one, where=_condition(draws)) if draws.happens(0.25) else one for one in query.edges]
    return replace(query, vertices=tuple(vertices), edges=tuple(edges))


def _condition(draws: Draws) -> Condition:
    """Return a condition in the form in which patterns keep it: nothing nested that need not be."""
    form = draws.random()
    if form < 0.6:
        return _simple(draws)
    if form < 0.75:
        return Not(_simple(draws))
    several = (_simple(draws), draws.choice((_simple(draws), Not(_simple(draws)))))
    return draws.choice((AllOf(several), AnyOf(several), Not(AllOf(several))))


def _simple(draws: Draws) -> Condition:
    form, numbers = draws.random(), (-1, 0, 1, 2, 0.5, 1.0)
    if form < 0.6:
        return Comparison(ATTRIBUTE, draws.choice(("=", "<>", "<", "<=", ">", ">=")), draws.choice(numbers))  # type: ignore[arg-type]  # as a user may write it
    if form < 0.8:
        return OneOf(ATTRIBUTE, tuple(draws.choices(numbers, k=draws.randint(1, 3))))
    return IsMissing(ATTRIBUTE)


def _with_anchors(draws: Draws, query: Query, size: int) -> Query:
    """Ask for data vertices by themselves at one query vertex or two."""
    if not size:
        return query
    vertices = list(query.vertices)
    for _ in range(draws.choice((1, 1, 2))):
        at = draws.randrange(len(vertices))
        anchors = frozenset(draws.choices(range(size), k=draws.randint(1, 4)))
        vertices[at] = replace(vertices[at], anchors=anchors)
    return replace(query, vertices=tuple(vertices))


def _coinciding(draws: Draws, query: Query) -> tuple[tuple[int, int], ...]:
    """Return some pairs of query vertices that no query edge joins."""
    joined = {frozenset((edge.source, edge.target)) for edge in query.edges}
    pairs = [pair for pair in combinations(range(len(query.vertices)), 2) if {*pair} not in joined]
    share = draws.choice((0.5, 1.0))
    return tuple(pair for pair in pairs if draws.happens(share))


def _narrowed(draws: Draws, graph: DataGraph, query: Query, most_maps: int) -> Query:
    """Give query vertices one label, then drop them, until few maps are left to try."""
    known: list[Any] = sorted(set(graph.vertex_labels or ()), key=repr)
    wide = [u for u, vertex in enumerate(query.vertices) if not _has_one_label(vertex)]
    draws.shuffle(wide)
    while _maps(graph, query) > most_maps and wide and len(known) > 1:
        vertices = list(query.vertices)
        at = wide.pop()
        vertices[at] = replace(vertices[at], labels=draws.choice(known))
        query = replace(query, vertices=tuple(vertices))
    while _maps(graph, query) > most_maps and len(query.vertices) > 2:
        smaller = [without_vertex(query, u) for u in range(len(query.vertices))]
        query = draws.choice([one for one in smaller if one is not None])
    return query


def _has_one_label(vertex: VertexChoice) -> bool:
    return vertex.labels is not None and not isinstance(vertex.labels, frozenset)


def _maps(graph: DataGraph, query: Query) -> int:
    return prod(len(accepted_vertices(graph, query, u)) for u in range(len(query.vertices)))
