"""Patterns that are left out of an update which takes too long."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from motiflux.pattern import Pattern
from motiflux.serve.log.group import NETWORK
from motiflux.serve.watched import Watched
from motiflux.stream.matching.delta import Delta

_NOTICEABLE = 0.01
"""The share of the time from which a pattern may be to blame."""


class LeftOut:
    """Finds the patterns without which an update is fast enough.

    Parameters
    ----------
    watched
        All patterns.
    drop, add_again
        Stop watching a pattern, and watch it as before.
    tried
        Applies the update within its time; returns None if a count is too large.
    """

    def __init__(
        self,
        watched: Sequence[Watched],
        drop: Callable[[Watched], None],
        add_again: Callable[[Watched], None],
        tried: Callable[[], Delta | None],
    ) -> None:
        self.patterns: list[Watched] = []
        """Those that are left out."""
        self._watched = list(watched)
        self._drop, self._add_again, self._tried = drop, add_again, tried

    def search(self, delta: Delta | None) -> Delta | None:
        """Leave out as few patterns as possible; return the changes, None if there are none in time.

        A try tells how long the search for each pattern took until the time was up. Patterns of the network
        come first: as many as took half of the time, those that took longest first. If all of them took less,
        they are to blame if the update is fast enough without them. Otherwise it is the pattern of the
        configuration that took longest.

        Parameters
        ----------
        delta
            Of a try that took too long; None: a count was too large.
        """
        while delta is not None and not delta.complete:
            guests, own = self._by_time(delta.searched)
            if not guests and not own:
                break
            if guests and own:
                delta = self._without_guests(guests)
            else:
                delta = self._without(guests or own[:1])
        if delta is None or not delta.complete:
            delta = self._one_by_one()
        return delta

    def _by_time(self, searched: Mapping[Pattern, float]) -> tuple[list[Watched], list[Watched]]:
        """Return the patterns of the network that may be to blame, and the others, the slowest first.

        Those of the network are only as many as took half of the time, if they did.
        """
        total = sum(searched.values())
        left = [one for one in self._watched if one not in self.patterns]
        took = {id(one): sum(searched.get(part, 0.0) for part in one.parts) for one in left}
        left = [one for one in left if took[id(one)] > 0 and took[id(one)] >= _NOTICEABLE * total]
        left.sort(key=lambda one: -took[id(one)])
        guests = [one for one in left if one.row.origin == NETWORK]
        own = [one for one in left if one.row.origin != NETWORK]
        covered, most = 0.0, []
        for one in guests:
            covered += took[id(one)]
            most.append(one)
            if covered >= total / 2:
                return most, []
        return guests, own

    def _without(self, chosen: Sequence[Watched]) -> Delta | None:
        for one in chosen:
            self._drop(one)
            self.patterns.append(one)
        return self._tried()

    def _without_guests(self, guests: Sequence[Watched]) -> Delta | None:
        """Leave out patterns of the network, or that of the configuration that is slow without them, too."""
        delta = self._without(guests)
        if delta is None or delta.complete:
            return delta
        _, own = self._by_time(delta.searched)
        for one in guests:
            self.patterns.remove(one)
            self._add_again(one)
        return self._without(own[:1]) if own else delta

    def _one_by_one(self) -> Delta | None:
        """Leave out each pattern alone, then the last of them together: new ones before old ones.

        Before all that the update is tried again: the machine may have been busy.
        """
        for one in self.patterns:
            self._add_again(one)
        order = sorted(self._watched, key=lambda one: (one.row.origin != NETWORK, -one.row.id))
        choices = [[], *([one] for one in order), *(order[:size] for size in range(2, len(order) + 1))]
        for self.patterns in choices:
            for one in self.patterns:
                self._drop(one)
            delta = self._tried()
            if delta is not None and delta.complete:
                return delta
            for one in self.patterns:
                self._add_again(one)
        for one in order:
            self._drop(one)
        self.patterns = order
        return None
