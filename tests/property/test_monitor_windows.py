"""Windows of edges against a list of copies, also after calls that are undone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf

EDGES = st.sampled_from([(u, v) for v in range(7) for u in range(v)])
CALLS = st.lists(
    st.tuples(st.lists(st.tuples(st.sampled_from("+++-"), EDGES), min_size=1, max_size=30), st.booleans()),
    min_size=1,
    max_size=8,
)


class Copies:
    """A window as a list of copies, each a list of the edge, its number, and whether it is there."""

    def __init__(self, edges: set[tuple[int, int]], length: int, *, counts: bool) -> None:
        self.there = dict.fromkeys(edges, 1)
        self.length, self.counts = length, counts
        self.queue: list[list[Any]] = []
        self.came = 0

    def apply(self, updates: list[tuple[str, tuple[int, int]]]) -> int:
        """Apply updates; return how many copies left."""
        return sum(self.insert(edge) if op == "+" else self.delete(edge) for op, edge in updates)

    def insert(self, edge: tuple[int, int]) -> int:
        """Insert a copy; return how many left."""
        if self.there.get(edge, 0) and not self.counts:
            return 0
        self.came += 1
        old = [copy for copy in self.queue if copy[1] <= self.came - self.length and copy[2]]
        for copy in old:
            copy[2] = False
            self.there[copy[0]] -= 1
        self.queue.append([edge, self.came, True])
        self.there[edge] = self.there.get(edge, 0) + 1
        return len(old)

    def delete(self, edge: tuple[int, int]) -> int:
        """Delete the oldest copy; return 0."""
        if self.there.get(edge, 0):
            self.there[edge] -= 1
            oldest = next((copy for copy in self.queue if copy[0] == edge and copy[2]), [edge, 0, True])
            oldest[2] = False
        return 0


class _Refused(Exception):  # noqa: N818
    """The sink does not want it."""


@pytest.mark.parametrize("duplicates", ["count", "ignore"])
@pytest.mark.parametrize("mode", ["sequence", "batch"])
@given(first=st.sets(EDGES, max_size=8), length=st.sampled_from([1, 3, 8, 20]), calls=CALLS)
def test_a_window_of_edges_is_a_list_of_copies(
    mode: Any, duplicates: str, first: set[tuple[int, int]], length: int, calls: Any
) -> None:
    edges = np.array(sorted(first), dtype=np.int64).reshape(-1, 2)
    graph = mf.Graph.from_edges(edges, num_vertices=7, vertex_labels=[0, 1, 2, 0, 1, 2, 0])
    pattern = "(a:0)--(b:1)"
    copies = Copies(first, length, counts=duplicates == "count")

    def refuse(found: object) -> None:
        raise _Refused

    with mf.Monitor(graph, pattern, mode=mode, window=length, duplicates=duplicates, matches=True) as monitor:
        for given_updates, refused in calls:
            rows = [(op, *edge) for op, edge in given_updates]
            if refused:
                try:
                    monitor.run([*rows, ("+", 0, 1), ("+", 0, 4)], refuse)
                except (_Refused, mf.OutputError):
                    pass
                else:
                    copies.apply([*given_updates, ("+", (0, 1)), ("+", (0, 4))])
            assert monitor.apply(rows).expired == copies.apply(given_updates)
        left = monitor.snapshot().to_edges()
    found = {
        (min(u, v), max(u, v)): n
        for u, v, n in zip(left.src.tolist(), left.dst.tolist(), left.multiplicity.tolist(), strict=True)
    }
    assert found == {edge: count for edge, count in copies.there.items() if count}
