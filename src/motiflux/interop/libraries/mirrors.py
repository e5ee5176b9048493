"""Edges that are listed both ways, as matrices and PyTorch Geometric have undirected ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def one_way(
    sources: NDArray[Any], targets: NDArray[Any], values: Sequence[NDArray[Any]]
) -> NDArray[np.bool_] | None:
    """Return the rows [m] that hold each edge once, if all others are their mirror images; None if not.

    Parameters
    ----------
    sources, targets
        The ends of each row [m].
    values
        Further values that a row and its mirror image must have in common: arrays [m].
    """
    kept = sources <= targets
    there, back = sources < targets, ~kept
    if np.count_nonzero(there) != np.count_nonzero(back):
        return None
    pairs = [(sources[there], targets[back]), (targets[there], sources[back])]
    pairs += [(column[there], column[back]) for column in values]
    first, second = (np.lexsort([pair[side] for pair in reversed(pairs)]) for side in (0, 1))
    same = all(
        np.array_equal(one[first], other[second], equal_nan=one.dtype.kind in "fc") for one, other in pairs
    )
    return kept if same else None
