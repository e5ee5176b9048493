"""The host's ends of a ring, as Python sees them."""

from __future__ import annotations

import gc
import resource
import signal
import threading
import time
import weakref

import numpy as np
import pytest

from motiflux._native import RingReader, RingWriter, echo
from tests.interrupts import ctrl_c_in_native_code
from tests.unit.ring_memory import RingMemory, records
from tests.waiting import wait_until


def test_records_come_out_as_they_went_in() -> None:
    ring = RingMemory()
    reader, writer = ring.reader(), ring.writer()
    out = np.zeros((10, 2), np.uint32)
    assert reader.read(out) == 0
    assert writer.try_write(records(0, 3))
    assert writer.try_write(records(3, 0))
    assert writer.try_write(records(3, 2))
    assert reader.read(out) == 5
    assert (out[:5] == records(0, 5)).all()
    assert not out[5:].any()
    assert reader.position == writer.position == 3


def test_a_full_output_ends_in_the_middle_of_a_packet() -> None:
    ring = RingMemory(slots=2)
    reader, writer = ring.reader(), ring.writer()
    assert writer.try_write(records(0, 5))
    assert writer.try_write(records(5, 5))
    assert not writer.try_write(records(10, 1))
    found = []
    out = np.zeros((3, 2), np.uint32)
    while rows := reader.read(out):
        found.append(out[:rows].copy())
    assert [len(part) for part in found] == [3, 3, 3, 1]
    assert (np.concatenate(found) == records(0, 10)).all()
    assert writer.try_write(records(10, 1))


def test_an_output_without_rows_waits_for_nothing() -> None:
    assert RingMemory().reader().read(np.zeros((0, 2), np.uint32), wait_seconds=60) == 0


def test_records_of_another_thread_arrive_in_order() -> None:
    total = 20_000
    ring = RingMemory()
    reader, writer = ring.reader(), ring.writer()

    def write() -> None:
        written = 0
        while written < total:
            count = min(written % 8 + 1, total - written)
            if writer.try_write(records(written, count)):
                written += count
            else:
                time.sleep(0)

    thread = threading.Thread(target=write)
    thread.start()
    out = np.zeros((100, 2), np.uint32)
    read = 0
    while read < total:
        rows = reader.read(out, wait_seconds=30)
        assert rows > 0
        assert (out[:rows] == records(read, rows)).all()
        read += rows
    thread.join()
    assert read == total


def test_a_wait_lasts_as_long_as_asked() -> None:
    start = time.monotonic()
    assert RingMemory().reader().read(np.zeros((1, 2), np.uint32), wait_seconds=0.06) == 0
    assert time.monotonic() - start >= 0.06


def test_a_wait_ends_with_the_first_record_and_lets_other_threads_run() -> None:
    ring = RingMemory()
    reader, writer = ring.reader(), ring.writer()
    # Runs only if the wait gives up the interpreter.
    threading.Timer(0.05, lambda: writer.try_write(records(7, 1))).start()
    out = np.zeros((5, 2), np.uint32)
    assert reader.read(out, wait_seconds=60) == 1
    assert (out[:1] == records(7, 1)).all()


@pytest.mark.skipif(not hasattr(resource, "RUSAGE_THREAD"), reason="threads are not told apart here")
def test_a_wait_does_not_burn_a_core() -> None:
    def sleeps() -> int:
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw

    before = sleeps()
    RingMemory().reader().read(np.zeros((1, 2), np.uint32), wait_seconds=0.5)
    assert sleeps() > before


def test_a_signal_ends_a_wait() -> None:
    class AlarmError(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise AlarmError

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(AlarmError), ctrl_c_in_native_code(signal.SIGUSR1):
            RingMemory().reader().read(np.zeros((1, 2), np.uint32), wait_seconds=float("inf"))
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_one_thread_at_a_time_reads() -> None:
    ring = RingMemory()
    reader, writer = ring.reader(), ring.writer()
    refused = []

    def read() -> None:
        try:
            reader.read(np.zeros((1, 2), np.uint32), wait_seconds=60)
        except RuntimeError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: refused, "one of them to be refused", of=threads[0])
    assert refused == ["another thread uses this end of the ring"]
    assert writer.try_write(records(0, 1))
    for thread in threads:
        thread.join()
    assert reader.position == 1


def test_an_end_goes_on_where_the_one_before_left_off() -> None:
    ring = RingMemory()
    out = np.zeros((1, 2), np.uint32)
    for number in range(6):
        assert ring.writer().try_write(records(number, 1))
        reader = ring.reader()
        assert reader.position == number
        assert reader.read(out) == 1
        assert (out == records(number, 1)).all()


def test_a_writer_needs_an_empty_ring() -> None:
    ring = RingMemory()
    ring.writer().try_write(records(0, 1))
    with pytest.raises(ValueError, match="nobody has read"):
        ring.writer()


@pytest.mark.parametrize(
    "word",
    [
        pytest.param(1 << 8 | 9, id="more records than a slot holds"),
        pytest.param(1 << 8 | 255, id="as many as a word can say"),
        pytest.param(3, id="a count alone"),
        pytest.param(2 << 8 | 1, id="the next ticket"),
        pytest.param(2**64 - 1, id="all bits"),
    ],
)
def test_a_word_that_makes_no_sense_is_an_error(word: int) -> None:
    ring = RingMemory()
    reader = ring.reader()
    ring.published[0] = word
    for _ in range(2):
        with pytest.raises(RuntimeError, match="packet 0 of the ring is corrupt"):
            reader.read(np.zeros((1000, 2), np.uint32), wait_seconds=60)
    assert reader.position == 0


def test_records_before_such_a_word_are_read_first() -> None:
    ring = RingMemory()
    reader, writer = ring.reader(), ring.writer()
    writer.try_write(records(0, 2))
    ring.published[1] = 77
    out = np.zeros((10, 2), np.uint32)
    assert reader.read(out) == 2
    with pytest.raises(RuntimeError, match="packet 1 of the ring is corrupt"):
        reader.read(out)


@pytest.mark.parametrize("end", [RingReader, RingWriter])
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"slots": 0}, "power of two"),
        ({"slots": 3}, "power of two"),
        ({"slot_bytes": 0}, "multiple of 4"),
        ({"slot_bytes": 6}, "multiple of 4"),
        ({"record_words": 0}, "one record"),
        ({"record_words": 17}, "one record"),
        ({"tail": 0}, "tail"),
        ({"published": 0}, "published"),
        ({"payload": 0}, "payload"),
    ],
)
def test_sizes_and_addresses_that_make_no_sense_are_refused(
    end: type[RingReader | RingWriter], change: dict[str, int], text: str
) -> None:
    ring = RingMemory()
    with pytest.raises(ValueError, match=text):
        end(**ring.arguments | change)


@pytest.mark.parametrize(("part", "step"), [("tail", 4), ("published", 4), ("payload", 2)])
def test_misaligned_addresses_are_refused(part: str, step: int) -> None:
    ring = RingMemory()
    with pytest.raises(ValueError, match=part):
        RingReader(**ring.arguments | {part: ring.arguments[part] + step})


def test_arrays_of_another_shape_or_kind_are_refused() -> None:
    ring = RingMemory()
    reader, writer = ring.reader(), ring.writer()
    with pytest.raises(ValueError, match="one column per word"):
        reader.read(np.zeros((4, 3), np.uint32))
    with pytest.raises(ValueError, match="one column per word"):
        writer.try_write(records(0, 1, words=3))
    with pytest.raises(ValueError, match="more records"):
        writer.try_write(records(0, 9))
    read_only = np.zeros((4, 2), np.uint32)
    read_only.flags.writeable = False
    for out in (
        np.zeros((4, 2), np.uint64),
        np.zeros((4, 4), np.uint32)[:, ::2],
        np.zeros(4, np.uint32),
        read_only,
    ):
        with pytest.raises(TypeError):
            reader.read(out)
    assert writer.position == 0


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_times_that_make_no_sense_are_refused(seconds: float) -> None:
    reader = RingMemory().reader()
    out = np.zeros((1, 2), np.uint32)
    with pytest.raises(ValueError, match="wait_seconds"):
        reader.read(out, wait_seconds=seconds)
    with pytest.raises(ValueError, match="spin_seconds"):
        reader.read(out, spin_seconds=seconds)


def test_a_wait_may_be_for_ever() -> None:
    ring = RingMemory()
    reader, writer = ring.reader(), ring.writer()
    threading.Timer(0.03, lambda: writer.try_write(records(1, 1))).start()
    assert reader.read(np.zeros((1, 2), np.uint32), wait_seconds=float("inf")) == 1


@pytest.mark.turns(8)
def test_an_end_keeps_its_memory() -> None:
    ring = RingMemory()
    memory = weakref.ref(ring)
    reader = ring.reader()
    del ring
    gc.collect()
    assert memory() is not None
    del reader
    gc.collect()
    assert memory() is None


def answer(to: RingMemory, back: RingMemory, packets: int, change: int = 0) -> None:
    reader, writer = to.reader(), back.writer()
    out = np.zeros((1, 2), np.uint32)
    for _ in range(packets):
        assert reader.read(out, wait_seconds=30) == 1
        assert writer.try_write(out + np.uint32(change))


def test_an_echo_is_timed() -> None:
    to, back = RingMemory(), RingMemory()
    writer, reader = to.writer(), back.reader()
    thread = threading.Thread(target=answer, args=(to, back, 50))
    thread.start()
    times = echo(reader, writer, 50, round_seconds=30)
    thread.join()
    assert times.shape == (50,)
    assert times.dtype == np.uint64
    assert (times > 0).all()
    assert reader.position == writer.position == 50


def test_an_echo_that_does_not_come_is_a_timeout() -> None:
    with pytest.raises(TimeoutError, match="no answer in round 0"):
        echo(RingMemory().reader(), RingMemory().writer(), 10, round_seconds=0.05)


def test_an_echo_that_is_not_what_was_sent_is_an_error() -> None:
    to, back = RingMemory(), RingMemory()
    writer, reader = to.writer(), back.reader()
    thread = threading.Thread(target=answer, args=(to, back, 1, 5))
    thread.start()
    with pytest.raises(RuntimeError, match="something else came back in round 0"):
        echo(reader, writer, 1, round_seconds=30)
    thread.join()


def test_an_echo_needs_records_of_one_size() -> None:
    with pytest.raises(ValueError, match="different sizes"):
        echo(RingMemory(record_words=3).reader(), RingMemory().writer(), 1)
