"""Numbers for strings that are compared with each other, while new ones come."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_GAP = 1 << 32
"""The distance of the ranks of strings that come before or behind all others."""
_MOST = 1 << 61
"""Ranks are smaller, by absolute value."""
_CHUNK = 1024
"""Strings of a part that is divided when it has twice as many."""


class StringRanks:
    """Equal strings have equal numbers; where order matters, ranks by number ascend with the strings.

    Ranks have gaps, into which those of new strings fit. Where no gap is left, all strings get new ranks.

    Parameters
    ----------
    ordered
        Whether there are ranks.
    """

    def __init__(self, *, ordered: bool) -> None:
        self.ordered = ordered
        self.changes = 0
        """How often ranks were added or changed."""
        self._numbers: dict[str, int] = {}
        self._ranks: list[int] = []  # by number
        self._chunks: list[list[str]] = []  # ascending, none empty
        self._firsts: list[str] = []  # of each chunk

    def numbers(self, strings: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of each string; new strings get one."""
        known = list(map(self._numbers.get, strings))
        if None in known:
            known = [self._number(string) for string in strings]
        return np.array(known, dtype=np.int64)

    def ranks(self) -> NDArray[np.int64]:
        """Return the rank of each number."""
        return np.array(self._ranks, dtype=np.int64)

    def _number(self, string: str) -> int:
        number = self._numbers.get(string)
        if number is None:
            number = len(self._numbers)
            if self.ordered:
                self._insert(string, number)
            self._numbers[string] = number  # last: an interrupted call does it again
        return number

    def _insert(self, string: str, number: int) -> None:
        self.changes += 1
        del self._ranks[number:]
        at = max(0, bisect_left(self._firsts, string) - 1)
        if at + 1 < len(self._firsts) and self._firsts[at + 1] == string:
            at += 1
        if not self._chunks:
            self._chunks, self._firsts = [[string]], [string]
            self._ranks.append(0)
            return
        chunk = self._chunks[at]
        place = bisect_left(chunk, string)
        if place == len(chunk) or chunk[place] != string:  # else an interrupted call put it there
            insort(chunk, string)
        self._firsts[at] = chunk[0]
        rank = self._between(at, place)
        if rank is None:
            self._respace(string)
        else:
            self._ranks.append(rank)
        if len(chunk) > 2 * _CHUNK:
            self._chunks[at : at + 1] = [chunk[:_CHUNK], chunk[_CHUNK:]]
            self._firsts[at : at + 1] = [chunk[0], chunk[_CHUNK]]

    def _between(self, at: int, place: int) -> int | None:
        """Return a rank for a string at a place; None if there is no gap."""
        chunk = self._chunks[at]
        before = after = None
        if place > 0:
            before = chunk[place - 1]
        elif at > 0:
            before = self._chunks[at - 1][-1]
        if place + 1 < len(chunk):
            after = chunk[place + 1]
        elif at + 1 < len(self._chunks):
            after = self._chunks[at + 1][0]
        low = None if before is None else self._ranks[self._numbers[before]]
        high = None if after is None else self._ranks[self._numbers[after]]
        if low is None:
            rank = 0 if high is None else high - _GAP
        elif high is None:
            rank = low + _GAP
        else:
            rank = (low + high) // 2
            if rank == low:
                return None
        return rank if -_MOST < rank < _MOST else None

    def _respace(self, added: str) -> None:
        """Give all strings new ranks; that of `added`, which has no number yet, is the last one."""
        strings = [string for chunk in self._chunks for string in chunk]
        gap = min(_GAP, 2 * _MOST // (len(strings) + 1))
        ranks = [0] * len(strings)
        for position, string in enumerate(strings):
            number = len(strings) - 1 if string == added else self._numbers[string]
            ranks[number] = (position - len(strings) // 2) * gap
        self._ranks = ranks
