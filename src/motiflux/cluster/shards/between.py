"""The files between the stages of building a sharded graph, and the partitions of its vertices."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.layout import Ids

BETWEEN = "_building"
HALVES = {"own": "<i8", "other": "<i8", "kind": "<u4"}
"""The columns of halves of edges."""
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def partition_of(ids: Ids, partitions: int) -> NDArray[np.int64]:
    """Return the partitions of vertices, by a hash of their ids."""
    mixed = ids.astype(np.uint64) * MULTIPLIER
    return ((mixed >> np.uint64(33)) % np.uint64(partitions)).astype(np.int64)


def between_file(folder: str, stage: str, from_: int, to: int) -> Path:
    """Return the file that a stage writes for another process."""
    return Path(folder, BETWEEN, f"{stage}-{from_:05}-{to:05}")


def split(
    to: NDArray[np.int64], parts: int, columns: Mapping[str, NDArray[Any]]
) -> list[dict[str, NDArray[Any]]]:
    """Return the columns of each part."""
    order = np.argsort(to, kind="stable")
    ends = np.searchsorted(to[order], np.arange(parts + 1))
    return [
        {name: column[order[begin:end]] for name, column in columns.items()} for begin, end in pairwise(ends)
    ]
