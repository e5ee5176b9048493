"""Choices of copies of one embedding that would not end: counts and lists of them are stopped."""

from __future__ import annotations

import signal
import threading
import tracemalloc
from itertools import combinations
from typing import Literal

import numpy as np
import pytest

import motiflux as mf
from motiflux.api.occurrence import chosen_copies
from motiflux.config import private_tuning
from tests.backend.cases import given_time

EDGES = 6
COPIES = 400
NAMES = [f"x{at}" for at in range(EDGES)]
RING = ", ".join(f"(a{at})-[{name}]->(a{(at + 1) % EDGES})" for at, name in enumerate(NAMES))


def all_different(attribute: str) -> str:
    """Return comparisons of each two edges, which no range of copies decides."""
    return " AND ".join(f"{a}.{attribute} <> {b}.{attribute}" for a, b in combinations(NAMES, 2))


COUNTED = f"{RING} WHERE {all_different('time')}"
IMPOSSIBLE = f"{RING} WHERE {all_different('kind')}"
"""Six edges cannot have six different ones of five values, which only trying all choices tells."""


@pytest.fixture
def graph() -> mf.Graph:
    """One ring of six edges with 400 copies each."""
    sources = np.repeat(np.arange(EDGES), COPIES)
    times = np.arange(len(sources))
    return mf.Graph.from_edges(
        (sources, (sources + 1) % EDGES),
        directed=True,
        edge_attributes={"time": times, "kind": times % (EDGES - 1)},
    )


def press_ctrl_c_soon() -> threading.Timer:
    """Press Ctrl-C while the call that follows is at work."""
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    return timer


@pytest.mark.turns(8)
@pytest.mark.parametrize(("pattern", "copies"), [(COUNTED, True), (IMPOSSIBLE, False)])
def test_a_timeout_ends_a_count_while_the_choices_of_one_embedding_are_decided(
    graph: mf.Graph, pattern: str, copies: bool
) -> None:
    found = mf.count(graph, pattern, copies=copies, timeout=0.2)
    assert (int(found), found.complete) == (0, False)


@pytest.mark.parametrize(("pattern", "copies"), [(COUNTED, True), (IMPOSSIBLE, False)])
def test_ctrl_c_ends_a_count_while_the_choices_of_one_embedding_are_decided(
    graph: mf.Graph, pattern: str, copies: bool
) -> None:
    timer = press_ctrl_c_soon()
    with pytest.raises(KeyboardInterrupt):
        mf.count(graph, pattern, copies=copies)
    timer.join()
    assert int(mf.count(graph, RING)) == EDGES


def test_choices_of_one_embedding_are_listed_as_they_are_found(graph: mf.Graph) -> None:
    tracemalloc.start()
    matches = mf.match(graph, COUNTED, edges="all", batch_rows=1000)
    rows = [next(matches) for _ in range(5)]
    assert matches.complete is None
    matches.close()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    found = np.concatenate(rows)
    assert len(np.unique(found, axis=0)) < len(found)  # of edges, of which these choices have copies
    assert matches.complete is False
    assert most < 64 << 20


def test_a_limit_ends_a_list_of_choices_with_as_many(graph: mf.Graph) -> None:
    with mf.match(graph, COUNTED, edges="all", attributes=["row"], limit=700) as matches:
        table = matches.to_arrow().to_pylist()
    assert len({tuple(row[f"e{at}.row"] for at in range(EDGES)) for row in table}) == 700
    assert matches.complete is False


def test_a_timeout_ends_a_list_of_choices_with_those_found(graph: mf.Graph) -> None:
    def listed(timeout: float) -> tuple[int, mf.Matches]:
        matches = mf.match(graph, COUNTED, edges="all", timeout=timeout)
        return sum(map(len, matches)), matches

    rows, matches = given_time(listed, lambda found: found[0] > 0)
    assert rows > 0
    assert matches.complete is False


@pytest.mark.parametrize(("pattern", "edges"), [(IMPOSSIBLE, True), (IMPOSSIBLE, "all"), (COUNTED, "all")])
def test_ctrl_c_ends_a_list_of_choices(graph: mf.Graph, pattern: str, edges: bool | Literal["all"]) -> None:
    timer = press_ctrl_c_soon()
    with pytest.raises(KeyboardInterrupt), mf.match(graph, pattern, edges=edges) as matches:
        for _ in matches:
            pass
    timer.join()
    assert len(mf.match(graph, RING, edges=edges, limit=10).to_numpy()) == (10 if edges == "all" else EDGES)


def test_ctrl_c_ends_the_search_for_the_copies_of_one_row(graph: mf.Graph) -> None:
    timer = press_ctrl_c_soon()
    with pytest.raises(KeyboardInterrupt):
        chosen_copies(graph, mf.Pattern.parse(IMPOSSIBLE), range(EDGES))
    timer.join()


FROM_COPY_TO_COPY = private_tuning({"copy_walk": "on"})
MANY = f"{RING} WITHIN {EDGES * COPIES}"
"""All choices satisfy it."""


@pytest.mark.turns(8)
def test_a_timeout_ends_a_search_from_copy_to_copy(graph: mf.Graph) -> None:
    def counted(timeout: float) -> mf.Count:
        return mf.count(graph, MANY, copies=True, tuning=FROM_COPY_TO_COPY, timeout=timeout)

    found = given_time(counted, lambda count: count > 0)
    assert not found.complete
    assert 0 < found < EDGES * COPIES**EDGES


@pytest.mark.parametrize("threads", [1, 3])
def test_ctrl_c_ends_a_search_from_copy_to_copy(graph: mf.Graph, threads: int) -> None:
    timer = press_ctrl_c_soon()
    with pytest.raises(KeyboardInterrupt):
        mf.count(graph, MANY, copies=True, tuning=FROM_COPY_TO_COPY, threads=threads)
    timer.join()


def test_a_limit_ends_a_search_from_copy_to_copy(graph: mf.Graph) -> None:
    found = mf.count(graph, MANY, copies=True, tuning=FROM_COPY_TO_COPY, limit=1000)
    assert (int(found), found.complete) == (1000, False)


FROM_PAIR_TO_PAIR = private_tuning({"pair_walk": "on"})


@pytest.mark.turns(8)
def test_a_timeout_ends_a_count_from_pair_to_pair(graph: mf.Graph) -> None:
    def counted(timeout: float) -> mf.Count:
        return mf.count(graph, MANY, copies=True, tuning=FROM_PAIR_TO_PAIR, timeout=timeout)

    found = given_time(counted, lambda count: count > 0)
    assert not found.complete
    assert 0 < found < EDGES * COPIES**EDGES


@pytest.mark.parametrize("threads", [1, 3])
def test_ctrl_c_ends_a_count_from_pair_to_pair(graph: mf.Graph, threads: int) -> None:
    timer = press_ctrl_c_soon()
    with pytest.raises(KeyboardInterrupt):
        mf.count(graph, MANY, copies=True, tuning=FROM_PAIR_TO_PAIR, threads=threads)
    timer.join()


def test_more_choices_than_are_kept_are_decided_by_levels(caplog: pytest.LogCaptureFixture) -> None:
    """One path has 360,000 choices of its first two edges, which the short searches of planning miss."""
    paths, copies = 4000, 600
    many = np.r_[np.arange(paths), np.full(copies - 1, 17)]
    steps = [(4 * many + at, 4 * many + at + 1) for at in range(3)]
    size = 3 * len(many)
    graph = mf.Graph.from_edges(
        (np.concatenate([u for u, _ in steps]), np.concatenate([v for _, v in steps])),
        directed=True,
        edge_attributes={"time": np.arange(size), "kind": np.arange(size) % 7},
    )
    pattern = (
        "(a)-[x]->(b)-[y]->(c)-[z]->(d) WHERE x.time <> z.time AND y.time <> z.time AND x.kind <> y.kind"
    )
    expected = mf.count(graph, pattern, tuning=private_tuning({"pair_walk": "off"}))
    with caplog.at_level("INFO", logger="motiflux"):
        found = mf.count(graph, pattern, tuning=FROM_PAIR_TO_PAIR)
    assert "more choices than are kept" in caplog.text
    assert found == expected > 0
    assert found.complete
