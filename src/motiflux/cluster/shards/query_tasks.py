"""The functions that run on workers for the rows of queries: shares of several patterns, one after another.

A search of n patterns has n times the entries of the graph: those of the first pattern, of the second one,
and so on. So the shares of all patterns are handed out as those of one search, and a task may have entries of
several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.folder import Folder
from motiflux.cluster.shards.columns import QueryIds, parquet_of_ids
from motiflux.cluster.shards.image_tables import Images, ImageTable
from motiflux.cluster.shards.tasks import ShardJob, lister_of
from motiflux.cluster.shares import Item, Share, roots
from motiflux.cluster.tasks import Bounds, Done, Watch
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import Permutation
from motiflux.plan.passes.symmetry import Restriction
from motiflux.result.queries.sources import come_first

IdRows = NDArray[np.int64]


def numbered(found: IdRows, number: int, width: int) -> IdRows:
    """Return rows of the pattern of a number as rows of its query, which have so many columns."""
    whole = np.zeros((len(found), width), np.int64)
    whole[:, 0] = number
    whole[:, 1 : 1 + found.shape[1]] = found
    return whole


@dataclass(frozen=True, slots=True)
class PatternRows:
    """The rows of one of the patterns of a query.

    Parameters
    ----------
    job
        Its search.
    number
        Its number in the rows of the query.
    images
        Of rows that these permutations turn into each other, only the first one is a row of the query; none:
        all rows are.
    """

    job: ShardJob
    number: int
    images: tuple[Permutation, ...] = ()

    def rows(self, found: IdRows, width: int) -> IdRows:
        """Return rows of the pattern as rows of the query, which have so many columns."""
        if len(self.images) > 1:
            found = found[come_first(self.images, found)]
        return numbered(found, self.number, width)


@dataclass(frozen=True, slots=True)
class QueryRows:
    """The rows of a query: of each of its patterns; `entries` is the number of entries of the graph."""

    patterns: tuple[PatternRows, ...]
    entries: int
    width: int

    def rows(self, share: Share, bounds: Bounds, kind: str | None) -> tuple[list[IdRows], Share, int]:
        """Return rows of a share, the share that is left, and the number of rows that were found.

        Some that were found may be left out; see `PatternRows.images` and `RowLister.rows`.
        """
        assert bounds.rows is not None
        assert bounds.work is not None
        blocks: list[IdRows] = []
        number, work, left = 0, bounds.work, self._divided(share)
        while left and number < bounds.rows and work > 0:
            at = left[0][0]
            own = [item for pattern, item in left if pattern == at]
            others = [one for one in left if one[0] != at]
            of_pattern = self.patterns[at]
            lister = lister_of(of_pattern.job, kind)
            gathering = lister.search.gathering
            read = gathering.read
            of_bounds = replace(bounds, rows=bounds.rows - number, work=work)
            found, rest, found_here = lister.rows(own, of_bounds)
            number, work = number + found_here, work - (gathering.read - read)
            blocks += [of_pattern.rows(one, self.width) for one in found]
            left = [*((at, item) for item in rest), *others]
            if rest:
                break
        return blocks, [_moved(item, at * self.entries) for at, item in left], number

    def _divided(self, share: Share) -> list[tuple[int, Item]]:
        """Return the items of a share by the pattern that each is of, as items of its own search."""
        found = []
        for item in share:
            _, first, last, *_ = item
            while first < last:
                at = first // self.entries
                end = min(last, (at + 1) * self.entries)
                whole = (first, end) == (item[1], item[2])
                found.append((at, _moved(item if whole else roots(first, end), -at * self.entries)))
                first = end
        return found


def _moved(item: Item, by: int) -> Item:
    level, first, last, arcs, first_arc, last_arc, before = item
    return level, first + by, last + by, arcs, first_arc, last_arc, before


def width_of(patterns: Sequence[Pattern]) -> int:
    """Return the number of columns of rows: that of their pattern, and the vertices of the largest one."""
    return 1 + max((one.num_vertices for one in patterns), default=0)


def rows_of_query(rows: QueryRows, share: Share, bounds: Bounds, kind: str | None = None) -> Done:
    """List the rows of a share of a query in ids of the graph, [rows, columns] int64."""
    watch = Watch()
    blocks, left, found = rows.rows(share, bounds, kind)
    return watch.done(np.concatenate([np.empty((0, rows.width), np.int64), *blocks]), left, rows=found)


def write_query_rows(
    rows: QueryRows,
    share: Share,
    bounds: Bounds,
    folder: str,
    name: str,
    columns: QueryIds,
    kind: str | None = None,
) -> Done:
    """Write the rows of a share of a query into a file, as `motiflux.cluster.tasks.write_share`."""
    watch = Watch()
    blocks, left, found = rows.rows(share, bounds, kind)
    number, data = parquet_of_ids(columns, blocks)
    if number > 0:
        Folder(folder).write(name, data)
    return watch.done((number, len(data) if number > 0 else 0), left, rows=found)


@dataclass(frozen=True, slots=True)
class ImageRows:
    """Tables of the different images of vertices in the rows of a query.

    Parameters
    ----------
    vertices
        For each pattern, by its number in the rows, its vertices by the position in the query; None where
        one is missing.
    ascending
        Vertices (u, v): of rows that automorphisms turn into each other, only that in which the id of u is
        smaller than that of v is kept.
    """

    rows: QueryRows
    tables: tuple[ImageTable, ...]
    vertices: tuple[tuple[int | None, ...], ...]
    ascending: tuple[Restriction, ...]

    def distinct(self, blocks: Sequence[IdRows]) -> list[Images]:
        """Return the content of each table for all rows of blocks."""
        some = [(self._kept(block[:, 1:]), self.vertices[int(block[0, 0])]) for block in blocks if len(block)]
        return [table.joined([table.images(*one) for one in some]) for table in self.tables]

    def _kept(self, rows: IdRows) -> IdRows:
        for first, second in self.ascending:
            rows = rows[rows[:, first] < rows[:, second]]
        return rows


def distinct_of_query(images: ImageRows, share: Share, bounds: Bounds, kind: str | None = None) -> Done:
    """Return tables of the images of vertices in the rows of a share."""
    watch = Watch()
    blocks, left, found = images.rows.rows(share, bounds, kind)
    return watch.done(images.distinct(blocks), left, rows=found)
