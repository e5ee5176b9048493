"""Tables of local counts hold numbers of any size; formulas are found in bounded time."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import motiflux as mf
from motiflux import _native
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan.bind import bind
from motiflux.plan.ir import Formula, Joined, Ones, Table
from motiflux.plan.local_counts import choose, derive, family, stopwatch
from motiflux.plan.local_counts.choose import cheapest_formula
from motiflux.plan.local_counts.costs import Costs, Found
from motiflux.plan.local_counts.family import Family, partitions
from motiflux.plan.local_counts.speeds import DEVICE_SPEEDS, HOST_SPEEDS, Speeds
from motiflux.plan.rooted import Kinds, Rooted
from tests.rotating import in_turn

_NUMBERS = st.lists(st.sampled_from([0, 1, 3, 2**32, 2**63, 2**64 - 1]) | st.integers(0, 2**200), min_size=1)
_Native = tuple[NDArray[np.uint64], int]


def words_of(numbers: list[int]) -> _Native:
    width = max(1, *((number.bit_length() + 63) // 64 for number in numbers))
    words = [number >> 64 * at & 2**64 - 1 for number in numbers for at in range(width)]
    return np.array(words, np.uint64), width


def numbers_of(table: _Native | None) -> list[int]:
    assert table is not None
    words, width = table
    rows = words.reshape(-1, width).tolist()
    return [sum(word << 64 * at for at, word in enumerate(row)) for row in rows]


@given(_NUMBERS, st.data(), st.sampled_from([1, 2]))
def test_products_and_differences_are_those_of_integers(
    first: list[int], data: st.DataObject, threads: int
) -> None:
    second = data.draw(st.lists(st.integers(0, 2**130), min_size=len(first), max_size=len(first)))
    times = data.draw(st.integers(1, 2**64 - 1))
    product = _native.table_product(words_of(first), words_of(second), threads, None)
    assert numbers_of(product) == [a * b for a, b in zip(first, second, strict=True)]
    whole = [a + times * b for a, b in zip(first, second, strict=True)]
    assert numbers_of(_native.table_minus(words_of(whole), times, words_of(second), threads, None)) == first
    assert _native.table_sum(words_of(first), threads, None) == sum(first)


@given(st.lists(_NUMBERS | st.just([]), min_size=1))
def test_sums_of_rows_are_those_of_integers(rows: list[list[int]]) -> None:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.uint64)
    numbers = [number for row in rows for number in row]
    adjacency = offsets, np.zeros(len(numbers), np.uint32)
    table = words_of(numbers) if numbers else (np.zeros(0, np.uint64), 1)
    assert numbers_of(_native.table_row_sums(adjacency, table, 1, None)) == [sum(row) for row in rows]


def test_a_table_has_no_more_words_than_it_needs() -> None:
    big = words_of([2**64, 5])
    assert big[1] == 2
    difference = _native.table_minus(big, 1, words_of([2**64 - 1, 5]), 1, None)
    assert difference is not None
    assert difference[1] == 1


def test_what_would_be_less_than_nothing_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="less than nothing"):
        _native.table_minus(words_of([3, 9]), 2, words_of([1, 5]), 1, None)


@pytest.mark.turns(8)
@pytest.mark.parametrize(("directed", "arc"), in_turn(1, [(False, "--"), (True, "-->")]))
def test_numbers_of_walks_beyond_64_bits_are_exact(directed: bool, arc: str) -> None:
    """From one vertex through three layers to another: a product of their sizes for each path."""
    layers = [range(1, 600), range(600, 1200), range(1200, 1800)]
    edges = [(0, v) for v in layers[0]] + [(v, 1800) for v in layers[2]]
    edges += [(u, v) for one, other in pairwise(layers) for u in one for v in other]
    labels = [0, *[1] * 599, *[2] * 600, *[3] * 600, 4]
    graph = mf.Graph.from_edges(edges, vertex_labels=labels, directed=directed)
    ways = [f"(a:0){arc}(x{i}:1){arc}(y{i}:2){arc}(z{i}:3){arc}(b:4)" for i in range(2)]
    paths = 599 * 600 * 600
    disjoint = (599 * 598) * (600 * 599) ** 2
    pattern = ", ".join(ways)
    assert mf.count(graph, pattern, tuning={"tables": "on"}, semantics="homomorphism") == paths**2
    assert mf.count(graph, pattern, tuning={"tables": "on"}) == disjoint


def _family(pattern: str, graph: Graph) -> Family:
    return Family(bind(Pattern.parse(pattern), graph))


@given(st.integers(2, 6), st.data())
def test_isomorphic_patterns_have_one_canonical_form(size: int, data: st.DataObject) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], directed=True, vertex_labels=[0, 1, 0])
    family = _family("(a:0)-->(b:1)--(c:0)", graph)
    vertices = tuple(data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)))
    pairs = data.draw(st.sets(st.sampled_from(list(permutations(range(size), 2)))))
    edges = tuple(sorted((u, v, data.draw(st.integers(0, 0))) for u, v in pairs))
    below = data.draw(st.frozensets(st.integers(1, size - 1)))
    roots = 1 if below else data.draw(st.integers(0, 2))
    pattern = family.renumbered(Rooted(vertices, edges, roots, below), range(size), roots)
    fixed = pattern.fixed
    order = [*range(fixed), *data.draw(st.permutations(range(fixed, size)))]
    turned = family.renumbered(pattern, order, roots)
    assert family.canonical(turned) == family.canonical(pattern)


def test_partitions_are_all_ways_to_merge() -> None:
    assert sum(1 for _ in partitions(5, frozenset())) == 52 - 1  # Bell's number; one merges none
    everything = frozenset(combinations(range(5), 2))
    assert not list(partitions(5, everything))
    for pairs in partitions(4, frozenset([(0, 2)])):
        assert (0, 2) not in pairs


def test_tables_that_share_others_are_gone_through_once() -> None:
    """A table made of another twice, forty times over: paths through them are 2^40."""
    pattern = Rooted((0, 0), ((0, 1, 0),), 2)
    table: Table = Ones(pattern)
    for _ in range(40):
        table = Joined(pattern, (table, table), ())
    one, other = (Formula(Kinds(False, (), ()), table, 1.0) for _ in range(2))
    assert len(one.tables()) == 41
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize("speeds", [HOST_SPEEDS, DEVICE_SPEEDS], ids=["host", "device"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("size", [3, 4])
def test_tables_of_some_labels_cost_what_their_own_rows_do(size: int, directed: bool, speeds: Speeds) -> None:
    """The vertices of label 0 have all others around them as well, of lesser number: they cost nothing."""
    inner = mf.generate.erdos_renyi(60, edges=400, seed=1)
    ends = inner.forward.sources() + 500, inner.forward.neighbors + 500
    edges = [(int(u), int(v)) for u, v in zip(*ends, strict=True) if u < v]
    around = [(outer, vertex) for outer in range(500) for vertex in range(500, 560)]
    labels = [*[1] * 500, *[0] * 60]
    within = mf.Graph.from_edges([*edges, *around], vertex_labels=labels, directed=directed)
    alone = mf.Graph.from_edges(edges, num_vertices=560, vertex_labels=labels, directed=directed)
    ring = ", ".join(f"(v{at}:0)--(v{(at + 1) % size}:0)" for at in range(size))
    table = ", (v0)--(x:0)" if size == 3 else ""
    costs = []
    for graph in (within, alone):
        formula = cheapest_formula(graph, bind(Pattern.parse(ring + table), graph), 1, speeds=speeds)
        costs.append(0.0 if formula is None else formula.seconds)
    assert min(costs) > 0
    passes = 2 * (within.forward.num_arcs - alone.forward.num_arcs) * 20 * speeds.number
    assert abs(costs[0] - costs[1]) <= passes + 0.01 * costs[1]


def test_a_formula_is_looked_for_no_longer_than_allowed() -> None:
    graph = mf.generate.erdos_renyi(300, edges=3000, seed=1)
    ring = ", ".join(f"(v{at})--(v{(at + 1) % 5})" for at in range(5))
    bound = bind(Pattern.parse(ring), graph)
    assert cheapest_formula(graph, bound, 1, seconds=0.0) is None
    assert cheapest_formula(graph, bound, 1, seconds=60.0) is not None


_QUERIES = (
    "(a)--(b)--(c)--(d)--(a), (d)--(e)",
    "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
    "(a)--(b)--(c)--(a), (c)--(d)--(e)",
    "(a)--(b)--(c)--(d)--(e)--(a)",
    "(a)--(b)--(c)--(d)--(e)",
)


def _found(graph: Graph, query: str, speeds: Speeds, **more: float) -> Formula | None:
    return cheapest_formula(graph, bind(Pattern.parse(query), graph), 1, speeds=speeds, **more)


def _random_graph() -> Graph:
    return mf.generate.PowerLaw(vertices=300, edges=6000, seed=7, duplicates="drop").graph()


@pytest.mark.parametrize("speeds", [HOST_SPEEDS, DEVICE_SPEEDS], ids=["CPU", "GPU"])
def test_a_formula_is_the_same_whatever_was_asked_of_the_graph_before(speeds: Speeds) -> None:
    graph = _random_graph()
    alone = []
    for query in _QUERIES:
        graph.forget()
        alone.append(_found(graph, query, speeds))
    graph.forget()
    assert [_found(graph, query, speeds) for query in _QUERIES] == alone
    assert any(one is not None for one in alone)


def _looked_at(monkeypatch: pytest.MonkeyPatch) -> list[Rooted]:
    looked: list[Rooted] = []
    plainly = derive.Derivation._cheapest

    def watched(self: derive.Derivation, pattern: Rooted) -> Found | None:
        looked.append(pattern)
        return plainly(self, pattern)

    monkeypatch.setattr(derive.Derivation, "_cheapest", watched)
    return looked


def test_what_one_query_looked_at_serves_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = _looked_at(monkeypatch)
    graph = _random_graph()
    _found(graph, _QUERIES[1], HOST_SPEEDS)
    alone = len(looked)
    graph.forget()
    _found(graph, _QUERIES[0], HOST_SPEEDS)
    before = len(looked)
    _found(graph, _QUERIES[1], HOST_SPEEDS)
    assert 0 < len(looked) - before < alone
    assert len(set(looked[alone:])) == len(looked[alone:]), "nothing is looked at twice"
    _found(graph, _QUERIES[1], HOST_SPEEDS, most=1e-12)
    _found(graph, _QUERIES[1], DEVICE_SPEEDS)
    assert len(looked) > before + alone, "other costs make other tables the cheapest"


def test_what_was_looked_at_in_haste_serves_no_other_query() -> None:
    graph = _random_graph()
    whole = Family(bind(Pattern.parse(_QUERIES[1]), graph)).whole
    known: dict[Rooted, Found] = {}

    def never(*_: object) -> float:
        return 1.0

    costs = Costs(1.0, 1.0, lambda _: None, never, never, never)
    family = Family(bind(Pattern.parse(_QUERIES[1]), graph))
    derive.Derivation(family, costs, 3600.0, inf, known, lambda: 1801.0).table(whole)
    assert not known
    derive.Derivation(family, costs, 3600.0, inf, known, lambda: 1799.0).table(whole)
    assert known


@pytest.mark.parametrize(("seconds", "is_found"), [(9.0, True), (21.0, False)])
def test_what_is_prepared_takes_no_time_from_the_look_up_to_as_much_again(
    seconds: float, is_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    adjacency = Graph.adjacency

    def narrow(*given: Any) -> Any:
        nonlocal now
        now += seconds
        monkeypatch.setattr(Graph, "adjacency", adjacency)  # the first one takes long, the others are there
        return adjacency(*given)

    expected = _found(_random_graph(), _QUERIES[1], HOST_SPEEDS)
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: now)
    monkeypatch.setattr(Graph, "adjacency", narrow)
    found = _found(_random_graph(), _QUERIES[1], HOST_SPEEDS, seconds=10.0)
    assert expected is not None
    assert found == (expected if is_found else None)


@pytest.mark.parametrize("speeds", [HOST_SPEEDS, DEVICE_SPEEDS], ids=["CPU", "GPU"])
@pytest.mark.parametrize("query", _QUERIES)
def test_a_formula_that_takes_too_much_is_none(query: str, speeds: Speeds) -> None:
    graph = _random_graph()
    found = _found(graph, query, speeds)
    assert found is not None
    graph.forget()
    assert _found(graph, query, speeds, most=1e-9) is None
    graph.forget()
    assert _found(graph, query, speeds, most=2 * found.seconds) == found


def test_what_is_known_of_parts_is_bounded_for_a_graph_and_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each label makes a family of its own: the oldest are forgotten."""
    monkeypatch.setattr(choose, "KNOWN_TABLES_BYTES", 50_000)
    monkeypatch.setattr(family, "_MOST_CANONICAL", 40)
    given: list[dict[Rooted, Found]] = []

    class Watched(derive.Derivation):
        def __init__(self, family: Family, *rest: Any) -> None:
            super().__init__(family, *rest)
            given.append(self._known)

    monkeypatch.setattr(choose, "Derivation", Watched)
    random = np.random.default_rng(1)
    graph = Graph.from_edges(
        random.integers(0, 60, (900, 2)), self_loops="drop", vertex_labels=random.integers(0, 4, 60)
    )
    for label in (0, 1, 2, 0):
        pattern = Pattern.from_edges([(v, v + 1) for v in range(4)], vertex_labels=[label] * 5)
        cheapest_formula(graph, bind(pattern, graph), 1)
        assert sum(map(len, family._canonical.values())) <= 80
    assert all(len(known) > 10 for known in given)
    assert given[0] is not given[-1]


def test_no_formula_is_sought_for_a_clique(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning would take longer than all else that a first count on a GPU does on the host."""
    graph = mf.Graph.from_edges([(u, v) for u in range(30) for v in range(u)])

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a formula is sought")

    monkeypatch.setattr("motiflux.plan.planner.cheapest_formula", refuse)
    monkeypatch.setattr("motiflux.plan.planner.WORTH_A_FORMULA", 0)
    mf.explain(graph, "(a)--(b)--(c)--(a), (a)--(d), (b)--(d), (c)--(d)", device="cpu")
    with pytest.raises(AssertionError, match="sought"):
        mf.explain(graph, "(a)--(b)--(c)--(d)--(a)", device="cpu")
