"""Answers to the demo's questions by plain Python sets, to check motiflux against.

Nothing here searches along a plan: a ring is counted from its diagonals, a collector in closed form.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import comb


class WireBook:
    """Who wired money to whom."""

    def __init__(self, wires: Iterable[tuple[str, str]]) -> None:
        self.wires = set(wires)
        self.payees: defaultdict[str, set[str]] = defaultdict(set)
        self.payers: defaultdict[str, set[str]] = defaultdict(set)
        for payer, payee in self.wires:
            self.payees[payer].add(payee)
            self.payers[payee].add(payer)

    def is_ring(self, accounts: Sequence[str]) -> bool:
        """Whether the accounts are different and each wired to the next, the last to the first."""
        following = [*accounts[1:], accounts[0]]
        return len(set(accounts)) == len(accounts) and all(
            arc in self.wires for arc in zip(accounts, following, strict=True)
        )

    def count_rings(self) -> int:
        """Rings of four: pairs of ways a -> b -> c and c -> d -> a; each ring is seen from both diagonals."""
        between: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for middle in list(self.payers):
            for start in self.payers[middle]:
                for end in self.payees[middle]:
                    if start != end:
                        between[start, end].add(middle)
        seen = 0
        for (start, end), there in between.items():
            if start < end and (back := between.get((end, start))):
                seen += len(there) * len(back) - len(there & back)
        return seen // 2

    def count_collectors(self) -> int:
        """Accounts with three payers and a fourth account paid: the ways to choose them."""
        total = 0
        for collector in list(self.payers):
            payers = self.payers[collector]
            for payee in self.payees[collector]:
                total += comb(len(payers) - (payee in payers), 3)
        return total


def rotation(ring: Sequence[str]) -> tuple[str, ...]:
    """Return the ring from its smallest account on: one spelling per ring."""
    first = ring.index(min(ring))
    return (*ring[first:], *ring[:first])
