"""Random queries: plain data for the reference, and the text that says the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

import motiflux as mf
from motiflux.cpu import reference_queries as reference
from motiflux.cpu.reference import AnyVertex, NegatedEdge
from motiflux.cpu.reference_queries import Link

LABELS = ("a", "b")
VALUES = (1, 2, None)
TIMES = (1, 2, 3, None)


@dataclass(frozen=True)
class QueryCase:
    """A data graph and a query."""

    data: reference.Data
    vertices: tuple[Any, ...]
    links: tuple[Link, ...]
    optional: tuple[Link, ...]
    formula: Any
    negated: tuple[NegatedEdge, ...] = ()

    def graph(self) -> mf.Graph:
        """Build the data graph."""
        data = self.data
        return mf.Graph.from_edges(
            list(data.edges) or [[0, 0]][:0],
            directed=data.directed,
            num_vertices=data.num_vertices,
            vertex_labels=data.vertex_labels,
            edge_labels=data.edge_labels,
            vertex_attributes=data.vertex_attributes,
            edge_attributes=data.edge_attributes,
        )

    def text(self) -> str:
        """Write the query."""
        paths = [self._path(number, link) for number, link in enumerate(self.links)]
        tests = [
            f"increasing(p{number}.t)"
            for number, link in enumerate(self.links)
            if link.increasing is not None
        ]
        first = len(self.negated) // 2  # some among the paths, others among the conditions
        paths += map(self._negated, self.negated[:first])
        tests += map(self._negated, self.negated[first:])
        if self.formula is not None:
            tests.append(self._written(self.formula))
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        known = {end for link in self.links for end in (link.source, link.target)}
        optional = ""
        for link in self.optional:
            ends = [
                self._vertex(end) if end not in known else f"(v{end})" for end in (link.source, link.target)
            ]
            known |= {link.source, link.target}
            name = f"q{self.optional.index(link)}" if link.lengths else ""
            optional += f" OPTIONAL {ends[0]}{_edge(link, name)}{ends[1]}"
            own = [f"increasing({name}.t)"] if link.increasing is not None else []
            own += map(self._negated, link.without)
            optional += f" WHERE {' AND '.join(own)}" if own else ""
        return ", ".join(paths) + where + optional

    def _path(self, number: int, link: Link) -> str:
        walk = "WALK " if link.walks else ""
        name = f"p{number}" if link.lengths else ""
        return f"{walk}{self._vertex(link.source)}{_edge(link, name)}{self._vertex(link.target)}"

    def _negated(self, one: NegatedEdge) -> str:
        source, target, labels, kind = one
        ends = [
            f"({'' if end.labels is None else f':{end.labels}'})"
            if isinstance(end, AnyVertex)
            else f"(v{end})"
            for end in (source, target)
        ]
        link = Link(0, 1, labels, kind)
        return f"NOT {ends[0]}{_edge(link, '')}{ends[1]}"

    def _written(self, formula: Any) -> str:
        kind, content = formula
        if kind == "atom":
            vertex, attribute, value = content
            return f"v{vertex}.{attribute} = {value}"
        if kind == "absent":
            return self._negated(content)
        if kind == "degree":
            vertex, direction, labels, number = content
            counted = ", ".join(one for one in (f"v{vertex}", direction, labels) if one is not None)
            return f"degree({counted}) >= {number}"
        if kind == "not":
            inner = self._written(content)
            return f"NOT {inner}" if content[0] in ("atom", "degree") else f"NOT ({inner})"
        return "(" + f" {kind.upper()} ".join(map(self._written, content)) + ")"

    def _vertex(self, vertex: int) -> str:
        label = self.vertices[vertex]
        return f"(v{vertex}{'' if label is None else f':{label}'})"

    def rows(self, semantics: str) -> set[reference.Row]:
        """All rows according to the reference."""
        return reference.rows(
            self.data,
            self.vertices,
            self.links,
            optional=self.optional,
            negated=self.negated,
            formula=self.formula,
            semantics=semantics,
        )

    def occurrences(self) -> int:
        """The number of occurrences according to the reference."""
        return reference.occurrences(
            self.data,
            self.vertices,
            self.links,
            optional=self.optional,
            negated=self.negated,
            formula=self.formula,
        )

    def listed(self, matches: mf.Matches) -> list[reference.Row]:
        """Rows of `match` with ``names=True``, in the form of the reference."""
        paths = [f"p{at}" for at, link in enumerate(self.links) if link.lengths]
        paths += [f"q{at}" for at, link in enumerate(self.optional) if link.lengths]
        table = matches.to_arrow().to_pylist()
        return [
            (
                tuple(row.get(f"v{at}") for at in range(len(self.vertices))),
                tuple(None if row[name] is None else tuple(row[name]) for name in paths),
            )
            for row in table
        ]


def _edge(link: Link, name: str) -> str:
    label = "" if link.labels is None else f":{link.labels}"
    length = "" if link.lengths is None else f"*{link.lengths[0]}..{link.lengths[1]}"
    inside = f"[{name}{label}{length}]" if name or label or length else ""
    return f"-{inside}-" + (">" if link.kind == "arc" else "")


@st.composite
def degrees(draw: st.DrawFn, vertices: Sequence[int], *, directed: bool, labelled: bool) -> Any:
    """Draw a condition on the degree of a vertex."""
    direction = draw(st.sampled_from((None, "in", "out"))) if directed else None
    labels = draw(st.sampled_from((None, *LABELS))) if labelled else None
    return "degree", (draw(st.sampled_from(vertices)), direction, labels, draw(st.integers(0, 3)))


@st.composite
def formulas(
    draw: st.DrawFn,
    vertices: Sequence[int],
    depth: int = 2,
    atoms: st.SearchStrategy[Any] | None = None,
    absent: st.SearchStrategy[Any] | None = None,
) -> Any:
    """Draw AND, OR and NOT of conditions of several vertices; outside of NOT also absent edges."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        if atoms is not None and draw(st.booleans()):
            return draw(atoms)
        if absent is not None and draw(st.booleans()):
            return "absent", draw(absent)
        return "atom", (draw(st.sampled_from(vertices)), "x", draw(st.sampled_from((1, 2))))
    kind = draw(st.sampled_from(("or", "and", "not")))
    if kind == "not":
        return "not", draw(formulas(vertices, depth - 1, atoms))
    part = formulas(vertices, depth - 1, atoms, absent)
    return kind, draw(st.lists(part, min_size=2, max_size=2))


@st.composite
def query_cases(
    draw: st.DrawFn,
    *,
    features: frozenset[str],
    directed: bool,
    most_vertices: int = 6,
) -> QueryCase:
    """Draw a query with some of the features.

    They are path, ring, walk, or, optional, optpath (optional paths), parts, labels, increasing, negated, and
    degree.
    """
    size = draw(st.integers(3, most_vertices))
    pairs = [(u, v) for u in range(size) for v in range(size) if u < v or (directed and u > v)]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=2, max_size=12))
    labelled = "labels" in features
    data = reference.Data(
        size,
        chosen,
        directed,
        draw(st.lists(st.sampled_from(LABELS), min_size=size, max_size=size)) if labelled else None,
        draw(st.lists(st.sampled_from(LABELS), min_size=len(chosen), max_size=len(chosen)))
        if labelled
        else None,
        {"x": draw(st.lists(st.sampled_from(VALUES), min_size=size, max_size=size))},
        {"t": draw(st.lists(st.sampled_from(TIMES), min_size=len(chosen), max_size=len(chosen)))},
    )
    kinds = ("arc", "either") if directed else ("either",)

    def link(source: int, target: int, *, path: bool = False) -> Link:
        lengths = None
        if path:
            least = draw(st.integers(2 if source == target else 1, 3))
            lengths = (least, draw(st.integers(least, 3)))
        return Link(
            source,
            target,
            draw(st.sampled_from((None, *LABELS))) if labelled else None,
            draw(st.sampled_from(kinds)),
            lengths,
            "walk" in features and path,
            "t" if "increasing" in features and path else None,
        )

    links: list[Link] = []
    if "ring" in features:
        links.append(link(0, 0, path=True))
    if "path" in features or "walk" in features or "increasing" in features:
        links.append(link(0, 1, path=True))
    if not links or draw(st.booleans()):
        links.append(link(0, 1))
    named = 1 + max(max(one.source, one.target) for one in links)
    if "parts" in features:
        links.append(link(named, named + 1))
        named += 2
    optional = []
    if "optional" in features or ("optpath" in features and draw(st.booleans())):
        optional.append(link(*_turned(draw, draw(st.integers(0, named - 1)), named)))
    if "optpath" in features:
        new = named + len(optional)
        known = draw(st.integers(0, new - 1))
        ends = (known, draw(st.integers(0, named - 1))) if draw(st.booleans()) else (known, new)
        path = link(*_turned(draw, *ends), path=True)
        optional.append(replace(path, walks=False))
    elif "optional" in features and draw(st.booleans()):
        optional.append(link(*_turned(draw, draw(st.integers(0, named)), named + 1)))
    formula = None
    if "degree" in features:
        formula = draw(degrees(range(named), directed=directed, labelled=labelled))
    if "or" in features:
        atoms = None if formula is None else st.just(formula)
        absent = negated_edges(range(named), kinds, labelled=labelled) if "negated" in features else None
        formula = draw(formulas(range(named), atoms=atoms, absent=absent))
    number = draw(st.integers(1, 2)) if "negated" in features else 0
    if "or" in features and number:
        number = draw(st.integers(0, 1))
    negated = tuple(draw(negated_edges(range(named), kinds, labelled=labelled)) for _ in range(number))
    most = max(max(one.source, one.target) for one in (*links, *optional))
    if "negated" in features and optional and draw(st.booleans()):
        optional = [
            replace(
                one,
                without=(draw(negated_edges(sorted({one.source, one.target}), kinds, labelled=labelled)),),
            )
            for one in optional
        ]
    labels = [draw(st.sampled_from((None, None, *LABELS))) if labelled else None for _ in range(most + 1)]
    return QueryCase(data, tuple(labels), tuple(links), tuple(optional), formula, negated)


@st.composite
def negated_edges(
    draw: st.DrawFn, vertices: Sequence[int], kinds: Sequence[str], *, labelled: bool
) -> NegatedEdge:
    """Draw an edge that must not be there, between two of the vertices or to any vertex."""
    choice = st.sampled_from((None, *LABELS)) if labelled else st.none()
    ends: list[Any] = list(draw(st.permutations(vertices))[:2])
    if len(ends) == 1 or draw(st.integers(0, 2)) == 0:
        ends = [ends[0], AnyVertex(draw(choice))]
        if draw(st.booleans()):
            ends.reverse()
    return ends[0], ends[1], draw(choice), draw(st.sampled_from(kinds))


def _turned(draw: st.DrawFn, known: int, new: int) -> tuple[int, int]:
    return (known, new) if draw(st.booleans()) else (new, known)
