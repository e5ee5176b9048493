"""Patterns with negated edges over transfers, as text; the suite, and the tests of SQL, take them.

Labels and attributes are those of `temporal_parts/queries.py`.
"""

from __future__ import annotations

QUERIES: dict[str, str] = {
    "passed on, not back": "(a)-->(b)-->(c), NOT (c)-->(a)",
    "passed on by wire, never direct": "(a)-[:wire]->(b)-[:wire]->(c), NOT (a)-->(c)",
    "wire that no cash answers": "(a)-[:wire]->(b), NOT (b)-[:cash]->(a)",
    "large wire, no large one back": (
        "(a)-[x:wire WHERE x.amount > 400]->(b), NOT (b)-[:wire WHERE amount > 400]->(a)"
    ),
    "payee that pays nobody": "(a)-->(b), NOT (b)-->()",
    "payee that pays no firm by card": "(a)-[:card]->(b), NOT (b)-[:card]->(:firm)",
    "first of a chain": "(a)-[:wire]->(b)-[:wire]->(c), NOT ()-[:wire]->(a)",
    "two payers who do not know each other": "(a)-[:wire]->(c)<-[:wire]-(b), NOT (a)--(b)",
    "ring of 3, one way": "(a)-->(b)-->(c)-->(a), NOT (a)-->(c), NOT (c)-->(b), NOT (b)-->(a)",
    "ring of 4 without a chord": "(a)-->(b)-->(c)-->(d)-->(a), NOT (a)--(c), NOT (b)--(d)",
    "firm between persons": "(a:person)-->(f:firm)-->(b:person), NOT (a)--(b)",
    "gathered and passed on, not back": (
        "(p)-[:wire]->(h)-[:wire]->(s), (q)-[:cash]->(h), NOT (s)-->(p), NOT (s)-->(q)"
    ),
    "diamond without a short cut": (
        "(a)-[:wire]->(b)-[:wire]->(d), (a)-[:card]->(c)-[:card]->(d), NOT (a)-->(d)"
    ),
    "induced path of wires": "(a)-[:wire]->(b)-[:wire]->(c) WHERE induced(a, b, c :wire)",
}

WATCHED = (
    "passed on by wire, never direct",
    "wire that no cash answers",
    "two payers who do not know each other",
    "ring of 3, one way",
    "firm between persons",
    "payee that pays nobody",
    "first of a chain",
)
"""Those that monitors watch; the negated edges of the last two are to any vertex."""
