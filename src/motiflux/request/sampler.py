"""What a sampler offers, and what all samplers have in common."""

from __future__ import annotations

from typing import Protocol

from motiflux import _native
from motiflux.request.policy import SamplingPolicy
from motiflux.request.request import Request
from motiflux.result.sample_groups import Groups


class Sampler(Protocol):
    """Draws groups of 32 samples by one plan on one graph.

    A group is a function of the plan, the estimator, the switches ``inheritance`` and ``sync``, the seed and
    its number: every sampler gives the same for it, to the last bit.
    """

    device: str
    reason: str
    """Why there, in words."""
    candidates: _native.SampleGraph
    """What it samples, as this machine has it."""

    @property
    def least_piece(self) -> int:
        """Groups that are worth a draw, where more are wanted."""

    def expect(self, groups: int) -> None:
        """Hear how many groups are likely to be asked for from now on."""

    def draw(
        self,
        estimator: str | SamplingPolicy,
        seed: int,
        first: int,
        count: int,
        timeout: float | None = None,
    ) -> Groups:
        """Return groups ``first .. first + count - 1``; fewer, from the first on, if time was up before.

        Raises
        ------
        KeyboardInterrupt
            Within 100 ms of Ctrl-C.
        """

    def close(self) -> None:
        """Give back what it holds."""


def inheritance_of(request: Request) -> str:
    """Return how samples are inherited: lanes that go on at once, each with a new one, inherit none."""
    return "off" if request.tuning["sync"] == "iteration" else request.tuning["inheritance"]


def reason_asked(device: str) -> str:
    """Return in words why a device draws that was named."""
    return f"asked for by device={device!r}"
