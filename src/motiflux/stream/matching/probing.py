"""Orders measured on the stream: plans are replaced by others that take less work for the same updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from motiflux import _native
from motiflux.plan.passes.drafts import DeltaPlan

MOST_ALTERNATIVES = 8
"""The most plans that are raced with those of a place; of the native monitor."""


class Probed(Protocol):
    """A pattern whose plans are probed.

    Attributes
    ----------
    plans
        Its searches.
    measured
        Of places whose plans were replaced: the share of the work that the new ones took.
    """

    plans: tuple[DeltaPlan, ...]
    measured: dict[tuple[int, int], float]


One = TypeVar("One", bound=Probed)


class Probing:
    """Makes the alternatives that the native monitor races, and replaces plans by those that won.

    All this happens between two calls. Which plans win depends on the work of searches for updates of the
    stream, counted in vertices, not on a clock.

    Parameters
    ----------
    native
        Which measures.
    is_on, eager
        Whether it does; and whether it looks at all updates, and prefers even plans that are worse.
    """

    def __init__(self, native: _native.Monitor, *, is_on: bool, eager: bool) -> None:
        native.enable_probes(is_on, eager)
        self._races: dict[tuple[int, int], list[DeltaPlan]] = {}
        self.replaced = 0
        """How often the plans of a place were replaced."""

    def look(
        self,
        native: _native.Monitor,
        planned: Callable[[], Mapping[int, One]],
        make: Callable[[One, Sequence[DeltaPlan]], list[DeltaPlan]],
        write: Callable[[One, Sequence[DeltaPlan]], list[object]],
    ) -> None:
        """Do what is due.

        Parameters
        ----------
        planned
            Returns the patterns by slot.
        make
            Returns alternatives to the plans of a place.
        write
            Returns plans as the native monitor takes them.
        """
        if not native.has_probe_news:
            return
        patterns = planned()
        for slot, place, alternative, share in native.take_better():
            chosen = self._races.pop((slot, place))[alternative]
            one = patterns[slot]
            by_place = places_of(one.plans)
            by_place[place] = (chosen,)
            plans = tuple(plan for of_place in by_place for plan in of_place)
            native.replace_plans(slot, write(one, plans), probed=True)
            one.plans = plans
            one.measured[chosen.place] = share
            self.replaced += 1
        for slot, place in native.take_wanted():
            one = patterns[slot]
            alternatives = make(one, places_of(one.plans)[place])
            self._races[slot, place] = alternatives
            native.race(slot, place, [write(one, (plan,)) for plan in alternatives])


def places_of(plans: Sequence[DeltaPlan]) -> list[tuple[DeltaPlan, ...]]:
    """Return the plans by place: one, or two of which one is taken for each update."""
    places: list[tuple[DeltaPlan, ...]] = []
    for plan in plans:
        if plan.replaces_last:
            places[-1] += (plan,)
        else:
            places.append((plan,))
    return places
