"""Feeds: threads write updates to a monitor and take the answers."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.stream import Answer, Feed
from tests.interrupts import ctrl_c_in_native_code
from tests.stream_engines import PLACEMENT, PlainEngine, registered

TRIANGLE = "(a)--(b)--(c)--(a)"
PAIR = "(a)--(b)"


@pytest.fixture
def opened() -> Iterator[list[PlainEngine]]:
    with registered() as engines:
        yield engines


def graph(**options: Any) -> mf.Graph:
    return mf.Graph.from_edges([(0, 1), (1, 2)], **options)


def taken(feed: Feed, updates: int) -> list[Answer]:
    """Take the answers of so many updates."""
    answers: list[Answer] = []
    while sum(answer.updates for answer in answers) < updates:
        answer = feed.take(10)
        assert answer is not None, "no answer within ten seconds"
        answers.append(answer)
    return answers


class TestAnswers:
    """What is taken is what calls would have returned."""

    @pytest.mark.parametrize("placement", [{}, PLACEMENT])
    def test_each_update_is_answered_at_its_position(
        self, placement: dict[str, Any], opened: list[PlainEngine]
    ) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, matches=True, symmetry="subgraphs", **placement)
        rows = [("+", 0, 2), ("+", 0, 3), ("-", 0, 1), ("+", 1, 3), ("+", 2, 3)]
        with monitor.feed() as feed:
            positions = [feed.try_write([row]) for row in rows]
            answers = taken(feed, len(rows))
        assert positions == list(range(5))
        found = [
            (answer.first + int(piece.updates[at]), bool(piece.positive[at]), sorted(ids[at].tolist()))
            for answer in answers
            for ids, piece in answer.delta[0].batches()
            for at in range(len(ids))
        ]
        assert sorted(found) == [
            (0, True, [0, 1, 2]),
            (2, False, [0, 1, 2]),
            (4, True, [0, 2, 3]),
            (4, True, [1, 2, 3]),
        ]
        assert monitor.num_edges == 5

    def test_answers_come_in_the_order_of_updates_without_gaps(self) -> None:
        monitor = mf.Monitor(graph(), PAIR)
        with monitor.feed(most=7) as feed:
            feed.write([("+", 5, number) for number in range(6, 60)])
            feed.write([("-", 5, 6)])
            answers = taken(feed, 55)
        ends = [0]
        for answer in answers:
            assert answer.first == ends[-1]
            assert answer.updates <= 7
            ends.append(answer.first + answer.updates)
        assert sum(answer.delta[0].net for answer in answers) == 2 * 53

    def test_several_threads_write_to_one_feed(self) -> None:
        monitor = mf.Monitor(graph(), PAIR, symmetry="subgraphs")
        written = 300

        def produce(number: int) -> None:
            for other in range(written):
                feed.write([("+", 1000 * number, 1000 * number + 1 + other)])

        with monitor.feed(room=64) as feed:
            producers = [threading.Thread(target=produce, args=(number,)) for number in (1, 2, 3)]
            for producer in producers:
                producer.start()
            answers = taken(feed, 3 * written)
            for producer in producers:
                producer.join()
        assert sum(answer.delta[0].positive for answer in answers) == 3 * written
        assert monitor.num_edges == 2 + 3 * written

    def test_windows_and_copies_are_those_of_the_monitor(self) -> None:
        monitor = mf.Monitor(graph(), PAIR, symmetry="subgraphs", window="10s")
        with monitor.feed() as feed:
            for second in (0, 1, 11):
                feed.write(mf.Updates.of([("+", 7, 8)]).with_more(None, second))
            answers = taken(feed, 3)
        assert [sum(a.delta[0].positive for a in answers), sum(a.delta[0].negative for a in answers)] == [
            2,
            1,
        ]


class TestWithoutPython:
    """Plain updates are applied natively."""

    @pytest.mark.parametrize("rows", [[("+", 0, 2), ("-", 0, 1)], [("+", 7, 8), ("+", 8, 8)]])
    def test_plain_updates_need_no_call_of_python(
        self, rows: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monitor = mf.Monitor(graph(), PAIR, device="cpu")
        monkeypatch.setattr(monitor, "_apply", None)
        with monitor.feed() as feed:
            feed.write(rows)
            answers = taken(feed, 2)
        assert sum(answer.delta.updates + answer.delta.self_loops for answer in answers) == 2
        assert monitor.updates_applied == 2

    def test_others_are_applied_in_their_turn(self) -> None:
        monitor = mf.Monitor(graph(), PAIR, symmetry="subgraphs", device="cpu")
        with monitor.feed() as feed:
            with feed.paused():
                feed.write([("+", 0, 2)])
                feed.write(mf.Updates.of([("+", 2, 3)]).with_more({3: 5}, None))
                feed.write([("-", 2, 3)])
                feed.write([("+", 2, 3, 4)])
            answers = taken(feed, 4)
        assert [answer.first for answer in answers] == [0, 1, 2, 3]
        assert [answer.delta[0].net for answer in answers] == [1, 1, -1, 1]

    def test_updates_without_effect_are_known_while_the_feed_is_open(self) -> None:
        monitor = mf.Monitor(graph(), "(a)-[:7]-(b)", device="cpu")
        with monitor.feed() as feed:
            feed.write([("+", 0, 1), ("+", 0, 2)])
            (answer,) = taken(feed, 2)
            assert answer.delta.noops == 1
            with feed.paused():
                assert answer.delta.noops == 1


class TestRoom:
    """Nothing is dropped, and nobody waits for ever."""

    def test_a_feed_without_room_takes_nothing_until_answers_are_taken(self) -> None:
        monitor = mf.Monitor(graph(), PAIR)
        with monitor.feed(room=2) as feed:
            assert feed.try_write([("+", 0, 3), ("+", 0, 4)]) == 0
            assert feed.try_write([("+", 0, 5)]) is None
            with pytest.raises(TimeoutError, match="no room for 1 updates"):
                feed.write([("+", 0, 5)], timeout=0.01)
            taken(feed, 2)
            assert feed.try_write([("+", 0, 5)]) == 2
            taken(feed, 1)
        assert monitor.num_edges == 5

    def test_more_updates_than_there_is_ever_room_for_are_refused(self) -> None:
        with mf.Monitor(graph(), PAIR).feed(room=1) as feed:
            with pytest.raises(mf.ArgumentError, match="at most 1 at a time"):
                feed.write([("+", 0, 3), ("+", 0, 4)])
            assert feed.take(0) is None

    def test_a_closed_feed_refuses_updates_and_still_has_answers(self) -> None:
        monitor = mf.Monitor(graph(), PAIR)
        feed = monitor.feed()
        feed.write([("+", 0, 3)])
        feed.close()
        with pytest.raises(mf.ArgumentError, match="one that is not closed"):
            feed.write([("+", 0, 4)])
        assert len(taken(feed, 1)) == 1
        assert feed.take() is None
        assert monitor.apply([("+", 0, 4)])[0].positive == 2


class TestErrors:
    """The unit is the update: those before an error are applied, the others handed back."""

    def test_only_the_refused_updates_and_later_ones_are_handed_back(self) -> None:
        monitor = mf.Monitor(graph(), PAIR, strict=True)
        feed = monitor.feed()
        with feed.paused():
            feed.write([("+", 0, 3)])
            feed.write([("+", 0, 1)])
            feed.write([("+", 0, 4)])
        with pytest.raises(mf.StreamError, match="an edge that is not there to insert"):
            taken(feed, 3)
        with pytest.raises(mf.StreamError):
            feed.write([("+", 0, 5)])
        feed.close()
        assert monitor.num_edges == 3
        assert monitor.unapplied is not None
        assert monitor.unapplied.targets.tolist() == [1, 4]
        assert [len(part) for part in feed.unapplied] == [1, 1]

    def test_a_failing_device_ends_all_waits(self, opened: list[PlainEngine]) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, **PLACEMENT)
        opened[0].fails_in = 0
        feed = monitor.feed(room=1)
        feed.write([("+", 0, 2)])
        for wait in (feed.take, lambda: feed.write([("+", 0, 3)]), feed.finish):
            with pytest.raises(OSError, match="the device is gone"):
                wait()
        feed.close()
        assert monitor.unapplied is not None
        assert monitor.unapplied.targets.tolist() == [2]
        opened[0].fails_in = None
        assert monitor.apply(monitor.unapplied)[0].positive == 6

    def test_a_context_that_ends_raises_the_error_of_updates_that_nobody_waited_for(self) -> None:
        monitor = mf.Monitor(graph(), PAIR, strict=True)
        with (
            pytest.raises(mf.StreamError, match="an edge that is not there to insert"),
            monitor.feed() as feed,
        ):
            feed.write([("+", 0, 1)])
        assert monitor.unapplied is not None
        assert len(monitor.unapplied) == 1
        assert monitor.apply([("+", 0, 3)])[0].positive == 2

    def test_an_error_inside_the_context_leaves_what_waits_unapplied(self) -> None:
        monitor = mf.Monitor(graph(), PAIR)
        feed = monitor.feed()
        with feed.paused():
            feed.write([("+", 0, 3)])
            feed._queue.close(True)  # the thread might apply it before `close` is called
        feed.__exit__(ZeroDivisionError)
        assert monitor.unapplied is not None
        assert (len(monitor.unapplied), monitor.num_edges) == (1, 2)


class TestMonitor:
    """A monitor with an open feed."""

    def test_other_calls_are_refused_unless_the_feed_is_paused(self, tmp_path: Path) -> None:
        monitor = mf.Monitor(graph(), PAIR)
        with monitor.feed() as feed:
            with pytest.raises(mf.ArgumentError, match="while its feed is paused"):
                monitor.apply([("+", 0, 3)])
            with pytest.raises(mf.ArgumentError, match="while its feed is paused"):
                monitor.feed()
            with feed.paused():
                monitor.add(TRIANGLE)
                monitor.save(tmp_path / "monitor.mfg")
            feed.write([("+", 0, 2)])
            (answer,) = taken(feed, 1)
            assert [answer.delta[number].positive for number in (0, 1)] == [2, 6]
            with feed.paused():
                monitor.drop(PAIR)
            feed.write([("-", 0, 2)])
            (answer,) = taken(feed, 1)
            assert [one.negative for one in answer.delta] == [6]
        assert mf.Monitor.load(tmp_path / "monitor.mfg").num_edges == 2

    def test_a_pause_comes_between_two_calls_although_updates_wait(self) -> None:
        monitor = mf.Monitor(graph(), PAIR)
        with monitor.feed(most=1, room=10_000) as feed:
            feed.write([("+", 5, number) for number in range(6, 4006)])
            with feed.paused():
                before = feed.answered
                time.sleep(0.01)
                assert feed.answered == before
            taken(feed, 4000)

    def test_closing_the_monitor_closes_the_feed(self) -> None:
        monitor = mf.Monitor(graph(), PAIR)
        feed = monitor.feed()
        monitor.close()
        with pytest.raises(mf.ArgumentError, match="one that is not closed"):
            feed.write([("+", 0, 3)])

    def test_a_consumer_does_not_wait_for_what_was_not_applied(self) -> None:
        monitor = mf.Monitor(graph(), PAIR)
        feed = monitor.feed(most=1)
        with feed.paused():
            feed.write([("+", 0, 3)])
            threading.Thread(target=feed.close, kwargs={"finish": False}).start()
            while not feed._queue.is_closed:
                time.sleep(0.001)
        assert feed.take() is None
        assert not feed.finish()
        assert [len(part) for part in feed.unapplied] == [1]

    def test_updates_with_other_columns_are_handed_back_in_parts(self) -> None:
        monitor = mf.Monitor(graph(), PAIR)
        feed = monitor.feed(most=1)
        with feed.paused():
            feed.write([("+", 0, 3)])
            feed.write([("+", 0, 4, "wire")])
            threading.Thread(target=feed.close, kwargs={"finish": False}).start()
            while not feed._queue.is_closed:
                time.sleep(0.001)
        assert not feed.finish()
        assert [len(part) for part in feed.unapplied] == [1, 1]
        assert monitor.unapplied is None

    @pytest.mark.parametrize(
        "wait",
        [
            lambda feed: feed.close(),
            lambda feed: feed.finish(),
            lambda feed: feed.paused().__enter__(),
            lambda feed: feed.write([("+", 0, 4)]),
        ],
        ids=["close", "finish", "paused", "write"],
    )
    def test_what_waits_for_the_end_of_a_pause_is_refused_in_its_thread(self, wait: Any) -> None:
        monitor = mf.Monitor(graph(), PAIR)
        with monitor.feed(room=1) as feed:
            with feed.paused():
                feed.write([("+", 0, 3)])
                with pytest.raises(mf.ArgumentError, match="feed: expected a call after the pause"):
                    wait(feed)
                with pytest.raises(mf.ArgumentError, match="one feed at a time"):
                    monitor.feed()
            assert feed.take() is not None

    @pytest.mark.parametrize("given", [{"room": 0}, {"most": 0}])
    def test_invalid_arguments_are_refused_and_leave_the_monitor_free(self, given: dict[str, Any]) -> None:
        monitor = mf.Monitor(graph(), PAIR)
        with pytest.raises(mf.ArgumentError, match=next(iter(given))):
            monitor.feed(**given)
        assert monitor.apply([("+", 0, 3)])[0].positive == 2


@contextmanager
def paused_elsewhere(feed: Feed) -> Iterator[threading.Event]:
    """Have another thread pause the feed until the event is set, or the block ends."""
    is_paused, go = threading.Event(), threading.Event()

    def pause() -> None:
        with feed.paused():
            is_paused.set()
            go.wait(60)

    thread = threading.Thread(target=pause)
    thread.start()
    try:
        assert is_paused.wait(60)
        yield go
    finally:
        go.set()
        thread.join()


class TestCtrlC:
    """Ctrl-C in a call of a feed loses neither answers nor pauses."""

    @pytest.mark.parametrize("ids", [(0, 1), ("a", "b")], ids=["natively", "in Python"])
    def test_an_answer_that_comes_meanwhile_can_still_be_taken(self, ids: tuple[Any, Any]) -> None:
        monitor = mf.Monitor(mf.Graph.from_edges([ids]), PAIR)
        answers: list[Answer] = []
        with monitor.feed() as feed:
            for number in range(20):
                row = ("-" if number % 2 == 0 else "+", *ids)
                with (
                    pytest.raises(KeyboardInterrupt),
                    ctrl_c_in_native_code(then=partial(feed.write, [row])),
                ):
                    feed.take(60)
                answers += taken(feed, 1)
        assert [answer.first for answer in answers] == list(range(20))
        assert [answer.delta[0].net for answer in answers] == [-2, 2] * 10

    def test_answers_are_in_order_after_an_error_of_taking_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with mf.Monitor(graph(), PAIR).feed(most=1) as feed:
            feed.write([("-", 0, 1), ("-", 1, 2)])
            assert feed.finish(60)
            with monkeypatch.context() as patched:
                patched.setattr(feed, "_native_delta", lambda *_: signal.raise_signal(signal.SIGINT))
                with pytest.raises(KeyboardInterrupt):
                    feed.take(60)
            assert [answer.first for answer in taken(feed, 2)] == [0, 1]

    def test_a_pause_that_begins_meanwhile_ends(self) -> None:
        with mf.Monitor(graph(), PAIR).feed() as feed:
            for number in range(20):
                with (
                    paused_elsewhere(feed) as go,
                    pytest.raises(KeyboardInterrupt),
                    ctrl_c_in_native_code(then=go.set),
                    feed.paused(),
                ):
                    pass
                feed.write([("-" if number % 2 == 0 else "+", 0, 1)])
                assert feed.finish(60)

    def test_the_pause_of_another_thread_goes_on(self) -> None:
        with mf.Monitor(graph(), PAIR).feed() as feed:
            with paused_elsewhere(feed):
                with pytest.raises(KeyboardInterrupt), ctrl_c_in_native_code(), feed.paused():
                    pass
                feed.write([("-", 0, 1)])
                assert not feed.finish(0.1)
                assert feed.answered == 0
            assert feed.finish(60)


ENDLESS = """
import atexit
# Called last, after all that ends native work.
atexit.register(lambda: (feed._thread.join(10), print("goes on:", feed._thread.is_alive())))

import time
import motiflux as mf
from motiflux.stream.feed import feed as module

module._SECONDS_AT_EXIT = 0.1
name = {name}
edges = [(name(source), name(target)) for source in range(200) for target in range(source)]
pattern = ", ".join(f"(v{{one}})--(v{{(one + step) % 9}})" for one in range(9) for step in (1, 2))
monitor = mf.Monitor(mf.Graph.from_edges(edges), pattern, threads=1, matches=False)
feed = monitor.feed()
feed.write([("-", *edges[0])])
time.sleep(0.3)
print("answered:", feed.answered)
"""


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", ["int", "str"], ids=["natively", "in Python"])
def test_a_call_without_end_ends_with_the_process(name: str) -> None:
    code = ENDLESS.format(name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "answered: 0\ngoes on: False\n", "")
