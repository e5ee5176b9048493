"""Counts that are kept to be launched once more: nothing of an earlier call shows in a later one."""

from __future__ import annotations

import gc
import os
import random
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.errors import DeviceError
from motiflux.gpu.kernels import tables
from motiflux.gpu.launch import job_pool as job_pool_module
from motiflux.gpu.launch.job_pool import job_pool
from motiflux.gpu.runtime import control_block, device_cache
from motiflux.gpu.runtime import job as job_module
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.gpu.runtime.job import KernelJob, SearchJob
from motiflux.gpu.runtime.session import Session
from motiflux.gpu.storage.device_csr import resident
from motiflux.request.deadline import Deadline
from tests.device.test_device import emptied, settled, wait_until
from tests.device.test_device_engine import interrupt_at
from tests.rotating import few_emulated, in_turn

if TYPE_CHECKING:
    from motiflux.device.base import Device

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")

DIAMOND = "(a)--(b)--(c)--(a), (b)--(d)--(c)"
HOUSE = "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)"
SEARCH = {"tables": "off", "tail": "off", "parts": "off"}
WAYS: dict[str, tuple[str, dict[str, str]]] = {
    "search": (DIAMOND, SEARCH),
    "triangles by arcs": ("(a)--(b)--(c)--(a)", {"tables": "off"}),
    "cliques": ("(a)--(b)--(c)--(a), (d)--(a), (d)--(b), (d)--(c)", {"tables": "off"}),
    "tail": ("(a)--(b)--(c)--(a), (a)--(d)", {"tables": "off", "parts": "off"}),
    "star": ("(a)--(b), (a)--(c), (a)--(d)", {"tables": "off", "parts": "off"}),
    "parts": ("(a)--(b)--(c)--(a), (a)--(d)--(e), (b)--(f)", {"tables": "off", "parts": "on"}),
    "diamond": (DIAMOND, {"tables": "on"}),
    "house": (HOUSE, {"tables": "on"}),
    "wedges": ("(a)--(b)--(c)--(d)--(a)", {"tables": "on"}),
    "candidates": ("(a:0)--(b:1)--(c:0)--(a)", {"candidates": "on"}),
}


def random_graph(seed: int, vertices: int = 60, edges: int = 260, labels: int = 2) -> mf.Graph:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, vertices, (edges, 2))
    return mf.Graph.from_edges(
        pairs[pairs[:, 0] != pairs[:, 1]],
        num_vertices=vertices,
        vertex_labels=rng.integers(0, labels, vertices),
    )


@pytest.fixture
def graph() -> mf.Graph:
    return random_graph(7)


@pytest.fixture
def accelerator(device: str) -> Accelerator:
    return open_accelerator(device)


def kept(graph: mf.Graph, accelerator: Accelerator) -> list[SearchJob]:
    return [search for place in job_pool(graph, accelerator)._places.values() for search in place]


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("way", WAYS)
def test_a_count_that_comes_again_allocates_nothing_and_finds_the_same(
    way: str, graph: mf.Graph, device: str, gpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern, tuning = WAYS[way]
    expected = mf.count(graph, pattern)
    assert mf.count(graph, pattern, device=device, tuning=tuning) == expected

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it was set up again")

    for name in ("allocate", "allocate_host", "stream", "load"):
        monkeypatch.setattr(type(gpu), name, refuse)
    for _ in range(3):
        found = mf.count(graph, pattern, device=device, tuning=tuning)
        assert (found, found.complete) == (expected, True)


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("way", in_turn(3, list(WAYS), on=["emulated"]))
def test_every_call_has_its_own_limit(way: str, graph: mf.Graph, device: str) -> None:
    pattern, tuning = WAYS[way]
    expected = mf.count(graph, pattern)
    assert expected > 20
    for limit in (None, 7, None, expected, 0, expected - 1, 10 * expected, 1, None):
        found = mf.count(graph, pattern, device=device, tuning=tuning, limit=limit)
        least = expected if limit is None else min(expected, limit)
        assert (found, found.complete) == (least, limit is None or limit >= expected)


@pytest.mark.turns(8, "emulated")
def test_switches_and_budgets_have_searches_of_their_own(
    graph: mf.Graph, device: str, accelerator: Accelerator
) -> None:
    expected = mf.count(graph, DIAMOND)
    ways: list[dict[str, Any]] = [
        {"tuning": SEARCH},
        {"tuning": {**SEARCH, "lanes": "8"}},
        {"tuning": private_tuning({**SEARCH, "handover": "off"})},
        {"tuning": SEARCH, "gpu_memory": "64MiB"},
        {"tuning": private_tuning({**SEARCH, "rest": "off"})},
    ]
    for _ in range(2):
        assert [mf.count(graph, DIAMOND, device=device, **way) for way in ways] == [expected] * len(ways)
        assert len(kept(graph, accelerator)) == len(ways) - 1


@pytest.mark.turns(8, "emulated")
def test_another_kernel_takes_another_set_up(
    graph: mf.Graph, device: str, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = mf.count(graph, DIAMOND)
    kernels = []
    set_up = KernelJob.set_up

    def told(search: SearchJob, launches: Any, *more: Any) -> None:
        kernels.append(launches.kernel)
        set_up(search, launches, *more)

    monkeypatch.setattr(KernelJob, "set_up", told)
    for special in (False, False, True, True):
        monkeypatch.setattr(
            accelerator, "choose", lambda general, own, _, s=special: (own if s else general, s)
        )
        assert mf.count(graph, DIAMOND, device=device, tuning=SEARCH) == expected
    assert len(kernels) == 2
    assert kernels[0] is not kernels[1]
    for asked, sets_up in (("auto", 0), ("off", 1), ("auto", 0)):
        before = len(kernels)
        monkeypatch.setattr(
            accelerator,
            "choose",
            lambda general, own, switch: (general, False) if switch == "off" else (own, True),
        )
        found = mf.count(graph, DIAMOND, device=device, tuning={**SEARCH, "specialize": asked})
        assert (found, len(kernels) - before) == (expected, sets_up)


@pytest.mark.parametrize("way", ["tail", "house", "candidates"])
def test_rows_that_are_given_up_are_not_read(way: str, graph: mf.Graph, device: str, gpu: Device) -> None:
    pattern, tuning = WAYS[way]
    expected = mf.count(graph, pattern)
    for _ in range(3):
        assert mf.count(graph, pattern, device=device, tuning=tuning) == expected
        assert resident(graph, gpu).reclaim(1 << 60) > 0
        filler = gpu.allocate(1 << 16, "a test")  # likely where they were
        stream = gpu.stream()
        stream.upload(filler, np.full(1 << 16, 255, np.uint8))
        stream.wait()


@pytest.mark.turns(8, "emulated")
def test_what_is_kept_is_given_up_before_copies_of_any_graph(
    device: str, gpu: Device, accelerator: Accelerator
) -> None:
    emptied(gpu)
    graphs = [random_graph(seed) for seed in (1, 2)]
    for graph in graphs:
        mf.count(graph, HOUSE, device=device, tuning=WAYS["house"][1])
    kept_bytes = sum(search.nbytes for graph in graphs for search in kept(graph, accelerator))
    copies = [len(resident(graph, gpu)._kept) for graph in graphs]
    held = settled(gpu)
    gpu.allocate(kept_bytes // 2, "a test", budget=held).close()
    assert sum(len(kept(graph, accelerator)) for graph in graphs) == 1
    assert [len(resident(graph, gpu)._kept) for graph in graphs] == copies
    for graph in graphs:
        found = mf.count(graph, HOUSE, device=device, tuning=WAYS["house"][1])
        assert found == mf.count(graph, HOUSE)


def test_a_search_may_be_taken_while_it_is_given_up(
    graph: mf.Graph, device: str, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = mf.count(graph, DIAMOND, device=device, tuning=SEARCH)
    (place,) = job_pool(graph, accelerator)._places.values()
    taken: list[SearchJob] = []
    nbytes = KernelJob.nbytes.fget  # type: ignore[attr-defined]

    def take(search: SearchJob) -> int:
        """As another thread may, which looked for a search just before."""
        taken.append(place.pop())
        return int(nbytes(search))

    with monkeypatch.context() as patched:
        patched.setattr(KernelJob, "nbytes", property(take))
        assert job_pool(graph, accelerator).reclaim(1) > 0
    assert len(taken) == 1
    assert mf.count(graph, DIAMOND, device=device, tuning=SEARCH) == expected


def test_rows_that_what_is_kept_reads_count_as_used(graph: mf.Graph, device: str, gpu: Device) -> None:
    copies = resident(graph, gpu)
    star, triangles = WAYS["star"], WAYS["triangles by arcs"]
    for pattern, tuning in (star, triangles, star):
        mf.count(graph, pattern, device=device, tuning=tuning)
    # Names of rows end with whether they have greater neighbours only, and whether they are on the host.
    of_triangles = next(name for name, copy in copies._kept.items() if name[-2:] == (True, False))
    assert copies.reclaim(1) > 0
    assert of_triangles not in copies._kept


def test_what_is_kept_serves_no_call_whose_budget_is_passed(
    graph: mf.Graph, device: str, gpu: Device, accelerator: Accelerator
) -> None:
    expected = mf.count(graph, HOUSE)
    tuning = WAYS["house"][1]
    budget = settled(gpu) + (1 << 20)
    ask = partial(mf.count, graph, HOUSE, device=device, tuning=tuning, gpu_memory=budget)
    assert ask() == ask() == expected
    (first,) = kept(graph, accelerator)
    filler = gpu.allocate(2 << 20, "a test")
    with pytest.raises(mf.errors.DeviceMemoryError):
        ask()
    filler.close()
    assert ask() == expected
    assert first not in kept(graph, accelerator)


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("way", in_turn(3, list(WAYS), on=["emulated"]))
def test_it_goes_with_the_graph(way: str, device: str, gpu: Device) -> None:
    pattern, tuning = WAYS[way]
    mf.count(random_graph(5), pattern, device=device, tuning=tuning)  # its session stays
    before = settled(gpu)
    graph = random_graph(6)
    gone = weakref.ref(graph)
    for _ in range(2):
        mf.count(graph, pattern, device=device, tuning=tuning)
    gc.collect()
    assert settled(gpu) > before
    gc.disable()
    try:
        del graph
        assert gone() is None, "a cycle holds the graph"
    finally:
        gc.enable()
    wait_until(lambda: settled(gpu) <= before)


def test_a_graph_that_forgets_keeps_none(graph: mf.Graph, device: str, accelerator: Accelerator) -> None:
    expected = mf.count(graph, HOUSE, device=device, tuning=WAYS["house"][1])
    assert kept(graph, accelerator)
    graph.forget()
    assert not kept(graph, accelerator)
    assert mf.count(graph, HOUSE, device=device, tuning=WAYS["house"][1]) == expected


@pytest.mark.turns(8, "emulated")
def test_threads_that_ask_for_the_same_at_once_have_one_each(device: str, accelerator: Accelerator) -> None:
    graph = random_graph(11)
    ways = [*WAYS.values()]
    expected = [int(mf.count(graph, pattern)) for pattern, _ in ways]
    wrong: list[object] = []

    def work(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(25):
            at = draw.randrange(len(ways))
            limit = draw.choice([None, None, 5])
            found = mf.count(graph, ways[at][0], device=device, tuning=ways[at][1], limit=limit)
            if found != (expected[at] if limit is None else min(limit, expected[at])):
                wrong.append((ways[at], limit, found))
            if draw.random() < 0.05:
                accelerator.reclaim(1 << 60)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert all(len(place) <= 1 for place in job_pool(graph, accelerator)._places.values())


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize(
    ("way", "method"),
    few_emulated(
        4,
        {way: way for way in ("search", "cliques", "house")},
        {method: method for method in ("launch", "done", "begin_again", "close")},
    ),
)
def test_an_interrupt_on_the_way_leaves_the_next_call_whole(
    way: str,
    method: str,
    graph: mf.Graph,
    device: str,
    accelerator: Accelerator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pattern, tuning = WAYS[way]
    expected = mf.count(graph, pattern)
    assert mf.count(graph, pattern, device=device, tuning=tuning) == expected
    kinds = {type(search) for search in kept(graph, accelerator)}
    for after in (False, True):
        for kind in kinds:
            plainly = getattr(kind, method)

            def interrupted(
                search: Any, *given: Any, _plainly: Any = plainly, _after: bool = after, **more: Any
            ) -> Any:
                monkeypatch.undo()
                if _after:
                    _plainly(search, *given, **more)
                raise KeyboardInterrupt

            monkeypatch.setattr(kind, method, interrupted)
        with pytest.raises(KeyboardInterrupt):
            mf.count(graph, pattern, device=device, tuning=tuning)
        gc.collect()
        copies = resident(graph, accelerator.device)._kept.values()
        assert not any(getattr(copy, "users", ()) for copy in copies)
        for _ in range(2):
            assert mf.count(graph, pattern, device=device, tuning=tuning) == expected


MODULES = {
    "jobs": job_pool_module,
    "tables": tables,
    "job": job_module,
    "memory": device_cache,
    "block": control_block,
}


@pytest.mark.parametrize(
    ("module", "way"), few_emulated(1, MODULES, {way: way for way in ("search", "house")})
)
def test_an_interrupt_at_any_line_leaves_the_next_call_whole(
    way: str, module: Any, graph: mf.Graph, device: str, accelerator: Accelerator
) -> None:
    pattern, tuning = WAYS[way]
    expected = mf.count(graph, pattern)
    assert mf.count(graph, pattern, device=device, tuning=tuning) == expected
    line, interrupted = 0, True
    while interrupted:
        line += 1
        with interrupt_at(line, module.__file__, distinct=True) as came:
            assert mf.count(graph, pattern, device=device, tuning=tuning) == expected
        interrupted = bool(came)
        gc.collect()
        copies = resident(graph, accelerator.device)._kept.values()
        assert not any(getattr(copy, "users", ()) for copy in copies)
        assert len(set(map(id, accelerator._sessions))) == len(accelerator._sessions)
        for _ in range(2):
            assert mf.count(graph, pattern, device=device, tuning=tuning) == expected


def test_an_interrupt_as_an_evaluation_is_opened_loses_no_session(
    graph: mf.Graph, device: str, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    mf.count(graph, HOUSE, device=device, tuning=private_tuning({**WAYS["house"][1], "rest": "off"}))
    before = set(map(id, accelerator._sessions))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("motiflux.gpu.storage.upload.UploadContext.of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mf.count(graph, HOUSE, device=device, tuning=private_tuning({**WAYS["house"][1], "rest": "off"}))
    gc.collect()
    assert set(map(id, accelerator._sessions)) == before


@pytest.mark.parametrize("way", ["search", "house"])
def test_a_search_that_was_stopped_is_not_kept(
    way: str, graph: mf.Graph, device: str, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern, tuning = WAYS[way]
    expected = mf.count(graph, pattern)
    ask = partial(mf.count, graph, pattern, device=device, tuning=tuning, timeout=9)
    assert ask() == expected
    (first,) = kept(graph, accelerator)
    done, after = KernelJob.done, Deadline.after
    monkeypatch.setattr(KernelJob, "done", lambda search: search.control.stopped and done(search))
    monkeypatch.setattr(Deadline, "after", lambda _: after(0.2))
    assert not ask().complete
    monkeypatch.undo()
    assert not kept(graph, accelerator)
    assert ask() == expected
    (second,) = kept(graph, accelerator)
    assert second is not first


@pytest.mark.turns(8, "emulated")
def test_more_than_there_is_room_for_is_not_kept(
    graph: mf.Graph, device: str, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("motiflux.gpu.launch.job_pool._MOST", 3)
    for lanes in ("8", "16", "32"):
        for stealing in ("on", "off"):
            tuning = private_tuning({**SEARCH, "lanes": lanes, "handover": stealing})
            mf.count(graph, DIAMOND, device=device, tuning=tuning)
    assert len(kept(graph, accelerator)) == 3
    monkeypatch.setattr("motiflux.gpu.launch.job_pool._ROOM", 0)
    mf.count(graph, HOUSE, device=device, tuning=WAYS["house"][1])
    assert len(kept(graph, accelerator)) == 3


def test_a_job_that_takes_too_much_memory_is_not_kept_under_a_known_name(
    graph: mf.Graph, device: str, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    mf.count(graph, DIAMOND, device=device, tuning=SEARCH)
    (job,) = kept(graph, accelerator)
    pool = job_pool(graph, accelerator)
    assert pool.nbytes == job.nbytes > 0
    (name,) = pool._places
    pool._places[name].clear()
    monkeypatch.setattr("motiflux.gpu.launch.job_pool._ROOM", job.nbytes - 1)
    pool._put(name, job)
    assert not kept(graph, accelerator)
    pool._put_back(name, job)  # it was kept before, when there was room for it
    assert kept(graph, accelerator) == [job]


@pytest.mark.turns(8, "emulated")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_take_what_its_parent_keeps(graph: mf.Graph, device: str) -> None:
    pattern, tuning = WAYS["house"]
    expected = mf.count(graph, pattern, device=device, tuning=tuning)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = int(mf.count(graph, pattern, device=device, tuning=tuning) != expected)
        except DeviceError as error:
            code = int("fork" not in str(error))
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert mf.count(graph, pattern, device=device, tuning=tuning) == expected


class Clears:
    """Counts clearings between the beginning of a call and its first launch."""

    def __init__(self, gpu: Device, patch: pytest.MonkeyPatch) -> None:
        stream = gpu.stream()
        kind: Any = type(stream)
        stream.close()
        self.before_launch = self.all = 0
        self._launched = False
        clearing, launching = kind.clearing, kind.launching

        def told_clearing(stream: Any, *given: Any) -> Any:
            clear = clearing(stream, *given)

            def tell() -> None:
                self.all += 1
                self.before_launch += not self._launched
                clear()

            return tell

        def told_launching(stream: Any, *given: Any) -> Any:
            launch = launching(stream, *given)

            def tell() -> None:
                self._launched = True
                launch()

            return tell

        patch.setattr(kind, "clearing", told_clearing)
        patch.setattr(kind, "launching", told_launching)

    def of(self, call: Any) -> int:
        """Return how many there are in a call."""
        self.before_launch, self._launched = 0, False
        call()
        return self.before_launch


@pytest.mark.turns(8, "cpu", "emulated")
@pytest.mark.parametrize("way", in_turn(3, [way for way in WAYS if way != "house"], on=["emulated"]))
def test_nothing_is_cleared_before_what_comes_again_is_launched(
    way: str,
    graph: mf.Graph,
    device: str,
    gpu: Device,
    accelerator: Accelerator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clears = Clears(gpu, monkeypatch)
    accelerator._sessions.clear()
    pattern, tuning = WAYS[way]
    ask = partial(mf.count, graph, pattern, device=device, tuning=tuning)
    expected = mf.count(graph, pattern, device="cpu")
    clears.of(ask)
    first = clears.all  # on some devices kernels that order roots are launched before anything is cleared
    assert first > 0
    inner = 0 if way not in ("diamond", "wedges") else clears.of(ask)
    for _ in range(3):
        assert clears.of(lambda: ask() == expected or pytest.fail("wrong")) == inner < first


@pytest.mark.turns(8, "emulated")
def test_a_stop_that_came_late_does_not_stop_the_next_search(
    graph: mf.Graph, device: str, accelerator: Accelerator
) -> None:
    for way in ("search", "diamond"):
        pattern, tuning = WAYS[way]
        expected = mf.count(graph, pattern, device="cpu")
        ask = partial(mf.count, graph, pattern, device=device, tuning=tuning)
        assert ask() == expected
        session = accelerator._sessions[-1]
        (search,) = kept(graph, accelerator)
        assert search.begin_again()
        search.keep_when_over(lambda _: pytest.fail("what was told to stop is kept"))
        search.launch()
        wait_until(search.done)
        search.control.stop(session)  # over already, and cleared for the next one
        search.close()
        job_pool(graph, accelerator)._places.clear()
        for _ in range(3):
            found = ask()
            assert (found, found.complete) == (expected, True)
        graph.forget()


@pytest.mark.parametrize("way", ["search", "diamond"])
def test_what_is_still_being_cleared_on_another_session_is_set_up_anew(
    way: str, graph: mf.Graph, device: str, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern, tuning = WAYS[way]
    expected = mf.count(graph, pattern, device="cpu")
    ask = partial(mf.count, graph, pattern, device=device, tuning=tuning)
    assert ask() == expected
    (search,) = kept(graph, accelerator)
    ahead = search._cleared
    assert ahead is not None
    done = type(ahead).done
    monkeypatch.setattr(type(ahead), "done", lambda mark: mark is not ahead and done(mark))
    assert ask() == expected
    assert kept(graph, accelerator) == [search], "the same session clears before it launches"
    ahead = search._cleared
    own = accelerator._sessions.pop()
    assert ask() == expected
    assert search not in kept(graph, accelerator)
    accelerator.recycle(own)
    assert ask() == expected


@pytest.mark.parametrize("way", ["search", "diamond"])
def test_what_was_cleared_on_another_session_is_only_launched(
    way: str, graph: mf.Graph, device: str, accelerator: Accelerator
) -> None:
    pattern, tuning = WAYS[way]
    expected = mf.count(graph, pattern, device="cpu")
    searches = set()
    for _ in range(3):
        accelerator.recycle(Session(accelerator.device))
        assert mf.count(graph, pattern, device=device, tuning=tuning) == expected
        (search,) = kept(graph, accelerator)
        searches.add(search)
        assert search._cleared is not None
        wait_until(search._cleared.done)
    assert len(searches) == 1


@contextmanager
def opened_again(graph: mf.Graph, device: str, accelerator: Accelerator) -> Iterator[SearchJob]:
    """Open the job of a count once more, to be kept, and looked at without a mark behind its clearing."""
    pattern, tuning = WAYS["search"]
    assert mf.count(graph, pattern, device=device, tuning=tuning) > 0
    (search,) = kept(graph, accelerator)
    with search:
        assert search.begin_again()
        search.keep_when_over(lambda _: None)
        search.watched = False
        yield search


def test_a_look_does_not_show_what_was_cleared_for_the_next_one(
    graph: mf.Graph, device: str, accelerator: Accelerator
) -> None:
    with opened_again(graph, device, accelerator) as search:
        search.look()
        search.launch()
        wait_until(search.done)
        search.session.side.wait()
        assert search.look() is None
        assert search.result().found > 0


def test_a_look_that_comes_as_the_kernel_ends_does_not_show_what_was_cleared(
    graph: mf.Graph, device: str, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened_again(graph, device, accelerator) as search:
        search.launch()
        look = Session.look

        def late(session: Session, block: Any) -> Any:
            """Copy the block only when the kernel has ended and the block is clear."""
            wait_until(session.done)
            session.main.wait()
            look(session, block)
            session.side.wait()
            return look(session, block)

        monkeypatch.setattr(Session, "look", late)
        assert search.seen() is None


def test_an_interrupt_as_a_job_is_opened_again_leaves_its_rows_unused(
    graph: mf.Graph, device: str, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even while the exception, and so the frames that it passed, are held."""
    pattern, tuning = WAYS["search"]
    ask = partial(mf.count, graph, pattern, device=device, tuning=tuning)
    expected = ask()

    def interrupted(_: Accelerator) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Accelerator, "session", interrupted)
        with pytest.raises(KeyboardInterrupt) as held:
            ask()
    assert not any(getattr(copy, "users", ()) for copy in resident(graph, accelerator.device)._kept.values())
    assert held.value is not None
    assert ask() == expected
