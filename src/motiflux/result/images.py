"""The images of rows: if a search finds one embedding of each subgraph, its images are listed with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.plan import Plan
from motiflux.types import VERTEX_DTYPE, VertexArray


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """Some of the images of some rows, which are written where they are needed.

    Parameters
    ----------
    found
        The rows.
    sources
        For each cell of a row's images [images, columns], its column in the row.
    first, last
        The images of the block: from `first` on, before `last`, of all images of all rows in turn.
    """

    found: VertexArray
    sources: VertexArray
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first

    def __getitem__(self, rows: slice) -> ImageBlock:
        first, last, _ = rows.indices(len(self))
        return ImageBlock(self.found, self.sources, self.first + first, self.first + max(first, last))

    def written(self, threads: int = 1) -> VertexArray:
        """Return them as rows."""
        images = len(self.sources)
        whole = self.found[self.first // images : -(-self.last // images)]
        start = self.first % images
        return _native.write_images(whole, self.sources, threads)[start : start + len(self)]

    def numbered(self, ids: NDArray[np.int64], threads: int) -> NDArray[np.int64]:
        """Return the rows as external ids; the ids of each row are looked up once."""
        return _native.gather_images(self.found, self.sources, ids, self.first, self.last, threads)


Block: TypeAlias = "VertexArray | ImageBlock"
"""Rows in internal ids, before they are converted for the user."""


def written(block: Block, threads: int = 1) -> VertexArray:
    """Return a block as rows."""
    return block.written(threads) if isinstance(block, ImageBlock) else block


class Images:
    """The rows that each row found yields: all of its images, or itself.

    Attributes
    ----------
    of_each : int
        Images of a row.
    sources : array [of_each, columns]
        For each cell of them, its column in the row.
    """

    def __init__(self, plan: Plan) -> None:
        self.sources: VertexArray = np.array(plan.images or [range(len(plan.order))], VERTEX_DTYPE)
        self.of_each = len(self.sources)

    def of(self, rows: VertexArray) -> Block:
        """Return all images of `rows`, whose memory may be reused."""
        if self.of_each == 1:
            return rows
        return ImageBlock(rows, self.sources, 0, len(rows) * self.of_each)
