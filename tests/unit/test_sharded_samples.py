"""Random rows of sharded graphs are uniform and depend on the seed alone (tasks: `tests.inline_ray`)."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.cluster.shards import listing, ranges, row_tasks, sampling, search, sharded
from tests.inline_ray import InlineRay, replace_ray
from tests.unit.test_sharded_calls import PATTERNS, made_in, rows_of
from tests.unit.test_sharded_queries import random_data
from tests.unit.test_sharded_queries import rows_of as rows_of_table


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.setattr(search, "_FIRST", 16)
    monkeypatch.setattr(sharded, "_HOT", 200)
    monkeypatch.setattr(sampling, "_ROWS_OF_TASK", 40)
    monkeypatch.setattr(sampling, "_BLOCK", 30)
    monkeypatch.setattr(sampling, "_BYTES_OF_DRAW", 0)
    monkeypatch.setattr(sampling, "_BYTES_OF_ID", 8)
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
        for several in ([PATTERNS[0]], PATTERNS[:2], []):
            given = several
            for call, subject in ((cluster.sample, made), (mf.sample, graph)):
                with pytest.raises(mf.ArgumentError, match=r"expected a motiflux\.Pattern or Query"):
                    call(subject, given, 3)


def test_ranges_of_too_many_rows_are_refused(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_MOST_OF_RANGE", 10)
    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path, 3)
        with pytest.raises(mf.CountOverflowError, match="fewer than 10 rows"):
            cluster.sample(made, PATTERNS[1], 5).to_numpy()


def test_numbers_beyond_64_bits_are_drawn() -> None:
    numbers = sampling._numbers(2**80, 2_000, 3)
    assert all(0 <= number < 2**80 for number in numbers)
    assert len({int(number) * 4 // 2**80 for number in numbers}) == 4


QUERIES = [
    "(a)-[p*1..3]-(b)",
    "(a)-[*3..4]-(a)",
    "(a)--(b)--(a) OPTIONAL (a)-[*1..2]-(c) OPTIONAL (b)--(d:1)",
    "(a)--(b)--(c), (b)-[*1..2]-(d)",
    "(a)--(b), (a)--(c) OPTIONAL (a)-[:1]-(d)",
    "(a)--(b)--(c) WHERE degree(a) > 3 OR degree(c) < 5",
    "(a)-[x]-(b)-[y]-(c) WHERE x.t = 1 OR y.t = 2",
    "(a)--(b)--(c)--(d) WHERE NOT (a)--(c) OR NOT (b)-[:1]-(d)",
    "(a)-[:1]-(b)-[*1..2]-(c)-[:1]-(d)",
    "WALK (a)-[p*2..3]-(b)",
]
DIRECTED = [
    "(a)-[p*1..2]->(b:1)",
    "(a)-->(b) OPTIONAL (b)<-[:1]-(c:0)",
    "(a)-->(b)-->(c) WHERE NOT (a)-->(c) OR NOT (c)-->(a)",
]


def chances(graph: mf.Graph, query: str, **options: Any) -> dict[tuple[Any, ...], float]:
    """Return the probability of each row that may be drawn."""

    def shape(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(len(one) if isinstance(one, tuple) else one is None for one in row)

    given = {name: value for name, value in options.items() if name != "symmetry"}
    every = rows_of_table(mf.match(graph, query, **given).to_arrow())
    occurrences = rows_of_table(mf.match(graph, query, **options).to_arrow())
    of_shape, wanted = (Counter(shape(row) for row in some.elements()) for some in (every, occurrences))
    total = occurrences.total()
    return {
        row: number * wanted[shape(row)] / (of_shape[shape(row)] * total)
        for row, number in every.items()
        if wanted[shape(row)]
    }


def assert_drawn(found: mf.Matches, wanted: int, of: dict[tuple[Any, ...], float]) -> None:
    """Check that rows are as frequent as they should be, by their chi-square: within five deviations."""
    rows = rows_of_table(found.to_arrow())
    assert (rows.total(), found.complete) == (wanted, True)
    assert rows.keys() <= of.keys()
    spread = sum((rows[row] - wanted * one) ** 2 / (wanted * one) for row, one in of.items())
    size = len(of)
    deviation = (2 * (size - 1) + (sum(1 / one for one in of.values()) - size**2) / wanted) ** 0.5
    assert abs(spread - (size - 1)) < 5 * deviation


@pytest.mark.turns(5)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(
    "options",
    [{"symmetry": "embeddings"}, {"symmetry": "subgraphs"}, {"semantics": "homomorphism"}],
    ids=lambda options: next(iter(options.values())),
)
def test_random_rows_of_queries_are_uniform(
    ray: InlineRay, tmp_path: Path, directed: bool, options: Any
) -> None:
    data = random_data(0, directed=directed)
    graph, queries = data.graph(), [*QUERIES, *(DIRECTED if directed else [])]
    if "symmetry" in options and options["symmetry"] == "subgraphs":
        queries = [one for one in queries if not one.startswith("WALK")]
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path, 1 << 20)
        for number, query in enumerate(queries):
            of = chances(graph, query, **options)
            assert len(of) > 5
            wanted = min(20 * len(of), 4_000)
            for call in (cluster.sample, mf.sample):
                subject: Any = made if call is not mf.sample else graph
                assert_drawn(call(subject, query, wanted, seed=number, **options), wanted, of)


def test_random_rows_of_queries_depend_on_the_seed_alone(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, query = random_data(0, directed=False), "(a)-[*1..2]-(b) OPTIONAL (b)--(c:1)"
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path, 1 << 20)
        found = cluster.sample(made, query, 150, seed=7).to_arrow()
        assert found.schema == mf.match(data.graph(), query).to_arrow().schema
        assert not found.equals(cluster.sample(made, query, 150, seed=8).to_arrow())
        assert found[:60].to_pylist() == cluster.sample(made, query, 60, seed=7).to_arrow().to_pylist()
    for nodes, loses in ((1, 0.0), (3, 0.05)):
        other = replace_ray(monkeypatch, nodes=nodes)
        with mf.Cluster() as cluster:
            again = cluster.open_sharded(tmp_path / "g", memory=1 << 20)
            other.loses = loses
            assert cluster.sample(again, query, 150, seed=7).to_arrow().to_pylist() == found.to_pylist()


def test_random_rows_of_queries_that_there_are_none_of(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, query = random_data(0, directed=False), "(a)-[*1..2]-(b)"
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path, 1 << 20)
        for one, k in ((f"{query} WHERE a.x > 99", 5), (query, 0), ("(a:7)-[*1..2]-(b)", 5)):
            found = cluster.sample(made, one, k)
            assert (found.to_arrow().num_rows, found.complete) == (0, True)
        late = cluster.sample(made, query, 5, timeout=0.0)
        assert (late.to_arrow().num_rows, late.complete) == (0, False)
        of_one = cluster.sample(made, f"{query} WHERE degree(a) > 5 OR a.x > 99", 30)
        assert of_one.to_arrow().num_rows == 30
        with pytest.raises(mf.ArgumentError, match="k: expected at most") as refused:
            cluster.sample(made, query, 10**6)
        assert "memory" in str(refused.value)
        for call, subject in ((cluster.sample, made), (mf.sample, data.graph())):
            with pytest.raises(mf.ArgumentError, match="a connected pattern, to draw its rows at random"):
                call(subject, "(a)--(b), (c)--(d)", 3)
        with pytest.raises(mf.ArgumentError, match="sharded graph"):
            cluster.sample(made, "(a)--(b) OPTIONAL (b)-[*2..3]-(c)", 3)
        monkeypatch.setattr(row_tasks, "MAX_PATTERNS", 1)
        with pytest.raises(mf.ArgumentError, match="at most 1 patterns"):
            cluster.sample(made, query, 3)
