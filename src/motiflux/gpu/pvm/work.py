"""The work of a phase on the embeddings of one frontier: what was handed out, and what is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.pvm import BATCH, ITEMS

PIECE, LONG_BATCH = 2048, 16384
"""Items of a part that a warp takes at a time; items of a batch that many warps share, which must exceed it."""

ItemArray = NDArray[np.void]
"""Parts of batches: elements of ``motiflux.codegen.pvm.ITEMS``."""


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
    left: ItemArray = field(default_factory=lambda: np.zeros(0, ITEMS))

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
        return self.batches - self.first_batch + int(self.pieces()[-1])

    def pieces(self) -> NDArray[np.uint64]:
        """Return the number of pieces before each part that is left, and of all, uint64 [left + 1]."""
        items = self.left["end"] - self.left["first"]
        return np.concatenate([[0], np.cumsum(-(-items.astype(np.int64) // PIECE))]).astype(np.uint64)

    def launched(self, batches: int, pieces: int, added: ItemArray) -> None:
        """Note the work that a launch took, and the parts of it that the launch left."""
        before = self.pieces()
        pieces = min(pieces, int(before[-1]))
        at = int(np.searchsorted(before, pieces, side="right")) - 1
        rest = self.left[at:].copy()
        if len(rest):
            rest["first"][0] += (pieces - int(before[at])) * PIECE
        self.left = np.concatenate([rest, added])
        self.first_batch = min(self.batches, self.first_batch + batches)


def fill(packed: Any, work: PhaseWork) -> None:
    """Set the fields of ``pvm::Work`` that tell how much work there is."""
    packed.size, packed.first_batch = work.size, work.first_batch
    packed.left_count = len(work.left)
    packed.piece, packed.long_batch = PIECE, LONG_BATCH
