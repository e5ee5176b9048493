"""What a monitor counts at each vertex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motiflux.arguments import check_integer
from motiflux.errors import ArgumentError
from motiflux.pattern import Pattern

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class VertexOptions:
    """What is counted at each vertex.

    Parameters
    ----------
    by
        The counted query vertex of each pattern: its name, or its position.
    alert
        The threshold; None for no alerts.
    alert_down
        Whether there are alerts where a count falls below the threshold, too.
    """

    by: str | int
    alert: int | None
    alert_down: bool

    @classmethod
    def of(cls, by: object, alert: object, alert_down: object) -> VertexOptions | None:
        """Return the checked arguments of `Monitor`; None if nothing is counted.

        Raises
        ------
        ArgumentError
            Names one that is not usable.
        """
        if by is None:
            if alert is not None:
                raise ArgumentError("alert", "None, or per_vertex= beside it", alert)
            if alert_down:
                raise ArgumentError("alert_down", "False, or alert= beside it", alert_down)
            return None
        if isinstance(by, bool) or not isinstance(by, (str, int, np.integer)):
            raise ArgumentError("per_vertex", "the name or position of a query vertex", by)
        if alert_down not in (True, False) or (alert_down and alert is None):
            raise ArgumentError("alert_down", "True or False, with alert= beside True", alert_down)
        return cls(
            by if isinstance(by, str) else int(by),
            None if alert is None else check_integer("alert", alert, 1, _LARGEST),
            bool(alert_down),
        )

    def place(self, pattern: Pattern) -> int:
        """Return the position of the counted query vertex of a pattern.

        Raises
        ------
        ArgumentError
            The pattern has no such vertex.
        """
        names = [vertex.name for vertex in pattern.vertices]
        if isinstance(self.by, str) and self.by in names:
            return names.index(self.by)
        if isinstance(self.by, int) and 0 <= self.by < len(names):
            return self.by
        raise ArgumentError(
            "per_vertex", f"the name or position of a query vertex ({', '.join(names)})", self.by
        )
