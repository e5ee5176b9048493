"""Counts by plain Python sets, to check the counts of motiflux.

Nothing here searches along a plan: rings are walked, collectors and distributors are counted in closed form.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations
from math import comb


class WireBook:
    """The payees and payers of each account, by wire."""

    def __init__(self, wires: Iterable[tuple[int, int]]) -> None:
        self.payees: defaultdict[int, set[int]] = defaultdict(set)
        self.payers: defaultdict[int, set[int]] = defaultdict(set)
        for payer, payee in wires:
            self.payees[payer].add(payee)
            self.payers[payee].add(payer)

    def count(self, kind: str, size: int) -> int:
        """Return how many structures of a kind of `motiflux.generate.BANDS` there are."""
        return {
            "ring": self.count_rings,
            "fan_in": lambda size: sum(comb(len(some), size) for some in self.payers.values()),
            "fan_out": lambda size: sum(comb(len(some), size) for some in self.payees.values()),
            "gather_scatter": self.count_gather_scatters,
        }[kind](size)

    def count_rings(self, size: int) -> int:
        """Return the rings of `size` different accounts: each is walked from its smallest."""

        def ways(path: tuple[int, ...]) -> int:
            onward = self.payees.get(path[-1], set())
            if len(path) == size:
                return path[0] in onward
            return sum(ways((*path, next_)) for next_ in onward if next_ > path[0] and next_ not in path)

        return sum(ways((start,)) for start in list(self.payees))

    def count_gather_scatters(self, size: int) -> int:
        """Return the accounts with `size` payers and as many other payees: the ways to choose them."""
        total = 0
        for account in list(self.payers):
            payers, payees = self.payers[account], self.payees.get(account, set())
            for chosen in combinations(sorted(payers), size):
                total += comb(len(payees.difference(chosen)), size)
        return total
