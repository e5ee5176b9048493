"""Shares of a search: lists of items, which name candidates of one level below given vertices.

An item is (level, from, to, arcs, first arc, last arc, vertices of the levels before), see
``csrc/search/pool.hpp``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

Item = tuple[int, int, int, int, int, int, list[int]]
Share = list[Item]

LEAST_SECONDS, MOST_SECONDS = 0.05, 5.0
"""Shortest and longest time that tasks are made for; a task costs the driver about a millisecond."""
_DRIVER_SECONDS = 1e-3
"""Time of a task on the driver; the time of tasks is at least this for each worker."""
_TASKS_SO_FAR = 8
"""Tasks are made for the time that each worker has worked so far, divided by this number."""
_REST = 2
"""Near the end, tasks are made for a worker's share of the rest, divided by this number."""
_ENDS = 8
"""The same once all root arcs are given out, beside `_TASKS_SO_FAR`."""
_SPARE = 2.0
"""Time after which a task of root arcs hands back, as a multiple of the time that it was made for."""
_FADING = 0.9
"""Weight of the tasks before a task in the expected time of a root arc."""
FEW_PARTS, MANY_PARTS = 4, 16
"""Tasks that each worker gets at least, if there are root arcs enough and workers few."""
_LEAST_PARTS, _TASKS_AT_FIRST = 2, 128
"""The same, and the number of such tasks, for many workers."""


def tasks_at_a_time(slots: int) -> int:
    """Return the number of tasks that run or wait on `slots` workers: a worker that ends one has another."""
    return slots + max(1, slots // 2)


def roots(first: int, last: int) -> Item:
    """Return the item of root arcs ``first .. last - 1``."""
    return (0, first, last, last - first, 0, 0, [])


def arcs_of(share: Iterable[Item]) -> int:
    """Return the number of root arcs that are done once a share is."""
    return sum(item[3] for item in share)


def halves(share: Share) -> tuple[Share, Share] | None:
    """Return two shares that together are one; None if only a search can divide it.

    Examples
    --------
    >>> halves([roots(0, 8)])
    ([(0, 4, 8, 4, 0, 0, [])], [(0, 0, 4, 4, 0, 0, [])])
    >>> halves([roots(0, 1)]) is None
    True
    """
    if len(share) > 1:  # the first items are of the shallowest levels
        return share[:1], share[1:]
    candidates = _candidates(share)
    return split(share[0], candidates - candidates // 2) if candidates > 1 else None


def split(item: Item, number: int) -> tuple[Share, Share]:
    """Return the last `number` candidates of an item, and the others."""
    level, start, end, arcs, first, last, prefix = item
    middle = end - number
    if middle == end:
        return [], [item]
    if middle == start:
        return [item], []
    if level == 0:
        return [roots(middle, end)], [roots(start, middle)]
    return [(level, middle, end, 0, first, last, prefix)], [(level, start, middle, arcs, first, last, prefix)]


@dataclass(slots=True)
class Order:
    """A share that a task is to search.

    Parameters
    ----------
    seconds
        Time after which the task hands back what is left.
    number
        The number of the task, from 0.
    guessed, known
        Seconds that its items were expected to take; see `motiflux.cluster.timed_shares`.
    """

    number: int
    share: Share
    seconds: float
    guessed: float = 0.0
    known: float = 0.0

    def halved(self) -> list[Order]:
        """Return orders of halves of the share, for about their parts of the seconds; itself if it has none.

        If some are `known`, they are those of the last item, and `guessed` are those of the others.
        """
        both = halves(self.share)
        if both is None:
            return [self]
        several = len(self.share) > 1
        others = self.share[:-1] if several and self.known > 0 else self.share
        part = _candidates(both[0]) / _candidates(others)
        guessed, known = part * self.guessed, 0.0 if several else part * self.known
        return [
            Order(self.number, both[0], self.seconds, guessed, known),
            Order(self.number, both[1], self.seconds, self.guessed - guessed, self.known - known),
        ]


def _candidates(share: Share) -> int:
    return sum(item[2] - item[1] for item in share)


@dataclass(slots=True)
class RootArcs:
    """The root arcs of one search that no task has yet, and the time of the tasks so far.

    It knows no clock and no cluster, so the simulation drives it as the driver of a cluster does.

    Parameters
    ----------
    units
        Number of root arcs.
    slots
        Number of tasks that can run at a time.
    """

    units: int
    slots: int
    done: int = field(default=0, init=False)
    """Root arcs done."""
    given: int = field(default=0, init=False)
    """Number of tasks given out."""
    _given_roots: int = field(default=0, init=False)
    _busy: float = field(default=0.0, init=False)
    _recent_busy: float = field(default=0.0, init=False)
    _recent_arcs: float = field(default=0.0, init=False)

    @property
    def _ahead(self) -> int:
        """The number of root arcs that were not given out."""
        return self.units - self._given_roots

    def _next_roots(self, number: int) -> Item:
        """Return the next root arcs, at least one; hubs come first."""
        last = self._ahead
        self._given_roots += min(last, max(1, number))
        return roots(self._ahead, last)

    def _numbered(self, share: Share, seconds: float, guessed: float = 0.0, known: float = 0.0) -> Order:
        """Return a share as the next task."""
        self.given += 1
        return Order(self.given - 1, share, seconds, guessed, known)

    def note(self, share: Share, left: Share, seconds: float, *, of_roots: bool = True) -> None:
        """Take note of a task only: what it was given, what it handed back, and its time.

        Parameters
        ----------
        of_roots
            Whether it tells the time of further root arcs.
        """
        arcs = arcs_of(share) - arcs_of(left)
        self.done += arcs
        self._busy += seconds
        if of_roots:
            self._recent_arcs = _FADING * self._recent_arcs + arcs
            self._recent_busy = _FADING * self._recent_busy + seconds


@dataclass(slots=True)
class Shares(RootArcs):
    """The part of one search that no task has yet.

    Parameters
    ----------
    least, most
        Bounds of the time of a task, in seconds, beside those of all tasks.
    parts
        Tasks that each slot gets at least.
    short_ends
        Whether tasks of the last root arcs may be made for less than half of `least`.
    """

    least: float = 0.0
    most: float | None = None
    parts: int = MANY_PARTS
    short_ends: bool = True
    _waiting: deque[Share] = field(default_factory=deque, init=False)

    def __post_init__(self) -> None:
        self.least = max(self.least, LEAST_SECONDS, _DRIVER_SECONDS * self.slots)
        self.parts = min(self.parts, max(_LEAST_PARTS, _TASKS_AT_FIRST // self.slots))
        self.most = max(self.least, MOST_SECONDS if self.most is None else self.most)

    @property
    def empty(self) -> bool:
        """Whether no share waits."""
        return self._ahead == 0 and not self._waiting

    def take(self, wanted: int) -> Order | None:
        """Return a share where `wanted` tasks can be started; None if there is none."""
        if self.empty:
            return None
        self._divide(wanted)
        seconds = self.seconds(wanted)
        if self._waiting:
            return self._numbered(self._waiting.popleft(), seconds)
        return self._numbered([self._next_roots(self._roots_within(seconds))], _SPARE * seconds)

    def add(self, share: Share) -> None:
        """Add a share: what is left of one, or one whose task was lost."""
        if share:
            self._waiting.append(share)

    def skip(self, first: int | None) -> None:
        """Leave out the root arcs from `first` on, which were given out before; None: none were."""
        if first is not None:
            self._given_roots = self.units - first

    def finished(self, share: Share, left: Share, seconds: float) -> None:
        """Take note of a task: what it was given, what it handed back, which waits now, and its time."""
        self.note(share, left, seconds)
        self.add(left)

    def ended(self, order: Order, left: Share, seconds: float) -> None:
        """As `finished`."""
        self.finished(order.share, left, seconds)

    def _divide(self, wanted: int) -> None:
        """Halve waiting shares until there are as many as wanted, as far as shares can be halved."""
        if self._ahead > 0 or wanted <= len(self._waiting):
            return
        whole: deque[Share] = deque()
        while self._waiting and len(self._waiting) + len(whole) < wanted:
            parts = halves(self._waiting[0])
            share = self._waiting.popleft()
            if parts is None:
                whole.append(share)
            else:
                self._waiting.extend(parts)
        self._waiting.extendleft(reversed(whole))

    def seconds(self, wanted: int = 1) -> float:
        """Return the time that the next task is made for, where `wanted` can be started."""
        so_far = self._busy / (_TASKS_SO_FAR * self.slots)
        if self._ahead == 0:  # nobody knows how long shares that were handed back take
            last = so_far / _ENDS if wanted <= tasks_at_a_time(self.slots) // 2 else self.least
        elif self._recent_arcs > 0:  # hubs come first, so that only tasks of late tell the time of the rest
            last = self._recent_busy / self._recent_arcs * self._ahead / (_REST * self.slots)
        else:
            last = self.least
        assert self.most is not None
        return min(self.most, max(self.least, min(so_far, last)))

    def _roots_within(self, seconds: float) -> int:
        """Return the number of root arcs that are expected to take `seconds`."""
        each = self._ahead // (self.parts * self.slots)
        if self._recent_arcs > 0 and self._recent_busy > 0:
            fits, least = (int(self._recent_arcs * one / self._recent_busy) for one in (seconds, self.least))
            rest = -(-self._ahead // (_REST * self.slots))
            each = max(each, min(fits, rest if self.short_ends else max(rest, least // 2)))
        return each
