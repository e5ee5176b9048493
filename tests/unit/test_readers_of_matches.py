"""A reader of matches that looks at an earlier call while the present one goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.stream.matching import changing
from motiflux.stream.matching.changing import Terms


@pytest.mark.parametrize(("watched", "other"), [(0, 1), (1, 0)])
def test_earlier_updates_that_are_written_meanwhile_move_no_deletion(
    watched: int, other: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing, "_MOST_WORDS", 1)  # matches are given in the middle of the call
    clique = [(u, v) for u in range(6) for v in range(u)]
    edges = [*clique, (6, 7)]
    graph = mf.Graph.from_edges(edges, num_vertices=12, vertex_labels=[watched] * 6 + [other] * 6)
    pattern = f"(a:{watched})--(b:{watched})--(c:{watched})--(a)"
    monitor = mf.Monitor(graph, pattern, matches=True, threads=1)
    put_off = [(u, v) for u in range(6) for v in range(6, 12)]
    first = monitor.apply([("+", u, v) for u, v in put_off])
    read: list[int] = []

    def give(blocks: Any, is_last: bool) -> None:
        if not read:
            read.append(first.noops)

    gone = [(5, 3), (4, 1)]
    updates = mf.Updates(np.zeros(2, bool), *np.array(gone).T.copy())
    monitor._apply(updates, Terms(give))
    assert read == [0]
    left = monitor.snapshot().to_edges()
    expected = {frozenset(edge) for edge in [*edges, *put_off]} - {frozenset(edge) for edge in gone}
    assert {frozenset(edge) for edge in zip(left.src.tolist(), left.dst.tolist(), strict=True)} == expected
    assert monitor.num_edges == len(expected)
