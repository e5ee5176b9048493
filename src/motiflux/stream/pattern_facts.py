"""Watched patterns as facts of a file, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from motiflux.pattern import AnyVertex, NegatedEdge, Pattern, QueryEdge, QueryVertex
from motiflux.pattern.queries.watched import CasePattern
from motiflux.stream.copies.kept import comparison_facts, comparison_of, condition_facts, condition_of


def pattern_facts(pattern: Pattern) -> dict[str, Any]:
    """Return a pattern as values of JSON."""
    return {
        "name": pattern.name,
        "vertices": [
            [one.name, _listed(one.labels), _listed(one.ids), *_where_facts(one)] for one in pattern.vertices
        ],
        "edges": [
            [
                *(one.source, one.target, _listed(one.labels), one.directed, one.name),
                *([] if one.where is None else [condition_facts(one.where)]),
            ]
            for one in pattern.edges
        ],
        "may_coincide": pattern.may_coincide,
        "negated": [
            [
                *(_end_facts(one.source, one), _end_facts(one.target, one), _listed(one.labels)),
                *(one.directed, *([] if one.where is None else [condition_facts(one.where)])),
            ]
            for one in pattern.negated
        ],
        **({"comparisons": list(map(comparison_facts, pattern.comparisons))} if pattern.comparisons else {}),
        **(_case_facts(pattern) if isinstance(pattern, CasePattern) else {}),
    }


def _case_facts(case: CasePattern) -> dict[str, Any]:
    return {"others": list(map(pattern_facts, case.others)), "ascending": case.ascending}


def _end_facts(end: int | AnyVertex, edge: NegatedEdge) -> int | list[Any]:
    if not isinstance(end, AnyVertex):
        return end
    where = _where_facts(end)
    if end.ids is not None:
        return [_listed(end.labels), sorted(edge.besides), *(where or [None]), _listed(end.ids)]
    return [_listed(end.labels), *([sorted(edge.besides)] if edge.besides or where else []), *where]


def _where_facts(vertex: QueryVertex | AnyVertex) -> list[Any]:
    return [] if vertex.where is None else [condition_facts(vertex.where)]


def _end(facts: int | list[Any]) -> int | AnyVertex:
    if isinstance(facts, int):
        return facts
    where = facts[2] if len(facts) > 2 else None
    ids = facts[3] if len(facts) > 3 else None
    return AnyVertex(_set(facts[0]), None if where is None else condition_of(where), _set(ids))


def _negated(facts: Sequence[Any]) -> NegatedEdge:
    source, target, labels, directed, *where = facts
    besides = [vertex for end in (source, target) if not isinstance(end, int) for vertex in chain(*end[1:2])]
    condition = condition_of(where[0]) if where else None
    return NegatedEdge(_end(source), _end(target), _set(labels), directed, condition, frozenset(besides))


def pattern_of(facts: Mapping[str, Any]) -> Pattern:
    """Return the pattern of such values."""
    if "others" not in facts:
        return Pattern(**_fields(facts))
    others = tuple(Pattern(**_fields(one)) for one in facts["others"])
    return CasePattern(**_fields(facts), others=others, ascending=tuple(map(tuple, facts["ascending"])))


def _fields(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "vertices": tuple(
            QueryVertex(name, _set(labels), _set(ids), *map(condition_of, where))
            for name, labels, ids, *where in facts["vertices"]
        ),
        "edges": tuple(
            QueryEdge(source, target, _set(labels), directed, name, *map(condition_of, where))
            for source, target, labels, directed, name, *where in facts["edges"]
        ),
        "name": facts["name"],
        "may_coincide": tuple((first, second) for first, second in facts["may_coincide"]),
        "comparisons": tuple(map(comparison_of, facts.get("comparisons", ()))),
        "negated": tuple(map(_negated, facts.get("negated", ()))),
    }


def _listed(values: frozenset[Any] | None) -> list[Any] | None:
    return None if values is None else sorted(values, key=lambda value: (isinstance(value, str), value))


def _set(values: list[Any] | None) -> frozenset[Any] | None:
    return None if values is None else frozenset(values)
