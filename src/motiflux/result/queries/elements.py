"""The vertices, paths and edges of a query that have columns."""

from __future__ import annotations

from dataclasses import dataclass

from motiflux.pattern import Query

EDGES = ".edges"
"""The end of the name of a path's column of edges."""


@dataclass(frozen=True, slots=True)
class QueryElement:
    """The vertex, edge or path of a column, by its position among those of the query."""

    plain: str
    name: str
    at: int
    of_vertices: bool
    is_path: bool
    may_miss: bool


def elements_of(query: Query, *, with_edges: bool) -> list[QueryElement]:
    """Return the columns of ids and edges: vertices, paths, then edges."""
    found = [
        QueryElement(
            f"v{at}", name, at, True, False, any(shape.vertices[at] is None for shape in query.shapes)
        )
        for at, name in enumerate(query.vertex_names)
    ]
    paths = [(f"p{at}", name or f"p{at}") for at, name in enumerate(query.path_names)]
    misses = [any(shape.paths[at] is None for shape in query.shapes) for at in range(len(paths))]
    found += [QueryElement(plain, name, at, True, True, misses[at]) for at, (plain, name) in enumerate(paths)]
    if with_edges:
        found += [
            QueryElement(
                f"e{at}",
                name or f"e{at}",
                at,
                False,
                False,
                any(shape.edges[at] is None for shape in query.shapes),
            )
            for at, name in enumerate(query.edge_names)
        ]
        found += [
            QueryElement(plain + EDGES, name + EDGES, at, False, True, misses[at])
            for at, (plain, name) in enumerate(paths)
        ]
    return found
