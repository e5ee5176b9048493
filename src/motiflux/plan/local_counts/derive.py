"""Which formula counts a pattern at the least cost.

With roots C, let F(P; C) be the number of embeddings of P for each image of C.

* Where P without C falls apart into K1 and K2, F(P; C) = F(C + K1; C) F(C + K2; C), less the pairs that
  meet: a sum over the ways to merge vertices of K1 with vertices of K2 (DwarvesGraph, arXiv 2020).
* Where K hangs on one of two roots only, F is that of the one root, less where K meets the other.
* F(P; a) is the sum of F(P; a, b) over the neighbours b of a.
* Where vertices lie between two others, a histogram of wedges counts them.
* And everything can be searched for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice

from motiflux.plan.ir import (
    Joined,
    Middles,
    OfEnd,
    Ones,
    Plan,
    Searched,
    Table,
    Triangles,
    Walks,
    Wedges,
    parts_of,
)
from motiflux.plan.local_counts.family import Family, Undecided, matchings, partitions
from motiflux.plan.local_counts.walks import Spine, WalkPlan, spines
from motiflux.plan.rooted import Rooted

MOST_VERTICES = 8
_MOST_PATTERNS = 2000
"""Rooted patterns looked at for one count."""
_MOST_KNOWN = 3_000
"""Rooted patterns that are remembered of one family, and about so many with a graph."""
_BYTES = 5_000
"""Of one that is remembered, about."""
_MOST_KINDS = 2
"""Kinds of middles of wedges."""
_WORTH_WALKS, _WORTH_A_SEARCH, _WORTH_AN_ORDER = 1e-3, 2e-3, 2e-2
"""Seconds that the cheapest way known must take before others are looked at, which takes time as well."""
_MOST_SPINES = 2
"""Spines that are looked at for walks of one pattern."""


Found = tuple[Table, dict[Table, float]]
"""A table, and the seconds of each table that it is made of, itself included."""
ROOM_OF_KNOWN = _MOST_KNOWN * _BYTES


class Known(dict[Rooted, Found]):
    """The cheapest ways to patterns of one family at the same costs."""

    @property
    def nbytes(self) -> int:
        """Bytes held, about."""
        return _BYTES * (1 + len(self))


_Way = Callable[[Rooted, float], Found | None]
"""A way to a pattern that takes less than so many seconds; None if there is none."""


class _TooDear(Undecided):
    """What is looked at takes no less than what is known already."""


class _Sum:
    """What tables take together, those that they are made of once each: less than `most`, or it is no use."""

    def __init__(self, most: float, passes: float = 0.0) -> None:
        self.parts: dict[Table, float] = {}
        self.passes = 0.0
        self._seconds = 0.0
        self._most = most
        self.pass_over(passes)

    def pass_over(self, seconds: float) -> None:
        """Add what the passes over the tables take."""
        self.passes += seconds
        self._add(seconds)

    def need(self, parts: dict[Table, float]) -> None:
        """Add tables."""
        fresh = {table: seconds for table, seconds in parts.items() if table not in self.parts}
        self.parts |= fresh
        self._add(sum(fresh.values()))

    def _add(self, seconds: float) -> None:
        self._seconds += seconds
        if self._seconds >= self._most:
            raise _TooDear

    def whole(self, table: Table) -> Found:
        """Return a table that takes the passes, and needs these tables."""
        return table, {**self.parts, table: self.passes}


@dataclass(frozen=True, slots=True)
class Costs:
    """What the operations on tables take, in seconds.

    Parameters
    ----------
    vertices, arcs
        Of a pass over a table of that many roots.
    search
        Returns the plan and the time of a search from every image of a pattern's roots.
    triangles
        Returns the time of counting the triangles of all arcs.
    wedges
        Returns the time of a histogram of wedges.
    walks
        Returns the time of walks from all vertices, once the tables are there that they are weighed by.
    """

    vertices: float
    arcs: float
    search: Callable[[Rooted], tuple[Plan, float] | None]
    triangles: Callable[[Rooted], float]
    wedges: Callable[[Wedges], float]
    walks: Callable[[Walks], float]

    def table(self, roots: int) -> float:
        """Return the time of a pass over a table."""
        return (0.0, self.vertices, self.arcs)[roots]


class Derivation:
    """Finds formulas for the parts and quotients of one pattern.

    Parameters
    ----------
    seconds
        When to give up, by `elapsed`.
    most
        Seconds from which on no formula is of use, nor any table.
    known
        What the same costs made the cheapest for other patterns' sake. What is looked at to the end is added.
    elapsed
        Tells the seconds since the look began.
    """

    def __init__(
        self,
        family: Family,
        costs: Costs,
        seconds: float,
        most: float,
        known: dict[Rooted, Found],
        elapsed: Callable[[], float],
    ) -> None:
        self._family = family
        self._costs = costs
        self._most = most
        self._known = known
        self._whole = True
        """Whether nothing was left out so far: only then is what is found the cheapest there is."""
        self._seconds = seconds
        self._elapsed = elapsed
        self._best: dict[Rooted, Found | None] = {}
        self._open: set[Rooted] = set()

    def table(self, pattern: Rooted) -> tuple[Table, float]:
        """Return the cheapest way to F(pattern) and the seconds it takes.

        Raises
        ------
        Undecided
            There is none, or too many patterns would have to be looked at.
        """
        table, parts = self._find(pattern)
        return table, sum(parts.values())

    @property
    def _in_haste(self) -> bool:
        """Whether half of the time is gone: from then on the first way that is found is taken."""
        return self._elapsed() > self._seconds / 2

    def _check_time(self) -> None:
        if self._elapsed() > self._seconds:
            raise Undecided("no time left")

    def _find(self, pattern: Rooted) -> Found:
        """Return a table, and the seconds of each table that it is made of, itself included."""
        pattern = self._family.canonical(pattern)
        if pattern in self._best:
            best = self._best[pattern]
            if best is None:
                self._whole &= pattern not in self._open
                raise Undecided("a pattern that no formula counts")
            return best
        known = self._known.get(pattern)
        if known is not None and _seconds(known) < self._most:
            self._best[pattern] = known
            return known
        if len(self._best) >= _MOST_PATTERNS:
            self._whole = False
            raise Undecided("too many patterns")
        self._check_time()
        if pattern.roots == 2 and sum({u, v} == {0, 1} for u, v, _ in pattern.edges) != 1:
            raise Undecided("several query edges between the roots")
        self._best[pattern] = None  # while it is looked at: no formula may need itself
        self._open.add(pattern)
        found = self._cheapest(pattern)
        self._open.discard(pattern)
        if found is None:
            raise Undecided("a pattern that no formula counts")
        self._best[pattern] = found
        if self._whole and not self._in_haste and len(self._known) < _MOST_KNOWN:
            self._known[pattern] = found
        return found

    def _cheapest(self, pattern: Rooted) -> Found | None:
        ways: tuple[tuple[_Way, float], ...] = (
            (self._trivial, 0.0),
            (self._triangles, 0.0),
            (self._by_wedges, 0.0),
            (self._joined, 0.0),
            (self._by_walks, _WORTH_WALKS),
            (self._by_search, _WORTH_A_SEARCH),
            (self._by_order, _WORTH_AN_ORDER),
        )
        best, most = None, self._most
        for way, worth in ways:
            if best is not None and (most < worth or self._in_haste):
                break
            try:
                found = way(pattern, most)
            except Undecided:
                continue
            if found is not None and (seconds := _seconds(found)) < most:
                best, most = found, seconds
        return best

    def _trivial(self, pattern: Rooted, most: float) -> Found | None:
        if len(pattern.vertices) > pattern.roots:
            return None
        table = Ones(pattern)
        return table, {table: self._costs.table(pattern.roots)}

    def _joined(self, pattern: Rooted, most: float) -> Found | None:
        """Take apart at the roots, or at one or two roots more, and sum over these."""
        best = None
        for rooted in self._with_roots(pattern):
            if best is not None and self._in_haste:
                break
            try:
                found = self._apart(pattern, rooted, most)
            except Undecided:
                continue
            if found is not None:
                best, most = found, _seconds(found)
        return best

    def _with_roots(self, pattern: Rooted) -> list[Rooted]:
        """Return the pattern with its roots and with more of them, each different choice once."""
        if pattern.below:
            return [pattern if pattern.roots else replace(pattern, roots=1)]
        options = [pattern] if pattern.roots else []
        frontier = [pattern]
        for _ in range(pattern.roots, 2):
            frontier = list(
                dict.fromkeys(
                    self._family.canonical(self._with_root(one, vertex))
                    for one in frontier
                    for vertex in _next_roots(one)
                )
            )
            options += frontier
        return options

    def _with_root(self, pattern: Rooted, vertex: int) -> Rooted:
        roots = range(pattern.roots)
        order = [*roots, vertex, *(v for v in range(pattern.roots, len(pattern.vertices)) if v != vertex)]
        return self._family.renumbered(pattern, order, pattern.roots + 1)

    def _apart(self, pattern: Rooted, rooted: Rooted, most: float) -> Found | None:
        """Return F(pattern) as a sum over the further roots of `rooted`."""
        parts = rooted.components()
        overlaps: Iterable[Rooted | None]
        needed = _Sum(most)
        factors: list[Table] = []
        if len(parts) > 1:
            needed.pass_over(2 * self._costs.table(rooted.roots))
            ours, theirs = parts[0], sorted(chain.from_iterable(parts[1:]))
            roots = list(range(rooted.roots))
            for part in (ours, theirs):
                table, made_of = self._find(rooted.part([*roots, *part], rooted.roots))
                needed.need(made_of)
                factors.append(table)
            overlaps = (self._family.merged(rooted, pairs) for pairs in matchings(ours, theirs))
        elif len(parts) == 1 and rooted.roots == 2 and (end := _only_end(rooted)) is not None:
            needed.pass_over(self._costs.table(rooted.roots))
            table, made_of = self._find(
                self._family.renumbered(rooted.part([end, *parts[0]], 1), range(1 + len(parts[0])), 1)
            )
            gathered = OfEnd(rooted, end, table)
            needed.need({**made_of, gathered: self._costs.arcs})
            factors.append(gathered)
            overlaps = [self._family.merged(rooted, [(1 - end, vertex)]) for vertex in parts[0]]
            if pattern.roots == 2 and any(
                one is not None and one.vertices[:2] != pattern.vertices[:2] for one in overlaps
            ):
                raise Undecided("a root that asks for more: its table has fewer arcs")
        elif rooted is not pattern:
            needed.pass_over(self._costs.table(rooted.roots))
            table, made_of = self._find(rooted)
            needed.need(made_of)
            factors.append(table)
            overlaps = []
        else:
            return None
        if not self._family.injective:
            overlaps = []
        # What is taken away needs no more roots than the pattern has.
        minus = self._lesser(overlaps, pattern.roots, needed)
        return needed.whole(Joined(pattern, tuple(factors), minus))

    def _triangles(self, pattern: Rooted, most: float) -> Found | None:
        if pattern.roots != 2 or len(pattern.vertices) != 3 or not is_uniform(pattern, self._family):
            return None
        if len(pattern.edges) != 3:
            return None
        table = Triangles(pattern)
        return table, {table: self._costs.triangles(pattern)}

    def _by_wedges(self, pattern: Rooted, most: float) -> Found | None:
        if pattern.below or not self._family.injective:
            return None
        found = wedges_of(pattern, self._family)
        if found is None:
            return None
        wedges, kinds = found
        needed = _Sum(most)
        needed.need({wedges: self._costs.wedges(wedges)})
        if len(kinds) == 1:
            return wedges, needed.parts
        merged = (self._family.merged(pattern, pairs) for pairs in matchings(*kinds))
        minus = self._lesser(merged, pattern.roots, needed)
        return needed.whole(Joined(pattern, (wedges,), minus))

    def _by_walks(self, pattern: Rooted, most: float) -> Found | None:
        """Walk from the images of the first vertex, one after another."""
        if pattern.fixed == 0 or len(pattern.vertices) < 3:
            return None
        best = None
        for spine in islice(spines(pattern), _MOST_SPINES):
            if best is not None and self._in_haste:
                break
            try:
                found = self._along(pattern, spine, most)
            except Undecided:
                continue
            best, most = found, _seconds(found)
        return best

    def _along(self, pattern: Rooted, spine: Spine, most: float) -> Found:
        needed = _Sum(most)

        def table(hung: Rooted) -> Table:
            found, parts = self._find(hung)
            needed.need(parts)
            return found

        walks = WalkPlan(pattern, self._family, spine, table).walks()
        assert needed.parts.keys() >= set(parts_of(walks))
        needed.need({walks: self._costs.walks(walks)})
        minus: tuple[tuple[int, Table], ...] = ()
        if self._family.injective:
            met = spine.met(pattern, apart=True)
            minus = self._lesser(self._overlaps(pattern, met), pattern.roots, needed)
        return needed.whole(Joined(pattern, (walks,), minus)) if minus else (walks, needed.parts)

    def _overlaps(self, pattern: Rooted, met: frozenset[tuple[int, int]]) -> Iterator[Rooted | None]:
        for pairs in partitions(len(pattern.vertices), met):
            self._check_time()
            one = self._family.merged(pattern, pairs)
            if one is not None and pattern.roots == 2 and one.vertices[:2] != pattern.vertices[:2]:
                raise Undecided("a root that asks for more: its table has fewer arcs")
            yield one

    def _by_order(self, pattern: Rooted, most: float) -> Found | None:
        """Of vertices that can be exchanged let one be the greatest: hubs are touched from the light side."""
        if pattern.fixed or not self._family.injective:
            return None
        alike: dict[Rooted, list[int]] = {}
        for vertex in range(len(pattern.vertices)):
            rooted = self._family.canonical(self._with_root(pattern, vertex))
            alike.setdefault(rooted, []).append(vertex)
        best = None
        for members in alike.values():
            if len(members) == 1 or (best is not None and self._in_haste):
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
            if (seconds := sum(made_of.values())) < most:
                whole = Joined(pattern, (table,), (), len(members))
                best, most = (whole, {**made_of, whole: 0.0}), seconds
        return best

    def _lesser(
        self, merged: Iterable[Rooted | None], roots: int, needed: _Sum
    ) -> tuple[tuple[int, Table], ...]:
        """Return how often each pattern that arose by merging is taken away, with so many roots."""
        minus = Counter(
            self._family.canonical(one if one.roots == roots else replace(one, roots=roots))
            for one in merged
            if one is not None
        )
        needed.pass_over(len(minus) * self._costs.table(roots))
        lesser: list[tuple[int, Table]] = []
        for one, times in minus.items():
            table, made_of = self._find(one)
            needed.need(made_of)
            lesser.append((times, table))
        return tuple(lesser)

    def _by_search(self, pattern: Rooted, most: float) -> Found | None:
        found = self._costs.search(pattern)
        if found is None:
            return None
        table = Searched(pattern, found[0])
        return table, {table: found[1]}


def _seconds(found: Found) -> float:
    return sum(found[1].values())


def _next_roots(pattern: Rooted) -> list[int]:
    """Return the vertices that may be one more root: any as the first, then those with one edge to it."""
    if pattern.roots == 0:
        return list(range(len(pattern.vertices)))
    edges = Counter(u + v for u, v, _ in pattern.edges if 0 in (u, v))
    return sorted(vertex for vertex, number in edges.items() if number == 1)


def _only_end(pattern: Rooted) -> int | None:
    """Return the one of two roots that all others hang on; None if there is none."""
    for end in (0, 1):
        if pattern.neighbors(1 - end) == {end}:
            return end
    return None


def is_uniform(pattern: Rooted, family: Family) -> bool:
    """Return whether all vertices are of one kind, and all edges of one that goes either way."""
    kinds = {kind for _, _, kind in pattern.edges}
    return len(set(pattern.vertices)) == len(kinds) == 1 and family.is_either(min(kinds))


def wedges_of(pattern: Rooted, family: Family) -> tuple[Wedges, list[list[int]]] | None:
    """Return the pattern as middles of one or two kinds between two ends, and the middles of each kind."""
    size = len(pattern.vertices)
    if size < 4 or len(pattern.edges) != 2 * (size - 2):
        return None
    for x in range(size) if pattern.roots != 1 else (0,):
        around = pattern.neighbors(x)
        others = set(range(size)) - around - {x}
        if len(others) != 1 or pattern.neighbors(z := min(others)) != around:
            continue
        kinds: dict[object, list[int]] = {}
        for middle in sorted(around):
            kinds.setdefault(_look(pattern, family, x, z, middle), []).append(middle)
        uniform = size == 4 and is_uniform(pattern, family)
        if len(kinds) > _MOST_KINDS or (pattern.roots == 2 and not uniform):
            continue
        turned = {_look(pattern, family, z, x, alike[0]): len(alike) for alike in kinds.values()}
        there = {look: len(alike) for look, alike in kinds.items()}
        symmetric = pattern.vertices[x] == pattern.vertices[z] and turned == there
        middles = tuple(Middles((x, alike[0]), (alike[0], z), len(alike)) for alike in kinds.values())
        return Wedges(pattern, middles, symmetric, uniform), list(kinds.values())
    return None


def _look(pattern: Rooted, family: Family, x: int, z: int, middle: int) -> object:
    return pattern.vertices[middle], _edge(pattern, family, x, middle), _edge(pattern, family, middle, z)


def _edge(pattern: Rooted, family: Family, start: int, end: int) -> tuple[int, bool, bool]:
    """Return the kind of the edge between two vertices, and how it goes."""
    for u, v, kind in pattern.edges:
        if {u, v} == {start, end}:
            either = family.is_either(kind)
            return kind, either, either or u == start
    raise AssertionError("no such edge")
