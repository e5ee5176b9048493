"""Conditions and anchors: sets of embeddings against the oracle, which knows them as labels.

For the oracle a vertex's label is its label, its value and itself; an edge's is its label and its value, one
edge for every row that was given. What a query vertex or edge accepts is then a set of such labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.conditions import AllOf, AnyOf, Comparison, Condition, IsMissing, Not, OneOf, Operator
from motiflux.cpu import reference
from motiflux.pattern.elements import label_set
from motiflux.types import DEFAULT_LABEL
from tests.rotating import rotating
from tests.strategies import EMBEDDINGS, Case, Combination, cases, rows_of

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]

VALUES = (0.0, 1.0, 2.0, math.nan)
COMPARE: dict[Operator, Callable[[float, float], bool]] = {
    Operator.EQUAL: lambda a, b: a == b,
    Operator.UNEQUAL: lambda a, b: a != b,
    Operator.LESS: lambda a, b: a < b,
    Operator.AT_MOST: lambda a, b: a <= b,
    Operator.GREATER: lambda a, b: a > b,
    Operator.AT_LEAST: lambda a, b: a >= b,
}


def truth(condition: Condition | None, value: float) -> bool | None:
    """Tell whether a value satisfies a condition; None if that is unknown."""
    match condition:
        case None:
            return True
        case IsMissing():
            return math.isnan(value)
        case Comparison(operator=operator, value=other):
            return None if math.isnan(value) else COMPARE[operator](value, other)  # type: ignore[arg-type]
        case OneOf(values=values):
            return None if math.isnan(value) else value in values
        case Not(condition=inner):
            known = truth(inner, value)
            return None if known is None else not known
        case AllOf(conditions=parts):
            found = [truth(part, value) for part in parts]
            return False if False in found else None if None in found else True
        case AnyOf(conditions=parts):
            found = [truth(part, value) for part in parts]
            return True if True in found else None if None in found else False
    raise AssertionError(condition)


def conditions() -> st.SearchStrategy[Condition]:
    numbers = st.sampled_from((-1, 0, 1, 2, 0.5, 1.0))
    simple = (
        st.builds(Comparison, st.just("x"), st.sampled_from(sorted(COMPARE)), numbers)
        | st.builds(OneOf, st.just("x"), st.lists(numbers, min_size=1, max_size=3).map(tuple))
        | st.builds(IsMissing, st.just("x"))
    )
    return st.recursive(
        simple,
        lambda inner: (
            st.builds(Not, inner)
            | st.builds(AllOf, st.lists(inner, min_size=1, max_size=2).map(tuple))
            | st.builds(AnyOf, st.lists(inner, min_size=1, max_size=2).map(tuple))
        ),
        max_leaves=3,
    )


@dataclass(frozen=True)
class Conditioned:
    """A case with a value at each vertex and edge, and a pattern that asks for some of them."""

    case: Case
    vertex_values: tuple[float, ...]
    edge_values: tuple[float, ...]
    vertex_where: tuple[Condition | None, ...]
    edge_where: tuple[Condition | None, ...]
    anchors: tuple[frozenset[int] | None, ...]

    def graph(self) -> mf.Graph:
        ids = np.array(self.case.ids)
        ends = np.array(self.case.edges, dtype=np.int64).reshape(-1, 2)
        return mf.Graph.from_edges(
            (ids[ends[:, 0]], ids[ends[:, 1]]),
            directed=self.case.directed,
            vertex_ids=ids,
            vertex_labels=self.case.vertex_labels,
            edge_labels=self.case.edge_labels,
            vertex_attributes={"x": np.array(self.vertex_values)},
            edge_attributes={"x": np.array(self.edge_values)},
        )

    def pattern(self) -> mf.Pattern:
        plain = self.case.pattern()
        vertices = [
            replace(vertex, where=where, ids=anchor and frozenset(self.case.ids[v] for v in anchor))
            for vertex, where, anchor in zip(plain.vertices, self.vertex_where, self.anchors, strict=True)
        ]
        direction: dict[Any, bool | None] = {"follow": None, "either": False, "arc": True}
        edges = [
            mf.QueryEdge(u, v, label_set(labels), direction[how], where=where)
            for (u, v, labels, how), where in zip(self.case.pattern_edges, self.edge_where, strict=True)
        ]
        return mf.Pattern(tuple(vertices), tuple(edges))

    def embeddings(self, semantics: str) -> set[tuple[Any, ...]]:
        case, size = self.case, len(self.case.ids)
        plain = case.vertex_labels or (DEFAULT_LABEL,) * size
        kinds = case.edge_labels or (DEFAULT_LABEL,) * len(case.edges)
        vertices: list[Any] = [(plain[v], value, v) for v, value in enumerate(map(str, self.vertex_values))]
        edges: list[Any] = [(kind, str(value)) for kind, value in zip(kinds, self.edge_values, strict=True)]
        accepted = [
            {
                label
                for label, v in zip(vertices, range(size), strict=True)
                if accepts(choice, plain[v])
                and truth(where, self.vertex_values[v])
                and (anchor is None or v in anchor)
            }
            for choice, where, anchor in zip(
                case.pattern_vertex_labels, self.vertex_where, self.anchors, strict=True
            )
        ]
        pattern_edges = [
            (
                u,
                v,
                {label for label in product(set(kinds), map(str, VALUES)) if fits(label, choice, where)},
                how,
            )
            for (u, v, choice, how), where in zip(case.pattern_edges, self.edge_where, strict=True)
        ]
        found = reference.embeddings(
            size,
            case.edges,
            accepted,  # type: ignore[arg-type]
            pattern_edges,  # type: ignore[arg-type]
            directed=case.directed,
            vertex_labels=vertices,
            edge_labels=edges,
            semantics=semantics,
        )
        return {case.to_ids(image) for image in found}


def accepts(choice: Any, label: Any) -> bool:
    return choice is None or (label in choice if isinstance(choice, (set, frozenset)) else label == choice)


def fits(label: tuple[Any, str], choice: Any, where: Condition | None) -> bool:
    return accepts(choice, label[0]) and truth(where, float(label[1])) is True


@st.composite
def conditioned_cases(draw: st.DrawFn, directed: bool, labels: str) -> Conditioned:
    case = draw(cases(directed, labels).filter(lambda one: len(one.ids) > 0))
    case = replace(case, pattern_edges=tuple(dict.fromkeys(case.pattern_edges)))

    def many(values: st.SearchStrategy[Any], size: int) -> tuple[Any, ...]:
        return tuple(draw(st.lists(values, min_size=size, max_size=size)))

    size, query = len(case.ids), len(case.pattern_vertex_labels)
    anchors = st.frozensets(st.integers(0, size - 1), min_size=1)
    return Conditioned(
        case,
        many(st.sampled_from(VALUES), size),
        many(st.sampled_from(VALUES), len(case.edges)),
        many(st.none() | conditions(), query),
        many(st.none() | conditions(), len(case.pattern_edges)),
        many(st.none() | st.none() | anchors, query),
    )


@pytest.mark.turns(2, "cpu", "emulated")
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS), ids=str)
def test_embeddings_are_those_that_satisfy_the_conditions(
    combination: Combination, depth: str, device: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(conditioned_cases(combination.directed, combination.labels), st.sampled_from(("auto", "off")))
    def holds(given_case: Conditioned, candidates: str) -> None:
        expected = given_case.embeddings(combination.semantics)
        graph, pattern = given_case.graph(), given_case.pattern()
        options: dict[str, Any] = {
            "semantics": combination.semantics,
            "device": device,
            "tuning": {"candidates": candidates},
        }
        rows = rows_of(mf.match(graph, pattern, **options))
        assert set(rows) == expected
        assert len(rows) == len(expected), "a row came twice"
        assert mf.count(graph, pattern, **options) == len(expected)

    holds()
