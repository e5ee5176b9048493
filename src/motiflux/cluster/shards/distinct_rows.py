"""Listings of distinct rows of sharded graphs, which the driver keeps before it gives the first."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.api.matching import WithBar
from motiflux.cluster.begin import begun
from motiflux.cluster.shards.columns import ColumnsOfIds, IdColumns, ReturnedIds
from motiflux.cluster.shards.distinct import DistinctImages, PartsImages, distinct_images
from motiflux.errors import ArgumentError
from motiflux.pattern import Pattern, Query
from motiflux.pattern.projection import Projection
from motiflux.result.columns import RowColumns
from motiflux.result.matches import Matches
from motiflux.result.queries.columns import QueryColumns

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers


def refuse_columns(options: Mapping[str, Any]) -> None:
    """Refuse columns that rows of a sharded graph do not have."""
    for name in ("edges", "attributes"):
        if options.get(name):
            raise ArgumentError(
                name, "none for a sharded graph, whose rows are ids of vertices", options[name]
            )


class _KeptImages:
    """The rows of a search in blocks; it begins when the first are taken.

    Parameters
    ----------
    width
        The number of columns that blocks have.
    """

    def __init__(self, images: DistinctImages | PartsImages, batch_rows: int, width: int) -> None:
        self._images = images
        self._batch_rows, self._width = batch_rows, width
        self._rows: NDArray[np.int64] | None = None
        self._given = 0
        self.complete = False

    def next(self) -> Any:
        """Return the next block, or None at the end."""
        if self._rows is None:
            self._rows, self.complete = self._images.collected()
        block = self._rows[self._given : self._given + self._batch_rows, : self._width]
        self._given += len(block)
        return block if len(block) else None

    def close(self) -> None:
        """Drop the rows that were not taken."""
        if self._rows is None or self._given < len(self._rows):
            self.complete = False
        self._rows, self._given = np.empty((0, 1), np.int64), 0


def match_distinct_sharded(
    workers: Workers,
    graph: ShardedGraph,
    query: Pattern | Query,
    projection: Projection,
    options: Mapping[str, Any],
    chosen: Mapping[str, Any],
    kind: str | None,
) -> Matches:
    """Return the distinct rows of a pattern or a query; the search begins with the first rows.

    Parameters
    ----------
    kind
        See `distinct_images`.

    Raises
    ------
    ArgumentError, PatternError
        The query or an option takes more than a sharded graph has.
    """
    refuse_columns(options)
    with ExitStack() as bar:
        batch_rows, request, deadline = begun(options, chosen, bar)
        graph.served()  # refuses a closed one
        images = distinct_images(workers, graph, query, projection, request, deadline, "match", kind)
        planned, names = time.perf_counter(), bool(options.get("names", False))
        layout: RowColumns | QueryColumns
        if isinstance(query, Query):
            layout = ReturnedIds(query, projection.returned, names=names)
        else:
            layout = ColumnsOfIds(IdColumns(query, names, projection.returned))
        width = len(projection.returned) + isinstance(query, Query)
        source = _KeptImages(images, batch_rows, width)
        return Matches(
            WithBar(source, bar.pop_all()),
            layout,
            started=planned,
            plan_seconds=planned - deadline.started,
            engine="cluster",
            device=images.device,
            reason=images.reason,
            batch_rows=batch_rows,
            limit=request.limit,
        )
