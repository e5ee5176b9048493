"""Queries of several patterns, and what DuckDB is asked in their place.

The SQL joins a table ``e(s, t, k, w)`` of edges with itself: source, target, kind, time; and ``v(i, l, x)``,
the vertices with their label and an attribute. Vertices differ, as in a pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise


@dataclass(frozen=True)
class Query:
    """A text, and the SQL that counts the same."""

    name: str
    text: str
    sql: str


def chain(names: Sequence[str], *, edges: str = "e", where: Sequence[str] = (), ordered: bool = False) -> str:
    """Count paths through vertices of these names, or the ring if the first is the last too."""
    steps = list(pairwise(names))
    at: dict[str, str] = {}
    tests = list(where)
    for number, ends in enumerate(steps):
        for name, column in zip(ends, "st", strict=True):
            here = f"e{number}.{column}"
            if name in at:
                tests.append(f"{here} = {at[name]}")
            else:
                at[name] = here
    tests += [f"{one} <> {other}" for one, other in combinations(at.values(), 2)]
    if ordered:
        tests += [f"e{number}.w < e{number + 1}.w" for number in range(len(steps) - 1)]
    tables = [f"{edges} e{number}" for number in range(len(steps))]
    for name in at:
        if name.isupper():  # a vertex whose row is needed: named by a capital letter
            tables.append(f"v {name}")
            tests.append(f"{name}.i = {at[name]}")
    return f"SELECT count(*) n FROM {', '.join(tables)} WHERE {' AND '.join(tests) or 'true'}"


def total(*parts: str) -> str:
    """Add counts."""
    return f"SELECT CAST(sum(n) AS BIGINT) FROM ({' UNION ALL '.join(parts)})"


def rings(least: int, most: int, **options: object) -> str:
    """Count rings of each length."""
    return total(*(chain([*"abcdef"[:size], "a"], **options) for size in range(least, most + 1)))  # type: ignore[arg-type]


def paths(least: int, most: int, **options: object) -> str:
    """Count paths of each length from A to B."""
    return total(
        *(chain(["A", *"cdefg"[: size - 1], "B"], **options) for size in range(least, most + 1))  # type: ignore[arg-type]
    )


WIRES = "(SELECT * FROM e WHERE k = 1)"
LABELS = ("A.l = 1", "B.l = 2")
DISTINCT_4 = "e0.s <> e1.s AND e0.s <> e1.t AND e0.t <> e1.s AND e0.t <> e1.t"
OPTIONAL_PATHS = (
    "WITH w AS (SELECT s f, -1 m, t l FROM e WHERE k = 1 UNION ALL SELECT x.s, x.t, y.t FROM e x JOIN e y"
    " ON y.s = x.t WHERE x.k = 1 AND y.k = 1 AND y.t <> x.s)"
    " SELECT count(*) n FROM e e0 JOIN v A ON A.i = e0.s AND A.l = 1 JOIN v B ON B.i = e0.t AND B.l = 2"
)
"""Edges between two labels, and paths of one or two edges from them, w, which are to be joined."""


QUERIES = (
    Query("rings of 3 and 4", "(a)-[*3..4]->(a)", rings(3, 4)),
    Query("rings of 3 to 5", "(a)-[*3..5]->(a)", rings(3, 5)),
    Query("rings of 3 to 6", "(a)-[*3..6]->(a)", rings(3, 6)),
    Query("rings of one kind", "(a)-[:1*3..5]->(a)", rings(3, 5, edges=WIRES)),
    Query("rings in order of time", "(a)-[p*3..4]->(a) WHERE increasing(p.w)", rings(3, 4, ordered=True)),
    Query("paths between labels", "(a:1)-[*1..3]->(b:2)", paths(1, 3, where=LABELS)),
    Query("paths of one kind", "(a:1)-[:1*2..4]->(b:2)", paths(2, 4, where=LABELS, edges=WIRES)),
    Query(
        "paths in order of time",
        "(a:1)-[p*1..3]->(b:2) WHERE increasing(p.w)",
        paths(1, 3, where=LABELS, ordered=True),
    ),
    Query(
        "paths with conditions at the ends",
        "(a)-[*1..3]->(b) WHERE a.x = 3 AND b.x = 4",
        paths(1, 3, where=("A.x = 3", "B.x = 4")),
    ),
    Query(
        "a path and an edge back",
        "(a)-[*1..3]->(b)-[:1]->(a)",
        total(
            *(
                chain([*names, names[0]], where=(f"e{len(names) - 1}.k = 1",))
                for names in ("ab", "acb", "acdb")
            )
        ),
    ),
    Query(
        "two paths",
        "(a:1)-[*1..2]->(b:2)-[*1..2]->(c:3)",
        total(
            *(
                chain(list(names), where=("A.l = 1", "B.l = 2", "C.l = 3"))
                for names in ("ABC", "AdBC", "ABdC", "AdBeC")
            )
        ),
    ),
    Query(
        "OR at an edge",
        "(a)-->(b) WHERE a.x = 1 OR b.x = 2",
        chain(["A", "B"], where=("(A.x = 1 OR B.x = 2)",)),
    ),
    Query(
        "OR at a wedge",
        "(a)-->(b)-->(c) WHERE a.x = 1 OR c.x = 2",
        chain(["A", "b", "C"], where=("(A.x = 1 OR C.x = 2)",)),
    ),
    Query(
        "NOT of AND at a triangle",
        "(a)-->(b)-->(c)-->(a) WHERE NOT (a.x > 4 AND b.x > 4 AND c.x > 4)",
        chain(["A", "B", "C", "A"], where=("NOT (A.x > 4 AND B.x > 4 AND C.x > 4)",)),
    ),
    Query(
        "OPTIONAL after an edge",
        "(a:1)-->(b) OPTIONAL (b)-[:1]->(c)",
        "SELECT count(*) n FROM e e0 JOIN v A ON A.i = e0.s AND A.l = 1"
        " LEFT JOIN e o ON o.s = e0.t AND o.k = 1 AND o.t <> e0.s",
    ),
    Query(
        "OPTIONAL after a wedge",
        "(a:1)-->(b)-->(c) OPTIONAL (c)-[:2]->(d)",
        "SELECT count(*) n FROM e e0 JOIN v A ON A.i = e0.s AND A.l = 1"
        " JOIN e e1 ON e1.s = e0.t AND e1.t <> e0.s"
        " LEFT JOIN e o ON o.s = e1.t AND o.k = 2 AND o.t <> e0.s AND o.t <> e0.t",
    ),
    Query(
        "OPTIONAL of a label",
        "(a)-->(b) OPTIONAL (b)-->(c:3)",
        "SELECT count(*) n FROM e e0 LEFT JOIN (SELECT e.* FROM e, v WHERE v.i = e.t AND v.l = 3) o"
        " ON o.s = e0.t AND o.t <> e0.s",
    ),
    Query(
        "two OPTIONAL edges",
        "(a:1)-->(b:2) OPTIONAL (a)-[:1]->(c) OPTIONAL (b)-[:1]->(d)",
        "SELECT count(*) n FROM e e0 JOIN v A ON A.i = e0.s AND A.l = 1 JOIN v B ON B.i = e0.t AND B.l = 2"
        " LEFT JOIN e o ON o.s = e0.s AND o.k = 1 AND o.t <> e0.t"
        " LEFT JOIN e q ON q.s = e0.t AND q.k = 1 AND q.t <> e0.s AND (o.t IS NULL OR q.t <> o.t)",
    ),
    Query(
        "OPTIONAL paths",
        "(a:1)-->(b:2) OPTIONAL (b)-[:1*1..2]->(c)",
        f"{OPTIONAL_PATHS} LEFT JOIN w ON w.f = e0.t AND w.m <> e0.s AND w.l <> e0.s",
    ),
    Query(
        "OPTIONAL paths to a label",
        "(a:1)-->(b:2) OPTIONAL (b)-[:1*1..2]->(c:3)",
        f"{OPTIONAL_PATHS} LEFT JOIN (SELECT w.* FROM w JOIN v C ON C.i = w.l AND C.l = 3) o"
        " ON o.f = e0.t AND o.m <> e0.s AND o.l <> e0.s",
    ),
    Query(
        "NOT within OR at a wedge",
        "(a)-->(b)-->(c) WHERE a.x = 1 OR NOT (c)-->(a)",
        "SELECT count(*) n FROM e e0 JOIN v A ON A.i = e0.s JOIN e e1 ON e1.s = e0.t AND e1.t <> e0.s"
        " WHERE A.x = 1 OR NOT EXISTS (SELECT 1 FROM e n WHERE n.s = e1.t AND n.t = e0.s)",
    ),
    Query(
        "two edges apart in order of time",
        "(a:1)-[x:1]->(b:2), (c:1)-[y:1]->(d:2) WHERE x.w < y.w",
        "WITH p AS (SELECT e.* FROM e, v A, v B WHERE A.i = e.s AND B.i = e.t AND A.l = 1 AND B.l = 2"
        f" AND e.k = 1) SELECT count(*) n FROM p e0, p e1 WHERE {DISTINCT_4} AND e0.w < e1.w",
    ),
    Query(
        "two edges apart",
        "(a:1)-[:1]->(b:2), (c:1)-[:1]->(d:2)",
        "WITH p AS (SELECT e.s, e.t FROM e, v A, v B WHERE A.i = e.s AND B.i = e.t AND A.l = 1 AND B.l = 2"
        f" AND e.k = 1) SELECT count(*) n FROM p e0, p e1 WHERE {DISTINCT_4}",
    ),
    Query(
        "a wedge and an edge apart",
        "(a:1)-[:1]->(b:2)-[:1]->(e:3), (c:3)-[:1]->(d:4)",
        "WITH p AS (SELECT e.s, e.t, A.l a, B.l b FROM e, v A, v B"
        " WHERE A.i = e.s AND B.i = e.t AND e.k = 1),"
        " w AS (SELECT x.s s, x.t m, y.t t FROM p x, p y"
        " WHERE x.t = y.s AND x.a = 1 AND x.b = 2 AND y.b = 3),"
        " q AS (SELECT s, t FROM p WHERE a = 3 AND b = 4)"
        " SELECT count(*) n FROM w, q WHERE w.t <> q.s",
    ),
)
