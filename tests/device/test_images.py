"""Embeddings listed as images of a few that are searched for: each one once, wherever the rows are cut."""

from __future__ import annotations

import time
from itertools import product
from math import factorial
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.device import devices_like
from motiflux.device.arrays import DeviceArray
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.rows import ids as device_ids
from motiflux.gpu.rows import stored_rows
from motiflux.request.reports import ProgressReport
from tests.backend.cases import clique, cycle, path
from tests.rotating import in_turn

on_a_gpu = pytest.mark.devices("emulated", "cuda", reason="it is about memory of a device")

Row = tuple[int, ...]

SQUARE = mf.Pattern.from_edges(cycle(4))
PATTERNS = {
    "edge": mf.Pattern.from_edges([(0, 1)]),
    "path": mf.Pattern.from_edges(path(3)),
    "square": SQUARE,
    "star": mf.Pattern.from_edges([(0, 1), (0, 2), (0, 3)]),
    "4-clique": mf.Pattern.from_edges(clique(4)),
    "labels": mf.Pattern.from_edges(cycle(4), vertex_labels=[1, 0, 1, None]),
    "directions": mf.Pattern.parse("(a)-->(b)-->(c)-->(a)"),
    "an anchor": mf.Pattern.parse("(a)--(b)--(c)--(d)--(a) WHERE id(a) = 1003"),
    "conditions": mf.Pattern.parse("(a)--(b)--(c)--(d)--(a) WHERE a.weight > 3 AND c.weight > 3"),
}
ORDERS = {"edge": 2, "path": 2, "square": 8, "star": 6, "4-clique": 24, "labels": 2, "directions": 3}


@pytest.fixture(scope="module")
def graph() -> mf.Graph:
    return graph_of(directed=False)


def graph_of(*, directed: bool) -> mf.Graph:
    random = np.random.default_rng(11)
    edges = random.integers(0, 30, (140, 2)) + 1000
    ids = np.arange(1000, 1030)
    return mf.Graph.from_edges(
        edges,
        vertex_ids=ids,
        directed=directed,
        vertex_labels=(ids % 2),
        vertex_attributes={"weight": ids % 10},
        self_loops="drop",
    )


def rows_of(matches: mf.Matches) -> list[Row]:
    return list(map(tuple, matches.to_numpy().tolist()))


def rows_there(matches: mf.Matches) -> list[Row]:
    return [tuple(row) for batch in matches.device_batches() for row in batch.to_numpy().tolist()]


WAYS = {"host": rows_of, "device": rows_there}


def one_by_one(*asked: Any, **options: Any) -> mf.Matches:
    """Return the matches that the CPU finds without any image."""
    return mf.match(*asked, device="cpu", tuning=private_tuning({"images": "off"}), **options)


def listed(way: str, *asked: Any, **options: Any) -> tuple[list[Row], bool | None]:
    """Return the rows that come that way, and whether that is all."""
    if way == "device" and options["device"] == "cpu":
        pytest.skip("rows on the CPU are on no device")
    matches = mf.match(*asked, **options)
    rows = WAYS[way](matches)
    assert matches.rows == len(rows)
    return rows, matches.complete


@pytest.mark.parametrize(
    ("name", "way", "semantics"),
    in_turn(12, list(product(PATTERNS, WAYS, ["isomorphism", "induced"])), on=["emulated"]),
)
def test_embeddings_are_those_of_the_cpu(device: str, name: str, way: str, semantics: str) -> None:
    searched = graph_of(directed=name == "directions")
    expected = rows_of(one_by_one(searched, PATTERNS[name], semantics=semantics))
    rows, complete = listed(way, searched, PATTERNS[name], device=device, semantics=semantics)
    assert sorted(rows) == sorted(expected)
    assert complete is True


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("way", WAYS)
def test_a_limit_is_about_embeddings(graph: mf.Graph, device: str, way: str) -> None:
    some = mf.Graph.from_edges(one_by_one(graph, PATTERNS["edge"]).to_numpy()[:70])
    expected = set(rows_of(one_by_one(some, SQUARE)))
    total = len(expected)
    assert total > 24
    for limit in (*range(26), *range(total - 9, total + 10)):
        rows, complete = listed(way, some, SQUARE, device=device, limit=limit)
        assert len(rows) == len(set(rows) & expected) == min(limit, total)
        assert complete is (limit >= total), limit


@pytest.mark.turns(8, "cpu", "emulated")
@pytest.mark.parametrize("batch_rows", [1, 7, 8, 20, 1000])
def test_no_batch_has_more_rows_than_were_asked_for(graph: mf.Graph, device: str, batch_rows: int) -> None:
    options: dict[str, Any] = {"device": device, "batch_rows": batch_rows}
    expected = sorted(rows_of(one_by_one(graph, SQUARE)))
    batches = list(mf.match(graph, SQUARE, **options))
    assert max(map(len, batches)) <= batch_rows
    assert sorted(map(tuple, np.concatenate(batches).tolist())) == expected
    exact = list(mf.match(graph, SQUARE, **options).batches(13))
    assert {len(batch) for batch in exact[:-1]} == {13}
    assert sorted(map(tuple, np.concatenate(exact).tolist())) == expected


@pytest.mark.turns(8, "emulated")
@on_a_gpu
@pytest.mark.parametrize("way", WAYS)
def test_a_kernel_that_breaks_off_all_the_time_loses_none(
    graph: mf.Graph, device: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_rows, "_MOST_BYTES", 1)
    monkeypatch.setattr(stored_rows, "HAND_OUT_SECONDS", 0.0)
    monkeypatch.setattr("motiflux.request.deadline._SPIN_SECONDS", 0.0)
    monkeypatch.setattr(stored_rows, "_MOST_BATCH_BYTES", 8 * 4 * 8 * 5)
    for name in ("square", "star", "4-clique"):
        expected = rows_of(one_by_one(graph, PATTERNS[name]))
        rows, complete = listed(way, graph, PATTERNS[name], device=device)
        assert (sorted(rows), complete) == (sorted(expected), True)
        limit = len(expected) - 5
        rows, complete = listed(way, graph, PATTERNS[name], device=device, limit=limit)
        assert len(set(rows) & set(expected)) == len(rows) == limit
        assert complete is False


@pytest.mark.turns(8, "cpu", "emulated")
@on_a_gpu
@pytest.mark.parametrize("limit", [None, 0, 1, 7, 8, 9, 500])
@pytest.mark.parametrize("way", WAYS)
def test_several_devices_share_a_limit(
    graph: mf.Graph, device: str, way: str, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = len(devices_like(device))
    if number < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    monkeypatch.setattr(stored_rows, "_MOST_BYTES", 4096)
    monkeypatch.setattr(stored_rows, "_MOST_BATCH_BYTES", 8 * 4 * 8 * 3)
    expected = rows_of(one_by_one(graph, SQUARE))
    rows, complete = listed(way, graph, SQUARE, device=device, devices=number, limit=limit)
    wanted = len(expected) if limit is None else limit
    assert len(expected) > 500
    assert len(set(rows) & set(expected)) == len(rows) == wanted
    assert complete is (limit is None)


@pytest.mark.turns(8, "emulated")
@on_a_gpu
def test_a_batch_is_cut_down_to_the_memory_there_is(
    graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = device_ids.DeviceIds.empty
    refused = []

    def empty(self: device_ids.DeviceIds, rows: int) -> DeviceArray:
        if rows > 50:
            refused.append(rows)
            raise DeviceMemoryError("rows of ids", rows, 50, "nothing")
        return made(self, rows)

    monkeypatch.setattr(device_ids.DeviceIds, "empty", empty)
    expected = rows_of(one_by_one(graph, SQUARE))
    batches = list(mf.match(graph, SQUARE, device=device).device_batches())
    assert len(refused) < 10
    assert max(map(len, batches)) <= 50
    assert sum(map(len, batches)) == len(expected)
    monkeypatch.setattr(device_ids.DeviceIds, "empty", lambda self, rows: empty(self, 51))
    with pytest.raises(DeviceMemoryError, match="rows of ids"):
        next(mf.match(graph, SQUARE, device=device).device_batches())


@pytest.mark.parametrize("way", WAYS)
def test_a_group_of_720_has_rows_of_its_own_size(device: str, way: str) -> None:
    dense = mf.Graph.from_edges(clique(7))
    rows, complete = listed(way, dense, mf.Pattern.from_edges(clique(6)), device=device, batch_rows=100)
    assert len(set(rows)) == len(rows) == factorial(7)
    assert complete is True
    rows, complete = listed(way, dense, mf.Pattern.from_edges(clique(6)), device=device, limit=1000)
    assert (len(set(rows)), complete) == (1000, False)


def test_images_can_be_switched_off(graph: mf.Graph, device: str) -> None:
    expected = rows_of(one_by_one(graph, SQUARE))
    rows = rows_of(mf.match(graph, SQUARE, device=device, tuning=private_tuning({"images": "off"})))
    assert sorted(rows) == sorted(expected)


@on_a_gpu
@pytest.mark.parametrize("name", ORDERS)
def test_a_search_finds_one_image_of_each(device: str, name: str) -> None:
    searched = graph_of(directed=name == "directions")
    matches = mf.match(searched, PATTERNS[name], device=device)
    source: Any = matches._source
    search = source._source._job
    while not search.done():
        time.sleep(1e-3)
    stored = search.reader.rows_stored()
    assert stored * ORDERS[name] == len(matches.to_numpy()) > 0


@pytest.mark.turns(8, "cpu", "emulated")
def test_ids_edges_and_attributes_go_with_their_images(device: str) -> None:
    pytest.importorskip("pyarrow")
    named = mf.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    for limit in (None, 4):
        options: dict[str, Any] = {"edges": True, "limit": limit}
        table = mf.match(named, PATTERNS["path"], device=device, **options).to_arrow()
        every = one_by_one(named, PATTERNS["path"], edges=True).to_arrow().to_pylist()
        assert len(table) == (limit or len(every))
        assert all(row in every for row in table.to_pylist())


@pytest.mark.turns(8, "emulated")
@on_a_gpu
def test_reports_tell_embeddings(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("motiflux.gpu.rows.found_rows.HAND_OUT_SECONDS", 0.0)
    monkeypatch.setattr(stored_rows, "_MOST_BYTES", 1)
    reports: list[ProgressReport] = []
    dense = mf.Graph.from_edges(clique(14))
    matches = mf.match(dense, SQUARE, device=device, progress=reports.append)
    assert len(matches.to_numpy()) == 14 * 13 * 12 * 11
    if device != "emulated" and not reports:
        pytest.skip(f"device {device} lists all before its first report can come")
    assert reports
    assert all(report.found % 8 == 0 for report in reports)
    assert max(report.found for report in reports) > 0


@on_a_gpu
def test_time_that_is_up_leaves_whole_images(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_rows, "_MOST_BYTES", 1)
    dense = mf.Graph.from_edges(clique(60))
    assert len(mf.match(dense, SQUARE, device=device, limit=1).to_numpy()) == 1  # compiled
    matches = mf.match(dense, SQUARE, device=device, timeout=0.3, batch_rows=64)
    rows = rows_of(matches)
    assert len(set(rows)) == len(rows)
    assert len(rows) % 8 == 0
    assert matches.complete is False
