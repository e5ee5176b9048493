"""Arrays that are made piece by piece in files without names, since they may be larger than memory."""

from __future__ import annotations

from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def mapped(file: IO[bytes], dtype: DTypeLike) -> NDArray[Any]:
    """Return all numbers of a file that was written up to here, mapped: none is read."""
    number = file.tell() // np.dtype(dtype).itemsize
    file.flush()
    return np.memmap(file, dtype, "r", shape=(number,)) if number else np.empty(0, dtype)
