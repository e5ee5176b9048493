"""What is given back once the work in flight is done, whatever is heard meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from motiflux.device.retire import Retirement


class Work:
    """A line, and its only point."""

    def __init__(self) -> None:
        self.passed = False
        self.interrupts = 0

    def tail(self) -> Work | None:
        if self.interrupts > 0:
            self.interrupts -= 1
            raise KeyboardInterrupt
        return None if self.passed else self

    def done(self) -> bool:
        return self.passed


def noted(done: list[int], number: int, *, interrupted: bool = False) -> Callable[[], None]:
    def action() -> None:
        done.append(number)
        if interrupted:
            raise KeyboardInterrupt

    return action


def test_actions_wait_for_the_work_on_their_lines() -> None:
    retirement, busy, idle, done = Retirement(), Work(), Work(), list[int]()
    idle.passed = True
    for line in (busy, idle):
        retirement.open_line(line)
    retirement.add((busy,), noted(done, 0))
    retirement.add((idle,), noted(done, 1))
    retirement.add((), noted(done, 2))
    assert (retirement.drain(), done) == (True, [1])
    busy.passed = True
    assert (retirement.drain(), done) == (False, [1, 0, 2])


def test_what_was_done_when_ctrl_c_was_heard_is_not_done_again() -> None:
    retirement, done = Retirement(), list[int]()
    for number in range(4):
        retirement.add((), noted(done, number, interrupted=number in (1, 2)))
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            retirement.drain()
    assert (retirement.drain(), done) == (False, [0, 1, 2, 3])


def test_what_came_in_when_ctrl_c_was_heard_is_not_lost() -> None:
    retirement, line, done = Retirement(), Work(), list[int]()
    line.passed, line.interrupts = True, 1
    retirement.open_line(line)
    for number in range(3):
        retirement.add((), noted(done, number))
    with pytest.raises(KeyboardInterrupt):
        retirement.drain()
    assert (retirement.drain(), done) == (False, [0, 1, 2])
