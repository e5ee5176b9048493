"""Embeddings that leave a device and come back, by copies beside kernels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import motiflux as mf
from motiflux.device import Device
from motiflux.gpu.pvm import pinned_blocks
from motiflux.gpu.pvm.frontiers import Frontier
from motiflux.gpu.pvm.host_frontiers import FrontierCopies, HostFrontier
from motiflux.gpu.pvm.pinned_blocks import PinnedBlocks
from motiflux.gpu.storage.device_csr import resident
from motiflux.request.deadline import Deadline, OutOfTimeError

pytestmark = pytest.mark.devices("emulated", "cuda", reason="frontiers are on a device")

WIDTH, CAPACITY = 3, 100
NO_DEADLINE = Deadline.after(None)


@pytest.fixture
def blocks(gpu: Device) -> PinnedBlocks:
    graph = mf.Graph.from_edges([(0, 1)])
    made = PinnedBlocks(gpu, resident(graph, gpu), NO_DEADLINE)
    made.graph = graph  # type: ignore[attr-defined]
    return made


@pytest.fixture(params=[True, False], ids=["pinned", "no memory to pin"])
def copies(
    gpu: Device, blocks: PinnedBlocks, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FrontierCopies]:
    if not request.param:
        monkeypatch.setenv("MOTIFLUX_PINNED_MEMORY", "1")
    made = FrontierCopies(gpu, gpu.stream(), blocks, NO_DEADLINE)
    yield made
    made.close()


def frontier(gpu: Device, capacity: int = CAPACITY) -> Frontier:
    return Frontier(gpu.allocate(4 * WIDTH * capacity, "a test"), WIDTH, capacity)


def fill(copies: FrontierCopies, to: Frontier, first: int) -> np.ndarray:
    """Write numbers from `first` on into a frontier, once copies that read it are over."""
    words = np.arange(first, first + WIDTH * to.capacity, dtype=np.uint32)
    copies.before_writing(to.buffer)
    copies._stream.upload(to.buffer, words)
    copies._stream.wait()
    return words.reshape(WIDTH, to.capacity)


@pytest.mark.parametrize("capacity", [1, 2, 7, CAPACITY])
def test_what_leaves_comes_back_tile_by_tile(gpu: Device, copies: FrontierCopies, capacity: int) -> None:
    one, other, kept = frontier(gpu), frontier(gpu), HostFrontier()
    expected: dict[int, list[tuple[int, ...]]] = {0: [], 1: [], 2: []}
    for number in range(5):
        rows, ends = CAPACITY - number, [0, 40 - number, 40 - number, CAPACITY - number]
        words = fill(copies, one, 1000 * number)
        kept.segments.append(copies.download(one, rows, np.array(ends)))
        one.buffer, other.buffer = other.buffer, one.buffer
        for tile in range(3):
            expected[tile] += map(tuple, words[:, ends[tile] : ends[tile + 1]].T.tolist())
    back, found = frontier(gpu, capacity), dict[int, list[tuple[int, ...]]]()
    for chunk in copies.chunks(kept, back, [2, 1, 0]):
        columns = np.empty((WIDTH, capacity), np.uint32)
        copies._stream.download(back.buffer, columns)
        copies._stream.wait()
        there = columns[:, chunk.first : chunk.first + chunk.rows].T.tolist()
        found.setdefault(chunk.tile, []).extend(map(tuple, there))
    assert list(found) == [2, 0]
    assert found == {tile: rows for tile, rows in expected.items() if rows}
    assert copies.copied_bytes == 2 * kept.nbytes
    copies.release(kept)


def test_blocks_are_used_again_once_copies_are_over(gpu: Device, blocks: PinnedBlocks) -> None:
    copies, one = FrontierCopies(gpu, gpu.stream(), blocks, NO_DEADLINE), frontier(gpu)
    kept = HostFrontier([copies.download(one, CAPACITY, np.array([0, CAPACITY]))])
    block = kept.segments[0].block
    assert block is not None
    copies.release(kept)
    copies.close()
    assert blocks.take(one.buffer.nbytes) is block
    assert blocks.take(one.buffer.nbytes) is not block


def test_blocks_beyond_the_most_are_not_kept(blocks: PinnedBlocks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinned_blocks, "MOST_KEPT", 2000)
    taken = [blocks.take(1000) for _ in range(3)]
    for block in taken:
        assert block is not None
        blocks.give(block)
    assert [blocks.take(1000) for _ in range(2)] == taken[:2]
    assert blocks.take(1000) not in taken


def test_copies_end_with_the_time(gpu: Device, blocks: PinnedBlocks) -> None:
    copies = FrontierCopies(gpu, gpu.stream(), blocks, Deadline.after(0.0))
    with pytest.raises(OutOfTimeError):
        copies.download(frontier(gpu), CAPACITY, np.array([0, CAPACITY]))
    copies.close()
