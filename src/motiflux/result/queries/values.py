"""The values of columns in internal ids, before they are converted for the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Values:
    """Vertices or edges of one column: for lists, with offsets; `mask` where they are missing."""

    values: NDArray[Any]
    copies: Numbers | None = None
    mask: NDArray[np.bool_] | None = None
    offsets: Numbers | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.values) if self.offsets is None else len(self.offsets) - 1


def copies_of(values: Values) -> Numbers:
    """Return the copies of edges, which are there if edges have columns."""
    assert values.copies is not None
    return values.copies


def together(pieces: Sequence[Values]) -> Values:
    """Return values of several cases, one case after the other."""
    if len(pieces) == 1:
        return pieces[0]
    mask = None
    if any(piece.mask is not None for piece in pieces):
        mask = np.concatenate(
            [np.zeros(one.rows, dtype=bool) if one.mask is None else one.mask for one in pieces]
        )
    copies = [one.copies for one in pieces if one.copies is not None]
    offsets = None
    if pieces[0].offsets is not None:
        lengths = [np.diff(one.offsets) for one in pieces if one.offsets is not None]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(lengths))])
    return Values(
        np.concatenate([one.values for one in pieces]),
        np.concatenate(copies) if copies else None,
        mask,
        offsets,
    )
