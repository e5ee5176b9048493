"""The work of a phase on the embeddings of one frontier: what was handed out, and what is left."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.pvm import BATCH, ITEMS

LONG_BATCH = 2048
"""Items of a batch; a longer batch is divided between warps."""
_MOST_PARTS = 256
"""Most parts into which a part that was left is divided."""

ItemArray = NDArray[np.void]
"""Parts of batches: elements of ``motiflux.codegen.pvm.ITEMS``."""
NOTHING: ItemArray = np.zeros(0, ITEMS)
"""No parts."""


@dataclass
class PhaseWork:
    """Embeddings to extend or test, in batches of 32.

    Parameters
    ----------
    size
        Number of embeddings.

    Attributes
    ----------
    first_batch
        Batches before it were handed out.
    left
        Parts of them that are still to be done.
    """

    size: int
    first_batch: int = 0
    left: ItemArray = field(default_factory=lambda: NOTHING)

    @property
    def batches(self) -> int:
        """Number of batches."""
        return -(-self.size // BATCH)

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.first_batch >= self.batches and len(self.left) == 0

    @property
    def units(self) -> int:
        """Number of units that warps can take."""
        return self.batches - self.first_batch + len(self.left)

    def launched(self, batches: int, parts: int, added: ItemArray) -> None:
        """Note the work that a launch took, and the parts of it that the launch left."""
        if parts or len(added):
            self.left = np.concatenate([self.left[parts:], divided(added)])
        self.first_batch = min(self.batches, self.first_batch + batches)


def divided(parts: ItemArray) -> ItemArray:
    """Return parts of batches, the long ones divided, so that many warps can take them."""
    items = parts["end"] - parts["first"]
    each = np.minimum(_MOST_PARTS, items // np.uint64(LONG_BATCH) + np.uint64(1)).astype(np.int64)
    if not len(parts) or each.max() == 1:
        return parts
    found = np.repeat(parts, each)
    number = np.arange(len(found)) - np.repeat(np.cumsum(each) - each, each)
    size = np.repeat(-(-items.astype(np.int64) // each), each)
    found["first"] += (number * size).astype(np.uint64)
    found["end"] = np.minimum(found["end"], found["first"] + size.astype(np.uint64))
    return found[found["first"] < found["end"]]
