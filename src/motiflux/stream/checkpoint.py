"""Monitors in files: all that is needed to go on as if nothing had happened.

The container is that of `motiflux.io.binary.sections`: written whole or not at all, each section with a
checksum. With n vertices, e edges and c copies in the window, it holds:

    section                             type            shape
    ----------------------------------  --------------  -----
    vertex_ids                          int64 or str    [n]
    vertex_labels                       uint32 codes    [n]
    edges.sources, .targets, .labels    uint32          [e]
    edges.copies                        uint32          [e]
    window.sources, .targets, .labels   uint32          [c]
    window.since                        int64           [c]

A monitor that keeps attributes has nothing in these sections of edges and windows. With k copies in their
order, it has:

    copies.sources, .targets, .labels   uint32          [k]
    copies.since                        int64           [k], the largest number for copies that no window ends
    attributes.NUMBER                   words of 64 bits, or text of strings; see `_pack`
    vertex_attributes.NUMBER            the same, of the vertices of the first graph

The facts are the options, the patterns, the labels behind the codes, the clock and the position in the
source. Vertices keep their numbers, so that matches have the same rows as before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.config import resolve_tuning
from motiflux.errors import FormatError, MotifluxError, OutputError
from motiflux.graph import Column, Graph, Kind
from motiflux.interop import GraphColumns
from motiflux.interop.strings import StringTable
from motiflux.io.binary.sections import SectionFile, write_sections
from motiflux.pattern import Pattern
from motiflux.pattern.queries.watched import CasePattern
from motiflux.stream.copies.kept import Kept
from motiflux.stream.copies.native import rows_of_edges
from motiflux.stream.pattern_facts import pattern_facts, pattern_of
from motiflux.types import Label
from motiflux.units import counted

VERSION = 1
WITH_COPIES = 2
"""The version of monitors that keep attributes, which earlier versions of motiflux cannot read."""
WITH_COMPARISONS = 3
"""The version of monitors with patterns that compare attributes."""
WITH_CASES = 4
"""The version of monitors with queries that have OPTIONAL, or OR between conditions of several edges."""

_COLUMNS = ("sources", "targets", "labels")
_MOST_COPIES = 2**32 - 1


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state of a monitor when it was saved.

    Parameters
    ----------
    options
        The arguments of `Monitor`.
    patterns
        With whether their matches are given.
    facts
        Numbers: the latest moment, the kind of times (0: none yet), the number of updates applied, and of
        copies in the window.
    position
        How far the source was read, as it was given.
    vertex_label_values, edge_label_values
        The labels behind the codes.
    arrays
        The sections.
    copies
        Of a monitor that keeps attributes, instead of edges and windows.
    vertex_attributes
        Of the vertices of its first graph.
    """

    directed: bool
    options: Mapping[str, Any]
    patterns: list[tuple[Pattern, bool]]
    facts: Mapping[str, int]
    position: Any
    vertex_label_values: list[Label]
    edge_label_values: list[Label]
    arrays: Mapping[str, NDArray[Any]]
    copies: Kept | None = None
    vertex_attributes: Mapping[str, Column] = field(default_factory=dict)

    def graph(self) -> Graph:
        """Return the graph; its vertices have other numbers.

        That of a monitor that keeps attributes has no edges: they are in `copies`.
        """
        copies = self.arrays["edges.copies"].astype(np.int64)
        labels = np.repeat(self.arrays["edges.labels"], copies)
        return Graph.from_columns(
            GraphColumns(
                np.repeat(self.arrays["edges.sources"], copies),
                np.repeat(self.arrays["edges.targets"], copies),
                vertex_ids=self.arrays["vertex_ids"],
                vertex_labels=np.array(self.vertex_label_values)[self.arrays["vertex_labels"]],
                edge_labels=np.array(self.edge_label_values)[labels],
                directed=self.directed,
                positions=True,
            )
        )

    def rows(self, codes: NDArray[np.uint32]) -> tuple[NDArray[Any], ...]:
        """Return the arcs by source, as the native monitor loads them: offsets, neighbours, labels, copies.

        Parameters
        ----------
        codes
            Of `edge_label_values`, in the terms of the new monitor.
        """
        sources, targets, labels = (self.arrays[f"edges.{name}"] for name in _COLUMNS)
        edges = sources, targets, codes[labels], self.arrays["edges.copies"]
        return rows_of_edges(edges, len(self.arrays["vertex_ids"]), directed=self.directed)

    def _version(self) -> int:
        """Return the least version that can say what the file has."""
        patterns = [pattern for pattern, _ in self.patterns]
        if any(isinstance(one, CasePattern) or any(e.besides for e in one.negated) for one in patterns):
            return WITH_CASES
        if any(one.comparisons for one in patterns):
            return WITH_COMPARISONS
        return VERSION if self.copies is None else WITH_COPIES

    def write(self, path: Path) -> int:
        """Write the file; return its bytes.

        Raises
        ------
        OutputError
            It cannot be written; nothing is left, and a file that was there is as it was.
        """
        copies = self.arrays["edges.copies"]
        if len(copies) and int(copies.max()) > _MOST_COPIES:
            raise OutputError(
                f"{path}: cannot be written: expected at most {_MOST_COPIES:,} copies of an edge"
            )
        ids = self.arrays["vertex_ids"]
        arrays = {
            **self.arrays,
            "vertex_ids": ids if ids.itemsize else ids.astype("<U1"),
            "edges.copies": copies.astype(np.uint32),
        }
        names: list[list[str]] = []
        of_vertices = _pack("vertex_attributes", self.vertex_attributes, arrays)
        if self.copies is not None:
            arrays |= {f"copies.{name}": getattr(self.copies, name) for name in (*_COLUMNS, "since")}
            names = _pack("attributes", self.copies.attributes, arrays)
        facts = {
            "monitor": self._version(),
            "copies": self.copies is not None,
            "attributes": names,
            "mixed_attributes": [] if self.copies is None else sorted(self.copies.mixed),
            "vertex_attributes": of_vertices,
            "time_attribute": None if self.copies is None else self.copies.time,
            "directed": self.directed,
            "options": dict(self.options),
            "patterns": [(pattern_facts(pattern), listed) for pattern, listed in self.patterns],
            "facts": dict(self.facts),
            "position": self.position,
            "vertex_labels": self.vertex_label_values,
            "edge_labels": self.edge_label_values,
        }
        try:
            return write_sections(path, facts, arrays)
        except (TypeError, ValueError) as error:
            raise OutputError(f"{path}: cannot be written: position: {error}") from None


def read_checkpoint(path: Path) -> Checkpoint:
    """Return the content of a file, after comparing all checksums.

    Raises
    ------
    FormatError
        It cannot be read, is no checkpoint, is of a newer version or is damaged.
    """
    file = SectionFile(path)
    version = file.facts.get("monitor")
    if type(version) is not int:
        raise file.fault("found another .mfg file, expected a saved monitor")
    if version not in (VERSION, WITH_COPIES, WITH_COMPARISONS, WITH_CASES):
        age = "a newer motiflux" if version > WITH_CASES else "no motiflux"
        expected = f"version {VERSION} to {WITH_CASES}"
        raise file.fault(f"found checkpoint version {version}, written by {age}; expected {expected}")
    file.verify()
    arrays = _arrays(file)
    try:
        facts = file.facts
        keeps_copies = facts.get("copies", version != VERSION) is True  # earlier versions do not say it
        return Checkpoint(
            directed=facts["directed"] is True,
            options=_options(facts["options"]),
            patterns=[(pattern_of(one), bool(listed)) for one, listed in facts["patterns"]],
            facts={name: int(number) for name, number in facts["facts"].items()},
            position=facts["position"],
            vertex_label_values=list(facts["vertex_labels"]),
            edge_label_values=list(facts["edge_labels"]),
            arrays=_checked(file, arrays, len(facts["vertex_labels"]), len(facts["edge_labels"])),
            copies=_copies(file, facts, len(arrays["vertex_ids"])) if keeps_copies else None,
            vertex_attributes=_of_vertices(file, facts.get("vertex_attributes", ())),
        )
    except FormatError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, MotifluxError) as error:
        raise file.fault(f"the facts are damaged: {type(error).__name__}: {error}") from None


def _options(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a file; switches that are newer than it have their defaults."""
    options = dict(saved)
    if "tuning" in options:
        options["tuning"] = {**resolve_tuning(None), **options["tuning"]}
    return options


def _arrays(file: SectionFile) -> dict[str, NDArray[Any]]:
    arrays = {
        "vertex_ids": file.array("vertex_ids", "<i8 <U", 1),
        "vertex_labels": file.array("vertex_labels", "<u4", 1),
        "window.since": file.array("window.since", "<i8", 1),
        "edges.copies": file.array("edges.copies", "<u4", 1),
    }
    for part in ("edges", "window"):
        arrays |= {f"{part}.{name}": file.array(f"{part}.{name}", "<u4", 1) for name in _COLUMNS}
    return {name: np.array(array) for name, array in arrays.items()}


def _checked(
    file: SectionFile, arrays: dict[str, NDArray[Any]], vertex_labels: int, edge_labels: int
) -> dict[str, NDArray[Any]]:
    """Refuse numbers of vertices and labels that are not there."""
    vertices = len(arrays["vertex_ids"])
    if len(arrays["vertex_labels"]) != vertices:
        raise file.fault(f"section vertex_labels: expected {counted(vertices, 'value')}")
    for name, last in (("edges", "edges.copies"), ("window", "window.since")):
        for column in _COLUMNS:
            if len(arrays[f"{name}.{column}"]) != len(arrays[last]):
                raise file.fault(f"section {name}.{column}: expected {counted(len(arrays[last]), 'value')}")
    bounds = {"vertex_labels": vertex_labels}
    for part in ("edges", "window"):
        bounds |= {f"{part}.sources": vertices, f"{part}.targets": vertices, f"{part}.labels": edge_labels}
    for name, bound in bounds.items():
        if len(arrays[name]) and int(arrays[name].max()) >= bound:
            raise file.fault(
                f"section {name}: expected numbers below {bound}, found {int(arrays[name].max())}"
            )
    return arrays


def _pack(part: str, attributes: Mapping[str, Column], arrays: dict[str, NDArray[Any]]) -> list[list[str]]:
    """Add the sections of attributes; return their names and kinds."""
    names = []
    for number, (name, column) in enumerate(attributes.items()):
        names.append([name, column.kind.value])
        at = f"{part}.{number}"
        if column.kind is Kind.NOTHING:
            continue
        arrays[f"{at}.missing"] = column.missing().view(np.uint8)
        if column.strings is not None:
            arrays[f"{at}.codes"] = column.data.astype(np.uint32)
            arrays[f"{at}.text"] = np.ascontiguousarray(column.strings.text)
            arrays[f"{at}.offsets"] = column.strings.offsets
        elif column.kind is Kind.FLOAT:
            arrays[f"{at}.values"] = column.data.astype(np.float64)
        else:
            arrays[f"{at}.values"] = column.data.astype(np.int64)
    return names


def _of_vertices(file: SectionFile, names: Sequence[Sequence[str]]) -> dict[str, Column]:
    """Return the attributes of vertices."""
    found: dict[str, Column] = {}
    for number, (name, kind) in enumerate(names):
        if Kind(kind) is not Kind.NOTHING:
            rows = len(file.array(f"vertex_attributes.{number}.missing", "|u1", 1))
            found[str(name)] = _column(file, f"vertex_attributes.{number}", Kind(kind), rows)
            if len(found[str(name)]) != rows:
                raise file.fault(f"vertex attribute {name!r}: expected {counted(rows, 'value')}")
        else:
            found[str(name)] = Column(np.zeros(0, dtype="V1"))
    return found


def _copies(file: SectionFile, facts: Mapping[str, Any], vertices: int) -> Kept:
    """Return the copies of a file, and refuse numbers of vertices and labels that are not there."""
    since = np.array(file.array("copies.since", "<i8", 1))
    ending = since[since != np.iinfo(np.int64).max]
    if (np.diff(ending) < 0).any():
        raise file.fault("section copies.since: expected numbers in ascending order")

    def column(name: str, bound: int) -> NDArray[np.uint32]:
        values = np.array(file.array(f"copies.{name}", "<u4", 1))
        if len(values) != len(since):
            raise file.fault(f"section copies.{name}: expected {counted(len(since), 'value')}")
        if len(values) and int(values.max()) >= bound:
            found = int(values.max())
            raise file.fault(f"section copies.{name}: expected numbers below {bound}, found {found}")
        return values

    ends = column("sources", vertices), column("targets", vertices)
    labels = column("labels", len(facts["edge_labels"]))
    attributes = {}
    for number, (name, kind) in enumerate(facts["attributes"]):
        attributes[str(name)] = _column(file, f"attributes.{number}", Kind(kind), len(since))
        if len(attributes[name]) != len(since):
            raise file.fault(f"attribute {name!r}: expected {counted(len(since), 'value')}")
    came, time = int(facts["facts"]["came"]), str(facts["time_attribute"])
    mixed = frozenset(map(str, facts.get("mixed_attributes", ())))
    return Kept(*ends, labels, since, came, attributes, time, mixed)


def _column(file: SectionFile, at: str, kind: Kind, rows: int) -> Column:
    if kind is Kind.NOTHING:
        return Column(np.zeros(rows, dtype="V1"))
    missing = np.array(file.array(f"{at}.missing", "|u1", 1)).astype(bool)
    mask = missing if missing.any() else None
    if kind is Kind.STRING:
        codes = np.array(file.array(f"{at}.codes", "<u4", 1))
        text = np.array(file.array(f"{at}.text", "|u1", 1))
        offsets = np.array(file.array(f"{at}.offsets", "<i8", 1))
        is_table = len(offsets) > 0 and offsets[0] == 0 and int(offsets[-1]) == len(text)
        if not is_table or (np.diff(offsets) < 0).any():
            raise file.fault(f"section {at}.offsets: expected the ends of strings in ascending order")
        if len(codes) and int(codes.max()) >= len(offsets) - 1:
            raise file.fault(f"section {at}.codes: expected numbers below {len(offsets) - 1}")
        return Column(codes, mask, StringTable(text, offsets))
    if kind is Kind.FLOAT:
        return Column(np.array(file.array(f"{at}.values", "<f8", 1)), mask)
    values = np.array(file.array(f"{at}.values", "<i8", 1))
    if kind is Kind.BOOLEAN:
        return Column(values.astype(bool), mask)
    return Column(values, mask, None, None if kind is Kind.INTEGER else kind)
