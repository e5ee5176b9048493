"""The result of an estimate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from motiflux.packages import require
from motiflux.units import grouped, quantity, seconds_text


@dataclass(frozen=True, slots=True)
class EstimateProgress:
    """Progress of an estimate: the argument of a `progress` function, and a row of the trace.

    Parameters
    ----------
    samples, valid_samples
        Samples so far, and the number of them that are embeddings.
    seconds
        Wall-clock seconds since sampling began.
    value, low, high
        The estimate so far and its interval.
    """

    samples: int
    valid_samples: int
    seconds: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class EstimateCounting(EstimateProgress):
    """Progress of an estimate that counts all instead: an argument of a `progress` function, in no trace.

    ``value`` and ``low`` are the number counted so far, and ``high`` is infinite.

    Parameters
    ----------
    done, total
        Units of work. Their cost varies.
    """

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Trawled:
    """The estimate of trawling alone: samples of a few vertices, and searches for their extensions.

    Parameters
    ----------
    value, low, high
        The estimate and its interval.
    slots, searched
        Samples begun, and samples whose search found all extensions; the others died, or were extended to the
        end.
    share
        Its weight in the whole estimate. The weight of each half of the samples depends on the other half.
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
        Confidence level of the interval; 1.0 if the value is exact.
    samples : int
        Samples begun, including samples that died.
    valid_samples : int
        Number of samples that are embeddings.
    effective_samples : float
        Number of independent samples of equal weight with the same precision. `valid_samples` have different
        weights and inherit from each other.
    complete : bool
        Whether the requested relative error or number of samples was reached. False after a timeout, and if
        the samples were used up before the relative error was reached.
    seconds, plan_seconds : float
        Wall-clock seconds of sampling, and of filtering candidates and planning.
    estimator, device : str
        Estimator and device; ``"exact"`` if no samples were needed.
    sampled : float
        The estimate of the samples alone. It equals `value` without trawling.
    trawled : Trawled or None
        The estimate of trawling, if it ran; None otherwise.
    reason : str
        The reason for the device, as text.
    warning : str or None
        The reason why the true count is probably greater; None otherwise.
    trace : tuple of EstimateProgress
        The estimates during sampling.
    parts : dict of str to float
        Seconds of the calling thread by part: ``"sampling"`` (on a device, waiting for it),
        ``"reports"``, ``"trawl set-up"``, ``"trawl waiting"``.
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
        incomplete = "" if self.complete else ", incomplete"
        return (
            f"Estimate({self.value:.6g}, {100 * self.confidence:g} % in [{self.low:.6g}, {self.high:.6g}]"
            f"{incomplete}, {quantity(self.samples, 'sample')}, {self.seconds:.3g} s)"
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
        from motiflux.draw.page import facts_table  # needed in notebooks only

        return facts_table(facts + ([("warning", self.warning)] if self.warning else []))

    @property
    def relative_error(self) -> float:
        """Largest distance from the value to an end of the interval, divided by the value; infinite at 0."""
        if self.low == self.value == self.high:
            return 0.0
        if self.value <= 0:
            return float("inf")
        return max(self.high - self.value, self.value - self.low) / self.value

    def to_arrow(self) -> Any:
        """Return the trace as a table, one row per `EstimateProgress`."""
        arrow = require("pyarrow", "arrow")
        names = EstimateProgress.__dataclass_fields__
        columns: dict[str, Any] = {name: [getattr(point, name) for point in self.trace] for name in names}
        return arrow.table(columns)


EstimateCallback = Callable[[EstimateProgress], None]
