"""Open-loop load: updates arrive when they do, however long the answers take.

Arrivals are a Poisson process. An update's *response* is the time from its arrival until work on it begins
(the measure of DCSM's figure 2), its *answer* the time until its changes of matches are there. Times are wall
clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import motiflux as mf
from motiflux.gpu.streaming import COUNT, UPDATE

Seconds = NDArray[np.float64]


def arrivals(rate: float, count: int) -> Seconds:
    """Return the moments at which so many updates arrive, the first one soon after 0."""
    return np.cumsum(np.random.default_rng(17).exponential(1 / rate, count))


@dataclass(frozen=True)
class Times:
    """When updates arrived, when work on them began, and when their answers were there."""

    arrived: Seconds
    begun: Seconds
    answered: Seconds

    def figures(self) -> dict[str, float]:
        """Return microseconds, and updates answered a second."""
        found = {}
        for name, ends in (("response", self.begun), ("answer", self.answered)):
            waits = 1e6 * (ends - self.arrived)
            p50, p99 = np.percentile(waits, (50, 99))
            found |= {f"{name}_p50_us": p50, f"{name}_p99_us": p99, f"{name}_max_us": waits.max()}
        found["updates_per_second"] = len(self.arrived) / self.answered.max()
        return {name: float(value) for name, value in found.items()}


@dataclass
class Applied:
    """What a way of applying updates found, and how long it took."""

    positive: int
    negative: int
    times: Times | None
    seconds: float

    @property
    def rate(self) -> float:
        """Updates a second with all of them there at once; 0 if there are none."""
        return 0.0 if self.times is None or not self.seconds else len(self.times.arrived) / self.seconds


def part(updates: mf.Updates, first: int, last: int) -> mf.Updates:
    """Return some updates, without checks."""
    labels = None if updates.labels is None else updates.labels[first:last]
    return mf.Updates.of_checked(
        updates.inserts[first:last], updates.sources[first:last], updates.targets[first:last], labels
    )


def undone(updates: mf.Updates) -> mf.Updates:
    """Return the updates that undo others."""
    turned = updates.rows(np.arange(len(updates))[::-1])
    return mf.Updates.of_checked(~turned.inserts, turned.sources, turned.targets, turned.labels)


def service_times(monitor: mf.Monitor, updates: mf.Updates, size: int) -> tuple[Applied, Seconds]:
    """Apply batches of a fixed size one after another; return the seconds of each."""
    seconds, positive, negative = [], 0, 0
    for first in range(0, len(updates), size):
        some = part(updates, first, min(first + size, len(updates)))
        begun = time.perf_counter()
        delta = monitor.apply(some)
        seconds.append(time.perf_counter() - begun)
        positive, negative = positive + delta[0].positive, negative + delta[0].negative
    return Applied(positive, negative, None, sum(seconds)), np.array(seconds)


def of_fixed_batches(service: Seconds, size: int, arrived: Seconds) -> Times:
    """Return what updates would wait for if they came at these times, one batch being applied at a time.

    Nothing but the time of a batch is needed for that: it begins when its last update is there and the batch
    before is done. The batches are those that were timed, again and again.
    """
    begun, answered = np.empty_like(arrived), np.empty_like(arrived)
    free = 0.0
    for number, first in enumerate(range(0, len(arrived), size)):
        last = min(first + size, len(arrived))
        start = max(free, arrived[last - 1])
        free = start + service[number % len(service)] * (last - first) / size
        begun[first:last], answered[first:last] = start, free
    return Times(arrived, begun, answered)


def adaptive(monitor: mf.Monitor, updates: mf.Updates, arrived: Seconds, most: int) -> Applied:
    """Apply all updates that are there, whenever the call before is done: flush when the device is idle."""
    count = len(arrived)
    begun, answered = np.empty(count), np.empty(count)
    done = positive = negative = 0
    start = time.perf_counter()
    while done < count:
        now = time.perf_counter() - start
        due = min(int(np.searchsorted(arrived, now, "right")), done + most)
        if due == done:
            continue
        delta = monitor.apply(part(updates, done, due))
        positive, negative = positive + delta[0].positive, negative + delta[0].negative
        begun[done:due], answered[done:due] = now, time.perf_counter() - start
        done = due
    return Applied(positive, negative, Times(arrived, begun, answered), float(answered.max()))


def through_feed(monitor: mf.Monitor, updates: mf.Updates, arrived: Seconds) -> Applied:
    """Write updates to a feed as they arrive, and take the answers, on one thread.

    It never sleeps, since waking up may take longer than an update.
    """
    count = len(arrived)
    begun, answered = np.empty(count), np.empty(count)
    written = done = positive = negative = 0
    with monitor.feed(room=max(1, count)) as feed:
        start = time.perf_counter()
        while done < count:
            now = time.perf_counter() - start
            due = int(np.searchsorted(arrived, now, "right"))
            if due > written and feed.try_write(part(updates, written, due)) is not None:
                written = due
            answer = feed.take(0.0) if written > done else None
            if answer is None:
                continue
            now = time.perf_counter() - start
            some = slice(answer.first, answer.first + answer.updates)
            answered[some], begun[some] = now, now - answer.delta.seconds
            done += answer.updates
            positive += answer.delta[0].positive
            negative += answer.delta[0].negative
    return Applied(positive, negative, Times(arrived, begun, answered), float(answered.max()))


Arrive = Callable[[int], Seconds]
"""Returns when so many updates arrive."""
Records = NDArray[np.uint32]
"""Answers as the kernel writes them, [k, words]."""
Pump = Callable[[Any, NDArray[Any], Seconds], tuple[Records, "Times"]]
"""`pumped` or `by_ring`."""


def in_kernel(monitor: mf.Monitor, updates: mf.Updates, arrive: Arrive, pump: Pump) -> Applied:
    """Submit updates to the resident kernel as they arrive, and take its answers, without the monitor.

    The monitor has prepared them, and checks the answers. Only updates that concern the pattern are
    submitted.
    """
    engine: Any = monitor._engine
    runs: list[Times] = []

    def answered(listed: Any, keeps_going: Callable[[], bool]) -> bool:
        base = engine.stream.moment
        records, times = pump(engine.stream, listed.updates.view(UPDATE).reshape(-1), arrive(len(listed)))
        listed.take(records, base)
        runs.append(times)
        return keeps_going()

    unhurried = engine._answered
    engine._answered = answered
    try:
        delta = monitor.apply(updates)
    finally:
        engine._answered = unhurried
    times = together(runs) if runs else None
    seconds = 0.0 if times is None else float(times.answered.max())
    return Applied(delta[0].positive, delta[0].negative, times, seconds)


def pumped(stream: Any, packets: NDArray[Any], arrived: Seconds) -> tuple[Records, Times]:
    """Submit packets at their times; return the answers, and when updates were submitted and finished."""
    count, base = len(packets), stream.moment
    begun, answered = np.empty(count), np.empty(count)
    counts = []
    sent = done = 0
    start = time.perf_counter()
    while done < count:
        now = time.perf_counter() - start
        due = int(np.searchsorted(arrived, now, "right"))
        if due > sent:
            taken = stream.submit(packets[sent:due])
            begun[sent : sent + taken] = now
            sent += taken
        found = stream.take(0.0)
        finished = found.finished - base
        if finished > done:
            answered[done:finished] = time.perf_counter() - start
            done = finished
        counts.append(found.counts)
    words = np.concatenate(counts).view(np.uint32).reshape(-1, COUNT.itemsize // 4)
    return words, Times(arrived, begun, answered)


def by_ring(stream: Any, packets: NDArray[Any], arrived: Seconds) -> tuple[Records, Times]:
    """Do the same as `pumped` without Python between the rings: what native producers and consumers see."""
    waits = 1e-9 * stream.pace(packets, (1e9 * arrived).astype(np.uint64), keeps=True)
    times = Times(arrived, arrived + waits[:, 0], arrived + waits[:, 1])
    kept, stream._kept = stream._kept, []
    return np.concatenate([np.zeros((0, COUNT.itemsize // 4), np.uint32), *kept]), times


def together(parts: Sequence[Times]) -> Times:
    """Return the times of several runs as one."""
    return Times(
        np.concatenate([one.arrived for one in parts]),
        np.concatenate([one.begun for one in parts]),
        np.concatenate([one.answered for one in parts]),
    )
