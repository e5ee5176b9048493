"""Widths of ids, limits, and the words that options take (`motiflux.words`)."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from motiflux.words import Semantics as Semantics
from motiflux.words import Symmetry as Symmetry

VertexArray: TypeAlias = NDArray[np.uint32]
"""Internal vertex ids, 0..n-1."""
OffsetArray: TypeAlias = NDArray[np.uint64]
LabelArray: TypeAlias = NDArray[np.uint32]
"""Label codes: positions in a `LabelTable`."""
IdArray: TypeAlias = NDArray[np.int64] | NDArray[np.str_]
"""External vertex ids."""
Label: TypeAlias = int | str
"""A label as the user writes it."""
VertexId: TypeAlias = int | str
"""A vertex id as the user writes it."""

VERTEX_DTYPE = np.uint32
LABEL_DTYPE = np.uint32

MAX_VERTICES = 2**32 - 2
"""Most vertices a graph may have: internal ids are 32 bits wide and one value is kept free."""
MAX_PATTERN_VERTICES = 32
MAX_PATTERN_EDGES = 1024

DEFAULT_LABEL = 0
"""The label of every vertex and edge of a graph that was given none."""
