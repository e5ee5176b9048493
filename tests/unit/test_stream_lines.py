"""Lines of updates and answers between a resident kernel and the host, as Python sees the host's ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiflux import _native
from motiflux.codegen.streaming import LINE_WORDS, UPDATE_LINE_WORDS
from tests.unit.ring_memory import RingMemory

WORDS, MOST = 8, 3
"""Words of a record, and records of a line."""
Records = list[tuple[int, int, int]]


def tag(moment: int) -> int:
    return (2 * moment + 1) % 2**32


class Answers:
    """The lines of a kernel, and what the host has read."""

    def __init__(self, count: int = 8, finished: int = 0) -> None:
        self.lines = np.zeros((count, LINE_WORDS), np.uint64)
        self.told = np.array([0, finished], np.uint64)
        self.ring = RingMemory(record_words=WORDS)
        self.reader, self.finished = self.ring.reader(), finished
        self.out = np.full((64, WORDS), 77, np.uint32)

    def write(self, moment: int, records: Records, words: int | None = None) -> None:
        values = [
            len(records),
            *(value for plan, sign, total in records for value in (2 * plan + sign, total)),
        ]
        line = self.lines[moment % len(self.lines)]
        for at, value in enumerate(values[:words]):
            line[at] = value << 32 | tag(moment)

    def take(self, most: int = 64, last: int = 0) -> list[tuple[int, int, int, int]]:
        count, self.finished = _native.take_answers(
            self.reader, self.told, self.lines, self.out[:most], self.finished, last=last
        )
        assert not self.out[:count, 5:].any()
        return [
            (int(row[0]) | int(row[1]) << 32, int(row[2]), int(row[3]), int(row[4]))
            for row in self.out[:count]
        ]


def test_answers_are_read_in_the_order_of_their_updates_and_cleared() -> None:
    answers = Answers()
    answers.write(2, [(5, 1, 7)])
    assert answers.take() == []
    assert answers.finished == 0
    answers.write(1, [(0, 0, 2**32 - 1), (3, 1, 0)])
    answers.write(3, [])
    assert answers.take() == [(1, 0, 0, 2**32 - 1), (1, 3, 1, 0), (2, 5, 1, 7)]
    assert answers.finished == 3
    assert not answers.lines.any()
    assert answers.take() == []


@pytest.mark.parametrize("words", range(7))
def test_a_line_of_which_a_word_is_missing_is_not_there(words: int) -> None:
    answers = Answers()
    answers.write(1, [(1, 0, 2), (2, 1, 3), (3, 0, 4)], words)
    assert answers.take() == []
    assert answers.finished == 0
    answers.write(1, [(1, 0, 2), (2, 1, 3), (3, 0, 4)])
    assert answers.take() == [(1, 1, 0, 2), (1, 2, 1, 3), (1, 3, 0, 4)]


def test_an_update_without_a_line_is_finished_when_the_kernel_says_so_and_its_packets_are_read() -> None:
    answers = Answers()
    answers.write(2, [(1, 1, 1)])
    answers.told[:] = 1, 1  # a packet has records of the first update
    assert answers.take() == []
    assert answers.finished == 0
    record = np.zeros((1, WORDS), np.uint32)
    record[0, 0] = 1
    assert answers.ring.writer().try_write(record)
    assert answers.take() == [(1, 0, 0, 0), (2, 1, 1, 1)]
    assert answers.finished == 2


def test_lines_of_a_lap_before_are_not_taken() -> None:
    answers = Answers(count=4)
    answers.write(5, [(1, 0, 1)])
    answers.finished = 8
    assert answers.take() == []
    answers.told[1] = 9  # finished without a line
    assert answers.take() == []
    assert answers.finished == 9
    assert not answers.lines[1].any()


def test_answers_are_taken_as_far_as_there_is_room() -> None:
    answers = Answers()
    for moment in range(1, 5):
        answers.write(moment, [(moment, 1, 1)] * MOST)
    found = answers.take(most=MOST + MOST - 1)
    assert len(found) == MOST
    assert answers.finished == 1
    assert len(answers.take()) == 3 * MOST


@pytest.mark.parametrize("first", [2**31 - 2, 2**32 - 2, 2**33 - 2])
def test_tags_go_on_where_32_bits_end(first: int) -> None:
    answers = Answers(finished=first)
    for moment in range(first + 1, first + 5):
        answers.write(moment, [(1, 1, moment % 100)])
    assert [found[0] for found in answers.take()] == list(range(first + 1, first + 5))


def test_answers_of_later_updates_are_taken_by_completion() -> None:
    answers = Answers()
    answers.write(3, [(5, 1, 7)])
    answers.write(5, [])
    assert answers.take(last=5) == [(3, 5, 1, 7)]
    assert answers.finished == 0
    assert not answers.lines.any()
    answers.write(1, [(1, 0, 1)])
    assert answers.take(last=5) == [(1, 1, 0, 1)]
    assert answers.finished == 1
    answers.write(2, [(2, 0, 1)])
    assert answers.take(last=5) == [(2, 2, 0, 1)]
    assert answers.finished == 2  # nobody has said so of the third one yet
    answers.told[1] = 3
    assert answers.take(last=5) == []
    assert answers.finished == 3


def test_answers_of_updates_beyond_the_last_one_are_left() -> None:
    answers = Answers()
    answers.write(4, [(5, 1, 7)])
    assert answers.take(last=3) == []
    assert answers.take(last=4) == [(4, 5, 1, 7)]
    with pytest.raises(ValueError, match="last must be an update under way"):
        answers.take(last=9)


@given(st.data())
def test_every_answer_is_taken_once(data: st.DataObject) -> None:
    answers, last = Answers(), 20
    record = st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 1), st.integers(0, 2**32 - 1))
    given_records = [data.draw(st.lists(record, max_size=MOST)) for _ in range(last)]
    by_completion = data.draw(st.booleans())
    begun, open_ones, found = 0, list[int](), list[tuple[int, int, int, int]]()
    written = set[int]()
    while answers.finished < last:
        # No update begins before the line of the one a lap before was read.
        while begun < min(last, answers.finished + len(answers.lines)):
            begun += 1
            open_ones.append(begun)
        if open_ones:
            moment = open_ones.pop(data.draw(st.integers(0, len(open_ones) - 1)))
            answers.write(moment, given_records[moment - 1])
            written.add(moment)
            while answers.told[1] + 1 in written:
                answers.told[1] += 1
        found += answers.take(data.draw(st.integers(MOST, 12)), begun if by_completion else 0)
        if by_completion and not answers.lines.any():  # all that is there was taken
            assert {moment for moment, *_ in found} == {at for at in written if given_records[at - 1]}
    assert (sorted(found, key=lambda one: one[0]) if by_completion else found) == [
        (1 + at, *one) for at, records in enumerate(given_records) for one in records
    ]


def written(lines: np.ndarray[tuple[int, int], np.dtype[np.uint64]], moment: int) -> list[int]:
    """Return the words of an update, which all have its tag."""
    line = lines[moment % len(lines)]
    assert [int(word) % 2**32 for word in line] == [tag(moment)] * UPDATE_LINE_WORDS
    return [int(word) >> 32 for word in line]


def test_updates_are_written_while_there_is_room() -> None:
    lines, read = np.zeros((4, UPDATE_LINE_WORDS), np.uint64), np.array([6], np.uint64)
    writer = _native.UpdateWriter(
        lines=lines.ctypes.data, count=4, read=read.ctypes.data, moment=6, memory=(lines, read)
    )
    updates = np.arange(24, dtype=np.uint32).reshape(6, 4) + 2**31
    assert writer.try_write(updates[:3])
    assert [written(lines, moment) for moment in (7, 8, 9)] == updates[:3].tolist()
    assert not writer.try_write(updates[3:5])
    assert not lines[10 % 4].any()
    assert writer.try_write(updates[3:4])
    assert not writer.try_write(updates[4:5])
    read[0] = 8
    assert writer.try_write(updates[4:])
    assert [written(lines, moment) for moment in (9, 10, 11, 12)] == updates[2:].tolist()
    assert not writer.try_write(updates[:1])


def test_lines_that_are_not_a_power_of_two_are_refused() -> None:
    with pytest.raises(ValueError, match="power of two"):
        _native.UpdateWriter(lines=0, count=3, read=0, moment=0)
    with pytest.raises(ValueError, match="power of two"):
        Answers(count=3).take()
