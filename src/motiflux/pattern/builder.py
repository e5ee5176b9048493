"""A pattern made step by step, by names."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import TypeAlias

from motiflux.comparisons import Element, Operand, PatternComparison, Relation, Within
from motiflux.conditions import Condition, Operator
from motiflux.errors import PatternError
from motiflux.pattern.compared import number_of, offset_of
from motiflux.pattern.elements import IdChoice, LabelChoice, QueryEdge, QueryVertex, id_set, label_set
from motiflux.pattern.pattern import Pattern

Compared: TypeAlias = tuple[str, str]
"""The name of a vertex or an edge, and the name of its attribute."""
Number: TypeAlias = int | float | Fraction


class PatternBuilder:
    """Makes a pattern vertex by vertex and edge by edge.

    Examples
    --------
    >>> from motiflux import PatternBuilder
    >>> (
    ...     PatternBuilder()
    ...     .vertex("payer", label="person")
    ...     .vertex("payee")
    ...     .edge("payer", "payee", label={"wire", "cash"}, directed=True)
    ...     .build("payment")
    ... )
    Pattern('payment', 2 vertices, 1 edge)
    """

    def __init__(self) -> None:
        self._vertices: dict[str, QueryVertex] = {}
        self._edges: list[QueryEdge] = []
        self._coinciding: list[tuple[int, int]] = []
        self._comparisons: list[PatternComparison] = []

    def vertex(
        self,
        name: str,
        label: LabelChoice = None,
        *,
        ids: IdChoice = None,
        where: Condition | None = None,
    ) -> PatternBuilder:
        """Add a vertex.

        Parameters
        ----------
        name
            Its name.
        label
            A label, a set of labels or None (any).
        ids
            The data vertex it may be, a set of them or None (any), by external ids.
        where
            A condition on its attributes.
        """
        if name in self._vertices:
            raise PatternError(f"vertex {name!r}: expected a new name, found one that is taken")
        self._vertices[name] = QueryVertex(name, label_set(label), id_set(ids), where)
        return self

    def edge(
        self,
        source: str,
        target: str,
        label: LabelChoice = None,
        directed: bool | None = None,
        *,
        name: str = "",
        where: Condition | None = None,
    ) -> PatternBuilder:
        """Add an edge between two vertices by name; the rest is as in `QueryEdge`."""
        ends = self._positions(source, target, f"edge {source!r} - {target!r}")
        self._edges.append(QueryEdge(*ends, label_set(label), directed, name, where))
        return self

    def may_coincide(self, first: str, second: str) -> PatternBuilder:
        """Allow two vertices, given by name, to have the same image."""
        self._coinciding.append(self._positions(first, second, f"may_coincide {first!r}, {second!r}"))
        return self

    def compare(
        self,
        left: Compared | str,
        operator: Operator | str,
        right: Compared | str,
        *,
        factor: Number = 1,
        offset: Number | str | dt.timedelta = 0,
    ) -> PatternBuilder:
        """Require ``left operator factor * right + offset``.

        Parameters
        ----------
        left, right
            The name of a vertex or an edge and the name of its attribute, such as ``("x", "amount")``; or the
            name of a vertex alone, for its id.
        operator
            ``=``, ``<>``, ``<``, ``<=``, ``>`` or ``>=``.
        factor
            A number; a float is the decimal number that it is shown as.
        offset
            A number; for datetimes, a duration such as ``"1h30m"`` or ``timedelta(hours=1)``.

        Examples
        --------
        >>> from motiflux import PatternBuilder
        >>> builder = PatternBuilder().vertex("a").vertex("b").vertex("c")
        >>> builder = builder.edge("a", "b", name="x", directed=True).edge("b", "c", name="y", directed=True)
        >>> print(builder.compare(("y", "time"), "<", ("x", "time"), offset="1h").build())
        (a)-[x]->(b), (b)-[y]->(c) WHERE y.time - x.time < 1h
        """
        try:
            known = Operator(operator)
        except ValueError:
            raise PatternError(f"compare: expected an operator such as '<', found {operator!r}") from None
        self._comparisons.append(
            Relation(
                self._operand(left),
                known,
                self._operand(right),
                number_of(factor, "factor"),
                offset_of(offset, "offset"),
            )
        )
        return self

    def within(self, span: Number | str | dt.timedelta, attribute: str = "time") -> PatternBuilder:
        """Require that the attribute differs by at most `span` between any two edges of a match.

        Parameters
        ----------
        span
            A number, or, for datetimes, a duration.
        attribute
            The name of the attribute, which all edges have.
        """
        self._comparisons.append(Within(offset_of(span, "within"), attribute))
        return self

    def build(self, name: str = "") -> Pattern:
        """Return the pattern."""
        return Pattern(
            tuple(self._vertices.values()),
            tuple(self._edges),
            name,
            tuple(self._coinciding),
            tuple(self._comparisons),
        )

    def _operand(self, compared: Compared | str) -> Operand:
        name, attribute = (compared, None) if isinstance(compared, str) else compared
        for position, edge in enumerate(self._edges):
            if edge.name and edge.name == name:
                return Operand(Element.EDGE, position, attribute)
        if name in self._vertices:
            return Operand(Element.VERTEX, list(self._vertices).index(name), attribute)
        names = [*self._vertices, *(edge.name for edge in self._edges if edge.name)]
        known = ", ".join(names) or "none"
        raise PatternError(f"compare: expected a vertex or an edge added before ({known}), found {name!r}")

    def _positions(self, first: str, second: str, what: str) -> tuple[int, int]:
        positions = list(self._vertices)
        for name in (first, second):
            if name not in self._vertices:
                known = ", ".join(positions) or "none"
                raise PatternError(f"{what}: expected vertices added before ({known}), found {name!r}")
        return positions.index(first), positions.index(second)
