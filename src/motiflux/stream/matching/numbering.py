"""Updates in internal numbers: ids, labels and moments as the native monitor has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import GraphError, StreamError
from motiflux.graph import Graph
from motiflux.stream.matching.names import GrowingIds, GrowingLabels, code_points
from motiflux.stream.time_kinds import TimeKind
from motiflux.stream.updates import Updates, VertexLabels
from motiflux.stream.window import Clock
from motiflux.types import DEFAULT_LABEL, MAX_VERTICES, VertexId

NO_CODE = 2**32 - 1
"""The code of vertices without a label, where no element has that label."""


@dataclass(frozen=True, eq=False)
class NativeUpdates:
    """Updates in internal numbers.

    Parameters
    ----------
    origin
        The position of each among the given updates; None if all are there.
    moments
        Of each, in nanoseconds, ascending.
    self_loops, late
        The updates left out, and the updates out of time order.
    """

    inserts: NDArray[np.uint8]
    sources: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    labels: NDArray[np.uint32] | None
    origin: NDArray[np.int64] | None
    moments: NDArray[np.int64] | None = None
    self_loops: int = 0
    late: int = 0


class Mark(NamedTuple):
    """A state to which a call that fails returns."""

    vertices: int
    vertex_labels: int
    edge_labels: int
    latest: int
    time_kind: TimeKind | None
    label_kinds: tuple[str | None, str | None]


class Awaited(NamedTuple):
    """Vertices that may come: with an id, or any; with one of some labels, by codes, or any label."""

    name: VertexId | None
    labels: tuple[int, ...] | None = None


class Numbering:
    """The ids and labels of a graph that changes, numbered in the order of their first occurrence.

    Parameters
    ----------
    graph
        As it is at the start.
    clock
        Reads the moments of updates.
    threads
        Threads that number many updates.
    """

    def __init__(self, graph: Graph, clock: Clock, threads: int) -> None:
        self._threads = threads
        self.ids = GrowingIds(graph.vertex_ids)
        self.vertex_labels = GrowingLabels(graph.vertex_label_table, in_use=graph.num_vertices > 0)
        self.edge_labels = GrowingLabels(graph.edge_label_table, in_use=graph.num_edges > 0)
        self.clock = clock
        self.awaited: dict[Awaited, list[int]] = {}
        """Native lists that vertices belong to as soon as they come."""

    def vertex_of(self, name: VertexId) -> int | None:
        """Return the vertex of an id, or None while there is no such vertex."""
        return self.ids.vertex_of(name)

    def await_ids(self, lists: Mapping[Awaited, Sequence[int]]) -> None:
        """Add vertices to lists when they come."""
        for name, numbers in lists.items():
            self.awaited.setdefault(name, []).extend(numbers)

    def await_no_more(self, lists: Iterable[int]) -> None:
        """Leave these lists as they are from now on."""
        gone = set(lists)
        if gone:
            kept = ((name, [n for n in numbers if n not in gone]) for name, numbers in self.awaited.items())
            self.awaited = {name: numbers for name, numbers in kept if numbers}

    def await_no_vertex(self, vertices: int) -> None:
        """Await ids no longer that one of the first so many vertices has, which stays."""
        found = ((one, None if one.name is None else self.vertex_of(one.name)) for one in self.awaited)
        missing = {one for one, vertex in found if vertex is None or vertex >= vertices}
        if len(missing) < len(self.awaited):
            self.awaited = {one: lists for one, lists in self.awaited.items() if one in missing}

    def mark(self) -> Mark:
        """Return a state for `back_to`."""
        return Mark(
            len(self.ids),
            len(self.vertex_labels.values),
            len(self.edge_labels.values),
            self.clock.latest,
            self.clock.kind,
            (self.vertex_labels.kind_in_use, self.edge_labels.kind_in_use),
        )

    def back_to(self, mark: Mark) -> None:
        """Undo all changes since `mark`."""
        self.ids.keep(mark.vertices)
        self.vertex_labels.keep(mark.vertex_labels)
        self.edge_labels.keep(mark.edge_labels)
        self.clock.latest, self.clock.kind = mark.latest, mark.time_kind
        self.vertex_labels.kind_in_use, self.edge_labels.kind_in_use = mark.label_kinds

    def columns(self, updates: Updates, native: _native.Monitor) -> NativeUpdates:
        """Return updates in internal numbers; the vertices that they bring are added.

        Raises
        ------
        StreamError
            Ids or labels of the wrong kind, labels that change, or moments out of order.
        """
        kind = self._kind_of(updates)
        mask, moments, late, loops = None, None, 0, 0
        if updates.times is not None or self.clock.needs_times:
            kept = updates.sources != updates.targets
            loops = len(kept) - int(np.count_nonzero(kept))
            kept, moments, late = self.clock.order(updates.times, updates.zoned, kept)
            mask = kept.view(np.uint8)
        sources, targets, origin, self_loops = self._numbered(updates, kind, mask, native)
        inserts, labels = updates.inserts, updates.labels
        if origin is not None:
            inserts = inserts[origin]
            labels = None if labels is None else labels[origin]
        codes = None
        if len(sources):
            self.edge_labels.admit("i" if labels is None else labels.dtype.kind, "updates, labels")
        if labels is not None:
            codes = self.edge_labels.codes_of(labels)
        elif (default := self.edge_labels.code(DEFAULT_LABEL)) != 0:
            codes = np.full(len(sources), default, dtype=np.uint32)
        inserted = inserts.view(np.uint8)
        return NativeUpdates(inserted, sources, targets, codes, origin, moments, self_loops + loops, late)

    def apply(
        self,
        updates: Updates,
        native: _native.Monitor,
        terms: _native.Terms,
        full: Callable[[_native.Found], None] | None,
        timeout: float | None,
        *,
        prepares: bool = False,
    ) -> _native.Found | Literal[False] | None:
        """Apply updates with external ids in one native call, if they need nothing else.

        Parameters
        ----------
        prepares
            Whether they are only prepared, for `_native.Monitor.apply_prepared`.

        Returns
        -------
        Found, False or None
            False if nothing was done: `columns` has to be used. None after the timeout; undo the call.
        """
        sources, targets = updates.sources, updates.targets
        kind = sources.dtype.kind
        if kind != self.ids.native.kind or targets.dtype.kind != kind or not len(sources):
            return False
        labels, codes, integers = updates.labels, None, None
        self.edge_labels.admit("i" if labels is None else labels.dtype.kind, "updates, labels")
        if labels is None:
            if self.edge_labels.find(DEFAULT_LABEL) != 0:
                return False
        elif (table := self.edge_labels.table()) is not None:
            integers = (np.ascontiguousarray(labels, dtype=np.int64), table)
        else:
            codes = self.edge_labels.codes_of(labels)
        unlabelled = self.plain_code()
        if kind == "U":
            apply = self.ids.native.apply_strings
            sources, targets = code_points(sources), code_points(targets)
        else:
            apply = self.ids.native.apply_integers
        return apply(
            native,
            updates.inserts,
            sources,
            targets,
            codes,
            integers,
            unlabelled,
            terms,
            full,
            timeout,
            prepares,
        )

    def plain_code(self) -> int:
        """Return the code of new vertices without a label, `NO_CODE` if adding them takes more than that."""
        if self.vertex_labels.kind_in_use != "i" or self.awaited:
            return NO_CODE
        default = self.vertex_labels.find(DEFAULT_LABEL)
        return NO_CODE if default is None else default

    def may_lack_labels(self) -> bool:
        """Return whether edges without a label have the code 0."""
        return self.edge_labels.kind_in_use == "i" and self.edge_labels.find(DEFAULT_LABEL) == 0

    def _kind_of(self, updates: Updates) -> str:
        """Return the kind of the ids; refuse others than those of the graph."""
        kind = updates.sources.dtype.kind
        if kind != self.ids.kind or updates.targets.dtype.kind != kind:
            self.ids.check_kind(updates.sources, "updates, sources")
            self.ids.check_kind(updates.targets, "updates, targets")
            if len(updates) and kind != updates.targets.dtype.kind:
                raise StreamError("updates: expected all ids to be integers, or all strings, found both")
        named = updates.vertex_labels
        if named is not None and len(named.ids):
            self.ids.check_kind(named.ids, "vertex labels, ids")
            if len(updates) and kind != named.ids.dtype.kind:
                found = named.ids[0].item()
                raise StreamError(f"vertex labels, ids: expected ids as updates have them, found {found!r}")
            return named.ids.dtype.kind
        return kind

    def _numbered(
        self, updates: Updates, kind: str, kept: NDArray[np.uint8] | None, native: _native.Monitor
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64] | None, int]:
        """Return the ends of updates in numbers, the positions of those kept, and the number of self-loops.

        New vertices are added: those with labels in the order in which these are named, then the others in
        the order of their first occurrence.
        """
        names = updates.vertex_labels if updates.vertex_labels and len(updates.vertex_labels.ids) else None
        named = None
        of_strings = kind == "U"
        if names is not None:
            ids = code_points(names.ids) if of_strings else np.ascontiguousarray(names.ids)
            places = np.ascontiguousarray(names.positions, dtype=np.int64)
            named = (ids, self.vertex_labels.codes_of(names.labels), places)
        default = self.vertex_labels.find(DEFAULT_LABEL)
        unlabelled = NO_CODE if default is None else default
        ends: tuple[NDArray[Any], NDArray[Any]] = (updates.sources, updates.targets)
        if not len(updates):  # columns of no ids may have any type
            ends = (np.empty(0, dtype="<U1" if of_strings else np.int64),) * 2
        if of_strings:
            number = self.ids.native.number_strings
            ends = (code_points(ends[0]), code_points(ends[1]))
        else:
            number = self.ids.native.number_integers
        found = number(native, *ends, kept, named, unlabelled, self._threads)
        if found is None:
            raise GraphError(f"expected at most {MAX_VERTICES:,} vertices, found more")
        sources, targets, origin, self_loops, added, codes, conflict = found
        if conflict is not None:
            raise self._changed_label(names, *conflict)
        if added:
            self._add_vertices(native, added, codes, names)
        return sources, targets, origin, self_loops

    def _changed_label(self, named: VertexLabels | None, at: int, before: int) -> StreamError:
        assert named is not None
        name, label, position = (column[at].item() for column in (named.ids, named.labels, named.positions))
        had = DEFAULT_LABEL if before == NO_CODE else self.vertex_labels.values[before]
        return StreamError(
            f"vertex {name!r}: expected the label it has, {had!r}, found {label!r}; "
            "labels of vertices do not change",
            position,
            at,
        )

    def _add_vertices(
        self,
        native: _native.Monitor,
        added: int,
        codes: NDArray[np.uint32] | None,
        named: VertexLabels | None,
    ) -> None:
        """Add vertices that have numbers: the first ones with these labels, the others without."""
        first = native.num_vertices
        labelled = 0 if codes is None else len(codes)
        if codes is not None:
            assert named is not None
            self._admit(first, named.labels.dtype.kind)
            native.add_vertices(codes)
        if added > labelled:
            self._admit(first + labelled, "i")
            default = self.vertex_labels.code(DEFAULT_LABEL)
            native.add_vertices(np.full(added - labelled, default, dtype=np.uint32))
        if not self.awaited:
            return
        labels = [] if codes is None else codes.tolist()
        labels += [self.vertex_labels.code(DEFAULT_LABEL)] * (added - labelled) if added > labelled else []
        for one, lists in self.awaited.items():
            vertex = None if one.name is None else self.vertex_of(one.name)
            came = range(first, first + added) if one.name is None else [vertex] if vertex is not None else []
            for number, new in product(lists, came):
                if new >= first and (one.labels is None or labels[new - first] in one.labels):
                    native.extend_list(number, new)

    def _admit(self, vertex: int, kind: str) -> None:
        """Admit the kind of the label of a new vertex."""
        if kind != self.vertex_labels.kind_in_use:
            name = self.ids.names(np.array([vertex]))[0].item()
            self.vertex_labels.admit(kind, f"vertex {name!r}, label")
