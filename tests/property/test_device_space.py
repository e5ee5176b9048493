"""Candidate spaces made on a device are those of the CPU, and hold whatever any embedding needs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import motiflux as mf
from motiflux.codegen.space import MAX_KINDS
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.gpu.runtime.job import SearchJob
from motiflux.gpu.storage import candidate_space as candidate_space_module
from motiflux.gpu.storage.candidate_space import DeviceSpace, SlotKey, device_space, slot_keys
from motiflux.gpu.storage.upload import UploadContext
from motiflux.plan import Plan, make_plan
from motiflux.plan.candidates.space import candidate_space
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request
from tests.property.test_conditions import Conditioned, conditioned_cases
from tests.rotating import rotating
from tests.simt.image import chances_by
from tests.strategies import EMBEDDINGS, Case, Combination, cases

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no candidate spaces of a device")

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
MANY_ROUNDS = {"candidates": "on", "rounds": "16", "order": "cost"}


class Made:
    """The candidate space of a plan, made on a device and read back."""

    def __init__(self, device: str, graph: mf.Graph, plan: Plan) -> None:
        accelerator = open_accelerator(device)
        with SearchJob(accelerator) as search:
            stream = search.stream
            space = device_space(search, graph, plan, UploadContext(stream, 1, None, Deadline.after(None)))
            assert space is not None
            self.space: DeviceSpace = space
            size = graph.num_vertices
            self.words = np.zeros(size, np.uint32)
            slots = len(space.slots)
            offsets = np.zeros(slots * size + 1, np.uint64)
            neighbors = np.zeros(space.buffers[2].nbytes // 4, np.uint32)
            for buffer, array in zip(space.buffers, (self.words, offsets, neighbors), strict=True):
                stream.download(buffer, array)
            stream.wait()
        self.rows: dict[SlotKey, tuple[NDArray[Any], NDArray[Any]]] = {
            key: (offsets[number * size : (number + 1) * size + 1], neighbors)
            for number, key in enumerate(space.slots)
        }

    def candidates(self, vertex: int) -> NDArray[Any]:
        return np.flatnonzero(self.words >> np.uint32(vertex) & np.uint32(1))

    def row(self, key: SlotKey, vertex: int) -> list[int]:
        offsets, neighbors = self.rows[key]
        return [int(w) for w in neighbors[int(offsets[vertex]) : int(offsets[vertex + 1])]]


def few_kinds(plan: Plan) -> bool:
    """Whether the query edges are followed in no more ways than a space on a device has; else it has none."""
    assert plan.space is not None
    edges = plan.space.pattern.edges
    ways = {candidate_space_module._kind(edge, end) for edge in edges for end in (edge.source, edge.target)}
    return len(ways) <= MAX_KINDS


def plan_of(graph: mf.Graph, pattern: mf.Pattern, semantics: str, tuning: dict[str, str]) -> Plan:
    asked = make_request(semantics=semantics, symmetry="embeddings", tuning=tuning)
    return make_plan(graph, pattern, semantics=asked.semantics, space=True, tuning=asked.tuning)


def expected_row(graph: mf.Graph, made: Made, key: SlotKey, vertex: int) -> list[int]:
    """The neighbours that the slot's rows should hold, told from the words and the graph alone."""
    if not int(made.words[vertex]) & key.start:
        return []
    offsets, neighbors = graph.adjacency(key.kind)
    row = neighbors[int(offsets[vertex]) : int(offsets[vertex + 1])]
    return [int(w) for w in row if int(made.words[w]) & key.end]


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS), ids=str)
def test_sets_and_rows_are_those_of_the_cpu(combination: Combination, depth: str, device: str) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels))
    def holds(case: Case) -> None:
        graph = case.graph()
        plan = plan_of(graph, case.pattern(), combination.semantics, MANY_ROUNDS)
        assume(plan.space is not None and few_kinds(plan))
        assert plan.space is not None
        pattern = plan.space.pattern
        made, cpu = Made(device, graph, plan), candidate_space(graph, plan.space, 1)
        assert cpu is not None
        empty = any(size == 0 for size in made.space.sizes)
        if cpu.empty:
            assert empty
            assert all(rows.arcs == 0 for rows in made.space.slots.values())
            return
        # Where an edge leads either way in a directed graph, the CPU counts a neighbour of both ways twice.
        counts_twice = pattern.directed and any(edge.either for edge in pattern.edges)
        for vertex in range(pattern.size):
            mine, theirs = made.candidates(vertex), cpu.native.members(vertex)
            assert set(mine.tolist()) <= set(theirs.tolist())
            assert counts_twice or mine.tolist() == theirs.tolist()
            assert made.space.sizes[vertex] == len(mine)
        for key, rows in made.space.slots.items() if not empty else ():
            found = [made.row(key, vertex) for vertex in range(graph.num_vertices)]
            assert found == [expected_row(graph, made, key, vertex) for vertex in range(graph.num_vertices)]
            lengths = [len(row) for row in found]
            assert (rows.arcs, rows.longest) == (sum(lengths), max(lengths))

    with chances_by(0):  # the emulator's filter goes as far as the CPU's
        holds()


@pytest.mark.turns(8, "emulated")
def test_the_emulators_filter_stops_at_different_points(device: str) -> None:
    if device != "emulated":
        pytest.skip("only the emulator draws where its filter stops")
    edges = [(v, v + 1) for v in range(11)]
    graph_of = partial(mf.Graph.from_edges, edges, vertex_labels=[0, 1, 2] * 4)
    pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3)], vertex_labels=[0, 1, 2, 0])
    sizes = {}
    for seed in range(12):
        with chances_by(seed):
            graph = graph_of()  # it keeps its spaces
            sizes[seed] = Made(
                device, graph, plan_of(graph, pattern, "homomorphism", MANY_ROUNDS)
            ).space.sizes
    assert all(mine >= least for found in sizes.values() for mine, least in zip(found, sizes[0], strict=True))
    assert len(set(sizes.values())) > 2


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS), ids=str)
def test_every_image_of_every_embedding_is_a_candidate(
    combination: Combination, depth: str, device: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(conditioned_cases(combination.directed, combination.labels), st.sampled_from(("0", "1", "4")))
    def holds(given_case: Conditioned, rounds: str) -> None:
        graph, pattern = given_case.graph(), given_case.pattern()
        tuning = {"candidates": "on", "rounds": rounds, "order": "cost"}
        plan = plan_of(graph, pattern, combination.semantics, tuning)
        assume(plan.space is not None and few_kinds(plan))
        made = Made(device, graph, plan)
        for image in given_case.embeddings(combination.semantics):
            inside = graph.vertex_index(list(image))
            for vertex, at in enumerate(inside.tolist()):
                assert at in made.candidates(vertex)
            for level, (keys, step) in enumerate(zip(slot_keys(plan), plan.shape.steps, strict=True)):
                for key, source in zip(keys, step.sources, strict=True):
                    start = int(inside[plan.order[source.level]])
                    assert int(inside[plan.order[level]]) in made.row(key, start)

    holds()
