"""Monitors whose rows stay in a graph file that is mapped, until they are changed."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.device import open_device
from motiflux.device.base import NotPinnedError
from motiflux.device.pinned import VARIABLE, held
from motiflux.gpu.outofcore.engine import OutOfCoreEngine
from motiflux.gpu.outofcore.host_rows import HostRows
from motiflux.gpu.outofcore.own_rows import OwnRows
from motiflux.stream.matching import native

pytestmark = pytest.mark.devices("emulated", "cuda", reason="a monitor of the CPU has no device")

VERTICES = 1500
"""Enough that the rows by source and by target have no page in common."""
DIRECTED = "(a)-->(b)-->(c)-->(a)"
TRIANGLE = "(a)--(b)--(c)--(a)"


@pytest.fixture(autouse=True)
def _lends_small_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_LENT_ARCS", 1)
    monkeypatch.setattr(native, "available", lambda: 0)


def mapped(path: Path, *, directed: bool = False, **more: Any) -> mf.Graph:
    """Return a random graph with hubs, from a file."""
    rng = np.random.default_rng(5)
    ends = (rng.random((6000, 2)) ** 2 * VERTICES).astype(np.int64)
    ends = ends[ends[:, 0] != ends[:, 1]]
    graph = mf.Graph.from_edges(ends, num_vertices=VERTICES, directed=directed, **more)
    mf.write_graph(graph, path / "graph.mfg")
    return mf.read_graph(path / "graph.mfg")


def batches(graph: mf.Graph, seed: int = 1) -> Iterator[list[Any]]:
    """Yield batches: deletions of edges of the file, insertions, and whole rows that go."""
    rng = np.random.default_rng(seed)
    edges = graph.to_edges()
    columns = [np.asarray(edges.src), np.asarray(edges.dst)]
    there = np.stack(columns if edges.labels is None else [*columns, np.asarray(edges.labels)], axis=1)
    for _ in range(4):
        gone = there[rng.choice(len(there), 60, replace=False)]
        new = (rng.random((60, 2)) ** 2 * VERTICES).astype(np.int64)
        if edges.labels is not None:
            new = np.column_stack([new, rng.choice(there[:, 2], len(new))])
        vertex = int(rng.integers(VERTICES))
        row = there[(there[:, :2] == vertex).any(axis=1)]
        told = [("-", *edge.tolist()) for edge in (*gone, *row)]
        yield told + [("+", *edge.tolist()) for edge in new if edge[0] != edge[1]]


def pair(
    graph: mf.Graph, device: str, pattern: str, *, tuning: dict[str, str] | None = None, **options: Any
) -> tuple[mf.Monitor, mf.Monitor]:
    """Return monitors of the host and of the device."""
    given: dict[str, Any] = {"duplicates": "ignore", **options}
    there = mf.Monitor(
        graph, pattern, device=device, engine="outofcore", tuning=private_tuning(tuning or {}), **given
    )
    return mf.Monitor(graph, pattern, **given), there


def engine_of(monitor: mf.Monitor) -> OutOfCoreEngine:
    engine = monitor._engine
    assert isinstance(engine, OutOfCoreEngine)
    return engine


def lent(monitor: mf.Monitor) -> list[bool]:
    """Return of each arena that the device reads whether it is lent."""
    engine = engine_of(monitor)
    assert engine._reader is not None
    return [arena.is_lent for arena in engine._reader.arenas() if arena.number in engine.pinned._pinned]


def agree(here: mf.Monitor, there: mf.Monitor, updates: list[Any]) -> None:
    ours, theirs = here.apply(updates)[0], there.apply(updates)[0]
    assert (ours.positive, ours.negative) == (theirs.positive, theirs.negative)
    if here._options.matches:
        assert sorted(ours.matches.tolist()) == sorted(theirs.matches.tolist())


@pytest.mark.parametrize("mode", ["batch", "sequence"])
@pytest.mark.parametrize(("directed", "pattern"), [(False, TRIANGLE), (True, DIRECTED)])
def test_rows_stay_in_the_file_until_they_are_changed(
    device: str, tmp_path: Path, mode: str, directed: bool, pattern: str
) -> None:
    graph = mapped(tmp_path, directed=directed)
    before = (tmp_path / "graph.mfg").read_bytes()
    opened: Any = open_device(device)
    registered = set(opened.registered) if device == "emulated" else set()
    here, there = pair(graph, device, pattern, mode=mode)
    with here, there:
        held_before = there._native.nbytes
        for updates in batches(graph):
            agree(here, there, updates[:30] if mode == "sequence" else updates)
        assert {type(rows) for rows in engine_of(there)._rows.values()} == {OwnRows}
        assert there._native.has_lent_rows
        assert sorted(lent(there))[-1 - directed :] == [True] * (1 + directed)
        assert False in lent(there)
        assert held_before < 4 * graph.forward.num_arcs + 100 * VERTICES
        edges = [one.snapshot().to_edges() for one in (here, there)]
        assert np.array_equal(np.asarray(edges[0].src), np.asarray(edges[1].src))
        assert np.array_equal(np.asarray(edges[0].dst), np.asarray(edges[1].dst))
    assert (tmp_path / "graph.mfg").read_bytes() == before
    assert not opened._retirement.drain(20.0), "streams do not come to their end"
    if device == "emulated":
        assert set(opened.registered) <= registered


def test_pages_that_the_driver_refuses_are_copied_with_a_warning(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, tried = open_device(device), []
    register = type(opened).register_host

    def refusing(self: Any, *args: Any, only_reads: bool = False) -> Any:
        tried.append(only_reads)
        if only_reads:
            raise NotPinnedError("CUDA_ERROR_NOT_SUPPORTED")
        return register(self, *args)

    monkeypatch.setattr(type(opened), "register_host", refusing)
    graph = mapped(tmp_path)
    here, there = pair(graph, device, TRIANGLE, mode="batch")
    with here, there:
        first, *others = batches(graph)
        with pytest.warns(mf.MotifluxWarning, match=r"file cannot be read where they are mapped .*SUPPORTED"):
            agree(here, there, first)
        assert (tried[0], there._native.has_lent_rows, True in lent(there)) == (True, False, False)
        assert {type(rows) for rows in engine_of(there)._rows.values()} == {OwnRows}
        for updates in others:
            agree(here, there, updates)
        assert tried.count(True) == 1


def test_rows_in_the_file_count_towards_the_budget(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = mapped(tmp_path)
    gc.collect()
    monkeypatch.setenv(VARIABLE, str(held() + 2 * graph.forward.num_arcs))
    here, there = pair(graph, device, TRIANGLE, mode="batch")
    with here, there:
        first, *others = batches(graph)
        with pytest.raises(NotPinnedError, match=r"at most .* of pinned memory of the host"):
            there.apply(first)
        monkeypatch.setenv(VARIABLE, str(held() + (64 << 20)))
        for updates in (first, *others):
            agree(here, there, updates)
        assert there._native.has_lent_rows


def test_monitors_of_one_file_share_what_counts_towards_the_budget(device: str, tmp_path: Path) -> None:
    graph = mapped(tmp_path)
    first, *_ = batches(graph)
    here, there = pair(graph, device, TRIANGLE, mode="batch")
    also, other = pair(graph, device, TRIANGLE, mode="batch")
    with here, there, also, other:
        agree(here, there, first)
        agree(also, other, first[::-1])
        counted = [{bytes_ for _, bytes_ in engine_of(one).pinned._pinned.values()} for one in (there, other)]
        (shared,) = counted[0] & counted[1]
        assert shared.host_nbytes >= 4 * graph.forward.num_arcs
        there.close()
        agree(also, other, first)


def test_a_new_label_moves_all_rows_out_of_the_file(device: str, tmp_path: Path) -> None:
    graph = mapped(tmp_path)
    here, there = pair(graph, device, TRIANGLE, mode="batch")
    with here, there:
        first, second, *_ = batches(graph)
        agree(here, there, first)
        labelled: list[Any] = [("+", 0, VERTICES - 1, 7), ("+", 1, VERTICES - 2, 7)]
        agree(here, there, labelled)
        assert not there._native.has_lent_rows
        agree(here, there, second)
        assert {type(rows) for rows in engine_of(there)._rows.values()} <= {HostRows, OwnRows}


LABELS = {"vertices": (5, 1), "edges": (1, 3), "both": (4, 3), "many": (12, 9)}


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("mode", ["batch", "sequence"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("labels", LABELS)
def test_rows_sorted_by_class_stay_in_the_file_until_they_are_changed(
    device: str, tmp_path: Path, labels: str, directed: bool, mode: str
) -> None:
    graph, (of_vertices, of_edges) = in_class_order(tmp_path, labels, directed=directed), LABELS[labels]
    edge = "-[:1]-" if of_edges > 1 else "--"
    arrow = f"{edge}>" if directed else edge
    ends = ("a:1", "b:2", "c:1") if of_vertices > 1 else ("a", "b", "c")
    pattern = arrow.join(f"({end})" for end in (*ends, ends[0][:1]))
    here, there = pair(graph, device, pattern, mode=mode)
    with here, there:
        assert there._native.nbytes < 0.6 * here._native.nbytes
        for updates in batches(graph):
            agree(here, there, updates[:30] if mode == "sequence" else updates)
        assert {type(rows) for rows in engine_of(there)._rows.values()} == {OwnRows}
        assert there._native.has_lent_rows
        assert True in lent(there)


def test_rows_sorted_by_class_that_the_driver_refuses_are_copied_with_a_warning(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_device(device)
    register = type(opened).register_host

    def refusing(self: Any, *args: Any, only_reads: bool = False) -> Any:
        if only_reads:
            raise NotPinnedError("CUDA_ERROR_NOT_SUPPORTED")
        return register(self, *args)

    monkeypatch.setattr(type(opened), "register_host", refusing)
    graph = in_class_order(tmp_path, "both")
    here, there = pair(graph, device, "(a:1)-[:1]-(b:2)-[:1]-(c:1)-[:1]-(a)", mode="batch")
    with here, there:
        first, *others = batches(graph)
        with pytest.warns(mf.MotifluxWarning, match="file cannot be read where they are mapped"):
            agree(here, there, first)
        assert not there._native.has_lent_rows
        for updates in others:
            agree(here, there, updates)


def in_class_order(path: Path, labels: str, *, directed: bool = False) -> mf.Graph:
    """Return a random graph with labels, from a file that has its rows sorted by class."""
    rng, (of_vertices, of_edges) = np.random.default_rng(3), LABELS[labels]
    ends = (rng.random((8000, 2)) ** 2 * VERTICES).astype(np.int64)
    ends = ends[ends[:, 0] != ends[:, 1]]
    graph = mf.Graph.from_edges(
        ends,
        num_vertices=VERTICES,
        directed=directed,
        vertex_labels=None if of_vertices == 1 else rng.integers(0, of_vertices, VERTICES),
        edge_labels=None if of_edges == 1 else rng.integers(0, of_edges, len(ends)),
    )
    mf.write_graph(graph, path / "labelled.mfg", class_order=True)
    return mf.read_graph(path / "labelled.mfg")


@pytest.mark.parametrize("why", ["in memory", "labels", "the switch", "another engine", "few", "room"])
def test_rows_are_copied_where_they_do_not_serve(
    device: str, tmp_path: Path, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = np.arange(VERTICES) % 2 if why == "labels" else None
    graph = mapped(tmp_path, vertex_labels=labels)
    if why == "in memory":
        edges = graph.to_edges()
        graph = mf.Graph.from_edges((np.asarray(edges.src), np.asarray(edges.dst)))
    if why == "room":
        monkeypatch.setattr(native, "available", lambda: 1 << 30)
    if why == "few":
        monkeypatch.setattr(native, "_LENT_ARCS", graph.forward.num_arcs + 1)
    tuning = private_tuning({"mapped_rows": "off"} if why == "the switch" else {})
    engine = "batch" if why == "another engine" else "outofcore"
    with mf.Monitor(graph, TRIANGLE, device=device, engine=engine, tuning=tuning) as monitor:
        assert not monitor._native.has_lent_rows
        assert monitor._native.nbytes > 4 * graph.forward.num_arcs
