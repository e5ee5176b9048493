"""Estimators of a user's own, as far as no GPU is needed."""

from __future__ import annotations

import numpy as np
import pytest

import motiflux as mf
from motiflux.cpu.sampling import sample_graph
from motiflux.request.policy import SamplingPolicy
from motiflux.result.sample_groups import Groups
from motiflux.sampling.combined_estimate import CombinedEstimate
from motiflux.sampling.stopping import make_rules
from tests.unit.sampling_cases import CASES

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


class _Dead:
    """A sampler none of whose samples live."""

    device, reason = "none", "it is dead"
    least_piece = 64

    def __init__(self) -> None:
        self.candidates = sample_graph(CASES[0].graph, CASES[0].plan(), 1)

    def expect(self, groups: int) -> None:
        pass

    def draw(
        self, estimator: str | SamplingPolicy, seed: int, first: int, count: int, timeout: float | None = None
    ) -> Groups:
        nothing = np.zeros(count, np.uint32)
        return Groups(np.zeros(count), nothing, nothing)

    def close(self) -> None:
        pass


def test_their_weights_have_no_bound_that_is_known() -> None:
    policy = mf.SamplingPolicy("struct Custom : Alley {};")
    rules = make_rules(None, 0.95, 3200)
    high = []
    for estimator in (policy, "tree"):
        found = CombinedEstimate(_Dead(), CASES[0].plan(), estimator, None, bounded=True)
        groups = _Dead().draw(estimator, 0, 0, rules.groups)
        found.add(groups, 0)
        high.append(found.interval(rules.confidence).high)
    fraction, exponent = _Dead().candidates.grow_tree()
    assert high[0] == fraction * 2**exponent
    assert high[1] < 0.01 * high[0]
