"""Continuous matching: matches that appear and vanish as edges are inserted and deleted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, overload

from numpy.typing import ArrayLike

from motiflux.api.counting import count as count_matches
from motiflux.api.subject import GraphLike, data_graph
from motiflux.arguments import check_seconds, check_word, resolve_threads
from motiflux.errors import ArgumentError, FormatError, GraphError
from motiflux.graph import Graph
from motiflux.pattern import (
    NetworkxGraph,
    Pattern,
    PatternLike,
    Query,
    QueryLike,
    as_query,
    is_one_pattern,
)
from motiflux.pattern.queries.watched import watched_patterns
from motiflux.plan.report.searches import describe_searches
from motiflux.result.count import Count
from motiflux.result.image_counts import VertexCounts
from motiflux.stream.checkpoint import read_checkpoint
from motiflux.stream.copies.facets import edge_conditions
from motiflux.stream.feed.feed import Feed
from motiflux.stream.matching.changing import PLAIN, Changing, Terms
from motiflux.stream.matching.compared import describe_compared
from motiflux.stream.matching.delta import Delta, chosen_pattern, patterns_of
from motiflux.stream.matching.engine import Placement, UnmatchedPatternError
from motiflux.stream.matching.interrupts import in_spite_of_interrupts
from motiflux.stream.matching.native import check_on_streams
from motiflux.stream.options import Options
from motiflux.stream.run.loop import Progress, Run
from motiflux.stream.run.totals import Totals
from motiflux.stream.saving import Keeping, checked_path
from motiflux.stream.sinks.file_sink import as_sink
from motiflux.stream.sources.convert import as_source
from motiflux.stream.updates import Row, Updates
from motiflux.stream.window import WindowLength
from motiflux.types import Label, Semantics, Symmetry, VertexId
from motiflux.words import DeviceName, ModeName, SemanticsName, SymmetryName


class Monitor(Changing, Keeping):
    """Matches patterns on a graph while edges are inserted and deleted.

    Parameters
    ----------
    graph
        The initial graph: a `Graph`, or an object that `as_graph` takes; it is not changed.
    patterns
        Patterns, their texts or graphs of networkx; patterns can be added and dropped later. A query with
        paths of variable length, optional edges or ``OR`` across edges, or its text, is watched as its
        patterns: each has results of its own, under the name of the query, and ``delta[query]`` adds them up.
    mode
        ``"sequence"`` matches every update individually, in order, against the graph at this time; results
        have the position of the update. ``"batch"`` matches the net change of all updates of a call: it
        reports matches that exist only after the call, or only before it.
    matches
        Whether to return the matches and not only their numbers.
    semantics
        ``"isomorphism"``, ``"induced"`` or ``"homomorphism"``. Matches of induced patterns, and of those with
        negated edges, also vanish with insertions and appear with deletions; the CPU finds them.
    symmetry
        ``"embeddings"`` counts every map, ``"subgraphs"`` each occurrence once.
    duplicates
        ``"count"``: inserting an existing edge adds a copy; the edge disappears with its last copy.
        ``"ignore"``: inserting an existing edge has no effect.
    strict
        Whether inserting an existing edge, or deleting a missing edge, is an error.
    window
        Lifetime of inserted edges: a duration (``"90s"``, ``"1h30m"``, ``"7d"``, a timedelta of Python or
        NumPy, or seconds as a float), or a number of edges (an int): the newest edges stay. Text has the
        units w, d, h, min or m, s, ms, us and ns. Expired edges are deleted before the update that makes them
        expire; the matches that vanish with them have its position.
    time_unit
        The unit of numeric times: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``. Datetimes have their own unit.
    disorder
        Handling of updates that are older than a previous update: ``"error"`` raises an error, ``"clamp"``
        gives them the previous time, ``"drop"`` drops them. Default: ``"error"`` with a window of time;
        otherwise the order of times does not matter.
    edge_times
        The edge attribute with the times of the graph's edges. Edges with a time are in the window from the
        start, as if they had been inserted in the order of their times; edges that would have expired are
        absent. Edges without a time stay until they are deleted. With ``duplicates="ignore"`` an edge has the
        time of its first copy in the graph, if this copy has one.
    attributes
        Whether copies of edges keep the attributes that updates bring, beside those of the graph's edges; or
        the names of those that are kept. Conditions on attributes of edges and comparisons need them, so the
        default is True if a pattern has such conditions or comparisons, else False. The times of updates are
        the attribute ``"time"``, or that of `edge_times`. Updates take longer then, and are matched on the
        CPU.
    per_vertex
        A query vertex of each pattern, by name or position: the monitor keeps the number of matches at each
        vertex of the graph (`per_vertex`), as `motiflux.count_per_vertex` counts them, without listing
        matches. With ``device="auto"``, the CPU does.
    alert
        A threshold of these counts: `Delta.alerts` has the vertices whose counts reach it, and
        ``monitor.on_alert`` is called with each.
    alert_down
        Whether there are alerts where a count falls below the threshold, too.
    threads
        Threads that read the graph and match the updates of one call; default: as many as this process may
        run on.
    device
        ``"cpu"``, ``"cuda"`` or ``"cuda:1"``: where updates are matched. ``"auto"``: each call on the CPU, or
        on a GPU where that is expected to be faster: calls of many updates whose matches are only counted.
    devices
        Several GPUs of this machine that match together, each with a copy of the graph: ``"all"``, a number,
        or their ordinals such as ``[0, 1]``. Default: one device.
    engine
        ``"cpu"``, or on a GPU ``"changing"``, ``"batch"``, its preset for GAMMA, ``"outofcore"``, for graphs
        that do not fit into its memory (GCSM), or ``"streaming"``, whose kernel stays on the GPU and answers
        updates one by one in sequence mode (DCSM); ``"auto"``: the engine of the device. Results are equal,
        but the order of the matches of one update is free.
    gpu_memory
        Maximum memory on each GPU: bytes, or text such as ``"8GiB"``.
    tuning
        Ablation switches, see `motiflux.config.TUNING`.

    Raises
    ------
    ArgumentError
        An unknown mode, semantics or symmetry, a pattern with conditions on degrees, one with conditions on
        attributes of edges or comparisons and ``duplicates="ignore"``, or one that the engine cannot match.
    PatternError
        A pattern does not fit this graph.
    DeviceError
        The device cannot be used, or the engine does not run on it.

    Notes
    -----
    A monitor belongs to one thread at a time: a call during another call is an error. A call that fails or is
    interrupted leaves the graph and the window unchanged. After a fork outside a call, both processes have
    independent monitors; with a GPU, that of the child refuses calls.

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
        graph: GraphLike,
        patterns: QueryLike | Sequence[QueryLike] = (),
        *,
        mode: ModeName = "sequence",
        matches: bool = False,
        semantics: SemanticsName = "isomorphism",
        symmetry: SymmetryName = "embeddings",
        duplicates: str = "count",
        strict: bool = False,
        window: WindowLength | None = None,
        time_unit: str = "s",
        disorder: str | None = None,
        edge_times: str | None = None,
        attributes: bool | Iterable[str] | None = None,
        per_vertex: str | int | None = None,
        alert: int | None = None,
        alert_down: bool = False,
        threads: int | None = None,
        device: DeviceName = "auto",
        devices: str | int | Sequence[int] | None = None,
        engine: str = "auto",
        gpu_memory: int | str | None = None,
        tuning: Mapping[str, str] | None = None,
    ) -> None:
        graph = data_graph(graph)
        by_occurrence = symmetry == "subgraphs"
        watched = _listed_patterns(
            patterns,
            directed=graph.directed,
            by_occurrence=by_occurrence,
            counts_at_vertices=per_vertex is not None,
            semantics=semantics,
        )
        conditions = list(dict.fromkeys(one for pattern in watched for one in edge_conditions(pattern)))
        compares = any(pattern.comparisons for pattern in watched)
        options = Options.of(
            mode=mode,
            matches=matches,
            semantics=semantics,
            symmetry=symmetry,
            duplicates=duplicates,
            strict=strict,
            window=window,
            time_unit=time_unit,
            disorder=disorder,
            tuning=tuning,
            attributes=bool(conditions) or compares if attributes is None else attributes,
            per_vertex=per_vertex,
            alert=alert,
            alert_down=alert_down,
        )
        if (conditions or compares) and not options.keeps_attributes:
            what = "conditions on attributes of edges" if conditions else "comparisons of attributes"
            expected = f"True or names, for patterns with {what}"
            raise ArgumentError("attributes", expected, attributes)
        super().__init__(
            graph,
            options,
            edge_times=edge_times,
            threads=resolve_threads(threads),
            placement=Placement.of(device=device, devices=devices, engine=engine, gpu_memory=gpu_memory),
            conditions=conditions,
            negates=options.semantics is Semantics.INDUCED or any(pattern.negated for pattern in watched),
        )
        for pattern in watched:
            self.add(pattern)
        self._native.prepare()

    @overload
    def add(self, pattern: Query, *, matches: bool | None = ...) -> Query: ...
    @overload
    def add(self, pattern: Pattern | NetworkxGraph, *, matches: bool | None = ...) -> Pattern: ...
    @overload
    def add(self, pattern: str, *, matches: bool | None = ...) -> Pattern | Query: ...
    def add(self, pattern: QueryLike, *, matches: bool | None = None) -> Pattern | Query:
        """Watch one more pattern or query from now on.

        Parameters
        ----------
        pattern
            As in the list of patterns that a monitor is made with.
        matches
            Whether to return its matches; default: as for the monitor.

        Returns
        -------
        Pattern or Query
            The key of its results.

        Raises
        ------
        ArgumentError
            The pattern is already watched, or has conditions on degrees, or conditions on attributes of edges
            or comparisons while the monitor keeps no attributes and has applied updates; or the query cannot
            be watched. Nothing is added then.
        PatternError
            Attributes that cannot be compared with each other.
        """
        query = as_query(pattern)
        if isinstance(query, Pattern):
            return self._alone(lambda: self._add(query, matches))
        options = self._options
        patterns = _watched_of(
            query,
            directed=self._base.directed,
            by_occurrence=options.symmetry is Symmetry.SUBGRAPHS,
            counts_at_vertices=options.per_vertex is not None,
            semantics=options.semantics,
        )
        self._alone(lambda: self._add_all(patterns, matches))
        return query

    def _add_all(self, patterns: Sequence[Pattern], matches: bool | None) -> None:
        """Watch several patterns, or none of them after an error."""
        before = set(self._watched)
        try:
            for pattern in patterns:
                self._add(pattern, matches)
        except BaseException:
            added = [one for one in patterns if one in self._watched and one not in before]
            in_spite_of_interrupts(partial(self._drop_all, added))
            raise

    def _drop_all(self, patterns: Sequence[Pattern]) -> None:
        for pattern in patterns:
            self._drop(pattern)

    def drop(self, pattern: QueryLike | int) -> None:
        """Stop watching a pattern, or all patterns of a query, and free their memory.

        Raises
        ------
        ArgumentError
            The pattern or query is not watched.
        """
        wanted = as_query(pattern) if isinstance(pattern, str) else pattern
        if isinstance(wanted, Query):
            dropped = patterns_of(wanted, self.patterns)
        else:
            dropped = [chosen_pattern(wanted, self.patterns)]
        self._alone(lambda: self._drop_all(dropped))

    def explain(self, pattern: PatternLike | int = 0) -> str:
        """Return the searches that an update starts for a pattern, as text.

        Parameters
        ----------
        pattern
            A pattern that is watched, or its position.

        Returns
        -------
        str
            A line for each search: the query vertices of the edge, and the others in matching order; of a
            pattern that compares attributes, whose order depends on the copies, the edge only. Searches that
            match levels together (``coalesce`` in `motiflux.config.TUNING`) are in one paragraph. On a GPU,
            the last lines describe how groups of lanes divide the work, and name the patterns whose partial
            matches are counted together (``pooling``), by position.

        Raises
        ------
        ArgumentError
            The pattern is not watched.

        Examples
        --------
        >>> import motiflux as mf
        >>> graph = mf.Graph.from_edges([(0, 1), (1, 2), (0, 2)])
        >>> tuning = {"coalesce": "on"}
        >>> monitor = mf.Monitor(graph, "(a)--(b)--(c)--(a), (a)--(d)", matches=True, tuning=tuning)
        >>> print(monitor.explain())
        together, as if there were no d:
          (a, b); together c; then d
          (b, a); together c; then d
          (c, b); together a; then d
        alone:
          (a, d); then b, c
          (d, a); then b, c
        """
        chosen = chosen_pattern(pattern, self.patterns)
        watched = self._watched[chosen]
        if chosen.comparisons:
            return describe_compared(chosen)
        told = describe_searches(chosen, watched.plans, watched.measured)
        if self._engine is None:
            return told
        positions = {one.slot: position for position, one in enumerate(self._watched.values())}
        return f"{told}\n{self._engine.describe(positions)}"

    def apply(
        self,
        updates: Updates | Iterable[Row] | None = None,
        *,
        inserts: object = None,
        deletes: object = None,
        vertex_labels: Mapping[VertexId, Label] | None = None,
        times: ArrayLike | None = None,
        attributes: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Delta:
        """Apply updates and return the changes of matches.

        Parameters
        ----------
        updates
            In order: `Updates`, or rows ``("+" or "-", source, target[, label])``.
        inserts, deletes
            Unordered edges: deletions are applied first. An array [k, 2], a tuple of columns
            (sources, targets[, labels]), or rows ``(source, target[, label])``.
        vertex_labels
            Labels of new vertices; other new vertices get the label 0. `Updates` have their own.
        times
            One time for all updates, or one for each (for unordered edges, deletions first). `Updates` have
            their own.
        attributes
            Attributes of edges by name, one value for each update, in the order of `times`; see `Updates`,
            which have their own.
        timeout
            Seconds after which the call stops: no update is applied then, and `Delta.complete` is False.

        Returns
        -------
        Delta
            By pattern.

        Raises
        ------
        StreamError
            The updates are invalid, or with ``strict=True`` one has no effect. No update is applied.
        CountOverflowError
            There are 2**128 matches or more; no update is applied.
        KeyboardInterrupt
            On Ctrl-C; no update is applied.
        """
        seconds = None if timeout is None else check_seconds("timeout", timeout)
        if updates is not None and (inserts is not None or deletes is not None):
            raise ArgumentError("updates", "updates, or inserts and deletes, not both", "both")
        if isinstance(updates, Updates) and (
            vertex_labels is not None or times is not None or attributes is not None
        ):
            own = {"vertex_labels": vertex_labels, "times": times, "attributes": attributes}
            argument, value = next(one for one in own.items() if one[1] is not None)
            raise ArgumentError(argument, "none beside Updates, which have their own", value)
        terms = PLAIN if seconds is None else Terms(timeout=seconds)
        if isinstance(updates, Updates):
            return self._apply(updates, terms)
        given = Updates.edges(inserts, deletes) if updates is None else Updates.of(updates)
        return self._apply(given.with_more(vertex_labels, times, attributes), terms)

    def advance(self, time: object) -> Delta:
        """Delete the edges of a window of time that expire until a given time, without an update.

        Parameters
        ----------
        time
            The time, in the format of the times of updates.

        Returns
        -------
        Delta
            By pattern, with position 0; it has no updates. In batch mode it is a batch of its own.

        Raises
        ------
        ArgumentError
            There is no window, or the window is a number of edges.
        StreamError
            The time is invalid, or earlier than a previous update with ``disorder="error"``; with another
            `disorder` the call then has no effect, and `Delta.late` is 1.

        Examples
        --------
        >>> import motiflux as mf
        >>> empty = mf.Graph.from_edges([], num_vertices=2)
        >>> monitor = mf.Monitor(empty, "(a)--(b)", symmetry="subgraphs", window="1h")
        >>> _ = monitor.apply([("+", 0, 1)], times=0)
        >>> monitor.advance(3599)[0].negative, monitor.advance(3600)[0].negative
        (0, 1)
        """
        span = self._options.span
        if span is None or not span.timed:
            found = "none" if span is None else f"one of {span}"
            raise ArgumentError("window", "one of time, which a moment can end", found)
        return self._advance(time)

    @overload
    def run(
        self,
        source: object,
        sink: None = None,
        *,
        batch_size: int | None = None,
        on_error: str = "stop",
        limit: int | None = None,
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
        limit: int | None = None,
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
        limit: int | None = None,
        timeout: float | None = None,
        progress: Progress = False,
    ) -> Iterator[Delta] | Totals:
        """Apply all updates of a source, batch by batch.

        Parameters
        ----------
        source
            A file, a pipe or a socket (see `motiflux.open_source`, also for files that need options), a
            `queue.Queue` (None ends it), a table with the Arrow capsule, `Updates`, or an iterable of rows,
            `Updates` or tables.
        sink
            Receiver of the matches: a file (``.csv``, ``.tsv``, ``.jsonl``, ``.parquet``, ``.arrow``; ``"-"``
            and ``"-.jsonl"`` are standard output), a `queue.Queue`, a function called with `FoundMatches`, a
            `Sink`, or a list of several. None: the call yields the change of each batch.
        batch_size
            Maximum number of updates per step; in batch mode, the exact size of a batch. None: 1024, except
            that `Updates` and tables are processed as they are.
        on_error
            Handling of malformed lines and invalid updates (for example, a vertex that changes its label):
            ``"stop"``, or ``"skip"`` and count them.
        limit
            Number of matches, of all patterns and both signs, after which the run ends. The batch with the
            last match is applied whole.
        timeout
            Seconds after which the run ends. An unfinished batch is not applied; `unapplied` holds it.
        progress
            Whether to show progress on a terminal or in a notebook; or a function that is called with totals
            periodically.

        Returns
        -------
        Iterator of Delta, or Totals
            The change of each batch, the last with ``complete=False`` if it was cut short; with a sink, the
            totals.

        Raises
        ------
        FormatError, StreamError
            The error names the line; all previous batches are applied.
        OutputError
            The sink failed; its batch is not applied, and `unapplied` holds it. Rows are printed on standard
            output only once their batch is applied: a batch that cannot be printed stays.

        Notes
        -----
        With a sink, Ctrl-C ends the run cleanly, with `Totals.complete` False.

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
        run = Run(
            self,
            feed,
            batch_size=batch_size,
            timeout=timeout,
            progress=progress,
            skips=on_error == "skip",
            limit=limit,
        )
        return run.deltas() if sink is None else run.into(as_sink(sink))

    def feed(self, *, room: int = 65_536, most: int | None = None) -> Feed:
        """Open a feed: threads write updates, and take the answers as soon as they are there.

        Parameters
        ----------
        room
            Most updates whose answers were not taken yet: `Feed.try_write` refuses more, and `Feed.write`
            waits.
        most
            Most updates that are applied in one call, whose answers come together. No call waits for as
            many: it takes what is there. None: 256 with ``engine="streaming"``, else 4096.

        Returns
        -------
        Feed
            A context manager, which waits until all updates are applied; after an error, `unapplied` has
            those that were not. Other calls of the monitor are refused until it is closed, or paused.

        Raises
        ------
        ArgumentError
            Another feed, run or call is open, or an argument is invalid.

        Examples
        --------
        >>> import motiflux as mf
        >>> monitor = mf.Monitor(mf.Graph.from_edges([(0, 1), (1, 2)]), "(a)--(b)--(c)--(a)")
        >>> with monitor.feed() as feed:
        ...     position = feed.try_write([("+", 0, 2)])
        ...     answer = feed.take()
        >>> position, answer.first, answer.updates, answer.delta[0].positive
        (0, 0, 1, 6)
        """
        return Feed(self, room=room, most=self._feed_updates if most is None else most)

    def snapshot(self) -> Graph:
        """Return the current graph."""
        return self._alone(lambda: self._take_snapshot())

    def count(self, pattern: PatternLike, **options: Any) -> Count:
        """Count a pattern in the current graph, with the options of `motiflux.count`."""
        options.setdefault("semantics", self._options.semantics.value)
        options.setdefault("symmetry", self._options.symmetry.value)
        return count_matches(self.snapshot(), pattern, **options)

    def per_vertex(self, pattern: PatternLike | int = 0) -> VertexCounts:
        """Return the number of matches of a pattern at each vertex now.

        Parameters
        ----------
        pattern
            A pattern that is watched, or its position.

        Returns
        -------
        VertexCounts
            As `motiflux.count_per_vertex` returns them for the current graph; its `graph` has no edges.

        Raises
        ------
        ArgumentError
            The pattern is not watched, or the monitor keeps no such counts.

        Examples
        --------
        >>> import motiflux as mf
        >>> bank = mf.Graph.from_edges([("ann", "hub"), ("bob", "hub")], directed=True)
        >>> path = "(a)-->(c)-->(b)"
        >>> monitor = mf.Monitor(bank, path, per_vertex="c", alert=4)
        >>> delta = monitor.apply([("+", "hub", "dee"), ("+", "hub", "eve")])
        >>> monitor.per_vertex().top(1), [(one.vertex, one.update, one.count) for one in delta.alerts]
        ([('hub', 4)], [('hub', 1, 4)])
        """
        return self._alone(lambda: self._vertex_counts(chosen_pattern(pattern, self.patterns)))

    def save(self, path: str | os.PathLike[str], position: object = None) -> int:
        """Save the state of the monitor for `Monitor.load`.

        Parameters
        ----------
        path
            The file; an existing file is replaced when the new one is complete on disk.
        position
            The position in the source: any JSON value. `source_position` is set to it. None: the position of
            the last `run`.

        Returns
        -------
        int
            Bytes of the file.

        Raises
        ------
        OutputError
            The file cannot be written; an existing file is unchanged.

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
        return self._alone(lambda: self._save(path, position))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        threads: int | None = None,
        device: DeviceName = "auto",
        devices: str | int | Sequence[int] | None = None,
        engine: str = "auto",
        gpu_memory: int | str | None = None,
    ) -> Self:
        """Return a saved monitor; it gives the same results as the original monitor.

        Parameters
        ----------
        path
            A file of `save`.
        threads, device, devices, engine, gpu_memory
            As for `Monitor`; files do not have them.

        Raises
        ------
        FormatError
            The file has another format or a newer version, or is damaged.
        ArgumentError, DeviceError
            As for `Monitor`.
        """
        place: dict[str, Any] = {
            "device": device,
            "devices": devices,
            "engine": engine,
            "gpu_memory": gpu_memory,
        }
        placement = Placement.of(**place)
        threads = resolve_threads(threads)
        saved = read_checkpoint(checked_path(path))
        placement.check_mode(saved.options.get("mode", "sequence"))
        try:
            monitor = cls(saved.graph(), threads=threads, **place, **saved.options)
            monitor._restore(saved)
        except UnmatchedPatternError:
            raise
        except (KeyError, TypeError, ArgumentError, GraphError) as error:
            raise FormatError(Path(path), f"the facts are damaged: {type(error).__name__}: {error}") from None
        return monitor


def _listed_patterns(
    patterns: Any, *, directed: bool, by_occurrence: bool, counts_at_vertices: bool, semantics: str
) -> list[Pattern]:
    many: Any = [patterns] if is_one_pattern(patterns) else patterns
    if isinstance(many, Mapping):
        raise ArgumentError("patterns", "a pattern, or a list of patterns", type(many).__name__)
    if not isinstance(many, Iterable):
        raise ArgumentError("patterns", "patterns or their texts", patterns)
    found: list[Pattern] = []
    for one in many:
        query = as_query(one)
        if isinstance(query, Query):
            found += _watched_of(
                query,
                directed=directed,
                by_occurrence=by_occurrence,
                counts_at_vertices=counts_at_vertices,
                semantics=semantics,
            )
        else:
            found.append(query)
    return found


def _watched_of(
    query: Query, *, directed: bool, by_occurrence: bool, counts_at_vertices: bool, semantics: str
) -> list[Pattern]:
    """Return the patterns of a query to watch."""
    if counts_at_vertices:
        raise ArgumentError("per_vertex", "None beside a query of several patterns", str(query))
    for pattern in query.patterns:
        for vertex in pattern.vertices:
            check_on_streams(vertex, str(query))
    chosen = check_word("semantics", semantics, Semantics)
    return watched_patterns(query, directed=directed, by_occurrence=by_occurrence, semantics=chosen)
