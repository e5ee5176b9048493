"""Rows of a monitor that a device reads where they are, while the host changes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.device import open_device
from motiflux.gpu.changing.rows import RunOfSlackRows
from motiflux.gpu.outofcore.engine import OutOfCoreEngine
from motiflux.gpu.outofcore.host_rows import HostRows
from motiflux.gpu.outofcore.own_rows import OwnRows
from tests.waiting import wait_until

pytestmark = pytest.mark.devices("emulated", "cuda", reason="a monitor of the CPU has no device")

SLACK = 1.6
"""Most host memory of a monitor, over plain CSR."""


def engine_of(monitor: mf.Monitor) -> OutOfCoreEngine:
    engine = monitor._engine
    assert isinstance(engine, OutOfCoreEngine)
    return engine


@pytest.mark.parametrize(
    ("directed", "labels", "pattern", "kind"),
    [
        (False, None, "(a)--(b)--(c)", OwnRows),
        (True, None, "(a)-->(b)-->(c)", OwnRows),
        (True, None, "(a)--(b)--(c)", HostRows),
        (False, "AB", "(a:A)--(b:B)--(c:A)", OwnRows),
        (False, "AB", "(a)--(b)--(c)", HostRows),
        (False, "AB", "(a:A|B)--(b:A|B)--(c:A)", HostRows),
    ],
)
def test_rows_of_one_class_and_direction_are_those_of_the_monitor(
    device: str, directed: bool, labels: str | None, pattern: str, kind: type[Any]
) -> None:
    graph = mf.Graph.from_edges(
        [(0, 1), (1, 2), (2, 3)],
        directed=directed,
        vertex_labels=None if labels is None else list(labels * 2),
    )
    options: dict[str, Any] = {"mode": "batch", "matches": True}
    with (
        mf.Monitor(graph, pattern, device=device, engine="outofcore", **options) as there,
        mf.Monitor(graph, pattern, **options) as here,
    ):
        for updates in ([("+", 0, 3)], [("-", 1, 2), ("+", 1, 3)]):
            ours, theirs = here.apply(updates)[0], there.apply(updates)[0]
            assert sorted(ours.matches.tolist()) == sorted(theirs.matches.tolist())
        assert kind in {type(rows) for rows in engine_of(there)._rows.values()}
        assert (engine_of(there).pinned.nbytes > 0) == any(
            isinstance(rows, OwnRows) for rows in engine_of(there)._rows.values()
        )


@pytest.mark.parametrize("waits", [True, False], ids=["once rows are merged", "before"])
def test_other_classes_of_a_row_that_changes_stay_as_they_are(
    device: str, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host writes all its rows before the search, which reads them where they were."""
    bring = OutOfCoreEngine._bring_rows

    def and_write(engine: OutOfCoreEngine, stream: Any, run: Any, roots: Any) -> None:
        bring(engine, stream, run, roots)
        if waits:
            engine._before_writing(run)
        run.write_rows()

    # 0 is a B, 1 to 20 are As, 21 to 40 are Cs: a new A comes before all Cs in the row of 0.
    labels = ["B", *["A"] * 20, *["C"] * 20]
    graph = mf.Graph.from_edges([(0, leaf) for leaf in (1, 2, *range(21, 41))], vertex_labels=labels)
    options: dict[str, Any] = {"mode": "batch", "matches": True, "tuning": {"cache": "none"}}
    with mf.Monitor(graph, "(a:A)--(b:B)--(c:C)", device=device, engine="outofcore", **options) as monitor:
        monitor.apply([("+", 0, 3)])
        monkeypatch.setattr(OutOfCoreEngine, "_bring_rows", and_write)
        for new in range(4, 21):
            (delta,) = monitor.apply([("+", 0, new)])
            assert sorted(delta.appeared().tolist()) == [[new, 0, leaf] for leaf in range(21, 41)]
        (delta,) = monitor.apply([("-", 0, new) for new in range(1, 12)])
        assert len(delta.vanished()) == 11 * 20
        assert set(delta.vanished()[:, 2].tolist()) == set(range(21, 41))


def test_rows_are_merged_as_they_were_before_the_host_writes_them(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host writes its rows before they are merged; they grow and move meanwhile."""
    merge, runs = RunOfSlackRows.merge.__func__, []  # type: ignore[attr-defined]
    choose = OutOfCoreEngine._choose_rows

    def noting(engine: OutOfCoreEngine, stream: Any, run: Any) -> None:
        choose(engine, stream, run)
        runs.append(run)

    def writing(cls: Any, stream: Any, *more: Any) -> None:
        runs[-1].write_rows()
        merge(cls, stream, *more)

    rng = np.random.default_rng(3)
    graph = mf.Graph.from_edges([(u, u + 1) for u in range(39)])
    triangle = "(a)--(b)--(c)--(a)"
    with (
        mf.Monitor(graph, triangle, device=device, engine="outofcore", mode="batch") as there,
        mf.Monitor(graph, triangle, mode="batch") as here,
    ):
        there.apply([("+", 0, 2)])
        here.apply([("+", 0, 2)])
        monkeypatch.setattr(OutOfCoreEngine, "_choose_rows", noting)
        monkeypatch.setattr(RunOfSlackRows, "merge", classmethod(writing))
        found = 0
        for _ in range(12):
            ends = rng.integers(0, 40, (60, 2))
            updates = [("+-"[int(rng.integers(3)) // 2], int(u), int(v)) for u, v in ends if u != v]
            ours, theirs = here.apply(updates)[0], there.apply(updates)[0]
            assert (ours.positive, ours.negative) == (theirs.positive, theirs.negative)
            found += ours.positive
        assert found > 0


def test_a_monitor_holds_its_rows_once(device: str) -> None:
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 4000, (2, 64_000))
    graph = mf.Graph.from_edges(tuple(ends[:, ends[0] != ends[1]]), num_vertices=4000)
    plain = 8 * (graph.num_vertices + 1) + 4 * 2 * graph.num_edges
    registered = getattr(open_device(device), "registered", {})  # by the emulator alone
    others = set(registered)
    with mf.Monitor(
        graph, "(a)--(b)--(c)--(a)", device=device, engine="outofcore", mode="batch", duplicates="ignore"
    ) as monitor:
        for seed in range(3):
            monitor.apply([("+", seed, seed + 2000), ("-", seed, seed + 2000)])
            monitor.apply([("+", seed, seed + 3000)])
        engine = engine_of(monitor)
        copied = sum(rows.host_nbytes for rows in engine._rows.values() if isinstance(rows, HostRows))
        assert copied == 0
        assert 4 * 2 * monitor.num_edges <= engine.pinned.nbytes <= monitor._native.nbytes
        assert monitor._native.nbytes <= SLACK * plain
        assert {arena.number for arena in engine._reader.arenas()} >= engine.pinned.registrations.keys()  # type: ignore[union-attr]
    assert engine.pinned.nbytes == 0

    def is_released() -> bool:
        open_device(device).used_memory()  # settles what no running work needs
        return not set(registered) - others

    wait_until(is_released, "memory of a closed monitor is released")
