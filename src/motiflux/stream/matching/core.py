"""A graph that changes and the patterns watched on it: one call of a monitor at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.interop import GraphColumns
from motiflux.pattern import Pattern
from motiflux.plan.passes.delta import DeltaPlan, Numbers, Transversal, delta_plans, transversals
from motiflux.stream.matching.engine import HOST, Placement, UnmatchedPatternError
from motiflux.stream.matching.native import PlanWriter, bind_growing, loaded
from motiflux.stream.matching.numbering import Mark, Numbering
from motiflux.stream.matching.replanning import Planning, Replanning
from motiflux.stream.options import Options
from motiflux.stream.updates import Updates
from motiflux.stream.window import fill_window, open_window
from motiflux.types import Symmetry
from motiflux.units import grouped, quantity

T = TypeVar("T")


@dataclass(frozen=True)
class Watched:
    """A pattern in the native monitor: its number there, and lists of vertices.

    Parameters
    ----------
    listed
        Whether its matches are given.
    planning
        What its plans depend on.
    """

    slot: int
    listed: bool
    lists: tuple[int, ...]
    planning: Planning


def _written(
    writer: PlanWriter,
    make: Callable[..., Sequence[DeltaPlan]],
    canonical: Sequence[Transversal],
    numbers: Numbers,
) -> list[Any]:
    """Return native plans by numbers."""
    return [writer.write(plan, canonical) for plan in make(numbers=numbers)]


class Call:
    """A call that is running, and its thread.

    The method that makes one clears `Core._call` itself, without a further call, if it is its own: Ctrl-C may
    interrupt any call.
    """

    def __init__(self) -> None:
        self.thread = threading.get_ident()


class Core:
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
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        *,
        edge_times: str | None,
        threads: int,
        placement: Placement,
    ) -> None:
        self._options = options
        self._threads = threads
        self._engine = placement.open()
        self._call: Call | None = None
        self._base = graph
        self._numbering = Numbering(graph, options.clock(), threads)
        self._native = loaded(graph, count_copies=options.count_copies, threads=threads)
        is_on = options.switches["replan"] == "on" and self._engine is None
        self._replanning = Replanning(graph, is_on=is_on)
        self._native_terms: _native.Terms | None = None
        # Updates need nothing but numbers: no times, no deletions before them, no look at the graph.
        self.takes_plain_updates = options.span is None and not options.strict
        self.takes_quiet_batches = self.takes_plain_updates and self._engine is None
        # They may need deletions by a window whose clock counts insertions.
        self._takes_columns = (options.span is None or not options.span.timed) and not options.strict
        self._watched: dict[Pattern, Watched] = {}
        self._slots: list[tuple[Pattern, int, bool]] | None = None  # None after a change of the patterns
        self._snapshot: Graph | None = graph
        self._fill_window(edge_times)
        self._connect()
        self.updates_applied = 0
        """Updates that were given to `apply` so far."""
        self.batches_applied = 0
        """Calls of `apply` so far."""
        self.source_position: Any = None
        """Position in the source of the last `run`, or the position given to `save`; for `load`."""
        self.unapplied: Updates | None = None
        """Updates that the last `run` took from its source and did not apply: because of the time limit,
        Ctrl-C, an error of the sink, or because they were refused. Files return them again from
        `source_position`; queues do not."""

    def _connect(self) -> None:
        """Have the engine match the updates of the native monitor, if there is an engine."""
        if self._engine is not None:
            self._native.match_elsewhere(self._engine.match)

    def _fill_window(self, edge_times: str | None) -> None:
        options = self._options
        if options.span is None:
            if edge_times is not None:
                raise ArgumentError("edge_times", "none without a window", edge_times)
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
        """Give back the memory; the monitor cannot be used any more."""
        if self._native is not None and self._native.noops_awaited:
            self._native.write_put_off()
        if self._native is not None and self._engine is not None:
            self._native.match_elsewhere(None)
            self._engine.close()
        self._native = None  # type: ignore[assignment]
        self._snapshot = None

    @property
    def mode(self) -> str:
        """``"sequence"`` or ``"batch"``."""
        return self._options.mode

    @property
    def engine(self) -> str:
        """What matches the updates: ``"cpu"``, or an engine on a GPU."""
        return HOST if self._engine is None else self._engine.name

    @property
    def device(self) -> str:
        """The device of the engine: ``"cpu"`` or a GPU."""
        return HOST if self._engine is None else self._engine.device

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
        """Number of vertices now."""
        return self._open().num_vertices

    @property
    def num_edges(self) -> int:
        """Number of distinct edges now."""
        return self._open().num_edges

    @property
    def nbytes(self) -> int:
        """Bytes held by the changing adjacency and the vertex labels."""
        return self._open().nbytes

    @property
    def lists_matches(self) -> bool:
        """Whether the matches of a pattern are given, not only their number."""
        return self._options.matches or any(watched.listed for watched in self._watched.values())

    @property
    def replanned(self) -> int:
        """How often the plans of a pattern were made anew, as numbers of edges by label had changed much.

        This happens between two calls, and changes no result; of the matches of one update, the order may
        change.
        """
        return self._replanning.replaced

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

    def _add(self, added: Pattern, matches: bool | None) -> Pattern:
        native = self._open()
        if added in self._watched:
            raise ArgumentError("pattern", "one that is not watched yet", str(added))
        if added.may_coincide and self._options.symmetry is Symmetry.SUBGRAPHS:
            raise ArgumentError(
                "symmetry",
                "'embeddings' for a pattern with vertices that may coincide",
                self._options.symmetry.value,
            )
        self._check_ids(added)
        listed = self._options.matches if matches is None else bool(matches)
        bound = bind_growing(
            added,
            directed=self._base.directed,
            vertex_labels=self._numbering.vertex_labels,
            edge_labels=self._numbering.edge_labels,
        )
        make = partial(
            delta_plans,
            self._base,
            added,
            bound,
            semantics=self._options.semantics,
            symmetry=self._options.symmetry,
            counting=not listed,
            merge=self._options.switches["orbits"] == "on",
            tail=self._options.switches["tail"] == "on"
            and (self._engine is None or self._engine.counts_tails),
            mixed_tails=self._engine is None,
            either_end=self._engine is None,
            reuse=self._options.switches["reuse"] == "on",
        )
        numbers = None
        if self._snapshot is not self._base:
            numbers = self._replanning.numbers_now(native, bound)
        # Plans depend on nothing but the arguments: other monitors on this graph may have made them.
        plans = (
            self._base.memo.get(("delta plans", added, bound, *make.keywords.items()), make)
            if numbers is None
            else make(numbers=numbers)
        )
        canonical: tuple[Transversal, ...] = ()
        if listed and self._options.symmetry is Symmetry.SUBGRAPHS:
            canonical = transversals(added, directed=self._base.directed)
        taken = {watched.slot for watched in self._watched.values()}
        slot = next(number for number in range(len(taken) + 1) if number not in taken)
        native.drop_pattern(slot)  # an interrupted call may have left a pattern there
        writer = PlanWriter(native, added, bound)
        try:
            writer.find_vertices(self._numbering.vertex_of)
            native.add_pattern(slot, [writer.write(plan, canonical) for plan in plans], listed)
            self._check_plans(added, slot)
            self._numbering.await_ids(writer.awaited)
            self._slots = None
            planning = Planning(slot, bound, partial(_written, writer, make, canonical), numbers)
            self._watched[added] = Watched(slot, listed, tuple(writer.lists), planning)
        except BaseException:
            self._slots = None
            self._watched.pop(added, None)
            self._forget(slot, writer.lists)
            raise
        return added

    def _check_plans(self, added: Pattern, slot: int) -> None:
        """Refuse a pattern that the engine cannot match."""
        if self._engine is None:
            return
        plans = [self._native.plan(number) for number in range(self._native.num_plans)]
        why_not = self._engine.check([plan for plan in plans if plan[0] == slot])
        if why_not is not None:
            raise UnmatchedPatternError(self._engine, why_not, str(added))

    def _drop(self, removed: Pattern) -> None:
        self._slots = None
        watched = self._watched.pop(removed)
        self._forget(watched.slot, watched.lists)

    def _in_slots(self) -> list[tuple[Pattern, int, bool]]:
        """Return the patterns, each with its native number, and whether its matches are given."""
        if self._slots is None:
            self._slots = [(pattern, one.slot, one.listed) for pattern, one in self._watched.items()]
        return self._slots

    def _forget(self, slot: int, lists: Sequence[int]) -> None:
        native = self._open()
        native.drop_pattern(slot)
        self._numbering.await_no_more(lists)
        for number in lists:
            native.drop_list(number)

    def _check_ids(self, pattern: Pattern) -> None:
        """Refuse ids of a kind that the graph's are not, as other searches do."""
        for name in (name for vertex in pattern.vertices for name in vertex.ids or ()):
            if self._numbering.ids.kind not in (None, "U" if isinstance(name, str) else "i"):
                wanted = "integers" if self._numbering.ids.kind == "i" else "strings"
                raise ArgumentError("ids", f"{wanted}, as the graph's ids are", name)

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

    def _follow_graph(self) -> None:
        """Make plans anew if the graph has changed much; between two calls."""
        self._replanning.look(self._native, lambda: [one.planning for one in self._watched.values()])

    def _begin_call(self, call: Call) -> None:
        """Refuse a call during another one, from any thread."""
        running = self._call
        if running is not None:
            where = "this thread" if running.thread == call.thread else "another thread"
            raise ArgumentError("monitor", "one call at a time", f"a call while one is running in {where}")
        self._call = call

    def _take_snapshot(self) -> Graph:
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
                    directed=self._base.directed,
                    positions=True,
                )
            )
        return self._snapshot

    def _mark(self) -> tuple[Mark, int, int]:
        return self._numbering.mark(), self.updates_applied, self.batches_applied

    def _back_to(self, marked: tuple[Mark, int, int]) -> None:
        mark, self.updates_applied, self.batches_applied = marked
        self._numbering.back_to(mark)
        if self._native is not None and self._native.num_vertices > mark.vertices:
            self._native.keep_vertices(mark.vertices)
