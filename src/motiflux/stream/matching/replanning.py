"""Orders that follow the graph: plans are made anew when the numbers that they depend on have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from motiflux import _native
from motiflux.graph import Graph
from motiflux.plan.bind import BoundPattern
from motiflux.plan.passes.delta import Numbers, numbers_of
from motiflux.stream.matching.label_counts import MOST_TRIPLES, LabelCounts, are_due, have_moved


@dataclass(eq=False, slots=True)
class Planning:
    """What the plans of a pattern depend on.

    Parameters
    ----------
    slot
        The number of the pattern in the native monitor.
    bound
        The pattern in codes.
    write
        Returns native plans by numbers.
    numbers
        Those that the plans were made by; None: those of the first graph.
    """

    slot: int
    bound: BoundPattern
    write: Callable[[Numbers], list[Any]]
    numbers: Numbers | None


class Replanning:
    """Counts edges by labels, and replaces plans between calls.

    Parameters
    ----------
    base
        The graph at the start.
    is_on
        Whether plans are replaced.
    """

    def __init__(self, base: Graph, *, is_on: bool) -> None:
        self._base = base
        self._is_on = is_on
        self._counts: LabelCounts | None = None
        self.replaced = 0
        """How often the plans of a pattern were replaced."""

    def numbers_now(self, native: _native.Monitor, bound: BoundPattern) -> Numbers:
        """Return the numbers for a pattern that is added to a graph that has changed."""
        self._counts = LabelCounts.of(native, directed=self._base.directed)
        self._is_on = self._is_on and len(self._counts) <= MOST_TRIPLES
        return numbers_of(bound, self._counts)

    def look(self, native: _native.Monitor, all_plannings: Callable[[], Iterable[Planning]]) -> None:
        """Replace the plans whose numbers have changed much, if it is time to look; between two calls."""
        if self._is_on and are_due(native):
            self._replace(native, list(all_plannings()))

    def _replace(self, native: _native.Monitor, plannings: list[Planning]) -> None:
        counts = self._counts
        if counts is None:
            labels = self._base.label_frequencies()
            if len(labels.of_triples) > MOST_TRIPLES:
                self._is_on = False
                return
            counts = self._counts = LabelCounts.of_frequencies(labels, directed=self._base.directed)
        for one in plannings:
            if one.numbers is None:
                one.numbers = numbers_of(one.bound, counts)
        counts.follow(native)
        self._is_on = len(counts) <= MOST_TRIPLES
        for one in plannings:
            now = numbers_of(one.bound, counts)
            if one.numbers is not None and have_moved(one.numbers, now):
                native.replace_plans(one.slot, one.write(now))
                one.numbers = now
                self.replaced += 1
