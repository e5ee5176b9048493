"""Who is asked to give memory back, and for how long."""

from __future__ import annotations

import gc
import weakref

import pytest

from motiflux.device.account import MemoryAccount
from motiflux.errors import DeviceMemoryError


class Cache:
    """Holds bytes of an account that it can give back."""

    def __init__(self, account: MemoryAccount, nbytes: int) -> None:
        self.account = account
        self.nbytes = nbytes
        self.holder = object()
        account.take(self.holder, nbytes, "a cache")
        account.add_reclaimer(self.reclaim)

    def reclaim(self, missing: int) -> int:
        freed, self.nbytes = self.nbytes, 0
        self.account.give_back(self.holder)
        return freed


def test_a_cache_gives_back_before_memory_is_refused() -> None:
    account = MemoryAccount()
    cache = Cache(account, 800)
    account.take("a table", 500, "a table", budget=1000)
    assert (cache.nbytes, account.held()) == (0, 500)


def test_a_cache_goes_when_nobody_else_holds_it() -> None:
    account = MemoryAccount()
    gone = weakref.ref(Cache(account, 100))
    gc.collect()
    assert gone() is None
    assert account.reclaim(100) == 0


def test_caches_that_are_gone_leave_nothing_behind() -> None:
    account = MemoryAccount()
    for _ in range(1000):
        Cache(account, 1)
    kept = Cache(account, 7)
    assert len(account._reclaimers) <= 2
    assert account.reclaim(7) == 7
    assert kept.nbytes == 0


def test_a_function_is_asked_for_ever() -> None:
    account = MemoryAccount()
    asked: list[int] = []

    def refuse(missing: int) -> int:
        asked.append(missing)
        return 0

    account.add_reclaimer(refuse)
    del refuse
    gc.collect()
    for _ in range(2):
        with pytest.raises(DeviceMemoryError):
            account.take("a table", 11, "a table", budget=10)
    assert asked == [1, 1]


def test_reclaimers_are_called_again_if_what_they_released_is_still_held() -> None:
    account, table, other, asked = MemoryAccount(), object(), object(), list[int]()
    account.take(table, 600, "a table")

    def release(missing: int) -> int:
        asked.append(missing)
        if len(asked) == 3:
            account.give_back(table)
        return missing

    account.add_reclaimer(release)
    account.take(other, 600, "another table", budget=1000)
    assert asked == [200, 200, 200]
    assert account.held() == 600
    asked.clear()
    with pytest.raises(DeviceMemoryError):
        account.take(object(), 600, "a third table", budget=1000)
    assert len(asked) == 4
