"""How the work of a search is handed out, on a simulated clock."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiflux.cluster.shares import Order, Share, Shares, arcs_of, halves, roots
from motiflux.cluster.simulation import CANDIDATES, Costs, expected, simulate, skewed
from motiflux.cluster.timed_shares import TimedShares, cut


def covered(share: Share) -> list[tuple[int, int, int]]:
    """The candidates of a share: level, root arc of its prefix, and position."""
    return sorted(
        (level, first, at) for level, start, end, _, first, _, _ in share for at in range(start, end)
    )


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(1, 9)), min_size=1, max_size=4))
def test_halves_of_a_share_are_the_whole(given: list[tuple[int, int, int]]) -> None:
    share: Share = [
        roots(start, start + size) if level == 0 else (level, start, start + size, 0, at, at + 1, [0] * level)
        for at, (level, start, size) in enumerate(given)
    ]
    parts = halves(share)
    if parts is None:
        assert len(share) == 1
        assert share[0][2] - share[0][1] == 1
    else:
        assert sorted(covered(parts[0]) + covered(parts[1])) == covered(share)
        assert arcs_of(parts[0]) + arcs_of(parts[1]) == arcs_of(share)
        assert all(parts)


@given(
    given=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 9), st.integers(1, 9)), max_size=4),
    fresh=st.integers(0, 9),
)
def test_halves_of_an_order_have_the_seconds_that_it_was_expected_to_take(
    given: list[tuple[int, int, int]], fresh: int
) -> None:
    back: Share = [(level, first, first + size, size, 0, 1, []) for level, first, size in sorted(given)]
    share = back + ([roots(3, 3 + fresh)] if fresh else [])
    if not share:
        return
    left = [Order(7, share, 2.0, float(len(back)), 10.0 * (fresh > 0))]
    ended = []
    while left:
        one = left.pop()
        halves = one.halved()
        assert all(half.number == 7 and half.seconds == 2.0 for half in halves)
        assert sum(half.guessed for half in halves) == pytest.approx(one.guessed)
        assert sum(half.known for half in halves) == pytest.approx(one.known)
        (left if len(halves) > 1 else ended).extend(halves)
    for one in ended:
        (item,) = one.share
        assert (item[0] == 0, item[0] > 0) == (one.known > 0, one.guessed > 1e-9)


@given(units=st.integers(1, 5000), slots=st.integers(1, 40), seed=st.integers(0, 99))
def test_each_root_arc_is_handed_out_once(units: int, slots: int, seed: int) -> None:
    draws, shares = random.Random(seed), Shares(units, slots)
    done: list[tuple[int, int, int]] = []
    running: list[Share] = []
    while not shares.empty or running:
        while len(running) < slots and (order := shares.take(slots - len(running))) is not None:
            assert order.seconds > 0
            running.append(order.share)
        share = running.pop(draws.randrange(len(running)))
        # Some of the last item is handed back.
        level, start, end, _, _, _, _ = share[-1]
        kept = draws.randint(start, end) if draws.random() < 0.5 else end
        left = [roots(kept, end)] if kept < end else []
        assert level == 0
        done += covered([*share[:-1], roots(start, kept)])
        shares.finished(share, left, draws.random())
    assert sorted(done) == covered([roots(0, units)])
    assert shares.done == units


def test_waiting_shares_are_halved_for_idle_workers() -> None:
    shares = Shares(64, 8)
    order = shares.take(8)
    assert order is not None
    while (more := shares.take(8)) is not None:
        shares.note(more.share, [], 1.0)
    shares.finished(order.share, [roots(0, 32)], 1.0)
    sizes = [arcs_of(one.share) for one in (shares.take(8 - at) for at in range(8)) if one is not None]
    assert sum(sizes) == 32
    assert len(sizes) == 8


ITEMS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(1, 9)), min_size=1, max_size=6)


@given(ITEMS, st.floats(0, 1))
def test_a_share_that_is_cut_is_the_whole(given: list[tuple[int, int, int]], part: float) -> None:
    share: Share = [
        roots(start, start + size) if level == 0 else (level, start, start + size, 0, at, at + 1, [0] * level)
        for at, (level, start, size) in enumerate(given)
    ]
    kept, rest = cut(share, part)
    assert kept
    assert sorted(covered(kept) + covered(rest)) == covered(share)
    assert arcs_of(kept) + arcs_of(rest) == arcs_of(share)
    assert abs(len(covered(kept)) - part * len(covered(share))) <= max(1, share[0][2] - share[0][1])


@given(units=st.integers(1, 5000), slots=st.integers(1, 40), seed=st.integers(0, 99))
def test_each_candidate_is_handed_out_once_by_timed_shares(units: int, slots: int, seed: int) -> None:
    draws, shares = random.Random(seed), TimedShares(units, slots)
    done: list[tuple[int, int, int]] = []
    inside: dict[int, set[int]] = {}
    running: list[Order] = []
    while not shares.empty or running:
        while len(running) < slots and (order := shares.take(slots - len(running))) is not None:
            assert order.seconds > 0
            assert order.share
            running.append(order)
        order = running.pop(draws.randrange(len(running)))
        left: Share = []
        for item in order.share:
            level, start, end, _, arc, _, _ = item
            kept = draws.randint(start, end) if draws.random() < 0.3 else end
            if level == 1:
                for at in range(start, kept):
                    assert at not in inside[arc]
                    inside[arc].add(at)
                left += [(1, kept, end, item[3], arc, arc + 1, [0])] if kept < end else []
                continue
            if kept < end:  # the arc in which time is up has candidates that are left
                inside[kept] = set()
                left += [roots(kept + 1, end)] if kept + 1 < end else []
                left.append((1, 0, 5, 1, kept, kept + 1, [0]))
            done += covered([roots(start, kept)])
        shares.ended(order, left, draws.random() * order.seconds)
    assert sorted(done + [(0, 0, arc) for arc in inside]) == covered([roots(0, units)])
    assert all(found == set(range(5)) for found in inside.values())
    assert shares.done >= units - len(inside)


def test_items_that_were_handed_back_go_to_all_workers_that_wait() -> None:
    shares = TimedShares(64, 8)
    order = shares.take(8)
    assert order is not None
    while (more := shares.take(8)) is not None:
        shares.ended(more, [], 0.01)
    shares.ended(order, [(1, 0, 256, 1, 5, 6, [0])], 0.1)
    sizes: list[int] = []
    while (one := shares.take(8 - len(sizes))) is not None:
        sizes.append(one.share[0][2] - one.share[0][1])
    assert sum(sizes) == 256
    assert len(sizes) >= 8
    assert max(sizes) <= 2 * 256 / 8


def test_small_items_that_were_handed_back_go_to_one_task() -> None:
    shares = TimedShares(1000, 2)
    orders = [shares.take(3), shares.take(3)]
    left: Share = [(1, 0, 4, 1, at, at + 1, [0]) for at in range(20)]
    for order in orders:
        assert order is not None
        shares.ended(order, left, 1e-3)
    merged = shares.take(2)
    assert merged is not None
    assert len(merged.share) == 41
    assert merged.share[-1][0] == 0


@pytest.mark.parametrize(("seconds", "least"), [(1.3, 0.65), (7.3, 0.85), (10.0, 0.85)])
@pytest.mark.parametrize("exponent", [0.0, 0.5, 0.8])
def test_eight_workers_are_busy_and_tasks_about_as_long_as_their_mean(
    seconds: float, least: float, exponent: float
) -> None:
    found = simulate(skewed(200_000, seconds, exponent), 8)
    assert found.efficiency >= least
    assert seconds < 2 or found.longest <= 3 * found.mean


def test_a_simulated_search_takes_the_time_of_its_arcs() -> None:
    free = Costs(0.0, 0.0, 0.0)
    times = skewed(5000, 40.0)
    assert times.sum() == pytest.approx(40.0)
    assert simulate(times, 1, free).seconds == pytest.approx(40.0)
    alone = np.array([40.0])  # all in one root arc, whose candidates are divided
    divided = simulate(alone, 8, free)
    assert divided.seconds < 40.0 / 8 * 1.3
    assert divided.longest >= 40.0 / CANDIDATES


@pytest.mark.parametrize(("seconds", "workers"), [(100.0, 8), (1000.0, 8), (1000.0, 64), (10_000.0, 64)])
def test_the_cost_model_agrees_with_the_simulation(seconds: float, workers: int) -> None:
    found = simulate(skewed(50_000, seconds), workers)
    assert found.efficiency > 0.8
    assert expected(seconds, workers) == pytest.approx(found.seconds, rel=0.25)
