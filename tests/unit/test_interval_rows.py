"""Rows of partitions by intervals and by hash tables, as arrays of the host, against a loop over all arcs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux import _native
from motiflux.codegen.pcsr import GROUP_KEYS, GROUP_WORDS, NO_KEY
from motiflux.gpu.pcsr.formats import HashPartition, IntervalPartition
from motiflux.gpu.pcsr.partitions import PartitionKey, Partitions
from tests.unit.pcsr_cases import HASH, Rows, ids_of_one_hash, labelled_graph, true_rows

GRAPHS = st.builds(
    lambda seed, **sizes: labelled_graph(np.random.default_rng(seed), **sizes),
    seed=st.integers(0, 1 << 30),
    vertices=st.sampled_from((1, 2, 9, 40)),
    edges=st.sampled_from((0, 1, 30, 150)),
    directed=st.booleans(),
    vertex_labels=st.sampled_from((1, 3, 50)),
    edge_labels=st.sampled_from((1, 2, 5, 200)),
)


def rows_of(part: IntervalPartition, renamed: list[int]) -> Rows:
    vertex_of = {one: vertex for vertex, one in enumerate(renamed)}
    ends = part.offsets.astype(np.int64)
    return {
        vertex_of[int(one)]: part.neighbors[ends[row] : ends[row + 1]].tolist()
        for row, one in enumerate(part.ids())
    }


def rows_of_hash(part: HashPartition) -> Rows:
    """Return the rows of all keys, read group by group."""
    rows: Rows = {}
    for group in part.words.reshape(-1, GROUP_WORDS).tolist():
        keys = [pair for pair in zip(group[0:30:2], group[1:30:2], strict=True) if pair[0] != NO_KEY]
        assert group[0 : 2 * len(keys) : 2] == [key for key, _ in keys]  # no gaps
        ends = [first for _, first in keys[1:]] + [group[31]]
        for (key, first), end in zip(keys, ends, strict=False):
            assert key not in rows
            rows[key] = part.neighbors[first:end].tolist()
    return rows


def named(key: PartitionKey) -> tuple[str, int]:
    return key.direction.value, key.label


@settings(settings.get_profile("many"))
@given(GRAPHS, st.booleans(), st.sampled_from((2**32 - 1, 3)))
def test_rows_by_intervals_are_those_of_the_graph(graph: mf.Graph, renames: bool, most_arcs: int) -> None:
    partitions, expected = Partitions.of(graph), true_rows(graph)
    made = partitions.intervals(renames=renames, most_arcs=most_arcs)
    renamed = list(range(graph.num_vertices)) if made.renamed is None else made.renamed.tolist()
    assert sorted(renamed) == list(range(graph.num_vertices))
    assert {*expected} <= {named(key) for key in partitions.keys}
    wide = any(sum(map(len, rows.values())) > most_arcs for rows in expected.values())
    for key, part in zip(partitions.keys, made.partitions, strict=True):
        assert rows_of(part, renamed) == expected.get(named(key), {})
        assert part.offsets.dtype == (np.uint64 if wide else np.uint32)
        ids = part.ids().astype(np.int64)
        assert np.all(np.diff(ids) > 0)
        assert len(part.firsts) == (np.count_nonzero(np.diff(ids) > 1) + 1 if part.rows else 0)
        assert part.rows_before[-1] == part.rows
    assert made.nbytes == sum(
        4 * (2 * len(part.firsts) + 1 + len(part.neighbors)) + part.offsets.itemsize * (part.rows + 1)
        for part in made.partitions
    ) + (4 * graph.num_vertices if renames else 0)
    assert made.largest <= made.nbytes


@settings(settings.get_profile("many"))
@given(GRAPHS)
def test_rows_by_hash_tables_are_those_of_the_graph(graph: mf.Graph) -> None:
    partitions, expected = Partitions.of(graph), true_rows(graph)
    made = partitions.hashes()
    for key, part in zip(partitions.keys, made.partitions, strict=True):
        rows = expected.get(named(key), {})
        assert rows_of_hash(part) == rows
        assert part.groups == len(rows)
        assert part.nbytes == 128 * len(rows) + 4 * sum(map(len, rows.values()))
    assert made.nbytes == sum(part.nbytes for part in made.partitions)


def test_arcs_are_divided_by_labels_of_targets_if_edges_have_one() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (3, 0)]
    by_target = Partitions.of(mf.Graph.from_edges(edges, vertex_labels=[0, 1, 1, 2]))
    assert (by_target.by_target, by_target.grouped, len(by_target.keys)) == (True, False, 3)
    by_edge = Partitions.of(mf.Graph.from_edges(edges, vertex_labels=[0, 1, 1, 2], edge_labels=[0, 0, 1, 1]))
    assert (by_edge.by_target, by_edge.grouped, len(by_edge.keys)) == (False, True, 2)
    plain = Partitions.of(mf.Graph.from_edges(edges, directed=True))
    assert [named(key) for key in plain.keys] == [("out", 0), ("in", 0)]


def test_new_ids_make_fewer_intervals_and_isolated_vertices_have_the_last() -> None:
    graph = labelled_graph(np.random.default_rng(3), 400, 500, directed=False, vertex_labels=1, edge_labels=3)
    partitions = Partitions.of(graph)
    new, old = partitions.intervals(), partitions.intervals(renames=False)
    assert 5 * new.intervals < old.intervals
    isolated = np.flatnonzero(graph.forward.degrees() == 0)
    assert len(isolated) > 1
    assert new.renamed is not None
    assert np.array_equal(new.renamed[isolated], np.arange(400 - len(isolated), 400))


def test_groups_with_more_keys_than_pairs_go_on_in_unused_groups() -> None:
    keys = ids_of_one_hash(40, 40)
    offsets = np.cumsum([0, *(key % 4 for key in range(40))]).astype(np.uint32)
    neighbors = np.arange(offsets[-1], dtype=np.uint32)
    part = HashPartition(*_native.hash_rows(keys, offsets, neighbors, 1))
    expected = {int(key): neighbors[offsets[row] : offsets[row + 1]].tolist() for row, key in enumerate(keys)}
    assert rows_of_hash(part) == expected
    groups = part.words.reshape(-1, GROUP_WORDS)
    chain = [HASH]
    while (next_group := int(groups[chain[-1], 30])) != NO_KEY:
        chain.append(next_group)
    assert len(chain) == -(-40 // GROUP_KEYS)
    assert all(groups[one, 0] != NO_KEY for one in chain)


@pytest.mark.parametrize("change", ["neighbors", "labels", "offsets", "renamed", "vertex labels"])
def test_arrays_that_are_no_graph_are_refused(change: str) -> None:
    offsets = np.array([0, 1, 2 if change != "offsets" else 5], np.uint64)
    neighbors = np.array([1, 0 if change != "neighbors" else 2], np.uint32)
    labels = np.array([0, 1 if change != "labels" else 3], np.uint32)
    vertex_labels = np.array([0, 0, 0], np.uint32) if change == "vertex labels" else None
    renamed = np.array([1, 1] if change == "renamed" else [1, 0], np.uint32)
    with pytest.raises(ValueError, match=r"expected|range|permutation"):
        _native.Partitions([(offsets, neighbors, labels)], vertex_labels, 2, False, 1).interval_rows(
            renamed, 5, 1
        )
