"""Distinct rows and thresholds are what the definitions say, in every order and however subtrees are left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.conditions import Degree, Operator
from motiflux.config import private_tuning
from motiflux.cpu import reference
from tests.compared_cases import ComparedCase, compared_cases
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases, rows_of

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
COMPARE = dict(zip(OPERATORS, (eq, ne, lt, le, gt, ge), strict=True))
TUNING = [
    {},
    {"order": "given"},
    {"witness": "all"},
    {"order": "given", "backjump": "off"},
    {"candidates": "on"},
    {"candidates": "off", "order": "given"},
]


@dataclass(frozen=True)
class Asked:
    """Returned query vertices, and thresholds as the reference takes them."""

    returned: tuple[int, ...]
    thresholds: tuple[tuple[tuple[int, ...], str, int], ...]

    def having(self, names: list[str]) -> list[str] | None:
        """The thresholds as text."""
        texts = [
            f"count({', '.join(f'`{names[v]}`' for v in counted)}) {operator} {number}"
            for counted, operator, number in self.thresholds
        ]
        return texts or None


def draw_asked(data: st.DataObject, size: int) -> Asked:
    """Draw a projection of a pattern of `size` vertices."""
    order = data.draw(st.permutations(range(size)))
    returned = tuple(order[: data.draw(st.integers(1, size))])
    others = [vertex for vertex in range(size) if vertex not in returned]
    thresholds = []
    for _ in range(data.draw(st.integers(0, 2)) if others else 0):
        counted = data.draw(st.lists(st.sampled_from(others), min_size=1, max_size=2, unique=True))
        thresholds.append(
            (tuple(sorted(counted)), data.draw(st.sampled_from(OPERATORS)), data.draw(st.integers(0, 3)))
        )
    return Asked(returned, tuple(thresholds))


def check_rows(
    asked: Asked,
    embeddings: set[tuple[Any, ...]],
    group: set[tuple[int, ...]],
    graph: mf.Graph,
    pattern: mf.Pattern,
    options: dict[str, Any],
) -> None:
    """Hold counts, rows and limits against the reference."""
    expected = reference.projected_rows(embeddings, asked.returned, asked.thresholds)
    names = [vertex.name for vertex in pattern.vertices]
    given = {**options, "distinct": list(asked.returned), "having": asked.having(names)}
    rows = rows_of(mf.match(graph, pattern, **given))
    assert len(rows) == len(set(rows)), "a row came twice"
    count = mf.count(graph, pattern, **given)
    assert count.complete
    if options.get("symmetry") != "subgraphs":
        assert set(rows) == expected
        assert count == len(expected)
    else:
        classes = reference.row_classes(expected, asked.returned, group, asked.thresholds)
        assert len(rows) == count == len(classes)
        assert {one for row in rows for one in classes if row in one} == classes
    limited = mf.count(graph, pattern, limit=1, **given)
    assert limited == min(len(rows), 1)
    assert limited.complete == (len(rows) <= 1)
    assert len(rows_of(mf.match(graph, pattern, limit=2, **given))) == min(len(rows), 2)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(COMBINATIONS), ids=str)
def test_rows_are_those_of_the_reference(combination: Combination, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(
        cases(combination.directed, combination.labels),
        st.data(),
        st.sampled_from(TUNING),
        st.sampled_from((1, 3)),
    )
    def holds(case: Case, data: st.DataObject, tuning: dict[str, str], threads: int) -> None:
        asked = draw_asked(data, len(case.pattern_vertex_labels))
        options = {
            "semantics": combination.semantics,
            "symmetry": combination.symmetry,
            "threads": threads,
            "tuning": private_tuning(tuning),
        }
        found = case.embeddings(combination.semantics)
        check_rows(asked, found, case.automorphisms(), case.graph(), case.pattern(), options)

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
@pytest.mark.parametrize("semantics", ["isomorphism", "induced", "homomorphism"])
def test_rows_of_patterns_with_comparisons_are_too(semantics: str, symmetry: str, depth: str) -> None:
    if (semantics, symmetry) == ("homomorphism", "subgraphs"):
        pytest.skip("subgraphs are not defined for homomorphisms")

    @settings(settings.get_profile(depth))
    @given(compared_cases(), st.data(), st.sampled_from(TUNING[:4]), st.sampled_from((1, 3)))
    def holds(case: ComparedCase, data: st.DataObject, tuning: dict[str, str], threads: int) -> None:
        pairs = [frozenset(edge[:2]) for edge in case.pattern_edges]
        # Of edges that are repeated and not compared, the reference asks for as many in the image.
        assume(symmetry == "embeddings" or len(set(pairs)) == len(pairs))
        asked = draw_asked(data, len(case.pattern_vertex_labels))
        options = {
            "semantics": semantics,
            "symmetry": symmetry,
            "threads": threads,
            "tuning": private_tuning(tuning),
        }
        found = case.embeddings(semantics)
        check_rows(asked, found, case.automorphisms(), case.graph(), case.pattern(), options)

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("semantics", ["isomorphism", "induced", "homomorphism"])
def test_a_match_exists_if_there_is_an_embedding(semantics: str, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(
        st.booleans().flatmap(lambda directed: cases(directed, "both")),
        st.sampled_from(TUNING),
        st.sampled_from((1, 3)),
    )
    def holds(case: Case, tuning: dict[str, str], threads: int) -> None:
        found = mf.exists(
            case.graph(),
            case.pattern(),
            semantics=semantics,
            threads=threads,
            tuning=private_tuning(tuning),
        )
        assert found.complete
        assert bool(found) == bool(case.embeddings(semantics))

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("labels", ["none", "both"])
def test_degrees_are_those_of_the_reference(labels: str, directed: bool, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(
        cases(directed, labels),
        st.sampled_from(["in", "out", None] if directed else [None]),
        st.booleans(),
        st.sampled_from(OPERATORS),
        st.integers(0, 4),
    )
    def holds(case: Case, direction: str | None, narrowed: bool, operator: str, number: int) -> None:
        chosen = frozenset(case.edge_labels[:1]) if narrowed and case.edge_labels else None
        numbers = reference.degrees(
            len(case.ids),
            case.edges,
            directed=directed,
            edge_labels=case.edge_labels,
            direction=direction,
            labels=chosen or None,
        )
        kept = {
            one for one, degree in zip(case.ids, numbers, strict=True) if COMPARE[operator](degree, number)
        }
        plain = case.pattern()
        where = Degree(direction, chosen or None, Operator(operator), number)
        first = replace(plain.vertices[0], where=where)
        pattern = replace(plain, vertices=(first, *plain.vertices[1:]))
        expected = {row for row in case.embeddings("isomorphism") if row[0] in kept}
        rows = rows_of(mf.match(case.graph(), pattern))
        assert set(rows) == expected
        assert mf.Pattern.parse(str(pattern)).vertices[0].where == where

    holds()
