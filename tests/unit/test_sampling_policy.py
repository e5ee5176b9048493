"""Estimators of a user's own, as far as no GPU is needed."""

from __future__ import annotations

import pytest

import motiflux as mf

TRIANGLE = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_they_are_not_for_the_cpu(device: str) -> None:
    policy = mf.SamplingPolicy("struct Custom : Alley {};", name="mine")
    with pytest.raises(mf.ArgumentError, match=r"one of auto, .* compiled for a GPU.*found 'mine'"):
        mf.estimate(TRIANGLE, "(a)--(b)", estimator=policy, device=device)


@pytest.mark.parametrize("given", [("", "mine"), (" \n", "mine"), ("struct Custom;", "")])
def test_they_have_a_text_and_a_name(given: tuple[str, str]) -> None:
    with pytest.raises(mf.ArgumentError, match="expected some text"):
        mf.SamplingPolicy(*given)
