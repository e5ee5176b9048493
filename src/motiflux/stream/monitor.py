"""Continuous matching: what appears and what vanishes as edges come and go."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux import _native
from motiflux.arguments import resolve_threads
from motiflux.config import resolve_tuning
from motiflux.engine.results import Count
from motiflux.engine.static import count as count_matches
from motiflux.errors import (
    ArgumentError,
    CountOverflowError,
    FormatError,
    GraphError,
    MotifluxError,
    StreamError,
)
from motiflux.graph import Graph
from motiflux.interop import GraphColumns
from motiflux.pattern import Pattern, as_pattern
from motiflux.plan.delta import Transversal, delta_plans, transversals
from motiflux.plan.planner import check_symmetry
from motiflux.stream.checkpoint import Checkpoint, read_checkpoint
from motiflux.stream.delta import NO_NUMBERS, Delta, MatchRows, PatternDelta, chosen_pattern
from motiflux.stream.file_sink import as_sink
from motiflux.stream.names import GrowingIds, GrowingLabels
from motiflux.stream.native import PlanWriter, bind_growing
from motiflux.stream.run import Progress, Run
from motiflux.stream.sources import as_source
from motiflux.stream.totals import Totals
from motiflux.stream.updates import Row, Updates, VertexLabels
from motiflux.stream.window import (
    DISORDERS,
    TIME_UNITS,
    Clock,
    WindowLength,
    fill_window,
    open_window,
    parse_window,
)
from motiflux.types import DEFAULT_LABEL, Label, Semantics, Symmetry, VertexId
from motiflux.units import grouped, quantity

_EDGE_ARRAYS = ("edges.sources", "edges.targets", "edges.labels", "edges.copies")
_WINDOW_ARRAYS = ("window.sources", "window.targets", "window.labels", "window.since")

MODES = ("sequence", "batch")
_AT_ONCE = {"auto": 0, "on": 1, "off": 2}
DUPLICATES = ("count", "ignore")

_MOST_WORDS = 1 << 22
"""Rows of more vertices are handed on while a call still runs."""

Give = Callable[[list[tuple[int, MatchRows]], bool], None]
"""Takes blocks of matches, by position of the pattern; and whether they are the last of the call."""


@dataclass(frozen=True)
class _Watched:
    """A pattern, and its number in the native monitor."""

    number: int
    listed: bool


class Monitor:
    """Watches patterns on a graph whose edges come and go.

    Parameters
    ----------
    graph
        The graph at the start; it stays as it is.
    patterns
        Patterns or their texts; more can be added and dropped while running.
    mode
        ``"sequence"`` matches every update on its own, in order, against the graph as it is then; results
        carry the position of the update. ``"batch"`` matches what all updates of a call come to: a match is
        reported once if it is there after and was not before, or the other way round.
    matches
        Whether to give the matches themselves, not only their numbers.
    semantics
        ``"isomorphism"`` or ``"homomorphism"``. Induced matching is refused: there, insertions take matches
        away too.
    symmetry
        ``"embeddings"`` counts every map, ``"subgraphs"`` each occurrence once.
    duplicates
        ``"count"``: inserting an edge that is there adds a copy, and it goes when its last copy goes.
        ``"ignore"``: it changes nothing.
    strict
        Whether inserting an edge that is there, or deleting one that is not, is an error.
    window
        How long inserted edges stay: a time (``"90s"``, ``"15min"``, ``"1h"``, ``"7d"``, a timedelta, or
        seconds as a float), or a number of edges (an int), the newest of which stay. Edges that leave are
        deleted before the update that makes them leave is applied; matches that vanish with them carry its
        position.
    time_unit
        The unit of times that are numbers: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``. Datetimes know their own.
    disorder
        What becomes of updates that are older than one before: ``"error"`` refuses them, ``"clamp"`` gives
        them the time of that one, ``"drop"`` leaves them out. Default: ``"error"`` with a time window,
        otherwise their order does not matter.
    edge_times
        The attribute of the graph's edges with their times: those that have one are in the window from the
        start. All others stay until they are deleted.
    threads
        Threads that match the updates of one call in sequence mode; default: as many as this process may run
        on.
    tuning
        Ablation switches, see `motiflux.config.TUNING`.

    Raises
    ------
    ArgumentError
        An unknown mode, semantics or symmetry, or a pattern with conditions on attributes.
    PatternError
        A pattern that cannot be asked of this graph.

    Notes
    -----
    Belongs to one thread at a time: a call while another is running is refused. A call that fails, or is
    interrupted, leaves the graph and the window as they were before. A process made by fork has a monitor of
    its own, unless the fork was made during a call.

    Examples
    --------
    >>> import motiflux as mf
    >>> graph = mf.Graph.from_edges([("a", "b"), ("b", "c")], directed=True)
    >>> ring = mf.Pattern.parse("(x)-->(y)-->(z)-->(x)")
    >>> with mf.Monitor(graph, [ring], symmetry="subgraphs", matches=True) as monitor:
    ...     delta = monitor.apply(inserts=[("c", "a")])
    ...     print(delta[ring].positive, delta[ring].appeared().tolist())
    ...     print(monitor.apply([("-", "a", "b")])[ring].negative)
    1 [['a', 'b', 'c']]
    1
    """

    def __init__(
        self,
        graph: Graph,
        patterns: Pattern | str | Sequence[Pattern | str] = (),
        *,
        mode: str = "sequence",
        matches: bool = False,
        semantics: str = "isomorphism",
        symmetry: str = "embeddings",
        duplicates: str = "count",
        strict: bool = False,
        window: WindowLength | None = None,
        time_unit: str = "s",
        disorder: str | None = None,
        edge_times: str | None = None,
        threads: int | None = None,
        tuning: Mapping[str, str] | None = None,
    ) -> None:
        self.mode = _one_of("mode", mode, MODES)
        self._semantics = Semantics(_one_of("semantics", semantics, ("isomorphism", "homomorphism")))
        self._symmetry = Symmetry(_one_of("symmetry", symmetry, tuple(Symmetry)))
        check_symmetry(self._semantics, self._symmetry)
        self._count_copies = _one_of("duplicates", duplicates, DUPLICATES) == "count"
        self._matches = bool(matches)
        self._strict = bool(strict)
        self._threads = resolve_threads(threads)
        self._switches = resolve_tuning(tuning)
        self._user: int | None = None
        self._span = None if window is None else parse_window(window)
        self._time_unit = _one_of("time_unit", time_unit, tuple(TIME_UNITS))
        self._disorder = None if disorder is None else _one_of("disorder", disorder, DISORDERS)
        self._clock = Clock(
            time_unit, disorder, self._span if self._span is not None and self._span.timed else None
        )
        self._base = graph
        self._vertex_labels = GrowingLabels(graph.vertex_label_table, in_use=graph.num_vertices > 0)
        self._edge_labels = GrowingLabels(graph.edge_label_table, in_use=graph.num_edges > 0)
        self._codes = _Codes(graph.num_vertices, graph.vertex_labels)
        self._ids = GrowingIds(graph.vertex_ids)
        self._native = _loaded(graph, count_copies=self._count_copies)
        self._fill_window(edge_times)
        self._watched: dict[Pattern, _Watched] = {}
        self._awaited: dict[VertexId, list[int]] = {}
        self._next_number = 0
        self._snapshot: Graph | None = graph
        self.updates_applied = 0
        """Updates that were given to `apply` so far."""
        self.batches_applied = 0
        """Calls of `apply` so far."""
        self.source_position: Any = None
        """How far the source was read: of the last `run`, or as `save` was told; for `load`."""
        many = [patterns] if isinstance(patterns, (Pattern, str)) else patterns
        for pattern in many:
            self.add(pattern)

    def _fill_window(self, edge_times: str | None) -> None:
        if self._span is None:
            if edge_times is not None:
                raise ArgumentError("edge_times", "none without a window", edge_times)
            return
        open_window(self._native, self._span)
        if edge_times is not None:
            fill_window(
                self._native,
                self._base,
                edge_times,
                self._span,
                self._clock,
                self._time_unit,
                copies=self._count_copies,
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
        if self._span is not None:
            parts.append(f"window of {self._span}")
        return f"Monitor({', '.join(parts)})"

    def __reduce_ex__(self, protocol: object) -> Any:
        raise ArgumentError("monitor", "monitor.save(path) to keep it or hand it on", "pickling or copying")

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back the memory; the monitor cannot be used any more."""
        self._native = None  # type: ignore[assignment]
        self._snapshot = None

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

    def add(self, pattern: Pattern | str, *, matches: bool | None = None) -> Pattern:
        """Watch one more pattern from now on.

        Parameters
        ----------
        matches
            Whether to give its matches; default: as the monitor does.

        Returns
        -------
        Pattern
            By which results are found.

        Raises
        ------
        ArgumentError
            It is watched already, or has conditions on attributes.
        """
        self._begin_call()
        try:
            return self._add(as_pattern(pattern), matches)
        finally:
            self._user = None

    def _add(self, added: Pattern, matches: bool | None) -> Pattern:
        native = self._open()
        if added in self._watched:
            raise ArgumentError("pattern", "one that is not watched yet", str(added))
        if added.may_coincide and self._symmetry is Symmetry.SUBGRAPHS:
            raise ArgumentError(
                "symmetry", "'embeddings' for a pattern with vertices that may coincide", self._symmetry.value
            )
        self._check_ids(added)
        listed = self._matches if matches is None else bool(matches)
        bound = bind_growing(
            added,
            directed=self._base.directed,
            vertex_labels=self._vertex_labels,
            edge_labels=self._edge_labels,
        )
        plans = delta_plans(
            self._base,
            added,
            bound,
            semantics=self._semantics,
            symmetry=self._symmetry,
            counting=not listed,
            merge=self._switches["orbits"] == "on",
            tail=self._switches["tail"] == "on",
            reuse=self._switches["reuse"] == "on",
        )
        canonical: tuple[Transversal, ...] = ()
        if listed and self._symmetry is Symmetry.SUBGRAPHS:
            canonical = transversals(added, directed=self._base.directed)
        writer = PlanWriter(native, added, bound, self._vertex_of)
        native.add_pattern(self._next_number, [writer.write(plan, canonical) for plan in plans], listed)
        for name, lists in writer.awaited.items():
            self._awaited.setdefault(name, []).extend(lists)
        self._watched[added] = _Watched(self._next_number, listed)
        self._next_number += 1
        return added

    def _check_ids(self, pattern: Pattern) -> None:
        """Refuse ids of a kind that the graph's are not, as other searches do."""
        for name in (name for vertex in pattern.vertices for name in vertex.ids or ()):
            if self._ids.kind not in (None, "U" if isinstance(name, str) else "i"):
                wanted = "integers" if self._ids.kind == "i" else "strings"
                raise ArgumentError("ids", f"{wanted}, as the graph's ids are", name)

    def drop(self, pattern: Pattern | str | int) -> None:
        """Watch a pattern no longer.

        Raises
        ------
        ArgumentError
            It is not watched.
        """
        self._begin_call()
        try:
            gone = chosen_pattern(pattern, self.patterns)
            self._open().drop_pattern(self._watched.pop(gone).number)
        finally:
            self._user = None

    def apply(
        self,
        updates: Updates | Iterable[Row] | None = None,
        *,
        inserts: object = None,
        deletes: object = None,
        vertex_labels: Mapping[VertexId, Label] | None = None,
        times: ArrayLike | None = None,
    ) -> Delta:
        """Apply updates and return what they changed.

        Parameters
        ----------
        updates
            In order: `Updates`, or rows ``("+" or "-", source, target[, label])``.
        inserts, deletes
            Edges without an order: the deletions are taken first. An array [k, 2], a tuple of columns
            (sources, targets[, labels]), or rows ``(source, target[, label])``.
        vertex_labels
            Labels of vertices that these updates bring; others get the label 0.
        times
            The time of all, or of each: deletions first, where there is no order. `Updates` have their own.

        Returns
        -------
        Delta
            By pattern.

        Raises
        ------
        StreamError
            The updates cannot be applied, or with ``strict=True`` one changes nothing. Nothing is applied.
        CountOverflowError
            More matches than 128 bits hold; nothing is applied then.
        KeyboardInterrupt
            On Ctrl-C; nothing is applied then.
        """
        if updates is not None and (inserts is not None or deletes is not None):
            raise ArgumentError("updates", "updates, or inserts and deletes, not both", "both")
        if updates is None:
            given = Updates.edges(inserts, deletes, vertex_labels)
        else:
            given = updates if isinstance(updates, Updates) else Updates.of(updates)
            if vertex_labels is not None:
                raise ArgumentError(
                    "vertex_labels", "none beside updates, which name their own", vertex_labels
                )
        if times is not None:
            if isinstance(updates, Updates):
                raise ArgumentError("times", "none beside Updates, which have their own", "some")
            column = np.asarray(times)
            given = replace(given, times=np.full(len(given), column) if column.ndim == 0 else column)
        return self._apply(given)

    @overload
    def run(
        self,
        source: object,
        sink: None = None,
        *,
        batch_size: int | None = None,
        on_error: str = "stop",
        timeout: float | None = None,
        progress: Progress = False,
    ) -> Iterator[Delta]: ...
    @overload
    def run(
        self,
        source: object,
        sink: object,
        *,
        batch_size: int | None = None,
        on_error: str = "stop",
        timeout: float | None = None,
        progress: Progress = False,
    ) -> Totals: ...
    def run(
        self,
        source: object,
        sink: object = None,
        *,
        batch_size: int | None = None,
        on_error: str = "stop",
        timeout: float | None = None,
        progress: Progress = False,
    ) -> Iterator[Delta] | Totals:
        """Apply all updates of a source, batch by batch.

        Parameters
        ----------
        source
            A file (`motiflux.open_source` says which, and opens those that need options), a `queue.Queue`
            (None ends it), a table with the Arrow capsule, `Updates`, or an iterable of rows, `Updates` or
            tables.
        sink
            Where matches go: a file (``.csv``, ``.tsv``, ``.parquet``, ``.arrow``; ``"-"`` is standard
            output), a `queue.Queue`, a function called with `FoundMatches`, or a `Sink`. None: what each
            batch came to is yielded instead.
        batch_size
            Most updates that are applied at once; in batch mode, exactly so many make a batch. None: 1024,
            but what comes as `Updates` or a table is taken as it is given.
        on_error
            What to do about malformed lines: ``"stop"``, or ``"skip"`` and count them.
        timeout
            Seconds after which the run ends, between two batches.
        progress
            Whether to show progress on a terminal; or a function that is called with totals now and then.

        Returns
        -------
        Iterator of Delta, or Totals
            What each batch came to; with a sink, what all of them did.

        Raises
        ------
        FormatError, StreamError
            Names the line; all batches before it are applied.
        OutputError
            The sink failed; the batch that it was given is not applied.

        Notes
        -----
        With a sink, Ctrl-C ends the run in good order: `Totals.complete` is False then.

        Examples
        --------
        >>> import motiflux as mf
        >>> graph = mf.Graph.from_edges([("a", "b"), ("b", "c")], directed=True)
        >>> rows = [("+", "c", "a"), ("+", "c", "d"), ("-", "a", "b")]
        >>> ring = "(x)-->(y)-->(z)-->(x)"
        >>> with mf.Monitor(graph, ring, symmetry="subgraphs", matches=True) as monitor:
        ...     totals = monitor.run(
        ...         rows, lambda found: print(found.signs, found.updates, found.vertices.tolist())
        ...     )
        [ 1 -1] [0 2] [['a', 'b', 'c'], ['a', 'b', 'c']]
        >>> totals[0].positive, totals.updates, totals.complete
        (1, 3, True)
        """
        self._open()
        feed = as_source(source, on_error=on_error)
        run = Run(self, feed, batch_size=batch_size, timeout=timeout, progress=progress)
        return run.deltas() if sink is None else run.into(as_sink(sink))

    @property
    def lists_matches(self) -> bool:
        """Whether the matches of a pattern are given, not only their number."""
        return self._matches or any(watched.listed for watched in self._watched.values())

    def kinds(self) -> dict[str, str | None]:
        """Return what ids and labels are known to be: ``"i"`` integers, ``"U"`` strings, None not known."""
        return {
            "ids": self._ids.kind,
            "edge_labels": self._edge_labels.kind,
            "vertex_labels": self._vertex_labels.kind,
        }

    def names(self, vertices: NDArray[np.uint32]) -> NDArray[Any]:
        """Return the external ids of internal numbers, in the shape given."""
        return self._ids.names(vertices)

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
            columns = self._columns(updates)
            applied, expired = self._with_expired(columns)
            if self._strict:
                self._check_strict(updates, applied)
            self._snapshot = None
            found, noops, rows = native.apply(
                applied.inserts,
                applied.sources,
                applied.targets,
                applied.labels,
                self.mode == "batch",
                self._threads,
                _AT_ONCE[self._switches["at_once"]],
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

    def _with_expired(self, columns: _NativeUpdates) -> tuple[_NativeUpdates, int]:
        """Return updates with the deletions that the window sets off, and the number of these."""
        if self._span is None:
            return columns, 0
        inserts, sources, targets, labels, origin, expired = self._open().expand(
            columns.inserts,
            columns.sources,
            columns.targets,
            columns.labels,
            columns.moments if self._span.timed else None,
        )
        if columns.origin is not None:
            origin = columns.origin[origin]
        return _NativeUpdates(inserts, sources, targets, labels, origin), expired

    def _blocks(self, rows: list[Any], applied: _NativeUpdates) -> list[tuple[int, MatchRows]]:
        """Return blocks of rows, as they come from the native monitor, by position of the pattern."""
        origin = applied.origin if self.mode == "sequence" else None
        blocks = []
        for position, watched in enumerate(self._watched.values()):
            if watched.number < len(rows) and rows[watched.number] is not None:
                table, updates, signs = rows[watched.number]
                blocks.append((position, MatchRows(table, _original(updates, origin), signs.view(bool))))
        return blocks

    def _pattern_delta(
        self,
        pattern: Pattern,
        watched: _Watched,
        found: list[Any],
        rows: list[Any],
        applied: _NativeUpdates,
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
            listed = MatchRows(table, _original(updates, origin), signs.view(bool))
        if self.mode == "batch":
            numbers = matches = NO_NUMBERS
        came: NDArray[np.int8] = np.where(applied.inserts[numbers], np.int8(1), np.int8(-1))
        return PatternDelta(
            pattern, positive, negative, _original(numbers, origin), matches, came, listed, self._ids
        )

    def snapshot(self) -> Graph:
        """Return the graph as it is now."""
        self._begin_call()
        try:
            return self._take_snapshot()
        finally:
            self._user = None

    def _take_snapshot(self) -> Graph:
        if self._snapshot is None:
            sources, targets, labels, copies = self._open().edges()
            names, vertex_names = self._edge_labels.array(), self._vertex_labels.array()
            repeat = copies.astype(np.int64)
            self._snapshot = Graph.from_columns(
                GraphColumns(
                    np.repeat(sources, repeat),
                    np.repeat(targets, repeat),
                    vertex_ids=self._ids.all(),
                    vertex_labels=vertex_names[self._codes.all()],
                    edge_labels=names[np.repeat(labels, repeat)],
                    directed=self._base.directed,
                    positions=True,
                )
            )
        return self._snapshot

    def count(self, pattern: Pattern | str, **options: Any) -> Count:
        """Count a pattern in the graph as it is now; takes the options of `motiflux.count`."""
        options.setdefault("semantics", self._semantics.value)
        options.setdefault("symmetry", self._symmetry.value)
        return count_matches(self.snapshot(), pattern, **options)

    def save(self, path: str | os.PathLike[str], position: object = None) -> int:
        """Write all that is needed to go on from here, by `Monitor.load`.

        Parameters
        ----------
        path
            A file; it is replaced when all of the new one is on disk.
        position
            How far the source was read: anything that JSON can say. `source_position` is set to it; None
            is how far the last `run` came.

        Returns
        -------
        int
            Bytes of the file.

        Raises
        ------
        OutputError
            It cannot be written; a file that was there is as it was.

        Examples
        --------
        >>> import tempfile, pathlib, motiflux as mf
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "monitor.mfg")
        >>> monitor = mf.Monitor(mf.Graph.from_edges([(0, 1), (1, 2)]), "(a)--(b)--(c)--(a)", window=100)
        >>> _ = monitor.apply(inserts=[(2, 3)])
        >>> _ = monitor.save(path, position=1)
        >>> again = mf.Monitor.load(path)
        >>> again, again.source_position
        (Monitor(1 pattern, 4 vertices, 3 edges, undirected, sequence, window of 100 edges), 1)
        >>> again.apply(inserts=[(0, 2)])[0].positive
        6
        >>> folder.cleanup()
        """
        self._begin_call()
        try:
            reached = self.source_position if position is None else position
            size = self._checkpoint(reached).write(Path(path))
            self.source_position = reached
            return size
        finally:
            self._user = None

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, threads: int | None = None) -> Monitor:
        """Return a monitor as it was when it was saved; what it finds is what that would have found.

        Parameters
        ----------
        path
            A file of `save`.
        threads
            As for `Monitor`.

        Raises
        ------
        FormatError
            It is no such file, of a newer version, or damaged.
        """
        saved = read_checkpoint(Path(path))
        try:
            monitor = cls(saved.graph(), threads=threads, **saved.options)
            monitor._restore(saved)
        except (KeyError, TypeError, ArgumentError, GraphError) as error:
            raise FormatError(Path(path), f"the facts are damaged: {type(error).__name__}: {error}") from None
        return monitor

    def _checkpoint(self, position: object) -> Checkpoint:
        native = self._open()
        arrays: dict[str, NDArray[Any]] = dict(zip(_EDGE_ARRAYS, native.edges(), strict=True))
        nothing, came = np.empty(0, dtype=np.uint32), 0
        in_window: tuple[NDArray[Any], ...] = (nothing, nothing, nothing, nothing.astype(np.int64))
        if self._span is not None:
            sources, targets, labels, since, came = native.window_copies()
            in_window = (sources, targets, labels, since)
        arrays |= dict(zip(_WINDOW_ARRAYS, in_window, strict=True))
        arrays |= {"vertex_ids": self._ids.all(), "vertex_labels": self._codes.all()}
        span = self._span
        options = {
            "mode": self.mode,
            "matches": self._matches,
            "semantics": self._semantics.value,
            "symmetry": self._symmetry.value,
            "duplicates": "count" if self._count_copies else "ignore",
            "strict": self._strict,
            "window": None if span is None else f"{span.length}ns" if span.timed else span.length,
            "time_unit": self._time_unit,
            "disorder": self._disorder,
            "tuning": dict(self._switches),
        }
        return Checkpoint(
            directed=self._base.directed,
            options=options,
            patterns=[(pattern, watched.listed) for pattern, watched in self._watched.items()],
            facts={
                "latest": self._clock.latest,
                "updates_applied": self.updates_applied,
                "batches_applied": self.batches_applied,
                "came": came,
            },
            position=position,
            vertex_label_values=self._vertex_labels.array().tolist(),
            edge_label_values=self._edge_labels.array().tolist(),
            arrays=arrays,
        )

    def _restore(self, saved: Checkpoint) -> None:
        """Go on from a checkpoint; the monitor was made of its graph, whose vertices have other numbers."""
        vertex_codes = self._vertex_labels.codes_of(np.array(saved.vertex_label_values))
        edge_codes = self._edge_labels.codes_of(np.array(saved.edge_label_values))
        codes = vertex_codes[saved.arrays["vertex_labels"]]
        self._ids = GrowingIds(saved.arrays["vertex_ids"])
        self._codes = _Codes(len(codes), codes)
        native = _native.Monitor(saved.directed, self._count_copies)
        native.load(codes, *saved.rows(edge_codes))
        if self._span is not None:
            open_window(native, self._span)
            sources, targets, labels, since = (saved.arrays[name] for name in _WINDOW_ARRAYS)
            native.fill_window(sources, targets, edge_codes[labels], since, saved.facts["came"])
        self._native = native
        self._clock.latest = saved.facts["latest"]
        self.updates_applied = saved.facts["updates_applied"]
        self.batches_applied = saved.facts["batches_applied"]
        self.source_position = saved.position
        for pattern, listed in saved.patterns:
            self.add(pattern, matches=listed)

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

    def _vertex_of(self, name: VertexId) -> int | None:
        column = np.array([name])
        if column.dtype.kind != self._ids.kind:
            return None
        found = int(self._ids.find(column)[0])
        return None if found < 0 else found

    def _mark(self) -> _Mark:
        return _Mark(
            len(self._ids),
            len(self._vertex_labels.values),
            len(self._edge_labels.values),
            self._clock.latest,
            (self.updates_applied, self.batches_applied),
            (self._ids.kind, self._vertex_labels.kind_in_use, self._edge_labels.kind_in_use),
        )

    def _back_to(self, mark: _Mark) -> None:
        if len(self._ids) > mark.vertices:
            self._ids.keep(mark.vertices)
            self._codes.keep(mark.vertices)
        if self._native is not None and self._native.num_vertices > mark.vertices:
            self._native.keep_vertices(mark.vertices)
        self._vertex_labels.keep(mark.vertex_labels)
        self._edge_labels.keep(mark.edge_labels)
        self._clock.latest = mark.latest
        self.updates_applied, self.batches_applied = mark.applied
        self._ids.kind, self._vertex_labels.kind_in_use, self._edge_labels.kind_in_use = mark.kinds

    def _columns(self, updates: Updates) -> _NativeUpdates:
        """Return updates in internal numbers; the vertices that they bring are added."""
        self._ids.check_kind(updates.sources, "updates, sources")
        self._ids.check_kind(updates.targets, "updates, targets")
        if len(updates) and updates.sources.dtype.kind != updates.targets.dtype.kind:
            raise StreamError("updates: expected all ids to be integers, or all strings, found both")
        kept = updates.sources != updates.targets
        self_loops = len(kept) - int(np.count_nonzero(kept))
        kept, moments, late = self._clock.order(updates.times, kept)
        origin = None
        inserts, sources, targets, labels = updates.inserts, updates.sources, updates.targets, updates.labels
        if not kept.all():
            origin = np.flatnonzero(kept)
            inserts, sources, targets = inserts[kept], sources[kept], targets[kept]
            labels = None if labels is None else labels[kept]
        ends = [self._ids.find(sources), self._ids.find(targets)]
        if updates.vertex_labels is not None or any((part < 0).any() for part in ends):
            self._add_vertices(sources, targets, ends, updates.vertex_labels, origin)
            ends = [self._ids.find(sources), self._ids.find(targets)]
        codes = None
        if len(sources):
            kind = "i" if labels is None else labels.dtype.kind
            self._edge_labels.admit(kind, "updates, labels")
        if labels is not None:
            codes = self._edge_labels.codes_of(labels)
        elif (default := self._edge_labels.code(DEFAULT_LABEL)) != 0:
            codes = np.full(len(sources), default, dtype=np.uint32)
        return _NativeUpdates(
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
        sources: NDArray[Any],
        targets: NDArray[Any],
        ends: Sequence[NDArray[np.int64]],
        named: VertexLabels | None,
        origin: NDArray[np.int64] | None,
    ) -> None:
        """Add the vertices that updates mention or name, in the order of their ids."""
        labels: dict[VertexId, Label] = {}
        first_mention = _first_mentions(sources, targets, ends, origin)
        if named is not None:
            self._ids.check_kind(named.ids, "vertex labels, ids")
            self._name(named, labels, first_mention)
        new = dict.fromkeys([*labels, *first_mention])
        if not new:
            return
        for name in new:
            kind = "U" if isinstance(labels.get(name, DEFAULT_LABEL), str) else "i"
            self._vertex_labels.admit(kind, f"vertex {name!r}, label")
        column = np.array(list(new))
        codes = np.array(
            [self._vertex_labels.code(labels.get(name, DEFAULT_LABEL)) for name in new], dtype=np.uint32
        )
        first = len(self._ids)
        self._ids.add(column)
        self._codes.add(codes)
        self._open().add_vertices(codes)
        for vertex, name in enumerate(new, first):
            for number in self._awaited.get(name, ()):
                self._open().extend_list(number, vertex)

    def _name(
        self, named: VertexLabels, labels: dict[VertexId, Label], first_mention: Mapping[VertexId, int]
    ) -> None:
        """Fill `labels` with those of vertices not known yet; refuse a change of label."""
        known = self._ids.find(named.ids)
        rows = zip(
            named.ids.tolist(), named.labels.tolist(), named.positions.tolist(), known.tolist(), strict=True
        )
        for at, (name, label, position, vertex) in enumerate(rows):
            if vertex >= 0:
                before = self._vertex_labels.values[self._codes.of(vertex)]
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

    def _check_strict(self, updates: Updates, columns: _NativeUpdates) -> None:
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


@dataclass(frozen=True, eq=False)
class _NativeUpdates:
    """Updates in internal numbers.

    Parameters
    ----------
    origin
        Where each stood among those given; None if all are there.
    moments
        Of each, in nanoseconds, ascending.
    self_loops, late
        Those left out, and those out of time order.
    """

    inserts: NDArray[np.uint8]
    sources: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    labels: NDArray[np.uint32] | None
    origin: NDArray[np.int64] | None
    moments: NDArray[np.int64] | None = None
    self_loops: int = 0
    late: int = 0


class _Mark(NamedTuple):
    """What a call that fails goes back to."""

    vertices: int
    vertex_labels: int
    edge_labels: int
    latest: int
    applied: tuple[int, int]
    kinds: tuple[str | None, str | None, str | None]


class _Codes:
    """Label codes of vertices, which grow in number.

    Parameters
    ----------
    vertices, codes
        How many vertices there are at the start, and their codes; None: all 0.
    """

    def __init__(self, vertices: int, codes: NDArray[np.uint32] | None) -> None:
        self._first = codes
        self._known = vertices
        self._late = np.empty(0, dtype=np.uint32)
        self._size = vertices

    def add(self, codes: NDArray[np.uint32]) -> None:
        begin = self._size - self._known
        end = begin + len(codes)
        if end > len(self._late):
            grown = np.empty(max(end, 2 * len(self._late)), dtype=np.uint32)
            grown[:begin] = self._late[:begin]
            self._late = grown
        self._late[begin:end] = codes
        self._size += len(codes)

    def keep(self, count: int) -> None:
        self._size = count

    def of(self, vertex: int) -> int:
        if vertex >= self._known:
            return int(self._late[vertex - self._known])
        return 0 if self._first is None else int(self._first[vertex])

    def all(self) -> NDArray[np.uint32]:
        first = np.zeros(self._known, dtype=np.uint32) if self._first is None else self._first
        late = self._late[: self._size - self._known]
        return np.concatenate([first, late]) if len(late) else first


def _first_mentions(
    sources: NDArray[Any],
    targets: NDArray[Any],
    ends: Sequence[NDArray[np.int64]],
    origin: NDArray[np.int64] | None,
) -> dict[VertexId, int]:
    """Return the unknown ids that updates mention, and the position of the first that does."""
    found: dict[VertexId, int] = {}
    unknown = np.flatnonzero((ends[0] < 0) | (ends[1] < 0))
    for row in unknown.tolist():
        position = row if origin is None else int(origin[row])
        for column, end in zip((sources, targets), ends, strict=True):
            if end[row] < 0:
                found.setdefault(column[row].item(), position)
    return found


def _original(numbers: NDArray[np.uint64], origin: NDArray[np.int64] | None) -> NDArray[np.uint64]:
    return numbers if origin is None else origin[numbers.astype(np.int64)].astype(np.uint64)


def _loaded(graph: Graph, *, count_copies: bool) -> _native.Monitor:
    native = _native.Monitor(graph.directed, count_copies)
    labels = graph.vertex_labels
    native.load(
        np.zeros(graph.num_vertices, dtype=np.uint32) if labels is None else labels,
        graph.forward.offsets,
        graph.forward.neighbors,
        graph.forward.labels,
        graph.forward.copies if count_copies else None,
    )
    return native


def _one_of(argument: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise ArgumentError(argument, ", ".join(map(repr, map(str, allowed))), value)
    return value
