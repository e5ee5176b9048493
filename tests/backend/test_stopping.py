"""Kernels that are told to stop look at that in the middle of what takes them long."""

from __future__ import annotations

import time

import numpy as np
import pytest

import motiflux as mf
from motiflux.codegen import layout
from motiflux.gpu.kernels import cliques
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.plan import make_plan
from motiflux.plan.physical import Family
from motiflux.request.request import make_request
from tests.backend.cases import clique
from tests.executing import counting_job, engine_on

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the kernels are not the CPU's")

MEMBERS = 750
"""So many that a block has looked half of them up when it first looks whether to stop."""


@pytest.fixture(scope="module")
def dense() -> mf.Graph:
    return mf.Graph.from_edges(np.transpose(np.triu_indices(MEMBERS, 1)))


@pytest.mark.parametrize("semantics", ["isomorphism", "induced"])
@pytest.mark.parametrize("lacking", [0, 1], ids=["cliques", "cones"])
def test_nothing_is_counted_among_links_that_are_not_all_known(
    device: str, dense: mf.Graph, lacking: int, semantics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first unit of a block is begun although it is told to stop, and neither looked up nor counted.

    With links missing, `induced` would find cones where there are none.
    """
    monkeypatch.setattr(cliques, "_SHARED_BYTES", 98 << 10)  # units in device memory are not even begun
    pattern = mf.Pattern.from_edges(clique(5)[lacking:])
    options = {"semantics": semantics, "symmetry": "subgraphs"}
    request = make_request(**options, device=device, tuning={"bitmaps": "on", "tables": "off"})
    plan = make_plan(dense, pattern, semantics=request.semantics, symmetry=request.symmetry)
    engine = engine_on(open_accelerator(device))
    family = Family.UNIVERSAL_VERTEX if lacking else Family.CLIQUES
    assert engine.strategy(dense, plan, request).stages[0].family is family
    with counting_job(engine, dense, plan, request) as search:
        session, stop = search.session, layout.Control.stop.offset
        search._bind(session)
        clear = search.control.clear

        def clear_and_stop() -> None:
            clear()
            session.main.upload(search.control.buffer, session.stop_word, stop)

        search.control.clear = clear_and_stop
        search.control.stopped = search.control.flagged = True
        search.launch()
        while not search.done():
            time.sleep(1e-3)
        assert search.launches.task.blocks > search.launches.task.spilled == 0
        assert search.result().found == 0
