"""When ``engine="auto"`` searches in phases."""

from __future__ import annotations

from dataclasses import replace

import motiflux as mf
from motiflux.gpu.pvm.choice import PhaseFacts, prefers_phases
from motiflux.gpu.pvm.memory import PhaseMemory, phase_memory
from motiflux.plan.bind import bind
from tests.unit.phase_cases import phases_of

FACTS = PhaseFacts(edge_labels=4, tables=100, room=1000)


def test_phases_are_for_graphs_with_several_edge_labels() -> None:
    assert prefers_phases(FACTS)
    assert not prefers_phases(replace(FACTS, edge_labels=1))


def test_phases_are_for_devices_with_room_for_embeddings_beside_partitions() -> None:
    assert prefers_phases(replace(FACTS, tables=500))
    assert not prefers_phases(replace(FACTS, tables=501))
    assert not prefers_phases(replace(FACTS, room=0))


def test_several_devices_share_a_search_instead() -> None:
    assert not prefers_phases(replace(FACTS, devices=2))


def memory(graph: mf.Graph, text: str, semantics: str = "isomorphism") -> PhaseMemory:
    pattern = mf.Pattern.parse(text)
    return phase_memory(graph, bind(pattern, graph), phases_of(graph, pattern, semantics))


def arcs(edges: list[tuple[int, int]], *, directed: bool = False, **labels: list[str]) -> mf.Graph:
    return mf.Graph.from_edges(edges, directed=directed, **labels)


class TestMemory:
    EDGES = [(u, v) for u in range(10) for v in range(u)]
    LABELS = ["x" if v < 2 else "y" for _, v in EDGES]

    def test_is_that_of_the_largest_partition_read(self) -> None:
        graph = arcs(self.EDGES, edge_labels=self.LABELS)
        few, many = self.LABELS.count("x"), self.LABELS.count("y")
        assert few < many
        of_x, of_y, of_both = (
            memory(graph, text) for text in ("(a)-[:x]-(b)", "(a)-[:y]-(b)", "(a)-[:x]-(b)-[:y]-(c)")
        )
        assert of_x.largest == _bytes(2 * few, 10)
        assert of_y.largest == of_both.largest == _bytes(2 * many, 10)
        assert of_both.partitions == of_x.partitions + of_y.partitions

    def test_has_one_partition_at_a_time_of_edges_of_any_label(self) -> None:
        graph = arcs(self.EDGES, edge_labels=self.LABELS)
        assert memory(graph, "(a)--(b)").largest == memory(graph, "(a)-[:y]-(b)").largest

    def test_has_the_directions_that_are_read(self) -> None:
        graph = arcs(self.EDGES, directed=True, edge_labels=self.LABELS)
        one, both = memory(graph, "(a)-[:x]->(b)"), memory(graph, "(a)-[:x]-(b)")
        assert both.largest == 2 * one.largest

    def test_has_new_ids_and_labels_of_vertices(self) -> None:
        plain, labelled = arcs(self.EDGES), arcs(self.EDGES, vertex_labels=[*"aabbccddee"])
        assert memory(plain, "(a)--(b)").vertices == 40
        assert memory(labelled, "(a)--(b)").vertices == 80

    def test_has_embeddings_of_all_phases(self) -> None:
        graph = arcs(self.EDGES)
        expected = [4 * 3 * 10 * 9 * 9, 4 * 3 * 10 * 9 * 9 * 90 / 100]
        assert memory(graph, "(a)--(b)--(c)--(a)", "homomorphism").frontier == sum(expected)

    def test_is_at_most_what_there_is_but_for_the_tables(self) -> None:
        found = PhaseMemory(partitions=9000, largest=600, vertices=400, frontier=1e9)
        assert found.tables == 1000
        assert found.device_bytes(5000) == 5000
        assert found.device_bytes(100) == 1000
        assert replace(found, frontier=50.0).device_bytes(5000) == 1050
        assert replace(found, frontier=float("inf")).device_bytes(5000) == 5000


def _bytes(arcs: int, vertices: int) -> int:
    """Return the bytes of a partition: neighbours, offsets and intervals."""
    return 4 * arcs + 4 * (min(arcs, vertices) + 1) + 8 * min(arcs, (vertices + 1) // 2) + 4
