"""The `Estimate` that a call returns: sampled, exact, or unknown."""

from __future__ import annotations

import math

from motiflux.errors import CountOverflowError
from motiflux.request.sampler import Sampler
from motiflux.result.estimate import Estimate
from motiflux.sampling.combined_estimate import CombinedEstimate
from motiflux.sampling.run import Run
from motiflux.sampling.stopping import Rules
from motiflux.sampling.trawler import Trawler
from motiflux.units import quantity

_LEAST_EFFECTIVE = 30.0
"""Effective groups below which intervals were seen to miss the true count too often."""
_LEAST_EFFECTIVE_SHARE = 0.75
"""Of fewer groups, the share that must be effective: a few uneven groups may look even by chance."""


def sampled_estimate(
    run: Run,
    estimate: CombinedEstimate,
    trawler: Trawler | None,
    sampler: Sampler,
    *,
    rules: Rules,
    plan_seconds: float,
    seconds: float,
) -> Estimate:
    """Return the estimate of the samples so far."""
    interval, value = estimate.interval(run.confidence), estimate.value()
    return Estimate(
        value=value,
        low=min(interval.low, value),
        high=max(interval.high, value),
        confidence=rules.confidence,
        samples=estimate.tally.samples,
        valid_samples=estimate.tally.valid,
        effective_samples=estimate.tally.effective,
        complete=run.reached,
        seconds=seconds,
        plan_seconds=plan_seconds,
        estimator=run.estimator,
        device=sampler.device,
        reason=sampler.reason,
        sampled=estimate.sampled(),
        trawled=estimate.trawled(run.confidence),
        warning=_warning(estimate, trawler, rules.confidence),
        trace=tuple(run.trace),
        parts=run.parts(),
    )


def interrupted_estimate(
    run: Run,
    estimate: CombinedEstimate,
    trawler: Trawler | None,
    sampler: Sampler,
    *,
    rules: Rules,
    plan_seconds: float,
) -> Estimate:
    """Return the estimate at the last report: an interrupt may come between any two sums of later samples."""
    if not run.trace:
        return unknown_estimate(
            rules, sampler.device, plan_seconds, "it was interrupted before the first sample"
        )
    last = run.trace[-1]
    return Estimate(
        value=last.value,
        low=min(last.low, last.value),
        high=max(last.high, last.value),
        confidence=rules.confidence,
        samples=last.samples,
        valid_samples=last.valid_samples,
        effective_samples=estimate.tally.effective,
        complete=False,
        seconds=last.seconds,
        plan_seconds=plan_seconds,
        estimator=run.estimator,
        device=sampler.device,
        reason=sampler.reason,
        sampled=last.value,
        warning=_warning(estimate, trawler, rules.confidence),
        trace=tuple(run.trace),
        parts=run.parts(),
    )


def _warning(estimate: CombinedEstimate, trawler: Trawler | None, confidence: float) -> str | None:
    """Return the reason why the true count is probably greater; None if there is none."""
    tally = estimate.tally
    effective = tally.effective
    verb = "is an embedding" if tally.valid == 1 else "are embeddings"
    found = f"{tally.valid:,} of {quantity(tally.samples, 'sample')} {verb}"
    if trawler is not None:
        effective = max(effective, trawler.tally.effective)
        if trawler.tally.valid > 0:
            if effective >= _LEAST_EFFECTIVE:
                return None
            return (
                f"{found}, and of {quantity(trawler.slots, 'trawled slot')} {trawler.tally.valid:,} "
                f"found any, as uneven as {effective:.1f}: the true count is likely to be greater"
            )
    if tally.samples == 0:
        return "time was up before the first samples"
    if tally.valid == 0:
        if estimate.is_zero(confidence):
            return None
        return f"none of {quantity(tally.samples, 'sample')} is an embedding: likely too few samples"
    if effective < min(_LEAST_EFFECTIVE, _LEAST_EFFECTIVE_SHARE * tally.groups):
        return (
            f"{found}, of weights so uneven that "
            f"they count as {effective:.1f} groups: the true count is likely to be greater"
        )
    return None


def exact_estimate(count: int, plan_seconds: float, seconds: float = 0.0) -> Estimate:
    """Return an exact count as an estimate.

    Raises
    ------
    CountOverflowError
        The count exceeds a float.
    """
    try:
        value = float(count)
    except OverflowError as error:
        raise CountOverflowError("the count exceeds 2^1024") from error
    return Estimate(
        value=value,
        low=value,
        high=value,
        confidence=1.0,
        samples=0,
        valid_samples=0,
        effective_samples=0.0,
        complete=True,
        seconds=seconds,
        plan_seconds=plan_seconds,
        estimator="exact",
        device="cpu",
        sampled=value,
    )


def unknown_estimate(
    rules: Rules, device: str, plan_seconds: float, why: str = "time was up before the first sample"
) -> Estimate:
    """Return the estimate of a call that ended before the first sample."""
    return Estimate(
        value=0.0,
        low=0.0,
        high=math.inf,
        confidence=rules.confidence,
        samples=0,
        valid_samples=0,
        effective_samples=0.0,
        complete=False,
        seconds=0.0,
        plan_seconds=plan_seconds,
        estimator="none",
        device=device,
        sampled=0.0,
        warning=why,
    )
