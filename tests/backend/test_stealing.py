"""Work that changes hands: nothing is lost or comes twice, whoever has it in the end."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.plan import make_plan
from motiflux.request.request import make_request
from tests.backend.cases import clique, cycle
from tests.executing import counting_job, engine_on

ON, OFF = {"bitmaps": "off"}, private_tuning({"bitmaps": "off", "handover": "off"})


def one_sided(seed: int) -> mf.Graph:
    """A graph in which all matches of patterns with a vertex labelled 1 hang from very few arcs."""
    random = np.random.default_rng(seed)
    pairs = random.integers(1, 36, (320, 2))
    edges = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    edges = np.concatenate([[(0, 1), (0, 2)], edges])
    return mf.Graph.from_edges(edges, vertex_labels=[1] + [0] * 35)


PATTERNS = {
    "path": ([(0, 1), (1, 2), (2, 3), (3, 4)], [1, 0, 0, 0, 0]),
    "long path": ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], [1, 0, 0, 0, 0, 0]),
    "ring": (cycle(5), [1, 0, 0, 0, 0]),
    "clique": (clique(4), None),
    "tailed clique": ([*clique(4), (3, 4), (4, 5)], [0, 0, 0, 0, 0, 1]),
    "star": ([(0, 1), (1, 2), (1, 3), (1, 4)], [1, 0, 0, 0, 0]),
}


def pattern(name: str) -> mf.Pattern:
    edges, labels = PATTERNS[name]
    return mf.Pattern.from_edges(edges, vertex_labels=labels)


@pytest.mark.parametrize("semantics", ["isomorphism", "induced", "homomorphism"])
@pytest.mark.parametrize("name", [name for name in PATTERNS if name != "long path"])
def test_counts_are_those_without_handing_over(device: str, name: str, semantics: str) -> None:
    for seed, lanes in ((1, "8"), (2, "16"), (3, "32")):
        graph = one_sided(seed)
        expected = mf.count(graph, pattern(name), semantics=semantics, device="cpu")
        for switches in (ON, OFF):
            tuning = {**switches, "lanes": lanes}
            assert (
                mf.count(graph, pattern(name), semantics=semantics, device=device, tuning=tuning) == expected
            )


@pytest.mark.parametrize("name", [name for name in PATTERNS if name != "long path"])
def test_rows_are_those_without_handing_over(device: str, name: str) -> None:
    graph = one_sided(4)
    expected = sorted(map(tuple, mf.match(graph, pattern(name), device="cpu").to_numpy().tolist()))
    assert len(expected) > 0
    for switches in (ON, OFF):
        rows = mf.match(graph, pattern(name), device=device, tuning={**switches, "lanes": "8"}).to_numpy()
        assert sorted(map(tuple, rows.tolist())) == expected


def test_limits_hold(device: str) -> None:
    graph = one_sided(5)
    whole = mf.count(graph, pattern("path"), device=device)
    assert whole > 5000
    for limit in (0, 1, 1000, whole - 1, whole, whole + 1):
        counted = mf.count(graph, pattern("path"), device=device, limit=limit)
        assert (counted, counted.complete) == (min(limit, whole), limit >= whole)
        rows = mf.match(graph, pattern("path"), device=device, limit=limit).to_numpy()
        assert len({tuple(row) for row in rows.tolist()}) == min(limit, whole)


@pytest.mark.devices("emulated", "cuda", reason="the CPU has threads of its own")
def test_splits_change_hands(device: str) -> None:
    """The counters on the device say that work was handed over, and all of it was done."""
    graph, wanted = one_sided(6), pattern("long path")
    # Counters of a search that rests are cleared at once; groups of one block would share by themselves.
    tuning = private_tuning({**ON, "packing": "off", "rest": "off", "stealing": "none"})
    request = make_request(semantics="isomorphism", symmetry="embeddings", device=device, tuning=tuning)
    engine = engine_on(open_accelerator(device))
    plan = make_plan(graph, wanted, tuning=request.tuning)
    with counting_job(engine, graph, plan, request) as search:
        search.launch()
        while not search.done():
            time.sleep(1e-3)
        assert search.result().found * plan.multiplier == mf.count(graph, wanted, device="cpu")
        final = search.control.final
        assert final.done == search.launches.task.arcs
        (buffer, _), counts = search.memory.cleared[0], np.zeros(3, np.uint64)
        search.stream.download(buffer, counts)
        search.stream.wait()
    waited, claimed, issued = counts.tolist()
    assert waited >= claimed == issued
    # With other policies the emulator lets one group do all before another begins.
    if os.environ.get("MOTIFLUX_SIMT_POLICY", "random") == "random":
        assert issued > 0


@pytest.mark.devices("emulated", "cuda", reason="the CPU has threads of its own")
def test_rows_that_find_no_room_are_handed_out_once(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With little room, groups park again and again while others wait for work."""
    monkeypatch.setattr("motiflux.gpu.rows.stored_rows._MOST_BYTES", 1)
    graph = one_sided(7)
    expected = sorted(map(tuple, mf.match(graph, pattern("path"), device="cpu").to_numpy().tolist()))
    rows = mf.match(graph, pattern("path"), device=device, tuning={"lanes": "8"}).to_numpy()
    assert sorted(map(tuple, rows.tolist())) == expected
