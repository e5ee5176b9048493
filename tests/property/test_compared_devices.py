"""Patterns with comparisons on a device: embeddings and occurrences, against the reference."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from tests.compared_cases import ComparedCase, compared_cases, long_row_cases
from tests.strategies import rows_of

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the CPU's search has tests of its own")

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
SEMANTICS = ["isomorphism", "induced", "homomorphism"]


@st.composite
def switches(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a matching order, the lanes of groups, and whether windows replace rows."""
    return {
        "tuning": private_tuning(
            {
                "order": draw(st.sampled_from(("given", "sampled"))),
                "lanes": draw(st.sampled_from(("8", "16", "32"))),
                "copy_windows": draw(st.sampled_from(("on", "on", "off"))),
                "multiply": draw(st.sampled_from(("on", "off"))),
                "images": draw(st.sampled_from(("on", "off"))),
                "specialize": "off",
            }
        )
    }


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("semantics", SEMANTICS)
def test_a_device_finds_the_embeddings_that_have_a_choice_of_copies(
    semantics: str, depth: str, device: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(compared_cases(), switches())
    def holds(case: ComparedCase, options: dict[str, Any]) -> None:
        expected = case.embeddings(semantics)
        check(case, expected, device, semantics=semantics, **options)

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_device_reads_windows_of_long_rows(depth: str, device: str) -> None:
    @settings(settings.get_profile(depth))
    @given(long_row_cases(), switches())
    def holds(case: ComparedCase, options: dict[str, Any]) -> None:
        check(case, case.embeddings(), device, **options)

    holds()


@pytest.mark.parametrize("semantics", SEMANTICS[:2])
@given(case=compared_cases(), options=switches())
def test_a_device_finds_each_occurrence_once(
    semantics: str, device: str, case: ComparedCase, options: dict[str, Any]
) -> None:
    expected = case.occurrences(semantics)
    options |= {"semantics": semantics, "symmetry": "subgraphs", "device": device}
    found = rows_of(mf.match(case.graph(), case.pattern(), **options))
    assert len(found) == len(expected)
    assert {occurrence for row in found for occurrence in expected if row in occurrence} == expected
    assert mf.count(case.graph(), case.pattern(), **options) == len(expected)


def check(case: ComparedCase, expected: set[tuple[int, ...]], device: str, **options: Any) -> None:
    """Compare the count and the rows of a device."""
    graph, pattern = case.graph(), case.pattern()
    counted = mf.count(graph, pattern, device=device, **options)
    assert counted == len(expected)
    assert counted.engine == "dfs"
    matches = mf.match(graph, pattern, device=device, **options)
    rows = rows_of(matches)
    assert matches.engine == "dfs"
    assert len(rows) == len(expected), "a row came twice"
    assert set(rows) == expected
