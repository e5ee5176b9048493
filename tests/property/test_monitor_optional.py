"""OPTIONAL, and OR across edges, on graphs that change: beside the reference after each update."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.cpu import reference_queries as reference
from tests.property.test_monitor_queries import after
from tests.query_cases import LABELS, QueryCase, query_cases

FEATURES = (
    ("optional",),
    ("optional", "labels"),
    ("optional", "path"),
    ("optional", "walk"),
    ("optional", "path", "labels"),
    ("optpath",),
    ("optpath", "labels"),
    ("optpath", "path"),
    ("optional", "negated"),
    ("optional", "or"),
    ("or",),
    ("or", "walk"),
    ("or", "path", "labels"),
    ("or", "negated"),
    ("or", "negated", "labels"),
)
PARTS = (
    ("parts",),
    ("parts", "labels"),
    ("parts", "negated"),
    ("parts", "or"),
    ("parts", "optional", "labels"),
    ("parts", "walk"),
    ("parts", "path"),
)
DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
Edge = tuple[int, int, Any]
Signed = Counter[tuple[bool, Any]]


def is_watched(case: QueryCase, semantics: str, query: mf.Query) -> bool:
    """Whether a monitor takes the query: else it is refused by name."""
    coinciding = semantics == "homomorphism" or any(link.walks for link in case.links)
    pairs = [
        frozenset(end for end in absent.ends if end is not None)
        for shape in query.shapes
        for absent in shape.absent_edges
        if None not in absent.ends
    ]
    pairs += [frozenset(one.ends) for pattern in query.patterns for one in pattern.negated_pairs]
    joined = {frozenset((edge.source, edge.target)) for pattern in query.patterns for edge in pattern.edges}
    refused = coinciding and any(pair in joined for pair in pairs)
    refused = refused or any(has_other_lone_vertices(shape) for shape in query.shapes if shape.overlaps)
    refused = refused or (coinciding and any(shape.overlaps for shape in query.shapes))
    refused = refused or any(len(shape.absent_edges) < len(shape.absent) for shape in query.shapes)
    return not refused and not any(link.without for link in case.optional)


def has_other_lone_vertices(shape: Any) -> bool:
    """Whether cases differ in negated edges to any vertex."""
    listed = [case.pattern.negated for case in shape.cases if case.without is not None]
    return len({frozenset(one for one in some if not one.is_pair) for some in listed}) > 1


def shape_of(pattern: mf.Pattern, query: mf.Query) -> Any:
    """Return a shape with the vertices and edges of a watched pattern: its paths are in the same places."""
    for shape in query.shapes:
        if any((pattern.vertices, set(pattern.edges)) == drawn_of(case) for case in shape.cases):
            return shape
    raise AssertionError(pattern)


def drawn_of(case: Any) -> tuple[tuple[mf.QueryVertex, ...], set[mf.QueryEdge]]:
    """Return the vertices and the edges of all parts of a case."""
    vertices, edges = {}, set()
    for part in case.parts:
        vertices |= dict(zip(part.vertices, part.pattern.vertices, strict=True))
        ends = [(part.vertices[edge.source], part.vertices[edge.target]) for edge in part.pattern.edges]
        edges |= {
            replace(edge, source=source, target=target)
            for edge, (source, target) in zip(part.pattern.edges, ends, strict=True)
        }
    return tuple(one for _, one in sorted(vertices.items())), edges


def rows_of(query: mf.Query, delta: Any, *, positive: bool) -> Counter[reference.Row]:
    """Return the rows that come or go, in the form of the reference."""
    found: Counter[reference.Row] = Counter()
    for part in delta[query].patterns:
        shape = shape_of(part.pattern, query)
        for row in (part.appeared() if positive else part.vanished()).tolist():
            images = tuple(None if at is None else row[at] for at in shape.vertices)
            found[
                images, tuple(place and tuple(row[at] for at in place.vertices) for place in shape.paths)
            ] += 1
    return found


def start_of(case: QueryCase) -> tuple[QueryCase, list[Edge]]:
    """Return a case without repeated edges, and its edges."""
    labels = case.data.edge_labels or [None] * len(case.data.edges)
    edges = [(*pair, label) for pair, label in zip(case.data.edges, labels, strict=True)]
    if not case.data.directed:
        edges = [(min(u, v), max(u, v), label) for u, v, label in edges]
    edges = list(dict.fromkeys(edges))
    return after(case, edges), edges


def drawn_step(data: st.DataObject, case: QueryCase, edges: list[Edge]) -> tuple[list[Edge], tuple[Any, ...]]:
    """Draw an edge that comes, or goes if it is there; return the edges afterwards, and the update."""
    u, v = data.draw(st.permutations(range(case.data.num_vertices)))[:2]
    label = data.draw(st.sampled_from(LABELS)) if case.data.edge_labels is not None else None
    edge = (u, v, label) if case.data.directed else (min(u, v), max(u, v), label)
    sign = "-" if edge in edges else "+"
    edges = [one for one in edges if one != edge] if sign == "-" else [*edges, edge]
    return edges, (sign, u, v) if label is None else (sign, u, v, label)


def drawn_options(data: st.DataObject) -> dict[str, Any]:
    tuning = {
        "at_once": data.draw(st.sampled_from(["auto", "on", "off"])),
        "orbits": data.draw(st.sampled_from(["on", "on", "off"])),
        "put_off": data.draw(st.sampled_from(["on", "off"])),
        "filter": data.draw(st.sampled_from(["mask", "nlf", "none"])),
    }
    return {
        "threads": data.draw(st.sampled_from([1, 1, 3])),
        "mode": data.draw(st.sampled_from(("sequence", "batch"))),
        "tuning": private_tuning(tuning),
        "device": "cpu",
    }


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("features", FEATURES + PARTS, ids="-".join)
def test_rows_without_an_optional_edge_come_and_go(features: tuple[str, ...], depth: str) -> None:
    most = 8 if depth == "default" else 100

    @settings(max_examples=most, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        directed = data.draw(st.booleans())
        case = data.draw(query_cases(features=frozenset(features), directed=directed, most_vertices=5))
        semantics = data.draw(st.sampled_from(("isomorphism", "isomorphism", "homomorphism")))
        query = mf.Query.parse(case.text())
        if not is_watched(case, semantics, query):
            return
        start, edges = start_of(case)
        options = drawn_options(data)
        with mf.Monitor(start.graph(), semantics=semantics, matches=True, **options) as monitor:
            monitor.add(query)
            before = start.rows(semantics)
            for _ in range(data.draw(st.integers(1, 3))):
                updates, appeared, vanished = [], Counter[Any](), Counter[Any]()
                first = before
                for _ in range(data.draw(st.integers(1, 4))):
                    edges, update = drawn_step(data, case, edges)
                    updates.append(update)
                    now = after(case, edges).rows(semantics)
                    appeared += Counter(now - before)
                    vanished += Counter(before - now)
                    before = now
                if monitor.mode == "batch":
                    appeared, vanished = Counter(before - first), Counter(first - before)
                delta = monitor.apply(updates)
                assert rows_of(query, delta, positive=True) == appeared, case.text()
                assert rows_of(query, delta, positive=False) == vanished, case.text()
                assert (delta[query].positive, delta[query].negative) == (appeared.total(), vanished.total())

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    "features", [*FEATURES[:3], *FEATURES[5:7], *FEATURES[9:11], *FEATURES[12:14], *PARTS[:5]], ids="-".join
)
def test_occurrences_come_and_go_once_each(features: tuple[str, ...], depth: str) -> None:
    most = 6 if depth == "default" else 40

    @settings(max_examples=most, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        directed = data.draw(st.booleans())
        case = data.draw(query_cases(features=frozenset(features), directed=directed, most_vertices=5))
        query = mf.Query.parse(case.text())
        start, edges = start_of(case)
        options = drawn_options(data)
        matches = data.draw(st.booleans())
        if not is_watched(case, "isomorphism", query):
            return
        with mf.Monitor(start.graph(), query, symmetry="subgraphs", matches=matches, **options) as monitor:
            before, number = start.rows("isomorphism"), start.occurrences()
            for _ in range(data.draw(st.integers(1, 3))):
                edges, update = drawn_step(data, case, edges)
                changed = after(case, edges)
                now, left = changed.rows("isomorphism"), changed.occurrences()
                delta = monitor.apply([update])
                assert delta[query].net == left - number, case.text()
                if matches:
                    came, went = (rows_of(query, delta, positive=sign) for sign in (True, False))
                    assert came.total() == len(set(came) & (now - before))
                    assert went.total() == len(set(went) & (before - now))
                before, number = now, left

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_window_brings_rows_back_as_optional_edges_expire(depth: str) -> None:
    most = 12 if depth == "default" else 100

    @settings(max_examples=most, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        features = frozenset(data.draw(st.sampled_from(FEATURES[:3])))
        case = data.draw(query_cases(features=features, directed=True, most_vertices=5))
        query = mf.Query.parse(case.text())
        standing = start_of(case)[1]
        options = {**drawn_options(data), "mode": "batch"}
        window = data.draw(st.integers(1, 4))
        pairs = st.permutations(range(case.data.num_vertices)).map(lambda some: tuple(some[:2]))
        label = st.sampled_from(LABELS) if case.data.edge_labels is not None else st.none()
        inserted = data.draw(st.lists(st.tuples(pairs, label), max_size=10))
        start = after(case, standing)
        with mf.Monitor(start.graph(), query, matches=True, window=window, **options) as monitor:
            before = start.rows("isomorphism")
            for number, ((u, v), one) in enumerate(inserted):
                there = [(*pair, of) for pair, of in inserted[max(0, number + 1 - window) : number + 1]]
                now = after(case, list(dict.fromkeys([*standing, *there]))).rows("isomorphism")
                delta = monitor.apply([("+", u, v) if one is None else ("+", u, v, one)])
                assert rows_of(query, delta, positive=True) == Counter(now - before), case.text()
                assert rows_of(query, delta, positive=False) == Counter(before - now), case.text()
                before = now

    holds()


AMOUNTS = [1, 5, 20, None]
Copy = tuple[int, int, int | None]


def large(copy: Copy) -> bool:
    return copy[2] is not None and copy[2] > 3


def small(copy: Copy) -> bool:
    return copy[2] is not None and copy[2] < 10


def anything(copy: Copy) -> bool:
    return True


Test = Callable[[Copy], bool]
# Text; query vertices; the edges; for each alternative, the condition of each edge; optional edge, or None.
ACROSS: list[tuple[str, int, list[tuple[int, int]], list[list[Test]], tuple[int, int] | None]] = [
    (
        "(a)-[x]->(b)-[y]->(c) WHERE x.amount > 3 OR y.amount > 3",
        3,
        [(0, 1), (1, 2)],
        [[large, anything], [anything, large]],
        None,
    ),
    (
        "(a)-[x]->(b)<-[y]-(c) WHERE x.amount > 3 OR y.amount > 3",
        3,
        [(0, 1), (2, 1)],
        [[large, anything], [anything, large]],
        None,
    ),
    (
        "(a)-[x]->(b)-[y]->(c)-[z]->(a) WHERE (x.amount > 3 AND y.amount < 10) OR z.amount > 3",
        3,
        [(0, 1), (1, 2), (2, 0)],
        [[large, small, anything], [anything, anything, large]],
        None,
    ),
    (
        "(a)-[x]->(b)-[y]->(a) WHERE x.amount > 3 OR y.amount < 10",
        2,
        [(0, 1), (1, 0)],
        [[large, anything], [anything, small]],
        None,
    ),
    (
        "(a)-[x]->(b), (a)-[y]->(b) WHERE x.amount > 3 OR y.amount IS NULL",
        2,
        [(0, 1), (0, 1)],
        [[large, anything], [anything, lambda copy: copy[2] is None]],
        None,
    ),
    (
        "(a)-[x]->(b)-[y]->(c) WHERE x.amount > 3 OR y.amount > 3 OPTIONAL (b)-->(d)",
        3,
        [(0, 1), (1, 2)],
        [[large, anything], [anything, large]],
        (1, 3),
    ),
]


def across(copies: list[Copy], case: Any) -> set[tuple[int | None, ...]]:
    """Return the rows of a query with OR across edges, by trying all maps."""
    _, size, edges, alternatives, optional = case
    found: set[tuple[int | None, ...]] = set()
    for image in permutations(range(5), size):
        there = [[one for one in copies if one[:2] == (image[u], image[v])] for u, v in edges]
        if not any(
            all(any(map(test, some)) for test, some in zip(tests, there, strict=True))
            for tests in alternatives
        ):
            continue
        if optional is None:
            found.add(image)
            continue
        ends = {v for u, v, _ in copies if u == image[optional[0]]} - set(image)
        found |= {(*image, end) for end in ends or {None}}
    return found


def changes_of(delta: Any, query: mf.Query, width: int) -> Signed:
    """The rows that a monitor gives, by sign."""
    found: Signed = Counter()
    for part in delta[query].patterns:
        for sign, rows in ((True, part.appeared()), (False, part.vanished())):
            for row in rows.tolist():
                found[sign, (*row, *[None] * (width - len(row)))] += 1
    return found


def occurrences_of(rows: set[Any], swaps: list[tuple[int, ...]]) -> set[Any]:
    """Return the rows, each in the first of the forms that exchanging vertices gives."""
    return {min((tuple(row[at] for at in swap) for swap in swaps), key=repr) for row in rows}


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
def test_or_across_edges_tells_what_comes_and_goes(symmetry: str, depth: str) -> None:
    vertices = st.integers(0, 4)
    pair = st.tuples(vertices, vertices).filter(lambda ends: ends[0] != ends[1])
    update = st.tuples(st.booleans(), pair, st.sampled_from(AMOUNTS))
    most = 30 if depth == "default" else 500

    @settings(max_examples=most, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.lists(st.lists(update, min_size=1, max_size=4), max_size=8), st.sampled_from(ACROSS), st.data())
    def holds(calls: list[list[Any]], case: Any, data: st.DataObject) -> None:
        query = mf.Query.parse(case[0])
        swaps = [tuple(range(case[1] + (case[4] is not None)))]
        if symmetry == "subgraphs" and "<-[y]-" in case[0]:
            swaps.append((2, 1, 0))
        empty = mf.Graph.from_edges([], num_vertices=5, directed=True)
        copies: list[Copy] = []
        options = drawn_options(data)
        with mf.Monitor(
            empty, query, matches=True, symmetry=symmetry, attributes=["amount"], **options
        ) as monitor:
            before: set[Any] = set()
            for call in calls:
                expected, first = Counter[Any](), before
                updates = []
                for inserts, (u, v), amount in call:
                    oldest = next((one for one in copies if one[:2] == (u, v)), None)
                    if inserts:
                        copies.append((u, v, amount))
                    elif oldest is not None:
                        copies.remove(oldest)
                    updates.append(("+" if inserts else "-", u, v))
                    after_it = occurrences_of(across(copies, case), swaps)
                    expected += Counter([(True, row) for row in after_it - before])
                    expected += Counter([(False, row) for row in before - after_it])
                    before = after_it
                if monitor.mode == "batch":
                    expected = Counter([(True, row) for row in before - first])
                    expected += Counter([(False, row) for row in first - before])
                amounts = [amount if inserts else None for inserts, _, amount in call]
                delta = monitor.apply(updates, attributes={"amount": amounts})
                found: Signed = Counter()
                for (sign, row), number in changes_of(delta, query, len(swaps[0])).items():
                    (form,) = occurrences_of({row}, swaps)
                    found[sign, form] += number
                assert found == expected, case[0]

    holds()


@pytest.mark.parametrize("attributes", [["amount"], None])
def test_a_saved_monitor_goes_on_with_rows_without_an_optional_edge(attributes: list[str] | None) -> None:
    graph = mf.Graph.from_edges([], num_vertices=6, directed=True)
    texts = ["(a)-->(b) OPTIONAL (b)-->(c)", "(a)-[x]->(b)-[y]->(c) WHERE x.amount > 3 OR y.amount > 3"]
    texts = texts if attributes else texts[:1]
    steps = [("+", 0, 1), ("+", 1, 2), ("+", 1, 3), ("-", 1, 2), ("-", 1, 3)]
    amounts = [1, 5, 20, None, None]
    first, rest = ({"amount": some} if attributes else None for some in (amounts[:2], amounts[2:]))
    with (
        tempfile.TemporaryDirectory() as folder,
        mf.Monitor(graph, texts, matches=True, attributes=attributes) as monitor,
    ):
        path = Path(folder) / "saved.mfg"
        monitor.apply(steps[:2], attributes=first)
        monitor.save(path)
        wanted = monitor.apply(steps[2:], attributes=rest)
        with mf.Monitor.load(path) as loaded:
            assert loaded.patterns == monitor.patterns
            found = loaded.apply(steps[2:], attributes=rest)
        for text in texts:
            told = [(one.positive, one.negative) for one in found[text].patterns]
            assert told == [(one.positive, one.negative) for one in wanted[text].patterns]
            assert sum(map(sum, told)) > 0
        assert (found[texts[0]].positive, found[texts[0]].negative) == (3, 4)
        for left in range(len(texts)):
            monitor.drop(texts[left])
            assert len(monitor.patterns) == 2 * (len(texts) - left - 1)


def test_what_streams_do_not_have_beside_optional_and_or_is_refused_by_name() -> None:
    graph = mf.Graph.from_edges([(0, 1)], directed=True, edge_attributes={"t": [1]})
    across = "(a)-[x]->(b)-[y]->(c) WHERE x.t = 1 OR y.t = 2"
    for text, semantics, message in (
        ("(a)-->(b) OPTIONAL (b)-->(c)", "induced", "'isomorphism' or 'homomorphism' beside OPTIONAL"),
        ("(a)-->(b) OPTIONAL (b)-->(c) WHERE degree(c) > 1", "isomorphism", "no conditions on degrees"),
        ("(a)-->(b) OPTIONAL (b)-->(c) WHERE NOT (c)-->(b)", "isomorphism", "no negated edges behind"),
        (across, "homomorphism", "different vertices beside OR across edges"),
    ):
        with pytest.raises(mf.ArgumentError, match=message):
            mf.Monitor(graph, text, semantics=semantics)
    expected = "at most 64 cases of OR across edges on streams"
    path = "(v0)" + "".join(f"-[e{at}]->(v{at + 1})" for at in range(8))
    alternatives = [" AND ".join(f"e{at}.t = {number}" for at in range(8)) for number in range(3)]
    with pytest.raises(mf.ArgumentError, match=expected):
        mf.Monitor(graph, f"{path} WHERE {' OR '.join(f'({one})' for one in alternatives)}")


def test_a_watched_row_without_an_optional_edge_is_no_pattern_to_search() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], directed=True)
    with mf.Monitor(graph, "(a)-->(b) OPTIONAL (b)-[:0]->(c)") as monitor:
        there, missing = monitor.patterns
        assert str(missing) == "(a)-->(b), NOT (b)-[:0]->(EXCEPT a)"
        assert monitor.count(there) == 1
        with pytest.raises(mf.PatternError, match="expected a monitor for negated edges to any vertex"):
            monitor.count(missing)
        assert monitor.count("(a)-->(b) OPTIONAL (b)-[:0]->(c)") == 2
        assert monitor.explain(missing).startswith("(a, b)")
        assert "NOT" in monitor._repr_html_()
        assert missing.to_svg()
        assert mf.draw_match(graph, missing, [1, 2])
        with pytest.raises(mf.ArgumentError, match="no edge"):
            mf.draw_match(graph, missing, [0, 1])


def test_the_vertices_beside_a_negated_edge_are_checked() -> None:
    ends = (0, mf.AnyVertex())
    for one in (mf.NegatedEdge(*ends, besides=frozenset({5})), mf.NegatedEdge(0, 1, besides=frozenset({1}))):
        with pytest.raises(mf.PatternError, match="found besides="):
            mf.Pattern.from_edges([(0, 1)], negated=[one])


@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
def test_optional_edges_to_vertices_of_some_ids_come_and_go(semantics: Any) -> None:
    update = st.tuples(st.booleans(), st.permutations(range(5)).map(lambda some: tuple(some[:2])))

    @settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.lists(update, min_size=1, max_size=14), st.sets(st.integers(0, 6), min_size=1), st.data())
    def holds(updates: list[Any], ids: set[int], data: st.DataObject) -> None:
        text = f"(a)-->(b) OPTIONAL (b)-->(c) WHERE id(c) IN {sorted(ids)}"
        # Vertices come with their edges: ids are awaited that are not there at the start.
        graph = mf.Graph.from_edges([(0, 1)], directed=True)
        with mf.Monitor(graph, text, semantics=semantics, matches=True, **drawn_options(data)) as monitor:
            number = int(mf.count(graph, text, semantics=semantics))
            for inserts, (u, v) in updates:
                net = monitor.apply([("+" if inserts else "-", u, v)])[text].net
                number += net
                assert number == mf.count(monitor.snapshot(), text, semantics=semantics)

    holds()


def test_ids_of_a_missing_optional_vertex_are_saved_and_shown() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], directed=True, vertex_attributes={"x": [1, 2, None]})
    text = "(a)-->(b) OPTIONAL (b)-->(c) WHERE id(c) IN [2, 7] AND c.x IS NULL"
    with (
        tempfile.TemporaryDirectory() as folder,
        mf.Monitor(graph, text) as monitor,
    ):
        assert "(ID IN [2, 7] EXCEPT a WHERE" in str(monitor.patterns[1])
        path = Path(folder) / "saved.mfg"
        monitor.save(path)
        with mf.Monitor.load(path) as loaded:
            assert loaded.patterns == monitor.patterns
            for one in (monitor, loaded):
                delta = one.apply(deletes=[(1, 2)])[text]
                assert (delta.positive, delta.negative) == (1, 2)
    with pytest.raises(mf.ArgumentError, match="ids: expected integers"):
        mf.Monitor(graph, "(a)-->(b) OPTIONAL (b)-->(c) WHERE id(c) = 'ann'")
    ends = mf.NegatedEdge(1, mf.AnyVertex(ids=frozenset({2})))
    with pytest.raises(mf.PatternError, match="expected a monitor for negated edges to any vertex"):
        mf.count(graph, mf.Pattern.from_edges([(0, 1)], directed=True, negated=[ends]))
