"""Counts of queries: the counts of their patterns, all found in one call, put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Protocol

from motiflux.api.pattern_list import count_each, count_one, naming_pattern
from motiflux.api.queries.checks import check_apart, check_copies, check_symmetry_of
from motiflux.api.queries.induced import without_induced
from motiflux.api.queries.rows import count_rows
from motiflux.api.queries.without import EndsAsAttributes, PossibleEnds, counts_without
from motiflux.dispatch.prepared_query import count_again
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query
from motiflux.pattern.queries.gluing import Product, products_of
from motiflux.pattern.queries.shapes import Shape
from motiflux.pattern.queries.symmetry import automorphisms_of, distinct_shapes
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Ran
from motiflux.request.progress import FoundSoFar, of_equal_parts
from motiflux.request.reports import ProgressCallback
from motiflux.request.request import Request
from motiflux.result.count import Count
from motiflux.result.partial import partial_result, replace_partial
from motiflux.types import Semantics, Symmetry

_POOL, _MOST_SUMS = "sums of queries", 32
"""Name of the pool in the graph's memo, and its maximum number of sums."""


class PatternCounter(Protocol):
    """Counts the patterns of queries: where, and how."""

    graph: Graph
    """The graph, or one of its direction and labels."""
    lister: Ran
    """Who lists rows that are counted one by one."""
    stops_at_limits: bool
    """Whether a search may stop once the limit of a query is passed by the count of one of its patterns."""

    def ends(self, request: Request) -> PossibleEnds:
        """Return who says which possible ends of optional edges there are."""

    def check(self, query: Pattern | Query, whole: Sum, request: Request) -> None:
        """Refuse a query whose sum cannot be counted.

        Raises
        ------
        ArgumentError
            Names the reason.
        """

    def counts(
        self, graph: Graph | None, patterns: Sequence[Pattern], request: Request, deadline: Deadline
    ) -> list[Count]:
        """Return the count of each pattern; of a graph that is another one than that of the call, or None."""

    def rows(self, shape: Shape, request: Request, deadline: Deadline, limit: int | None) -> tuple[int, bool]:
        """Return the number of rows of a shape, counted one by one, and whether it is exact."""


class LocalCounter:
    """Counts in a graph of this process."""

    lister = Ran("cpu", "cpu", "nothing was counted")
    stops_at_limits = False

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def ends(self, request: Request) -> PossibleEnds:
        """Return who says which possible ends of optional edges there are: numbers of each vertex."""
        return EndsAsAttributes(self.graph, request.threads)

    def check(self, query: Pattern | Query, whole: Sum, request: Request) -> None:
        """Accept all queries."""

    def counts(
        self, graph: Graph | None, patterns: Sequence[Pattern], request: Request, deadline: Deadline
    ) -> list[Count]:
        """Return the count of each pattern."""
        graph = graph or self.graph
        if len(patterns) == 1:
            again = count_again(graph, patterns[0], request, deadline)
            return [count_one(graph, patterns[0], request, deadline) if again is None else again]
        return count_each(graph, patterns, request, deadline, same=("objects", *map(id, patterns)))

    def rows(self, shape: Shape, request: Request, deadline: Deadline, limit: int | None) -> tuple[int, bool]:
        """Return the number of rows of a shape, and whether it is exact."""
        return count_rows(self.graph, shape, request, deadline, limit)


def count_queries(
    where: PatternCounter,
    queries: Sequence[Pattern | Query],
    request: Request,
    deadline: Deadline,
    *,
    named: bool,
) -> list[Count]:
    """Return the count of each query or pattern.

    Parameters
    ----------
    where
        Counts the patterns.
    named
        Whether errors name the position of the query.
    """
    sums = []
    for position, query in enumerate(queries):
        with naming_pattern(position if named else None):
            sums.append(_kept_sum(query, request, where))
            where.check(query, sums[-1], request)
    counter = _Counter(where, request, deadline)
    try:
        counter.count(sums)
    except KeyboardInterrupt as stop:
        counter.note(partial_result(stop))
        if counter.has_found:
            replace_partial(stop, [counter.put_together(one) for one in sums])
        raise
    return [counter.put_together(one) for one in sums]


def _kept_sum(query: Pattern | Query, request: Request, where: PatternCounter) -> Sum:
    """Return the counts whose sum is that of a query, kept with the graph for calls with the same text."""
    if isinstance(query, Pattern):
        return sum_of(query, request, where)
    graph = where.graph
    key = (query.text, request.semantics, request.symmetry, request.copies)
    found: Sum | None = graph.memo.recent(_POOL, key)
    if found is None:
        found = sum_of(query, request, where)
        graph.memo.store(_POOL, key, found, _MOST_SUMS)
    return found


_Key = tuple[int, Symmetry, int, Semantics | None]


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a sum of counts.

    Parameters
    ----------
    products
        Products of counts of patterns, and the factor of each.
    symmetry
        How the patterns are counted.
    divisor
        The number by which the sum of products is divided, exactly.
    """

    products: tuple[tuple[Product, int], ...]
    symmetry: Symmetry
    divisor: int = 1
    graph: Graph | None = None
    """The graph, if it is another one than that of the call."""
    listed: Shape | None = None
    """The shape whose rows are counted one by one."""
    semantics: Semantics | None = None
    """How the patterns are matched, if not as the call says."""


@dataclass(frozen=True, slots=True)
class Sum:
    """The terms whose sum is the count of a query."""

    terms: tuple[Term, ...]

    @property
    def counted(self) -> list[Counted]:
        """The patterns to count."""
        return [
            Counted(pattern, term.symmetry, term.graph, term.semantics)
            for term in self.terms
            for product, _ in term.products
            for pattern in product
        ]

    @property
    def adds_up(self) -> bool:
        """Whether no count is subtracted."""
        return all(factor > 0 for term in self.terms for _, factor in term.products)

    @property
    def searched(self) -> list[Counted]:
        """The patterns to count, and those whose rows are counted one by one."""
        listed = [
            Counted(part.pattern, Symmetry.EMBEDDINGS, None, term.semantics)
            for term in self.terms
            if term.listed is not None
            for case in term.listed.cases
            if case.without is not None
            for part in case.parts
        ]
        return [*self.counted, *listed]


@dataclass(frozen=True, slots=True)
class Counted:
    """A pattern, how it is counted, and the graph and semantics if they are not those of the call."""

    pattern: Pattern
    symmetry: Symmetry
    graph: Graph | None = None
    semantics: Semantics | None = None

    @property
    def key(self) -> _Key:
        """A key that is equal for the same objects; hashing a pattern takes longer than a short count."""
        return id(self.pattern), self.symmetry, id(self.graph), self.semantics

    def request(self, request: Request) -> Request:
        """Return the request of a call for this pattern."""
        return replace(request, symmetry=self.symmetry, semantics=self.semantics or request.semantics)


def sum_of(query: Pattern | Query, request: Request, where: PatternCounter) -> Sum:
    """Return the counts whose sum is that of a query.

    Raises
    ------
    PatternError, ArgumentError
        The query cannot be counted with these options.
    """
    if isinstance(query, Pattern):
        return Sum((_term_of(query, request.symmetry),))
    directed = where.graph.directed
    query, own = without_induced(query, request, directed=directed)
    shapes: Sequence[Shape] = query.shapes
    if request.symmetry is Symmetry.SUBGRAPHS:
        shapes = distinct_shapes(shapes, directed=directed)
    terms = (_term_of_shape(shape, own, where) for shape in shapes)
    return Sum(tuple(replace(term, semantics=own.semantics) for term in terms))


def _term_of_shape(shape: Shape, request: Request, where: PatternCounter) -> Term:
    """Return the counts whose sum is that of a shape."""
    if shape.is_pattern:
        return _term_of(shape.cases[0].pattern, request.symmetry)
    check_symmetry_of(shape, request)
    check_copies(shape, request)
    divisor = 1
    if request.symmetry is Symmetry.SUBGRAPHS:
        divisor = automorphisms_of(shape.skeleton, directed=where.graph.directed).order
    if shape.compares_parts:
        check_apart(shape, request)
    if (request.copies and shape.has_negated_apart) or shape.compares_parts:
        return Term((), Symmetry.EMBEDDINGS, divisor, listed=shape)
    if shape.absent:
        without = counts_without(shape, request, where.ends(request))
        if without is None:
            return Term((), Symmetry.EMBEDDINGS, divisor, listed=shape)
        return Term(without.products, Symmetry.EMBEDDINGS, divisor, without.graph)
    products: list[tuple[Product, int]] = []
    for case in shape.cases:
        parts = [part.pattern for part in case.parts]
        if len(parts) == 1:
            products.append(((parts[0],), case.factor))
            continue
        check_apart(shape, request)
        if request.semantics is Semantics.HOMOMORPHISM:
            products.append((tuple(parts), case.factor))
        else:
            glued = products_of(parts, every_edge=request.copies)
            products += [(product, factor * case.factor) for product, factor in glued.items()]
    return Term(tuple(products), Symmetry.EMBEDDINGS, divisor)


def _term_of(pattern: Pattern, symmetry: Symmetry) -> Term:
    return Term((((pattern,), 1),), symmetry)


def _equal_parts(request: Request, number: int) -> Iterator[ProgressCallback | None]:
    """Yield a callback for each of some calls, which are taken to be equal parts of the work.

    Each stores what it is told apart from the others: their numbers are of other patterns.
    """
    for part in of_equal_parts(request.progress, number):
        stores = number > 1 and isinstance(request.progress, FoundSoFar)
        yield FoundSoFar(part) if stores and part is not None else part


class _Counter:
    """Counts patterns, each once, and puts the counts of queries together."""

    def __init__(self, where: PatternCounter, request: Request, deadline: Deadline) -> None:
        self._where = where
        self._request = request
        self._deadline = deadline
        self._counting: list[Counted] = []
        self._found: dict[_Key, Count] = {}
        self._rows: dict[int, tuple[int, bool]] = {}

    def count(self, sums: Sequence[Sum]) -> None:
        """Count patterns, all of a graph in one call, and then the rows that are counted one by one."""
        groups: dict[tuple[Symmetry, int, Semantics], list[Counted]] = {}
        for one in {one.key: one for whole in sums for one in whole.counted}.values():
            semantics = one.semantics or self._request.semantics
            groups.setdefault((one.symmetry, id(one.graph), semantics), []).append(one)
        limits = self._limits(sums)
        for group, report in zip(groups.values(), _equal_parts(self._request, len(groups)), strict=True):
            self._counting = group
            own = [limits.get(one.key) for one in group]
            limit = None if None in own else max(one for one in own if one is not None)
            request = replace(group[0].request(self._request), limit=limit, progress=report)
            chosen = [one.pattern for one in group]
            self.note(self._where.counts(group[0].graph, chosen, request, self._deadline))
        for term in (term for whole in sums for term in whole.terms):
            if term.listed is not None:
                limit = None if self._request.limit is None else self._request.limit * term.divisor
                request = replace(self._request, semantics=term.semantics or self._request.semantics)
                self._rows[id(term)] = self._where.rows(term.listed, request, self._deadline, limit)

    def _limits(self, sums: Sequence[Sum]) -> dict[_Key, int]:
        """Return counts of patterns, by their keys, that each pass the limits of all sums alone.

        Other patterns are counted to the end: those of products, and beside counts that are subtracted.
        """
        found: dict[_Key, int] = {}
        if self._request.limit is None or not self._where.stops_at_limits:
            return found
        whole: set[_Key] = set()
        for one in sums:
            for term in one.terms:
                for product, _ in term.products:
                    keys = {Counted(each, term.symmetry, term.graph, term.semantics).key for each in product}
                    if len(product) > 1 or not one.adds_up:
                        whole |= keys
                    for key in keys:
                        limit = self._request.limit * term.divisor + 1
                        found[key] = max(found.get(key, 0), limit)
        return {key: limit for key, limit in found.items() if key not in whole}

    def note(self, counts: Sequence[Count] | None) -> None:
        """Keep the counts of the patterns that were counted last."""
        if counts is not None:
            self._found |= {one.key: count for one, count in zip(self._counting, counts, strict=True)}

    @property
    def has_found(self) -> bool:
        """Whether a count is known, or a lower bound of one."""
        return bool(self._found or self._rows)

    def put_together(self, one: Sum) -> Count:
        """Return the count of a query; of an interrupted call, a lower bound."""
        total, complete = 0, True
        for term in one.terms:
            value, whole = self._value(term)
            total, complete = total + value, complete and whole
        limit = self._request.limit
        if limit is not None and total > limit:
            total, complete = limit, False
        counts = [found for key in one.counted if (found := self._found.get(key.key)) is not None]
        first = max(counts, key=lambda count: count.seconds, default=None)
        plan_seconds = sum(count.plan_seconds for count in counts)
        lister = self._where.lister
        return Count(
            total,
            complete=complete,
            seconds=max(0.0, self._deadline.elapsed() - plan_seconds),
            plan_seconds=plan_seconds,
            engine=lister.engine if first is None else first.engine,
            device=lister.device if first is None else first.device,
            reason=lister.why if first is None else first.reason,
        )

    def _value(self, term: Term) -> tuple[int, bool]:
        """Return the value of a term, and whether it is exact; else it is a lower bound."""
        if term.listed is not None:
            rows, whole = self._rows.get(id(term), (0, False))
            return rows // term.divisor, whole
        value, complete = 0, True
        for product, factor in term.products:
            counts = [
                self._found.get(Counted(one, term.symmetry, term.graph, term.semantics).key)
                for one in product
            ]
            known = [count for count in counts if count is not None]
            complete = complete and len(known) == len(counts) and all(count.complete for count in known)
            value += factor * (prod(map(int, known)) if len(known) == len(counts) else 0)
        if not complete and any(factor < 0 for _, factor in term.products):
            value = 0  # what is subtracted may be missing
        return value // term.divisor, complete
