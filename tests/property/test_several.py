"""Several patterns in one call are counted as they are one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases, other_patterns

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]

SWITCHES = [
    ("share", "off"),
    ("candidates", "off"),
    ("tail", "off"),
    ("reuse", "off"),
    ("degrees", "off"),
    ("order", "given"),
    ("multiply", "off"),
    ("intersect", "merge"),
]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(COMBINATIONS), ids=str)
def test_a_list_gives_what_single_calls_give(combination: Combination, depth: str, device: str) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels), st.data())
    def holds(case: Case, data: st.DataObject) -> None:
        options = combination.options(device)
        graph = case.graph()
        others = data.draw(other_patterns(case), label="others")
        patterns = [case.pattern(), *(replace(case, **other).pattern() for other in others)]
        single = [mf.count(graph, pattern, **options) for pattern in patterns]
        limit = data.draw(st.none() | st.integers(0, max(map(int, single)) + 1), label="limit")
        threads = data.draw(st.sampled_from((1, 2)), label="threads")
        drawn = data.draw(st.lists(st.sampled_from(SWITCHES), max_size=4), label="tuning")
        tuning = private_tuning(dict(drawn))
        together = mf.count(graph, patterns, limit=limit, threads=threads, tuning=tuning, **options)
        expected = [int(count) if limit is None else min(int(count), limit) for count in single]
        assert together == expected
        assert [count.complete for count in together] == [limit is None or count <= limit for count in single]

    holds()
