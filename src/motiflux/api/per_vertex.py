"""The public calls `count_per_vertex`, `count_per_edge` and `top`: counts at each vertex and each edge."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from motiflux import log
from motiflux.api.edge_witnesses import bound_query_edge, counts_at_witnesses
from motiflux.api.subject import GraphLike, subject_of
from motiflux.dispatch.image_counts import choose_image_counter
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, PatternLike, QueryEdge
from motiflux.pattern.automorphism import automorphisms
from motiflux.pattern.elements import edge_names
from motiflux.plan.bind import BoundEdge, bind
from motiflux.plan.image_counts import Asked, ImagePlan, orbit_of
from motiflux.request.deadline import Deadline
from motiflux.request.images import CountedImages
from motiflux.request.progress import Progress, progress_callback
from motiflux.request.request import Request, make_request
from motiflux.result.arc_counts import accepted_edges, at_edges
from motiflux.result.image_counts import EdgeCounts, ImageCounts, Top, VertexCounts
from motiflux.types import Symmetry
from motiflux.words import DeviceName, SemanticsName, SymmetryName

Result = TypeVar("Result", bound=ImageCounts)

By = str | int | Sequence[str | int] | None
"""A query vertex or query edge by its name or position, several, or None: all."""


def count_per_vertex(
    graph: GraphLike,
    pattern: PatternLike,
    by: By = None,
    *,
    semantics: SemanticsName = "isomorphism",
    symmetry: SymmetryName = "embeddings",
    device: DeviceName = "auto",
    devices: str | int | Sequence[int] | None = None,
    engine: str = "auto",
    limit: None = None,
    timeout: float | None = None,
    progress: Progress = False,
    threads: int | None = None,
    gpu_memory: int | str | None = None,
    tuning: Mapping[str, str] | None = None,
) -> VertexCounts:
    """Count, for each vertex of `graph`, the embeddings that map a query vertex to it, without listing them.

    Parameters
    ----------
    by
        The query vertex: its name, or its position in the pattern; a sequence of several; or None for all.
    symmetry
        ``"embeddings"``: the embeddings that map the query vertex to the vertex. ``"subgraphs"``: the
        occurrences in which the vertex has the place of the query vertex, or of one that an automorphism maps
        to it; an occurrence is counted once at each vertex.
    device, devices, engine
        ``device="cuda"``, or ``engine="dfs"``: on one GPU; the CPU takes over what its kernels do not count,
        and ``.reason`` says so. ``"auto"``: on the CPU.
    limit
        Must be None: a limit on the sum says nothing about single vertices. Use `timeout`.
    timeout
        Seconds of wall clock for the whole call; afterwards the counts so far are returned, which are lower
        bounds.
    semantics, progress, threads, tuning
        As for `count`.

    Returns
    -------
    VertexCounts
        ``.counts``, int64 [vertices], or [vertices, query vertices] unless `by` is a single one, in the order
        of ``.ids``; Python integers if a count passes 2^63 - 1. ``.complete``, ``.top(k)``, ``.to_arrow()``.

    Raises
    ------
    ArgumentError, PatternError
        An argument is invalid; the pattern has no such query vertex.
    DeviceError
        The device does not exist; several devices, or an engine that does not count so.
    KeyboardInterrupt
        Within 100 ms of Ctrl-C; the graph stays usable.

    Notes
    -----
    Counts come from closed forms and tables of local counts where `count` uses them, in about the time of
    `count`; else from a search that matches the query vertex first, and counts the rest in closed form where
    it can; or from one that finds each subgraph once, if that is faster, or if attributes are compared.

    Examples
    --------
    >>> import motiflux as mf
    >>> square = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    >>> found = mf.count_per_vertex(square, "(a)--(b)--(c)--(a)", by="a", symmetry="subgraphs")
    >>> found.ids.tolist(), found.counts.tolist()
    ([1, 3, 0, 2], [1, 1, 2, 2])
    >>> mf.count_per_vertex(square, "(a)--(b)--(c)").counts.tolist()
    [[4, 2, 4], [4, 2, 4], [4, 6, 4], [4, 6, 4]]
    """
    arguments = locals()
    data, query = subject_of(graph, pattern)
    names = [vertex.name for vertex in query.vertices]
    places = places_named("by", by, names, "query vertex")
    with checked_request(arguments, "counting per vertex") as request:
        asked: list[Asked] = [((place,), None) for place in places]

        def finish(plan: ImagePlan, found: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
            each = [plan.classes[number] for number in plan.class_of]
            once = request.symmetry is Symmetry.SUBGRAPHS
            return [
                divided_by(found[number], one.order if once else 1)
                for number, one in zip(plan.class_of, each, strict=True)
            ]

        return _counted(
            VertexCounts, data, query, by, [names[place] for place in places], asked, request, finish
        )


def count_per_edge(
    graph: GraphLike,
    pattern: PatternLike,
    by: By = None,
    *,
    semantics: SemanticsName = "isomorphism",
    symmetry: SymmetryName = "embeddings",
    device: DeviceName = "auto",
    devices: str | int | Sequence[int] | None = None,
    engine: str = "auto",
    limit: None = None,
    timeout: float | None = None,
    progress: Progress = False,
    threads: int | None = None,
    gpu_memory: int | str | None = None,
    tuning: Mapping[str, str] | None = None,
) -> EdgeCounts:
    """Count, for each edge of `graph`, the embeddings in which it is a witness of a query edge.

    An embedding is counted at each edge that serves the query edge: parallel edges of labels that it accepts
    each have the whole number. If the pattern compares attributes, an edge serves it if one of its copies is
    among copies that satisfy all comparisons; the pattern is counted once for each label in the graph that
    the query edge accepts.

    Parameters
    ----------
    by
        The query edge: its name (``e0``, ``e1``, ... for one without), or its position in the pattern; a
        sequence of several; or None for all.
    symmetry
        ``"embeddings"``: the embeddings that map the query edge to the edge. ``"subgraphs"``: the occurrences
        in which the edge has the place of the query edge, or of one that an automorphism maps to it.
    semantics, device, devices, engine, limit, timeout, progress, threads, tuning
        As for `count_per_vertex`.

    Returns
    -------
    EdgeCounts
        ``.counts``, int64 [edges], or [edges, query edges] unless `by` is a single one, in the order of
        ``graph.to_edges()``; Python integers if a count passes 2^63 - 1. ``.sources``, ``.targets``,
        ``.complete``, ``.to_arrow()``.

    Raises
    ------
    ArgumentError, PatternError
        An argument is invalid; the pattern has no such query edge.
    DeviceError
        The device does not exist; several devices, or an engine that does not count so.
    KeyboardInterrupt
        Within 100 ms of Ctrl-C; the graph stays usable.

    Examples
    --------
    >>> import motiflux as mf
    >>> bank = mf.Graph.from_edges([("ann", "bob"), ("bob", "cy"), ("bob", "eve")], directed=True)
    >>> found = mf.count_per_edge(bank, "(a)-[x]->(b)-[y]->(c)", by=["x", "y"])
    >>> found.to_arrow().to_pylist()[0]
    {'src': 'ann', 'dst': 'bob', 'x': 2, 'y': 0}
    """
    arguments = locals()
    data, query = subject_of(graph, pattern)
    names = edge_names(query.edges)
    places = places_named("by", by, names, "query edge")
    with checked_request(arguments, "counting per edge") as request:
        edges = [bound_query_edge(query, query.edges[place], data) for place in places]
        if query.comparisons:
            return _at_witnesses(data, query, by, places, edges, request)
        bound = bind(query, data)
        asked: list[Asked] = [((edge.source, edge.target), bound.rows_of(edge)) for edge in edges]

        def finish(plan: ImagePlan, found: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
            counts = []
            for place, edge, number in zip(places, edges, plan.class_of, strict=True):
                divisor = (
                    automorphisms_fixing(query, edge, data) if request.symmetry is Symmetry.SUBGRAPHS else 1
                )
                key = plan.classes[number].rows
                assert key is not None
                rows = data.adjacency(key, request.threads)
                numbers = at_edges(data, rows, found[number], either=edge.either)
                counts.append(divided_by(_accepted(data, query.edges[place], numbers), divisor))
            return counts

        return _counted(
            EdgeCounts, data, query, by, [names[place] for place in places], asked, request, finish
        )


def top(
    graph: GraphLike,
    pattern: PatternLike,
    by: str | int,
    k: int = 20,
    **options: Any,
) -> Top:
    """Return the `k` vertices to which the most embeddings map a query vertex.

    Parameters
    ----------
    by
        The query vertex: its name, or its position in the pattern.
    k
        Number of vertices, 1 or more.
    **options
        The options of `count_per_vertex`.

    Returns
    -------
    Top
        A list of pairs of an id and a count above 0, the greatest first, equal counts by ascending ids; with
        ``.complete``.

    Examples
    --------
    >>> import motiflux as mf
    >>> star = mf.Graph.from_edges([("hub", "a"), ("hub", "b"), ("hub", "c"), ("a", "b")])
    >>> mf.top(star, "(x)--(y)--(z)", by="y", k=2)
    [('hub', 6), ('a', 2)]
    """
    if isinstance(by, bool) or not isinstance(by, (str, int, np.integer)):
        raise ArgumentError("by", "the name or position of one query vertex", by)
    return count_per_vertex(graph, pattern, by, **options).top(k)


_OPTIONS = (
    *("semantics", "symmetry", "device", "devices", "engine", "limit", "timeout", "threads"),
    *("gpu_memory", "tuning"),
)


@contextmanager
def checked_request(arguments: Mapping[str, Any], what: str) -> Iterator[Request]:
    """Yield the checked request of a call with these arguments, while its progress is shown."""
    given = {name: arguments[name] for name in _OPTIONS}
    if given["limit"] is not None:
        expected = "None: a limit on the sum says nothing about single vertices or edges"
        raise ArgumentError("limit", expected, given["limit"])
    request = make_request(**given, progress=None)
    with progress_callback(arguments["progress"], what) as callback:
        yield replace(request, progress=callback)


def _accepted(graph: Graph, edge: QueryEdge, numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers at edges; 0 where an edge does not satisfy the conditions of the query edge."""
    if edge.labels is None and edge.where is None:
        return numbers
    return np.where(accepted_edges(graph, edge), numbers, 0)


def places_named(argument: str, by: By, names: Sequence[str], what: str) -> list[int]:
    """Return the positions of the query vertices or edges that `by` names."""
    if by is None:
        return list(range(len(names)))
    several = by if isinstance(by, Sequence) and not isinstance(by, str) else [by]
    places = []
    for one in several:
        if isinstance(one, str) and one in names:
            places.append(names.index(one))
        elif isinstance(one, (int, np.integer)) and not isinstance(one, bool) and 0 <= one < len(names):
            places.append(int(one))
        else:
            raise ArgumentError(argument, f"the name or position of a {what} ({', '.join(names)})", one)
    if not places or len(set(places)) < len(places):
        raise ArgumentError(argument, f"different {what}s, at least one".replace("vertexs", "vertices"), by)
    return places


def _counted(
    kind: type[Result],
    graph: Graph,
    pattern: Pattern,
    by: By,
    columns: Sequence[str],
    asked: Sequence[Asked],
    request: Request,
    finish: Callable[[ImagePlan, Sequence[NDArray[Any]]], list[NDArray[Any]]],
) -> Result:
    deadline = Deadline.after(request.timeout)
    counter = choose_image_counter(request, "counts per vertex and edge")
    rows = graph.num_vertices if kind is VertexCounts else graph.num_edges
    counts = [np.zeros(rows, np.int64)] * len(columns)
    made = CountedImages([], False, "cpu", "cpu", "time was up before a plan was made")
    try:
        plan = counter.plan(graph, pattern, asked, request, deadline)
        planned = time.perf_counter()
        made = counter.count(graph, [plan], request, deadline)
        counts = finish(plan, made.found[0])
    except TimeoutError:
        planned = time.perf_counter()
    return _result(kind, graph, pattern, by, columns, counts, made, planned - deadline.started, deadline)


def _at_witnesses(
    graph: Graph,
    pattern: Pattern,
    by: By,
    places: Sequence[int],
    edges: Sequence[BoundEdge],
    request: Request,
) -> EdgeCounts:
    """Return the counts at each edge of a pattern with comparisons; seconds include those of plans."""
    deadline = Deadline.after(request.timeout)
    counter = choose_image_counter(request, "counts per vertex and edge")
    counts: list[NDArray[Any]] = [np.zeros(graph.num_edges, np.int64)] * len(places)
    made = CountedImages([], True, "cpu", "cpu", "the graph has no edge of these labels")
    for at, (place, edge) in enumerate(zip(places, edges, strict=True)):
        divisor = automorphisms_fixing(pattern, edge, graph) if request.symmetry is Symmetry.SUBGRAPHS else 1
        try:
            found, last = counts_at_witnesses(graph, pattern, place, counter, request, deadline)
        except TimeoutError:
            made = CountedImages([], False, "cpu", "cpu", "time was up before a plan was made")
            break
        counts[at], made = divided_by(found, divisor), last or made
        if not made.complete:
            break
    names = edge_names(pattern.edges)
    return _result(
        EdgeCounts, graph, pattern, by, [names[place] for place in places], counts, made, 0.0, deadline
    )


def _result(
    kind: type[Result],
    graph: Graph,
    pattern: Pattern,
    by: By,
    columns: Sequence[str],
    counts: Sequence[NDArray[Any]],
    made: CountedImages,
    plan_seconds: float,
    deadline: Deadline,
) -> Result:
    single = isinstance(by, (str, int, np.integer))
    result = kind(
        graph=graph,
        pattern=pattern,
        columns=tuple(columns),
        counts=counts[0] if single else np.stack(counts, axis=1),
        complete=made.complete,
        seconds=deadline.elapsed() - plan_seconds,
        plan_seconds=plan_seconds,
        engine=made.engine,
        device=made.device,
        reason=made.way,
    )
    log.ENGINE.info("counts of %s: %r, %s", pattern, result, result.reason)
    return result


def divided_by(numbers: NDArray[Any], divisor: int) -> NDArray[Any]:
    """Return numbers divided by a number that divides all of them, as int64 if they fit."""
    if divisor == 1:
        return numbers
    quotients: NDArray[Any] = numbers // divisor
    if quotients.dtype == object and max(quotients, default=0) < 2**63:
        return quotients.astype(np.int64)
    return quotients


def automorphisms_fixing(pattern: Pattern, edge: BoundEdge, graph: Graph) -> int:
    """Return the number of automorphisms that map a query edge to itself."""
    group = automorphisms(pattern, directed=graph.directed)
    ends = orbit_of((edge.source, edge.target), group)
    return group.order // len({tuple(sorted(pair)) for pair in ends} if edge.either else ends)
