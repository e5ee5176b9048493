"""The ends of rows: neighbours that are greater than the row's vertex, packed without the rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import motiflux as mf
from motiflux import _native
from motiflux.graph import AdjacencyKey, Direction

EITHER = AdjacencyKey(Direction.EITHER, None, None, None)
Rows = tuple[NDArray[np.uint64], NDArray[np.uint32]]


def drawn(seed: int, vertices: int = 3000, edges: int = 60_000, *, directed: bool = False) -> mf.Graph:
    """A graph with rows of every length from none to some hundreds."""
    random = np.random.default_rng(seed)
    ends = (random.random((2, edges)) ** 3 * (vertices - 100)).astype(np.int64)
    return mf.Graph.from_edges(
        (ends[0], ends[1]), num_vertices=vertices, directed=directed, self_loops="drop"
    )


def pairs(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the source and the target of each arc."""
    lengths = np.diff(rows[0]).astype(np.int64)
    return np.repeat(np.arange(len(lengths)), lengths), rows[1].astype(np.int64)


def above(rows: Rows) -> Rows:
    """Return the rows without neighbours less than the row's vertex, by a pass over all arcs."""
    sources, targets = pairs(rows)
    lengths = np.bincount(sources[targets > sources], minlength=len(rows[0]) - 1)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
    return offsets, rows[1][targets > sources]


@pytest.fixture(params=[False, True], ids=["undirected", "directed"])
def graph(request: pytest.FixtureRequest) -> mf.Graph:
    return drawn(1, directed=request.param)


@pytest.mark.parametrize("threads", [1, 3])
def test_offsets_of_greater_neighbours_are_those_of_a_pass_over_all_arcs(
    graph: mf.Graph, threads: int
) -> None:
    rows = graph.adjacency(EITHER)
    assert (graph.offsets_above(EITHER, threads) == above(rows)[0]).all()


def test_offsets_of_greater_neighbours_are_found_once_for_each_kind_of_rows(graph: mf.Graph) -> None:
    into = AdjacencyKey(Direction.IN, None, None, None)
    first = graph.offsets_above(EITHER)
    assert graph.offsets_above(into) is graph.offsets_above(into)
    assert graph.offsets_above(EITHER) is first
    assert not first.flags.writeable
    assert (graph.offsets_above(into) == above(graph.adjacency(into))[0]).all()
    graph.forget()
    assert graph.offsets_above(EITHER) is not first


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("piece", [1, 7, 1000, 70_000, 10**6])
def test_pieces_of_ends_make_up_all_greater_neighbours(graph: mf.Graph, piece: int, threads: int) -> None:
    rows = graph.adjacency(EITHER)
    offsets, expected = above(rows)
    step = max(piece, len(expected) // 50)
    for first in range(0, len(expected), step):
        packed = np.zeros(min(piece, len(expected) - first), np.uint32)
        _native.pack_row_ends(*rows, offsets, first, packed, threads)
        assert (packed == expected[first : first + piece]).all()


def test_no_vertices_and_no_arcs_have_no_ends() -> None:
    for vertices in (0, 1, 5):
        graph = mf.Graph.from_edges(np.empty((0, 2), np.int64), num_vertices=vertices)
        assert graph.offsets_above(EITHER).tolist() == [0] * (vertices + 1)
        assert graph.longest_row(Direction.EITHER) == 0


def test_the_longest_row_is_that_of_a_vertex_with_most_arcs(graph: mf.Graph) -> None:
    out, into = graph.forward.degrees().max(), graph.reverse.degrees().max()
    assert graph.longest_row(Direction.OUT) == out
    assert graph.longest_row(Direction.IN, threads=3) == into
    assert graph.longest_row(Direction.EITHER) == (out + into if graph.directed else out)


def test_work_of_rows_is_the_sum_over_degrees(graph: mf.Graph) -> None:
    rows = graph.adjacency(EITHER)
    offsets, _ = above(rows)
    degrees, greater = np.diff(rows[0]).astype(np.int64), np.diff(offsets).astype(np.int64)
    lesser = degrees - greater
    triangles, wedges = _native.row_work(rows[0], offsets)
    assert triangles == (lesser * greater).sum()
    assert wedges == ((degrees * (degrees - 1) - lesser * (lesser - 1)) // 2).sum()
    sources, targets = pairs(rows)
    expected = lesser[targets[targets < sources]].sum()
    assert _native.lesser_of_lesser(*rows, offsets, 3) == expected


def test_lengths_of_neighbours_are_those_of_their_rows(graph: mf.Graph) -> None:
    lengths = graph.reverse.degrees()
    expected = lengths[graph.forward.neighbors].sum()
    assert _native.lengths_of_neighbors(graph.forward.neighbors, graph.reverse.offsets, 3) == expected
    if not graph.directed:
        assert expected == graph.shape_stats().out_degree_squares
        assert expected == _native.squares_of_rows(graph.forward.offsets)


REFUSED: list[tuple[str, Callable[[Rows, NDArray[np.uint64]], object]]] = [
    ("more entries than the ends have", lambda rows, kept: pack(rows, kept, int(kept[-1]), 1)),
    ("a first entry behind the last", lambda rows, kept: pack(rows, kept, int(kept[-1]) + 1, 0)),
    ("ends of other rows", lambda rows, kept: pack(rows, kept[1:], 0, 1)),
    ("ends longer than rows", lambda rows, kept: pack(rows, kept * np.uint64(1000), 0, 100)),
    ("offsets beyond the neighbours", lambda rows, kept: pack((rows[0], rows[1][:-1]), kept, 0, 1)),
    ("no offsets", lambda rows, kept: _native.longest_row(rows[0][:0], 1)),
]


def pack(rows: Rows, kept: NDArray[np.uint64], first: int, count: int) -> None:
    _native.pack_row_ends(*rows, kept, first, np.empty(count, np.uint32), 1)


@pytest.mark.parametrize(("case", "call"), REFUSED, ids=[case for case, _ in REFUSED])
def test_ends_that_do_not_belong_to_the_rows_are_refused(
    graph: mf.Graph, case: str, call: Callable[[Rows, NDArray[np.uint64]], object]
) -> None:
    with pytest.raises(ValueError, match=r"expected|than it has|not be empty"):
        call(graph.adjacency(EITHER), graph.offsets_above(EITHER))


SEED, PUSH, PULL = 0, 1, 2


@pytest.mark.parametrize("case", ["push", "pull", "two pushes", "edges"])
def test_the_work_of_a_walk_that_is_left_is_estimated(graph: mf.Graph, case: str) -> None:
    rows = graph.adjacency(EITHER)
    more = {"pull": [(PULL, 1, 0)], "two pushes": [(PUSH, 2, 1)]}.get(case, [])
    moves = [(SEED, 0, 0), (PUSH, 1, 0), *more]
    steps = [(move, into, source, rows, None, 1, False) for move, into, source in moves]
    walk = (steps, True, int(case == "edges"), rows if case == "edges" else None)
    hub = np.array([graph.num_vertices - 1], np.uint32)
    whole = _native.walk_work(walk, graph.num_vertices, hub, 1e12)[0]
    left = _native.walk_work(walk, graph.num_vertices, hub, whole / 1000)[0]
    assert left != whole
    assert 0.5 < left / whole < 2.5


FAULTS = [
    ("a repeated neighbour", [0, 2, 4], [2, 2, 0, 2], "neighbors[1]: found 2, expected rows to ascend"),
    ("a lesser neighbour behind", [0, 2, 4], [2, 1, 0, 2], "neighbors[1]: found 1, expected rows to ascend"),
    ("the vertex itself first", [0, 2, 4], [0, 2, 0, 2], "neighbors[0]: found 0, expected rows to ascend"),
    ("the vertex itself later", [0, 2, 4], [1, 2, 0, 1], "neighbors[3]: found 1, expected rows to ascend"),
    ("no vertex", [0, 2, 4], [1, 2, 0, 3], "neighbors[3]: found 3, expected a vertex below 3"),
]


@pytest.mark.parametrize(("what", "ends", "neighbors", "said"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_faults_of_rows_without_labels_are_found(
    what: str, ends: list[int], neighbors: list[int], said: str
) -> None:
    offsets = np.array([*ends, 4], np.uint64)
    fault = _native.describe_fault(offsets, np.array(neighbors, np.uint32), None, None, 1, 4, 1)
    assert fault.startswith(said)


def test_arcs_that_were_given_no_times_are_found() -> None:
    offsets, neighbors = np.array([0, 2, 4, 4], np.uint64), np.array([1, 2, 0, 2], np.uint32)

    def fault_of(copies: list[int]) -> str:
        return _native.describe_fault(offsets, neighbors, None, np.array(copies, np.uint32), 1, 9, 1)

    assert fault_of([1, 3, 3, 2]) == ""
    assert fault_of([1, 0, 3, 5]) == "copies[1]: found 0, expected at least 1"
    assert fault_of([1, 3, 3, 3]) == "copies: found 10 together, expected 9"


def test_sound_rows_without_labels_have_no_fault(graph: mf.Graph) -> None:
    for rows in (graph.forward, graph.reverse):
        arcs = len(rows.neighbors)
        assert _native.describe_fault(rows.offsets, rows.neighbors, None, None, 1, arcs, 2) == ""
        fault = _native.describe_fault(rows.offsets, rows.neighbors, None, None, 1, arcs + 1, 2)
        assert fault == f"copies: found {arcs} together, expected {arcs + 1}"
