"""Tables of local counts on a device: every way that its kernels go, and what becomes of numbers too wide."""

from __future__ import annotations

import time
from math import comb, factorial
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.codegen import local_counts_layout
from motiflux.codegen.local_counts_kernels import LocalCountKernel
from motiflux.codegen.local_counts_layout import Ends
from motiflux.config import private_tuning
from motiflux.gpu import engine as gpu_engine
from motiflux.gpu.kernels import table_run
from motiflux.gpu.kernels.table_run import Shape, TableRun
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.gpu.runtime.launches import Result
from motiflux.gpu.storage import wedge_roots
from motiflux.gpu.storage.device_csr import resident
from motiflux.gpu.storage.wedge_roots import DeviceRoots
from tests.backend.cases import clique, cycle
from tests.rotating import few_emulated

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")

ON, OFF = {"tables": "on"}, {"tables": "off"}
PATTERNS = {
    "diamond": "(a)--(b)--(c)--(a), (b)--(d)--(c)",
    "tailed triangle": "(a)--(b)--(c)--(a), (a)--(d)",
    "4-cycle": "(a)--(b)--(c)--(d)--(a)",
    "house": "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
    "K2,4": "(a)--(w)--(b), (a)--(x)--(b), (a)--(y)--(b), (a)--(z)--(b)",
    "5-cycle": "(a)--(b)--(c)--(d)--(e)--(a)",
    "theta": "(a)--(x)--(b), (a)--(y)--(b), (a)--(p)--(q)--(b)",
}
RING = mf.Pattern.from_edges(cycle(7))
SHAPES = [
    Shape(threads=32, words=64, slots=32),
    Shape(threads=64, words=128, slots=32),
    Shape(threads=96, words=4000, slots=256),
]
ENDS = ("lesser", "greater")


def skewed(vertices: int, edges: int, seed: int, **more: Any) -> mf.Graph:
    """Return a random graph with a few hubs."""
    rng = np.random.default_rng(seed)
    weights = rng.random(vertices) ** 3
    pairs = rng.choice(vertices, (edges, 2), p=weights / weights.sum())
    return mf.Graph.from_edges(pairs[pairs[:, 0] != pairs[:, 1]], num_vertices=vertices, **more)


@pytest.fixture
def no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have whatever leaves the device for the host fail."""

    def refuse(*_: object) -> None:
        raise AssertionError("counted on the host")

    monkeypatch.setattr(gpu_engine, "count_from_tables", refuse)


@pytest.mark.turns(8, "emulated")
@pytest.mark.usefixtures("no_way_out")
@pytest.mark.parametrize(
    ("name", "way"),
    few_emulated(
        3,
        {name: name for name in PATTERNS},
        {f"{shape.words} words, {ends}": (shape, ends) for shape in SHAPES for ends in ENDS},
    ),
)
def test_hubs_and_light_roots_count_alike_in_little_shared_memory(
    name: str, way: tuple[Shape, str], device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, ends = way
    monkeypatch.setattr(table_run, "shape_of", lambda *_: shape)
    monkeypatch.setattr(wedge_roots, "_LEAST_PIECE", 8)
    graph = skewed(220, 900, seed=len(name))
    tuning = private_tuning({**ON, "wedge_ends": ends})
    found = mf.count(graph, PATTERNS[name], tuning=tuning, device=device)
    assert (found, found.complete) == (mf.count(graph, PATTERNS[name], tuning=OFF), True)


@pytest.mark.turns(8, "emulated")
@pytest.mark.usefixtures("no_way_out")
def test_walks_count_on_the_device_up_to_the_most_registers(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    registers: list[int] = []
    launch = TableRun.launch_blocks

    def noted(self: TableRun, kernel: LocalCountKernel, args: Any, *more: Any) -> None:
        if kernel is LocalCountKernel.WALKS:
            registers.append(args.registers)
        launch(self, kernel, args, *more)

    monkeypatch.setattr(TableRun, "launch_blocks", noted)
    expected = mf.count(skewed(24, 60, seed=3), PATTERNS["5-cycle"], tuning=OFF)
    assert mf.count(skewed(24, 60, seed=3), PATTERNS["5-cycle"], tuning=ON, device=device) == expected
    monkeypatch.setattr(local_counts_layout, "MOST_REGISTERS", max(registers))
    assert mf.count(skewed(24, 60, seed=3), PATTERNS["5-cycle"], tuning=ON, device=device) == expected
    monkeypatch.setattr(local_counts_layout, "MOST_REGISTERS", max(registers) - 1)
    with pytest.raises(AssertionError, match="counted on the host"):
        mf.count(skewed(24, 60, seed=3), PATTERNS["5-cycle"], tuning=ON, device=device)


@pytest.mark.turns(8, "emulated")
@pytest.mark.usefixtures("no_way_out")
def test_rows_as_bits_lie_in_device_memory_where_there_is_little_shared(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_run, "shape_of", lambda *_: SHAPES[0])
    monkeypatch.setattr(wedge_roots, "_LEAST_PIECE", 8)
    edges = [*clique(40), *((0, leaf) for leaf in range(40, 2500))]
    graph = mf.Graph.from_edges(edges)
    inside, tails = factorial(40) // factorial(36), 39 * 38 * 2460
    assert mf.count(graph, PATTERNS["tailed triangle"], tuning=ON, device=device) == inside + tails


@pytest.mark.turns(4, "emulated")
@pytest.mark.usefixtures("no_way_out")
@pytest.mark.parametrize(
    "pattern",
    [
        "(a)-->(x)-->(b), (a)-->(y)-->(b)",
        "(a)-->(x)-->(b), (a)-->(y)<--(b), (a)-->(z)-->(b)",
        "(a:0)-->(x)-->(b:1), (a)-->(y:0)-->(b)",
        "(a)-->(b)-->(c)-->(a), (a)-->(d)",
    ],
)
def test_directed_wedges_of_several_kinds(pattern: str, device: str) -> None:
    labels = np.random.default_rng(3).integers(0, 2, 120)
    graph = skewed(120, 700, seed=5, directed=True, vertex_labels=labels)
    found = mf.count(graph, pattern, tuning=ON, device=device)
    assert found == mf.count(graph, pattern, tuning=OFF)


@pytest.mark.long("emulated")
@pytest.mark.usefixtures("no_way_out")
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("middles", [65_535, 65_536])
def test_counters_of_half_a_word_hold_what_they_must(middles: int, ends: str, device: str) -> None:
    edges = [(hub, 2 + middle) for hub in (0, 1) for middle in range(middles)]
    graph = mf.Graph.from_edges(edges)
    tuning = private_tuning({**ON, "wedge_ends": ends})
    found = mf.count(graph, PATTERNS["4-cycle"], tuning=tuning, device=device)
    assert found == 8 * comb(middles, 2)


@pytest.mark.long("emulated")
@pytest.mark.usefixtures("no_way_out")
@pytest.mark.parametrize("ends", ENDS)
def test_a_root_of_many_middles_has_whole_words_among_roots_that_share_words(
    ends: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_run, "shape_of", lambda *_: SHAPES[1])
    middles, few = 66_000, 40
    hubs = [(hub, 2 + few + middle) for hub in (0, 1) for middle in range(middles)]
    graph = mf.Graph.from_edges([*hubs, *((1 + one, 2 + other) for one, other in clique(few))])
    assert np.diff(graph.forward.offsets).max() > 1 << 16
    tuning = private_tuning({**ON, "wedge_ends": ends})
    found = mf.count(graph, PATTERNS["4-cycle"], tuning=tuning, device=device)
    assert found == mf.count(graph, PATTERNS["4-cycle"], tuning=ON, device="cpu")


@pytest.mark.turns(8, "emulated")
@pytest.mark.usefixtures("no_way_out")
@pytest.mark.parametrize(("middles", "ends"), [(2, Ends.GREATEST), (3, Ends.GREATER)])
def test_greater_ends_have_counters_where_shared_memory_is_less_than_counters(
    middles: int, ends: Ends, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Ends] = []
    order = TableRun.order_of

    def noted(self: TableRun, first: Any, second: Any, ends: Ends, **more: Any) -> Any:
        taken.append(ends)
        return order(self, first, second, ends, **more)

    monkeypatch.setattr(TableRun, "order_of", noted)
    most = 1 << 14
    monkeypatch.setattr(open_accelerator(device).device, "shared_per_block", most)
    pattern = ", ".join(f"(a)--({middle})--(b)" for middle in "uvw"[:middles])
    for vertices, expected in ((2 * most, False), (2 * most + 1, True)):  # counters of 2 bytes
        graph = mf.Graph.from_edges([(0, 2), (0, 3), (1, 2), (1, 3), (1, 4), (0, 4)], num_vertices=vertices)
        taken.clear()
        found = mf.count(graph, pattern, tuning=ON, device=device)
        assert found == mf.count(graph, pattern, tuning=OFF)
        assert (taken == [ends]) == expected, taken


@pytest.mark.turns(8, "emulated")
def test_numbers_beyond_64_bits_are_counted_on_the_host(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    exact = gpu_engine.count_from_tables

    def told(*args: Any) -> Any:
        asked.append(args)
        return exact(*args)

    monkeypatch.setattr(gpu_engine, "count_from_tables", told)
    leaves = 2000
    graph = mf.Graph.from_edges([(0, leaf) for leaf in range(1, leaves + 1)])
    star = ", ".join(f"(a)--({leaf})" for leaf in "bcdefgh")
    assert mf.count(graph, star, tuning=ON, device=device) == factorial(7) * comb(leaves, 7)
    assert len(asked) == 1


@pytest.mark.turns(8, "emulated")
def test_numbers_too_wide_for_the_host_as_well_give_way_to_the_search(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refuse(*args: Any) -> None:
        asked.append(args)
        raise OverflowError

    def too_wide(*_: object) -> Result:
        return Result(0, overflow=True)

    monkeypatch.setattr(gpu_engine, "count_from_tables", refuse)
    monkeypatch.setattr(table_run.TableReader, "result", too_wide)
    graph = mf.Graph.from_edges(clique(15))
    found = mf.count(graph, PATTERNS["house"], tuning=ON, device=device)
    assert (found, found.complete) == (factorial(15) // factorial(10), True)
    assert len(asked) == 1


@pytest.mark.turns(8, "emulated")
def test_tables_that_do_not_fit_give_way_to_the_search(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = mf.Graph.from_edges(clique(30))
    expected = factorial(30) // factorial(25)
    house = PATTERNS["house"]
    assert mf.count(graph, house, tuning=ON, device=device) == expected
    begun = []
    begin = table_run.TableRun._allocate

    def counted(run: Any, nbytes: int, what: str) -> Any:
        begun.append(what)
        if len(begun) > 1:
            raise mf.errors.DeviceMemoryError(what, nbytes, 0, "for the test")
        return begin(run, nbytes, what)

    monkeypatch.setattr(table_run.TableRun, "_allocate", counted)
    found = mf.count(graph, house, tuning=private_tuning({**ON, "rest": "off"}), device=device)
    assert (found, found.complete) == (expected, True)
    assert len(begun) > 1


@pytest.mark.turns(8, "emulated")
def test_time_that_is_up_stops_kernels(device: str) -> None:
    graph = mf.Graph.from_edges(clique(300 if device == "emulated" else 3000))
    late = mf.count(graph, RING, tuning=ON, device=device, timeout=0.3)
    assert (late, late.complete) == (0, False)


@pytest.mark.turns(8, "emulated")
def test_a_callback_that_raises_stops_kernels(device: str) -> None:
    graph = mf.Graph.from_edges(clique(300 if device == "emulated" else 3000))

    def stop(report: mf.ProgressReport) -> None:
        raise KeyboardInterrupt

    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        mf.count(graph, RING, tuning=ON, device=device, progress=stop)
    assert time.perf_counter() - begin < 60


def test_explain_predicts_the_time_and_the_memory_of_tables(device: str) -> None:
    graph = mf.Graph.from_edges(clique(60))
    told = mf.explain(graph, PATTERNS["house"], tuning=ON, device=device).report.predicted
    assert told is not None
    assert told.seconds is not None
    assert told.memory.device is not None
    assert told.memory.device >= 2 * 8 * 2 * graph.num_edges  # two numbers for each arc


def test_orders_of_roots_are_given_up_when_memory_is_short(device: str) -> None:
    graph = mf.Graph.from_edges(clique(20))
    expected = factorial(20) // factorial(16)
    copies = resident(graph, open_accelerator(device).device)
    assert mf.count(graph, PATTERNS["4-cycle"], tuning=ON, device=device) == expected
    assert copies.holds(DeviceRoots)
    assert copies.reclaim(1 << 40) > 0
    assert copies.reclaim(1 << 40) == 0
    assert not copies.holds(DeviceRoots)
    assert mf.count(graph, PATTERNS["4-cycle"], tuning=ON, device=device) == expected
