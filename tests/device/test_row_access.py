"""How searches open rows of the host: the look-up of copies, and lines that are brought whole.

The switches choose kernels, so each test compares with the CPU, and looks whether the kernel used what it
should.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.codegen.changing import ROW
from motiflux.codegen.row_access import COPIED_ROW, HASHED_ROW, MARK, ROW_COPIES
from motiflux.config import PRIVATE, private_tuning
from motiflux.errors import ArgumentError, DeviceMemoryError
from motiflux.gpu.changing.searches import set_up as search_module
from motiflux.gpu.outofcore import engine as engine_module
from motiflux.gpu.outofcore.cache import RowCache
from motiflux.gpu.outofcore.engine import OutOfCoreEngine
from motiflux.gpu.outofcore.host_rows import HostRows
from motiflux.gpu.outofcore.row_index import RowIndex
from tests.device.test_row_cache import (
    PATH,
    TRIANGLE,
    VERTICES,
    drawn,
    engine_of,
    graph,
    monitors,
    rows_of_host,
    same,
    there_stream,
)
from tests.fault.test_changing_faults import failing_once

pytestmark = pytest.mark.devices("emulated", "cuda", reason="they are copied to a device")

LOOKUPS = PRIVATE["cache_lookup"].values
STAGINGS = PRIVATE["row_staging"].values
IN_INDEX = [lookup for lookup in LOOKUPS if lookup != "header"]


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("lookup", LOOKUPS)
def test_searches_read_the_copies_that_they_look_up(
    device: str, lookup: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring, saved = OutOfCoreEngine._bring_rows, []

    def and_spoil(engine: OutOfCoreEngine, stream: Any, run: Any, roots: Any) -> None:
        bring(engine, stream, run, roots)
        stream.wait()
        for kind in engine.cache._kinds:
            for row in rows_of_host(kind.rows, kind.held):
                saved.append((row, row.copy()))
                row[:] = 0

    with monitors(device, PATH, cache="degree", cache_lookup=lookup) as (here, there):
        same(here, there, drawn(0))
        monkeypatch.setattr(OutOfCoreEngine, "_bring_rows", and_spoil)
        same(here, there, drawn(1))
        assert len(saved) > VERTICES // 3
        for row, entries in reversed(saved):
            row[:] = entries
        monkeypatch.undo()
        same(here, there, drawn(2))


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("lookup", IN_INDEX)
@pytest.mark.parametrize("room", [40, 600, 3000, 1 << 16])
def test_the_index_has_the_copies_that_there_are(
    device: str, lookup: str, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RowCache, "_most", lambda cache: room)
    dropped = 0
    with monitors(device, PATH, cache="khop", cache_lookup=lookup) as (here, there):
        held = 0
        for seed in range(6):
            same(here, there, drawn(seed, 4))
            now = check_index(engine_of(there), lookup)
            dropped += now < held
            held = now
        same(here, there, [("+", VERTICES + at, at % 7) for at in range(100)])
        check_index(engine_of(there), lookup)
    assert dropped > 0 or room in {40, 1 << 16}


def check_index(engine: OutOfCoreEngine, lookup: str) -> int:
    """Check what kernels were told before the last search; return the number of copies."""
    index, cache = engine.index, engine.cache
    assert index is not None
    (kind,) = cache._kinds
    told, memory = np.zeros(1, ROW_COPIES), index._rows
    stream = there_stream(engine)
    stream.download(index._told.of(1, stream), told)
    content = np.zeros(memory.nbytes, np.uint8)
    if len(content):
        stream.download(memory.of(1, stream), content)
    entries = np.zeros(0, np.uint32)
    if cache.memory is not None:
        entries = np.zeros(cache.memory.nbytes // 4, np.uint32)
        stream.download(cache.memory, entries)
    stream.wait()
    begin, count = memory.of(1, stream).address, int(told["count"][0])
    assert count == len(kind.held)
    assert int(told["entries"][0]) == len(entries)

    def part(field: str, dtype: Any, number: int) -> Any:
        at = int(told[field][0]) - begin
        return content[at : at + dtype.itemsize * number].view(dtype)

    if not count:
        return 0
    vertices, places = part("rowidx", np.dtype(np.uint32), count), part("rowptr", COPIED_ROW, count)
    assert vertices.tolist() == kind.held.tolist()
    for row, place in zip(rows_of_host(kind.rows, kind.held), places, strict=True):
        assert entries[int(place["first"]) : int(place["behind"])].tolist() == row.tolist()
    if lookup == "hash":
        slots = part("slots", HASHED_ROW, int(told["mask"][0]) + 1)
        used = slots[slots["key"] > 0]
        assert len(slots) >= 2 * len(used)
        order = np.argsort(used["key"])
        assert (used["key"][order] - 1).tolist() == vertices.tolist()
        assert used["first"][order].tolist() == places["first"].tolist()
        assert used["size"][order].tolist() == (places["behind"] - places["first"]).tolist()
    return count


@pytest.mark.parametrize("lookup", IN_INDEX)
def test_headers_name_rows_of_the_host_where_copies_are_looked_up(device: str, lookup: str) -> None:
    with monitors(device, PATH, cache="degree", cache_lookup=lookup) as (here, there):
        same(here, there, drawn(0))
        engine = engine_of(there)
        (kind,) = engine.cache._kinds
        assert len(kind.held) > 0
        headers, stream = np.zeros(kind.rows.num_rows, ROW), there_stream(engine)
        assert kind.rows._headers is not None
        stream.download(kind.rows._headers, headers)
        stream.wait()
        assert headers["neighbors"][kind.held].tolist() == kind.rows.places_of(kind.held, 1)[0].tolist()


LONG = 2000
TAILED_TRIANGLE = "(a)--(b)--(c)--(d)--(b)"
OF_LABELS = "(a:0)--(b:1)--(c:2)--(d:3)--(b)"


def with_hubs(size: int) -> mf.Graph:
    """Return a graph with one triangle, of labels 1, 2 and 3; the latter two have `size` such neighbours."""
    src = [1, 1, *[2] * size, *[3] * (size - 1)]
    dst = [2, 3, 3, *range(4, size + 3), *range(size + 3, 2 * size + 2)]
    labels = [0, 1, 2, 3, *[3] * (size - 1), *[2] * (size - 1)]
    return mf.Graph.from_edges((src, dst), num_vertices=2 * size + 2, vertex_labels=labels)


def has_staged(engine: OutOfCoreEngine, size: int) -> bool:
    """Return whether the memory of groups has a row of the host of this size, the longest of its kind."""
    lists, stream = engine.search._set_up._lists, there_stream(engine)
    content = np.zeros(lists.nbytes, np.uint8)
    stream.download(lists.of(1, stream), content)
    stream.wait()
    longest = [
        rows_of_host(rows, np.array([np.argmax(rows.all_sizes)], np.uint32))[0] for rows in engine._kinds()
    ]
    return any(len(row) == size and row.tobytes() in content.tobytes() for row in longest)


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("matches", [False, True])
@pytest.mark.parametrize("staging", STAGINGS)
@pytest.mark.parametrize("size", [40, LONG])
def test_rows_of_the_host_are_staged_if_that_reads_fewer_lines(
    device: str, staging: str, size: int, *, matches: bool
) -> None:
    """A search looks one candidate up in a long row."""
    options: dict[str, Any] = {"mode": "batch", "matches": matches}
    tuning = private_tuning({"cache": "none", "row_staging": staging})
    with (
        mf.Monitor(with_hubs(size), OF_LABELS, device="cpu", **options) as here,
        mf.Monitor(
            with_hubs(size), OF_LABELS, device=device, engine="outofcore", tuning=tuning, **options
        ) as there,
    ):
        same(here, there, [("+", 0, 1)])
        found = has_staged(engine_of(there), size)
        assert found == (staging == "always" or (staging == "on" and size == 40))


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("staging", ["on", "always"])
@pytest.mark.parametrize("words", [0, 32, 64])
def test_rows_that_have_no_room_are_read_in_place(
    device: str, staging: str, words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "STAGED_WORDS", words)
    with monitors(device, TAILED_TRIANGLE, cache="none", row_staging=staging) as (here, there):
        for seed in range(3):
            same(here, there, drawn(seed))
    tuning = private_tuning({"cache": "none", "row_staging": staging})
    size = 60
    with mf.Monitor(
        with_hubs(size), OF_LABELS, mode="batch", device=device, engine="outofcore", tuning=tuning
    ) as alone:
        assert alone.apply([("+", 0, 1)])[0].positive == 1
        assert has_staged(engine_of(alone), size) == (words == 64)


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("lookup", LOOKUPS)
@pytest.mark.parametrize("staging", STAGINGS)
@pytest.mark.parametrize("pattern", [PATH, TAILED_TRIANGLE, "(a)--(b)--(c)--(d)--(a), (a)--(c)"])
def test_matches_are_those_of_the_cpu_whatever_is_staged(
    device: str, lookup: str, staging: str, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RowCache, "_most", lambda cache: 700)
    with monitors(device, pattern, cache="degree", cache_lookup=lookup, row_staging=staging) as (here, there):
        for seed in range(3):
            same(here, there, drawn(seed))


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("mode", ["batch", "sequence"])
@pytest.mark.parametrize("matches", [False, True])
@pytest.mark.parametrize("pattern", [TRIANGLE, PATH, "(a)--(b)--(c)--(d)--(a), (a)--(c)"])
def test_rows_in_two_parts_have_the_matches_of_merged_ones(
    device: str, mode: str, pattern: str, *, matches: bool
) -> None:
    options: dict[str, Any] = {"mode": mode, "matches": matches, "duplicates": "ignore"}
    tuning = private_tuning({"cache": "degree", "touched_rows": "two_parts"})
    with (
        mf.Monitor(graph(), pattern, device="cpu", **options) as here,
        mf.Monitor(graph(), pattern, device=device, engine="outofcore", tuning=tuning, **options) as there,
    ):
        for seed in range(4):
            same(here, there, drawn(seed, 60))


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("directed", [False, True])
def test_rows_of_several_classes_in_two_parts_are_written_back(device: str, *, directed: bool) -> None:
    """Each edge has a label, so a pair may have several: rows are copies, which kernels write."""
    rng = np.random.default_rng(3)
    options: dict[str, Any] = {"mode": "batch", "duplicates": "ignore"}
    ends = rng.integers(0, 12, (2, 90))
    ends = ends[:, ends[0] != ends[1]]
    data = mf.Graph.from_edges(
        ends.T, num_vertices=12, edge_labels=rng.integers(0, 3, ends.shape[1]), directed=directed
    )
    tuning = private_tuning({"cache": "degree", "touched_rows": "two_parts"})
    with (
        mf.Monitor(data, TRIANGLE, device="cpu", **options) as here,
        mf.Monitor(data, TRIANGLE, device=device, engine="outofcore", tuning=tuning, **options) as there,
    ):
        for _ in range(6):
            pairs = rng.integers(0, 12, (40, 2))
            updates: list[Any] = [
                ("+-"[int(rng.integers(2))], int(u), int(v), int(rng.integers(3))) for u, v in pairs if u != v
            ]
            same(here, there, updates)
        assert {type(rows) for rows in engine_of(there)._rows.values()} == {HostRows}


def test_more_vertices_than_marks_leave_room_for_are_refused(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "MARK", VERTICES)
    with monitors(device, TRIANGLE, touched_rows="two_parts") as (here, there):
        same(here, there, drawn(0))
        with pytest.raises(ArgumentError, match="two_parts"):
            there.apply([("+", VERTICES, 1)])
        assert there.num_vertices == VERTICES
        same(here, there, drawn(1))


def test_entries_that_go_are_marked_and_changes_are_appended(device: str) -> None:
    with monitors(device, TRIANGLE, cache="none", touched_rows="two_parts") as (here, there):
        same(here, there, [("-", 0, 5), ("+", 0, VERTICES)])
        engine = engine_of(there)
        ids = {int(name): at for at, name in enumerate(there.names(np.arange(VERTICES + 1, dtype=np.uint32)))}
        (rows,) = engine._kinds()
        (row,) = rows_of_host(rows, np.array([ids[0]], np.uint32))  # as it is afterwards
        old = np.sort(np.append(row[row != ids[VERTICES]], np.uint32(ids[5])))
        assert len(old) == len(row) > 40
        old[old == ids[5]] |= np.uint32(MARK)
        appended = np.sort(np.array([ids[5], ids[VERTICES]], np.uint32))
        memory, stream = engine._memory, there_stream(engine)
        content = np.zeros(memory.nbytes, np.uint8)
        stream.download(memory.of(1, stream), content)
        stream.wait()
        assert old.tobytes() in content.tobytes()
        assert appended.tobytes() in content.tobytes()


def test_it_says_how_rows_are_opened(device: str) -> None:
    ways = {"cache_lookup": "hash", "row_staging": "on", "touched_rows": "two_parts"}
    with monitors(device, TRIANGLE, **ways) as (_, there):
        assert engine_of(there).describe({}).splitlines()[-1] == (
            "copies looked up (hash), rows of the host brought in whole lines where that takes fewer lines,"
            " touched rows in two parts"
        )
    with monitors(device, TRIANGLE) as (_, there):
        assert engine_of(there).describe({}).splitlines()[-1].startswith("rows in pinned memory")


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("mode", ["batch", "sequence"])
@pytest.mark.parametrize("pattern", [TRIANGLE, "(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d)"])
@pytest.mark.parametrize("matches", [False, True])
def test_rows_that_change_at_many_moments_are_right_at_each(
    device: str, mode: str, pattern: str, *, matches: bool
) -> None:
    """Order restrictions cut both parts of a row."""
    rng = np.random.default_rng(5)
    options: dict[str, Any] = {"mode": mode, "matches": matches, "symmetry": "subgraphs"}
    tuning = private_tuning({"cache": "none", "touched_rows": "two_parts"})
    pairs = [(u, v) for u in range(10) for v in range(u)]
    with (
        mf.Monitor(mf.Graph.from_edges(pairs[:3], num_vertices=10), pattern, device="cpu", **options) as here,
        mf.Monitor(
            mf.Graph.from_edges(pairs[:3], num_vertices=10),
            pattern,
            device=device,
            engine="outofcore",
            tuning=tuning,
            **options,
        ) as there,
    ):
        for operations in ("+", "-", "+-", "+-"):
            updates = [(str(rng.choice(list(operations))), u, v) for u, v in rng.permutation(pairs).tolist()]
            same(here, there, updates[: 30 if operations == "-" else None])


@pytest.mark.parametrize("staging", STAGINGS)
def test_rows_that_are_staged_together_lie_apart(device: str, staging: str) -> None:
    """The last level is in two rows of the host of 60 and 80 entries, of which 20 are common."""
    pattern = "(a:0)--(b:1)--(c:2)--(e:4)--(d:3)--(b)"
    src, dst = [1, 1, *[2] * 60, *[3] * 80], [2, 3, *range(4, 64), *range(44, 124)]
    data = mf.Graph.from_edges((src, dst), num_vertices=124, vertex_labels=[0, 1, 2, 3, *[4] * 120])
    tuning = private_tuning({"cache": "none", "row_staging": staging, "tail": "off"})
    with mf.Monitor(data, pattern, device=device, engine="outofcore", tuning=tuning, mode="batch") as there:
        for operation, found in (("+", (20, 0)), ("-", (0, 20))):
            delta = there.apply([(operation, 0, 1)])[0]
            assert (delta.positive, delta.negative) == found


@pytest.mark.parametrize("error", [KeyboardInterrupt(), DeviceMemoryError("a test", 2, 1, "wait")])
def test_a_call_that_cannot_tell_kernels_of_copies_is_undone(
    device: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monitors(device, TRIANGLE, cache="degree", cache_lookup="hash") as (here, there):
        same(here, there, drawn(0))
        with monkeypatch.context() as patch:
            patch.setattr(RowIndex, "_write_rows", failing_once(RowIndex._write_rows, error))
            with pytest.raises(type(error)):
                there.apply(drawn(1))
        index = engine_of(there).index
        assert index is not None
        assert index.nbytes == 0
        same(here, there, drawn(1))
        check_index(engine_of(there), "hash")
