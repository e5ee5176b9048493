"""A pattern made step by step, by names."""

from __future__ import annotations

from motiflux.conditions import Condition
from motiflux.errors import PatternError
from motiflux.pattern.elements import IdChoice, LabelChoice, QueryEdge, QueryVertex, id_set, label_set
from motiflux.pattern.pattern import Pattern


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

    def build(self, name: str = "") -> Pattern:
        """Return the pattern."""
        return Pattern(tuple(self._vertices.values()), tuple(self._edges), name, tuple(self._coinciding))

    def _positions(self, first: str, second: str, what: str) -> tuple[int, int]:
        positions = list(self._vertices)
        for name in (first, second):
            if name not in self._vertices:
                known = ", ".join(positions) or "none"
                raise PatternError(f"{what}: expected vertices added before ({known}), found {name!r}")
        return positions.index(first), positions.index(second)
