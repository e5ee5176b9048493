"""The dictionary of strings that columns of them are numbered by."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from motiflux._native import Names


@pytest.mark.parametrize("after", [0.1, 0.7], ids=["early", "late"])
def test_an_interrupt_is_answered_at_once_and_loses_nothing(after: float) -> None:
    width, count = 8, 6_000_000
    text = np.random.default_rng(1).integers(0, 256, width * count, dtype=np.uint8)
    offsets = np.arange(0, len(text) + 1, width)
    names, few = Names(), offsets[:1000]
    before = names.codes(text, few)
    sent = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        names.codes(text, offsets)
    answered = time.perf_counter()
    # A tenth of a second, and as much for a machine that is busy with something else.
    assert answered - sent[0] < 0.2
    assert (names.codes(text, few) == before).all()
