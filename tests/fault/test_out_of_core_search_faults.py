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
from motiflux.device import devices_like, open_device, pinned
from motiflux.device.base import NotPinnedError
from motiflux.device.pinned import VARIABLE, held
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.gpu.storage import placed_rows
from motiflux.gpu.storage.device_csr import DeviceCsr, DeviceRows, HostRows, resident
from motiflux.request.deadline import OutOfTimeError
from tests.fault.test_changing_faults import FULL, failing_once
from tests.waiting import wait_until

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
    with pytest.warns(mf.MotifluxWarning, match=VARIABLE):
        assert count(other, device) == expected
    assert len(rows_of_host(data, device)) == 2
    del search
    other.forget()
    assert count(other, device) == expected
    assert len(rows_of_host(data, device)) < 2


def refusing(what: str, monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    """Have the device refuse pinned memory for a purpose."""
    gpu = type(open_device(device))
    allocate = gpu.allocate_host

    def allocate_host(self: Any, nbytes: int, purpose: str, *, clear: bool = True) -> Any:
        if what in purpose:
            raise NotPinnedError(f"{purpose}: refused")
        return allocate(self, nbytes, purpose, clear=clear)

    monkeypatch.setattr(gpu, "allocate_host", allocate_host)


@pytest.mark.parametrize("why", ["the budget", "the driver", "no memory is available"])
@pytest.mark.parametrize("policy", ["frequency", "none"])
def test_rows_that_cannot_be_pinned_are_copied_to_the_device_with_a_warning(
    device: str, why: str, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, before = graph(), held()
    expected = mf.count(data, PATTERN, device="cpu")
    words = {"the budget": VARIABLE, "the driver": "refused", "no memory is available": "that are available"}
    if why == "the budget":
        monkeypatch.setenv(VARIABLE, "100")
    elif why == "the driver":
        refusing("stay on the host", monkeypatch, device)
    else:
        monkeypatch.setattr(pinned, "available", lambda: 100)
    options: dict[str, Any] = {"device": device, "engine": "outofcore", "tuning": {"cache": policy}}
    with pytest.warns(mf.MotifluxWarning, match=f"{words[why]}.*ordinary memory: they take memory") as warned:
        found = mf.count(data, PATTERN, **options)
    assert (found, found.complete, found.engine) == (expected, True, "outofcore")
    assert [one.filename for one in warned] == [__file__]
    assert (rows_of_host(data, device), held()) == ([], before)
    assert mf.count(data, PATTERN, **options) == expected  # without another warning, which would be an error
    listed = [mf.match(data, PATTERN, **some).to_numpy() for some in (options, {"device": "cpu"})]
    assert len({tuple(sorted(map(tuple, rows.tolist()))) for rows in listed}) == 1
    monkeypatch.undo()
    data.forget()
    assert mf.count(data, PATTERN, **options) == expected
    assert rows_of_host(data, device)


def test_a_list_whose_rows_cannot_be_pinned_is_whole(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = graph()
    expected = mf.match(data, PATTERN, device="cpu").to_numpy()
    monkeypatch.setenv(VARIABLE, "100")
    with pytest.warns(mf.MotifluxWarning, match="are not pinned"):
        rows = mf.match(data, PATTERN, device=device, engine="outofcore").to_numpy()
    assert sorted(rows.tolist()) == sorted(expected.tolist())


def test_several_devices_copy_rows_that_cannot_be_pinned(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    data = graph()
    expected = mf.count(data, PATTERN, device="cpu")
    monkeypatch.setenv(VARIABLE, "100")
    with pytest.warns(mf.MotifluxWarning, match="are not pinned"):
        assert count(data, device, devices=2) == expected
    rows = mf.match(data, PATTERN, device=device, devices=2, engine="outofcore", symmetry="subgraphs")
    assert len(rows.to_numpy()) == mf.count(data, PATTERN, device="cpu", symmetry="subgraphs")


def test_rows_that_fit_neither_here_nor_there_are_an_error(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next call tries both again."""
    data, gpu = graph(), open_device(device)
    expected = mf.count(data, PATTERN, device="cpu")
    count(data, device)  # the setup of a search stays
    data.forget()
    gc.collect()
    gpu._account.reclaim(1 << 40)  # type: ignore[attr-defined]
    before = held(), gpu.used_memory()
    little = {"gpu_memory": before[1] + 8 * data.num_vertices + 1000}
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setenv(VARIABLE, "100")
            words = f"at most 100 B.*set {VARIABLE}.*lacks memory for the rows"
            with pytest.raises(NotPinnedError, match=words):
                count(data, device, **little)
            gc.collect()
            gpu._account.reclaim(1 << 40)  # type: ignore[attr-defined]
            wait_until(lambda: (held(), gpu.used_memory()) == before, "memory of the search is freed")
            with pytest.warns(mf.MotifluxWarning, match="are not pinned"):
                assert count(data, device) == expected
        data.forget()


def test_rows_that_outgrow_the_device_are_pinned_once_that_is_possible(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = graph()
    expected = mf.count(data, PATTERN, device="cpu")
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, "100")
        with pytest.warns(mf.MotifluxWarning, match="are not pinned"):
            assert count(data, device) == expected
    resident(data, open_device(device)).forget(DeviceRows)
    data.memo.drop("jobs")
    to_device = DeviceCsr._allocate

    def refused(self: DeviceCsr, nbytes: int, context: Any) -> Any:
        if not context.on_host:
            raise FULL
        return to_device(self, nbytes, context)

    monkeypatch.setattr(DeviceCsr, "_allocate", refused)
    other = "(a)--(b)--(c)--(a), (c)--(d)"
    found = mf.count(data, other, device=device, engine="outofcore", tuning=TUNING)
    assert found == mf.count(data, other, device="cpu")
    assert rows_of_host(data, device)
