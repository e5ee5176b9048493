"""Walks on the device that estimate how often rows are opened, beside the true numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux import _native
from motiflux.config import private_tuning
from motiflux.device import devices_like
from motiflux.gpu.changing.memory import Room, SpareRoom
from motiflux.gpu.outofcore import device_walks
from motiflux.gpu.outofcore.device_walks import DeviceWalks, Estimated
from motiflux.gpu.outofcore.engine import OutOfCoreEngine
from motiflux.gpu.outofcore.spending import Spending
from tests.access_counts import EXACT
from tests.fault.test_changing_faults import FULL
from tests.unit.test_accesses import BROOM, FLAG, HOUSE, KITE, SQUARE, TRIANGLE, VERTICES, skewed
from tests.waiting import wait_until

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the walks run on a device")

WILD = "(a)-->(b)--(c)-[:1|2]->(d)-->(a)"
EDGES = "(a)-[:0]-(b)-[:1]-(c)--(d), (d)-[:2]-(a)"
CASES: list[Any] = [
    pytest.param(TRIANGLE, {}, {}, id="triangle"),
    pytest.param(SQUARE, {"matches": True}, {}, id="square listed"),
    pytest.param(SQUARE, {"symmetry": "subgraphs", "mode": "sequence"}, {}, id="square in sequence"),
    pytest.param(KITE, {"mode": "sequence"}, {}, id="kite in sequence"),
    pytest.param(FLAG, {"matches": True}, {"coalesce": "on"}, id="flag coalesced"),
    pytest.param(BROOM, {"matches": True}, {}, id="broom listed"),
    pytest.param(WILD, {}, {}, id="wild"),
    pytest.param(EDGES, {"mode": "sequence"}, {}, id="edges with labels in sequence"),
    pytest.param(HOUSE, {"symmetry": "subgraphs"}, {}, id="house"),
    pytest.param(HOUSE, {"matches": True, "symmetry": "subgraphs"}, {"coalesce": "on"}, id="house coalesced"),
    pytest.param(SQUARE, {"semantics": "homomorphism"}, {}, id="square of homomorphisms"),
    pytest.param(KITE, {}, {"filter": "nlf"}, id="kite by the candidate table"),
    pytest.param(
        KITE, {}, {"touched_rows": "two_parts", "cache_lookup": "hash"}, id="kite, rows in two parts"
    ),
    pytest.param(SQUARE, {}, {"cache_lookup": "bisect", "row_staging": "on"}, id="square, copies looked up"),
]
Look = Callable[[Callable[..., dict[tuple[int, int], float]], dict[tuple[int, int], float]], None]
"""Is given what estimates, with options, and the true numbers, by name of rows and vertex."""


def by_row(found: Estimated) -> dict[tuple[int, int], float]:
    rows = zip(found.rows.kinds.tolist(), found.rows.vertices.tolist(), strict=True)
    times = dict(zip(rows, found.times.tolist(), strict=True))
    assert len(times) == len(found.times)
    return times


def exact_times(native: _native.Monitor, run: _native.Run, names: Any) -> dict[tuple[int, int], float]:
    found = native.estimate_accesses(_native.AccessEstimator(), run, names, EXACT, seconds=None)
    rows = zip(found.names.tolist(), found.vertices.tolist(), strict=True)
    return dict(zip(rows, found.times.tolist(), strict=True))


def watched(
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    pattern: str,
    look: Look,
    switches: dict[str, str],
    *,
    updates: int = 60,
    calls: int = 2,
    **options: Any,
) -> None:
    """Apply insertions and deletions to a graph, beside the CPU; `look` sees what is estimated."""
    rng = np.random.default_rng(5)
    directed = "->" in pattern
    ends = skewed(rng, 160)
    ends = np.unique(ends if directed else np.sort(ends, axis=0), axis=1)
    labels = rng.integers(0, 3 if "(a:" in pattern else 1, VERTICES)
    of_edges = None
    if "[:" in pattern:
        ends = np.hstack([ends, ends[:, ::2]])  # several edges for some pairs
        of_edges = np.arange(ends.shape[1]) % 3
    graph = mf.Graph.from_edges(
        (ends[0], ends[1]),
        num_vertices=VERTICES,
        directed=directed,
        vertex_labels=labels,
        edge_labels=of_edges,
    )
    changed = np.hstack(
        [skewed(rng, updates // 2 * calls), ends[:, rng.permutation(ends.shape[1])[: updates // 2]]]
    )
    changed = changed[:, rng.permutation(changed.shape[1])]
    inserts = rng.random(changed.shape[1]) < 0.6
    own = None if of_edges is None else np.arange(changed.shape[1]) % 3
    stream = mf.Updates(inserts, *changed, own)
    walk, estimate = OutOfCoreEngine._walk, DeviceWalks.estimate

    def beside(engine: OutOfCoreEngine, to: Any, run: _native.Run, *more: Any) -> None:
        assert engine._native is not None
        assert engine._table is not None
        exact = exact_times(engine._native, run, engine._table.names)

        def and_look(walks: DeviceWalks, *given: Any, **how: Any) -> Estimated:
            look(lambda **drawn: by_row(estimate(walks, *given, **{**how, **drawn})), exact)
            return estimate(walks, *given, **how)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DeviceWalks, "estimate", and_look)
            walk(engine, to, run, *more)

    monkeypatch.setattr(OutOfCoreEngine, "_walk", beside)
    monkeypatch.setattr(Spending, "is_of_use", lambda *_, **__: True)
    monkeypatch.setattr(Spending, "choosing", lambda _: 0.01)
    options = {"mode": "batch", **options}
    tuning = private_tuning({"access_walks": "device", **switches})
    with (
        mf.Monitor(graph, [pattern], device="cpu", **options) as here,
        mf.Monitor(graph, [pattern], device=device, engine="outofcore", tuning=tuning, **options) as there,
    ):
        for part in np.array_split(np.arange(len(stream)), calls):
            ours, theirs = here.apply(stream.rows(part))[0], there.apply(stream.rows(part))[0]
            assert (ours.positive, ours.negative) == (theirs.positive, theirs.negative)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("pattern", "options", "switches"), CASES)
def test_walks_that_look_at_everything_find_the_true_numbers(
    device: str,
    pattern: str,
    options: dict[str, Any],
    switches: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device_walks, "MOST_LOOKS", 10_000)
    monkeypatch.setattr(device_walks, "WALKS_OF_MULTIPROCESSOR", 1 << 9)
    seen = []

    def look(
        estimate: Callable[..., dict[tuple[int, int], float]], exact: dict[tuple[int, int], float]
    ) -> None:
        found = estimate(seconds=None)
        assert found.keys() == exact.keys()
        assert [found[row] for row in exact] == pytest.approx(list(exact.values()), rel=1e-6)
        seen.append(len(exact))

    watched(monkeypatch, device, pattern, look, switches, updates=30, **options)
    assert sum(seen) > 20


@pytest.mark.turns(4)
@pytest.mark.parametrize(("pattern", "options", "switches"), CASES)
def test_the_mean_of_many_estimates_is_the_true_number(
    device: str,
    pattern: str,
    options: dict[str, Any],
    switches: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bounds of the tests are wide enough for all rows of all cases together, with fixed seeds."""
    monkeypatch.setattr(device_walks, "MOST_LOOKS", 10_000)
    monkeypatch.setattr(device_walks, "MOST_WALKS_OF_ROUND", 256)
    monkeypatch.setattr(device_walks, "MOST_WALKS", 256)
    seeds, looked = 60, []

    def look(
        estimate: Callable[..., dict[tuple[int, int], float]], exact: dict[tuple[int, int], float]
    ) -> None:
        if looked or len(exact) < 5:
            return
        keys = sorted(exact)
        truth, found = np.array([exact[key] for key in keys]), np.zeros((seeds, len(keys)))
        for seed in range(seeds):
            given = estimate(seed=seed, seconds=None)
            assert given.keys() <= exact.keys()
            found[seed] = [given.get(key, 0.0) for key in keys]
        errors = found.std(axis=0, ddof=1) / np.sqrt(seeds)
        often = truth > truth.sum() / 100  # the means of rare ones are not normal
        assert (np.abs(found.mean(axis=0) - truth)[often] <= 4.5 * errors[often] + 1e-6 * truth[often]).all()
        totals = found.sum(axis=1)
        assert (
            abs(totals.mean() - truth.sum()) <= 4 * totals.std(ddof=1) / np.sqrt(seeds) + 1e-6 * truth.sum()
        )
        assert totals.std() < truth.sum()
        looked.append(errors.max())

    watched(monkeypatch, device, pattern, look, switches, calls=1, **options)
    assert looked


def test_a_seed_gives_the_same_rows_in_the_same_order(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_walks, "MOST_WALKS_OF_ROUND", 512)
    monkeypatch.setattr(device_walks, "MOST_WALKS", 256 + 512 + 512)
    seen = []

    def estimated(walks: DeviceWalks, *given: Any, **how: Any) -> Estimated:
        def drawn(seed: int) -> tuple[list[list[Any]], Estimated]:
            found = estimate(walks, *given, **{**how, "seconds": None, "seed": seed})
            columns = found.rows.kinds, found.rows.vertices, found.times
            order = np.lexsort([found.rows.vertices, found.rows.kinds, -found.times])
            assert (order == np.arange(len(order))).all()
            return [column.tolist() for column in columns], found

        first, found = drawn(3)
        assert drawn(3)[0] == first
        assert drawn(4)[0] != first
        assert (found.walks, found.rounds, found.left_out) == (256 + 512 + 512, 3, 0)
        seen.append(len(found.times))
        return found

    estimate = DeviceWalks.estimate
    monkeypatch.setattr(DeviceWalks, "estimate", estimated)
    apply_once(device, HOUSE)
    assert seen


def apply_once(
    device: str, pattern: str, devices: int | None = None, *, matches: bool = False, **switches: str
) -> mf.Monitor:
    """Apply updates to a small graph, with what the CPU finds; return the monitor, which is closed."""
    rng = np.random.default_rng(1)
    ends = skewed(rng, 160)
    graph = mf.Graph.from_edges((ends[0], ends[1]), num_vertices=VERTICES, directed="->" in pattern)
    tuning = private_tuning({"access_walks": "device", "cache_time": "free", **switches})
    options: dict[str, Any] = {"mode": "batch", "duplicates": "ignore", "matches": matches}
    updates = [("+-"[at % 2], int(u), int(v)) for at, (u, v) in enumerate(skewed(rng, 40).T)]
    with (
        mf.Monitor(graph, pattern, device="cpu", **options) as here,
        mf.Monitor(
            graph, pattern, device=device, devices=devices, engine="outofcore", tuning=tuning, **options
        ) as there,
    ):
        ours, theirs = here.apply(updates)[0], there.apply(updates)[0]
        assert (ours.positive, ours.negative) == (theirs.positive, theirs.negative)
    return there


def walks_of(monitor: mf.Monitor) -> DeviceWalks:
    engine: Any = monitor._engine
    assert isinstance(engine._walks, DeviceWalks)
    return engine._walks


def test_a_full_table_leaves_rows_out_and_says_so(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_walks, "MOST_SLOTS", 32)
    monkeypatch.setattr(device_walks, "MOST_LOOKS", 10_000)
    monkeypatch.setattr(device_walks, "WALKS_OF_MULTIPROCESSOR", 1 << 11)
    exact: dict[tuple[int, int], float] = {}
    walk = OutOfCoreEngine._walk

    def noting(engine: OutOfCoreEngine, to: Any, run: _native.Run, *more: Any) -> None:
        assert engine._native is not None
        assert engine._table is not None
        exact.update(exact_times(engine._native, run, engine._table.names))
        walk(engine, to, run, *more)

    monkeypatch.setattr(OutOfCoreEngine, "_walk", noting)
    monitor = apply_once(device, "(a)--(b)--(c)--(d)")
    last = walks_of(monitor).last
    found = by_row(last)
    assert last.is_exact
    assert len(exact) > len(found) == 32
    assert [exact[row] for row in found] == pytest.approx(list(found.values()), rel=1e-6)
    assert last.left_out == round(sum(exact.values()) - sum(found.values()))
    assert f"{last.left_out:,} opened rows were left out" in monitor._engine.describe({})
    assert monitor._engine.measured()["walks_left_out"] == last.left_out


def test_walks_end_after_a_round_when_a_call_is_to_stop(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_walks, "MOST_WALKS_OF_ROUND", 256)
    estimate, seen = DeviceWalks.estimate, []

    def stopped(walks: DeviceWalks, *given: Any, **how: Any) -> Estimated:
        asked: list[int] = []

        def goes_on() -> bool:
            asked.append(len(asked))
            return len(asked) < 3

        found = estimate(walks, *given, **{**how, "seconds": None, "goes_on": goes_on})
        assert (found.rounds, found.walks, len(asked)) == (3, 3 * 256, 3)
        late = estimate(walks, *given, **{**how, "seconds": 0.0})
        assert late.rounds == 1
        seen.append(found)
        return found

    monkeypatch.setattr(DeviceWalks, "estimate", stopped)
    apply_once(device, HOUSE)
    assert seen


def test_without_memory_there_are_no_walks_and_no_copies(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refused(room: SpareRoom, nbytes: int, _: Any) -> None:
        asked.append(nbytes)

    monkeypatch.setattr(SpareRoom, "take", refused)
    monitor = apply_once(device, HOUSE)
    assert asked == sorted(asked, reverse=True)
    assert len(asked) > 2
    assert asked[-1] < 1 << 20
    assert walks_of(monitor).last.rounds == 0
    assert monitor._engine.measured()["cache_copied"] == 0


def test_each_of_several_devices_walks_from_its_own_roots(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    estimate, roots = DeviceWalks.estimate, []

    def noting(walks: DeviceWalks, to: Any, plans: Any, table: Any, own: Any, *given: Any, **how: Any) -> Any:
        roots.append(len(own))
        return estimate(walks, to, plans, table, own, *given, **how)

    monkeypatch.setattr(DeviceWalks, "estimate", noting)
    apply_once(device, HOUSE)
    apply_once(device, HOUSE, devices=2)
    assert len(roots) == 3
    assert roots[0] == roots[1] + roots[2]
    assert min(roots) > 0


def test_without_memory_for_roots_of_their_own_there_are_no_walks(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Roots that name plans of shared levels are uploaded once more."""
    of, refused = Room.of, []

    def full(room: Room, nbytes: int, stream: Any) -> Any:
        if room._what == "roots of walks":
            refused.append(nbytes)
            raise FULL
        return of(room, nbytes, stream)

    monkeypatch.setattr(Room, "of", full)
    monitor = apply_once(device, FLAG, matches=True, coalesce="on")
    assert refused
    assert walks_of(monitor).last.rounds == 0


@pytest.mark.parametrize(("seconds", "there"), [(0.01, True), (0.001, False)])
def test_time_chooses_where_walks_are(
    device: str, seconds: float, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    monkeypatch.setattr(Spending, "is_of_use", lambda *_, **__: True)
    monkeypatch.setattr(Spending, "choosing", lambda _: seconds)
    rng = np.random.default_rng(2)
    ends = skewed(rng, 160)
    graph = mf.Graph.from_edges((ends[0], ends[1]), num_vertices=VERTICES)
    options: dict[str, Any] = {"mode": "batch", "duplicates": "ignore"}
    with (
        mf.Monitor(graph, HOUSE, device="cpu", **options) as here,
        mf.Monitor(graph, HOUSE, device=device, engine="outofcore", **options) as monitor,
    ):
        rounds = []

        def apply() -> bool:
            updates = [("+-"[at % 2], int(u), int(v)) for at, (u, v) in enumerate(skewed(rng, 40).T)]
            ours, theirs = here.apply(updates)[0], monitor.apply(updates)[0]
            assert (ours.positive, ours.negative) == (theirs.positive, theirs.negative)
            rounds.append(walks_of(monitor).last.rounds)
            return rounds[-1] > 0

        if there:  # once its kernels are compiled
            wait_until(apply, "walks on the device")
            assert "walks on the device" in monitor.explain()
        else:
            for _ in range(3):
                assert not apply()
            assert "walks on the device" not in monitor.explain()


def test_several_devices_walk_on_the_host_unless_told_otherwise(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    monitor = apply_once(device, HOUSE, 2, access_walks="auto")
    engines: Any = monitor._engine
    assert all(engine._walks.last.rounds == 0 for engine in engines._engines)


def test_walks_are_on_the_host_once_the_device_had_no_memory_for_them(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = []

    def refuse(room: SpareRoom, nbytes: int, _: Any) -> None:
        refused.append(nbytes)

    take = SpareRoom.take
    monkeypatch.setattr(
        SpareRoom, "take", lambda room, *asked: (refuse if "walks" in room._what else take)(room, *asked)
    )
    rng = np.random.default_rng(2)
    ends = skewed(rng, 160)
    graph = mf.Graph.from_edges((ends[0], ends[1]), num_vertices=VERTICES)
    tuning = private_tuning({"cache_time": "free"})
    options: dict[str, Any] = {"mode": "batch", "duplicates": "ignore"}
    with mf.Monitor(graph, HOUSE, device=device, engine="outofcore", tuning=tuning, **options) as monitor:
        engine: Any = monitor._engine

        def apply() -> bool:
            monitor.apply([("+-"[at % 2], int(u), int(v)) for at, (u, v) in enumerate(skewed(rng, 40).T)])
            return bool(refused)

        wait_until(apply, "walks on the device that lack memory")
        asked = len(refused)
        apply()
        assert len(refused) == asked
        assert engine.cache.brought.wanted > 0
