"""Datetimes as nanoseconds since 1970, exactly: from text, from arrays and from Python, and back to text.

A datetime is an integer of 64 bits. Without a time zone it counts the nanoseconds since the start of 1970 on
the clock that it was read from; with one it counts them in UTC. `docs/design/datetimes.md` says why.
"""

from motiflux.times.durations import DURATION_UNITS, duration_of, format_duration, parse_duration
from motiflux.times.iso import Moments, format_moment, format_moments, parse_moment, parse_moments
from motiflux.times.values import (
    LARGEST,
    RANGE,
    MomentError,
    in_nanoseconds,
    is_moment,
    moment_of,
    moments_of_array,
    moments_of_objects,
    python_moment,
)

__all__ = [
    "DURATION_UNITS",
    "LARGEST",
    "RANGE",
    "MomentError",
    "Moments",
    "duration_of",
    "format_duration",
    "format_moment",
    "format_moments",
    "in_nanoseconds",
    "is_moment",
    "moment_of",
    "moments_of_array",
    "moments_of_objects",
    "parse_duration",
    "parse_moment",
    "parse_moments",
    "python_moment",
]
