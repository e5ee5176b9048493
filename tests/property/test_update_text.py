"""The native parser of streams of updates against a slow one in plain Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from motiflux.errors import FormatError
from motiflux.stream import Request
from motiflux.stream.sources.text import TextSource

INTEGER = re.compile(r"0|-?[1-9][0-9]*")
OPS = {"e": True, "-e": False}


class Cut:
    """Text that comes in small pieces."""

    name = "text"
    live = endless = once = False
    size = 0

    def __init__(self, data: bytes, length: int) -> None:
        self._pieces = [data[at : at + length] for at in range(0, len(data), length)]

    def chunks(self, offset: int, deadline: float | None) -> Iterator[bytes]:
        yield from self._pieces


def integer(token: str) -> int:
    """Return an integer of 64 bits, without superfluous characters."""
    if not INTEGER.fullmatch(token) or not -(2**63) <= int(token) < 2**63:
        raise ValueError(token)
    return int(token)


def slowly_parsed(text: str) -> tuple[list[Any], list[int]]:
    """Return updates and labels of vertices with their lines, and the lines that are malformed."""
    found: list[Any] = []
    wrong: list[int] = []
    lines = text.split("\n")
    for number, line in enumerate(lines[:-1] if lines[-1] == "" else lines, 1):
        tokens = re.split("[ \t]+", line.removesuffix("\r").strip(" \t"))
        if tokens == [""] or tokens[0][0] in "#%":
            continue
        try:
            if tokens[0] == "v":
                _, vertex, label = tokens
                found.append((number, "v", integer(vertex), integer(label)))
                continue
            op = OPS[tokens[0]]
            source, target, *rest = tokens[1:]
            if len(rest) > 1:
                raise ValueError(line)
            label_number = integer(rest[0]) if rest else 0
            found.append((number, op, integer(source), integer(target), label_number))
        except (ValueError, KeyError):
            wrong.append(number)
    return found, wrong


TOKENS = st.sampled_from(
    [
        "e",
        "-e",
        "v",
        "1",
        "2",
        "-7",
        "0",
        "00",
        "-0",
        "+1",
        "1.5",
        "x",
        "#",
        "%",
        "",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "111111111111111111111111111111",
        "²",
    ]
)
GOOD = st.builds(
    lambda op, u, v, label: f"{op} {u} {v}{label}",
    st.sampled_from(["e", "-e", "v"]),
    st.integers(),
    st.integers(-3, 3),
    st.sampled_from(["", " 4", " 5"]),
)
LINES = st.builds(
    lambda tokens, blank: blank.join(tokens), st.lists(TOKENS, max_size=6), st.sampled_from(" \t")
)
TEXT = st.lists(st.tuples(st.one_of(LINES, GOOD), st.sampled_from(["\n", "\r\n", " \n"])), max_size=20).map(
    lambda parts: "".join(line + end for line, end in parts)
)


@given(text=st.one_of(TEXT, TEXT.map(str.rstrip)), length=st.integers(1, 30), size=st.integers(1, 9))
def test_lines_mean_what_a_slow_parser_says(text: str, length: int, size: int) -> None:
    expected, wrong = slowly_parsed(text)
    request = Request(size, ids="i", edge_labels="i", vertex_labels="i")
    source = TextSource(Cut(text.encode(), length), ".stream", on_error="skip")
    found: list[Any] = []
    skips = 0
    for batch in source.batches(request):
        one, named = batch.updates, batch.updates.vertex_labels
        assert batch.lines is not None
        labels = [0] * len(one) if one.labels is None else one.labels.tolist()
        columns = (batch.lines, one.inserts, one.sources, one.targets)
        found += zip(*(column.tolist() for column in columns), labels, strict=True)
        if named is not None:
            assert batch.label_lines is not None
            pairs = zip(batch.label_lines.tolist(), named.ids.tolist(), named.labels.tolist(), strict=True)
            found += [(line, "v", vertex, label) for line, vertex, label in pairs]
        for line, _ in batch.skipped:
            assert line in wrong
            line_text = text.split("\n")[line - 1].rstrip("\r")
            told = line_text[:100] + ("..." if len(line_text) > 100 else "")
            assert not line_text.isascii() or batch.text_of(line) == f"'{told}'".replace("\t", "\\x09")
        skips += batch.skips
    assert sorted(found, key=lambda item: item[0]) == expected
    assert skips == len(wrong)


@given(text=TEXT, length=st.integers(1, 30), size=st.integers(1, 9))
def test_a_malformed_line_stops_before_it_and_can_be_mended(text: str, length: int, size: int) -> None:
    expected, wrong = slowly_parsed(text)
    request = Request(size, ids="i", edge_labels="i", vertex_labels="i")
    lines, position, stopped = [], (0, 0), None
    try:
        for batch in TextSource(Cut(text.encode(), length), ".stream").batches(request):
            assert batch.lines is not None
            lines += batch.lines.tolist()
            position = batch.position
    except FormatError as error:
        stopped = error.line
    assert stopped == (wrong[0] if wrong else None)
    # The position is behind whole lines: all before it, and nothing of the malformed one.
    assert position[0] < (stopped or len(text) + 1)
    if stopped is not None:
        assert text.encode()[: position[1]].count(b"\n") == position[0]
    assert lines == [
        number for number, kind, *_ in expected if kind != "v" and number < (stopped or len(text) + 1)
    ]
