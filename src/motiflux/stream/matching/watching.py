"""Patterns watched on a changing graph, and the engine that matches them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.api.per_vertex import count_per_vertex
from motiflux.conditions import Condition
from motiflux.errors import ArgumentError
from motiflux.graph import AttributeTable, Graph
from motiflux.interop import GraphColumns
from motiflux.pattern import AnyVertex, Pattern, QueryVertex
from motiflux.pattern.queries.watched import CasePattern
from motiflux.plan.passes.alternatives import alternative_plans
from motiflux.plan.passes.delta import delta_plans, same_searches
from motiflux.plan.passes.drafts import DeltaPlan, Drafter
from motiflux.plan.passes.symmetry import Transversal, transversals
from motiflux.request.engine import CANNOT, Ran
from motiflux.result.image_counts import VertexCounts
from motiflux.stream.copies.facets import names_in
from motiflux.stream.matching.compared import LiveNegation, LivePattern
from motiflux.stream.matching.conditioned import Conditioned
from motiflux.stream.matching.core import NEGATION_ON_CPU, Watched
from motiflux.stream.matching.engine import HOST, UnmatchedPatternError, UpdateEngine
from motiflux.stream.matching.native import PlanWriter, bind_growing, check_on_streams, edges_in_codes
from motiflux.stream.matching.probing import MOST_ALTERNATIVES
from motiflux.stream.matching.vertex_counts import counts_of, words_of
from motiflux.types import Semantics, Symmetry


class Watching(Conditioned):
    """A monitor's inside to which patterns are added, with plans for the engine that matches them."""

    def takes_quiet_batches(self, size: int) -> bool:
        """Whether batches of up to this size need neither an engine nor a choice of one."""
        chosen = self._auto is not None and size >= self._auto.least
        alerts = self._counting is not None and self._counting.options.alert is not None
        plain = self.takes_plain_updates and not alerts
        return plain and self._engine is None and not chosen

    def takes_feed_turns(self, most: int) -> bool:
        """Whether calls of up to so many plain updates can be applied without Python."""
        if not self.takes_plain_updates or self._counting is not None:
            return False
        if self._auto is not None:
            return self._engine is None and most < self._auto.least
        return self._engine is None or self._engine.takes_turns

    def overlaps(self, size: int, *, in_memory: bool) -> bool:
        """Whether a device may match batches of this size while the host works on others.

        By default only if they are read from a file. Updates in memory need no reading: with the pipeline
        they took .87 and 1.12 times as long (triangles, R-MAT 20, batches of 1 %).
        """
        pipeline = self._options.switches["pipeline"]
        if pipeline == "off" or (pipeline == "auto" and in_memory) or self._counting is not None:
            return False
        return self._engine is not None or (self._auto is not None and size >= self._auto.least)

    @property
    def overlaps_calls(self) -> bool:
        """Whether a batch may be prepared while another one is matched, and two batches taken back."""
        in_batches = self.mode == "batch" and self.takes_plain_updates and self._counting is None
        engine = None if self._auto is not None else self._engine
        return in_batches and engine is not None and engine.overlaps_calls

    def _choose(self, updates: int) -> None:
        """With ``device="auto"``, choose where a call is matched, and prepare the plans and rows for it."""
        auto = self._auto
        if auto is None:
            return
        if auto.failed is not None or (self._engine is None and auto.leaves_to_cpu(updates)):
            self._use(None)
            self._ran = auto.failed or auto.small
            return
        native = self._open()
        choice = auto.choose(
            updates,
            row_cost=sum(watched.row_cost for watched in self._watched.values()),
            typical_row=lambda: native.typical_row,
            arcs=2 * native.written_edges,
            lists=self.lists_matches,
        )
        engine = None
        if choice.on_gpu:
            try:
                engine = auto.engine()
                if auto.awaits_kernels(engine, choice):
                    engine = None
                else:
                    self._use(engine)
                    engine.begin(native, self._threads)
            except (*CANNOT, UnmatchedPatternError) as error:
                self._leave_gpu(error)
                return
        if engine is None:
            self._use(None)
            self._ran = Ran(HOST, HOST, auto.why)
        else:
            self._ran = Ran(engine.name, engine.device, auto.why)

    def _use(self, engine: UpdateEngine | None) -> None:
        """Have an engine match from now on, or the native monitor; for an engine of ``device="auto"``.

        After an interrupt in between, the native monitor has plans that whatever matches can search.
        """
        if engine is None and self._engine is None:
            return
        if engine is None:
            assert self._engine is not None
            self._engine.outdate()
            self._native.match_elsewhere(None)
            self._plan_for(None)
            if self._auto is not None:
                self._auto.use(on_gpu=False)
            self._engine = None  # last: until then, the next call does all this again
        else:
            self._engine = engine  # first: `_use(None)` undoes what follows
            self._plan_for(engine)
            self._connect()
            if self._auto is not None:
                self._auto.use(on_gpu=True)

    def _leave_gpu(self, error: Exception) -> None:
        """Leave the GPU of ``device="auto"``, which failed."""
        assert self._auto is not None
        self._use(None)
        self._plan_for(None)
        self._run_limit.forget()
        self._auto.give_up(error)
        self._ran = self._auto.failed or self._ran

    def _plan_for(self, engine: UpdateEngine | None) -> None:
        """Give the native monitor plans that an engine, or it itself, can search."""
        name = HOST if engine is None else engine.name
        for pattern, watched in self._watched.items():
            if watched.planned_for == name:
                continue
            self._replace(pattern, watched, engine)

    def _replace(self, pattern: Pattern, watched: Watched, engine: UpdateEngine | None) -> None:
        """Give the native monitor other plans of a pattern."""
        plans = self._planned(pattern, watched, engine)
        written = self._in_native_form(watched, plans)
        watched.planned_for = None
        self._native.replace_plans(watched.slot, written)
        watched.use(plans)
        if engine is not None:
            self._check_plans(pattern, watched.slot, engine)
        watched.planned_for = HOST if engine is None else engine.name

    def _follow_graph(self) -> None:
        """Replace plans if the graph has changed much, or searches took long; between two calls."""
        if self._engine is not None:
            self._follow_growth(self._engine)
        else:
            self._probing.look(self._native, self._by_slot, self._alternatives, self._in_native_form)
            patterns = {watched.slot: pattern for pattern, watched in self._watched.items()}
            self._replanning.look(
                self._native,
                self._watched.values,
                lambda watched: self._replan(patterns[watched.slot], watched),
            )

    def _follow_growth(self, engine: UpdateEngine) -> None:
        """Replace plans of an engine if other orders are preferred since the graph has grown."""
        if not engine.pools or self._open_calls is not None:
            return
        if not self._pool_orders.look(self._native, len(self._numbering.vertex_labels.values)):
            return
        for pattern, watched in self._watched.items():
            if not watched.listed:
                others = self._watched.values()
                watched.numbers = self._replanning.numbers_now(self._native, watched.counted, others)
                self._replace(pattern, watched, engine)

    def _replan(self, pattern: Pattern, watched: Watched) -> bool:
        """Plan by other numbers; return whether other searches came of it."""
        if same_searches(self._planned(pattern, watched, None), watched.planned):
            return False
        self._replace(pattern, watched, None)
        return True

    def _by_slot(self) -> dict[int, Watched]:
        return {watched.slot: watched for watched in self._watched.values()}

    def _alternatives(self, watched: Watched, used: Sequence[DeltaPlan]) -> list[DeltaPlan]:
        """Return other plans for a place, to be raced with those in use."""
        if watched.bound.negates or watched.tallied is not None:
            return []
        switches = self._options.switches
        drafter = Drafter.of(
            watched.writer.pattern,
            watched.bound,
            semantics=self._options.matching,
            symmetry=self._options.symmetry,
            counting=not watched.listed,
            merge=switches["orbits"] == "on",
            tail=switches["tail"] == "on",
            mixed_tails=True,
            reuse=switches["reuse"] == "on",
        )
        return alternative_plans(self._base, drafter, used, most=MOST_ALTERNATIVES, numbers=watched.numbers)

    @staticmethod
    def _in_native_form(watched: Watched, plans: Sequence[DeltaPlan]) -> list[Any]:
        return [watched.writer.write(plan, watched.canonical) for plan in plans]

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
        self._check_vertices(added)
        self._admit_conditions(added)
        told = self._options.matches if matches is None else bool(matches)
        listed = told or (self._counting is not None and self._engine is not None)
        initial = self._initial_counts(added)
        bound = bind_growing(
            added,
            directed=self._base.directed,
            vertex_labels=self._numbering.vertex_labels,
            edge_labels=self._numbering.edge_labels,
            semantics=self._options.semantics,
        )
        if bound.negates:
            self._match_on_host(added)
        native = self._open()
        canonical: tuple[Transversal, ...] = ()
        once = self._options.symmetry is Symmetry.SUBGRAPHS and not isinstance(added, CasePattern)
        if listed and once:
            canonical = transversals(added, directed=self._base.directed)
        if self._auto is not None:
            self._use(None)  # rows of the GPU would have to be loaded again for other plans
        taken = {watched.slot for watched in self._watched.values()}
        slot = next(number for number in range(len(taken) + 1) if number not in taken)
        native.drop_pattern(slot)  # an interrupted call may have left a pattern there
        always_sums = self._options.switches["quotients"] == "on"
        injective = self._options.matching is Semantics.ISOMORPHISM and not added.may_coincide
        writer = PlanWriter(
            native, added, bound, injective=injective, always_sums=always_sums, facets=self._facets
        )
        watched = Watched(slot, listed, told, writer, canonical)
        if self._counting is not None and not listed:
            watched.tallied = self._counting.options.place(added)
        if self._snapshot is not self._base or self._facets is not None:
            planned = self._watched.values()
            watched.numbers = self._replanning.numbers_now(native, watched.counted, planned)
        try:
            writer.find_vertices(self._numbering.vertex_of, self._satisfying)
            watched.use(self._planned(added, watched, self._engine))
            native.add_pattern(slot, self._in_native_form(watched, watched.plans), listed)
            if self._counting is not None:
                assert initial is not None
                self._counting.watch(native, added, slot, initial)
            if self._engine is not None:
                self._check_plans(added, slot, self._engine)
            watched.planned_for = HOST if self._engine is None else self._engine.name
            self._numbering.await_ids(writer.awaited)
            self._slots = None
            if added.comparisons:
                self._compare(added, watched)
            self._watched[added] = watched
            if self._auto is not None:
                self._auto.forget_work()
        except BaseException:
            self._slots = None
            self._watched.pop(added, None)
            self._forget(slot, writer.lists)
            raise
        return added

    def _match_on_host(self, added: Pattern) -> None:
        """Have no GPU match from now on, as a pattern has negated edges.

        Raises
        ------
        ArgumentError
            The monitor was made for an engine of a GPU.
        """
        if self._auto is not None:
            self._use(None)
            self._auto.close()
            self._auto = None
            self._ran = Ran(HOST, HOST, NEGATION_ON_CPU)
        elif self._engine is not None:
            expected = f"one without negated edges beside engine={self._engine.name!r}: {NEGATION_ON_CPU}"
            raise ArgumentError("pattern", expected, str(added))

    def _compare(self, added: Pattern, watched: Watched) -> None:
        """Have a pattern that compares attributes matched by copies."""
        assert self._compared is not None
        live = LivePattern(
            added,
            watched.slot,
            watched.listed,
            watched.bound.labels,
            watched.writer.list_of,
            edges_in_codes(
                added, added.edges, directed=self._base.directed, edge_labels=self._numbering.edge_labels
            ),
            (
                *map(LiveNegation.of_pair, watched.bound.negated),
                *(LiveNegation.to_any(one, watched.writer.list_of_ends(one)) for one in watched.bound.bare),
            ),
            self._options.semantics,
            self._options.symmetry,
            self._base.directed,
        )
        self._compared.add(live)

    def _vertex_counts(self, pattern: Pattern) -> VertexCounts:
        """Return the counts of a pattern at each vertex now.

        Raises
        ------
        ArgumentError
            None are kept.
        """
        self._open()
        if self._counting is None:
            raise ArgumentError("per_vertex", "Monitor(..., per_vertex=...) where counts are asked for", None)
        ids = self._numbering.ids.all()
        nothing = np.empty(0, np.uint32)
        graph = Graph.from_columns(
            GraphColumns(nothing, nothing, vertex_ids=ids, directed=self._base.directed, positions=True)
        )
        by_id = np.argsort(ids, kind="stable")
        order = by_id[np.searchsorted(ids, graph.vertex_ids, sorter=by_id)]
        kept = counts_of(self._native.tallied(self._watched[pattern].slot))
        return VertexCounts(
            graph=graph,
            pattern=pattern,
            columns=(pattern.vertices[self._counting.options.place(pattern)].name,),
            counts=kept[order],
            complete=True,
            seconds=0.0,
            plan_seconds=0.0,
            engine=self._ran.engine,
            device=self._ran.device,
            reason="kept in step with the graph",
        )

    def _initial_counts(self, added: Pattern) -> NDArray[np.uint64] | None:
        """Return the counts of a pattern at each vertex now, in words; None if none are kept."""
        if self._counting is None:
            return None
        if added in self._counting.known:
            return self._counting.known.pop(added)
        options = self._options
        place = self._counting.options.place(added)
        found = count_per_vertex(
            self._take_snapshot(),
            added,
            place,
            semantics=options.semantics.value,
            symmetry=options.symmetry.value,
            threads=self._threads,
        )
        ids = self._numbering.ids.all()
        by_id = np.argsort(found.ids, kind="stable")
        order = by_id[np.searchsorted(found.ids, ids, sorter=by_id)] if len(ids) else by_id
        return words_of(found.counts[order])

    def _planned(
        self, pattern: Pattern, watched: Watched, engine: UpdateEngine | None
    ) -> tuple[DeltaPlan, ...]:
        """Return a pattern's plans for an engine or the native monitor; those that compare have none."""
        if pattern.comparisons:
            return ()
        make = partial(
            delta_plans,
            self._base,
            pattern,
            watched.bound,
            semantics=self._options.matching,
            symmetry=self._options.symmetry,
            counting=not watched.listed,
            merge=self._options.switches["orbits"] == "on",
            tail=self._options.switches["tail"] == "on" and (engine is None or engine.counts_tails),
            mixed_tails=engine is None,
            either_end=engine is None,
            pools=engine is not None and engine.pools and self._pool_orders.are_preferred,
            reuse=self._options.switches["reuse"] == "on",
            coalesce=self._coalesce(watched, engine),
            remove=self._options.switches["coalesce_without"],
            quotients=engine is None and self._options.switches["quotients"] != "off",
            tallied=watched.tallied,
        )
        if watched.numbers is None:
            # Plans depend on nothing but the arguments: other monitors on this graph may have made them.
            key = ("delta plans", pattern, watched.bound, *make.keywords.items())
            return self._base.memo.get(key, make)
        return make(numbers=watched.numbers)

    def _coalesce(self, watched: Watched, engine: UpdateEngine | None) -> str:
        """Return whether plans share levels, as `delta_plans` takes it."""
        asked = self._options.switches["coalesce"]
        if engine is None:
            return asked
        return "on" if asked == "on" and engine.coalesces and watched.listed else "off"

    def _check_plans(self, added: Pattern, slot: int, engine: UpdateEngine) -> None:
        """Refuse a pattern that an engine cannot match."""
        plans = [self._native.plan(number) for number in range(self._native.num_plans)]
        why_not = engine.check([plan for plan in plans if plan[0] == slot])
        if why_not is not None:
            raise UnmatchedPatternError(engine, why_not, str(added))

    def _drop(self, removed: Pattern) -> None:
        self._slots = None
        watched = self._watched.pop(removed)
        if self._auto is not None:
            self._auto.forget_work()
        self._forget(watched.slot, watched.writer.lists)

    def _forget(self, slot: int, lists: Sequence[int]) -> None:
        native = self._open()
        if self._compared is not None:
            self._compared.drop(slot)
        native.drop_pattern(slot)
        self._numbering.await_no_more(lists)
        for number in lists:
            native.drop_list(number)

    def _satisfying(self, condition: Condition) -> NDArray[np.bool_]:
        """Return which vertices satisfy a condition, and last whether those that come later do."""
        vertices = self.num_vertices + 1
        table = AttributeTable("vertex", self._attributes_of_vertices(vertices, names_in(condition)))
        return table.holds(condition, vertices)

    def _check_vertices(self, pattern: Pattern) -> None:
        """Refuse conditions that the attributes of vertices do not admit."""
        vertices: list[QueryVertex | AnyVertex] = [*pattern.vertices]
        ends = (end for one in pattern.negated for end in (one.source, one.target))
        vertices += [end for end in ends if isinstance(end, AnyVertex)]
        for vertex in vertices:
            check_on_streams(vertex, str(pattern))
            if vertex.where is not None:
                self._vertex_attributes.check(vertex.where)

    def _check_ids(self, pattern: Pattern) -> None:
        """Refuse ids of a kind that the graph's are not, as other searches do."""
        ends = [end for one in pattern.negated for end in (one.source, one.target)]
        vertices: list[QueryVertex | AnyVertex] = [*pattern.vertices]
        vertices += [end for end in ends if isinstance(end, AnyVertex)]
        for name in (name for vertex in vertices for name in vertex.ids or ()):
            if self._numbering.ids.kind not in (None, "U" if isinstance(name, str) else "i"):
                wanted = "integers" if self._numbering.ids.kind == "i" else "strings"
                raise ArgumentError("ids", f"{wanted}, as the graph's ids are", name)
