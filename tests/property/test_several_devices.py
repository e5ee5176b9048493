"""What several devices find together is what the definitions say, for every combination of options."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.device import devices_like
from tests.rotating import rotating
from tests.strategies import EMBEDDINGS, Case, Combination, cases, rows_of

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
SWITCHES = st.fixed_dictionaries(
    {},
    optional={
        "tables": st.just("off"),
        "bitmaps": st.just("off"),
        "tail": st.just("off"),
        "parts": st.sampled_from(["on", "off"]),
        "candidates": st.sampled_from(["on", "off"]),
        "lanes": st.sampled_from(["8", "32"]),
        "handover": st.just("off"),
    },
).map(private_tuning)


@pytest.mark.devices("emulated", "cuda", reason="there is one CPU")
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS), ids=str)
def test_several_devices_find_the_embeddings_of_the_reference(
    combination: Combination, depth: str, device: str
) -> None:
    if len(there := devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")

    @settings(settings.get_profile(depth), suppress_health_check=list(HealthCheck))
    @given(cases(combination.directed, combination.labels), st.integers(2, len(there)), SWITCHES, st.data())
    def holds(case: Case, devices: int, switches: dict[str, str], data: st.DataObject) -> None:
        expected = case.embeddings(combination.semantics)
        graph, pattern = case.graph(), case.pattern()
        options = {
            "semantics": combination.semantics,
            "device": device,
            "devices": devices,
            "tuning": switches,
        }
        rows = rows_of(mf.match(graph, pattern, **options))
        assert set(rows) == expected
        assert len(rows) == len(expected), "a row came twice"
        counted = mf.count(graph, pattern, **options)
        assert (counted, counted.complete) == (len(expected), True)
        limit = data.draw(st.integers(0, len(expected) + 1), "limit")
        counted = mf.count(graph, pattern, limit=limit, **options)
        assert (counted, counted.complete) == (min(limit, len(expected)), limit >= len(expected))
        matches = mf.match(graph, pattern, limit=limit, **options)
        rows = rows_of(matches)
        assert len(set(rows) & expected) == len(rows) == min(limit, len(expected))
        assert matches.complete is (limit >= len(expected))

    holds()
