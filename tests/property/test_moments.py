"""Moments that are kept while groups arrive, against those of all groups at once."""

from __future__ import annotations

from math import frexp, ldexp
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from motiflux.statistics import Tally, tally
from motiflux.statistics.tally import Moments

SCALES = st.sampled_from([0, 5, 60, 900])


@st.composite
def weights(draw: st.DrawFn) -> NDArray[np.float64]:
    """Runs of groups, each of a scale of its own: skewed, some of them 0, or all equal."""
    scale = draw(SCALES)
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    runs = []
    for size in draw(st.lists(st.integers(1, 300), min_size=1, max_size=6)):
        live = random.random(size) < draw(st.sampled_from([0, 0.1, 1]))
        spread = draw(st.sampled_from([0.0, 1e-6, 1.2]))
        runs.append(np.ldexp(np.exp(random.normal(0, spread, size)) * live, draw(st.integers(-scale, scale))))
    return np.concatenate(runs)


def added(numbers: NDArray[np.float64], ends: list[int], *, block: int, most: int) -> Tally:
    """A tally of groups that come in pieces up to these, each followed by a report."""
    made = Tally()
    with patch.object(tally, "_BLOCK", block), patch.object(tally, "_MOST_UNITS", most):
        for part in np.split(numbers, sorted(min(end, len(numbers)) for end in ends)):
            made.add(part, np.zeros(len(part), np.uint32), np.zeros(len(part), np.uint32))
            made.moments()
    return made


def measured(numbers: NDArray[np.float64], span: int, exponent: int) -> Moments:
    """The moments of units of so many groups, by their definition."""
    units = numbers[: len(numbers) // span * span].reshape(-1, span).sum(axis=1)
    scaled = np.ldexp(units, -exponent)
    total, size = float(scaled.sum()), len(units)
    distances = scaled - total / size
    squares, cubes = distances**2, distances**3
    variance = float(squares.mean())
    even = float(squares.sum()) + total * total / (size * span)
    return Moments(
        size,
        span,
        size * span * 32,
        total,
        float(squares.sum()) / max(1, size - 1),
        float(scaled.min()),
        float(scaled.max()),
        float(cubes.mean()) / variance**1.5 if variance > 0 else 0.0,
        total * total / even if even > 0 else 0.0,
        exponent,
    )


@given(weights(), st.lists(st.integers(0, 1800), max_size=8), st.sampled_from([1, 7, 64, 8192]))
@example(np.zeros(100), [3], 7)
@example(np.full(100, 1.1), [3], 7)
@example(np.array([3.0]), [], 8192)
@example(np.array([5e-324, 0.0, 1.5e-323, 1e-320]), [1], 1)
def test_moments_are_those_of_all_units(numbers: NDArray[np.float64], ends: list[int], block: int) -> None:
    for most in (1 << 20, 64):
        made = added(numbers, ends, block=block, most=most)
        found = made.moments()
        assert (made.span == 1) == (len(numbers) <= most)
        expected = measured(numbers, found.span, found.exponent)
        for name in ("units", "span", "draws", "smallest", "largest"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12, abs=0)
        if found.total > 0:
            assert found.exponent == max(-1000, frexp(ldexp(found.largest, found.exponent))[1])
        assert found.total == pytest.approx(expected.total, rel=1e-9, abs=0)
        # Where units differ by hardly anything, what is left of the distances is rounding.
        rounding = (1e-14 * found.largest) ** 2
        assert found.variance >= 0
        assert found.variance == pytest.approx(expected.variance, rel=1e-9, abs=rounding)
        assert found.effective == pytest.approx(expected.effective, rel=1e-9, abs=0)
        if expected.smallest == expected.largest:
            assert (found.variance, found.skewness) == (0, 0)
        elif expected.variance > 1e6 * rounding:
            assert found.skewness == pytest.approx(expected.skewness, rel=1e-7, abs=1e-7)


@given(weights(), st.lists(st.integers(0, 1800), max_size=8), st.sampled_from([1, 7, 64]))
def test_pieces_make_no_difference_to_any_bit(
    numbers: NDArray[np.float64], ends: list[int], block: int
) -> None:
    for most in (1 << 20, 64):
        whole, cut = (added(numbers, pieces, block=block, most=most) for pieces in ([], ends))
        assert cut.moments() == whole.moments()
        assert cut.mean() == whole.mean()
