"""When a stream on a GPU counts as stalled."""

from __future__ import annotations

from unittest import mock

from motiflux.gpu.streaming import StreamProgress
from motiflux.gpu.streaming.watching import Watchdog


def progress_of(moved: int, *, begun: int = 0, read: int = 0) -> StreamProgress:
    return StreamProgress(
        submitted=9, received=moved, published=moved, finished=moved, collected=moved, issued=moved,
        taken=moved, begun=begun, read=read, beats=0, turns=0, reason="",
    )  # fmt: skip


def test_a_watchdog_looks_at_streams_with_work_that_do_not_move() -> None:
    watchdog, now = Watchdog(5.0), 0.0

    def stalls(progress: StreamProgress, *, drained: bool = True) -> bool:
        with mock.patch("time.monotonic", return_value=now):
            return watchdog.is_stalled(progress, drained=drained)

    assert not stalls(progress_of(1))
    now = 4.0
    assert not stalls(progress_of(1))
    now = 6.0
    assert stalls(progress_of(1))
    assert not stalls(progress_of(2))
    now = 20.0
    assert not stalls(progress_of(9))  # all is done
    now = 40.0
    assert not stalls(progress_of(9))
    assert not stalls(progress_of(3, begun=2, read=1), drained=False)
    now = 60.0
    assert not stalls(progress_of(3, begun=2, read=1), drained=False)  # it waits for its reader
    assert not stalls(progress_of(3, begun=2, read=1), drained=True)
    now = 66.0
    assert stalls(progress_of(3, begun=2, read=1), drained=True)


def test_where_a_stream_stands_is_told_in_words() -> None:
    told = str(progress_of(3))
    assert told.startswith("9 updates submitted, 3 received, 3 published, 3 finished, 3 collected")
