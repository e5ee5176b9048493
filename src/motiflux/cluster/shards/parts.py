"""Rows of disconnected patterns of sharded graphs: the driver puts those of the parts beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from motiflux.api.queries.checks import check_apart, check_symmetry_of
from motiflux.api.queries.related_parts import NotSeparateError, coinciding, joins, same_rows
from motiflux.api.queries.rows import different, kept, rivals_of
from motiflux.cluster.shards.columns import ids_of_case
from motiflux.cluster.shards.joint_parts import JointParts
from motiflux.cluster.shards.refusals import refusal
from motiflux.cluster.shards.row_tasks import check_number, listed
from motiflux.errors import ClusterError
from motiflux.pattern import Pattern, Query
from motiflux.pattern.queries.shapes import Absent, Case, Shape
from motiflux.pattern.queries.symmetry import distinct_shapes, images_of
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.progress import of_equal_parts
from motiflux.request.reports import ProgressCallback, ProgressReport
from motiflux.request.request import Request
from motiflux.result.queries.sources import (
    BesideRows,
    ChangedRows,
    Filter,
    RowsInTurn,
    all_rows,
    come_first,
    of_case,
)
from motiflux.result.rows import NoRows, RowSource
from motiflux.types import Semantics, Symmetry, VertexArray

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers

IdRows = NDArray[np.int64]

_COPIES = 2
"""Copies of the rows of a part while their blocks are joined."""
_COPIES_OF_PAIRS = 4
"""The same of pairs of vertices, which are sorted, too."""

_BYTES_OF_VALUE = 8
"""Bytes of the value of a row of compared parts; rows are sorted by each choice of vertices, of 4 bytes."""


def has_parts(query: Query) -> bool:
    """Return whether a query has disconnected patterns."""
    return not all(shape.is_connected for shape in query.shapes)


@dataclass(frozen=True, slots=True)
class Searching:
    """What the searches of all parts share.

    Parameters
    ----------
    memory
        Bytes that rows may take where the call is made.
    batch_rows
        Maximum number of rows of a block of a part.
    kind
        See `ShardedRows`.
    call
        The call that lists, for errors.
    """

    workers: Workers
    graph: ShardedGraph
    request: Request
    deadline: Deadline
    memory: int
    batch_rows: int
    kind: str | None = None
    call: str = "match"


class PartsRows:
    """The rows of shapes of several parts, planned; the search begins when the first are taken.

    Parameters
    ----------
    asked
        The query, for errors.

    Attributes
    ----------
    listed
        The cases that are listed, each with its shape, by the number with which its rows begin.
    cases
        The columns of each.
    reason
        Why this engine, in words.
    complete
        Whether nothing was cut.

    Raises
    ------
    ArgumentError, PatternError
        The query or an option takes more than a sharded graph has.
    """

    def __init__(self, searching: Searching, shapes: Sequence[Shape], asked: object) -> None:
        request, directed = searching.request, searching.graph.directed
        self._request, self._deadline, self._given = request, searching.deadline, 0
        if request.symmetry is Symmetry.SUBGRAPHS:
            shapes = distinct_shapes(shapes, directed=directed)
        for shape in shapes:
            check_symmetry_of(shape, request)
            check_apart(shape, request)
            if shape.absent:
                raise refusal(shape, asked, request)
        self.listed = [(shape, case) for shape in shapes for case in shape.cases if case.without is not None]
        searches = sum(len(case.parts) + len(case.apart) for _, case in self.listed)
        check_number(searches, asked)
        self.cases = [ids_of_case(shape, case) for shape, case in self.listed]
        width = 1 + max(sum(one.widths) for one in self.cases)
        # The last part is that of the rows at the end: what tells that all are done is told there alone.
        *reports, self._last = map(self._telling, of_equal_parts(request.progress, searches + 1))
        of_search = iter(reports)
        self._planned = planned = [
            _CaseRows(searching, shape, case, number, width, of_search)
            for number, (shape, case) in enumerate(self.listed)
        ]
        reasons = dict.fromkeys(reason for one in planned for reason in one.reasons)
        self.reason = f"{'; '.join(reasons)}; rows of all parts but the first are held where the call is made"
        self._rows = RowsInTurn([one.begin for one in planned], request.limit)

    def counted(self) -> tuple[int, bool]:
        """Return the number of rows, and whether it is exact; with more than the limit, counting may stop.

        Parts that one comparison joins are counted without listing all combinations, as in whole graphs.

        Raises
        ------
        ClusterError
            The rows of a part do not fit into the memory of the graph.
        """
        if len(self._planned) == 1 and (found := self._planned[0].counted(self._request.limit)) is not None:
            return found
        try:
            while self.next() is not None:
                pass
        finally:
            self.close()
        return self._given, self.complete

    def _telling(self, report: ProgressCallback | None) -> ProgressCallback | None:
        """Return a callback that tells the number of rows that were given."""
        if report is None:
            return None
        return lambda part: report(replace(part, found=self._given))

    def next(self) -> Any:
        """Return the next block of ids, with the number of the case before them, or None at the end.

        Raises
        ------
        ClusterError
            The rows of a part do not fit into the memory of the graph.
        """
        block = self._rows.next()
        if block is not None:
            self._given += len(block)
        elif self.complete and self._last is not None:
            self._last(ProgressReport(1, 1, self._given, self._deadline.elapsed()))
        return block

    def close(self) -> None:
        """Stop the search."""
        self._rows.close()

    @property
    def complete(self) -> bool:
        """Whether nothing was cut."""
        return self._rows.complete


class _CaseRows:
    """The search for the rows of one case.

    Parameters
    ----------
    number, width
        The number of the case, and the columns of rows of all cases.
    reports
        Callbacks for its searches, and for those of later cases.
    """

    def __init__(
        self,
        searching: Searching,
        shape: Shape,
        case: Case,
        number: int,
        width: int,
        reports: Iterator[ProgressCallback | None],
    ) -> None:
        self._searching, self._shape, self._case = searching, shape, case
        self._number, self._width = number, width
        self._memory = searching.memory
        self._joint: JointParts | None = None
        self._in_time = True
        if case.joint is not None:
            self._memory //= 2
            with suppress(OutOfTimeError):
                self._joint = JointParts(
                    searching.graph,
                    case,
                    self._memory,
                    searching.deadline,
                    homomorphic=searching.request.semantics is Semantics.HOMOMORPHISM,
                )
            self._in_time = self._joint is not None
        parts = [(part.pattern, case.joint is not None) for part in case.parts]
        apart = [(_with_ends(absent, case), False) for absent in case.apart]
        behind = [next(reports) for _ in (*parts[1:], *apart)]
        self._searches = [
            _PatternRows(searching, pattern, report, numbers=numbers)
            for (pattern, numbers), report in zip((*parts, *apart), (next(reports), *behind), strict=True)
        ]
        self.reasons = [one.reason for one in self._searches]

    def begin(self, limit: int | None) -> RowSource:
        """Begin the search; its rows are not limited, as they are filtered."""
        del limit
        parts = len(self._case.parts)
        held: list[IdRows] = []
        room = self._memory
        if not self._in_time:
            return NoRows(complete=False)
        for one in self._searches[1:]:
            is_part = len(held) < parts - 1
            rows = one.held(room, _COPIES if is_part else _COPIES_OF_PAIRS)
            if rows is None:
                return NoRows(complete=False)
            if is_part and not len(rows):
                return NoRows(complete=True)
            room -= rows.nbytes
            held.append(rows)
        pairs = [
            JoinedPairs(absent.ends, rows)
            for absent, rows in zip(self._case.apart, held[parts - 1 :], strict=True)
        ]
        try:
            source = self._beside(held[: parts - 1])
        except OutOfTimeError:
            return NoRows(complete=False)
        filters = self._filters(pairs)
        return ChangedRows(source, partial(of_case, self._number, self._width, filters, dtype=np.int64))

    def counted(self, limit: int | None) -> tuple[int, bool] | None:
        """Return the number of rows, and whether it is exact; None to list them.

        With more than `limit`, counting may stop.
        """
        case, joint = self._case, self._joint
        if joint is None or case.apart or not joins(case):
            return None
        first = len(case.parts[0].vertices)
        homomorphic = self._searching.request.semantics is Semantics.HOMOMORPHISM
        same = coinciding([] if homomorphic else [(x, y - first) for x, y in rivals_of(case)])
        if same is None:
            return None
        held = self._searches[1].held(self._memory, _COPIES)
        if held is None:
            return 0, False
        orders = {tuple(column for _, column in one) for one in same}
        each = sum(_BYTES_OF_VALUE + 4 * len(one) for one in orders)
        if len(held) * each > self._memory - held.nbytes:
            return None
        try:
            source = None if same_rows(case) else self._searches[0].begin()
            return joint.related(same).count(source, cast("VertexArray", held), limit)
        except NotSeparateError:
            return None

    def _beside(self, held: Sequence[IdRows]) -> RowSource:
        """Return the rows of all parts beside each other that are embeddings.

        Raises
        ------
        OutOfTimeError
            Time was up before there was what comparisons look at.
        """
        searching, case, joint = self._searching, self._case, self._joint
        if joint is not None:
            numbered = [joint.numbered(1 + at, rows) for at, rows in enumerate(held)]
            return joint.rows(self._searches[0].begin(), held, numbered)
        source = BesideRows(self._searches[0].begin(), held, searching.deadline.check)
        if searching.request.semantics is Semantics.HOMOMORPHISM:
            return source
        return ChangedRows(source, partial(different, rivals_of(case)))

    def _filters(self, pairs: Sequence[JoinedPairs]) -> list[Filter]:
        columns = ids_of_case(self._shape, self._case)
        filters: list[Filter] = [partial(kept, columns, one.absent) for one in pairs]
        if self._searching.request.symmetry is Symmetry.SUBGRAPHS:
            images = images_of(self._shape.skeleton, directed=self._searching.graph.directed)
            if len(images) > 1:
                filters.append(partial(kept, columns, partial(come_first, images)))
        return filters


def _with_ends(absent: Absent, case: Case) -> Pattern:
    """Return a negated edge between parts as a pattern, whose ends have what the query vertices ask for."""
    vertices = {
        vertex: one
        for part in case.parts
        for vertex, one in zip(part.vertices, part.pattern.vertices, strict=True)
    }
    ends = tuple(vertices[end] for end in absent.ends if end is not None)
    return replace(absent.edge, vertices=ends)


class JoinedPairs:
    """Tells which rows have an edge between two vertices.

    Parameters
    ----------
    ends
        The two vertices.
    pairs
        The ids of all vertices that have the edge, [pairs, 2].
    """

    def __init__(self, ends: Sequence[int | None], pairs: IdRows) -> None:
        self._ends = [end for end in ends if end is not None]
        self._ids = np.unique(pairs)
        self._keys = np.unique(self._numbers(pairs))

    def _numbers(self, pairs: IdRows) -> NDArray[np.uint64]:
        """Return a number for each pair of ids that some pairs have."""
        places = np.searchsorted(self._ids, pairs).astype(np.uint64)
        return places[:, 0] * np.uint64(len(self._ids)) + places[:, 1]

    def absent(self, vertices: IdRows) -> NDArray[np.bool_]:
        """Return where there is no such edge: bool [rows], of the vertices of the shape [rows, vertices]."""
        found = np.zeros(len(vertices), dtype=bool)
        pairs = vertices[:, self._ends]
        known = np.flatnonzero(_among(self._ids, pairs).all(axis=1))
        found[known] = _among(self._keys, self._numbers(pairs[known]))
        return ~found


def _among(ascending: NDArray[Any], values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are among those that ascend."""
    if not len(ascending):
        return np.zeros(values.shape, dtype=bool)
    places = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.asarray(ascending[places] == values)


class _PatternRows:
    """The rows of a part, or of a negated edge, planned.

    Parameters
    ----------
    numbers
        Whether they have numbers of the graph's vertices, not ids.
    """

    def __init__(
        self, searching: Searching, pattern: Pattern, report: ProgressCallback | None, *, numbers: bool
    ) -> None:
        self._searching, self._pattern = searching, pattern
        self._request = replace(searching.request, symmetry=Symmetry.EMBEDDINGS, limit=None, progress=report)
        given = searching.workers, searching.graph, pattern, self._request, searching.deadline
        self._listed = listed(*given, names=False, kind=searching.kind, numbers=numbers)
        self.reason = self._listed.reason

    def begin(self) -> RowSource:
        """Begin the search."""
        searching = self._searching
        return self._listed.begin(searching.workers, self._request, searching.batch_rows, searching.deadline)

    def held(self, room: int, copies: int) -> IdRows | None:
        """Return all rows; None if time was up.

        Parameters
        ----------
        room
            Bytes that they and copies of them may take.

        Raises
        ------
        ClusterError
            They take more.
        """
        most = room // (8 * self._pattern.num_vertices * copies)
        rows, complete = all_rows(self.begin(), most)
        if rows is None:
            raise ClusterError(
                f"{self._searching.call}: expected at most {most:,} rows of {self._pattern}, beside another "
                "part of a disconnected pattern, which fit into the memory of the graph, found more: open it "
                "with more memory=, write the part with the most rows first, or list the parts one by one"
            )
        return (
            rows.reshape(len(rows), self._pattern.num_vertices).astype(np.int64, copy=False)
            if complete
            else None
        )
