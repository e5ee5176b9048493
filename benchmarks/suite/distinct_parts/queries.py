"""Questions for distinct rows of transfers, as text; the attributes are those of the suite `temporal`."""

from __future__ import annotations

PASSED = "(p)-[x]->(h)-[y]->(s)"

THRESHOLDS: dict[str, str] = {
    "five payers": f"{PASSED} RETURN DISTINCT h HAVING count(p) >= 5",
    "five payers, wires": "(p)-[:wire]->(h)-[:wire]->(s) RETURN DISTINCT h HAVING count(p) >= 5",
    "five payers, passed on within an hour": (
        f"{PASSED} WHERE x.time < y.time AND y.time - x.time < 1h RETURN DISTINCT h HAVING count(p) >= 5"
    ),
}
"""Accounts with at least five such payers."""

QUERIES: dict[str, str] = {
    **THRESHOLDS,
    "passes on": f"{PASSED} RETURN DISTINCT h",
    "payers and payees": f"{PASSED} RETURN DISTINCT p, s",
    "three go-betweens": f"{PASSED} RETURN DISTINCT p, s HAVING count(h) >= 3",
    "exactly one payer": f"{PASSED} RETURN DISTINCT h HAVING count(p) = 1",
    "two payers, at most three payees": f"{PASSED} RETURN DISTINCT h HAVING count(p) >= 2 AND count(s) <= 3",
    "in a ring of 3": f"{PASSED}-[z]->(p) RETURN DISTINCT h",
    "in two rings of 3": f"{PASSED}-[z]->(p) RETURN DISTINCT h HAVING count(*) >= 2",
    "edges of rings of 4": "(a)-->(b)-->(c)-->(d)-->(a) RETURN DISTINCT a, b",
    "firms that reach firms by cash": "(a:firm)-[:wire]->(b)-[:cash]->(c:firm)-->(d) RETURN DISTINCT a",
    "three hops from an account": "(a)-->(b)-->(c)-->(d) WHERE id(a) = 7 RETURN DISTINCT d",
    "passed on within a day, by pairs": f"{PASSED} WHERE x.time < y.time WITHIN 1d RETURN DISTINCT p, h",
    "gathered from three, then paid": (
        "(p)-[x]->(h)-[z]->(s), (q)-[y]->(h), (r)-[w]->(h) RETURN DISTINCT h, s HAVING count(p) >= 4"
    ),
}
