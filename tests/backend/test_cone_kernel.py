"""Patterns with a vertex adjacent to all others, counted in bits: the same as by the search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations
from math import comb

import numpy as np
import pytest

import motiflux as mf
from motiflux.codegen.tails import device_tail
from motiflux.config import private_tuning
from motiflux.device import devices_like
from motiflux.errors import DeviceMemoryError
from motiflux.gpu import engine as engine_module
from motiflux.gpu import strategy as strategy_module
from motiflux.gpu.kernels import cliques, universal_vertex
from motiflux.gpu.kernels.universal_vertex import bytes_of, cut_universal_vertex
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.gpu.strategy import DeviceFacts, gather, strategy
from motiflux.plan import make_plan
from motiflux.plan.neighborhood import bits as bits_module
from motiflux.plan.neighborhood.bits import Bits
from motiflux.plan.neighborhood.choices import universal_vertex_plans
from motiflux.plan.physical import Family, RootFilter
from motiflux.request.request import make_request
from tests.backend.cases import clique, cycle, path
from tests.executing import engine_on

ON = {"bitmaps": "on", "tables": "off"}
OFF = {"bitmaps": "off", "tables": "off"}
NO_CPU = pytest.mark.devices("emulated", "cuda", reason="the kernel is not the CPU's")


def members_at_most(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Leave roots with more neighbours to the search."""
    for module in (universal_vertex, bits_module, strategy_module):
        monkeypatch.setattr(module, "MOST_MEMBERS", most)


def over(rim: list[tuple[int, int]], size: int) -> mf.Pattern:
    """Return the pattern of vertex 0 over a pattern of so many vertices."""
    spokes = [(0, v + 1) for v in range(size)]
    return mf.Pattern.from_edges([*spokes, *((u + 1, v + 1) for u, v in rim)])


def without(size: int, *gone: tuple[int, int]) -> mf.Pattern:
    """Return a clique that lacks some edges."""
    return mf.Pattern.from_edges([edge for edge in combinations(range(size), 2) if edge not in gone])


PATTERNS = {
    "wheel of 4": over(cycle(4), 4),
    "wheel of 5": over(cycle(5), 5),
    "diamond": without(4, (2, 3)),
    "K5 without an edge": without(5, (3, 4)),
    "K6 without an edge": without(6, (4, 5)),
    "K6 without two edges": without(6, (2, 3), (4, 5)),
    "gem": over(path(4), 4),
    "over two triangles": over([*cycle(3), (3, 4), (4, 5), (5, 3)], 6),
}


def random_edges(seed: int, vertices: int, density: float) -> list[tuple[int, int]]:
    random = np.random.default_rng(seed)
    return [pair for pair in combinations(range(vertices), 2) if random.random() < density]


def with_hubs(seed: int) -> mf.Graph:
    """A sparse graph beside three vertices that are neighbours of nearly all."""
    random = np.random.default_rng(seed)
    spokes = [(hub, v) for hub in range(3) for v in range(hub + 1, 60) if random.random() < 0.9]
    return mf.Graph.from_edges([*random_edges(seed, 60, 0.12), *spokes])


@pytest.fixture(params=["as one", "slices", "spilled", "roots left out"])
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Ways to cut up the work."""
    if request.param == "slices":
        monkeypatch.setattr(universal_vertex, "_LEAST_SLICE", 1.0)
        monkeypatch.setattr(universal_vertex, "ROOT", 1e-3)
        monkeypatch.setattr(universal_vertex, "LOOK_UP", 1e-3)
    if request.param == "spilled":
        monkeypatch.setattr(cliques, "_SHARED_BYTES", 1200)
    if request.param == "roots left out":
        members_at_most(monkeypatch, 14)
    monkeypatch.setattr(cliques, "_SHORT_ROW", 10)
    monkeypatch.setattr(universal_vertex, "_SHORT_ROW", 10)
    return request.param


@pytest.mark.parametrize("semantics", ["isomorphism", "induced", "homomorphism"])
@pytest.mark.parametrize("name", PATTERNS)
def test_cones_are_counted_in_bits(device: str, cut: str, name: str, semantics: str) -> None:
    graph, pattern = with_hubs(5), PATTERNS[name]
    if pattern.num_vertices > 6:
        graph = mf.Graph.from_edges(random_edges(5, 22, 0.55))
    elif semantics == "homomorphism" and pattern.num_vertices > 5:
        graph = mf.Graph.from_edges(random_edges(5, 18, 0.7))
    expected = mf.count(graph, pattern, semantics=semantics, device="cpu")
    assert mf.count(graph, pattern, semantics=semantics, device=device, tuning=ON) == expected
    assert expected > 0


@pytest.mark.turns(8)
@pytest.mark.parametrize("members", [31, 32, 33, 64, 65, 180])
def test_rows_of_any_length_are_counted(device: str, members: int) -> None:
    """With sets of one word, of one for each lane, and of more: the last word full, or with one member."""
    graph = mf.Graph.from_edges(clique(members))
    options = {"symmetry": "subgraphs", "device": device, "tuning": ON}
    assert mf.count(graph, PATTERNS["wheel of 4"], **options) == comb(members, 5) * 15
    assert mf.count(graph, PATTERNS["K5 without an edge"], **options) == comb(members, 5) * 10


@pytest.mark.long
def test_rows_of_more_words_than_lanes_are_counted(device: str) -> None:
    hub = [(0, v) for v in range(1, 1300)]
    rim = [(v, v % 1299 + 1) for v in range(1, 1300)] + [(v, (v + 1) % 1299 + 1) for v in range(1, 1300)]
    graph = mf.Graph.from_edges([*hub, *rim])
    for name in ("wheel of 4", "K5 without an edge", "gem"):
        expected = mf.count(graph, PATTERNS[name], device="cpu")
        assert mf.count(graph, PATTERNS[name], device=device, tuning=ON) == expected > 0


def test_labels_and_conditions_are_kinds_of_members(device: str) -> None:
    random = np.random.default_rng(3)
    graph = mf.Graph.from_edges(
        random_edges(6, 40, 0.4),
        vertex_labels=[("a", "b", "c")[v] for v in random.integers(0, 3, 40)],
        vertex_attributes={"age": random.integers(0, 9, 40)},
    )
    spokes, rim = "(x)--(a), (x)--(b), (x)--(c), (x)--(d)", "(a)--(b), (b)--(c), (c)--(d), (d)--(a)"
    asked = [
        "(a:a)",
        "(a:a), (c:a)",
        "(x:b), (a:a|c), (b:b)",
        "(a WHERE age > 4)",
        "(x:a), (d:b WHERE age < 7)",
    ]
    for vertices in asked:
        pattern = mf.Pattern.parse(f"{vertices}, {spokes}, {rim}")
        for semantics in ("isomorphism", "induced"):
            expected = mf.count(graph, pattern, semantics=semantics, device="cpu")
            found = mf.count(graph, pattern, semantics=semantics, device=device, tuning=ON)
            assert found == expected > 0


def test_roots_cut_for_one_meaning_do_not_serve_another(device: str) -> None:
    """Under homomorphism a root needs fewer members; all else of the two counts is the same."""
    labels, edges = [], []

    def add(names: str, *joined: tuple[int, int]) -> None:
        first = len(labels)
        labels.extend(names)
        edges.extend((first + u, first + v) for u, v in joined)

    for _ in range(3000):  # the few others are not sampled, so that both plans expect the same
        add("RCEEEEEE", (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 6), (1, 7), (1, 5))
    add("RABCD", (0, 1), (0, 2), (0, 3), (0, 4), (1, 3), (3, 4), (4, 2))
    for _ in range(3):  # two query vertices meet in the A
        add("RACDE", (0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 1), (0, 4))
    first = len(labels)
    add("CD" * 9000)
    edges.extend((first + v, first + v + 1) for v in range(0, 18000, 2))
    edges.extend((first + v, first + v - 2) for v in range(2, 18000, 2))
    edges.append((0, len(labels) - 1))
    graph = mf.Graph.from_edges(edges, vertex_labels=labels)
    wheel = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 3), (3, 4), (4, 2)]
    apart = mf.Pattern.from_edges(wheel, vertex_labels=["R", "A", "B", "C", "D"])
    together = mf.Pattern.from_edges(wheel, vertex_labels=["R", "A", {"A", "B"}, "C", "D"])
    assert _cut_alike_but_for_the_least(graph, apart, together)
    tuning = {"bitmaps": "on", "tables": "off", "parts": "off"}
    assert mf.count(graph, apart, device=device, tuning=tuning) == 1
    assert mf.count(graph, together, semantics="homomorphism", device=device, tuning=tuning) == 4


def _cut_alike_but_for_the_least(graph: mf.Graph, one: mf.Pattern, other: mf.Pattern) -> bool:
    """Whether the roots of two counts differ in nothing but the neighbours that a root needs."""
    plans = make_plan(graph, one, space=True), make_plan(graph, other, semantics="homomorphism", space=True)
    cones = [
        [(c.rows.roots, c.shape, c.plan.estimates, c.least) for c in universal_vertex_plans(graph, p, 1)]
        for p in plans
    ]
    return any(a[:3] == b[:3] and a[3] != b[3] for a in cones[0] for b in cones[1])


def test_edges_of_one_label_and_either_direction_are_one_relation(device: str) -> None:
    pairs = np.random.default_rng(8).integers(0, 18, (150, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    graph = mf.Graph.from_edges(pairs, directed=True, edge_labels=np.arange(len(pairs)) % 2)
    edges = [(0, v) for v in range(1, 5)] + [(1, 2), (2, 3), (3, 4), (4, 1)]
    for labels in (None, [1] * len(edges)):
        pattern = mf.Pattern.from_edges(edges, edge_labels=labels, directed=False)
        expected = mf.count(graph, pattern, device="cpu")
        assert mf.count(graph, pattern, device=device, tuning=ON) == expected > 0


@NO_CPU
@pytest.mark.parametrize("name", ["wheel of 4", "gem", "K6 without two edges"])
def test_a_kernel_of_its_own_finds_the_same(device: str, name: str) -> None:
    graph = with_hubs(2)
    for semantics in ("isomorphism", "induced"):
        expected = mf.count(graph, PATTERNS[name], semantics=semantics, device="cpu")
        tuning = {**ON, "specialize": "on"}
        found = mf.count(graph, PATTERNS[name], semantics=semantics, device=device, tuning=tuning)
        assert found == expected > 0


@NO_CPU
@pytest.mark.parametrize("most", [4096, 14])
def test_several_devices_share_the_roots(device: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    members_at_most(monkeypatch, most)
    graph = with_hubs(3)
    for name in ("wheel of 5", "K5 without an edge"):
        expected = mf.count(graph, PATTERNS[name], device="cpu")
        assert mf.count(graph, PATTERNS[name], device=device, devices=2, tuning=ON) == expected > 0
        limited = mf.count(graph, PATTERNS[name], device=device, devices=2, tuning=ON, limit=50)
        assert (limited, limited.complete) == (50, False)


@NO_CPU
@pytest.mark.parametrize("most", [4096, 14, 3])
def test_limits_hold_exactly(device: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are reached among the roots that are searched from too."""
    members_at_most(monkeypatch, most)
    graph = with_hubs(3)
    whole = mf.count(graph, PATTERNS["wheel of 4"], device="cpu")
    for limit in (0, 1, 80, whole - 1, whole, whole + 1):
        found = mf.count(graph, PATTERNS["wheel of 4"], device=device, tuning=ON, limit=limit)
        assert (found, found.complete) == (min(whole, limit), limit >= whole)


@NO_CPU
@pytest.mark.parametrize("most", [4096, 100])
def test_the_time_limit_of_a_long_count_is_kept(
    device: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    members_at_most(monkeypatch, most)
    graph = mf.Graph.from_edges(clique(130))
    found = mf.count(graph, without(9, (7, 8)), symmetry="subgraphs", device=device, tuning=ON, timeout=0.3)
    assert not found.complete
    assert found < comb(130, 9) * 36


@NO_CPU
def test_a_count_that_comes_again_is_the_same(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    members_at_most(monkeypatch, 14)
    graph = with_hubs(4)
    expected = mf.count(graph, PATTERNS["gem"], device="cpu")
    for _ in range(3):
        assert mf.count(graph, PATTERNS["gem"], device=device, tuning=ON) == expected


@NO_CPU
def test_what_does_not_fit_in_bits_is_searched_for(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refuse(*_: object, **__: object) -> None:
        asked.append(True)
        raise DeviceMemoryError("what bits take", 2, 1, "")

    monkeypatch.setitem(engine_module.SET_UP, Family.UNIVERSAL_VERTEX, refuse)
    graph = with_hubs(4)
    expected = mf.count(graph, PATTERNS["gem"], device="cpu")
    assert mf.count(graph, PATTERNS["gem"], device=device, tuning=ON) == expected
    assert asked == [True]


@NO_CPU
@pytest.mark.parametrize("name", ["gem", "diamond"])
def test_roots_are_not_left_to_a_search_that_no_kernel_does(
    device: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a tail has more sets than kernels take, bits serve only if they count from all roots."""
    monkeypatch.setattr("motiflux.codegen.layout.MOST_TAIL_SETS", 0)
    graph, pattern = with_hubs(4), PATTERNS[name]
    expected = mf.count(graph, pattern, device="cpu")
    plan = make_plan(graph, pattern, tail=True, tuning=ON)
    assert plan.tail is not None
    assert device_tail(plan) is None
    request = make_request(semantics="isomorphism", symmetry="embeddings", device=device, tuning=ON)
    for most, in_bits in ((4096, True), (14, False)):
        members_at_most(monkeypatch, most)
        engine = engine_on(open_accelerator(device))
        families = [stage.family for stage in engine.strategy(graph, plan, request).stages]
        assert families == [Family.UNIVERSAL_VERTEX if in_bits else Family.HOST]
        assert mf.count(graph, pattern, device=device, tuning=ON) == expected > 0


@NO_CPU
def test_progress_is_told_and_what_it_raises_ends_the_count(device: str) -> None:
    graph = mf.Graph.from_edges(clique(130))
    told = []

    def tell(report: mf.ProgressReport) -> None:
        told.append(report)
        if len(told) == 2:
            raise InterruptedError

    with suppress(InterruptedError):
        mf.count(graph, without(9, (7, 8)), device=device, tuning=ON, progress=tell, timeout=20)
    assert len(told) == 2
    assert told[0].total == 130 * 129
    assert mf.count(graph, PATTERNS["diamond"], device=device, tuning=ON) == 130 * 129 * 128 * 127


@NO_CPU
def test_progress_of_a_count_in_two_ways_goes_one_way(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The roots with few neighbours first, in bits, and then by the search those with many."""
    members_at_most(monkeypatch, 45)
    monkeypatch.setattr("motiflux.request.deadline._LOOK_SECONDS", 0.0)
    parts = [*clique(40), *((u + 40, v + 40) for u, v in clique(60))]
    graph, pattern = mf.Graph.from_edges(parts), without(5, (3, 4))
    expected = 10 * (comb(40, 5) + comb(60, 5))
    for devices in range(1, 1 + min(2, len(devices_like(device)))):
        told: list[mf.ProgressReport] = []
        options = {"device": device, "devices": devices, "symmetry": "subgraphs", "progress": told.append}
        assert mf.count(graph, pattern, tuning=private_tuning({**ON, "rest": "off"}), **options) == expected
        if device != "emulated" and not told:
            pytest.skip(f"device {device} counts all before its first report can come")
        assert {report.total for report in told} == {1000}
        assert [report.done for report in told] == sorted(report.done for report in told)
        assert [report.found for report in told] == sorted(report.found for report in told)
        in_bits = [report.done for report in told if report.found < 10 * comb(40, 5)]
        assert len(in_bits) < len(told)
        assert max(in_bits, default=0) < told[-1].done <= 1000


def bits_of(graph: mf.Graph, pattern: mf.Pattern, **options: object) -> Bits | None:
    tuning = {**ON, **options.pop("tuning", {})}  # type: ignore[dict-item]
    request = make_request(**{"semantics": "isomorphism", "symmetry": "embeddings", **options}, tuning=tuning)  # type: ignore[arg-type]
    plan = make_plan(graph, pattern, semantics=request.semantics, symmetry=request.symmetry, tuning=tuning)
    return gather(graph, plan, DeviceFacts(1), request).bits


def test_patterns_that_are_no_cones_are_not_taken_for_them() -> None:
    graph = mf.Graph.from_edges(
        random_edges(2, 30, 0.5), edge_labels=[v % 2 for v, _ in random_edges(2, 30, 0.5)]
    )
    star = mf.Pattern.from_edges([(0, 1), (0, 2), (0, 3)])
    prism = mf.Pattern.from_edges([*cycle(3), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)])
    edges = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)]
    mixed = mf.Pattern.from_edges(edges, edge_labels=[0, 0, 0, 1, 0])
    one_label = mf.Pattern.from_edges(edges, edge_labels=[1] * 5)
    for other in (star, prism, mixed, mf.Pattern.from_edges(clique(4)), mf.Pattern.from_edges(cycle(3))):
        assert bits_of(graph, other) is None
    assert bits_of(graph, star, semantics="induced") is not None
    assert bits_of(graph, one_label) is not None
    assert bits_of(graph, one_label, semantics="induced") is None  # any arc would be one too many
    arcs = mf.Graph.from_edges(random_edges(2, 30, 0.5), directed=True)
    assert bits_of(arcs, mf.Pattern.from_edges(edges)) is None
    for switch in ("cliques", "off", "auto"):
        assert bits_of(graph, one_label, tuning={"bitmaps": switch}) is None


def test_each_root_is_counted_in_one_of_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    members_at_most(monkeypatch, 14)
    monkeypatch.setattr(universal_vertex, "_LEAST_SLICE", 1.0)
    monkeypatch.setattr(universal_vertex, "LOOK_UP", 1e-3)
    monkeypatch.setattr(universal_vertex, "ROOT", 1e-3)
    graph = with_hubs(1)
    bits = bits_of(graph, PATTERNS["wheel of 4"])
    assert bits is not None
    degrees = np.diff(graph.adjacency(bits.universal.rows.roots)[0]).astype(np.int64)
    units = cut_universal_vertex(degrees, bits.universal, teams=1 << 20)
    taken = sorted(
        (int(root), place)
        for root, word in units.units
        for place in range(int(word) & 0xFFFF, int(degrees[root]), int(word) >> 16)
    )
    few = np.flatnonzero((degrees >= 4) & (degrees <= 14))
    assert taken == [(int(root), place) for root in few for place in range(degrees[root])]
    request = make_request(semantics="isomorphism", symmetry="embeddings", tuning=ON)
    plan, facts = make_plan(graph, PATTERNS["wheel of 4"], tuning=ON), DeviceFacts(1)
    in_bits, rest = strategy(plan, gather(graph, plan, facts, request), facts, request).stages
    assert (in_bits.universal, in_bits.roots) == (bits.universal, None)
    assert (rest.universal, rest.roots) == (None, RootFilter(bits.universal.rows.roots, 14))
    assert rest.plan is in_bits.plan
    assert 0 < bits.left < 1
    assert bytes_of(33, 4, 4, 1) > bytes_of(32, 4, 4, 1)


@NO_CPU
def test_bits_are_taken_where_they_pay_and_explain_says_so(device: str) -> None:
    graph = mf.Graph.from_edges(random_edges(3, 400, 0.2))
    options = {"device": device, "tuning": {"tables": "off"}}
    told = mf.explain(graph, PATTERNS["wheel of 5"], **options).report
    assert "in bits" in told.engine.reason
    assert "level by level it is expected to take" in told.engine.reason
    request = make_request(semantics="isomorphism", symmetry="embeddings", device=device, tuning={})
    engine = engine_on(open_accelerator(device))
    plan = make_plan(graph, PATTERNS["wheel of 5"], tuning=request.tuning)
    bits = gather(graph, plan, engine.group.facts, request).bits
    assert bits is not None
    assert bits.pays
    physical = engine.strategy(graph, plan, request)
    assert physical.stages[0].family is Family.UNIVERSAL_VERTEX
    assert engine.predict(graph, physical, request).seconds == bits.expected
    assert bits.searching is not None
    assert bits.expected < bits.searching
    off = mf.explain(graph, PATTERNS["wheel of 5"], device=device, tuning=OFF).report
    assert "bits" not in off.engine.reason
    cliques_too = mf.explain(graph, mf.Pattern.from_edges(clique(5)), **options).report
    assert cliques_too.engine.reason.endswith("cliques in bits")
    small = mf.Graph.from_edges(clique(12))
    assert "bits" not in mf.explain(small, PATTERNS["wheel of 5"], **options).report.engine.reason
