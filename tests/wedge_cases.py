"""Random small cases of patterns with a wedge that one comparison joins to all other edges."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

from motiflux.cpu import reference
from tests.compared_cases import KINDS, ComparedCase

BY_ORDER = ("<", "<", "<=", ">", ">=")
FACTORS = (1, 1, 1, 1, -1, 2, Fraction(1, 2), Fraction(9, 10), Fraction(-1, 3))
OFFSETS = (0, 0, 0, 1, -1, 2, Fraction(1, 2))


def wedge_case(random: Random) -> ComparedCase:
    """Return a multigraph of up to 6 vertices and a ring, or a ring with another edge, in some order."""
    directed = random.random() < 0.6
    num_vertices = random.randint(3, 6)
    pairs = [(u, v) for u in range(num_vertices) for v in range(num_vertices) if u != v]
    chosen = random.sample(pairs, min(len(pairs), random.randint(4, 14)))
    edges = tuple(random.choice(chosen) for _ in range(random.randint(len(chosen), 2 * len(chosen) + 4)))
    labelled = random.random() < 0.3
    size = random.choice((3, 4, 4, 4, 5))
    query, wedge = _shape(random, size, labelled=labelled, kinds=KINDS[directed])
    attributes = [random.choice(("time", "amount"))] * len(query)
    if random.random() < 0.2:
        attributes = [random.choice(("time", "amount")) for _ in query]
    missing = (None,) if random.random() < 0.3 else ()
    times = (*range(random.choice((3, 8))), *missing)
    amounts = (0.0, -0.0, 0.5, 0.1, 0.3, 1.0, 2.5, -1.0, *missing)
    return ComparedCase(
        directed=directed,
        num_vertices=num_vertices,
        edges=edges,
        edge_labels=tuple(random.randrange(2) for _ in edges) if labelled else None,
        vertex_labels=tuple(random.randrange(2) for _ in range(num_vertices)) if labelled else None,
        edge_attributes={
            "time": [0, *(random.choice(times) for _ in edges[1:])],
            "amount": [0.5, *(random.choice(amounts) for _ in edges[1:])],
        },
        vertex_attributes={},
        pattern_vertex_labels=tuple(
            random.choice((None, None, 0)) if labelled else None for _ in range(size)
        ),
        pattern_edges=tuple(query),
        comparisons=tuple(_comparisons(random, len(query), wedge, attributes)),
    )


def _shape(
    random: Random, size: int, *, labelled: bool, kinds: tuple[str, ...]
) -> tuple[list[reference.PatternEdge], list[int]]:
    """Return the edges of a pattern, and which are the wedge at its last vertex."""
    ring = [(v, (v + 1) % size) for v in range(size)]
    if random.random() < 0.25:
        extra = (0, random.randrange(1, size - 1))
        ring.append(extra if random.random() < 0.5 else extra[::-1])
    random.shuffle(ring)
    names = random.sample(range(size), size)
    query = []
    for pair in ring:
        u, v = (names[one] for one in (pair if random.random() < 0.6 else pair[::-1]))
        label = random.choice((None, None, 0)) if labelled else None
        query.append((u, v, label, random.choice(kinds)))
    return query, [at for at, pair in enumerate(ring) if size - 1 in pair]


def _comparisons(
    random: Random, num_edges: int, wedge: list[int], attributes: list[str]
) -> list[reference.Comparison]:
    chain = random.random() < 0.6
    operator = random.choice(BY_ORDER)

    def compared(left: int, right: int) -> reference.Comparison:
        sides: list[Any] = [("edge", at, attributes[at]) for at in (left, right)]
        if chain:
            return sides[0], operator, sides[1], 1, 0
        if random.random() < 0.5:
            sides.reverse()
        plain = random.random() < 0.5
        factor, offset = (1, 0) if plain else (random.choice(FACTORS), random.choice(OFFSETS))
        return sides[0], random.choice(BY_ORDER), sides[1], factor, offset

    core = [at for at in range(num_edges) if at not in wedge]
    random.shuffle(core)
    random.shuffle(wedge)
    found = [compared(wedge[0], wedge[1])]
    for at in range(1, len(core)):
        below = at - 1 if chain or random.random() < 0.5 else random.randrange(at)
        if random.random() < 0.95:
            found.append(compared(core[below], core[at]))
    found.append(compared(wedge[1], core[0] if chain else random.choice(core)))
    random.shuffle(found)
    return found
