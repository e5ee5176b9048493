"""A pattern made step by step, by names."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from motiflux.comparisons import Element, Operand, PatternComparison, Relation, Within
from motiflux.conditions import Condition, Operator
from motiflux.errors import PatternError
from motiflux.pattern.compared import number_of, offset_of
from motiflux.pattern.elements import IdChoice, LabelChoice, QueryEdge, QueryVertex, id_set, label_set
from motiflux.pattern.negated import AnyVertex, End, NegatedEdge
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
        self._negated: list[NegatedEdge] = []

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

    def no_edge(
        self,
        source: str | None,
        target: str | None,
        label: LabelChoice = None,
        directed: bool | None = None,
        *,
        where: Condition | None = None,
        end_label: LabelChoice = None,
        end_where: Condition | None = None,
    ) -> PatternBuilder:
        """Forbid an edge between two vertices by name, or between one and any other vertex.

        Parameters
        ----------
        source, target
            Names of vertices; None for any data vertex.
        label, directed, where
            As in `NegatedEdge`.
        end_label, end_where
            The labels and a condition of the data vertex that None stands for.

        Examples
        --------
        >>> from motiflux import PatternBuilder
        >>> builder = PatternBuilder().vertex("a").vertex("b").edge("a", "b", directed=True)
        >>> print(builder.no_edge("b", None, "wire", True, end_label="bank").build())
        (a)-->(b), NOT (b)-[:wire]->(:bank)
        """
        other = AnyVertex(label_set(end_label), end_where)
        if source is not None and target is not None:
            if other != AnyVertex():
                raise PatternError("no_edge: expected end_label and end_where for an end that is None")
            ends: tuple[End, End] = self._positions(source, target, f"no_edge {source!r}, {target!r}")
        elif source is None and target is None:
            raise PatternError("no_edge: expected the name of a vertex at one end, found None at both")
        else:
            name = target if source is None else source
            assert name is not None
            (position,) = self._positions_of([name], f"no_edge {source!r}, {target!r}")
            ends = (other, position) if source is None else (position, other)
        self._negated.append(NegatedEdge(*ends, label_set(label), directed, where))
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
            tuple(self._negated),
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
        one, other = self._positions_of([first, second], what)
        return one, other

    def _positions_of(self, names: Sequence[str], what: str) -> list[int]:
        positions = list(self._vertices)
        for name in names:
            if name not in self._vertices:
                known = ", ".join(positions) or "none"
                raise PatternError(f"{what}: expected vertices added before ({known}), found {name!r}")
        return [positions.index(name) for name in names]
