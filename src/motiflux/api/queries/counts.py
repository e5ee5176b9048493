"""Counts of queries: the counts of their patterns, all found in one call, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from motiflux.api.pattern_list import count_each, count_one, naming_pattern
from motiflux.api.queries.checks import check_apart, check_copies, check_symmetry_of
from motiflux.api.queries.induced import without_induced
from motiflux.api.queries.rows import count_rows
from motiflux.api.queries.without import counts_without
from motiflux.dispatch.prepared_query import count_again
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query
from motiflux.pattern.queries.gluing import Product, products_of
from motiflux.pattern.queries.shapes import Shape
from motiflux.pattern.queries.symmetry import automorphisms_of, distinct_shapes
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request
from motiflux.result.count import Count
from motiflux.result.partial import partial_result, replace_partial
from motiflux.types import Semantics, Symmetry

_POOL, _MOST_SUMS = "sums of queries", 32
"""Name of the pool in the graph's memo, and its maximum number of sums."""


def count_queries(
    graph: Graph,
    queries: Sequence[Pattern | Query],
    request: Request,
    deadline: Deadline,
    *,
    named: bool,
) -> list[Count]:
    """Return the count of each query or pattern.

    Parameters
    ----------
    named
        Whether errors name the position of the query.
    """
    sums = []
    for position, query in enumerate(queries):
        with naming_pattern(position if named else None):
            sums.append(_kept_sum(query, request, graph))
    counter = _Counter(graph, request, deadline)
    try:
        counter.count(
            [counted for one in sums for counted in one.counted], [t for one in sums for t in one.terms]
        )
    except KeyboardInterrupt as stop:
        counter.note(partial_result(stop))
        replace_partial(stop, [counter.put_together(one) for one in sums])
        raise
    return [counter.put_together(one) for one in sums]


def _kept_sum(query: Pattern | Query, request: Request, graph: Graph) -> Sum:
    """Return the counts whose sum is that of a query, kept with the graph for calls with the same text."""
    if isinstance(query, Pattern):
        return sum_of(query, request, graph)
    key = (query.text, request.semantics, request.symmetry, request.copies)
    found: Sum | None = graph.memo.recent(_POOL, key)
    if found is None:
        found = sum_of(query, request, graph)
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


def sum_of(query: Pattern | Query, request: Request, graph: Graph) -> Sum:
    """Return the counts whose sum is that of a query.

    Raises
    ------
    PatternError, ArgumentError
        The query cannot be counted with these options.
    """
    if isinstance(query, Pattern):
        return Sum((_term_of(query, request.symmetry),))
    query, own = without_induced(query, request, directed=graph.directed)
    shapes: Sequence[Shape] = query.shapes
    if request.symmetry is Symmetry.SUBGRAPHS:
        shapes = distinct_shapes(shapes, directed=graph.directed)
    terms = (_term_of_shape(shape, own, graph) for shape in shapes)
    return Sum(tuple(replace(term, semantics=own.semantics) for term in terms))


def _term_of_shape(shape: Shape, request: Request, graph: Graph) -> Term:
    """Return the counts whose sum is that of a shape."""
    if shape.is_pattern:
        return _term_of(shape.cases[0].pattern, request.symmetry)
    check_symmetry_of(shape, request)
    check_copies(shape, request)
    divisor = 1
    if request.symmetry is Symmetry.SUBGRAPHS:
        divisor = automorphisms_of(shape.skeleton, directed=graph.directed).order
    if shape.compares_parts:
        check_apart(shape, request)
    if (request.copies and shape.has_negated_apart) or shape.compares_parts:
        return Term((), Symmetry.EMBEDDINGS, divisor, listed=shape)
    if shape.absent:
        without = counts_without(shape, request, graph)
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


class _Counter:
    """Counts patterns, each once, and puts the counts of queries together."""

    def __init__(self, graph: Graph, request: Request, deadline: Deadline) -> None:
        self._graph = graph
        self._request = request
        self._deadline = deadline
        self._counting: list[Counted] = []
        self._found: dict[_Key, Count] = {}
        self._rows: dict[int, tuple[int, bool]] = {}

    def count(self, counted: Sequence[Counted], terms: Sequence[Term]) -> None:
        """Count patterns, all of a graph in one call, and then the rows that are counted one by one."""
        groups: dict[tuple[Symmetry, int, Semantics | None], list[Counted]] = {}
        for one in {one.key: one for one in counted}.values():
            groups.setdefault(one.key[1:], []).append(one)
        for group in groups.values():
            self._counting = group
            request = replace(group[0].request(self._request), limit=None)
            graph = group[0].graph or self._graph
            chosen = [one.pattern for one in group]
            if len(chosen) == 1:
                again = count_again(graph, chosen[0], request, self._deadline)
                counts = [count_one(graph, chosen[0], request, self._deadline) if again is None else again]
            else:
                same = ("objects", *map(id, chosen))
                counts = count_each(graph, chosen, request, self._deadline, same=same)
            self.note(counts)
        for term in terms:
            if term.listed is not None:
                limit = None if self._request.limit is None else self._request.limit * term.divisor
                request = replace(self._request, semantics=term.semantics or self._request.semantics)
                self._rows[id(term)] = count_rows(self._graph, term.listed, request, self._deadline, limit)

    def note(self, counts: Sequence[Count] | None) -> None:
        """Keep the counts of the patterns that were counted last."""
        if counts is not None:
            self._found |= {one.key: count for one, count in zip(self._counting, counts, strict=True)}

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
        return Count(
            total,
            complete=complete,
            seconds=max(0.0, self._deadline.elapsed() - plan_seconds),
            plan_seconds=plan_seconds,
            engine="cpu" if first is None else first.engine,
            device="cpu" if first is None else first.device,
            reason="nothing was counted" if first is None else first.reason,
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
