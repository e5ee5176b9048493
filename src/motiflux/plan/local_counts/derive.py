"""Finds the formula that counts a pattern at the least cost.

With roots C, let F(P; C) be the number of embeddings of P for each image of C.

* If P without C falls apart into K1 and K2, F(P; C) is the product F(C + K1; C) F(C + K2; C) minus the pairs
  that share data vertices: a sum over the ways to merge vertices of K1 with vertices of K2 (DwarvesGraph,
  arXiv 2020).
* If K is joined to only one of two roots, F is the table of this root, minus the embeddings in which K takes
  the image of the other root.
* F(P; a) is the sum of F(P; a, b) over the neighbours b of a.
* If the root c lies on a 4-cycle c, b, a, d and c and d have no other neighbours, the table of the rest at b
  and a weights the 4-cycles at c.
* If vertices lie between two others, a histogram of wedges counts them.
* Every pattern can be counted by a search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from motiflux.plan.ir import (
    EndLookup,
    Joined,
    Ones,
    Searched,
    Table,
    Triangles,
    WeightedCycles,
    parts_of,
)
from motiflux.plan.local_counts.costs import MOST_KNOWN, Costs, CostSum, Found, seconds_of
from motiflux.plan.local_counts.family import Family, Undecided, matchings, partitions
from motiflux.plan.local_counts.walks import Spine, WalkPlan, spines
from motiflux.plan.local_counts.wedges import is_uniform, wedges_of
from motiflux.plan.rooted import Rooted

MOST_VERTICES = 8
_MOST_PATTERNS = 2000
"""Rooted patterns examined for one count."""
_MIN_SECONDS_FOR_WALKS, _MIN_SECONDS_FOR_SEARCH, _MIN_SECONDS_FOR_ORDER = 1e-3, 2e-3, 2e-2
"""A method is tried only if the cheapest table found so far takes more seconds: trying takes time too."""
_MOST_SPINES = 2
"""Spines tried for the walks of one pattern."""

_Method = Callable[[Rooted, float], Found | None]
"""A method to find a table of a pattern that takes fewer than the given seconds; None if it finds none."""


class Derivation:
    """Finds formulas for the parts and quotients of one pattern.

    Parameters
    ----------
    planning_seconds
        Time limit, compared with `elapsed`.
    max_seconds
        A formula or table that takes this time or longer is not used.
    known
        The cheapest tables at these costs, found for other patterns. Patterns examined completely are added.
    elapsed
        Returns the seconds since planning began.
    """

    def __init__(
        self,
        family: Family,
        costs: Costs,
        planning_seconds: float,
        max_seconds: float,
        known: dict[Rooted, Found],
        elapsed: Callable[[], float],
    ) -> None:
        self._family = family
        self._costs = costs
        self._max_seconds = max_seconds
        self._known = known
        self._is_exhaustive = True
        """Whether no table was left out so far: only then is a found table the cheapest of all."""
        self._planning_seconds = planning_seconds
        self._elapsed = elapsed
        self._best: dict[Rooted, Found | None] = {}
        self._open: set[Rooted] = set()

    def table(self, pattern: Rooted) -> tuple[Table, float]:
        """Return the cheapest table of F(pattern), and its seconds.

        Raises
        ------
        Undecided
            There is none, or too many patterns would have to be examined.
        """
        table, parts = self._find(pattern)
        return table, sum(parts.values())

    @property
    def _is_late(self) -> bool:
        """Whether half of the time has passed; from then on, the first table found is taken."""
        return self._elapsed() > self._planning_seconds / 2

    def _check_time(self) -> None:
        if self._elapsed() > self._planning_seconds:
            raise Undecided("no time left")

    def _find(self, pattern: Rooted) -> Found:
        """Return a table, and the seconds of each table from which it is computed, itself included."""
        pattern = self._family.canonical(pattern)
        if pattern in self._best:
            best = self._best[pattern]
            if best is None:
                self._is_exhaustive &= pattern not in self._open
                raise Undecided("a pattern that no formula counts")
            return best
        known = self._known.get(pattern)
        if known is not None and seconds_of(known) < self._max_seconds:
            self._best[pattern] = known
            return known
        if len(self._best) >= _MOST_PATTERNS:
            self._is_exhaustive = False
            raise Undecided("too many patterns")
        self._check_time()
        if pattern.roots == 2 and sum({u, v} == {0, 1} for u, v, _ in pattern.edges) != 1:
            raise Undecided("several query edges between the roots")
        self._best[pattern] = None  # while it is examined: no formula may need itself
        self._open.add(pattern)
        found = self._cheapest(pattern)
        self._open.discard(pattern)
        if found is None:
            raise Undecided("a pattern that no formula counts")
        self._best[pattern] = found
        if self._is_exhaustive and not self._is_late and len(self._known) < MOST_KNOWN:
            self._known[pattern] = found
        return found

    def _cheapest(self, pattern: Rooted) -> Found | None:
        methods: tuple[tuple[_Method, float], ...] = (
            (self._trivial, 0.0),
            (self._triangles, 0.0),
            (self._by_wedges, 0.0),
            (self._joined, 0.0),
            (self._by_weighted_cycles, _MIN_SECONDS_FOR_WALKS),
            (self._by_walks, _MIN_SECONDS_FOR_WALKS),
            (self._by_search, _MIN_SECONDS_FOR_SEARCH),
            (self._by_order, _MIN_SECONDS_FOR_ORDER),
        )
        best, max_seconds = None, self._max_seconds
        for method, least in methods:
            if best is not None and (max_seconds < least or self._is_late):
                break
            try:
                found = method(pattern, max_seconds)
            except Undecided:
                continue
            if found is not None and (seconds := seconds_of(found)) < max_seconds:
                best, max_seconds = found, seconds
        return best

    def _trivial(self, pattern: Rooted, max_seconds: float) -> Found | None:
        if len(pattern.vertices) > pattern.roots:
            return None
        table = Ones(pattern)
        return table, {table: self._costs.table(pattern.roots)}

    def _joined(self, pattern: Rooted, max_seconds: float) -> Found | None:
        """Split the pattern at its roots, or at one or two further roots, and sum over the latter."""
        best = None
        for rooted in self._family.with_more_roots(pattern):
            if best is not None and self._is_late:
                break
            try:
                found = self._split(pattern, rooted, max_seconds)
            except Undecided:
                continue
            if found is not None:
                best, max_seconds = found, seconds_of(found)
        return best

    def _split(self, pattern: Rooted, rooted: Rooted, max_seconds: float) -> Found | None:
        """Return F(pattern) as a sum over the further roots of `rooted`."""
        parts = rooted.components()
        overlaps: Iterable[Rooted | None]
        cost = CostSum(max_seconds)
        factors: list[Table] = []
        if len(parts) > 1:
            cost.add_passes(2 * self._costs.table(rooted.roots))
            ours, theirs = parts[0], sorted(chain.from_iterable(parts[1:]))
            roots = list(range(rooted.roots))
            for part in (ours, theirs):
                table, made_of = self._find(rooted.induced([*roots, *part], rooted.roots))
                cost.add_tables(made_of)
                factors.append(table)
            overlaps = (self._family.merged(rooted, pairs) for pairs in matchings(ours, theirs))
        elif len(parts) == 1 and rooted.roots == 2 and (end := _only_end(rooted)) is not None:
            cost.add_passes(self._costs.table(rooted.roots))
            table, made_of = self._find(
                self._family.renumbered(rooted.induced([end, *parts[0]], 1), range(1 + len(parts[0])), 1)
            )
            lookup = EndLookup(rooted, end, table)
            cost.add_tables({**made_of, lookup: self._costs.arcs})
            factors.append(lookup)
            overlaps = [self._family.merged(rooted, [(1 - end, vertex)]) for vertex in parts[0]]
            if pattern.roots == 2 and any(
                one is not None and one.vertices[:2] != pattern.vertices[:2] for one in overlaps
            ):
                raise Undecided("a root with more requirements: its table has fewer arcs")
        elif rooted is not pattern:
            cost.add_passes(self._costs.table(rooted.roots))
            table, made_of = self._find(rooted)
            cost.add_tables(made_of)
            factors.append(table)
            overlaps = []
        else:
            return None
        if not self._family.injective:
            overlaps = []
        # The subtracted tables need no more roots than the pattern has.
        minus = self._subtracted(overlaps, pattern.roots, cost)
        return cost.found(Joined(pattern, tuple(factors), minus))

    def _triangles(self, pattern: Rooted, max_seconds: float) -> Found | None:
        if pattern.roots != 2 or len(pattern.vertices) != 3 or not is_uniform(pattern, self._family):
            return None
        if len(pattern.edges) != 3:
            return None
        table = Triangles(pattern)
        return table, {table: self._costs.triangles(pattern)}

    def _by_wedges(self, pattern: Rooted, max_seconds: float) -> Found | None:
        if pattern.below or not self._family.injective:
            return None
        found = wedges_of(pattern, self._family)
        if found is None:
            return None
        wedges, kinds = found
        cost = CostSum(max_seconds)
        cost.add_tables({wedges: self._costs.wedges(wedges)})
        if len(kinds) == 1:
            return wedges, cost.parts
        merged = (self._family.merged(pattern, pairs) for pairs in matchings(*kinds))
        minus = self._subtracted(merged, pattern.roots, cost)
        return cost.found(Joined(pattern, (wedges,), minus))

    def _by_weighted_cycles(self, pattern: Rooted, max_seconds: float) -> Found | None:
        """Count the rest at the edge of a 4-cycle that lies opposite the root, for each such cycle."""
        if (
            pattern.roots != 1
            or pattern.below
            or not self._family.injective
            or self._costs.weighted_cycles is None
        ):
            return None
        best = None
        for d in sorted(pattern.neighbors(0)):
            try:
                found = self._along_cycle(pattern, d, max_seconds)
            except Undecided:
                continue
            if found is not None:
                best, max_seconds = found, seconds_of(found)
        return best

    def _along_cycle(self, pattern: Rooted, d: int, max_seconds: float) -> Found | None:
        """Count by cycles c, b, a, d, where c is the root, and only b and a have further neighbours."""
        others, far = pattern.neighbors(0) - {d}, pattern.neighbors(d) - {0}
        if len(others) != 1 or len(far) != 1 or others == far:
            return None
        b, a = min(others), min(far)
        rest = [v for v in range(len(pattern.vertices)) if v not in (0, a, b, d)]
        cycle = pattern.induced([0, b, a, d], 0)
        if not rest or len(cycle.edges) != 4 or not is_uniform(cycle, self._family):
            return None
        histogram = wedges_of(cycle, self._family)
        if histogram is None or self._costs.weighted_cycles is None:
            return None
        cost = CostSum(max_seconds)
        weights, parts = self._find(
            self._family.renumbered(pattern.induced([b, a, *rest], 2), range(2 + len(rest)), 2)
        )
        cost.add_tables(parts)
        cycles = WeightedCycles(pattern, (0, b), weights)
        cost.add_tables({cycles: self._costs.weighted_cycles(histogram[0])})
        overlaps = (
            self._family.merged(pattern, [pair for pair in ((0, root), (d, other)) if pair[1] >= 0])
            for root in (-1, *rest)
            for other in (-1, *rest)
            if (root != other) and (root, other) != (-1, -1)
        )
        cost.add_passes(self._costs.table(1))
        return cost.found(Joined(pattern, (cycles,), self._subtracted(overlaps, 1, cost)))

    def _by_walks(self, pattern: Rooted, max_seconds: float) -> Found | None:
        """Count by walks from the images of the first vertex."""
        if pattern.fixed == 0 or len(pattern.vertices) < 3:
            return None
        best = None
        for spine in islice(spines(pattern), _MOST_SPINES):
            if best is not None and self._is_late:
                break
            try:
                found = self._walks_along(pattern, spine, max_seconds)
            except Undecided:
                continue
            best, max_seconds = found, seconds_of(found)
        return best

    def _walks_along(self, pattern: Rooted, spine: Spine, max_seconds: float) -> Found:
        cost = CostSum(max_seconds)

        def table(branch: Rooted) -> Table:
            found, parts = self._find(branch)
            cost.add_tables(parts)
            return found

        walks = WalkPlan(pattern, self._family, spine, table).walks()
        assert cost.parts.keys() >= set(parts_of(walks))
        cost.add_tables({walks: self._costs.walks(walks)})
        minus: tuple[tuple[int, Table], ...] = ()
        if self._family.injective:
            differing = spine.differing_pairs(pattern, apart=True)
            minus = self._subtracted(self._overlaps(pattern, differing), pattern.roots, cost)
        return cost.found(Joined(pattern, (walks,), minus)) if minus else (walks, cost.parts)

    def _overlaps(self, pattern: Rooted, differing: frozenset[tuple[int, int]]) -> Iterator[Rooted | None]:
        for pairs in partitions(len(pattern.vertices), differing):
            self._check_time()
            one = self._family.merged(pattern, pairs)
            if one is not None and pattern.roots == 2 and one.vertices[:2] != pattern.vertices[:2]:
                raise Undecided("a root with more requirements: its table has fewer arcs")
            yield one

    def _by_order(self, pattern: Rooted, max_seconds: float) -> Found | None:
        """Let one of several exchangeable vertices have the greatest image, so that hubs are reached last."""
        if pattern.fixed or not self._family.injective:
            return None
        alike: dict[Rooted, list[int]] = {}
        for vertex in range(len(pattern.vertices)):
            rooted = self._family.canonical(self._family.with_root(pattern, vertex))
            alike.setdefault(rooted, []).append(vertex)
        best = None
        for members in alike.values():
            if len(members) == 1 or (best is not None and self._is_late):
                continue
            first, *others = members
            order = [first, *(v for v in range(len(pattern.vertices)) if v != first)]
            turned = self._family.renumbered(pattern, order, 0)
            below = frozenset(order.index(v) for v in others)
            try:
                table, made_of = self._find(replace(turned, below=below))
            except Undecided:
                continue
            if isinstance(table, Searched):
                continue  # no better than a search for the pattern itself
            if (seconds := sum(made_of.values())) < max_seconds:
                whole = Joined(pattern, (table,), (), len(members))
                best, max_seconds = (whole, {**made_of, whole: 0.0}), seconds
        return best

    def _subtracted(
        self, merged: Iterable[Rooted | None], roots: int, cost: CostSum
    ) -> tuple[tuple[int, Table], ...]:
        """Return the tables of the merged patterns, with `roots` roots, and the coefficient of each."""
        minus = Counter(
            self._family.canonical(one if one.roots == roots else replace(one, roots=roots))
            for one in merged
            if one is not None
        )
        cost.add_passes(len(minus) * self._costs.table(roots))
        subtracted: list[tuple[int, Table]] = []
        for one, times in minus.items():
            table, made_of = self._find(one)
            cost.add_tables(made_of)
            subtracted.append((times, table))
        return tuple(subtracted)

    def _by_search(self, pattern: Rooted, max_seconds: float) -> Found | None:
        found = self._costs.search(pattern)
        if found is None:
            return None
        table = Searched(pattern, found[0])
        return table, {table: found[1]}


def _only_end(pattern: Rooted) -> int | None:
    """Return the root that all other vertices are joined to, of two; None if there is none."""
    for end in (0, 1):
        if pattern.neighbors(1 - end) == {end}:
            return end
    return None
