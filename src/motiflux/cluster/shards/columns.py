"""Columns of rows that have ids already, as those of sharded graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.tasks import BlockSource, parquet_of_rows
from motiflux.errors import MotifluxError
from motiflux.graph import Column, Graph
from motiflux.pattern import Pattern, Query
from motiflux.pattern.queries.shapes import Case, Part, Shape
from motiflux.result.columns import RowColumns
from motiflux.result.queries.columns import CaseColumns, QueryColumns
from motiflux.result.queries.values import Values


@dataclass(frozen=True, slots=True)
class IdColumns:
    """The pattern of rows, whether columns have the names of its vertices, and whose columns there are.

    Parameters
    ----------
    returned
        The query vertices of distinct rows; None: all.
    """

    pattern: Pattern
    names: bool
    returned: tuple[int, ...] | None = None


class ColumnsOfIds(RowColumns):
    """Columns of blocks of ids: vertices alone."""

    def __init__(self, columns: IdColumns) -> None:
        super().__init__(no_graph(), columns.pattern, names=columns.names, returned=columns.returned)

    def parts(self, block: Any) -> Iterator[tuple[RowColumns, Any]]:
        """Yield the rows and the columns of their pattern."""
        yield self, block

    def array(self, block: Any) -> NDArray[Any]:
        """Return the ids."""
        return np.ascontiguousarray(block)

    def table(self, block: Any) -> list[Column]:
        """Return the columns of the batch."""
        return [Column(np.ascontiguousarray(block[:, at])) for at in range(len(self.fields))]

    def witnessed(self, block: Any) -> NoReturn:
        """Refuse edges, which are not numbered in a sharded graph."""
        raise MotifluxError("graphs of matches: expected a graph that fits a node, found a sharded graph")


@dataclass(frozen=True, slots=True, repr=False)
class QueryIds:
    """The query of rows, and whether columns have the names of its vertices.

    Rows have the number of their case, then ids of the vertices of its parts, up to the widest case.

    Parameters
    ----------
    cases
        The cases that are listed, each with its shape.
    """

    query: Query
    names: bool
    cases: tuple[tuple[Shape, Case], ...]

    @classmethod
    def of_patterns(
        cls, query: Query, names: bool, patterns: Sequence[Pattern], shapes: Sequence[Shape]
    ) -> QueryIds:
        """Return the columns of patterns, each of which has the vertices of its shape."""
        cases = [Case((Part(one, tuple(range(one.num_vertices))),), ()) for one in patterns]
        return cls(query, names, tuple(zip(shapes, cases, strict=True)))

    @property
    def pattern(self) -> Query:
        """The query."""
        return self.query

    def __repr__(self) -> str:
        return f"QueryIds({self.query.text!r}, {self.names})"


def ids_of_case(shape: Shape, case: Case) -> CaseColumns:
    """Return the columns of the rows of a case: ids of the vertices of its parts."""
    parts = tuple(ColumnsOfIds(IdColumns(part.pattern, names=False)) for part in case.parts)
    return CaseColumns(shape, case, parts, (False,) * len(parts))


class QueryColumnsOfIds(QueryColumns):
    """Columns of rows of a query that have ids already."""

    def __init__(self, columns: QueryIds) -> None:
        cases = [ids_of_case(shape, case) for shape, case in columns.cases]
        super().__init__(no_graph(), columns.query, cases, names=columns.names)

    def _named(self, vertices: Any) -> NDArray[Any]:
        return np.ascontiguousarray(vertices, np.int64)


class ReturnedIds(QueryColumns):
    """Columns of distinct rows of a query that have ids already.

    Rows have the ids, then a number whose bits from 1 on say which are missing.
    """

    def __init__(self, query: Query, returned: Sequence[int], *, names: bool) -> None:
        super().__init__(no_graph(), query, (), names=names, returned=returned)

    def _values(self, block: Any) -> list[Values]:
        found = []
        for at in range(len(self.columns)):
            missing = (block[:, -1] >> at + 1 & 1).astype(bool)
            found.append(Values(block[:, at], None, missing if missing.any() else None))
        return found

    def _named(self, vertices: Any) -> NDArray[Any]:
        return np.ascontiguousarray(vertices, np.int64)


@cache
def no_graph() -> Graph:
    """Return a graph without vertices, whose ids would be integers."""
    return Graph.from_edges(np.empty((0, 2), np.int64), directed=False)


def layout_of(columns: IdColumns | QueryIds) -> RowColumns | QueryColumns:
    """Return what turns rows into columns."""
    return QueryColumnsOfIds(columns) if isinstance(columns, QueryIds) else ColumnsOfIds(columns)


def parquet_of_ids(columns: IdColumns | QueryIds, blocks: Sequence[Any]) -> tuple[int, bytes]:
    """Return the number of rows of blocks, and the rows as a Parquet file."""
    return parquet_of_rows(layout_of(columns), BlockSource(blocks))
