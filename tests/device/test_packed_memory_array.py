"""A packed memory array against a plain multiset: random batches, and what holds of its slots after each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from motiflux.codegen.gpma import GroupSizes
from motiflux.device import Stream
from motiflux.errors import DeviceMemoryError, InternalError
from motiflux.gpu.changing.gpma import PackedMemoryArray, packed_updates
from motiflux.gpu.changing.gpma_settings import PackedSettings
from motiflux.gpu.runtime.accelerator import open_accelerator

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it lies on a device")

Entry = tuple[int, int]


@contextmanager
def stream_of(device: str) -> Iterator[Stream]:
    accelerator = open_accelerator(device)
    session = accelerator.session()
    try:
        yield session.main
    finally:
        accelerator.recycle(session)


def loaded(
    device: str,
    stream: Stream,
    entries: Counter[Entry],
    vertices: int,
    chosen: PackedSettings,
    budget: int | None = None,
) -> PackedMemoryArray:
    array = PackedMemoryArray(open_accelerator(device), budget, chosen)
    rows = sorted(entries.elements())
    sizes = np.bincount([vertex for vertex, _ in rows], minlength=vertices)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint64)
    array.load(stream, offsets, np.array([neighbor for _, neighbor in rows], np.uint32))
    return array


def apply(array: PackedMemoryArray, stream: Stream, changes: Counter[Entry]) -> None:
    """Insert entries with positive numbers, and delete those with negative ones."""
    ordered = [(entry, number) for entry, number in sorted(changes.items()) if number]
    keys = np.repeat(
        np.array([vertex << 32 | neighbor for (vertex, neighbor), _ in ordered], np.uint64),
        [abs(number) for _, number in ordered],
    )
    inserts = np.repeat([number > 0 for _, number in ordered], [abs(number) for _, number in ordered])
    updates = packed_updates(keys, inserts.astype(bool))
    buffer = open_accelerator(array._device.name).device.allocate(max(16, updates.nbytes), "updates")
    if len(updates):
        stream.upload(buffer, updates)
    stream.wait()
    array.update(stream, buffer.address, len(updates), int(inserts.sum()))
    stream.wait()


def check(array: PackedMemoryArray, stream: Stream, entries: Counter[Entry]) -> None:
    """Check all that holds of an array between updates."""
    found, expected = array.read(stream), sorted(entries.elements())
    assert array.entries == len(expected)
    chosen = array.settings
    slots_of_leaf = 1 << chosen.leaf_shift
    counts, before = found["counts"].astype(np.int64), found["before"].astype(np.int64)
    if expected:
        assert before.tolist() == [0, *np.cumsum(counts)]  # and no leaf is marked as written
        keys = (found["sources"] << np.uint64(32)) | found["neighbors"]
        assert np.all(keys[:-1] <= keys[1:])
        least, most = chosen.leaf_bounds
        if len(counts) > 1:
            assert least <= counts.min()
        assert counts.max() <= most
        slots = entry_slots(counts, slots_of_leaf)
        assert [(int(key) >> 32, int(key) & 0xFFFFFFFF) for key in keys[slots]] == expected
        gaps = np.setdiff1d(np.arange(len(keys)), slots)
        assert np.array_equal(keys[gaps], keys[gaps - 1])
        assert np.array_equal(found["firsts"], keys[::slots_of_leaf])
        assert array.settings.fits(len(expected), len(counts))
    degrees = Counter(vertex for vertex, _ in expected)
    base = array.array.neighbors
    for vertex, header in enumerate(found["headers"]):
        begin, end = int(found["begins"][vertex]), int(found["ends"][vertex])
        assert header["size"] == end - begin
        assert header["size"] - header["changes"] == degrees[vertex]
        assert header["lives"] == 0
        if degrees[vertex]:
            assert header["neighbors"] == header["moments"] == base + 4 * begin
            assert np.all(found["sources"][begin:end] == vertex)
            assert begin == 0 or found["sources"][begin - 1] != vertex
            assert end == len(found["sources"]) or found["sources"][end] != vertex


def entry_slots(counts: NDArray[np.int64], slots_of_leaf: int) -> NDArray[np.int64]:
    """Return the slots that have entries, if each leaf has its entries spread evenly."""
    return np.array(
        [
            leaf * slots_of_leaf + number * slots_of_leaf // count
            for leaf, count in enumerate(counts.tolist())
            for number in range(count)
        ],
        np.int64,
    )


SETTINGS = st.builds(
    PackedSettings,
    leaf_shift=st.sampled_from((3, 4, 5)),
    index_levels=st.sampled_from((0, 1, 3, 8)),
    group_sizes=st.sampled_from(GroupSizes),
)


@pytest.mark.turns(8, "emulated")
@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 1 << 30),
    chosen=SETTINGS,
    size=st.sampled_from((0, 3, 40, 400, 3000)),
    vertices=st.sampled_from((1, 5, 60)),
    neighbors=st.sampled_from((3, 100)),
    shares=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1.5)), min_size=1, max_size=4),
)
def test_batches_give_what_they_give_of_a_multiset(
    device: str,
    seed: int,
    chosen: PackedSettings,
    size: int,
    vertices: int,
    neighbors: int,
    shares: list[tuple[float, float]],
) -> None:
    rng = np.random.default_rng(seed)

    def some(number: int) -> Counter[Entry]:
        # Few vertices and neighbours: entries repeat, and rows are long.
        drawn = np.minimum(rng.geometric(2 / (1 + vertices), number) - 1, vertices - 1)
        return Counter(zip(drawn.tolist(), rng.integers(0, neighbors, number).tolist(), strict=True))

    entries = some(size)
    with stream_of(device) as stream:
        array = loaded(device, stream, entries, vertices, chosen)
        check(array, stream, entries)
        for deleted, inserted in shares:
            there = list(entries.elements())
            gone = rng.permutation(len(there))[: int(deleted * len(there))]
            changes = Counter({})
            changes.subtract(Counter(there[one] for one in gone))
            changes.update(some(int(inserted * max(10, len(there)))))
            apply(array, stream, changes)
            entries = Counter({entry: entries[entry] + changes[entry] for entry in {*entries, *changes}})
            entries += Counter()
            check(array, stream, entries)
        array.release()


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("sizes", GroupSizes)
def test_a_batch_at_one_place_widens_the_window_until_it_is_within_bounds(
    device: str, sizes: GroupSizes
) -> None:
    # 40,000 entries: windows that a warp, a block and the device rewrite, without a larger array.
    entries = Counter({(vertex, 10 * number): 1 for vertex in range(40) for number in range(1000)})
    chosen = PackedSettings(group_sizes=sizes)
    with stream_of(device) as stream:
        array = loaded(device, stream, entries, 40, chosen)
        leaves = array.array.leaves
        for turn, inserted in enumerate((1, 15, 300, 3000)):
            row = {(7, 10 * number + turn + 1): 1 for number in range(500, 500 + inserted)}
            apply(array, stream, Counter(row))
            entries.update(row)
            check(array, stream, entries)
        assert array.array.leaves == leaves
        for deleted in (300, 3000):
            gone = [entry for entry in sorted(entries) if entry[0] == 7][:deleted]
            apply(array, stream, Counter(dict.fromkeys(gone, -1)))
            for entry in gone:
                del entries[entry]
            check(array, stream, entries)
        assert array.array.leaves == leaves


@pytest.mark.turns(8, "emulated")
def test_an_array_grows_and_shrinks_with_its_entries(device: str) -> None:
    entries: Counter[Entry] = Counter()
    with stream_of(device) as stream:
        array = loaded(device, stream, entries, 3, PackedSettings())
        leaves = []
        for _ in range(6):
            more = Counter({(2, len(entries) + number): 1 for number in range(50 + 2 * len(entries))})
            apply(array, stream, more)
            entries.update(more)
            check(array, stream, entries)
            leaves.append(array.array.leaves)
        assert leaves == sorted(leaves)
        while entries:
            some = dict.fromkeys(sorted(entries)[: len(entries) // 2 + 1], -1)
            apply(array, stream, Counter(some))
            for entry in some:
                del entries[entry]
            check(array, stream, entries)
        assert array.array.leaves == 1 < leaves[-1]


def test_a_row_without_its_last_entry_is_empty_and_can_be_filled_again(device: str) -> None:
    entries = Counter({(vertex, number): 1 for vertex in range(9) for number in range(1 + 20 * (vertex % 3))})
    with stream_of(device) as stream:
        array = loaded(device, stream, entries, 9, PackedSettings())
        for vertex in (0, 8, 4, 3):
            own = Counter({entry: 1 for entry in entries if entry[0] == vertex})
            gone = Counter(dict.fromkeys(own, -1))
            apply(array, stream, gone)
            check(array, stream, entries - own)
            apply(array, stream, own)
            check(array, stream, entries)


def test_new_vertices_have_empty_rows_until_they_get_entries(device: str) -> None:
    entries = Counter({(0, 1): 1, (1, 0): 1})
    with stream_of(device) as stream:
        array = loaded(device, stream, entries, 2, PackedSettings())
        array.cover(stream, 500)
        check(array, stream, entries)
        more = Counter({(499, 1): 1, (1, 499): 1})
        apply(array, stream, more)
        check(array, stream, entries + more)


def test_a_deletion_of_an_entry_that_is_not_there_is_an_error_and_changes_nothing(device: str) -> None:
    entries = Counter({(0, number): 2 for number in range(100)})
    with stream_of(device) as stream:
        array = loaded(device, stream, entries, 2, PackedSettings())
        others = {(1, number): -2 for number in range(100)}  # as many as there are
        for wrong in ({(0, 5): -3}, {(0, 7): -1, (0, 2000): -1}, {(1, 0): -1}, others):
            with pytest.raises(InternalError, match="not there"):
                apply(array, stream, Counter(wrong))
            check(array, stream, entries)


@pytest.mark.turns(8, "emulated")
def test_an_array_that_cannot_grow_is_as_before(device: str) -> None:
    entries = Counter({(0, number): 1 for number in range(2000)})
    more = Counter({(1, number): 1 for number in range(100_000)})
    with stream_of(device) as stream:
        held = open_accelerator(device).device.used_memory()
        array = loaded(device, stream, entries, 2, PackedSettings(), held + (1 << 19))
        with pytest.raises(DeviceMemoryError):
            apply(array, stream, more)
        check(array, stream, entries)
        array._budget = None
        array._work._budget = None
        apply(array, stream, more)
        check(array, stream, entries + more)


def test_small_windows_get_the_lanes_that_are_asked_for(device: str) -> None:
    for sizes in GroupSizes:
        for shift in (3, 5):
            chosen = replace(PackedSettings(), leaf_shift=shift, group_sizes=sizes)
            entries = Counter({(vertex, 3 * number): 1 for vertex in range(9) for number in range(300)})
            with stream_of(device) as stream:
                array = loaded(device, stream, entries, 9, chosen)
                more = Counter({(vertex, 3 * vertex + 1): 1 for vertex in range(9)})
                apply(array, stream, more)
                check(array, stream, entries + more)
