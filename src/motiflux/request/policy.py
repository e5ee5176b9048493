"""Custom estimators."""

from __future__ import annotations

from dataclasses import dataclass

from motiflux.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class SamplingPolicy:
    """A custom estimator for `motiflux.estimate` on a GPU, written in C++.

    Parameters
    ----------
    text
        Defines ``struct Custom`` with the functions ``refines``, ``refine``, ``sample`` and ``validate`` of
        ``motiflux/sample/policy.hpp``, in the namespace ``motiflux::sample``. It may derive from `Alley` or
        `WanderJoin`, and is compiled on first use (gSWORD, section 3.1).
    name
        Its name in estimates.

    Raises
    ------
    ArgumentError
        The text or the name is empty.

    Examples
    --------
    >>> import motiflux as mf
    >>> mf.SamplingPolicy("struct Custom : Alley {};", name="like Alley").name
    'like Alley'
    """

    text: str
    name: str = "custom"

    def __post_init__(self) -> None:
        for argument, value in (("text", self.text), ("name", self.name)):
            if not isinstance(value, str) or not value.strip():
                raise ArgumentError(argument, "some text", value)
