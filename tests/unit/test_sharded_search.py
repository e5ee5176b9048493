"""Counts of sharded graphs are those of whole ones, whatever the memory, the shards and the ranges are."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux import _native
from motiflux.cluster.shards import rows, search
from motiflux.cluster.shards.images import RangeImages, Sums
from motiflux.cluster.shards.layout import Layout
from motiflux.cluster.shards.planning import image_plan_of, ranged, ranged_images
from motiflux.cluster.shards.rows import Cut, RowArrays, Rows, Slices
from motiflux.cluster.shards.search import RangeSearch
from motiflux.cpu.image_counts import times_of
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request
from tests.sharded import ids_of, last_rows, sharded

PATTERNS = [
    "(a)--(b)",
    "(a)--(b)--(c)--(a)",
    "(a:1)--(b:0)--(c)--(a)",
    "(a)--(b)--(c)--(d)--(a)",
    "(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d)",
    "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
    "(a)--(b), (a)--(c)--(d)",
    "(a)--(b), (a)--(c:1), (a)--(d)",
    "(a)-[:1]-(b)-[:0]-(c)--(a)",
    "(a)--(b)--(c)--(d)--(e)",
    "(a)--(b)--(c) WHERE NOT (a)--(c)",
]
DIRECTED = [
    "(a)-->(b)-->(c)-->(a)",
    "(a)-->(b)-->(c), (a)-->(c)",
    "(a)-->(b)<--(c)-->(d)",
    "(a:1)-[:0]->(b)--(c)<-[:1]-(d)",
    "(a)-->(b)-->(c)-->(d)-->(a)",
]


def random_graph(seed: int, *, directed: bool) -> mf.Graph:
    draws = random.Random(seed)
    vertices = draws.randrange(4, 26)
    share = draws.choice([0.1, 0.3, 0.6])
    pairs = [(u, v) for u in range(vertices) for v in range(vertices) if u != v and draws.random() < share]
    pairs += [(0, v) for v in range(1, vertices)]
    labels = draws.choice([1, 2])
    of_edges = draws.choice([1, 2])
    return mf.Graph.from_edges(
        pairs,
        directed=directed,
        vertex_ids=range(vertices),
        vertex_labels=[draws.randrange(labels) for _ in range(vertices)],
        edge_labels=[draws.randrange(of_edges) for _ in pairs],
    )


def search_of(
    graph: mf.Graph, pattern: str, memory: int, shards: int = 3, hot: int = 0, **options: Any
) -> tuple[RangeSearch | None, Layout, int]:
    layout, parts = sharded(graph, shards)
    request = make_request(threads=1, **{"semantics": "isomorphism", "symmetry": "embeddings"} | options)
    made = ranged(graph, mf.Pattern.parse(pattern), request, Deadline.after(None))
    assert made is not None
    if made.plan.impossible is not None:
        return None, layout, 1
    near = [True] + [False] * (shards - 1)
    found = Rows(layout, parts, near, last_rows(graph, hot), memory // search.SHARE_OF_ROWS)
    return RangeSearch(found, made, memory, 1), layout, made.plan.multiplier


def count_in_ranges(
    graph: mf.Graph,
    pattern: str,
    memory: int,
    cuts: list[float],
    shards: int = 3,
    hot: int = 0,
    **options: Any,
) -> tuple[int, int]:
    """Return the count, and the number of parts."""
    search, layout, multiplier = search_of(graph, pattern, memory, shards, hot, **options)
    if search is None:
        return 0, 0
    ends = sorted({0, layout.entries, *(int(cut * layout.entries) for cut in cuts)})
    found = [search.each(first, last, None, None, search.counted) for first, last in pairwise(ends)]
    assert all(one.left == first for one, first in zip(found, ends[:-1], strict=True))
    return multiplier * sum(one.total for one in found), sum(one.parts for one in found)


@pytest.mark.turns(3)
@settings(max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "induced", "homomorphism"]),
    symmetry=st.sampled_from(["embeddings", "subgraphs"]),
    cuts=st.lists(st.floats(0, 1), max_size=3),
    shards=st.integers(1, 4),
    hot=st.sampled_from([0, 3, 30]),
    memory=st.sampled_from([6_000, 12_000, 1 << 20]),
)
def test_counts_are_those_of_the_whole_graph(
    seed: int,
    directed: bool,
    semantics: str,
    symmetry: str,
    cuts: list[float],
    shards: int,
    hot: int,
    memory: int,
) -> None:
    if (semantics, symmetry) == ("homomorphism", "subgraphs"):
        symmetry = "embeddings"
    graph = random_graph(seed, directed=directed)
    pattern = random.Random(seed).choice(PATTERNS + DIRECTED if directed else PATTERNS)
    options: dict[str, Any] = {"semantics": semantics, "symmetry": symmetry}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "_LEAST_PIECE", 8)
        patch.setattr(search, "_LEAST", 0)
        found, _ = count_in_ranges(graph, pattern, memory, cuts, shards, hot, **options)
    assert found == mf.count(graph, pattern, **options)


@pytest.mark.parametrize(("pattern", "memory"), [(PATTERNS[3], 15_000), (PATTERNS[5], 30_000)])
def test_roots_in_pieces_have_the_same_embeddings(
    monkeypatch: pytest.MonkeyPatch, pattern: str, memory: int
) -> None:
    graph = mf.generate.rmat(scale=9, edges=4_000, seed=2, directed=False)
    monkeypatch.setattr(search, "_FEW_PARTS", 0)
    parts = []
    for passes, of_part in ((1e9, 1.0), (0.0, 0.0)):  # never, and always
        monkeypatch.setattr(search, "_PASSES_OF_PIECE", passes)
        monkeypatch.setattr(search, "_PART_OF_PIECE", of_part)
        found, number = count_in_ranges(graph, pattern, memory, [])
        assert found == mf.count(graph, pattern)
        parts.append(number)
    assert parts[0] != parts[1]
    assert min(parts) > 1


def test_a_long_path_with_the_least_memory_is_divided() -> None:
    ends = np.random.default_rng(1).integers(0, 300, (9_000, 2))
    graph = mf.Graph.from_edges(ends, self_loops="drop")
    pattern = "--".join(f"(v{at})" for at in range(22))
    with pytest.raises(mf.ClusterError) as least:
        search_of(graph, pattern, 1_000)
    memory = re.search(r"at least ([\d,]+) bytes", str(least.value))
    assert memory is not None
    found, layout, _ = search_of(graph, pattern, int(memory[1].replace(",", "")))
    assert found is not None

    def searched(*part: Any) -> int:
        raise InterruptedError

    with pytest.raises(InterruptedError):  # once there is a part
        found.each(0, layout.entries, None, None, searched)


@pytest.mark.parametrize(("pattern", "memory"), [(PATTERNS[3], 15_000), (PATTERNS[5], 30_000)])
def test_low_roots_in_pieces_have_the_same_embeddings(
    monkeypatch: pytest.MonkeyPatch, pattern: str, memory: int
) -> None:
    graph = mf.generate.rmat(scale=9, edges=4_000, seed=2, directed=False)
    monkeypatch.setattr(search, "_MANY_PARTS", 0)
    pieces: list[int] = []
    searched = RangeSearch._search_low

    def counted(self: RangeSearch, low: Any, *given: Any) -> None:
        before = given[1].parts
        searched(self, low, *given)
        pieces.append(given[1].parts - before)

    monkeypatch.setattr(RangeSearch, "_search_low", counted)
    for gain in (1e9, 1e-9):  # never, and wherever a root fits
        monkeypatch.setattr(search, "_GAIN_OF_LOW", gain)
        found, _ = count_in_ranges(graph, pattern, memory, [])
        assert found == mf.count(graph, pattern)
        assert bool(pieces) == (gain < 1)
    assert max(pieces) > 1


@pytest.mark.turns(2)
@settings(max_examples=6)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "induced", "homomorphism"]),
    memory=st.sampled_from([2_500, 3_500]),
    shards=st.integers(1, 4),
)
def test_low_roots_in_pieces_are_counted_once(
    seed: int, directed: bool, semantics: str, memory: int, shards: int
) -> None:
    graph = mf.generate.rmat(scale=6, edges=400, seed=seed, directed=directed)
    unlabelled = [one for one in PATTERNS + DIRECTED if ":" not in one and (directed or ">" not in one)]
    pattern = random.Random(seed).choice(unlabelled)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "_LEAST_PIECE", 8)
        patch.setattr(search, "_LEAST", 0)
        patch.setattr(search, "_MANY_PARTS", 0)
        patch.setattr(search, "_GAIN_OF_LOW", 1e-9)
        found, parts = count_in_ranges(graph, pattern, memory, [], shards, semantics=semantics)
    event(f"{min(parts, 3)} parts")
    assert found == mf.count(graph, pattern, semantics=semantics)


@given(seed=st.integers(0, 999), entries=st.integers(1, 12), kinds=st.booleans())
def test_rows_that_are_asked_for_in_pieces_are_whole(seed: int, entries: int, kinds: bool) -> None:
    draws = np.random.default_rng(seed)
    rows_ = [np.sort(draws.integers(0, 20, draws.integers(0, 9))) for _ in range(12)]
    neighbors = np.concatenate(rows_).astype(np.uint32)
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in rows_])]).astype(np.uint64)
    of_entries = np.arange(len(neighbors), dtype=np.uint16) if kinds else None
    shard = RowArrays(5, offsets, neighbors, of_entries, None)
    ids = np.sort(draws.choice(np.arange(5, 17), 6, replace=False))
    least = draws.integers(0, 10, 6)
    cut = Slices(least, least + draws.integers(0, 15, 6))
    expected = shard.take(ids, cut).packed()
    found, at, skip, lengths = [], 0, 0, np.zeros(6, np.int64)
    while at < len(ids):
        piece = shard.ask(ids[at:], cut.part(at, 6), entries, skip)()
        assert len(piece.ids) >= 1
        assert piece.entries <= entries or len(piece.ids) == 1
        lengths[at : at + len(piece.ids)] += piece.lengths
        skip = skip + piece.entries if piece.cut_short else 0
        at += 0 if piece.cut_short else len(piece.ids)
        found.append(piece)
    assert np.array_equal(np.concatenate([one.neighbors for one in found]), expected.neighbors)
    assert np.array_equal(lengths, expected.lengths)
    if kinds:
        assert np.array_equal(np.concatenate([one.kinds for one in found]), expected.kinds)


STARS = [
    "(a)--(b)--(c)",
    "(a)--(b), (a)--(c), (a)--(d)",
    "(a:1)--(b)--(c)",
    "(a)-->(b)-->(c)",
    "(a)<--(b)-->(c)",
]


@pytest.mark.parametrize("pattern", STARS)
@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
@pytest.mark.parametrize("memory", [3_000, 1 << 20])
def test_rows_that_are_counted_in_closed_form_are_counted_once(
    pattern: str, semantics: str, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_LEAST", 0)
    draws = random.Random(1)
    pairs = [(u, v) for u in range(12) for v in range(12) if u != v and draws.random() < 0.4]
    labels = [draws.randrange(2) for _ in range(12)]
    graph = mf.Graph.from_edges(pairs, directed=">" in pattern, vertex_ids=range(12), vertex_labels=labels)
    _, layout, _ = search_of(graph, pattern, 1 << 20, semantics=semantics)
    cuts = [entry / layout.entries for entry in range(layout.entries)]  # each entry is a range of its own
    for some in (cuts, []):
        found, _ = count_in_ranges(graph, pattern, memory, some, semantics=semantics)
        assert found == mf.count(graph, pattern, semantics=semantics)


def test_a_search_from_one_vertex_is_divided_into_blocks_of_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "_LEAST", 0)
    graph = mf.generate.rmat(scale=6, edges=900, seed=2, directed=False)
    pattern = "(a)--(b)--(c)--(d)--(a)"
    whole, one = count_in_ranges(graph, pattern, 1 << 20, [])
    divided, several = count_in_ranges(graph, pattern, 3_000, [])
    assert whole == divided == mf.count(graph, pattern)
    assert (one, several > 10) == (1, True)


def test_memory_below_that_of_masks_is_refused_by_name() -> None:
    graph = mf.generate.rmat(scale=6, edges=900, seed=2, directed=False)
    with pytest.raises(mf.ClusterError, match=r"memory: expected at least 8,\d\d\d bytes .*, found 500"):
        search_of(graph, "(a)--(b)", 500)


@pytest.mark.turns(3)
def test_parts_of_a_graph_of_four_times_the_memory_stay_within_it() -> None:
    triangle = "(a)--(b)--(c)--(a)"
    ends = np.random.default_rng(1).integers(0, 8_000, (400_000, 2))
    graph = mf.Graph.from_edges(ends, self_loops="drop")
    memory = 790_000
    small, sizes, _ = search_of(mf.Graph.from_edges(ends[:3_000], self_loops="drop"), triangle, memory)
    whole, layout, _ = search_of(graph, triangle, 1 << 30)
    search, _, _ = search_of(graph, triangle, memory)
    assert small is not None
    assert whole is not None
    assert search is not None
    assert layout.nbytes > 4 * memory
    small.each(
        0, sizes.entries, None, None, small.counted
    )  # what is imported and compiled for it is not counted
    first = layout.entries - layout.entries // 8
    tracemalloc.start()
    try:
        found = search.each(first, layout.entries, None, None, search.counted)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.total == whole.each(first, layout.entries, None, None, whole.counted).total > 0
    assert peak < memory


@pytest.mark.turns(6)
def test_a_process_that_searches_parts_takes_little_more_than_the_memory() -> None:
    memory = 2_300_000
    found = subprocess.run(
        [sys.executable, "-m", "tests.sharded_memory", str(memory)],
        capture_output=True,
        text=True,
        check=True,
    )
    measured = json.loads(found.stdout)
    assert measured["rows"] > 4 * memory
    assert measured["parts"] > 2
    assert measured["total"] == measured["expected"] > 0
    # The interpreter and the allocators take some 1 MB, whatever the memory is.
    assert memory / 4 < measured["peak"] < 2 * memory < measured["rows"] / 2


def test_rows_that_were_fetched_are_not_fetched_again() -> None:
    graph = mf.generate.rmat(scale=6, edges=900, seed=2, directed=False)
    layout, parts = sharded(graph, 3)
    found = Rows(layout, parts, [False] * 3, None, 1 << 20)
    ids = np.arange(10, 60)
    wide, narrow = Cut(0, 64), Cut(20, 50, 1)
    first = list(found.pieces(ids, wide))
    assert (found.asked, found.fetched) == (len(first), sum(one.nbytes for one in first))
    again = [one.packed() for one in found.pieces(ids, narrow)]
    assert found.asked == len(first)
    expected = [one.take(ids[layout.shards_of(ids) == at], narrow).packed() for at, one in enumerate(parts)]
    assert np.array_equal(
        np.concatenate([one.neighbors for one in again]), np.concatenate([one.neighbors for one in expected])
    )
    list(found.pieces(np.arange(0, 64), wide))
    assert found.asked > len(first)


@pytest.mark.parametrize("directed", [False, True])
def test_rows_longer_than_a_piece_come_in_several(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_LEAST_PIECE", 2)
    graph = random_graph(3, directed=directed)
    layout, parts = sharded(graph, 2)
    found = Rows(layout, parts, [False, False], None, 0)
    ids, cut = np.arange(layout.num_vertices), Cut(2, layout.num_vertices - 1)
    pieces = [one.packed() for one in found.pieces(ids, cut)]
    assert any(one.cut_short for one in pieces)
    expected = [part.take(ids[layout.shards_of(ids) == at], cut).packed() for at, part in enumerate(parts)]
    for vertex in ids:
        of_pieces, of_rows = (
            [
                one.neighbors[one.begins[at] : one.ends[at]]
                for one in some
                for at in np.flatnonzero(one.ids == vertex)
            ]
            for some in (pieces, expected)
        )
        assert np.array_equal(np.concatenate(of_pieces), np.concatenate(of_rows))
        assert all(one[-1] < other[0] for one, other in pairwise(of_pieces) if len(one) and len(other))


FAULTY = [
    ([0], [0], [9]),
    ([0], [2], [1]),
    ([0], [-1], [1]),
    ([9], [0], [1]),
    ([0, 1], [0], [1]),
]


@pytest.mark.parametrize(("ids", "begins", "ends"), FAULTY)
def test_rows_outside_the_entries_are_refused(ids: list[int], begins: list[int], ends: list[int]) -> None:
    part = _native.Part(4, 2)
    part.add_range(0, 0, 4)
    places = (np.array(one, np.int64) for one in (ids, begins, ends))
    piece = (*places, np.arange(3, dtype=np.uint32), None)
    with pytest.raises(ValueError, match="expected"):
        part.lead(0, piece, [(1, 0, 4, 0, [])])


def test_rows_out_of_order_are_refused() -> None:
    part = _native.Part(4, 2)
    part.add_range(0, 0, 4)
    part.add_range(1, 0, 4)
    part.begin_rows([([(0, 1, 0)], [])], [(0, 4), (0, 4)], 1 << 10, 8)
    neighbors = np.array([0, 1, 3], np.uint32)
    places = np.array([0]), np.array([3]), neighbors, None
    assert part.append((np.array([2]), *places))
    with pytest.raises(ValueError, match="ascending rows"):
        part.append((np.array([1]), *places))


@pytest.mark.parametrize(("nbytes", "fits"), [(100, True), (60, False), (8, False)])
def test_rows_that_do_not_fit_are_not_taken(nbytes: int, fits: bool) -> None:
    part = _native.Part(9, 2)
    part.add_range(0, 0, 9)
    part.add_range(1, 0, 9)
    part.begin_rows([([(0, 1, 0)], [])], [(2, 7), (1, 9)], nbytes, 8)
    ids, begins, ends = np.array([1, 2, 6]), np.array([0, 1, 4]), np.array([1, 4, 5])
    neighbors = np.array([2, 0, 5, 8, 8], np.uint32)
    kept = part.append((ids, begins, ends, neighbors, None))
    assert kept == (nbytes >= 4 * 3 + 8 * 2)
    taken = part.take_rows(0) if kept else None
    assert (taken is not None) == fits
    if taken is not None:
        ((offsets, numbers),) = taken
        assert part.vertices().tolist() == [2, 5, 6, 8]  # those that have entries
        assert (offsets.tolist(), numbers.tolist()) == ([0, 2, 2, 3, 3], [1, 3, 3])


def test_slices_of_a_row_do_not_overlap() -> None:
    part = _native.Part(20, 3)
    for vertex in range(3):
        part.add_range(vertex, 0, 20)
    part.begin_rows([([(0, 1, 1), (0, 2, 0)], [])], [(4, 6), (2, 8), (7, 9)], 1 << 10, 8)
    ids, least, most = part.slices(0, 10)
    assert list(zip(ids.tolist(), least.tolist(), most.tolist(), strict=True)) == [(4, 5, 9), (5, 6, 9)]
    part.begin_rows([([(0, 1, 0), (0, 2, 0)], [])], [(4, 5), (2, 4), (7, 9)], 1 << 10, 8)
    ids, least, most = part.slices(0, 10)
    assert list(zip(ids.tolist(), least.tolist(), most.tolist(), strict=True)) == [(4, 2, 4), (4, 7, 9)]


@pytest.mark.parametrize("room", [200, 400, 1_000])
@pytest.mark.parametrize("divisible", [0b001, 0b011, 0b111])
def test_boxes_have_each_triple_of_ordered_candidates_once(room: int, divisible: int) -> None:
    number = 12
    part = _native.Part(number, 3)
    for vertex in range(3):
        part.add_range(vertex, 0, number)
    arcs = [([(0, 1, 1)], []), ([(0, 2, 1)], []), ([(1, 2, 1)], [])]
    part.begin_rows(arcs, [(0, number)] * 3, 0, 0)
    part.begin_weights(arcs, [list(range(number + 1))] * 3)
    ids = np.arange(number)
    neighbors = np.tile(np.arange(number, dtype=np.uint32), number)
    part.weigh((ids, ids * number, (ids + 1) * number, neighbors, None))
    boxes, parts = part.take_weights().divide(
        arcs=[0, 1, 2],
        needed=[0, 1, 2],
        less=[(0, 1), (0, 2), (1, 2)],
        sources=[[0], [0], [1]],
        divisible=divisible,
        beside=0,
        room=room,
        most=1_000,
    )
    assert len(boxes) == len(parts) > 1
    for triple in combinations(range(number), 3):
        assert sum(bool(np.all((box[:, 0] <= triple) & (triple < box[:, 1]))) for box in boxes) == 1
    if divisible == 0b111:
        assert np.all(parts == 1)  # they fit


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"arcs": [1]}, "weights"),
        ({"needed": [1]}, "weights"),
        ({"less": [(0, 2)]}, "query vertex"),
        ({"sources": [[2]]}, "query vertex"),
    ],
)
def test_costs_of_what_is_not_there_are_refused(given: dict[str, Any], message: str) -> None:
    part = _native.Part(4, 2)
    part.add_range(0, 0, 4)
    part.add_range(1, 0, 4)
    arcs = [([(0, 1, 0)], [])]
    part.begin_rows(arcs, [(0, 4), (0, 4)], 0, 0)
    part.begin_weights(arcs, [[0, 2, 4]] * 2)
    costs: dict[str, Any] = {"arcs": [0], "needed": [0], "less": [(0, 1)], "sources": [[0]]} | given
    with pytest.raises(ValueError, match=message):
        part.take_weights().divide(**costs, divisible=1, beside=0, room=10, most=10)


def image_counts(
    graph: mf.Graph,
    pattern: str,
    by: str,
    memory: int,
    cuts: list[float],
    shards: int,
    hot: int,
    **options: Any,
) -> np.ndarray:
    """Return the embeddings at each vertex and query vertex, in the order of ids."""
    layout, parts = sharded(graph, shards)
    request = make_request(threads=1, **{"semantics": "isomorphism", "symmetry": "embeddings"} | options)
    request = replace(request, tuning={**request.tuning, "images_by": by})
    query = mf.Pattern.parse(pattern)
    asked = [((vertex,), None) for vertex in range(query.num_vertices)]
    plan = image_plan_of(graph, query, asked, request, Deadline.after(None))
    near = [True] + [False] * (shards - 1)
    sizes = layout.num_vertices
    found = [np.zeros(sizes, object)] * len(plan.classes)
    for images in ranged_images(graph, query, plan, request, Deadline.after(None)):
        made = Rows(layout, parts, near, last_rows(graph, hot), memory // search.SHARE_OF_ROWS)
        number = len(images.classes)
        searched = RangeSearch(made, images.ranged, memory, 1, of_graph=8 * number, of_part=36)
        sums, counts = Sums(number * sizes), RangeImages(searched, images, sizes)
        ends = sorted({0, layout.entries, *(int(cut * layout.entries) for cut in cuts)})
        for first, last in pairwise(ends):
            searched.each(first, last, None, None, counts.add)
            sums.add(counts.take())
        for place, at in enumerate(images.classes):
            own = sums.words[place * sizes : (place + 1) * sizes]
            found[at] = own.astype(object) * times_of(plan, plan.searches[at], at)
        assert not sums.above
    order = np.argsort(ids_of(graph, layout).all())
    return np.stack([found[number][order] for number in plan.class_of], axis=1)


@pytest.mark.turns(4)
@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "induced", "homomorphism"]),
    by=st.sampled_from(["auto", "listing", "rooted"]),
    cuts=st.lists(st.floats(0, 1), max_size=3),
    shards=st.integers(1, 4),
    hot=st.sampled_from([0, 3, 30]),
    memory=st.sampled_from([6_000, 12_000, 1 << 20]),
)
def test_counts_at_vertices_are_those_of_the_whole_graph(
    seed: int,
    directed: bool,
    semantics: str,
    by: str,
    cuts: list[float],
    shards: int,
    hot: int,
    memory: int,
) -> None:
    graph = random_graph(seed, directed=directed)
    pattern = random.Random(seed).choice(
        PATTERNS + STARS[:3] + DIRECTED if directed else PATTERNS + STARS[:3]
    )
    options: dict[str, Any] = {"semantics": semantics}
    expected = mf.count_per_vertex(graph, pattern, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "_LEAST_PIECE", 8)
        patch.setattr(search, "_LEAST", 0)
        found = image_counts(graph, pattern, by, memory, cuts, shards, hot, **options)
    assert np.array_equal(found, expected.counts[np.argsort(expected.ids)])


def test_sums_above_64_bits_are_kept() -> None:
    sums, half = Sums(3), np.array([2**63, 5], np.uint64)
    for _ in range(3):
        sums.add((np.array([0, 2]), half, [(2, 2**64)]))
    assert sums.words.tolist() == [2**63, 0, 15]
    assert sums.above == {0: 2**64, 2: 3 * 2**64}
    places, words, above = sums.take()
    assert (places.tolist(), words.tolist(), dict(above)) == ([0, 2], [2**63, 15], {0: 2**64, 2: 3 * 2**64})
    assert not sums.words.any()
    assert not sums.above
