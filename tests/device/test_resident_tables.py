"""Tables of rows on a device: kernels find the rows of the host there, whatever the memory."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiflux.codegen import pcsr as layout
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.pcsr.device_rows import DeviceRows, RowFinder
from motiflux.gpu.pcsr.formats import IntervalPartition
from motiflux.gpu.pvm import table_copies
from motiflux.gpu.pvm.memory import room_for
from motiflux.gpu.pvm.resident_tables import ResidentTables
from motiflux.gpu.pvm.row_tables import RowTables, TableKey
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.gpu.runtime.device_cache import droppable
from motiflux.graph import Direction, Graph
from motiflux.request.deadline import Deadline, OutOfTimeError
from tests.device.test_device import SPIN_LIMIT, Job, wait_until
from tests.unit.test_row_tables import HEAVY, Rows, graph_of, keys_of, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiflux.device import Buffer, Device, Kernel, Stream

    Kernels = Callable[[str], Kernel]

pytestmark = pytest.mark.devices("emulated", "cuda", reason="tables are on a device")

LOTS = 1 << 24
KEYS = [TableKey(Direction.EITHER, labels) for labels in ((0,), (1,), (2,), None)]


@pytest.fixture
def graph() -> Graph:
    return graph_of(3, 300, 3000, directed=False, vertex_labels=1, edge_labels=3)


class Search:
    """A stream with kernels that find rows."""

    def __init__(self, accelerator: Accelerator, stream: Stream) -> None:
        self.accelerator, self.stream = accelerator, stream
        self._finder = RowFinder(accelerator, stream)

    def open(self, graph: Graph, most_bytes: int = LOTS, **options: Any) -> ResidentTables:
        return ResidentTables(self.accelerator, RowTables.of(graph), None, most_bytes, **options)

    def rows(self, tables: ResidentTables, there: layout.IntervalRows, part: IntervalPartition) -> Rows:
        """Return the rows, but empty ones, that a kernel finds for all vertices."""
        vertices = np.arange(len(tables._tables.renamed), dtype=np.uint32)
        found = self._finder.find(DeviceRows(there, part.index_bytes, []), vertices)
        entries = self.entries(tables, there.neighbors, len(part.neighbors))
        return {v: entries[first : first + size] for v, (first, size) in enumerate(found) if size}

    def entries(self, tables: ResidentTables, address: int, count: int) -> list[int]:
        """Return numbers in the memory of tables."""
        memory = next(
            one for one in memories(tables) if one.address <= address < one.address + max(1, one.nbytes)
        )
        found = np.empty(count, np.uint32)
        self.stream.download(memory, found, address - memory.address)
        self.stream.wait()
        return found.tolist()


def at_rest(gpu: Any) -> int:
    """Return what is held, once nothing that others let go waits for running work."""
    gc.collect()
    assert not gpu._retirement.drain(20.0)
    return gpu.used_memory()


def memories(tables: ResidentTables) -> list[Buffer]:
    return [tile.memory for tile in (*tables._shared.values(), *tables._own.values())]


@contextmanager
def searching(device: str) -> Iterator[Search]:
    accelerator = open_accelerator(device)
    session = accelerator.session()
    try:
        yield Search(accelerator, session.main)
    finally:
        accelerator.recycle(session)


@pytest.fixture
def search(device: str) -> Iterator[Search]:
    with searching(device) as made:
        yield made


def tiles_of(tables: ResidentTables, key: TableKey) -> list[IntervalPartition]:
    return list(tables._ranges_of(tables._tables.normal(key)))


@pytest.mark.turns(4, "emulated")
@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 1 << 30),
    vertices=st.sampled_from((1, 9, 60)),
    edges=st.sampled_from((0, 5, 150)),
    directed=st.booleans(),
    vertex_labels=st.sampled_from((1, 3)),
    edge_labels=st.sampled_from((1, 3)),
    where=st.sampled_from((None, HEAVY)),
    most_bytes=st.sampled_from((LOTS, 4000, 1200)),
    expects=st.booleans(),
)
def test_kernels_find_the_rows_of_all_tiles(
    device: str,
    seed: int,
    vertices: int,
    edges: int,
    directed: bool,
    vertex_labels: int,
    edge_labels: int,
    where: Any,
    most_bytes: int,
    expects: bool,
) -> None:
    graph = graph_of(
        seed, vertices, edges, directed=directed, vertex_labels=vertex_labels, edge_labels=edge_labels
    )
    host = RowTables.of(graph)
    keys = keys_of(host, where, np.random.default_rng(seed))
    with (
        searching(device) as search,
        search.open(graph, most_bytes, expected=keys if expects else ()) as tables,
    ):
        for key in keys:
            together: Rows = {}
            for number, part in enumerate(tiles_of(tables, key)):
                (there,) = tables.acquire(search.stream, [(key, number)])
                assert tables.nbytes <= most_bytes
                rows = search.rows(tables, there, part)
                assert rows == rows_of(part, host)
                together |= rows
            assert together == rows_of(host.table(key).rows, host)


def test_ids_and_labels_of_vertices_are_on_the_device(search: Search) -> None:
    graph = graph_of(3, 300, 3000, directed=True, vertex_labels=4, edge_labels=3)
    with search.open(graph) as tables:
        for buffer, expected in (
            (tables.renamed, RowTables.of(graph).renamed),
            (tables.labels, graph.vertex_labels),
        ):
            found = np.empty(300, np.uint32)
            assert buffer is not None
            search.stream.download(buffer, found)
            search.stream.wait()
            assert np.array_equal(found, expected)
        assert tables.vertex_bytes(RowTables.of(graph)) == 2400


def test_tables_that_fit_are_copied_once_and_stay_for_later_searches(search: Search, graph: Graph) -> None:
    sizes = [RowTables.of(graph).table(key).nbytes for key in KEYS]
    with search.open(graph, sum(sizes), expected=KEYS) as first:
        assert [first.tiles(key) for key in KEYS] == [1, 1, 1, 1]
        for _ in range(3):
            for key in KEYS:
                first.acquire(search.stream, [(key, 0)])
        assert first.copied_bytes == first.nbytes == sum(sizes)
        assert {*first.copies.values()} == {1}
        with search.open(graph, sum(sizes), expected=KEYS) as beside:
            beside.acquire(search.stream, [(key, 0) for key in KEYS])
            assert beside.copied_bytes == 0
    with search.open(graph, sum(sizes), expected=KEYS) as later:
        (there,) = later.acquire(search.stream, [(KEYS[3], 0)])
        part = RowTables.of(graph).table(KEYS[3]).rows
        assert search.rows(later, there, part) == rows_of(part, RowTables.of(graph))
        assert later.copied_bytes == 0


@pytest.mark.devices("emulated", reason="memory of a GPU is used by others, and in large pieces")
@pytest.mark.parametrize("bounded", [False, True])
def test_tables_of_earlier_searches_are_part_of_the_room(
    gpu: Device, search: Search, graph: Graph, bounded: bool
) -> None:
    at_first = at_rest(gpu)  # what earlier tests left is dropped, whether there is a budget or not
    budget = at_first + 60_000 if bounded else None
    room = room_for(search.accelerator, budget)
    with ResidentTables(search.accelerator, RowTables.of(graph), budget, room, expected=KEYS) as first:
        assert first.fits
        first.acquire(search.stream, [(KEYS[3], 0), (KEYS[0], 0)])
        taken = first.nbytes + ResidentTables.vertex_bytes(RowTables.of(graph))
        at_rest(gpu)
        assert room_for(search.accelerator, budget) == room - taken
        del first
    used = at_rest(gpu)
    assert room_for(search.accelerator, budget) == room
    others = used - droppable(gpu)
    assert room_for(search.accelerator, others + 100) == 100
    assert room_for(search.accelerator, others - 1 if others else 0) == 0


def test_tiles_stay_for_later_searches_with_the_same_memory(search: Search, graph: Graph) -> None:
    names = [(KEYS[3], 0), (KEYS[3], 1), (KEYS[0], 0)]
    with search.open(graph, 20_000) as first:
        assert first.tiles(KEYS[3]) > 3
        first.acquire(search.stream, names)
        assert first.copied_bytes > 0
    with search.open(graph, 20_000) as later:
        assert later.tiles(KEYS[0]) + later.tiles(KEYS[3]) > 4
        rows = later.acquire(search.stream, names)
        assert later.copied_bytes == 0
        for there, (key, number) in zip(rows, names, strict=True):
            part = tiles_of(later, key)[number]
            assert search.rows(later, there, part) == rows_of(part, RowTables.of(graph))
    with search.open(graph, 10_000) as other:
        other.acquire(search.stream, names[:1])
        assert other.copied_bytes > 0


def test_tiles_that_were_used_last_stay_and_others_are_copied_again(search: Search, graph: Graph) -> None:
    with search.open(graph, 20_000) as tables:
        number = tables.tiles(KEYS[3])
        tables.acquire(search.stream, [(KEYS[3], 0), (KEYS[3], 1)])
        tables.acquire(search.stream, [(KEYS[3], 0), (KEYS[3], 2)])
        before = tables.copied_bytes
        tables.acquire(search.stream, [(KEYS[3], 3)])  # in place of 1
        tables.acquire(search.stream, [(KEYS[3], 0), (KEYS[3], 2)])
        assert tables.copied_bytes == before + tiles_of(tables, KEYS[3])[3].nbytes
        tables.acquire(search.stream, [(KEYS[3], 1)])
        assert tables.copies[KEYS[3]] == 5
        for _ in range(3):
            for one in range(number):
                tables.acquire(search.stream, [(KEYS[3], one)])
                assert tables.nbytes <= 20_000
        assert tables.copies[KEYS[3]] > 2 * number


def test_a_small_tile_does_not_take_the_memory_of_a_large_one(search: Search, graph: Graph) -> None:
    table = RowTables.of(graph).table(KEYS[3])
    most_bytes = next(
        most for most in range(9000, 20_000, 60) if list(table.tiles(most // 3))[-1].nbytes < most // 9
    )
    with search.open(graph, most_bytes) as tables:
        last = tables.tiles(KEYS[3]) - 1
        assert last >= 3
        tables.acquire(search.stream, [(KEYS[3], number) for number in range(3)])
        search.stream.wait()
        tables.acquire(search.stream, [(KEYS[3], last)])
        assert tables.nbytes < 0.8 * most_bytes


def test_three_tiles_of_two_tables_fit_at_once(search: Search, graph: Graph) -> None:
    host = RowTables.of(graph)
    with search.open(graph, 20_000) as tables:
        for number in range(min(tables.tiles(KEYS[3]), tables.tiles(KEYS[0]) + 2) - 1):
            names = [(KEYS[3], number), (KEYS[0], 0)]
            rows = tables.acquire(search.stream, names)
            search.stream.wait()
            tables.prefetch([(KEYS[3], number + 1)])
            before = tables.copied_bytes
            for there, (key, one) in zip(rows, names, strict=True):
                part = tiles_of(tables, key)[one]
                assert search.rows(tables, there, part) == rows_of(part, host)
            tables.acquire(search.stream, [(KEYS[3], number + 1), (KEYS[0], 0)])
            assert tables.copied_bytes == before  # prefetched


class Held:
    """A kernel that runs until it is let go."""

    def __init__(self, gpu: Device, stream: Stream, kernel: Kernels) -> None:
        self._host = gpu.allocate_host(64, "a test")
        self._words = self._host.array.view(np.uint64)
        start = self._host.address
        stream.launch(kernel("spin"), 1, 32, 0, Job(start, 0, start + 32, 0, 0, SPIN_LIMIT))
        self.mark = stream.mark()
        wait_until(lambda: bool(self._words[0]))

    def let_go(self) -> None:
        assert not self.mark.done()
        self._words[4] = 1

    def let_go_after(self, seconds: float) -> None:
        threading.Timer(seconds, self.let_go).start()


@pytest.fixture
def by_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have tiles copied from pinned memory."""
    monkeypatch.setattr(table_copies, "PIECE_BYTES", 8000)
    monkeypatch.setattr(table_copies, "AT_ONCE", 100)
    monkeypatch.setattr(table_copies, "LEAST_IMAGE", 100)


def contents(gpu: Device, memory: Buffer) -> list[int]:
    """Return what is in memory now, by a stream of its own."""
    stream, found = gpu.stream(), np.empty(memory.nbytes, np.uint8)
    stream.download(memory, found)
    stream.close()
    return found.tolist()


def test_tiles_are_copied_while_kernels_run(
    gpu: Device, search: Search, graph: Graph, kernel: Kernels
) -> None:
    with search.open(graph, 20_000) as tables:
        tables.acquire(search.stream, [(KEYS[3], 0)])
        held = Held(gpu, search.stream, kernel)
        tables.prefetch([(KEYS[3], 1), (KEYS[3], 2)])
        tile = list(tables._own.values())[2]
        wait_until(tile.copied.done)
        held.let_go()
        (there,) = tables.acquire(search.stream, [(KEYS[3], 2)])
        part = tiles_of(tables, KEYS[3])[2]
        assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))


@pytest.mark.usefixtures("by_stages")
def test_memory_of_a_tile_is_used_again_once_the_kernels_that_read_it_are_over(
    gpu: Device, search: Search, graph: Graph, kernel: Kernels
) -> None:
    with search.open(graph, 20_000) as tables:
        tables.acquire(search.stream, [(KEYS[3], 0)])
        (memory,) = memories(tables)
        before = contents(gpu, memory)
        held = Held(gpu, search.stream, kernel)
        for number in (1, 2, 3):  # no kernel of the device reads 1 and 2, but 0 is older
            (there,) = tables.acquire(search.stream, [(KEYS[3], number)])
        assert memory in memories(tables)
        assert contents(gpu, memory) == before
        held.let_go()
        part = tiles_of(tables, KEYS[3])[3]
        assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))
        assert contents(gpu, memory) != before


def test_kernels_wait_for_copies(gpu: Device, search: Search, graph: Graph, kernel: Kernels) -> None:
    for expected in (KEYS, ()):
        with search.open(graph, 60_000, expected=expected) as tables:
            other = gpu.stream()
            held = Held(gpu, other, kernel)
            tables._copier.stream.follow(held.mark)
            (there,) = tables.acquire(search.stream, [(KEYS[1], 0)])
            assert not search.stream.mark().done()
            held.let_go()
            part = tiles_of(tables, KEYS[1])[0]
            assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))


@pytest.mark.usefixtures("by_stages")
def test_a_tile_is_not_copied_over_by_an_earlier_copy(
    gpu: Device, search: Search, graph: Graph, kernel: Kernels
) -> None:
    other = gpu.stream()
    with search.open(graph, 20_000) as first:
        held = Held(gpu, other, kernel)
        first._copier.stream.follow(held.mark)
        first.prefetch([(KEYS[3], 0)])
        (tile,) = first._own.values()
    with search.open(graph, 20_000) as tables:
        assert tables.tiles(KEYS[3]) > 3
        assert memories(tables) == [tile.memory]
        for number in (1, 2, 3):
            (there,) = tables.acquire(search.stream, [(KEYS[3], number)])
        assert tile.memory is tables._reading[0].memory
        held.let_go()
        wait_until(tile.copied.done)
        part = tiles_of(tables, KEYS[3])[3]
        assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))


def test_memory_that_fits_no_tile_is_freed_once_kernels_are_over(
    gpu: Device, search: Search, graph: Graph, kernel: Kernels
) -> None:
    with search.open(graph, 20_000) as tables:
        last = tables.tiles(KEYS[3]) - 1
        assert 300 < tiles_of(tables, KEYS[3])[last].nbytes < 6_000
        tables.acquire(search.stream, [(KEYS[3], last)])
        held = Held(gpu, search.stream, kernel)
        tables.acquire(search.stream, [(KEYS[3], 0), (KEYS[3], 1)])
        held.let_go_after(0.1)
        rows = tables.acquire(search.stream, [(KEYS[3], number) for number in range(3)])
        assert held.mark.done()
        for number, there in enumerate(rows):
            part = tiles_of(tables, KEYS[3])[number]
            assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))


def test_memory_that_is_closed_while_kernels_run_is_waited_for(
    gpu: Any, search: Search, graph: Graph, kernel: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu._account.reclaim(1 << 40)
    monkeypatch.setattr(gpu._account, "_settle_device", lambda: gpu._retirement.drain(0.01))
    budget = at_rest(gpu) + 1200 + 2 * 6_666
    with ResidentTables(search.accelerator, RowTables.of(graph), budget, 20_000) as tables:
        last = tables.tiles(KEYS[3]) - 1
        tables.acquire(search.stream, [(KEYS[3], last)])
        tables.acquire(search.stream, [(KEYS[3], 0)])
        search.stream.wait()
        held = Held(gpu, search.stream, kernel)
        held.let_go_after(0.3)
        rows = tables.acquire(search.stream, [(KEYS[3], 0), (KEYS[3], 1)])
        assert held.mark.done()
        for number, there in enumerate(rows):
            part = tiles_of(tables, KEYS[3])[number]
            assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))


def test_tiles_of_a_stream_that_is_closed_are_not_left_to_later_searches(
    gpu: Device, search: Search, graph: Graph
) -> None:
    stream = gpu.stream()
    with search.open(graph, 20_000) as tables:
        tables.acquire(stream, [(KEYS[3], 0)])
        tables.acquire(stream, [(KEYS[3], 1)])
        stream.close()
    with search.open(graph, 20_000) as later:
        later.acquire(search.stream, [(KEYS[3], 0), (KEYS[3], 1)])
        assert later.copies[KEYS[3]] == 1


def test_tiles_of_two_searches_are_taken_over_only_as_far_as_they_fit(search: Search, graph: Graph) -> None:
    with search.open(graph, 20_000) as one, search.open(graph, 20_000) as other:
        one.acquire(search.stream, [(KEYS[3], number) for number in range(3)])
        other.acquire(search.stream, [(KEYS[2], number) for number in range(2)])
    with search.open(graph, 20_000) as later:
        assert later.tiles(KEYS[3]) > 3
        assert later.nbytes > 13_000
        assert later.tiles(KEYS[2]) >= 2
        assert later.nbytes <= 20_000


def test_ordinary_memory_is_copied_once_the_kernels_that_read_the_tile_are_over(
    gpu: Device, search: Search, graph: Graph, kernel: Kernels
) -> None:
    with search.open(graph, 20_000) as tables:
        tables.acquire(search.stream, [(KEYS[3], 0)])
        held = Held(gpu, search.stream, kernel)
        tables.acquire(search.stream, [(KEYS[3], 1)])
        tables.acquire(search.stream, [(KEYS[3], 2)])
        held.let_go_after(0.1)
        (there,) = tables.acquire(search.stream, [(KEYS[3], 3)])
        assert held.mark.done()
        part = tiles_of(tables, KEYS[3])[3]
        assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))


def test_a_wait_for_kernels_ends_with_the_time(
    gpu: Device, search: Search, graph: Graph, kernel: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(self: Deadline) -> None:
        if time.monotonic() > end:
            raise OutOfTimeError

    with search.open(graph, 20_000) as tables:
        tables.acquire(search.stream, [(KEYS[3], 0)])
        held = Held(gpu, search.stream, kernel)
        tables.acquire(search.stream, [(KEYS[3], 1)])
        tables.acquire(search.stream, [(KEYS[3], 2)])
        end = time.monotonic() + 0.1
        monkeypatch.setattr(Deadline, "check", check)
        with pytest.raises(OutOfTimeError):
            tables.acquire(search.stream, [(KEYS[3], 3)])
        held.let_go()
    search.stream.wait()


def test_what_kernels_read_is_not_prefetched_over(search: Search, graph: Graph) -> None:
    with search.open(graph, 20_000) as tables:
        names = [(KEYS[3], number) for number in range(3)]
        rows = tables.acquire(search.stream, names)
        tables.prefetch([(KEYS[3], 3)])
        assert tables.copies[KEYS[3]] == 3
        for there, (key, number) in zip(rows, names, strict=True):
            part = tiles_of(tables, key)[number]
            assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))


def test_images_of_tiles_of_other_sizes_are_not_copied(
    search: Search, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_copies, "AT_ONCE", 100)
    monkeypatch.setattr(table_copies, "LEAST_IMAGE", 100)
    host = RowTables.of(graph)
    for most_bytes in (20_000, 12_000, 20_000):
        with search.open(graph, most_bytes) as tables:
            for number in (*range(tables.tiles(KEYS[3])), *range(tables.tiles(KEYS[3]))):
                (there,) = tables.acquire(search.stream, [(KEYS[3], number)])
                part = tiles_of(tables, KEYS[3])[number]
                assert search.rows(tables, there, part) == rows_of(part, host)


def test_prefetching_waits_for_no_kernel(
    gpu: Device, search: Search, graph: Graph, kernel: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prefetch_beside_a_kernel() -> int:
        """Return the tiles copied while a kernel reads tiles 0 and 1, and 2 is about to be read."""
        tables.acquire(search.stream, [(KEYS[3], 0), (KEYS[3], 1)])
        held = Held(gpu, search.stream, kernel)
        tables.acquire(search.stream, [(KEYS[3], 2)])
        before = tables.copies[KEYS[3]]
        tables.prefetch([(KEYS[3], 3)])
        held.let_go()
        return tables.copies[KEYS[3]] - before

    with search.open(graph, 20_000) as tables:
        assert prefetch_beside_a_kernel() == 0
        search.stream.wait()
        tables.prefetch([(KEYS[3], 3)])
        assert tables.copies[KEYS[3]] == 4

        # The copy of an image is enqueued.
        monkeypatch.setattr(table_copies, "AT_ONCE", 100)
        monkeypatch.setattr(table_copies, "LEAST_IMAGE", 100)
        for number in (0, 1, 2, 3, 0, 1, 2, 3):
            tables.acquire(search.stream, [(KEYS[3], number)])
        assert prefetch_beside_a_kernel() == 1
        (there,) = tables.acquire(search.stream, [(KEYS[3], 3)])
        part = tiles_of(tables, KEYS[3])[3]
        assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))


@pytest.mark.parametrize("pinned", [True, False], ids=["pinned", "no memory to pin"])
def test_large_tiles_come_in_pieces_and_again_from_pinned_memory(
    search: Search, graph: Graph, pinned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_copies, "PIECE_BYTES", 1000)
    monkeypatch.setattr(table_copies, "AT_ONCE", 500)
    monkeypatch.setattr(table_copies, "LEAST_IMAGE", 500)
    if not pinned:
        monkeypatch.setenv("MOTIFLUX_PINNED_MEMORY", "1")
    host = RowTables.of(graph)
    with search.open(graph, 20_000) as tables:
        number = tables.tiles(KEYS[3])
        for _ in range(3):
            for one in range(number):
                (there,) = tables.acquire(search.stream, [(KEYS[3], one)])
                part = tiles_of(tables, KEYS[3])[one]
                assert search.rows(tables, there, part) == rows_of(part, host)
        images = [one for one in tables._cache.entries() if isinstance(one, table_copies.PinnedImage)]
        assert len(images) == (number if pinned else 0)


def test_tiles_that_do_not_fit_together_are_refused_with_advice(search: Search, graph: Graph) -> None:
    with search.open(graph, 3000) as tables:
        names = [(KEYS[3], number) for number in range(4)]
        with pytest.raises(DeviceMemoryError, match=r"longest row.*raise gpu_memory"):
            tables.acquire(search.stream, names)
        (there,) = tables.acquire(search.stream, names[:1])
        part = tiles_of(tables, KEYS[3])[0]
        assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))
    with search.open(graph, 40) as tables, pytest.raises(DeviceMemoryError, match="raise gpu_memory"):
        tables.acquire(search.stream, names[-1:])


def test_ids_that_do_not_fit_are_refused_with_advice(gpu: Device, search: Search, graph: Graph) -> None:
    gpu._account.reclaim(1 << 40)  # type: ignore[attr-defined]
    budget = at_rest(gpu) + 1000
    with pytest.raises(DeviceMemoryError, match=r"needs 1,200 bytes for ids.*raise gpu_memory"):
        ResidentTables(search.accelerator, RowTables.of(graph), budget, LOTS)


def test_memory_that_others_take_is_refused_and_then_given(gpu: Device, search: Search, graph: Graph) -> None:
    gpu._account.reclaim(1 << 40)  # type: ignore[attr-defined]
    budget = at_rest(gpu) + 1200 + 8000
    with ResidentTables(search.accelerator, RowTables.of(graph), budget, 20_000) as tables:
        (there,) = tables.acquire(search.stream, [(KEYS[3], 0)])
        part = tiles_of(tables, KEYS[3])[0]
        assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))
        with pytest.raises(DeviceMemoryError, match="the budget gpu_memory"):
            tables.acquire(search.stream, [(KEYS[3], 0), (KEYS[3], 1)])
        (there,) = tables.acquire(search.stream, [(KEYS[3], 1)])  # in place of 0
        part = tiles_of(tables, KEYS[3])[1]
        assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("most_bytes", [LOTS, 20_000])
def test_any_allocation_may_fail(
    gpu: Device, search: Search, graph: Graph, most_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [(KEYS[3], 0), (KEYS[0], 0)]
    allocate, failures, left = gpu.allocate, 0, 0

    def fail(nbytes: int, what: str, **options: Any) -> Buffer:
        nonlocal left
        left -= 1
        if left == -1:
            raise DeviceMemoryError(what, nbytes, 0, "a test")
        return allocate(nbytes, what, **options)

    for good in range(20):
        graph.forget()
        used, left = at_rest(gpu), good
        monkeypatch.setattr(gpu, "allocate", fail)
        tables = None
        try:
            with search.open(graph, most_bytes, expected=KEYS) as tables:
                rows = tables.acquire(search.stream, names)
                for there, (key, number) in zip(rows, names, strict=True):
                    part = tiles_of(tables, key)[number]
                    assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))
        except DeviceMemoryError:
            failures += 1
        monkeypatch.setattr(gpu, "allocate", allocate)
        del tables
        graph.forget()
        assert at_rest(gpu) <= used + 16
        if left >= 0:
            break
    assert failures >= 3
    assert left >= 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, OutOfTimeError])
def test_a_copy_that_ends_early_leaves_nothing(
    gpu: Device, search: Search, graph: Graph, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Deadline) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise error

    monkeypatch.setattr(table_copies, "PIECE_BYTES", 1000)
    monkeypatch.setattr(table_copies, "AT_ONCE", 500)
    monkeypatch.setattr(table_copies, "LEAST_IMAGE", 500)
    left = 1 << 30
    with search.open(graph, expected=KEYS) as tables:
        used = at_rest(gpu)
        with monkeypatch.context() as patched:
            patched.setattr(Deadline, "check", fail)
            left = 6
            with pytest.raises(error):
                tables.acquire(search.stream, [(KEYS[3], 0)])
        assert at_rest(gpu) == used
        (there,) = tables.acquire(search.stream, [(KEYS[3], 0)])
        part = tiles_of(tables, KEYS[3])[0]
        assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))


def test_memory_is_free_when_the_graph_is_gone(gpu: Device, search: Search) -> None:
    graph = graph_of(3, 300, 3000, directed=False, vertex_labels=2, edge_labels=3)
    used = at_rest(gpu)
    for expected in (KEYS, ()):
        with search.open(graph, 20_000, expected=expected) as tables:
            tables.acquire(search.stream, [(KEYS[0], 0)])
        assert at_rest(gpu) > used
    del graph, tables
    gc.collect()
    search.stream.wait()
    assert at_rest(gpu) == used


def test_tables_of_no_search_are_dropped_when_memory_is_short_and_others_are_not(
    gpu: Device, search: Search, graph: Graph
) -> None:
    with search.open(graph, expected=KEYS) as tables:
        (there,) = tables.acquire(search.stream, [(KEYS[3], 0)])
        gpu._account.reclaim(1 << 40)  # type: ignore[attr-defined]
        with search.open(graph, expected=KEYS) as beside:
            beside.acquire(search.stream, [(KEYS[3], 0)])
            assert beside.copied_bytes == 0
            assert beside.renamed is tables.renamed
        part = RowTables.of(graph).table(KEYS[3]).rows
        assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))
    gpu._account.reclaim(1 << 40)  # type: ignore[attr-defined]
    with search.open(graph, expected=KEYS) as tables:
        (there,) = tables.acquire(search.stream, [(KEYS[3], 0)])
        assert tables.copies[KEYS[3]] == 1
        assert search.rows(tables, there, part) == rows_of(part, RowTables.of(graph))


def test_tables_of_an_earlier_search_stay_from_the_beginning(
    gpu: Device, search: Search, graph: Graph
) -> None:
    with search.open(graph, expected=KEYS) as first:
        first.acquire(search.stream, [(KEYS[3], 0)])
    with search.open(graph, expected=KEYS) as later:
        gpu._account.reclaim(1 << 40)  # type: ignore[attr-defined]
        later.acquire(search.stream, [(KEYS[3], 0)])
        assert later.copied_bytes == 0
    gpu._account.reclaim(1 << 40)  # type: ignore[attr-defined]
    with search.open(graph, expected=KEYS) as other:
        other.acquire(search.stream, [(KEYS[3], 0)])
        assert other.copies[KEYS[3]] == 1


def test_tiles_of_an_earlier_search_are_read_with_new_ids_of_vertices(
    gpu: Device, search: Search, graph: Graph
) -> None:
    with search.open(graph, 20_000) as first:
        first.acquire(search.stream, [(KEYS[3], 0)])
    first._cache.drop("renamed ids")
    del first
    at_rest(gpu)
    gpu.allocate(1200, "a test")  # the memory of the ids may have other contents
    with search.open(graph, 20_000) as later:
        (there,) = later.acquire(search.stream, [(KEYS[3], 0)])
        assert later.copied_bytes == 0
        assert there.renamed == later.renamed.address
        part = tiles_of(later, KEYS[3])[0]
        assert search.rows(later, there, part) == rows_of(part, RowTables.of(graph))
