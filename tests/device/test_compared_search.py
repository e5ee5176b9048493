"""Comparisons between attributes on a device: windows, sharing, breaking off, and what the CPU takes over."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.codegen import compared
from motiflux.config import private_tuning
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.gpu.rows import stored_rows
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.gpu.storage import device_copies
from motiflux.graph.copies import CopyIndex, copy_index
from motiflux.plan.comparisons.native import followed
from motiflux.plan.planner import make_plan
from motiflux.request.request import make_request
from tests.executing import counting_job, engine_on

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the CPU's search has tests of its own")

RING = "(a)-[x]->(b)-[y]->(c)-[z]->(a)"
PATTERNS = {
    "ring": f"{RING} WHERE x.time < y.time < z.time WITHIN 60",
    "path": "(a)-[x]->(b)-[y]->(c)-[z]->(d) WHERE x.time < y.time < z.time WITHIN 9",
    "path of floats": "(a)-[x]->(b)-[y]->(c)-[z]->(d) WHERE x.moment < y.moment < z.moment"
    " WITHIN 7.5 OF moment",
    "falling amounts": "(a)-[x]->(b)-[y]->(c)-[z]->(a) WHERE x.time <= y.time <= z.time"
    " AND y.amount >= 0.9 * x.amount AND z.amount >= 0.9 * y.amount WITHIN 120",
    "equal": "(a)-[x]->(b)-[y]->(c) WHERE x.amount <> y.amount AND id(a) < id(c) AND x.time = y.time",
    "sum": "(a)-[x]->(b)-[y]->(c:1) WHERE x.time + y.time = 40",
    "gathered": "(a)-[x]->(b:0), (c)-[y]->(b), (b)-[z]->(d) WHERE x.time < z.time AND y.time < z.time"
    " AND z.time < x.time + 8 AND z.time < y.time + 8",
    "both ways": "(a)-[x]-(b)-[y]-(c)-[z]-(a) WHERE x.time < y.time AND y.time < a.opened WITHIN 40",
    "one pair": "(a)-[x]->(b), (a)-[y]->(b), (b)-[z]->(c) WHERE x.time < y.time AND z.amount > x.amount",
}


@pytest.fixture(scope="module")
def graph() -> mf.Graph:
    """A graph with hubs, repeated edges and labels, which keeps plans and copies on the device."""
    return transfers()


def transfers() -> mf.Graph:
    """Return a graph with hubs, repeated edges and labels."""
    random = np.random.default_rng(3)
    sources, targets = (np.minimum(*random.integers(0, 90, (2, 1100))) for _ in range(2))
    kept = sources != targets
    number = int(kept.sum())
    return mf.Graph.from_edges(
        (sources[kept], targets[kept]),
        directed=True,
        num_vertices=90,
        vertex_labels=random.integers(0, 3, 90),
        edge_labels=random.integers(0, 2, number),
        edge_attributes={
            "time": random.integers(0, 400, number),
            "amount": random.integers(0, 40, number) / 4,
            "moment": random.random(number) * 400,
        },
        vertex_attributes={"opened": random.integers(0, 400, 90)},
    )


def rows_of(matches: mf.Matches) -> list[tuple[int, ...]]:
    return sorted(map(tuple, matches.to_numpy().tolist()))


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("name", PATTERNS)
def test_hubs_are_read_by_windows_and_whole_alike(graph: mf.Graph, device: str, name: str) -> None:
    expected = rows_of(mf.match(graph, PATTERNS[name], device="cpu"))
    assert len(expected) > 1
    for switches in (
        {"lanes": "8"},
        {"lanes": "16", "order": "given"},
        {"lanes": "32", "copy_windows": "off"},
    ):
        options: dict[str, Any] = {
            "device": device,
            "tuning": private_tuning({"specialize": "off", **switches}),
        }
        counted = mf.count(graph, PATTERNS[name], **options)
        assert (counted, counted.engine) == (len(expected), "dfs")
        assert rows_of(mf.match(graph, PATTERNS[name], **options)) == expected
        once = mf.count(graph, PATTERNS[name], symmetry="subgraphs", **options)
        assert once == mf.count(graph, PATTERNS[name], symmetry="subgraphs", device="cpu")


def test_rows_by_value_tell_which_copy_is_the_first_of_its_pair_in_a_window(
    graph: mf.Graph, device: str
) -> None:
    index = index_by_value(graph)
    values, others, pairs, previous = device_copies.rows_by_value(index)
    firsts = index.starts[index.offsets.astype(np.int64)].astype(np.int64)
    for vertex in range(graph.num_vertices):
        row = slice(firsts[vertex], firsts[vertex + 1])
        assert (np.diff(values[row]) >= 0).all()
        assert (index.neighbors[pairs[row]] == others[row]).all()
        for first in range(row.start, row.stop):
            window = slice(first, min(first + 20, row.stop))
            kept = others[window][previous[window] <= first]
            assert sorted(kept) == sorted(set(others[window]))


def index_by_value(graph: mf.Graph) -> CopyIndex:
    plan = make_plan(graph, mf.Pattern.parse(PATTERNS["path"]), copy_walks=False)
    assert plan.comparisons is not None
    (key, *_) = [ends.key for ends in followed(plan) if ends.key is not None and ends.key.by_value]
    columns = next(one.columns for one in plan.comparisons.variables if one.edge is not None)
    return copy_index(graph, replace(key, columns=columns))


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("name", ["ring", "path", "one pair"])
def test_a_kernel_for_the_shape_finds_the_same(graph: mf.Graph, device: str, name: str) -> None:
    options: dict[str, Any] = {"device": device, "tuning": {"specialize": "on"}}
    expected = rows_of(mf.match(graph, PATTERNS[name], device="cpu"))
    assert mf.count(graph, PATTERNS[name], **options) == len(expected)
    assert rows_of(mf.match(graph, PATTERNS[name], **options)) == expected


@pytest.fixture(params=["short pieces", "pauses", "both"])
def breaks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the kernel break off all the time: for want of room, because it is asked to, or both."""
    if request.param != "pauses":
        monkeypatch.setattr(stored_rows, "_MOST_BYTES", 1)
    if request.param != "short pieces":
        monkeypatch.setattr(stored_rows, "HAND_OUT_SECONDS", 0.0)
        monkeypatch.setattr("motiflux.request.deadline._SPIN_SECONDS", 0.0)


@pytest.mark.parametrize("name", ["path", "equal"])
def test_a_kernel_that_breaks_off_finds_every_row_once(
    graph: mf.Graph, device: str, name: str, breaks: None
) -> None:
    expected = rows_of(mf.match(graph, PATTERNS[name], device="cpu"))
    matches = mf.match(graph, PATTERNS[name], device=device, tuning={"specialize": "off", "lanes": "8"})
    assert rows_of(matches) == expected
    assert matches.complete is True


@pytest.mark.parametrize("name", ["path", "equal"])
def test_limits_hold(graph: mf.Graph, device: str, name: str) -> None:
    whole = len(mf.match(graph, PATTERNS[name], device="cpu").to_numpy())
    options: dict[str, Any] = {"device": device, "tuning": {"specialize": "off"}}
    for limit in (0, 1, whole - 1, whole, whole + 1):
        counted = mf.count(graph, PATTERNS[name], limit=limit, **options)
        assert (counted, counted.complete) == (min(limit, whole), limit >= whole)
        matches = mf.match(graph, PATTERNS[name], limit=limit, **options)
        assert len(set(rows_of(matches))) == min(limit, whole)


def test_work_of_few_roots_changes_hands(device: str) -> None:
    """All embeddings hang from one arc, so that other groups have work only if it is shared."""
    random = np.random.default_rng(5)
    pairs = random.integers(1, 30, (1500, 2))
    pairs = np.concatenate([[(0, 1)], pairs[pairs[:, 0] != pairs[:, 1]]])
    times = np.concatenate([[0], random.integers(0, 90, len(pairs) - 1)])
    graph = mf.Graph.from_edges(
        pairs, directed=True, vertex_labels=[1] + [0] * 29, edge_attributes={"time": times}
    )
    pattern = mf.Pattern.parse(
        "(a:1)-[x]->(b)-[y]->(c)-[z]->(d)-[w]->(e) WHERE x.time < y.time < z.time < w.time WITHIN 90"
    )
    expected = mf.count(graph, pattern, device="cpu")
    assert expected > 2000
    for lanes in ("8", "16"):
        switches = {"specialize": "off", "lanes": lanes, "order": "given", "rest": "off"}
        request = make_request(
            semantics="isomorphism", symmetry="embeddings", device=device, tuning=private_tuning(switches)
        )
        plan = make_plan(graph, pattern, tuning=request.tuning, copy_walks=False)
        with counting_job(engine_on(open_accelerator(device)), graph, plan, request) as search:
            search.launch()
            while not search.done():
                time.sleep(1e-3)
            assert search.result().found * plan.multiplier == expected
            (buffer, _), counts = search.memory.cleared[0], np.zeros(3, np.uint64)
            search.stream.download(buffer, counts)
            search.stream.wait()
        waited, claimed, issued = counts.tolist()
        assert waited >= claimed == issued
        # With other policies the emulator lets one group do all before another begins.
        if os.environ.get("MOTIFLUX_SIMT_POLICY", "random") == "random":
            assert issued > 0


def test_choices_of_the_rows_are_listed(graph: mf.Graph, device: str) -> None:
    for edges in (True, "all"):
        options: dict[str, Any] = {"edges": edges, "attributes": ["time"]}
        found = mf.match(graph, PATTERNS["ring"], device=device, tuning={"specialize": "off"}, **options)
        assert found.engine == "dfs"
        expected = mf.match(graph, PATTERNS["ring"], device="cpu", **options)
        assert sorted(map(str, found.to_arrow().to_pylist())) == sorted(
            map(str, expected.to_arrow().to_pylist())
        )


COPIES = 40
DIFFERENT = "x.kind <> y.kind AND y.kind <> z.kind AND x.kind <> z.kind"


@pytest.fixture
def repeated() -> mf.Graph:
    """A ring of three edges with 40 copies each, of two kinds: no choice of copies has three kinds."""
    sources = np.repeat(np.arange(3), COPIES)
    attributes = {"kind": np.arange(len(sources)) % 2, "time": np.arange(len(sources))}
    return mf.Graph.from_edges((sources, (sources + 1) % 3), directed=True, edge_attributes=attributes)


def test_embeddings_with_many_copies_are_decided_by_trials(repeated: mf.Graph, device: str) -> None:
    options: dict[str, Any] = {"device": device, "tuning": {"specialize": "off"}}
    counted = mf.count(repeated, f"{RING} WHERE {DIFFERENT}", **options)
    assert (counted, counted.engine) == (0, "dfs")
    counted = mf.count(repeated, f"{RING} WHERE x.kind <> y.kind AND y.kind <> z.kind", **options)
    assert (counted, counted.engine) == (3, "dfs")


def test_the_cpu_counts_embeddings_whose_trials_take_too_long(
    repeated: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("motiflux.gpu.launch.compared._MOST_TRIALS", 1000)
    options: dict[str, Any] = {"device": device, "tuning": {"specialize": "off"}}
    counted = mf.count(repeated, f"{RING} WHERE {DIFFERENT}", **options)
    assert (counted, counted.complete, counted.engine) == (0, True, "cpu")
    assert "too many copies" in counted.reason
    matches = mf.match(repeated, f"{RING} WHERE {DIFFERENT}", **options)
    assert (len(matches.to_numpy()), matches.complete, matches.engine) == (0, True, "dfs")


def endless() -> tuple[mf.Graph, str]:
    """Return a ring of six edges with 300 copies of five kinds, and a pattern that asks for six."""
    sources = np.repeat(np.arange(6), 300)
    graph = mf.Graph.from_edges(
        (sources, (sources + 1) % 6), directed=True, edge_attributes={"kind": np.arange(len(sources)) % 5}
    )
    names = [f"x{at}" for at in range(6)]
    ring = ", ".join(f"(a{at})-[{name}]->(a{(at + 1) % 6})" for at, name in enumerate(names))
    pairs = [f"{one}.kind <> {two}.kind" for at, one in enumerate(names) for two in names[:at]]
    return graph, f"{ring} WHERE {' AND '.join(pairs)}"


def test_trials_for_a_row_end_with_the_time(device: str) -> None:
    graph, pattern = endless()
    matches = mf.match(graph, pattern, device=device, timeout=1.0, tuning={"specialize": "off"})
    assert len(matches.to_numpy()) == 0
    assert matches.complete is False


def test_ctrl_c_ends_trials_for_a_row(device: str) -> None:
    graph, pattern = endless()
    options: dict[str, Any] = {"device": device, "tuning": {"specialize": "off"}}
    mf.match(graph, RING, **options).to_numpy()  # the device is open, and the kernel compiled
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt), mf.match(graph, pattern, **options) as matches:
        for _ in matches:
            pass
    timer.join()


def test_patterns_beyond_what_kernels_take_are_for_the_cpu(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = rows_of(mf.match(transfers(), PATTERNS["ring"], device="cpu"))
    for limit, what in (("MOST_VARIABLES", "compared edges"), ("MOST_COLUMNS", "compared attributes")):
        with monkeypatch.context() as patch:
            graph = transfers()
            patch.setattr(compared, limit, 2)
            counted = mf.count(graph, PATTERNS["ring"], device=device)
            assert (counted, counted.engine) == (len(expected), "cpu")
            assert f"kernels take at most 2 {what}" in counted.reason
            assert f"kernels take at most 2 {what}" in str(mf.explain(graph, PATTERNS["ring"], device=device))
            matches = mf.match(graph, PATTERNS["ring"], device=device)
            assert (rows_of(matches), matches.engine) == (expected, "cpu")


def test_more_copies_than_places_are_refused(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_copies, "MOST_COPIES", 100)
    with pytest.raises(DeviceError, match=r"expected at most 100 copies of edges .*found 1.*device='cpu'"):
        mf.count(transfers(), PATTERNS["ring"], device=device)


def test_copies_count_towards_the_memory_of_a_call(device: str) -> None:
    gc.collect()  # whatever other tests left in circles of references
    with pytest.raises(DeviceMemoryError, match="copies of edges with their attributes"):
        mf.count(transfers(), PATTERNS["path"], device=device, gpu_memory=24_000)


def test_engines_on_gpus_that_compare_nothing_say_so(graph: mf.Graph, device: str) -> None:
    for engine in ("outofcore", "pvm"):
        counted = mf.count(graph, PATTERNS["ring"], device=device, engine=engine)
        assert counted.engine == "cpu"
        assert counted.reason == f"the CPU engine compares attributes, not {device!r} and {engine!r}"
    several = mf.count(graph, [RING, PATTERNS["ring"]], device=device, tuning={"specialize": "off"})
    assert [one.engine for one in several] == ["dfs", "dfs"]
    assert [int(one) for one in several] == [int(mf.count(graph, one)) for one in (RING, PATTERNS["ring"])]
