"""Comparisons in patterns: text and back, one form for equal comparisons, and automorphisms."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.pattern.automorphism import automorphisms
from tests.compared_cases import ComparedCase, compared_cases


@given(compared_cases())
def test_the_text_of_a_pattern_gives_it_back(case: ComparedCase) -> None:
    pattern = case.pattern()
    assert mf.Pattern.parse(str(pattern)) == pattern


@given(compared_cases(), st.randoms(use_true_random=False))
def test_the_order_and_the_direction_of_comparisons_do_not_matter(case: ComparedCase, random) -> None:  # type: ignore[no-untyped-def]
    given_order = list(case.comparisons)
    random.shuffle(given_order)
    mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
    turned = tuple(
        (one[2], mirrored.get(one[1], one[1]), one[0], 1, -one[4])
        if len(one) == 5 and one[3] == 1 and random.random() < 0.5
        else one
        for one in given_order
    )
    other = replace(case, comparisons=turned).pattern()
    assert other == case.pattern()
    assert hash(other) == hash(case.pattern())


@given(compared_cases())
def test_automorphisms_keep_comparisons(case: ComparedCase) -> None:
    group = automorphisms(case.pattern(), directed=case.directed)
    expected = case.automorphisms()
    assert set(group.elements()) == expected
    assert group.order == len(expected)
