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

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice

from motiflux.plan.ir import Plan
from motiflux.plan.local.formula import (
    Joined,
    Middles,
    OfEnd,
    Ones,
    Searched,
    Table,
    Triangles,
    Walks,
    Wedges,
    parts_of,
)
from motiflux.plan.local.rooted import Family, Rooted, Undecided, matchings, partitions
from motiflux.plan.local.walks import Spine, WalkPlan, spines

MOST_VERTICES = 8
_MOST_PATTERNS = 2000
"""Rooted patterns looked at for one count."""
_MOST_KINDS = 2
"""Kinds of middles of wedges."""
_WORTH_WALKS, _WORTH_A_SEARCH, _WORTH_AN_ORDER = 1e-3, 2e-3, 2e-2
"""Seconds that the cheapest way known must take before others are looked at, which takes time as well."""
_MOST_SPINES = 2
"""Spines that are looked at for walks of one pattern."""


_Found = tuple[Table, dict[Table, float]]
"""A table, and the seconds of each table that it is made of, itself included."""


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
    """Finds formulas for the parts and quotients of one pattern."""

    def __init__(self, family: Family, costs: Costs, deadline: float) -> None:
        self._family = family
        self._costs = costs
        now = time.perf_counter()
        self._deadline = deadline
        self._half_time = now + (deadline - now) / 2
        self._best: dict[Rooted, _Found | None] = {}

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
        return time.perf_counter() > self._half_time

    def _check_time(self) -> None:
        if time.perf_counter() > self._deadline:
            raise Undecided("no time left")

    def _find(self, pattern: Rooted) -> _Found:
        """Return a table, and the seconds of each table that it is made of, itself included."""
        pattern = self._family.canonical(pattern)
        if pattern in self._best:
            found = self._best[pattern]
            if found is None:
                raise Undecided("a pattern that no formula counts")
            return found
        if len(self._best) >= _MOST_PATTERNS:
            raise Undecided("too many patterns")
        self._check_time()
        if pattern.roots == 2 and sum({u, v} == {0, 1} for u, v, _ in pattern.edges) != 1:
            raise Undecided("several query edges between the roots")
        self._best[pattern] = None  # while it is looked at: no formula may need itself
        found = self._cheapest(pattern)
        if found is None:
            raise Undecided("a pattern that no formula counts")
        self._best[pattern] = found
        return found

    def _cheapest(self, pattern: Rooted) -> _Found | None:
        ways: tuple[tuple[Callable[[Rooted], _Found | None], float], ...] = (
            (self._trivial, 0.0),
            (self._triangles, 0.0),
            (self._by_wedges, 0.0),
            (self._joined, 0.0),
            (self._by_walks, _WORTH_WALKS),
            (self._by_search, _WORTH_A_SEARCH),
            (self._by_order, _WORTH_AN_ORDER),
        )
        best = None
        for way, worth in ways:
            if best is not None and (self._in_haste or _seconds(best) < worth):
                break
            try:
                found = way(pattern)
            except Undecided:
                continue
            if found is not None and (best is None or _seconds(found) < _seconds(best)):
                best = found
        return best

    def _trivial(self, pattern: Rooted) -> _Found | None:
        if len(pattern.vertices) > pattern.roots:
            return None
        table = Ones(pattern)
        return table, {table: self._costs.table(pattern.roots)}

    def _joined(self, pattern: Rooted) -> _Found | None:
        """Take apart at the roots, or at one or two roots more, and sum over these."""
        best = None
        for rooted in self._with_roots(pattern):
            if best is not None and self._in_haste:
                break
            try:
                found = self._apart(pattern, rooted)
            except Undecided:
                continue
            if found is not None and (best is None or _seconds(found) < _seconds(best)):
                best = found
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

    def _apart(self, pattern: Rooted, rooted: Rooted) -> _Found | None:
        """Return F(pattern) as a sum over the further roots of `rooted`."""
        parts = rooted.components()
        overlaps: Iterable[Rooted | None]
        if len(parts) > 1:
            ours, theirs = parts[0], sorted(chain.from_iterable(parts[1:]))
            roots = list(range(rooted.roots))
            factors = [self._find(rooted.part([*roots, *part], rooted.roots)) for part in (ours, theirs)]
            overlaps = (self._family.merged(rooted, pairs) for pairs in matchings(ours, theirs))
        elif len(parts) == 1 and rooted.roots == 2 and (end := _only_end(rooted)) is not None:
            table, made_of = self._find(
                self._family.renumbered(rooted.part([end, *parts[0]], 1), range(1 + len(parts[0])), 1)
            )
            gathered = OfEnd(rooted, end, table)
            factors = [(gathered, {**made_of, gathered: self._costs.arcs})]
            overlaps = [self._family.merged(rooted, [(1 - end, vertex)]) for vertex in parts[0]]
            if pattern.roots == 2 and any(
                one is not None and one.vertices[:2] != pattern.vertices[:2] for one in overlaps
            ):
                raise Undecided("a root that asks for more: its table has fewer arcs")
        elif rooted is not pattern:
            factors, overlaps = [self._find(rooted)], []
        else:
            return None
        if not self._family.injective:
            overlaps = []
        # What is taken away needs no more roots than the pattern has.
        lesser = self._lesser(overlaps, pattern.roots)
        whole = Joined(
            pattern,
            tuple(table for table, _ in factors),
            tuple((times, table) for times, (table, _) in lesser),
        )
        made_of = {}
        for _, made_of_part in (*factors, *(found for _, found in lesser)):
            made_of |= made_of_part
        passes = len(factors) * self._costs.table(rooted.roots) + len(lesser) * self._costs.table(
            pattern.roots
        )
        return whole, {**made_of, whole: passes}

    def _triangles(self, pattern: Rooted) -> _Found | None:
        if pattern.roots != 2 or len(pattern.vertices) != 3 or not is_uniform(pattern, self._family):
            return None
        if len(pattern.edges) != 3:
            return None
        table = Triangles(pattern)
        return table, {table: self._costs.triangles(pattern)}

    def _by_wedges(self, pattern: Rooted) -> _Found | None:
        if pattern.below or not self._family.injective:
            return None
        found = wedges_of(pattern, self._family)
        if found is None:
            return None
        wedges, kinds = found
        parts: dict[Table, float] = {wedges: self._costs.wedges(wedges)}
        if len(kinds) == 1:
            return wedges, parts
        merged = (self._family.merged(pattern, pairs) for pairs in matchings(*kinds))
        lesser = self._lesser(merged, pattern.roots)
        for _, (_, made_of) in lesser:
            parts |= made_of
        whole = Joined(pattern, (wedges,), tuple((times, table) for times, (table, _) in lesser))
        return whole, {**parts, whole: len(lesser) * self._costs.table(pattern.roots)}

    def _by_walks(self, pattern: Rooted) -> _Found | None:
        """Walk from the images of the first vertex, one after another."""
        if pattern.fixed == 0 or len(pattern.vertices) < 3:
            return None
        best = None
        for spine in islice(spines(pattern), _MOST_SPINES):
            if best is not None and self._in_haste:
                break
            try:
                found = self._along(pattern, spine)
            except Undecided:
                continue
            if best is None or _seconds(found) < _seconds(best):
                best = found
        return best

    def _along(self, pattern: Rooted, spine: Spine) -> _Found:
        made_of: dict[Table, float] = {}

        def table(hung: Rooted) -> Table:
            found, parts = self._find(hung)
            made_of.update(parts)
            return found

        walks = WalkPlan(pattern, self._family, spine, table).walks()
        used = set(parts_of(walks))
        lesser: list[tuple[int, _Found]] = []
        if self._family.injective:
            met = spine.met(pattern, apart=True)
            lesser = self._lesser(self._overlaps(pattern, met), pattern.roots)
        for _, (_, parts) in lesser:
            made_of |= parts
        assert used <= made_of.keys()
        made_of[walks] = self._costs.walks(walks)
        if not lesser:
            return walks, made_of
        whole = Joined(pattern, (walks,), tuple((times, found) for times, (found, _) in lesser))
        return whole, {**made_of, whole: len(lesser) * self._costs.table(pattern.roots)}

    def _overlaps(self, pattern: Rooted, met: frozenset[tuple[int, int]]) -> Iterator[Rooted | None]:
        for pairs in partitions(len(pattern.vertices), met):
            self._check_time()
            one = self._family.merged(pattern, pairs)
            if one is not None and pattern.roots == 2 and one.vertices[:2] != pattern.vertices[:2]:
                raise Undecided("a root that asks for more: its table has fewer arcs")
            yield one

    def _by_order(self, pattern: Rooted) -> _Found | None:
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
            if best is None or sum(made_of.values()) < _seconds(best):
                best = Joined(pattern, (table,), (), len(members)), made_of
        if best is None:
            return None
        return best[0], {**best[1], best[0]: 0.0}

    def _lesser(self, merged: Iterable[Rooted | None], roots: int) -> list[tuple[int, _Found]]:
        """Return how often each pattern that arose by merging is taken away, with so many roots."""
        minus = Counter(
            self._family.canonical(replace(one, roots=roots)) for one in merged if one is not None
        )
        return [(times, self._find(one)) for one, times in minus.items()]

    def _by_search(self, pattern: Rooted) -> _Found | None:
        found = self._costs.search(pattern)
        if found is None:
            return None
        table = Searched(pattern, found[0])
        return table, {table: found[1]}


def _seconds(found: _Found) -> float:
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
