"""A graph that changes and the patterns watched on it: one call of a monitor at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar
from weakref import WeakMethod

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.conditions import Condition
from motiflux.errors import ArgumentError, DeviceMemoryError
from motiflux.graph import Graph
from motiflux.interop import GraphColumns
from motiflux.notes import note
from motiflux.pattern import Pattern
from motiflux.plan.bind import BoundPattern
from motiflux.plan.passes.drafts import DeltaPlan
from motiflux.plan.passes.numbers import Numbers
from motiflux.plan.passes.places import Place
from motiflux.plan.passes.symmetry import Transversal
from motiflux.request.engine import Ran
from motiflux.stream.matching.attributed import Attributed
from motiflux.stream.matching.auto import AutoMatching, auto_matching
from motiflux.stream.matching.engine import HOST, OUT_OF_CORE, Placement
from motiflux.stream.matching.native import PlanWriter, filter_of, loaded
from motiflux.stream.matching.numbering import Mark, Numbering
from motiflux.stream.matching.pool_orders import PoolOrders
from motiflux.stream.matching.probing import Probing
from motiflux.stream.matching.replanning import Replanning
from motiflux.stream.matching.run_limit import RunLimit
from motiflux.stream.matching.vertex_counts import VertexAlert, VertexCounting
from motiflux.stream.options import Options
from motiflux.stream.updates import Updates
from motiflux.stream.window import fill_window, open_window
from motiflux.types import Symmetry
from motiflux.units import grouped, quantity

T = TypeVar("T")

NEGATION_ON_CPU = "patterns with negated edges or several parts, and induced ones, are matched on the CPU"
ATTRIBUTES_ON_CPU = "copies of edges with attributes are matched on the CPU"
COUNTS_ON_CPU = "counts at vertices are kept on the CPU, unless a GPU is named"
"""Why a GPU is not used."""

AFTER_A_RUN = "a call after the run, or in its progress function"
"""What is expected while batches of a run overlap."""

FEED_UPDATES = 4096
"""Most updates of a feed that the CPU applies in one call, if the user names no number."""
WHILE_PAUSED = "a call while its feed is paused (`Feed.paused`), or after it is closed"
"""What is expected while a feed is open."""


@dataclass
class Watched:
    """A pattern in the native monitor.

    Parameters
    ----------
    slot
        Its number there.
    listed
        Whether its matches are listed.
    told
        Whether they are given to the user.
    writer, canonical
        What its plans are written with.
    row_cost
        Candidates that its plans are expected to visit, for each vertex of the row they begin with.
    planned_for
        The engine that its plans there are for; None: it is not known, after an interrupt.
    plans, planned
        Its searches: those in use, and as they were planned.
    numbers
        Those that its plans were made by; None: those of the first graph.
    tallied
        The query vertex whose images its plans count; None: there is none, or its matches are listed.
    measured
        Of places whose plans were replaced by `Probing`: the share of the work that the new ones took.
    """

    slot: int
    listed: bool
    told: bool
    writer: PlanWriter
    canonical: tuple[Transversal, ...]
    row_cost: float = 0.0
    planned_for: str | None = None
    plans: tuple[DeltaPlan, ...] = ()
    planned: tuple[DeltaPlan, ...] = ()
    numbers: Numbers | None = None
    tallied: int | None = None
    measured: dict[Place, float] = field(default_factory=dict)

    @property
    def bound(self) -> BoundPattern:
        """The pattern in codes."""
        return self.writer.bound

    @property
    def counted(self) -> BoundPattern:
        """The pattern in the labels by which the native monitor counts edges now."""
        return self.writer.counted()

    def use(self, plans: tuple[DeltaPlan, ...]) -> None:
        """Note the plans that were planned, and are used from now on."""
        self.plans = self.planned = plans
        self.row_cost = sum(_row_cost(plan) for plan in plans if not plan.replaces_last)
        self.measured = {}


def _row_cost(plan: DeltaPlan) -> float:
    """Return the candidates visited for each vertex of the first row: all of it, if rows are intersected."""
    first = plan.before_change[2] if len(plan.before_change) > 2 else ()
    return max(plan.row_cost, float(len(first) > 1))


class Call:
    """A call that is running, and its thread.

    The method that makes one clears `Core._call` itself, without a further call, if it is its own: Ctrl-C may
    interrupt any call.
    """

    def __init__(self) -> None:
        self.thread = threading.get_ident()


class OpenFeed(Protocol):
    """What has the monitor for itself, and admits calls of some threads."""

    def admits_thread(self) -> bool:
        """Whether the calling thread may call the monitor now."""

    def close(self, *, finish: bool) -> None:
        """Let the monitor go; `finish`: once all updates that wait are applied."""


class OpenCalls(Protocol):
    """A run that has calls which can still be taken back, after they have returned."""

    def vertices(self) -> int | None:
        """Return the number of vertices before these calls; None if there are none now."""


class Core(Attributed):
    """The state of `Monitor`, and the methods on it that are not public.

    Parameters
    ----------
    graph
        At the start.
    options
        The options of `Monitor`.
    edge_times
        The attribute of the graph's edges with their times.
    threads
        Threads that match at once.
    placement
        Where updates are matched.
    conditions
        On attributes of edges, of the first patterns.
    negates
        Whether one of these has negated edges, or is induced.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        *,
        edge_times: str | None,
        threads: int,
        placement: Placement,
        conditions: Sequence[Condition] = (),
        negates: bool = False,
    ) -> None:
        self._options = options
        self._threads = threads
        placement.check_mode(options.mode)
        why_host = ATTRIBUTES_ON_CPU if options.keeps_attributes else NEGATION_ON_CPU if negates else None
        self._engine = placement.open(options.switches) if why_host is None else None
        self._auto: AutoMatching | None = None
        why = placement.reason
        if why_host is not None:
            why = why_host
            if placement.needs_gpu:
                note(f"a GPU was {placement.reason}; {why}")
        elif not why and options.per_vertex is not None:
            why = COUNTS_ON_CPU
        elif not why:
            auto = auto_matching(placement.gpu_memory, options.switches, threads)
            self._auto = None if isinstance(auto, str) else auto
            why = auto if isinstance(auto, str) else "no updates were applied yet"
        self._ran = Ran(HOST, HOST, why)
        if self._engine is not None:
            self._ran = Ran(self._engine.name, self._engine.device, why)
        self._call: Call | None = None
        self._open_calls: OpenCalls | None = None
        self._feed: OpenFeed | None = None
        self._meanwhile: Callable[[], None] | None = None
        self._run_limit = RunLimit()
        self._unmatched = 0  # updates of the run for which a device lacked memory
        self._base = graph
        self._vertex_attributes = graph.vertex_attributes
        self._numbering = Numbering(graph, options.clock(), threads)
        self._edge_times = edge_times
        if options.keeps_attributes:
            self._check_times_of_edges()
            self._keep_copies(conditions)
        else:
            lends = options.switches["mapped_rows"] if placement.engine == OUT_OF_CORE else "off"
            self._native = loaded(graph, count_copies=options.count_copies, threads=threads, lends=lends)
            self._native.filter_by(*filter_of(options.switches))
        is_on = options.switches["replan"] == "on" and self._engine is None
        self._replanning = Replanning(graph, is_on=is_on)
        self._pool_orders = PoolOrders(graph, options.switches["pooling"])
        self._probing = self._new_probing()
        self._native_terms: _native.Terms | None = None
        # Updates need nothing but numbers: no times, no deletions before them, no look at the graph.
        self.takes_plain_updates = options.span is None and not options.strict and self._copies is None
        # They may need deletions by a window whose clock counts insertions.
        has_moments = options.span is not None and options.span.timed
        self._takes_columns = not has_moments and not options.strict and self._copies is None
        self._watched: dict[Pattern, Watched] = {}
        self._counting: VertexCounting | None = None
        if options.per_vertex is not None:
            once = options.symmetry is Symmetry.SUBGRAPHS
            self._counting = VertexCounting(options.per_vertex, once=once, directed=graph.directed)
        self.on_alert: Callable[[VertexAlert], object] | None = None
        """Called with each alert of a call once the call is applied; None: nothing."""
        self._slots: list[tuple[Pattern, int, bool]] | None = None  # None after a change of the patterns
        # Copies of edges that are ignored are not in the monitor's graph.
        has_copies = graph.num_edge_copies != graph.num_edges
        self._snapshot: Graph | None = None if has_copies and options.duplicates == "ignore" else graph
        if self._copies is None:
            self._fill_window(edge_times)
        elif self._copies.num_copies != graph.num_edge_copies or not options.attributes_are_all:
            self._snapshot = None
        self._connect()
        self._first_moment = self._numbering.clock.latest
        self.updates_applied = 0
        """Updates that were given to `apply` so far."""
        self.batches_applied = 0
        """Calls of `apply` so far."""
        self.source_position: Any = None
        """Position in the source of the last `run`, or the position given to `save`; for `load`."""
        self.unapplied: Updates | None = None
        """Updates that the last `run` took from its source, or that were written to the last feed, and were
        not applied: because of the time limit, Ctrl-C, an error of the sink or a device, or because they were
        refused. Files return them again from `source_position`; queues do not."""

    def _new_probing(self) -> Probing:
        switches = self._options.switches
        return Probing(self._native, is_on=switches["probe"] == "on", eager=switches["probe_eager"] == "on")

    def _check_times_of_edges(self) -> None:
        if self._options.span is None and self._edge_times is not None:
            raise ArgumentError("edge_times", "none without a window", self._edge_times)

    def _connect(self) -> None:
        """Have the engine match the updates of the native monitor, if there is an engine."""
        if self._engine is None:
            return
        held = WeakMethod(self._match_run)  # without a circle, memory is freed with the last reference

        def match_run(run: _native.Run) -> _native.RunMatches | None:
            match = held()
            assert match is not None, "a call of the monitor holds it"
            return match(run)

        self._native.match_elsewhere(match_run)

    def _match_run(self, run: _native.Run) -> _native.RunMatches | None:
        """Have the engine match a run, and do meanwhile what the call wants done."""
        assert self._engine is not None
        wanted, self._meanwhile = self._meanwhile, None
        try:
            if wanted is None:
                return self._engine.match(run)
            return self._engine.match(run, wanted)
        except DeviceMemoryError:
            self._unmatched = run.updates
            raise

    def _fill_window(self, edge_times: str | None) -> None:
        options = self._options
        self._check_times_of_edges()
        if options.span is None:
            return
        open_window(self._native, options.span)
        if edge_times is not None:
            clock, copies, unit = self._numbering.clock, options.count_copies, options.time_unit
            fill_window(self._native, self._base, edge_times, options.span, clock, unit, copies=copies)
            inserts, sources, targets, labels, _, expired = self._native.advance(clock.latest)
            if expired:
                terms = _native.Terms(batch=False, threads=1, at_once=0, put_off=True, most=1)
                self._native.apply(inserts, sources, targets, labels, None, None, True, terms, None, None)
                self._snapshot = None

    def __repr__(self) -> str:
        if getattr(self, "_native", None) is None:
            return "Monitor(closed)"
        kind = "directed" if self._base.directed else "undirected"
        parts = [
            quantity(len(self._watched), "pattern"),
            quantity(self.num_vertices, "vertex"),
            quantity(self.num_edges, "edge"),
            kind,
            self.mode,
        ]
        if self._options.span is not None:
            parts.append(f"window of {self._options.span}")
        return f"Monitor({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Return the facts of `repr` and the patterns as HTML."""
        from motiflux.stream.matching.page import monitor_page  # needed in notebooks only

        if getattr(self, "_native", None) is None:
            return monitor_page([("monitor", "closed")], [])
        edges = f"{grouped(self.num_edges)}, {'directed' if self._base.directed else 'undirected'}"
        facts = [
            ("patterns", grouped(len(self._watched))),
            ("vertices", grouped(self.num_vertices)),
            ("edges", edges),
            ("mode", self.mode),
            ("updates applied", grouped(self.updates_applied)),
        ]
        if self._options.span is not None:
            facts.append(("window", str(self._options.span)))
        return monitor_page(facts, list(self._watched))

    def __reduce_ex__(self, protocol: object) -> Any:
        raise ArgumentError("monitor", "monitor.save(path) to keep it or hand it on", "pickling or copying")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back the memory; the monitor cannot be used any more. Its feed is closed, if it has one."""
        if self._feed is not None:
            self._feed.close(finish=False)
        self._check_overlap()
        if self._native is not None and self._native.noops_awaited:
            self._native.write_put_off()
        if self._native is not None and self._engine is not None:
            self._native.match_elsewhere(None)
            if self._auto is None:
                self._engine.close()
        if self._auto is not None:
            self._auto.close()
        self._native = None  # type: ignore[assignment]
        self._snapshot = None

    @property
    def mode(self) -> str:
        """``"sequence"`` or ``"batch"``."""
        return self._options.mode

    @property
    def engine(self) -> str:
        """What matches the updates: ``"cpu"``, or an engine on a GPU."""
        return self._ran.engine

    @property
    def device(self) -> str:
        """The device of the engine: ``"cpu"`` or a GPU; several GPUs with a comma between them."""
        return self._ran.device

    @property
    def reason(self) -> str:
        """Why this engine and device, in words."""
        return self._ran.why

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `Monitor` that determine its results, with their defaults, in plain types."""
        return self._options.arguments()

    @property
    def directed(self) -> bool:
        """Whether the graph is directed."""
        return self._base.directed

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns that are watched."""
        return tuple(self._watched)

    @property
    def num_vertices(self) -> int:
        """Number of vertices now; while batches of a run overlap, after the last one that is final."""
        native = self._open()
        before = self._vertices_before()
        return native.num_vertices if before is None else before

    @property
    def num_edges(self) -> int:
        """Number of distinct edges now; while batches of a run overlap, after the last one that is final."""
        native = self._open()
        if self._copies is not None:
            return self._copies.num_edges
        return native.num_edges if self._vertices_before() is None else native.final_edges

    def _vertices_before(self) -> int | None:
        """Return the number of vertices before the batches that can be taken back; None if there are none."""
        return None if self._open_calls is None else self._open_calls.vertices()

    def _check_overlap(self) -> None:
        """Refuse a call while batches of a run can be taken back."""
        if self._vertices_before() is not None:
            raise ArgumentError("monitor", AFTER_A_RUN, "a call while batches of the run overlap")

    @property
    def nbytes(self) -> int:
        """Bytes held by the changing adjacency, the vertex labels, and copies with attributes."""
        copies = 0 if self._copies is None else self._copies.nbytes
        return self._open().nbytes + copies + (0 if self._compared is None else self._compared.nbytes)

    @property
    def lists_matches(self) -> bool:
        """Whether the matches of a pattern are given, not only their number."""
        return self._options.matches or any(watched.told for watched in self._watched.values())

    @property
    def replanned(self) -> int:
        """How often the plans of a pattern were made anew, as numbers of edges by label had changed much.

        This happens between two calls, and changes no result; of the matches of one update, the order may
        change.
        """
        return self._replanning.replaced

    @property
    def probed(self) -> int:
        """How often a search was replaced, as another order took less work for updates of the stream.

        This happens between two calls, and changes no result; of the matches of one update, the order may
        change.
        """
        return self._probing.replaced

    @property
    def needs_times(self) -> bool:
        """Whether updates need times: there is a window of time."""
        return self._options.span is not None and self._options.span.timed

    def kinds(self) -> dict[str, str | None]:
        """Return the known types of ids and labels: ``"i"`` integers, ``"U"`` strings, None not known."""
        return {
            "ids": self._numbering.ids.kind,
            "edge_labels": self._numbering.edge_labels.kind,
            "vertex_labels": self._numbering.vertex_labels.kind,
        }

    def names(self, vertices: NDArray[np.uint32]) -> NDArray[Any]:
        """Return the external ids of internal numbers, in the shape given."""
        return self._numbering.ids.names(vertices)

    def _in_slots(self) -> list[tuple[Pattern, int, bool]]:
        """Return the patterns, each with its native number, and whether its matches are given."""
        if self._slots is None:
            self._slots = [(pattern, one.slot, one.told) for pattern, one in self._watched.items()]
        return self._slots

    def _open(self) -> _native.Monitor:
        if self._native is None:
            raise ArgumentError("monitor", "one that is not closed", "a closed one")
        return self._native

    def _alone(self, work: Callable[[], T]) -> T:
        """Run `work` while no other call runs."""
        call = Call()
        try:
            self._begin_call(call)
            return work()
        finally:
            if self._call is call:
                self._call = None

    def _write_put_off(self) -> None:
        """Write the updates that were put off; also during a call of this thread, which undoes its own."""
        running = self._call
        if running is not None and running.thread != threading.get_ident():
            self._begin_call(Call())  # raises the error
        self._open().write_put_off()

    def _begin_call(self, call: Call, *, overlaps: bool = False) -> None:
        """Refuse a call during another one, from any thread, or among batches that overlap.

        `overlaps`: it is the call of such a batch.
        """
        if not overlaps:
            self._check_overlap()
        if self._feed is not None and not self._feed.admits_thread():
            raise ArgumentError("monitor", WHILE_PAUSED, "a call while its feed is open")
        running = self._call
        if running is not None:
            where = "this thread" if running.thread == call.thread else "another thread"
            raise ArgumentError("monitor", "one call at a time", f"a call while one is running in {where}")
        self._call = call

    def _open_feed(self, feed: OpenFeed) -> None:
        """Have a feed call the monitor, and no other thread."""
        self._open()

        def take() -> None:
            if self._feed is not None:
                raise ArgumentError("monitor", "one feed at a time", "an open one")
            self._feed = feed

        self._alone(take)

    def _close_feed(self, feed: OpenFeed) -> None:
        if self._feed is feed:
            self._feed = None
            self._hold_engine(on=False)

    @property
    def _feed_updates(self) -> int:
        """Most updates of a feed that are applied in one call, if the user names no number."""
        return FEED_UPDATES if self._engine is None else self._engine.feed_updates

    def _hold_engine(self, *, on: bool) -> None:
        """Tell the engine whether calls follow each other closely."""
        if self._engine is not None:
            self._engine.hold(on=on)

    def _take_snapshot(self) -> Graph:
        if self._snapshot is not None and self._asks_for_more(self._snapshot):
            self._snapshot = None
        if self._snapshot is None and self._copies is not None:
            self._snapshot = self._graph_of_copies(self._copies)
        if self._snapshot is None:
            sources, targets, labels, copies = self._open().edges()
            names, vertex_names = self._numbering.edge_labels.array(), self._numbering.vertex_labels.array()
            repeat = copies.astype(np.int64)
            self._snapshot = Graph.from_columns(
                GraphColumns(
                    np.repeat(sources, repeat),
                    np.repeat(targets, repeat),
                    vertex_ids=self._numbering.ids.all(),
                    vertex_labels=vertex_names[_native.vertex_codes(self._open())],
                    edge_labels=names[np.repeat(labels, repeat)],
                    vertex_attributes=self._attributes_of_vertices(len(self._numbering.ids)),
                    directed=self._base.directed,
                    positions=True,
                )
            )
        return self._snapshot

    def _begin_copies(self) -> None:
        if self._copies is not None:
            self._copies.begin()
            if self._compared is not None:
                self._compared.begin()

    def _mark(self) -> tuple[Mark, int, int]:
        return self._numbering.mark(), self.updates_applied, self.batches_applied

    def _back_to(self, marked: tuple[Mark, int, int]) -> None:
        mark, self.updates_applied, self.batches_applied = marked
        if self._copies is not None:
            if self._compared is not None:
                self._compared.undo()
            self._copies.undo()
        self._numbering.back_to(mark)
        if self._native is not None and self._native.num_vertices > mark.vertices:
            self._native.keep_vertices(mark.vertices)
