"""The result so far of an interrupted call: kept on the interrupt, for a caller that reports it."""

from __future__ import annotations

from typing import Any


def keep_partial(stop: KeyboardInterrupt, result: object) -> None:
    """Keep the result so far on the interrupt that ends a call; an earlier one stays."""
    if partial_result(stop) is None:
        stop.partial = result  # type: ignore[attr-defined]


def replace_partial(stop: KeyboardInterrupt, result: object) -> None:
    """Keep another result so far: that of a call which includes the one that kept the first."""
    stop.partial = result  # type: ignore[attr-defined]


def partial_result(stop: KeyboardInterrupt) -> Any:
    """Return the result that `keep_partial` kept, or None."""
    return getattr(stop, "partial", None)
