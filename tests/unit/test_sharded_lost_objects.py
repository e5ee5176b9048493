"""Objects of calls on sharded graphs that were lost, or had no room; tasks run in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.cluster.shards import server
from tests.inline_ray import InlineRay
from tests.unit.test_sharded_calls import PATTERNS, made_in, ray, rows_of

__all__ = ["ray"]

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "count": lambda on, graph: int(on.count(graph, PATTERNS[0])),
    "count_per_vertex": lambda on, graph: np.asarray(on.count_per_vertex(graph, PATTERNS[0])).tolist(),
    "count_per_edge": lambda on, graph: edges_of(on.count_per_edge(graph, PATTERNS[0])),
    "estimate": lambda on, graph: on.estimate(graph, PATTERNS[0], seed=1).value,
    "match": lambda on, graph: sorted(map(tuple, on.match(graph, PATTERNS[0]).to_numpy().tolist())),
}


def edges_of(counts: mf.EdgeCounts) -> list[tuple[Any, ...]]:
    columns = counts.sources.tolist(), counts.targets.tolist(), np.asarray(counts).tolist()
    return sorted(zip(*columns, strict=True))


@pytest.mark.parametrize("name", CALLS)
def test_a_plan_and_rows_of_hubs_that_were_lost_change_no_result(
    ray: InlineRay, tmp_path: Path, name: str
) -> None:
    losses = 0

    def lose() -> None:
        nonlocal losses
        losses += 1
        if losses == 1:
            server._OPEN.clear()
            ray.lose_objects()

    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path, 1)
        assert made.served().hot is not None
        expected = CALLS[name](cluster, made)
        ray.before = lose
        assert CALLS[name](cluster, made) == expected
    assert losses > 1


def test_a_store_without_room_for_a_plan_says_what_to_do(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(value: object) -> None:
        raise ray.exceptions.ObjectStoreFullError

    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 1)
        expected = rows_of(graph, PATTERNS[0]).total()
        assert cluster.count(made, PATTERNS[0]) == cluster.count(graph, PATTERNS[0]) == expected
        monkeypatch.setattr(ray, "put", full)
        for subject in (made, graph):
            with pytest.raises(mf.ClusterError, match=r"^the plan.* does not fit into Ray.s object store"):
                cluster.count(subject, PATTERNS[0], tuning={"tables": "off"})
