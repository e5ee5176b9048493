"""Shares of a search whose tasks end by the clock: each is made for a number of seconds.

Root arcs are given out at the seconds that those of the last tasks took. Nobody knows how long the items take
that a task hands back, so they wait with a guess, and all guesses are scaled by what others of late took.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from motiflux.cluster.shares import Order, RootArcs, Share, arcs_of, split, tasks_at_a_time

LEAST_SECONDS, MOST_SECONDS = 0.02, 5.0
"""Shortest and longest time that tasks are made for, before the end of a search."""
TASK_SECONDS = 1e-3
"""Time of a task on the driver."""
_COSTS_OF_LEAST = 20
"""The shortest tasks take so many times what a task costs."""
_COSTS_OF_SLOT = 2
"""They take so many times what a task costs for each worker, as one driver hands out all tasks."""
GROWTH = 1.5
"""A task is made for the mean time of the tasks so far, times this number."""
_SO_FAR = 4
"""It is made for the time that each worker has worked so far, divided by this number, at most."""
_REST = 2
"""It is made for a worker's share of the rest, divided by this number, at most."""
_SPARE = 1.25
"""Time after which a task hands back, as a multiple of the time that it was made for."""
_LEAST_COSTS = 8
"""No task hands back before it took so many times what a task costs."""
_FIRST_PARTS = 128
"""The first tasks have a worker's share of the root arcs, divided by this number: hubs come first."""
_FADING_GUESSES = 0.8
"""Weight of the tasks before a task in the scale of guesses."""
_LEAST_SCALE, _MOST_SCALE = 0.01, 4.0
_ROUNDED = 0.25
"""A task may be made for so much more or less than it should, as a share."""


@dataclass(slots=True)
class TimedShares(RootArcs):
    """The part of one search that no task has yet.

    A task may have items of several tasks that handed them back, so it must not matter which task searches
    which.

    Parameters
    ----------
    cost
        Time of a task beside its search, in seconds, where one takes more than usual.
    """

    cost: float = 0.0
    least: float = field(init=False)
    most: float = field(init=False)
    _waiting: deque[tuple[Share, float]] = field(default_factory=deque, init=False)
    """Items that were handed back, and guesses of their seconds."""
    _guessed: float = field(default=0.0, init=False)
    """The sum of these guesses."""
    _ended: int = field(default=0, init=False)
    _guesses: float = field(default=1.0, init=False)
    _outcomes: float = field(default=1.0, init=False)
    """Guesses of late, and what came of them."""

    def __post_init__(self) -> None:
        self.cost = max(self.cost, TASK_SECONDS)
        self.least = max(
            LEAST_SECONDS, _COSTS_OF_LEAST * self.cost, _COSTS_OF_SLOT * TASK_SECONDS * self.slots
        )
        self.most = max(self.least, MOST_SECONDS)

    @property
    def empty(self) -> bool:
        """Whether no share waits."""
        return self._ahead == 0 and not self._waiting

    def take(self, wanted: int) -> Order | None:
        """Return a share where `wanted` tasks can be started; None if there is none."""
        if self.empty:
            return None
        seconds = self._seconds(wanted)
        share, guessed, left = self._handed_back(seconds)
        known = 0.0
        if self._ahead > 0 and (left > _ROUNDED * seconds or not share):
            item = self._next_roots(self._roots_within(left))
            share.append(item)
            known = item[3] * self._of_arc
        return self._numbered(share, max(_SPARE * seconds, _LEAST_COSTS * self.cost), guessed, known)

    def ended(self, order: Order, left: Share, seconds: float) -> None:
        """Take note of a task: what it handed back, which waits now, and its time."""
        if order.guessed > 0:
            self._guesses = _FADING_GUESSES * self._guesses + order.guessed
            self._outcomes = _FADING_GUESSES * self._outcomes + max(0.0, seconds - order.known)
        self.note(order.share, left, seconds, of_roots=order.guessed <= 0)
        self._ended += 1
        self._add([item for item in left if item[0] > 0], seconds)
        not_begun = [item for item in left if item[0] == 0]
        self._add(not_begun, arcs_of(not_begun) * self._of_arc / self._scale or seconds)

    def _add(self, share: Share, guess: float) -> None:
        if share:
            self._waiting.append((share, guess))
            self._guessed += guess

    @property
    def _of_arc(self) -> float:
        """Seconds of a root arc, by the tasks of late; 0 if unknown."""
        return self._recent_busy / self._recent_arcs if self._recent_arcs > 0 else 0.0

    @property
    def _scale(self) -> float:
        """Seconds for each second of a guess."""
        return min(_MOST_SCALE, max(_LEAST_SCALE, self._outcomes / self._guesses))

    def _seconds(self, wanted: int) -> float:
        """Return the time that the next task is made for."""
        waiting = self._scale * self._guessed
        if self._ahead == 0 and waiting < _REST * self.slots * self.least:
            # Shares for all workers, but few enough that they are not handed out for longer than they take.
            return min(self.least, max(waiting / max(1, wanted), math.sqrt(waiting * self.cost)))
        rest = self._ahead * self._of_arc + waiting
        so_far, mean = self._busy / (_SO_FAR * self.slots), self._busy / max(1, self._ended)
        return min(self.most, max(self.least, min(so_far, GROWTH * mean, rest / (_REST * self.slots))))

    def _handed_back(self, seconds: float) -> tuple[Share, float, float]:
        """Take items that were handed back; return them, their guess, and the seconds that are left."""
        share: Share = []
        guessed, scale = 0.0, self._scale
        while self._waiting and (seconds > 0 or not share):
            first, guess = self._waiting.popleft()
            self._guessed = max(0.0, self._guessed - guess) if self._waiting else 0.0
            of_first = scale * guess
            if of_first > (1 + _ROUNDED) * seconds:
                kept, rest = cut(first, seconds / of_first)
                if rest:
                    behind = guess - seconds / scale
                    self._waiting.appendleft((rest, behind))
                    self._guessed += behind
                    first, guess, of_first = kept, guess - behind, seconds
            share += first
            guessed += guess
            seconds -= of_first
        return share, guessed, max(0.0, seconds)

    def _roots_within(self, seconds: float) -> int:
        """Return the number of root arcs that are expected to take `seconds`."""
        if self._of_arc > 0:
            return int(min(seconds / self._of_arc, self._ahead))
        return self._ahead // (_FIRST_PARTS * self.slots)


def cut(share: Share, part: float) -> tuple[Share, Share]:
    """Return about a part of each item, and the rest: at least one candidate, and all if there is only one.

    Examples
    --------
    >>> from motiflux.cluster.shares import roots
    >>> cut([roots(0, 8), roots(20, 24)], 0.25)
    ([(0, 6, 8, 2, 0, 0, []), (0, 23, 24, 1, 0, 0, [])], [(0, 0, 6, 6, 0, 0, []), (0, 20, 23, 3, 0, 0, [])])
    """
    kept: Share = []
    rest: Share = []
    wanted = 0.0
    for item in share:
        wanted += part * (item[2] - item[1])
        number = min(item[2] - item[1], int(wanted))
        wanted -= number
        for half, to in zip(split(item, number), (kept, rest), strict=True):
            to += half
    if not kept:
        first = rest.pop(0)
        kept, behind = split(first, max(1, (first[2] - first[1]) // 2))
        rest = [*behind, *rest]
    return kept, rest


def about_tasks(seconds: float, shares: TimedShares) -> float:
    """Return about the number of tasks of a search that takes some seconds on one worker.

    As a task is made for `GROWTH` times the mean of those before, n tasks take time in proportion to
    n^`GROWTH`.
    """
    first = tasks_at_a_time(shares.slots)
    grown = first * math.pow(max(1.0, seconds / (first * shares.least)), 1 / GROWTH)
    return max(grown, seconds / shares.most)
