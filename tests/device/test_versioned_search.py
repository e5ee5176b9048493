"""Searches over rows of several versions count what searches over changing rows do, each at its moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

import motiflux as mf
from motiflux.codegen.changing import ROOT
from motiflux.codegen.kernels import Goal
from motiflux.codegen.streaming import TARGET_VERSIONS, VERSIONED_ROOT, over_versions
from motiflux.gpu.changing.engine import ChangingEngine
from motiflux.gpu.changing.manner import Manner
from motiflux.gpu.changing.searches.run import RunSearch
from motiflux.gpu.changing.searches.set_up import waited
from tests.device.versions import Change, Edge, Graph, Model, Places

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")

IN = 1
"""``dynamic::Way::kIn``."""


@dataclass
class Compared:
    """Counts each run of a monitor again, over versions."""

    image: bytes
    edges: list[Edge]
    changes: list[Change]
    vertices: int
    directed: bool
    batch_size: int
    totals: int = 0
    _written: tuple[Any, ...] = ()

    @contextmanager
    def watching(self) -> Iterator[None]:
        write, count = ChangingEngine._write, RunSearch.count

        def noting(
            engine: ChangingEngine, job: Any, run: Any, table: Any, roots: Any, *rest: Any, **more: Any
        ) -> Any:
            self._written = table, roots
            return write(engine, job, run, table, roots, *rest, **more)

        def counting(search: RunSearch, job: Any, searched: Any, roots: Any, slots: int, *rest: Any) -> Any:
            expected = count(search, job, searched, roots, slots, *rest)
            found = self._count_again(search, job, searched, slots)
            assert (found == expected).all()
            self.totals += int(expected[:, 0].sum())
            return expected

        with (
            mock.patch.object(ChangingEngine, "_write", noting),
            mock.patch.object(RunSearch, "count", counting),
        ):
            yield

    def _count_again(self, search: RunSearch, job: Any, searched: Any, slots: int) -> NDArray[np.uint64]:
        table, divided = self._written
        graph = self._graph_of(job, table)
        roots = np.zeros(divided.num_counted, ROOT)
        divided.write(roots.view(np.uint8), np.zeros(0, np.uint8))
        versioned = np.zeros(len(roots), VERSIONED_ROOT)
        for name in ("plan", "vertices", "moment", "slot"):
            versioned[name] = roots[name]
        rows = np.zeros(len(table.names), TARGET_VERSIONS)
        places = rows["versions"]
        places["heads"], places["memory"] = graph.address("heads"), graph.address("memory")
        rows["first_row"] = self.vertices * np.arange(len(rows))
        searched = replace(
            searched, rows=graph.put("rows", rows), longest=max(searched.longest, self.vertices)
        )
        source = Manner.source
        with mock.patch.object(Manner, "source", lambda *a, **more: over_versions(source(*a, **more))):
            at_roots = graph.put("roots", versioned)
            argument = search._set_up.search(job, searched, Goal.COUNT, (at_roots, len(roots)))
            argument.plan.totals = search._totals.clear(job.stream, slots)
            search._set_up.launch(job)
            assert waited(job, job, lambda: True)
            return search._totals.found(job.stream)

    def _graph_of(self, job: Any, table: Any) -> Graph:
        places: list[tuple[int, bool]] = []
        for number, (_, way) in enumerate(table.names):
            ends = [way == IN] if self.directed else [False, True]
            places += [(number * self.vertices, end) for end in ends]
        written: Places = (tuple(places),)
        rows = self.vertices * len(table.names)
        model = Model(rows, written)
        model.load(self.edges, [0] * len(self.edges))
        device = job.accelerator.device
        graph = Graph(
            device, job.stream, device.load(self.image, "versions").kernel, rows, units=60_000,
            slot_count=1024, places=written, farthest_end=self.batch_size + 2,
        )  # fmt: skip
        assert graph.load(model.now)
        graph.write(self.changes, [0] * len(self.changes), batch_size=self.batch_size)
        return graph


PATTERNS = {
    "triangle": [(0, 1), (1, 2), (0, 2)],
    "4-cycle": [(0, 1), (1, 2), (2, 3), (0, 3)],
    "diamond": [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)],
    "star": [(0, 1), (0, 2), (0, 3)],
}


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("batch_size", [1, 16])
def test_each_update_counts_what_it_counts_over_changing_rows(
    device: str, image_of: Callable[[Path], bytes], semantics: Any, directed: bool, batch_size: int
) -> None:
    random = np.random.default_rng(3)
    vertices = 14
    pairs = [(u, v) for u in range(vertices) for v in range(vertices) if u != v and (directed or u < v)]
    edges = [pair for pair in pairs if random.random() < (0.2 if directed else 0.35)]
    chosen = random.integers(0, len(pairs) // 2, 200)
    changes = [(pairs[number], bool(random.random() < 0.55)) for number in chosen]
    graph = mf.Graph.from_edges(edges, num_vertices=vertices, directed=directed)
    patterns = [mf.Pattern.from_edges(one, directed=directed) for one in PATTERNS.values()]
    image = image_of(Path(__file__).with_name("versions.cu"))
    number_of = np.argsort(graph.vertex_ids).tolist()  # ids are 0, 1, and so on
    numbered = [tuple(number_of[end] for end in edge) for edge in edges]
    renumbered = [(tuple(number_of[end] for end in edge), inserts) for edge, inserts in changes]
    compared = Compared(image, numbered, renumbered, vertices, directed, batch_size)
    rows = [("+" if inserts else "-", *edge) for edge, inserts in changes]
    options: Any = {"mode": "sequence", "matches": False, "semantics": semantics, "duplicates": "ignore"}
    tuning = {"bitmaps": "off", "pooling": "off"}
    with (
        compared.watching(),
        mf.Monitor(graph, patterns, device=device, engine="changing", tuning=tuning, **options) as monitor,
    ):
        monitor.apply(rows)
    assert compared.totals > 1000
