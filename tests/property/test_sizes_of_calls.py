"""Calls of very different sizes on one monitor whose updates are matched on a device."""

from __future__ import annotations

import numpy as np
import pytest

import motiflux as mf

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the CPU's monitor prepares no searches")

VERTICES, MANY = 400, 4200


@pytest.mark.turns(8, "cpu", "emulated")
@pytest.mark.parametrize("mode", ["batch", "sequence"])
def test_few_updates_after_many_and_many_after_few_agree_with_the_cpu(device: str, mode: str) -> None:
    pairs = np.array([(u, v) for u in range(VERTICES) for v in range(u)])
    pairs = np.random.default_rng(1).permutation(pairs)
    first, others = pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]
    hub = np.array([(VERTICES, v) for v in range(VERTICES)])
    start = np.concatenate([first, hub])
    graph = mf.Graph.from_edges((start[:, 0].copy(), start[:, 1].copy()))
    here, there = (mf.Monitor(graph, "(a)--(b)--(c)--(a)", mode=mode, device=one) for one in ("cpu", device))
    many, few = others[:MANY], others[-6:]
    for inserts, edges in ((1, few), (0, few), (1, many), (1, few), (0, many), (0, few), (1, many), (1, few)):
        updates = mf.Updates(np.full(len(edges), bool(inserts)), edges[:, 0].copy(), edges[:, 1].copy())
        expected, found = here.apply(updates)[0], there.apply(updates)[0]
        assert (found.positive, found.negative) == (expected.positive, expected.negative)
