"""The copies of edges of a monitor, if they keep attributes, and the native graph that stands for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.conditions import Condition
from motiflux.graph import AttributeTable, Column, Graph, Kind
from motiflux.interop import GraphColumns
from motiflux.pattern import Pattern
from motiflux.pattern.elements import edge_names
from motiflux.plan.bind import bound_edge
from motiflux.stream.copies.facets import Facets, numbers_in
from motiflux.stream.copies.kept import STAYS, TIME, copies_of
from motiflux.stream.copies.native import native_of_copies
from motiflux.stream.copies.store import CopyStore
from motiflux.stream.matching.compared import Compared
from motiflux.stream.matching.match_rows import MatchRows
from motiflux.stream.matching.names import label_codes
from motiflux.stream.matching.native import filter_of
from motiflux.stream.matching.numbering import Numbering
from motiflux.stream.options import Options
from motiflux.stream.window import edge_moments, start_clock


class Attributed:
    """The part of a monitor's inside that keeps copies with attributes."""

    _options: Options
    _threads: int
    _base: Graph
    _numbering: Numbering
    _native: _native.Monitor
    _edge_times: str | None

    _copies: CopyStore | None = None
    """The copies of edges, if they keep their attributes."""
    _facets: Facets | None = None
    """The labels of the native monitor then."""
    _compared: Compared | None = None
    """The patterns that compare attributes then."""
    _vertex_attributes: AttributeTable
    """Of the first vertices."""

    def _keep_copies(self, conditions: Sequence[Condition]) -> CopyStore:
        """Keep the copies of the first graph from now on, with their attributes; return them."""
        options, graph, clock = self._options, self._base, self._numbering.clock
        names = None if isinstance(options.attributes, bool) else options.attributes
        time = self._edge_times if isinstance(self._edge_times, str) else TIME
        store = CopyStore(directed=graph.directed, span=options.span, names=names)
        since, came = None, 0
        if options.span is not None and self._edge_times is not None:
            timed, moments = edge_moments(graph, self._edge_times, options.time_unit)
            order = np.argsort(moments, kind="stable")
            start_clock(clock, graph, self._edge_times, moments[order])
            since, came = np.full(len(timed), STAYS, dtype=np.int64), len(moments)
            places = np.empty(came, dtype=np.int64)
            places[order] = np.arange(1, came + 1)
            since[timed] = moments if options.span.timed else places
        store.load(copies_of(graph, since, came, time))
        store.advance(clock.latest)
        store.begin()
        self._use_copies(store, conditions, self._first_labels())
        self._copies = store
        return store

    def _first_labels(self) -> NDArray[np.uint32]:
        labels = self._base.vertex_labels
        return np.zeros(self._base.num_vertices, dtype=np.uint32) if labels is None else labels

    def _use_copies(
        self, store: CopyStore, conditions: Sequence[Condition], vertex_labels: NDArray[np.uint32]
    ) -> None:
        """Have a native monitor, without patterns, of the edges that stand for the copies of a store."""
        native, self._facets = native_of_copies(
            store, conditions, vertex_labels, directed=self._base.directed, threads=self._threads
        )
        native.filter_by(*filter_of(self._options.switches))
        self._native = native
        ids = self._numbering
        self._compared = Compared(store, self._facets, native, lambda: ids.ids, self._vertex_attributes)

    def _graph_of_copies(self, store: CopyStore) -> Graph:
        kept, numbering = store.kept(), self._numbering
        asked = sorted(self._asked())
        # Without them, patterns that are watched could not be counted before an edge has the attribute.
        without = {name: Column(np.zeros(len(kept.sources), dtype="V1")) for name in asked}
        return Graph.from_columns(
            GraphColumns(
                kept.sources,
                kept.targets,
                vertex_ids=numbering.ids.all(),
                vertex_labels=numbering.vertex_labels.array()[_native.vertex_codes(self._native)],
                edge_labels=numbering.edge_labels.array()[kept.labels],
                edge_attributes={**without, **kept.attributes},
                vertex_attributes=self._attributes_of_vertices(len(numbering.ids)),
                directed=self._base.directed,
                positions=True,
            )
        )

    def _attributes_of_vertices(self, vertices: int, names: Iterable[str] | None = None) -> dict[str, Column]:
        """Return attributes of all vertices: those that came later have none."""
        table = self._vertex_attributes
        return {name: _padded(table[name], vertices) for name in (table if names is None else names)}

    def _asks_for_more(self, graph: Graph) -> bool:
        """Return whether conditions ask for attributes that edges of a graph lack."""
        return any(name not in graph.edge_attributes for name in self._asked())

    def _asked(self) -> frozenset[str]:
        """Return the attributes of edges that conditions and comparisons ask for."""
        if self._facets is None or self._copies is None:
            return frozenset()
        return self._facets.attributes | self._copies.compared

    @property
    def keeps_attributes(self) -> bool:
        """Whether copies of edges keep the attributes that updates bring."""
        return self._copies is not None

    def wants_attribute(self, name: str) -> bool:
        """Return whether copies of edges keep an attribute."""
        return self._copies is not None and self._copies.wants(name)

    def attribute_kinds(self) -> dict[str, str]:
        """Return the kinds, in words, that readers are to hold attributes of edges to.

        Those that conditions and comparisons ask for stay of one kind; others may become strings, and strings
        remain what they are.
        """
        if self._copies is None or self._facets is None:
            return {}
        asked = self._asked()
        known = {
            name: kind
            for name, kind in self._copies.kinds().items()
            if kind == Kind.STRING or (kind != Kind.NOTHING and name in asked)
        }
        numbers = [name for one in self._facets.conditions for name in numbers_in(one)]
        return {**dict.fromkeys(numbers, Kind.FLOAT.value), **known}

    def _edges_of(self, pattern: Pattern, rows: MatchRows) -> dict[str, AttributeTable]:
        """Return the attributes of the edges of matches of the last call, by query edge."""
        assert self._copies is not None
        assert self._facets is not None
        updates, whole = rows.by_row(rows.runs.updates.astype(np.int64)), self._options.mode == "batch"
        positive = rows.by_row(rows.runs.positive)
        if pattern.comparisons:
            assert self._compared is not None
            chosen = self._compared.witnesses(pattern, rows.vertices, updates, positive, whole=whole)
            names = edge_names(pattern.edges)
            return {name: self._copies.attributes_of(chosen[:, at]) for at, name in enumerate(names)}
        found = {}
        for name, edge in zip(edge_names(pattern.edges), pattern.edges, strict=True):
            vertices = rows.vertices
            labels = label_codes(edge.labels, self._numbering.edge_labels)
            names = [pattern.vertices[end].name for end in (edge.source, edge.target)]
            columns = self._copies.witnesses(
                bound_edge(edge, labels, names, self._base.directed),
                vertices,
                updates,
                positive,
                self._facets,
                whole=whole,
            )
            found[name] = AttributeTable("edge", columns)
        return found


def _padded(column: Column, rows: int) -> Column:
    """Return a column of more rows, the last ones without values."""
    more = rows - len(column)
    if more <= 0:
        return column
    data = np.concatenate([column.data, np.zeros(more, dtype=column.data.dtype)])
    mask = np.concatenate([column.missing(), np.ones(more, dtype=bool)])
    return Column(data, mask, column.strings, column.times)
