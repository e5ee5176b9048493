"""Draws samples, and trawls beside them, until the stopping rules are met."""

from __future__ import annotations

import math
import time
from functools import cached_property
from itertools import pairwise

from motiflux.request.policy import SamplingPolicy
from motiflux.request.sampler import Sampler
from motiflux.result.estimate import EstimateProgress
from motiflux.sampling.call import EstimateCall
from motiflux.sampling.combined_estimate import CombinedEstimate
from motiflux.sampling.trawler import MOST_BATCHES, Trawler
from motiflux.statistics import GROUP, StoppingChecks

_MOST_PIECE = 1 << 17
"""Maximum number of groups per draw."""
_PIECE_SECONDS = 0.25
"""Maximum time of a draw, and so between two reports."""
_REPORT_SECONDS = 0.01
"""Minimum time between two reports, except after the last draw: a report takes 0.1 to 1 ms."""
_LEAST_GROUPS = 64
"""Minimum number of groups before an estimate without embeddings ends: fewer give no useful interval."""


class Run:
    """The sampling of one estimate.

    Parameters
    ----------
    estimate
        Receives the samples; slots come from the trawler.
    started
        Start of sampling, as a moment of `time.perf_counter`.

    Attributes
    ----------
    reached
        Whether the stopping rules are met.
    trace
        A report every few draws.
    """

    def __init__(
        self,
        call: EstimateCall,
        sampler: Sampler,
        estimator: str | SamplingPolicy,
        estimate: CombinedEstimate,
        trawler: Trawler | None,
        started: float,
    ) -> None:
        self._call = call
        self._rules = call.rules
        self._sampler = sampler
        self._estimator = estimator
        self._estimate = estimate
        self._trawler = trawler
        self._started = started
        self._looks = StoppingChecks(self._rules.confidence, self._rules.first_look, self._rules.groups)
        self._piece = sampler.least_piece
        self._batch = 0
        self._seconds = dict.fromkeys(("sampling", "reports"), 0.0)
        self._late = False
        self.reached = False
        self.trace: list[EstimateProgress] = []

    @property
    def estimator(self) -> str:
        """Name of the estimator."""
        return self._estimator if isinstance(self._estimator, str) else self._estimator.name

    @property
    def confidence(self) -> float:
        """Confidence level of the interval at the last look: higher than asked for if there are several."""
        return self._rules.confidence if self._rules.rel_error is None else self._looks.confidence

    def parts(self) -> dict[str, float]:
        """Return the seconds of the caller's thread by part."""
        parts = dict(self._seconds)
        if self._trawler is not None:
            parts |= {f"trawl {part}": seconds for part, seconds in self._trawler.seconds.items()}
        return parts

    def run(self) -> None:
        """Draw samples until the rules are met or the time limit is over."""
        while True:
            self._draw_to_look()
            if self.reached or self._late or self._is_good_enough():
                return

    def _draw_to_look(self) -> None:
        """Draw up to the next test of the stopping rules, or until there is certainly no embedding."""
        self._sampler.expect(self._looks.groups - self._groups)
        while self._groups < self._looks.groups and not self._late:
            if self._rules.rel_error is None and self._estimate.is_zero(self._rules.confidence):
                self.reached = True
                break
            for end in self._begin_batches():
                if not self._draw_batch(end):
                    break
            if self._trawler is not None:
                self._trawler.gather(late=self._late)
                self._report(last=True)

    @property
    def _groups(self) -> int:
        return self._estimate.tally.groups

    def _begin_batches(self) -> list[int]:
        """Start slots for the next batches; return the number of groups at the end of each batch."""
        last = self._looks.groups
        if self._rules.rel_error is None and self._groups < self._groups_without_embedding:
            last = min(last, self._groups_without_embedding)
        if self._trawler is None:
            return [last]
        done, size = self._groups, self._trawler.plan.groups
        first = (done // size + 1) * size
        ends = [min(last, end) for end in range(first, min(last, done + size * MOST_BATCHES) + size, size)]
        ends = ends[:MOST_BATCHES]
        self._trawler.begin([end - begin for begin, end in pairwise([done, *ends])])
        return ends

    @cached_property
    def _groups_without_embedding(self) -> int:
        """Number of groups without an embedding that proves a count of 0, at the confidence asked for.

        It does not depend on samples, so a test there costs no confidence.
        """
        most = self._estimate.max_embeddings
        if math.isinf(most):
            return self._rules.groups
        samples = math.log1p(-self._rules.confidence) / math.log1p(-1 / max(most, 2.0))
        return max(_LEAST_GROUPS, 1 + math.ceil(min(samples / GROUP, self._rules.groups)))

    def _draw_batch(self, end: int) -> bool:
        """Draw up to `end` groups in all; return False if the time limit came first."""
        while self._groups < end and not self._late:
            before = time.perf_counter()
            count = min(self._piece, end - self._groups)
            self._draw(count)
            seconds = max(time.perf_counter() - before, 1e-9)
            most = min(self._groups, _MOST_PIECE, int(count * _PIECE_SECONDS / seconds))
            self._piece = max(self._sampler.least_piece, most)
            if self._trawler is not None:
                self._trawler.gather(wait=False)
            self._report(last=self._groups >= self._looks.groups)
        self._batch += 1
        return not self._late

    def _draw(self, count: int) -> None:
        before = time.perf_counter()
        groups = self._sampler.draw(
            self._estimator, self._call.seed, self._groups, count, self._call.seconds_left()
        )
        self._seconds["sampling"] += time.perf_counter() - before
        self._estimate.add(groups, self._batch)
        self._late = len(groups.weights) < count

    def _is_good_enough(self) -> bool:
        """Return whether the estimate ends at this look; otherwise, set the next look."""
        if self._rules.rel_error is None:
            self.reached = True
            return True
        error = self._estimate.relative_error(self._looks.confidence)
        if error <= self._rules.rel_error:
            self.reached = True
        elif self._looks.exhausted:
            self.reached = not self._rules.strict
        else:
            self._looks.go_on(error, self._rules.rel_error)
            return False
        return True

    def _report(self, *, last: bool) -> None:
        """Add a row to the trace and call the callback, unless the previous report is recent."""
        before = time.perf_counter()
        seconds = before - self._started
        if not last and self.trace and seconds - self.trace[-1].seconds < _REPORT_SECONDS:
            return
        self._estimate.update_shares()
        interval = self._estimate.interval(self._rules.confidence)
        tally, value = self._estimate.tally, self._estimate.value()
        point = EstimateProgress(tally.samples, tally.valid, seconds, value, interval.low, interval.high)
        self.trace.append(point)
        self._seconds["reports"] += time.perf_counter() - before
        if self._call.callback is not None:
            self._call.callback(point)
