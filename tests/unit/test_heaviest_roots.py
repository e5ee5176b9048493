"""The order of roots by their work."""

from __future__ import annotations

import numpy as np

from motiflux.gpu.storage.wedge_roots import _heaviest_first


def test_roots_of_most_work_come_first_and_the_last_of_equals() -> None:
    work = np.random.default_rng(1).integers(0, 50, 1000).astype(np.uint32)
    work[:2] = 0xFFFFFFFF
    order = _heaviest_first(work)
    assert order.dtype == np.uint32
    assert order.tolist() == sorted(range(1000), key=lambda at: (work[at], at), reverse=True)
    assert order[:2].tolist() == [1, 0]


def test_no_roots_have_no_order() -> None:
    assert _heaviest_first(np.empty(0, np.uint32)).tolist() == []
