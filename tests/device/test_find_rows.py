"""Kernels find rows of partitions by intervals and by hash tables as a loop over all arcs does."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux import _native
from motiflux.device import open_device
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.pcsr.device_rows import DeviceRows, Grid, RowFinder
from motiflux.gpu.pcsr.formats import HashPartition, IntervalPartition
from motiflux.gpu.pcsr.partitions import Partitions
from motiflux.gpu.runtime.accelerator import open_accelerator
from tests.unit.pcsr_cases import Rows, ids_of_one_hash, labelled_graph, true_rows

pytestmark = pytest.mark.devices("emulated", "cuda", reason="rows are on a device")

GRIDS = st.sampled_from((None, Grid(1, 32), Grid(3, 64)))


@contextmanager
def row_finder(device: str, budget: int | None = None) -> Iterator[RowFinder]:
    accelerator = open_accelerator(device)
    session = accelerator.session()
    try:
        yield RowFinder(accelerator, session.main, budget)
    finally:
        accelerator.recycle(session)


def check(
    finder: RowFinder,
    rows: DeviceRows,
    part: IntervalPartition | HashPartition,
    expected: Rows,
    asked: list[int],
    **options: object,
) -> None:
    found = finder.find(rows, np.array(asked, np.uint32), **options)
    given_rows = [part.neighbors[first : first + size].tolist() for first, size in found]
    assert given_rows == [expected.get(vertex, []) for vertex in asked]


@pytest.mark.turns(8, "emulated")
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1 << 30),
    vertices=st.sampled_from((1, 7, 60)),
    edges=st.sampled_from((0, 5, 150)),
    directed=st.booleans(),
    vertex_labels=st.sampled_from((1, 3)),
    edge_labels=st.sampled_from((1, 2, 5)),
    renames=st.booleans(),
    wide=st.booleans(),
    index_bytes=st.sampled_from((4, 16, 60, 1 << 14)),
    grid=GRIDS,
)
def test_rows_by_intervals(
    device: str,
    seed: int,
    vertices: int,
    edges: int,
    directed: bool,
    vertex_labels: int,
    edge_labels: int,
    renames: bool,
    wide: bool,
    index_bytes: int,
    grid: Grid | None,
) -> None:
    rng = np.random.default_rng(seed)
    sizes = {"vertex_labels": vertex_labels, "edge_labels": edge_labels}
    graph = labelled_graph(rng, vertices, edges, directed=directed, **sizes)
    partitions, expected = Partitions.of(graph), true_rows(graph)
    made = partitions.intervals(renames=renames, most_arcs=0 if wide else 2**32 - 1)
    asked = rng.permutation(np.concatenate([np.arange(vertices), rng.integers(0, vertices, 5)])).tolist()
    options = {"grid": grid, "index_bytes": index_bytes}
    with row_finder(device) as finder:
        renamed = None if made.renamed is None else finder.upload_ids(made.renamed)
        labels = graph.vertex_labels
        on_device = None if labels is None else finder.upload_ids(labels)
        for key, part in zip(partitions.keys, made.partitions, strict=True):
            rows = expected.get((key.direction.value, key.label), {})
            there = finder.upload(part, renamed)
            assert there.nbytes >= part.nbytes
            check(finder, there, part, rows, asked, **options)
            check(finder, there, part, rows, asked, alone=True, **options)
            if not partitions.grouped:
                continue
            assert labels is not None
            assert on_device is not None
            for label in range(vertex_labels + 1):
                of_label = {v: [one for one in row if labels[one] == label] for v, row in rows.items()}
                check(finder, there, part, of_label, asked, label=(label, on_device), **options)


@pytest.mark.turns(8, "emulated")
@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 1 << 30),
    vertices=st.sampled_from((1, 7, 60)),
    edges=st.sampled_from((0, 5, 150)),
    edge_labels=st.sampled_from((1, 3)),
    grid=GRIDS,
)
def test_rows_by_hash_tables(
    device: str, seed: int, vertices: int, edges: int, edge_labels: int, grid: Grid | None
) -> None:
    rng = np.random.default_rng(seed)
    graph = labelled_graph(rng, vertices, edges, directed=False, vertex_labels=1, edge_labels=edge_labels)
    partitions, expected = Partitions.of(graph), true_rows(graph)
    asked = [*range(vertices), *rng.integers(0, vertices, 5).tolist()]
    with row_finder(device) as finder:
        for key, part in zip(partitions.keys, partitions.hashes().partitions, strict=True):
            rows = expected.get((key.direction.value, key.label), {})
            for alone in (False, True):
                check(finder, finder.upload(part), part, rows, asked, grid=grid, alone=alone)


def test_keys_of_a_full_group_are_found_in_the_groups_behind_it(device: str) -> None:
    keys = ids_of_one_hash(60, 40)
    offsets = np.arange(41, dtype=np.uint32)
    part = HashPartition(*_native.hash_rows(keys[:40], offsets, offsets[:40], 1))
    expected = {int(key): [row] for row, key in enumerate(keys[:40])}
    with row_finder(device) as finder:
        for alone in (False, True):
            check(finder, finder.upload(part), part, expected, [*keys.tolist(), 1, 2, 3], alone=alone)


@pytest.mark.parametrize("length", [1, 31, 32, 33, 1000, 1025])
def test_groups_of_long_rows_are_found(device: str, length: int) -> None:
    # Vertex 0 has neighbours of labels 0, 0, ..., 2, 2, ..., 5; those of label 2 are some.
    labels = np.zeros(length + 1, np.int64)
    labels[1 + length // 3 : 1 + 2 * length // 3] = 2
    labels[1 + 2 * length // 3 :] = 5
    edges = [(0, one) for one in range(1, length + 1)]
    edge_labels = [0] * length
    edges.append((0, 1))
    edge_labels.append(1)
    graph = mf.Graph.from_edges(edges, vertex_labels=labels, edge_labels=edge_labels)
    partitions = Partitions.of(graph)
    made = partitions.intervals()
    part, rows = made.partitions[0], true_rows(graph)["either", 0]
    codes = graph.vertex_labels
    assert codes is not None
    hub = int(np.argmax(graph.forward.degrees()))
    with row_finder(device) as finder:
        assert made.renamed is not None
        there = finder.upload(part, finder.upload_ids(made.renamed))
        on_device = finder.upload_ids(codes)
        for label in range(len(graph.vertex_label_table) + 1):
            expected = {v: [one for one in row if codes[one] == label] for v, row in rows.items()}
            check(finder, there, part, expected, [hub, 0], label=(label, on_device))


@pytest.mark.parametrize("intervals", [1, 31, 32, 33, 1024, 1025, 2100])
@pytest.mark.parametrize("index_bytes", [4, 128, 1 << 14])
def test_every_row_is_found_among_few_and_many_intervals(
    device: str, intervals: int, index_bytes: int
) -> None:
    # Ids 3, 4, 6, 7, 9, 10, ...: row r has the neighbours r, r + 1.
    rows, alone = 2 * intervals, np.arange(intervals, dtype=np.uint32)
    offsets = np.arange(0, 2 * rows + 1, 2, dtype=np.uint32)
    neighbors = np.arange(rows, dtype=np.uint32).repeat(2)
    neighbors[1::2] += 1
    part = IntervalPartition(3 + 3 * alone, np.append(2 * alone, rows).astype(np.uint32), offsets, neighbors)
    assert part.ids()[:5].tolist() == [3, 4, 6, 7, 9][:rows]
    expected = {int(one): [row, row + 1] for row, one in enumerate(part.ids())}
    step = max(1, rows // 300)
    ends = [0, 1, 2, 3, 4, 5, 3 * intervals + 1, 3 * intervals + 2, 2**32 - 2]
    asked = [*ends, *range(3, 3 * intervals + 3, step)]
    with row_finder(device) as finder:
        there = finder.upload(part)
        for lanes_alone in (False, True):
            check(finder, there, part, expected, asked, index_bytes=index_bytes, alone=lanes_alone)


def test_a_partition_that_does_not_fit_is_refused(device: str) -> None:
    graph = labelled_graph(
        np.random.default_rng(1), 400, 4000, directed=False, vertex_labels=1, edge_labels=2
    )
    part = Partitions.of(graph).intervals().partitions[0]
    opened: Any = open_device(device)
    gc.collect()  # what other tests left would make room
    opened._account.reclaim(1 << 40)
    opened._retirement.drain(20.0)
    budget = opened._account.held() + 8000
    with row_finder(device, budget) as finder, pytest.raises(DeviceMemoryError):
        finder.upload(part)
