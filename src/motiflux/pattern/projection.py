"""Projections of matches: the query vertices that rows have, and thresholds on the images of others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from motiflux.conditions import Operator
from motiflux.pattern.query_graph import QueryGraph
from motiflux.pattern.text import quoted


@dataclass(frozen=True, slots=True)
class Threshold:
    """The number of different images of query vertices in the matches of a row, compared with a number.

    Parameters
    ----------
    counted
        Positions of query vertices that rows do not have, ascending; the images of several are counted
        together.
    operator
        One of ``=``, ``<>``, ``<``, ``<=``, ``>`` and ``>=``.
    number
        0 or more.
    """

    counted: tuple[int, ...]
    operator: Operator
    number: int


@dataclass(frozen=True, slots=True)
class Projection:
    """Rows of the images of some query vertices, each once.

    Parameters
    ----------
    returned
        Positions of query vertices, in the order of columns. None if only the existence of a match is asked
        for.
    thresholds
        Conditions on each row, all of which hold.
    """

    returned: tuple[int, ...]
    thresholds: tuple[Threshold, ...] = ()

    @property
    def counted(self) -> tuple[int, ...]:
        """The query vertices whose images are counted, ascending."""
        return tuple(sorted({vertex for one in self.thresholds for vertex in one.counted}))

    @property
    def lasting(self) -> bool:
        """Whether a row that satisfies all thresholds will do so with more images, too."""
        return all(one.operator in (Operator.AT_LEAST, Operator.GREATER) for one in self.thresholds)

    def colors(self, size: int) -> list[Hashable]:
        """Return what automorphisms of rows keep, for each of `size` query vertices.

        They map returned vertices to returned ones, and vertices that are counted alone to vertices with
        equal thresholds. Vertices that are counted together stay together.
        """
        colors: list[list[Hashable]] = [["returned"] if v in self.returned else [] for v in range(size)]
        for number, one in enumerate(self.thresholds):
            together = number if len(one.counted) > 1 else -1
            for vertex in one.counted:
                colors[vertex].append((one.operator.value, one.number, together))
        return [tuple(sorted(map(str, one))) for one in colors]


def projection_text(pattern: QueryGraph, projection: Projection) -> str:
    """Return a projection as the text that stands behind a pattern.

    Examples
    --------
    >>> from motiflux import Pattern
    >>> pattern = Pattern.parse("(a)-->(b)-->(c)")
    >>> projection_text(pattern, Projection((2, 0), (Threshold((1,), Operator.GREATER, 4),)))
    'RETURN DISTINCT c, a HAVING count(b) > 4'
    """
    return rows_text([vertex.name for vertex in pattern.vertices], projection)


def rows_text(vertex_names: Sequence[str], projection: Projection) -> str:
    """Return the same for vertices of these names."""
    names = [quoted(name) for name in vertex_names]
    text = "RETURN DISTINCT " + ", ".join(names[vertex] for vertex in projection.returned)
    conditions = [threshold_text(names, one) for one in projection.thresholds]
    return text + (" HAVING " + " AND ".join(conditions) if conditions else "")


def threshold_text(names: Sequence[str], threshold: Threshold) -> str:
    """Return a threshold as text; `names` are those of the query vertices."""
    counted = ", ".join(names[vertex] for vertex in threshold.counted)
    return f"count({counted}) {threshold.operator.value} {threshold.number}"
