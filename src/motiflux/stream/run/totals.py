"""The totals of a run, and the latencies of updates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from motiflux import _native
from motiflux.pattern import Pattern
from motiflux.request.engine import Ran
from motiflux.stream.matching.delta import Delta, chosen_pattern
from motiflux.stream.matching.noops import Noops, NoopSum
from motiflux.stream.sources.source import Batch
from motiflux.units import quantity

_STEPS = 64
"""Steps per doubling of latency: stored latencies are within 0.6% of the measured ones."""

_LEAST_US = 1e-3


class Latency(NamedTuple):
    """Microseconds from an update's arrival at the monitor until its result was there."""

    p50: float
    p90: float
    p99: float
    max: float


class Latencies:
    """Latencies of any number of updates, in little memory."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._most = 0.0

    def add(self, seconds: float, updates: int) -> None:
        """Take the latency of some updates."""
        microseconds = max(1e6 * seconds, _LEAST_US)
        self._counts[round(_STEPS * math.log2(microseconds))] += updates
        self._most = max(self._most, microseconds)

    def add_steps(self, steps: Sequence[tuple[int, int]], most: float) -> None:
        """Take numbers of updates by step of latency, and the greatest latency in microseconds."""
        for step, updates in steps:
            self._counts[step] += updates
        self._most = max(self._most, most)

    def summary(self) -> Latency | None:
        """Return percentiles; None where there were no updates."""
        if not self._counts:
            return None
        p50, p90, p99 = self._percentiles(0.5, 0.9, 0.99)
        return Latency(p50, p90, p99, self._most)

    def _percentiles(self, *shares: float) -> Iterator[float]:
        total = self._counts.total()
        steps = sorted(self._counts.items())
        at, below = 0, steps[0][1]
        for share in shares:
            while below < share * total and at + 1 < len(steps):
                at += 1
                below += steps[at][1]
            yield min(2.0 ** (steps[at][0] / _STEPS), self._most)


@dataclass(frozen=True)
class PatternTotal:
    """Matches of one pattern.

    Parameters
    ----------
    pattern
        Which.
    positive, negative
        How many appeared, and how many vanished.
    """

    pattern: Pattern
    positive: int
    negative: int


@dataclass(frozen=True)
class Totals:
    """The totals of a run.

    Parameters
    ----------
    patterns
        The initial patterns in their order, then the added patterns; dropped patterns stay.
    updates
        Number of applied updates.
    noops, self_loops, late, expired
        As in `Delta`.
    skipped
        Number of skipped lines: malformed lines, and lines with invalid updates.
    batches
        Number of batches.
    seconds
        Wall-clock seconds of the run, waiting for updates included.
    latency
        Percentiles; None without updates.
    complete
        Whether the source ended or the limit was reached; False after a timeout or Ctrl-C.
    stopped_by
        The interrupt that ended it, if one did.
    engine, device, reason
        What matched the updates, where, and why there, in words. Several engines, and their devices, are in
        the order in which they were first used.
    """

    patterns: tuple[PatternTotal, ...]
    updates: int
    noops: int
    self_loops: int
    late: int
    expired: int
    skipped: int
    batches: int
    seconds: float
    latency: Latency | None
    complete: bool
    stopped_by: KeyboardInterrupt | None = field(default=None, compare=False)
    engine: str = "cpu"
    device: str = "cpu"
    reason: str = ""

    @property
    def updates_per_second(self) -> float:
        """Updates per second."""
        return self.updates / self.seconds if self.seconds > 0 else 0.0

    def __getitem__(self, pattern: Pattern | str | int) -> PatternTotal:
        """Return the totals of a pattern: itself, its text, or its position."""
        known = [one.pattern for one in self.patterns]
        return self.patterns[known.index(chosen_pattern(pattern, known))]


class PatternNumbers:
    """Numbers patterns in the order in which they occur; equal patterns have one number.

    Each object is compared once: comparing patterns takes longer than a small batch.
    """

    def __init__(self) -> None:
        self.patterns: list[Pattern] = []
        self._numbers: dict[Pattern, int] = {}
        self._known: dict[int, tuple[int, Pattern]] = {}

    def of(self, pattern: Pattern) -> int:
        """Return the number of a pattern."""
        known = self._known.get(id(pattern))
        if known is not None:
            return known[0]
        number = self._numbers.setdefault(pattern, len(self.patterns))
        if number == len(self.patterns):
            self.patterns.append(pattern)
        self._known[id(pattern)] = (number, pattern)  # the object stays, and so does its id
        return number


class Sums:
    """Adds up the results of batches.

    Parameters
    ----------
    ran
        The engine and the device that match while nothing else is added.
    """

    def __init__(self, ran: Ran) -> None:
        self._ran = ran
        self._updates_on: dict[tuple[str, str], int] = {}
        self._numbers = PatternNumbers()
        self._counts: list[tuple[int, int]] = []
        self.latencies = Latencies()
        self._updates = self._expired = 0
        self._noops = NoopSum()
        self.self_loops = 0
        """Updates left out because both ends were one vertex."""
        self.late = 0
        """Updates left out because they were out of time order."""
        self.skipped = 0
        self.skips_told = 0
        self.origin, self.unit = "updates", "line"
        """The source and the unit of its lines, in notes."""
        self.matches = 0
        """Of all patterns, with matches that vanished."""
        self.batches = 0

    def watch(self, patterns: tuple[Pattern, ...]) -> None:
        """Know of patterns before anything is found."""
        for pattern in patterns:
            self._numbers.of(pattern)
        self._counts += [(0, 0)] * (len(self._numbers.patterns) - len(self._counts))

    def add(self, batch: Batch, delta: Delta, seconds: float, counts: Sequence[tuple[int, int]]) -> None:
        """Add a batch, its delta, the latency of its updates and its matches: by pattern, both signs."""
        self.add_matches(delta.patterns, counts)
        self._note(Ran(delta.engine, delta.device, delta.reason), len(batch.updates))
        self.origin, self.unit = batch.origin, batch.unit
        self._updates += delta.updates
        self._noops.add(delta.found_noops)
        self.self_loops += delta.self_loops
        self.late += delta.late
        self._expired += delta.expired
        self.skipped += batch.skips
        self.batches += 1
        if len(batch.updates):
            self.latencies.add(seconds, len(batch.updates))

    def add_matches(self, patterns: Iterable[Pattern], counts: Sequence[tuple[int, int]]) -> None:
        """Add how many matches of patterns appeared and vanished."""
        for pattern, (more, less) in zip(patterns, counts, strict=True):
            number = self._numbers.of(pattern)
            if number == len(self._counts):
                self._counts.append((0, 0))
            positive, negative = self._counts[number]
            self._counts[number] = (positive + more, negative + less)
            self.matches += more + less

    def _note(self, ran: Ran, updates: int) -> None:
        """Note which engine matched a number of updates."""
        self._ran, on = ran, (ran.engine, ran.device)
        self._updates_on[on] = self._updates_on.get(on, 0) + updates

    def _ran_all(self) -> Ran:
        """Return the engines that matched, their devices, and the reason, or the share of each."""
        if len(self._updates_on) < 2:
            return self._ran
        shares = [f"{quantity(number, 'update')} on {on}" for (_, on), number in self._updates_on.items()]
        engines, devices = zip(*self._updates_on, strict=True)
        return Ran(", ".join(engines), ", ".join(devices), f"{', '.join(shares)}; last: {self._ran.why}")

    def add_quiet(
        self,
        feed: _native.QuietFeed,
        origin: str,
        write: Callable[[], None],
        watched: Sequence[tuple[Pattern, int, bool]],
        ran: Ran,
    ) -> tuple[int, int, int]:
        """Add the quiet batches since the last time; return the numbers of updates, batches and rows.

        `write` writes the updates that were put off. `watched`: the patterns, each with its number in `feed`,
        and whether its matches are given; `ran` is what matched.
        """
        given, applied, batches, self_loops, noops, put_off, steps, most, matches = feed.take()
        counted = [
            (pattern, matches[slot], listed) for pattern, slot, listed in watched if slot < len(matches)
        ]
        self.add_matches([pattern for pattern, *_ in counted], [counts for _, counts, _ in counted])
        rows = sum(sum(counts) for _, counts, listed in counted if listed)
        self.origin, self.unit = origin, "line"
        self._note(ran, given)
        self._updates += applied
        self._noops.add(Noops(noops))
        for awaited in put_off:
            self._noops.add(Noops(0, awaited, write))
        self.self_loops += self_loops
        self.batches += batches
        self.latencies.add_steps(steps, most)
        return given, batches, rows

    def totals(
        self,
        seconds: float,
        *,
        complete: bool,
        stopped_by: KeyboardInterrupt | None = None,
        writes: bool = True,
    ) -> Totals:
        """Return all of it; without no-ops that are not known yet, unless it `writes` updates for them."""
        counted = zip(self._numbers.patterns, self._counts, strict=True)
        patterns = tuple(PatternTotal(pattern, *counts) for pattern, counts in counted)
        ran = self._ran_all()
        return Totals(
            patterns,
            self._updates,
            self._noops.total() if writes else self._noops.known(),
            self.self_loops,
            self.late,
            self._expired,
            self.skipped,
            self.batches,
            seconds,
            self.latencies.summary(),
            complete,
            stopped_by,
            ran.engine,
            ran.device,
            ran.why,
        )
