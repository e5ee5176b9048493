"""Samples drawn until a rule is met, and the estimate that they make."""

from __future__ import annotations

import math
import time
from functools import cached_property
from itertools import pairwise

from motiflux.errors import CountOverflowError
from motiflux.plan import Plan
from motiflux.request.policy import SamplingPolicy
from motiflux.request.sampler import Sampler
from motiflux.result.estimate import Estimate, EstimateCallback, EstimateProgress, Trawled
from motiflux.result.sample_groups import Groups, dealt
from motiflux.sampling.clock_trawler import ClockTrawler
from motiflux.sampling.count_beside import CountBeside
from motiflux.sampling.stopping import Rules
from motiflux.sampling.trawler import MOST_BATCHES, Trawler
from motiflux.statistics import (
    GROUP,
    Interval,
    StoppingChecks,
    Tally,
    blended_interval,
    confidence_interval,
    share_by,
    share_upper_bound,
)
from motiflux.types import Symmetry

_MOST_PIECE = 1 << 17
_PIECE_SECONDS = 0.25
"""Between two reports."""
_REPORT_SECONDS = 0.01
"""Between two reports at least, unless there is nothing more to draw: one takes .1 ms, with a trawl 1."""
_FEW_EFFECTIVE = 30.0
"""Groups that count, below which intervals were seen to miss greater counts too often."""
_FEWEST_TO_END = 64
"""Groups to draw, where there is anything, before a report: intervals of fewer are hardly any."""
_EVEN = 0.75
"""Where there are fewer, the share of them that must count: a few uneven groups may look even by chance."""


class Run:
    """One estimate under way.

    Parameters
    ----------
    tree
        Whether the number of trees may be had: it bounds the count.
    deadline
        A moment of `time.perf_counter`, or None.
    trawler
        What trawls beside the samples, if anything does.
    count
        What counts all beside the samples, if anything does.
    """

    def __init__(
        self,
        sampler: Sampler,
        plan: Plan,
        estimator: str | SamplingPolicy,
        seed: int,
        rules: Rules,
        *,
        tree: bool,
        deadline: float | None,
        trawler: Trawler | ClockTrawler | None = None,
        count: CountBeside | None = None,
    ) -> None:
        self._sampler = sampler
        self._estimator = estimator
        self._seed = seed
        self._rules = rules
        self._deadline = deadline
        self._trawler = trawler
        self._count = count
        self._tally = Tally()
        self._halves = (Tally(), Tally())
        self._batch = 0
        self._shares = (0.5, 0.5)
        self._looks = StoppingChecks(rules.confidence, rules.first_look, rules.groups)
        self._images = plan.automorphisms if plan.symmetry is Symmetry.SUBGRAPHS else 1
        fraction, exponent = sampler.candidates.grow_tree() if tree else (1.0, 2**20)
        self._trees = _scaled(fraction, exponent)
        self._all_live = estimator == "tree" and not any(
            len(step.sources) > 1 or step.distinct or step.not_out or step.not_in for step in plan.shape.steps
        )
        self._trace: list[EstimateProgress] = []
        self._piece = sampler.least_piece
        self._seconds = dict.fromkeys(("sampling", "reports"), 0.0)
        self._reached = False
        self._late = False
        self._began = time.perf_counter()
        self._wanted = 0
        """Groups to draw before what was trawled beside them is gathered."""

    def go(self, callback: EstimateCallback | None, started: float) -> None:
        """Draw until the rules are met, time is up, or all was counted; report from time to time."""
        while True:
            self._sampler.expect(self._looks.groups - self._tally.groups)
            while self._tally.groups < self._looks.groups and not self._is_over():
                if self._rules.rel_error is None and self._is_nothing(self._rules.confidence):
                    self._reached = True
                    break
                for end in self._begin_batches():
                    self._draw_batch(end, callback, started)
                    if self._is_over():
                        break
                self._gather(callback, started)
                if self._tally.groups < self._looks.groups:
                    self._count_on()
            if self._reached or self._is_over() or self._good_enough():
                if self._trawler is not None:
                    self._trawler.count_to_the_end()
                return
            self._count_on()

    def _is_over(self) -> bool:
        return self._late or self.counted is not None

    @property
    def counted(self) -> int | None:
        """The number of all embeddings, where counting beside the samples came upon it."""
        if self._count is not None and self._count.whole is not None:
            return self._count.whole
        return None if self._trawler is None else self._trawler.whole

    def _count_on(self) -> None:
        """Have all counted on, after as many samples as that waits for."""
        if self._count is None or self._is_over():
            return
        work = self._tally.work + (0 if self._trawler is None else self._trawler.tally.work)
        self._count.go_on(self._tally.groups, work, self._left())

    @cached_property
    def _enough_of_nothing(self) -> int:
        """Groups after which, if none has an embedding, there is not even one, as sure as was asked for.

        A number known beforehand: to look there takes nothing from the confidence.
        """
        most = min(self._most, self._trees)
        if math.isinf(most):
            return self._rules.groups
        samples = math.log1p(-self._rules.confidence) / math.log1p(-1 / max(most, 2.0))
        return max(_FEWEST_TO_END, 1 + math.ceil(min(samples / GROUP, self._rules.groups)))

    def _begin_batches(self) -> list[int]:
        """Begin to trawl, if anything does; return up to which groups to draw meanwhile."""
        last = self._looks.groups
        if self._rules.rel_error is None and self._tally.groups < self._enough_of_nothing:
            last = min(last, self._enough_of_nothing)
        if self._count is not None and self._count.next_at is not None:
            last = min(last, max(self._count.next_at, self._tally.groups + 1))
        if self._trawler is None:
            return [last]
        done, size = self._tally.groups, self._trawler.plan.groups
        if not self._trawler.takes_turns:
            self._trawler.begin([last - done], self._deadline)
            self._wanted = last - done
            return [last]
        first = (done // size + 1) * size
        ends = [min(last, end) for end in range(first, min(last, done + size * MOST_BATCHES) + size, size)]
        ends = ends[:MOST_BATCHES]
        self._wanted = ends[-1] - done
        self._trawler.begin([end - begin for begin, end in pairwise([done, *ends])], self._deadline)
        return ends

    def _draw_batch(self, end: int, callback: EstimateCallback | None, started: float) -> None:
        while self._tally.groups < end and not self._is_over():
            before = time.perf_counter()
            count = min(self._piece, end - self._tally.groups)
            self._draw(count)
            seconds = max(time.perf_counter() - before, 1e-9)
            most = min(self._tally.groups, _MOST_PIECE, int(count * _PIECE_SECONDS / seconds))
            self._piece = max(self._sampler.least_piece, most)
            if self._trawler is not None:
                self._trawler.gather(wait=False)
                if self._tally.groups >= end:
                    self._trawler.end_batch()
                    self._batch += 1
            self._report(callback, started, at_last=self._tally.groups >= self._looks.groups)

    def _gather(self, callback: EstimateCallback | None, started: float) -> None:
        """Wait for what was trawled beside the samples."""
        if self._trawler is None or self.counted is not None:
            return
        self._trawler.gather(late=self._late)
        self._report(callback, started, at_last=True)

    def _left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.perf_counter())

    def _draw(self, count: int) -> None:
        before, first = time.perf_counter(), self._tally.groups
        given = (self._estimator, self._seed, first, count, self._left())
        if self._trawler is not None and self._trawler.plan.by_clock:
            if first > 0:
                self._trawler.expect((before - self._began) / first * self._wanted)
            groups = self._sampler.draw(*given, meanwhile=self._trawler.start)
        else:
            groups = self._sampler.draw(*given)
        self._seconds["sampling"] += time.perf_counter() - before
        self._tally.add(*groups)
        if self._trawler is not None:
            self._halve(groups, first)
        self._late = len(groups.weights) < count

    def _halve(self, groups: Groups, first: int) -> None:
        """Add groups to the halves of the estimate: by batches, wherever draws begin and end."""
        assert self._trawler is not None
        if self._trawler.takes_turns:
            self._halves[self._batch % 2].add(*groups)
            return
        parts = dealt(groups, first, self._trawler.plan.groups)
        for half, mine in zip(self._halves, parts, strict=True):
            half.add(*mine)

    def _good_enough(self) -> bool:
        """Return whether to end at this look; if not, set the next."""
        if self._rules.rel_error is None:
            self._reached = True
            return True
        width = self._width(self._looks.confidence)
        if self._is_nothing(self._looks.confidence):
            width = 0.0
        if width <= self._rules.rel_error:
            self._reached = True
        elif self._looks.exhausted:
            self._reached = not self._rules.strict
        else:
            self._looks.go_on(width, self._rules.rel_error)
            return False
        return True

    def _width(self, confidence: float) -> float:
        interval, value = self._interval(confidence), self._value()
        if value <= 0:
            return 0.0 if interval.high <= 0 else math.inf
        return max(interval.high - value, value - interval.low) / value

    def _is_nothing(self, confidence: float) -> bool:
        """Return whether no embedding was found and there is not even one, as sure as that."""
        return self._valid == 0 and self._interval(confidence).high * self._images < 1

    @property
    def _valid(self) -> int:
        return self._tally.valid + (0 if self._trawler is None else self._trawler.tally.valid)

    def _value_of(self, tally: Tally) -> float:
        value = _scaled(*tally.mean())
        if math.isinf(value):
            raise CountOverflowError("the estimate exceeds 2^1024")
        return value / self._images

    def _value(self) -> float:
        value, trawler = self._value_of(self._tally), self._trawler
        if trawler is None or trawler.slots == 0:
            return value
        value = whole = 0.0
        for share, sampled, trawled in zip(self._shares, self._halves, trawler.halves, strict=True):
            if sampled.groups == 0:
                continue
            if trawled.groups == 0:  # by the clock there may be no time for any
                share = 0.0
            whole += sampled.groups
            value += sampled.groups * (
                (1 - share) * self._value_of(sampled) + share * self._value_of(trawled)
            )
        return value / whole if whole else self._value_of(trawler.tally)

    def _weigh(self) -> tuple[float, float]:
        """Return what part of each half of the estimate is the trawl's: as the other half says.

        Weights that the weighed samples had a say in would be a bias, and would trust most what missed all.
        """
        if self._trawler is None:
            return self._shares
        seen = [
            share_by(
                (self._value_of(sampled), sampled.effective), (self._value_of(trawled), trawled.effective)
            )
            for sampled, trawled in zip(self._halves, self._trawler.seen, strict=True)
        ]
        return seen[1], seen[0]

    def _share(self) -> float:
        """Return what part of the whole is the trawl's, about."""
        return sum(self._shares) / 2

    def _interval(self, confidence: float) -> Interval:
        """Return the interval around the value.

        Where either sampling or trawling found nothing, it is the other's: of what was missed it tells more.
        """
        trawler = self._trawler
        if trawler is None or trawler.tally.valid == 0:
            return self._interval_of(self._tally, confidence)
        if self._tally.valid == 0:
            return self._interval_of(trawler.tally, confidence)
        return blended_interval(
            self._value_of(self._tally),
            self._value_of(trawler.tally),
            self._interval_of(self._tally, confidence),
            self._interval_of(trawler.tally, confidence),
            self._share(),
        )

    def _interval_of(self, tally: Tally, confidence: float) -> Interval:
        """Return the interval by one tally; no pattern has more embeddings than its tree."""
        if tally.valid == 0:
            high = self._most * share_upper_bound(tally.samples, confidence)
            return Interval(0.0, min(high, self._trees) / self._images)
        if self._all_live:  # each tree is an embedding
            return Interval(self._trees / self._images, self._trees / self._images)
        found = confidence_interval(tally.moments(), confidence)
        high = max(min(found.high, self._trees), found.low)
        return Interval(found.low / self._images, high / self._images)

    @cached_property
    def _most(self) -> float:
        """A weight that no sample exceeds; nothing is known of a policy of the user's."""
        if self._estimator == "tree":
            return self._trees
        if isinstance(self._estimator, str):
            return _scaled(1.0, self._sampler.candidates.most_bits)
        return math.inf

    def _report(self, callback: EstimateCallback | None, started: float, *, at_last: bool) -> None:
        before = time.perf_counter()
        seconds = before - started
        if not at_last and self._trace and seconds - self._trace[-1].seconds < _REPORT_SECONDS:
            return
        self._shares = self._weigh()
        interval = self._interval(self._rules.confidence)
        point = EstimateProgress(
            self._tally.samples, self._tally.valid, seconds, self._value(), interval.low, interval.high
        )
        self._trace.append(point)
        self._seconds["reports"] += time.perf_counter() - before
        if callback is not None:
            callback(point)

    def result(self, plan_seconds: float, seconds: float) -> Estimate:
        """Return the estimate of the samples so far."""
        sequential = self._rules.rel_error is not None
        confidence = self._looks.confidence if sequential else self._rules.confidence
        interval = self._interval(confidence)
        effective = self._tally.effective
        value = self._value()
        return Estimate(
            value=value,
            low=min(interval.low, value),
            high=max(interval.high, value),
            confidence=self._rules.confidence,
            samples=self._tally.samples,
            valid_samples=self._tally.valid,
            effective_samples=effective,
            complete=self._reached,
            seconds=seconds,
            plan_seconds=plan_seconds,
            estimator=self._estimator if isinstance(self._estimator, str) else self._estimator.name,
            device=self._sampler.device,
            reason=self._sampler.reason,
            sampled=self._value_of(self._tally),
            trawled=self._trawled(confidence),
            warning=self._warning(effective),
            trace=tuple(self._trace),
            parts=self._parts(),
        )

    def _parts(self) -> dict[str, float]:
        """Return what the seconds of the call went to."""
        parts = dict(self._seconds)
        if self._trawler is not None:
            parts |= {f"trawl {what}": seconds for what, seconds in self._trawler.seconds.items()}
        return parts

    def _trawled(self, confidence: float) -> Trawled | None:
        trawler = self._trawler
        if trawler is None or trawler.slots == 0:
            return None
        value = self._value_of(trawler.tally)
        interval = Interval(0.0, self._trees / self._images)
        if trawler.tally.valid > 0:
            interval = self._interval_of(trawler.tally, confidence)
        low, high = min(interval.low, value), max(interval.high, value)
        return Trawled(value, low, high, trawler.slots, trawler.searched, self._share())

    def _warning(self, effective: float) -> str | None:
        warnings = [self._warning_of_samples(effective)]
        if self._trawler is not None and self._trawler.slots == 0:
            warnings.append("the samples took too little time for searches beside them: nothing was trawled")
        return "; ".join(one for one in warnings if one) or None

    def _warning_of_samples(self, effective: float) -> str | None:
        tally = self._tally
        if self._trawler is not None:
            effective = max(effective, self._trawler.tally.effective)
            if self._trawler.tally.valid > 0:
                return self._warning_of_trawl(effective)
        if tally.samples == 0:
            return "time was up before the first samples"
        if tally.valid == 0:
            if self._is_nothing(self._rules.confidence):
                return None
            return f"none of {tally.samples:,} samples is an embedding: likely too few samples"
        if effective < min(_FEW_EFFECTIVE, _EVEN * tally.groups):
            return (
                f"{tally.valid:,} of {tally.samples:,} samples are embeddings, of weights so uneven that "
                f"they count as {effective:.1f} groups: the true count is likely to be greater"
            )
        return None

    def _warning_of_trawl(self, effective: float) -> str | None:
        assert self._trawler is not None
        if effective >= _FEW_EFFECTIVE:
            return None
        found = f"{self._tally.valid:,} of {self._tally.samples:,} samples are embeddings"
        return (
            f"{found}, and of {self._trawler.slots:,} slots that were trawled {self._trawler.tally.valid:,} "
            f"found any, as uneven as {effective:.1f}: the true count is likely to be greater"
        )


def _scaled(fraction: float, exponent: float) -> float:
    """Return ``fraction * 2**exponent``; infinity where no float holds it."""
    whole = math.floor(exponent) if exponent > -(1 << 20) else -(1 << 20)
    try:
        # 2**1024 is no float, though a fraction of it may be.
        return math.ldexp(fraction * 2.0 ** (exponent - whole), whole)
    except OverflowError:
        return math.inf
