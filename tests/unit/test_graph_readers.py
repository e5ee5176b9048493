"""Readers of a native monitor's rows, asked while other threads still write these."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import motiflux as mf

ROUNDS, UPDATES = 8, 20_000
"""Rows of so many updates are written by threads of their own, and after the call has returned."""


def test_threads_may_ask_readers_at_once_while_rows_are_written() -> None:
    graph = mf.Graph.from_edges([(0, 1)], num_vertices=4000)
    with mf.Monitor(graph, "(a)--(b)--(c)", mode="batch", duplicates="ignore", threads=2) as monitor:
        native = monitor._native

        def match(run: Any) -> Any:
            return None, np.zeros((native.num_plans, 2, 2), np.uint64), None

        native.match_elsewhere(match)
        readers = [native.reader() for _ in range(2)]
        asked: list[Callable[[], object]] = [call for one in readers for call in (one.arenas, one.hold)]
        rng = np.random.default_rng(1)
        for _ in range(ROUNDS):
            barrier = threading.Barrier(len(asked))

            def ask(call: Callable[[], object], barrier: threading.Barrier = barrier) -> None:
                barrier.wait()
                call()

            pairs = rng.integers(0, 4000, (UPDATES, 2))
            monitor.apply(inserts=pairs[pairs[:, 0] != pairs[:, 1]])
            threads = [threading.Thread(target=ask, args=(call,)) for call in asked]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for reader in readers:
                reader.release()
        for reader in readers:
            reader.hold()
            reader.release()
            assert sum(arena.nbytes for arena in reader.arenas()) >= 8 * monitor.num_edges
