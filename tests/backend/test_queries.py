"""Queries of several patterns, on every engine by their patterns."""

from __future__ import annotations

import numpy as np
import pytest

import motiflux as mf

TEXTS = [
    "(a)-[p*2..3]->(b)",
    "(a)-[p*3..4]->(a)",
    "WALK (a)-[p*3]->(b)",
    "(a)-->(b)-->(c) WHERE a.x = 1 OR c.x = 2",
    "(a)-->(b) OPTIONAL (b)-->(c)",
    "(a)-->(b) OPTIONAL (b)-[*2..3]->(c) WHERE c.x = 1",
    "(a)-->(b) WHERE a.x = 1 OR NOT (b)-->(a)",
    "(a)-->(b), (c)-->(d)",
]


@pytest.fixture(scope="module")
def drawn() -> mf.Graph:
    rng = np.random.default_rng(11)
    return mf.Graph.from_edges(
        rng.integers(0, 40, (120, 2)),
        directed=True,
        num_vertices=40,
        vertex_attributes={"x": rng.integers(0, 3, 40)},
        self_loops="drop",
    )


@pytest.mark.parametrize("text", TEXTS)
def test_a_device_counts_and_lists_what_the_cpu_does(drawn: mf.Graph, device: str, text: str) -> None:
    expected = mf.count(drawn, text, device="cpu")
    assert mf.count(drawn, text, device=device) == expected
    rows = mf.match(drawn, text, device=device).to_arrow().to_pylist()
    assert len(rows) == expected
    assert sorted(map(str, rows)) == sorted(
        map(str, mf.match(drawn, text, device="cpu").to_arrow().to_pylist())
    )
