"""Updates of runs for a resident kernel, as native code lists them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux import _native
from motiflux.errors import InternalError

PATH = "(a)--(b)--(c)"


@contextmanager
def answered(work: Any, edges: Any = ((0, 1), (1, 2)), pattern: Any = PATH) -> Iterator[mf.Monitor]:
    """Give a monitor whose runs a function answers."""
    graph = mf.Graph.from_edges(list(edges))
    monitor = mf.Monitor(graph, pattern)
    monitor._native.match_elsewhere(work)
    yield monitor
    monitor._native.match_elsewhere(None)


def listed(run: _native.Run) -> _native.StreamUpdates:
    updates = _native.StreamUpdates(False)
    unknown = updates.begin(run)
    updates.number_kinds(np.arange(len(unknown), dtype=np.uint32))
    return updates


def test_changes_of_an_edge_come_in_their_order_and_updates_without_effect_are_left_out() -> None:
    found: list[Any] = []

    def work(run: _native.Run) -> Any:
        updates = listed(run)
        found.extend(updates.updates.tolist())
        return updates.answers(1)[0], None, None

    with answered(work) as monitor:
        monitor.apply([("+", 0, 2), ("+", 0, 1), ("-", 0, 2), ("+", 0, 2)])
    assert [flags for *_, flags in found] == [3, 2, 3]  # judged, of which 1 is an insertion
    assert len({tuple(sorted(ends)) for *ends, _, _ in found}) == 1
    assert len({kind for *_, kind, _ in found}) <= 2


def test_answers_are_those_of_roots_in_any_order() -> None:
    def work(run: _native.Run) -> Any:
        updates = listed(run)
        plans = {int(moment): int(plan) for plan, _, _, moment in run.roots.tolist()}
        records = [
            [11 + at, 0, plan, 1, 5 + at, 0, at, 0] for at, (_, plan) in enumerate(sorted(plans.items()))
        ]
        updates.take(np.array(records[::-1], np.uint32), 10)
        totals, _ = updates.answers(1)
        assert totals.shape == (len(run.roots), 2)
        return totals, None, None

    with answered(work) as monitor:
        delta = monitor.apply([("+", 0, 2), ("+", 0, 3)])[0]
    multiplier = 2
    assert delta.matches.tolist() == [multiplier * 5, multiplier * (6 + 2**64)]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([9, 0, 0, 1, 1, 0, 0, 0], "answers to updates of the run"),
        ([12, 0, 0, 1, 1, 0, 0, 0], "answers to updates of the run"),
        ([11, 0, 77, 1, 1, 0, 0, 0], "answers of plans"),
        ([11, 0, 0, 1], "whole records"),
    ],
)
def test_answers_that_cannot_be_are_refused(record: list[int], message: str) -> None:
    def work(run: _native.Run) -> Any:
        listed(run).take(np.array([record], np.uint32), 10)

    with answered(work) as monitor, pytest.raises((InternalError, RuntimeError), match=message):
        monitor.apply([("+", 0, 2)])
