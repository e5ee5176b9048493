"""Pooled partial matches: levels that plans pool, counts of monitors that pool, stops and full tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.codegen.changing import UTILISATION
from motiflux.config import private_tuning
from motiflux.device import devices_like, open_device
from motiflux.device.base import NotPinnedError
from motiflux.errors import CountOverflowError, DeviceMemoryError, MotifluxError
from motiflux.gpu.changing import manner
from motiflux.gpu.changing.manner import Measured
from motiflux.gpu.changing.memory import Room
from motiflux.gpu.changing.pooled_plans import chain_of
from motiflux.gpu.changing.searches import pools as pooling
from motiflux.gpu.changing.searches.pools import Pools
from motiflux.gpu.changing.searches.set_up import SearchSetUp
from motiflux.stream.matching import pool_orders
from tests.property.test_monitor_engines import compare, told
from tests.simt.image import chances_by
from tests.update_streams import Stream

pytestmark = pytest.mark.devices("emulated", "cuda", reason="pools lie on a device")

FREE = (0, 0, 0)
"""No restrictions: after, before, distinct."""


def step(*levels: int, reuse: int = -1, rules: tuple[int, int, int] = FREE) -> tuple[Any, ...]:
    return [(level, 2, 0, False) for level in levels], reuse, max(levels, default=0), *rules, -1


PAIR = [step(), step(0)]
SIX = [*PAIR, step(1), step(2), step(3), step(0, 4)]
"""The cycle of six, from neighbour to neighbour."""


def pooled(steps: list[Any], tail: tuple[int, Any] | None = None) -> list[tuple[int, int]]:
    return [(plan.level, plan.by) for plan in chain_of(steps, tail or (len(steps), []))]


def test_a_cycle_is_pooled_at_each_vertex_that_several_paths_lead_to() -> None:
    assert pooled(SIX) == [(4, 3), (4, 3), (0, 0)]


def test_a_plan_that_goes_on_reads_the_pair_the_vertex_of_the_entry_and_later_levels() -> None:
    last = chain_of(SIX, (6, []))[-1]
    assert [[level for level, *_ in one.sources] for one in last.steps[2:]] == [[], [0, 2]]
    assert last.steps[3].anchor == 2


@pytest.mark.parametrize("rules", [(4, 0, 0), (0, 4, 0), (0, 0, 4)], ids=["after", "before", "distinct"])
def test_levels_that_a_later_one_is_compared_with_are_told_apart(rules: tuple[int, int, int]) -> None:
    assert pooled([*SIX[:5], step(0, 4, rules=rules)]) == [(0, 0)]


def test_a_set_of_an_earlier_level_that_is_used_again_is_not_left_behind() -> None:
    assert pooled([*PAIR, step(1), step(2), step(3), step(4, reuse=2)]) == [(0, 0)]


def test_two_ends_that_meet_are_told_apart_by_both() -> None:
    assert pooled([*PAIR, step(0), step(1), step(2), step(3, 4)]) == [(0, 0)]


def test_parts_that_only_the_pair_joins_are_counted_once_each() -> None:
    assert pooled([*PAIR, step(0, 1), step(0, 1), step(1, 3)])[0] == (3, 0)


def test_rows_whose_sizes_are_looked_up_are_not_pooled_before() -> None:
    assert pooled([*PAIR, step(1), step(2), step(3)]) == [(0, 0)]
    assert pooled([*PAIR, step(1), step(2), step(3), step(3)], (4, [([4], 1, []), ([5], 1, [])])) == [(0, 0)]
    assert pooled([*PAIR, step(1), step(2), step(0, 3), step(3)], (4, [([4], 1, []), ([5], 1, [])]))[0] == (
        4,
        3,
    )


@dataclass(frozen=True)
class Walks(Stream):
    """Streams whose patterns are cycles, some with a tail or a chord, whose labels repeat or not."""

    @cached_property
    def patterns(self) -> list[mf.Pattern]:
        found: dict[mf.Pattern, None] = {}
        for size in self.sizes:
            edges = [*pairwise(range(size)), (0, size - 1)]
            kind = int(self.random.integers(4))
            if kind == 1:
                edges.append((1, size))
            elif kind == 2:
                edges.append((0, 2))
            elif kind == 3:
                edges = [*edges[:-1], (0, 2)]
            labels = [vertex % self.vertex_kinds for vertex in range(size + (kind == 1))]
            found[mf.Pattern.from_edges(edges, vertex_labels=labels)] = None
        return list(found)


@st.composite
def walks(draw: st.DrawFn) -> Walks:
    semantics = draw(st.sampled_from(("isomorphism", "isomorphism", "homomorphism")))
    symmetries = ("embeddings",) if semantics == "homomorphism" else ("embeddings", "subgraphs")
    return Walks(
        seed=draw(st.integers(0, 1 << 30)),
        vertices=draw(st.integers(6, 18)),
        directed=draw(st.booleans()),
        vertex_kinds=draw(st.integers(1, 6)),
        edge_kinds=draw(st.integers(1, 2)),
        sizes=tuple(draw(st.lists(st.integers(4, 6), min_size=1, max_size=3))),
        updates=draw(st.sampled_from((3, 40, 120))),
        symmetry=draw(st.sampled_from(symmetries)),
        semantics=semantics,
        duplicates=draw(st.sampled_from(("count", "ignore"))),
    )


@contextmanager
def few_places(places: int | None) -> Iterator[None]:
    """Have pools of so few places, and searches from one root or more at a time."""
    with pytest.MonkeyPatch.context() as patch:
        if places is not None:
            patch.setattr(pooling, "_LEAST_PLACES", places)
            patch.setattr(pooling, "_MOST_PLACES", places)
        yield


@contextmanager
def few_roots(device: str, roots: int) -> Iterator[None]:
    """Have groups of a block share work in searches of fewer roots, by default."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manner, "_FEW_ROOTS", roots / open_device(device).multiprocessors)
        yield


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("container", ["slack", "gpma"])
@settings(deadline=None)
@given(
    stream=walks(),
    mode=st.sampled_from(("sequence", "batch")),
    size=st.sampled_from((1, 7, 120)),
    stealing=st.sampled_from(("auto", "none", "passive", "active")),
    handover=st.sampled_from(("on", "on", "off")),
    places=st.sampled_from((None, None, 1, 64)),
    engine=st.sampled_from(("changing", "batch")),
    listed=st.sampled_from((False, False, False, True)),
    data=st.data(),
)
def test_pooled_searches_give_the_matches_of_the_cpu(
    device: str,
    container: str,
    stream: Walks,
    mode: str,
    size: int,
    stealing: str,
    handover: str,
    places: int | None,
    engine: str,
    *,
    listed: bool,
    data: Any,
) -> None:
    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    switches = {"pooling": "on", "container": container, "stealing": stealing, "handover": handover}
    options["tuning"] = private_tuning(switches)
    with few_places(places), few_roots(device, 5):
        placement = {"device": device, "engine": engine}
        compare(stream, {**options, "matches": listed}, placement, size, data)


def layered(layers: int, size: int) -> tuple[mf.Graph, str]:
    """Return layers of vertices, each joined with all of the next one, and the cycle through all of them."""
    labels = np.repeat(np.arange(layers), size)
    src, dst = [], []
    for layer in range(layers):
        for one in range(size):
            for other in range(size):
                src.append(layer * size + one)
                dst.append((layer + 1) % layers * size + other)
    gone = (src[0], dst[0])
    graph = mf.Graph.from_edges(
        ([u for u, v in zip(src, dst, strict=True) if (u, v) != gone],
         [v for u, v in zip(src, dst, strict=True) if (u, v) != gone]),
        num_vertices=layers * size,
        vertex_labels=labels,
    )  # fmt: skip
    names = "--".join(f"(v{layer}:{layer})" for layer in range(layers))
    return graph, f"{names}--(v0)"


@contextmanager
def all_are_pooled(device: str) -> Iterator[None]:
    """Have the emulator refuse nothing: else partial matches are completed one by one."""
    with chances_by(0):
        yield


@pytest.mark.turns(4, "emulated")
def test_paths_beyond_64_bits_are_counted(device: str) -> None:
    graph, cycle = layered(16, 24)
    with all_are_pooled(device):
        monitor = mf.Monitor(graph, cycle, device=device, tuning={"pooling": "on"})
        assert monitor.apply([("+", 0, 24)])[0].positive == 24**14


@pytest.mark.turns(4, "emulated")
def test_counts_beyond_128_bits_are_refused(device: str) -> None:
    graph, cycle = layered(32, 24)
    with all_are_pooled(device):
        monitor = mf.Monitor(graph, cycle, device=device, tuning={"pooling": "on"})
        with pytest.raises((MotifluxError, OverflowError), match="2\\^128"):
            monitor.apply([("+", 0, 24)])
        assert monitor.num_edges == graph.num_edges


def sizes_of(total: int, layers: int, most: int) -> list[int]:
    """Return sizes of layers, up to `most` each, whose product is a large number of at most `total`."""
    best: tuple[int, list[int]] = (1, [])
    for size in range(2, most + 1):
        for repeats in range(layers - 1):
            found, left = [size] * repeats, total // size**repeats
            while left > 1 and len(found) < layers:
                found.append(min(most, left))
                left //= found[-1]
            if 1 < math.prod(found) <= total:
                best = max(best, (math.prod(found), found))
    return best[1] + [1] * (layers - len(best[1]))


def paths_of(totals: list[int], layers: int, most: int) -> tuple[mf.Graph, str]:
    """Return a graph with the sum as cycles through the edge that joins vertices 0 and 1, and the cycle."""
    labels, edges, left = [0, 1], [], list(totals)
    while left:
        sizes, before = sizes_of(left[0], layers - 2, most), [1]
        left[0] -= math.prod(sizes)
        left = left[left[0] == 0 :]
        for layer, size in enumerate(sizes, 2):
            now = range(len(labels), len(labels) + size)
            edges += [(one, other) for one in before for other in now]
            labels += [layer] * size
            before = list(now)
        edges += [(one, 0) for one in before]
    graph = mf.Graph.from_edges(np.array(edges), num_vertices=len(labels), vertex_labels=labels)
    return graph, "--".join(f"(v{layer}:{layer})" for layer in range(layers)) + "--(v0)"


@pytest.mark.turns(4, "emulated")
def test_numbers_are_counted_up_to_128_bits(device: str) -> None:
    """The last numbers that are added are small."""
    graph, cycle = paths_of([2**128 - 1], 32, 24)
    with all_are_pooled(device):
        monitor = mf.Monitor(graph, cycle, device=device, tuning={"pooling": "on"})
        assert monitor.apply([("+", 0, 1)])[0].positive == 2**128 - 1
    graph, cycle = paths_of([2**128 - 1, 1], 32, 24)
    with all_are_pooled(device):
        monitor = mf.Monitor(graph, cycle, device=device, tuning={"pooling": "on"})
        with pytest.raises(CountOverflowError):
            monitor.apply([("+", 0, 1)])


def hub() -> tuple[mf.Graph, str, list[list[tuple[str, int, int]]]]:
    """Return a graph, a pattern, and calls whose searches come to the same vertices by many paths."""
    random = np.random.default_rng(7)
    ends = np.sort(random.integers(0, 60, (700, 2)), axis=1)
    ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    random.shuffle(ends)
    graph = mf.Graph.from_edges(ends[60:], num_vertices=60, vertex_labels=np.arange(60) % 6)
    calls = [[("+", int(u), int(v)) for u, v in some] for some in np.split(ends[:60], 3)]
    calls.append([("-", u, v) for _, u, v in calls[0]])
    return graph, "(a:0)--(b:1)--(c:2)--(d:3)--(e:4)--(f:5)--(a)", calls


def monitors(device: str, **options: Any) -> tuple[mf.Monitor, mf.Monitor, list[Any], Any]:
    graph, cycle, calls = hub()
    here = mf.Monitor(graph, cycle, device="cpu", mode="batch")
    there = mf.Monitor(graph, cycle, device=device, mode="batch", tuning={"pooling": "on"}, **options)
    there.apply([])
    return here, there, calls, there._engine


def same(one: mf.Delta, other: mf.Delta) -> bool:
    return list(map(told, one)) == list(map(told, other)) and [
        (part.positive, part.negative) for part in one
    ] == [(part.positive, part.negative) for part in other]


@pytest.mark.turns(4, "emulated")
def test_partial_matches_are_pooled(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    entries = Pools.entries

    def noted(pools: Pools, stream: Any, stage: int) -> int:
        found.append(entries(pools, stream, stage))
        return found[-1]

    monkeypatch.setattr(Pools, "entries", noted)
    here, there, calls, engine = monitors(device)
    for updates in calls:
        assert same(here.apply(updates), there.apply(updates))
    assert len(found) == 2 * len(calls)
    assert min(found) > 0
    assert engine.search.pools.nbytes > 0


@pytest.mark.turns(4, "emulated")
def test_a_call_that_is_stopped_between_stages_leaves_the_graph(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there, calls, _ = monitors(device)
    entries = Pools.entries

    def stops(pools: Pools, stream: Any, stage: int) -> int:
        if stage == 1:
            raise KeyboardInterrupt
        return entries(pools, stream, stage)

    assert same(here.apply(calls[0]), there.apply(calls[0]))
    with monkeypatch.context() as patch:
        patch.setattr(Pools, "entries", stops)
        with pytest.raises(KeyboardInterrupt):
            there.apply(calls[1])
    for updates in calls[1:]:
        assert same(here.apply(updates), there.apply(updates))


@pytest.mark.turns(4, "emulated")
def test_a_device_without_memory_for_pools_searches_without(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there, calls, engine = monitors(device)
    new: Callable[..., Any] = Room._new

    def refuses(room: Room, nbytes: int, **more: Any) -> Any:
        if room._what == "partial matches that are pooled":
            raise DeviceMemoryError("a test", 2, 1, "wait")
        return new(room, nbytes, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Room, "_new", refuses)
        assert same(here.apply(calls[0]), there.apply(calls[0]))
    assert engine.search.pools.nbytes == 0
    for updates in calls[1:]:
        assert same(here.apply(updates), there.apply(updates))
    assert engine.search.pools.nbytes > 0


@pytest.mark.turns(4, "emulated")
def test_fewer_roots_are_searched_at_a_time_when_pools_are_full(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pooling, "_LEAST_PLACES", 64)
    monkeypatch.setattr(pooling, "_MOST_PLACES", 64)
    monkeypatch.setattr(pooling, "_PLACES_OF_ROOT", 8)
    here, there, calls, engine = monitors(device)
    assert same(
        here.apply([one for some in calls[:3] for one in some]),
        there.apply([one for some in calls[:3] for one in some]),
    )
    assert engine.search.pools.roots < 8
    assert same(here.apply(calls[3]), there.apply(calls[3]))


@pytest.mark.turns(4, "emulated")
def test_the_next_call_begins_with_as_many_roots_as_pools_sufficed_for(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pooling, "_LEAST_PLACES", 256)
    monkeypatch.setattr(pooling, "_MOST_PLACES", 256)
    pieces: list[list[int]] = []
    sufficed_for: list[int] = []
    adapt = Pools.adapt

    def noted(pools: Pools, searched: int) -> None:
        pieces[-1].append(searched)
        adapt(pools, searched)
        sufficed_for.append(pools.roots)

    monkeypatch.setattr(Pools, "adapt", noted)
    here, there, calls, _ = monitors(device)
    for updates in calls:
        pieces.append([])
        number = sufficed_for[-1] if sufficed_for else None
        assert same(here.apply(updates), there.apply(updates))
        if number is not None:
            assert pieces[-1][0] == min(sum(pieces[-1]), number)
    assert any(len(some) > 1 for some in pieces)
    if device == "emulated":  # on an H100 these pools are never so empty that the number grows
        assert len(set(sufficed_for)) > 1


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("taken", [False, True])
def test_pools_are_emptied_for_the_next_call(
    device: str, monkeypatch: pytest.MonkeyPatch, *, taken: bool
) -> None:
    emptied: list[int] = []
    empty = Pools._empty

    def noted(pools: Pools, stream: Any, number: int) -> None:
        emptied.append(number)
        empty(pools, stream, number)

    monkeypatch.setattr(Pools, "_empty", noted)
    here, there, calls, engine = monitors(device)
    on = open_device(device)
    for number, updates in enumerate(calls):
        emptied.clear()
        assert same(here.apply(updates), there.apply(updates))
        before = 2 if number == 0 or taken else 0  # in the call itself
        assert emptied == [0, 1] * (1 + before // 2)
        if taken:
            with pytest.raises(DeviceMemoryError):
                on.allocate(1 << 40, "a test", budget=on.used_memory() + 16)
            assert engine.search.pools.nbytes == 0


@pytest.mark.turns(4, "emulated")
def test_without_pinned_memory_numbers_of_entries_are_waited_for(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there, calls, engine = monitors(device)
    of = type(engine.search.pools._device)
    allocate = of.allocate_host

    def refuses(self: Any, nbytes: int, what: str, **more: Any) -> Any:
        if what == "numbers of partial matches":
            raise NotPinnedError("a test")
        return allocate(self, nbytes, what, **more)

    monkeypatch.setattr(of, "allocate_host", refuses)
    for updates in calls:
        assert same(here.apply(updates), there.apply(updates))
    assert engine.search.pools.nbytes > 0


@pytest.mark.turns(4, "emulated")
def test_stages_of_few_roots_share_work_within_blocks(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, cycle, calls = hub()
    few = 20
    units: list[tuple[int, Any]] = []
    launch = SearchSetUp.launch

    def noted(set_up: SearchSetUp, job: Any, **more: Any) -> None:
        units.append((int(job.launches.task.arcs), job.launches.kernel))
        launch(set_up, job, **more)

    monkeypatch.setattr(SearchSetUp, "launch", noted)
    here = mf.Monitor(graph, cycle, mode="batch")
    tuning = private_tuning({"pooling": "on", "handover": "off", "measure": "utilisation"})
    with (
        few_roots(device, few),
        mf.Monitor(graph, cycle, device=device, engine="batch", mode="batch", tuning=tuning) as there,
    ):
        for updates in calls:
            assert same(here.apply(updates), there.apply(updates))
    of_few = {kernel for arcs, kernel in units if arcs < few}
    of_many = {kernel for arcs, kernel in units if arcs >= few}
    assert len(of_few) == len(of_many) == 1
    assert of_few != of_many


def test_automatically_partial_matches_are_pooled_if_many_are_expected(device: str) -> None:
    _, _, _, engine = monitors(device)
    pools: Pools = engine.search.pools
    assert pools.are_wanted(3, 3, 1.0)
    pools.switch = "auto"
    assert not pools.are_wanted(3, 3, 20.0)
    assert pools.are_wanted(3, 3, 40.0)
    assert not pools.are_wanted(1, 0, 1000.0)
    pools.switch = "off"
    assert not pools.are_wanted(3, 3, 40.0)


def test_plans_that_go_on_from_pools_take_memory_only_where_pools_are_used(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, cycle, calls = hub()
    here = mf.Monitor(graph, cycle, mode="batch")
    of: dict[str, mf.Monitor] = {}
    for pooling_switch in ("off", "auto", "on"):
        of[pooling_switch] = mf.Monitor(
            graph, cycle, device=device, mode="batch", tuning={"pooling": pooling_switch}
        )
        of[pooling_switch].apply([])
    engines: dict[str, Any] = {switch: monitor._engine for switch, monitor in of.items()}
    plans = {switch: engine._plans.nbytes for switch, engine in engines.items()}
    assert plans["off"] == plans["auto"] < plans["on"]
    there, found = of["auto"], here.apply(calls[0])
    assert same(found, there.apply(calls[0]))
    engine = engines["auto"]
    assert engine._plans.nbytes == plans["off"]
    with monkeypatch.context() as patch:
        patch.setattr(pooling, "_LEAST_PATHS", 1)  # as if rows had become long
        assert same(here.apply(calls[1]), there.apply(calls[1]))
        assert engine._plans.nbytes >= plans["on"]
        engine._accelerator.compiler.settle()
        assert same(here.apply(calls[2]), there.apply(calls[2]))
    assert same(here.apply(calls[3]), there.apply(calls[3]))


def test_monitors_tell_which_patterns_are_pooled(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, cycle, calls = hub()
    star = "(a:0)--(b:1), (a)--(c:2), (a)--(d:3)"

    def told(patterns: list[str], **tuning: str) -> str:
        with mf.Monitor(graph, patterns, device=device, mode="batch", tuning=tuning) as monitor:
            if len(patterns) > 1:
                monitor.drop(0)  # the numbers of the others in the engine are not their positions then
            before = monitor.explain().splitlines()[-1]
            assert tuning.get("pooling") == "off" or before.endswith("decided by the next call")
            monitor.apply(calls[0])
            return monitor.explain().splitlines()[-1]

    assert told([star, star + "--(e:4)", cycle], pooling="on") == (
        "partial matches that the same searches complete are pooled, in up to 3 launches: pattern 1"
    )
    assert told([star], pooling="on") == (
        "no partial matches are pooled: no pattern has any that the same searches complete"
    )
    assert told([cycle]) == (
        "no partial matches are pooled: few are expected to be completed by the same searches"
    )
    assert told([cycle], pooling="off") == "no partial matches are pooled"
    monkeypatch.setattr(pooling, "_LEAST_PATHS", 1)
    assert told([star, cycle, cycle.replace("(f:5)", "(f:4)")]).endswith("launches: patterns 0, 1")


def test_each_of_several_devices_pools_the_partial_matches_of_its_share(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    found: dict[Pools, list[int]] = {}
    entries = Pools.entries

    def noted(pools: Pools, stream: Any, stage: int) -> int:
        found.setdefault(pools, []).append(entries(pools, stream, stage))
        return found[pools][-1]

    monkeypatch.setattr(Pools, "entries", noted)
    here, there, calls, engine = monitors(device, devices=2)
    for updates in calls:
        assert same(here.apply(updates), there.apply(updates))
    assert set(found) == {one.search.pools for one in engine._engines}
    assert all(sum(some) > 0 for some in found.values())
    told = there.explain().splitlines()
    assert len([line for line in told if line.startswith("partial matches that")]) == 2


def test_orders_for_pools_are_chosen_once_a_graph_that_began_empty_has_long_rows(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_orders, "_LONG_ROW", 0.3)
    monkeypatch.setattr(pool_orders, "_LEAST_EDGES", 40)
    _, cycle, calls = hub()
    empty = mf.Graph.from_edges([], num_vertices=60, vertex_labels=np.arange(60) % 6)
    ends = np.random.default_rng(3).integers(0, 60, (200, 2))
    edges = ends[ends[:, 0] != ends[:, 1]].tolist()
    here = mf.Monitor(empty, cycle, mode="batch")
    there = mf.Monitor(empty, cycle, device=device, mode="batch")
    versions, orders = [], []
    for updates in ([("+", u, v) for u, v in edges[:50]], [("+", u, v) for u, v in edges[50:]], *calls):
        assert same(here.apply(updates), there.apply(updates))
        versions.append(there._native.plans_version)
        orders.append([plan.order for one in there._watched.values() for plan in one.plans])
    assert versions == [versions[0], versions[0], *[versions[2]] * (len(calls))]
    assert versions[0] < versions[2]
    assert orders[0] != orders[-1]
    neighbors = {frozenset((one, (one + 1) % 6)) for one in range(6)}
    for order in orders[-1]:  # from neighbour to neighbour
        assert all(frozenset(pair) in neighbors for pair in pairwise(order[2:]))


@pytest.mark.turns(4, "emulated")
def test_utilisation_is_that_of_all_launches_of_all_stages(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pooling, "_LEAST_PLACES", 256)
    monkeypatch.setattr(pooling, "_MOST_PLACES", 256)
    launches: list[tuple[int, int, int]] = []
    add_launch = Measured.add_launch

    def noted(measured: Measured, clocks: Any, stolen: int, given: int, stage: int = 0) -> None:
        (one,) = clocks.view(UTILISATION)
        launches.append((stage, int(one["busy"]), int(one["groups"]) * int(one["longest"])))
        add_launch(measured, clocks, stolen, given, stage)

    monkeypatch.setattr(Measured, "add_launch", noted)
    graph, cycle, calls = hub()
    tuning = private_tuning({"pooling": "on", "measure": "utilisation"})
    with mf.Monitor(graph, cycle, device=device, mode="batch", tuning=tuning) as there:
        measured = there.apply([one for some in calls[:3] for one in some]).measured
        told = there.explain().splitlines()[-1]
    assert len(launches) > 3  # several pieces, three stages each
    assert measured["busy_cycles"] == sum(busy for _, busy, _ in launches)
    assert measured["cycles"] == sum(cycles for *_, cycles in launches)
    assert measured["utilisation"] == measured["busy_cycles"] / measured["cycles"]
    for stage in range(3):
        busy = sum(busy for of, busy, _ in launches if of == stage)
        cycles = sum(cycles for of, _, cycles in launches if of == stage)
        assert measured[f"utilisation_{stage + 1}"] == busy / cycles
        assert measured[f"cycles_{stage + 1}"] == cycles
    assert "by stage" in told


def test_listed_matches_are_not_pooled(device: str) -> None:
    graph, cycle, calls = hub()
    here, there = (
        mf.Monitor(graph, cycle, device=one, matches=True, tuning={"pooling": "on"})
        for one in ("cpu", device)
    )
    assert same(here.apply(calls[0]), there.apply(calls[0]))
    engine: Any = there._engine
    assert engine.search.pools.nbytes == 0
