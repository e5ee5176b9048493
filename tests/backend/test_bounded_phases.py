"""``engine="pvm"`` with tables or embeddings beyond the memory of a search: exact, and few copies."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.device import devices_like, open_device
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.pvm import frontiers, launches, memory_division, phase_steps, search, set_up, shares
from motiflux.gpu.pvm.resident_tables import ResidentTables
from motiflux.gpu.pvm.row_tables import TableKey
from motiflux.gpu.pvm.tiled_run import TiledRun
from tests.phases_memory import room
from tests.property.test_pvm_search import IN_TILES, found
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases

pytestmark = pytest.mark.devices("emulated", "cuda", reason="phases are for GPUs")

ENUMERATE = private_tuning({"tail": "off", "parts": "off", "tables": "off"})
OTHERS = 24_000
"""Bytes of a search on any graph: ids, labels, and work that launches of few warps leave."""
SHAPES = {
    "path": "(a:0)-[:x]-(b:1)-[:y]-(c:2)-[:z]-(d:3)",
    "path of one label": "(a:0)-[:x]-(b:1)-[:x]-(c:2)-[:x]-(d:3)",
    "triangle": "(a)-[:x]-(b)-[:y]-(c)-[:z]-(a)",
    "triangle of one label": "(a)-[:x]-(b)-[:x]-(c)-[:x]-(a)",
    "two sources of one label": "(a:0)-[:x]-(b:1)-[:x]-(c:2)-[:y]-(d:3)-[:x]-(a), (c)-[:z]-(a)",
    "cycle of five": "(a:0)-[:x]-(b:1)-[:y]-(c:2)-[:y]-(d:3)-[:x]-(e:1)-[:z]-(a)",
    "forks": "(a:0)-[:x]-(b:1), (a)-[:y]-(c:2), (b)-[:z]-(d:3), (c)-[:z]-(e:3)",
    "star": "(a:0)-[:x]-(b:1), (a)-[:x]-(c:2), (a)-[:y]-(d:3), (a)-[:y]-(e:3)",
    "clique": "(a:0)-[:x]-(b:1)-[:x]-(c:2)-[:x]-(a), (d:3)-[:x]-(a), (d)-[:x]-(b), (d)-[:x]-(c)",
    "any label": "(a:0)--(b:1)-[:x]-(c:2)-[:y|z]-(a)",
}


@pytest.fixture(scope="module")
def graph() -> mf.Graph:
    """Draw a graph whose rows take most of the memory of a search: many arcs for each vertex."""
    rng = np.random.default_rng(1)
    vertices = 160
    pairs = np.argwhere(np.triu(rng.random((vertices, vertices)) < 0.6, 1))
    return mf.Graph.from_edges(
        pairs,
        num_vertices=vertices,
        edge_labels=rng.choice(["x", "y", "z"], len(pairs)).tolist(),
        vertex_labels=rng.integers(0, 4, vertices).tolist(),
    )


class Seen:
    """What searches did."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counted: list[search.Counted] = []
        self.phases: list[list[tuple[TableKey, ...]]] = []  # the tables of each phase, if some are in tiles
        count, begin = search._counted, search._run

        def counted(*args: Any, **options: Any) -> search.Counted:
            self.counted.append(count(*args, **options))
            return self.counted[-1]

        def run(*args: Any) -> Any:
            made = begin(*args)
            if isinstance(made, TiledRun):
                self.phases.append([phase.tables for phase in made._programs.phases])
            return made

        monkeypatch.setattr(search, "_counted", counted)
        monkeypatch.setattr(search, "_run", run)

    @property
    def copies(self) -> dict[str, float]:
        """Return how often each table was copied in the last count, by labels."""
        traffic = self.counted[-1].traffic
        return {str(key.labels): one.copied / one.nbytes for key, one in traffic.items()}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(monkeypatch)


def table_bytes(seen: Seen, graph: mf.Graph, pattern: str, device: str) -> int:
    """Return the bytes of the tables of a pattern."""
    mf.count(graph, pattern, device=device, engine="pvm", tuning=ENUMERATE)
    return sum(one.nbytes for one in seen.counted[-1].traffic.values())


def readings(seen: Seen) -> dict[str, int]:
    """Return the number of phases that read each table."""
    traffic = seen.counted[-1].traffic
    return {str(key.labels): sum(key in tables for tables in seen.phases[-1]) for key in traffic}


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("share", [2, 8])
def test_tables_beyond_memory_are_copied_at_most_twice_for_each_phase_that_reads_them(
    device: str, graph: mf.Graph, seen: Seen, name: str, share: int
) -> None:
    pattern = SHAPES[name]
    expected = mf.count(graph, pattern, device="cpu")
    assert expected > 0
    whole = table_bytes(seen, graph, pattern, device)
    graph.forget()
    with room(device, whole // share + OTHERS) as options:
        counted = mf.count(graph, pattern, tuning=ENUMERATE, **options)
    assert (counted, counted.complete, counted.engine) == (expected, True, "pvm")
    assert seen.phases, "all tables fit"
    for table, times in seen.copies.items():
        assert times <= 2 * readings(seen)[table], table
    assert max(seen.copies.values()) > 0


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("name", ["path", "two sources of one label", "forks", "star"])
def test_arcs_that_a_pattern_lacks_are_absent_in_tiles(
    device: str, graph: mf.Graph, seen: Seen, name: str
) -> None:
    options: dict[str, Any] = {"semantics": "induced"}
    expected = mf.count(graph, SHAPES[name], device="cpu", **options)
    assert expected > 0
    whole = table_bytes(seen, graph, SHAPES[name], device)
    graph.forget()
    with room(device, whole // 2 + OTHERS) as limited:
        counted = mf.count(graph, SHAPES[name], tuning=ENUMERATE, **options, **limited)
    assert (counted, counted.complete, counted.engine) == (expected, True, "pvm")
    assert seen.phases, "all tables fit"


@pytest.mark.turns(3, "emulated")
@pytest.mark.parametrize(
    "switches",
    [
        {"pvm_rows": "unrenamed"},
        {"pvm_filter": "on"},
        {"pvm_writes": "two_pass"},
        {"pvm_writes": "two_pass", "pvm_distribution": "round_robin"},
        {"pvm_generation": "nested"},
        {"pvm": "sv", "pvm_rows": "unrenamed", "pvm_filter": "on", "pvm_writes": "two_pass"},
    ],
    ids=str,
)
def test_switches_find_the_same_in_tiles(
    device: str, graph: mf.Graph, seen: Seen, switches: dict[str, str]
) -> None:
    tuning = private_tuning({"tail": "off", "parts": "off", "tables": "off", **switches})
    for name in ("star", "triangle"):
        expected = mf.count(graph, SHAPES[name], device="cpu")
        whole = table_bytes(seen, graph, SHAPES[name], device)
        seen.phases.clear()
        graph.forget()
        signatures = 64 * graph.num_vertices if switches.get("pvm_filter") else 0
        for more in range(0, 80_000, 8_000):  # a GPU's many warps need more
            with room(device, whole // 2 + OTHERS + signatures + more, switches, steps=3) as options:
                try:
                    counted = mf.count(graph, SHAPES[name], tuning=tuning, **options)
                    rows = mf.match(graph, SHAPES[name], tuning=tuning, **options).to_numpy()
                    break
                except mf.DeviceMemoryError:
                    seen.phases.clear()
        assert (counted, counted.complete, counted.engine) == (expected, True, "pvm")
        assert len(np.unique(rows, axis=0)) == len(rows) == expected
        assert len(seen.phases) == 2, "all tables fit"


def test_edges_that_close_cycles_at_one_vertex_are_tested_together(
    device: str, graph: mf.Graph, seen: Seen
) -> None:
    graph.forget()
    with room(device, 34_000) as options:
        mf.count(graph, SHAPES["clique"], tuning=ENUMERATE, **options)
    assert readings(seen) == {"(0,)": 4}, "an edge closes a triangle, then two edges close cycles at a vertex"


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize(
    ("name", "host"),
    [
        *product(["path", "triangle of one label"], [0, 3000]),
        *product(["path", "two sources of one label", "star", "any label"], [1 << 30]),
    ],
)
def test_rows_are_those_of_the_cpu_however_many_embeddings_there_is_room_for(
    device: str, graph: mf.Graph, seen: Seen, monkeypatch: pytest.MonkeyPatch, name: str, host: int
) -> None:
    monkeypatch.setattr(search, "host_room", lambda: host)
    pattern = SHAPES[name]
    expected = mf.match(graph, pattern, device="cpu").to_numpy()
    graph.forget()
    with room(device, 34_000) as options:
        matches = mf.match(graph, pattern, **options)
        listed = matches.to_numpy()
        assert (matches.complete, matches.engine) == (True, "pvm")
        counted = mf.count(graph, pattern, tuning=ENUMERATE, **options)
    assert sorted(map(tuple, listed.tolist())) == sorted(map(tuple, expected.tolist()))
    assert (counted, counted.complete) == (len(expected), True)
    assert len(seen.phases) == 2


def test_explain_predicts_and_counts_the_bytes_of_copies(device: str, graph: mf.Graph, seen: Seen) -> None:
    graph.forget()
    with room(device, 34_000) as options:
        told = mf.explain(graph, SHAPES["path"], analyze=True, tuning=ENUMERATE, **options)
        bounded = told.report
    assert bounded.actual is not None
    assert bounded.predicted is not None
    copied = sum(one.copied for one in seen.counted[-1].traffic.values())
    assert bounded.actual.copied == copied > 0
    assert " copied to the device" in told
    assert bounded.predicted.memory.copied is not None
    assert bounded.predicted.memory.copied >= copied
    graph.forget()
    options = {"device": device, "engine": "pvm", "analyze": True, "tuning": ENUMERATE}
    for again in (False, True):
        actual = mf.explain(graph, SHAPES["path"], **options).report.actual
        assert actual is not None
        assert actual.copied == (0 if again else sum(one.nbytes for one in seen.counted[-1].traffic.values()))


class TinyTables(ResidentTables):
    """Tables in many tiles, however much memory there is."""

    most = 600

    def __init__(self, *args: Any, **options: Any) -> None:
        accelerator, tables, budget, _ = args
        super().__init__(accelerator, tables, budget, self.most, **{**options, "most_in_tiles": self.most})


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("combination", rotating(COMBINATIONS, 4), ids=str)
def test_random_graphs_in_tiles_have_the_embeddings_of_the_reference(
    combination: Combination, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_up, "ResidentTables", TinyTables)

    @settings(deadline=None)
    @given(
        cases(combination.directed, combination.labels),
        IN_TILES.map(private_tuning),
        st.sampled_from((600, 1500)),
        st.sampled_from((0, 300, 1 << 20)),
        st.sampled_from((1 << 11, 1 << 20)),
    )
    def holds(case: Case, tuning: Any, tables: int, host: int, between: int) -> None:
        monkeypatch.setattr(TinyTables, "most", tables)
        monkeypatch.setattr(search, "host_room", lambda: host)
        monkeypatch.setattr(memory_division, "MOST_BYTES", between)
        monkeypatch.setattr(set_up, "FIRST_BYTES", between)
        options = {"tuning": tuning, **combination.options(device)}
        if combination.symmetry == "subgraphs":
            assert len(found(case.graph(), case.pattern(), **options)) == len(
                case.occurrences(combination.semantics)
            )
        else:
            rows = found(case.graph(), case.pattern(), **options)
            expected = case.embeddings(combination.semantics)
            assert len(rows) == len(expected)
            assert set(rows) == expected

    holds()


@pytest.mark.parametrize(
    "switches", [{}, {"pvm": "sv", "pvm_rows": "unrenamed", "pvm_filter": "on", "pvm_writes": "two_pass"}]
)
def test_devices_share_a_search_in_tiles(
    device: str, graph: mf.Graph, seen: Seen, monkeypatch: pytest.MonkeyPatch, switches: dict[str, str]
) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    added: list[search.Counted] = []
    add = shares._sum

    def summed(results: Sequence[search.Counted]) -> search.Counted:
        added.append(add(results))
        return added[-1]

    monkeypatch.setattr(shares, "_sum", summed)
    monkeypatch.setattr(set_up, "ResidentTables", TinyTables)
    monkeypatch.setattr(TinyTables, "most", 6000)
    options: dict[str, Any] = {
        "device": device,
        "devices": 2,
        "engine": "pvm",
        "tuning": private_tuning({"tail": "off", **switches}),
    }
    for semantics in ("isomorphism", "induced"):
        expected = mf.count(graph, SHAPES["star"], device="cpu", semantics=semantics)
        seen.phases.clear()
        counted = mf.count(graph, SHAPES["star"], semantics=semantics, **options)
        assert (counted, counted.complete, counted.engine) == (expected, True, "pvm")
        assert len(seen.phases) == 2, "all tables fit"
        assert all(one.copied >= one.nbytes for one in added[-1].traffic.values()), "copies are not added"
        rows = mf.match(graph, SHAPES["star"], semantics=semantics, **options).to_numpy()
        assert len(np.unique(rows, axis=0)) == len(rows) == expected


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_limits_hold_in_tiles_and_end_before_all_is_read(
    device: str, graph: mf.Graph, seen: Seen, limit: int
) -> None:
    graph.forget()
    with room(device, 34_000) as options:
        counted = mf.count(graph, SHAPES["path"], limit=limit, tuning=ENUMERATE, **options)
        matches = mf.match(graph, SHAPES["path"], limit=limit, **options)
        rows = matches.to_numpy()
    assert (counted, counted.complete) == (limit, False)
    assert (len(np.unique(rows, axis=0)), matches.complete) == (limit, False)
    assert len(seen.phases) == 2


@pytest.mark.turns(4, "emulated")
def test_progress_in_tiles_ascends(device: str, graph: mf.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phase_steps, "_LOOK_SECONDS", 0.0)
    told: list[mf.ProgressReport] = []
    graph.forget()
    with room(device, 34_000) as options:
        mf.count(graph, SHAPES["triangle"], tuning=ENUMERATE, progress=told.append, **options)
    shares = [report.done / report.total for report in told]
    assert shares == sorted(shares)
    assert len(set(shares)) > 3 or device == "cuda", "a GPU may be too fast to be looked at"


class TestExplodingFrontiers:
    """Partial embeddings of which there are too many for any memory."""

    PATTERN = "(a)--(b), (a)--(c), (b)--(d), (c)--(e), (d)--(f), (e)--(g), (f)--(h)"

    @pytest.mark.turns(4, "emulated")
    @pytest.mark.parametrize("host", [0, 1 << 20])
    @pytest.mark.parametrize("nbytes", [40_000, 4 << 20], ids=["in tiles", "whole"])
    def test_end_with_what_was_found_when_time_is_up(
        self, device: str, graph: mf.Graph, monkeypatch: pytest.MonkeyPatch, nbytes: int, host: int
    ) -> None:
        monkeypatch.setattr(search, "host_room", lambda: host)
        graph.forget()
        with room(device, nbytes) as options:
            counted = mf.count(graph, self.PATTERN, timeout=1.0, tuning=ENUMERATE, **options)
            matches = mf.match(graph, self.PATTERN, timeout=1.0, **options)
            rows = sum(map(len, matches))
        assert (counted.complete, counted.engine) == (False, "pvm")
        assert (matches.complete, matches.rows) == (False, rows)
        if nbytes > 1 << 20:
            assert counted > 0
            assert rows > 0

    @pytest.mark.turns(4, "emulated")
    def test_leave_their_memory_to_the_next_search(self, device: str, graph: mf.Graph) -> None:
        graph.forget()
        with room(device, 40_000) as options:
            for _ in range(3):
                late = mf.count(graph, self.PATTERN, timeout=0.2, tuning=ENUMERATE, **options)
                assert not late.complete
                found = mf.count(graph, SHAPES["path"], tuning=ENUMERATE, **options)
                assert found.complete
            graph.forget()
            assert open_device(device).used_memory() <= options["gpu_memory"]


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("name", ["path", "forks", "cycle of five"])
def test_work_that_a_launch_left_waits_on_the_host_for_its_turn(
    device: str, graph: mf.Graph, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """More parts are left than the next launch is given: warps ask for more than there are."""
    monkeypatch.setattr(frontiers, "_most_left", lambda warps: 3)
    monkeypatch.setattr(set_up, "FIRST_BYTES", 1024)
    monkeypatch.setattr(memory_division, "MOST_BYTES", 1024)
    monkeypatch.setattr(launches, "LONG_BATCH", 8)
    waited: list[int] = []
    upload = phase_steps.PhaseSteps._upload

    def uploaded(self: Any, parts: Any) -> int:
        waited.append(len(parts) - upload(self, parts))
        return len(parts) - waited[-1]

    monkeypatch.setattr(phase_steps.PhaseSteps, "_upload", uploaded)
    expected = mf.count(graph, SHAPES[name], device="cpu")
    graph.forget()
    found = mf.count(graph, SHAPES[name], device=device, engine="pvm", tuning=ENUMERATE)
    graph.forget()
    assert max(waited, default=0) > 0
    assert (found, found.complete) == (expected, True)


@pytest.mark.turns(4, "emulated")
def test_parts_of_batches_that_a_full_frontier_left_are_done_once(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of two passes puts off parts of all batches, those that the second one does not reach too."""
    monkeypatch.setattr(set_up, "FIRST_BYTES", 500)
    monkeypatch.setattr(set_up, "GROWN_BYTES", 500)
    monkeypatch.setattr(launches, "LONG_BATCH", 64)
    unreached: list[int] = []
    note = phase_steps.PhaseSteps._note

    def noted(self: Any, work: Any, seen: Any, **options: Any) -> None:
        unreached.append(seen.long_parts if work.first_batch + seen.batches_taken < work.batches else 0)
        note(self, work, seen, **options)

    monkeypatch.setattr(phase_steps.PhaseSteps, "_note", noted)
    rng = np.random.default_rng(1)
    vertices = 2000
    hubs = np.stack([rng.integers(0, 3, vertices), rng.integers(3, vertices, vertices)], axis=1)
    pairs = np.concatenate([hubs, rng.integers(0, vertices, (3 * vertices, 2))])
    graph = mf.Graph.from_edges(pairs, num_vertices=vertices, self_loops="drop")
    path = "(a)--(b)--(c)--(d)"
    options: dict[str, Any] = {"device": device, "engine": "pvm"}
    tuning = {"tail": "off", "parts": "off", "tables": "off", "pvm": "sv", "pvm_writes": "two_pass"}
    counted = mf.count(graph, path, tuning=private_tuning(tuning), timeout=60, **options)
    assert max(unreached) > 0 or device == "cuda", "warps of a GPU may reach all batches"
    assert (counted, counted.complete) == (mf.count(graph, path, device="cpu"), True)


class TestRefusals:
    @pytest.mark.turns(4, "emulated")
    def test_leave_their_memory_to_the_next_search(self, device: str, graph: mf.Graph) -> None:
        """Ids of vertices fit, their labels do not: what was copied is released at once."""
        expected = mf.count(graph, SHAPES["path"], device="cpu")
        graph.forget()
        with room(device, 0):
            held = open_device(device).used_memory()
        gc.disable()
        try:
            for _ in range(3):
                with room(device, 4 * graph.num_vertices + 300) as options, pytest.raises(DeviceMemoryError):
                    mf.count(graph, SHAPES["path"], tuning=ENUMERATE, **options)
            with room(device, 34_000) as options:
                assert open_device(device).used_memory() == held
                found = mf.count(graph, SHAPES["path"], tuning=ENUMERATE, **options)
        finally:
            gc.enable()
        assert (found, found.complete) == (expected, True)

    @pytest.mark.turns(4, "emulated")
    def test_of_rows_that_were_listed_hold_nothing(self, device: str, graph: mf.Graph) -> None:
        graph.forget()
        with room(device, 34_000) as options:
            before = open_device(device).used_memory()
            matches = mf.match(graph, SHAPES["path"], **options)
            matches.to_numpy()
            graph.forget()
            open_device(device)._account.reclaim(1 << 40)  # type: ignore[attr-defined]
            open_device(device).settle()
            assert open_device(device).used_memory() <= before
        assert matches.complete

    @pytest.mark.turns(4, "emulated")
    def test_of_frontiers_of_the_first_size_are_remembered(
        self, device: str, graph: mf.Graph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The next search begins with larger ones, whether or not they were kept."""
        monkeypatch.setattr(set_up, "FIRST_BYTES", 1024)
        made: list[int] = []
        whole = set_up._whole

        def counted(*args: Any, grows: bool) -> Any:
            made.append(grows)
            return whole(*args, grows=grows)

        monkeypatch.setattr(set_up, "_whole", counted)
        graph.forget()
        expected = mf.count(graph, SHAPES["forks"], device="cpu")
        options: dict[str, Any] = {"device": device, "engine": "pvm", "tuning": ENUMERATE}
        for seen in ([False, True], [False, True]):  # then the grown job was kept
            assert mf.count(graph, SHAPES["forks"], **options) == expected
            assert made == seen
        open_device(device)._account.reclaim(1 << 40)  # type: ignore[attr-defined]
        assert mf.count(graph, SHAPES["forks"], **options) == expected
        assert made == [False, True, True]
