"""The public call `match`: the rows of all embeddings."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from motiflux.api.listing import LateRows, Listing, Search
from motiflux.api.pattern_list import as_queries, naming_pattern
from motiflux.api.subject import GraphLike, data_graph
from motiflux.arguments import check_integer
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query, QueryLike
from motiflux.pattern.asked import Distinct, Having, asks_for_rows
from motiflux.pattern.projection import Projection
from motiflux.request.deadline import Deadline
from motiflux.request.progress import FoundSoFar, Progress, progress_callback
from motiflux.request.request import Request, make_request
from motiflux.result.columns import RowColumns
from motiflux.result.images import Block
from motiflux.result.matches import Matches
from motiflux.result.rows import RowSource, StoresRows
from motiflux.words import DeviceName, SemanticsName, SymmetryName

if TYPE_CHECKING:
    from motiflux.device.arrays import DeviceArray
    from motiflux.result.queries.columns import QueryColumns

DEFAULT_BATCH_ROWS = 65_536
MAX_BATCH_ROWS = 1 << 30


@overload
def match(  # type: ignore[overload-overlap]  # text is a sequence of texts too, but one pattern
    graph: GraphLike,
    pattern: QueryLike,
    *,
    semantics: SemanticsName = ...,
    symmetry: SymmetryName = ...,
    device: DeviceName = ...,
    devices: str | int | Sequence[int] | None = ...,
    engine: str = ...,
    limit: int | None = ...,
    timeout: float | None = ...,
    progress: Progress = ...,
    threads: int | None = ...,
    gpu_memory: int | str | None = ...,
    tuning: Mapping[str, str] | None = ...,
    batch_rows: int = ...,
    edges: bool | Literal["all"] = ...,
    attributes: Sequence[str] = ...,
    names: bool = ...,
    distinct: Distinct | None = ...,
    having: Having | None = ...,
) -> Matches: ...
@overload
def match(
    graph: GraphLike,
    pattern: Sequence[QueryLike],
    *,
    semantics: SemanticsName = ...,
    symmetry: SymmetryName = ...,
    device: DeviceName = ...,
    devices: str | int | Sequence[int] | None = ...,
    engine: str = ...,
    limit: int | None = ...,
    timeout: float | None = ...,
    progress: Progress = ...,
    threads: int | None = ...,
    gpu_memory: int | str | None = ...,
    tuning: Mapping[str, str] | None = ...,
    batch_rows: int = ...,
    edges: bool | Literal["all"] = ...,
    attributes: Sequence[str] = ...,
    names: bool = ...,
    distinct: Distinct | None = ...,
    having: Having | None = ...,
) -> list[Matches]: ...
def match(
    graph: GraphLike,
    pattern: QueryLike | Sequence[QueryLike],
    *,
    semantics: SemanticsName = "isomorphism",
    symmetry: SymmetryName = "embeddings",
    device: DeviceName = "auto",
    devices: str | int | Sequence[int] | None = None,
    engine: str = "auto",
    limit: int | None = None,
    timeout: float | None = None,
    progress: Progress = False,
    threads: int | None = None,
    gpu_memory: int | str | None = None,
    tuning: Mapping[str, str] | None = None,
    batch_rows: int = DEFAULT_BATCH_ROWS,
    edges: bool | Literal["all"] = False,
    attributes: Sequence[str] = (),
    names: bool = False,
    distinct: Distinct | None = None,
    having: Having | None = None,
) -> Matches | list[Matches]:
    """List the embeddings of `pattern` in `graph`, in batches, as they are found.

    Parameters
    ----------
    pattern
        As for `count`. Rows of a `Query` have a column of each vertex that its text writes, and columns of
        its paths: lists of all vertices from the start to the end. A vertex of an optional edge that is not
        there is missing.
    limit
        Maximum number of rows; with several patterns, of each.
    timeout
        Seconds of wall clock, including the time of the caller between batches.
    batch_rows
        Maximum number of rows per batch. Memory is bounded by a few batches per thread.
    edges
        Whether to return the witness of each query edge: columns ``e0``, ``e1``, ... in the order of the
        pattern's edges, with the number of the edge in `Graph.to_edges`. If there are several witnesses, it
        is the first: an arc in the direction of the query edge before a reverse arc, then the smallest label,
        then the first copy that satisfies the condition. With comparisons between attributes, the witnesses
        are the first choice of copies that satisfies them all. ``"all"``: a row for each choice of a copy of
        every query edge that satisfies all conditions and comparisons; `limit` is the number of these rows.
    attributes
        Attributes to add to tables, in columns such as ``v0.country`` or ``e1.amount``. A name selects the
        attribute of all vertices and edges that have it, ``"v0.country"`` or ``"a.country"`` of one vertex.
        ``"label"`` is the label, and ``"row"`` the position of the edge's copy in `Graph.edge_attributes`.
        Edge attributes need ``edges=True``.
    names
        Whether columns have the names of the pattern's vertices and edges instead of ``v0`` and ``e0``.
    distinct, having
        As for `count`: list the different rows of the images of these query vertices, whose columns are in
        the order given, and keep their names. The order of rows is unspecified.

    The other parameters and the errors are those of `count`.

    Returns
    -------
    Matches, or list of Matches
        Iterate over it for arrays [rows, k] of external ids; for queries with paths or optional edges, arrays
        [rows] with a field for each column. For a sequence of patterns, a list in its order; each search
        begins when its first rows are taken, and `timeout` is for each.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges([("ann", "bob"), ("bob", "cy")], directed=True)
    >>> mf.match(g, mf.Pattern.from_edges([(0, 1), (1, 2)])).to_numpy()
    array([['ann', 'bob', 'cy']], dtype='<U3')
    >>> paths = mf.Graph.from_edges([(1, 2), (2, 3)], directed=True)
    >>> mf.match(paths, "(a)-->(b)-->(c)", edges=True).to_numpy()
    array([[1, 2, 3, 0, 1]])
    >>> mf.match(paths, "(a)-[p*1..2]->(b) WHERE id(a) = 1", names=True).to_arrow().to_pylist()
    [{'a': 1, 'b': 2, 'p': [1, 2]}, {'a': 1, 'b': 3, 'p': [1, 2, 3]}]
    >>> [len(one.to_numpy()) for one in mf.match(paths, ["(a)-->(b)", "(a)-->(b)-->(c)"])]
    [2, 1]
    >>> mf.match(g, "(a)-->(b)-->(c)", distinct=["c", "a"], names=True).to_arrow().to_pylist()
    [{'c': 'cy', 'a': 'ann'}]
    """
    arguments = locals()
    queries: Sequence[Pattern | Query]
    projections: list[Projection | None] | None = None
    if distinct is not None or having is not None or asks_for_rows(pattern):
        from motiflux.api.projecting import projections_of  # only such calls need it

        queries, several, projections = projections_of(pattern, distinct, having)
    else:
        queries, several = as_queries(pattern)
    graph = data_graph(graph)
    block_rows = check_integer("batch_rows", batch_rows, 1, MAX_BATCH_ROWS)
    found = []
    for position, query in enumerate(queries):
        with naming_pattern(position if several else None):
            projection = None if projections is None else projections[position]
            found.append(_matches(graph, query, projection, arguments, block_rows, late=several))
    return found if several else found[0]


def _matches(
    graph: Graph,
    query: Pattern | Query,
    projection: Projection | None,
    arguments: Mapping[str, Any],
    block_rows: int,
    *,
    late: bool,
) -> Matches:
    """Return the rows of a pattern or query, whose search begins at once, or late: with the first rows."""
    bar = contextlib.ExitStack()
    callback = bar.enter_context(progress_callback(arguments["progress"], "matching"))
    with bar:
        options = {name: arguments[name] for name in _OPTIONS}
        request = make_request(**options, progress=None if callback is None else FoundSoFar(callback))
        chosen = {name: arguments[name] for name in ("edges", "attributes", "names")}
        if projection is not None:
            return _projected(graph, query, projection, request, block_rows, bar, late=late, **chosen)
        listing = Listing(graph, request, block_rows, **chosen)
        layout: RowColumns | QueryColumns
        if isinstance(query, Query):
            from motiflux.api.queries.rows import QuerySearch  # only queries need it

            listing.check()
            deadline = Deadline.after(request.timeout)
            many = QuerySearch(listing, query, deadline)
            layout, begin, ran = many.columns, many.begin, many.ran
            planned = time.perf_counter()
            source: RowSource = LateRows(begin) if late else begin()
        else:
            search = Search(listing, query)
            deadline, layout = search.deadline, listing.columns(query)
            planned = time.perf_counter()
            one = partial(search.begin, limit=request.limit)
            source = LateRows(one) if late else one()
            search.tell(planned)
            ran = search.ran
        closed = bar.pop_all()
        return Matches(
            _WithBarOnDevice(source, closed) if isinstance(source, StoresRows) else WithBar(source, closed),
            layout,
            started=planned,
            plan_seconds=planned - deadline.started,
            engine=ran.engine,
            device=ran.device,
            reason=ran.why,
            batch_rows=block_rows,
            limit=request.limit,
        )


_OPTIONS = (
    "semantics", "symmetry", "device", "devices", "engine", "limit", "timeout", "threads", "gpu_memory",
    "tuning",
)  # fmt: skip


def _projected(
    graph: Graph,
    query: Pattern | Query,
    projection: Projection,
    request: Request,
    block_rows: int,
    bar: contextlib.ExitStack,
    *,
    late: bool,
    edges: bool | str,
    attributes: Sequence[str],
    names: bool,
) -> Matches:
    """Return the rows of a projection."""
    from motiflux.api.projecting import lister_of, rows_projected

    if edges is not False:
        raise ArgumentError("edges", "False beside distinct rows, which have no edges", edges)
    deadline = Deadline.after(request.timeout)
    layout: RowColumns | QueryColumns
    source: RowSource
    if isinstance(query, Query):
        from motiflux.api.queries.distinct import DistinctRows, DistinctSearch  # only queries need them
        from motiflux.result.queries.columns import QueryColumns

        layout = QueryColumns(
            graph, query, (), attributes=attributes, names=names, returned=projection.returned
        )
        source = DistinctRows(DistinctSearch(graph, query, projection, request, deadline), block_rows)
    else:
        layout = RowColumns(
            graph,
            query,
            attributes=attributes,
            names=names,
            threads=request.threads,
            returned=projection.returned,
        )
        begin = partial(rows_projected, graph, query, projection, request, block_rows, deadline)
        source = LateRows(begin) if late else begin()
    planned, ran = time.perf_counter(), lister_of(request)
    return Matches(
        WithBar(source, bar.pop_all()),
        layout,
        started=planned,
        plan_seconds=planned - deadline.started,
        engine=ran.engine,
        device=ran.device,
        reason=ran.why,
        batch_rows=block_rows,
        limit=request.limit,
    )


class WithBar:
    """Rows whose end also ends the progress bar."""

    def __init__(self, source: RowSource, bar: contextlib.ExitStack) -> None:
        self._source = source
        self._bar = bar

    def next(self) -> Block | None:
        """Return the next block, or None at the end."""
        block = self._source.next()
        if block is None:
            self._bar.close()
        return block

    def close(self) -> None:
        """Stop the search."""
        self._source.close()
        self._bar.close()

    @property
    def complete(self) -> bool:
        """Whether nothing was cut."""
        return self._source.complete


class _WithBarOnDevice(WithBar, StoresRows):
    """The same where rows may stay on the device."""

    def __init__(self, source: StoresRows, bar: contextlib.ExitStack) -> None:
        super().__init__(source, bar)
        self._stored = source

    def widen(self, rows: int) -> None:
        self._stored.widen(rows)

    def next_on_device(self, ids: NDArray[np.int64]) -> DeviceArray | None:
        array = self._stored.next_on_device(ids)
        if array is None:
            self._bar.close()
        return array
