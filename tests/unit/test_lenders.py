"""What lends a native monitor the memory of its rows."""

from __future__ import annotations

import weakref

import numpy as np

from motiflux import _native


class Part:
    """What a monitor holds; it can be called, as what matches runs is."""

    def __call__(self, run: _native.Run) -> None:
        """Match nothing."""


def test_a_lender_is_let_go_after_all_that_may_read_its_memory() -> None:
    gone: list[str] = []
    lender, matcher = Part(), Part()
    weakref.finalize(lender, gone.append, "lender")
    weakref.finalize(matcher, gone.append, "matcher")
    monitor = _native.Monitor(False, False)
    rows = np.array([0, 1, 2], np.uint64), np.array([1, 0], np.uint32), None
    monitor.load_lent(rows, None, None, 1, lender)
    monitor.match_elsewhere(matcher)
    del lender, matcher
    assert not gone
    del monitor
    assert gone == ["matcher", "lender"]  # the threads that write rows end before the matcher goes
