"""Continuous matching: what appears and what vanishes as edges come and go."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, overload

from numpy.typing import ArrayLike

from motiflux.arguments import check_seconds, resolve_threads
from motiflux.engine.results import Count
from motiflux.engine.static import check_graph
from motiflux.engine.static import count as count_matches
from motiflux.errors import ArgumentError, FormatError, GraphError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, as_pattern
from motiflux.stream.changing import Changing, Terms
from motiflux.stream.checkpoint import read_checkpoint
from motiflux.stream.delta import Delta, chosen_pattern
from motiflux.stream.file_sink import as_sink
from motiflux.stream.options import Options
from motiflux.stream.run import Progress, Run
from motiflux.stream.saving import Kept, checked_path
from motiflux.stream.sources import as_source
from motiflux.stream.totals import Totals
from motiflux.stream.updates import Row, Updates
from motiflux.stream.window import WindowLength
from motiflux.types import Label, VertexId


class Monitor(Changing, Kept):
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
        start, as if they had been inserted in the order of their times. What such insertions would have made
        leave is not there. All others stay until they are deleted. With ``duplicates="ignore"`` an edge has
        the time of the copy that the graph lists first, if that has one.
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
        check_graph(graph)
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
        )
        super().__init__(graph, options, edge_times=edge_times, threads=resolve_threads(threads))
        many = [patterns] if isinstance(patterns, (Pattern, str)) else patterns
        if not isinstance(many, Iterable):
            raise ArgumentError("patterns", "patterns or their texts", patterns)
        for pattern in many:
            self.add(pattern)

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
        return self._alone(lambda: self._add(as_pattern(pattern), matches))

    def drop(self, pattern: Pattern | str | int) -> None:
        """Watch a pattern no longer; what was kept for it is given back.

        Raises
        ------
        ArgumentError
            It is not watched.
        """
        self._alone(lambda: self._drop(chosen_pattern(pattern, self.patterns)))

    def apply(
        self,
        updates: Updates | Iterable[Row] | None = None,
        *,
        inserts: object = None,
        deletes: object = None,
        vertex_labels: Mapping[VertexId, Label] | None = None,
        times: ArrayLike | None = None,
        timeout: float | None = None,
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
            Labels of vertices that these updates bring; others get the label 0. `Updates` have their own.
        times
            The time of all, or of each: deletions first, where there is no order. `Updates` have their own.
        timeout
            Seconds after which the call gives up: nothing is applied then, and `Delta.complete` is False.

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
        seconds = None if timeout is None else check_seconds("timeout", timeout)
        if updates is not None and (inserts is not None or deletes is not None):
            raise ArgumentError("updates", "updates, or inserts and deletes, not both", "both")
        for argument, value in (("vertex_labels", vertex_labels), ("times", times)):
            if value is not None and isinstance(updates, Updates):
                raise ArgumentError(argument, "none beside Updates, which have their own", value)
        if isinstance(updates, Updates):
            return self._apply(updates, Terms(timeout=seconds))
        given = Updates.edges(inserts, deletes) if updates is None else Updates.of(updates)
        return self._apply(given.with_more(vertex_labels, times), Terms(timeout=seconds))

    def advance(self, time: object) -> Delta:
        """Let what leaves a window of time until a moment leave, though no update comes.

        Parameters
        ----------
        time
            The moment, as an update of that time would have it.

        Returns
        -------
        Delta
            By pattern, with position 0; it has no updates. In batch mode it is a change by itself.

        Raises
        ------
        ArgumentError
            There is no window, or one of edges: time does not end these.
        StreamError
            It is no moment, or earlier than an update before and ``disorder="error"``; with another disorder
            it then changes nothing, and `Delta.late` is 1.

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
            What to do about lines that are malformed, or whose updates are refused (a vertex that changes its
            label, say): ``"stop"``, or ``"skip"`` and count them.
        limit
            Matches, of all patterns and both signs, after which the run ends: later ones are not told. The
            batch with the last one is applied whole.
        timeout
            Seconds after which the run ends. A batch that takes longer is not applied at all and is to be
            found in `unapplied`.
        progress
            Whether to show progress on a terminal; or a function that is called with totals now and then.

        Returns
        -------
        Iterator of Delta, or Totals
            What each batch came to, the last with ``complete=False`` if it was cut short; with a sink, what
            all of them did.

        Raises
        ------
        FormatError, StreamError
            Names the line; all batches before it are applied.
        OutputError
            The sink failed; the batch that it was given is not applied and is to be found in `unapplied`.

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

    def snapshot(self) -> Graph:
        """Return the graph as it is now."""
        return self._alone(lambda: self._take_snapshot())

    def count(self, pattern: Pattern | str, **options: Any) -> Count:
        """Count a pattern in the graph as it is now; takes the options of `motiflux.count`."""
        options.setdefault("semantics", self._options.semantics.value)
        options.setdefault("symmetry", self._options.symmetry.value)
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
        return self._alone(lambda: self._save(path, position))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, threads: int | None = None) -> Self:
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
        threads = resolve_threads(threads)
        saved = read_checkpoint(checked_path(path))
        try:
            monitor = cls(saved.graph(), threads=threads, **saved.options)
            monitor._restore(saved)
        except (KeyError, TypeError, ArgumentError, GraphError) as error:
            raise FormatError(Path(path), f"the facts are damaged: {type(error).__name__}: {error}") from None
        return monitor
