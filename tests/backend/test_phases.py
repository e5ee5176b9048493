"""``engine="pvm"`` on devices: what the tests of other searches ask for, and what only phases do."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from functools import wraps
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import PRIVATE, TUNING, private_tuning
from motiflux.device import devices_like, open_device
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.pvm import memory_division, set_up, shares
from motiflux.gpu.pvm import rows as rows_of_phases
from motiflux.gpu.pvm.launches import WARPS_OF_BLOCK, PhaseLaunches
from motiflux.gpu.pvm.row_tables import RowTables
from motiflux.gpu.pvm.run import PhaseRun
from motiflux.gpu.pvm.search import Begun
from motiflux.gpu.runtime.accelerator import Accelerator
from tests.backend import test_running, test_search
from tests.backend.cases import clique, cycle, path
from tests.phases_memory import room
from tests.unit.cli_run import motiflux, only_json, write_edges

pytestmark = pytest.mark.devices("emulated", "cuda", reason="phases are for GPUs")

TRIANGLE = "(a)--(b)--(c)--(a)"
SHAPES = {
    "edge": "(a)-[:x]-(b)",
    "path": "(a)-[:x]-(b)-[:y]-(c)-[:z]-(d)",
    "triangle": "(a)-[:x]-(b)-[:y]-(c)-[:z]-(a)",
    "triangle of one label": "(a)-[:x]-(b)-[:x]-(c)-[:x]-(a)",
    "square": "(a)-[:x]-(b)-[:y]-(c)-[:x]-(d)-[:y]-(a)",
    "star": "(a)-[:x]-(b), (a)-[:x]-(c), (a)-[:x]-(d), (a)-[:y]-(e)",
    "two stars": "(a)-[:x]-(b), (a)-[:y]-(c), (a)-[:y]-(d), (b)-[:y]-(e), (b)-[:y]-(f)",
    "any label": "(a)--(b)-[:x]-(c)--(a)",
    "some labels": "(a)-[:x|y]-(b)-[:y|z]-(c)",
    "diamond": "(a)-[:x]-(b)-[:y]-(c)-[:x]-(d)-[:y]-(a), (a)-[:z]-(c)",
    "clique": "(a)-[:x]-(b), (a)-[:x]-(c), (a)-[:y]-(d), (b)-[:z]-(c), (b)-[:y]-(d), (c)-[:x|y]-(d)",
}
DIRECTED = {
    "path": "(a)-[:x]->(b)-[:y]->(c)",
    "both ways": "(a)-[:x]->(b), (b)-[:y]->(a)",
    "inwards": "(a)<-[:x]-(b), (a)<-[:x]-(c), (a)-[:y]->(d)",
    "either way": "(a)-[:x]-(b)-[:y]->(c), (c)-[:x|z]-(a)",
    "cycle": "(a)-[:x]->(b)-[:y]->(c)-[:z]->(a)",
}


TWO_PASS = {"pvm_writes": "two_pass"}
GSI = {**TWO_PASS, "pvm": "sv", "pvm_rows": "hash", "pvm_filter": "on"}


def in_phases(call: Callable[..., Any], device: str) -> Callable[..., Any]:
    """Return a search that takes this engine on the device of the tests."""

    @wraps(call)
    def search(*args: Any, **options: Any) -> Any:
        if options.get("device") == device:
            options.setdefault("engine", "pvm")
        return call(*args, **options)

    return search


@pytest.fixture
def pvm(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    """Have all searches of a test on its device use phases."""
    for name in ("count", "match"):
        monkeypatch.setattr(mf, name, in_phases(getattr(mf, name), device))


@pytest.mark.usefixtures("pvm")
class TestTimeouts(test_search.TestTimeouts):
    """Searches in phases that time ends."""


@pytest.mark.usefixtures("pvm")
class TestLimits(test_search.TestLimits):
    """Searches in phases that a limit ends."""


@pytest.mark.usefixtures("pvm")
class TestMatches(test_search.TestMatches):
    """Rows of phases."""

    @pytest.mark.skip(reason="phases extend all roots at a time, so they reach the only match late")
    def test_rare_matches_do_not_wait_for_a_full_batch(self, bipartite: mf.Graph, device: str) -> None:
        """Other searches begin with the vertices of most neighbours, to which the match belongs."""


@pytest.mark.long("emulated")  # phases enumerate all sets of six of 21 leaves and more
class TestLargeCounts(test_search.TestLargeCounts):
    """Counts of phases beyond 64 bits."""

    @pytest.fixture(autouse=True)
    def _in_phases(self, pvm: None) -> None:
        """Use phases."""

    test_json_holds_every_digit = None  # a command, whose engine is its own


@pytest.mark.usefixtures("pvm")
class TestThreads(test_running.TestThreads):
    """Searches in phases beside other threads."""

    test_a_forked_child_counts_on_its_parents_graph = None  # a script, whose engine is its own


@pytest.mark.usefixtures("pvm")
class TestProgress(test_running.TestProgress):
    """Reports of searches in phases."""


class TestInterrupts:
    @pytest.mark.turns(8)
    @pytest.mark.parametrize("name", test_running.LONG_SEARCHES)
    def test_ctrl_c_stops_phases_and_leaves_the_graph_usable(self, device: str, name: str) -> None:
        search = test_running.LONG_SEARCHES[name].replace("device=", "engine='pvm', device=")
        assert "pvm" in search
        test_running.TestInterrupts().test_ctrl_c_stops_a_search_and_leaves_the_graph_usable(device, search)


def labelled(vertices: int, *, directed: bool = False, share: float = 0.5) -> mf.Graph:
    """Return a random graph with edges of labels x, y and z, most of them x, and vertices of two labels."""
    rng = np.random.default_rng(11)
    pairs = [pair for pair in product(range(vertices), repeat=2) if pair[0] != pair[1]]
    if not directed:
        pairs = list(combinations(range(vertices), 2))
    edges = [pair for pair in pairs if rng.random() < share]
    labels = rng.choice(["x", "y", "z"], len(edges), p=[0.6, 0.3, 0.1])
    return mf.Graph.from_edges(
        edges,
        num_vertices=vertices,
        edge_labels=labels.tolist(),
        vertex_labels=["even" if vertex % 2 else "odd" for vertex in range(vertices)],
        directed=directed,
    )


def rows(matches: mf.Matches) -> list[tuple[int, ...]]:
    return sorted(map(tuple, matches.to_numpy().tolist()))


def check(graph: mf.Graph, pattern: str | mf.Pattern, device: str, **options: Any) -> None:
    """Check a count and the rows of phases against those of the CPU."""
    tuning = options.pop("tuning", None)
    expected = mf.count(graph, pattern, device="cpu", **options)
    there: dict[str, Any] = {"device": device, "engine": "pvm", "tuning": tuning, **options}
    found = mf.count(graph, pattern, **there)
    assert (found, found.complete, found.engine, found.device) == (expected, True, "pvm", device)
    matches = mf.match(graph, pattern, **there)
    listed = rows(matches)
    assert (len(listed), matches.complete, matches.engine) == (expected, True, "pvm")
    assert len(set(listed)) == len(listed)
    if options.get("symmetry", "embeddings") == "embeddings":
        assert listed == rows(mf.match(graph, pattern, device="cpu", **options))


@pytest.mark.parametrize("name", SHAPES)
def test_phases_find_what_the_cpu_finds(device: str, name: str) -> None:
    graph = labelled(24)
    assert mf.count(graph, SHAPES[name], device="cpu") > 0
    for options in ({}, {"symmetry": "subgraphs"}, {"semantics": "homomorphism"}):
        check(graph, SHAPES[name], device, **options)


@pytest.mark.parametrize("name", DIRECTED)
def test_phases_follow_directions(device: str, name: str) -> None:
    graph = labelled(20, directed=True, share=0.3)
    assert mf.count(graph, DIRECTED[name], device="cpu") > 0
    for options in ({}, {"symmetry": "subgraphs"}, {"semantics": "homomorphism"}):
        check(graph, DIRECTED[name], device, **options)


@pytest.mark.turns(2, "emulated")
@pytest.mark.parametrize("switch", ["pvm", "tail", *(name for name in PRIVATE if name.startswith("pvm_"))])
def test_switches_change_no_result(device: str, switch: str) -> None:
    graph = labelled(24)
    for value in {**TUNING, **PRIVATE}[switch].values:
        for name in ("square", "star", "two stars", "diamond"):
            check(graph, SHAPES[name], device, tuning=private_tuning({switch: value}))


@pytest.mark.turns(2, "emulated")
@pytest.mark.parametrize(
    ("switches", "unit"),
    [
        ({}, "pvm-extend-1-0"),
        ({"pvm_rows": "hash"}, "pvm-extend-1-0-hash"),
        (TWO_PASS, "pvm-extend-1-0-two-passes"),
        (GSI, "pvm-extend-1-0-hash-two-passes"),
        (TWO_PASS, "pvm-offsets"),
        ({"pvm_filter": "on"}, "pvm-filter"),
        ({"pvm": "pv"}, "pvm-extend-3-0"),
        ({"pvm": "pv", "pvm_generation": "nested"}, "pvm-extend-3-0-nested"),
    ],
)
def test_switches_choose_kernels(
    device: str, switches: dict[str, str], unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: set[str] = set()
    kernels = Accelerator.kernels

    def noted(self: Accelerator, source: Any, *args: Any, **options: Any) -> Any:
        used.add(source.name)
        return kernels(self, source, *args, **options)

    monkeypatch.setattr(Accelerator, "kernels", noted)
    tuning = private_tuning({"pvm": "sv", "pvm_fused": "off", **switches})
    check(labelled(12), "(a)-[:x]-(b), (a)-[:x]-(c), (a)-[:x]-(d), (a)-[:y]-(e)", device, tuning=tuning)
    assert unit in used
    others = {"-hash", "-two-passes", "-filter", "-nested"}
    assert {name for name in others if any(name in one for one in used)} == {
        name for name in others if name in unit or ("two_pass" in switches.values() and name == "-two-passes")
    } | ({"-filter"} if switches.get("pvm_filter") == "on" else set())


def test_rows_that_are_not_renamed_need_no_new_ids(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: RowTables) -> Any:
        raise AssertionError("new ids were made")

    monkeypatch.setattr(RowTables, "renamed", property(refuse))
    for form in ("unrenamed", "hash"):
        check(labelled(24), SHAPES["square"], device, tuning=private_tuning({"pvm_rows": form}))
    with pytest.raises(AssertionError):
        mf.count(labelled(24), SHAPES["square"], device=device, engine="pvm")


def test_the_filter_leaves_fewer_embeddings_between_phases(device: str) -> None:
    alone = [(number, number + 1) for number in range(10, 70, 3)]
    graph = mf.Graph.from_edges([(0, 1), (1, 2), *alone], edge_labels=[*"xy", *"xy" * 10])
    sizes = []
    for value in ("off", "on"):
        tuning = private_tuning({"tail": "off", "multiply": "off", "pvm": "sv", "pvm_filter": value})
        told = mf.explain(
            graph, "(a)-[:x]-(b)-[:y]-(c)", device=device, engine="pvm", analyze=True, tuning=tuning
        ).report
        sizes.append([phase.actual for phase in told.phases])
    assert sizes == [[22, 1], [1, 1]]


def test_hash_tables_that_do_not_fit_are_an_error(device: str) -> None:
    graph = labelled(60)
    gc.collect()
    open_device(device)._account.reclaim(1 << 40)  # type: ignore[attr-defined]
    budget = open_device(device).used_memory() + 20_000
    tuning = private_tuning({"pvm_rows": "hash"})
    with pytest.raises(
        DeviceMemoryError, match=r"hash tables of a search in phases: expected .* pvm_rows=interval"
    ):
        mf.count(graph, SHAPES["triangle"], device=device, engine="pvm", gpu_memory=budget, tuning=tuning)


def test_labels_of_vertices_and_ids_narrow_candidates(device: str) -> None:
    graph = labelled(24)
    for pattern in (
        "(a:odd)-[:x]-(b:even)-[:y]-(c:odd)",
        "(a:odd)-[:x]-(b:even), (a)-[:x]-(c:even), (a)-[:x]-(d:even), (a)-[:x]-(e:odd)",
    ):
        check(graph, pattern, device)
    some = mf.PatternBuilder().vertex("a", ids=[3, 4, 5]).vertex("b").vertex("c")
    check(graph, some.edge("a", "b", "x").edge("b", "c", "x").edge("c", "a", "x").build(), device)


def test_a_graph_without_edge_labels_is_one_partition(device: str) -> None:
    graph = mf.Graph.from_edges([pair for pair in combinations(range(16), 2) if sum(pair) % 3])
    for edges in (cycle(3), cycle(4), clique(4), path(4), [(0, 1), (0, 2), (0, 3), (3, 4)]):
        check(graph, mf.Pattern.from_edges(edges), device)


class TestLabels:
    def test_may_be_more_than_vertices(self, device: str) -> None:
        pairs = list(combinations(range(9), 2))
        graph = mf.Graph.from_edges(pairs, edge_labels=[f"l{number}" for number in range(len(pairs))])
        assert len(graph.edge_label_table) > graph.num_vertices
        for pattern in (
            "(a)-[:l0]-(b)-[:l8]-(c)-[:l1]-(a)",
            "(a)--(b)--(c)--(a)",
            "(a)-[:l0|l1|l2]-(b)--(c)",
        ):
            check(graph, pattern, device)

    def test_may_have_one_edge(self, device: str) -> None:
        graph = mf.Graph.from_edges(
            [*clique(8), (7, 8)], edge_labels=["x"] * len(clique(8)) + ["once"], num_vertices=12
        )
        for pattern in ("(a)-[:once]-(b)", "(a)-[:x]-(b)-[:once]-(c)", "(a)-[:once]-(b)-[:once]-(c)"):
            check(graph, pattern, device)

    def test_that_do_not_occur_match_nothing(self, device: str) -> None:
        check(labelled(10), "(a)-[:absent]-(b)", device)
        check(labelled(10), "(a)-[:x|absent]-(b)-[:y]-(c)", device)

    def test_of_no_edge_match_nothing(self, device: str) -> None:
        """The only edge of the label is not between vertices of these labels."""
        graph = mf.Graph.from_edges(
            [(0, 1), (1, 2)], edge_labels=["x", "y"], vertex_labels=["a", "a", "b"], directed=True
        )
        check(graph, "(p:b)-[:x]->(q)", device)
        check(graph, "(p:a)-[:x]->(q:a)-[:y]->(r:b)", device)

    def test_of_a_graph_without_edges_match_nothing(self, device: str) -> None:
        graph = mf.Graph.from_edges(np.empty((0, 2), np.int64), num_vertices=3)
        check(graph, mf.Pattern.from_edges(cycle(3)), device)

    def test_of_copies_of_an_edge_are_told_apart(self, device: str) -> None:
        edges = [(0, 1), (0, 1), (1, 2), (1, 2), (2, 0)]
        graph = mf.Graph.from_edges(edges, edge_labels=["x", "y", "x", "x", "y"])
        for pattern in ("(a)-[:x]-(b), (a)-[:y]-(b)", "(a)--(b)--(c)--(a)", "(a)-[:x|y]-(b)-[:x]-(c)"):
            check(graph, pattern, device)


class TestConditions:
    GRAPH_EDGES = list(combinations(range(14), 2))

    @pytest.fixture
    def graph(self) -> mf.Graph:
        return mf.Graph.from_edges(
            self.GRAPH_EDGES,
            edge_labels=["xy"[(u + v) % 2] for u, v in self.GRAPH_EDGES],
            edge_attributes={"amount": np.arange(len(self.GRAPH_EDGES)) % 7},
            vertex_attributes={"age": np.arange(14) * 5},
        )

    @pytest.mark.parametrize(
        "pattern",
        [
            "(a)-[e:x]-(b) WHERE e.amount > 3",
            "(a)-[e:x]-(b)-[f:y]-(c)-[g:x]-(a) WHERE e.amount > 3 AND f.amount < 5",
            "(a)-[:x]-(b), (a)-[:x]-(c), (a)-[:x]-(d) WHERE a.age > 20 AND b.age < 50",
        ],
    )
    def test_hold(self, device: str, graph: mf.Graph, pattern: str) -> None:
        check(graph, pattern, device)


class TestFrontiers:
    @pytest.mark.turns(2, "emulated")
    @pytest.mark.parametrize("nbytes", [2 << 20, 1 << 20])
    @pytest.mark.parametrize("switches", [{}, TWO_PASS, {**TWO_PASS, "pvm_distribution": "round_robin"}])
    def test_larger_than_memory_pass_in_chunks(
        self, device: str, nbytes: int, switches: dict[str, str]
    ) -> None:
        """The embeddings of the last phase take more bytes than there are."""
        graph = mf.Graph.from_edges(clique(14), edge_labels=["x"] * len(clique(14)))
        pattern = mf.Pattern.from_edges([(0, 1), (0, 2), (0, 3), (3, 4)])
        expected = mf.count(graph, pattern, device="cpu", symmetry="subgraphs")
        assert 4 * pattern.num_vertices * expected > nbytes
        tuning = private_tuning({"tail": "off", **switches})
        with room(device, nbytes, switches, pattern.num_edges) as options:
            found = mf.count(graph, pattern, symmetry="subgraphs", tuning=tuning, **options)
        assert (found, found.complete, found.engine) == (expected, True, "pvm")

    @pytest.mark.turns(4, "emulated")
    @pytest.mark.parametrize("switches", [TWO_PASS, {**TWO_PASS, "pvm_distribution": "round_robin"}, GSI])
    def test_that_are_full_again_and_again_lose_no_embedding(
        self, device: str, switches: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(set_up, "FIRST_BYTES", 4096)
        monkeypatch.setattr(memory_division, "MOST_BYTES", 4096)
        refused = []
        note = PhaseRun._note

        def noted(self: PhaseRun, work: Any, seen: Any, **options: Any) -> None:
            refused.append(bool(seen.refused))
            note(self, work, seen, **options)

        monkeypatch.setattr(PhaseRun, "_note", noted)
        hub = [(0, leaf) for leaf in range(1, 100)]
        long_rows = mf.Graph.from_edges([*hub, *((leaf, leaf + 1) for leaf in range(1, 99))])
        for graph, pattern in (
            (labelled(10), SHAPES["two stars"]),
            (labelled(12), SHAPES["square"]),
            (long_rows, mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3)])),
        ):
            check(graph, pattern, device, tuning=private_tuning({"pvm_fused": "off", **switches}))
        assert sum(refused) > 20

    def test_of_rows_longer_than_a_block_are_divided(self, device: str) -> None:
        hub = [(0, leaf) for leaf in range(1, 600)]
        graph = mf.Graph.from_edges([*hub, *((leaf, leaf + 1) for leaf in range(1, 599))])
        for edges in ([(0, 1), (0, 2)], cycle(3), cycle(4)):
            pattern = mf.Pattern.from_edges(edges)
            found = mf.count(graph, pattern, device=device, engine="pvm")
            assert (found, found.complete) == (mf.count(graph, pattern, device="cpu"), True)

    def test_without_room_for_one_partition_are_an_error(self, device: str) -> None:
        graph = labelled(60)
        with pytest.raises(DeviceMemoryError, match=r"expected .* bytes of device memory"):
            mf.count(graph, SHAPES["triangle"], device=device, engine="pvm", gpu_memory=64)
        check(graph, SHAPES["triangle"], device)


class TestInduced:
    @pytest.mark.turns(2, "emulated")
    @pytest.mark.parametrize("fused", ["on", "off"])
    @pytest.mark.parametrize("name", ["path", "square", "star", "two stars", "any label", "some labels"])
    def test_arcs_that_a_pattern_lacks_are_absent(self, device: str, name: str, fused: str) -> None:
        tuning = private_tuning({"pvm_fused": fused})
        graph = labelled(30, share=0.2)
        assert mf.count(graph, SHAPES[name], device="cpu", semantics="induced") > 0
        for symmetry in ("embeddings", "subgraphs"):
            check(graph, SHAPES[name], device, semantics="induced", symmetry=symmetry, tuning=tuning)

    @pytest.mark.turns(2, "emulated")
    @pytest.mark.parametrize("name", DIRECTED)
    def test_arcs_of_either_direction_are_absent(self, device: str, name: str) -> None:
        graph = labelled(20, directed=True, share=0.15)
        assert mf.count(graph, DIRECTED[name], device="cpu", semantics="induced") > 0
        check(graph, DIRECTED[name], device, semantics="induced")

    def test_more_arcs_than_a_kernel_tests_are_absent(self, device: str) -> None:
        """A star of nine leaves has 36 pairs without an arc, and its labels more tables than a kernel has."""
        edges = [(0, leaf) for leaf in range(1, 12)] + [(1, 2), (12, 13)]
        labels = [f"l{vertex % 6}" for vertex in range(14)]
        graph = mf.Graph.from_edges(edges, vertex_labels=labels)
        leaves = ", ".join(f"(c:{labels[0]})--(v{leaf}:{labels[leaf]})" for leaf in range(2, 12))
        assert mf.count(graph, leaves, device="cpu", semantics="induced") > 0
        for switches in ({}, GSI):
            check(graph, leaves, device, semantics="induced", tuning=private_tuning(switches))
        check(graph, leaves.replace("v2", "v1"), device, semantics="induced")

    def test_sizes_of_phases_leave_out_embeddings_with_such_arcs(self, device: str) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)])
        tuning = private_tuning({"tail": "off", "multiply": "off", "pvm": "sv"})
        for semantics, expected in (("isomorphism", [8, 10]), ("induced", [8, 4])):
            told = mf.explain(
                graph,
                mf.Pattern.from_edges([(0, 1), (1, 2)]),
                device=device,
                engine="pvm",
                analyze=True,
                semantics=semantics,
                tuning=tuning,
            )
            assert [phase.actual for phase in told.report.phases] == expected


class TestExplain:
    def test_has_the_sizes_of_phases(self, device: str) -> None:
        graph = labelled(24)
        told = mf.explain(graph, SHAPES["square"], device=device, engine="pvm", analyze=True).report
        assert told.engine.name == "pvm"
        assert told.actual is not None
        assert told.actual.count == mf.count(graph, SHAPES["square"], device="cpu")
        sizes = [phase.actual for phase in told.phases]
        assert sizes[-1] is not None
        assert sizes[-1] * told.multiplier == told.actual.count
        assert all(size is not None for size in sizes)

    def test_of_split_phases_has_the_sizes_of_the_same_embeddings(self, device: str) -> None:
        graph, tuning = labelled(24), {"tail": "off"}
        whole, split = (
            mf.explain(
                graph,
                SHAPES["square"],
                device=device,
                engine="pvm",
                analyze=True,
                tuning={**tuning, "pvm": pvm},
            ).report
            for pvm in ("pv", "sv")
        )
        assert len(split.phases) > len(whole.phases)
        assert whole.phases[-1].actual == split.phases[-1].actual
        assert {phase.actual for phase in whole.phases} <= {phase.actual for phase in split.phases}


@pytest.fixture
def two(device: str) -> dict[str, Any]:
    """Return options for two devices."""
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    return {"device": device, "devices": 2, "engine": "pvm"}


class TestSeveralDevices:
    def threads(self) -> list[str]:
        """Return the names of the threads of searches that still run."""
        return [one.name for one in threading.enumerate() if one.name.startswith(shares.THREAD_NAME)]

    @pytest.mark.turns(2, "emulated")
    @pytest.mark.parametrize("name", SHAPES)
    def test_share_the_roots(self, device: str, two: dict[str, Any], name: str) -> None:
        graph = labelled(24)
        for options in ({}, {"symmetry": "subgraphs"}, {"semantics": "homomorphism"}):
            found = mf.count(graph, SHAPES[name], **two, **options)
            expected = mf.count(graph, SHAPES[name], device="cpu", **options)
            assert (found, found.complete, found.engine) == (expected, True, "pvm")
            assert found.device == ", ".join(devices_like(device)[:2])
            matches = mf.match(graph, SHAPES[name], **two, **options)
            listed = rows(matches)
            assert (len(listed), len(set(listed)), matches.complete) == (expected, expected, True)

    def test_search_different_roots(self, two: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        counted: list[int] = []
        add = shares._sum

        def noted(results: Any) -> Any:
            counted.extend(one.found for one in results)
            return add(results)

        monkeypatch.setattr(shares, "_sum", noted)
        graph = labelled(24)
        tuning = private_tuning({"multiply": "off"})
        total = mf.count(graph, SHAPES["square"], tuning=tuning, **two)
        assert len(counted) == 2
        assert sum(counted) == total
        assert all(0 < one < total for one in counted)

    def test_have_copies_of_all_tables_each(self, device: str, two: dict[str, Any]) -> None:
        one = mf.explain(labelled(24), SHAPES["square"], **{**two, "devices": 1})
        told = mf.explain(labelled(24), SHAPES["square"], analyze=True, **two)
        assert told.report.predicted.memory.copied == 2 * one.report.predicted.memory.copied
        assert told.report.actual.copied > one.report.predicted.memory.copied / 2
        assert "to copy to all devices" in str(told)
        assert "copied to all devices" in str(told)
        assert "to copy to it" in str(one)

    @pytest.mark.parametrize("switches", [GSI, {"pvm_distribution": "round_robin"}])
    def test_share_with_switches(self, two: dict[str, Any], switches: dict[str, str]) -> None:
        graph, tuning = labelled(24), private_tuning(switches)
        for semantics in ("isomorphism", "induced"):
            expected = mf.count(graph, SHAPES["star"], device="cpu", semantics=semantics)
            assert mf.count(graph, SHAPES["star"], tuning=tuning, semantics=semantics, **two) == expected

    @pytest.mark.parametrize("limit", [0, 1, 100, 10**6])
    def test_stop_at_a_limit_together(self, two: dict[str, Any], limit: int) -> None:
        graph = labelled(24)
        expected = int(mf.count(graph, SHAPES["path"], device="cpu"))
        assert 100 < expected < 10**6
        found = mf.count(graph, SHAPES["path"], limit=limit, **two)
        assert (found, found.complete) == (min(limit, expected), limit >= expected)
        matches = mf.match(graph, SHAPES["path"], limit=limit, batch_rows=7, **two)
        listed = rows(matches)
        assert len(set(listed)) == len(listed) == min(limit, expected)
        assert matches.complete is (limit >= expected)

    def test_end_when_time_is_up(self, two: dict[str, Any]) -> None:
        graph = mf.Graph.from_edges(clique(150))
        options = {"tuning": {"tail": "off"}, "timeout": 0.3}
        found = mf.count(graph, mf.Pattern.from_edges(path(7)), **options, **two)
        assert not found.complete
        matches = mf.match(graph, mf.Pattern.from_edges(path(7)), timeout=0.3, **two)
        assert all(len(batch) for batch in matches)
        assert not matches.complete

    def test_are_released_if_rows_are_not_taken(self, two: dict[str, Any]) -> None:
        graph = mf.Graph.from_edges(clique(60))
        with mf.match(graph, mf.Pattern.from_edges(path(6)), **two) as matches:
            assert len(next(iter(matches)))
        assert not self.threads()
        assert mf.count(graph, TRIANGLE, **two) == 60 * 59 * 58

    def test_report_what_all_found(self, two: dict[str, Any]) -> None:
        told: list[mf.ProgressReport] = []
        graph = mf.Graph.from_edges(clique(120))
        options = {"tuning": {"tail": "off"}, "timeout": 0.6, "progress": told.append}
        mf.count(graph, mf.Pattern.from_edges(path(6)), **options, **two)
        assert told
        assert all(0 <= one.done <= one.total for one in told)
        assert [one.found for one in told] == sorted(one.found for one in told)

    def test_pass_on_an_error(self, two: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(self: Begun) -> Any:
            raise mf.DeviceError("it broke")

        graph = labelled(24)
        with monkeypatch.context() as patched:
            patched.setattr(Begun, "chunks", fail)
            with pytest.raises(mf.DeviceError, match=r"on .*: it broke"):
                mf.count(graph, SHAPES["star"], **two)
        assert not self.threads()
        assert mf.count(graph, SHAPES["star"], **two) == mf.count(graph, SHAPES["star"], device="cpu")

    def test_without_memory_take_no_part(self, two: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        of, graph = Begun.of, labelled(24)

        def refusing(accelerator: Accelerator, *args: Any, **options: Any) -> Begun:
            if accelerator.device.name == open_device(two["device"]).name:
                raise DeviceMemoryError("rows", 2, 1, "none")
            return of(accelerator, *args, **options)

        monkeypatch.setattr(Begun, "of", refusing)
        with pytest.warns(mf.MotifluxWarning, match="a device takes no part: on .*rows"):
            found = mf.count(graph, SHAPES["star"], **two)
        assert found == mf.count(graph, SHAPES["star"], device="cpu")


def test_the_command_line_has_the_engine(device: str, tmp_path: Path) -> None:
    graph = write_edges(tmp_path / "clique.txt", clique(9))
    command = (graph, TRIANGLE, "--device", device, "--engine", "pvm")
    found = only_json(motiflux("count", *command, "--json"))
    assert (found["count"], found["complete"], found["engine"]) == (504, True, "pvm")
    told = only_json(motiflux("explain", *command, "--json"))
    assert told["engine"]["name"] == "pvm"
    assert [phase["number"] for phase in told["phases"]] == [1, 2]
    listed = motiflux("match", *command)
    assert (listed.exit_code, len(listed.stdout.splitlines())) == (0, 505)


def test_rows_are_on_the_device_where_they_are_wanted(device: str) -> None:
    graph = labelled(24)
    for options in ({}, {"symmetry": "subgraphs"}):
        matches = mf.match(graph, SHAPES["star"], device=device, engine="pvm", batch_rows=100, **options)
        batches = [batch.to_numpy() for batch in matches.device_batches()]
        assert matches.complete is True
        expected = mf.count(graph, SHAPES["star"], device="cpu", **options)
        assert len({tuple(row) for batch in batches for row in batch.tolist()}) == expected


@pytest.mark.parametrize("most_bytes", [1, 256 << 20])
@pytest.mark.parametrize("limit", [None, 1, 7, 200])
def test_rows_on_the_device_are_those_of_the_host(
    device: str, monkeypatch: pytest.MonkeyPatch, limit: int | None, most_bytes: int
) -> None:
    monkeypatch.setattr(rows_of_phases, "_MOST_BYTES", most_bytes)
    graph = labelled(24)
    for shape, options in (("star", {}), ("square", {"symmetry": "subgraphs"}), ("square", {})):
        of_engine = {"device": device, "engine": "pvm", **options}
        all_rows = {tuple(row) for row in mf.match(graph, SHAPES[shape], **of_engine).to_numpy()}
        assert len(all_rows) == mf.count(graph, SHAPES[shape], device="cpu", **options)
        matches = mf.match(graph, SHAPES[shape], limit=limit, **of_engine)
        rows = [tuple(row) for batch in matches.device_batches() for row in batch.to_numpy()]
        assert matches.engine == "pvm"
        assert len(rows) == len(set(rows)) == min(len(all_rows), limit or len(all_rows))
        assert set(rows) <= all_rows
        assert matches.complete is (limit is None or len(all_rows) <= limit)


def test_a_listing_that_is_asked_again_is_not_set_up_anew(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, made = labelled(24), list[object]()
    original = set_up._set_up
    monkeypatch.setattr(
        set_up, "_set_up", lambda *args, **options: made.append(1) or original(*args, **options)
    )
    for _ in range(3):
        assert len(mf.match(graph, SHAPES["star"], device=device, engine="pvm").to_numpy())
    assert len(made) == 1


def test_phases_and_other_engines_may_search_one_graph_in_turn(device: str) -> None:
    graph = labelled(24)
    expected = mf.count(graph, SHAPES["square"], device="cpu")
    for engine in ("pvm", "dfs", "pvm", "outofcore", "pvm"):
        found = mf.count(graph, SHAPES["square"], device=device, engine=engine)
        assert (found, found.engine) == (expected, engine)
        graph.forget()


def test_patterns_of_one_call_are_counted_in_turn(device: str) -> None:
    graph = labelled(24)
    patterns = [*SHAPES.values()]
    found = mf.count(graph, patterns, device=device, engine="pvm")
    assert [*found] == [mf.count(graph, pattern, device="cpu") for pattern in patterns]
    assert {count.engine for count in found} == {"pvm"}


def test_threads_may_search_in_phases_at_once(device: str) -> None:
    graph = labelled(24)
    expected = {name: int(mf.count(graph, SHAPES[name], device="cpu")) for name in SHAPES}
    found: dict[str, int] = {}

    def count(name: str) -> None:
        found[name] = int(mf.count(graph, SHAPES[name], device=device, engine="pvm"))

    workers = [threading.Thread(target=count, args=(name,)) for name in SHAPES]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == expected


def test_a_search_that_is_kept_launches_as_many_warps_as_it_has_units(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, fitted = labelled(24), list[list[int]]()
    fit = PhaseLaunches.fit

    def noted(self: PhaseLaunches, units: Any) -> bool:
        changes = fit(self, units)
        fitted.append([launch.grid for launch in self._chain])
        for launch, number in zip(self._chain, units, strict=True):
            assert launch.grid <= max(1, -(-number // WARPS_OF_BLOCK))
        return changes

    monkeypatch.setattr(PhaseLaunches, "fit", noted)
    options: dict[str, Any] = {"device": device, "engine": "pvm", "tuning": private_tuning({"tail": "off"})}
    expected = mf.count(graph, SHAPES["star"], device="cpu")
    found = [mf.count(graph, SHAPES["star"], **options) for _ in range(3)]
    assert found == [expected] * 3
    assert len(fitted) == 3
    assert fitted[0] == fitted[1] == fitted[2]
    assert mf.count(graph, SHAPES["star"], limit=1, **options) == 1
    assert mf.count(graph, SHAPES["star"], **options) == expected
    assert fitted[-1] == fitted[0], "a count that was cut short tells nothing of units"
