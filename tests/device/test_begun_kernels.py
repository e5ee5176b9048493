"""The kernels that `Engine.begin` has compiled are those that a count then runs."""

from __future__ import annotations

import numpy as np
import pytest

import motiflux as mf
from motiflux.gpu.engine import DfsEngine, open_engine
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import KernelJob
from motiflux.jit import Source
from motiflux.plan.physical import Family
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request
from tests.backend.cases import clique, cycle, path

WHEEL = [*cycle(4), *((4, rim) for rim in range(4))]
CASES = {
    "search": (path(4), {"tail": "off", "tables": "off", "parts": "off"}, Family.SEARCH),
    "tail": ([*cycle(3), (0, 3)], {"tables": "off"}, Family.SEARCH),
    "cliques": (clique(4), {"bitmaps": "on"}, Family.CLIQUES),
    "universal vertex": (WHEEL, {"bitmaps": "on"}, Family.UNIVERSAL_VERTEX),
}


@pytest.mark.turns(8, "emulated")
@pytest.mark.devices("emulated", "cuda", reason="the CPU compiles nothing")
@pytest.mark.parametrize(("edges", "tuning", "family"), CASES.values(), ids=CASES.keys())
def test_a_count_runs_what_was_begun(
    device: str,
    monkeypatch: pytest.MonkeyPatch,
    edges: list[tuple[int, int]],
    tuning: dict[str, str],
    family: Family,
) -> None:
    pairs = np.random.default_rng(5).integers(0, 20, (120, 2))
    graph, pattern = mf.Graph.from_edges(pairs, self_loops="drop"), mf.Pattern.from_edges(edges)
    begun: list[Source] = []
    chosen: list[Source] = []
    choose = KernelJob.choose_kernel

    def begin(self: Accelerator, source: Source) -> bool:
        begun.append(source)
        return False

    def noted(self: KernelJob, general: Source, *rest: object) -> object:
        chosen.append(general)
        return choose(self, general, *rest)

    engine = open_engine([device])  # before `begin` is replaced: common kernels begin when a device is opened
    assert isinstance(engine, DfsEngine)
    monkeypatch.setattr(Accelerator, "begin", begin)
    monkeypatch.setattr(KernelJob, "choose_kernel", noted)
    request = make_request(
        semantics="isomorphism", symmetry="embeddings", device=device, tuning={**tuning, "specialize": "off"}
    )
    physical = engine.plan(graph, pattern, request, Deadline.after(None))
    assert physical is not None
    assert physical.stages[0].family is family
    assert not engine.begin(physical, request)
    found = engine.count(graph, physical, request, Deadline.after(None))
    assert found.value == mf.count(graph, pattern, device="cpu")
    assert chosen == begun != []
