"""Columns of rows that have ids already, as those of sharded graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.tasks import BlockSource, parquet_of_rows
from motiflux.errors import MotifluxError
from motiflux.graph import Column, Graph
from motiflux.pattern import Pattern
from motiflux.result.columns import RowColumns


@dataclass(frozen=True, slots=True)
class IdColumns:
    """The pattern of rows, and whether columns have the names of its vertices."""

    pattern: Pattern
    names: bool


class ColumnsOfIds(RowColumns):
    """Columns of blocks of ids: vertices alone."""

    def __init__(self, columns: IdColumns) -> None:
        nothing = Graph.from_edges(np.empty((0, 2), np.int64), directed=False)
        super().__init__(nothing, columns.pattern, names=columns.names)

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


def parquet_of_ids(columns: IdColumns, blocks: Sequence[Any]) -> tuple[int, bytes]:
    """Return the number of rows of blocks, and the rows as a Parquet file."""
    return parquet_of_rows(ColumnsOfIds(columns), BlockSource(blocks))
