"""Faults of searches over rows that stay on the host: an error or the right count, then the right count."""

from __future__ import annotations

import gc
from contextlib import nullcontext
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux import _native
from motiflux.config import private_tuning
from motiflux.device import open_device, pinned
from motiflux.device.pinned import VARIABLE, held
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.gpu.storage import placed_rows
from motiflux.gpu.storage.device_csr import HostRows, resident
from motiflux.request.deadline import OutOfTimeError
from tests.fault.test_changing_faults import FULL, failing_once

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the CPU copies no rows")

PATTERN = "(a)--(b)--(c)--(d)--(a)"
TUNING = private_tuning({"cache_percent": "20", "tables": "off", "rest": "off"})
STAGES: dict[str, tuple[Any, str]] = {
    "memory is pinned": (pinned, "_pinned"),
    "rows are copied on the host": (_native, "pack_row_ends"),
    "tables are allocated": (placed_rows._Builder, "_allocate"),
    "rows are chosen": (placed_rows, "choose"),
    "rows are copied to the device": (placed_rows, "upload_row_ends"),
    "places are written": (placed_rows._Builder, "_place"),
}


def graph(seed: int = 3, vertices: int = 60) -> mf.Graph:
    rng = np.random.default_rng(seed)
    return mf.Graph.from_edges([pair for pair in combinations(range(vertices), 2) if rng.random() < 0.2])


def count(data: mf.Graph, device: str, **options: Any) -> mf.Count:
    return mf.count(data, PATTERN, device=device, engine="outofcore", tuning=TUNING, **options)


def rows_of_host(data: mf.Graph, device: str) -> list[HostRows]:
    return [one for one in resident(data, open_device(device)).entries() if isinstance(one, HostRows)]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    "error",
    [FULL, DeviceError("refused"), KeyboardInterrupt(), OutOfTimeError()],
    ids=["full", "refused", "Ctrl-C", "timeout"],
)
def test_a_search_that_fails_leaves_nothing_and_the_next_one_is_right(
    device: str, stage: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, expected = graph(), mf.count(graph(), PATTERN, device="cpu")
    place, name = STAGES[stage]
    with monkeypatch.context() as patch:
        patch.setattr(place, name, failing_once(getattr(place, name), error))
        if isinstance(error, OutOfTimeError):
            found = count(data, device)
            assert (found, found.complete) == (0, False)
        elif isinstance(error, DeviceMemoryError):
            # Without memory for copies or places, rows are read from the host.
            with pytest.raises(DeviceMemoryError) if "host" in stage or "pinned" in stage else nullcontext():
                assert count(data, device) == expected
        else:
            with pytest.raises(type(error)):
                count(data, device)
    found = count(data, device)
    assert (found, found.complete) == (expected, True)
    assert rows_of_host(data, device)
    error.__traceback__ = error.__context__ = None  # its frames hold the rows
    before = held()
    data.forget()
    gc.collect()
    assert held() < before


def test_pinned_rows_that_were_used_last_are_kept(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    graphs = [graph(seed) for seed in range(3)]
    expected = [mf.count(data, PATTERN, device="cpu") for data in graphs]
    before = held()
    assert count(graphs[0], device) == expected[0]
    each = held() - before
    monkeypatch.setenv(VARIABLE, str(before + 5 * each // 2))
    assert count(graphs[1], device) == expected[1]
    assert count(graphs[0], device) == expected[0]
    assert count(graphs[2], device) == expected[2]  # there is no room for the rows of all three
    assert len(rows_of_host(graphs[0], device)) == 2
    assert len(rows_of_host(graphs[1], device)) < 2
    assert held() <= before + 5 * each // 2
    assert [count(data, device) for data in graphs] == expected


def test_rows_that_a_search_reads_stay_pinned(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Search:
        pass

    gc.collect()
    data, other, search = graph(), graph(4), Search()
    expected = mf.count(other, PATTERN, device="cpu")
    before = held()
    count(data, device)
    for entry in resident(data, open_device(device)).entries():
        entry.users.add(search)
    monkeypatch.setenv(VARIABLE, str(before + 3 * (held() - before) // 2))
    with pytest.raises(DeviceError, match=VARIABLE):
        count(other, device)
    assert len(rows_of_host(data, device)) == 2
    del search
    assert count(other, device) == expected
    assert len(rows_of_host(data, device)) < 2
