"""Searches that would not end, stopped in every way there is: the graph stays usable, the device clean."""

from __future__ import annotations

import gc
import math
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import motiflux as mf
from motiflux.gpu.runtime.control_block import ControlBlock
from motiflux.gpu.runtime.session import Session
from tests.backend.cases import PATH, TRIANGLE, clique, given_time
from tests.fault.benches import Bench

SIZE = 60
ALL_PATHS = math.perm(SIZE, PATH.num_vertices)
TRIANGLES = math.perm(SIZE, 3)
EVERY = {"tail": "off", "parts": "off", "tables": "off"}
"""Has embeddings counted one after the other: as products, or from tables, they are counted at once."""


@pytest.fixture
def dense() -> mf.Graph:
    """A clique with some 10**14 paths of eight vertices: neither counting nor listing them ends."""
    return mf.Graph.from_edges(clique(SIZE))


@pytest.fixture(autouse=True)
def unharmed(bench: Bench, dense: mf.Graph) -> Iterator[None]:
    """Check that after the test the graph counts right, and that the device holds what it held before."""
    count_and_list(dense, bench)
    held = bench.held(dense)
    yield
    count_and_list(dense, bench)
    assert mf.count(dense, TRIANGLE, device="cpu") == TRIANGLES
    assert bench.held(dense) <= held


def count_and_list(graph: mf.Graph, bench: Bench) -> None:
    assert mf.count(graph, TRIANGLE, device=bench.name) == TRIANGLES
    assert len(mf.match(graph, TRIANGLE, device=bench.name).to_numpy()) == TRIANGLES


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


class Once:
    """A callback that does something the first time it is called."""

    def __init__(self, action: Callable[[], object]) -> None:
        self._action = action
        self.called = False

    def __call__(self, report: mf.ProgressReport) -> None:
        if not self.called:
            self.called = True
            self._action()


@pytest.mark.turns(8)
def test_a_timeout_stops_a_count_with_a_lower_bound(bench: Bench, dense: mf.Graph) -> None:
    found = given_time(
        lambda timeout: mf.count(dense, PATH, device=bench.name, timeout=timeout, tuning=EVERY), bool
    )
    assert not found.complete
    assert 0 < found < ALL_PATHS


@pytest.mark.turns(8)
def test_a_timeout_stops_a_listing_with_some_of_the_rows(bench: Bench, dense: mf.Graph) -> None:
    def search(timeout: float) -> tuple[mf.Matches, Any]:
        matches = mf.match(dense, PATH, device=bench.name, timeout=timeout)
        return matches, next(matches, None)

    matches, rows = given_time(search, lambda found: found[1] is not None)
    assert all(len(set(row)) == PATH.num_vertices for row in rows.tolist())
    for _ in matches:
        pass
    assert matches.complete is False
    assert len(rows) <= matches.rows < ALL_PATHS


@pytest.mark.turns(8)
def test_ctrl_c_stops_a_count_wherever_it_is(bench: Bench, dense: mf.Graph) -> None:
    press = Once(threading.Thread(target=ctrl_c).start)
    with pytest.raises(KeyboardInterrupt):
        mf.count(dense, PATH, device=bench.name, progress=press, tuning=EVERY)


@pytest.mark.turns(8)
def test_ctrl_c_in_a_callback_stops_a_count(bench: Bench, dense: mf.Graph) -> None:
    with pytest.raises(KeyboardInterrupt):
        mf.count(dense, PATH, device=bench.name, progress=Once(ctrl_c), tuning=EVERY)


@pytest.mark.turns(8)
def test_ctrl_c_stops_a_listing(bench: Bench, dense: mf.Graph) -> None:
    matches = mf.match(dense, PATH, device=bench.name, progress=Once(ctrl_c))
    with pytest.raises(KeyboardInterrupt):
        for _ in matches:
            pass
    assert matches.complete is False
    assert next(matches, None) is None


@pytest.mark.turns(8)
@pytest.mark.parametrize("times", [1, 3])
def test_ctrl_c_again_while_the_kernel_is_stopped_waits_for_the_kernel(
    bench: Bench, dense: mf.Graph, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    pressed: list[Session] = []
    stop = ControlBlock.stop

    def impatient(block: ControlBlock, session: Session) -> None:
        if len(pressed) < times:
            pressed.append(session)
            ctrl_c()
        stop(block, session)

    monkeypatch.setattr(ControlBlock, "stop", impatient)
    with pytest.raises(KeyboardInterrupt):
        mf.count(dense, PATH, device=bench.name, progress=Once(ctrl_c), tuning=EVERY)
    assert len(pressed) == times
    assert pressed[0].done()


@pytest.mark.turns(8)
def test_closing_the_iterator_stops_the_kernel(bench: Bench, dense: mf.Graph) -> None:
    matches = mf.match(dense, PATH, device=bench.name)
    assert len(next(matches)) > 0
    matches.close()
    assert matches.complete is False
    assert next(matches, None) is None


@pytest.mark.turns(8)
def test_closing_the_iterator_before_the_first_row_stops_the_kernel(bench: Bench, dense: mf.Graph) -> None:
    matches = mf.match(dense, PATH, device=bench.name)
    matches.close()
    assert matches.complete is False


@pytest.mark.turns(8)
def test_an_error_in_the_loop_over_the_rows_stops_the_kernel(bench: Bench, dense: mf.Graph) -> None:
    with pytest.raises(KeyError), mf.match(dense, PATH, device=bench.name) as matches:
        raise KeyError(len(next(matches)))
    assert matches.complete is False


@pytest.mark.turns(8)
def test_letting_go_of_the_iterator_stops_the_kernel(bench: Bench, dense: mf.Graph) -> None:
    matches = mf.match(dense, PATH, device=bench.name)
    next(matches)
    del matches
    gc.collect()
