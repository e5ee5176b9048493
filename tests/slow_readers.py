"""Readers of text formats that are slow and obviously right, for graphs as multisets of edges.

What one of them accepts and motiflux does too has to be the same graph; both may refuse more than the other.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import motiflux as mf
from motiflux.interop import ChosenColumns, ColumnMapping
from motiflux.interop.end_names import find_ends


class RefusedError(Exception):
    """The text does not hold what its format says, or this reader is not up to it."""


class Plain(NamedTuple):
    """A graph: vertices with labels, and edges (source, target, label, attributes) but self-loops."""

    directed: bool
    vertices: dict[Hashable, Hashable]
    edges: Counter[tuple[Hashable, ...]]


Cell = tuple[str, bool]
"""The text of a field, and whether it was in quotes."""

_INTEGER = re.compile(r"-?[1-9][0-9]*|0", re.ASCII)
_DECIMAL = re.compile(r"-?(?!0[0-9])([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_ODD_FLOATS = {"nan": math.nan, "NaN": math.nan, "NAN": math.nan}
_ODD_FLOATS |= {sign + name: float(sign + "inf") for sign in ("", "-") for name in ("inf", "Inf", "INF")}
_TRUTHS = {
    spelling: spelling.lower() == "true"
    for yes in ("true", "false")
    for spelling in (yes, yes.capitalize(), yes.upper())
}
_EXACT = 2**53


def plain(graph: mf.Graph) -> Plain:
    """Return what a graph holds, copies of edges one by one."""
    edges: Counter[tuple[Hashable, ...]] = Counter()
    listed = graph.to_edges()
    names = sorted(graph.edge_attributes)
    columns = [graph.edge_attributes[name].to_numpy().tolist() for name in names]
    labels = [0] * len(listed.src) if listed.labels is None else listed.labels.tolist()
    row = 0
    for source, target, label, copies in zip(
        listed.src.tolist(), listed.dst.tolist(), labels, listed.multiplicity.tolist(), strict=True
    ):
        for _ in range(copies):
            values = tuple((name, known(column[row])) for name, column in zip(names, columns, strict=True))
            edges[edge_of(source, target, label, values, directed=graph.directed)] += 1
            row += 1
    return Plain(graph.directed, dict(graph.vertex_labels_by_id()), edges)


def known(value: object) -> Hashable:
    """Return a value with its type, as 1, 1.0 and True are equal; None where it is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return (type(value).__name__, value)


def edge_of(
    source: Hashable, target: Hashable, label: Hashable, values: tuple[Hashable, ...], *, directed: bool
) -> tuple[Hashable, ...]:
    if not directed and repr(target) < repr(source):
        source, target = target, source
    return (source, target, label, values)


# Fields


def split_quoted(text: str, separator: str) -> list[list[Cell]]:
    """Split text as RFC 4180 has it, character by character."""
    rows: list[list[Cell]] = []
    row: list[Cell] = []
    field, state = "", "begin"
    for character in text + ("" if text.endswith("\n") else "\n"):
        if state == "quotes":
            if character == '"':
                state = "closed"
            else:
                field += character
        elif character == '"':
            if state == "plain":
                raise RefusedError("a quote within a field")
            field += '"' if state == "closed" else ""
            state = "quotes"
        elif character == separator or character == "\n":
            quoted = state in ("closed", "ended")
            if character == "\n" and not quoted:
                field = field.removesuffix("\r")
            row.append((field, quoted))
            if character == "\n":
                if row != [("", False)]:
                    rows.append(row)
                row = []
            field, state = "", "begin"
        elif state == "closed" and character == "\r":
            state = "ended"
        elif state in ("closed", "ended"):
            raise RefusedError("text after a closing quote")
        else:
            field, state = field + character, "plain"
    if state == "quotes":
        raise RefusedError("a quote that is not closed")
    return rows


def split_blanks(text: str) -> list[list[Cell]]:
    rows = []
    for line in text.split("\n"):
        fields = re.split("[ \t]+", line.removesuffix("\r").strip(" \t"))
        if fields != [""] and not fields[0].startswith(("#", "%")):
            rows.append([(field, False) for field in fields])
    return rows


# Columns


def ids_of(*columns: Sequence[Cell]) -> list[list[Hashable]]:
    """Return columns of ids: integers if all are, else strings."""
    cells = [cell for column in columns for cell in column]
    if any(not text or "\0" in text or len(text.encode()) > 4096 for text, _ in cells):
        raise RefusedError("no id")
    if all(is_integer(trimmed(cell)) for cell in cells):
        return [[int(trimmed(cell)) for cell in column] for column in columns]
    if any(trimmed(cell) != cell[0] for cell in cells):
        raise RefusedError("blanks around a name")
    return [[text for text, _ in column] for column in columns]


def values_of(cells: Sequence[Cell]) -> list[Hashable]:
    """Return the values of an attribute, with their types; None where one is missing."""
    given = [trimmed(cell) for cell in cells if cell[0]]
    convert: Callable[[str], object]
    if all(map(is_integer, given)):
        convert = int
    elif all(text in _TRUTHS for text in given):
        convert = _TRUTHS.__getitem__
    elif all(map(is_float, given)):
        convert = to_float
    else:
        return [known(text) if text or quoted else None for text, quoted in cells]
    return [known(convert(trimmed(cell))) if cell[0] else None for cell in cells]


def trimmed(cell: Cell) -> str:
    text, quoted = cell
    return text if quoted else text.strip(" \t")


def is_integer(text: str) -> bool:
    return _INTEGER.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63


def is_float(text: str) -> bool:
    if is_integer(text):
        return abs(int(text)) <= _EXACT
    if text in _ODD_FLOATS:
        return True
    if not _DECIMAL.fullmatch(text) or (text.removeprefix("-").isdigit() and text != "-0"):
        return False
    return not math.isinf(float(text)) and not (
        float(text) == 0 and re.search("[1-9]", text.lower().split("e")[0])
    )


def to_float(text: str) -> float:
    return _ODD_FLOATS[text] if text in _ODD_FLOATS else float(text)


# Formats


def decoded(content: bytes) -> str:
    try:
        return content.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError:
        raise RefusedError("no UTF-8") from None


def graph_of(
    rows: Sequence[Sequence[Cell]],
    chosen: ChosenColumns,
    *,
    directed: bool,
    ids: Callable[..., list[list[Hashable]]],
) -> Plain:
    def column(place: int) -> list[Cell]:
        return [row[place] for row in rows]

    sources, targets = ids(*(column(place) for place in chosen.ends))
    labels: list[Hashable] = [0] * len(rows) if chosen.label is None else ids(column(chosen.label))[0]
    attributes = {name: values_of(column(place)) for name, place in sorted(chosen.attributes.items())}
    edges: Counter[tuple[Hashable, ...]] = Counter()
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if source != target:
            values = tuple((name, values[row]) for name, values in attributes.items())
            edges[edge_of(source, target, labels[row], values, directed=directed)] += 1
    return Plain(directed, dict.fromkeys([*sources, *targets], 0), edges)


def read_delimited(content: bytes, separator: str, *, directed: bool = True) -> Plain:
    """Read a ``.csv`` or ``.tsv`` file without anything said about its columns."""
    rows = split_quoted(decoded(content), separator)
    if not rows:
        return Plain(directed, {}, Counter())
    width = len(rows[0])
    if width < 2 or any(len(row) != width for row in rows):
        raise RefusedError("width")
    digits = any(is_digits(trimmed(cell)) for cell in rows[0][:2])
    named = not digits or find_ends([trimmed(cell) for cell in rows[0]]) is not None
    names = [(named and trimmed(cell)) or f"column{place}" for place, cell in enumerate(rows[0])]
    try:
        chosen = ColumnMapping().choose(names)
    except mf.ArgumentError:
        raise RefusedError("columns") from None
    return graph_of(rows[named:], chosen, directed=directed, ids=ids_of)


def is_digits(text: str) -> bool:
    return re.fullmatch("-?[0-9]+", text, re.ASCII) is not None


def read_edge_list(content: bytes, *, directed: bool = True) -> Plain:
    """Read a ``.txt`` file with fields apart by blanks."""
    rows = split_blanks(decoded(content))
    if not rows:
        return Plain(directed, {}, Counter())
    width = len(rows[0])
    if (
        width not in (2, 3)
        or any(len(row) != width for row in rows)
        or any("," in cell for cell, _ in rows[0])
    ):
        raise RefusedError("width")

    def ids(*columns: Sequence[Cell]) -> list[list[Hashable]]:
        texts = [[text for text, _ in column] for column in columns]
        if not any(like_number(column[0]) for column in texts):
            if any("\0" in text for column in texts for text in column):
                raise RefusedError("NUL")
            return [list(column) for column in texts]
        return [[natural(text) for text in column] for column in texts]

    names = not any(like_number(text) for text, _ in rows[0][:2])
    if names and len(rows) > 1 and all(is_digits(text) for text, _ in rows[1][:2]):
        raise RefusedError("integers among names")
    return graph_of(rows, ChosenColumns((0, 1), 2 if width == 3 else None, {}), directed=directed, ids=ids)


def like_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def natural(text: str) -> int:
    if not re.fullmatch("[0-9]+", text, re.ASCII) or int(text) >= 2**63:
        raise RefusedError("no natural number")
    return int(text)


def read_graph_file(content: bytes, *, directed: bool = True) -> Plain:
    """Read a ``.graph`` file."""
    vertices: dict[Hashable, Hashable] = {}
    edges: Counter[tuple[Hashable, ...]] = Counter()
    header: list[int] | None = None
    records = split_blanks(decoded(content))
    for place, cells in enumerate(records):
        kind, *fields = [text for text, _ in cells]
        if kind == "t" and place == 0 and len(fields) == 2:
            header = [natural(field) for field in fields]
        elif kind == "v" and len(fields) in (2, 3):
            vertex, label, *_ = [natural(field) for field in fields]
            if vertex in vertices:
                raise RefusedError("twice")
            vertices[vertex] = label
        elif kind == "e" and len(fields) in (2, 3):
            source, target, *rest = [natural(field) for field in fields]
            if source not in vertices or target not in vertices:
                raise RefusedError("unknown")
            edges[edge_of(source, target, rest[0] if rest else 0, (), directed=directed)] += 1
        else:
            raise RefusedError("record")
    if header is not None and header != [len(vertices), edges.total()]:
        raise RefusedError("totals")
    return Plain(directed, vertices, Counter({edge: n for edge, n in edges.items() if edge[0] != edge[1]}))


def read_matrix(content: bytes) -> Plain:
    """Read a ``.mtx`` file."""
    lines = decoded(content).split("\n")
    words = re.split("[ \t]+", lines[0].removesuffix("\r").strip(" \t"))
    kinds = [word.lower() for word in words]
    if kinds[:3] != ["%%matrixmarket", "matrix", "coordinate"] or len(kinds) != 5:
        raise RefusedError("banner")
    if kinds[3] not in ("pattern", "integer", "real"):
        raise RefusedError("field")
    if kinds[4] not in ("general", "symmetric", "skew-symmetric") or kinds[3:] == [
        "pattern",
        "skew-symmetric",
    ]:
        raise RefusedError("symmetry")
    (size, *entries) = split_blanks("\n".join(lines[1:])) or [[]]
    numbers = [natural(text) for text, _ in size]
    if len(numbers) != 3 or numbers[0] != numbers[1] or numbers[2] != len(entries):
        raise RefusedError("size")
    directed = kinds[4] != "symmetric"
    edges: Counter[tuple[Hashable, ...]] = Counter()
    for cells in entries:
        texts = [text for text, _ in cells]
        if len(texts) != (2 if kinds[3] == "pattern" else 3):
            raise RefusedError("width")
        row, column = natural(texts[0]), natural(texts[1])
        if not (1 <= row <= numbers[0] and 1 <= column <= numbers[0]):
            raise RefusedError("bounds")
        for sign in (1, -1) if kinds[4] == "skew-symmetric" else (1,):
            values: tuple[Hashable, ...] = ()
            if len(texts) == 3:
                if not (is_integer if kinds[3] == "integer" else is_float)(texts[2]):
                    raise RefusedError("value")
                value = int(texts[2]) if kinds[3] == "integer" else to_float(texts[2])
                values = (("weight", known(sign * value)),)
            ends = (row, column) if sign == 1 else (column, row)
            if row != column:
                edges[edge_of(*ends, 0, values, directed=directed)] += 1
    return Plain(directed, dict.fromkeys(range(1, numbers[0] + 1), 0), edges)
