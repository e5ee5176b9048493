"""Large batches: their net changes are found in blocks of rows, by several threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import motiflux as mf
from motiflux import _native
from motiflux.stream.matching.engine import ENGINES

VERTICES, UPDATES = 3000, 60_000  # more at the first vertices than one block is sorted for
FOREVER, INCOMING = 2**32 - 1, 1 << 31


class RecordingEngine:
    """Keeps the ends of each run, and finds no matches."""

    name = "recording"
    coalesces = False
    pools = False
    counts_tails = True
    overlaps_calls = False
    reason = ""
    device = "none"
    found: list[NDArray[np.uint32]]
    writes_early = True

    def check(self, plans: list[Any]) -> None:
        """Accept all plans."""

    def begin(self, native: _native.Monitor, threads: int) -> None:
        """Do nothing: there are no rows."""
        self._native = native

    def match(self, run: _native.Run) -> tuple[None, NDArray[np.uint64], None]:
        """Return no matches."""
        self.found.append(run.ends.copy())
        if self.writes_early:
            run.write_rows()
            run.write_rows()
        return None, np.zeros((self._native.num_plans, 2, 2), np.uint64), None

    def measured(self) -> dict[str, float]:
        """Nothing is measured."""
        return {}

    def abandon(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def open_update_engine(device: str, *, gpu_memory: int | None, tuning: object) -> RecordingEngine:
    return RecordingEngine()


@pytest.fixture
def recorded() -> Iterator[list[NDArray[np.uint32]]]:
    ENGINES[RecordingEngine.name] = __name__
    RecordingEngine.found = []
    yield RecordingEngine.found
    del ENGINES[RecordingEngine.name]


def pairs(seed: int, size: int) -> NDArray[np.int64]:
    """Return edges, most of them at vertices with small numbers, without self-loops."""
    drawn = (np.random.default_rng(seed).random((size, 2)) ** 2 * VERTICES).astype(np.int64)
    return drawn[drawn[:, 0] != drawn[:, 1]]


def updates(seed: int, graph: mf.Graph) -> mf.Updates:
    """Return insertions, and deletions of edges that mostly exist; many edges come several times."""
    edges = graph.to_edges()
    draw = np.random.default_rng(seed)
    some = draw.integers(0, len(edges.src), UPDATES // 2)
    both = np.concatenate([pairs(seed, UPDATES // 2), np.stack([edges.src[some], edges.dst[some]], 1)])
    both = draw.permutation(both)
    return mf.Updates(draw.random(len(both)) < 0.5, both[:, 0].copy(), both[:, 1].copy())


def edges_of(monitor: mf.Monitor) -> set[tuple[int, int]]:
    """Return its edges in its own numbers; the lower end first, if it is undirected."""
    graph = monitor.snapshot()
    edges, ids = graph.to_edges(), monitor._numbering.ids
    number = {name: ids.vertex_of(name) for name in range(VERTICES)}
    found = [(number[u], number[v]) for u, v in zip(edges.src.tolist(), edges.dst.tolist(), strict=True)]
    return set(found) if graph.directed else {(min(edge), max(edge)) for edge in found}


def graph_of(directed: bool) -> mf.Graph:
    edges = pairs(1, 30_000)
    if not directed:
        edges = np.sort(edges, axis=1)
    edges = np.unique(edges, axis=0)
    return mf.Graph.from_edges(
        (edges[:, 0].copy(), edges[:, 1].copy()), num_vertices=VERTICES, directed=directed
    )


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("directed", [False, True])
def test_a_large_batch_counts_the_difference_that_it_makes(directed: bool, threads: int) -> None:
    graph = graph_of(directed)
    pattern = "(a)-->(b)-->(c)-->(a)" if directed else "(a)--(b)--(c)--(a)"
    with mf.Monitor(graph, pattern, mode="batch", threads=threads, duplicates="ignore") as monitor:
        before = mf.count(graph, pattern)
        delta = monitor.apply(updates(2, graph))[0]
        after = mf.count(monitor.snapshot(), pattern)
        assert delta.positive > 0
        assert delta.negative > 0
        assert after - before == delta.positive - delta.negative


@pytest.mark.turns(8)
@pytest.mark.parametrize("writes_early", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("directed", [False, True])
def test_an_engine_gets_the_net_changes_by_row(
    directed: bool,
    threads: int,
    writes_early: bool,
    recorded: list[NDArray[np.uint32]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(RecordingEngine, "writes_early", writes_early)
    graph = graph_of(directed)
    batch = updates(3, graph)
    pattern = "(a)-->(b)-->(c)-->(a)" if directed else "(a)--(b)--(c)--(a)"
    options: dict[str, Any] = {"mode": "batch", "threads": threads, "duplicates": "ignore"}
    with (
        mf.Monitor(graph, pattern, device="cuda", engine="recording", **options) as monitor,
        mf.Monitor(graph, pattern, **options) as plain,
    ):
        before = edges_of(plain)
        monitor.apply(batch)
        plain.apply(batch)
        after = edges_of(plain)
        assert edges_of(monitor) == after
    (ends,) = recorded
    back = INCOMING if directed else 0
    keys = [(int(end[0]), int(end[1]), int(end[2])) for end in ends]
    assert keys == sorted(keys)
    expected = set()
    for edges, fresh in ((after - before, 1), (before - after, 0)):
        for source, target in edges:
            expected |= {(source, 0, target, fresh), (target, back, source, fresh)}
    assert {(*key, int(end[5])) for key, end in zip(keys, ends, strict=True)} == expected
    moments = ends[:, 3].astype(np.int64) + np.where(ends[:, 5] == 1, 0, ends[:, 4])
    assert np.all(ends[ends[:, 5] == 1, 4] == FOREVER)
    assert np.all(ends[ends[:, 5] == 0, 3] == 0)
    assert np.array_equal(np.sort(moments), np.repeat(np.arange(len(ends) // 2), 2))
