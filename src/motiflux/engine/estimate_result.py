"""What an estimate gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from motiflux.packages import require
from motiflux.units import grouped, seconds_text


@dataclass(frozen=True, slots=True)
class EstimateProgress:
    """How far an estimate is: what is sent to a `progress` function, and a row of the trace.

    Parameters
    ----------
    samples, valid_samples
        Samples so far, and those of them that are embeddings.
    seconds
        Wall-clock seconds since sampling began.
    value, low, high
        The estimate so far and its interval, as if sampling ended here.
    """

    samples: int
    valid_samples: int
    seconds: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Trawled:
    """An estimate by trawling alone: samples of a few vertices, and searches of what is left.

    Parameters
    ----------
    value, low, high
        The estimate and its interval.
    slots, searched
        Samples begun, and those of them of which a search found all that extends them; the others died, or
        went on to their ends.
    share
        What part of the whole estimate it is. Each half of the samples is weighed by what the other half saw.
    """

    value: float
    low: float
    high: float
    slots: int
    searched: int
    share: float


@dataclass(frozen=True)
class Estimate:
    """An estimated number of embeddings or subgraphs, with a confidence interval.

    Attributes
    ----------
    value : float
        The estimate. Over all seeds its mean is the true count.
    low, high : float
        Ends of the interval.
    confidence : float
        How often such intervals hold the true count; 1.0 where the value is exact.
    samples : int
        Samples begun, those that died included.
    valid_samples : int
        How many of them ended as an embedding.
    effective_samples : float
        As many independent samples of equal weight would make an estimate as sure: how much to make of
        `valid_samples`, whose weights differ and which inherit from each other.
    complete : bool
        Whether what was asked for was reached: the relative error, or the number of samples. False after a
        timeout, and where the samples were used up before the error was small enough.
    seconds, plan_seconds : float
        Wall-clock seconds of sampling, and of filtering candidates and planning.
    estimator, device : str
        What sampled, and where; ``"exact"`` where nothing had to be sampled.
    sampled : float
        The estimate by the samples alone. It is the value, unless there was trawling too.
    trawled : Trawled or None
        The estimate by trawling, where samples found little or it was asked for; None otherwise.
    reason : str
        Why that device drew the samples, in words.
    warning : str or None
        Why the true count is likely to be greater, where it is; None otherwise.
    trace : tuple of EstimateProgress
        The estimate as it went.
    parts : dict of str to float
        Seconds that parts of the call took the caller: ``"sampling"``, which on a device is waiting for it,
        ``"reports"``, ``"trawl set-up"``, which on a device is part of the sampling, ``"trawl waiting"``.
    """

    value: float
    low: float
    high: float
    confidence: float
    samples: int
    valid_samples: int
    effective_samples: float
    complete: bool
    seconds: float
    plan_seconds: float
    estimator: str
    device: str
    sampled: float
    trawled: Trawled | None = None
    reason: str = "nothing was sampled"
    warning: str | None = None
    trace: tuple[EstimateProgress, ...] = field(default=(), repr=False)
    parts: dict[str, float] = field(default_factory=dict, repr=False, compare=False)

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return (
            f"Estimate({self.value:.6g}, {100 * self.confidence:g} % in [{self.low:.6g}, {self.high:.6g}]"
            f"{'' if self.complete else ', incomplete'}, {self.samples:,} samples, {self.seconds:.3g} s)"
        )

    def _repr_html_(self) -> str:
        facts = [
            ("estimate", f"{self.value:.6g}"),
            (f"{100 * self.confidence:g} % interval", f"{self.low:.6g} to {self.high:.6g}"),
            ("samples", f"{grouped(self.samples)}, {grouped(self.valid_samples)} valid"),
            ("state", "complete" if self.complete else "incomplete"),
            ("sampling", f"{seconds_text(self.seconds)}, planning {seconds_text(self.plan_seconds)}"),
            ("estimator", f"{self.estimator}, device {self.device}"),
        ]
        if self.trawled is not None:
            both = f"{self.sampled:.6g} by samples, {self.trawled.value:.6g} by trawling"
            facts.append(("made of", f"{both} ({100 * self.trawled.share:.0f} %)"))
        from motiflux.draw.page import facts_table  # of no use outside notebooks

        return facts_table(facts + ([("warning", self.warning)] if self.warning else []))

    @property
    def relative_error(self) -> float:
        """How far the interval reaches from the value, as a share of it; infinite around 0."""
        if self.low == self.value == self.high:
            return 0.0
        if self.value <= 0:
            return float("inf")
        return max(self.high - self.value, self.value - self.low) / self.value

    def to_arrow(self) -> Any:
        """Return the trace as a table, a row for each `EstimateProgress`."""
        arrow = require("pyarrow", "arrow")
        names = EstimateProgress.__dataclass_fields__
        columns: dict[str, Any] = {name: [getattr(point, name) for point in self.trace] for name in names}
        return arrow.table(columns)


EstimateCallback = Callable[[EstimateProgress], None]
