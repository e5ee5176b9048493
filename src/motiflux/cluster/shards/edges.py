"""Counts at each edge of a sharded graph: only edges with a count above 0, in memory or as a data set."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from motiflux.api.edge_witnesses import alone, bound_query_edge
from motiflux.api.per_vertex import automorphisms_fixing
from motiflux.cluster.folder import Folder
from motiflux.cluster.shards.conditions import Narrowed, narrowed
from motiflux.cluster.shards.counting import job_of
from motiflux.cluster.shards.edge_images import RangedEdges
from motiflux.cluster.shards.edge_sums import EdgeColumn, EdgePart, Edges, EdgeTable, SumsOfEdges
from motiflux.cluster.shards.pairs import merged, pairs_within
from motiflux.cluster.shards.planning import image_plan_of, ranged_images
from motiflux.cluster.shards.progress import BehindSearch, telling
from motiflux.cluster.shards.reasons import reason_of
from motiflux.cluster.shards.sharded import ShardedGraph, Stage
from motiflux.cluster.shards.tasks import edges_of_range
from motiflux.cluster.shards.vertices import device_of
from motiflux.cluster.shares import FEW_PARTS, Order, Shares
from motiflux.cluster.tasks import Bounds, Done
from motiflux.comparisons import Relation
from motiflux.cpu.image_counts import times_of, ways
from motiflux.errors import ArgumentError, ClusterError, OutputError
from motiflux.graph import Graph
from motiflux.graph.csr import Csr
from motiflux.pattern import Pattern
from motiflux.pattern.elements import edge_names
from motiflux.plan.bind import bind
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.progress import of_equal_parts
from motiflux.request.reports import ProgressCallback, ProgressReport
from motiflux.request.request import Request
from motiflux.types import Semantics, Symmetry
from motiflux.units import bytes_text

if TYPE_CHECKING:
    from motiflux.cluster.workers import Workers

_LEAST_SECONDS = 1.0
"""Shortest time that tasks are made for: each writes a file, and all files are read together."""
_MOST_OPEN = 256
"""Runs that a process has open: each takes a descriptor, of which it may have about 1,024."""
_FEWEST_RUNS = 8
"""Runs that are left unmerged in any case."""
_LEAST_OF_RUN = 64
"""Pairs of each run that are added at a time, at least: a piece of many short ones takes longer."""
_SHARE_OF_MERGED = 4
"""The sums of a merged run take one part of so many of the memory of a task."""
_LEAST_ADDING, _SHARE_OF_ADDING = 1.0, 0.1
"""Time for adding after a timeout, in seconds and as a share of it: what was found so far is not lost."""
_MERGED_BYTES = 64
"""Bytes of a pair of a run, about, while edges are made of it."""


@dataclass(slots=True)
class EdgeSearches:
    """The searches of a call that counts at edges, and the columns of its result.

    Parameters
    ----------
    between
        A folder that all nodes see, for the numbers of tasks.
    view
        The graph with kinds that tell the conditions on edges of the pattern, if there is one.
    kind
        The kind of device of which each task that searches has one; None: tasks search on CPUs.
    """

    workers: Workers
    graph: ShardedGraph
    between: str
    view: ShardedGraph
    kind: str | None = None
    runs: list[tuple[str, ...]] = field(default_factory=list)
    classes: list[int] = field(default_factory=list)
    """The number of sums of each search; see `RangedEdges`."""
    pairs: int = 0
    columns: list[EdgeColumn] = field(default_factory=list)
    either: bool = False
    complete: bool = True
    found: int = 0
    """Embeddings that the search with most of them found: others may have found the same."""
    reasons: list[str] = field(default_factory=list)

    @property
    def reason(self) -> str:
        """The reason for the engine, and how it counted, in words."""
        return "; ".join(dict.fromkeys(part for one in self.reasons for part in one.split("; ")))

    @property
    def device(self) -> str:
        """The device of the call, in words."""
        return device_of(self.workers, self.graph, self.kind)

    def count(self, pattern: Pattern, places: Sequence[int], request: Request, deadline: Deadline) -> None:
        """Count at the images of query edges, which are columns by their names.

        Progress of the request is that of these searches alone.

        Raises
        ------
        PatternError
            The pattern asks what a sharded graph cannot judge.
        """
        graph, names = self.graph, edge_names(pattern.edges)
        compared = _compares_edges(pattern)
        if compared and request.semantics is Semantics.INDUCED:  # see `motiflux.api.edge_witnesses`
            pattern = pattern.induced(directed=graph.directed)
            request = replace(request, semantics=Semantics.ISOMORPHISM)
        try:
            subject = narrowed(graph, pattern, deadline)
        except OutOfTimeError:
            self._end_early("time was up before servers had judged all conditions")
            self.columns += [EdgeColumn(names[place]) for place in places]
            return
        self.view = subject.graph
        alike = _alike(subject, places) if compared else {subject.pattern: list(range(len(places)))}
        parts: list[list[EdgePart]] = [[] for _ in places]
        for (restricted, own), report in zip(
            alike.items(), of_equal_parts(request.progress, len(alike)), strict=True
        ):
            if not self.complete:
                break
            part_of = replace(subject, pattern=restricted)
            found = self._count(
                part_of, [places[at] for at in own], replace(request, progress=report), deadline
            )
            if found:
                for at, part in zip(own, found, strict=True):
                    parts[at].append(part)
        self.reasons += [] if self.reasons else ["the graph is sharded"]
        for place, of_column in zip(places, parts, strict=True):
            divisor = 1
            if request.symmetry is Symmetry.SUBGRAPHS:
                edge = bound_query_edge(subject.pattern, subject.pattern.edges[place], subject.sketch)
                divisor = automorphisms_fixing(subject.pattern, edge, subject.sketch)
            self.columns.append(EdgeColumn(names[place], divisor, tuple(of_column)))

    def _count(
        self, subject: Narrowed, places: Sequence[int], request: Request, deadline: Deadline
    ) -> list[EdgePart]:
        """Count a narrowed pattern at the images of query edges; return their numbers, none if all are 0."""
        graph, pattern, sketch = self.graph, subject.pattern, subject.sketch
        edges = [bound_query_edge(pattern, pattern.edges[at], sketch) for at in places]
        bound = bind(pattern, sketch)
        asked: list[Any] = [((edge.source, edge.target), bound.rows_of(edge)) for edge in edges]
        ways_of = [edge.either or not graph.directed for edge in edges]
        self.either |= graph.directed and any(ways_of)
        try:
            on_gpu = self.kind is not None
            plan = image_plan_of(sketch, pattern, asked, request, deadline, on_gpu=on_gpu)
            searches = ranged_images(sketch, pattern, plan, request, deadline, subject.allowed)
        except TimeoutError:
            self._end_early("time was up before a plan was made")
            return []
        wanted = dict.fromkeys(zip(plan.class_of, ways_of, strict=True))
        done: dict[tuple[int, bool], tuple[int, int]] = {}
        for images, part in zip(searches, of_equal_parts(request.progress, len(searches)), strict=True):
            own = [one for one in wanted if one[0] in images.classes]
            sums = tuple((images.classes.index(number), either) for number, either in own)
            times = times_of(plan, plan.searches[images.classes[0]], images.classes[0])
            given = RangedEdges(images, sums, graph.directed)
            self._search(subject.graph, given, times, part, deadline)
            done |= {one: (len(self.runs) - 1, at) for at, one in enumerate(own)}
            self.reasons.append(reason_of(images, subject.graph.layout, self.kind))
        self.reasons += [] if searches else ["the graph is sharded"]
        self.reasons.append(ways([plan], ()))
        if not searches:
            return []
        return [
            EdgePart(
                *done[number, either], times_of(plan, plan.searches[number], number), edge.labels, edge.where
            )
            for number, either, edge in zip(plan.class_of, ways_of, edges, strict=True)
        ]

    def forget(self, why: str) -> None:
        """Forget what was found, for a reason in words."""
        self.runs, self.pairs = [() for _ in self.runs], 0
        self._end_early(why)

    def _end_early(self, why: str) -> None:
        self.complete, self.reasons = False, [why]

    def _search(
        self,
        graph: ShardedGraph,
        edges: RangedEdges,
        times: int,
        report: ProgressCallback | None,
        deadline: Deadline,
    ) -> None:
        search = _EdgeSearch(self.workers, graph, edges, self.between, times, self.kind, self.found)
        driver = self.workers.driver(self.workers.slots_on(self.kind))
        try:
            driver.run_all([search], deadline, telling(report, search, deadline))
        finally:
            driver.wait_for_cancelled()
        self.found = search.found
        self.complete = self.complete and driver.has_all_of(search)
        self.runs.append(tuple(str(Path(self.between, name)) for name, _ in search.files))
        self.classes.append(len(edges.sums))
        self.pairs += sum(number for _, number in search.files)

    def _run(self, stage: Stage, report: ProgressCallback | None, deadline: Deadline) -> bool:
        """Run tasks; return whether all ended."""
        driver, adding = self.workers.driver(), BehindSearch(stage, self.found)
        try:
            driver.run_all([stage], deadline, telling(report, adding, deadline))
        finally:
            driver.wait_for_cancelled()
        return driver.has_all_of(stage)

    def _merge(self, report: ProgressCallback | None, deadline: Deadline) -> None:
        """Merge runs into so few that a process can have all of them open; forget all if time is up.

        Into fewer where the memory is small: the runs of a piece share its room, and most pairs are in
        several runs.
        """
        room = self.graph.memory // _SHARE_OF_MERGED
        open_at_once = min(_MOST_OPEN, max(_FEWEST_RUNS, pairs_within(room) // _LEAST_OF_RUN))
        most = max(1, open_at_once // max(1, len(self.runs)))
        while any(len(one) > most for one in self.runs):
            kept: list[list[str]] = []
            groups: list[tuple[int, tuple[str, ...]]] = []
            for search, runs in enumerate(self.runs):
                number = len(runs) if len(runs) <= most else max(most, -(-len(runs) // _MOST_OPEN))
                parts = [runs[at::number] for at in range(number)]
                kept.append([one[0] for one in parts if len(one) == 1])
                groups += [(search, one) for one in parts if len(one) > 1]
            tasks = [partial(merged, runs, self.classes[search], room) for search, runs in groups]
            stage = Stage(self.workers, "count_per_edge: merge", tasks)
            if not self._run(stage, report, deadline):
                self.complete, self.pairs = False, 0
                return
            for at, (search, runs) in enumerate(groups):
                path, fewer = stage.found[at]
                kept[search].append(path)
                self.pairs -= fewer
                for old in runs:
                    Path(old).unlink(missing_ok=True)
            self.runs = [tuple(one) for one in kept]

    def _sums(self) -> SumsOfEdges:
        return SumsOfEdges(self.view.served(), tuple(self.runs), tuple(self.columns), self.either)

    def _ranges(self) -> list[tuple[int, int]]:
        """Return ranges of vertices, whose edges tasks make of runs."""
        layout = self.graph.layout
        if not self.pairs:
            return []
        number = max(self.workers.slots, -(-self.pairs * _MERGED_BYTES // self.graph.memory))
        cuts = {layout.vertex_of_entry(layout.entries * at // number) for at in range(1, number)}
        return list(pairwise(sorted({0, *cuts, layout.num_vertices})))

    def edges(self, report: ProgressCallback | None, deadline: Deadline) -> Edges:
        """Return the edges of which some column is above 0; some of them if time is up while they are made.

        Parameters
        ----------
        report
            Receives the progress of adding.

        Raises
        ------
        ClusterError
            They take more than the memory of the graph.
        """
        deadline = _with_adding(deadline)
        merging, adding = of_equal_parts(report, 2)
        self._merge(merging, deadline)
        sums = self._sums()
        tasks = [partial(sums.tables, first, last) for first, last in self._ranges()]
        stage = _Tables(self.workers, "count_per_edge: add", tasks, self.graph.memory)
        self.complete = self._run(stage, adding, deadline) and self.complete
        self._tell_end(adding, deadline)
        found = [one for number in sorted(stage.found) for one in stage.found[number]]
        none, zeros = np.empty(0, np.int64), np.empty((0, len(self.columns)), np.int64)
        labels = None
        if len(self.graph.layout.edge_label_table) > 1:
            labels = np.concatenate([np.empty(0, np.uint32), *(one.labels for one in found)])
        return Edges(
            np.concatenate([none, *(one.sources for one in found)]),
            np.concatenate([none, *(one.targets for one in found)]),
            labels,
            np.concatenate([zeros, *(one.counts for one in found)]),
        )

    def write(
        self,
        output: str,
        metadata: Mapping[str, str],
        report: ProgressCallback | None,
        deadline: Deadline,
        *,
        single: bool,
    ) -> tuple[int, int]:
        """Write the same into a Parquet data set; return the numbers of rows and files."""
        deadline = _with_adding(deadline)
        merging, writing = of_equal_parts(report, 2)
        titles = ("count",) if single else tuple(column.name for column in self.columns)
        head = EdgeTable(titles, self.graph.layout, metadata)
        self._merge(merging, deadline)
        folder, sums = Folder(output), self._sums()
        call = f"part-{uuid.uuid4().hex}"  # no other call writes files of such names
        try:
            ranges = self._ranges()
            tasks = [
                partial(sums.files, first, last, output, f"{call}-{number:06}", head)
                for number, (first, last) in enumerate(ranges)
            ]
            stage = Stage(self.workers, "count_per_edge: write", tasks)
            if not self._run(stage, writing, deadline):
                self.complete = False
                ended = {f"{call}-{number:06}": files for number, (_, files) in stage.found.items()}
                _delete_of_call(folder, call, ended)
            rows, files = (sum(one[at] for one in stage.found.values()) for at in (0, 1))
            if not files:
                folder.write(f"{call}-000000-00000.parquet", head.empty())
            self._tell_end(writing, deadline)
            return rows, max(files, 1)
        except BaseException:
            _delete_of_call(folder, call, {})
            raise

    def _tell_end(self, report: ProgressCallback | None, deadline: Deadline) -> None:
        """Tell that all is added: there may have been no task for it."""
        if report is not None and self.complete:
            report(ProgressReport(1, 1, self.found, deadline.elapsed()))


def _compares_edges(pattern: Pattern) -> bool:
    """Return whether a pattern compares edges: not every edge between two images is a witness then."""
    return any(
        not isinstance(one, Relation) or one.left.is_edge or one.right.is_edge for one in pattern.comparisons
    )


def _alike(subject: Narrowed, places: Sequence[int]) -> dict[Pattern, list[int]]:
    """Return patterns in which some query edges have one label and one direction, and the positions of these.

    Only one edge between two images is a witness of such a query edge; see `motiflux.api.edge_witnesses`.

    Parameters
    ----------
    places
        The query edges of the columns; positions are among them.

    Raises
    ------
    ArgumentError
        There are too many.
    """
    edges = subject.pattern.edges
    found: dict[Pattern, list[int]] = {}
    for at, place in enumerate(places):
        for _, edge in alone(subject.sketch, edges[place]):
            restricted = replace(subject.pattern, edges=(*edges[:place], edge, *edges[place + 1 :]))
            found.setdefault(restricted, []).append(at)
    if len(found) > _MOST_OPEN:
        raise ArgumentError(
            "by",
            f"query edges of at most {_MOST_OPEN} labels and directions where edges of a sharded graph are "
            "compared, each of which is counted alone",
            len(found),
        )
    return found


def _delete_of_call(folder: Folder, call: str, ended: Mapping[str, int]) -> None:
    """Delete the files of a call as far as that is possible, but for those of tasks that ended.

    Parameters
    ----------
    ended
        The number of files of each such task, by what their names begin with.
    """
    kept = {f"{name}-{at:05}.parquet" for name, files in ended.items() for at in range(files)}
    with suppress(OutputError):
        for name in folder.files():
            if name.startswith(f"{call}-") and name not in kept:
                folder.delete(name)


def _with_adding(deadline: Deadline) -> Deadline:
    """Return the deadline of adding what was found until another one."""
    if deadline.at is None:
        return deadline
    more = max(_LEAST_ADDING, _SHARE_OF_ADDING * (deadline.at - deadline.started))
    return Deadline(deadline.started, deadline.at + more)


@contextmanager
def edge_searches(workers: Workers, graph: ShardedGraph, kind: str | None = None) -> Iterator[EdgeSearches]:
    """Yield searches without a column, on GPUs of a kind or CPUs; their files are deleted at the end.

    Raises
    ------
    OutputError
        The folder of the graph cannot be written to.
    """
    graph.served()  # refuses a closed one
    between = Path(graph.folder, f"_counts-{uuid.uuid4().hex}")
    try:
        between.mkdir()
    except OSError as error:
        raise OutputError(f"{between}: {error}") from error
    try:
        yield EdgeSearches(workers, graph, str(between), graph, kind)
    finally:
        shutil.rmtree(between, ignore_errors=True)


def with_edges(vertices: Graph, edges: Edges) -> Graph:
    """Return a graph of these vertices and some edges, in their order."""
    number = vertices.num_vertices
    if vertices.directed:
        forward = _rows(edges.sources, edges.targets, edges.labels, number)
        reverse = _rows(edges.targets, edges.sources, edges.labels, number)
        return replace(vertices, forward=forward, reverse=reverse)
    ends = np.concatenate([edges.sources, edges.targets]), np.concatenate([edges.targets, edges.sources])
    labels = None if edges.labels is None else np.concatenate([edges.labels, edges.labels])
    both = _rows(*ends, labels, number)
    return replace(vertices, forward=both, reverse=both)


def _rows(sources: Any, targets: Any, labels: Any, vertices: int) -> Csr:
    keys = (targets, sources) if labels is None else (labels, targets, sources)
    order = np.lexsort(keys)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=vertices))]).astype(np.uint64)
    of_arcs = None if labels is None else labels[order]
    return Csr(offsets, targets[order].astype(np.uint32), of_arcs, None)


class _EdgeSearch:
    divisible = True
    over = False

    def __init__(
        self,
        workers: Workers,
        graph: ShardedGraph,
        edges: RangedEdges,
        folder: str,
        times: int,
        kind: str | None,
        before: int,
    ) -> None:
        self._workers, self._folder, self._times, self._kind = workers, folder, times, kind
        self._before, self._found = before, 0
        units, slots = graph.layout.entries, workers.slots_on(kind)
        ranged = replace(edges.images.ranged, share=units // (FEW_PARTS * slots))
        content = replace(edges, images=replace(edges.images, ranged=ranged))
        self._make_job = partial(job_of, workers, graph, content)
        self._job = self._make_job()
        self.name = f"count_per_edge {workers.pattern}"
        self.shares = Shares(units, slots, least=_LEAST_SECONDS, parts=FEW_PARTS, short_ends=False)
        self.files: list[tuple[str, int]] = []

    @property
    def found(self) -> int:
        """Embeddings found so far, or before."""
        return max(self._before, self._found)

    @property
    def progress(self) -> tuple[int, int]:
        return self.shares.done, self.shares.units

    def submit(self, order: Order) -> Any:
        bounds = Bounds(self._workers.threads, seconds=order.seconds)
        given = (self._job, order.share, bounds, self._folder, self._kind)
        return self._workers.submit(edges_of_range, self.name, *given, on_gpu=self._kind is not None)

    def take(self, order: Order, done: Done) -> None:
        total, files = done.value
        self._found += self._times * total
        self.files += files
        self.shares.finished(order.share, done.left, done.seconds)

    def renew(self) -> None:
        """Share the plan again; servers start again by themselves."""
        self._job = self._make_job()


class _Tables(Stage):
    """Tables of edges, which have to fit into a number of bytes."""

    def __init__(self, workers: Workers, name: str, tasks: Sequence[Any], memory: int) -> None:
        super().__init__(workers, name, tasks)
        self._left = self._memory = memory

    def take(self, order: Order, done: Done) -> None:
        self._left -= sum(one.nbytes for one in done.value)
        if self._left < 0:
            raise ClusterError(
                "count_per_edge: expected edges with counts that fit into "
                f"memory={bytes_text(self._memory)}, found more: give output= a folder for them"
            )
        super().take(order, done)
