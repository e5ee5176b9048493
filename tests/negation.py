"""Random cases with negated edges, for every kind of test that compares with the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

import motiflux as mf
from motiflux.cpu import reference
from motiflux.pattern import AnyVertex, NegatedEdge
from tests.compared_cases import ComparedCase
from tests.strategies import ABSENT, LABELS, Case, cases

_DIRECTED: Mapping[str, bool | None] = {"follow": None, "either": False, "arc": True}


@dataclass(frozen=True)
class Negated:
    """A case, and negated edges in the form of the reference."""

    case: Case
    edges: tuple[reference.NegatedEdge, ...]

    def pattern(self) -> mf.Pattern:
        """Build the pattern."""
        return with_negated(self.case.pattern(), self.edges)

    def embeddings(self, semantics: str, **more: Any) -> set[tuple[Any, ...]]:
        """All embeddings according to the reference, in external ids."""
        found = reference.embeddings(
            *self.data, negated=self.edges, **self.options, semantics=semantics, **more
        )
        return {self.case.to_ids(image) for image in found}

    def occurrences(self, semantics: str) -> set[frozenset[tuple[Any, ...]]]:
        """All occurrences according to the reference, in external ids."""
        found = reference.occurrences(*self.data, negated=self.edges, **self.options, semantics=semantics)
        return {frozenset(self.case.to_ids(image) for image in occurrence) for occurrence in found}

    @property
    def data(self) -> tuple[Any, ...]:
        """The graph and the pattern as the reference takes them."""
        case = self.case
        return len(case.ids), case.edges, case.pattern_vertex_labels, case.pattern_edges

    @property
    def options(self) -> dict[str, Any]:
        """Direction and labels as the reference takes them."""
        case = self.case
        return {
            "directed": case.directed,
            "vertex_labels": case.vertex_labels,
            "edge_labels": case.edge_labels,
        }


def with_negated(pattern: mf.Pattern, edges: tuple[reference.NegatedEdge, ...]) -> mf.Pattern:
    """Return a pattern with negated edges in the form of the reference."""
    return replace(
        pattern,
        negated=tuple(
            NegatedEdge(_end(u), _end(v), labels, _DIRECTED[str(kind)]) for u, v, labels, kind in edges
        ),
    )


def _end(end: int | reference.AnyVertex) -> int | AnyVertex:
    return AnyVertex(end.labels) if isinstance(end, reference.AnyVertex) else end


@st.composite
def negated_edges(
    draw: st.DrawFn, case: Case | ComparedCase, *, pairs_only: bool = False, most: int = 3
) -> tuple[reference.NegatedEdge, ...]:
    """Draw one to three negated edges for a case."""
    size = len(case.pattern_vertex_labels)
    kinds = ["follow", "either", *(["arc"] if case.directed else [])]
    vertex_choices, edge_choices = _choices(case.vertex_labels), _choices(case.edge_labels)
    found = []
    for _ in range(draw(st.integers(1, most))):
        u, v = draw(st.permutations(range(size)))[:2]
        ends: list[Any] = [u, v]
        if not pairs_only and draw(st.integers(0, 3)) == 0:
            ends[draw(st.integers(0, 1))] = reference.AnyVertex(draw(st.sampled_from(vertex_choices)))
        found.append((*ends, draw(st.sampled_from(edge_choices)), draw(st.sampled_from(kinds))))
    return tuple(found)


@st.composite
def negated_cases(draw: st.DrawFn, directed: bool, labels: str, **options: Any) -> Negated:
    """Draw a case with negated edges."""
    case = draw(cases(directed, labels))
    return Negated(case, draw(negated_edges(case, **options)))


def _choices(labels: tuple[Any, ...] | None) -> list[reference.LabelChoice]:
    """Return label choices: any, and some of the labels that graphs of this kind have, or that none has."""
    if not labels:
        return [None]
    kind = "str" if isinstance(labels[0], str) else "int"
    some = LABELS[kind]
    return [None, some[0], some[1], frozenset(some[:2]), ABSENT[kind]]
