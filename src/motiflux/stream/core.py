"""A graph that changes and the patterns watched on it: one call of a monitor at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import ArgumentError, CountOverflowError, MotifluxError, StreamError
from motiflux.graph import Graph
from motiflux.interop import GraphColumns
from motiflux.pattern import Pattern
from motiflux.plan.delta import Transversal, delta_plans, transversals
from motiflux.stream.delta import NO_NUMBERS, Delta, MatchRows, PatternDelta
from motiflux.stream.native import PlanWriter, bind_growing, loaded
from motiflux.stream.numbering import Mark, NativeUpdates, Numbering, original
from motiflux.stream.options import Options
from motiflux.stream.updates import Updates
from motiflux.stream.window import fill_window, open_window
from motiflux.types import Symmetry
from motiflux.units import grouped, quantity

_AT_ONCE = {"auto": 0, "on": 1, "off": 2}

_MOST_WORDS = 1 << 22
"""Rows of more vertices are handed on while a call still runs."""

Give = Callable[[list[tuple[int, MatchRows]], bool], None]
"""Takes blocks of matches, by position of the pattern; and whether they are the last of the call."""


@dataclass(frozen=True)
class Watched:
    """A pattern's number in the native monitor, and whether its matches are given."""

    number: int
    listed: bool


class Core:
    """What `Monitor` is made of, without the calls that users make.

    Parameters
    ----------
    graph
        At the start.
    options
        As `Monitor` was told.
    edge_times
        The attribute of the graph's edges with their times.
    threads
        Threads that match at once.
    """

    def __init__(self, graph: Graph, options: Options, *, edge_times: str | None, threads: int) -> None:
        self._options = options
        self._threads = threads
        self._user: int | None = None
        self._base = graph
        self._numbering = Numbering(graph, options.clock())
        self._native = loaded(graph, count_copies=options.count_copies)
        self._fill_window(edge_times)
        self._watched: dict[Pattern, Watched] = {}
        self._next_number = 0
        self._snapshot: Graph | None = graph
        self.updates_applied = 0
        """Updates that were given to `apply` so far."""
        self.batches_applied = 0
        """Calls of `apply` so far."""
        self.source_position: Any = None
        """How far the source was read: of the last `run`, or as `save` was told; for `load`."""

    def _fill_window(self, edge_times: str | None) -> None:
        options = self._options
        if options.span is None:
            if edge_times is not None:
                raise ArgumentError("edge_times", "none without a window", edge_times)
            return
        open_window(self._native, options.span)
        if edge_times is not None:
            fill_window(
                self._native,
                self._base,
                edge_times,
                options.span,
                self._numbering.clock,
                options.time_unit,
                copies=options.count_copies,
            )

    def __repr__(self) -> str:
        if getattr(self, "_native", None) is None:
            return "Monitor(closed)"
        kind = "directed" if self._base.directed else "undirected"
        parts = [
            quantity(len(self._watched), "pattern"),
            f"{grouped(self.num_vertices)} vertices",
            quantity(self.num_edges, "edge"),
            kind,
            self.mode,
        ]
        if self._options.span is not None:
            parts.append(f"window of {self._options.span}")
        return f"Monitor({', '.join(parts)})"

    def __reduce_ex__(self, protocol: object) -> Any:
        raise ArgumentError("monitor", "monitor.save(path) to keep it or hand it on", "pickling or copying")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back the memory; the monitor cannot be used any more."""
        self._native = None  # type: ignore[assignment]
        self._snapshot = None

    @property
    def mode(self) -> str:
        """``"sequence"`` or ``"batch"``."""
        return self._options.mode

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

    def kinds(self) -> dict[str, str | None]:
        """Return what ids and labels are known to be: ``"i"`` integers, ``"U"`` strings, None not known."""
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
        plans = delta_plans(
            self._base,
            added,
            bound,
            semantics=self._options.semantics,
            symmetry=self._options.symmetry,
            counting=not listed,
            merge=self._options.switches["orbits"] == "on",
            tail=self._options.switches["tail"] == "on",
            reuse=self._options.switches["reuse"] == "on",
        )
        canonical: tuple[Transversal, ...] = ()
        if listed and self._options.symmetry is Symmetry.SUBGRAPHS:
            canonical = transversals(added, directed=self._base.directed)
        writer = PlanWriter(native, added, bound, self._numbering.vertex_of)
        native.add_pattern(self._next_number, [writer.write(plan, canonical) for plan in plans], listed)
        for name, lists in writer.awaited.items():
            self._numbering.awaited.setdefault(name, []).extend(lists)
        self._watched[added] = Watched(self._next_number, listed)
        self._next_number += 1
        return added

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

    def _begin_call(self) -> None:
        """Refuse a call during another one, from whatever thread."""
        caller = threading.get_ident()
        if self._user is not None:
            where = "this thread" if self._user == caller else "another thread"
            raise ArgumentError("monitor", "one call at a time", f"a call while one is running in {where}")
        self._user = caller

    def _apply(self, updates: Updates, give: Give | None = None) -> Delta:
        start = time.perf_counter()
        self._begin_call()
        try:
            native = self._open()
            mark = self._mark()
            native.begin()
        except BaseException:
            self._user = None
            raise
        given = len(updates)
        try:
            columns = self._numbering.columns(updates, native)
            applied, expired = self._with_expired(columns)
            if self._options.strict:
                self._check_strict(updates, applied)
            self._snapshot = None
            found, noops, rows = native.apply(
                applied.inserts,
                applied.sources,
                applied.targets,
                applied.labels,
                self.mode == "batch",
                self._threads,
                _AT_ONCE[self._options.switches["at_once"]],
                _MOST_WORDS,
                None if give is None else lambda rows: give(self._blocks(rows, applied), False),
            )
            patterns = {
                pattern: self._pattern_delta(pattern, watched, found, rows, applied)
                for pattern, watched in self._watched.items()
            }
            delta = Delta(
                patterns,
                updates=len(columns.sources),
                noops=noops,
                self_loops=columns.self_loops,
                late=columns.late,
                expired=expired,
                seconds=time.perf_counter() - start,
            )
            if give is not None:
                give(self._blocks(rows, applied), True)
            # No call from here on: where Ctrl-C is heard, nothing has been applied.
            self.updates_applied += given
            self.batches_applied += 1
            self._user = None
            return delta
        except BaseException as error:
            native.take_back()
            self._back_to(mark)
            self._user = None
            if isinstance(error, OverflowError) and not isinstance(error, MotifluxError):
                raise CountOverflowError(f"{error}; nothing of the call was applied") from error
            raise

    def _with_expired(self, columns: NativeUpdates) -> tuple[NativeUpdates, int]:
        """Return updates with the deletions that the window sets off, and the number of these."""
        if self._options.span is None:
            return columns, 0
        inserts, sources, targets, labels, origin, expired = self._open().expand(
            columns.inserts,
            columns.sources,
            columns.targets,
            columns.labels,
            columns.moments if self._options.span.timed else None,
        )
        if columns.origin is not None:
            origin = columns.origin[origin]
        return NativeUpdates(inserts, sources, targets, labels, origin), expired

    def _blocks(self, rows: list[Any], applied: NativeUpdates) -> list[tuple[int, MatchRows]]:
        """Return blocks of rows, as they come from the native monitor, by position of the pattern."""
        origin = applied.origin if self.mode == "sequence" else None
        blocks = []
        for position, watched in enumerate(self._watched.values()):
            if watched.number < len(rows) and rows[watched.number] is not None:
                table, updates, signs = rows[watched.number]
                blocks.append((position, MatchRows(table, original(updates, origin), signs.view(bool))))
        return blocks

    def _pattern_delta(
        self,
        pattern: Pattern,
        watched: Watched,
        found: list[Any],
        rows: list[Any],
        applied: NativeUpdates,
    ) -> PatternDelta:
        positive, negative, numbers, matches = found[watched.number]
        if isinstance(matches, list):
            matches = np.array(matches, dtype=object)
        listed = None
        origin = applied.origin if self.mode == "sequence" else None
        if watched.listed:
            table, updates, signs = rows[watched.number] or (
                np.empty((0, len(pattern.vertices)), dtype=np.uint32),
                NO_NUMBERS,
                np.empty(0, dtype=np.uint8),
            )
            listed = MatchRows(table, original(updates, origin), signs.view(bool))
        if self.mode == "batch":
            numbers = matches = NO_NUMBERS
        came: NDArray[np.int8] = np.where(applied.inserts[numbers], np.int8(1), np.int8(-1))
        return PatternDelta(
            pattern, positive, negative, original(numbers, origin), matches, came, listed, self._numbering.ids
        )

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
                    vertex_labels=vertex_names[self._numbering.codes.all()],
                    edge_labels=names[np.repeat(labels, repeat)],
                    directed=self._base.directed,
                    positions=True,
                )
            )
        return self._snapshot

    def _check_strict(self, updates: Updates, columns: NativeUpdates) -> None:
        at = self._open().first_noop(columns.inserts, columns.sources, columns.targets, columns.labels)
        if at == len(columns.sources):
            return
        row = at if columns.origin is None else int(columns.origin[at])
        edge = f"{updates.sources[row].item()!r} - {updates.targets[row].item()!r}"
        if updates.inserts[row]:
            raise StreamError(
                f"updates, row {row}: expected an edge that is not there to insert, found {edge}", row
            )
        raise StreamError(f"updates, row {row}: expected an edge that is there to delete, found {edge}", row)

    def _mark(self) -> tuple[Mark, int, int]:
        return self._numbering.mark(), self.updates_applied, self.batches_applied

    def _back_to(self, marked: tuple[Mark, int, int]) -> None:
        mark, self.updates_applied, self.batches_applied = marked
        self._numbering.back_to(mark)
        if self._native is not None and self._native.num_vertices > mark.vertices:
            self._native.keep_vertices(mark.vertices)
