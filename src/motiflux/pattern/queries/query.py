"""A query: the patterns that a text with variable parts stands for, and the columns of its rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from motiflux.pattern.pattern import Pattern
from motiflux.pattern.queries.shapes import Shape
from motiflux.units import quantity


@dataclass(frozen=True, slots=True)
class Query:
    """The patterns that text with variable parts stands for.

    Make one with `Query.parse`. Calls that take a pattern's text make it themselves: `motiflux.count`,
    `motiflux.match`, `motiflux.estimate`, `motiflux.explain`. An embedding of a query is
    an embedding of one of its patterns.

    Parameters
    ----------
    text
        The text.
    shapes
        The query for each choice of lengths and of optional edges.
    vertex_names, edge_names, path_names
        The names of the vertices, edges and paths of the text; empty for edges and paths without one.
    name
        Shown by `motiflux.explain`.

    Examples
    --------
    >>> import motiflux as mf
    >>> rings = mf.Query.parse("(a)-[:wire*3..5]->(a)")
    >>> rings
    Query('(a)-[:wire*3..5]->(a)', 3 patterns)
    >>> [pattern.num_vertices for pattern in rings.patterns]
    [3, 4, 5]
    """

    text: str
    shapes: tuple[Shape, ...] = field(repr=False)
    vertex_names: tuple[str, ...]
    edge_names: tuple[str, ...]
    path_names: tuple[str, ...]
    name: str = ""

    @classmethod
    def parse(cls, text: str, *, name: str = "") -> Query:
        """Make a query from text; see the guide on patterns.

        Raises
        ------
        PatternSyntaxError
            With a caret under the error, and `line` and `column`.
        """
        from motiflux.pattern.queries.parse import parse_query

        return parse_query(text, name, cls)

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """All patterns, in the order of lengths."""
        return tuple(part.pattern for shape in self.shapes for case in shape.cases for part in case.parts)

    @property
    def names_all(self) -> bool:
        """Whether all vertices of each of its shapes have names, and no shape is without one."""
        return all(
            None not in shape.vertices and shape.skeleton.num_vertices == len(shape.vertices)
            for shape in self.shapes
        )

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        shown = f"{self.name!r}" if self.name else repr(self.text)
        return f"Query({shown}, {quantity(len(self.patterns), 'pattern')})"
