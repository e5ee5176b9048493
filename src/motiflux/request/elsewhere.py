"""Calls whose work is done elsewhere: on the machines of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_ELSEWHERE: ContextVar[Any] = ContextVar("motiflux_elsewhere", default=None)


def elsewhere() -> Any:
    """Return who does the work of this thread's calls: a `motiflux.request.stand_in.StandIn`, or None."""
    return _ELSEWHERE.get()


@contextmanager
def doing_elsewhere(who: Any) -> Iterator[None]:
    """Have the calls in a ``with`` block done by `who`."""
    token = _ELSEWHERE.set(who)
    try:
        yield
    finally:
        _ELSEWHERE.reset(token)
