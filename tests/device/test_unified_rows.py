"""Rows in unified memory, which out-of-core searches are compared with (GCSM, section VI-A)."""

from __future__ import annotations

from typing import Any

import pytest

import motiflux as mf
from motiflux.device import open_device
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.outofcore.host_rows import HostRows
from tests.device.test_row_cache import PATH, TRIANGLE, VERTICES, drawn, engine_of, monitors, same

pytestmark = pytest.mark.devices("emulated", "cuda", reason="its monitor has no rows for a device")


@pytest.mark.parametrize("policy", ["none", "degree"])
@pytest.mark.parametrize("pattern", [PATH, TRIANGLE])
def test_the_matches_are_those_of_rows_in_pinned_memory(device: str, pattern: str, policy: str) -> None:
    with monitors(device, pattern, cache=policy, host_memory="unified") as (here, there):
        for seed in range(3):
            same(here, there, drawn(seed))
        same(here, there, [("+", VERTICES + at, at % 7) for at in range(100)])
        engine = engine_of(there)
        assert {type(rows) for rows in engine._rows.values()} == {HostRows}
        assert not engine.pinned.nbytes


def test_there_is_no_more_of_it_than_the_device_has_free(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Any, nbytes: int, what: str) -> Any:
        raise DeviceMemoryError(what, nbytes, 0, "search a smaller graph")

    with monitors(device, TRIANGLE, host_memory="unified") as (here, there):
        with monkeypatch.context() as patched:
            patched.setattr(type(open_device(device)), "allocate_managed", refuse)
            with pytest.raises(mf.MotifluxError, match="rows of the changing graph"):
                there.apply(drawn(0))
        same(here, there, drawn(0))
