"""The copies of the edges of a graph that changes, each with its attributes.

`motiflux._native.Copies` knows which copies there are, in which order they came, and which of them a window
ends; the columns have their attributes. Both go by row: the updates of a call have the next rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import ArgumentError, InternalError, PatternError, StreamError
from motiflux.graph import AttributeTable, Column, Kind
from motiflux.notes import note
from motiflux.pattern import Pattern
from motiflux.plan.bind import BoundEdge
from motiflux.stream.copies.changes import DeletedCopies, Expanded, Numbered
from motiflux.stream.copies.columns import GrowingColumn, State
from motiflux.stream.copies.facets import Facets, edge_conditions, names_in
from motiflux.stream.copies.kept import TIME, Kept
from motiflux.stream.updates import Updates
from motiflux.stream.window import Span

_LEAST_GONE = 1 << 16
"""Rows of copies that are gone are dropped once there are more than these, and more than of others."""


@dataclass(frozen=True)
class _Held:
    """The copies and their columns, replaced together."""

    copies: _native.Copies
    columns: dict[str, GrowingColumn]


class CopyStore:
    """The copies of one monitor.

    Parameters
    ----------
    directed
        Whether edges are directed.
    span
        The window.
    names
        The attributes that are kept; None: all.
    """

    def __init__(self, *, directed: bool, span: Span | None, names: Iterable[str] | None = None) -> None:
        self._directed, self._span = directed, span
        self._names = None if names is None else frozenset(names)
        self._time = TIME
        self._held = _Held(self._new(), {})
        self._states: dict[str, State] = {}
        self._warned: set[str] = set()
        self._origin: NDArray[np.int64] | None = None
        self.compared: frozenset[str] = frozenset()
        """Attributes that comparisons look at: they stay of one kind."""
        self.calls = 0
        """Calls that were begun: what is said of the last one is not of the others."""

    def _new(self) -> _native.Copies:
        span = self._span
        return _native.Copies(
            self._directed, None if span is None else span.length, bool(span and span.timed)
        )

    def load(self, kept: Kept) -> None:
        """Have these copies, and no others; they get their facets by `place`."""
        copies = self._new()
        none = np.zeros(len(kept.sources), dtype=np.uint32)
        copies.fill(kept.sources, kept.targets, kept.labels, none, kept.since, kept.came)
        columns = {}
        for name, values in kept.attributes.items():
            if self.wants(name):
                columns[name] = GrowingColumn(name, mixed=name in kept.mixed)
                columns[name].put(0, values)
        for column in columns.values():
            column.reach(len(none))
        self._held = _Held(copies, columns)
        self._time = kept.time

    def kept(self) -> Kept:
        """Return all copies."""
        held = self._held
        rows = held.copies.alive()
        sources, targets, labels, _, since = held.copies.columns(rows)
        attributes = {name: column.column(rows) for name, column in held.columns.items()}
        mixed = frozenset(name for name, column in held.columns.items() if column.mixed)
        return Kept(sources, targets, labels, since, held.copies.came, attributes, self._time, mixed)

    def place(self, facets: Facets) -> None:
        """Give all copies the facets of a native graph that has none of them yet."""
        held = self._held
        rows = held.copies.alive()
        _, _, labels, *_ = held.copies.columns(rows)
        bits = facets.bits(self._table(rows), len(rows))
        held.copies.set_facets(rows, facets.numbers(labels, bits))

    def edges(self) -> tuple[NDArray[np.uint32], ...]:
        """Return the edges of the native graph: sources, targets, facets, and copies of each."""
        rows = self._held.copies.alive()
        sources, targets, _, facets, _ = self._held.copies.columns(rows)
        order = np.lexsort((facets, targets, sources))
        ends = [one[order] for one in (sources, targets, facets)]
        differs = np.zeros(max(0, len(order) - 1), dtype=bool)
        for one in ends:
            differs |= one[1:] != one[:-1]
        first = np.flatnonzero(np.concatenate([np.ones(min(1, len(order)), dtype=bool), differs]))
        copies = np.diff(np.append(first, len(order))).astype(np.uint32)
        return (*(one[first] for one in ends), copies)

    @property
    def num_edges(self) -> int:
        """Number of edges, each once however many copies it has."""
        return self._held.copies.edges

    @property
    def num_copies(self) -> int:
        """Number of copies."""
        return self._held.copies.size

    @property
    def nbytes(self) -> int:
        """Bytes of copies and attributes."""
        return self._held.copies.nbytes + sum(column.nbytes for column in self._held.columns.values())

    @property
    def names(self) -> list[str]:
        """The names of the attributes."""
        return list(self._held.columns)

    def kinds(self) -> dict[str, str]:
        """Return the kinds of the attributes so far, in words."""
        return {name: column.kind_of_copies.value for name, column in self._held.columns.items()}

    def check(self, pattern: Pattern) -> None:
        """Refuse conditions on values of another kind than those so far; unknown attributes may come later.

        Raises
        ------
        PatternError
            Names the attribute.
        ArgumentError
            An attribute is not kept.
        """
        conditions = edge_conditions(pattern)
        self.check_kept({name for one in conditions for name in names_in(one)}, "a condition")
        if conditions:
            table = self._table(np.zeros(0, dtype=np.int64), {n for one in conditions for n in names_in(one)})
            for condition in conditions:
                table.check(condition)

    def check_kept(self, names: Iterable[str], asking: str) -> None:
        """Refuse to go without attributes that a condition or comparison asks for."""
        for name in sorted(names):
            if not self.wants(name):
                expected = f"{name!r} among them, as {asking} asks for it"
                raise ArgumentError("attributes", expected, sorted(self._names or ()))

    def begin(self) -> None:
        """Begin a call: those before are final."""
        self.calls += 1
        self._origin = None
        held = self._held
        if held.copies.rows > 2 * held.copies.size + _LEAST_GONE:
            rows = held.copies.alive()
            columns = {name: column.compacted(rows) for name, column in held.columns.items()}
            self._held = held = _Held(held.copies.compacted(), columns)
        held.copies.begin()
        self._states = {name: column.state() for name, column in held.columns.items()}

    def undo(self) -> None:
        """Take back what was done since `begin`; it may be repeated."""
        held = self._held
        held.copies.undo()
        for name in list(held.columns):
            if name in self._states:
                held.columns[name].back_to(self._states[name])
            else:
                del held.columns[name]

    def apply(self, updates: Updates, numbered: Numbered, facets: Facets) -> Expanded:
        """Apply updates to the copies; return the updates of the native graph.

        Raises
        ------
        StreamError
            Attributes are of another kind than those before, or than a condition asks for.
        """
        copies, size = self._held.copies, len(numbered.sources)
        self._origin = numbered.origin
        given = self._given(updates, numbered)
        self._put(given, copies.rows, numbered.inserts.astype(bool), facets.attributes | self.compared)
        labels = np.zeros(size, dtype=np.uint32) if numbered.labels is None else numbered.labels
        numbers = np.zeros(size, dtype=np.uint32)
        inserted = np.flatnonzero(numbered.inserts)
        if len(inserted):
            table = given
            if len(inserted) < size:
                table = {name: values.take(inserted) for name, values in given.items()}
            bits = self._bits(table, len(inserted), facets)
            numbers[inserted] = facets.numbers(labels[inserted], bits)
        inserts, sources, targets, found, origins, at, taken, expired, noops, first, rows = copies.apply(
            numbered.inserts,
            numbered.sources,
            numbered.targets,
            labels,
            numbers,
            numbered.moments,
            [(column.words, column.missing) for column in self._held.columns.values()],
        )
        origin = numbered.origin
        if origin is not None:
            origins, at = origin[origins], origin[at]
            first = None if first is None else int(origin[first])
        deleted = DeletedCopies(at, taken, self._held.columns)
        return Expanded(inserts, sources, targets, found, origins, rows, deleted, expired, noops, first)

    def witnesses(
        self,
        edge: BoundEdge,
        vertices: NDArray[np.uint32],
        updates: NDArray[np.int64],
        positive: NDArray[np.bool_],
        facets: Facets,
        *,
        whole: bool,
    ) -> dict[str, Column]:
        """Return the attributes of the copies that serve a query edge in matches of the last call.

        Each is the oldest, as the graph was after the update, if the match appeared, or before it.

        Parameters
        ----------
        edge
            The query edge, between two columns of `vertices`.
        vertices, updates, positive
            Of the matches: internal numbers [rows, k], the position of the update, whether they appeared.
        whole
            Whether the call was one change, after or before which the graph is looked at.
        """
        held, origin = self._held, self._origin
        accepted = facets.accepted(edge.labels, edge.where)
        labels = np.unique(facets.labels()[accepted.astype(bool)])
        rows = held.copies.witnesses(
            np.ascontiguousarray(vertices[:, edge.source], dtype=np.uint32),
            np.ascontiguousarray(vertices[:, edge.target], dtype=np.uint32),
            accepted,
            labels,
            edge.either,
            np.ascontiguousarray(updates if origin is None else np.searchsorted(origin, updates), np.int64),
            np.ascontiguousarray(positive, dtype=np.uint8),
            whole,
        )
        if len(rows) and int(rows.max()) >= held.copies.rows:
            raise InternalError("a match has no copy of an edge that serves one of its query edges")
        return {name: column.column(rows) for name, column in held.columns.items()}

    def advance(self, until: int) -> Expanded:
        """Delete the copies that the window ends until a moment."""
        changes = self._held.copies.advance(until)
        inserts, sources, targets, found, origins, at, taken, expired, noops, _, rows = changes
        deleted = DeletedCopies(at, taken, self._held.columns)
        return Expanded(inserts, sources, targets, found, origins, rows, deleted, expired, noops, None)

    @property
    def native(self) -> _native.Copies:
        """The copies; others take their place when rows are dropped, between two calls."""
        return self._held.copies

    def table(self, rows: NDArray[Any], names: Iterable[str]) -> AttributeTable:
        """Return attributes of rows; those that no copy has are there, without values."""
        return AttributeTable("edge", {name: self.column(rows, name) for name in names})

    def column(self, rows: NDArray[Any], name: str) -> Column:
        """Return an attribute of rows, without values if no copy has it."""
        column = self._held.columns.get(name)
        return Column(np.zeros(len(rows), dtype="V1")) if column is None else column.column(rows)

    def kind(self, name: str) -> Kind:
        """Return the kind of an attribute so far."""
        column = self._held.columns.get(name)
        return Kind.NOTHING if column is None else column.kind_of_copies

    def attributes_of(self, rows: NDArray[Any]) -> AttributeTable:
        """Return all attributes of rows."""
        return AttributeTable(
            "edge", {name: column.column(rows) for name, column in self._held.columns.items()}
        )

    def wants(self, name: str) -> bool:
        """Return whether an attribute is kept."""
        return self._names is None or name in self._names

    def _given(self, updates: Updates, numbered: Numbered) -> dict[str, Column]:
        """Return the attributes of numbered updates [k]; deletions have no time."""
        origin = numbered.origin
        given = {
            name: values if origin is None else values.take(origin)
            for name, values in (updates.attributes or {}).items()
            if self.wants(name)
        }
        if updates.times is not None and self._time not in given and self.wants(self._time):
            times = updates.times if origin is None else updates.times[origin]
            utc = updates.zoned if isinstance(updates.zoned, bool) else bool(np.any(updates.zoned))
            given[self._time] = _of_insertions(times, numbered.inserts, utc=utc)
        return given

    def _put(
        self, given: Mapping[str, Column], first: int, inserts: NDArray[np.bool_], asked: frozenset[str]
    ) -> None:
        """Write the attributes of updates; those that conditions ask for stay of one kind."""
        columns = self._held.columns
        for name in given:
            if name not in columns:
                columns[name] = GrowingColumn(name)
        for name, column in columns.items():
            values = given.get(name)
            if values is None:
                column.clear(first, first + len(inserts))
            else:
                column.put(first, values, inserts, mixes=name not in asked)

    def _bits(self, given: dict[str, Column], size: int, facets: Facets) -> NDArray[np.int64]:
        """Return the conditions that insertions satisfy."""
        nothing = Column(np.zeros(size, dtype="V1"))
        asked = facets.attributes
        self._warn(asked)
        there = {name: values for name, values in given.items() if not values.missing().all()}
        table = AttributeTable("edge", {name: there.get(name, nothing) for name in asked})
        for condition in facets.conditions:
            try:
                table.check(condition)
            except PatternError as error:
                raise StreamError(f"updates: {error}") from None
        return facets.bits(table, size)

    def _warn(self, asked: frozenset[str]) -> None:
        """Say once that there is no attribute that a condition asks for."""
        for name in sorted(asked - self._held.columns.keys() - self._warned):
            self._warned.add(name)
            known = ", ".join(map(repr, self._held.columns)) or "none"
            note(f"edges have no attribute {name!r} so far, which a condition asks for; they have {known}")

    def _table(self, rows: NDArray[Any], more: Iterable[str] | None = None) -> AttributeTable:
        """Return the attributes of rows; None or the names of others, which have no values, are added."""
        columns = {name: column.column(rows) for name, column in self._held.columns.items()}
        nothing = Column(np.zeros(len(rows), dtype="V1"))
        if more is None:
            return _Lenient(columns, nothing)
        return AttributeTable("edge", {**dict.fromkeys(more, nothing), **columns})


class _Lenient(AttributeTable):
    """Attributes of edges, in which those that are not there have no values."""

    def __init__(self, columns: Mapping[str, Column], nothing: Column) -> None:
        super().__init__("edge", columns)
        self._nothing = nothing

    def __getitem__(self, name: str) -> Column:
        return super().__getitem__(name) if name in self._columns else self._nothing


def _of_insertions(times: NDArray[Any], inserts: NDArray[np.uint8], *, utc: bool) -> Column:
    """Return the times of updates as an attribute; that of a deletion names no copy."""
    mask = inserts == 0
    missing = mask if mask.any() else None
    if times.dtype.kind == "M":
        moments = times.astype("datetime64[ns]").view(np.int64)
        return Column(moments, missing, None, Kind.DATETIME_UTC if utc else Kind.DATETIME)
    return Column(times, missing)
