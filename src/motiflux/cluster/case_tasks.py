"""The functions that run on workers for the rows of queries: cases, which are patterns with filters of rows.

A search of several cases has the root arcs of all: those of the first case, of the second one, and so on. So
the shares of all cases are handed out as those of one search, and a task may have root arcs of several.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Literal

import numpy as np

from motiflux import _native
from motiflux.api.listing import Listing
from motiflux.api.queries.rows import columns_of, filters_of
from motiflux.cluster.shares import Item, Share, roots
from motiflux.cluster.tasks import (
    BlockSource,
    Bounds,
    Done,
    Job,
    Watch,
    check_units,
    content_of,
    list_search,
    native_search,
    parquet_of_rows,
    write_file,
)
from motiflux.graph import Graph
from motiflux.pattern import Query
from motiflux.pattern.queries.shapes import Case, Shape
from motiflux.plan import Plan
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request
from motiflux.result.choices import ChoiceRows, Choices
from motiflux.result.images import Images, written
from motiflux.result.queries.columns import CaseColumns, QueryColumns
from motiflux.result.queries.sources import Filter, of_case
from motiflux.result.rows import RowSource
from motiflux.types import VERTEX_DTYPE, VertexArray

BLOCK_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class PlannedCase:
    """A case of one part, its plan, and the number of its root arcs."""

    shape: Shape
    case: Case
    plan: Plan
    units: int


@dataclass(frozen=True)
class QueryListing:
    """The cases of a query whose rows are listed, and the columns of files.

    Parameters
    ----------
    query
        The query, in which induced matching may be written out.
    """

    query: Query
    cases: tuple[PlannedCase, ...]
    edges: bool | Literal["all"]
    attributes: tuple[str, ...]
    names: bool

    @property
    def units(self) -> int:
        """Number of root arcs of all cases."""
        return sum(one.units for one in self.cases)

    @cached_property
    def firsts(self) -> list[int]:
        """The first root arc of each case, and the number of all."""
        return [0, *accumulate(one.units for one in self.cases)]

    def divided(self, share: Share) -> list[tuple[int, Item]]:
        """Return the items of a share by the case that each is of, as items of its own search."""
        found: list[tuple[int, Item]] = []
        for item in share:
            level, first, last, *_, before = item
            if level > 0:
                found.append((before[-1], (*item[:6], before[:-1])))
                continue
            while first < last:
                at = bisect_right(self.firsts, first) - 1
                begin, end = self.firsts[at], min(last, self.firsts[at + 1])
                found.append((at, roots(first - begin, end - begin)))
                first = end
        return found

    def undivided(self, items: Sequence[tuple[int, Item]]) -> Share:
        """Return items of cases as a share: items below given vertices have the case behind these."""
        return [
            roots(item[1] + self.firsts[at], item[2] + self.firsts[at])
            if item[0] == 0
            else (*item[:6], [*item[6], at])
            for at, item in items
        ]


class _Cases:
    """The cases of a query in a worker process.

    Parameters
    ----------
    request
        With the number of threads of a task.
    """

    def __init__(self, graph: Graph, listing: QueryListing, request: Request) -> None:
        self.graph, self.listing, self._request = graph, listing, request
        plain = Listing(graph, request, BLOCK_ROWS, listing.edges, (), listing.names)
        self.columns = [columns_of(plain, one.shape, one.case) for one in listing.cases]
        self.layout = layout_of(graph, listing, self.columns)
        self.width = width_of(self.columns)
        self._made: dict[int, tuple[_native.NativePlan, list[Filter]]] = {}

    def rows(self, share: Share, bounds: Bounds) -> tuple[list[VertexArray], Share, int]:
        """Return the rows of a share, the share that is left, and the number of rows before filters.

        It depends on the share only. Each case has all steps of the task: the next one begins only if the
        one before has ended.
        """
        assert bounds.rows is not None
        blocks: list[VertexArray] = []
        number, left = 0, self.listing.divided(share)
        while left and number < bounds.rows:
            at = left[0][0]
            own = [item for case, item in left if case == at]
            others = [one for one in left if one[0] != at]
            search, filters = self._search(at)
            order = self.listing.cases[at].plan.order
            found, rest, _ = list_search(search, order, own, replace(bounds, rows=bounds.rows - number))
            number += sum(map(len, found))
            blocks += self._told(at, found, filters)
            left = [*((at, item) for item in rest), *others]
            if rest:
                break
        return blocks, self.listing.undivided(left), number

    def _search(self, at: int) -> tuple[_native.NativePlan, list[Filter]]:
        """Return the search of a case, and what drops some of its rows."""
        if at not in self._made:
            one, columns = self.listing.cases[at], self.columns[at]
            search = native_search(self.graph, one.plan, self._request)
            check_units(search.units, one.units)
            never = Deadline.after(None)
            self._made[at] = search, filters_of(self.graph, self._request, one.shape, columns, never)
        return self._made[at]

    def _told(self, at: int, found: list[VertexArray], filters: list[Filter]) -> list[VertexArray]:
        """Return rows of a case, all images and choices of copies, as rows of the query."""
        images = Images(self.listing.cases[at].plan)
        source: RowSource = BlockSource([images.of(block) for block in found])
        columns = self.columns[at]
        if columns.chooses[0]:
            pattern = columns.case.pattern
            choices = Choices(self.graph, pattern, every=self.listing.edges == "all")
            source = ChoiceRows(source, choices, None, lambda: None)
        blocks = []
        while (block := source.next()) is not None:
            blocks.append(of_case(at, self.width, filters, written(block)))
        return [block for block in blocks if len(block)]


def layout_of(graph: Graph, listing: QueryListing, columns: Sequence[CaseColumns]) -> QueryColumns:
    """Return what turns rows into columns."""
    return QueryColumns(
        graph,
        listing.query,
        columns,
        edges=bool(listing.edges),
        attributes=listing.attributes,
        names=listing.names,
    )


def width_of(columns: Sequence[CaseColumns]) -> int:
    """Return the number of columns of rows: that of their case, and those of the widest case."""
    return 1 + max(sum(one.widths) for one in columns)


def _cases_of(job: Job) -> _Cases:
    graph, listing, request, made = content_of(job)
    if "cases" not in made:
        made["cases"] = _Cases(graph, listing, replace(request, threads=1))
    cases: _Cases = made["cases"]
    return cases


def rows_of_cases(job: Job, share: Share, bounds: Bounds) -> Done:
    """List the rows of a share of a query, in internal ids, [rows, columns] uint32."""
    watch, cases = Watch(), _cases_of(job)
    blocks, left, found = cases.rows(share, bounds)
    empty = np.empty((0, cases.width), VERTEX_DTYPE)
    return watch.done(np.concatenate([empty, *blocks]), left, rows=found)


def empty_file(graph: Graph, listing: QueryListing, request: Request) -> bytes:
    """Return a file without rows."""
    return parquet_of_rows(_Cases(graph, listing, request).layout, BlockSource([]))[1]


def write_cases(job: Job, share: Share, bounds: Bounds, folder: str, name: str, columns: object) -> Done:
    """Write the rows of a share of a query into a file, as `motiflux.cluster.tasks.write_share`."""
    watch, cases = Watch(), _cases_of(job)
    blocks, left, found = cases.rows(share, bounds)
    rows, data = parquet_of_rows(cases.layout, BlockSource(blocks))
    return watch.done(write_file(folder, name, rows, data), left, rows=found)
