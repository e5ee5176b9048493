"""Uploads in pieces: rows arrive whole, and an upload that ends early leaves nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

import motiflux as mf
from motiflux.errors import DeviceError
from motiflux.gpu.storage import upload as upload_module
from motiflux.gpu.storage.device_csr import DeviceRows, RowsKey, resident
from motiflux.gpu.storage.upload import UploadContext
from motiflux.graph import AdjacencyKey, Direction
from motiflux.request.deadline import Deadline, OutOfTimeError
from tests.device.test_device import settled, wait_until

if TYPE_CHECKING:
    from motiflux.device.base import Device, HostBuffer, Stream

pytestmark = pytest.mark.devices("emulated", "cuda", reason="nothing is uploaded")

EITHER = AdjacencyKey(Direction.EITHER, None, None, None)
PIECES = [300, 8, 1 << 20]
"""Entries of a piece: rows of some pieces, of very many pieces, and rows that are copied at once."""


@pytest.fixture(params=[False, True], ids=["undirected", "directed"])
def graph(request: pytest.FixtureRequest) -> mf.Graph:
    ends = (np.random.default_rng(1).random((2, 4000)) ** 2 * 400).astype(np.int64)
    return mf.Graph.from_edges(
        (ends[0], ends[1]), num_vertices=500, directed=request.param, self_loops="drop"
    )


@pytest.fixture
def context(stream: Stream) -> UploadContext:
    return UploadContext(stream, 2, None, Deadline.after(None))


def downloaded(rows: DeviceRows, vertices: int, stream: Stream) -> tuple[NDArray[Any], NDArray[Any]]:
    offsets, neighbors = np.empty(vertices + 1, np.uint64), np.empty(rows.arcs, np.uint32)
    stream.download(rows.offsets, offsets)
    if rows.arcs:
        stream.download(rows.neighbors, neighbors)
    stream.wait()
    return offsets, neighbors


def expected(graph: mf.Graph, keep: Callable[[int, int], bool]) -> list[list[int]]:
    """Return the rows of the arcs from one vertex to another that are to be kept."""
    offsets, neighbors = graph.adjacency(EITHER)
    ends = offsets.astype(np.int64)
    return [
        [target for target in neighbors[ends[v] : ends[v + 1]].tolist() if keep(v, target)]
        for v in range(graph.num_vertices)
    ]


def listed(offsets: NDArray[Any], neighbors: NDArray[Any]) -> list[list[int]]:
    ends = offsets.astype(np.int64)
    return [neighbors[ends[v] : ends[v + 1]].tolist() for v in range(len(ends) - 1)]


@pytest.mark.parametrize("pinned", [True, False], ids=["pinned", "no memory to pin"])
@pytest.mark.parametrize("piece", PIECES)
def test_rows_arrive_whole_or_without_lesser_neighbours(
    graph: mf.Graph,
    gpu: Device,
    context: UploadContext,
    piece: int,
    pinned: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(nbytes: int, what: str, **options: Any) -> HostBuffer:
        raise DeviceError(f"{what}: no memory")

    monkeypatch.setattr(upload_module, "PIECE", piece)
    if not pinned:
        monkeypatch.setattr(gpu, "allocate_host", refuse)
    copies = resident(graph, gpu)
    for above in (False, True):
        rows = copies.rows(graph, RowsKey(EITHER, above), context)
        found = listed(*downloaded(rows, graph.num_vertices, context.stream))
        assert found == expected(graph, lambda v, target, above=above: target > v or not above)
        assert rows.longest == max(map(len, found))
        assert rows.arcs == sum(map(len, found))


@pytest.mark.parametrize("piece", PIECES)
def test_rows_of_vertices_with_few_arcs_arrive_empty(
    graph: mf.Graph, gpu: Device, context: UploadContext, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_module, "PIECE", piece)
    degrees = np.diff(graph.adjacency(EITHER)[0]).astype(np.int64)
    for above in (False, True):
        rows = resident(graph, gpu).rows_from(graph, RowsKey(EITHER, above), EITHER, 20, context)
        found = listed(*downloaded(rows, graph.num_vertices, context.stream))
        assert found == expected(
            graph, lambda v, target, above=above: degrees[v] > 20 and (target > v or not above)
        )
        assert rows.longest == max(map(len, found)) > 0


def test_an_upload_whose_time_is_up_between_two_pieces_leaves_nothing(
    graph: mf.Graph, gpu: Device, context: UploadContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect_nothing_left(graph, gpu, context, OutOfTimeError, monkeypatch)


def test_ctrl_c_between_two_pieces_leaves_nothing(
    graph: mf.Graph, gpu: Device, context: UploadContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect_nothing_left(graph, gpu, context, KeyboardInterrupt, monkeypatch)


def expect_nothing_left(
    graph: mf.Graph,
    gpu: Device,
    context: UploadContext,
    error: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Raise an error in place of the third piece."""
    used, pieces = settled(gpu), 0
    pack = upload_module._native.pack_row_ends

    def failing(*given: Any) -> None:
        nonlocal pieces
        pieces += 1
        if pieces == 3:
            raise error
        pack(*given)

    native = SimpleNative(upload_module._native, failing)
    monkeypatch.setattr(upload_module, "PIECE", 100)
    monkeypatch.setattr(upload_module, "_native", native)
    with pytest.raises(error):
        resident(graph, gpu).rows(graph, RowsKey(EITHER, True), context)
    assert pieces == 3
    wait_until(lambda: settled(gpu) <= used)
    rows = resident(graph, gpu).rows(graph, RowsKey(EITHER, True), replace(context, threads=1))
    found = listed(*downloaded(rows, graph.num_vertices, context.stream))
    assert found == expected(graph, lambda v, target: target > v)


class SimpleNative:
    """The native module with another function that packs rows."""

    def __init__(self, native: Any, pack: Callable[..., None]) -> None:
        self._native = native
        self.pack_row_ends = pack

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)
