"""A resident kernel under bad input and faults: nothing is lost, and nothing hangs."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

import motiflux as mf
from motiflux.errors import CountOverflowError, DeviceError, DeviceMemoryError, InternalError
from motiflux.gpu.streaming import (
    INSERTION,
    JUDGED,
    UPDATE,
    ResidentStream,
    StreamSettings,
    StreamStalledError,
)
from motiflux.gpu.streaming.kinds import KindRoom
from motiflux.gpu.streaming.watching import Watchdog
from tests.conftest import REPOSITORY
from tests.device.streaming import SECONDS, StreamedRuns

if TYPE_CHECKING:
    from motiflux.device.base import Device

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")

VERTICES = 40
EDGE, TRIANGLE = "(a)--(b)", "(a)--(b)--(c)--(a)"
SMALL: Any = {
    "slot_count": 16, "input_packets": 4, "output_packets": 4, "spare_vertices": 4, "versions": 64 * 4000,
    "checks": True,
}  # fmt: skip


@contextmanager
def opened(
    gpu: Device, texts: list[str], *, matches: bool = False, **settings: Any
) -> Iterator[ResidentStream]:
    """Give a stream over a graph whose vertices 0 and 1 are joined; kind 0 concerns all plans."""
    graph = mf.Graph.from_edges([(0, 1)], num_vertices=VERTICES)
    patterns = [mf.Pattern.parse(text) for text in texts]
    runs = StreamedRuns(StreamSettings(**{**SMALL, **settings}))
    options: Any = {"mode": "sequence", "matches": matches}
    with (
        runs.answering(),
        mf.Monitor(graph, patterns, device=gpu.name, engine="changing", **options) as monitor,
    ):
        monitor.apply([("+", 2, 3)])  # loads the stream
        stream: Any = runs.stream
        table = runs._table
        assert table is not None
        stream.all_plans = tuple(range(len(table.levels)))
        stream.start()
        yield stream


def star(count: int, first: int = 4) -> NDArray[Any]:
    """Return insertions of edges of vertex 0."""
    updates = np.zeros(count, UPDATE)
    updates["source"], updates["target"], updates["inserts"] = 0, first + np.arange(count), INSERTION
    return updates


def of_kind(stream: Any, updates: NDArray[Any]) -> NDArray[Any]:
    """Have updates concern all plans."""
    updates["of"] = stream.kind(0, 0, stream.all_plans)
    return updates


def submit_all(stream: Any, updates: NDArray[Any]) -> list[Any]:
    """Submit updates and return the counts of all of them."""
    counts: list[Any] = []
    last = stream.moment + len(updates)
    while True:
        updates = updates[stream.submit(updates) :]
        taken = stream.take(timeout=0.0 if len(updates) else SECONDS)
        counts += [(int(count["moment"]), int(count["low"])) for count in taken.counts]
        if taken.finished == last:
            return counts


def flipping(count: int) -> NDArray[Any]:
    """Return updates that insert and delete an edge in turns."""
    updates = np.zeros(count, UPDATE)
    updates["source"], updates["target"], updates["inserts"] = 0, 5, np.arange(count) % 2 == 0
    return updates


def test_a_consumer_that_does_not_read_makes_the_producer_wait(gpu: Device) -> None:
    with opened(gpu, [EDGE, TRIANGLE]) as stream:
        before, updates = stream.moment, of_kind(stream, flipping(1000))
        submitted = idle = 0
        while idle < 300:  # the rings and the slots are full
            taken = stream.submit(updates[submitted : submitted + 32])
            submitted += taken
            idle = 0 if taken else idle + 1
        assert 16 <= submitted < 1000
        found, counts = 0, []
        while found < before + submitted:
            taken_now = stream.take(timeout=SECONDS)
            counts += taken_now.counts["moment"].tolist()
            found = taken_now.finished
        # Each update has an edge that appears or vanishes, found by two plans.
        assert sorted(set(counts)) == list(range(before + 1, before + submitted + 1))


def test_updates_that_are_not_finished_are_handed_back(gpu: Device) -> None:
    with opened(gpu, [EDGE, TRIANGLE]) as stream:
        before, updates = stream.moment, of_kind(stream, flipping(300))
        submitted = 0
        while submitted < 120:
            submitted += stream.submit(updates[submitted : submitted + 32])
            if submitted < 100:
                stream.take()
        stream.stop()
        left = stream.unanswered()  # nothing where the device is fast
        assert (left == updates[submitted - len(left) : submitted]).all()
        finished = before + submitted - len(left)
        with pytest.raises(DeviceError, match="stopped"):
            stream.submit(updates)
        assert not stream.is_running
        assert stream.counters()["violated"] == 0
        assert finished >= before


def test_memory_that_does_not_suffice_ends_the_stream_with_what_is_left(gpu: Device) -> None:
    # 20 rows of a star, each of one unit or two, beside one that grows.
    with opened(gpu, [TRIANGLE], versions=64 * 44) as stream:
        updates = of_kind(stream, star(34))
        with pytest.raises(DeviceMemoryError, match="versions"):
            submit_all(stream, updates)
        left = stream.unanswered()
        assert 0 < len(left) < 34
        assert (left == updates[-len(left) :]).all()
        with pytest.raises(DeviceMemoryError):
            stream.take()


def test_rows_may_outgrow_candidate_lists(gpu: Device) -> None:
    with opened(gpu, [TRIANGLE, "(a)--(b)--(c)--(d)--(a)"], longest_row=8) as stream:
        submit_all(stream, of_kind(stream, star(34)))  # lists have a line: 32 entries
        closing = np.zeros(1, UPDATE)
        closing["source"], closing["target"], closing["inserts"] = 4, 5, INSERTION
        counts = submit_all(stream, of_kind(stream, closing))
        assert [count for _, count in counts] != []
        assert stream.is_running


def test_a_stream_without_progress_is_stopped(gpu: Device) -> None:
    with opened(gpu, [TRIANGLE]) as stream:
        with (
            mock.patch.object(Watchdog, "is_stalled", return_value=True),
            pytest.raises(StreamStalledError, match=r"no progress for .* seconds; .* updates submitted"),
        ):
            stream.take(timeout=SECONDS)
        assert not stream.is_running
        with pytest.raises(StreamStalledError):
            stream.submit(of_kind(stream, star(1)))


def test_kinds_are_added_while_the_kernel_runs(gpu: Device) -> None:
    with opened(gpu, [TRIANGLE, EDGE]) as stream:
        known = stream.kind(0, 0, stream.all_plans)
        plans = stream.all_plans
        numbers = {stream.kind(0, 0, plans[:count]) for count in range(len(plans) + 1)}
        assert len(numbers) == len(plans) + 1
        assert known in numbers
        updates = star(8)
        updates["of"] = stream.kind(0, 0, ())
        assert submit_all(stream, updates) == []  # no plan is concerned
        assert stream.kind(0, 0, plans) == known


def test_more_kinds_than_there_is_room_for_make_the_kernel_park(gpu: Device) -> None:
    small = mock.patch("motiflux.gpu.streaming.memory.KindRoom", return_value=KindRoom(2, 8, 16))
    with small, opened(gpu, [TRIANGLE, EDGE]) as stream:
        submit_all(stream, of_kind(stream, star(4)))
        for count in range(4):
            stream.kind(0, 0, stream.all_plans[:count])
        assert stream.is_running
        assert len(submit_all(stream, of_kind(stream, star(4, 10)))) == 4


def test_vertices_without_rows_are_refused(gpu: Device) -> None:
    with opened(gpu, [TRIANGLE]) as stream:
        updates = of_kind(stream, star(1, stream.vertices))
        with pytest.raises(InternalError, match="vertices below"):
            stream.submit(updates)


def test_a_parked_stream_goes_on(gpu: Device) -> None:
    with opened(gpu, [TRIANGLE, EDGE]) as stream:
        counts: list[Any] = []
        for turn in range(6):
            counts += submit_all(stream, of_kind(stream, flipping(2)))
            stream.park()
            assert not stream.is_running
            assert stream.counters()["violated"] == 0
            stream.park()
            stream.start()
            stream.start()
            if turn % 2:
                stream.submit(of_kind(stream, flipping(2)))
                stream.park()  # with answers that nobody has taken yet
                stream.start()
                counts += [(int(c["moment"]), int(c["low"])) for c in stream.take().counts]
        assert len(set(counts)) == len(counts) == 2 * 6 + 2 * 3


def test_another_thread_may_stop_a_stream_that_is_waited_for(gpu: Device) -> None:
    with opened(gpu, [TRIANGLE]) as stream:

        def stop() -> None:
            gpu.use()
            stream.stop()

        timer = threading.Timer(0.3, stop)
        timer.start()
        with pytest.raises(DeviceError, match="stopped"):
            stream.take(timeout=SECONDS)
        timer.join()


def test_starting_again_and_loading_again_keeps_no_memory(gpu: Device) -> None:
    graph, pattern = mf.Graph.from_edges([(0, 1)], num_vertices=VERTICES), mf.Pattern.parse(TRIANGLE)
    runs = StreamedRuns(StreamSettings(**SMALL))
    options: Any = {"mode": "sequence", "matches": False}
    gpu.settle()
    before = gpu.used_memory()
    with (
        runs.answering(),
        mf.Monitor(graph, [pattern], device=gpu.name, engine="changing", **options) as monitor,
    ):
        used = []
        for turn in range(4):
            monitor.apply([("+", 2, 3 + turn)])
            gpu.settle()
            used.append(gpu.used_memory())
            runs._versions = None  # so it is loaded anew
        assert runs.stream is not None
        assert runs.stream._finalizer is None
    gpu.settle()
    assert max(used) < 1.5 * used[0]
    assert gpu.used_memory() - before < used[0] / 4


def test_a_process_ends_without_close(gpu: Device) -> None:
    code = textwrap.dedent(
        f"""
        from motiflux.device import open_device
        from tests.device.test_streaming_faults import TRIANGLE, of_kind, opened, star
        held = opened(open_device({gpu.name!r}), [TRIANGLE])
        stream = held.__enter__()
        stream.submit(of_kind(stream, star(5)))
        print("runs", stream.is_running)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "runs True"), done.stderr


def test_a_number_of_matches_beyond_128_bits_ends_the_stream(gpu: Device) -> None:
    # Totals in lines of their own are below 2^32.
    with opened(gpu, [TRIANGLE], without=frozenset({"lines"})) as stream:
        path = star(2)
        submit_all(stream, of_kind(stream, path))
        stream.park()
        memory = stream._memory
        totals = memory._buffers["totals"]
        memory._side.upload(totals, np.full(totals.nbytes // 8, 2**64 - 1, np.uint64))
        memory._side.wait()
        stream.start()
        closing = np.zeros(1, UPDATE)
        closing["source"], closing["target"], closing["inserts"] = 4, 5, INSERTION
        with pytest.raises(CountOverflowError, match="update 4"):
            submit_all(stream, of_kind(stream, closing))
        assert len(stream.unanswered()) == 1
        assert not stream.is_running


def test_a_device_that_fails_tells_all_calls_and_hands_updates_back(gpu: Device) -> None:
    with opened(gpu, [TRIANGLE]) as stream:
        updates = of_kind(stream, star(3))
        end = stream._end
        with mock.patch.object(type(end), "done", side_effect=DeviceError("the device is lost")):
            stream.submit(updates)
            nothing = mock.patch.object(stream, "_read", return_value=np.zeros((0, 8), np.uint32))
            with nothing, pytest.raises(DeviceError, match="lost"):
                stream.take(timeout=SECONDS)
            with pytest.raises(DeviceError, match="lost"):
                stream.submit(updates)
            with pytest.raises(DeviceError, match="lost"):
                stream.park()
        assert (stream.unanswered() == updates).all()
        stream._memory.control["stop"] = 1  # the kernel runs, in truth
        while not end.done():
            time.sleep(0.01)


def test_the_device_judges_updates_that_the_host_has_not_judged(gpu: Device) -> None:
    with opened(gpu, [EDGE, TRIANGLE]) as stream:  # rows tell what is there: those of the triangle
        updates = of_kind(stream, star(1).repeat(4))
        updates["inserts"] = [INSERTION, INSERTION, 0, 0]
        first = stream.moment + 1
        assert sorted(submit_all(stream, updates)) == [(first, 1), (first + 2, 1)]
        updates["inserts"] |= JUDGED  # each has an effect then
        assert sorted(submit_all(stream, updates)) == [(first + 4 + number, 1) for number in range(4)]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_long_search_that_began_early_is_no_standstill_of_the_stream(gpu: Device) -> None:
    """The updater waits for it, as a row gets too long: then rows move, which nobody may read."""
    size, fresh = 64, 65
    edges = [(u, v) for u in range(size) for v in range(u)] + [(0, size)]
    path = mf.Pattern.from_edges([(at, at + 1) for at in range(6)])
    changes = [("+", 70, 71), ("-", 70, 71)] * 3
    changes += [("+", fresh, 70), ("+", fresh, 71), ("+", 0, fresh)]
    settings: Any = {
        **SMALL,
        "checks": False,
        "stall_seconds": 1.0,
        "longest_row": 64,
        "versions": 64 * 20_000,
    }
    runs = StreamedRuns(StreamSettings(**settings, without=frozenset({"sorts"})))
    graph = mf.Graph.from_edges(edges, num_vertices=80)
    with (
        runs.answering(),
        mf.Monitor(graph, path, device=gpu.name, engine="changing", mode="sequence") as monitor,
        mf.Monitor(graph, path, device="cpu", mode="sequence") as expected,
    ):
        found, wanted = monitor.apply(changes)[0], expected.apply(changes)[0]
    assert (found.positive, found.negative) == (wanted.positive, wanted.negative)
    assert found.positive > 10**9
