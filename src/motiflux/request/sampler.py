"""The interface of samplers, and functions that all samplers use."""

from __future__ import annotations

from typing import Protocol

from motiflux import _native
from motiflux.request.policy import SamplingPolicy
from motiflux.request.request import Request
from motiflux.result.sample_groups import Groups


class Sampler(Protocol):
    """Draws groups of 32 samples by one plan on one graph.

    A group depends on the plan, the estimator, the switches ``inheritance`` and ``sync``, the seed and its
    number only: all samplers give the same result to the last bit.
    """

    device: str
    reason: str
    """The reason for the choice of the device, in words."""
    candidates: _native.SampleGraph
    """The candidate graph that it samples, on the host."""

    @property
    def least_piece(self) -> int:
        """Least number of groups for which a draw pays."""

    def expect(self, groups: int) -> None:
        """Announce the number of groups that are likely to be drawn from now on."""

    def draw(
        self,
        estimator: str | SamplingPolicy,
        seed: int,
        first: int,
        count: int,
        timeout: float | None = None,
    ) -> Groups:
        """Return groups ``first .. first + count - 1``; only the first of them if time runs out.

        Raises
        ------
        KeyboardInterrupt
            Within 100 ms of Ctrl-C.
        """

    def close(self) -> None:
        """Release all resources."""


def inheritance_of(request: Request) -> str:
    """Return the effective switch ``inheritance``: with ``sync=iteration``, lanes inherit no samples."""
    return "off" if request.tuning["sync"] == "iteration" else request.tuning["inheritance"]


def reason_asked(device: str) -> str:
    """Return the reason, in words, for a device that the caller named."""
    return f"asked for by device={device!r}"
