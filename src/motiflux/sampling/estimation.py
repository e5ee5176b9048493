"""The stages of one estimate.

plan | exact count, brief | trees | pilot | exact count, longer | samples and trawl
"""

from __future__ import annotations

import contextlib
import time

from motiflux.cpu.sampling import kinds_apart
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.candidates.space import max_space_bytes
from motiflux.request.policy import SamplingPolicy
from motiflux.request.sampler import Sampler
from motiflux.result.estimate import Estimate
from motiflux.result.partial import keep_partial
from motiflux.sampling.call import EstimateCall
from motiflux.sampling.combined_estimate import CombinedEstimate
from motiflux.sampling.count_first import CountFirst
from motiflux.sampling.pilot import Pilot, choose_estimator, try_estimator
from motiflux.sampling.results import (
    exact_estimate,
    interrupted_estimate,
    sampled_estimate,
    unknown_estimate,
)
from motiflux.sampling.run import Run
from motiflux.sampling.samplers import open_sampler, plan_samples
from motiflux.sampling.trawler import Trawler, can_trawl
from motiflux.types import Symmetry


def run_estimate(call: EstimateCall) -> Estimate:
    """Return the estimate that a call asks for.

    Raises
    ------
    ArgumentError
        The estimator needs more memory than is allowed, or is for a GPU, which cannot look for negated edges
        with labels or conditions.
    DeviceError
        The device is not available.
    CountOverflowError
        The estimate exceeds a float.
    """
    request = call.request
    try:
        plan = plan_samples(call.graph, call.pattern, request, call.deadline)
        if plan.impossible is not None:
            return exact_estimate(0, call.seconds())
        if isinstance(call.estimator, SamplingPolicy) and kinds_apart(plan):
            expected = "'auto', 'alley' or 'wanderjoin' beside negated edges with labels or conditions"
            raise ArgumentError("estimator", f"{expected}, which the CPU looks for", call.estimator.name)
        sampler = open_sampler(call.graph, plan, request, call.deadline)
    except TimeoutError:
        return unknown_estimate(
            call.rules, "cpu" if request.device == "auto" else request.device, call.seconds()
        )
    with contextlib.closing(sampler):
        return _Estimation(call, plan, sampler).run()


class _Estimation:
    """An estimate by one plan and one sampler."""

    def __init__(self, call: EstimateCall, plan: Plan, sampler: Sampler) -> None:
        self._call = call
        self._plan = plan
        self._sampler = sampler
        self._has_trees = fits_tree(sampler, call.graph)
        self._planned = time.perf_counter()
        """End of planning."""

    def run(self) -> Estimate:
        """Run all stages; the first exact result ends the estimate."""
        count = None
        if self._counts_first:
            count = CountFirst(self._call, self._plan, self._sampler)
            if (embeddings := count.count_briefly()) is not None:
                return self._exact(embeddings)
        if (known := self._count_trees()) is not None:
            return known
        self._planned = time.perf_counter()
        pilot = self._run_pilot()
        if count is not None and (embeddings := count.count_longer(pilot)) is not None:
            return self._exact(embeddings)
        return self._sample(pilot)

    @property
    def _counts_first(self) -> bool:
        switched_on = self._call.request.tuning["count_first"] == "on"
        return self._call.estimator == "auto" and switched_on and can_trawl(self._plan)

    def _count_trees(self) -> Estimate | None:
        """Count the trees, if they fit into memory; return an estimate if this ends the call."""
        if not self._has_trees:
            if self._call.estimator == "tree":
                expected = "'alley' or 'wanderjoin', as the weights of trees would not fit"
                raise ArgumentError("estimator", expected, "tree")
            return None
        try:
            trees, _ = self._sampler.candidates.grow_tree(self._call.seconds_left())
        except TimeoutError:
            return unknown_estimate(self._call.rules, self._sampler.device, self._call.seconds())
        return exact_estimate(0, self._call.seconds()) if trees == 0 else None

    @property
    def _trawling(self) -> str:
        """The switch, or off if trawling is not possible: slots are drawn on the CPU by Alley."""
        own_policy = isinstance(self._call.estimator, SamplingPolicy)
        return "off" if own_policy or not can_trawl(self._plan) else self._call.request.tuning["trawling"]

    def _run_pilot(self) -> Pilot:
        call, left = self._call, self._call.seconds_left()
        if call.estimator == "auto":
            return choose_estimator(self._sampler, call.seed, tree=self._has_trees, timeout=left)
        if self._trawling == "auto":
            return try_estimator(self._sampler, call.estimator, call.seed, left)
        return Pilot(call.estimator)

    def _sample(self, pilot: Pilot) -> Estimate:
        call, sampler = self._call, self._sampler
        with contextlib.ExitStack() as closing:
            trawler = None
            if self._trawling == "on" or (self._trawling == "auto" and pilot.finds_little):
                trawler = closing.enter_context(contextlib.closing(Trawler(call, self._plan, sampler)))
            estimate = CombinedEstimate(
                sampler, self._plan, pilot.estimator, trawler, bounded=self._has_trees
            )
            run = Run(call, sampler, pilot.estimator, estimate, trawler, self._planned)
            try:
                run.run()
            except KeyboardInterrupt as stop:
                so_far = interrupted_estimate(
                    run,
                    estimate,
                    trawler,
                    sampler,
                    rules=call.rules,
                    plan_seconds=self._planned - call.started,
                )
                keep_partial(stop, so_far)
                raise
        return sampled_estimate(
            run,
            estimate,
            trawler,
            sampler,
            rules=call.rules,
            plan_seconds=self._planned - call.started,
            seconds=time.perf_counter() - self._planned,
        )

    def _exact(self, embeddings: int) -> Estimate:
        images = self._plan.automorphisms if self._plan.symmetry is Symmetry.SUBGRAPHS else 1
        seconds = time.perf_counter() - self._planned
        return exact_estimate(embeddings // images, self._planned - self._call.started, seconds)


def fits_tree(sampler: Sampler, graph: Graph) -> bool:
    """Return whether the weights of trees fit into the memory limit of a candidate space."""
    return sampler.candidates.tree_bytes <= max_space_bytes(graph)
