"""Matching orders, the sequences in which query vertices are matched, and the cost model that they follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil

from motiflux.graph import Graph, VertexFilter, filter_mask
from motiflux.graph.stats import LabelFrequencies
from motiflux.plan.bind import BoundEdge, BoundPattern

# Number of starting vertices that are tried; the limit on planning time allows no more.
_STARTS = 3
_PREFERRED_STARTS = 1


class CostModel:
    """Expected numbers of candidates, taking query edges as independent.

    Parameters
    ----------
    candidates
        Number of candidates of each query vertex.
    arcs
        Number of arcs between candidates for each query edge.
    """

    def __init__(self, pattern: BoundPattern, candidates: Sequence[int], arcs: Sequence[int]) -> None:
        self.candidates = [max(number, 1) for number in candidates]
        # chances[v]: each neighbour of v, and the probability that its image is joined to that of v.
        self.chances: list[list[tuple[int, float]]] = [[] for _ in range(pattern.size)]
        for edge, number in zip(pattern.edges, arcs, strict=True):
            chance = min(1.0, number / (self.candidates[edge.source] * self.candidates[edge.target]))
            self.chances[edge.source].append((edge.target, chance))
            self.chances[edge.target].append((edge.source, chance))
        self._pattern = pattern

    @cached_property
    def connected_cover(self) -> frozenset[int]:
        """A connected vertex cover of the pattern, without vertices of few neighbours if possible."""
        return _connected_cover(self._pattern)


def frequencies(
    pattern: BoundPattern, graph: Graph, deadline: float | None = None
) -> tuple[list[int], list[int]]:
    """Return the expected numbers of candidates and of arcs, by label frequencies and conditions.

    Conditions and labels are taken as independent. Conditions on edges are taken to hold for all edges. For a
    sketch, they are those of the larger graph.
    `TimeoutError` if `deadline` passes while labels are counted.
    """
    labels = graph.label_frequencies(deadline)
    shares = [_share(graph, narrowing) for narrowing in pattern.filters]
    candidates = [labels.vertices(codes) for codes in pattern.labels]
    arcs = [
        ceil(_arcs(pattern, labels, edge) * shares[edge.source] * shares[edge.target])
        for edge in pattern.edges
    ]
    wanted = [number * share for number, share in zip(candidates, shares, strict=True)]
    if graph.sketched is not None:
        wanted = [number / graph.sketched.vertices for number in wanted]
        arcs = [ceil(number / graph.sketched.edges) for number in arcs]
    return list(map(ceil, wanted)), arcs


def _share(graph: Graph, narrowing: VertexFilter | None) -> float:
    """Return the share of the vertices that satisfy a filter."""
    if narrowing is None or graph.num_vertices == 0:
        return 1.0
    share = 1.0 if narrowing.ids is None else len(narrowing.ids) / graph.num_vertices
    if narrowing.has_mask:
        share *= float(filter_mask(graph, narrowing).mean())
    return share


def _arcs(pattern: BoundPattern, labels: LabelFrequencies, edge: BoundEdge) -> int:
    ends = pattern.labels[edge.source], pattern.labels[edge.target]
    arcs = labels.arcs(ends[0], edge.labels, ends[1])
    if edge.either and pattern.directed:
        arcs += labels.arcs(ends[1], edge.labels, ends[0])
    return arcs


class _PartialOrder:
    """An order under construction, and the factor by which each vertex would multiply partial embeddings."""

    def __init__(self, pattern: BoundPattern, model: CostModel) -> None:
        self._pattern = pattern
        self._model = model
        self._growth = [float(number) for number in model.candidates]
        self._backward = [0] * pattern.size
        self._reachable: set[int] = set()
        self._placed: set[int] = set()
        self.order: list[int] = []
        self.sizes: list[float] = []

    def place(self, vertex: int) -> None:
        """Append `vertex`."""
        self.sizes.append((self.sizes[-1] if self.sizes else 1.0) * self._growth[vertex])
        self.order.append(vertex)
        for other, chance in self._model.chances[vertex]:
            self._growth[other] *= chance
            self._backward[other] += 1
        self._placed.add(vertex)
        self._reachable |= self._pattern.neighbors[vertex]
        self._reachable -= self._placed

    def place_cheapest(self, first: frozenset[int] = frozenset()) -> None:
        """Append the reachable vertex with the least growth; a vertex of `first` if one is reachable.

        Where none is, it is one of another part.
        """
        reachable = self._reachable & first or self._reachable or self._others()
        if len(reachable) == 1:
            self.place(*reachable)
            return
        neighbors = self._pattern.neighbors
        self.place(
            min(
                reachable,
                key=lambda v: (self._growth[v], -self._backward[v], -len(neighbors[v]), v),
            )
        )

    def _others(self) -> set[int]:
        return set(range(self._pattern.size)) - self._placed

    def reaches(self, vertices: frozenset[int]) -> bool:
        """Return whether one of `vertices` can be appended."""
        return not self._reachable.isdisjoint(vertices)

    def place_first(self) -> None:
        """Append the reachable vertex that the pattern lists first."""
        self.place(min(self._reachable))


@dataclass(frozen=True, slots=True)
class Order:
    """A matching order and the expected number of partial embeddings up to each level."""

    vertices: tuple[int, ...]
    estimates: tuple[float, ...]


def promising_orders(pattern: BoundPattern, model: CostModel, *, tails: bool) -> list[Order]:
    """Return connected orders that may be cheap, by ascending cost in `model`.

    Each order starts at one of the most selective vertices and continues with the vertex that multiplies the
    partial embeddings least. Some orders take the 2-core before the trees outside it. With `tails`, some
    orders take a connected vertex cover before the other vertices, which may then be counted in closed form.
    """
    by_promise = sorted(
        range(pattern.size), key=lambda v: (model.candidates[v] / len(pattern.neighbors[v]), v)
    )
    orders = [
        _complete(pattern, model, start, _PartialOrder.place_cheapest) for start in by_promise[:_STARTS]
    ]
    preferred = [core_of(pattern)]
    if tails:
        preferred += [_without_leaves(pattern), model.connected_cover]
    for first in preferred:
        if 0 < len(first) < pattern.size:
            starts = [vertex for vertex in by_promise if vertex in first][:_PREFERRED_STARTS]
            place_next = partial(_PartialOrder.place_cheapest, first=first)
            orders += [_complete(pattern, model, start, place_next) for start in starts]
    distinct = {order.vertices: order for order in orders}
    return sorted(distinct.values(), key=lambda order: sum(order.estimates))


def core_first(pattern: BoundPattern, orders: Sequence[Order]) -> Order | None:
    """Return the first of `orders` that has the 2-core before all other vertices; None if there is none."""
    core = core_of(pattern)
    if not 0 < len(core) < pattern.size:
        return None
    return next((order for order in orders if core.issuperset(order.vertices[: len(core)])), None)


def rooted_orders(
    pattern: BoundPattern, model: CostModel, roots: tuple[int, ...], next_of: frozenset[int] = frozenset()
) -> list[Order]:
    """Return orders that begin with `roots`, as `promising_orders` does.

    Parameters
    ----------
    next_of
        The vertices, one of which comes after the roots, if any is given. There is then also an order that
        goes from neighbour to neighbour.
    """
    orders = []
    for first in (frozenset[int](), model.connected_cover, None)[: 3 if next_of else 2]:
        growing = _PartialOrder(pattern, model)
        for root in roots:
            growing.place(root)
        if next_of:
            growing.place_cheapest(next_of)
        while len(growing.order) < pattern.size:
            growing.place_cheapest(pattern.neighbors[growing.order[-1]] if first is None else first)
        orders.append(Order(tuple(growing.order), tuple(growing.sizes)))
    return list({order.vertices: order for order in orders}.values())


def projected_orders(
    pattern: BoundPattern, model: CostModel, returned: frozenset[int], counted: frozenset[int]
) -> list[Order]:
    """Return orders with the vertices `returned` as early as possible, then those `counted`, then all others.

    Vertices on the way to them come between. Each returned vertex is the start of an order, and so are the
    most selective vertices.
    """
    by_promise = sorted(
        range(pattern.size), key=lambda v: (model.candidates[v] / len(pattern.neighbors[v]), v)
    )
    starts = [vertex for vertex in by_promise if vertex in returned]
    orders = []
    for start in dict.fromkeys([*starts, *by_promise[:_STARTS]]):
        growing = _PartialOrder(pattern, model)
        growing.place(start)
        for wanted in (returned, counted):
            while left := wanted.difference(growing.order):
                growing.place_cheapest(_nearest(pattern, growing.order, left))
        while len(growing.order) < pattern.size:
            growing.place_cheapest()
        orders.append(Order(tuple(growing.order), tuple(growing.sizes)))
    return list({order.vertices: order for order in orders}.values())


def orders_to(pattern: BoundPattern, model: CostModel, roots: tuple[int, ...], vertex: int) -> list[Order]:
    """Return orders that begin with `roots` and have a vertex as early as possible after them."""
    orders = []
    for first in (frozenset[int](), model.connected_cover, None):
        growing = _PartialOrder(pattern, model)
        for root in roots:
            growing.place(root)
        while vertex not in growing.order:
            growing.place_cheapest(_nearest(pattern, growing.order, frozenset((vertex,))))
        while len(growing.order) < pattern.size:
            growing.place_cheapest(pattern.neighbors[growing.order[-1]] if first is None else first)
        orders.append(Order(tuple(growing.order), tuple(growing.sizes)))
    return list({order.vertices: order for order in orders}.values())


def _nearest(pattern: BoundPattern, placed: Sequence[int], wanted: frozenset[int]) -> frozenset[int]:
    """Return the vertices beside `placed` from which the ways to one of `wanted` are shortest."""
    layer, seen = set(wanted), set(wanted)
    beside = {near for vertex in placed for near in pattern.neighbors[vertex]}.difference(placed)
    while not layer & beside:
        layer = {near for vertex in layer for near in pattern.neighbors[vertex]} - seen
        seen |= layer
    return frozenset(layer & beside)


def orders_within(
    pattern: BoundPattern,
    model: CostModel,
    roots: tuple[int, ...],
    kept: frozenset[int],
    next_of: frozenset[int] = frozenset(),
) -> list[tuple[int, ...]]:
    """Return orders of the connected vertices `kept` that begin with `roots`, as `rooted_orders` does."""
    orders: dict[tuple[int, ...], None] = {}
    for first in (kept, kept & model.connected_cover):
        growing = _PartialOrder(pattern, model)
        for root in roots:
            growing.place(root)
        if next_of:
            growing.place_cheapest(next_of)
        while len(growing.order) < len(kept):
            growing.place_cheapest(first if growing.reaches(first) else kept)
        orders[tuple(growing.order)] = None
    return list(orders)


def continued_orders(pattern: BoundPattern, model: CostModel, start: tuple[int, ...]) -> list[Order]:
    """Return orders of the whole pattern that begin with the order `start`."""
    orders = []
    for first in (frozenset[int](), model.connected_cover):
        growing = _PartialOrder(pattern, model)
        for vertex in start:
            growing.place(vertex)
        while len(growing.order) < pattern.size:
            growing.place_cheapest(first)
        orders.append(Order(tuple(growing.order), tuple(growing.sizes)))
    return list({order.vertices: order for order in orders}.values())


def core_of(pattern: BoundPattern) -> frozenset[int]:
    """Return the 2-core: the vertices on cycles or on paths between cycles."""
    core = set(range(pattern.size))
    while True:
        leaves = {vertex for vertex in core if len(pattern.neighbors[vertex] & core) <= 1}
        if not leaves:
            return frozenset(core)
        core -= leaves


def _without_leaves(pattern: BoundPattern) -> frozenset[int]:
    return frozenset(v for v in range(pattern.size) if len(pattern.neighbors[v]) > 1)


def _connected_cover(pattern: BoundPattern) -> frozenset[int]:
    """Return a connected vertex cover, without vertices of few neighbours if possible."""
    kept = set(range(pattern.size))
    for vertex in sorted(kept, key=lambda v: (len(pattern.neighbors[v]), v)):
        if pattern.neighbors[vertex] <= kept and _is_connected(pattern, kept - {vertex}):
            kept.remove(vertex)
    return frozenset(kept)


def _is_connected(pattern: BoundPattern, vertices: set[int]) -> bool:
    if not vertices:
        return False
    reached = {next(iter(vertices))}
    frontier = list(reached)
    while frontier:
        fresh = (pattern.neighbors[frontier.pop()] & vertices) - reached
        reached |= fresh
        frontier += fresh
    return reached == vertices


def given_order(pattern: BoundPattern, model: CostModel) -> Order:
    """Return the pattern's own order: each time, the first listed vertex that is connected is next."""
    return _complete(pattern, model, 0, _PartialOrder.place_first)


def ordered(pattern: BoundPattern, model: CostModel, vertices: tuple[int, ...]) -> Order:
    """Return the order of `vertices`, with the estimates of `model`."""
    growing = _PartialOrder(pattern, model)
    for vertex in vertices:
        growing.place(vertex)
    return Order(vertices, tuple(growing.sizes))


def _complete(
    pattern: BoundPattern, model: CostModel, start: int, place_next: Callable[[_PartialOrder], None]
) -> Order:
    growing = _PartialOrder(pattern, model)
    growing.place(start)
    while len(growing.order) < pattern.size:
        place_next(growing)
    return Order(tuple(growing.order), tuple(growing.sizes))
