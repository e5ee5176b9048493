"""Walks on a device: how many there are, what is added to sums and what these stand for, and their order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiflux import _native
from motiflux.gpu.outofcore.device_walks import first_walks
from motiflux.gpu.outofcore.walk_sums import Sums


@given(
    opens=st.integers(1, 1024),
    rounds=st.lists(
        st.tuples(
            st.lists(st.tuples(st.floats(1, 1e300), st.integers(0, 1 << 18)), min_size=4, max_size=4),
            st.integers(256, 1 << 18),
        ),
        min_size=1,
        max_size=6,
    ),
)
def test_no_sum_exceeds_63_bits(opens: int, rounds: list[tuple[list[tuple[float, int]], int]]) -> None:
    sums, most = Sums(opens), 0
    for levels, walks in rounds:
        weights, nodes = [weight for weight, _ in levels], [count for _, count in levels]
        amounts = sums.amounts(weights, nodes, walks)
        assert min(amounts) >= 0
        most += opens * sum(amount * count for amount, count in zip(amounts, nodes, strict=True))
    assert most <= 1 << 63
    assert sums.walks == sum(walks for _, walks in rounds)


@given(walks=st.integers(256, 1 << 18), rounds=st.integers(1, 5), share=st.floats(1e-3, 1.0))
def test_sums_of_rounds_stand_for_the_mean(walks: int, rounds: int, share: float) -> None:
    weights, nodes = [1.0, 37.5], [walks, max(1, int(share * walks))]
    sums, found = Sums(3), np.zeros(2, np.uint64)
    for _ in range(rounds):
        found += np.array(sums.amounts(weights, nodes, walks), np.uint64)
    assert sums.times(found) == pytest.approx(weights, rel=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 4096, 30_000])
def test_rows_are_sorted_by_their_sums_and_then_by_key(count: int, threads: int) -> None:
    rng = np.random.default_rng(count)
    rows = np.stack([rng.permutation(count), rng.integers(0, 50, count)], axis=1).astype(np.uint64)
    expected = rows[np.lexsort([rows[:, 0], -rows[:, 1].astype(np.int64)])]
    _native.sort_opened_rows(rows, threads)
    assert (rows == expected).all()


def test_the_first_round_is_as_large_as_the_device_or_as_the_time_allows() -> None:
    assert first_walks(16_896, None, 1e-6) == 16_896
    assert first_walks(16_896, 1e-3, None) == 16_896
    assert first_walks(16_896, 1.0, 1e-6) == 16_896
    assert first_walks(16_896, 5e-3, 1e-6) == 4096
    assert first_walks(16_896, 1e-4, 1e-3) == 1024
    assert first_walks(256, 1e-4, 1e-3) == 256
    assert first_walks(300, None, None) == 512
    assert first_walks(16_896, 1.0, 0.0) == 16_896
