"""Budgets that are too small and devices that others fill: said in words, and never a wrong count."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.errors import DeviceMemoryError
from motiflux.gpu import engine as engine_module
from motiflux.gpu.engine import DfsEngine
from motiflux.plan.physical import Family, PhysicalPlan
from tests.backend.cases import EDGE, TRIANGLE, clique
from tests.fault.benches import Bench, SharedDevice
from tests.fault.conftest import Connect
from tests.rotating import in_turn

FIVE_CLIQUE = mf.Pattern.from_edges(clique(5))
"""Its search reads the graph's rows whole and cut, and keeps candidate lists."""
LISTS = "candidate lists of the search"
SHARES = in_turn(2, [at / 40 for at in range(40)])
"""How much more than the least a budget is, as a share of what else is held."""


@pytest.fixture
def graph() -> mf.Graph:
    """A random graph with some hundred 5-cliques; its copies take some 36 KB."""
    return drawn(1)


@pytest.fixture
def other() -> mf.Graph:
    """Another one like it."""
    return drawn(2)


def drawn(seed: int) -> mf.Graph:
    pairs = np.random.default_rng(seed).integers(0, 200, (3000, 2))
    return mf.Graph.from_edges(pairs, self_loops="drop")


def on_cpu(graph: mf.Graph, pattern: mf.Pattern = FIVE_CLIQUE) -> int:
    found = int(mf.count(graph, pattern, device="cpu"))
    assert found > 0
    return found


def count(graph: mf.Graph, bench: Bench, pattern: mf.Pattern = FIVE_CLIQUE, **options: Any) -> int:
    options = {"tuning": {"bitmaps": "off"}, **options}  # cliques in bits need no lists
    found = mf.count(graph, pattern, device=bench.name, engine="dfs", **options)
    assert (found.engine, found.complete) == ("dfs", True)
    return int(found)


def refusal(
    graph: mf.Graph, bench: Bench, pattern: mf.Pattern = FIVE_CLIQUE, **options: Any
) -> DeviceMemoryError:
    with pytest.raises(DeviceMemoryError) as caught:
        count(graph, bench, pattern, **options)
    return caught.value


def enough(graph: mf.Graph, bench: Bench, pattern: mf.Pattern = FIVE_CLIQUE, **options: Any) -> int:
    """Return a budget that serves: one that was raised by what each error said was missing."""
    budget = bench.held() + 100
    for _ in range(20):
        try:
            count(graph, bench, pattern, gpu_memory=budget, **options)
        except DeviceMemoryError as error:
            budget += max(1, error.needed - error.available)
        else:
            return budget
    raise AssertionError("what the errors say is missing is never enough")


@pytest.fixture
def lists(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the sizes of the candidate lists that searches get, as they get them."""
    return recorded(bench, monkeypatch)


def plan_no_fallbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nothing replace kernels that do not fit."""
    plainly = DfsEngine.strategy

    def strategy(*given: Any, **options: Any) -> PhysicalPlan:
        return replace(plainly(*given, **options), fallback=None)

    monkeypatch.setattr(DfsEngine, "strategy", strategy)


def recorded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    sizes: list[int] = []
    allocate = bench.device.allocate

    def recording(nbytes: int, what: str, **options: Any) -> Any:
        buffer = allocate(nbytes, what, **options)
        if what == LISTS:
            sizes.append(nbytes)
        return buffer

    monkeypatch.setattr(bench.device, "allocate", recording)
    return sizes


class TestBudgets:
    @pytest.mark.parametrize("call", [mf.count, mf.match])
    def test_a_budget_below_the_graph_is_refused_in_words_and_a_larger_one_serves(
        self, bench: Bench, graph: mf.Graph, call: Any
    ) -> None:
        budget = bench.held() + 1000
        with pytest.raises(
            DeviceMemoryError,
            match=rf"^a copy of the graph: expected [\d,]+ bytes of device memory, found [\d,]+; "
            rf"the budget gpu_memory is {budget:,} bytes, of which motiflux holds [\d,]+: raise it, or ",
        ) as caught:
            call(graph, FIVE_CLIQUE, device=bench.name, gpu_memory=budget)
        assert caught.value.needed > caught.value.available >= 0
        assert f"expected {caught.value.needed:,} bytes" in str(caught.value)
        assert caught.value.__context__ is None
        assert count(graph, bench, gpu_memory=budget + (1 << 20)) == on_cpu(graph)

    @pytest.mark.turns(8)
    def test_raising_a_budget_by_what_each_error_says_is_missing_ends_in_the_count(
        self, bench: Bench, graph: mf.Graph
    ) -> None:
        budget = enough(graph, bench)
        assert count(graph, bench, gpu_memory=budget) == on_cpu(graph)
        error = refusal(graph, bench, gpu_memory=budget - 1)
        assert str(error).startswith(LISTS)
        assert error.needed - error.available == 1

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("shared", [24 << 10, 700])
    def test_cliques_in_bits_keep_to_a_budget_too(
        self, bench: Bench, graph: mf.Graph, shared: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("motiflux.gpu.kernels.cliques._SHARED_BYTES", shared)
        with monkeypatch.context() as patched:
            plan_no_fallbacks(patched)
            budget = enough(graph, bench, tuning={})
        held = bench.held(graph)
        refusal(graph, bench, gpu_memory=budget - 1, tuning={})
        assert bench.held(graph) == held
        assert count(graph, bench, gpu_memory=budget, tuning={}) == on_cpu(graph)
        assert bench.held(graph) == held

    @pytest.mark.turns(8)
    def test_cliques_in_bits_that_do_not_fit_give_way_to_a_search(
        self, bench: Bench, graph: mf.Graph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refused: list[str] = []

        def refuse(*_: object, **__: object) -> None:
            refused.append("cliques")
            raise DeviceMemoryError("neighbourhoods in bits", 100, 10, "for the test")

        monkeypatch.setitem(engine_module.SET_UP, Family.CLIQUES, refuse)
        assert count(graph, bench, tuning={}) == on_cpu(graph)
        assert refused == ["cliques"]
        held = bench.held(graph)
        # If nothing fits, the error is that of the kernels that were to count.
        assert str(refusal(graph, bench, gpu_memory=held + 100, tuning={})).startswith(
            "neighbourhoods in bits"
        )
        assert bench.held(graph) == held

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("pattern", in_turn(1, [EDGE, FIVE_CLIQUE]), ids=["edge", "5-clique"])
    def test_a_refusal_at_any_allocation_leaves_nothing_on_the_device(
        self, bench: Bench, graph: mf.Graph, pattern: mf.Pattern
    ) -> None:
        count(graph, bench, pattern)
        held = bench.held(graph)
        budget = enough(graph, bench, pattern)
        for short in range(1, budget - held, max(1499, (budget - held) // 200)):
            graph.forget()
            refusal(graph, bench, pattern, gpu_memory=budget - short)
            assert bench.held(graph) == held
        assert count(graph, bench, pattern, gpu_memory=budget) == on_cpu(graph, pattern)

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("share", [0.9, 0.5, 0.0])
    def test_a_budget_that_is_short_of_lists_means_fewer_groups_and_the_same_count(
        self, bench: Bench, graph: mf.Graph, lists: list[int], share: float
    ) -> None:
        least = enough(graph, bench)
        count(graph, bench)
        one, all_ = lists
        room = one + int(share * (all_ - one))
        assert count(graph, bench, gpu_memory=least - one + room) == on_cpu(graph)
        assert one <= lists[-1] <= room < all_
        assert count(graph, bench, gpu_memory=least - one + all_) == on_cpu(graph)
        assert lists[-1] == all_

    @pytest.mark.turns(8)
    def test_a_listing_that_is_short_of_memory_loses_no_row(
        self, bench: Bench, graph: mf.Graph, lists: list[int]
    ) -> None:
        rows = mf.match(graph, FIVE_CLIQUE, device=bench.name, engine="dfs").to_numpy()
        budget = bench.held() + lists[0] // 2
        options = {"device": bench.name, "engine": "dfs", "gpu_memory": budget}
        fewer = mf.match(graph, FIVE_CLIQUE, **options).to_numpy()
        assert lists[1] < lists[0]
        assert sorted(fewer.tolist()) == sorted(rows.tolist())
        assert len(fewer) == on_cpu(graph)

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("share", SHARES)
    def test_what_an_idle_graph_holds_makes_room_for_any_search_that_fits_without(
        self, bench: Bench, graph: mf.Graph, other: mf.Graph, share: float
    ) -> None:
        least = enough(graph, bench)
        budget = least + int(share * (bench.held(graph) + least))
        bench.held(graph, other)
        refusal(graph, bench, gpu_memory=1)  # asked first for what it holds, from now on
        assert count(other, bench) == on_cpu(other)
        assert count(graph, bench, gpu_memory=budget) == on_cpu(graph)
        assert bench.held() <= budget

    @pytest.mark.turns(8)
    @pytest.mark.parametrize(
        ("pattern", "short"), in_turn(3, list(product([EDGE, FIVE_CLIQUE], [1, 2500, 20_000])))
    )
    def test_whoever_handles_a_refusal_has_the_whole_budget_for_another_graph(
        self, bench: Bench, graph: mf.Graph, other: mf.Graph, pattern: mf.Pattern, short: int
    ) -> None:
        budget, others = enough(graph, bench, pattern), enough(other, bench)
        bench.held(graph, other)
        error = refusal(graph, bench, pattern, gpu_memory=budget - short)
        assert error.__traceback__ is not None  # as in a handler, it holds the frames that it passed
        assert count(other, bench, gpu_memory=others) == on_cpu(other)


@pytest.mark.devices("cpu", "emulated", reason="what others hold is up to an emulated device")
class TestFullDevice:
    @pytest.fixture
    def shared(self) -> SharedDevice:
        return SharedDevice()

    @pytest.fixture
    def bench(self, connect: Connect, shared: SharedDevice) -> Bench:
        return connect(shared)

    @pytest.mark.turns(8)
    @pytest.mark.parametrize(
        ("left", "budget"), in_turn(4, list(product([0, 1000, 15_000, 36_500], [None, "1GiB"])))
    )
    def test_a_device_that_others_fill_is_said_whatever_the_budget_and_serves_once_they_leave(
        self, bench: Bench, shared: SharedDevice, graph: mf.Graph, left: int, budget: str | None
    ) -> None:
        shared.leave(left)
        error = refusal(graph, bench, gpu_memory=budget)
        assert error.needed > error.available
        assert "gpu_memory" not in str(error)
        assert bench.held(graph) <= left
        assert mf.count(graph, FIVE_CLIQUE, device="cpu") == on_cpu(graph)
        shared.leave(1 << 20)
        assert count(graph, bench, gpu_memory=budget) == on_cpu(graph)

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("unseen", [0, 1 << 30])
    def test_a_device_with_room_for_few_groups_counts_the_same(
        self,
        bench: Bench,
        shared: SharedDevice,
        graph: mf.Graph,
        lists: list[int],
        unseen: int,
    ) -> None:
        count(graph, bench, tuning=private_tuning({"bitmaps": "off", "rest": "off"}))
        shared.leave(lists[0] // 2)
        shared.unseen = unseen
        assert count(graph, bench, gpu_memory="1GiB") == on_cpu(graph)
        assert 0 < lists[1] <= lists[0] // 2

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("share", SHARES)
    def test_copies_of_an_idle_graph_make_room_on_a_full_device(
        self, bench: Bench, shared: SharedDevice, graph: mf.Graph, other: mf.Graph, share: float
    ) -> None:
        least = enough(graph, bench)
        room = least + int(share * least)
        bench.held(graph, other)
        refusal(graph, bench, gpu_memory=1)  # asked first for what it holds, from now on
        shared.leave(1 << 20)
        assert count(other, bench) == on_cpu(other)
        shared.leave(room - bench.held())
        assert count(graph, bench) == on_cpu(graph)


FILL = """
import sys
from motiflux.device import open_device
from motiflux.errors import DeviceMemoryError
device, held = open_device("cuda"), []
for size in (1 << 30, 1 << 26, 1 << 22):
    try:
        while True:
            held.append(device.allocate(size, "a test"))
    except DeviceMemoryError:
        pass
print("filled", flush=True)
sys.stdin.read()
"""


@contextmanager
def another_process_fills_the_gpu() -> Iterator[None]:
    """Have another process hold all but a few megabytes."""
    command = [sys.executable, "-c", FILL]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "filled\n"
        yield
        process.stdin.close()
    assert process.returncode == 0


@pytest.mark.devices("cuda", reason="only a GPU is shared with other processes")
def test_a_gpu_that_another_process_fills_is_said_and_serves_once_that_ends(
    bench: Bench, device: str
) -> None:
    pairs = np.random.default_rng(1).integers(0, 1 << 20, (28 << 20, 2))
    large = mf.Graph.from_edges(pairs, self_loops="drop")  # over 100 MB there: more than is left
    expected = mf.count(large, TRIANGLE, device="cpu")
    with another_process_fills_the_gpu():
        with pytest.raises(DeviceMemoryError, match=r": expected .* are free, motiflux holds .*nvidia-smi"):
            mf.count(large, TRIANGLE, device=device, engine="dfs")
        assert mf.count(large, TRIANGLE, device="cpu") == expected
    assert mf.count(large, TRIANGLE, device=device) == expected
