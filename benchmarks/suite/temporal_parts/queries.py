"""Patterns with comparisons over transfers, as text; the suite, and the tests of SQL, take them.

Edges have a label (``wire``, ``card``, ``cash``) and the attributes ``time`` (a datetime), ``amount`` (a
float), ``cents`` (the same as an integer) and ``fee`` (a float that is missing at some). Vertices have a
label (``person``, ``firm``) and the attributes ``country`` (a string), ``opened`` (a datetime) and ``limit``
(an integer).
"""

from __future__ import annotations

SPAN = "3d"


def ring(size: int, *, ordered: bool = True, falling: bool = True, span: str = SPAN, label: str = "") -> str:
    """Return a ring in order of time, within a span, whose amounts fall by at most 10 % from edge to edge."""
    kind = f":{label}" if label else ""
    paths = ", ".join(f"(a{at})-[e{at}{kind}]->(a{(at + 1) % size})" for at in range(size))
    conditions = []
    if ordered:
        conditions.append(" < ".join(f"e{at}.time" for at in range(size)))
    if falling:
        pairs = [(f"e{at - 1}.amount", f"e{at}.amount") for at in range(1, size)]
        conditions += [f"{after} <= {before} AND {after} >= 0.9 * {before}" for before, after in pairs]
    text = f"{paths} WHERE {' AND '.join(conditions)}" if conditions else paths
    return f"{text} WITHIN {span}" if span else text


def chain(size: int, *, label: str = "", hour: str = "1d") -> str:
    """Return a path of transfers, each soon after the one before."""
    kind = f":{label}" if label else ""
    paths = "".join(f"-[e{at}{kind}]->(a{at + 1})" for at in range(size))
    order = " < ".join(f"e{at}.time" for at in range(size))
    soon = " AND ".join(f"e{at}.time - e{at - 1}.time < {hour}" for at in range(1, size))
    return f"(a0){paths} WHERE {order} AND {soon}"


PASSED_ON = "(a)-[x]->(b)-[y]->(c)"
THREE_IN_A_DAY = "WHERE x.time < y.time < z.time WITHIN 1d"
TRIANGLE = "(a)-[x]->(b)-[y]->(c)-[z]->(a)"

QUERIES: dict[str, str] = {
    "passed on": f"{PASSED_ON} WHERE x.time < y.time",
    "passed on within an hour": f"{PASSED_ON} WHERE x.time < y.time AND y.time - x.time < 1h",
    "passed on, less a fee": f"{PASSED_ON} WHERE x.time < y.time AND 0.9 * x.amount <= y.amount <= x.amount",
    "passed on, in whole cents": f"{PASSED_ON} WHERE x.time < y.time AND 9 * x.cents <= 10 * y.cents",
    "passed on, the same amount": f"{PASSED_ON} WHERE x.cents = y.cents AND x.time <= y.time",
    "passed on in another way": "(a)-[x:wire]->(b)-[y:cash|card]->(c) WHERE x.time <= y.time <= x.time + 1d",
    "passed on within a day": f"{PASSED_ON} WITHIN 1d",
    "passed on, larger than twice": f"{PASSED_ON} WHERE y.amount > 2 * x.amount + 10 WITHIN 5d",
    "passed on, large together": f"{PASSED_ON} WHERE x.cents + y.cents >= 150000 AND x.time < y.time",
    "passed on, a higher fee": f"{PASSED_ON} WHERE y.fee > x.fee AND x.time < y.time",
    "passed on, not the same amount": f"{PASSED_ON} WHERE x.amount <> y.amount WITHIN 12h",
    "large wires passed on": (
        "(a)-[x:wire WHERE amount > 500]->(b)-[y:wire WHERE amount > 100]->(c) WHERE x.time < y.time"
    ),
    "there and back": "(a)-[x]->(b)-[y]->(a) WHERE x.time < y.time AND y.amount >= 0.9 * x.amount",
    "there, back and there again": "(a)-[x]->(b)-[y]->(a), (a)-[z]->(b) WHERE x.time < y.time < z.time",
    "two of one pair": "(a)-[x]->(b), (a)-[y]->(b) WHERE x.time <= y.time AND y.amount < x.amount",
    "two kinds of one pair": "(a)-[x:wire]->(b), (a)-[y:card]->(b) WHERE x.time < y.time WITHIN 2d",
    "abroad": "(a)-[x]->(b) WHERE a.country <> b.country AND x.amount > 100",
    "before the account was opened": "(a)-[x]->(b)-[y]->(c) WHERE x.time < b.opened AND x.time < y.time",
    "above the limit of the payee": "(a)-[x]->(b:firm) WHERE x.cents > 100 * b.limit",
    "abroad and home again": "(a)-[x]->(b)-[y]->(c) WHERE a.country = c.country AND a.country <> b.country "
    "AND x.time < y.time WITHIN 2d",
    "two payees in order of ids": "(a)-[x]->(b), (a)-[y]->(c) WHERE id(b) < id(c) WITHIN 1d",
    "either way": "(a)-[x]-(b)-[y]-(c) WHERE x.time < y.time WITHIN 6h",
    "gathered, then paid": f"(p)-[x]->(h)-[z]->(s), (q)-[y]->(h) {THREE_IN_A_DAY}",
    "paid to three in a day": f"(h)-[x]->(p), (h)-[y]->(q), (h)-[z]->(r) {THREE_IN_A_DAY}",
    "paid by three in a day": f"(p)-[x]->(h), (q)-[y]->(h), (r)-[z]->(h) {THREE_IN_A_DAY}",
    "two ways at once": "(a)-[x]->(b)-[y]->(d), (a)-[u]->(c)-[v]->(d) WHERE x.time < y.time "
    "AND u.time < v.time AND id(b) < id(c) WITHIN 4d",
    "ring of 3": ring(3),
    "ring of 3 in order": ring(3, falling=False, span=""),
    "ring of 3 within the span": ring(3, ordered=False, falling=False),
    "ring of 3, one edge at any time": f"{TRIANGLE} WHERE x.time < y.time",
    "ring of 3, comparisons in a ring": (
        f"{TRIANGLE} WHERE x.time < y.time AND y.amount < z.amount AND z.cents < 2 * x.cents"
    ),
    "ring of 4": ring(4),
    "ring of 4 in order": ring(4, falling=False),
    "ring of 5": ring(5),
    "ring of 6": ring(6),
    "chain of 3": chain(3),
    "chain of 4 wires": chain(4, label="wire"),
}
