"""Random rows of sharded graphs are uniform and depend on the seed alone (tasks: `tests.inline_ray`)."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.cluster.shards import listing, ranges, sampling, search, sharded
from tests.inline_ray import InlineRay, replace_ray
from tests.unit.test_sharded_calls import PATTERNS, made_in, rows_of


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.setattr(search, "_FIRST", 16)
    monkeypatch.setattr(sharded, "_HOT", 200)
    monkeypatch.setattr(sampling, "_ROWS_OF_TASK", 40)
    monkeypatch.setattr(sampling, "_BLOCK", 30)
    monkeypatch.setattr(sampling, "_BYTES_OF_DRAW", 0)
    monkeypatch.setattr(ranges, "LEAST_ENTRIES", 2)
    monkeypatch.setattr(listing, "_LISTED", 3)
    monkeypatch.setattr(os, "fsync", lambda file: None)
    return replace_ray(monkeypatch, nodes=2)


@pytest.mark.turns(5)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
def test_random_rows_are_uniform(ray: InlineRay, tmp_path: Path, directed: bool, symmetry: Any) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 3, directed=directed)
        for number, pattern in enumerate([*PATTERNS, "(a)--(b), (a)--(c), (a)--(d)"]):
            every = rows_of(graph, pattern)
            if symmetry == "subgraphs":
                every = Counter(
                    map(tuple, cluster.match(made, pattern, symmetry=symmetry).to_numpy().tolist())
                )
            size = len(every)
            assert size > 10
            wanted = min(20 * size, 3_000)
            found = cluster.sample(made, pattern, wanted, seed=number, symmetry=symmetry)
            rows = Counter(map(tuple, found.to_numpy().tolist()))
            assert (rows.total(), found.complete) == (wanted, True)
            assert rows.keys() <= every.keys()
            sizes = np.array([rows[row] for row in every])
            mean = wanted / size
            spread = float(((sizes - mean) ** 2 / mean).sum())
            assert abs(spread - (size - 1)) < 5 * (2 * (size - 1)) ** 0.5, "chi-square, five deviations"


def test_random_rows_do_not_depend_on_workers(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path, 3)
        found = cluster.sample(made, PATTERNS[1], 150, seed=7).to_numpy()
        assert not np.array_equal(found, cluster.sample(made, PATTERNS[1], 150, seed=8).to_numpy())
        assert np.array_equal(found[:60], cluster.sample(made, PATTERNS[1], 60, seed=7).to_numpy())
    for nodes, loses in ((1, 0.0), (3, 0.05)):
        other = replace_ray(monkeypatch, nodes=nodes)
        with mf.Cluster() as cluster:
            again = cluster.open_sharded(tmp_path / "g", memory=made.memory)
            other.loses = loses
            assert np.array_equal(found, cluster.sample(again, PATTERNS[1], 150, seed=7).to_numpy())


def test_random_rows_that_there_are_none_of(ray: InlineRay, tmp_path: Path) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 3)
        for pattern, k in (("(a:z)--(b)", 5), (PATTERNS[0], 0), ("(a)--(b) WHERE degree(a) > 99", 5)):
            found = cluster.sample(made, pattern, k)
            assert (found.to_numpy().shape[0], found.complete) == (0, True)
        late = cluster.sample(made, PATTERNS[0], 5, timeout=0.0)
        assert (late.to_numpy().shape[0], late.complete) == (0, False)
        few = cluster.sample(made, "(a)--(b)--(c)--(a) WHERE degree(b) > 5", 30).to_numpy()
        assert set(map(tuple, few.tolist())) <= set(
            map(tuple, mf.match(graph, "(a)--(b)--(c)--(a) WHERE degree(b) > 5").to_numpy().tolist())
        )
        given: Any
        for name, given in (("k", {"k": 10**9}), ("k", {"k": -1}), ("seed", {"k": 1, "seed": -1})):
            with pytest.raises(mf.ArgumentError, match=name):
                cluster.sample(made, PATTERNS[0], **given)
        given = {"some": 1}
        with pytest.raises(mf.ArgumentError, match="some"):
            cluster.sample(made, PATTERNS[0], 1, **given)
        with pytest.raises(mf.DeviceError, match="none with a GPU"):
            cluster.sample(made, PATTERNS[0], 1, device="cuda")
        with pytest.raises(mf.ArgumentError, match="pattern"):
            cluster.sample(made, "(a)-[*1..2]-(b)", 3)
        for several in ([PATTERNS[0]], PATTERNS[:2], []):
            given = several
            with pytest.raises(mf.ArgumentError, match="pattern: expected one pattern"):
                cluster.sample(made, given, 3)
            with pytest.raises(mf.ArgumentError, match="pattern: expected"):
                mf.sample(graph, given, 3)


def test_ranges_of_too_many_rows_are_refused(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_MOST_OF_RANGE", 10)
    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path, 3)
        with pytest.raises(mf.CountOverflowError, match="fewer than 10 rows"):
            cluster.sample(made, PATTERNS[1], 5).to_numpy()


def test_numbers_beyond_64_bits_are_drawn() -> None:
    rows, images = sampling._drawn(2**80, 6, 2_000, 3)
    assert all(0 <= row < 2**80 for row in rows)
    assert np.bincount(images).min() > 200
    assert len({int(row) * 4 // 2**80 for row in rows}) == 4
