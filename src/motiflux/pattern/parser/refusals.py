"""Error messages for text that the grammar does not accept."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

CLAUSES = (
    "CALL CREATE DELETE DETACH EXPLAIN FILTER FINISH FOR FOREACH INSERT LET LIMIT LOAD MERGE OFFSET"
    " ORDER PROFILE REMOVE RETURN SET SKIP UNION UNWIND USE USING WITH YIELD"
)
"""The first words of clauses of openCypher and GQL."""
_CLAUSE = re.compile(rf"(?i)(?:{'|'.join(CLAUSES.split())})\b")
_MATCH = re.compile(r"(?i)MATCH\b")
_UNCLOSED = (
    (re.compile(r"/\*"), "this comment is not closed: expected '*/'"),
    (re.compile(r"'"), 'this quote is not closed: expected another "\'"'),
    (re.compile(r'"'), "this quote is not closed: expected another '\"'"),
    (re.compile(r"`"), "this quote is not closed: expected another '`'"),
    (re.compile(r"\$"), "parameters are not supported: write the value itself"),
)
_IN_PARENTHESES = "paths in parentheses are not supported: write each edge"
_IN_PATTERN = (
    (re.compile(r"(?i)OPTIONAL\b"), "OPTIONAL comes after a pattern, as in (a)-->(b) OPTIONAL (b)-->(c)"),
    (re.compile(r"(?i)NOT\b"), "expected an edge after NOT, as in NOT (a)-->(b)"),
    (re.compile(r"(?i)(?:ALL|ANY|SHORTEST)\b"), "path selectors are not supported: all matches are found"),
    (re.compile(r"(?i)(?:all)?shortestPaths?\s*\("), "shortest paths are not supported: write each edge"),
    (re.compile(r"!"), "negated labels are not supported: list the labels that will do, as in ':A|B'"),
    (
        re.compile(r"[&:]"),
        "a vertex or edge has one label: conjunctions are not supported, ':A|B' means A or B",
    ),
    (re.compile(r"%"), "expected '*' for any label, or no label at all"),
    (re.compile(r"\(\s*\("), _IN_PARENTHESES),
)
_IN_CONDITION = (
    (re.compile(r"=~"), "regular expressions are not supported: use STARTS WITH, ENDS WITH or CONTAINS"),
    (re.compile(r"=="), "expected '=', found '=='"),
    (re.compile(r"(?i)XOR\b"), "XOR is not supported: use AND, OR and NOT"),
    (re.compile(r"(?i)NOT\b"), "expected NOT before the condition, as in NOT a.kind IN [1, 2]"),
    (re.compile(r"(?i)WHEN\b"), "CASE is not supported"),
    (re.compile(r"(?i)BETWEEN\b"), "BETWEEN is not supported: write 1 <= a.age <= 5"),
    (
        re.compile(r"(?i)(?:I?LIKE|MATCHES|SIMILAR)\b"),
        "wildcards in strings are not supported: use STARTS WITH, ENDS WITH or CONTAINS",
    ),
    (
        re.compile(r"\.\s*(?:[^\W\d]|`)"),
        "attributes of attributes are not supported: a name with a dot is written as in a.`b.c`",
    ),
    (re.compile(r":"), "labels in conditions are not supported: write them at the vertex, as in (a:Person)"),
    (re.compile(r"\{"), "maps and subqueries in conditions are not supported"),
    (re.compile(r"-->|--|->|<-"), "patterns in conditions are not supported"),
    (re.compile(r"[%^]"), "powers and remainders in conditions are not supported"),
    (re.compile(r"\("), "parentheses in arithmetic are not supported"),
)
_VARIABLE_LENGTH = "expected a length such as *1..4 after labels, or without a colon"
_QUANTIFIED = "expected a length such as {1,4}: paths of any length are not supported"

_NAMES = frozenset({"WORD", "BACKTICKED", "STRING", "INTEGER"})
_PATH_MARKS = frozenset({"WALK", "WORD", "BACKTICKED"})
_VALUES = frozenset({"STRING", "INTEGER", "FLOAT", "DURATION", "TRUE", "FALSE", "NULL"})
_COMPARISONS = frozenset({"COMPARISON", "_IN", "TEXT_OPERATOR", "IS_NULL", "IS_NOT_NULL"})
_ARITHMETIC = frozenset({"PLUS", "LINE", "STAR", "SLASH"})
_GROUPS = (
    # Where all of the first may stand, the phrase is said for all of the second.
    (
        {"_MATCH", "LEFT_PARENTHESIS"},
        {"_MATCH", "LEFT_PARENTHESIS"} | _PATH_MARKS,
        "a pattern such as (a)-->(b)",
    ),
    ({"WALK", "LEFT_PARENTHESIS"}, {"LEFT_PARENTHESIS"} | _PATH_MARKS, "a path such as (a)-->(b)"),
    ({"NOT", "WORD"}, {"NOT", "LEFT_PARENTHESIS"} | _NAMES | _VALUES, "a condition such as a.age > 30"),
    ({"FLOAT", "WORD"}, _NAMES | _VALUES, "a value or an attribute such as a.age"),
    ({"FLOAT"}, _VALUES, "a value"),
    ({"STAR", "WORD"}, {"STAR"} | _NAMES, "a label"),
    ({"WORD"}, _NAMES, "a name"),
    ({"LINE", "LESS"}, {"LINE", "LESS", "WAVE"}, "an edge such as '-->' or '--'"),
    ({"COMPARISON"}, _COMPARISONS | _ARITHMETIC, "a comparison such as '='"),
    ({"SLASH"}, _ARITHMETIC, "arithmetic such as '*'"),
)
_ONE_BY_ONE = {
    "LEFT_PARENTHESIS": "'('",
    "LSQB": "'['",
    "DOT": "'.'",
    "COLON": "':'",
    "LBRACE": "'{'",
    "VBAR": "'|'",
    "LINE": "'-'",
    "WAVE": "'~'",
    "GREATER": "'>'",
    "STAR": "'*'",
    "_UP_TO": "'..'",
    "INTEGER": "a number",
    "_AND": "AND",
    "_OR": "OR",
    "COMMA": "','",
    "RPAR": "')'",
    "RSQB": "']'",
    "RBRACE": "'}'",
    "WHERE": "WHERE",
    "WITHIN": "WITHIN",
    "OPTIONAL": "OPTIONAL",
    "_DISTINCT": "DISTINCT",
    "HAVING": "HAVING",
    "$END": "the end",
}
_RUN = re.compile(r"[-<>=~!*+|&^%/.]{1,12}")
_WORD = re.compile(r"\w{1,30}")


def refusal(text: str, position: int, accepted: AbstractSet[str], *, in_condition: bool) -> str:
    """Return the error in `text` at `position`, where only the `accepted` terminals are allowed."""
    return _by_name(text, position, accepted, in_condition=in_condition) or (
        f"expected {_expected(accepted)}, found {_found(text, position)}"
    )


def end_refusal(accepted: AbstractSet[str]) -> str:
    """Return the error in text that ends where one of the `accepted` terminals is needed."""
    return f"expected {_expected(accepted)}, found the end of the text"


def _by_name(text: str, position: int, accepted: AbstractSet[str], *, in_condition: bool) -> str | None:
    """Return the message for well-known syntax that the language does not have; None for other text."""
    clause = _CLAUSE.match(text, position)
    if clause:
        return f"{clause[0].upper()} is not supported: the text is a pattern and its conditions, no query"
    if _MATCH.match(text, position):
        return "expected one MATCH: separate its paths by commas"
    if accepted == {"LINE", "LSQB"} and text.startswith((">", "("), position):
        return "expected '-->', found '->'" if text.startswith(">", position) else "expected '--', found '-'"
    if not in_condition and "RPAR" in accepted and text.startswith("(", position):
        return _IN_PARENTHESES
    if not in_condition and (message := _repetition(text, position, accepted)):
        return message
    for known, message in _UNCLOSED + (_IN_CONDITION if in_condition else _IN_PATTERN):
        if known.match(text, position):
            return message
    return None


def _repetition(text: str, position: int, accepted: AbstractSet[str]) -> str | None:
    """Return the message for ``:*1..3`` in brackets, and for ``*``, ``+`` and ``?`` after them."""
    if "RSQB" in accepted and re.search(r":\s*\*\s*\Z", text[:position]) and text[position].isdigit():
        return _VARIABLE_LENGTH
    after_edge = {"LEFT_PARENTHESIS", "LBRACE"} <= accepted <= {"LEFT_PARENTHESIS", "LBRACE", "GREATER"}
    after_element = after_edge or ("LINE" in accepted and "LESS" in accepted)
    return _QUANTIFIED if after_element and text[position : position + 1] in tuple("*+?{") else None


def _expected(accepted: AbstractSet[str]) -> str:
    left, phrases = set(accepted), []
    for needed, covered, phrase in _GROUPS:
        if needed <= left:
            phrases.append(phrase)
            left -= covered
    phrases += [phrase for terminal, phrase in _ONE_BY_ONE.items() if terminal in left]
    return " or ".join(part for part in (", ".join(phrases[:-1]), phrases[-1]) if part)


def _found(text: str, position: int) -> str:
    run = _RUN.match(text, position) or _WORD.match(text, position)
    return repr(run[0] if run else text[position])
