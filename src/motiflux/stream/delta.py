"""What updates bring: matches that appear, and matches that vanish."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.arguments import check_integer
from motiflux.errors import ArgumentError
from motiflux.pattern import Pattern, as_pattern
from motiflux.stream.names import GrowingIds


@dataclass(frozen=True, eq=False)
class MatchRows:
    """Matches that appeared or vanished, in the order in which they were found.

    Parameters
    ----------
    vertices
        uint32 [rows, k]: internal numbers, by query vertex.
    updates
        uint64 [rows]: the position of the update among those applied; 0 in batch mode.
    positive
        bool [rows]: whether the match appeared.
    """

    vertices: NDArray[np.uint32]
    updates: NDArray[np.uint64]
    positive: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.updates)


@dataclass(frozen=True, eq=False)
class PatternDelta:
    """What a call's updates changed for one pattern.

    Parameters
    ----------
    pattern
        Which.
    positive, negative
        Numbers of matches that appeared and that vanished.
    updates, matches
        uint64 arrays: the updates that changed something, by position, and how many matches each did (Python
        integers where 64 bits do not hold one). In batch mode these are empty. An update that made edges
        leave a window comes once for each of them too.
    signs
        int8, beside `updates`: 1 where matches appeared, -1 where they vanished.
    rows
        The matches themselves; None where only numbers were asked for.
    """

    pattern: Pattern
    positive: int
    negative: int
    updates: NDArray[np.uint64]
    matches: NDArray[np.uint64]
    signs: NDArray[np.int8]
    rows: MatchRows | None
    _ids: GrowingIds = field(repr=False)

    @property
    def net(self) -> int:
        """Change of the number of matches."""
        return self.positive - self.negative

    def appeared(self) -> NDArray[Any]:
        """Return the matches that appeared: external ids [rows, k], columns in the pattern's vertex order.

        Raises
        ------
        ArgumentError
            The monitor was not asked for matches.
        """
        return self._named(positive=True)

    def vanished(self) -> NDArray[Any]:
        """Return the matches that vanished, as `appeared` does."""
        return self._named(positive=False)

    def batches(self, rows: int = 65_536) -> Iterator[tuple[NDArray[Any], MatchRows]]:
        """Return external ids and what is known of each row, in pieces of at most `rows`."""
        rows = check_integer("rows", rows, 1)
        found = self._rows()
        for first in range(0, len(found), rows):
            part = slice(first, first + rows)
            piece = MatchRows(found.vertices[part], found.updates[part], found.positive[part])
            yield self._ids.names(piece.vertices), piece

    def _rows(self) -> MatchRows:
        if self.rows is None:
            raise ArgumentError("matches", "Monitor(..., matches=True) where matches are asked for", False)
        return self.rows

    def _named(self, *, positive: bool) -> NDArray[Any]:
        found = self._rows()
        return self._ids.names(found.vertices[found.positive == positive])


@dataclass(frozen=True, eq=False)
class Delta:
    """What a call's updates changed.

    Parameters
    ----------
    patterns
        By watched pattern, in the order in which they were added.
    updates
        Updates that were applied; self-loops and those dropped as late are left out.
    noops
        Insertions of edges that were there, and deletions of edges that were not.
    self_loops
        Updates left out because both ends were one vertex.
    late
        Updates out of time order, which were left out (``disorder="drop"``) or moved (``"clamp"``).
    expired
        Copies of edges that left the window.
    seconds
        Wall-clock seconds.
    complete
        False if the time was up: nothing of the call is applied then.
    """

    patterns: Mapping[Pattern, PatternDelta]
    updates: int
    noops: int = 0
    self_loops: int = 0
    late: int = 0
    expired: int = 0
    seconds: float = 0.0
    complete: bool = True

    def __getitem__(self, pattern: Pattern | str | int) -> PatternDelta:
        """Return what changed for a pattern: itself, its text, or its position."""
        return self.patterns[chosen_pattern(pattern, list(self.patterns))]

    def __iter__(self) -> Iterator[PatternDelta]:
        return iter(self.patterns.values())

    def __len__(self) -> int:
        return len(self.patterns)


def chosen_pattern(wanted: Pattern | str | int, patterns: Sequence[Pattern]) -> Pattern:
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
