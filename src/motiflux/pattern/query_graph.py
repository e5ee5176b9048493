"""The vertices and edges of a pattern, checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from motiflux.pattern.checks import check_structure, coinciding
from motiflux.pattern.elements import QueryEdge, QueryVertex


@dataclass(frozen=True, slots=True)
class QueryGraph:
    """The fields of `Pattern`, which describes them, and their checks."""

    vertices: tuple[QueryVertex, ...]
    edges: tuple[QueryEdge, ...]
    name: str = ""
    may_coincide: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        vertices, edges = tuple(self.vertices), _each_once(self.edges)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "edges", edges)
        check_structure(vertices, edges)
        object.__setattr__(self, "may_coincide", coinciding(self.may_coincide, vertices, edges))

    @property
    def num_vertices(self) -> int:
        """Number of query vertices."""
        return len(self.vertices)

    @property
    def num_edges(self) -> int:
        """Number of distinct query edges."""
        return len(self.edges)


def _each_once(edges: Iterable[QueryEdge]) -> tuple[QueryEdge, ...]:
    """Return the edges without repetitions; an edge without a name repeats an equal edge with a name."""
    distinct = dict.fromkeys(edges)
    named = {replace(edge, name="") for edge in distinct if edge.name}
    return tuple(edge for edge in distinct if edge.name or edge not in named)
