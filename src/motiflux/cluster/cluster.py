"""`mf.Cluster`: the calls of motiflux on the machines of a Ray cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, overload

from motiflux.api.counting import count
from motiflux.api.estimating import estimate
from motiflux.api.explaining import Explanation, explain
from motiflux.api.matching import match
from motiflux.api.pattern_list import as_queries, naming_pattern
from motiflux.api.per_vertex import count_per_edge, count_per_vertex
from motiflux.api.projecting import projections_of
from motiflux.api.random_rows import sample
from motiflux.api.subject import GraphLike
from motiflux.arguments import check_integer, check_seconds
from motiflux.cluster.connected import ON_CPUS, Connected
from motiflux.cluster.jobs import WrittenRows, folders_of
from motiflux.cluster.listing import Asked, match_query, write_rows
from motiflux.cluster.options import (
    CensusOptions,
    CountOptions,
    EstimateOptions,
    MatchOptions,
    OrbitOptions,
    SampleOptions,
    VertexOptions,
    check_known,
)
from motiflux.cluster.shards.census import census_sharded
from motiflux.cluster.shards.counting import count_sharded
from motiflux.cluster.shards.distinct import count_distinct_sharded
from motiflux.cluster.shards.distinct_rows import match_distinct_sharded
from motiflux.cluster.shards.edge_calls import count_per_edge_sharded, edge_orbits_sharded
from motiflux.cluster.shards.estimating import estimate_sharded
from motiflux.cluster.shards.explaining import explain_sharded
from motiflux.cluster.shards.matching import match_sharded, write_sharded
from motiflux.cluster.shards.orbits import orbits_sharded
from motiflux.cluster.shards.queries import count_queries_sharded
from motiflux.cluster.shards.sampling import sample_sharded
from motiflux.cluster.shards.sharded import ShardedGraph
from motiflux.cluster.shards.vertices import ShardedImageCounter, count_per_vertex_sharded
from motiflux.cluster.tasks import call_whole
from motiflux.errors import ArgumentError, ClusterError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, PatternLike, Query, QueryLike, as_pattern, as_query
from motiflux.pattern.asked import asks_for_rows
from motiflux.pattern.projection import Projection
from motiflux.request.deadline import Deadline
from motiflux.request.elsewhere import doing_elsewhere
from motiflux.request.images import ImageCounter
from motiflux.request.progress import of_equal_parts, progress_callback
from motiflux.request.reports import ProgressReport
from motiflux.request.request import make_request
from motiflux.result.census import Census
from motiflux.result.count import Count
from motiflux.result.estimate import Estimate
from motiflux.result.image_counts import EdgeCounts, EdgeOrbitCounts, OrbitCounts, VertexCounts
from motiflux.result.matches import Matches
from motiflux.result.partial import replace_partial

if TYPE_CHECKING:
    from motiflux.cluster.on_gpus import OnGpus

_BEGIN_SECONDS = 60.0
"""Seconds within which a task that is a whole call begins, if the call has a timeout."""


class Cluster(Connected):
    """The machines of a Ray cluster, which search together.

    Its methods are the functions of motiflux of the same names, with the same options and the same results:
    exact, and for estimates equal to the last bit for a seed. A search is cut into tasks, whose size is
    chosen by the speed of the tasks before. Tasks of lost workers and nodes are done again. The option
    ``threads`` of a call is the number of threads that plan, where it is made.

    A process has one connection to a cluster. If Ray is connected already (``ray.init``), that is used.

    Parameters
    ----------
    address
        ``"auto"`` for the cluster that this machine is a node of, its address, such as
        ``"10.0.0.5:6379"``, or None: a cluster of this machine alone, which ends with the object.
    threads
        Threads of each task, and CPUs that it takes; they share what is prepared for a search.
    cpus
        Number of CPUs of a cluster that is started; default: all of this machine.
    object_store
        Maximum size of the object store of a cluster that is started: bytes, or text such as ``"4GiB"``.
        Default: 2 GiB.
    dashboard
        Whether a cluster that is started has Ray's dashboard, which shows tasks by call and pattern.
    log_to_driver
        Whether output of workers is repeated here.
    task_log
        A file to which a line of JSON is appended for each task that ends: the fields of `TaskRecord`.

    Raises
    ------
    MotifluxError
        Ray is not installed.
    ClusterError
        There is no cluster at the address.

    Notes
    -----
    Workers need motiflux in the environment in which Ray runs on their nodes. A path of an ``.mfg`` file is
    mapped by each worker if all nodes see it; other graphs are sent to each node once, and stay there as long
    as the `Graph` lives here.

    Examples
    --------
    >>> import motiflux as mf
    >>> graph = mf.generate.rmat(scale=10, edges=8000, seed=1)  # doctest: +SKIP
    >>> with mf.Cluster() as cluster:  # doctest: +SKIP
    ...     cluster.count(graph, "(a)--(b)--(c)--(a)")
    """

    @overload
    def count(  # type: ignore[overload-overlap]  # text is a sequence of texts too, but one pattern
        self, graph: GraphLike | ShardedGraph, pattern: QueryLike, **options: Unpack[CountOptions]
    ) -> Count: ...
    @overload
    def count(
        self,
        graph: GraphLike | ShardedGraph,
        pattern: Sequence[QueryLike],
        **options: Unpack[CountOptions],
    ) -> list[Count]: ...
    def count(
        self,
        graph: GraphLike | ShardedGraph,
        pattern: QueryLike | Sequence[QueryLike],
        **options: Unpack[CountOptions],
    ) -> Count | list[Count]:
        """Count embeddings; see `motiflux.count`.

        Several patterns are searched at once. With `distinct` and `having`, a call is one task; in a sharded
        graph, tasks list all rows, and the different ones have to fit into the graph's `memory` here, with
        the images that decide thresholds. With ``device="cuda"``, each task has one GPU, on which the graph
        has to fit and stays for later calls. All GPUs that count have to be of one kind. Of a sharded graph,
        parts of `memory` bytes are on the GPU. Distinct rows are found by CPUs.

        Returns
        -------
        Count, or list of Count
            ``.engine`` is ``"cluster"``; of a call that is one task, that of the task.

        Raises
        ------
        DeviceError
            ``device="cuda"``, and no node has a GPU for a task.
        DeviceMemoryError
            The graph or the search does not fit on a GPU, or into `gpu_memory`.
        """
        rows = options.get("distinct") is not None or options.get("having") is not None
        rows = rows or asks_for_rows(pattern)
        if not isinstance(graph, ShardedGraph):
            _refuse_on_gpus(pattern, options)
        gpus = self._on_gpus(graph, options)
        if isinstance(graph, ShardedGraph):
            if rows:
                return self._count_rows_sharded(graph, pattern, options, _kind_of(gpus))
            return self._count_sharded(graph, pattern, options, _kind_of(gpus))
        data = self._graph(graph)
        if gpus is None and (rows or options.get("copies")):
            counted: Count | list[Count] = self._whole("count", data, pattern, options)
            return counted
        if gpus is not None and rows:
            return self._count_rows_beside(data, pattern, options, gpus)
        with self._here(pattern, gpus):
            found: Count | list[Count] = count(data, pattern, **options)
            return found

    def _count_rows_beside(
        self, graph: Graph, pattern: QueryLike | Sequence[QueryLike], options: CountOptions, gpus: OnGpus
    ) -> Count | list[Count]:
        """Count distinct rows on CPUs, and on GPUs embeddings of patterns that ask for none."""
        wanted = options.get("distinct"), options.get("having")
        queries, several, projections = projections_of(pattern, *wanted)
        assert projections is not None
        timeout = options.get("timeout")
        deadline = Deadline.after(None if timeout is None else check_seconds("timeout", timeout))
        found = []
        with progress_callback(options.get("progress", False), "counting") as callback:
            parts = of_equal_parts(callback, len(queries))
            for at, (query, projection, part) in enumerate(zip(queries, projections, parts, strict=True)):
                own = dict(options) | {"timeout": deadline.left(), "progress": part or False}
                given: Any = own | {"distinct": projection, "having": None}
                with naming_pattern(at if several else None), _one_of(several=several):
                    if projection is None:
                        with self._here(query, gpus):
                            found.append(count(graph, query, **given))
                    else:  # the task has no GPU, and its result says so
                        found.append(self._whole("count", graph, query, given))
        return found if several else found[0]

    def _count_sharded(
        self,
        graph: ShardedGraph,
        pattern: QueryLike | Sequence[QueryLike],
        options: CountOptions,
        kind: str | None = None,
    ) -> Count | list[Count]:
        """Count in a sharded graph, with GPUs of this kind or none."""
        queries, several = as_queries(pattern)
        chosen = _chosen_of_count(options)
        patterns = [one for one in queries if isinstance(one, Pattern)]
        with self._here(pattern), progress_callback(options.get("progress", False), "counting") as callback:
            request = make_request(**chosen, progress=callback)
            deadline = Deadline.after(request.timeout)
            workers = self._workers
            if len(patterns) == len(queries):
                counts = count_sharded(workers, graph, patterns, request, deadline, kind)
            else:
                counts = count_queries_sharded(
                    workers, graph, queries, request, deadline, kind, named=several
                )
        return counts if several else counts[0]

    def _count_rows_sharded(
        self,
        graph: ShardedGraph,
        pattern: QueryLike | Sequence[QueryLike],
        options: CountOptions,
        kind: str | None,
    ) -> Count | list[Count]:
        """Count distinct rows in a sharded graph, and embeddings of patterns that ask for none.

        Parameters
        ----------
        kind
            The kind of device that counts embeddings; CPUs find distinct rows.
        """
        asked = options.get("distinct"), options.get("having")
        queries, several, projections = projections_of(pattern, *asked)
        chosen = _chosen_of_count(options)
        workers, found = self._workers, []
        with self._here(pattern), progress_callback(options.get("progress", False), "counting") as callback:
            request = make_request(**chosen, progress=callback)
            deadline = Deadline.after(request.timeout)
            parts = of_equal_parts(request.progress, len(queries))
            for at, (query, part) in enumerate(zip(queries, parts, strict=True)):
                projection = None if projections is None else projections[at]
                own = replace(request, progress=part)
                with naming_pattern(at if several else None), _one_of(several=several):
                    if projection is not None:
                        given = query, projection, own, deadline, kind
                        found.append(count_distinct_sharded(workers, graph, *given))
                    else:
                        found += count_queries_sharded(
                            workers, graph, [query], own, deadline, kind, named=False
                        )
        return found if several else found[0]

    @overload
    def match(  # type: ignore[overload-overlap]  # text is a sequence of texts too, but one pattern
        self,
        graph: GraphLike | ShardedGraph,
        pattern: QueryLike,
        *,
        output: None = ...,
        job: None = ...,
        **options: Unpack[MatchOptions],
    ) -> Matches: ...
    @overload
    def match(
        self,
        graph: GraphLike | ShardedGraph,
        pattern: Sequence[QueryLike],
        *,
        output: None = ...,
        job: None = ...,
        **options: Unpack[MatchOptions],
    ) -> list[Matches]: ...
    @overload
    def match(  # type: ignore[overload-overlap]
        self,
        graph: GraphLike | ShardedGraph,
        pattern: QueryLike,
        *,
        output: str | os.PathLike[str],
        job: str | None = ...,
        **options: Unpack[MatchOptions],
    ) -> WrittenRows: ...
    @overload
    def match(
        self,
        graph: GraphLike | ShardedGraph,
        pattern: Sequence[QueryLike],
        *,
        output: str | os.PathLike[str],
        job: str | None = ...,
        **options: Unpack[MatchOptions],
    ) -> list[WrittenRows]: ...
    def match(
        self,
        graph: GraphLike | ShardedGraph,
        pattern: QueryLike | Sequence[QueryLike],
        *,
        output: str | os.PathLike[str] | None = None,
        job: str | None = None,
        **options: Unpack[MatchOptions],
    ) -> Matches | list[Matches] | WrittenRows | list[WrittenRows]:
        """List embeddings; see `motiflux.match`.

        Tasks list the rows of patterns, of queries whose patterns are connected, and distinct rows of
        patterns. Rows of disconnected patterns, and distinct rows of a `Query`, pass through the driver,
        which holds what `motiflux.match` holds: all parts but one, and the different rows.
        Rows of a sharded graph are ids of vertices, without columns of edges and attributes. Distinct rows,
        with the images that decide thresholds, and the rows of all parts but one have to fit into the
        graph's `memory` here. With ``device="cuda"``, each task has one GPU, but CPUs find distinct rows;
        other rows of a `Query` need a sharded graph then.

        Parameters
        ----------
        output
            A folder that all nodes see, or a URI that pyarrow or fsspec knows, such as ``s3://bucket/rows``:
            rows are written into it as a Parquet data set, one file for each task. Without it, rows come back
            as they are found; those that wait for the reader are bounded. The order of rows is unspecified.
            For a list of patterns, the folder has a data set for each: ``pattern-000``, ``pattern-001``, ...
            Rows that pass through the driver are written by it.
        job
            A name, with `output`: a call with the same name, graph, pattern and options continues where an
            earlier one was lost or ran out of time. Rows that pass through the driver are listed anew then,
            unless all were written.

        Returns
        -------
        Matches, list of Matches, WrittenRows, or list of WrittenRows
            With `output`, the number of rows and files, and whether they are complete.

        Raises
        ------
        OutputError
            A file cannot be written; or the folder has files of something else.
        """
        gpus = self._on_gpus(graph, options)
        if job is not None and (output is None or not isinstance(job, str) or not job):
            raise ArgumentError("job", "a name, beside output=", job)
        where = "for a sharded graph" if isinstance(graph, ShardedGraph) else "of match"
        check_known(options, MatchOptions.__optional_keys__, where)
        if not isinstance(graph, ShardedGraph):
            _refuse_on_gpus(pattern, options)
        if output is not None:
            check_known(options, MatchOptions.__optional_keys__ - {"batch_rows"}, "beside output=")
        wanted = options.get("distinct"), options.get("having")
        queries, several, found_in = projections_of(pattern, *wanted)
        projections = [None] * len(queries) if found_in is None else found_in
        if several and not queries:
            return []
        with self._here(pattern, gpus):
            if output is not None:
                folders = folders_of(os.fspath(output), len(queries) if several else None)
                kind = _kind_of(gpus)
                if isinstance(graph, ShardedGraph):
                    both = list(zip(queries, projections, strict=True))
                    given = both, options, _chosen(options), folders, job, kind
                    written = write_sharded(self._workers, graph, *given)
                else:
                    asked = [Asked(*one) for one in zip(queries, projections, strict=True)]
                    rest = folders, job, options, _chosen(options)
                    written = write_rows(self._workers, self._graph(graph), asked, *rest)
                return written if several else written[0]
            found: list[Matches]
            if isinstance(graph, ShardedGraph):
                workers, chosen, kind = self._workers, _chosen(options), _kind_of(gpus)
                found = [
                    match_sharded(workers, graph, one, options, chosen, late=several, kind=kind)
                    if projection is None
                    else match_distinct_sharded(workers, graph, one, projection, options, chosen, kind)
                    for one, projection in zip(queries, projections, strict=True)
                ]
            else:
                return self._match_whole(
                    self._graph(graph), pattern, queries, projections, options, several=several
                )
            return found if several else found[0]

    def _match_whole(
        self,
        graph: Graph,
        pattern: QueryLike | Sequence[QueryLike],
        queries: Sequence[Pattern | Query],
        projections: Sequence[Projection | None],
        options: MatchOptions,
        *,
        several: bool,
    ) -> Matches | list[Matches]:
        """Return the rows of patterns and queries of a graph that fits a node."""
        chosen = _chosen(options)
        by_tasks = partial(match_query, self._workers, graph, options=options, chosen=chosen, late=several)
        if not several and isinstance(queries[0], Query) and projections[0] is None:
            one = by_tasks(query=queries[0])
            if one is not None:
                return one
        found: Matches | list[Matches] = match(graph, pattern, **options)
        if isinstance(found, list):
            for at, (query, projection) in enumerate(zip(queries, projections, strict=True)):
                if not isinstance(query, Query) or projection is not None:
                    continue
                one = by_tasks(query=query)
                if one is not None:
                    found[at].close()
                    found[at] = one
        return found

    @overload
    def estimate(  # type: ignore[overload-overlap]  # text is a sequence of texts too, but one pattern
        self, graph: GraphLike | ShardedGraph, pattern: QueryLike, **options: Unpack[EstimateOptions]
    ) -> Estimate: ...
    @overload
    def estimate(
        self,
        graph: GraphLike | ShardedGraph,
        pattern: Sequence[QueryLike],
        **options: Unpack[EstimateOptions],
    ) -> list[Estimate]: ...
    def estimate(
        self,
        graph: GraphLike | ShardedGraph,
        pattern: QueryLike | Sequence[QueryLike],
        **options: Unpack[EstimateOptions],
    ) -> Estimate | list[Estimate]:
        """Estimate the number of embeddings; see `motiflux.estimate`: the same result to the last bit.

        With ``device="cuda"``, each task has one GPU; a `SamplingPolicy` needs that.

        In a sharded graph, a sample is the exact count of a range of entries, the estimator is ``"ranges"``,
        and all entries are counted where that is less work: unless the rows take some ten times `memory`; a
        `progress` function gets `EstimateCounting` objects then. Disconnected patterns are estimated by sums
        of products of such estimates, which hold at once; progress is that of one after another, and of no
        number where all is counted. For a seed the estimate is the same on any
        number of workers, except with a timeout.
        """
        gpus = self._on_gpus(graph, options)
        if isinstance(graph, ShardedGraph):
            check_known(options, EstimateOptions.__optional_keys__)
            queries, several = as_queries(pattern)
            with self._here(pattern):
                chosen, kind = _chosen(options), _kind_of(gpus)
                estimates = estimate_sharded(self._workers, graph, queries, options, chosen, kind)
            return estimates if several else estimates[0]
        with self._here(pattern, gpus):
            data = self._graph(graph)
            found: Estimate | list[Estimate] = estimate(data, pattern, **options)
            return found

    def sample(
        self, graph: GraphLike | ShardedGraph, pattern: QueryLike, k: int, **options: Unpack[SampleOptions]
    ) -> Matches:
        """Draw embeddings at random; see `motiflux.sample`: the same rows, also with ``device="cuda"``.

        In a sharded graph all ranges of entries are counted, and those that are drawn are listed, so `k` rows
        take the time of a count and of some listings, of all patterns of a query. They are others than those
        of the whole graph; for a seed, the files and `memory`, they are the same on any number of workers. If
        time is up there are none. They have to fit into `memory`. With ``device="cuda"``, GPUs count, and
        CPUs list. Of such a graph alone there is `progress`, as that of `count`.
        """
        if isinstance(graph, ShardedGraph):
            gpus = self._on_gpus(graph, options)
            check_known(options, SampleOptions.__optional_keys__)
            query = as_query(pattern)
            with self._here(pattern):
                chosen, kind = _chosen(options), _kind_of(gpus)
                return sample_sharded(self._workers, graph, query, k, options, chosen, kind)
        given: dict[str, Any] = dict(options)
        if given.pop("progress", False):
            raise ArgumentError("progress", "False but for a sharded graph", options.get("progress"))
        with self._here(pattern, self._on_gpus(graph, options)):
            return sample(self._graph(graph), pattern, k, **given)

    def count_per_vertex(
        self, graph: GraphLike | ShardedGraph, pattern: PatternLike, **options: Unpack[VertexOptions]
    ) -> VertexCounts:
        """Count the embeddings at each vertex; see `motiflux.count_per_vertex`.

        With ``device="cuda"``, each GPU counts a share, and all have to be of one kind.

        For a sharded graph, each worker takes 8 bytes of its memory for each vertex of the graph and query
        vertex that is counted, and the caller 16 for a vertex and 8 for each of its counts; ``.graph`` of the
        result has all vertices, and no edges. A GPU takes 8 bytes for each vertex of a part and such query
        vertex.
        """
        gpus = self._on_gpus(graph, options)
        if isinstance(graph, ShardedGraph):
            check_known(options, VertexOptions.__optional_keys__)
            query, kind = as_pattern(pattern), _kind_of(gpus)
            counter = ShardedImageCounter(self._workers, graph, kind)
            with self._here(pattern), doing_elsewhere(_Counting(counter)):
                return count_per_vertex_sharded(self._workers, graph, query, options, kind)
        with self._here(pattern, gpus):
            return count_per_vertex(self._graph(graph), pattern, **options)

    @overload
    def count_per_edge(
        self,
        graph: GraphLike | ShardedGraph,
        pattern: PatternLike,
        *,
        output: None = ...,
        **options: Unpack[VertexOptions],
    ) -> EdgeCounts: ...
    @overload
    def count_per_edge(
        self,
        graph: ShardedGraph,
        pattern: PatternLike,
        *,
        output: str | os.PathLike[str],
        **options: Unpack[VertexOptions],
    ) -> WrittenRows: ...
    def count_per_edge(
        self,
        graph: GraphLike | ShardedGraph,
        pattern: PatternLike,
        *,
        output: str | os.PathLike[str] | None = None,
        **options: Unpack[VertexOptions],
    ) -> EdgeCounts | WrittenRows:
        """Count the embeddings at each edge; see `motiflux.count_per_edge`.

        For a sharded graph, the result has the edges with a count above 0, and only these: ``.graph`` has all
        vertices and these edges. They have to fit into the graph's `memory`; with `output`, into none. With
        ``device="cuda"``, each task that searches has one GPU, which takes 8 bytes for each arc of a part and
        query edge that is counted. Other graphs have no such device here.

        Parameters
        ----------
        output
            Of a sharded graph: a folder, or its URI, for a Parquet data set of the edges with a count above
            0, with the columns of ``.to_arrow()``: the ids of both ends, the label if there are several, and
            the counts.

        Returns
        -------
        EdgeCounts
            With `output`: `WrittenRows`.

        Raises
        ------
        ClusterError
            The edges with counts do not fit into the memory of the graph.
        OutputError
            `output` has files, or cannot be written to.
        CountOverflowError
            With `output`, a count passes 2^63 - 1.
        """
        if isinstance(graph, ShardedGraph):
            gpus = self._on_gpus(graph, options)
            check_known(options, VertexOptions.__optional_keys__)
            query, kind = as_pattern(pattern), _kind_of(gpus)
            with self._here(pattern):
                return count_per_edge_sharded(self._workers, graph, query, options, _folder(output), kind)
        self._check(options)
        if output is not None:
            raise ArgumentError("output", "None: only counts of a sharded graph are written", output)
        with self._here(pattern):
            return count_per_edge(self._graph(graph), pattern, **options)

    @overload
    def edge_orbits(
        self, graph: ShardedGraph, size: int = ..., *, output: None = ..., **options: Unpack[OrbitOptions]
    ) -> EdgeOrbitCounts: ...
    @overload
    def edge_orbits(
        self,
        graph: ShardedGraph,
        size: int = ...,
        *,
        output: str | os.PathLike[str],
        **options: Unpack[OrbitOptions],
    ) -> WrittenRows: ...
    def edge_orbits(
        self,
        graph: ShardedGraph,
        size: int = 4,
        *,
        output: str | os.PathLike[str] | None = None,
        **options: Unpack[OrbitOptions],
    ) -> EdgeOrbitCounts | WrittenRows:
        """Count the orbits of each edge of a sharded graph; see `motiflux.edge_orbits`: the same counts.

        Each graphlet is counted at its edges as an induced pattern: 8 of three and four vertices, 29 of up to
        five. The result has the edges with a count above 0, as that of `count_per_edge`.

        Parameters
        ----------
        size
            4 or 5.
        output
            As for `count_per_edge`.
        options
            `timeout`: seconds of the whole call, after which there are no edges and ``.complete`` is False;
            `device`, `gpu_memory`, `progress`, `threads` and `tuning` as for `count`.

        Raises
        ------
        ArgumentError
            The graph is not sharded: `motiflux.edge_orbits` counts its orbits on one machine, in less time
            than searches of all graphlets take.
        """
        if not isinstance(graph, ShardedGraph):
            raise ArgumentError("graph", "a sharded graph; motiflux.edge_orbits takes others", graph)
        check_known(options, OrbitOptions.__optional_keys__)
        kind = _kind_of(self._on_gpus(graph, options))
        size = check_integer("size", size, 4, 5)
        with self._here(f"orbits of edges of {size}"):
            return edge_orbits_sharded(self._workers, graph, size, options, _folder(output), kind)

    def orbits(self, graph: ShardedGraph, size: int = 4, **options: Unpack[OrbitOptions]) -> OrbitCounts:
        """Count the orbits of each vertex of a sharded graph; see `motiflux.orbits`: the same counts.

        Each graphlet is counted at its vertices as an induced pattern: 3 of up to three vertices, 9 of up to
        four, 30 of up to five. Memory is that of `count_per_vertex`.

        Parameters
        ----------
        size
            3, 4 or 5.
        options
            `timeout`: seconds of the whole call, after which all counts are 0 and ``.complete`` is False;
            `device`, `gpu_memory`, `progress`, `threads` and `tuning` as for `count`.

        Raises
        ------
        ArgumentError
            The graph is not sharded: `motiflux.orbits` counts its orbits on one machine, in less time than
            searches of all graphlets take.
        """
        if not isinstance(graph, ShardedGraph):
            raise ArgumentError("graph", "a sharded graph; motiflux.orbits takes others", graph)
        check_known(options, OrbitOptions.__optional_keys__)
        gpus = self._on_gpus(graph, options)
        given: dict[str, Any] = dict(options)
        timeout = given.pop("timeout", None)
        deadline = Deadline.after(None if timeout is None else check_seconds("timeout", timeout))
        size = check_integer("size", size, 3, 5)
        kind = _kind_of(gpus)
        counter = ShardedImageCounter(self._workers, graph, kind)
        with self._here(f"orbits of {size}"), doing_elsewhere(_Counting(counter)):
            return orbits_sharded(self._workers, graph, size, deadline, given, kind)

    def explain(
        self,
        graph: GraphLike | ShardedGraph,
        pattern: QueryLike,
        *,
        analyze: bool = False,
        **options: Unpack[CountOptions],
    ) -> Explanation:
        """Explain a count; see `motiflux.explain`: also about how many tasks it has, and its time.

        For a sharded graph it tells whose rows are read, in about how many parts, and the least memory; of
        distinct rows, how a listing of all rows is cut, and how much memory each different one takes. With
        ``device="cuda"`` it tells how a count on GPUs is cut; a task looks at one of them.
        """
        if not isinstance(graph, ShardedGraph):
            _refuse_on_gpus(pattern, options)
        gpus = self._on_gpus(graph, options)
        if isinstance(graph, ShardedGraph):
            asked = options.get("distinct"), options.get("having")
            queries, several, found = projections_of(pattern, *asked)
            chosen = _chosen_of_count(options)
            if several:
                raise ArgumentError("pattern", "one pattern", pattern)
            report = progress_callback(options.get("progress", False) if analyze else False, "counting")
            with self._here(pattern), report as callback:
                request = make_request(**chosen, progress=callback)
                given = queries[0], request, gpus, None if found is None else found[0]
                return explain_sharded(self._workers, graph, *given, analyze=analyze)
        with self._here(pattern, gpus):
            return explain(self._graph(graph), pattern, analyze=analyze, **options)

    def census(
        self, graph: GraphLike | ShardedGraph, size: int = 3, **options: Unpack[CensusOptions]
    ) -> Census:
        """Count the subgraphs of three or four vertices; see `motiflux.census`. This is one task.

        In a sharded graph each connected class is counted by a search, with ``device="cuda"`` on GPUs; those
        of four vertices have no directions there.
        """
        if isinstance(graph, ShardedGraph):
            check_known(options, CensusOptions.__optional_keys__)
            gpus = self._on_gpus(graph, options)
            given: dict[str, Any] = dict(options)
            report = progress_callback(given.get("progress", False), "counting")
            with self._here("census"), report as callback:
                given["callback"] = callback
                return census_sharded(self._workers, graph, size, given, _kind_of(gpus))
        self._check(options)
        if (memory := options.get("gpu_memory")) is not None:
            raise ArgumentError("gpu_memory", "None: a census of a graph that fits a node takes CPUs", memory)
        chosen = {name: value for name, value in options.items() if name not in ("device", "gpu_memory")}
        found: Census = self._whole("census", self._graph(graph), size, chosen)
        return found

    def _whole(self, name: str, graph: Graph, argument: Any, options: Mapping[str, Any]) -> Any:
        """Return the result of a call that is one task on the largest node, which is its unit of progress."""
        workers = self._workers
        timeout = options.get("timeout")
        seconds = None if timeout is None else check_seconds("timeout", timeout)
        deadline = Deadline.after(None if seconds is None else seconds + _BEGIN_SECONDS)
        given = {name: value for name, value in options.items() if name != "progress"}
        if given.get("threads") is None:
            given["threads"] = workers.node_cpus
        with progress_callback(options.get("progress", False), name) as report:
            began = time.perf_counter()
            if report is not None:
                report(ProgressReport(0, 1, 0, 0.0))
            found = workers.whole(
                name,
                call_whole,
                workers.share(graph),
                deadline,
                graph=graph,
                arguments=(name, (argument,), given),
            )
            if report is not None and found is not None:
                number = found if isinstance(found, int) else 0
                report(ProgressReport(1, 1, int(number), time.perf_counter() - began))
        if found is None:
            raise ClusterError(f"{name}: the cluster has had no free node for {_BEGIN_SECONDS:g} s")
        return found


def _refuse_on_gpus(pattern: QueryLike | Sequence[QueryLike], options: CountOptions | MatchOptions) -> None:
    """Refuse counts and rows of graphs that fit a node that a call on GPUs does not make."""
    device = options.get("device", "auto")
    if device in ("auto", "cpu"):
        return
    if options.get("copies"):
        raise ArgumentError("device", f"{ON_CPUS} beside copies=", device)
    queries, _, projections = projections_of(pattern, options.get("distinct"), options.get("having"))
    for query, projection in zip(queries, projections or [None] * len(queries), strict=True):
        if isinstance(query, Query) and projection is None:
            raise ArgumentError("device", f"{ON_CPUS} for patterns with OPTIONAL or paths", device)


def _kind_of(gpus: OnGpus | None) -> str | None:
    """Return the kind of the devices of a call; None for CPUs."""
    return None if gpus is None else gpus.kind


def _folder(output: str | os.PathLike[str] | None) -> str | None:
    return None if output is None else os.fspath(output)


class _Counting:
    """Does the counts by images of a call elsewhere."""

    def __init__(self, counter: ImageCounter) -> None:
        self._counter = counter

    def image_counter(self, why_host: str | None) -> ImageCounter:
        """Return who counts by images."""
        return self._counter


@contextmanager
def _one_of(*, several: bool) -> Iterator[None]:
    """Have an interrupt keep no result of one query if the call has several."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if several:
            replace_partial(stop, None)
        raise


def _chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a search, with the default ones."""
    known = ("semantics", "symmetry", "limit", "timeout", "threads", "gpu_memory", "tuning")
    chosen = {name: options[name] for name in known if name in options}
    return {"semantics": "isomorphism", "symmetry": "embeddings"} | chosen


def _chosen_of_count(options: CountOptions) -> dict[str, Any]:
    """Return the options of a count in a sharded graph, with the default ones."""
    check_known(options, CountOptions.__optional_keys__)
    return _chosen(options) | {name: options[name] for name in ("copies",) if name in options}
