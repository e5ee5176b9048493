"""Orders that follow the graph: plans are made anew when the numbers that they depend on have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from motiflux import _native
from motiflux.graph import Graph
from motiflux.plan.bind import BoundPattern
from motiflux.plan.passes.numbers import Numbers, numbers_of
from motiflux.stream.matching.label_counts import MOST_TRIPLES, LabelCounts, are_due, have_moved


class Planned(Protocol):
    """A pattern whose plans were made by numbers.

    Attributes
    ----------
    slot
        The number of the pattern in the native monitor.
    numbers
        Those that the plans were made by; None: those of the first graph.
    """

    slot: int
    numbers: Numbers | None

    @property
    def counted(self) -> BoundPattern:
        """The pattern in the labels by which the native monitor counts edges now."""


One = TypeVar("One", bound=Planned)


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

    def numbers_now(
        self, native: _native.Monitor, bound: BoundPattern, planned: Iterable[Planned]
    ) -> Numbers:
        """Return the numbers for a pattern that is added to a graph that has changed.

        `bound` has the labels by which the native monitor counts edges.

        `planned`: the patterns that are watched; those of the first graph are told its numbers.
        """
        if self._is_on:
            self._tell_first(planned)
        self._counts = LabelCounts.of(native, directed=self._base.directed)
        self._is_on = self._is_on and len(self._counts) <= MOST_TRIPLES
        return numbers_of(bound, self._counts)

    def look(
        self, native: _native.Monitor, planned: Callable[[], Iterable[One]], replace: Callable[[One], bool]
    ) -> None:
        """Replace the plans whose numbers have changed much, if it is time to look; between two calls.

        `replace` replaces the plans of a pattern by those for its present numbers, and returns whether they
        are others.
        """
        if self._is_on and are_due(native):
            self._replace(native, list(planned()), replace)

    def _replace(self, native: _native.Monitor, planned: list[One], replace: Callable[[One], bool]) -> None:
        counts = self._tell_first(planned)
        if counts is None:
            return
        counts.follow(native)
        self._is_on = len(counts) <= MOST_TRIPLES
        for one in planned:
            before, now = one.numbers, numbers_of(one.counted, counts)
            if before is None or not have_moved(before, now):
                continue
            one.numbers = now
            try:
                self.replaced += replace(one)
            except BaseException:
                one.numbers = before
                raise

    def _tell_first(self, planned: Iterable[Planned]) -> LabelCounts | None:
        """Note the numbers of the first graph for patterns planned by it; None with too many labels."""
        if self._counts is None:
            labels = self._base.label_frequencies()
            if len(labels.of_triples) > MOST_TRIPLES:
                self._is_on = False
                return None
            self._counts = LabelCounts.of_frequencies(labels, directed=self._base.directed)
        for one in planned:
            if one.numbers is None:
                one.numbers = numbers_of(one.counted, self._counts)
        return self._counts
