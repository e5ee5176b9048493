"""Shares of work on GPUs: every n-th chunk, which is a part of one whole only if all GPUs cut it alike."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

from motiflux.cluster.shares import Order, roots
from motiflux.errors import ClusterError


@dataclass(slots=True)
class Parts:
    """Shares of equal size that have numbers; `motiflux.cluster.driver.Waiting`."""

    units: int
    done: int = 0
    given: int = 0

    @property
    def empty(self) -> bool:
        """Whether no share waits."""
        return self.given == self.units

    def take(self, wanted: int) -> Order | None:
        """Return the next share; None if there is none."""
        if self.empty:
            return None
        self.given += 1
        return Order(self.given - 1, [roots(self.given - 1, self.given)], math.inf)


@dataclass(slots=True)
class Cuts:
    """How the work of a search was cut by the tasks so far, for each of its stages."""

    known: tuple[Hashable, ...] = ()

    def add(self, name: str, cut: tuple[Hashable, ...], node: str) -> None:
        """Take note of a task of a search: it may have begun fewer stages, or more.

        Raises
        ------
        ClusterError
            Two GPUs cut the work in different ways, so that their shares are not parts of one whole.
        """
        if any(one != other for one, other in zip(cut, self.known, strict=False)):
            raise ClusterError(
                f"{name}: expected GPUs of one kind, which cut the work alike, found {self.known} and {cut} "
                f"(node {node})"
            )
        self.known = max(self.known, cut, key=len)
