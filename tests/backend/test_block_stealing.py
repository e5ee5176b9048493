"""Work that changes hands within a block: nothing is lost or comes twice, whoever has it in the end."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

import motiflux as mf
from motiflux.codegen.kernels import WITHIN_BLOCK, Goal
from motiflux.config import private_tuning
from motiflux.device import devices_like
from motiflux.gpu.rows import stored_rows
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.gpu.runtime.job import SearchJob
from motiflux.gpu.strategy import DeviceFacts, search_kernel
from motiflux.plan import make_plan
from motiflux.request.request import make_request
from tests.backend.test_stealing import PATTERNS, one_sided, pattern
from tests.executing import counting_job, engine_on

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the CPU has no blocks")

SHORT = [name for name in PATTERNS if name != "long path"]
within = pytest.mark.parametrize("within", WITHIN_BLOCK)
outside = pytest.mark.parametrize("outside", ["on", "off"])


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have groups look after every turn whether somebody waits: what is searched here is small."""
    monkeypatch.setattr("motiflux.codegen.kernels.CHECK_TURNS", (1, 2))


def switches(within: str, outside: str = "on", **more: str) -> dict[str, str]:
    return private_tuning({"bitmaps": "off", "lanes": "8", "handover": outside, "stealing": within, **more})


def searched(graph: mf.Graph, wanted: mf.Pattern, device: str, tuning: dict[str, str]) -> tuple[int, int]:
    """Count by a search of its own; return the count, and how often work changed hands within a block."""
    request = make_request(semantics="isomorphism", symmetry="embeddings", device=device, tuning=tuning)
    plan = make_plan(graph, wanted, tuning=request.tuning)
    with counting_job(engine_on(open_accelerator(device)), graph, plan, request) as search:
        search.launch()
        wait_for(search)
        final = search.control.final
        assert final.done == search.launches.task.arcs
        return search.result().found * plan.multiplier, int(final.stolen)


def wait_for(search: SearchJob) -> None:
    while not search.done():
        time.sleep(1e-3)


@pytest.mark.parametrize(
    ("name", "arcs", "asked", "taken"),
    [
        ("long path", 7, "auto", "passive"),
        ("long path", 8, "auto", None),
        ("clique", 1, "auto", None),  # three levels are no depth
        ("long path", 1, "none", None),
        ("clique", 100, "passive", "passive"),
        ("long path", 100, "active", "active"),
    ],
)
def test_few_root_arcs_that_lead_deep_are_shared(
    device: str, name: str, arcs: int, asked: str, taken: str | None
) -> None:
    request = make_request(semantics="isomorphism", symmetry="embeddings", tuning={"stealing": asked})
    plan = make_plan(one_sided(0), pattern(name))
    plan = replace(plan, estimates=(1.0, float(arcs), *plan.estimates[2:]))
    assert search_kernel(plan, Goal.COUNT, DeviceFacts(multiprocessors=1), request).stealing == taken


@within
@outside
@pytest.mark.parametrize("semantics", ["isomorphism", "induced", "homomorphism"])
def test_counts_are_those_without(device: str, within: str, outside: str, semantics: str) -> None:
    for seed, name in enumerate(SHORT):
        graph = one_sided(seed)
        expected = mf.count(graph, pattern(name), semantics=semantics, device="cpu")
        tuning = switches(within, outside)
        assert (
            mf.count(graph, pattern(name), semantics=semantics, device=device, tuning=tuning) == expected
        ), name


@within
@pytest.mark.parametrize("lanes", ["16", "32"])
def test_counts_of_wider_groups_are_those_without(device: str, within: str, lanes: str) -> None:
    graph = one_sided(1)
    for more in ({}, {"tail": "off"}, {"tail": "off", "packing": "off"}):
        tuning = switches(within, **{"lanes": lanes, **more})
        for name in ("path", "tailed clique"):
            expected = mf.count(graph, pattern(name), device="cpu")
            assert mf.count(graph, pattern(name), device=device, tuning=tuning) == expected


@within
def test_a_plan_that_is_compiled_in_counts_the_same(device: str, within: str) -> None:
    graph = one_sided(2)
    expected = mf.count(graph, pattern("clique"), device="cpu")
    tuning = switches(within, specialize="on")
    assert mf.count(graph, pattern("clique"), device=device, tuning=tuning) == expected


@within
@outside
def test_rows_are_those_without(device: str, within: str, outside: str) -> None:
    for seed, name in enumerate(SHORT):
        graph = one_sided(4 + seed)
        expected = sorted(mf.match(graph, pattern(name), device="cpu").to_numpy().tolist())
        found = mf.match(graph, pattern(name), device=device, tuning=switches(within, outside))
        assert sorted(found.to_numpy().tolist()) == expected, name
        assert found.complete is True


@within
@outside
@pytest.mark.parametrize("more", [{"tail": "off"}, {}], ids=["matched", "tail"])
def test_work_changes_hands(device: str, within: str, outside: str, more: dict[str, str]) -> None:
    graph, wanted = one_sided(6), pattern("long path")
    found, stolen = searched(graph, wanted, device, switches(within, outside, **more))
    assert found == mf.count(graph, wanted, device="cpu")
    # With other policies the emulator lets one group do all before another begins.
    if os.environ.get("MOTIFLUX_SIMT_POLICY", "random") == "random":
        assert stolen > 0


def test_no_work_changes_hands_unless_asked(device: str) -> None:
    graph, wanted = one_sided(6), pattern("long path")
    assert searched(graph, wanted, device, switches("none"))[1] == 0


@within
def test_limits_hold(device: str, within: str) -> None:
    graph = one_sided(5)
    whole = mf.count(graph, pattern("path"), device="cpu")
    for limit in (0, 1, 1000, whole - 1, whole, whole + 1):
        options = {"device": device, "tuning": switches(within), "limit": limit}
        counted = mf.count(graph, pattern("path"), **options)
        assert (counted, counted.complete) == (min(limit, whole), limit >= whole)
        rows = mf.match(graph, pattern("path"), **options).to_numpy()
        assert len({tuple(row) for row in rows.tolist()}) == min(limit, whole)


@within
@outside
@pytest.mark.parametrize("way", ["memory", "more memory", "pauses"])
def test_rows_of_groups_that_break_off_are_handed_out_once(
    device: str, monkeypatch: pytest.MonkeyPatch, within: str, outside: str, way: str
) -> None:
    """For want of room, or asked to: others wait for work meanwhile, or take some."""
    if way == "pauses":
        monkeypatch.setattr(stored_rows, "HAND_OUT_SECONDS", 0.0)
        monkeypatch.setattr("motiflux.request.deadline._SPIN_SECONDS", 0.0)
    else:
        monkeypatch.setattr(stored_rows, "_MOST_BYTES", 1 if way == "memory" else 4000)
    graph = one_sided(7)
    expected = sorted(mf.match(graph, pattern("path"), device="cpu").to_numpy().tolist())
    tuning = switches(within, outside)
    rows = mf.match(graph, pattern("path"), device=device, tuning=tuning).to_numpy()
    assert sorted(rows.tolist()) == expected


@within
@outside
def test_a_stopped_search_ends(device: str, within: str, outside: str) -> None:
    graph, wanted = one_sided(8), pattern("long path")
    request = make_request(
        semantics="isomorphism",
        symmetry="embeddings",
        device=device,
        tuning=switches(within, outside, tail="off"),
    )
    plan = make_plan(graph, wanted, tuning=request.tuning)
    whole = mf.count(graph, wanted, device="cpu")
    for seconds in (0.0, 1e-3, 1e-2):
        with counting_job(engine_on(open_accelerator(device)), graph, plan, request) as search:
            search.launch()
            time.sleep(seconds)
            search.stop_and_wait()
            assert search.result().found * plan.multiplier <= whole


@within
@pytest.mark.parametrize("parts", ["auto", "off"])
def test_numbers_beyond_64_bits_are_whole(device: str, within: str, parts: str) -> None:
    """A hub with leaves, 12 of which are matched, and 20 by 20 ways from it to others."""
    leaves, ways = [(0, 1 + leaf) for leaf in range(40)], range(20)
    from_hub = [(0, 100 + first) for first in ways]
    across = [(100 + first, 200 + second) for first in ways for second in ways]
    graph = mf.Graph.from_edges(
        leaves + from_hub + across + [(200 + second, 300 + second) for second in ways]
    )
    wanted = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), *((0, 4 + leaf) for leaf in range(12))])
    expected = mf.count(graph, wanted, device="cpu")
    assert expected > 2**64
    tuning = switches(within, tables="off", parts=parts)
    assert mf.count(graph, wanted, device=device, tuning=tuning) == expected


@within
def test_several_devices_share_it(device: str, within: str) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    graph = one_sided(9)
    expected = sorted(mf.match(graph, pattern("path"), device="cpu").to_numpy().tolist())
    options = {"device": device, "devices": 2, "tuning": switches(within)}
    assert mf.count(graph, pattern("path"), **options) == len(expected)
    assert sorted(mf.match(graph, pattern("path"), **options).to_numpy().tolist()) == expected
