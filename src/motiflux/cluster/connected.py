"""The connection of a cluster: its workers, its sharded graphs, and what calls ask for elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from motiflux.api.subject import GraphLike, data_graph
from motiflux.arguments import check_bytes, check_integer
from motiflux.cluster.connection import connect
from motiflux.cluster.digests import digest_of
from motiflux.cluster.engine import ClusterEngine
from motiflux.cluster.images import ClusterImageCounter
from motiflux.cluster.records import TaskLog, TaskRecord
from motiflux.cluster.sampler import ClusterSampler, TreeDraws
from motiflux.cluster.shards.sharded import ShardedGraph, make_shards, open_shards
from motiflux.cluster.workers import Workers
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.interop import ColumnName
from motiflux.plan import Plan
from motiflux.plan.projection import ProjectedPlan
from motiflux.request.deadline import Deadline
from motiflux.request.elsewhere import doing_elsewhere
from motiflux.request.engine import Engine
from motiflux.request.images import ImageCounter
from motiflux.request.request import Request, check_device
from motiflux.request.sampler import Sampler
from motiflux.result.rows import RowSource
from motiflux.types import VertexArray

if TYPE_CHECKING:
    from motiflux.cluster.on_gpus import OnGpus

ON_CPUS = "'auto' or 'cpu' on a cluster"
_MFG = ".mfg"
_SHARD_MEMORY = 1 << 30
"""Default bytes of a worker for a sharded graph."""


class Connected:
    """A cluster that is connected, to which `Cluster` adds the calls."""

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

    def __enter__(self) -> Self:
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
        attributes: Sequence[ColumnName] | None = (),
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
        attributes
            Columns of the files of edges that are attributes of edges, for conditions and comparisons of
            patterns; None: all others, if there are any. Then each copy of an edge is kept with its values,
            at both ends, and may be counted (``copies=True``).
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
            For `count`, `explain`, `match`, `sample`, `count_per_vertex`, `count_per_edge`, `estimate`,
            `orbits`, `edge_orbits` and `census`.

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
        if isinstance(attributes, str):
            raise ArgumentError("attributes", "a list of columns, or None", attributes)
        options = {"directed": directed, "src": src, "dst": dst, "label": label}
        chosen: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        if attributes is None or len(attributes):
            chosen["attributes"] = attributes
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

    def _graph(self, graph: GraphLike) -> Graph:
        """Return the graph of a call, and remember the path of a file that can be mapped."""
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

    def _on_gpus(self, graph: object, options: Mapping[str, Any]) -> OnGpus | None:
        """Return who does a call whose tasks have one GPU each; None for one on CPUs. Check its options."""
        asked = options.get("device", "auto")
        if asked in ("auto", "cpu"):
            if isinstance(graph, ShardedGraph) and options.get("gpu_memory") is not None:
                expected = "None for a sharded graph, but for device='cuda'"
                raise ArgumentError("gpu_memory", expected, options["gpu_memory"])
            self._check(options)
            return None
        kind = check_device(asked)
        if ":" in kind:
            raise ArgumentError("device", "'cuda' on a cluster, where Ray assigns GPUs to tasks", kind)
        self._check(options, kind)
        if kind not in self._gpus:  # imported by calls that need it
            from motiflux.cluster.on_gpus import OnGpus

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

    def projected_rows(
        self, graph: Graph, plan: ProjectedPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> RowSource:
        """Start a listing of at most ``request.limit`` distinct rows."""
        return self._engine.projected_rows(graph, plan, request, batch_rows, deadline)

    def image_counter(self, why_host: str | None) -> ImageCounter:
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
