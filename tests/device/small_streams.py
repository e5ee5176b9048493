"""Resident kernels with few groups and small rings, which fill, and whose rows are checked when written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from motiflux.gpu.streaming import StreamSettings
from motiflux.gpu.streaming import engine as streaming_engine

SMALL: dict[str, Any] = {
    "slot_count": 64,
    "input_packets": 4,
    "output_packets": 4,
    "multiprocessors": 2,
    "spare_vertices": 3,
    "versions": 64 * 8000,
    "stall_seconds": 60.0,
    "checks": True,
}


@contextmanager
def small_streams(**sizes: Any) -> Iterator[None]:
    """Have monitors make such kernels."""

    def small(**given: Any) -> StreamSettings:
        return StreamSettings(**{**given, **SMALL, **sizes})

    with mock.patch.object(streaming_engine, "StreamSettings", small):
        yield
