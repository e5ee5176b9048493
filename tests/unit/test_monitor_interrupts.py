"""Ctrl-C anywhere in a call: all of it is taken back, whatever it had begun to number."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import motiflux as mf
import motiflux.stream
from motiflux.stream import VertexLabels
from motiflux.stream.matching import names
from tests.rotating import in_turn
from tests.unit.test_monitor import state

STREAM = Path(motiflux.stream.__file__).parent


def stopped_at(point: int, work: Callable[[], Any]) -> bool:
    """Hear Ctrl-C at that point of those that `work` goes through in motiflux.stream; False if it has fewer.

    Points are lines; where calls are taken back only calls, as nothing is heard between other steps there.
    """
    passed = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal passed
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(STREAM):
            return None
        if event == ("call" if path.name == "changing.py" else "line"):
            passed += 1
            if passed == point:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    except mf.StreamError:
        pass
    finally:
        sys.settrace(before)
    return False


def updates_of(rows: list[tuple[str, Any, Any, Any, Any]], labels: dict[Any, Any]) -> mf.Updates:
    ops, sources, targets, of_edges, times = zip(*rows, strict=True)
    return mf.Updates(
        np.array([op == "+" for op in ops]),
        np.array(sources),
        np.array(targets),
        np.array(of_edges),
        np.array(times),
        VertexLabels.of(labels),
    )


# Vertices, labels of both and times that are new; those of another call that come after it are others.
CALL = [("+", 0, 9, 3, 1), ("+", 7, 8, 4, 6), ("-", 0, 1, 0, 6), ("+", 1, 8, 0, 12), ("+", 5, 1, 0, 12)]
LABELS = {8: 5, 7: 1, 9: 6}
AFTER = [("+", 6, 0, 0, 12), ("+", 9, 6, 5, 12), ("+", 8, 6, 3, 13), ("+", 7, 1, 3, 13), ("+", 8, 1, 0, 14)]
LABELS_AFTER = {6: 6, 9: 5, 8: 1}
PATTERNS = ("(a)--(b)--(c)", "(a:5)-[:3|4]-(b:6)", "(a:1)--(b)", "(a)-[:5]-(b)")


@pytest.mark.turns(8)
@pytest.mark.parametrize(("few", "refused"), in_turn(2, list(product((1, 1 << 16), (False, True)))))
def test_a_call_that_is_stopped_anywhere_is_taken_back(
    few: int, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "_FEWEST", few)
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], vertex_labels=[1, 1, 2], edge_labels=[0, 2])
    call = updates_of([*CALL, ("-", 2, 5, 2, 13)] if refused else CALL, LABELS)
    after = updates_of(AFTER, LABELS_AFTER)

    def monitor() -> mf.Monitor:
        return mf.Monitor(graph, PATTERNS, window="10s", matches=True, threads=1, strict=refused)

    def goes_on(watching: mf.Monitor) -> Any:
        deltas = watching.apply(after)
        return state(watching), [(one.positive, one.appeared().tolist()) for one in deltas]

    fresh = monitor()
    before, wanted = state(fresh), goes_on(fresh)
    point = 1
    while True:
        watching = monitor()
        if not stopped_at(point, partial(watching.apply, call)):
            break
        assert state(watching) == before
        assert goes_on(watching) == wanted
        point += 1
    assert point > 100


CONDITIONED = (
    "(a)-[x WHERE x.amount >= 3]-(b)-[y WHERE y.ref = 'p']-(c)",
    "(a)-[x:0|3 WHERE x.amount = 2]-(b)",
    "(a)-[x]-(b)-[y]-(c) WHERE x.amount < y.amount AND id(a) < id(c)",
)
ATTRIBUTES = {
    "amount": [3, 2.5, None, 4, 3],
    "ref": ["p", "q", "p", None, "r"],
    "fee": [None, None, None, 1, 2],
}
ATTRIBUTES_AFTER = {"amount": [2, 3, 3, 5, 7], "ref": ["s", "p", "q", "p", "p"]}


def kept(watching: mf.Monitor) -> Any:
    """The copies of edges and their attributes, and what notes and columns say of them."""
    graph = watching.snapshot()
    columns = {name: (column.kind, column.to_list()) for name, column in graph.edge_attributes.items()}
    return state(watching), columns, watching.attribute_kinds(), watching.num_edges


def conditioned(**options: Any) -> mf.Monitor:
    graph = mf.Graph.from_edges(
        [(0, 1), (0, 1), (1, 2)],
        vertex_labels=[1, 1, 2],
        edge_labels=[0, 0, 2],
        edge_attributes={"amount": [2, 3, 5], "ref": ["p", "q", "p"]},
    )
    return mf.Monitor(graph, CONDITIONED, window="10s", matches=True, threads=1, **options)


def with_attributes(updates: mf.Updates, attributes: dict[str, Any]) -> mf.Updates:
    return updates.with_more(None, None, attributes)


@pytest.mark.turns(8)
@pytest.mark.filterwarnings("ignore::motiflux.MotifluxWarning")
@pytest.mark.parametrize("refused", in_turn(1, [False, True]))
def test_a_call_with_attributes_that_is_stopped_anywhere_is_taken_back(refused: bool) -> None:
    rows = [*CALL, ("-", 2, 5, 2, 13)] if refused else CALL
    values = {name: [*column, None] if refused else column for name, column in ATTRIBUTES.items()}
    call = with_attributes(updates_of(rows, LABELS), values)
    after = with_attributes(updates_of(AFTER, LABELS_AFTER), ATTRIBUTES_AFTER)

    def goes_on(watching: mf.Monitor) -> Any:
        deltas = watching.apply(after)
        changes = [(one.positive, one.negative, one.appeared().tolist()) for one in deltas]
        return kept(watching), changes, [table["amount"].to_list() for table in deltas[0].edges().values()]

    fresh = conditioned(strict=refused)
    before, wanted = kept(fresh), goes_on(fresh)
    point = 1
    while True:
        watching = conditioned(strict=refused)
        if not stopped_at(point, partial(watching.apply, call)):
            break
        assert kept(watching) == before
        assert goes_on(watching) == wanted
        point += 1
    assert point > 200


@pytest.mark.turns(8)
@pytest.mark.filterwarnings("ignore::motiflux.MotifluxWarning")
@pytest.mark.parametrize(
    "added",
    in_turn(1, ["(a)-[x WHERE x.amount < 4 AND x.ref = 'p']-(b)", "(a)-[x]-(b)-[y]-(c) WHERE x.ref < y.ref"]),
)
def test_a_pattern_that_is_added_again_after_an_interrupt_counts_as_before(added: str) -> None:
    after = with_attributes(updates_of(AFTER, LABELS_AFTER), ATTRIBUTES_AFTER)

    def goes_on(watching: mf.Monitor) -> Any:
        if len(watching.patterns) == len(CONDITIONED):
            watching.add(added)
        deltas = watching.apply(after)
        return kept(watching), [(one.positive, one.negative, one.appeared().tolist()) for one in deltas]

    wanted = goes_on(conditioned())
    point = 1
    while True:
        watching = conditioned()
        if not stopped_at(point, partial(watching._add, mf.Pattern.parse(added), None)):
            break
        assert goes_on(watching) == wanted
        point += 7
    assert point > 200
