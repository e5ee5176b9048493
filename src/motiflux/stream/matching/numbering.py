"""Updates in internal numbers: ids, labels and moments as the native monitor has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import StreamError
from motiflux.graph import Graph
from motiflux.stream.matching.names import GrowingCodes, GrowingIds, GrowingLabels
from motiflux.stream.time_kinds import TimeKind
from motiflux.stream.updates import Updates, VertexLabels
from motiflux.stream.window import Clock
from motiflux.types import DEFAULT_LABEL, Label, VertexId


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
    kinds: tuple[str | None, str | None, str | None]


class Numbering:
    """The ids and labels of a graph that changes, numbered in the order of their first occurrence.

    Parameters
    ----------
    graph
        As it is at the start.
    clock
        Reads the moments of updates.
    """

    def __init__(self, graph: Graph, clock: Clock) -> None:
        self.ids = GrowingIds(graph.vertex_ids)
        self.codes = GrowingCodes(graph.num_vertices, graph.vertex_labels)
        self.vertex_labels = GrowingLabels(graph.vertex_label_table, in_use=graph.num_vertices > 0)
        self.edge_labels = GrowingLabels(graph.edge_label_table, in_use=graph.num_edges > 0)
        self.clock = clock
        self.awaited: dict[VertexId, list[int]] = {}
        """Native lists that ids belong to as soon as there is such a vertex."""

    def vertex_of(self, name: VertexId) -> int | None:
        """Return the vertex of an id, or None while there is no such vertex."""
        column = np.array([name])
        if column.dtype.kind != self.ids.kind or column[0] != name:
            return None
        found = int(self.ids.find(column)[0])
        return None if found < 0 else found

    def await_ids(self, lists: Mapping[VertexId, Sequence[int]]) -> None:
        """Add vertices to lists when their ids occur."""
        for name, numbers in lists.items():
            self.awaited.setdefault(name, []).extend(numbers)

    def await_no_more(self, lists: Iterable[int]) -> None:
        """Leave these lists as they are from now on."""
        gone = set(lists)
        if gone:
            kept = ((name, [n for n in numbers if n not in gone]) for name, numbers in self.awaited.items())
            self.awaited = {name: numbers for name, numbers in kept if numbers}

    def mark(self) -> Mark:
        """Return a state for `back_to`."""
        return Mark(
            len(self.ids),
            len(self.vertex_labels.values),
            len(self.edge_labels.values),
            self.clock.latest,
            self.clock.kind,
            (self.ids.kind, self.vertex_labels.kind_in_use, self.edge_labels.kind_in_use),
        )

    def back_to(self, mark: Mark) -> None:
        """Undo all changes since `mark`."""
        self.ids.keep(mark.vertices)
        self.codes.keep(mark.vertices)
        self.vertex_labels.keep(mark.vertex_labels)
        self.edge_labels.keep(mark.edge_labels)
        self.clock.latest, self.clock.kind = mark.latest, mark.time_kind
        self.ids.kind, self.vertex_labels.kind_in_use, self.edge_labels.kind_in_use = mark.kinds

    def columns(self, updates: Updates, native: _native.Monitor) -> NativeUpdates:
        """Return updates in internal numbers; the vertices that they bring are added.

        Raises
        ------
        StreamError
            Ids or labels of the wrong kind, labels that change, or moments out of order.
        """
        self.ids.check_kind(updates.sources, "updates, sources")
        self.ids.check_kind(updates.targets, "updates, targets")
        if len(updates) and updates.sources.dtype.kind != updates.targets.dtype.kind:
            raise StreamError("updates: expected all ids to be integers, or all strings, found both")
        kept = updates.sources != updates.targets
        self_loops = len(kept) - int(np.count_nonzero(kept))
        kept, moments, late = self.clock.order(updates.times, updates.zoned, kept)
        origin = None
        inserts, sources, targets, labels = updates.inserts, updates.sources, updates.targets, updates.labels
        if not kept.all():
            origin = np.flatnonzero(kept)
            inserts, sources, targets = inserts[kept], sources[kept], targets[kept]
            labels = None if labels is None else labels[kept]
        ends = [self.ids.find(sources), self.ids.find(targets)]
        if updates.vertex_labels is not None or any((part < 0).any() for part in ends):
            self._add_vertices(native, (sources, targets), ends, updates.vertex_labels, origin)
            ends = [self.ids.find(sources), self.ids.find(targets)]
        codes = None
        if len(sources):
            kind = "i" if labels is None else labels.dtype.kind
            self.edge_labels.admit(kind, "updates, labels")
        if labels is not None:
            codes = self.edge_labels.codes_of(labels)
        elif (default := self.edge_labels.code(DEFAULT_LABEL)) != 0:
            codes = np.full(len(sources), default, dtype=np.uint32)
        return NativeUpdates(
            np.ascontiguousarray(inserts).view(np.uint8),
            ends[0].astype(np.uint32),
            ends[1].astype(np.uint32),
            codes,
            origin,
            moments,
            self_loops,
            late,
        )

    def _add_vertices(
        self,
        native: _native.Monitor,
        mentioned: tuple[NDArray[Any], NDArray[Any]],
        ends: Sequence[NDArray[np.int64]],
        named: VertexLabels | None,
        origin: NDArray[np.int64] | None,
    ) -> None:
        """Add the vertices that updates mention or name, in the order of their ids."""
        labels: dict[VertexId, Label] = {}
        first_mention = _first_mentions(mentioned, ends, origin)
        if named is not None:
            self.ids.check_kind(named.ids, "vertex labels, ids")
            self._name(named, labels, first_mention)
        new = dict.fromkeys([*labels, *first_mention])
        if not new:
            return
        for name in new:
            kind = "U" if isinstance(labels.get(name, DEFAULT_LABEL), str) else "i"
            self.vertex_labels.admit(kind, f"vertex {name!r}, label")
        column = np.array(list(new))
        codes = np.array(
            [self.vertex_labels.code(labels.get(name, DEFAULT_LABEL)) for name in new], dtype=np.uint32
        )
        first = len(self.ids)
        self.ids.add(column)
        self.codes.add(codes)
        native.add_vertices(codes)
        for vertex, name in enumerate(new, first):
            for number in self.awaited.get(name, ()):
                native.extend_list(number, vertex)

    def _name(
        self, named: VertexLabels, labels: dict[VertexId, Label], first_mention: Mapping[VertexId, int]
    ) -> None:
        """Set the labels of new vertices in `labels`; refuse a change of label."""
        known = self.ids.find(named.ids)
        rows = zip(
            named.ids.tolist(), named.labels.tolist(), named.positions.tolist(), known.tolist(), strict=True
        )
        for at, (name, label, position, vertex) in enumerate(rows):
            if vertex >= 0:
                before = self.vertex_labels.values[self.codes.of(vertex)]
            elif name in labels:
                before = labels[name]
            elif first_mention.get(name, position) < position:
                before = DEFAULT_LABEL
            else:
                labels[name] = label
                continue
            if before != label:
                raise StreamError(
                    f"vertex {name!r}: expected the label it has, {before!r}, found {label!r}; "
                    "labels of vertices do not change",
                    position,
                    at,
                )


def _first_mentions(
    mentioned: tuple[NDArray[Any], NDArray[Any]],
    ends: Sequence[NDArray[np.int64]],
    origin: NDArray[np.int64] | None,
) -> dict[VertexId, int]:
    """Return the unknown ids that updates mention, and the position of the first that does."""
    found: dict[VertexId, int] = {}
    unknown = np.flatnonzero((ends[0] < 0) | (ends[1] < 0))
    for row in unknown.tolist():
        position = row if origin is None else int(origin[row])
        for column, end in zip(mentioned, ends, strict=True):
            if end[row] < 0:
                found.setdefault(column[row].item(), position)
    return found


def original(numbers: NDArray[np.uint64], origin: NDArray[np.int64] | None) -> NDArray[np.uint64]:
    """Return positions among the applied updates as positions among the given ones."""
    return numbers if origin is None else origin[numbers.astype(np.int64)].astype(np.uint64)
