"""Counts of two parts that one comparison joins, from the rows of each part: combinations are not listed.

Of each row of a part only the values that decide are kept: where embeddings are counted by order, the least
or the greatest one that a choice of copies has; where choices are counted, that of each choice. The rows of
one part are sorted by them, and searched for those that each row of the other part goes with. Combinations
in which vertices coincide are taken off by inclusion and exclusion over the pairs of vertices that do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.comparisons import Relation
from motiflux.conditions import Operator
from motiflux.graph import Graph
from motiflux.graph.copies import ColumnKey, Form, vertex_values
from motiflux.pattern.queries.shapes import Case, Part, PartsTogether
from motiflux.plan.bind import BoundEdge, BoundPattern, bind
from motiflux.plan.comparisons.bound import BoundComparison, BoundComparisons, BoundVariable
from motiflux.plan.comparisons.native import NativeComparisons, comparisons_of_rows, native_comparison
from motiflux.request.deadline import OutOfTimeError
from motiflux.result.images import written
from motiflux.result.rows import RowSource
from motiflux.types import VertexArray

_MOST_SETS = 256
"""Most sets of pairs of vertices that coincide; with more, combinations are listed."""
_MOST_CHOICES = 1 << 16
"""Choices that are found at once."""
_POOL, _MOST_KEPT = "bound parts", 32
"""Name of the pool in the graph's memo, and its maximum number of patterns."""
_MOST_HELD = 8_000_000
"""Most choices of the second part that are held in memory."""

Values: TypeAlias = NDArray[np.int64]
SameCells: TypeAlias = tuple[tuple[int, int], ...]
"""Pairs of a column of the first part and one of the second part."""


class NotSeparateError(Exception):
    """Combinations have to be listed: rows have several values of which no order decides, or too many."""


class ValuedRows(Protocol):
    """Finds the values of the rows of a part on its side of the comparison."""

    def valued(self, rows: VertexArray) -> Iterator[tuple[VertexArray, Values]]:
        """Yield rows and their values.

        Raises
        ------
        OutOfTimeError, NotSeparateError
            Time was up; a row has several values and must have one.
        """


Operand: TypeAlias = tuple[int, int]
"""The position of a variable among those of the bound pattern of all parts, and the column."""
ValuedPartOf: TypeAlias = Callable[[int, Operand, np.ufunc | None], ValuedRows]
"""Returns what finds the values of a part, by its number; see `ValuedPart`."""


class Looked(Protocol):
    """What comparisons within a part look at."""

    def of_vertices(self, key: ColumnKey) -> tuple[Values, NDArray[np.bool_] | None]:
        """Return the values of vertices, as `vertex_values` does."""

    def native(
        self, bound: BoundComparisons, edges: Sequence[BoundEdge], size: int, variables: Sequence[int]
    ) -> NativeComparisons:
        """Return the comparisons of rows of `size` vertices.

        Parameters
        ----------
        variables
            The positions of the variables among those of all parts.
        """


@dataclass(frozen=True, slots=True)
class _LookedAtGraph:
    """All values and copies of a graph."""

    graph: Graph

    def of_vertices(self, key: ColumnKey) -> tuple[Values, NDArray[np.bool_] | None]:
        return vertex_values(self.graph, key)

    def native(
        self, bound: BoundComparisons, edges: Sequence[BoundEdge], size: int, variables: Sequence[int]
    ) -> NativeComparisons:
        del variables
        return comparisons_of_rows(self.graph, bound, edges, size)


def related_parts(
    graph: Graph,
    case: Case,
    same: Sequence[SameCells],
    *,
    every: bool,
    seconds_left: Callable[[], float | None],
) -> RelatedParts:
    """Return what counts the combinations of rows of a graph; see `RelatedParts`.

    Parameters
    ----------
    seconds_left
        How long the call may still take.
    """
    assert case.joint is not None
    bound, looked = _bound(graph, case.joint, every=every), _LookedAtGraph(graph)

    def valued(number: int, operand: Operand, kept: np.ufunc | None) -> ValuedRows:
        return ValuedPart(looked, bound, case.parts[number], operand, kept, seconds_left)

    return RelatedParts(bound, case, same, every=every, valued=valued)


class RelatedParts:
    """Counts the combinations of rows of two parts that one comparison joins.

    Parameters
    ----------
    bound
        All parts as one pattern.
    same
        From `coinciding`.
    every
        Whether choices of copies are counted, not embeddings.
    """

    def __init__(
        self,
        bound: BoundPattern,
        case: Case,
        same: Sequence[SameCells],
        *,
        every: bool,
        valued: ValuedPartOf,
    ) -> None:
        number = _joining(case)
        assert number is not None
        assert bound.comparisons is not None
        relation = bound.comparisons.comparisons[number]
        _, second = case.parts
        own = bound.comparisons.variables[relation.left], bound.comparisons.variables[relation.right]
        self._left = _is_of(own[0], bound.edges, second)
        self._relation = native_comparison(
            replace(relation, left=0, right=1, left_column=0, right_column=0), {0: 0, 1: 1}
        )
        self._same = same
        operands = [(relation.left, relation.left_column), (relation.right, relation.right_column)]
        kept = [None, None] if every else _kept(relation)
        if self._left:
            operands, kept = operands[::-1], kept[::-1]
        self._first, self._second = (
            valued(at, operand, values)
            for at, (operand, values) in enumerate(zip(operands, kept, strict=True))
        )

    def count(self, source: RowSource | None, held: VertexArray, limit: int | None) -> tuple[int, bool]:
        """Return the number of combinations, and whether it is exact; else it is a lower bound.

        Parameters
        ----------
        source
            The rows of the first part; None: those of the second part, whose pattern is the same.
        held
            All rows of the second part.
        limit
            The number above which counting may stop.

        Raises
        ------
        NotSeparateError
            The rows of each part do not tell the number.
        """
        total = 0
        try:
            pieces: list[tuple[VertexArray, Values]] = []
            choices = 0
            for piece in self._second.valued(held) if len(held) else ():
                pieces.append(piece)
                choices += len(piece[1])
                if choices > _MOST_HELD:
                    raise NotSeparateError
            if not pieces:
                return 0, True
            rows, values = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
            related = _native.RelatedRows(self._relation, self._left, rows, values)
            for block in (held,) if source is None else _blocks(source):
                for some, own in self._first.valued(block):
                    total += self._apart(related, some, own)
                if limit is not None and total > limit:
                    return total, False
            return total, source is None or source.complete
        except OutOfTimeError:
            return total, False
        finally:
            if source is not None:
                source.close()

    def _apart(self, related: _native.RelatedRows, rows: VertexArray, values: Values) -> int:
        """Return the number of combinations of some rows of the first part in which no vertices coincide."""
        total = 0
        none: set[frozenset[tuple[int, int]]] = set()
        for same in self._same:
            known = frozenset(same)
            if any(known - {one} in none for one in same):
                none.add(known)
                continue
            found = related.count(rows, values, same)
            if not found:
                none.add(known)
            total += -found if len(same) % 2 else found
        return total


class ValuedPart:
    """Finds the values of the rows of a part; see `ValuedRows`.

    Parameters
    ----------
    looked
        What comparisons look at.
    operand
        The value of the part that is compared with the other part.
    kept
        `np.minimum` or `np.maximum`: each row once, with its least or greatest value. `np.equal`: each row
        once, if it has one value. None: each choice of copies.
    """

    def __init__(
        self,
        looked: Looked,
        bound: BoundPattern,
        part: Part,
        operand: Operand,
        kept: np.ufunc | None,
        seconds_left: Callable[[], float | None],
    ) -> None:
        assert bound.comparisons is not None
        self._kept = kept
        self._seconds_left = seconds_left
        all_variables = bound.comparisons.variables
        own = [at for at, one in enumerate(all_variables) if _is_of(one, bound.edges, part)]
        vertex = {of_shape: at for at, of_shape in enumerate(part.vertices)}
        edges: list[BoundEdge] = []
        variables = []
        for variable in (all_variables[at] for at in own):
            if variable.edge is None:
                assert variable.vertex is not None
                variables.append(replace(variable, vertex=vertex[variable.vertex]))
                continue
            edge = bound.edges[variable.edge]
            variables.append(replace(variable, edge=len(edges)))
            edges.append(replace(edge, source=vertex[edge.source], target=vertex[edge.target]))
        comparisons = [
            replace(one, left=own.index(one.left), right=own.index(one.right))
            for one in bound.comparisons.comparisons
            if one.left in own and one.right in own
        ]
        mine = replace(bound.comparisons, variables=tuple(variables), comparisons=tuple(comparisons))
        number, column = own.index(operand[0]), operand[1]
        key = variables[number].columns[column]
        self._floats = key.form is Form.FLOAT
        self._vertex = variables[number].vertex
        self._values: Values
        self._absent: NDArray[np.bool_] | None = None
        if self._vertex is not None:
            self._values, self._absent = looked.of_vertices(key)
        self._native: _native.Comparisons | None = None
        if edges:
            found = looked.native(mine, edges, len(part.vertices), own)
            self._native = found.native
            self._at = found.order.index(number)
            if (index := found.indexes[self._at]) is not None:
                self._values = index.columns[column]

    def valued(self, rows: VertexArray) -> Iterator[tuple[VertexArray, Values]]:
        """Yield rows and their values.

        Raises
        ------
        OutOfTimeError, NotSeparateError
            Time was up; a row has several values and must have one.
        """
        rows = np.ascontiguousarray(rows)
        ends: list[tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]] = []
        for of_row, values in self._choices(rows):
            if self._kept is None:
                yield rows[of_row], values
            else:
                shown = values.view(np.float64) if self._floats else values
                ends.append(_least_and_greatest(of_row, shown, shown))
        if not ends:
            return
        of_row, least, greatest = _least_and_greatest(
            *(np.concatenate(arrays) for arrays in zip(*ends, strict=True))
        )
        if self._kept is np.equal and (least != greatest).any():
            raise NotSeparateError
        yield rows[of_row], (greatest if self._kept is np.maximum else least).view(np.int64)

    def _choices(self, rows: VertexArray) -> Iterator[tuple[NDArray[np.int64], Values]]:
        """Yield the numbers of rows, ascending, and the values of their choices of copies."""
        if self._native is None:  # no copies to choose
            of_row = np.arange(len(rows))
            if self._absent is not None:
                of_row = of_row[~self._absent[rows[:, self._vertex]]]
            if len(of_row):
                yield of_row, self._values[rows[of_row, self._vertex]]
            return
        native = _native.RowChoices(self._native, rows, 0)
        while native.finished is False:
            of_row, places = native.next(_MOST_CHOICES, self._seconds_left())
            at = places[:, self._at] if self._vertex is None else rows[of_row, self._vertex]
            if len(at):
                yield of_row, self._values[at.astype(np.int64)]
        if native.finished is None:
            raise OutOfTimeError


def joins(case: Case) -> bool:
    """Return whether one comparison joins the parts of a case, of which there are two."""
    return len(case.parts) == 2 and _joining(case) is not None


def same_rows(case: Case) -> bool:
    """Return whether the parts of a case are the same but for names."""
    first, second = (
        (
            [replace(one, name="") for one in part.pattern.vertices],
            [replace(one, name="") for one in part.pattern.edges],
            part.pattern.comparisons,
            part.pattern.negated,
        )
        for part in case.parts
    )
    return first == second


def coinciding(rivals: Sequence[tuple[int, int]]) -> list[SameCells] | None:
    """Return the sets of pairs of vertices that may coincide at once, small ones first; None if too many.

    Parameters
    ----------
    rivals
        The vertices of the first part and of the second part that may coincide.
    """
    found: list[SameCells] = [()]
    for set_ in found:  # grows
        after = rivals.index(set_[-1]) + 1 if set_ else 0
        for one in rivals[after:]:
            if all(one[0] != u and one[1] != v for u, v in set_):
                found.append((*set_, one))
        if len(found) > _MOST_SETS:
            return None
    return found


def _blocks(source: RowSource) -> Iterator[VertexArray]:
    """Yield the blocks of a source."""
    while (block := source.next()) is not None:
        yield written(block)


def _bound(graph: Graph, joint: PartsTogether, *, every: bool) -> BoundPattern:
    """Return all parts in the codes of a graph, kept with it for calls with the same object."""
    key = id(joint), every
    found: tuple[PartsTogether, BoundPattern] | None = graph.memo.recent(_POOL, key)
    if found is None or found[0] is not joint:
        found = joint, bind(joint, graph, count_choices=every)
        graph.memo.store(_POOL, key, found, _MOST_KEPT)
    return found[1]


def _joining(case: Case) -> int | None:
    """Return the position of the only comparison that is about both parts; None if there are others."""
    assert case.joint is not None
    first = set(case.parts[0].vertices)
    found: list[int] = []
    for number, one in enumerate(case.joint.comparisons):
        if not isinstance(one, Relation):
            return None
        ends = [
            case.joint.edges[operand.position].source if operand.is_edge else operand.position
            for operand in (one.left, one.right)
        ]
        if (ends[0] in first) is not (ends[1] in first):
            found.append(number)
    return found[0] if len(found) == 1 else None


def _is_of(variable: BoundVariable, edges: Sequence[BoundEdge], part: Part) -> bool:
    """Return whether a variable of all parts is one of this part."""
    if variable.edge is not None:
        return edges[variable.edge].source in part.vertices
    return variable.vertex in part.vertices


def _kept(relation: BoundComparison) -> list[np.ufunc | None]:
    """Return which values of a row decide, at the left and at the right side."""
    if relation.operator in (Operator.EQUAL, Operator.UNEQUAL):
        return [np.equal, np.equal]
    least_first = relation.operator in (Operator.LESS, Operator.AT_MOST)
    rises = (relation.factor if relation.floats else relation.n) > 0
    return [
        np.minimum if least_first else np.maximum,
        np.maximum if least_first is rises else np.minimum,
    ]


def _least_and_greatest(
    of_row: NDArray[np.int64], least: NDArray[Any], greatest: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
    """Return each row once, with the least and the greatest of its values."""
    firsts = np.flatnonzero(np.diff(of_row, prepend=-1))
    return of_row[firsts], np.minimum.reduceat(least, firsts), np.maximum.reduceat(greatest, firsts)
