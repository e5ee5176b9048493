"""Tables of rows for phases have the rows of `Graph.adjacency`, whole and in ranges."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.conditions import Comparison, Condition, Operator
from motiflux.errors import InternalError
from motiflux.gpu.pcsr.formats import IntervalPartition
from motiflux.gpu.pcsr.images import read_image
from motiflux.gpu.pvm.empty_rows import fill_gaps
from motiflux.gpu.pvm.row_ranges import split_rows
from motiflux.gpu.pvm.row_tables import RowTables, TableKey
from motiflux.graph import AdjacencyKey, Direction, Graph
from tests.unit.pcsr_cases import Rows

HEAVY = Comparison("weight", Operator.GREATER, 5)
NEVER = Comparison("weight", Operator.GREATER, 50)


def graph_of(
    seed: int, vertices: int, edges: int, *, directed: bool, vertex_labels: int, edge_labels: int
) -> Graph:
    """Draw a graph with parallel edges and repeated copies, weights from 0 to 9, and isolated vertices."""
    rng = np.random.default_rng(seed)
    return mf.Graph.from_edges(
        rng.integers(0, vertices, (edges, 2)),
        directed=directed,
        num_vertices=vertices,
        vertex_labels=rng.integers(0, vertex_labels, vertices) if vertex_labels > 1 else None,
        edge_labels=rng.integers(0, edge_labels, edges) if edge_labels > 1 else None,
        edge_attributes={"weight": rng.integers(0, 10, edges)},
        self_loops="drop",
    )


GRAPHS = st.builds(
    graph_of,
    seed=st.integers(0, 1 << 30),
    vertices=st.sampled_from((1, 2, 9, 40)),
    edges=st.sampled_from((0, 1, 30, 150)),
    directed=st.booleans(),
    vertex_labels=st.sampled_from((1, 3)),
    edge_labels=st.sampled_from((1, 2, 5)),
)
CONDITIONS = st.sampled_from((None, None, HEAVY, NEVER))


def keys_of(tables: RowTables, where: Condition | None, rng: np.random.Generator) -> list[TableKey]:
    """Return keys of all kinds."""
    codes = len(tables.graph.edge_label_table)
    some = tuple(sorted({*rng.integers(0, codes, 2).tolist()}))
    labels = [None, (), some, *((code,) for code in range(codes))]
    targets = [None, *(range(len(tables.graph.vertex_label_table)) if tables.by_target else ())]
    return [
        TableKey(direction, one, where, target)
        for direction, one, target in product(Direction, labels, targets)
    ]


def true_rows_of(tables: RowTables, key: TableKey) -> Rows:
    """Return the rows of the graph's adjacency that are not empty, in the order that tables have."""
    graph = tables.graph
    direction = key.direction if graph.directed else Direction.EITHER
    targets = None if key.target is None else (key.target,)
    offsets, neighbors = graph.adjacency(AdjacencyKey(direction, key.labels, None, targets, key.where))
    ends, labels = offsets.astype(np.int64), graph.vertex_labels
    rows = {v: neighbors[ends[v] : ends[v + 1]].tolist() for v in range(graph.num_vertices)}
    if tables.grouped:
        assert labels is not None
        for row in rows.values():
            row.sort(key=lambda neighbor: (labels[neighbor], neighbor))
    return {v: row for v, row in rows.items() if row}


def rows_of(part: IntervalPartition, tables: RowTables) -> Rows:
    """Return the rows of a table that are not empty, by vertices."""
    vertex_of = np.argsort(tables.renamed)
    ends = part.offsets.astype(np.int64)
    found = {
        int(vertex_of[one]): part.neighbors[ends[row] : ends[row + 1]].tolist()
        for row, one in enumerate(part.ids())
    }
    return {v: row for v, row in found.items() if row}


def expect_well_formed(part: IntervalPartition) -> None:
    ids = part.ids().astype(np.int64)
    assert np.all(np.diff(ids) > 0)
    assert len(part.firsts) == (np.count_nonzero(np.diff(ids) > 1) + 1 if part.rows else 0)
    assert part.rows_before[0] == 0
    assert part.rows_before[-1] == part.rows
    assert part.offsets[0] == 0
    assert part.offsets[-1] == len(part.neighbors)


@settings(settings.get_profile("many"))
@given(GRAPHS, CONDITIONS, st.integers(0, 1 << 30))
def test_tables_have_the_rows_of_the_graph(graph: Graph, where: Condition | None, seed: int) -> None:
    tables = RowTables.of(graph)
    assert sorted(tables.renamed.tolist()) == list(range(graph.num_vertices))
    for key in keys_of(tables, where, np.random.default_rng(seed)):
        table = tables.table(key)
        assert table.key == tables.normal(key)
        expect_well_formed(table.rows)
        assert rows_of(table.rows, tables) == true_rows_of(tables, key)


@settings(settings.get_profile("many"))
@given(GRAPHS, st.sampled_from((None, HEAVY)), st.integers(1, 400))
def test_ranges_have_the_rows_of_their_table_and_at_most_as_many_bytes(
    graph: Graph, where: Condition | None, most_bytes: int
) -> None:
    tables = RowTables.of(graph)
    for direction in Direction:
        table = tables.table(TableKey(direction, None, where))
        tiles = table.tiles(most_bytes)
        together: Rows = {}
        least = tiles.least_ids()
        assert least[0] == 0
        for number, tile in enumerate(tiles):
            expect_well_formed(tile)
            if tile.rows:
                assert least[number] == (tile.firsts[0] if number else 0)
                last = tile.firsts[-1] + np.diff(tile.rows_before)[-1] - 1
                assert number + 1 == len(tiles) or last < least[number + 1]
            assert tile.nbytes <= tiles.nbytes_of(number)
            assert tile.nbytes <= most_bytes or tile.rows <= 1
            rows = rows_of(tile, tables)
            assert not together.keys() & rows.keys()
            together |= rows
        assert together == rows_of(table.rows, tables)
        assert sum(tile.rows for tile in tiles) == table.rows.rows
        if table.nbytes <= most_bytes:
            assert list(tiles) == [table.rows]
        with pytest.raises(IndexError):
            tiles[len(tiles)]


@pytest.mark.parametrize("threads", [1, 3])
def test_pieces_of_images_have_the_arrays_one_after_another(threads: int) -> None:
    arrays = [
        np.arange(7, dtype=np.uint64),
        np.arange(200_000, dtype=np.uint32),
        np.empty(0, np.uint32),
        np.arange(3, dtype=np.uint32),
    ]
    image = np.concatenate([array.view(np.uint32) for array in arrays])
    for words in (5, 70_000, 150_000, 300_000):
        pieces = []
        for first in range(0, len(image), words):
            pieces.append(np.full(min(words, len(image) - first), 9, np.uint32))
            read_image(arrays, first, pieces[-1], threads)
        assert np.array_equal(np.concatenate(pieces), image)


def test_ranges_are_as_large_as_they_may_be() -> None:
    tables = RowTables.of(graph_of(3, 300, 3000, directed=False, vertex_labels=1, edge_labels=3))
    table = tables.table(TableKey(Direction.EITHER, (1,)))
    tiles = table.tiles(2000)
    sizes = [tile.nbytes for tile in tiles]
    longest = 4 * int(np.diff(table.rows.offsets).max())
    assert all(2000 - longest - 16 < size <= 2000 for size in sizes[:-1])


def test_ranges_of_wide_offsets_have_narrow_ones() -> None:
    offsets = np.array([0, 2, 2**32 + 2, 2**32 + 5, 2**32 + 6], np.uint64)
    neighbors = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint32), (2**32 + 6,), (0,))
    rows = IntervalPartition(np.array([3, 9], np.uint32), np.array([0, 2, 4], np.uint32), offsets, neighbors)
    tiles = split_rows(rows, 100)
    assert [tile.rows for tile in tiles] == [1, 1, 2]
    assert [tile.offsets.dtype for tile in tiles] == [np.uint32, np.uint64, np.uint32]
    assert [tile.offsets.tolist() for tile in tiles] == [[0, 2], [0, 2**32], [0, 3, 4]]
    assert [tile.ids().tolist() for tile in tiles] == [[3], [4], [9, 10]]
    assert [tiles.nbytes_of(number) for number in (0, 2)] == [36, 52]


def spread(ids: list[int], dtype: type = np.uint32) -> IntervalPartition:
    """Return a table with rows of one entry and more for these ids."""
    ends = np.array(ids, np.int64)
    starts = np.flatnonzero(np.diff(ends, prepend=-2) > 1)
    offsets = np.concatenate([[0], np.cumsum(1 + np.arange(len(ids)) % 3)]).astype(dtype)
    neighbors = np.arange(int(offsets[-1]), dtype=np.uint32)
    return IntervalPartition(
        ends[starts].astype(np.uint32), np.append(starts, len(ids)).astype(np.uint32), offsets, neighbors
    )


def by_id(part: IntervalPartition) -> Rows:
    """Return the rows that are not empty, by their ids."""
    ends = part.offsets.astype(np.int64)
    rows = {int(one): part.neighbors[ends[at] : ends[at + 1]].tolist() for at, one in enumerate(part.ids())}
    return {one: row for one, row in rows.items() if row}


def test_short_gaps_are_filled_with_empty_rows_and_others_are_not() -> None:
    rows = spread([3, 5, 8, 9, 14, 100])
    filled = fill_gaps(rows)
    assert filled.firsts.tolist() == [3, 14, 100]
    assert filled.ids().tolist() == [3, 4, 5, 6, 7, 8, 9, 14, 100]
    assert filled.offsets.tolist() == [0, 1, 1, 3, 3, 3, 6, 7, 9, 12]
    assert filled.nbytes <= rows.nbytes
    assert filled.offsets.dtype == np.uint32
    wide = fill_gaps(spread([3, 5, 8, 9, 14, 100], np.uint64))
    assert wide.firsts.tolist() == [3, 8, 14, 100]
    assert wide.offsets.dtype == np.uint64


@settings(settings.get_profile("many"))
@given(st.sets(st.integers(0, 300), max_size=100), st.integers(1, 30))
def test_filling_gaps_keeps_all_rows_and_takes_few_bytes(ids: set[int], few: int) -> None:
    rows = spread(sorted(ids))
    filled = fill_gaps(rows, few)
    expect_well_formed(filled)
    assert by_id(filled) == by_id(rows)
    assert filled.nbytes <= 1.25 * rows.nbytes
    if filled.nbytes > rows.nbytes:
        assert len(filled.firsts) == few


def test_longer_gaps_are_filled_if_few_intervals_are_left() -> None:
    rows = spread([7 * one + rest for one in range(40) for rest in range(4)])  # gaps of 3
    assert len(rows.firsts) == 40
    assert fill_gaps(rows) is rows
    assert len(fill_gaps(rows, 30).firsts) == 30
    sparse = spread([100 * one for one in range(40)])
    assert fill_gaps(sparse, 10) is sparse


def test_conditions_do_not_spread_rows_over_many_intervals() -> None:
    tables = RowTables.of(graph_of(5, 2000, 6000, directed=False, vertex_labels=1, edge_labels=3))
    heavy = tables.table(TableKey(Direction.EITHER, (1,), HEAVY)).rows
    rows = np.count_nonzero(np.diff(heavy.offsets))
    assert 300 < rows < heavy.rows < 2000
    assert len(heavy.firsts) < rows / 20


def test_a_neighbour_of_parallel_edges_is_once_in_a_merged_table() -> None:
    graph = mf.Graph.from_edges([(0, 1), (0, 1), (1, 2)], edge_labels=[0, 1, 2])
    tables = RowTables.of(graph)
    merged, one = tables.table(TableKey(Direction.EITHER)), tables.table(TableKey(Direction.EITHER, (1,)))
    assert len(merged.rows.neighbors) == 4
    assert len(one.rows.neighbors) == 2


def test_either_direction_lists_a_neighbour_once() -> None:
    tables = RowTables.of(mf.Graph.from_edges([(0, 1), (1, 0), (1, 2)], directed=True))
    sizes = {way: len(tables.table(TableKey(way)).rows.neighbors) for way in Direction}
    assert sizes == {Direction.OUT: 3, Direction.IN: 3, Direction.EITHER: 4}


def test_labels_that_name_all_codes_are_none_and_others_are_left_out() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], edge_labels=[0, 1])
    tables = RowTables.of(graph)
    assert tables.normal(TableKey(Direction.OUT, (1, 0))) == TableKey(Direction.EITHER, None)
    assert tables.normal(TableKey(Direction.EITHER, (1, 7))) == TableKey(Direction.EITHER, (1,))
    plain = RowTables.of(mf.Graph.from_edges([(0, 1), (1, 2)], directed=True))
    assert plain.normal(TableKey(Direction.OUT, (0,))) == TableKey(Direction.OUT, None)


def test_labels_of_targets_are_for_graphs_that_are_divided_by_them() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (3, 0)]
    by_target = RowTables.of(mf.Graph.from_edges(edges, vertex_labels=[0, 1, 1, 2]))
    assert (by_target.by_target, by_target.grouped) == (True, False)
    assert len(by_target.table(TableKey(Direction.EITHER, None, None, 1)).rows.neighbors) == 4
    grouped = RowTables.of(mf.Graph.from_edges(edges, vertex_labels=[0, 1, 1, 2], edge_labels=[0, 0, 1, 1]))
    assert (grouped.by_target, grouped.grouped) == (False, True)
    plain = RowTables.of(mf.Graph.from_edges(edges))
    assert (plain.by_target, plain.grouped) == (False, False)
    for tables, code in ((by_target, 3), (grouped, 0), (plain, 0)):
        with pytest.raises(InternalError, match="target: expected a code below"):
            tables.table(TableKey(Direction.EITHER, None, None, code))


def test_tables_are_made_once_and_are_kept_until_the_graph_forgets() -> None:
    graph = graph_of(1, 30, 100, directed=True, vertex_labels=2, edge_labels=3)
    keys = [TableKey(Direction.OUT, (1,)), TableKey(Direction.IN, (0, 1)), TableKey(Direction.EITHER)]
    made = [RowTables.of(graph).table(key).rows for key in keys]
    assert all(RowTables.of(graph).table(key).rows is rows for key, rows in zip(keys, made, strict=True))
    graph.forget()
    assert all(RowTables.of(graph).table(key).rows is not rows for key, rows in zip(keys, made, strict=True))
