"""Listings of sharded graphs, planned: of a pattern, or of all patterns of a query together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from motiflux.api.queries.checks import check_symmetry_of
from motiflux.api.queries.induced import without_induced
from motiflux.cluster.row_tasks import images_of_plan
from motiflux.cluster.rows import ClusterRows
from motiflux.cluster.shards.columns import IdColumns, QueryIds, layout_of, parquet_of_ids
from motiflux.cluster.shards.counting import job_of
from motiflux.cluster.shards.planning import plan_search
from motiflux.cluster.shards.query_tasks import (
    PatternRows,
    QueryRows,
    rows_of_query,
    width_of,
    write_query_rows,
)
from motiflux.cluster.shards.reasons import reason_of
from motiflux.cluster.shards.refusals import has_within, refusal
from motiflux.cluster.shards.search import Ranged
from motiflux.cluster.shards.store import digest_of_shards
from motiflux.cluster.shards.tasks import numbers_of_range, rows_of_range, write_range
from motiflux.cluster.shares import Share
from motiflux.cluster.tasks import Bounds, Done
from motiflux.errors import ArgumentError
from motiflux.pattern import Pattern, Query
from motiflux.pattern.automorphism import Permutation
from motiflux.pattern.queries.disjoint import alternatives_with_lone_edges, disjoint_patterns
from motiflux.pattern.queries.shapes import Shape
from motiflux.pattern.queries.symmetry import distinct_shapes, images_of
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request
from motiflux.result.columns import RowColumns
from motiflux.result.queries.columns import QueryColumns
from motiflux.result.rows import NoRows, RowSource
from motiflux.types import Semantics, Symmetry

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers

MAX_PATTERNS = 128
"""Most patterns of a query whose rows are listed."""


class ShardedRows:
    """Tasks of a listing of a sharded graph; see `motiflux.cluster.row_tasks.RowTasks`.

    Parameters
    ----------
    columns
        The pattern or query, and the columns of its rows.
    units
        Number of entries whose rows tasks list.
    plan
        What the rows of a share depend on, beside the graph.
    make_job
        Puts what is listed into the object store, and returns what tasks take.
    functions
        The functions of tasks that return rows, and that write them into a file.
    images
        The most rows that one found stands for.
    kind
        The kind of device of which each task has one; None: tasks list on CPUs.
    """

    def __init__(
        self,
        workers: Workers,
        graph: ShardedGraph,
        columns: IdColumns | QueryIds,
        units: int,
        plan: object,
        make_job: Callable[[], Any],
        functions: tuple[Callable[..., Done], Callable[..., Done]],
        images: int,
        kind: str | None = None,
    ) -> None:
        self._workers, self._graph, self._kind = workers, graph, kind
        self.columns, self.units, self.plan, self.images = columns, units, plan, images
        self._make_job, self._functions = make_job, functions
        self.slots = workers.slots_on(kind)

    @cached_property
    def _job(self) -> Any:
        return self._make_job()

    def rows(self, name: str, share: Share, bounds: Bounds) -> Any:
        """Start a task that returns rows."""
        return self._submit(self._functions[0], name, share, bounds, self._kind)

    def file(self, name: str, share: Share, bounds: Bounds, folder: str, file: str) -> Any:
        """Start a task that writes rows into a file."""
        return self._submit(self._functions[1], name, share, bounds, folder, file, self.columns, self._kind)

    def _submit(self, function: Callable[..., Done], name: str, *given: Any) -> Any:
        on_gpu = self._kind is not None
        return self._workers.submit(
            function, name, self._job, *given, cpus=None if on_gpu else 1, on_gpu=on_gpu
        )

    def renew(self) -> None:
        """Share the plan again; servers start again by themselves."""
        self.__dict__.pop("_job", None)

    def digest(self) -> str:
        """Return a digest of the graph, the memory and the device: the rows of a share depend on them."""
        kind = "" if self._kind is None else f", on {self._kind}"
        return f"{digest_of_shards(self._graph.folder)}, memory {self._graph.memory}{kind}"

    def empty_file(self) -> bytes:
        """Return a file without rows."""
        return parquet_of_ids(self.columns, [])[1]


@dataclass(frozen=True, slots=True)
class Listed:
    """A planned listing.

    Parameters
    ----------
    layout
        The columns of its rows.
    tasks
        None: time was up before there was a plan.
    reason
        Why this engine, in words.
    """

    layout: RowColumns | QueryColumns
    tasks: ShardedRows | None
    reason: str

    def begin(self, workers: Workers, request: Request, batch_rows: int, deadline: Deadline) -> RowSource:
        """Begin the search."""
        tasks = self.tasks
        if tasks is None or tasks.units == 0:
            return NoRows(complete=tasks is not None)
        return ClusterRows(workers, tasks, request, batch_rows, deadline, tasks.slots)


def listed(
    workers: Workers,
    graph: ShardedGraph,
    query: Pattern | Query,
    request: Request,
    deadline: Deadline,
    *,
    names: bool,
    kind: str | None,
    numbers: bool = False,
) -> Listed:
    """Return the planned listing of a pattern or a query, whose patterns are connected.

    Parameters
    ----------
    numbers
        Whether rows of a pattern have numbers of the graph's vertices, not ids.

    Raises
    ------
    PatternError, ArgumentError
        The query or an option takes more than a sharded graph has.
    """
    if isinstance(query, Query):
        return _listed_query(workers, graph, query, request, deadline, names=names, kind=kind)
    check_symmetry(request.semantics, request.symmetry)
    columns = IdColumns(query, names)
    view, found = plan_search(graph, query, request, deadline, counting=False)
    layout, reason = layout_of(columns), reason_of(found, view.layout, kind)
    if found is None:
        return Listed(layout, None, reason)
    units = 0 if found.plan.impossible is not None else graph.layout.entries
    functions = numbers_of_range if numbers else rows_of_range, write_range

    def make_job() -> Any:
        return job_of(workers, view, found)

    images = images_of_plan(found.plan)
    tasks = ShardedRows(workers, graph, columns, units, found.plan, make_job, functions, images, kind)
    return Listed(layout, tasks, reason)


@dataclass(frozen=True, slots=True)
class Shaped:
    """A pattern whose rows are listed.

    Parameters
    ----------
    shape
        The shape of a query that it is a pattern of, with the same vertices; None: there is no query.
    symmetry
        How it is listed.
    images
        Which of its rows count; see `PatternRows`.
    """

    pattern: Pattern
    shape: Shape | None = None
    symmetry: Symmetry = Symmetry.EMBEDDINGS
    images: tuple[Permutation, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedRows:
    """The searches of patterns whose rows are listed together.

    Parameters
    ----------
    searches
        Those that may find rows: the graph as each sees it, its plan, and the number of the pattern. None:
        time was up before there were all.
    """

    patterns: tuple[Shaped, ...]
    searches: tuple[tuple[ShardedGraph, Ranged, int], ...] | None
    reason: str

    @property
    def plan(self) -> object:
        """What the rows of a share depend on, beside the graph."""
        return [(found.plan, at, self.patterns[at].images) for _, found, at in self.searches or ()]

    @property
    def images(self) -> int:
        """The most rows that one found by a search stands for."""
        return max((images_of_plan(found.plan) for _, found, _ in self.searches or ()), default=1)

    def rows(self, workers: Workers, entries: int) -> QueryRows:
        """Put the searches into the object store; return what tasks list."""
        patterns = tuple(
            PatternRows(job_of(workers, view, found), number, self.patterns[number].images)
            for view, found, number in self.searches or ()
        )
        return QueryRows(patterns, entries, width_of([one.pattern for one in self.patterns]))


def planned_rows(
    graph: ShardedGraph, patterns: Sequence[Shaped], request: Request, deadline: Deadline, kind: str | None
) -> PlannedRows:
    """Return the searches of patterns whose rows are listed together."""
    searches: list[tuple[ShardedGraph, Ranged, int]] = []
    reasons: list[str] = []
    for number, one in enumerate(patterns):
        own = replace(request, symmetry=one.symmetry)
        check_symmetry(own.semantics, own.symmetry)
        view, found = plan_search(graph, one.pattern, own, deadline, counting=False)
        reasons.append(reason_of(found, view.layout, kind))
        if found is None:
            return PlannedRows(tuple(patterns), None, reasons[0])
        if found.plan.impossible is None:
            searches.append((view, found, number))
    return PlannedRows(tuple(patterns), tuple(searches), "; ".join(dict.fromkeys(reasons)))


def _listed_query(
    workers: Workers,
    graph: ShardedGraph,
    query: Query,
    request: Request,
    deadline: Deadline,
    *,
    names: bool,
    kind: str | None,
) -> Listed:
    query, request, patterns = patterns_listed(query, request, directed=graph.directed)
    shapes = tuple(one.shape for one in patterns if one.shape is not None)
    columns = QueryIds.of_patterns(query, names, [one.pattern for one in patterns], shapes)
    layout = layout_of(columns)
    found = planned_rows(graph, patterns, request, deadline, kind)
    if found.searches is None:
        return Listed(layout, None, found.reason)
    entries = graph.layout.entries
    tasks = ShardedRows(
        workers,
        graph,
        columns,
        entries * len(found.searches),
        found.plan,
        lambda: found.rows(workers, entries),
        (rows_of_query, write_query_rows),
        found.images,
        kind,
    )
    return Listed(layout, tasks, found.reason)


def patterns_listed(query: Query, request: Request, *, directed: bool) -> tuple[Query, Request, list[Shaped]]:
    """Return patterns whose rows together are those of a query, each once, with the query and the request.

    Raises
    ------
    ArgumentError
        The query has rows that no patterns tell, or too many patterns.
    """
    query, request, patterns = patterns_of_shapes(query, request, directed=directed)
    images: dict[int, tuple[Permutation, ...]] = {}
    found = []
    for shape, pattern in patterns:
        if shape.is_pattern:
            found.append(Shaped(pattern, shape, request.symmetry))
            continue
        if request.symmetry is Symmetry.SUBGRAPHS and id(shape) not in images:
            images[id(shape)] = images_of(shape.skeleton, directed=directed)
        found.append(Shaped(pattern, shape, images=images.get(id(shape), ())))
    return query, request, found


def patterns_of_shapes(
    query: Query, request: Request, *, directed: bool
) -> tuple[Query, Request, list[tuple[Shape, Pattern]]]:
    """Return patterns of the shapes of a query, of which no two have an embedding in common.

    Their embeddings together are those of the shapes. Of occurrences, each has as many of these as its shape
    has automorphisms. Returns the query and the request that the shapes are of, too.

    Raises
    ------
    ArgumentError
        The query has rows that no patterns tell, or too many patterns.
    """
    query, request = without_induced(query, request, directed=directed, alternatives=True)
    shapes: Sequence[Shape] = query.shapes
    if request.symmetry is Symmetry.SUBGRAPHS:
        shapes = distinct_shapes(shapes, directed=directed)
    found: list[tuple[Shape, Pattern]] = []
    for shape in shapes:
        check_symmetry_of(shape, request)
        _check(shape, query, request)
        for pattern in disjoint_patterns(shape, homomorphic=request.semantics is Semantics.HOMOMORPHISM):
            found.append((shape, pattern))
            check_number(len(found), query)
    return query, request, found


def check_number(patterns: int, query: object) -> None:
    """Refuse to list the rows of too many patterns.

    Raises
    ------
    ArgumentError
        There are more than `MAX_PATTERNS`.
    """
    if patterns > MAX_PATTERNS:
        expected = f"rows of at most {MAX_PATTERNS} patterns for a query of a sharded graph"
        raise ArgumentError("pattern", expected, query)


def _check(shape: Shape, query: Query, request: Request) -> None:
    """Refuse a shape whose rows no patterns tell.

    Raises
    ------
    ArgumentError
        Names the reason.
    """
    if not shape.is_connected:
        expected = "a connected pattern, to explain distinct rows of a sharded graph"
        raise ArgumentError("pattern", f"{expected}: ask for its parts one by one", query)
    if len(shape.absent_edges) < len(shape.absent) or (shape.absent and shape.skeleton.may_coincide):
        raise refusal(shape, query, request)
    if has_within(shape) and any(None in absent.ends for absent in shape.absent_edges):
        expected = "no WITHIN beside OPTIONAL edges to new vertices, for a sharded graph"
        raise ArgumentError("pattern", expected, query)
    for absent in shape.absent_edges:
        between = absent.edge.negated if None not in absent.ends else ()
        if between and has_within(shape):
            expected = "no WITHIN beside negated edges behind OPTIONAL, for rows of a sharded graph"
            raise ArgumentError("pattern", expected, query)
        if not all(one.is_pair for one in between):
            expected = (
                "no negated edges to any vertex behind OPTIONAL edges between two vertices of the pattern"
            )
            raise ArgumentError("pattern", f"{expected}, for rows of a sharded graph", query)
    if alternatives_with_lone_edges(shape):
        expected = "no negated edges to any vertex beside OR across edges, for rows of a sharded graph"
        raise ArgumentError("pattern", expected, query)
