"""Comparisons between parts of a disconnected pattern of a sharded graph, whose rows the driver has.

Rows of parts are in numbers of the graph's vertices. For those of a part the driver asks the servers of
shards for the values of vertices and the copies of edges that are compared, and numbers the vertices of the
part by their order. So rows of all parts beside each other are judged by the code for rows of whole graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.api.queries.related_parts import Operand, RelatedParts, SameCells, ValuedPart, ValuedRows
from motiflux.api.queries.rows import different, rivals_of
from motiflux.cluster.shards.asking import result_of_server
from motiflux.cluster.shards.conditions import described_of, ready_to_compare
from motiflux.cluster.shards.ids import VertexIds
from motiflux.cluster.shards.part import TooLarge
from motiflux.cluster.shards.part_copies import PartCopies
from motiflux.cluster.shards.values import Names, Values, VertexValues, name_of
from motiflux.cluster.tasks import BlockSource
from motiflux.errors import ClusterError
from motiflux.graph.copies import ColumnKey, CopyIndex, copies_of_arcs, vertex_values
from motiflux.pattern.queries.shapes import Case
from motiflux.plan.bind import BoundEdge, BoundPattern, bind
from motiflux.plan.comparisons.bound import BoundComparisons
from motiflux.plan.comparisons.native import NativeComparisons, comparisons_of_numbered_rows, ends_of_rows
from motiflux.request.deadline import Deadline
from motiflux.result.choices import holding
from motiflux.result.queries.sources import BesideRows
from motiflux.result.rows import RowSource
from motiflux.types import VERTEX_DTYPE, VertexArray

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph

IdRows = NDArray[np.int64]

_BYTES_OF_VERTEX = 24
"""Bytes of a vertex of a part: its number and its id, and its place among the pairs of an edge."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """The vertices of the rows of a part, and what is compared of them.

    Parameters
    ----------
    vertices
        Ascending, each once; their places are their numbers in the part.
    ids
        Their ids.
    values
        The values of vertices; None if none are compared.
    copies
        The copies of each variable that is an edge of the part, by its position.
    """

    vertices: IdRows
    ids: IdRows
    values: Values | None
    copies: Mapping[int, CopyIndex]


class JointParts:
    """Tells which rows of all parts have a choice of copies of all parts together.

    Parameters
    ----------
    memory
        Bytes for values and copies, for which each part has an equal share.

    Raises
    ------
    PatternError
        The attributes cannot be compared.
    OutOfTimeError
        Time was up before strings were ranked.
    """

    def __init__(
        self, graph: ShardedGraph, case: Case, memory: int, deadline: Deadline, *, homomorphic: bool
    ) -> None:
        assert case.joint is not None
        self._graph, self._case, self._deadline = graph, case, deadline
        self._room = memory // len(case.parts)
        self._bound = bound = bind(case.joint, described_of(graph), count_choices=True)
        ready_to_compare(graph, case.joint, bound, deadline)
        assert bound.comparisons is not None
        self._comparisons = bound.comparisons
        self._ends = ends_of_rows(bound.comparisons, bound.edges)
        self._rivals = [] if homomorphic else rivals_of(case)
        part_of = {vertex: number for number, part in enumerate(case.parts) for vertex in part.vertices}
        self._parts = [part_of[one.start] for one in self._ends]
        """Of each variable, its part."""
        self._ids = VertexIds(graph.layout, self._asks("ids"))
        self._copies = PartCopies(graph.layout, self._asks("copies"))

    def _asks(self, method: str, *first: Any) -> list[Callable[..., Callable[[], Any]]]:
        """Return a function for each shard that asks its server."""

        def ask(actor: Any, *given: Any) -> Callable[[], Any]:
            reference = getattr(actor, method).remote(*first, *given)
            return lambda: result_of_server(self._graph, self._deadline, reference)

        return [partial(ask, actor) for actor in self._graph.served().actors]

    def numbered(self, number: int, rows: IdRows) -> Numbered:
        """Return the vertices of the rows of a part.

        Raises
        ------
        ClusterError
            What is compared does not fit into memory.
        OutOfTimeError
            Time is up.
        """
        variables, vertices = self._comparisons.variables, np.unique(rows)
        own = [at for at, part in enumerate(self._parts) if part == number]
        names: Names = tuple(
            dict.fromkeys(
                name_of(key) for at in own if self._ends[at].key is None for key in variables[at].columns
            )
        )
        of_values = VertexValues(self._graph.layout, names, self._asks("values", names))
        room = self._room - (_BYTES_OF_VERTEX + of_values.bytes_of_vertex) * len(vertices)
        copies: dict[int, CopyIndex] = {}
        for at in own:
            if self._ends[at].key is not None:
                copies[at] = self._index(at, number, rows, vertices, room)
                room -= copies[at].nbytes
        if room < 0:
            raise self._too_large(number)
        values = of_values.of(vertices) if names else None
        return Numbered(vertices, self._ids.of(vertices), values, copies)

    def _index(self, at: int, number: int, rows: IdRows, vertices: IdRows, room: int) -> CopyIndex:
        """Return the copies of a variable in the rows of its part; one of each edge that is not compared."""
        ends, columns = self._ends[at], self._comparisons.variables[at].columns
        place, size = self._case.parts[number].vertices.index, len(vertices)
        pairs = np.searchsorted(vertices, rows[:, place(ends.start)])
        pairs *= size
        pairs += np.searchsorted(vertices, rows[:, place(ends.end)])
        pairs = np.unique(pairs)
        offsets = np.searchsorted(pairs, size * np.arange(size + 1)).astype(np.uint64)
        neighbors = (pairs % size).astype(VERTEX_DTYPE)
        assert ends.key is not None
        key = replace(ends.key, columns=columns)
        if not columns:
            return copies_of_arcs(offsets, neighbors, np.arange(len(pairs)), [], len(pairs), key)
        found = self._copies.index((offsets, neighbors), key, vertices, room)
        if isinstance(found, TooLarge):
            raise self._too_large(number)
        return found

    def _too_large(self, number: int) -> ClusterError:
        return ClusterError(
            f"memory: expected what is compared in {self._case.parts[number].pattern} to fit into "
            f"{self._room:,} bytes, a share of the memory of the graph, found more: open it with more "
            "memory=, or list the parts one by one"
        )

    def rows(self, source: RowSource, held: Sequence[IdRows], numbered: Sequence[Numbered]) -> RowSource:
        """Return the rows of all parts, in ids.

        Parameters
        ----------
        source
            The rows of the first part, in numbers of the graph's vertices.
        held, numbered
            Those of the others.
        """
        return _JointRows(self, source, held, numbered, self._deadline.check)

    def related(self, same: Sequence[SameCells]) -> RelatedParts:
        """Return what counts the combinations of rows of two parts, in numbers of vertices."""

        def valued(number: int, operand: Operand, kept: np.ufunc | None) -> ValuedRows:
            return _ValuedNumbers(self, self._bound, number, operand, kept, self._deadline.left)

        return RelatedParts(self._bound, self._case, same, every=False, valued=valued)

    @property
    def case(self) -> Case:
        """The parts."""
        return self._case

    def choices(self, numbered: Sequence[Numbered]) -> Callable[[IdRows], IdRows]:
        """Return the function that keeps rows of all parts with a choice, and returns their ids."""
        size = max(len(one.vertices) for one in numbered)
        found = comparisons_of_numbered_rows(
            [numbered[part].values for part in self._parts],
            {at: _padded(index, size) for one in numbered for at, index in one.copies.items()},
            self._comparisons,
            self._ends,
            self._bound.size,
        )

        def kept(rows: IdRows) -> IdRows:
            rows = different(self._rivals, rows)
            levels = np.zeros((len(rows), self._bound.size), VERTEX_DTYPE)
            first, ids = 0, []
            for part, one in zip(self._case.parts, numbered, strict=True):
                last = first + len(part.vertices)
                places = np.searchsorted(one.vertices, rows[:, first:last])
                levels[:, part.vertices] = places
                ids.append(one.ids[places])
                first = last
            return np.concatenate(ids, axis=1)[holding(found.native, levels)]

        return kept


def _padded(index: CopyIndex, size: int) -> CopyIndex:
    """Return copies by rows of so many vertices."""
    more = np.full(size + 1 - len(index.offsets), index.offsets[-1], index.offsets.dtype)
    return replace(index, offsets=np.concatenate([index.offsets, more]))


@dataclass(frozen=True, slots=True)
class _LookedAtNumbers:
    """The values and copies of the rows of a part."""

    numbered: Numbered

    def of_vertices(self, key: ColumnKey) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
        return vertex_values(self.numbered.values, key)

    def native(
        self, bound: BoundComparisons, edges: Sequence[BoundEdge], size: int, variables: Sequence[int]
    ) -> NativeComparisons:
        copies = self.numbered.copies
        indexes = {at: copies[variable] for at, variable in enumerate(variables) if variable in copies}
        values = [self.numbered.values] * len(variables)
        return comparisons_of_numbered_rows(values, indexes, bound, ends_of_rows(bound, edges), size)


@dataclass(frozen=True, slots=True)
class _ValuedNumbers:
    """Finds the values of the rows of a part, in numbers of vertices; see `ValuedPart`."""

    joint: JointParts
    bound: BoundPattern
    number: int
    operand: Operand
    kept: np.ufunc | None
    seconds_left: Callable[[], float | None]

    def valued(self, rows: Any) -> Iterator[tuple[VertexArray, NDArray[np.int64]]]:
        """Yield rows and their values."""
        numbered, part = self.joint.numbered(self.number, rows), self.joint.case.parts[self.number]
        looked = _LookedAtNumbers(numbered)
        valued = ValuedPart(looked, self.bound, part, self.operand, self.kept, self.seconds_left)
        places = np.searchsorted(numbered.vertices, rows).astype(VERTEX_DTYPE)
        for some, values in valued.valued(places):
            yield numbered.vertices[some].astype(VERTEX_DTYPE), values


class _JointRows:
    """The rows of all parts that have a choice of copies, in ids; see `JointParts.rows`."""

    def __init__(
        self,
        joint: JointParts,
        source: RowSource,
        held: Sequence[IdRows],
        numbered: Sequence[Numbered],
        check: Callable[[], None],
    ) -> None:
        self._joint, self._source, self._held, self._numbered = joint, source, held, numbered
        self._check = check
        self._beside: BesideRows | None = None
        self._kept: Callable[[IdRows], IdRows] = lambda rows: rows

    def next(self) -> Any:
        """Return the next block, which may be empty, or None at the end."""
        while True:
            if self._beside is None:
                block: Any = self._source.next()
                if block is None:
                    return None
                self._kept = self._joint.choices([self._joint.numbered(0, block), *self._numbered])
                self._beside = BesideRows(BlockSource([block]), self._held, self._check)
            rows: Any = self._beside.next()
            if rows is not None:
                return self._kept(rows)
            self._beside = None

    def close(self) -> None:
        """Stop the search."""
        self._source.close()
        self._beside = None

    @property
    def complete(self) -> bool:
        """Whether nothing was cut."""
        return self._source.complete
