"""Many batches on one monitor agree with the CPU's, and a difference or growing memory is told."""

from __future__ import annotations

import numpy as np
import pytest

import motiflux as mf
from scripts import soak_batches

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the CPU is what a device is compared with")


def soak(device: str) -> int:
    return soak_batches.main(["--batches", "10", "--scale", "6", "--device", device])


@pytest.mark.turns(8, "emulated")
def test_batches_agree_with_the_cpu(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert soak(device) == 0
    assert "10 batches on" in capsys.readouterr().out


@pytest.mark.turns(8, "emulated")
def test_growing_memory_is_told(
    device: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak_batches, "GROWTH", 0.5)
    assert soak(device) == 1
    assert "memory of the device grew" in capsys.readouterr().out


def test_a_difference_is_told(
    device: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = mf.Monitor.apply

    def without_the_last(monitor: mf.Monitor, updates: mf.Updates) -> mf.Delta:
        on_device = monitor._engine is not None
        return apply(monitor, updates.rows(np.arange(len(updates) - on_device)))

    monkeypatch.setattr(mf.Monitor, "apply", without_the_last)
    assert soak(device) == 1
    assert "on the CPU" in capsys.readouterr().out
