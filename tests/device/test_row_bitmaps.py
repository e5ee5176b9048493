"""Bitmaps of long rows: their bits beside the entries, the rows that get one, monitors that use them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import motiflux as mf
from motiflux.codegen.changing import (
    BITMAP_ENTRIES,
    BITMAP_LANES,
    BLOCK_BYTES,
    FOREVER,
    IDS_OF_BLOCK,
    ROW,
    RowBitmaps,
    bitmaps_source,
    changing_source,
)
from motiflux.codegen.kernels import Goal
from motiflux.device import Buffer, Stream, open_device
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.changing.memory import Room, SpareRoom
from motiflux.gpu.changing.searches import bitmaps
from motiflux.gpu.changing.searches.bitmaps import LongRowBitmaps, SearchedRows
from motiflux.gpu.changing.searches.set_up import SearchSetUp
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from tests.rotating import rotating

pytestmark = pytest.mark.devices("emulated", "cuda", reason="they lie on a device")

NONE = 2**32 - 1
WORDS_OF_BLOCK = BLOCK_BYTES // 4
AMPLE = 1 << 22
Life = tuple[int, int]
Call = list[tuple[str, int, int]]
ALWAYS = (0, FOREVER)
Rows = list[list[tuple[int, Life]]]
"""Of each vertex: neighbours with lifetimes, ascending."""


@contextmanager
def stream_of(device: str) -> Iterator[Stream]:
    accelerator = open_accelerator(device)
    session = accelerator.session()
    try:
        yield session.main
    finally:
        accelerator.recycle(session)


class Read:
    """Bitmaps that a device has written, on the host."""

    def __init__(self, stream: Stream, buffer: Buffer, table: int, vertices: int, which: int = 0) -> None:
        self._memory = np.zeros(buffer.nbytes, np.uint8)
        stream.download(buffer, self._memory)
        stream.wait()
        self._begin, self._vertices = buffer.address, vertices
        place = table - buffer.address + which * ctypes.sizeof(RowBitmaps)
        self._told = RowBitmaps.from_buffer_copy(self._memory[place : place + ctypes.sizeof(RowBitmaps)])

    @property
    def are_there(self) -> bool:
        return bool(self._told.numbers)

    def numbers(self) -> NDArray[np.uint32]:
        place = self._told.numbers - self._begin
        return self._memory[place : place + 4 * self._vertices].view(np.uint32)

    def entries(self, number: int) -> list[tuple[int, int, bool]]:
        """Return the ids of a bitmap, the first entry of their blocks, and whether they have lifetimes."""
        of_row = BLOCK_BYTES * self._told.blocks
        place = self._told.words - self._begin + number * of_row
        words = self._memory[place : place + of_row].view(np.uint32).reshape(-1, WORDS_OF_BLOCK)
        found = []
        for block, (first, *bits) in enumerate(words.tolist()):
            for at, word in enumerate(bits):
                for place in range(16):
                    two = word >> 2 * place & 3
                    assert two != 2, "a lifetime of nothing"
                    if two:
                        found.append((block * IDS_OF_BLOCK + 16 * at + place, first, two == 3))
        return found


def written(
    stream: Stream,
    device: str,
    some: list[Rows],
    nbytes: int = AMPLE,
    switch: str = "on",
    typical: float = 1.0,
    looked_up: bool = True,
) -> list[Read]:
    """Write the bitmaps of several sets of rows, and read them."""
    accelerator = open_accelerator(device)
    accelerator.kernels(bitmaps_source(), BITMAP_ENTRIES)
    search = changing_source(Goal.COUNT, BITMAP_LANES, None, in_bits=True)
    accelerator.kernel(search)
    kept: list[Buffer] = []

    def on_device(array: NDArray[Any]) -> int:
        buffer = accelerator.device.allocate(max(16, array.nbytes), "a test")
        if array.nbytes:
            stream.upload(buffer, np.ascontiguousarray(array))
            stream.wait()
        kept.append(buffer)
        return buffer.address

    searched = []
    for rows in some:
        headers = np.zeros(len(rows), ROW)
        for header, row in zip(headers, rows, strict=True):
            header["size"] = len(row)
            header["neighbors"] = on_device(np.array([neighbor for neighbor, _ in row], np.uint32))
            if any(life != ALWAYS for _, life in row):
                header["lives"] = on_device(np.array([life for _, life in row], np.uint32))
        searched.append(SearchedRows(on_device(headers), typical, looked_up=looked_up))
    made, vertices = LongRowBitmaps(accelerator, None, switch), len(some[0])
    table = made.write(stream, searched, vertices, nbytes, search)
    if not table:
        assert made.nbytes == 0
        return []
    buffer = made._memory._buffer
    assert buffer is not None
    assert buffer.nbytes <= nbytes
    return [Read(stream, buffer, table, vertices, which) for which in range(len(some))]


def expected(row: list[tuple[int, Life]]) -> list[tuple[int, int, bool]]:
    ids = [neighbor for neighbor, _ in row]
    first = {block: entry for entry, block in reversed(list(enumerate(one // IDS_OF_BLOCK for one in ids)))}
    changed = {neighbor for neighbor, life in row if life != ALWAYS}
    return [(one, first[one // IDS_OF_BLOCK], one in changed) for one in sorted(set(ids))]


VERTICES = 500
LIVES = st.sampled_from([ALWAYS, ALWAYS, ALWAYS, (3, FOREVER), (0, 7), (2, 2)])
ENTRIES = st.lists(st.tuples(st.integers(0, VERTICES - 1), LIVES), max_size=80).map(
    lambda row: sorted(row, key=lambda entry: entry[0])
)


@pytest.mark.turns(8, "emulated")
@settings(deadline=None)
@given(long=st.dictionaries(st.integers(0, VERTICES - 1), ENTRIES, max_size=4), others=ENTRIES)
def test_a_bitmap_has_the_entries_of_its_row_and_those_with_lifetimes(
    device: str, long: dict[int, list[tuple[int, Life]]], others: list[tuple[int, Life]]
) -> None:
    rows: Rows = [long.get(vertex, []) for vertex in range(VERTICES)]
    more: Rows = [others if vertex == 9 else [] for vertex in range(VERTICES)]
    with stream_of(device) as stream:
        found = written(stream, device, [rows, more])
    for read, one in zip(found, (rows, more), strict=True):
        for vertex, row in enumerate(one):
            if row:
                assert read.entries(int(read.numbers()[vertex])) == expected(row)


@pytest.mark.turns(8, "cpu", "emulated")
def test_the_longest_rows_get_bitmaps_if_not_all_fit(device: str) -> None:
    sizes = [5, 90, 17, 33, 0, 70, 300, 2]
    rows: Rows = [[(one, ALWAYS) for one in range(size)] for size in sizes] + [[]] * 400
    of_row = BLOCK_BYTES * -(-len(rows) // IDS_OF_BLOCK) + 4
    fixed = 4 * (256 + 8 + len(rows)) + ctypes.sizeof(RowBitmaps)
    for number in range(len(sizes)):
        with stream_of(device) as stream:
            found = written(stream, device, [rows], fixed + of_row * number)
        if number == 0:
            assert found == []
            continue
        given = [
            sizes[vertex]
            for vertex in range(len(sizes))
            if sizes[vertex] and found[0].numbers()[vertex] != NONE
        ]
        assert sorted(given) == sorted(sizes)[len(sizes) - number :]


@pytest.mark.turns(4, "emulated")
def test_rows_of_one_size_that_do_not_all_fit_get_none(device: str) -> None:
    rows: Rows = [[(one, ALWAYS) for one in range(20)] for _ in range(10)] + [[]] * 100
    of_row = BLOCK_BYTES * -(-len(rows) // IDS_OF_BLOCK) + 4
    fixed = 4 * (256 + 8 + len(rows)) + ctypes.sizeof(RowBitmaps)
    with stream_of(device) as stream:
        (read,) = written(stream, device, [rows], fixed + of_row * 9)
        assert (read.numbers()[:10] == NONE).all()


def test_automatically_only_long_rows_of_dense_sets_get_bitmaps(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bitmaps, "_LEAST_ROW", 30)
    rows: Rows = [[(one, ALWAYS) for one in range(size)] for size in (29, 30, 31)] + [[]] * 100
    with stream_of(device) as stream:
        (read,) = written(stream, device, [rows], switch="auto", typical=1e3)
        assert (read.numbers()[1:3] != NONE).all()
        assert read._told.least == 30
        assert written(stream, device, [rows], switch="auto", typical=10.0) == []


def test_rows_in_which_nothing_is_looked_up_get_none(device: str) -> None:
    rows: Rows = [[(one, ALWAYS) for one in range(30)]] + [[]] * 100
    with stream_of(device) as stream:
        assert written(stream, device, [rows], looked_up=False) == []


def test_a_device_whose_compiler_refuses_their_kernels_has_none(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [[(neighbor, ALWAYS) for neighbor in range(2048)] for _ in range(2)]
    with stream_of(device) as stream:
        assert written(stream, device, [rows], switch="auto", typical=2048.0)
        monkeypatch.setattr(Accelerator, "begin", lambda self, source: True)
        monkeypatch.setattr(Accelerator, "is_compiled", lambda self, source: False)
        assert not written(stream, device, [rows], switch="auto", typical=2048.0)


def test_bitmaps_are_wanted_by_searches_of_much_work_only(device: str) -> None:
    on_device, rows = open_accelerator(device), [SearchedRows(0, 1e3, looked_up=True)]
    wanted = {one: LongRowBitmaps(on_device, None, one).wanted for one in ("auto", "on", "cliques", "off")}
    assert (
        wanted["auto"](rows, 64, 3)
        == wanted["auto"](rows, 1 << 10, 0)
        == wanted["off"](rows, 1 << 20, 3)
        == 0
    )
    assert wanted["cliques"](rows, 1 << 20, 3) == 0
    assert wanted["on"](rows, 1, 0) > 0
    assert 0 < wanted["auto"](rows, 1 << 16, 0) < wanted["auto"](rows, 1 << 18, 0)
    assert wanted["auto"](rows, 1 << 12, 0) == 0 < wanted["auto"](rows, 1 << 12, 2)
    for others in ([], [SearchedRows(0, 1e3, looked_up=False)], [SearchedRows(0, 10.0, looked_up=True)]):
        assert wanted["auto"](others, 1 << 20, 3) == 0


PATTERNS = [
    "(a)--(b)--(c)--(a)",
    "(a)--(b)--(c)--(d)--(a), (a)--(c)",
    "(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d)",
    "(a)--(b), (a)--(c), (a)--(d), (c)--(d)",  # the row of c is narrowed to greater vertices
]


def drawn(seed: int, vertices: int, edges: int) -> NDArray[np.int64]:
    """Return distinct edges, of which many have low ends."""
    random = np.random.default_rng(seed)
    ends = (random.random((4 * edges, 2)) ** 3 * vertices).astype(np.int64)
    ends = np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1)
    found = np.unique(ends, axis=0)
    return found[np.sort(random.permutation(len(found))[:edges])]


def same(one: mf.Delta, other: mf.Delta) -> bool:
    return all((a.positive, a.negative) == (b.positive, b.negative) for a, b in zip(one, other, strict=True))


def parts(seed: int = 3, vertices: int = 400, edges: int = 1200) -> tuple[mf.Graph, list[Call]]:
    """Return a graph, and calls that insert edges and delete edges of it."""
    random, ends = np.random.default_rng(seed), drawn(seed, vertices, edges)
    late = random.random(len(ends)) < 0.15
    graph = mf.Graph.from_edges(tuple(ends[~late].T), num_vertices=vertices)
    comes = [("+", int(u), int(v)) for u, v in ends[late]]
    goes = [("-", int(u), int(v)) for u, v in ends[~late][random.permutation(int((~late).sum()))[:90]]]
    back = [("+", u, v) for _, u, v in goes[:20]]
    return graph, [
        comes[: len(comes) // 2] + goes,
        comes[len(comes) // 2 :] + back,
        [("-", u, v) for _, u, v in comes],
    ]


OPTIONS: dict[str, dict[str, str]] = {
    "embeddings": {},
    "subgraphs": {"symmetry": "subgraphs"},
    "homomorphism": {"semantics": "homomorphism"},
}


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize(
    ("container", "mode", "counted"),
    rotating(list(product(("slack", "gpma"), ("sequence", "batch"), OPTIONS))),
)
def test_searches_in_bitmaps_give_the_matches_of_the_cpu(
    device: str, container: str, mode: str, counted: str
) -> None:
    graph, calls = parts()
    options: dict[str, Any] = OPTIONS[counted]
    tuning = {"container": container, "bitmaps": "on"}
    here = mf.Monitor(graph, PATTERNS, device="cpu", mode=mode, **options)
    there = mf.Monitor(graph, PATTERNS, device=device, mode=mode, tuning=tuning, **options)
    for updates in calls:
        assert same(here.apply(updates), there.apply(updates))
    engine: Any = there._engine
    assert engine.search._bitmaps.nbytes > 0


@pytest.mark.turns(8, "emulated")
def test_rows_narrowed_to_greater_vertices_are_looked_up_behind_their_first_entries(device: str) -> None:
    random, leaves, core = np.random.default_rng(2), 200, 80
    pairs = [(u, v) for u in range(core) for v in range(u) if random.random() < 0.9]
    late = set(random.permutation(len(pairs))[:300].tolist())
    comes = [("+", *pair) for number, pair in enumerate(pairs) if number in late]
    kept = [pair for number, pair in enumerate(pairs) if number not in late]
    # Vertices of few neighbours come first in rows, so that the others begin in a later block.
    graph = mf.Graph.from_edges([*kept, *((core + leaf, leaf % core) for leaf in range(leaves))])
    options: dict[str, Any] = {"symmetry": "subgraphs", "tuning": {"bitmaps": "on"}}
    here, there = (mf.Monitor(graph, PATTERNS[-1], device=one, **options) for one in ("cpu", device))
    assert same(here.apply(comes), there.apply(comes))


def test_listed_matches_are_searched_without_bitmaps(device: str) -> None:
    graph, calls = parts()
    options: dict[str, Any] = {"matches": True, "tuning": {"bitmaps": "on"}}
    here, there = (mf.Monitor(graph, PATTERNS[:2], device=one, **options) for one in ("cpu", device))
    for updates in calls:
        assert same(here.apply(updates), there.apply(updates))
    engine: Any = there._engine
    assert engine.search._bitmaps.nbytes == 0


def monitors(
    device: str, **options: Any
) -> tuple[mf.Monitor, mf.Monitor, list[list[tuple[str, int, int]]], Any]:
    graph, calls = parts()
    here = mf.Monitor(graph, PATTERNS, device="cpu")
    there = mf.Monitor(graph, PATTERNS, device=device, tuning={"bitmaps": "on"}, **options)
    there.apply([])
    return here, there, calls, there._engine


@pytest.mark.turns(8, "emulated")
def test_a_device_without_memory_for_bitmaps_searches_without(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there, calls, engine = monitors(device)
    new, refused = Room._new, []

    def refuses(self: Room, nbytes: int, *, grows: bool) -> Buffer:
        if self._what == "bitmaps of rows":
            refused.append(nbytes)
            raise DeviceMemoryError("a test", 2, 1, "wait")
        return new(self, nbytes, grows=grows)

    monkeypatch.setattr(Room, "_new", refuses)
    assert same(here.apply(calls[0]), there.apply(calls[0]))
    assert refused
    assert engine.search._bitmaps.nbytes == 0
    monkeypatch.undo()
    assert same(here.apply(calls[1]), there.apply(calls[1]))
    assert engine.search._bitmaps.nbytes > 0


def test_a_search_whose_lists_do_not_fit_beside_bitmaps_goes_without(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there, calls, engine = monitors(device)
    lists_for, refused = SearchSetUp._lists_for, []

    def refuses(self: SearchSetUp, *args: Any) -> Any:
        if engine.search._bitmaps.nbytes:
            refused.append(engine.search._bitmaps.nbytes)
            raise DeviceMemoryError("a test", 2, 1, "wait")
        return lists_for(self, *args)

    monkeypatch.setattr(SearchSetUp, "_lists_for", refuses)
    assert same(here.apply(calls[0]), there.apply(calls[0]))
    assert refused
    assert engine.search._bitmaps.nbytes == 0


def test_bitmaps_that_grow_take_no_more_than_the_most(device: str) -> None:
    with stream_of(device) as stream:
        memory = Room(open_device(device), "a test", None, most=5000)
        for asked, held in (2000, 2000), (2400, 3000), (4800, 5000), (5200, 5200):
            assert memory.of(asked, stream).nbytes == held


def test_memory_in_use_is_not_freed_for_others(device: str) -> None:
    on = open_device(device)

    def ask_for_too_much() -> None:
        with pytest.raises(DeviceMemoryError):
            on.allocate(1 << 40, "a test", budget=on.used_memory() + 16)

    with stream_of(device) as stream:
        memory = SpareRoom(on, "a test", None)
        assert memory.take(2000, stream) is not None
        ask_for_too_much()
        assert memory.nbytes == 2000
        assert memory.take(1 << 60, stream) is None
        assert memory.take(2000, stream) is not None
        memory.give_back()
        ask_for_too_much()
        assert memory.nbytes == 0


@pytest.mark.turns(8, "emulated")
def test_bitmaps_are_freed_if_other_memory_is_needed(device: str) -> None:
    here, there, calls, engine = monitors(device)
    assert same(here.apply(calls[0]), there.apply(calls[0]))
    assert engine.search._bitmaps.nbytes > 0
    on = open_device(device)
    with pytest.raises(DeviceMemoryError):
        on.allocate(1 << 40, "a test", budget=on.used_memory() + 16)
    assert engine.search._bitmaps.nbytes == 0
    assert same(here.apply(calls[1]), there.apply(calls[1]))


@pytest.mark.turns(8, "emulated")
def test_bitmaps_are_kept_while_a_search_reads_them(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there, calls, _ = monitors(device)
    write, on = LongRowBitmaps.write, open_device(device)
    asked = []

    def asks(self: LongRowBitmaps, *args: Any) -> int:
        table = write(self, *args)
        held = self.nbytes
        with pytest.raises(DeviceMemoryError):
            on.allocate(1 << 40, "a test", budget=on.used_memory() + 16)
        asked.append((held, self.nbytes))
        return table

    monkeypatch.setattr(LongRowBitmaps, "write", asks)
    assert same(here.apply(calls[0]), there.apply(calls[0]))
    assert all(before == after > 0 for before, after in asked)
    assert asked


@pytest.mark.parametrize("error", [KeyboardInterrupt(), DeviceMemoryError("a test", 2, 1, "wait")])
def test_a_call_that_fails_in_bitmaps_leaves_the_graph(
    device: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there, calls, engine = monitors(device)

    def fails(*_: Any) -> int:
        raise error

    before = there.num_edges
    with monkeypatch.context() as patch:
        patch.setattr(LongRowBitmaps, "_launch", fails)
        with pytest.raises(type(error)):
            there.apply(calls[0])
    assert there.num_edges == before
    assert engine.search._bitmaps.nbytes == 0
    assert same(here.apply(calls[1]), there.apply(calls[1]))
