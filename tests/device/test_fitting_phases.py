"""``engine="auto"`` on graphs with edge labels that do not fit into the memory of a device."""

from __future__ import annotations

import gc
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.device import open_device
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.pvm import choice, search
from tests.phases_search import Standing

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it is about GPUs")

PATTERN = "(a)-[:l0]-(b)-[:l1]-(c)-[:l2]-(a)"
OPEN = "(a)-[:l0]-(b)-[:l1]-(c), (a)-[:l2]-(d)"
LABELS = 10
ROOM = 40_000
"""The rows of a label take some 16,000 bytes."""
WHY = "do not fit into the memory of the device: it has the edges of one label at a time"


@pytest.fixture(autouse=True)
def larger_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have phases be preferred although their partitions do not fit together."""
    monkeypatch.setattr(choice, "_SHARE_OF_TABLES", 1.5)


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> Standing:
    made = Standing()
    made.install(monkeypatch)
    return made


def graph(labels: int = LABELS) -> mf.Graph:
    rng = np.random.default_rng(3)
    edges = [pair for pair in combinations(range(200), 2) if rng.random() < 0.9]
    names = [f"l{number}" for number in rng.integers(0, labels, len(edges))]
    return mf.Graph.from_edges(edges, edge_labels=names)


def too_little(device: str) -> dict[str, Any]:
    """Return options with which the rows of one label fit, but not those of three."""
    gc.collect()
    open_device(device)._account.reclaim(1 << 40)  # type: ignore[attr-defined]
    budget = open_device(device).used_memory() + ROOM
    return {
        "device": device,
        "gpu_memory": budget,
        "tuning": {"tables": "off", "bitmaps": "off", "cache": "none"},
    }


@pytest.mark.turns(4, "emulated")
def test_counts_and_rows_are_found_in_phases(device: str, standing: Standing) -> None:
    data = graph()
    options, expected = too_little(device), mf.count(data, PATTERN, device="cpu")
    assert WHY not in mf.explain(data, PATTERN, **options)
    for _ in range(2):
        count = mf.count(data, PATTERN, **options)
        assert (count, count.complete, count.engine, count.device) == (expected, True, "pvm", device)
        assert WHY in count.reason
    told = mf.explain(data, PATTERN, **options)
    assert told.report.engine.name == "pvm"
    assert WHY in told
    assert len(told.report.phases) > 1
    matches = mf.match(data, PATTERN, limit=10, **options)
    assert (len(matches.to_numpy()), matches.engine) == (10, "pvm")
    assert len(standing.phases) == 3
    data.forget()
    fitting = mf.count(data, PATTERN, device=device)
    assert (fitting, fitting.engine) == (expected, "dfs")


def listed(*args: Any, **options: Any) -> int:
    return len(mf.match(*args, **options).to_numpy())


@pytest.mark.parametrize("call", [mf.count, listed])
def test_edges_stay_on_the_host_if_phases_lack_memory_too(
    device: str, monkeypatch: pytest.MonkeyPatch, call: Any
) -> None:
    asked: list[object] = []

    def refuse(*_: Any) -> None:
        asked.append(_)
        raise DeviceMemoryError("embeddings", needed=100, available=10, advice="none")

    monkeypatch.setattr(search, "count_phases", refuse)
    monkeypatch.setattr(search, "list_phases", refuse)
    data, options = graph(), too_little(device)
    expected = mf.count(data, PATTERN, device="cpu")
    for _ in range(2):
        assert call(data, PATTERN, **options) == expected
    assert len(asked) == 1
    assert mf.explain(data, PATTERN, **options).report.engine.name == "outofcore"


@pytest.mark.parametrize(
    "more", [{"semantics": "induced"}, {"gpu_memory": 25_000}], ids=["handed over", "large partitions"]
)
def test_edges_stay_on_the_host_if_phases_do_not_suit(
    device: str, standing: Standing, more: dict[str, Any]
) -> None:
    data, options = graph(), too_little(device)
    if "gpu_memory" in more:
        more = {"gpu_memory": options["gpu_memory"] - ROOM + more["gpu_memory"]}
    options |= more
    semantics = more.get("semantics", "isomorphism")
    pattern = OPEN if semantics == "induced" else PATTERN
    count = mf.count(data, pattern, **options)
    assert count == mf.count(data, pattern, device="cpu", semantics=semantics)
    assert (count.engine, standing.phases) == ("outofcore", [])
