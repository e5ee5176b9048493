"""The pairs of accounts that ordinary transfers are between: repeated ones, and hubs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.generate.degrees import skew_of
from motiflux.generate.draws import Stream, draw_codes, draw_units, permute

_COPIES_POWER = 1.5
"""Relation number k of n is drawn in proportion to (k / n) ** (1 / this - 1): a few repeat often."""


@dataclass(frozen=True, kw_only=True)
class Relations:
    """Which pair of accounts each ordinary transfer is between.

    A relation is a pair of a payer and a payee, with a kind. Where transfers repeat, each one draws the
    number of a relation; else its own number is that of its relation. All else is a function of that number.

    Parameters
    ----------
    seed, rows, accounts
        Seed, number of transfers and of accounts.
    exponent
        Of the power law of degrees.
    copies
        Transfers for each relation.
    hubs
        How many accounts are hubs: the last ones of the random order of accounts.
    hub_share
        Share of the relations that have a hub as payer or payee.
    """

    seed: int
    rows: int
    accounts: int
    exponent: float
    copies: float
    hubs: int
    hub_share: float

    @property
    def repeats(self) -> bool:
        """Whether several transfers draw one relation."""
        return self.copies > 1

    def hub_accounts(self) -> NDArray[np.uint32]:
        """Return the hubs: uint32 [hubs]."""
        places = np.arange(self.accounts - self.hubs, self.accounts, dtype=np.uint32)
        return permute(self.seed, Stream.ACCOUNTS, self.accounts, places, 1)

    def draw_ends(
        self, first: int, sources: NDArray[np.uint32], targets: NDArray[np.uint32], threads: int
    ) -> None:
        """Fill the arrays with payers and payees of the ordinary transfers number `first`, ..."""
        # Who pays much is paid much.
        skew = skew_of(self.seed, self.accounts, self.exponent, Stream.SOURCE_IDS)
        numbers = self._numbers(first, len(sources), threads)
        _native.draw_skewed(
            self.seed, Stream.ENDS, skew, skew, True, first, sources, targets, threads, numbers
        )
        if self.hubs:
            self._bring_hubs(first, numbers, sources, targets, threads)

    def draw_kinds(
        self, shares: NDArray[np.float64], first: int, size: int, threads: int
    ) -> NDArray[np.uint32]:
        """Return the kinds of `size` transfers from number `first` on: the copies of a relation have one."""
        numbers = self._numbers(first, size, threads)
        return draw_codes(self.seed, Stream.EDGE_LABELS, shares, first, size, threads, numbers)

    def _numbers(self, first: int, size: int, threads: int) -> NDArray[np.uint64] | None:
        """Return the relations of some transfers; None: each has the number of the transfer."""
        if not self.repeats:
            return None
        count = max(1, round(self.rows / self.copies))
        units = draw_units(self.seed, Stream.RELATIONS, first, size, threads)
        return np.minimum(count * units**_COPIES_POWER, count - 1).astype(np.uint64)

    def _bring_hubs(
        self,
        first: int,
        numbers: NDArray[np.uint64] | None,
        sources: NDArray[np.uint32],
        targets: NDArray[np.uint32],
        threads: int,
    ) -> None:
        """Give a share of the relations a hub as payer or as payee, unless it is the other end already."""
        units = draw_units(self.seed, Stream.HUBS, first, len(sources), threads, numbers)
        rows = np.flatnonzero(units < self.hub_share)
        sides = 2 * self.hubs
        drawn = np.minimum(units[rows] * (sides / self.hub_share), sides - 1).astype(np.int64)
        chosen = self.hub_accounts()[drawn // 2]
        for side, (here, there) in enumerate(((sources, targets), (targets, sources))):
            mine = drawn % 2 == side
            at, hub = rows[mine], chosen[mine]
            fits = there[at] != hub
            here[at[fits]] = hub[fits]
