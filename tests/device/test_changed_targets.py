"""Rows of several targets are written by one launch, or by several if there are many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.gpu.changing import rows

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the rows lie on a device")

PATTERN = "(a:0)--(b:1)--(c:2)--(d:3), (b)--(e:0)"
VERTICES, CALLS = 40, 4


@pytest.mark.parametrize("most", [1, 2, rows.MOST_WRITES])
def test_touched_rows_of_all_targets_are_written(
    device: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches: list[int] = []
    write = rows.RunOfSlackRows._write.__func__  # type: ignore[attr-defined]

    def noted(cls: Any, stream: Any, entry: str, runs: Any, *args: Any) -> None:
        launches.append(len(runs))
        write(cls, stream, entry, runs, *args)

    monkeypatch.setattr(rows, "MOST_WRITES", most)
    monkeypatch.setattr(rows.RunOfSlackRows, "_write", classmethod(noted))
    draw = np.random.default_rng(most)
    ends = draw.integers(0, VERTICES, (2, 150))
    graph = mf.Graph.from_edges(
        tuple(ends[:, ends[0] != ends[1]]), num_vertices=VERTICES, vertex_labels=np.arange(VERTICES) % 4
    )
    with (
        mf.Monitor(graph, PATTERN, mode="batch", device=device) as there,
        mf.Monitor(graph, PATTERN, mode="batch") as here,
    ):
        found = 0
        for _ in range(CALLS):
            pairs = draw.integers(0, VERTICES, (60, 2))
            signs = draw.random(60) < 0.5
            updates = [
                ("+" if inserts else "-", int(u), int(v))
                for (u, v), inserts in zip(pairs, signs, strict=True)
                if u != v
            ]
            one, other = there.apply(updates)[0], here.apply(updates)[0]
            assert (one.positive, one.negative) == (other.positive, other.negative)
            found += one.positive + one.negative
        assert found > 0
    assert len(launches) == 2 * CALLS
    assert max(launches) > 2, "targets whose rows one run touches"
