"""Counts of patterns with negated edges by inclusion and exclusion, where a search would take longer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.pattern.subtracting import different_patterns
from motiflux.plan.physical import Family, PhysicalPlan, Term
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Outcome
from motiflux.request.planning import counts_all
from motiflux.request.reports import ProgressCallback, ProgressReport
from motiflux.request.request import Request
from motiflux.types import Semantics, Symmetry

_MOST_PAIRS = 3
"""Negated edges between query vertices, each of which doubles the number of terms."""
_WORTH_PLANNING = 2e-3
"""Least expected seconds of a search for which terms are planned at once; a plan takes about a millisecond.

A shorter search that is asked for again is planned again once its counts have taken as long together.
"""
_SEARCHED, _TABLED = 3.0, 1.5
"""Expected seconds of a search with negated edges that one expected second of a term takes the place of.

On 14 patterns over transfers, terms that close cycles took about twice the time expected, those from tables
as long as expected, and searches with negated edges .7 of it.
"""
_POOL, _MOST = "searches instead of terms", 256
"""Name of the pool in the graph's memo, and its maximum number of patterns."""

PlanTerm = Callable[[Pattern, Request, Deadline], PhysicalPlan | None]


def subtracted(
    graph: Graph,
    pattern: Pattern,
    request: Request,
    search: PhysicalPlan,
    deadline: Deadline,
    plan: PlanTerm,
) -> PhysicalPlan:
    """Return the plan of counts whose signed sum is the count of a pattern; the search if that is faster.

    Parameters
    ----------
    search
        The plan of the search.
    plan
        Plans a term.
    """
    if _waits(graph, pattern, request, search):
        return replace(search, expires=_WORTH_PLANNING)
    terms = _terms_of(graph, pattern, request, search, deadline, plan)
    seconds = [term.physical.seconds for term in terms]
    known = None if None in seconds else sum(filter(None, seconds))
    return replace(search, terms=terms, seconds=known) if terms else search


def _waits(graph: Graph, pattern: Pattern, request: Request, search: PhysicalPlan) -> bool:
    """Whether a search is too short to plan its terms, and is planned for the first time."""
    short = (search.seconds or 0.0) < _WORTH_PLANNING
    if request.tuning["negation"] != "auto" or not short or search.plan.impossible is not None:
        return False
    if not (counts_all(request) and can_subtract(pattern, request)):
        return False
    key = pattern, request.key
    if graph.memo.recent(_POOL, key) is not None:
        return False
    graph.memo.store(_POOL, key, True, _MOST)
    return True


def _terms_of(
    graph: Graph,
    pattern: Pattern,
    request: Request,
    search: PhysicalPlan,
    deadline: Deadline,
    plan: PlanTerm,
) -> tuple[Term, ...]:
    """Return the counts whose signed sum is the count of a pattern; none if a search seems faster."""
    switch = request.tuning["negation"]
    if switch == "search" or not can_subtract(pattern, request) or search.plan.impossible is not None:
        return ()
    auto = switch == "auto"
    if auto and not counts_all(request):
        return ()
    most = search.seconds or 0.0
    terms: list[Term] = []
    seconds = 0.0
    for factor, one in different_patterns(pattern, directed=graph.directed):
        physical = plan(one, term_request(request), deadline)
        if physical is None:
            return ()
        if physical.plan.impossible is not None:
            physical = replace(physical, seconds=0.0)
        tabled = bool(physical.stages) and physical.stages[0].family is Family.TABLES
        seconds += (physical.seconds or 0.0) * (_TABLED if tabled else _SEARCHED)
        if auto and (physical.seconds is None or seconds >= most):
            return ()
        terms.append(Term(factor, str(one), physical))
    return tuple(terms)


def can_subtract(pattern: Pattern, request: Request) -> bool:
    """Return whether a count is a sum of counts without negated edges, of which there are few."""
    return (
        0 < len(pattern.negated_pairs) <= _MOST_PAIRS
        and request.semantics is not Semantics.INDUCED
        and not pattern.comparisons
        and not request.copies
    )


def term_request(request: Request) -> Request:
    """Return the request of a term: all its embeddings."""
    return replace(request, symmetry=Symmetry.EMBEDDINGS, limit=None)


def count_terms(
    physical: PhysicalPlan,
    request: Request,
    deadline: Deadline,
    count: Callable[[PhysicalPlan, Request, Deadline], Outcome],
) -> Outcome:
    """Return the count as the signed sum of its terms; 0 and incomplete if time was up for one of them."""
    total = 0
    for position, term in enumerate(physical.terms):
        progress = _of_term(request.progress, position, len(physical.terms))
        found = count(term.physical, replace(term_request(request), progress=progress), deadline)
        if not found.complete:
            return Outcome(0, False)
        total += term.factor * found.value
    if request.symmetry is Symmetry.SUBGRAPHS:
        total //= physical.plan.automorphisms
    if request.limit is not None and total > request.limit:
        return Outcome(request.limit, False)
    return Outcome(total, True)


@dataclass(frozen=True, slots=True)
class _OfTerm:
    """Reports of one term as reports of all: nothing is found before the last one ends."""

    report: ProgressCallback
    position: int
    terms: int

    def __call__(self, report: ProgressReport) -> None:
        done = self.position * report.total + report.done
        self.report(ProgressReport(done, self.terms * report.total, 0, report.seconds))


def _of_term(report: ProgressCallback | None, position: int, terms: int) -> ProgressCallback | None:
    return None if report is None else _OfTerm(report, position, terms)
