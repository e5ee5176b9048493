"""Moments as text: one form for all of them, which every reader of ISO 8601 takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def iso_times(times: NDArray[Any]) -> NDArray[np.str_]:
    """Return moments in UTC as text: ``YYYY-MM-DDTHH:MM:SS.nnnnnnnnnZ``, always 30 characters.

    Texts of one width and one offset sort as the moments do, and pandas and polars read a column of them
    without being told a format.

    Parameters
    ----------
    times
        datetime64 of any unit, or int64 nanoseconds since 1970, of any shape.

    Examples
    --------
    >>> import numpy as np
    >>> iso_times(np.array(["2026-11-21T16:08:14.5"], dtype="datetime64[ms]")).tolist()
    ['2026-11-21T16:08:14.500000000Z']
    """
    return np.char.add(np.datetime_as_string(times.astype("datetime64[ns]")), "Z")
