"""`ShardedGraph`: a graph whose rows are sharded over the nodes of a cluster, and how it is built."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.connection import put
from motiflux.cluster.shards import build
from motiflux.cluster.shards.attributes import EDGE, Types, bytes_of_vertex, common_types
from motiflux.cluster.shards.between import BETWEEN
from motiflux.cluster.shards.copies import CopiesOfFiles
from motiflux.cluster.shards.judged_sets import JudgedSets
from motiflux.cluster.shards.judging import Judged
from motiflux.cluster.shards.layout import Layout
from motiflux.cluster.shards.server import Served, ShardServer, last_rows
from motiflux.cluster.shards.sketch import joined_sketch
from motiflux.cluster.shards.store import LAYOUT, read_layout, shard_path, write_layout
from motiflux.cluster.shares import Order, Shares, roots
from motiflux.cluster.tasks import Done, call
from motiflux.conditions import Condition
from motiflux.errors import ArgumentError, ClusterError, GraphError, OutputError
from motiflux.graph import Graph, Kind, LabelTable
from motiflux.io.files.source import format_suffix
from motiflux.io.readers import TABLE_READERS, TEXT_READERS
from motiflux.request.deadline import Deadline
from motiflux.types import Label
from motiflux.units import bytes_text, quantity

if TYPE_CHECKING:
    from motiflux.cluster.workers import Workers

_BUILD_BYTES = 64
"""Bytes of an entry in a task that builds, about."""
_COPIES = 4
"""Copies of attributes in a task that writes a shard."""
_FILE_RATIO = 16
"""Bytes in a task that builds for each byte of a file: edges of compressed files have few."""
_HOT = 4
"""The rows of highest degrees that each node has take one part of so many of a worker's memory."""


@dataclass(slots=True, repr=False, eq=False)
class ShardedGraph:
    """A graph whose rows are sharded over the nodes of a cluster; see `motiflux.Cluster.shard`.

    The calls `count`, `explain`, `match`, `sample`, `estimate`, `count_per_vertex`, `count_per_edge`,
    `orbits`, `edge_orbits` and `census` of `Cluster` take it. It is open until its cluster or it is closed.

    Parameters
    ----------
    folder
        The folder of its shards.
    memory
        Bytes that each worker may use for all that depends on the graph.
    """

    folder: str
    memory: int
    _layout: Layout
    _sketch: Graph
    _served: Served
    _ray: Any
    _open: bool = field(default=True)
    _judged: JudgedSets = field(default_factory=JudgedSets)

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self._layout.num_vertices

    @property
    def num_edges(self) -> int:
        """Number of distinct edges."""
        return self._layout.num_edges

    @property
    def directed(self) -> bool:
        """Whether arcs have a direction."""
        return self._layout.directed

    @property
    def num_shards(self) -> int:
        """Number of shards."""
        return len(self._layout.starts) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return self._layout.nbytes

    @property
    def self_loops_dropped(self) -> int:
        """Number of self-loops that were left out."""
        return self._layout.self_loops_dropped

    @property
    def duplicate_edges(self) -> int:
        """Number of copies beyond the first of each edge."""
        return self._layout.duplicate_edges

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        vertices, edges = quantity(self.num_vertices, "vertex"), quantity(self.num_edges, "edge")
        size = f"{quantity(self.num_shards, 'shard')}, {bytes_text(self.nbytes)}"
        return f"ShardedGraph({vertices}, {edges}, {kind}, {size})"

    def close(self) -> None:
        """End the processes that serve its rows; its files stay."""
        if self._open:
            self._open = False
            self._judged.close()
            for actor in self._served.actors:
                with suppress(Exception):  # the cluster may have ended
                    self._ray.kill(actor)

    def served(self) -> Served:
        """Return the graph as tasks reach it.

        Raises
        ------
        ClusterError
            It is closed.
        """
        if not self._open:
            raise ClusterError(f"{self.folder}: this sharded graph is closed: open it again")
        return self._served

    def judged(
        self, conditions: tuple[Condition, ...], ask: Callable[[Judged], object], deadline: Deadline
    ) -> Judged:
        """Return conditions on edges that servers have judged, which `ask` has them do the first time.

        Raises
        ------
        OutputError
            The folder of the graph cannot be written to.
        OutOfTimeError
            Time is up.
        """
        return self._judged.judged(self.folder, conditions, ask, deadline)

    def view(self, judged: Judged, conditions: tuple[Condition, ...]) -> ShardedGraph:
        """Return the graph as calls see it whose plans have some conditions in the place of those judged.

        Views of the same conditions share the rows that are in the object store.
        """
        layout = replace(self._layout, judged=conditions)

        def make(judged: Judged) -> Served:
            served = replace(self.served(), token=uuid.uuid4().hex, layout=layout, judged=judged, hot=None)
            return with_hot(served, self._ray)

        return replace(self, _layout=layout, _served=self._judged.served(judged, make), _judged=JudgedSets())

    @property
    def ray(self) -> Any:
        """The module of the cluster, for what servers return."""
        return self._ray

    @property
    def vertex_attributes(self) -> dict[str, Kind]:
        """The kind of the values of each attribute of vertices, by name."""
        return self._layout.attribute_table().kinds()

    @property
    def edge_attributes(self) -> dict[str, Kind]:
        """The kind of the values of each attribute of edges, by name."""
        return self._layout.edge_attribute_table().kinds()

    @property
    def layout(self) -> Layout:
        """Its sizes, labels and degrees."""
        return self._layout

    @property
    def sketch(self) -> Graph:
        """A graph of some of its edges, for planning."""
        return self._sketch


class Stage:
    """A list of tasks of which all results are wanted.

    Attributes
    ----------
    found
        The results so far, by the numbers of tasks.
    """

    divisible = False
    over = False

    def __init__(self, workers: Workers, name: str, tasks: Sequence[Callable[[], Any]]) -> None:
        self.name = name
        self._workers, self._tasks = workers, tasks
        self.found: dict[int, Any] = {}
        self.shares = Shares(0, workers.slots)
        for number in range(len(tasks)):
            self.shares.add([roots(number, number + 1)])

    @property
    def progress(self) -> tuple[int, int]:
        """The number of tasks that ended, and of all."""
        return len(self.found), len(self._tasks)

    def submit(self, order: Order) -> Any:
        """Start a task."""
        ((_, number, *_),) = order.share
        return self._workers.submit(call, self.name, self._tasks[number], cpus=1)

    def take(self, order: Order, done: Done) -> None:
        """Keep the result of a task."""
        ((_, number, *_),) = order.share
        self.found[number] = done.value
        self.shares.finished(order.share, [], done.seconds)

    def renew(self) -> None:
        """Do nothing: tasks have no graph."""


def _run(workers: Workers, name: str, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return the results of tasks, in their order."""
    stage, driver = Stage(workers, f"shard: {name}", tasks), workers.driver()
    try:
        driver.run_all([stage], Deadline.after(None))
    finally:
        driver.wait_for_cancelled()
    return [stage.found[number] for number in range(len(tasks))]


def make_shards(
    workers: Workers,
    paths: Sequence[str],
    vertices: Sequence[str],
    folder: str,
    options: Mapping[str, Any],
    of_vertices: Mapping[str, Any],
    memory: int,
    shards: int | None,
) -> None:
    """Build a sharded graph in a folder from files.

    Raises
    ------
    GraphError, FormatError
        The files do not describe a graph.
    OutputError
        The folder has one.
    """
    if Path(folder, LAYOUT).exists():
        raise OutputError(f"{folder}: expected a folder without a sharded graph, found one")
    if not paths:
        raise ArgumentError("paths", "a file or more", paths)
    try:
        sizes = [os.stat(path).st_size for path in (*paths, *vertices)]  # noqa: PTH116
    except OSError as error:
        raise GraphError(f"paths: {error}") from error
    between = Path(folder, BETWEEN)
    try:
        between.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: {error}") from error
    try:
        _make_shards(workers, paths, vertices, folder, options, of_vertices, memory, shards, sum(sizes))
    finally:
        shutil.rmtree(between, ignore_errors=True)


def _make_shards(
    workers: Workers,
    paths: Sequence[str],
    vertices: Sequence[str],
    folder: str,
    options: Mapping[str, Any],
    of_vertices: Mapping[str, Any],
    memory: int,
    shards: int | None,
    size: int,
) -> None:
    """Build a sharded graph from files of some size, by way of files in a folder that is there."""
    partitions = max(workers.slots, -(-size * _FILE_RATIO // memory))
    steps = _Steps(workers, folder, partitions)
    keeps = options.get("attributes", ()) != ()
    codes, sides, tables, totals, attributes, of_edges = steps.scatter(paths, vertices, options, of_vertices)
    numbered = steps.number(sides, codes, labelled=len(tables[0]) > 1 or tables[0].values != (0,))
    degrees, counts, firsts = build.first_ids(numbered)
    if not int(counts.sum()):
        raise GraphError(f"{paths[0]}: expected a graph with vertices, found none")
    types = common_types(zip((*paths, *vertices), attributes, strict=True))
    edge_types = common_types(zip(paths, of_edges, strict=True), EDGE) if keeps else {}
    entries = int((degrees * counts).sum())
    if shards is None:
        nbytes = entries * _BUILD_BYTES + int(counts.sum()) * _COPIES * bytes_of_vertex(types)
        if keeps:
            nbytes += 2 * totals[0] * (_BUILD_BYTES + _COPIES * bytes_of_vertex(edge_types))
        shards = max(len(workers.connection.nodes()), -(-nbytes // memory))
    shards = min(shards, int(counts.sum()))
    copies, loops = totals
    edges = entries // 2
    starts = build.starts_of(degrees, counts, shards)
    files = [at for at, of_file in enumerate(attributes) if of_file]
    layout = Layout(
        *(sides == 2, edges, *tables, degrees, counts, starts, loops, copies - edges, types),
        edge_attributes=edge_types,
        copies=keeps,
    )
    of_files = CopiesOfFiles([one for _, one in codes[: len(paths)]], edge_types) if keeps else None
    steps.write(layout, numbered, firsts, files, of_files)


@dataclass(frozen=True, slots=True)
class _Steps:
    workers: Workers
    folder: str
    partitions: int

    def scatter(
        self,
        paths: Sequence[str],
        vertices: Sequence[str],
        options: Mapping[str, Any],
        of_vertices: Mapping[str, Any],
    ) -> tuple[
        list[tuple[NDArray[np.uint32], NDArray[np.uint32]]],
        int,
        tuple[LabelTable, LabelTable],
        tuple[int, int],
        list[Types],
        list[Types],
    ]:
        """Read all files.

        Returns label codes, the number of directions, label tables, copies and loops, and the types of the
        attributes of each file, and of edges of each file of edges.
        """
        tasks = []
        for number, path in enumerate((*paths, *vertices)):
            table = number >= len(paths)
            given = of_vertices if table else _options_of(path, options)
            copies = not table and options.get("attributes", ()) != ()
            where = (path, number, self.folder, self.partitions)
            kept = None if table or "attributes" in given else options.get("attributes")
            scatter = partial(build.scatter, *where, given, vertices=table, copies=copies, kept=kept)
            tasks.append(scatter)
        found: list[build.Scattered] = _run(self.workers, "read files", tasks)
        directions = {one.directed for one in found[: len(paths)]}
        if len(directions) > 1:
            odd = next(one.path for one in found if one.directed != found[0].directed)
            raise GraphError(f"{odd}: expected files of one direction, found directed and undirected ones")
        of_all = _merged([one.vertex_labels for one in found], "vertex labels")
        of_edges = _merged([one.edge_labels for one in found], "edge labels")
        codes = [(_codes(one.vertex_labels, of_all), _codes(one.edge_labels, of_edges)) for one in found]
        totals = sum(one.copies for one in found), sum(one.self_loops for one in found)
        attributes = [one.attributes for one in found]
        edge_attributes = [one.edge_attributes for one in found[: len(paths)]]
        sides = 2 if directions.pop() else 1
        return codes, sides, (of_all, of_edges), totals, attributes, edge_attributes

    def number(
        self, sides: int, codes: Sequence[tuple[NDArray[np.uint32], NDArray[np.uint32]]], *, labelled: bool
    ) -> list[build.Numbered]:
        tasks = [
            partial(build.number, one, self.folder, sides, codes, labelled=labelled)
            for one in range(self.partitions)
        ]
        return _run(self.workers, "find vertices", tasks)

    def write(
        self,
        layout: Layout,
        numbered: Sequence[build.Numbered],
        firsts: Sequence[NDArray[np.int64]],
        files: Sequence[int],
        copies: CopiesOfFiles | None,
    ) -> None:
        folder, partitions = self.folder, self.partitions
        every = range(partitions)
        _run(
            self.workers,
            "number vertices",
            [
                partial(
                    build.rename, one, folder, partitions, numbered[one], firsts[one], layout.sides, copies
                )
                for one in every
            ],
        )
        _run(
            self.workers,
            "number neighbours",
            [
                partial(build.meet, one, folder, partitions, layout, files, copies=copies is not None)
                for one in every
            ],
        )
        shards = range(len(layout.starts) - 1)
        pieces = _run(
            self.workers,
            "write rows",
            [partial(build.assemble, one, folder, partitions, layout) for one in shards],
        )
        write_layout(folder, layout, joined_sketch(pieces))


def _options_of(path: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `motiflux.read_graph` for a file: attributes that are asked for, or none."""
    suffix = format_suffix(Path(path))
    table = suffix in TABLE_READERS or suffix in TEXT_READERS
    given = dict(options)
    if not table:
        given.pop("attributes", None)
    elif "attributes" not in given:
        given["attributes"] = ()
    return given


def _merged(labels: Sequence[tuple[Label, ...]], what: str) -> LabelTable:
    every = {label for one in labels for label in one}
    if len({type(label) for label in every}) > 1:
        raise GraphError(f"{what}: expected all integers or all strings, found both")
    return (
        LabelTable(tuple(sorted(every, key=lambda label: (str(type(label)), label))))
        if every
        else LabelTable()
    )


def _codes(labels: tuple[Label, ...], table: LabelTable) -> NDArray[np.uint32]:
    """Return the code in a table of each label."""
    place = {label: code for code, label in enumerate(table.values)}
    return np.array([place[label] for label in labels], np.uint32)


def with_hot(served: Served, ray: Any) -> Served:
    """Return a graph with the rows of highest degrees in the object store."""
    hot = last_rows(served.layout, served.memory // _HOT, served.open_rows)
    return served if hot is None else replace(served, hot=[put(ray, hot, "the rows of highest degrees")])


def open_shards(workers: Workers, folder: str, memory: int) -> ShardedGraph:
    """Start the servers of a sharded graph on the nodes of a cluster.

    Raises
    ------
    FormatError
        The folder has no sharded graph, or a damaged one.
    """
    layout, sketch = read_layout(folder)
    ray = workers.connection.ray
    nodes = [one["NodeID"] for one in workers.connection.nodes()]
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    remote = ray.remote(ShardServer)
    actors = []
    for number in range(len(layout.starts) - 1):
        where = NodeAffinitySchedulingStrategy(node_id=nodes[number % len(nodes)], soft=True)
        options = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1, "scheduling_strategy": where}
        options["name"] = f"shard {number} of {uuid.uuid4().hex}"
        actors.append(remote.options(**options).remote(folder, layout, number))
    try:
        here = ray.get([actor.node.remote() for actor in actors])
    except ray.exceptions.RayError as error:
        said = str(error).strip().splitlines()[-1]
        raise ClusterError(f"{shard_path(folder, 0)}: a node does not see the shards: {said}") from error
    served = with_hot(Served(uuid.uuid4().hex, folder, layout, tuple(actors), tuple(here), None, memory), ray)
    return ShardedGraph(folder, memory, layout, sketch, served, ray)
