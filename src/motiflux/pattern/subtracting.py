"""A count with negated edges as a sum of counts without: inclusion and exclusion.

The embeddings that have none of some edges are all embeddings, less those with each edge, plus those with
each two, and so on. An embedding with an edge is one of the pattern with that query edge added.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import TypeVar

from motiflux.pattern.automorphism import automorphisms
from motiflux.pattern.elements import QueryEdge
from motiflux.pattern.negated import NegatedEdge
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.query_graph import QueryGraph

Q = TypeVar("Q", bound=QueryGraph)

_MOST_AUTOMORPHISMS = 1024
"""Most automorphisms of a pattern that are looked through; of others, each term is counted by itself."""


def signed_patterns(pattern: Q) -> Iterator[tuple[int, Q]]:
    """Yield patterns without negated edges between query vertices, each with the sign of its count.

    The sum of the signed counts of embeddings is the count of the pattern. This holds if different query
    vertices have different images, or any may coincide, or some: vertices that an added edge joins do not.

    Examples
    --------
    >>> from motiflux import Pattern
    >>> for sign, one in signed_patterns(Pattern.parse("(a)-->(b)-->(c), NOT (c)-->(a)")):
    ...     print(sign, one)
    1 (a)-->(b), (b)-->(c)
    -1 (a)-->(b), (b)-->(c), (c)-->(a)
    """
    pairs = pattern.negated_pairs
    rest = tuple(one for one in pattern.negated if not one.is_pair)
    for number in range(len(pairs) + 1):
        for chosen in combinations(pairs, number):
            added = tuple(one.as_edge() for one in chosen)
            yield (
                (-1) ** number,
                replace(
                    pattern,
                    edges=(*pattern.edges, *added),
                    may_coincide=_still_coinciding(pattern.may_coincide, added),
                    negated=rest,
                ),
            )


def different_patterns(pattern: Pattern, *, directed: bool) -> list[tuple[int, Pattern]]:
    """Return the patterns of `signed_patterns`, each with the factor of its count.

    Patterns are counted together if an automorphism of the pattern, which keeps its negated edges, maps the
    edges added to the one to those added to the other.

    Parameters
    ----------
    directed
        The direction of the data graph.

    Examples
    --------
    >>> from motiflux import Pattern
    >>> ring = Pattern.parse("(a)-->(b)-->(c)-->(d)-->(a), NOT (a)--(c), NOT (b)--(d)")
    >>> [factor for factor, _ in different_patterns(ring, directed=True)]
    [1, -2, 1]
    """
    pairs = pattern.negated_pairs
    group = automorphisms(pattern, directed=directed)
    images: list[list[int]] = []
    if 1 < group.order <= _MOST_AUTOMORPHISMS:
        ends = [_ends(one, directed) for one in pairs]
        for image in group.elements():
            moved = [_ends(one.between(image), directed) for one in pairs]
            if sorted(moved, key=repr) == sorted(ends, key=repr):
                images.append([ends.index(one) for one in moved])
    found: dict[tuple[int, ...], tuple[int, Pattern]] = {}
    subsets = (chosen for size in range(len(pairs) + 1) for chosen in combinations(range(len(pairs)), size))
    for chosen, (sign, one) in zip(subsets, signed_patterns(pattern), strict=True):
        first = min((tuple(sorted(image[at] for at in chosen)) for image in images), default=chosen)
        known = found.get(first)
        found[first] = (sign, one) if known is None else (known[0] + sign, known[1])
    return list(found.values())


def _ends(one: NegatedEdge, directed: bool) -> tuple[Hashable, ...]:
    """Return what is equal for negated edges between vertices that exclude the same edges."""
    is_arc = directed if one.directed is None else one.directed
    return one.ends if is_arc else frozenset(one.ends), one.labels, one.where


def _still_coinciding(
    pairs: tuple[tuple[int, int], ...], added: tuple[QueryEdge, ...]
) -> tuple[tuple[int, int], ...]:
    """Return the pairs of vertices that may coincide and that no edge joins: a graph has no self-loops."""
    joined = {frozenset((edge.source, edge.target)) for edge in added}
    return tuple(pair for pair in pairs if frozenset(pair) not in joined)
