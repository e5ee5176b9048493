"""The attributes of a graph's vertices or edges, by name, and the conditions on them.

The rules are in `motiflux.conditions`: a condition is true, false or unknown. It is stored as two masks, of
rows in which it is true, and of rows in which it is false; it is unknown in all others.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.conditions import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Degree,
    IsMissing,
    Not,
    OneOf,
    Operator,
    Value,
)
from motiflux.errors import ArgumentError, GraphError, PatternError
from motiflux.graph.attributes.columns import Column, Kind, make_column
from motiflux.graph.attributes.compare import Judgement, Mask, compare, compare_any, moment_for
from motiflux.units import counted

_OF_STRINGS = (Operator.STARTS_WITH, Operator.ENDS_WITH, Operator.CONTAINS)
_COMPARE: Mapping[Operator, Callable[[NDArray[np.int64], int], Mask]] = {
    Operator.EQUAL: np.equal,
    Operator.UNEQUAL: np.not_equal,
    Operator.LESS: np.less,
    Operator.AT_MOST: np.less_equal,
    Operator.GREATER: np.greater,
    Operator.AT_LEAST: np.greater_equal,
}
_NUMBERS = (Kind.INTEGER, Kind.FLOAT)
_MOST_NAMES = 8


class AttributeTable(Mapping[str, Column]):
    """The columns of a graph's vertices, in internal order, or of its rows of edges.

    Parameters
    ----------
    of
        Whose attributes: ``"vertex"`` or ``"edge"``.
    columns
        Columns of one length by name.
    ready
        Called before a value is read; raises an error if the columns cannot be used.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges([(0, 1), (1, 2)], edge_attributes={"amount": [250.0, 90.5]})
    >>> list(g.edge_attributes), g.edge_attributes["amount"]
    (['amount'], Column(2 floats, 0 missing))
    """

    def __init__(
        self,
        of: str,
        columns: Mapping[str, Column] | None = None,
        ready: Callable[[], object] | None = None,
    ) -> None:
        self.of = of
        self._columns = dict(columns or {})
        self._ready = ready

    def __reduce__(self) -> tuple[type[AttributeTable], tuple[str, dict[str, Column]]]:
        return AttributeTable, (self.of, dict(self))

    def __getitem__(self, name: str) -> Column:
        column = self._columns[name]
        if self._ready is not None:
            self._ready()
        return column

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"AttributeTable({self.of}: {self._columns})"

    def take(self, rows: NDArray[Any]) -> AttributeTable:
        """Return the table of some rows, in a copy."""
        return AttributeTable(self.of, {name: column.take(rows) for name, column in self.items()})

    def arrays(self) -> list[NDArray[Any]]:
        """Return the arrays of all columns."""
        return [array for column in self._columns.values() for array in column.arrays()]

    def kinds(self) -> dict[str, Kind]:
        """Return the kind of the values of each column, without reading any value."""
        return {name: column.kind for name, column in self._columns.items()}

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays())

    @property
    def length(self) -> int | None:
        """Number of values in the first column; None where there are no columns."""
        return next((len(column) for column in self._columns.values()), None)

    def check_length(self, length: int) -> None:
        """Refuse columns of another length than `length`.

        Raises
        ------
        GraphError
            Names the first one.
        """
        for name, column in self.items():
            if len(column) != length:
                raise GraphError(
                    f"{self.of}_attributes[{name!r}]: expected {counted(length, 'value')}, "
                    f"one for each {self.of}, found {len(column)}"
                )

    def check(self, condition: Condition) -> None:
        """Refuse a condition that does not fit the attributes of this graph.

        Raises
        ------
        PatternError
            There is no such attribute, or its values cannot be compared with the condition's.
        """
        match condition:
            case Not(inner):
                self.check(inner)
            case AllOf(parts) | AnyOf(parts):
                for part in parts:
                    self.check(part)
            case IsMissing(name):
                self._known(name)
            case Degree():
                if self.of != "vertex":
                    raise PatternError(f"{self.of} condition: expected a degree at a vertex, found one there")
            case OneOf(name, values):
                for value in values:
                    self._check_value(name, Operator.EQUAL, value)
            case Comparison(name, operator, value):
                self._check_value(name, operator, value)
            case _:
                raise ArgumentError("condition", "a condition of motiflux.conditions", condition)

    def holds(
        self,
        condition: Condition,
        length: int,
        degrees: Callable[[Degree], NDArray[np.int64]] | None = None,
    ) -> Mask:
        """Return where a condition is true.

        Parameters
        ----------
        condition
            One that `check` has let pass.
        length
            The length of the columns; needed if there are none.
        degrees
            Returns the numbers that a condition on degrees compares; None where there are none.

        Returns
        -------
        NDArray
            bool [length].
        """
        return self._judge(condition, length, degrees)[0]

    def _judge(
        self, condition: Condition, length: int, degrees: Callable[[Degree], NDArray[np.int64]] | None
    ) -> Judgement:
        """Return where a condition is true and where it is false."""
        match condition:
            case Not(inner):
                holds, fails = self._judge(inner, length, degrees)
                return fails, holds
            case AllOf(parts):
                holds, fails = np.ones(length, dtype=bool), np.zeros(length, dtype=bool)
                for part in parts:
                    one = self._judge(part, length, degrees)
                    holds, fails = holds & one[0], fails | one[1]
                return holds, fails
            case AnyOf(parts):  # by De Morgan
                fails, holds = self._judge(AllOf(tuple(Not(part) for part in parts)), length, degrees)
                return holds, fails
            case IsMissing(name):
                missing = self[name].missing()
                return missing, ~missing
            case Degree(operator=operator, value=number) if degrees is not None:
                holds = _COMPARE[operator](degrees(condition), number)
                return holds, ~holds
            case OneOf(name, values):
                return compare_any(self[name], values)
            case Comparison(name, operator, value):
                return compare(self[name], operator, value)
        raise AssertionError(condition)

    def _known(self, name: str) -> Column:
        column = self._columns.get(name)
        if column is not None:
            return column
        names = sorted(self._columns)
        shown = ", ".join(map(repr, names[:_MOST_NAMES])) + (", ..." if len(names) > _MOST_NAMES else "")
        close = difflib.get_close_matches(name, names, n=1)
        raise PatternError(
            f"{self.of} attribute {name!r}: expected one of the graph's {self.of} attributes "
            f"({shown or 'it has none'})"
            + (f", perhaps {close[0]!r}" if close else "")
            + ("; an id is asked for by id(v) = ..." if name == "id" else "")
        )

    def _check_value(self, name: str, operator: Operator, value: Value) -> None:
        column = self._known(name)
        kind = column.kind
        what = f"{self.of} attribute {name!r}"
        if kind is not Kind.NOTHING and operator in _OF_STRINGS and kind is not Kind.STRING:
            raise PatternError(f"{what}: expected strings for {operator.value}, found {kind.value}")
        if column.times is not None:
            try:
                moment_for(column, value)
            except ValueError as error:
                raise PatternError(f"{what}: {error}") from None
        elif kind is not Kind.NOTHING and _kind_of(value) is not (Kind.FLOAT if kind in _NUMBERS else kind):
            expected = "a number" if kind in _NUMBERS else f"a {kind.value.removesuffix('s')}"
            raise PatternError(
                f"{what}: expected {expected} to compare its {kind.value} with, found {value!r}"
            )


def make_attributes(of: str, given: Mapping[str, object] | None, length: int | None = None) -> AttributeTable:
    """Return the given attributes of vertices or edges as a table.

    Parameters
    ----------
    of
        Whose attributes: ``"vertex"`` or ``"edge"``.
    given
        Columns by name, of any type that `make_column` takes.
    length
        Number of values each must have; None where that is not known yet.

    Raises
    ------
    GraphError
        A column has another length, or a type that attributes cannot have.
    """
    argument = f"{of}_attributes"
    if given is None:
        return AttributeTable(of)
    if not isinstance(given, Mapping):
        raise ArgumentError(argument, "a mapping from names to columns", given)
    columns = {}
    for name, values in given.items():
        if not isinstance(name, str) or not name:
            raise ArgumentError(argument, "names that are strings and not empty", name)
        columns[name] = make_column(values, f"{argument}[{name!r}]")
    table = AttributeTable(of, columns)
    if length is not None:
        table.check_length(length)
    return table


def _kind_of(value: Value) -> Kind | None:
    """Return the kind of a value, the same for numbers of all types."""
    if isinstance(value, (bool, np.bool_)):
        return Kind.BOOLEAN
    if isinstance(value, (int, float, np.integer, np.floating)):
        return Kind.FLOAT
    return Kind.STRING if isinstance(value, str) else None
