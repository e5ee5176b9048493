"""The changes by updates: matches that appear, and matches that vanish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.arguments import check_integer
from motiflux.errors import ArgumentError
from motiflux.graph import AttributeTable
from motiflux.pattern import Pattern, PatternLike, Query, as_pattern, as_query
from motiflux.pattern.queries.watched import CasePattern, all_watched
from motiflux.stream.copies.changes import DeletedCopies
from motiflux.stream.matching.match_rows import NO_RUNS, MatchRows, Runs
from motiflux.stream.matching.noops import Noops
from motiflux.units import grouped, quantity, seconds_text

EdgesOf = Callable[[Pattern, MatchRows], dict[str, AttributeTable]]
"""Returns the attributes of the edges of matches of a pattern, by query edge."""

_MOST_PATTERNS = 12
_MOST_ROWS = 5
"""Patterns, and matches of each, that notebooks show."""


@dataclass(frozen=True, eq=False)
class PatternDelta:
    """The change of one pattern by the updates of a call.

    Parameters
    ----------
    pattern
        The pattern.
    positive, negative
        Numbers of matches that appeared and of matches that vanished.
    updates, matches
        uint64 arrays: the positions of the updates that changed the matches, and the number of matches of
        each (Python integers if 64 bits are too few). Empty in batch mode. An update that made edges of a
        window expire also occurs once for each of these edges.
    signs
        int8, as long as `updates`: 1 if matches appeared, -1 if they vanished.
    rows
        The matches; None if only numbers were requested.
    """

    pattern: Pattern
    positive: int
    negative: int
    updates: NDArray[np.uint64]
    matches: NDArray[np.uint64]
    signs: NDArray[np.int8]
    rows: MatchRows | None
    _ids: Ids = field(repr=False)
    _edges: EdgesOf | None = field(default=None, repr=False)

    @property
    def net(self) -> int:
        """Change of the number of matches."""
        return self.positive - self.negative

    def appeared(self) -> NDArray[Any]:
        """Return the matches that appeared: external ids [rows, k], columns in the pattern's vertex order.

        Raises
        ------
        ArgumentError
            The monitor does not list matches.
        """
        return self._named(positive=True)

    def vanished(self) -> NDArray[Any]:
        """Return the matches that vanished, as `appeared` does."""
        return self._named(positive=False)

    def batches(self, rows: int = 65_536) -> Iterator[tuple[NDArray[Any], MatchRows]]:
        """Return external ids, signs and updates of the rows, in pieces of at most `rows`."""
        rows = check_integer("rows", rows, 1)
        found = self._rows()
        for first in range(0, len(found), rows):
            piece = found.part(first, first + rows)
            yield self._ids.names(piece.vertices), piece

    def edges(self) -> dict[str, AttributeTable]:
        """Return the attributes of the edges of all rows, by query edge.

        Of the copies that serve a query edge it is the oldest, as the graph was after the update if the match
        appeared, or before it if it vanished (in batch mode, after or before the batch).

        Returns
        -------
        dict
            By the names of the query edges, or ``"e0"``, ``"e1"``, ...: columns with one value for each row.

        Raises
        ------
        ArgumentError
            The monitor keeps no attributes, lists no matches, or has begun another call.

        Examples
        --------
        >>> import motiflux as mf
        >>> empty = mf.Graph.from_edges([], num_vertices=2, directed=True)
        >>> with mf.Monitor(empty, "(a)-[x WHERE x.amount > 5]->(b)", matches=True) as monitor:
        ...     delta = monitor.apply([("+", 0, 1), ("+", 0, 1)], attributes={"amount": [3, 9]})
        ...     print(delta[0].edges()["x"]["amount"].to_list())
        [9]
        """
        if self._edges is None:
            raise ArgumentError("attributes", "Monitor(..., attributes=True) for those of edges", False)
        return self._edges(self.pattern, self._rows())

    def _rows(self) -> MatchRows:
        if self.rows is None:
            raise ArgumentError("matches", "Monitor(..., matches=True) where matches are asked for", False)
        return self.rows

    def _named(self, *, positive: bool) -> NDArray[Any]:
        return self._ids.names(self._rows().of_sign(positive=positive))


class Ids(Protocol):
    """Names vertices."""

    def names(self, vertices: NDArray[np.uint32]) -> NDArray[Any]:
        """Return the external ids of internal numbers, in the shape given."""


class GuardedIds:
    """Ids of a monitor, read with a lock.

    Parameters
    ----------
    ids, lock
        The ids, and what another thread holds while it adds some.
    """

    def __init__(self, ids: Ids, lock: AbstractContextManager[Any]) -> None:
        self._ids, self._lock = ids, lock

    def names(self, vertices: NDArray[np.uint32]) -> NDArray[Any]:
        """Return the external ids of internal numbers, in the shape given."""
        with self._lock:
            return self._ids.names(vertices)


class Changes(Mapping[Pattern, PatternDelta]):
    """The changes of patterns, read from the native result when they are asked for.

    Parameters
    ----------
    found
        The native result; None: nothing was applied.
    watched
        The patterns, each with its number there, and whether its matches are given.
    ids
        The ids of vertices.
    """

    edges: EdgesOf | None = None
    """Returns the attributes of the edges of matches."""
    deleted: DeletedCopies | None = None
    """The copies that deletions took."""

    def __init__(
        self,
        found: _native.Found | None,
        watched: Sequence[tuple[Pattern, int, bool]],
        ids: Ids,
    ) -> None:
        self.found = found
        self._watched = watched
        self._ids = ids
        self._rows: dict[int, MatchRows | None] = {}
        self._made: list[PatternDelta] | None = None

    def __getitem__(self, pattern: Pattern) -> PatternDelta:
        made = self._all()
        for one in made:  # hashing a pattern takes longer than finding it
            if one.pattern is pattern:
                return one
        for one in made:
            if one.pattern == pattern:
                return one
        raise KeyError(pattern)

    def __iter__(self) -> Iterator[Pattern]:
        return (pattern for pattern, *_ in self._watched)

    def __len__(self) -> int:
        return len(self._watched)

    def guarded(self, lock: AbstractContextManager[Any]) -> None:
        """Have what is read of the monitor read with a lock: another thread calls the monitor meanwhile."""
        self._ids = GuardedIds(self._ids, lock)
        if (unguarded := self.edges) is not None:

            def edges(pattern: Pattern, rows: MatchRows) -> dict[str, AttributeTable]:
                with lock:
                    return unguarded(pattern, rows)

            self.edges = edges

    def any(self) -> bool:
        """Return whether a pattern has changes."""
        return self.found is not None and self.found.any

    def counts(self) -> list[tuple[int, int]]:
        """Return how many matches of each pattern appeared and vanished."""
        if self.found is None:
            return [(0, 0)] * len(self)
        return [self.found.counts(slot) for _, slot, _ in self._watched]

    def blocks(self) -> list[tuple[Pattern, MatchRows]]:
        """Return the matches by pattern, where there are any."""
        rows = [(pattern, self._rows_of(slot)) for pattern, slot, listed in self._watched if listed]
        return [(pattern, block) for pattern, block in rows if block is not None]

    def names(self, vertices: NDArray[np.uint32]) -> NDArray[Any]:
        """Return the external ids of internal numbers."""
        return self._ids.names(vertices)

    def _rows_of(self, slot: int) -> MatchRows | None:
        if slot not in self._rows:
            self._rows[slot] = None if self.found is None else rows_of(self.found, slot)
        return self._rows[slot]

    def _all(self) -> list[PatternDelta]:
        if self._made is None:
            self._made = [self._one(*one) for one in self._watched]
        return self._made

    def _one(self, pattern: Pattern, slot: int, listed: bool) -> PatternDelta:
        positive = negative = 0
        updates: NDArray[np.uint64] = NO_NUMBERS
        matches: Any = NO_NUMBERS
        signs: NDArray[np.int8] = _NO_SIGNS
        if self.found is not None:
            positive, negative = self.found.counts(slot)
            updates, matches, signs = self.found.changes(slot)
        if isinstance(matches, list):
            matches = np.array(matches, dtype=object)
        rows = None
        if listed:
            rows = self._rows_of(slot)
            if rows is None:
                table = np.empty((0, len(pattern.vertices)), dtype=np.uint32)
                rows = MatchRows.of_runs(table, NO_RUNS)
        return PatternDelta(pattern, positive, negative, updates, matches, signs, rows, self._ids, self.edges)


def rows_of(found: _native.Found, slot: int) -> MatchRows | None:
    """Return the matches of a pattern, which are taken out; None if there are none."""
    taken = found.rows(slot)
    if taken is None:
        return None
    vertices, updates, positives, ends = taken
    return MatchRows.of_runs(vertices, Runs(updates, positives.view(bool), ends))


@dataclass(frozen=True, eq=False)
class QueryDelta:
    """The change of a query by the updates of a call: that of its patterns together.

    Parameters
    ----------
    query
        The query.
    patterns
        The changes of its patterns.
    """

    query: Query
    patterns: tuple[PatternDelta, ...]

    @property
    def positive(self) -> int:
        """Number of matches that appeared."""
        return sum(one.positive for one in self.patterns)

    @property
    def negative(self) -> int:
        """Number of matches that vanished."""
        return sum(one.negative for one in self.patterns)

    @property
    def net(self) -> int:
        """Change of the number of matches."""
        return self.positive - self.negative


def patterns_of(query: Query, watched: Iterable[Pattern]) -> list[Pattern]:
    """Return the watched patterns of a query.

    Raises
    ------
    ArgumentError
        There are none.
    """
    expanded = all_watched(query)
    found = [one for one in watched if (one.alone if isinstance(one, CasePattern) else one) in expanded]
    if not found:
        raise ArgumentError("pattern", "a query that is watched", str(query))
    return found


@dataclass(frozen=True, eq=False)
class Delta:
    """The change by the updates of a call.

    Parameters
    ----------
    patterns
        Changes of the watched patterns, in the order in which these were added.
    updates
        Number of applied updates, without self-loops and dropped late updates.
    self_loops
        Number of self-loops, which were dropped.
    late
        Number of updates out of time order, which were dropped (``disorder="drop"``) or moved (``"clamp"``).
    expired
        Number of copies of edges that expired.
    seconds
        Wall-clock seconds.
    complete
        False after a timeout; no update of the call is applied then.
    reached
        After a timeout in sequence mode, the position of the update that was being matched when the time was
        up, or of one before it: updates before it had been matched in time. None: it is not known.
    searched
        After a timeout, the seconds that searches for each pattern took on the CPU, those that took longest
        first. Several threads are measured by one of them, searches of microseconds by chance. Empty: it is
        not known, as on a GPU.
    found_noops
        Counts `noops`.
    engine, device, reason
        What matched the updates, where, and why there, in words.
    measured
        On a GPU, figures of its searches if they are measured, as ``motiflux bench batch`` does:
        ``utilisation`` is the share of the time in which groups of lanes had work, ``busy_cycles`` and
        ``cycles`` are those of ``groups`` groups, ``stolen`` and ``given`` the pieces of work that groups got
        from others within and beyond their block. Where partial matches are pooled, these are sums over all
        launches; ``utilisation_1`` and ``cycles_1`` are those of the first stage, and so on. Empty otherwise.
    alerts
        With ``Monitor(per_vertex=..., alert=...)``: a `VertexAlert` for each count that passed the threshold,
        in the order of updates.
    """

    patterns: Mapping[Pattern, PatternDelta]
    updates: int
    self_loops: int = 0
    late: int = 0
    expired: int = 0
    seconds: float = 0.0
    complete: bool = True
    found_noops: Noops = field(default=Noops(0), repr=False)
    engine: str = "cpu"
    device: str = "cpu"
    reason: str = ""
    measured: Mapping[str, float] = field(default_factory=dict)
    alerts: Sequence[Any] = ()
    reached: int | None = None
    searched: Mapping[Pattern, float] = field(default_factory=dict)

    @property
    def deleted(self) -> DeletedCopies | None:
        """The copies that deletions took, with their attributes; None if the monitor keeps none."""
        return self.patterns.deleted if isinstance(self.patterns, Changes) else None

    @property
    def noops(self) -> int:
        """Number of insertions of existing edges and deletions of missing edges.

        Updates that concern no pattern are written later. If those of this call are not written yet, reading
        this number writes them.

        Raises
        ------
        ArgumentError
            The monitor is applying updates in another thread.
        """
        return self.found_noops.number()

    @overload
    def __getitem__(self, pattern: Pattern | int) -> PatternDelta: ...
    @overload
    def __getitem__(self, pattern: Query) -> QueryDelta: ...
    @overload
    def __getitem__(self, pattern: str) -> Any: ...
    def __getitem__(self, pattern: Pattern | Query | str | int) -> PatternDelta | QueryDelta:
        """Return the changes of a pattern, given by itself, its text, or its position, or those of a query.

        Examples
        --------
        >>> import motiflux as mf
        >>> paths = mf.Query.parse("(a)-[*1..2]->(b)")
        >>> with mf.Monitor(mf.Graph.from_edges([(0, 1)], directed=True), paths) as monitor:
        ...     delta = monitor.apply(inserts=[(1, 2)])
        ...     print(delta[paths].positive, [one.positive for one in delta[paths].patterns])
        2 [1, 1]
        """
        if isinstance(pattern, str):
            pattern = as_query(pattern)
        if isinstance(pattern, Query):
            found = patterns_of(pattern, self.patterns)
            return QueryDelta(pattern, tuple(self.patterns[one] for one in found))
        return self.patterns[chosen_pattern(pattern, list(self.patterns))]

    def __iter__(self) -> Iterator[PatternDelta]:
        return iter(self.patterns.values())

    def _repr_html_(self) -> str:
        """Return the changes by pattern and the first matches as HTML."""
        return _page(self)

    def __len__(self) -> int:
        return len(self.patterns)


def counts_of(delta: Delta) -> list[tuple[int, int]]:
    """Return how many matches of each pattern appeared and vanished."""
    if isinstance(delta.patterns, Changes):
        return delta.patterns.counts()
    return [(one.positive, one.negative) for one in delta]


def _page(delta: Delta) -> str:
    """Return the changes by pattern, and the first matches of the first patterns that have any."""
    from motiflux.draw.page import facts_table, rows_table  # needed in notebooks only

    changes = list(delta)
    first = changes[:_MOST_PATTERNS]
    shown = [[str(one.pattern), grouped(one.positive), grouped(one.negative)] for one in first]
    headings = ["pattern", "appeared", "vanished"]
    parts = [facts_table(_facts(delta)), rows_table(headings, shown, len(changes), "pattern")]
    parts += [_matches(one) for one in first if one.rows is not None and len(one.rows)]
    return "<div>\n" + "\n".join(parts) + "\n</div>"


def _facts(delta: Delta) -> list[tuple[str, str]]:
    effects = (
        (delta.noops, f"{grouped(delta.noops)} without effect"),
        (delta.self_loops, quantity(delta.self_loops, "self-loop")),
        (delta.late, f"{grouped(delta.late)} late"),
        (delta.expired, f"{quantity(delta.expired, 'edge')} expired"),
    )
    updates = [grouped(delta.updates), *(text for number, text in effects if number)]
    state = "complete" if delta.complete else "incomplete: nothing was applied"
    return [("updates", ", ".join(updates)), ("state", state), ("time", seconds_text(delta.seconds))]


def _matches(change: PatternDelta) -> str:
    """Return the first matches that appeared or vanished."""
    from motiflux.draw.page import rows_table  # needed in notebooks only

    assert change.rows is not None
    ids, piece = next(change.batches(_MOST_ROWS))
    signs = ["+" if positive else "-" for positive in piece.positive.tolist()]
    rows = [[sign, *map(str, row)] for sign, row in zip(signs, ids.tolist(), strict=True)]
    names = ["", *(vertex.name for vertex in change.pattern.vertices)]
    return rows_table(names, rows, len(change.rows), "match")


def chosen_pattern(wanted: PatternLike | int, patterns: Sequence[Pattern]) -> Pattern:
    """Return the watched pattern that is meant.

    Raises
    ------
    ArgumentError
        None is.
    """
    if isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool):
        if -len(patterns) <= wanted < len(patterns):
            return patterns[wanted]
        raise ArgumentError("pattern", f"a position below {len(patterns)}", wanted)
    pattern = as_pattern(wanted, expected="a pattern, its text, or its position")
    if pattern not in patterns:
        raise ArgumentError("pattern", "a pattern that is watched", str(wanted))
    return pattern


NO_NUMBERS = np.empty(0, dtype=np.uint64)
_NO_SIGNS = np.empty(0, dtype=np.int8)
