"""What groups find that take work of others in their block is what the definitions say."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.codegen.kernels import WITHIN_BLOCK
from motiflux.config import private_tuning
from tests.rotating import rotating
from tests.strategies import EMBEDDINGS, Case, Combination, cases, rows_of

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
SWITCHES = st.fixed_dictionaries(
    {"stealing": st.sampled_from(list(WITHIN_BLOCK)), "lanes": st.just("8")},
    optional={
        "tables": st.just("off"),
        "bitmaps": st.just("off"),
        "tail": st.just("off"),
        "packing": st.just("off"),
        "parts": st.sampled_from(["on", "off"]),
        "candidates": st.sampled_from(["on", "off"]),
        "handover": st.just("off"),
    },
).map(private_tuning)


@pytest.mark.devices("emulated", "cuda", reason="the CPU has no blocks")
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS), ids=str)
def test_stealing_in_a_block_finds_the_embeddings_of_the_reference(
    combination: Combination, depth: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("motiflux.codegen.kernels.CHECK_TURNS", (1, 2))

    @settings(settings.get_profile(depth), suppress_health_check=list(HealthCheck))
    @given(cases(combination.directed, combination.labels), SWITCHES, st.data())
    def holds(case: Case, switches: dict[str, str], data: st.DataObject) -> None:
        expected = case.embeddings(combination.semantics)
        graph, pattern = case.graph(), case.pattern()
        options = {"semantics": combination.semantics, "device": device, "tuning": switches}
        rows = rows_of(mf.match(graph, pattern, **options))
        assert set(rows) == expected
        assert len(rows) == len(expected), "a row came twice"
        counted = mf.count(graph, pattern, **options)
        assert (counted, counted.complete) == (len(expected), True)
        limit = data.draw(st.integers(0, len(expected) + 1), "limit")
        counted = mf.count(graph, pattern, limit=limit, **options)
        assert (counted, counted.complete) == (min(limit, len(expected)), limit >= len(expected))

    holds()
