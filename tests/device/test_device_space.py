"""Candidate spaces on a device: kept, given up, left out where they do not fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.codegen.kernels import THREADS
from motiflux.config import private_tuning
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.gpu.storage import candidate_space as candidate_space_module
from motiflux.gpu.storage.candidate_space import DeviceSpace, slot_keys
from motiflux.gpu.storage.device_csr import resident
from motiflux.plan import Plan, make_plan
from motiflux.request.request import make_request
from tests.backend.cases import clique
from tests.executing import search_job
from tests.simt.image import chances_by

if TYPE_CHECKING:
    from motiflux.device.base import Device

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no candidate spaces of a device")

PATTERN = mf.Pattern.parse("(a:0)--(b:1)--(c:2)--(a), (c)--(d:1)")


@pytest.fixture
def graph() -> mf.Graph:
    """A clique of nine vertices and three labels: each triangle of three labels, and another vertex."""
    return mf.Graph.from_edges(clique(9), vertex_labels=[0, 1, 2] * 3)


@pytest.fixture
def accelerator(device: str) -> Accelerator:
    return open_accelerator(device)


EXPECTED = 3 * 3 * 3 * 2


def spaces(graph: mf.Graph, device: Device) -> list[Any]:
    return [space for space in resident(graph, device)._kept.values() if isinstance(space, DeviceSpace)]


def plan_of(graph: mf.Graph, pattern: mf.Pattern, **tuning: str) -> Plan:
    asked = make_request(semantics="isomorphism", symmetry="embeddings", tuning=private_tuning(tuning))
    return make_plan(graph, pattern, space=True, tuning=asked.tuning)


def count(accelerator: Accelerator, graph: mf.Graph, plan: Plan) -> int:
    request = make_request(semantics="isomorphism", symmetry="embeddings")
    with search_job(accelerator, graph, plan, request) as search:
        search.launch()
        while not search.done():
            pass
        return search.result().found * plan.multiplier


class TestKeeping:
    @pytest.mark.turns(8, "emulated")
    def test_a_query_that_comes_again_finds_its_space(
        self, graph: mf.Graph, device: str, accelerator: Accelerator
    ) -> None:
        assert mf.count(graph, PATTERN, device=device) == EXPECTED
        (made,) = spaces(graph, accelerator.device)
        assert mf.count(graph, PATTERN, device=device) == EXPECTED
        assert spaces(graph, accelerator.device) == [made]
        assert not made.users

    def test_a_space_is_given_up_for_room_and_made_again(
        self, graph: mf.Graph, device: str, accelerator: Accelerator
    ) -> None:
        assert mf.count(graph, PATTERN, device=device) == EXPECTED
        (size,) = (space.nbytes for space in spaces(graph, accelerator.device))
        assert resident(graph, accelerator.device).reclaim(1 << 40) >= size
        assert spaces(graph, accelerator.device) == []
        assert mf.count(graph, PATTERN, device=device) == EXPECTED
        assert len(spaces(graph, accelerator.device)) == 1

    def test_a_space_is_not_given_up_while_it_is_searched(
        self, graph: mf.Graph, accelerator: Accelerator
    ) -> None:
        request = make_request(semantics="isomorphism", symmetry="embeddings")
        plan = plan_of(graph, PATTERN)
        with search_job(accelerator, graph, plan, request):
            resident(graph, accelerator.device).reclaim(1 << 40)
            assert len(spaces(graph, accelerator.device)) == 1
        resident(graph, accelerator.device).reclaim(1 << 40)
        assert spaces(graph, accelerator.device) == []


class TestRoom:
    def test_without_room_rows_of_the_graph_are_searched(
        self, graph: mf.Graph, device: str, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert mf.count(graph, PATTERN, device=device) == EXPECTED
        (made,) = spaces(graph, accelerator.device)
        words, offsets, neighbors = (buffer.nbytes for buffer in made.buffers)
        for room in (words + offsets - 1, words + offsets + neighbors - 1):
            graph.forget()
            monkeypatch.setattr(candidate_space_module, "max_space_bytes", lambda graph, room=room: room)
            assert mf.count(graph, PATTERN, device=device) == EXPECTED
            assert spaces(graph, accelerator.device) == []

    def test_without_memory_rows_of_the_graph_are_searched(
        self, graph: mf.Graph, device: str, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(self: Any, nbytes: int) -> Any:
            raise DeviceMemoryError("a candidate space", nbytes, 0, "there is none in this test")

        monkeypatch.setattr(candidate_space_module._Builder, "_allocate", refuse)
        assert mf.count(graph, PATTERN, device=device) == EXPECTED
        copies = resident(graph, accelerator.device)._kept.values()
        assert copies
        assert not any(copy.users for copy in copies)

    def test_once_there_is_more_memory_a_plan_has_its_space(
        self, graph: mf.Graph, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(self: Any, nbytes: int) -> Any:
            raise DeviceMemoryError("a candidate space", nbytes, 0, "there is none in this test")

        plan = plan_of(graph, PATTERN)
        with monkeypatch.context() as patched:
            patched.setattr(candidate_space_module._Builder, "_allocate", refuse)
            assert count(accelerator, graph, plan) == EXPECTED
            assert spaces(graph, accelerator.device) == []
        assert count(accelerator, graph, plan) == EXPECTED
        assert len(spaces(graph, accelerator.device)) == 1

    def test_a_space_that_is_too_large_is_tried_once_and_leaves_nothing(
        self, graph: mf.Graph, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tried = 0
        build = candidate_space_module._Builder._build

        def counted(*given: Any) -> Any:
            nonlocal tried
            tried += 1
            return build(*given)

        plan = plan_of(graph, PATTERN)
        monkeypatch.setattr(candidate_space_module, "max_space_bytes", lambda graph: 16)
        monkeypatch.setattr(candidate_space_module._Builder, "_build", counted)
        for _ in range(3):
            assert count(accelerator, graph, plan) == EXPECTED
        assert tried == 1
        kept = resident(graph, accelerator.device)._kept.values()
        assert [type(one).__name__ for one in kept if not one.nbytes] == []
        assert spaces(graph, accelerator.device) == []
        graph.memo.forget_queries()
        monkeypatch.setattr(candidate_space_module, "max_space_bytes", lambda graph: 1 << 20)
        assert count(accelerator, graph, plan) == EXPECTED
        assert len(spaces(graph, accelerator.device)) == 1

    def test_an_interrupt_leaves_nobody_as_a_user(
        self, graph: mf.Graph, device: str, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(self: Any, *args: Any) -> Any:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(candidate_space_module._Builder, "_report", interrupt)
            with pytest.raises(KeyboardInterrupt):
                mf.count(graph, PATTERN, device=device)
        copies = resident(graph, accelerator.device)._kept.values()
        assert copies
        assert not any(copy.users for copy in copies)
        assert mf.count(graph, PATTERN, device=device) == EXPECTED


class TestPlans:
    def test_query_vertices_that_a_plan_takes_to_be_alike_have_one_set(
        self, graph: mf.Graph, accelerator: Accelerator
    ) -> None:
        plan = plan_of(graph, PATTERN)
        assert len({key.start for keys in slot_keys(plan) for key in keys}) > 1
        wildcard = mf.Pattern.parse("(a)--(b)--(c)--(a), (c)--(d)")
        alike = replace(plan_of(graph, wildcard, candidates="on"), classes=(0,) * 4)
        assert {(key.start, key.end) for keys in slot_keys(alike) for key in keys} == {(15, 15)}
        assert count(accelerator, graph, alike) == 9 * 8 * 7 * 6

    def test_query_vertices_that_require_different_labels_are_not_taken_to_be_alike(
        self, graph: mf.Graph
    ) -> None:
        alike = replace(plan_of(graph, PATTERN), classes=(0,) * 4)
        with pytest.raises(AssertionError, match="query vertices of one class differ"):
            slot_keys(alike)

    @pytest.mark.turns(8, "emulated")
    def test_lanes_are_chosen_by_rows_of_candidates_not_of_all_vertices(
        self, accelerator: Accelerator, device: str
    ) -> None:
        # Nine vertices joined to nine others, among 300 vertices of another label.
        edges = [(u, v) for u in range(9) for v in range(9, 18)]
        graph = mf.Graph.from_edges(edges, num_vertices=318, vertex_labels=[0] * 9 + [1] * 9 + [2] * 300)
        request = make_request(
            semantics="isomorphism", symmetry="embeddings", tuning=private_tuning({"packing": "off"})
        )
        plan = plan_of(graph, mf.Pattern.parse("(a:0)--(b:1)--(c:0)"))
        with search_job(accelerator, graph, plan, request) as search:
            (made,) = spaces(graph, accelerator.device)
            assert {rows.starts for rows in made.slots.values()} == {9}
            assert search.launches.groups_of_block == THREADS // 16

    def test_a_set_that_becomes_empty_on_the_device_only_gives_zero(
        self, accelerator: Accelerator, device: str
    ) -> None:
        # A path has no square; without rounds its vertices are candidates by their labels.
        graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3)], vertex_labels=[0, 1, 2, 3])
        pattern = mf.Pattern.parse("(a:0)--(b:1)--(c:2)--(d:3)--(a)")
        plan = plan_of(graph, pattern, rounds="0", degrees="off")
        assert plan.impossible is None
        assert plan.space is not None
        with chances_by(0):  # the emulator's filter goes all its rounds
            assert count(accelerator, graph, replace(plan, space=replace(plan.space, rounds=4))) == 0
        (made,) = spaces(graph, accelerator.device)
        assert 0 in made.sizes
        assert all(rows.arcs == 0 for rows in made.slots.values())

    @pytest.mark.turns(8, "emulated")
    def test_more_kinds_of_edges_than_kernels_know_are_searched_without_a_space(
        self, device: str, accelerator: Accelerator
    ) -> None:
        labels = np.arange(20) % 20
        graph = mf.Graph.from_edges([(v, v + 1) for v in range(20)], edge_labels=labels.tolist())
        builder = mf.PatternBuilder()
        for vertex in range(19):
            builder = builder.vertex(f"q{vertex}")
        for edge in range(18):
            builder = builder.edge(f"q{edge}", f"q{edge + 1}", edge)
        assert mf.count(graph, builder.build(), device=device, tuning={"candidates": "on"}) == 1
        assert spaces(graph, accelerator.device) == []
