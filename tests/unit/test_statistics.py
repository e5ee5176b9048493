"""Means, intervals and stopping: plain numbers, no graphs."""

from __future__ import annotations

from itertools import pairwise
from math import fsum, inf, ldexp, log
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from motiflux.statistics import (
    GROUP,
    UNIT_BITS,
    StoppingChecks,
    Tally,
    confidence_interval,
    gamma_quantile,
    share_upper_bound,
    tally,
)
from motiflux.statistics.exact_sum import ExactSum
from motiflux.statistics.interval import variance_doubt
from motiflux.statistics.quantiles import gamma_share


def tally_of(values: NDArray[np.float64], *pieces: int) -> Tally:
    """A tally of groups whose samples have these mean weights, added in pieces of so many."""
    weights = np.ldexp(values * GROUP, -UNIT_BITS)
    made = Tally()
    start = 0
    for piece in (*pieces, len(values)):
        part = weights[start : start + piece]
        made.add(part, (part > 0).astype(np.uint32), np.ones(len(part), np.uint32))
        start += len(part)
    return made


def skewed(random: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Weights as samplers give them: a tenth of them above 0, and these spread over two orders."""
    return np.exp(random.normal(0, 1.2, shape)) * (random.random(shape) < 0.1)


SKEWED_MEAN = 0.1 * float(np.exp(1.2**2 / 2))


class TestQuantiles:
    @pytest.mark.parametrize("probability", [0.001, 0.025, 0.5, 0.975, 0.9999])
    def test_shape_1_is_the_exponential_distribution(self, probability: float) -> None:
        assert gamma_quantile(1, probability) == pytest.approx(-log(1 - probability), rel=1e-9)

    @pytest.mark.parametrize("probability", [0.025, 0.5, 0.975])
    def test_shape_one_half_is_half_the_square_of_a_normal_variable(self, probability: float) -> None:
        root = NormalDist().inv_cdf((1 + probability) / 2)
        assert gamma_quantile(0.5, probability) == pytest.approx(root * root / 2, rel=1e-9)

    @pytest.mark.parametrize("shape", [0.5, 1.7, 20, 300, 4000, 5e4])
    @pytest.mark.parametrize("probability", [1e-4, 0.025, 0.5, 0.975, 1 - 1e-4])
    def test_the_share_below_a_quantile_is_the_probability(self, shape: float, probability: float) -> None:
        assert gamma_share(shape, gamma_quantile(shape, probability)) == pytest.approx(probability, rel=1e-3)

    def test_large_shapes_are_nearly_normal(self) -> None:
        shape = 1e10
        expected = shape + NormalDist().inv_cdf(0.975) * shape**0.5
        assert gamma_quantile(shape, 0.975) - shape == pytest.approx(expected - shape, rel=1e-4)


class TestTally:
    def test_how_groups_are_cut_into_pieces_makes_no_difference(self) -> None:
        values = skewed(np.random.default_rng(1), (10_000,))
        whole = tally_of(values)
        for pieces in ((1,), (7, 900, 1), (4096, 4096)):
            cut = tally_of(values, *pieces)
            assert cut.mean() == whole.mean()
            assert cut.moments() == whole.moments()
            assert (cut.samples, cut.valid, cut.work) == (whole.samples, whole.valid, whole.work)

    def test_the_mean_is_over_all_samples(self) -> None:
        fraction, exponent = tally_of(np.array([3.0, 0.0, 0.0, 1.0])).mean()
        assert ldexp(fraction, exponent) == 1.0

    def test_neighbours_are_added_up_where_there_are_too_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        values = skewed(np.random.default_rng(2), (5001,))
        plain = tally_of(values)
        monkeypatch.setattr(tally, "_MOST_UNITS", 100)
        folded = tally_of(values, *[17] * 200)
        moments = folded.moments()
        assert moments.units <= 100
        assert moments.span * moments.units <= 5001 < moments.span * (moments.units + 1)
        assert folded.mean() == pytest.approx(plain.mean())
        assert folded.samples == plain.samples
        assert tally_of(values).mean() == pytest.approx(folded.mean())
        narrow = confidence_interval(plain.moments(), 0.95)
        wide = confidence_interval(moments, 0.95)
        assert wide.high - wide.low < 2 * (narrow.high - narrow.low)

    def test_what_is_rare_counts_no_more_where_neighbours_are_added_up(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rare = np.zeros(5120)
        rare[[7, 999, 4100]] = 1.0
        cases = (rare, np.ones(5120), skewed(np.random.default_rng(8), (5120,)))
        plain = [tally_of(values).moments().effective for values in cases]
        assert plain[:2] == pytest.approx([3, 5120])
        monkeypatch.setattr(tally, "_MOST_UNITS", 640)
        folded = [tally_of(values).moments() for values in cases]
        assert all(moments.span == 8 for moments in folded)
        assert [moments.effective for moments in folded] == pytest.approx(plain, rel=0.15)

    def test_weights_of_any_size_are_added_up(self) -> None:
        for exponent in (-300, 0, 600):
            values = np.ldexp(np.array([1.0, 2.0, 0.0, 5.0]), exponent)
            fraction, found = tally_of(values).mean()
            assert (fraction, found) == (0.5, exponent + 2)
            interval = confidence_interval(tally_of(values).moments(), 0.9)
            assert 0 < interval.low < ldexp(2.0, exponent) < interval.high < inf

    def test_of_nothing_the_mean_is_0(self) -> None:
        assert Tally().mean() == (0.0, 0)
        assert confidence_interval(Tally().moments(), 0.95).high == inf


class TestExactSums:
    @pytest.mark.parametrize("spread", [0, 30, 600])
    def test_are_rounded_once_whatever_the_pieces(self, spread: int) -> None:
        random = np.random.default_rng(spread)
        numbers = np.ldexp(random.random(3000), random.integers(-spread, spread + 1, 3000))
        numbers[::7] = 0.0
        numbers[::5] *= -0.7
        for pieces in (1, 5, 300):
            total = ExactSum()
            for piece in np.array_split(numbers, pieces):
                total.add(piece)
            assert ldexp(*total.over(1)) == fsum(numbers)
            assert ldexp(*total.over(32 * 3000)) == pytest.approx(fsum(numbers) / 96_000, rel=1e-15)

    def test_hold_what_is_beyond_any_double_and_below_the_least_normal_one(self) -> None:
        for exponent in (1023, -1074):
            total = ExactSum()
            for _ in range(3):
                total.add(np.full(4, ldexp(1.0, exponent)))
            assert total.over(3) == (0.5, exponent + 3)

    def test_of_infinity_are_infinite(self) -> None:
        total = ExactSum()
        total.add(np.array([1.0, inf]))
        total.add(np.array([2.0]))
        assert total.over(2)[0] == inf

    def test_of_nothing_are_0(self) -> None:
        total = ExactSum()
        total.add(np.zeros(5))
        total.add(np.empty(0))
        assert total.over(7) == (0.0, 0)


class TestIntervals:
    @pytest.mark.parametrize("units", [100, 1000])
    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_they_hold_the_mean_of_skewed_weights_as_often_as_they_say(
        self, units: int, confidence: float
    ) -> None:
        values = skewed(np.random.default_rng(3), (1000, units))
        found = [confidence_interval(tally_of(row).moments(), confidence) for row in values]
        held = np.mean([one.low <= SKEWED_MEAN <= one.high for one in found])
        assert held > confidence - 0.015

    def test_they_narrow_with_the_number_of_samples(self) -> None:
        values = skewed(np.random.default_rng(4), (64_000,))
        widths = []
        for units in (1000, 4000, 16_000, 64_000):
            interval = confidence_interval(tally_of(values[:units]).moments(), 0.95)
            widths.append(interval.high - interval.low)
        for wide, narrow in pairwise(widths):
            assert 0.35 < narrow / wide < 0.65

    def test_equal_weights_leave_little_doubt(self) -> None:
        interval = confidence_interval(tally_of(np.full(100, 5.0)).moments(), 0.95)
        assert interval.low == pytest.approx(5 * 0.025 ** (1 / 3200))
        assert 5 < interval.high < 5.2

    @pytest.mark.parametrize("dead", [1e-5, 1e-4, 1e-3, 0.05])
    def test_they_hold_the_mean_where_hardly_any_sample_dies(self, dead: float) -> None:
        lived = np.random.default_rng(6).binomial(GROUP, 1 - dead, (1000, 100)) / GROUP
        found = [confidence_interval(tally_of(row).moments(), 0.95) for row in lived]
        assert np.mean([one.low <= 1 - dead <= one.high for one in found]) > 0.94

    @pytest.mark.parametrize("units", [1, 2, 3, 5, 10])
    @pytest.mark.parametrize("share", [0.03, 0.4, 0.97])
    def test_they_hold_the_mean_of_few_units(self, units: int, share: float) -> None:
        lived = np.random.default_rng(7).binomial(GROUP, share, (1000, units)) / GROUP
        found = [confidence_interval(tally_of(row).moments(), 0.95) for row in lived]
        assert np.mean([one.low <= share <= one.high for one in found]) > 0.94

    @pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999, 1 - 1e-9])
    def test_however_few_and_sure_they_hold_the_mean_of_what_was_drawn(self, confidence: float) -> None:
        widths = []
        for units in (2, 3, 5, 10, 100):
            drawn = skewed(np.random.default_rng(units), (units,)) + 0.01
            found = confidence_interval(tally_of(drawn).moments(), confidence)
            assert 0 <= found.low <= drawn.mean() <= found.high < inf
            widths.append(found.high / drawn.mean())
        if confidence > 0.99:
            assert widths[0] > 10

    @pytest.mark.parametrize(
        ("freedom", "tail", "quantile"),
        [(1, 0.025, 12.706), (2, 0.025, 4.3027), (3, 0.025, 3.1824), (10, 0.025, 2.2281), (4, 0.001, 7.1732)],
    )
    def test_few_units_are_doubted_as_student_does(self, freedom: int, tail: float, quantile: float) -> None:
        z = NormalDist().inv_cdf(1 - tail)
        assert z * variance_doubt(freedom, tail) ** 0.5 == pytest.approx(quantile, rel=0.01)

    def test_one_sample_that_lived_says_hardly_anything(self) -> None:
        interval = confidence_interval(tally_of(np.array([100.0] + [0.0] * 99)).moments(), 0.95)
        assert interval.low < 0.05
        assert interval.high > 5

    def test_none_of_n_samples_bounds_their_share(self) -> None:
        bound = share_upper_bound(1000, 0.95)
        assert (1 - bound) ** 1000 == pytest.approx(0.05)
        assert share_upper_bound(10**12, 0.95) == pytest.approx(3e-12, rel=0.01)
        assert share_upper_bound(0, 0.95) == 1.0


class TestLooks:
    def test_the_chances_of_error_add_up_to_no_more_than_allowed(self) -> None:
        looks = StoppingChecks(0.9, 1, 2**60)
        errors = 0.0
        while not looks.exhausted:
            errors += 1 - looks.confidence
            looks.go_on(1.0, 0.99)
        assert errors <= 0.1 + 1e-12

    def test_each_look_is_where_the_interval_should_be_narrow_enough(self) -> None:
        looks = StoppingChecks(0.95, 100, 10_000)
        looks.go_on(0.2, 0.1)
        assert looks.groups == 440
        looks.go_on(0.1, 0.099)
        assert looks.groups == 880
        looks.go_on(10.0, 0.1)
        assert looks.groups == 7040
        looks.go_on(10.0, 0.1)
        assert (looks.groups, looks.exhausted) == (10_000, True)

    def test_an_interval_of_any_width_is_looked_at_again(self) -> None:
        for width in (1e200, inf):
            looks = StoppingChecks(0.95, 100, 10_000)
            looks.go_on(width, 0.05)
            assert looks.groups == 800

    @pytest.mark.turns(8)
    def test_stopping_when_it_looks_narrow_does_not_miss_more_often(self) -> None:
        random = np.random.default_rng(6)
        held = 0
        runs = 300
        for _ in range(runs):
            values = skewed(random, (65_536,))
            looks = StoppingChecks(0.95, 64, len(values))
            while True:
                moments = tally_of(values[: looks.groups]).moments()
                interval = confidence_interval(moments, looks.confidence)
                mean = float(values[: looks.groups].mean())
                width = max(interval.high - mean, mean - interval.low) / mean if mean > 0 else inf
                if width <= 0.2 or looks.exhausted:
                    break
                looks.go_on(width, 0.2)
            held += interval.low <= SKEWED_MEAN <= interval.high
        assert held / runs >= 0.94
