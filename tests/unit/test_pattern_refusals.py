"""Text that is no pattern: what the error says, and where it points."""

from __future__ import annotations

import pickle

import pytest
from rich.cells import cell_len

from motiflux import Pattern, PatternError, PatternSyntaxError

HERE = "¦"
"""Marks the place that the error must point at; it is taken out of the text."""

NOT_DISTINCT = "expected RETURN DISTINCT: without RETURN there is a row for each occurrence already"
CLAUSE = "is not supported: the text is a pattern and its conditions, no query"
MANY = (
    "makes a query of several patterns: give its text to count, match or estimate, or make it by Query.parse"
)
VARIABLE = f"a path of variable length {MANY}"
QUANTIFIED = "expected a length such as {1,4}: paths of any length are not supported"
CONJUNCTION = "a vertex or edge has one label: conjunctions are not supported, ':A|B' means A or B"
PATTERNS = "patterns in conditions are not supported"
ONE_SIDE = "only AND joins comparisons of two attributes: expected a value on one side"
LINEAR = "expected two attributes in a comparison with arithmetic, as in x.amount >= 0.9 * y.amount, found "
DIFFERENCE = "expected a duration in a difference of two times, as in y.time - x.time < 1h"
PRODUCTS = "expected a number times an attribute: products of attributes are not supported"
ALONE = "expected id(a) = 5 or id(a) IN [5, 6] by itself, joined by AND"
REGULAR = "regular expressions are not supported: use STARTS WITH, ENDS WITH or CONTAINS"
LABELS = "labels in conditions are not supported: write them at the vertex, as in (a:Person)"
TOGETHER = "only AND joins conditions on different vertices and edges"
MADE_EQUAL = (
    "vertices cannot be made equal: name one vertex in both places, or allow it with may_equal(a, b) or"
    " semantics='homomorphism'"
)
PAIR = "expected a <> b by itself, joined by AND: there is no other condition on two vertices"
WILDCARDS = "wildcards in strings are not supported: use STARTS WITH, ENDS WITH or CONTAINS"
ONLY_AND = "only AND joins negated edges, as in NOT (a)-->(b) AND a.x = 1"
NO_VERTEX = "expected a vertex of the pattern at one end of the negated edge"
PARENTHESES = "paths in parentheses are not supported: write each edge"
EDGE = "expected an edge such as '-->' or '--', ',', WHERE, WITHIN, OPTIONAL or the end"

REFUSED = [
    # What it ends too soon for, or goes on too long.
    ("¦", "expected a pattern such as (a)-->(b), found the end of the text"),
    ("¦ // nothing\n", "expected a pattern such as (a)-->(b), found the end of the text"),
    ("¦hello", "expected a pattern such as (a)-->(b), found 'hello'"),
    ("(a¦", "expected ':', '{', ')' or WHERE, found the end of the text"),
    ("(a:¦)--(b)", "expected a label, found ')'"),
    ("(a:A|¦)--(b)", "expected a name, found ')'"),
    ("(a¦|b)--(c)", "expected ':', '{', ')' or WHERE, found '|'"),
    ("(a)-¦", "expected '[' or '-', found the end of the text"),
    ("(a)--¦  # no more\n", "expected '(', '{' or '>', found the end of the text"),
    ("(a)-[x¦", "expected ':', '{', '*', ']' or WHERE, found the end of the text"),
    ("(a)--(b),¦", "expected a path such as (a)-->(b), found the end of the text"),
    ("(a)--(b)¦)", f"{EDGE}, found ')'"),
    ("(a)--(b); ¦(c)", "expected the end, found '('"),
    ("(a:Person)¦=>(b)", f"{EDGE}, found '=>'"),
    ("(a)-¦>(b)", "expected '-->', found '->'"),
    ("(a)-¦(b)", "expected '--', found '-'"),
    ("(a)~¦(b)", "expected '[' or '>', found '('"),
    ("(a)¦<-->(b)", "'<-->' is not supported: write '--' for an arc either way, or two edges"),
    ("(a)¦<-[x]->(b)", "'<-->' is not supported: write '--' for an arc either way, or two edges"),
    ("(a:¦'A)--(b)", 'this quote is not closed: expected another "\'"'),
    ('(a:¦"A)--(b)', "this quote is not closed: expected another '\"'"),
    ("(a:¦`A)--(b)", "this quote is not closed: expected another '`'"),
    ("(a)--(b) ¦/* for ever", "this comment is not closed: expected '*/'"),
    (r"(a:'x¦\q')--(b)", r"expected one of \\ \' \" \n \t \r \b \f \uXXXX \UXXXXXXXX, found '\\q'"),
    (r"(a:'x¦\u12')--(b)", r"expected one of \\ \' \" \n \t \r \b \f \uXXXX \UXXXXXXXX, found '\\u'"),
    (r"(a:'¦\U00110000')--(b)", None),
    ("(a:'it'¦'s')--(b)", None),
    ("(a)--(b)\n¦\x00", f"{EDGE}, found '\\x00'"),
    # Clauses and other parts of queries.
    *((f"(a)--(b) ¦{word} a", f"{word} {CLAUSE}") for word in ("WITH", "LIMIT", "ORDER", "SKIP")),
    *((f"¦{word} (a)--(b)", f"{word} {CLAUSE}") for word in ("CREATE", "MERGE", "UNWIND")),
    ("(a)--(b) ¦RETURN a", NOT_DISTINCT),
    ("MATCH (a)--(b) WHERE a.x = 1 ¦return a", NOT_DISTINCT),
    ("MATCH (a)--(b) ¦MATCH (b)--(c)", "expected one MATCH: separate its paths by commas"),
    ("¦OPTIONAL (a)--(b)", "OPTIONAL comes after a pattern, as in (a)-->(b) OPTIONAL (b)-->(c)"),
    ("(a)--(b) ¦OPTIONAL (b)--(c)", f"an OPTIONAL edge {MANY}"),
    ("¦p = (a)--(b)", f"a named path {MANY}"),
    ("MATCH ¦p=(a)--(b)", f"a named path {MANY}"),
    ("¦WALK (a)--(b)", f"a walk {MANY}"),
    ("p ¦< (a)--(b)", "expected '=' after the name of a path, found '<'"),
    ("(a)-[x]-(b)-[y]-(c) WHERE ¦increasing(x.t, y.t)", f"increasing(...) {MANY}"),
    ("¦shortestPath((a)--(b))", "shortest paths are not supported: write each edge"),
    ("MATCH ¦ANY (a)--(b)", "path selectors are not supported: all matches are found"),
    *((f"(a)-[{inside}]->(b)", VARIABLE) for inside in ("¦*", "¦*1..3", ":A¦*", ":A¦*2", "x:*¦*")),
    ("(a)-[:*¦1..3]->(b)", "expected a length such as *1..4 after labels, or without a colon"),
    ("(a)-[:A]->{¦1,3}(b)", VARIABLE),
    ("(a)¦-->{,}(b)", VARIABLE),
    ("(a)-[*2]->{¦2}(b)", "expected one length, in the brackets or after the edge"),
    *((f"(a)-[:A]->{inside}(b)", QUANTIFIED) for inside in ("¦+", "¦*", "¦?")),
    ("(a)--(b)¦{2}", QUANTIFIED),
    ("(a:¦!A)--(b)", "negated labels are not supported: list the labels that will do, as in ':A|B'"),
    ("(a:A¦&B)--(b)", CONJUNCTION),
    ("(a:A¦:B)--(b)", CONJUNCTION),
    ("(a)-[:A¦&B]-(b)", CONJUNCTION),
    ("(a:¦%)--(b)", "expected '*' for any label, or no label at all"),
    ("(a {x: ¦$y})--(b)", "parameters are not supported: write the value itself"),
    ("(a)--(b) WHERE a.x = ¦$x", "parameters are not supported: write the value itself"),
    # Names that stand for two things, or nothing.
    ("(a)-[x]-(b)-[¦x]-(c)", "expected a name that no vertex and no other edge has, found 'x' again"),
    ("(a)-[¦a]-(b)", "expected a name that no vertex and no other edge has, found 'a' again"),
    ("(a)-[x]-(b), (b)--(¦x)", "expected a name that no edge has, found 'x' again"),
    ("(a:A)--(b)--(a:¦B)", "vertex 'a' has other labels already: expected them once, or the same again"),
    ("(a:*)--(b)--(a:¦B)", "vertex 'a' has other labels already: expected them once, or the same again"),
    (
        "(payer)--(b) WHERE ¦payr.x = 1",
        "expected the name of a vertex or an edge, found 'payr' (did you mean 'payer'?)",
    ),
    ("(a)--(b) WHERE id(¦c) = 1", "expected the name of a vertex or an edge, found 'c'"),
    # What is no pattern as a whole.
    ("¦(a)", "expected 2 to 32 query vertices, found 1"),
    ("(a)¦-->(a)", "expected two different vertices, found 'a' twice: a graph has no self-loops"),
    ("(a)--(b), ¦(c)--(d)", "expected a connected pattern, found no path from vertex 'a' to 'c'"),
    ("(a)--(b), (c)--(a), ¦(d)", "expected a connected pattern, found no path from vertex 'a' to 'd'"),
    (
        "".join(f"(v{v})--" for v in range(32)) + "¦(v32)",
        "expected at most 32 query vertices, found one more",
    ),
    (
        ", ".join(f"(a)-[:{label}]-(b)" for label in range(1024)) + ", (a)¦--(b)",
        "expected at most 1024 query edges, found 1025",
    ),
    ("(a:¦" + "9" * 1001 + ")--(b)", "expected an integer of at most 1000 digits"),
    # Conditions that the grammar does not take.
    ("(a)--(b) WHERE¦", "expected a condition such as a.age > 30, found the end of the text"),
    ("(a)--(b) WHERE NOT¦", "expected a condition such as a.age > 30, found the end of the text"),
    ("(a)--(b) WHERE a.¦", "expected a name, found the end of the text"),
    ("(a)--(b) WHERE a.x >¦", "expected a value or an attribute such as a.age, found the end of the text"),
    ("(a)--(b) WHERE a.x IN¦", "expected '[', found the end of the text"),
    ("(a)--(b) WHERE a.x IN [1,¦", "expected a value, found the end of the text"),
    ("(a)--(b) WHERE (a.x = 1¦", None),
    (
        "(a)--(b) WHERE a.x ¦=~ 'x'",
        REGULAR,
    ),
    ("(a)--(b) WHERE a.x ¦== 1", "expected '=', found '=='"),
    ("(a)--(b) WHERE a.x = 1 ¦XOR a.y = 2", "XOR is not supported: use AND, OR and NOT"),
    ("(a)--(b) WHERE a.x ¦NOT IN [1]", "expected NOT before the condition, as in NOT a.kind IN [1, 2]"),
    ("(a)--(b) WHERE ¦a.x + 3 > 4", f"{LINEAR}1; write a value as one number"),
    ("(a)--(b) WHERE ¦a.x + b.x > a.y", f"{LINEAR}3; write a value as one number"),
    ("(a)--(b) WHERE ¦2 * 3 > 4 + 1", f"{LINEAR}none"),
    ("(a)--(b) WHERE ¦a.x - a.x < b.x", f"{LINEAR}1; write a value as one number"),
    ("(a)--(b) WHERE a.x * ¦b.x > 4", PRODUCTS),
    ("(a)--(b) WHERE 2 / ¦a.x > b.x", PRODUCTS),
    ("(a)--(b) WHERE a.x > b.x / ¦0", "expected a divisor that is not 0"),
    ("(a)--(b) WHERE a.x > b.x * ¦'2'", "expected a number, found '2'"),
    ("(a)--(b) WHERE a.x > b.x + ¦1e300", "expected a number of ordinary size"),
    ("(a)--(b) WHERE a.x ¦% 2 > b.x", "powers and remainders in conditions are not supported"),
    ("(a)--(b) WHERE a.x > 2 * ¦(b.x + 1)", "parentheses in arithmetic are not supported"),
    ("(a)--(b) WHERE ¦a.x > 2 * b.x + 1h", DIFFERENCE),
    ("(a)--(b) WHERE ¦a.x + b.x < 1h", DIFFERENCE),
    ("(a)--(b) WHERE ¦a.x - b.x < 1h + 2", DIFFERENCE),
    (
        "(a)--(b) WHERE a.x - b.x < ¦1m1h",
        "expected a duration such as 90s or 1h30m, the largest unit first, found '1m1h'",
    ),
    ("(a)--(b) WHERE a.x < ¦b.y OR a.x < b.x", ONE_SIDE),
    ("(a)--(b) WITHIN ¦-3d", "expected a span that is not negative, found -3d"),
    ("(a)--(b) WITHIN ¦'x'", "expected a number or a duration such as 3d, found 'x'"),
    ("(a)--(b) WITHIN ¦x", "text needs quotes: write 'x'"),
    ("(a)--(b) WHERE (a)¦-->(b)", PATTERNS),
    ("(a)--(b) WHERE NOT ((a)¦-->(b))", PATTERNS),
    # Negated edges.
    ("(a)-->(b) WHERE NOT (b)-[¦x]->(a)", "expected no name of an edge that is not there, found 'x'"),
    ("(a)-->(b), NOT (b)-->(¦z)", "expected the name of a vertex or an edge, found 'z'"),
    (
        "(a)-->(b) WHERE NOT (b)-->()-->¦(a)",
        "negated paths of several edges are not supported: NOT goes before one edge",
    ),
    ("(a)-->(b) WHERE a.x = 1 OR NOT ¦(b)-->(a)", ONLY_AND),
    ("(a)-->(b) WHERE NOT NOT ¦(b)-->(a)", ONLY_AND),
    ("(a)-->(b), ¦NOT (a)", "expected an edge after NOT, as in NOT (a)-->(b)"),
    (
        "(a)-->(b), NOT ¦(a)-->(a)",
        "expected two different vertices, found 'a' twice: a graph has no self-loops",
    ),
    ("(a)-->(b), NOT ¦()-->()", NO_VERTEX),
    ("(a)-->(b), NOT ¦(:A)--(:B)", NO_VERTEX),
    (
        "(a)-->(b), NOT ¦(a:A)-->(b)",
        "expected labels and conditions of 'a' outside of NOT: they would be negated",
    ),
    ("(a)-->(b) WHERE NOT ¦(a:A)", LABELS),
    (
        "(a)-->(b) WHERE NOT (b)-[WHERE ¦a.x = 1]->(a)",
        "expected a condition on this element alone: NOT goes before it",
    ),
    ("(a)-->(b)-->(c) WHERE ¦induced(a)", "induced: expected two different vertices or more, found 1"),
    ("(a)-->(b)-->(c) WHERE ¦induced(a, a, b)", "induced: expected different vertices, found 'a' twice"),
    (
        "(a)~>(b)-->(c) WHERE ¦induced(a, b)",
        "induced: expected edges with a direction, '-->' or '--', found one that follows the data graph",
    ),
    ("(a)-->(b)-->(c) WHERE may_equal(a, c :¦A)", "expected labels in induced(a, b :wire) alone"),
    ("(a)-->(b) WHERE NOT ¦induced(a, b)", "expected induced(a, b) by itself, joined by AND"),
    (
        "(a)--(b) WHERE a¦:Person",
        LABELS,
    ),
    ("(a)--(b) WHERE EXISTS ¦{ (a)--(b) }", "maps and subqueries in conditions are not supported"),
    ("(a)--(b) WHERE CASE ¦WHEN a.x = 1 THEN 1 END", "CASE is not supported"),
    # Conditions that mean nothing here.
    ("(a)--(b) WHERE a.x = 1 OR a.x > ¦b.x", ONE_SIDE),
    ("(a)--(b) WHERE NOT (a.x = 1 AND a.x > ¦b.x)", ONE_SIDE),
    ("(a)--(b) WHERE ¦a <> b OR a.x = 1", PAIR),
    ("(a)--(b) WHERE a.x = 1 OR NOT ¦a = b", PAIR),
    ("(a)--(b) WHERE a.x ¦BETWEEN 1 AND 5", "BETWEEN is not supported: write 1 <= a.age <= 5"),
    ("(a)--(b) WHERE a.x ¦like 'A%'", WILDCARDS),
    ("(a)--(b) WHERE a.x ¦ILIKE 'A%'", WILDCARDS),
    (
        "(a)--(b) WHERE a.b¦.c = 1",
        "attributes of attributes are not supported: a name with a dot is written as in a.`b.c`",
    ),
    ("(a)¦((x)-->(y))+(b)", PARENTHESES),
    ("(¦(a)-->(b))", PARENTHESES),
    ("(a)--(¦(b)-->(c))", PARENTHESES),
    (
        "(a WHERE x = ¦y)--(b)",
        "text needs quotes: write x = 'y'",
    ),
    # Text without quotes.
    ("(a)--(b) WHERE id(a) = ¦ann", "text needs quotes: write id(a) = 'ann'"),
    ("(a)--(b) WHERE ¦ann = id(a) AND b.x = 1", "text needs quotes: write id(a) = 'ann'"),
    ("(a)--(b) WHERE id(a) = ¦New York", "text needs quotes: write id(a) = 'New York'"),
    ("(a)--(b) WHERE id(a) IN [¦ann]", "text needs quotes: write 'ann'"),
    ("(a)--(b) WHERE a.name = ¦Jörg", "text needs quotes: write a.name = 'Jörg'"),
    ("(a)--(b) WHERE NOT a.name<> ¦New_York OR b.x = 1", "text needs quotes: write a.name <> 'New_York'"),
    ("(a)--(b) WHERE a.name = ¦New York AND b.x = 1", "text needs quotes: write a.name = 'New York'"),
    ("(a WHERE name = ¦New York)--(b)", "text needs quotes: write name = 'New York'"),
    ("(a)--(b) WHERE ¦Alice < a.name", "text needs quotes: write a.name > 'Alice'"),
    ("(0)--(b) WHERE 0.`my name` = ¦Alice", "text needs quotes: write 0.`my name` = 'Alice'"),
    ("(a)--(b) WHERE a.name STARTS WITH ¦Al", "text needs quotes: write a.name STARTS WITH 'Al'"),
    ("(a)--(b) WHERE a.name IN ['x', ¦Al]", "text needs quotes: write 'Al'"),
    ("(a)--(b) WHERE a.name IN ['x', ¦b.name]", "expected a value, found 'b'"),
    ("(a {name: ¦Al})--(b)", "text needs quotes: write name: 'Al'"),
    ("(a)--(b) WHERE a.size = ¦5km", "text needs quotes: write a.size = '5km'"),
    ("(a)-[e]-(b) WHERE e.when < ¦2024-03-01", "text needs quotes: write e.when < '2024-03-01'"),
    (
        "(a)-[e]-(b) WHERE '2024-01-01' <= e.when < ¦2024-03-01T12:00:00.5+02:00 AND a.x = 1",
        "text needs quotes: write e.when < '2024-03-01T12:00:00.5+02:00'",
    ),
    ("(a)-[e]-(b) WHERE e.when > ¦2024-03-01 12:00", "text needs quotes: write e.when > '2024-03-01 12:00'"),
    ("(a)-[e]-(b) WHERE e.when IN [¦2024-03-01]", "text needs quotes: write '2024-03-01'"),
    ("(a)-[{when: ¦2024-03-01}]-(b)", "text needs quotes: write when: '2024-03-01'"),
    ("(a)--(b) WHERE ¦a.x = 2024 - 03", f"{LINEAR}1; write a value as one number"),
    ("(a)--(b) WHERE a.x = b ¦RETURN a", NOT_DISTINCT),
    ("(a)--(b) WHERE a.x = b ¦XOR a.y = 2", "XOR is not supported: use AND, OR and NOT"),
    (
        "(a)--(b) WHERE a.x = ¦f(b)",
        "the function 'f' is not supported: there are id(a), degree(a), may_equal(a, b) and induced(a, b)",
    ),
    (
        "(a)--(b) WHERE a.x = 1 OR ¦b.x = 1",
        f"expected a condition on a alone, found b too: {TOGETHER}",
    ),
    (
        "(a)-[e]-(b) WHERE NOT (a.x = 1 AND ¦e.x = 1)",
        f"expected a condition on a alone, found e too: {TOGETHER}",
    ),
    ("(a)--(b) WHERE ¦1 < 2", "expected an attribute such as a.age on one side"),
    ("(a)--(b) WHERE ¦TRUE", "expected a condition such as a.age > 30, found TRUE"),
    ("(a)--(b) WHERE ¦a.x", "expected a comparison, as in a.x = TRUE"),
    ("(a)--(b) WHERE ¦a", "expected a comparison such as a.age > 30"),
    ("(a)--(b) WHERE ¦a > 3", "expected an attribute such as a.age"),
    ("(a)--(b) WHERE ¦3 IS NULL", "expected an attribute such as a.age, found 3"),
    ("(a)--(b) WHERE a.x = ¦NULL", "nothing equals NULL: expected IS NULL or IS NOT NULL"),
    ("(a)--(b) WHERE a.x IN [1, ¦NULL]", "nothing equals NULL: expected IS NULL or IS NOT NULL"),
    ("(a {x: ¦null})--(b)", "nothing equals NULL: expected IS NULL or IS NOT NULL"),
    ("(a)--(b) WHERE a.x STARTS WITH ¦3", "expected a string after STARTS WITH, found 3"),
    (
        "(a)--(b) WHERE ¦size(a.x) = 3",
        "the function 'size' is not supported: there are id(a), degree(a), may_equal(a, b) and induced(a, b)",
    ),
    (
        "(a)--(b) WHERE a.x = 1 OR ¦type(a) = 3",
        "the function 'type' is not supported: there are id(a), degree(a), may_equal(a, b) and induced(a, b)",
    ),
    ("(a)--(b) WHERE ¦elementId(a) IN ['3']", None),
    # Anchors.
    ("(a)--(b) WHERE ¦id(a) = 5 OR id(a) = 6", ALONE),
    ("(a)--(b) WHERE NOT ¦id(a) = 5", ALONE),
    ("(a)--(b) WHERE ¦id(a) > 5", ALONE),
    ("(a)--(b) WHERE ¦id(a) <> 5", ALONE),
    ("(a)--(b) WHERE ¦id(a)", "expected '=' or IN after id(...)"),
    ("(a)--(b) WHERE id(a) = ¦1.5", "expected a vertex id, an integer or a string, found 1.5"),
    ("(a)--(b) WHERE id(a) IN [1, ¦TRUE]", "expected a vertex id, an integer or a string, found TRUE"),
    ("(a)--(b) WHERE ¦id(a) IN []", "expected at least one id that vertex 'a' may have, found none"),
    (
        "(a)--(b) WHERE id(a) = 5 AND ¦id(a) IN [6, 7]",
        "expected at least one id that vertex 'a' may have, found none",
    ),
    ("(a)--(b) WHERE ¦id(a, b) = 3", "id: expected one vertex, found 2"),
    ("(a)-[x]-(b) WHERE id(¦x) = 3", "expected a vertex, found the edge 'x'"),
    # Vertices compared.
    (
        "(a)--(b)--(c) WHERE ¦a = c",
        MADE_EQUAL,
    ),
    ("(a)--(b)--(c) WHERE ¦a < c", "expected '<>' between vertices, found '<'"),
    ("(a)--(b)--(c) WHERE ¦a <> a", "expected two different vertices, found 'a' twice"),
    ("(a)-[x]-(b) WHERE a <> ¦x", "expected a vertex, found the edge 'x'"),
    ("(a)--(b)--(c) WHERE ¦may_equal(a, a)", "expected two different vertices, found 'a' twice"),
    ("(a)--(b)--(c) WHERE ¦may_equal(a)", "may_equal: expected two vertices, found 1"),
    ("(a)--(b)--(c) WHERE may_equal(a, ¦b.x)", "expected the name of a vertex"),
    ("(a)--(b)--(c) WHERE ¦may_equal(a, c) = TRUE", "expected may_equal(a, b) by itself, joined by AND"),
    ("(a)--(b)--(c) WHERE NOT ¦may_equal(a, c)", "expected may_equal(a, b) by itself, joined by AND"),
    (
        "(a)--(b)--(c) WHERE ¦may_equal(b, c)",
        "expected may_equal of vertices that no edge joins: a graph has no self-loops",
    ),
    (
        "(a)--(b)--(c) WHERE a <> c AND ¦may_equal(c, a)",
        "expected may_equal of vertices that are not said to be different",
    ),
    ("(a)--(b)--(c) WHERE may_equal(a, c) AND ¦c <> a", "these vertices may be equal: may_equal says so"),
]


@pytest.mark.parametrize(("marked", "message"), REFUSED, ids=[text[:60] for text, _ in REFUSED])
def test_the_error_says_what_is_wrong_and_points_at_it(marked: str, message: str | None) -> None:
    text, place = marked.replace(HERE, ""), marked.index(HERE)
    with pytest.raises(PatternSyntaxError) as caught:
        Pattern.parse(text)
    error = caught.value
    assert error.position == place
    assert (error.line, error.column) == (text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place))
    if message is not None:
        assert error.message == message
    assert str(error).startswith(f"line {error.line}, column {error.column}: {error.message}\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "(a:Person)=>(b)",
            ["  (a:Person)=>(b)", "            ^"],
        ),
        (
            "MATCH (a)--(b),\r\n  (b)==(c),\r\n  (c)--(a)",
            ["    (b)==(c),", "       ^"],
        ),
        (
            "(漢字:人|é)\t->(b)",
            ["  (漢字:人|é)\t->(b)", "             \t ^"],
        ),
        (
            "(e\u0301)--(\U0001f600)",
            None,
        ),
        (
            "(a\x1b[0m)--(b)",
            ["  (a\ufffd[0m)--(b)", "    ^"],
        ),
        (
            "(a), " * 30 + "(b)=(c)" + ", (d)" * 30,
            [
                "  ..." + ", (a)" * 11 + ", (b)=(c)" + ", (d)" * 7 + ",...",
                "  " + " " * 63 + "^",
            ],
        ),
    ],
)
def test_the_caret_stands_under_the_place(text: str, shown: list[str] | None) -> None:
    with pytest.raises(PatternSyntaxError) as caught:
        Pattern.parse(text)
    message, line, caret = str(caught.value).split("\n")
    assert message.startswith(f"line {caught.value.line}, column {caught.value.column}: ")
    if shown is not None:
        assert [line, caret] == shown
    if "\t" not in line and "..." not in line:
        before = text.split("\n")[caught.value.line - 1][: caught.value.column - 1]
        assert cell_len(caret) == cell_len(f"  {before.replace(chr(27), ' ')}^")


def test_it_is_a_pattern_error_and_can_be_pickled() -> None:
    with pytest.raises(PatternError) as caught:
        Pattern.parse("(a)\n--(a)")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is PatternSyntaxError
    assert str(again) == str(caught.value)
    assert (again.line, again.column, again.path) == (2, 1, None)


OR = " OR ".join(["a.x = 1"] * 5000)
DEEP = "expected conditions nested at most 50 deep"
HUGE = {
    "a million letters": ("(" + "a" * 1_000_000, "expected at most 100,000 characters, found 1,000,001"),
    "a hundred thousand parentheses": ("(" * 100_000, PARENTHESES),
    "as many in a condition": ("(a)--(b) WHERE " + "(" * 99_900, "expected a condition"),
    "as many brackets": ("(a)" + "-[" * 40_000, "expected"),
    "as many negations": ("(a)--(b) WHERE " + "NOT " * 20_000 + "a.x = 1", DEEP),
    "deep conditions": ("(a)--(b) WHERE " + "NOT (a.y = 1 OR " * 5_000 + "a.x = 1" + ")" * 5_000, DEEP),
    "quotes": ("(a:" + "'" * 99_000, "expected"),
    "comments": ("/* " * 33_000, "this comment is not closed"),
    "vertices": ("(a)--" * 19_000 + "(b)", "expected two different vertices"),
    "backslashes": ("(a:'" + "\\" * 99_001, "this quote"),
}  # fmt: skip


@pytest.mark.turns(8)
@pytest.mark.timeout(120)  # most take a few milliseconds; in quadratic time they would take very long
@pytest.mark.parametrize(("text", "message"), HUGE.values(), ids=HUGE.keys())
def test_huge_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(PatternSyntaxError, match=message) as caught:
        Pattern.parse(text)
    assert len(str(caught.value)) < 400


@pytest.mark.turns(8)
def test_large_text_that_means_something_is_read() -> None:
    pattern = Pattern.parse(f"(a)--(b) WHERE {'(' * 5000}{OR}{')' * 5000} AND id(b) IN {list(range(5000))}")
    assert len(pattern.vertices[1].ids or ()) == 5000
    assert Pattern.parse(str(pattern)) == pattern
