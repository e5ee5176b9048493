"""Which estimator a pilot takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from motiflux.result.sample_groups import Groups
from motiflux.sampling.pilot import choose_estimator


class FakeSampler:
    """Gives each estimator the weights and the work it is told to."""

    device = "cpu"
    candidates: Any = None

    def __init__(self, **weights: tuple[list[float], int]) -> None:
        self._weights = weights
        self.asked: list[tuple[str, int, int]] = []

    def draw(self, estimator: str, seed: int, first: int, count: int, timeout: float | None = None) -> Groups:
        self.asked.append((estimator, seed, count))
        if timeout is not None and timeout <= 0:
            count = 0
        weights, work = self._weights[estimator]
        found = np.resize(np.array(weights), count)
        return Groups(found, (found > 0).astype(np.uint32), np.full(count, work, np.uint32))

    def close(self) -> None:
        pass


EVEN = ([1.0, 1.2, 0.8], 100)
UNEVEN = ([0.1, 2.0, 0.4, 1.5], 100)


def test_the_surest_is_taken() -> None:
    for best in ("wanderjoin", "alley", "tree"):
        sampler = FakeSampler(
            **{name: EVEN if name == best else UNEVEN for name in ("wanderjoin", "alley", "tree")}
        )
        assert choose_estimator(sampler, 1, tree=True).estimator == best


def test_work_counts_as_much_as_the_square_of_the_error() -> None:
    cheap = (UNEVEN[0], 1)
    sampler = FakeSampler(wanderjoin=cheap, alley=EVEN, tree=(EVEN[0], 100_000))
    assert choose_estimator(sampler, 1, tree=True).estimator == "wanderjoin"


def test_one_that_missed_what_others_found_is_not_taken_for_sure() -> None:
    low = ([0.1, 0.1001], 100)
    sampler = FakeSampler(wanderjoin=low, alley=UNEVEN, tree=EVEN)
    assert choose_estimator(sampler, 1, tree=True).estimator == "tree"


@pytest.mark.parametrize(("tree", "chosen"), [(True, "tree"), (False, "alley")])
def test_where_few_live_it_says_little(tree: bool, chosen: str) -> None:
    rare = ([0.0] * 63 + [1.0], 1)
    sampler = FakeSampler(wanderjoin=rare, alley=UNEVEN, tree=EVEN)
    assert choose_estimator(sampler, 1, tree=tree).estimator == chosen


@pytest.mark.parametrize(("tree", "chosen"), [(True, "tree"), (False, "alley")])
def test_without_time_none_is_needed(tree: bool, chosen: str) -> None:
    sampler = FakeSampler(wanderjoin=EVEN, alley=UNEVEN, tree=UNEVEN)
    assert choose_estimator(sampler, 1, tree=tree, timeout=0).estimator == chosen


def test_its_samples_are_its_own() -> None:
    sampler = FakeSampler(wanderjoin=EVEN, alley=EVEN, tree=EVEN)
    choose_estimator(sampler, 7, tree=False)
    assert [name for name, _, _ in sampler.asked] == ["wanderjoin", "alley"]
    assert {seed for _, seed, _ in sampler.asked}.isdisjoint({7})
