"""`mf.Cluster`: the calls of motiflux on the machines of a Ray cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from motiflux.api.counting import count
from motiflux.api.estimating import estimate
from motiflux.api.explaining import Explanation, explain
from motiflux.api.listing import Listing, Search
from motiflux.api.matching import DEFAULT_BATCH_ROWS, match
from motiflux.api.pattern_list import as_queries
from motiflux.api.per_vertex import count_per_edge, count_per_vertex
from motiflux.api.random_rows import sample
from motiflux.api.subject import GraphLike, data_graph
from motiflux.arguments import check_bytes, check_integer, check_seconds
from motiflux.cluster.connection import connect
from motiflux.cluster.digests import digest_of
from motiflux.cluster.engine import ClusterEngine
from motiflux.cluster.images import ClusterImageCounter
from motiflux.cluster.jobs import RowJob, WrittenRows, folders_of, run_jobs
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
from motiflux.cluster.records import TaskLog, TaskRecord
from motiflux.cluster.sampler import ClusterSampler, TreeDraws
from motiflux.cluster.shards.census import census_sharded
from motiflux.cluster.shards.counting import count_sharded, patterns_of
from motiflux.cluster.shards.estimating import estimate_sharded
from motiflux.cluster.shards.explaining import explain_sharded
from motiflux.cluster.shards.matching import match_sharded, write_sharded
from motiflux.cluster.shards.orbits import orbits_sharded
from motiflux.cluster.shards.sharded import ShardedGraph, make_shards, open_shards
from motiflux.cluster.shards.vertices import ShardedImageCounter, vertices_of
from motiflux.cluster.tasks import Columns, call_whole
from motiflux.cluster.workers import Workers
from motiflux.errors import ArgumentError, ClusterError
from motiflux.graph import Graph
from motiflux.interop import ColumnName
from motiflux.pattern import Pattern, PatternLike, Query, QueryLike
from motiflux.pattern.asked import asks_for_rows
from motiflux.plan import Plan
from motiflux.request.deadline import Deadline
from motiflux.request.elsewhere import doing_elsewhere
from motiflux.request.engine import Engine
from motiflux.request.images import ImageCounter
from motiflux.request.progress import progress_callback
from motiflux.request.request import Request, check_device, make_request
from motiflux.request.sampler import Sampler
from motiflux.result.census import Census
from motiflux.result.count import Count
from motiflux.result.estimate import Estimate
from motiflux.result.image_counts import EdgeCounts, OrbitCounts, VertexCounts
from motiflux.result.matches import Matches
from motiflux.types import VertexArray

if TYPE_CHECKING:
    from motiflux.cluster.gpu_engine import GpuClusterEngine, OnGpus

_MFG = ".mfg"
_ON_CPUS = "'auto' or 'cpu' on a cluster"
_SHARDED = "a graph that fits a node: sharded graphs are counted, listed and estimated"
_SHARD_MEMORY = 1 << 30
"""Default bytes of a worker for a sharded graph."""
_BEGIN_SECONDS = 60.0
"""Seconds within which a task that is a whole call begins, if the call has a timeout."""


class Cluster:
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

    def __init__(
        self,
        address: str | None = None,
        *,
        threads: int = 1,
        cpus: int | None = None,
        object_store: int | str | None = None,
        dashboard: bool = False,
        log_to_driver: bool = False,
        task_log: str | os.PathLike[str] | None = None,
    ) -> None:
        threads = check_integer("threads", threads, 1, 1024)
        log = TaskLog(task_log)
        self._connection = connect(
            address, cpus=cpus, store=object_store, dashboard=dashboard, log_to_driver=log_to_driver
        )
        self._workers = Workers(self._connection, threads, log)
        self._sharded: list[ShardedGraph] = []
        if self._workers.node_cpus < threads:
            self.close()
            raise ArgumentError("threads", f"at most {self._workers.node_cpus}, the CPUs of a node", threads)
        self._workers.begin()
        self._trees = TreeDraws(self._workers)
        self._engine = ClusterEngine(self._workers)
        self._gpus: dict[str, OnGpus] = {}

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Cluster({self._workers.device})" if self._workers.open else "Cluster(closed)"

    def close(self) -> None:
        """End the connection, and a cluster that was started for it."""
        if self._workers.open:
            self._workers.open = False
            for graph in self._sharded:
                graph.close()
            self._workers.records.close()
            self._connection.close()

    def map_file(self, graph: Graph, path: str | os.PathLike[str]) -> None:
        """Have workers map the ``.mfg`` file that a graph was opened from, if all nodes see it.

        Paths that are given to a call in the place of the graph need no such call.

        Raises
        ------
        ArgumentError
            The file is no ``.mfg`` file, or has another graph now.
        """
        if Path(path).suffix != _MFG:
            raise ArgumentError("path", f"an {_MFG} file", str(path))
        if digest_of(data_graph(path)) != digest_of(graph):
            raise ArgumentError("path", "the file that the graph was opened from", f"another graph in {path}")
        self._workers.note_path(graph, path)

    @property
    def tasks(self) -> list[TaskRecord]:
        """The tasks that ended, the last 100,000: what they searched for, where, and how long."""
        return self._workers.records.tasks

    def shard(
        self,
        paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        folder: str | os.PathLike[str],
        *,
        directed: bool | None = None,
        src: ColumnName | None = None,
        dst: ColumnName | None = None,
        label: ColumnName | None = None,
        vertices: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
        vertex_id: ColumnName | None = None,
        vertex_label: ColumnName | None = None,
        memory: int | str = _SHARD_MEMORY,
        shards: int | None = None,
    ) -> ShardedGraph:
        """Build a graph that no node has to hold: its rows are sharded over the nodes.

        Each file is read by one task; no process has more than a part of the rest of the graph.

        Parameters
        ----------
        paths
            Files of edges, of any format that `motiflux.read_graph` reads, with integer ids. Together they
            are one graph; an edge that several have is one edge.
        folder
            A folder that all nodes see, for the shards; `open_sharded` opens them again.
        directed, src, dst, label
            As for `motiflux.read_graph`, for each file.
        vertices
            Tables of vertices: with `vertex_label`, the label of each vertex; and vertices without an edge.
            All other columns are attributes, for conditions of patterns. Then each vertex is in one table at
            most; values of a column that a table does not have are missing.
        vertex_id, vertex_label
            Their columns.
        memory
            Bytes that each worker may use for all that depends on the graph, in building and in searches:
            an integer, or text such as ``"4GiB"``.
        shards
            Number of shards; default: one for each node, or more, so that building one fits into `memory`.

        Returns
        -------
        ShardedGraph
            For `count`, `explain`, `match`, `count_per_vertex`, `estimate`, `orbits` and `census`. Others
            refuse it.

        Raises
        ------
        GraphError, FormatError
            A file cannot be read, has ids that are no integers, or does not fit to the others.
        OutputError
            The folder has a sharded graph, or cannot be written to.
        """
        room = check_bytes("memory", memory)
        number = None if shards is None else check_integer("shards", shards, 1, 1 << 16, or_none=True)
        edges, tables = _paths(paths), _paths(vertices)
        options = {"directed": directed, "src": src, "dst": dst, "label": label}
        chosen = {name: value for name, value in options.items() if value is not None}
        of_vertices = {"vertex_id": vertex_id, "vertex_label": vertex_label}
        make_shards(self._workers, edges, tables, _absolute(folder), chosen, of_vertices, room, number)
        return self.open_sharded(folder, memory=memory)

    def open_sharded(
        self, folder: str | os.PathLike[str], *, memory: int | str = _SHARD_MEMORY
    ) -> ShardedGraph:
        """Open a graph that `shard` built.

        Parameters
        ----------
        folder
            Its folder, which all nodes see.
        memory
            As for `shard`.

        Raises
        ------
        FormatError
            The folder has no sharded graph, or a damaged one.
        ClusterError
            A node does not see the folder.
        """
        found = open_shards(self._workers, _absolute(folder), check_bytes("memory", memory))
        self._sharded.append(found)
        return found

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

        Several patterns are searched at once. With `distinct` and `having`, a call is one task. With
        ``device="cuda"``, each task has one GPU, on which the graph has to fit and stays for later calls. All
        GPUs that count have to be of one kind. Of a sharded graph, parts of `memory` bytes are on the GPU.

        Returns
        -------
        Count, or list of Count
            ``.engine`` is ``"cluster"``.

        Raises
        ------
        DeviceError
            ``device="cuda"``, and no node has a GPU for a task.
        DeviceMemoryError
            The graph or the search does not fit on a GPU, or into `gpu_memory`.
        """
        if options.get("device", "auto") not in ("auto", "cpu"):
            _refuse_on_gpus(pattern, options)
        gpus = self._on_gpus(graph, options, shards=True)
        if isinstance(graph, ShardedGraph):
            return self._count_sharded(graph, pattern, options, None if gpus is None else options["device"])
        data = self._graph(graph)
        rows = options.get("distinct") is not None or options.get("having") is not None
        if gpus is None and (rows or asks_for_rows(pattern) or options.get("copies")):
            counted: Count | list[Count] = self._whole("count", data, pattern, options)
            return counted
        with self._here(pattern, gpus):
            found: Count | list[Count] = count(data, pattern, **options)
            return found

    def _count_sharded(
        self,
        graph: ShardedGraph,
        pattern: QueryLike | Sequence[QueryLike],
        options: CountOptions,
        kind: str | None = None,
    ) -> Count | list[Count]:
        """Count in a sharded graph, with GPUs of this kind or none."""
        patterns, several, chosen = self._sharded_count(pattern, options)
        with self._here(pattern), progress_callback(options.get("progress", False), "counting") as callback:
            request = make_request(**chosen, progress=callback)
            deadline = Deadline.after(request.timeout)
            counts = count_sharded(self._workers, graph, patterns, request, deadline, kind)
        return counts if several else counts[0]

    def _sharded_count(
        self, pattern: QueryLike | Sequence[QueryLike], options: CountOptions
    ) -> tuple[list[Pattern], bool, dict[str, Any]]:
        """Return the patterns of a count in a sharded graph, if there are several, and its options."""
        check_known(options, CountOptions.__optional_keys__)
        for name in ("distinct", "having"):
            if options.get(name) is not None:
                raise ArgumentError(name, "None for a sharded graph", options.get(name))
        if asks_for_rows(pattern):
            raise ArgumentError("pattern", "no DISTINCT for a sharded graph", pattern)
        queries, several = as_queries(pattern)
        chosen = _chosen(options)
        chosen |= {name: options[name] for name in ("copies", "gpu_memory") if name in options}
        return patterns_of(pattern, queries), several, chosen

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
        """List embeddings; see `motiflux.match`. Rows of a `Query`, and distinct ones, are for one machine.

        Rows of a sharded graph are ids of vertices, without columns of edges and attributes. With
        ``device="cuda"``, each task has one GPU.

        Parameters
        ----------
        output
            A folder that all nodes see, or a URI that pyarrow or fsspec knows, such as ``s3://bucket/rows``:
            rows are written into it as a Parquet data set, one file for each task. Without it, rows come back
            as they are found; those that wait for the reader are bounded. The order of rows is unspecified.
            For a list of patterns, the folder has a data set for each: ``pattern-000``, ``pattern-001``, ...
        job
            A name, with `output`: a call with the same name, graph, pattern and options continues where an
            earlier one was lost or ran out of time.

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
        if asks_for_rows(pattern):
            raise ArgumentError("pattern", "no DISTINCT: distinct rows are listed by motiflux.match", pattern)
        if isinstance(graph, ShardedGraph):
            check_known(options, MatchOptions.__optional_keys__)
        if output is not None:
            check_known(options, MatchOptions.__optional_keys__ - {"batch_rows"}, "beside output=")
        queries, several = as_queries(pattern)
        if any(isinstance(query, Query) for query in queries):
            raise ArgumentError("pattern", "patterns; rows of others are listed by motiflux.match", pattern)
        patterns = [query for query in queries if isinstance(query, Pattern)]
        if several and not patterns:
            return []
        with self._here(pattern, gpus):
            if output is not None:
                folders = folders_of(os.fspath(output), len(patterns) if several else None)
                written = self._write(graph, patterns, folders, job, options)
                return written if several else written[0]
            found: list[Matches]
            if isinstance(graph, ShardedGraph):
                workers, chosen = self._workers, _chosen(options)
                found = [
                    match_sharded(workers, graph, one, options, chosen, late=several) for one in patterns
                ]
            else:
                found = match(self._graph(graph), patterns, **options)
            return found if several else found[0]

    def _write(
        self,
        subject: GraphLike | ShardedGraph,
        patterns: Sequence[Pattern],
        folders: Sequence[str],
        job: str | None,
        options: MatchOptions,
    ) -> list[WrittenRows]:
        """Write the rows of each pattern into a data set in a folder of its own."""
        chosen = _chosen(options)
        if isinstance(subject, ShardedGraph):
            return write_sharded(self._workers, subject, patterns, options, chosen, folders, job)
        graph = self._graph(subject)
        with progress_callback(options.get("progress", False), "matching") as callback:
            device, engine = options.get("device", "auto"), options.get("engine", "auto")
            memory = options.get("gpu_memory")
            request = make_request(
                **chosen, device=device, engine=engine, gpu_memory=memory, progress=callback
            )
            edges, names = options.get("edges", False), options.get("names", False)
            attributes = options.get("attributes", ())
            listing = Listing(graph, request, DEFAULT_BATCH_ROWS, edges, attributes, names)
            deadline: Deadline | None = None
            searches = []
            for pattern in patterns:
                listing.columns(pattern)  # raises what it refuses
                searches.append(Search(listing, pattern, deadline))
                deadline = searches[-1].deadline
            assert deadline is not None  # there is a pattern
            planned = time.perf_counter()
            jobs = []
            for at, (pattern, search, folder) in enumerate(zip(patterns, searches, folders, strict=True)):
                asked, tasks = listing.for_pattern(pattern), None
                columns = Columns(pattern, edges, tuple(attributes), names)
                found = cast("ClusterEngine | GpuClusterEngine", search.engine)
                if search.physical is not None:
                    tasks = found.row_tasks(graph, search.physical, asked, deadline, columns)
                if tasks is None:
                    said = "match: time was up before the search was planned; nothing was written"
                    raise ClusterError(said)
                number = f", {at + 1}" if len(patterns) > 1 else ""
                jobs.append(RowJob(self._workers, tasks, tasks.plan, asked, folder, job, number, tasks.slots))
            return run_jobs(self._workers, jobs, request, deadline, planned)

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
        and all entries are counted where that is less work: unless the rows take some ten times `memory`. For
        a seed the estimate is the same on any number of workers, except with a timeout.
        """
        gpus = self._on_gpus(graph, options)
        if isinstance(graph, ShardedGraph):
            check_known(options, EstimateOptions.__optional_keys__)
            queries, several = as_queries(pattern)
            patterns = patterns_of(pattern, queries)
            with self._here(pattern):
                estimates = estimate_sharded(self._workers, graph, patterns, options, _chosen(options))
            return estimates if several else estimates[0]
        with self._here(pattern, gpus):
            data = self._graph(graph)
            found: Estimate | list[Estimate] = estimate(data, pattern, **options)
            return found

    def sample(
        self, graph: GraphLike, pattern: QueryLike, k: int, **options: Unpack[SampleOptions]
    ) -> Matches:
        """Draw embeddings at random; see `motiflux.sample`: the same rows, also with ``device="cuda"``."""
        with self._here(pattern, self._on_gpus(graph, options)):
            return sample(self._graph(graph), pattern, k, **options)

    def count_per_vertex(
        self, graph: GraphLike | ShardedGraph, pattern: PatternLike, **options: Unpack[VertexOptions]
    ) -> VertexCounts:
        """Count the embeddings at each vertex; see `motiflux.count_per_vertex`.

        With ``device="cuda"``, each GPU counts a share, and all have to be of one kind.

        For a sharded graph, each worker takes 8 bytes of its memory for each vertex of the graph and query
        vertex that is counted, and the caller 16 for a vertex and 8 for each of its counts; ``.graph`` of the
        result has all vertices, and no edges.
        """
        gpus = self._on_gpus(graph, options)
        if isinstance(graph, ShardedGraph):
            check_known(options, VertexOptions.__optional_keys__)
            counter = ShardedImageCounter(self._workers, graph)
            with self._here(pattern), doing_elsewhere(_Counting(counter)):
                return count_per_vertex(vertices_of(graph), pattern, **options)
        with self._here(pattern, gpus):
            return count_per_vertex(self._graph(graph), pattern, **options)

    def count_per_edge(
        self, graph: GraphLike, pattern: PatternLike, **options: Unpack[VertexOptions]
    ) -> EdgeCounts:
        """Count the embeddings at each edge; see `motiflux.count_per_edge`.

        A sharded graph is refused: the result would have all of its edges in one process.
        """
        self._check(options)
        if isinstance(graph, ShardedGraph):
            expected = "a graph that fits a node: the result has all edges, which are sharded here"
            raise ArgumentError("graph", expected, graph)
        with self._here(pattern):
            return count_per_edge(self._graph(graph), pattern, **options)

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
            `threads` and `tuning` as for `count`.

        Raises
        ------
        ArgumentError
            The graph is not sharded: `motiflux.orbits` counts its orbits on one machine, in less time than
            searches of all graphlets take.
        """
        if not isinstance(graph, ShardedGraph):
            raise ArgumentError("graph", "a sharded graph; motiflux.orbits takes others", graph)
        check_known(options, OrbitOptions.__optional_keys__)
        given: dict[str, Any] = dict(options)
        timeout = given.pop("timeout", None)
        deadline = Deadline.after(None if timeout is None else check_seconds("timeout", timeout))
        size = check_integer("size", size, 3, 5)
        counter = ShardedImageCounter(self._workers, graph)
        with self._here(f"orbits of {size}"), doing_elsewhere(_Counting(counter)):
            return orbits_sharded(graph, size, deadline, given)

    def explain(
        self,
        graph: GraphLike | ShardedGraph,
        pattern: QueryLike,
        *,
        analyze: bool = False,
        **options: Unpack[CountOptions],
    ) -> Explanation:
        """Explain a count; see `motiflux.explain`: also about how many tasks it has, and its time.

        For a sharded graph it tells whose rows are read, in about how many parts, and the least memory.
        """
        self._check(options)
        if isinstance(graph, ShardedGraph):
            patterns, several, chosen = self._sharded_count(pattern, options)
            if several:
                raise ArgumentError("pattern", "one pattern", pattern)
            report = progress_callback(options.get("progress", False) if analyze else False, "counting")
            with self._here(pattern), report as callback:
                request = make_request(**chosen, progress=callback)
                return explain_sharded(self._workers, graph, patterns[0], request, analyze=analyze)
        with self._here(pattern):
            return explain(self._graph(graph), pattern, analyze=analyze, **options)

    def census(
        self, graph: GraphLike | ShardedGraph, size: int = 3, **options: Unpack[CensusOptions]
    ) -> Census:
        """Count the subgraphs of three or four vertices; see `motiflux.census`. This is one task.

        In a sharded graph each connected class is counted by a search; those of four vertices have no
        directions there.
        """
        if isinstance(graph, ShardedGraph):
            check_known(options, CensusOptions.__optional_keys__)
            given: dict[str, Any] = dict(options)
            report = progress_callback(given.get("progress", False), "counting")
            with self._here("census"), report as callback:
                return census_sharded(self._workers, graph, size, {**given, "callback": callback})
        found: Census = self._whole("census", self._graph(graph), size, options)
        return found

    def _whole(self, name: str, graph: Graph, argument: Any, options: Mapping[str, Any]) -> Any:
        """Return the result of a call that is one task on the largest node."""
        workers = self._workers
        timeout = options.get("timeout")
        seconds = None if timeout is None else check_seconds("timeout", timeout)
        deadline = Deadline.after(None if seconds is None else seconds + _BEGIN_SECONDS)
        given = {name: value for name, value in options.items() if name != "progress"}
        if given.get("threads") is None:
            given["threads"] = workers.node_cpus
        found = workers.whole(
            name,
            call_whole,
            workers.share(graph),
            deadline,
            graph=graph,
            arguments=(name, (argument,), given),
        )
        if found is None:
            raise ClusterError(f"{name}: the cluster has had no free node for {_BEGIN_SECONDS:g} s")
        return found

    def _graph(self, graph: GraphLike) -> Graph:
        """Return the graph of a call, and remember the path of a file that can be mapped."""
        if isinstance(graph, ShardedGraph):
            raise ArgumentError("graph", _SHARDED, graph)
        data = data_graph(graph)
        if isinstance(graph, (str, os.PathLike)) and Path(graph).suffix == _MFG:
            self._workers.note_path(data, graph)
        return data

    def _check(self, options: Mapping[str, Any], gpus: str | None = None) -> None:
        """Refuse options that a cluster does not have, or its tasks on GPUs of the kind `gpus`."""
        device, engine = options.get("device", "auto"), options.get("engine", "auto")
        if device not in ("auto", "cpu", gpus):
            raise ArgumentError("device", "'auto' or 'cpu' for this call on a cluster", device)
        if options.get("devices") is not None:
            raise ArgumentError("devices", "None on a cluster", options["devices"])
        if engine not in ("auto", "cpu" if gpus is None else "dfs"):
            one = "'cpu'" if gpus is None else f"'dfs' beside device={gpus!r}"
            raise ArgumentError("engine", f"'auto' or {one} on a cluster", engine)

    def _on_gpus(self, graph: object, options: Mapping[str, Any], *, shards: bool = False) -> OnGpus | None:
        """Return who does a call whose tasks have one GPU each; None for one on CPUs. Check its options.

        `shards`: whether the call is one that GPUs do for sharded graphs, too.
        """
        asked = options.get("device", "auto")
        on_cpus = asked in ("auto", "cpu")
        sharded = isinstance(graph, ShardedGraph) and (on_cpus or not shards)
        if sharded and options.get("gpu_memory") is not None:
            raise ArgumentError("gpu_memory", "None for a sharded graph", options["gpu_memory"])
        if on_cpus:
            self._check(options)
            return None
        kind = check_device(asked)
        if ":" in kind:
            raise ArgumentError("device", "'cuda' on a cluster, where Ray assigns GPUs to tasks", kind)
        if sharded:
            raise ArgumentError("device", f"{_ON_CPUS} for a sharded graph", kind)
        self._check(options, kind)
        if kind not in self._gpus:  # imported by calls that need it
            from motiflux.cluster.gpu_engine import OnGpus

            self._gpus[kind] = OnGpus(self._workers, kind, self._engine)
        self._gpus[kind].check()
        return self._gpus[kind]

    @contextmanager
    def _here(self, pattern: object, gpus: OnGpus | None = None) -> Iterator[None]:
        """Have calls in a ``with`` block done by the cluster, or by its GPUs."""
        self._workers.pattern = _short(pattern)
        with doing_elsewhere(self if gpus is None else gpus):
            yield

    def engine(self, why_host: str | None) -> tuple[Engine, str]:
        """Return the engine; see `motiflux.request.elsewhere`."""
        return self._engine, "a cluster was asked for"

    def image_counter(self) -> ImageCounter:
        """Return who counts by images."""
        return ClusterImageCounter(self._workers)

    def sampler(self, graph: Graph, plan: Plan, request: Request, deadline: float | None) -> Sampler:
        """Return the sampler of a plan."""
        return ClusterSampler(self._workers, graph, plan, request, deadline)

    def draws_on(self) -> tuple[str, str]:
        """Return the device that draws embeddings, and the reason for it in words."""
        return "cpu", "a cluster was asked for"

    def draw_embeddings(
        self,
        graph: Graph,
        plan: Plan,
        request: Request,
        seed: int,
        first: int,
        count: int,
        left: float | None,
    ) -> tuple[VertexArray, int]:
        """Return the embeddings among trees, and the number of trees drawn."""
        return self._trees.draw(graph, plan, request, seed, first, count, left)


def _refuse_on_gpus(pattern: QueryLike | Sequence[QueryLike], options: CountOptions) -> None:
    """Refuse counts that tasks on GPUs do not make."""
    for name in ("distinct", "having", "copies"):
        if options.get(name):
            raise ArgumentError("device", f"{_ON_CPUS} beside {name}=", options["device"])
    if asks_for_rows(pattern) or any(isinstance(one, Query) for one in as_queries(pattern)[0]):
        raise ArgumentError(
            "device", f"{_ON_CPUS} for patterns with DISTINCT, OPTIONAL or paths", options["device"]
        )


class _Counting:
    """Does the counts by images of a call elsewhere."""

    def __init__(self, counter: ImageCounter) -> None:
        self._counter = counter

    def image_counter(self) -> ImageCounter:
        """Return who counts by images."""
        return self._counter


def _chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a search, with the default ones."""
    known = ("semantics", "symmetry", "limit", "timeout", "threads", "tuning")
    chosen = {name: options[name] for name in known if name in options}
    return {"semantics": "isomorphism", "symmetry": "embeddings"} | chosen


def _paths(given: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return paths as all nodes see them."""
    several = [given] if isinstance(given, (str, os.PathLike)) else given
    return [_absolute(one) for one in several]


def _absolute(path: str | os.PathLike[str]) -> str:
    return str(Path(path).absolute())


def _short(pattern: object) -> str:
    """Return a pattern for names of tasks."""
    if isinstance(pattern, Sequence) and not isinstance(pattern, str):
        return f"{len(pattern)} patterns"
    text = str(pattern)
    return text if len(text) <= 60 else f"{text[:57]}..."
