"""The engine that ``device="auto"`` chooses for a call of a monitor."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.stream.matching.break_even import H200, LEAST_UPDATES, Facts, decide, expected, work_of

LARGE = Facts(updates=800_000, work=170e-6, threads=16, entries=16_000_000, opened=True)
"""A batch of a tenth of a graph, and a sparse pattern of six vertices."""


def test_large_calls_with_long_searches_go_to_the_gpu() -> None:
    choice = decide(LARGE)
    assert choice.on_gpu
    assert choice.gpu < choice.host / 3
    assert choice.why.endswith("on the CPU")


@pytest.mark.parametrize("updates", [1, 64, 4096, LEAST_UPDATES - 1])
def test_small_calls_stay_on_the_cpu_until_the_gpu_has_the_rows(updates: int) -> None:
    choice = decide(replace(LARGE, updates=updates, lost=1e9))
    assert not choice.on_gpu
    assert choice.why == "the call has fewer than 16,384 updates"


def test_small_calls_that_take_long_go_to_the_gpu() -> None:
    heavy = replace(LARGE, updates=2000, work=500e-6, entries=400_000, seen=True)
    assert decide(heavy).on_gpu
    assert not decide(replace(heavy, seen=False)).on_gpu
    assert not decide(replace(heavy, opened=False)).on_gpu  # this call alone does not pay for that
    assert decide(replace(heavy, opened=False, lost=1.0)).on_gpu
    light = decide(replace(heavy, updates=20, lost=1e9))
    assert light.why == "the call has fewer than 16,384 updates"


def test_searches_that_take_no_time_stay_on_the_cpu() -> None:
    assert not decide(replace(LARGE, work=0.1e-6)).on_gpu


def test_triangles_go_to_the_gpu_in_large_calls_only() -> None:
    triangles = replace(LARGE, work=3.5e-6, lost=10.0)
    assert decide(replace(triangles, updates=1_570_000)).on_gpu
    assert not decide(replace(triangles, updates=4096)).on_gpu


def test_listed_matches_stay_on_the_cpu() -> None:
    assert decide(replace(LARGE, lists=True)).why == "matches are listed"


def test_rows_are_loaded_once_calls_have_lost_as_much_time() -> None:
    small = replace(LARGE, updates=20_000, work=10e-6)
    host, gpu = expected(small, H200)
    load = H200.entry * small.entries
    assert 0 < host - gpu < load
    assert not decide(replace(small, lost=load - 2 * (host - gpu))).on_gpu
    assert decide(replace(small, lost=load)).on_gpu
    assert not decide(replace(small, lost=load - (host - gpu), opened=False)).on_gpu


def test_rows_on_the_gpu_are_given_up_once_calls_have_lost_as_much_time() -> None:
    small = replace(LARGE, updates=1, current=True)
    assert decide(small).on_gpu
    assert not decide(replace(small, lost=H200.entry * small.entries)).on_gpu


def test_a_number_of_updates_replaces_expectation() -> None:
    facts = Facts(updates=8, work=0.0, threads=1, entries=10, least=8)
    assert decide(facts).on_gpu
    assert not decide(replace(facts, updates=7)).on_gpu


def test_the_work_of_a_call_is_what_the_model_makes_its_time_of() -> None:
    host, _ = expected(LARGE, H200)
    assert work_of(LARGE.updates, host, LARGE.threads) == pytest.approx(LARGE.work)
    assert work_of(10, 0.0, 4) == 0.0


@given(
    st.lists(st.tuples(st.sampled_from((1, 1000, 20_000, 500_000)), st.floats(0, 1e-3)), max_size=40),
    st.integers(1, 64),
)
def test_changes_of_engine_cost_at_most_what_calls_lost(calls: list[tuple[int, float]], threads: int) -> None:
    """With times as expected, all loads together take no longer than what was lost before them."""
    facts = Facts(updates=0, work=0.0, threads=threads, entries=1_000_000, opened=True)
    load, loads, lost_in_all = H200.entry * facts.entries, 0.0, 0.0
    for updates, work in calls:
        facts = replace(facts, updates=updates, work=work)
        choice = decide(facts)
        mine, other = (choice.gpu, choice.host) if choice.on_gpu else (choice.host, choice.gpu)
        before = choice.host - choice.gpu if not facts.current else choice.gpu - choice.host
        if choice.on_gpu != facts.current:
            lost_in_all += facts.lost + max(0.0, before)
            loads += load if choice.on_gpu else 0.0
            facts = replace(facts, current=choice.on_gpu, lost=0.0)
        elif facts.current or updates >= LEAST_UPDATES:
            facts = replace(facts, lost=max(0.0, facts.lost + mine - other))
    assert loads <= lost_in_all + 1e-9


@pytest.mark.parametrize(("pattern", "candidates"), [("(a)--(b)--(c)--(a)", 1.0), ("(a)--(b)--(c)", 0.0)])
def test_searches_that_intersect_rows_are_expected_to_visit_one(pattern: str, candidates: float) -> None:
    with mf.Monitor(mf.Graph.from_edges([(0, 1), (1, 2), (0, 2)]), pattern) as monitor:
        assert [watched.row_cost for watched in monitor._watched.values()] == [candidates]
