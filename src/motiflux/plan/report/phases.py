"""Describes the phases of a search in phases."""

from __future__ import annotations

from math import isfinite

from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan.bind import Codes, bind
from motiflux.plan.phases.data import Extension, PhasePlan
from motiflux.plan.phases.describe import phase_texts
from motiflux.plan.phases.estimates import phase_estimates
from motiflux.plan.phases.statistics import phase_statistics
from motiflux.plan.report.data import PhaseReport
from motiflux.types import Label


def report_phases(plan: PhasePlan, graph: Graph, pattern: Pattern) -> tuple[PhaseReport, ...]:
    """Return a report on each phase, before a run."""
    bound = bind(pattern, graph)
    names = [vertex.name for vertex in pattern.vertices]
    texts = phase_texts(plan, pattern, graph.edge_label_table, directed=graph.directed)
    sizes = phase_estimates(plan, bound, phase_statistics(bound, graph))
    reports = []
    for number, (phase, text, size) in enumerate(zip(plan.phases, texts, sizes, strict=True), 1):
        extension = phase if isinstance(phase, Extension) else None
        matched = () if extension is None else extension.vertices
        reports.append(
            PhaseReport(
                number=number,
                vertices=tuple(names[vertex] for vertex in matched),
                matching_pattern=None if extension is None else extension.pattern.value,
                partitions=_labels(phase.partitions, graph),
                text=text,
                estimated=size if isfinite(size) else None,
            )
        )
    return tuple(reports)


def _labels(codes: Codes, graph: Graph) -> tuple[Label, ...] | None:
    if codes is None:
        return None
    return tuple(graph.edge_label_table.values[code] for code in codes)
