"""Searches over edges in memory of the host find what the definitions say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import PRIVATE, TUNING, private_tuning
from motiflux.device import devices_like
from tests.rotating import rotating
from tests.strategies import EMBEDDINGS, Case, Combination, cases, rows_of

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it is about GPUs")


@pytest.mark.parametrize("combination", rotating(EMBEDDINGS), ids=str)
def test_matches_and_count_are_the_embeddings_of_the_reference(combination: Combination, device: str) -> None:
    @settings(deadline=None)
    @given(
        cases(combination.directed, combination.labels),
        st.sampled_from(TUNING["bitmaps"].values),
        st.sampled_from(TUNING["parts"].values),
        st.sampled_from(TUNING["cache"].values),
        st.sampled_from(PRIVATE["cache_percent"].values),
        st.sampled_from(PRIVATE["root_batches"].values),
    )
    def holds(case: Case, bitmaps: str, parts: str, cache: str, percent: str, batches: str) -> None:
        expected = case.embeddings(combination.semantics)
        graph, pattern = case.graph(), case.pattern()
        options = {"semantics": combination.semantics, "device": device, "engine": "outofcore"}
        switches = {"bitmaps": bitmaps, "parts": parts, "cache": cache, "cache_percent": percent}
        tuning = private_tuning({**switches, "root_batches": batches})
        matches = mf.match(graph, pattern, tuning=tuning, **options)
        rows = rows_of(matches)
        assert set(rows) == expected
        assert len(rows) == len(expected), "a row came twice"
        counted = mf.count(graph, pattern, tuning=tuning, **options)
        assert (counted, counted.complete, counted.engine) == (len(expected), True, "outofcore")

    holds()


@settings(deadline=None, max_examples=10)
@given(cases(False, "vertices"))
def test_two_devices_read_the_same_edges(device: str, case: Case) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    expected = len(case.embeddings("isomorphism"))
    counted = mf.count(case.graph(), case.pattern(), device=device, devices=2, engine="outofcore")
    assert counted == expected
