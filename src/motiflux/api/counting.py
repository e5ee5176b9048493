"""The public call `count`: how many embeddings there are, exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

from motiflux.api.pattern_list import as_queries, count_each, count_one, naming_pattern
from motiflux.api.subject import GraphLike, data_graph
from motiflux.dispatch.prepared_query import count_again
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query, QueryLike
from motiflux.pattern.asked import Distinct, Having, asks_for_rows
from motiflux.pattern.projection import Projection
from motiflux.request.deadline import Deadline
from motiflux.request.progress import NO_PROGRESS, FoundSoFar, Progress, progress_callback
from motiflux.request.request import Request, make_request
from motiflux.result.count import Count
from motiflux.words import DeviceName, SemanticsName, SymmetryName


@overload
def count(  # type: ignore[overload-overlap]  # text is a sequence of texts too, but one pattern
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
    copies: bool = ...,
    distinct: Distinct | None = ...,
    having: Having | None = ...,
) -> Count: ...
@overload
def count(
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
    copies: bool = ...,
    distinct: Distinct | None = ...,
    having: Having | None = ...,
) -> list[Count]: ...
def count(
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
    copies: bool = False,
    distinct: Distinct | None = None,
    having: Having | None = None,
) -> Count | list[Count]:
    """Count the embeddings of `pattern` in `graph`, exactly, without listing them.

    Parameters
    ----------
    graph
        A `Graph`, or an object that `as_graph` takes: a path, a table, a graph of networkx, igraph, scipy or
        PyTorch Geometric. Such an object is converted anew at each call, as it may have changed: convert it
        once with `as_graph` for several calls.
    pattern
        A pattern, its text, or a graph of networkx (`Pattern.from_networkx`); a `Query`, or the text of one;
        or a sequence of these, counted in one call that does common work once.
    semantics
        ``"isomorphism"`` (injective, extra data edges allowed), ``"induced"`` or ``"homomorphism"``.
    symmetry
        ``"embeddings"`` counts every map, ``"subgraphs"`` each occurrence once.
    device
        ``"cpu"``, ``"cuda"``, ``"cuda:1"`` for the second GPU of this machine, or ``"auto"``: the one that is
        expected to be faster.
    devices
        Several GPUs of this machine that search together, each with a copy of the graph: ``"all"``, a number,
        or their ordinals such as ``[0, 1]``. Default: one device.
    engine
        ``"cpu"``, ``"dfs"`` (GPU), ``"outofcore"`` (GPU, for graphs that do not fit into its memory: edges
        stay on the host), ``"pvm"`` (GPU, for patterns with edge labels: a search in phases, each of which
        matches several query vertices and reads the edges of some labels), or ``"auto"``: the engine of the
        device.
    limit
        Stop at this count: the result is min(true count, limit). With several patterns, the limit of each.
    timeout
        Seconds of wall clock for the whole call; afterwards the result so far is returned.
    progress
        True for progress on a terminal or in a notebook, or a function called with `ProgressReport` objects,
        which must not fork the process.
    threads
        Threads of this machine; default: as many as this process may run on.
    gpu_memory
        Maximum number of bytes that motiflux uses on each GPU, including copies of graphs: a number, or text
        such as ``"8GiB"``. Default: all free memory.
    tuning
        Ablation switches, see `motiflux.config.TUNING`.
    copies
        Whether to count choices of copies instead of embeddings: each choice of a copy of every query edge
        that satisfies all conditions and comparisons, as the rows of a query in SQL or Cypher.
    distinct
        Query vertices, by name or position: count the different rows of their images, of each of which the
        search finds one embedding only, on the CPU. With ``symmetry="subgraphs"``, rows that differ by an
        automorphism count once. Text may say the same behind a pattern: ``RETURN DISTINCT a, c``.
    having
        With `distinct`: thresholds on the number of different images of other query vertices in the
        embeddings of a row, such as ``"count(b) >= 5"`` or ``"count(*) < 10"``; one text, or several. In
        text: ``RETURN DISTINCT a HAVING count(b) >= 5``.

    Returns
    -------
    Count, or list of Count
        An int with ``.complete``, ``.seconds``, ``.plan_seconds``, ``.engine``, ``.device`` and ``.reason``;
        for a sequence, a list in its order. Patterns that were searched together all have the ``.seconds`` of
        the common search.

    Raises
    ------
    ArgumentError, PatternError, DeviceError
        An argument is invalid, or a device is not available. An error in one of several patterns is raised
        before any search and starts with its position: ``pattern[2]: ...``.
    DeviceMemoryError
        The search does not fit into the memory of the GPU, or into `gpu_memory`.
    KeyboardInterrupt
        Within 100 ms of Ctrl-C; the graph stays usable.

    Examples
    --------
    >>> import motiflux as mf
    >>> square = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    >>> triangle = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)])
    >>> int(mf.count(square, triangle)), int(mf.count(square, triangle, symmetry="subgraphs"))
    (12, 2)
    >>> [int(number) for number in mf.count(square, [triangle, "(a)--(b)--(c)"])]
    [12, 16]
    >>> int(mf.count(square, "(a)-[*3..4]-(a)", symmetry="subgraphs"))  # two triangles, one ring of four
    3
    >>> transfers = mf.Graph.from_edges([(0, 1), (0, 1), (1, 2)], directed=True)
    >>> path = "(a)-->(b)-->(c)"
    >>> int(mf.count(transfers, path)), int(mf.count(transfers, path, copies=True))
    (1, 2)
    >>> int(mf.count(transfers, path, distinct=["a"])), int(mf.count(transfers, f"{path} RETURN DISTINCT b"))
    (1, 1)
    """
    queries: list[Pattern | Query]
    projections: list[Projection | None] | None = None
    # What few calls need is imported by them: the first count of a process waits for imports.
    if distinct is not None or having is not None or asks_for_rows(pattern):
        from motiflux.api.projecting import projections_of

        queries, several, projections = projections_of(pattern, distinct, having)
        graph = data_graph(graph)
    elif isinstance(graph, Graph) and isinstance(pattern, Pattern):
        queries, several = [pattern], False
    else:
        queries, several = as_queries(pattern)
        graph = data_graph(graph)
    with NO_PROGRESS if progress is False else progress_callback(progress, "counting") as callback:
        if callback is not None:
            callback = FoundSoFar(callback)
        request = make_request(
            semantics=semantics,
            symmetry=symmetry,
            device=device,
            devices=devices,
            engine=engine,
            limit=limit,
            timeout=timeout,
            threads=threads,
            gpu_memory=gpu_memory,
            tuning=tuning,
            progress=callback,
            copies=copies,
        )
        deadline = Deadline.after(request.timeout)
        if projections is not None:
            counts = _count_rows(graph, queries, projections, request, deadline)
            return counts if several else counts[0]
        if any(isinstance(one, Query) for one in queries):
            from motiflux.api.queries.counts import LocalCounter, count_queries

            counts = count_queries(LocalCounter(graph), queries, request, deadline, named=several)
            return counts if several else counts[0]
        patterns = [one for one in queries if isinstance(one, Pattern)]
        if several:
            return count_each(graph, patterns, request, deadline)
        again = count_again(graph, patterns[0], request, deadline)
        return count_one(graph, patterns[0], request, deadline) if again is None else again


def _count_rows(
    graph: Graph,
    queries: Sequence[Pattern | Query],
    projections: Sequence[Projection | None],
    request: Request,
    deadline: Deadline,
) -> list[Count]:
    """Return the number of rows of each projection, and of embeddings where there is none."""
    from motiflux.api.projecting import count_projected
    from motiflux.api.queries.counts import LocalCounter, count_queries

    where = LocalCounter(graph)
    counts = []
    for position, (query, projection) in enumerate(zip(queries, projections, strict=True)):
        with naming_pattern(position if len(queries) > 1 else None):
            if isinstance(query, Query) and projection is not None:
                from motiflux.api.queries.distinct import count_distinct

                counts.append(count_distinct(graph, query, projection, request, deadline))
            elif isinstance(query, Query):
                counts += count_queries(where, [query], request, deadline, named=False)
            elif projection is None:
                counts.append(count_one(graph, query, request, deadline))
            else:
                counts.append(count_projected(graph, query, projection, request, deadline))
    return counts
