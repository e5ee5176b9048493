"""Rows of a labelled graph as a `Monitor` has them, sorted by class: a second copy of them in a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import MotifluxError


@dataclass(frozen=True, eq=False, slots=True)
class ClassOrder:
    """Rows sorted by class, not checked yet.

    A class is a pair of labels: of an edge, and of the vertex at its end.

    Parameters
    ----------
    classes
        uint32 [classes, 2], codes of both labels, each code below the number of labels.
    forward, reverse
        uint32 [words], blocks of rows, one after the other (``csrc/dynamic/rows.hpp``); reverse: None for an
        undirected graph.
    fault
        Returns the error for rows that are not those of the graph, which the text describes.
    """

    classes: NDArray[np.uint32]
    forward: NDArray[np.uint32]
    reverse: NDArray[np.uint32] | None
    fault: Callable[[str], MotifluxError]

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return self.forward.nbytes + (0 if self.reverse is None else self.reverse.nbytes)
