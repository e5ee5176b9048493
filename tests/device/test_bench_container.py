"""The suite `container`, run on a small graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from motiflux.bench.suite import Settings, load_part
from motiflux.gpu.changing.gpma_settings import PackedSettings

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it measures containers on a device")

SUITE = Path(__file__).resolve().parents[2] / "benchmarks/suite/container.py"


@pytest.fixture
def suite(device: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    found = load_part(SUITE)
    caches = (found.edges, found.keys_of, found.graph_and_batch, found.applied_by_cpu)
    monkeypatch.setattr(found, "DEVICE", device)
    monkeypatch.setattr(found, "SCALE", 6)
    monkeypatch.setattr(found, "BATCH", 64)
    for cached in caches:
        cached.cache_clear()
    yield found
    for cached in caches:
        cached.cache_clear()


@pytest.mark.turns(8, "emulated")
def test_every_case_agrees_and_has_its_figures(suite: ModuleType, tmp_path: Path) -> None:
    built = suite.build(tmp_path)
    results = [result for probe in built.probes for result in probe.run(Settings(quick=True))]
    assert [one.case for one in results] == [probe.name for probe in built.probes]
    assert not any(one.disagrees for one in results)
    assert all(bar.value is not None for bar in suite.bars(results))
    by_name = {one.case: one.figures for one in results}
    assert by_name[suite.SUSTAINED]["batches"] > 1
    for container in ("slack", "gpma"):
        assert by_name[f"monitor {container}"].keys() == {
            "merge_ms", "settle_ms", "search_ms", "memory_bytes",
        }  # fmt: skip


def test_entries_that_are_not_those_of_the_array_are_noticed(suite: ModuleType) -> None:
    keys = suite.keys_of(0, 200)
    with suite.stream() as on:
        array = suite.array_of(on, keys, PackedSettings())
        assert not suite.differs(array, on, keys)
        assert suite.differs(array, on, np.sort(np.append(keys[1:], keys[1])))
        array.release()
