"""Datetimes against integers: a graph and a pattern with either give the same counts and the same rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.conditions import AllOf, AnyOf, Comparison, Condition, IsMissing, Not, OneOf, Operator
from motiflux.times import LARGEST, format_moment
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases, rows_of

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]

DAY = 86_400 * 10**9
MOMENTS = st.sampled_from([0, 1, -1, DAY, DAY + 1, 10**18, 10**18 + 1, LARGEST, -LARGEST]) | st.integers(
    -LARGEST, LARGEST
)
ORDERINGS = [operator for operator in Operator if operator.value in ("=", "<>", "<", "<=", ">", ">=")]


def conditions(moments: list[int]) -> st.SearchStrategy[Condition]:
    """Draw conditions on nanoseconds, mostly on those that a graph has."""
    value = st.sampled_from(moments) if moments else MOMENTS
    simple = (
        st.builds(Comparison, st.just("when"), st.sampled_from(ORDERINGS), value | MOMENTS)
        | st.builds(OneOf, st.just("when"), st.lists(value, min_size=1, max_size=3).map(tuple))
        | st.builds(IsMissing, st.just("when"))
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


def on_text(condition: Condition, as_text: Callable[[int], str]) -> Condition:
    """Give a condition on nanoseconds as the same condition on datetimes."""
    match condition:
        case Comparison(value=int() as value):
            return replace(condition, value=as_text(value))
        case OneOf(values=values):
            return replace(condition, values=tuple(as_text(int(value)) for value in values))
        case Not(condition=inner):
            return Not(on_text(inner, as_text))
        case AllOf(conditions=parts) | AnyOf(conditions=parts):
            return replace(condition, conditions=tuple(on_text(part, as_text) for part in parts))
    return condition


def column(moments: list[int | None], utc: bool | None) -> Any:
    """Give nanoseconds as a masked array of integers, or of datetimes."""
    missing = np.array([moment is None for moment in moments], dtype=bool)
    numbers = np.array([moment or 0 for moment in moments], dtype=np.int64)
    if utc is None:
        return np.ma.MaskedArray(numbers, missing)
    if not utc:
        return np.ma.MaskedArray(numbers.view("M8[ns]"), missing)
    pa = pytest.importorskip("pyarrow")
    return pa.array(numbers, mask=missing).view(pa.timestamp("ns", "UTC"))


@st.composite
def timed_cases(
    draw: st.DrawFn, combination: Combination
) -> tuple[Case, dict[str, Any], list[Condition], list[Condition]]:
    """Draw a case, moments of its vertices and edges, and a condition for each query vertex and edge."""
    case = draw(cases(combination.directed, combination.labels).filter(lambda one: len(one.ids) > 0))
    case = replace(case, universe="ids", pattern_edges=tuple(dict.fromkeys(case.pattern_edges)))
    sizes = {"vertex_attributes": len(case.ids), "edge_attributes": len(case.edges)}
    moments = {
        name: draw(st.lists(st.none() | MOMENTS, min_size=size, max_size=size))
        for name, size in sizes.items()
    }
    known = [moment for values in moments.values() for moment in values if moment is not None]
    asked = st.none() | conditions(known)
    plain = case.pattern()
    of_vertices = draw(st.tuples(*[asked] * len(plain.vertices)).map(list))
    of_edges = draw(st.tuples(*[asked] * len(plain.edges)).map(list))
    return case, moments, of_vertices, of_edges


@pytest.mark.turns(2, "cpu", "emulated")
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(COMBINATIONS), ids=str)
def test_counts_and_rows_are_those_of_the_nanoseconds(
    combination: Combination, depth: str, device: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(timed_cases(combination), st.booleans())
    def holds(drawn: Any, utc: bool) -> None:
        case, moments, of_vertices, of_edges = drawn
        answers = []
        for kind in (None, utc):
            graph = case.graph(**{name: {"when": column(one, kind)} for name, one in moments.items()})

            def asked(condition: Condition | None, kind: bool | None = kind) -> Condition | None:
                if condition is None or kind is None:
                    return condition
                return on_text(condition, lambda moment: format_moment(moment, utc=bool(kind)))

            plain = case.pattern()
            pattern = mf.Pattern(
                tuple(
                    replace(v, where=asked(one)) for v, one in zip(plain.vertices, of_vertices, strict=True)
                ),
                tuple(replace(e, where=asked(one)) for e, one in zip(plain.edges, of_edges, strict=True)),
            )
            options = combination.options(device)
            rows = sorted(rows_of(mf.match(graph, pattern, **options)))
            answers.append((int(mf.count(graph, pattern, **options)), rows))
        assert answers[0] == answers[1]
        assert answers[0][0] == len(answers[0][1])

    holds()
