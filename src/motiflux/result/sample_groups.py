"""Groups of samples: sums of weights, valid samples and work."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Groups(NamedTuple):
    """The results of groups of samples, one entry each.

    Parameters
    ----------
    weights
        Sum of the weights of the samples that lived to the end, divided by two to the power
        `motiflux.statistics.UNIT_BITS`.
    valid
        Number of these samples.
    work
        Rows read and candidates refined; the same on every device.
    """

    weights: NDArray[np.float64]
    valid: NDArray[np.uint32]
    work: NDArray[np.uint32]


def joined(parts: list[Groups]) -> Groups:
    """Return groups that follow each other as one."""
    if len(parts) == 1:
        return parts[0]
    return Groups(
        np.concatenate([np.empty(0, np.float64), *(part.weights for part in parts)]),
        np.concatenate([np.empty(0, np.uint32), *(part.valid for part in parts)]),
        np.concatenate([np.empty(0, np.uint32), *(part.work for part in parts)]),
    )
