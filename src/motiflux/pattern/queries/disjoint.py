"""Patterns of a shape of which no two have the same embedding: edges that are not there are negated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from motiflux.pattern.elements import QueryEdge
from motiflux.pattern.negated import NegatedEdge
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.queries.absent_edges import negating, with_edges, with_no_end
from motiflux.pattern.queries.shapes import Absent, Shape

Choice = tuple[tuple[QueryEdge, ...], tuple[NegatedEdge, ...]]
"""Edges that are there, and edges that are not."""


def disjoint_patterns(shape: Shape, *, homomorphic: bool) -> Iterator[Pattern]:
    """Yield the patterns of a connected shape, without optional paths, of which no two have an embedding.

    Their vertices are those of the shape.

    Parameters
    ----------
    homomorphic
        Whether vertices may have the same image.
    """
    for case in shape.cases:
        if case.without is None:
            continue
        (part,) = case.parts
        whole = part.pattern
        assert part.vertices == tuple(range(whole.num_vertices)), "one part has all vertices, in their order"
        for edges, negated in disjoint_choices(case.without, (whole.edges, whole.negated)):
            found = [replace(whole, edges=edges, negated=negated)]
            for absent in shape.absent_edges:
                if None not in absent.ends:
                    found = [one for pattern in found for one in _without_edge(pattern, absent)]
                    continue
                no_others = negating(absent)
                found = [
                    one
                    for pattern in found
                    for one in with_no_end(pattern, absent, no_others, homomorphic=homomorphic)
                ]
            yield from found


def _without_edge(pattern: Pattern, absent: Absent) -> Iterator[Pattern]:
    """Yield the patterns of the embeddings without an optional edge between two vertices.

    Negated edges behind it are between these vertices, too.
    """
    joined = with_edges(pattern, absent, ())
    assert joined is not None
    for edges, negated in disjoint_choices([joined], (pattern.edges, pattern.negated)):
        yield replace(pattern, edges=edges, negated=negated)


def alternatives_with_lone_edges(shape: Shape) -> bool:
    """Return whether alternatives differ by negated edges to any vertex: no disjoint choices tell these."""
    lone = {
        frozenset(one for one in case.pattern.negated if not one.is_pair)
        for case in shape.cases
        if shape.overlaps and case.without is not None
    }
    return len(lone) > 1


def disjoint_choices(earlier: Sequence[Pattern], alone: Choice) -> Iterator[Choice]:
    """Yield disjoint cases: all edges are there or not, and one of each earlier pattern is not as it says."""
    choices: list[Choice] = [alone]
    for pattern in earlier:
        choices = [split for choice in choices for split in _split(pattern, choice)]
    yield from choices


def _split(pattern: Pattern, choice: Choice) -> Iterator[Choice]:
    """Yield the cases of a choice in which this or that edge is the first that is not as a pattern says."""
    edges, negated = choice
    open_edges = [
        replace(edge, name="") for edge in pattern.edges if not any(_implies(one, edge) for one in edges)
    ]
    for at, edge in enumerate(open_edges):
        missing = NegatedEdge(edge.source, edge.target, edge.labels, edge.directed, edge.where)
        yield (*edges, *open_edges[:at]), tuple(dict.fromkeys((*negated, missing)))
        if missing in negated:
            return
    open_negated = [one for one in pattern.negated if one not in negated]
    for at, one in enumerate(open_negated):
        there = one.as_edge()
        yield (*edges, *open_edges, there), (*negated, *open_negated[:at])
        if any(_implies(edge, there) for edge in edges):
            return


def _implies(edge: QueryEdge, other: QueryEdge) -> bool:
    """Whether data that have an edge have the other one, too."""
    weaker = replace(edge, name="", where=other.where and edge.where, labels=other.labels and edge.labels)
    return weaker == replace(other, name="")
