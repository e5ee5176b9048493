"""Rows of hubs are copied in strips, by the updater and by executors without work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.errors import DeviceError
from motiflux.gpu.streaming import ResidentStream
from tests.device.streaming import StreamedRuns
from tests.device.test_streaming import PATTERNS, compare_monitors

if TYPE_CHECKING:
    from motiflux.device.base import Device

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")


def hubs_of(
    random: np.random.Generator, hubs: int, others: int, count: int, inserts: float
) -> tuple[mf.Graph, list[tuple[Any, ...]]]:
    """Return a graph with hubs, whose neighbours have few edges more, and updates of the hubs."""
    edges = {
        (hub, hubs + int(other))
        for hub in range(hubs)
        for other in np.flatnonzero(random.random(others) < random.choice([0.3, 0.7, 0.95]))
    }
    ends = np.sort(random.integers(hubs, hubs + others, (others, 2)), axis=1)
    edges |= {(int(u), int(v)) for u, v in ends if u != v}
    # Updates are all over the rows of hubs, or near each other, and those of an edge may be in one batch.
    narrow = max(2, others // int(random.choice([1, 8])))
    changes = [
        (
            "+" if random.random() < inserts else "-",
            int(random.integers(hubs)),
            hubs + int(random.integers(narrow)),
        )
        for _ in range(count)
    ]
    first = [("-", 0, hubs), ("+", 0, hubs)]  # one of them has an effect; others may be of edges that stay
    return mf.Graph.from_edges(sorted(edges), num_vertices=hubs + others), [*first, *changes]


def check_hubs(
    gpu: Device, seed: int, policy: str = "random", *, between: Any = None, **fixed: Any
) -> StreamedRuns:
    """Compare a monitor on a resident kernel with the CPU's, per update; `fixed` are settings."""
    random = np.random.default_rng(seed)
    hubs, others = int(random.integers(1, 5)), int(random.choice([12, 30, 60]))
    graph, changes = hubs_of(random, hubs, others, int(random.integers(8, 50)), random.choice([0.5, 0.8, 1]))
    # A path through a hub is long, so all executors may be busy.
    names = [
        str(random.choice(["triangle", "edge", "triangle", "4-cycle", "path"], p=[0.4, 0.1, 0.2, 0.2, 0.1]))
    ]
    drawn = {
        "strip": int(random.choice([1, 2, 3, 5, 16, 33])),
        "updater_warps": int(random.choice([1, 2, 4, 8], p=[0.2, 0.2, 0.5, 0.1])),
        "preset": str(random.choice(["flush", "paper"])),
        "versions": 64 * int(random.choice([3_000, 20_000])),
        "without": frozenset(["sorts"] if random.random() < 0.3 else []),
    }
    return compare_monitors(
        gpu,
        seed,
        graph,
        [mf.Pattern.from_edges(PATTERNS[name]) for name in names],
        changes,
        parts=1,
        matches=bool(random.random() < 0.2) and names != ["path"],
        policy=policy,
        settings={**drawn, **fixed},
        between=between,
    )


@pytest.mark.turns(8)
@pytest.mark.parametrize("policy", ["random", "lowest", "highest"])
def test_updates_of_hubs_are_answered_one_by_one(gpu: Device, policy: str) -> None:
    copied = helped = 0
    seeds = 40 if policy == "random" else 8
    for seed in range(seeds):
        runs = check_hubs(gpu, seed, policy)
        copied += runs.counters["strips_copied"]
        helped += runs.counters["strips_helped"]
    assert copied > 20 * seeds
    assert 0 < helped < copied


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(10))
def test_updates_of_hubs_are_answered_under_many_schedules(gpu: Device, part: int) -> None:
    for seed in range(200 * part + 1000, 200 * part + 1200):
        check_hubs(gpu, seed)


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("without", ["helpers", "long_strips"])
def test_hubs_are_answered_without_helpers_and_without_strips(gpu: Device, without: str) -> None:
    copied = 0
    for seed in range(6):
        runs = check_hubs(gpu, seed, without=frozenset({without}))
        copied += runs.counters["strips_copied"]
        assert runs.counters["strips_helped"] == 0
    assert (copied == 0) == (without == "long_strips")


@pytest.mark.turns(4, "emulated")
def test_hubs_are_answered_in_batches_of_many_changes(gpu: Device) -> None:
    """Without checks, which have small batches in shared memory, and with all batches sorted."""
    copied = 0
    for seed in range(20):
        runs = check_hubs(gpu, seed, without=frozenset({"few"}), checks=False)
        copied += runs.counters["strips_copied"]
    assert copied > 200


@pytest.mark.turns(4, "emulated")
def test_a_stream_of_hubs_may_be_parked_at_any_time(gpu: Device) -> None:
    random = np.random.default_rng(3)

    def park(stream: ResidentStream, _: int) -> None:
        if random.random() < 0.3:
            stream.park()
            stream.start()

    for seed in range(4):
        check_hubs(gpu, seed, between=park, strip=2)


@pytest.mark.turns(4, "emulated")
def test_a_stream_of_hubs_may_be_stopped_at_any_time(gpu: Device) -> None:
    random = np.random.default_rng(4)
    stopped = 0

    def stop(stream: ResidentStream, _: int) -> None:
        if random.random() < 0.2:
            stream.stop()

    for seed in range(12):
        try:
            check_hubs(gpu, seed, between=stop, strip=1)
        except DeviceError as error:
            if "stopped" not in str(error):
                raise
            stopped += 1
    assert stopped > 3


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize(("warps", "strip"), [(1, 1024), (16, 1024), (4, 1)])
def test_rows_of_thousands_of_entries_are_copied(gpu: Device, warps: int, strip: int) -> None:
    """As without checks: rows of more than 4,096 entries, in at most 4,096 strips of 1,024 or few entries."""
    random = np.random.default_rng(warps)
    hubs, others = 2, 5_000
    there = {(hub, hubs + int(other)) for hub in range(hubs) for other in random.permutation(others)[:4_500]}
    graph = mf.Graph.from_edges([*sorted(there), (0, 1)], num_vertices=hubs + others)
    changes = []
    for _ in range(24):
        edge = int(random.integers(hubs)), hubs + int(random.integers(others))
        if random.random() < 0.6:
            edge = edge[0], next(at for at in range(edge[1], 2 * others) if (edge[0], at) not in there)
        changes.append(("-" if edge in there else "+", *edge))
        there ^= {edge}
    runs = compare_monitors(
        gpu,
        warps,
        graph,
        [mf.Pattern.from_edges(PATTERNS["triangle"])],
        changes,
        parts=1,
        matches=False,
        settings={"checks": False, "updater_warps": warps, "strip": strip, "versions": 64 * 60_000},
    )
    assert runs.counters["strips_copied"] >= (10 if strip > 1 else 2_250)
