"""The result of the question whether a match exists."""

from __future__ import annotations

from dataclasses import dataclass

from motiflux.result.count import outcome_facts


@dataclass(slots=True)
class Existence:
    """Whether a match exists: true or false in conditions.

    Parameters
    ----------
    found
        Whether a match was found.
    complete
        False if a timeout ended the search before it found one: there may be one.
    seconds
        Wall-clock seconds of the search, without planning.
    plan_seconds
        Wall-clock seconds of planning.
    engine, device
        The engine that searched, and its device.
    reason
        Why this engine and device, in words.
    """

    found: bool
    complete: bool
    seconds: float
    plan_seconds: float
    engine: str
    device: str
    reason: str = ""

    def __bool__(self) -> bool:
        return self.found

    def __repr__(self) -> str:
        return f"Existence({self}, {self.seconds:.3g} s)"

    def __str__(self) -> str:
        if self.found:
            return "a match exists"
        return "no match exists" if self.complete else "no match found (incomplete)"

    def _repr_html_(self) -> str:
        from motiflux.draw.page import facts_table  # needed in notebooks only

        return facts_table([("result", str(self)), *outcome_facts(self)])
