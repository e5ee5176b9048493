"""Graphs as they are in memory (``.mfg``): opened at once, for any size.

The container is that of `motiflux.io.binary.sections`. With n vertices in internal order, a arcs, k labels
and r rows of edges (an undirected edge has two arcs, and one row for each copy), it holds:

    section                             type          shape      there
    ----------------------------------  ------------  ---------  ---------------------------------
    vertex_ids                          int64 or str  [n]        always
    vertex_labels                       uint32        [n]        unless all have one
    vertex_label_table, edge_...        int64         [k]        labels that are integers
    ..._label_table.text, .offsets      uint8, int64  [], [k+1]  labels that are strings (UTF-8)
    forward.offsets, reverse.offsets    uint64        [n + 1]    reverse: directed graphs
    forward.neighbors, reverse...       uint32        [a]        likewise
    forward.labels, reverse...          uint32        [a]        unless all edges have one
    forward.copies, reverse...          uint32        [a]        unless each edge was given once
    vertex.NAME.data, edge.NAME.data    any plain     [n], [r]   attributes; uint32 codes of strings,
                                                                 int64 nanoseconds of datetimes
    ....mask                            bool          [n], [r]   True where a value is missing
    ....text, ....offsets               uint8, int64  [], [k+1]  distinct strings, ascending
    class_order.classes                 uint32        [c, 2]     optional: codes of edge and vertex labels
    class_order.forward, ...reverse     uint32        [w]        optional: rows sorted by class
    frequencies.vertices                int64         [k]        vertices of each label
    frequencies.triples                 int64         [4, t]     label, edge label, label, arcs

The facts are the numbers n, a and r, whether the graph is directed, how many self-loops were left out when it
was built, the kinds of its attributes, and its shape (`motiflux.ShapeStats`).

Rows sorted by class are a second copy of the rows of a labelled graph, in the order and the form of the rows
of a `Monitor` (``csrc/dynamic/rows.hpp``): for each vertex its neighbours; in a graph of several classes then
room for as many starts of runs as it has neighbours, 64 at most, of 16 bits in rows of up to 65,535
neighbours and of 32 bits in others, padded to words with zeros; and with a class of number 64 or more the
class of each neighbour. A class is a pair of labels, numbered by ``class_order.classes``. Only a `Monitor`
reads these, and compares them with the rows when it is made.

Opening a file reads the header and the labels. The properties that a search relies on (offsets within
bounds, neighbours that are vertices, codes that are labels) are checked once, at the first access to rows or
attributes: a damaged file is refused then and never crashes a search. `verify_graph` compares checksums too.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import FormatError, GraphError
from motiflux.graph import AttributeTable, Column, Graph, LabelTable, ShapeStats, resolve_threads
from motiflux.graph.assemble import SelfLoops
from motiflux.graph.class_order import ClassOrder
from motiflux.graph.csr import Csr, LazyCsr
from motiflux.graph.labels import check_characters
from motiflux.graph.stats import LabelFrequencies
from motiflux.interop.strings import StringTable
from motiflux.io.binary.columns import column_arrays, column_of, strings_of
from motiflux.io.binary.sections import MONITOR, SAVED_MONITOR, SectionFile, write_sections
from motiflux.io.files.source import format_suffix, is_compressed
from motiflux.types import MAX_VERTICES, Label
from motiflux.units import counted, quantity

SUFFIX = ".mfg"

_MOST_ARCS = 2**40
_CLASSES, _FORWARD_ORDER, _REVERSE_ORDER = (
    f"class_order.{part}" for part in ("classes", "forward", "reverse")
)
_LONG_CHECK = 1 << 22
"""Arcs whose check takes some milliseconds."""
_MOST_TRIPLES = 1 << 16
"""Label triples are stored, and read at once, up to this many."""


def write(graph: Graph, path: Path, *, class_order: bool = False) -> int:
    """Write a graph; return the bytes of the file.

    Parameters
    ----------
    class_order
        Whether the rows of a labelled graph are also written sorted by class.

    Raises
    ------
    OutputError
        It cannot be written; nothing is left, and a file that was there is as it was.
    """
    ids = graph.vertex_ids
    ordered = _class_order_arrays(graph) if class_order and _has_labels(graph) else {}
    # Sections of vertices are between all rows that devices map, by pages, which they may then not share.
    arrays = {name: array for name, array in ordered.items() if name != _REVERSE_ORDER}
    arrays["vertex_ids"] = ids if ids.itemsize else ids.astype("<U1")
    arrays |= ordered
    if graph.vertex_labels is not None:
        arrays["vertex_labels"] = graph.vertex_labels
    arrays |= _label_arrays("vertex_label_table", graph.vertex_label_table)
    arrays |= _label_arrays("edge_label_table", graph.edge_label_table)
    frequencies = graph.label_frequencies()
    if len(frequencies.of_triples) <= _MOST_TRIPLES:
        arrays["frequencies.vertices"] = frequencies.of_vertices
        arrays["frequencies.triples"] = np.stack([*frequencies.triples, frequencies.of_triples])
    for name, rows in (("forward", graph.forward), ("reverse", graph.reverse)):
        if name == "forward" or graph.directed:
            found = {field.name: getattr(rows, field.name) for field in dataclasses.fields(Csr)}
            arrays |= {f"{name}.{part}": array for part, array in found.items() if array is not None}
    for table in (graph.vertex_attributes, graph.edge_attributes):
        for name, column in table.items():
            arrays |= column_arrays(f"{table.of}.{name}", column)
    facts = {
        "directed": graph.directed,
        "vertices": graph.num_vertices,
        "arcs": graph.forward.num_arcs,
        "rows": graph.num_edge_copies,
        "self_loops_dropped": graph.self_loops_dropped,
        "vertex_attributes": graph.vertex_attributes.kinds(),
        "edge_attributes": graph.edge_attributes.kinds(),
        "shape": dataclasses.asdict(graph.shape_stats()),
    }
    return write_sections(path, facts, arrays)


def read(
    path: Path,
    *,
    directed: bool | None = None,
    self_loops: SelfLoops = "warn",
    threads: int | None = None,
) -> Graph:
    """Open a graph.

    Raises
    ------
    FormatError
        With the section or fact, the value found and the value expected.
    """
    graph = _open(path, threads).graph()
    if directed is None or directed == graph.directed:
        return graph
    if directed:
        raise FormatError(
            path,
            "found an undirected graph, which does not say which way its edges go; "
            "expected a directed one, or directed=False",
        )
    return _merge_arcs(graph, threads)


def verify_graph(path: str | os.PathLike[str]) -> None:
    """Check a whole ``.mfg`` file: every checksum, and the properties that searches require.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    FormatError
        The error names the damaged sections.

    Examples
    --------
    >>> import tempfile, pathlib, motiflux as mf
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "triangle.mfg")
    >>> _ = mf.write_graph(mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)]), path)
    >>> mf.verify_graph(path)
    >>> folder.cleanup()
    """
    file = Path(path)
    if format_suffix(file) != SUFFIX:
        raise FormatError(file, f"found suffix {file.suffix!r}, expected {SUFFIX}: others hold no checksums")
    opened = _open(file, None)
    opened.file.verify()
    graph = opened.graph()
    opened.check()
    check_class_order(graph)


def _open(path: Path, threads: int | None) -> _Opened:
    if is_compressed(path):
        raise FormatError(
            path,
            "found a compressed .mfg file, expected it unpacked: it is used from where it lies, not read",
        )
    if sys.byteorder != "little":
        raise FormatError(path, "the format is little-endian, this machine is not")
    return _Opened(path, resolve_threads(threads))


class _Opened:
    """A file with a checked header, and the state of its further checks."""

    def __init__(self, path: Path, threads: int) -> None:
        self.file = SectionFile(path)
        if MONITOR in self.file.facts:
            raise self.file.fault(SAVED_MONITOR)
        self._threads = threads
        self._sound = False
        self._begun: threading.Thread | None = None
        self._vertices = self._count("vertices", MAX_VERTICES)
        self._arcs = self._count("arcs", _MOST_ARCS)
        self._rows = self._count("rows", _MOST_ARCS)
        self._directed = self._fact("directed", bool)
        edges = self._arcs if self._directed else self._arcs // 2
        if (not self._directed and self._arcs % 2) or self._rows < edges:
            found = f"{counted(self._arcs, 'arc')} and {counted(self._rows, 'row')}"
            raise self.file.fault(f"facts: found {found}, expected a row for each edge")
        self._duplicates = self._rows - edges
        self._ids = self._array("vertex_ids", "<i8 <U", self._vertices)
        self._labels = self._optional("vertex_labels", "<u4", self._vertices)
        self._vertex_table = self._label_table("vertex_label_table")
        self._forward = self._csr("forward")
        self._reverse = self._csr("reverse") if self._directed else self._forward
        self._edge_table = self._label_table("edge_label_table")
        self._ordered = self._class_order()
        self._vertex_columns = self._columns("vertex", self._vertices)
        self._edge_columns = self._columns("edge", self._rows)

    def graph(self) -> Graph:
        """Return the graph; nothing but labels has been read."""
        forward = self._lazy(self._forward, self._ordered)
        graph = Graph(
            directed=self._directed,
            vertex_ids=self._ids,
            forward=forward,
            reverse=self._lazy(self._reverse) if self._directed else forward,
            vertex_labels=self._labels,
            vertex_label_table=self._vertex_table,
            edge_label_table=self._edge_table,
            self_loops_dropped=self._count("self_loops_dropped", 2**63),
            duplicate_edges=self._duplicates,
            vertex_attributes=AttributeTable("vertex", self._vertex_columns, self.check),
            edge_attributes=AttributeTable("edge", self._edge_columns, self.check),
        )
        graph.keep_stats(self._shape(), self._frequencies())
        return graph

    def check(self) -> None:
        """Check, once, the properties that a search relies on.

        Raises
        ------
        FormatError
            Names the section.
        """
        if self._begun is not None:
            self._begun.join()
        if not self._sound:
            self._check()

    def begin(self) -> None:
        """Begin the check on a thread of its own, which `check` waits for; only `check` raises its error."""
        if self._sound or self._begun is not None or self._arcs < _LONG_CHECK:
            return
        begun = threading.Thread(target=self._try, name="motiflux: check of a graph file")
        with contextlib.suppress(RuntimeError):  # no more threads: `check` does all of it
            begun.start()
            self._begun = begun

    def _try(self) -> None:
        with contextlib.suppress(Exception):
            self._check()

    def _check(self) -> None:
        self._check_rows("forward", self._forward)
        if self._directed:
            self._check_rows("reverse", self._reverse)
        if self._labels is not None:
            self._check_codes("vertex_labels", self._labels, len(self._vertex_table))
        if self._ids.dtype.kind == "U":
            self._guard("vertex_ids", lambda: check_characters(self._ids, "characters"))
        for of, columns in (("vertex", self._vertex_columns), ("edge", self._edge_columns)):
            for name, column in columns.items():
                if column.strings is not None:
                    self._check_strings(f"{of}.{name}", column.strings)
                    self._check_codes(f"{of}.{name}.data", column.data, len(column.strings))
        self._sound = True

    def _lazy(self, rows: Csr, ordered: ClassOrder | None = None) -> LazyCsr:
        def fetch() -> Csr:
            self.check()
            return rows

        return LazyCsr(rows.num_vertices, rows.num_arcs, rows.nbytes, fetch, self.begin, ordered)

    def _check_rows(self, name: str, rows: Csr) -> None:
        expected = self._rows if self._directed else 2 * self._rows
        fault = _native.describe_fault(
            rows.offsets,
            rows.neighbors,
            rows.labels,
            rows.copies,
            len(self._edge_table),
            expected,
            self._threads,
        )
        if fault:
            raise self.file.fault(f"section {name}.{fault}")

    def _check_codes(self, name: str, codes: NDArray[Any], length: int) -> None:
        largest = int(codes.max(initial=0))
        if codes.size and largest >= length:
            raise self.file.fault(f"section {name}: found the code {largest}, expected one below {length}")

    def _check_strings(self, name: str, table: StringTable) -> None:
        offsets, text = table.offsets, table.text
        ascending = bool((offsets[1:] >= offsets[:-1]).all())
        if not (ascending and offsets[0] == 0 and offsets[-1] == len(text)):
            raise self.file.fault(f"section {name}.offsets: found other than ascending places in its text")
        inner = text[offsets[offsets < len(text)]]
        if ((inner & 0xC0) == 0x80).any():
            raise self.file.fault(f"section {name}.offsets: found a place within a character")
        self._guard(f"{name}.text", lambda: text.tobytes().decode("utf-8", "surrogatepass"))

    def _guard(self, name: str, look: Callable[[], object]) -> None:
        try:
            look()
        except (GraphError, UnicodeDecodeError) as error:
            raise self.file.fault(f"section {name}: {error}") from None

    def _fact(self, name: str, kind: type) -> Any:
        found = self.file.facts.get(name)
        if type(found) is not kind:
            raise self.file.fault(f"facts: {name}: found {found!r}, expected {kind.__name__}")
        return found

    def _count(self, name: str, most: int) -> int:
        found: int = self._fact(name, int)
        if not 0 <= found <= most:
            raise self.file.fault(f"facts: {name}: found {found}, expected an integer from 0 to {most}")
        return found

    def _array(self, name: str, dtypes: str, length: int) -> NDArray[Any]:
        return self.file.array(name, dtypes, (length,))

    def _optional(self, name: str, dtypes: str, length: int) -> NDArray[Any] | None:
        return self._array(name, dtypes, length) if name in self.file.sections else None

    def _csr(self, name: str) -> Csr:
        return Csr(
            self._array(f"{name}.offsets", "<u8", self._vertices + 1),
            self._array(f"{name}.neighbors", "<u4", self._arcs),
            self._optional(f"{name}.labels", "<u4", self._arcs),
            self._optional(f"{name}.copies", "<u4", self._arcs),
        )

    def _class_order(self) -> ClassOrder | None:
        """Return the rows sorted by class, if they are there: a monitor compares them with the rows."""
        if _CLASSES not in self.file.sections:
            return None
        classes = self.file.sound_array(_CLASSES, "<u4", 2)
        if classes.shape[1] != 2:
            found = quantity(classes.shape[1], "column")
            raise self.file.fault(f"section {_CLASSES}: found {found}, expected 2")
        for column, table in zip(classes.T, (self._edge_table, self._vertex_table), strict=True):
            self._check_codes(_CLASSES, column, len(table))
        return ClassOrder(
            classes,
            self.file.array(_FORWARD_ORDER, "<u4", 1),
            self.file.array(_REVERSE_ORDER, "<u4", 1) if self._directed else None,
            lambda fault: self.file.fault(f"section class_order.{fault}"),
        )

    def _label_table(self, name: str) -> LabelTable:
        values: Iterable[Label]
        if f"{name}.text" in self.file.sections:
            values = strings = strings_of(self.file, name, sound=True)
            self._check_strings(name, strings)
        else:
            values = self.file.sound_array(name, "<i8", 1).tolist()
        labels = LabelTable(tuple(values))
        if not len(labels):
            raise self.file.fault(f"section {name}: found no labels, expected one at least")
        return labels

    def _columns(self, of: str, length: int) -> dict[str, Column]:
        kinds = self._fact(f"{of}_attributes", dict)
        return {name: column_of(self.file, f"{of}.{name}", kind, length) for name, kind in kinds.items()}

    def _shape(self) -> ShapeStats:
        found = self._fact("shape", dict)
        try:
            histograms = {name: tuple(found[name]) for name in ("out_histogram", "in_histogram")}
            return ShapeStats(**(found | histograms))
        except (TypeError, KeyError) as error:
            raise self.file.fault(f"facts: shape: {error}") from None

    def _frequencies(self) -> LabelFrequencies | None:
        if "frequencies.triples" not in self.file.sections:
            return None
        vertices = self.file.sound_array("frequencies.vertices", "<i8", (len(self._vertex_table),))
        columns = self.file.sound_array("frequencies.triples", "<i8", 2)
        if len(columns) != 4:
            found = quantity(len(columns), "column")
            raise self.file.fault(f"section frequencies.triples: found {found}, expected 4")
        source, edge, target, arcs = columns
        return LabelFrequencies(vertices, (source, edge, target), arcs, len(self._edge_table))


def _class_order_arrays(graph: Graph) -> dict[str, NDArray[Any]]:
    """Return the sections of rows sorted by class."""
    classes, forward, reverse = _native.class_order(*_labelled_arcs(graph), resolve_threads(None))
    arrays = {_CLASSES: classes.reshape(-1, 2), _FORWARD_ORDER: forward, _REVERSE_ORDER: reverse}
    return arrays if graph.directed else {name: arrays[name] for name in (_CLASSES, _FORWARD_ORDER)}


def check_class_order(graph: Graph) -> None:
    """Compare rows sorted by class, if a graph has them, with its rows; raises `FormatError`."""
    if (order := graph.forward.class_order) is None:
        return
    labels, out, into = _labelled_arcs(graph)
    threads, rows = resolve_threads(None), (order.forward, order.reverse)
    native = _native.Monitor(graph.directed, False)
    fault = native.load_in_class_order(labels, out, into, None, order.classes.ravel(), *rows, threads, rows)
    if fault:
        raise order.fault(fault)


def _labelled_arcs(graph: Graph) -> tuple[NDArray[np.uint32], Any, Any]:
    """Return the labels of vertices, and arcs forward and in reverse, as `_native` takes them."""
    labels = graph.vertex_labels
    if labels is None:
        labels = np.zeros(graph.num_vertices, dtype=np.uint32)
    both = [(rows.offsets, rows.neighbors, rows.labels) for rows in (graph.forward, graph.reverse)]
    return labels, both[0], both[1] if graph.directed else None


def _has_labels(graph: Graph) -> bool:
    return graph.vertex_labels is not None or graph.forward.labels is not None


def _label_arrays(name: str, table: LabelTable) -> dict[str, NDArray[Any]]:
    if isinstance(table.values[0], str):
        strings = StringTable.of(str(value) for value in table.values)
        return {f"{name}.text": strings.text, f"{name}.offsets": strings.offsets}
    return {name: np.array(table.values, dtype=np.int64)}


def _merge_arcs(graph: Graph, threads: int | None) -> Graph:
    """Return a directed graph with its directions left out, as another reader would have read it."""
    sources, targets, labels, copies = graph.to_edges()
    codes = graph.vertex_labels
    vertex_codes = np.zeros(graph.num_vertices, dtype=np.uint32) if codes is None else codes
    merged = Graph.from_edges(
        (np.repeat(sources, copies), np.repeat(targets, copies)),
        vertex_ids=graph.vertex_ids,
        vertex_labels=np.array(graph.vertex_label_table.values)[vertex_codes],
        edge_labels=None if labels is None else np.repeat(labels, copies),
        vertex_attributes=graph.vertex_attributes,
        edge_attributes=graph.edge_attributes,
        threads=threads,
    )
    return dataclasses.replace(merged, self_loops_dropped=graph.self_loops_dropped)
