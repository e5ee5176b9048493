"""The vertices and edges of a pattern, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from motiflux.comparisons import PatternComparison
from motiflux.pattern.checks import check_structure, coinciding
from motiflux.pattern.compared import checked, moved, normal_order, with_names
from motiflux.pattern.elements import QueryEdge, QueryVertex
from motiflux.pattern.negated import NegatedEdge, negated_edges


@dataclass(frozen=True, slots=True)
class QueryGraph:
    """The fields of `Pattern`, which describes them, and their checks."""

    vertices: tuple[QueryVertex, ...]
    edges: tuple[QueryEdge, ...]
    name: str = ""
    may_coincide: tuple[tuple[int, int], ...] = ()
    comparisons: tuple[PatternComparison, ...] = ()
    negated: tuple[NegatedEdge, ...] = ()

    must_connect: ClassVar[bool] = True
    """Whether there has to be a path between each two vertices."""

    def __post_init__(self) -> None:
        vertices, edges = tuple(self.vertices), tuple(self.edges)
        compared = checked(self.comparisons)
        if compared:
            edges = with_names(edges, vertices, compared)
        edges, positions = _each_once(edges)
        compared = moved(compared, positions)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "edges", edges)
        check_structure(vertices, edges, connected=self.must_connect)
        object.__setattr__(self, "may_coincide", coinciding(self.may_coincide, vertices, edges))
        object.__setattr__(self, "comparisons", normal_order(compared, len(vertices), len(edges)))
        object.__setattr__(self, "negated", negated_edges(self.negated, vertices) if self.negated else ())

    @property
    def num_vertices(self) -> int:
        """Number of query vertices."""
        return len(self.vertices)

    @property
    def negated_pairs(self) -> tuple[NegatedEdge, ...]:
        """The negated edges between two query vertices."""
        return tuple(one for one in self.negated if one.is_pair)

    @property
    def num_edges(self) -> int:
        """Number of distinct query edges."""
        return len(self.edges)


def _each_once(edges: Sequence[QueryEdge]) -> tuple[tuple[QueryEdge, ...], list[int]]:
    """Return the edges without repetitions, and the position of each given edge among them.

    An edge without a name repeats an equal edge with a name.
    """
    distinct = dict.fromkeys(edges)
    named = {replace(edge, name=""): edge for edge in reversed(distinct) if edge.name}
    kept = tuple(edge for edge in distinct if edge.name or edge not in named)
    if len(kept) == len(edges):
        return kept, list(range(len(kept)))
    at = {edge: position for position, edge in enumerate(kept)}
    return kept, [at[edge if edge.name else named.get(edge, edge)] for edge in edges]
