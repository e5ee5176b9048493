"""Damaged .mfg files: refused by name, or harmless; never a crash."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.conditions import AllOf, Comparison, IsMissing, Operator
from motiflux.graph import Graph
from tests.unit.mfg_cases import full_graph, identical

HEADER = 64


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Give the bytes of a file with every kind of section."""
    graph = full_graph()
    labels = np.arange(graph.num_vertices) % 3
    labelled = Graph.from_edges(
        tuple(np.repeat(end, graph.to_edges().multiplicity) for end in graph.to_edges()[:2]),
        directed=True,
        vertex_ids=graph.vertex_ids,
        vertex_labels=labels,
        edge_labels=np.repeat(graph.to_edges().labels, graph.to_edges().multiplicity),  # type: ignore[arg-type]
        vertex_attributes={"name": [None if v % 4 == 0 else "é" * v for v in range(graph.num_vertices)]},
        edge_attributes=graph.edge_attributes,
    )
    path = tmp_path_factory.mktemp("sound") / "g.mfg"
    mf.write_graph(labelled, path, class_order=True)
    return path.read_bytes()


def parts(content: bytes) -> tuple[list[int], dict[str, Any]]:
    """Give the numbers in the header (major, minor, bytes, table bytes) and the table."""
    _, *numbers, _ = struct.unpack_from("<8sIIQQI", content)
    return numbers, json.loads(content[HEADER : HEADER + numbers[3]])


def signed(content: bytes, table: object, **changes: int) -> bytes:
    """Give the file with another table or header, its checksums right."""
    numbers, _ = parts(content)
    encoded = json.dumps(table).encode() if not isinstance(table, bytes) else table
    encoded = encoded.ljust(numbers[3])
    fields = {
        "major": numbers[0],
        "minor": numbers[1],
        "size": len(content),
        "table_bytes": len(encoded),
    } | changes
    start = struct.pack("<8sIIQQI", content[:8], *fields.values(), zlib.crc32(encoded))
    header = (start + struct.pack("<I", zlib.crc32(start))).ljust(HEADER, b"\0")
    return header + encoded + content[HEADER + len(encoded) :]


def refusal(path: Path, content: bytes, read: Callable[[Path], object] = mf.read_graph) -> str:
    path.write_bytes(content)
    with pytest.raises(mf.FormatError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


class TestTheHeader:
    @pytest.mark.parametrize(
        ("at", "message"),
        [
            (0, "found no .mfg file, expected one (its first bytes are others)"),
            (7, "found no .mfg file, expected one (its first bytes are others)"),
            (8, "found format 254, written by a newer motiflux; expected format 1"),
            (12, "the header is damaged: found another checksum than when it was written"),
            (16, "the header is damaged: found another checksum than when it was written"),
            (24, "the header is damaged: found another checksum than when it was written"),
            (32, "the header is damaged: found another checksum than when it was written"),
            (36, "the header is damaged: found another checksum than when it was written"),
            (40, "the header is damaged: found other bytes than zeros at its end"),
            (63, "the header is damaged: found other bytes than zeros at its end"),
            (64, "the table is damaged: found another checksum than when it was written"),
        ],
    )
    def test_each_field_is_watched(self, tmp_path: Path, sound: bytes, at: int, message: str) -> None:
        content = bytearray(sound)
        content[at] ^= 0xFF
        assert refusal(tmp_path / "g.mfg", bytes(content)) == message

    def test_versions_are_told_apart_by_name(self, tmp_path: Path, sound: bytes) -> None:
        path, table = tmp_path / "g.mfg", parts(sound)[1]
        newer = refusal(path, signed(sound, table, major=2))
        assert newer == "found format 2, written by a newer motiflux; expected format 1"
        none = refusal(path, signed(sound, table, major=0))
        assert none == "found format 0, written by no motiflux; expected format 1"
        path.write_bytes(signed(sound, table, minor=9))
        assert mf.read_graph(path).num_vertices == 30

    def test_a_file_cut_anywhere_is_refused(self, tmp_path: Path, sound: bytes) -> None:
        places = {0, 1, 7, 8, 20, 63, 64, 65, len(sound) - 1, len(sound) - 64}
        places |= {section[3] + shift for section in parts(sound)[1]["sections"] for shift in (-1, 0, 1)}
        for place in sorted(places):
            message = refusal(tmp_path / "g.mfg", sound[:place])
            assert "cut short" in message or "found no .mfg file" in message, place

    def test_a_longer_file_is_refused(self, tmp_path: Path, sound: bytes) -> None:
        message = refusal(tmp_path / "g.mfg", sound + b"x")
        assert (
            message == f"found {len(sound) + 1} bytes, expected {len(sound)}: the file is longer than it was"
        )

    def test_a_table_larger_than_the_file_is_refused(self, tmp_path: Path, sound: bytes) -> None:
        message = refusal(tmp_path / "g.mfg", signed(sound, parts(sound)[1], table_bytes=2**62))
        assert message == f"the header is damaged: found a table of {2**62} bytes in a smaller file"

    @pytest.mark.parametrize("name", ["absent.mfg", "folder.mfg"])
    def test_what_is_no_file_is_refused(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "folder.mfg").mkdir()
        with pytest.raises(mf.FormatError, match=r"\.mfg: "):
            mf.read_graph(tmp_path / name)


def with_section(name: str, place: int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(table: dict[str, Any]) -> None:
        next(one for one in table["sections"] if one[0] == name)[place] = value

    return change


def with_fact(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda table: table["facts"].__setitem__(name, value)


def without(name: str) -> Callable[[dict[str, Any]], None]:
    def change(table: dict[str, Any]) -> None:
        table["sections"] = [one for one in table["sections"] if one[0] != name]

    return change


TABLES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no facts": (lambda table: table.pop("facts"), "the table is damaged: KeyError: 'facts'"),
    "facts of another kind": (
        lambda table: table.update(facts=[]),
        "the table is damaged: found no facts",
    ),
    "short entry": (lambda table: table["sections"][0].pop(), "the table is damaged: TypeError: "),
    "no shape": (with_section("vertex_ids", 2, 5), "the table is damaged: TypeError: "),
    "a name that is none": (
        with_section("vertex_ids", 0, 5),
        "section 5: found no name and type, expected strings",
    ),
    "two of a name": (
        with_section("forward.labels", 0, "forward.offsets"),
        "section 'forward.offsets': found two, expected one",
    ),
    "another type": (
        with_section("forward.neighbors", 1, "<i4"),
        "section forward.neighbors: found <i4 [",
    ),
    "a type of objects": (
        with_section("forward.neighbors", 1, "|O8"),
        "section 'forward.neighbors': found the type '|O8', expected that of a plain array",
    ),
    "another shape": (
        with_section("forward.offsets", 2, [15, 1]),
        "section 'forward.offsets': found 248 bytes, which do not make <u8 [15, 1]",
    ),
    "a negative extent": (
        with_section("forward.offsets", 2, [-31]),
        "section 'forward.offsets': found other than integers of at least 0 for its place",
    ),
    "a place before": (
        with_section("forward.offsets", 3, 64),
        "section 'forward.offsets': found it in bytes 64 to 312, expected a multiple of 64 from ",
    ),
    "a place beyond": (
        with_section("forward.offsets", 3, 2**40),
        "section 'forward.offsets': found it in bytes 1099511627776 to ",
    ),
    "a place between": (
        lambda table: [with_section("forward.offsets", 3, one[3] + 8)(table) for one in table["sections"]],
        "section 'forward.offsets': found it in bytes ",
    ),
    "a section missing": (
        without("forward.neighbors"),
        "section forward.neighbors: found none, expected one",
    ),
    "reverse rows missing": (without("reverse.offsets"), "section reverse.offsets: found none, expected one"),
    "text missing": (without("edge.kind.text"), "section edge.kind.text: found none, expected one"),
    "labels missing": (
        without("edge_label_table.text"),
        "section edge_label_table: found none, expected one",
    ),
    "fewer vertices": (
        with_fact("vertices", 29),
        "section vertex_ids: found <U31 [30], expected ",
    ),
    "too many vertices": (
        with_fact("vertices", 2**32),
        "facts: vertices: found 4294967296, expected an integer from 0 to 4294967294",
    ),
    "a fraction of vertices": (with_fact("vertices", 3.0), "facts: vertices: found 3.0, expected int"),
    "no direction": (with_fact("directed", 1), "facts: directed: found 1, expected bool"),
    "fewer rows than edges": (with_fact("rows", 3), "facts: found "),
    "another number of arcs": (with_fact("arcs", 4), "section forward.neighbors: found <u4 ["),
    "a kind that is none": (
        with_fact("edge_attributes", {"amount": "dates"}),
        "facts: attribute edge.amount: found 'dates', expected booleans, integers, ",
    ),
    "a kind of another type": (
        with_fact("edge_attributes", {"amount": []}),
        "facts: attribute edge.amount: found [], expected booleans",
    ),
    "another kind": (
        with_fact("edge_attributes", {"amount": "integers"}),
        "section edge.amount.data: found <f8 [",
    ),
    "an attribute that is not there": (
        with_fact("edge_attributes", {"other": "floats"}),
        "section edge.other.data: found none, expected one",
    ),
    "a shape that is none": (with_fact("shape", {"wedges": 1}), "facts: shape: 'out_histogram'"),
    "a shape of other fields": (
        with_fact("shape", {"out_histogram": [], "in_histogram": [], "x": 1}),
        "facts: shape: ",
    ),
    "histograms that are none": (
        with_fact("shape", {"out_histogram": 1, "in_histogram": []}),
        "facts: shape: 'int' object is not iterable",
    ),
}


@pytest.mark.parametrize(("change", "message"), TABLES.values(), ids=TABLES.keys())
def test_a_table_that_does_not_fit_is_refused_when_it_is_opened(
    tmp_path: Path, sound: bytes, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    table = parts(sound)[1]
    change(table)
    assert refusal(tmp_path / "g.mfg", signed(sound, table)).startswith(message)


@pytest.mark.parametrize("table", [b"", b"nonsense", b"[" * 3000, b"[]", b'{"facts": {}}', b"\xff"])
def test_a_table_that_is_none_is_refused(tmp_path: Path, sound: bytes, table: bytes) -> None:
    message = refusal(tmp_path / "g.mfg", signed(sound, table))
    assert message.startswith(("the table is damaged: ", "facts: "))


def changed(content: bytes, name: str, dtype: str, place: int, value: int, *, sign: bool = True) -> bytes:
    """Give the file with one value of a section changed; with `sign`, its checksum is right again."""
    table = parts(content)[1]
    section = next(one for one in table["sections"] if one[0] == name)
    array = np.frombuffer(content[section[3] : section[3] + section[4]], dtype=dtype).copy()
    array[place] = value
    mended = content[: section[3]] + array.tobytes() + content[section[3] + section[4] :]
    if not sign:
        return mended
    section[5] = zlib.crc32(array.tobytes())
    return signed(mended, table)


def look(path: Path) -> None:
    """Open a graph and use all of it."""
    graph = mf.read_graph(path)
    mf.count(graph, mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)]))
    graph.to_edges(), graph.vertex_labels_by_id(), graph.stats()
    graph.vertex_ids.tolist()
    condition = AllOf(
        (
            Comparison("amount", Operator.GREATER, 0.5),
            Comparison("kind", Operator.CONTAINS, "k"),
            IsMissing("many"),
        )
    )
    graph.arc_mask(condition, "out"), graph.arc_mask(condition, "in")
    graph.vertex_mask(Comparison("name", Operator.ENDS_WITH, "é"))
    for table in (graph.vertex_attributes, graph.edge_attributes):
        for column in table.values():
            column.to_numpy().tolist()
    for pattern in (
        mf.Pattern.from_edges([(0, 1), (1, 2)], vertex_labels=[0, 1, 2], edge_labels=["wire", "cash"]),
        mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3)]),
    ):
        mf.match(graph, pattern, limit=50).to_numpy()
        mf.count(graph, pattern, semantics="induced")


VALUES = [
    ("forward.offsets", "<u8", 0, 1, "forward.offsets[0]: found 1, expected 0"),
    ("forward.offsets", "<u8", 5, 2**63, "forward.offsets[6]: found "),
    (
        "forward.offsets",
        "<u8",
        -1,
        2**40,
        "forward.offsets[30]: found 1099511627776, expected ",
    ),
    ("forward.neighbors", "<u4", 9, 30, "forward.neighbors[9]: found 30, expected a vertex below 30"),
    ("forward.neighbors", "<u4", -1, 2**32 - 1, "forward.neighbors["),
    ("reverse.neighbors", "<u4", -1, 0, "reverse.neighbors["),
    ("forward.labels", "<u4", 3, 2, "forward.labels[3]: found 2, expected a code below 2"),
    ("forward.copies", "<u4", 3, 0, "forward.copies[3]: found 0, expected at least 1"),
    ("reverse.copies", "<u4", 3, 77, "reverse.copies: found "),
    ("vertex_labels", "<u4", 3, 3, "vertex_labels: found the code 3, expected one below 3"),
    ("vertex_ids", "<u4", 3, 2**31, "vertex_ids: characters: expected characters up to 0x10ffff"),
    ("edge.kind.data", "<u4", 3, 900, "edge.kind.data: found the code 900, expected one below 4"),
    ("edge.kind.offsets", "<i8", 1, 900, "edge.kind.offsets: found other than ascending places in its text"),
    ("edge.kind.offsets", "<i8", 1, -1, "edge.kind.offsets: found other than ascending places in its text"),
    ("vertex.name.offsets", "<i8", 1, 1, "vertex.name.offsets: found a place within a character"),
    ("vertex.name.text", "|u1", 3, 255, "vertex.name.text: 'utf-8' codec can't decode byte "),
]


@pytest.mark.parametrize(("name", "dtype", "place", "value", "message"), VALUES)
def test_values_no_search_could_use_are_refused_when_they_are_looked_at(
    tmp_path: Path, sound: bytes, name: str, dtype: str, place: int, value: int, message: str
) -> None:
    path = tmp_path / "g.mfg"
    content = changed(sound, name, dtype, place, value)
    path.write_bytes(content)
    mf.read_graph(path)
    for read in (look, mf.verify_graph, lambda path: mf.read_graph(path, directed=False)):
        assert refusal(path, content, read).startswith(f"section {message}")


def test_every_section_is_named_when_it_is_damaged(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "g.mfg"
    path.write_bytes(sound)
    mf.verify_graph(path)
    names = set()
    for name, _, _, offset, nbytes, _ in parts(sound)[1]["sections"]:
        if nbytes:
            names.add(name)
            content = bytearray(sound)
            content[offset + nbytes // 2] ^= 0x10
            expected = f"section {name}: found another checksum than when it was written"
            assert refusal(path, bytes(content), mf.verify_graph) == expected
    assert {
        "vertex_ids",
        "reverse.copies",
        "edge.amount.mask",
        "edge.kind.text",
        "frequencies.triples",
    } <= names


def test_several_damaged_sections_are_all_named(tmp_path: Path, sound: bytes) -> None:
    content = changed(sound, "forward.neighbors", "<u4", 0, 999, sign=False)
    content = changed(content, "edge.many.data", "|u1", 0, 99, sign=False)
    message = refusal(tmp_path / "g.mfg", content, mf.verify_graph)
    assert message.startswith("sections forward.neighbors, edge.many.data: found another checksum")


def test_a_damaged_label_is_refused_when_the_file_is_opened(tmp_path: Path, sound: bytes) -> None:
    content = changed(sound, "edge_label_table.text", "|u1", 0, 65, sign=False)
    expected = "section edge_label_table.text: found another checksum than when it was written"
    assert refusal(tmp_path / "g.mfg", content) == expected


@settings(max_examples=10 * settings.default.max_examples)
@given(data=st.data())
def test_bytes_flipped_in_header_and_table_are_found(
    tmp_path_factory: pytest.TempPathFactory, sound: bytes, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "flipped.mfg"
    content = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, HEADER + parts(sound)[0][3] - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    try:
        graph = mf.read_graph(path)
    except mf.FormatError:
        return
    original = path.with_name("original.mfg")
    original.write_bytes(sound)
    assert identical(graph, mf.read_graph(original))


@pytest.mark.turns(8)
@settings(max_examples=10 * settings.default.max_examples)
@given(data=st.data())
def test_bytes_flipped_anywhere_never_crash_a_search(
    tmp_path_factory: pytest.TempPathFactory, sound: bytes, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "flipped.mfg"
    content = bytearray(sound)
    start = HEADER + parts(sound)[0][3]
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(start, len(sound) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    try:
        look(path)
    except mf.FormatError as error:
        message = str(error)
    else:
        message = f"{path}: section unharmed"
    assert message.startswith(f"{path}: section ")


@pytest.mark.turns(8)
@settings(max_examples=10 * settings.default.max_examples)
@given(data=st.data())
def test_a_table_with_any_value_changed_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, sound: bytes, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "table.mfg"
    table = parts(sound)[1]
    anything = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-1, 2**70),
        st.floats(),
        st.text(max_size=3),
        st.just([]),
        st.just({}),
    )
    if data.draw(st.booleans()):
        section = data.draw(st.sampled_from(table["sections"]))
        section[data.draw(st.integers(0, 5))] = data.draw(
            anything | st.sampled_from(["<u4", "<i8", [30], [1, 2]])
        )
    else:
        table["facts"][data.draw(st.sampled_from(sorted(table["facts"])))] = data.draw(anything)
    path.write_bytes(signed(sound, table))
    try:
        look(path)
    except mf.FormatError as error:
        message = str(error)
    except mf.PatternError as error:  # of an attribute that the changed facts leave out
        message = f"{path}: {error}"
    else:
        message = f"{path}: nothing wrong"
    assert message.startswith(f"{path}: ")
