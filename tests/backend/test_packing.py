"""The last two levels at once: the counts of one candidate after the other."""

from __future__ import annotations

import time

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.plan import make_plan
from motiflux.request.request import make_request
from tests.backend.cases import clique, cycle, path
from tests.executing import counting_job, engine_on

PATTERNS = {
    "one set": (path(4), False),
    "two sets": (cycle(4), False),
    "three sets": (clique(4), False),
    "a set that is kept": ([*cycle(4), (0, 2)], False),
    "a set of its own only": ([*clique(3), (2, 3)], False),
    "both directions": ([(0, 1), (1, 2), (2, 3), (3, 2), (3, 0)], True),
    "directed triangle": ([(0, 1), (1, 2), (2, 0)], True),
    "directed path": ([(0, 1), (2, 1), (2, 3)], True),
}
SWITCHES = [private_tuning({"packing": packing, "bitmaps": "off", "lanes": "8"}) for packing in ("on", "off")]


def graph_of(directed: bool, labels: int) -> mf.Graph:
    """Rows of very different lengths: a hub, and a tail of vertices with one or two neighbours."""
    random = np.random.default_rng(11)
    pairs = np.minimum(random.integers(0, 48, (210, 2)), random.integers(0, 48, (210, 2)))
    kinds = random.integers(0, labels, 48).tolist()
    return mf.Graph.from_edges(
        pairs, directed=directed, self_loops="drop", num_vertices=48, vertex_labels=kinds
    )


@pytest.mark.parametrize("semantics", ["isomorphism", "induced", "homomorphism"])
@pytest.mark.parametrize("name", PATTERNS)
def test_counts_are_those_of_the_walk(device: str, name: str, semantics: str) -> None:
    edges, directed = PATTERNS[name]
    pattern = mf.Pattern.from_edges(edges)
    for labels in (1, 3):
        graph = graph_of(directed, labels)
        options = {"semantics": semantics, "device": device}
        expected = len(mf.match(graph, pattern, semantics=semantics, device="cpu").to_numpy())
        counts = [mf.count(graph, pattern, **options, tuning=tuning) for tuning in SWITCHES]
        assert counts == [expected] * 2
        if semantics == "homomorphism":
            assert expected > 0


@pytest.mark.parametrize("specialize", ["on", "off"])
def test_labelled_ends_are_counted_too(device: str, specialize: str) -> None:
    graph = graph_of(False, 3)
    for edges in (path(4), cycle(4), [*clique(3), (1, 3), (2, 3)]):
        for labels in ([0, 1, 2, 0], [None, 0, 0, 1], [2, 2, None, None]):
            pattern = mf.Pattern.from_edges(edges, vertex_labels=labels)
            expected = len(mf.match(graph, pattern, device="cpu").to_numpy())
            for tuning in SWITCHES:
                tuned = {**tuning, "specialize": specialize if labels[0] == 0 else "off"}
                assert mf.count(graph, pattern, device=device, tuning=tuned) == expected


def test_limits_hold(device: str) -> None:
    graph, pattern = graph_of(False, 1), mf.Pattern.from_edges(path(4))
    whole = mf.count(graph, pattern, device="cpu")
    for limit in (0, 7, whole - 1, whole, whole + 1):
        for tuning in SWITCHES:
            counted = mf.count(graph, pattern, device=device, limit=limit, tuning=tuning)
            assert (counted, counted.complete) == (min(limit, whole), limit >= whole)


@pytest.mark.devices("emulated", "cuda", reason="the CPU has no strips")
def test_strips_of_long_lists_do_not_keep_a_search_from_stopping(device: str) -> None:
    """When a group hears that the limit is passed it has found a few lists, not a whole strip of them."""
    hubs, leaves = 40, 9000
    edges = [(hub, other) for hub in range(hubs) for other in range(hub + 1, hubs + leaves)]
    graph = mf.Graph.from_edges(edges, vertex_labels=[0] * hubs + [1] * leaves)
    triangle = mf.Pattern.from_edges(clique(3), vertex_labels=[0, 0, 1])
    tuning = {"order": "given", "candidates": "off", "tables": "off", "specialize": "off"}
    request = make_request(semantics="homomorphism", symmetry="embeddings", device=device, tuning=tuning)
    plan = make_plan(graph, triangle, semantics=request.semantics, tuning=request.tuning)
    engine = engine_on(open_accelerator(device))
    with counting_job(engine, graph, plan, request, 0) as search:
        search.launch()
        while not search.done():
            time.sleep(1e-3)
        assert search.result().limited
        assert 0 < search.result().found <= search.launches.groups * 10 * leaves
