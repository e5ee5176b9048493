"""Whole numbers for the sums of walks on a device: what a node adds, and what a sum stands for."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_UNITS = 50
"""Bits of the sum of all rows after the first round."""
_MOST_SUM = 1 << 63
_HIGHEST = 1e280
"""Greater weights count as this: products with it are finite."""


class Sums:
    """What a node adds to the sum of a row that it opens, so that no sum exceeds 2^63.

    Parameters
    ----------
    opens
        Rows that a node opens at most.
    """

    def __init__(self, opens: int) -> None:
        self._opens, self._shift, self._held = opens, 0, 0
        self.walks = 0

    def restart(self) -> None:
        """Forget all rounds: the table is empty."""
        self._held = self.walks = 0

    def amounts(self, weights: list[float], nodes: list[int], walks: int) -> list[int]:
        """Return the amounts of a round, by level.

        Parameters
        ----------
        weights
            How many nodes each one of a level stands for.
        nodes
            How many nodes there are of each level at most.
        """
        weights = [min(weight, _HIGHEST) * walks for weight in weights]
        if self.walks == 0:
            total = sum(weight * count for weight, count in zip(weights, nodes, strict=True))
            self._shift = _UNITS - math.frexp(max(total, 1.0) * self._opens)[1]
        found = [max(1, round(math.ldexp(weight, self._shift))) for weight in weights]
        most = self._opens * sum(amount * count for amount, count in zip(found, nodes, strict=True))
        if self._held + most > _MOST_SUM:
            each = (_MOST_SUM - self._held) // max(1, self._opens * sum(nodes))
            found = [min(amount, each) for amount in found]
            most = self._opens * sum(amount * count for amount, count in zip(found, nodes, strict=True))
        self._held += most
        self.walks += walks
        return found

    def times(self, sums: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the estimates that sums stand for."""
        return np.ldexp(sums.astype(np.float64), -self._shift) / max(1, self.walks)
