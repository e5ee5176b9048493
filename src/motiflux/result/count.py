"""The result of a count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from motiflux.units import grouped, seconds_text


class Count(int):
    """A number of embeddings or subgraphs: an int with attributes that describe the search.

    As text, an incomplete count says that it is one: ``"at least 7 (incomplete)"``. `int` and formats such as
    ``f"{count:,}"`` give the number alone.

    Attributes
    ----------
    complete : bool
        False if a limit or a timeout cut the search short; the number is then a lower bound.
    seconds : float
        Wall-clock seconds of the search, without planning.
    plan_seconds : float
        Wall-clock seconds of planning.
    engine : str
        The engine that searched.
    device : str
        Its device.
    reason : str
        Why this engine and device, in words.
    """

    complete: bool
    seconds: float
    plan_seconds: float
    engine: str
    device: str
    reason: str

    def __new__(
        cls,
        value: int,
        *,
        complete: bool,
        seconds: float,
        plan_seconds: float,
        engine: str,
        device: str,
        reason: str = "",
    ) -> Count:
        """Return `value` with the attributes of a count."""
        self = super().__new__(cls, value)
        self.complete = complete
        self.seconds = seconds
        self.plan_seconds = plan_seconds
        self.engine = engine
        self.device = device
        self.reason = reason
        return self

    def __repr__(self) -> str:
        return f"Count({int(self):,}{'' if self.complete else ', incomplete'}, {self.seconds:.3g} s)"

    def __str__(self) -> str:
        number = int.__repr__(self)
        return number if self.complete else f"at least {number} (incomplete)"

    def _repr_html_(self) -> str:
        from motiflux.draw.page import facts_table  # needed in notebooks only

        count = ("count", grouped(int(self)) if self.complete else f"at least {grouped(int(self))}")
        return facts_table([count, *outcome_facts(self)])

    def __reduce__(self) -> tuple[Callable[..., Count], tuple[int, dict[str, Any]]]:
        return _count_from, (int(self), vars(self))


def _count_from(value: int, facts: dict[str, Any]) -> Count:
    return Count(value, **facts)


class _Timed(Protocol):
    seconds: float
    plan_seconds: float
    engine: str
    device: str


def outcome_facts(outcome: _Timed, *, searched: bool = True) -> list[tuple[str, str]]:
    """Return the times and the engine of an outcome, as text; without the time of a search not begun."""
    planning = seconds_text(outcome.plan_seconds)
    times = ("search", f"{seconds_text(outcome.seconds)}, planning {planning}")
    return [
        times if searched else ("planning", planning),
        ("engine", f"{outcome.engine}, device {outcome.device}"),
    ]
