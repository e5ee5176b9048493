"""The suite ``orbits``: it times a device beside one thread, and sees numbers that differ."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.bench.suite import Settings, load_part

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")

SUITE = Path(__file__).parents[2] / "benchmarks/suite/orbits.py"


@dataclass(frozen=True)
class Kite:
    """A small graph in place of a file."""

    def read(self) -> mf.Graph:
        return mf.Graph.from_edges([(1, 2), (2, 3), (1, 3), (3, 4), (4, 5), (5, 3)])


@pytest.mark.turns(8, "emulated")
def test_numbers_of_both_are_compared(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = load_part(SUITE)
    monkeypatch.setattr(suite.common, "DEVICE", device)
    settings = Settings(timeout=60.0, quick=True)
    text, vertex = suite.PATTERNS["triangle"]
    cases: list[Any] = [
        suite.Beside("orbits 4 email_enron", Kite(), suite.orbits(4)),
        suite.Beside("orbits 5 email_enron", Kite(), suite.orbits(5)),
        suite.Beside("vertices email_enron triangle", Kite(), suite.per_vertex(text, vertex), counted=text),
        suite.Beside("edges email_enron triangle", Kite(), suite.per_edge(text), counted=text),
    ]
    results = [one for case in cases for one in case.run(settings)]
    assert [(one.count, one.disagrees) for one in results] == [
        (mf.orbits(Kite().read()).counts.sum(), False),
        (mf.orbits(Kite().read(), 5).counts.sum(), False),
        (12, False),
        (12, False),
    ]
    bars = {bar.bar: bar for bar in suite.bars(results)}
    assert bars["numbers that differ"].holds
    assert bars["orbits 4 email_enron, times one thread"].value == results[0].ratio
    assert bars["orbits 5 email_enron, times one thread"].value == results[1].ratio
    assert bars["orbits 5 ego_facebook, times one thread"].value is None
    figures = results[1].figures
    assert {"kernel triangles", "kernel five-hubs", "kernel five-solve"} < set(figures)
    assert figures["kernels"] == sum(value for name, value in figures.items() if name != "kernels")
    assert bars["vertices email_enron triangle, times the count"].target == 2.0
