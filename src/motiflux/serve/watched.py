"""Patterns that a monitor of a service matches, each with its rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motiflux.pattern import Pattern, Query
from motiflux.pattern.queries.watched import watched_patterns
from motiflux.serve.log.group import PatternRow
from motiflux.serve.settings.parts import MonitorSettings
from motiflux.types import Semantics


def parts_of(wanted: Pattern | Query, settings: MonitorSettings, *, directed: bool) -> Sequence[Pattern]:
    """Return the patterns that a monitor matches for a pattern or query.

    Raises
    ------
    ArgumentError
        It cannot match the query.
    """
    if isinstance(wanted, Pattern):
        return [wanted]
    return watched_patterns(
        wanted,
        directed=directed,
        by_occurrence=settings.symmetry == "subgraphs",
        semantics=Semantics(settings.semantics),
    )


class Bucket:
    """Bounds a rate: `rate` alerts per second, as many at once.

    Parameters
    ----------
    rate
        Alerts per second; below 1, one at once.
    """

    def __init__(self, rate: float) -> None:
        self._rate, self._most = rate, max(1.0, rate) if rate else 0.0
        self._left, self._at = self._most, 0

    def take(self, wanted: int, arrival: int) -> int:
        """Return how many of the wanted alerts there may be now; `arrival`: nanoseconds."""
        self._left = min(self._most, self._left + max(0, arrival - self._at) * self._rate / 1e9)
        self._at = max(self._at, arrival)
        taken = min(wanted, int(self._left))
        self._left -= taken
        return taken


@dataclass
class Watched:
    """A pattern or query that a monitor matches.

    Parameters
    ----------
    parts
        The patterns that the monitor matches for it: a query stands for several.
    """

    row: PatternRow
    pattern: Pattern | Query
    parts: tuple[Pattern, ...]
    bucket: Bucket
