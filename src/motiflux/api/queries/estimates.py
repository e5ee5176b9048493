"""Estimates of queries: sums of independent estimates of their patterns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from motiflux.api.queries.induced import without_induced
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import NegatedEdge, Pattern, Query
from motiflux.pattern.automorphism import automorphisms
from motiflux.pattern.subtracting import signed_patterns
from motiflux.request.policy import SamplingPolicy
from motiflux.request.progress import of_equal_parts
from motiflux.request.reports import ProgressCallback
from motiflux.request.request import Request
from motiflux.result.estimate import Estimate, EstimateCallback, EstimateCounting, EstimateProgress
from motiflux.result.partial import replace_partial
from motiflux.sampling.stopping import Rules
from motiflux.types import Semantics, Symmetry

if TYPE_CHECKING:
    from motiflux.api.queries.counts import PatternCounter, Sum

_SEEDS = 2**64
_STEP = 0x9E3779B97F4A7C15
"""Between the seeds of the patterns of a query: odd, so that no two are equal."""


MAX_SUBTRACTED = 4
"""Most negated edges whose embeddings are subtracted: each doubles the number of patterns."""

Weighted: TypeAlias = tuple[Pattern, Symmetry, Graph | None, float]
"""A pattern, how it is counted, the graph if it is another one than that of the call, and a factor."""


@dataclass(frozen=True, slots=True)
class Estimating:
    """The options of a call that estimates."""

    graph: Graph
    request: Request
    rules: Rules
    estimator: str | SamplingPolicy
    seed: int
    callback: EstimateCallback | None
    started: float


def estimate_query(
    query: Query,
    call: Estimating,
    estimate: Callable[[Pattern, Estimating], Estimate],
    where: PatternCounter | None = None,
) -> Estimate:
    """Return the estimate of a query.

    Parameters
    ----------
    estimate
        Estimates one pattern.
    where
        Says how the query is counted; None: in the graph of the call.

    Raises
    ------
    ArgumentError
        The query has disconnected parts, or optional edges whose rows only a search can tell.
    """
    # Estimates of single patterns import this module, too.
    from motiflux.api.queries.counts import LocalCounter, sum_of

    query, request = without_induced(query, call.request, directed=call.graph.directed)
    call = replace(call, request=request)
    where = where or LocalCounter(call.graph)
    whole = sum_of(query, request, where)
    where.check(query, whole, request)
    return estimate_sum(_patterns(query, whole), call, estimate)


def estimate_sum(
    patterns: Sequence[Weighted], call: Estimating, estimate: Callable[[Pattern, Estimating], Estimate]
) -> Estimate:
    """Return the sum of estimates of patterns, each with a factor, symmetry and graph of its own.

    Parameters
    ----------
    estimate
        Estimates one pattern.
    """
    rules = replace(call.rules, groups=max(1, call.rules.groups // len(patterns)))
    found = estimate_each(patterns, replace(call, rules=rules), estimate)
    return combined([(one, factor) for one, (*_, factor) in zip(found, patterns, strict=True)])


def estimate_each(
    patterns: Sequence[Weighted], call: Estimating, estimate: Callable[[Pattern, Estimating], Estimate]
) -> list[Estimate]:
    """Return the estimate of each of some patterns, which share the time of the call; see `estimate_sum`."""
    found: list[Estimate] = []
    callbacks = _equal_parts(call.callback, len(patterns))
    for number, ((pattern, symmetry, graph, _), callback) in enumerate(zip(patterns, callbacks, strict=True)):
        request = replace(call.request, symmetry=symmetry)
        if request.timeout is not None:
            left = max(0.0, request.timeout - (time.perf_counter() - call.started))
            request = replace(request, timeout=left / (len(patterns) - number))
        one = replace(
            call,
            graph=graph or call.graph,
            request=request,
            seed=(call.seed + number * _STEP) % _SEEDS,
            callback=callback,
        )
        try:
            found.append(estimate(pattern, one))
        except KeyboardInterrupt as stop:
            replace_partial(stop, None)  # the estimate of one pattern is none of the query
            raise
    return found


def _equal_parts(callback: EstimateCallback | None, number: int) -> Iterator[EstimateCallback | None]:
    """Yield a callback for each of some estimates, whose counts of all are equal parts of the work."""
    if callback is None or number == 1:
        yield from [callback] * number
        return
    for part in of_equal_parts(cast("ProgressCallback", callback), number):

        def tell(point: EstimateProgress, part: Any = part) -> None:
            (part if isinstance(point, EstimateCounting) else callback)(point)

        yield tell


def by_kinds(pattern: Pattern, call: Estimating) -> list[Weighted]:
    """Return patterns whose negated edges are of one kind each, whose estimates add up to that of a pattern.

    A sampler looks for negated edges of one kind. The kind of most of the edges is left to it; the others are
    subtracted: without an edge are all embeddings less those with it.

    Raises
    ------
    ArgumentError
        There are too many edges to subtract.
    """
    request = call.request
    whole: list[Weighted] = [(pattern, request.symmetry, None, 1.0)]
    kinds = {_kind_of(one, call.graph) for one in pattern.negated_pairs}
    if len(kinds) < 2 or request.semantics is Semantics.INDUCED or pattern.comparisons:
        return whole
    kept = largest_kind(pattern, call.graph, request.semantics)
    others = tuple(one for one in pattern.negated if one not in kept)
    subtracted = sum(one.is_pair for one in others)
    if subtracted > MAX_SUBTRACTED:
        expected = f"at most {MAX_SUBTRACTED} negated edges of other kinds than most of them"
        raise ArgumentError("pattern", f"{expected}, found {subtracted}", str(pattern))
    divisor = 1
    if request.symmetry is Symmetry.SUBGRAPHS:
        divisor = automorphisms(pattern, directed=call.graph.directed).order
    return [
        (replace(one, negated=(*one.negated, *kept)), Symmetry.EMBEDDINGS, None, sign / divisor)
        for sign, one in signed_patterns(replace(pattern, negated=others))
    ]


def largest_kind(pattern: Pattern, graph: Graph, semantics: Semantics) -> list[NegatedEdge]:
    """Return the negated edges that a sampler looks for: those of the kind that most of them have.

    With induced matching, it looks for edges of any label.
    """
    kinds: dict[Hashable, list[NegatedEdge]] = {}
    for one in pattern.negated_pairs:
        kinds.setdefault(_kind_of(one, graph), []).append(one)
    if semantics is Semantics.INDUCED:
        return kinds.get((None, None), [])
    return max(kinds.values(), key=len, default=[])


def _kind_of(one: NegatedEdge, graph: Graph) -> Hashable:
    """Return what a sampler's rows of negated edges depend on."""
    if one.labels is None:
        return None, one.where
    codes = graph.edge_label_table.codes(one.labels)
    return None if len(codes) == len(graph.edge_label_table) else codes, one.where


def _patterns(query: Query, whole: Sum) -> list[Weighted]:
    patterns: list[Weighted] = []
    for term in whole.terms:
        if term.listed is not None or any(len(product) > 1 for product, _ in term.products):
            raise ArgumentError(
                "pattern",
                "connected patterns, without OPTIONAL edges beside WITHIN, WALK or induced matching, or"
                " OPTIONAL paths to vertices with labels or conditions, to estimate",
                query,
            )
        patterns += [
            (product[0], term.symmetry, term.graph, factor / term.divisor)
            for product, factor in term.products
        ]
    return patterns


def combined(parts: list[tuple[Estimate, float]]) -> Estimate:
    """Return the sum of independent estimates, each with a factor.

    Distances to the ends of intervals add up as those of independent errors do: by their squares.
    """
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    value = math.fsum(factor * one.value for one, factor in parts)
    below = [factor * (one.value - (one.low if factor > 0 else one.high)) for one, factor in parts]
    above = [factor * ((one.high if factor > 0 else one.low) - one.value) for one, factor in parts]
    estimates = [one for one, _ in parts]
    return replace(
        in_one(estimates, value, (value - math.hypot(*below), value + math.hypot(*above))),
        confidence=min(one.confidence for one in estimates),
        sampled=max(0.0, math.fsum(factor * one.sampled for one, factor in parts)),
    )


def in_one(estimates: Sequence[Estimate], value: float, interval: tuple[float, float]) -> Estimate:
    """Return the estimate of a number that is made of several estimates: it has the work of all.

    Its confidence, device and reason are those of the estimate with the most samples.
    """
    largest = max(estimates, key=lambda one: one.samples)
    exact = all(one.estimator == "exact" for one in estimates)
    warnings = dict.fromkeys(one.warning for one in estimates if one.warning)
    value, low, high = (max(0.0, number) for number in (value, *interval))
    return replace(
        largest,
        value=value,
        low=low,
        high=high,
        samples=sum(one.samples for one in estimates),
        valid_samples=sum(one.valid_samples for one in estimates),
        effective_samples=sum(one.effective_samples for one in estimates),
        complete=all(one.complete for one in estimates),
        seconds=sum(one.seconds for one in estimates),
        plan_seconds=sum(one.plan_seconds for one in estimates),
        estimator="exact" if exact else largest.estimator,
        sampled=value,
        warning="; ".join(warnings) or None,
        trawled=None,
        trace=(),
        parts={},
    )
