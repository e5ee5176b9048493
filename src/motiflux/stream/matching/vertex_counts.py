"""Counts of matches at each vertex of a graph that changes, and alerts where one passes a threshold.

The native monitor keeps the counts (`csrc/dynamic/vertex_tallies.hpp`). With ``symmetry="subgraphs"`` the
images of all query vertices are counted that an automorphism maps to the counted one, as in
`motiflux.count_per_vertex`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import CountOverflowError
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import automorphisms
from motiflux.plan.image_counts import orbit_of
from motiflux.stream.matching.delta import Changes
from motiflux.stream.vertex_options import VertexOptions

_WORD = 64
_LOW = 2**_WORD - 1
_MOST = 2**127 - 1


@dataclass(frozen=True, slots=True)
class VertexAlert:
    """A count at a vertex that passed a threshold.

    Parameters
    ----------
    pattern
        The pattern.
    vertex
        The id of the vertex.
    update
        The position of the update among those of the call; 0 in batch mode.
    before, count
        The count before and after this update.
    """

    pattern: Pattern
    vertex: Any
    update: int
    before: int
    count: int

    @property
    def up(self) -> bool:
        """Whether the count grew."""
        return self.count > self.before


class VertexCounting:
    """What is counted at vertices, for all watched patterns.

    Parameters
    ----------
    options
        What is counted.
    once
        Whether each occurrence is counted once at a vertex (``symmetry="subgraphs"``).
    directed
        Whether the graph is directed.
    """

    def __init__(self, options: VertexOptions, *, once: bool, directed: bool) -> None:
        self.options = options
        self._once = once
        self._directed = directed
        self.known: dict[Pattern, NDArray[np.uint64]] = {}
        """Counts as `_native.Monitor.tallied` returns them, of patterns that are to be watched again."""

    def watch(self, native: _native.Monitor, pattern: Pattern, slot: int, counts: NDArray[np.uint64]) -> None:
        """Count a pattern of a native monitor from now on, beginning with counts as it returns them."""
        place = self.options.place(pattern)
        places = [place]
        if self._once:
            group = automorphisms(pattern, directed=self._directed)
            places = [one for (one,) in orbit_of((place,), group)]
        native.tally(slot, places, counts, self.options.alert or 0, self.options.alert_down)

    def alerts(self, changes: Changes, slots: Iterable[tuple[Pattern, int]]) -> tuple[VertexAlert, ...]:
        """Return the alerts of a call, by update."""
        if self.options.alert is None or changes.found is None:
            return ()
        alerts: list[VertexAlert] = []
        for pattern, slot in slots:
            passings = changes.found.passings(slot)
            names = changes.names(np.array([one[0] for one in passings], np.uint32)).tolist()
            alerts += [
                VertexAlert(pattern, name, update, before, after)
                for name, (_, update, before, after) in zip(names, passings, strict=True)
            ]
        return tuple(sorted(alerts, key=lambda one: one.update))


def words_of(counts: NDArray[Any]) -> NDArray[np.uint64]:
    """Return counts as two words each, the low ones first.

    Raises
    ------
    CountOverflowError
        One passes 2^127 - 1.
    """
    words = np.zeros((len(counts), 2), np.uint64)
    if counts.dtype != object:
        words[:, 0] = counts
    else:
        if len(counts) and max(counts) > _MOST:
            raise CountOverflowError("a count at a vertex passes 2^127 - 1, the most that a monitor keeps")
        words[:, 0] = [int(one) & _LOW for one in counts]
        words[:, 1] = [int(one) >> _WORD for one in counts]
    return words.ravel()


def counts_of(words: NDArray[np.uint64]) -> NDArray[Any]:
    """Return the counts of such words: int64, or Python integers if one passes 2^63 - 1."""
    low, high = words[::2], words[1::2]
    if not high.any() and not (low >> np.uint64(_WORD - 1)).any():
        return low.astype(np.int64)
    exact: NDArray[Any] = low.astype(object) + (high.astype(object) << _WORD)
    return exact
