"""The query graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from motiflux.arguments import check_integer
from motiflux.comparisons import PatternComparison
from motiflux.conditions import Condition
from motiflux.errors import PatternError
from motiflux.pattern.checks import check_numbering, check_size, pairs_of
from motiflux.pattern.elements import IdChoice, LabelChoice, QueryEdge, QueryVertex, id_set, label_set
from motiflux.pattern.negated import NegatedEdge, induced_edges, negated_of, positions_of
from motiflux.pattern.query_graph import QueryGraph
from motiflux.types import MAX_PATTERN_VERTICES
from motiflux.units import quantity

if TYPE_CHECKING:
    from motiflux.draw import Picture

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pattern(QueryGraph):
    """A query graph: connected, 2 to 32 vertices.

    Make one with `Pattern.parse`, `Pattern.from_edges`, `Pattern.from_networkx`, `PatternBuilder` or
    `motiflux.read_pattern`. ``str(pattern)`` is text that `Pattern.parse` takes. A query edge listed twice
    counts once, with its name if only one of them has one.

    Parameters
    ----------
    vertices, edges
        Its query vertices and query edges.
    name
        Shown by `motiflux.explain`.
    may_coincide
        Pairs of positions of vertices that may have the same image. Sorted, with the smaller position first.
    comparisons
        Comparisons between attributes of several vertices and edges (`motiflux.comparisons`), all of which
        must hold. Each once, in one form and order. A query edge that one names and that has no name gets
        one.
    negated
        Edges that the data graph must not have. Each once, in one order.

    Raises
    ------
    PatternError
        Too few or too many vertices or edges, a self-loop, an edge to a vertex that is not there, a pattern
        that is not connected, two vertices or edges of one name, two vertices that may coincide and are
        joined by an edge, a comparison of vertices or edges that are not there, a negated edge of such
        vertices.
    """

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[tuple[int, int]],
        *,
        num_vertices: int | None = None,
        vertex_labels: Sequence[LabelChoice] | None = None,
        edge_labels: Sequence[LabelChoice] | None = None,
        vertex_ids: Sequence[IdChoice] | None = None,
        vertex_where: Sequence[Condition | None] | None = None,
        edge_where: Sequence[Condition | None] | None = None,
        may_coincide: Iterable[tuple[int, int]] = (),
        comparisons: Iterable[PatternComparison] = (),
        negated: Iterable[tuple[int, int] | tuple[int, None] | tuple[None, int] | NegatedEdge] = (),
        directed: bool | None = None,
        name: str = "",
    ) -> Pattern:
        """Make a pattern from pairs of vertex numbers.

        Parameters
        ----------
        edges
            Pairs ``(u, v)`` of numbers 0..k-1.
        num_vertices
            k; default: the length of `vertex_labels`, else one more than the largest number in `edges`.
        vertex_labels, edge_labels
            A label, a set of labels or None (any label) per vertex and per edge; without them all are
            wildcards.
        vertex_ids
            An external id, a set of ids or None (any vertex) per vertex.
        vertex_where, edge_where
            A condition on attributes or None per vertex and per edge.
        may_coincide
            Pairs of vertices that may have the same image.
        comparisons
            Comparisons between attributes (`motiflux.comparisons`), whose positions of edges are those in
            `edges`.
        negated
            Edges that must not be there, of any label: pairs ``(u, v)``, or with None at one end for any
            vertex. Or `NegatedEdge` objects.
        directed
            For all edges and negated pairs, as in `QueryEdge`.
        name
            Shown by `motiflux.explain`.

        Examples
        --------
        >>> from motiflux import Pattern
        >>> Pattern.from_edges([(0, 1), (1, 2), (2, 0)], name="triangle")
        Pattern('triangle', 3 vertices, 3 edges)
        >>> print(Pattern.from_edges([(0, 1), (1, 2)], negated=[(2, 0)], directed=True))
        (0)-->(1), (1)-->(2), NOT (2)-->(0)
        """
        pairs = pairs_of(edges, "edges", "query edge")
        if num_vertices is None:
            named = 1 + max((max(pair) for pair in pairs), default=-1)
            if vertex_labels is None:
                check_numbering(pairs)
            num_vertices = named if vertex_labels is None else max(named, len(vertex_labels))
        num_vertices = check_integer("num_vertices", num_vertices, 0)
        if num_vertices > MAX_PATTERN_VERTICES:
            check_size(num_vertices)  # before anything of that size is made
        of_vertices = zip(
            _one_each(vertex_labels, num_vertices, "vertex_labels", "labels"),
            _one_each(vertex_ids, num_vertices, "vertex_ids", "ids"),
            _one_each(vertex_where, num_vertices, "vertex_where", "conditions"),
            strict=True,
        )
        of_edges = zip(
            pairs,
            _one_each(edge_labels, len(pairs), "edge_labels", "labels"),
            _one_each(edge_where, len(pairs), "edge_where", "conditions"),
            strict=True,
        )
        return cls(
            tuple(
                QueryVertex(str(v), label_set(labels), id_set(ids), where)
                for v, (labels, ids, where) in enumerate(of_vertices)
            ),
            tuple(
                QueryEdge(source, target, label_set(labels), directed, where=where)
                for (source, target), labels, where in of_edges
            ),
            name,
            tuple(may_coincide),
            tuple(comparisons),
            tuple(negated_of(negated, directed)),
        )

    @classmethod
    def parse(cls, text: str, *, name: str = "") -> Pattern:
        """Make a pattern from text in a subset of openCypher and GQL; see the guide.

        Parameters
        ----------
        text
            Paths of vertices ``(name:Label)`` and edges ``-[name:Label]->``, separated by commas, then
            ``WHERE`` and conditions. ``NOT`` before an edge negates it. Vertices are ordered as first
            mentioned; one without a name is named ``_1``, ``_2`` and so on.
        name
            Shown by `motiflux.explain`.

        Returns
        -------
        Pattern
            ``str(pattern)`` is text that parses to an equal pattern.

        Raises
        ------
        PatternSyntaxError
            With a caret under the error, and `line` and `column`.

        Examples
        --------
        >>> from motiflux import Pattern
        >>> pattern = Pattern.parse("(a:person)-[x:wire|cash]->(b)--(c {kind: 'bank'}) WHERE x.euro > 100")
        >>> pattern
        Pattern(3 vertices, 2 edges)
        >>> print(pattern)
        (a:person)-[x:cash|wire]->(b), (b)--(c) WHERE c.kind = 'bank' AND x.euro > 100
        >>> print(Pattern.parse("(a)-->(b)-->(c) WHERE NOT (c)-[:wire]->(a)"))
        (a)-->(b), (b)-->(c), NOT (c)-[:wire]->(a)
        """
        from motiflux.pattern.parser.parse import parse_pattern

        return parse_pattern(text, name, cls)

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        *,
        vertex_label: str | None = "label",
        edge_label: str | None = "label",
        vertex_attributes: Sequence[str] | None = None,
        edge_attributes: Sequence[str] | None = None,
        directed: bool | None = None,
        name: str = "",
    ) -> Pattern:
        """Make a pattern from a networkx graph of any of the four classes.

        Parameters
        ----------
        graph
            Its nodes, of any type, become vertices in their order, named after ``str(node)``.
        vertex_label, edge_label
            The attributes that hold labels: a label, a set of labels or None (any). An element without the
            attribute accepts any label; with None here, all elements do.
        vertex_attributes, edge_attributes
            Names of the attributes that become conditions; None: all but the labels. The condition is that
            the attribute is equal to the value, or to one of a list or a set of values; None is no condition.
            The key of a parallel edge, if it is no integer, is the attribute ``key``.
        directed
            For all edges, as in `QueryEdge`; None: arcs if the graph is directed, either way if it is not.
        name
            Shown by `motiflux.explain`.

        Raises
        ------
        PatternError
            It is not a networkx graph, not a valid pattern, two nodes have one name, or the value of an
            attribute cannot be in a condition; names the node or the edge.

        Examples
        --------
        >>> import networkx as nx
        >>> from motiflux import Pattern
        >>> graph = nx.DiGraph([("payer", "bank"), ("bank", "payee", {"amount": 500})])
        >>> graph.nodes["bank"]["label"] = "bank"
        >>> print(Pattern.from_networkx(graph))
        (payer)-->(bank:bank), (bank)-[WHERE amount = 500]->(payee)
        """
        from motiflux.pattern.networkx import Chosen, read_networkx

        of_vertices = Chosen("vertex", vertex_label, vertex_attributes)
        of_edges = Chosen("edge", edge_label, edge_attributes)
        vertices, edges = read_networkx(graph, of_vertices, of_edges, directed)
        return cls(vertices, edges, name)

    def induced(
        self,
        vertices: Iterable[int | str] | None = None,
        labels: LabelChoice = None,
        *,
        directed: bool | None = None,
    ) -> Pattern:
        """Return the pattern with negated edges, so that it is induced over some of its vertices.

        Between the images of two of these vertices there is then no data edge in a direction in which the
        pattern has none.

        Parameters
        ----------
        vertices
            Positions or names of two vertices or more; None: all vertices.
        labels
            A label, a set of labels, or None. With labels, only data edges with one of them are forbidden: in
            a direction in which the pattern has no edge that accepts the label.
        directed
            Whether the data graph is directed, if query edges follow it; None: they do not.

        Raises
        ------
        PatternError
            There is no such vertex, or an edge between two of them follows the data graph and `directed` is
            None.

        Examples
        --------
        >>> from motiflux import Pattern
        >>> print(Pattern.parse("(a)-->(b)-->(c)-->(d)").induced(["a", "b", "c"]))
        (a)-->(b), (b)-->(c), (c)-->(d), NOT (a)--(c), NOT (b)-->(a), NOT (c)-->(b)
        """
        chosen = range(self.num_vertices) if vertices is None else positions_of(vertices, self.vertices)
        added = induced_edges(chosen, self.edges, labels, directed)
        return replace(self, negated=(*self.negated, *added))

    def to_svg(self) -> Picture:
        """Return the pattern as an SVG picture: a string with a method ``save``.

        Examples
        --------
        >>> from motiflux import Pattern
        >>> Pattern.parse("(a:person)-[:wire]->(b:person)", name="payment").to_svg().name
        'Pattern payment of 2 vertices and 1 edge'
        """
        from motiflux.pattern.picture import pattern_picture

        return pattern_picture(self)

    def _repr_svg_(self) -> str:
        return str(self.to_svg())

    def _repr_html_(self) -> str:
        from motiflux.draw.page import shown_with_text

        return shown_with_text(self.to_svg(), str(self))

    def __str__(self) -> str:
        from motiflux.pattern.text import pattern_text

        return pattern_text(self)

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"Pattern({name}{quantity(self.num_vertices, 'vertex')}, {quantity(self.num_edges, 'edge')})"


def _one_each(given: Sequence[T] | None, length: int, argument: str, what: str) -> Sequence[T | None]:
    if given is None:
        return [None] * length
    if len(given) != length:
        raise PatternError(f"{argument}: expected {length} {what}, found {len(given)}")
    return given
