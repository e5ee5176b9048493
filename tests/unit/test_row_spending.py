"""How long rows may be chosen and copied: shares of the time of searches, saved up."""

from __future__ import annotations

import pytest

from motiflux.gpu.outofcore.spending import (
    FIRST_CHOOSING,
    LEAST_CHOOSING,
    LEAST_ROWS,
    OF_FIRST_SEARCH,
    OF_RUN_CHOOSING,
    OF_RUN_COPYING,
    OF_SEARCH_CHOOSING,
    OF_SEARCH_COPYING,
    Spending,
)


def searched(seconds: float, runs: int = 1, roots: int = 100) -> Spending:
    """Return what is known after some runs, when what the first one allows is spent."""
    spending = Spending()
    for _ in range(runs):
        spending.expect(roots)
        spending.searched(seconds, roots)
    spending.chose(OF_FIRST_SEARCH * seconds)
    spending.copied_before = True
    spending.copied(OF_FIRST_SEARCH * seconds, 0)
    return spending


def test_the_first_run_takes_what_it_takes() -> None:
    spending = Spending()
    spending.expect(100)
    assert spending.choosing() == FIRST_CHOOSING
    assert spending.most_rows() is None


def test_long_searches_have_long_choices_and_short_ones_wait_for_more() -> None:
    long, short = searched(0.2), searched(0.001)
    for spending in (long, short):
        spending.expect(100)
    assert 0.01 < long.choosing() < 0.02
    assert short.choosing() == 0
    runs = 1
    while not short.choosing():
        short.expect(100)
        runs += 1
    assert runs == pytest.approx(LEAST_CHOOSING / (OF_SEARCH_CHOOSING * 0.001), abs=1)
    short.chose(short.choosing())
    assert short.choosing() == 0


def test_short_searches_need_no_copies() -> None:
    assert Spending().is_of_use(1)
    spending = searched(0.01)
    assert spending.is_of_use(100)
    assert not spending.is_of_use(10)
    assert not searched(0.0005).is_of_use(10_000)
    assert spending.is_of_use(10, held=True)  # as long as that since there are copies
    assert not spending.is_of_use(5, held=True)


def test_more_roots_are_expected_to_take_longer() -> None:
    spending = searched(0.01)
    spending.expect(100)
    once = spending.choosing()
    spending.chose(once)
    spending.expect(150)
    assert spending.choosing() == pytest.approx(1.5 * once)


def test_a_search_from_one_root_does_not_tell_how_long_one_from_thousands_takes() -> None:
    spending = searched(0.01, roots=1)
    spending.expect(10_000)
    assert spending.choosing() < 0.002


def test_rows_are_copied_in_a_share_of_the_time_of_searches() -> None:
    spending = Spending()
    spending.copied(0.5, 1000)  # the first copies: half a millisecond a row
    spending.searched(0.1, 100)
    spending.expect(100)
    few = int(OF_RUN_COPYING * 0.1 / 5e-4)
    assert spending.most_rows() == few < LEAST_ROWS  # a run may not spend all that is saved
    spending.copied(0.1, 200)
    spending.expect(100)
    rows = spending.most_rows()
    assert rows is not None
    assert rows == int(OF_SEARCH_COPYING * 0.1 / 5e-4)
    assert spending.choosing() == 0  # so few copies are not worth choosing rows
    spending.copied(rows * 5e-4, rows)
    assert spending.most_rows() == 0
    for _ in range(3):
        spending.expect(100)
    assert spending.choosing() > 0


def test_what_the_first_search_allows_is_spent_in_parts() -> None:
    spending = Spending()
    spending.copied(1e-6, 10)
    spending.searched(0.3, 100)
    spent = runs = 0
    while spent < OF_FIRST_SEARCH * 0.3:
        spending.expect(100)
        assert spending.choosing() <= OF_RUN_CHOOSING * 0.3
        assert spending.most_rows() == pytest.approx((runs + 1) * OF_RUN_COPYING * 0.3 / 1e-7)
        spent += spending.choosing()
        spending.chose(spending.choosing())
        runs += 1
    assert runs == pytest.approx(1 / OF_RUN_CHOOSING, abs=1)


def test_what_takes_long_waits_for_several_searches() -> None:
    spending = Spending()
    spending.searched(0.006, 100)
    spending.least = 0.0015
    seconds = []
    for _ in range(12):
        spending.expect(100)
        seconds.append(spending.choosing())
        if seconds[-1]:
            spending.chose(seconds[-1])
    assert [one > 0 for one in seconds] == 4 * [False, False, True]
    assert max(seconds) == pytest.approx(3 * OF_RUN_CHOOSING * 0.006)


def test_few_rows_that_take_long_do_not_make_rows_dear() -> None:
    spending = Spending()
    spending.copied(0.001, 1000)
    spending.searched(0.1, 100)
    rows = []
    for _ in range(4):
        spending.expect(100)
        rows.append(spending.most_rows())
        spending.copied(0.001, 20)
    assert rows[0] == int(OF_RUN_COPYING * 0.1 / 1e-6)
    assert rows == sorted(rows, reverse=True)
    last = rows[-1]
    assert last is not None
    assert rows[0] is not None
    assert last > rows[0] / 2


def test_shares_of_few_runs_are_saved() -> None:
    spending = Spending()
    spending.copied(0.001, 10)
    spending.searched(0.002, 100)
    spending.copied(0.002, 20)
    for _ in range(1000):
        spending.expect(100)
    rows = spending.most_rows()
    assert rows is not None
    assert rows <= 16 * OF_SEARCH_COPYING * 0.002 / 1e-4


def test_runs_without_roots_or_rows_tell_nothing() -> None:
    spending = Spending()
    spending.searched(1.0, 0)
    spending.copied(1.0, 0)
    assert spending.choosing() == FIRST_CHOOSING
    assert spending.most_rows() is None
