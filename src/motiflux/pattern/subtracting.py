"""A count with negated edges as a sum of counts without: inclusion and exclusion.

The embeddings that have none of some edges are all embeddings, less those with each edge, plus those with
each two, and so on. An embedding with an edge is one of the pattern with that query edge added.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import TypeVar

from motiflux.pattern.elements import QueryEdge
from motiflux.pattern.query_graph import QueryGraph

Q = TypeVar("Q", bound=QueryGraph)


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


def _still_coinciding(
    pairs: tuple[tuple[int, int], ...], added: tuple[QueryEdge, ...]
) -> tuple[tuple[int, int], ...]:
    """Return the pairs of vertices that may coincide and that no edge joins: a graph has no self-loops."""
    joined = {frozenset((edge.source, edge.target)) for edge in added}
    return tuple(pair for pair in pairs if frozenset(pair) not in joined)
