"""Phases as text, a line per phase."""

from __future__ import annotations

from collections.abc import Sequence

from motiflux.graph import Direction, LabelTable
from motiflux.pattern import Pattern
from motiflux.pattern.text import condition_text
from motiflux.plan.bind import Codes
from motiflux.plan.phases.data import (
    CandidateSet,
    Checks,
    EdgeTest,
    Elimination,
    Extension,
    PhasePlan,
    Relation,
)

_ARCS = {
    Direction.OUT: "outgoing arcs",
    Direction.IN: "incoming arcs",
    Direction.EITHER: "arcs of either direction",
}


def describe_phases(plan: PhasePlan, pattern: Pattern, edge_labels: LabelTable, *, directed: bool) -> str:
    """Return a numbered line for each phase; the parameters are those of `phase_texts`."""
    texts = phase_texts(plan, pattern, edge_labels, directed=directed)
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))


def phase_texts(
    plan: PhasePlan, pattern: Pattern, edge_labels: LabelTable, *, directed: bool
) -> tuple[str, ...]:
    """Return a line of text for each phase.

    Parameters
    ----------
    pattern
        The pattern, which names the query vertices.
    edge_labels
        The edge labels of the graph, each of which is a partition.
    directed
        Whether the graph is directed.
    """
    words = _Words([vertex.name for vertex in pattern.vertices], edge_labels, directed)
    return tuple(
        words.extension(phase) if isinstance(phase, Extension) else words.elimination(phase)
        for phase in plan.phases
    )


class _Words:
    """Phases in the names of one pattern and graph."""

    def __init__(self, names: Sequence[str], edge_labels: LabelTable, directed: bool) -> None:
        self._names = names
        self._edge_labels = edge_labels
        self._directed = directed

    def extension(self, phase: Extension) -> str:
        """Return what an extension phase matches."""
        root = "" if phase.root is None else f"{self._names[phase.root.vertex]}, then "
        matched = " and ".join(map(self._candidates, phase.sets))
        text = f"match {root}{matched} (pattern {phase.pattern.value}) {self._in(phase.partitions)}"
        return "; ".join((text, *self._comparisons(phase)))

    def elimination(self, phase: Elimination) -> str:
        """Return the edges by which an elimination phase keeps embeddings."""
        kept = []
        if phase.required:
            kept.append(f"with {', '.join(map(self._edge, phase.required))}")
        if phase.forbidden:
            arrow = "->" if self._directed else "--"
            absent = (f"{self._names[u]} {arrow} {self._names[v]}" for u, v in phase.forbidden)
            kept.append(f"without {', '.join(absent)}")
        return f"keep embeddings {' and '.join(kept)} {self._in(phase.partitions)}"

    def _in(self, partitions: Codes) -> str:
        if partitions is None:
            return "in the only partition" if len(self._edge_labels) == 1 else "in all partitions"
        labels = ", ".join(repr(self._edge_labels.values[code]) for code in partitions)
        return f"in partition{'s' if len(partitions) > 1 else ''} {labels}" if labels else "in no partition"

    def _candidates(self, one: CandidateSet) -> str:
        members = ", ".join(self._names[member] for member in one.members)
        arcs = f" by {_ARCS[one.direction]}" if self._directed else ""
        where = "" if one.where is None else f" where {condition_text(one.where)}"
        return f"{members} from {self._names[one.source]}{arcs}{where}"

    def _edge(self, edge: EdgeTest) -> str:
        text = f"{self._names[edge.source]} {'--' if edge.either else '->'} {self._names[edge.target]}"
        return text if edge.where is None else f"{text} where {condition_text(edge.where)}"

    def _comparisons(self, phase: Extension) -> list[str]:
        """Return the checks of a phase, each as a short sentence."""
        found = []
        for one in phase.sets:
            found += self._checks(", ".join(self._names[member] for member in one.members), one.common)
            for member, checks in zip(one.members, one.own, strict=True):
                found += self._checks(self._names[member], checks)
        for pair in phase.pairs:
            first, second = self._names[pair.first], self._names[pair.second]
            if pair.relation is not Relation.ANY:
                found.append(f"{first} {pair.relation.value} {second}")
            found += self._absent(first, second) if pair.not_out else []
            found += self._absent(second, first) if pair.not_in else []
        return found

    def _checks(self, candidate: str, checks: Checks) -> list[str]:
        compared = ((checks.after, ">"), (checks.distinct, "!="))
        found = [
            f"{candidate} {sign} {', '.join(self._names[vertex] for vertex in vertices)}"
            for vertices, sign in compared
            if vertices
        ]
        for vertex in checks.not_out:
            found += self._absent(self._names[vertex], candidate)
        for vertex in checks.not_in:
            found += self._absent(candidate, self._names[vertex])
        return found

    def _absent(self, source: str, target: str) -> list[str]:
        return [f"no arc {source} -> {target}" if self._directed else f"no edge {source} -- {target}"]
