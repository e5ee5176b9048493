"""A random source with the draws that scenarios are made of."""

from __future__ import annotations

from random import Random
from typing import Any

from motiflux.types import Label

LABELS: tuple[tuple[Label, ...], ...] = ((-7, 0, 3), ("", "a", "b b"))
ABSENT: dict[type, Label] = {int: 1_000_000, str: "absent"}
"""A label of each type that no graph uses."""


class Draws(Random):
    """A seeded random source."""

    def happens(self, share: float) -> bool:
        """Say yes in this share of cases."""
        return self.random() < share

    def palette(self, none: float) -> tuple[Label, ...] | None:
        """Return one to three labels of one type, or None in a share `none` of cases."""
        if self.happens(none):
            return None
        return tuple(self.sample(self.choice(LABELS), self.choice((1, 2, 2, 3, 3))))

    def label_choice(
        self, column: tuple[Label, ...] | None, wildcard: float, position: int | None = None
    ) -> Any:
        """Return what a query vertex or edge accepts: any label, one, or a set.

        Parameters
        ----------
        column
            The labels of the graph's vertices or edges; None where it has none, and all are 0.
        wildcard
            In what share of cases any label is accepted.
        position
            An element whose label is to be accepted.
        """
        if column is None:
            return self.choice((None,) * 6 + (0, frozenset({0}), frozenset({0, 5})))
        if self.happens(wildcard) or not column:
            return None
        known = sorted(set(column), key=repr)
        label = self.choice(known) if position is None else column[position]
        absent = ABSENT[type(label)]
        if self.happens(0.02):
            return absent
        if self.happens(0.65):
            return label
        return frozenset({label, *self.choices((*known, absent), k=self.choice((0, 1, 1, 2)))})
