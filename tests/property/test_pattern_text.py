"""Every pattern prints as text that reads back; every text is a pattern, or is refused at a place in it."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from motiflux import Pattern, PatternSyntaxError, QueryEdge, QueryVertex
from motiflux.conditions import AllOf, AnyOf, Comparison, Condition, IsMissing, Not, OneOf, Operator
from motiflux.pattern.where import TEXT_OPERATORS

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
MANY = {"default": 80, "long": 4000}
"""Examples by depth: more than other tests draw, as each takes little time."""
"""Times the examples of a profile: these are cheap."""
FUZZED = 100_000
KEPT = 100
"""Damaged texts that are patterns still, to be damaged further."""

WORDS = st.sampled_from(
    ["a", "b1", "_", "é", "漢字", "where", "Not", "id", "a b", "", "`", "'", "-1", "07", "_1"]
)
ANY_TEXT = st.text(st.characters(codec=None), max_size=6)
NAMES = WORDS | ANY_TEXT
INTEGERS = st.integers() | st.integers(0, 9)
LABELS = st.none() | st.frozensets(NAMES | INTEGERS, min_size=1, max_size=3)
FLOATS = st.floats(allow_nan=False)
VALUES = st.booleans() | INTEGERS | FLOATS | NAMES


def comparisons() -> st.SearchStrategy[Comparison]:
    """Draw comparisons of any kind."""
    ordered = st.sampled_from([operator for operator in Operator if operator not in TEXT_OPERATORS])
    return st.builds(Comparison, NAMES, ordered, VALUES) | st.builds(
        Comparison, NAMES, st.sampled_from(sorted(TEXT_OPERATORS)), NAMES
    )


def conditions() -> st.SearchStrategy[Condition]:
    """Draw conditions in any form: patterns make one of the many."""
    among = st.builds(OneOf, NAMES, st.lists(VALUES, max_size=3).map(tuple))
    alone: st.SearchStrategy[Condition] = comparisons() | among | st.builds(IsMissing, NAMES)
    return st.recursive(
        alone,
        lambda inner: (
            st.builds(Not, inner)
            | st.builds(AllOf, st.lists(inner, min_size=1, max_size=3).map(tuple))
            | st.builds(AnyOf, st.lists(inner, min_size=1, max_size=3).map(tuple))
        ),
        max_leaves=6,
    )


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    """Draw a pattern with anything that a pattern may have."""
    size = draw(st.integers(2, 5))
    names = draw(st.lists(NAMES, min_size=2 * size, max_size=2 * size, unique=True))
    wheres = st.none() | conditions()
    ids = st.none() | st.frozensets(INTEGERS | NAMES, min_size=1, max_size=3)
    vertices = tuple(
        QueryVertex(name, draw(LABELS), draw(ids), draw(wheres))
        for name in draw(st.permutations(names[:size]))
    )
    tree = [(draw(st.integers(0, vertex - 1)), vertex) for vertex in range(1, size)]
    pairs = [(u, v) for u in range(size) for v in range(size) if u != v]
    ends = draw(st.permutations(tree + draw(st.lists(st.sampled_from(pairs), max_size=size))))
    edge_names = iter(names[size:])
    edges = tuple(
        QueryEdge(
            *draw(st.sampled_from([pair, pair[::-1]])),
            draw(LABELS),
            draw(st.sampled_from([None, False, True])),
            next(edge_names, "") if draw(st.booleans()) else "",
            draw(wheres),
        )
        for pair in ends
    )
    joined = {frozenset(pair) for pair in ends}
    apart = [pair for pair in combinations(range(size), 2) if frozenset(pair) not in joined]
    coinciding = draw(st.lists(st.sampled_from(apart))) if apart else []
    return Pattern(vertices, edges, may_coincide=tuple(coinciding))


@pytest.mark.turns(8)
@pytest.mark.parametrize("depth", DEPTHS)
def test_what_prints_reads_back(depth: str) -> None:
    @settings(settings.get_profile(depth), max_examples=MANY[depth])
    @given(patterns())
    def holds(pattern: Pattern) -> None:
        text = str(pattern)
        again = Pattern.parse(text)
        assert again == pattern
        assert str(again) == text  # tells apart what is equal and not the same: 1, 1.0 and TRUE

    holds()


def read_or_refuse(text: str) -> Pattern | None:
    """Parse, and look at the place that an error names."""
    try:
        return Pattern.parse(text)
    except PatternSyntaxError as error:
        refused = error
    assert 0 <= refused.position <= len(text)
    lines = text.split("\n")
    assert 1 <= refused.line <= len(lines)
    assert 1 <= refused.column <= len(lines[refused.line - 1]) + 1
    assert refused.message
    assert len(str(refused).split("\n")) == 3
    return None


BRACKETS = "( ) [ ] { }"
SIGNS = r""", : ; | & ! * + ? . .. $ = <> <= >= < > - -- --> <-- <-[ ]-> ~ ~> <~ => =~ # // /* */ ' " ` \ """
PARTS = (
    "(a) (b) (a:A) () --(b) -[x]- -[:A|B]->(c) a b a.x id(a) may_equal(a,b) 1 -2 3.5 1e9 'text' :A :* :3 é 漢"
)
KEYWORDS = "MATCH WHERE AND OR NOT IN NULL TRUE FALSE RETURN WITH LIMIT"
PIECES = (
    *BRACKETS.split(),
    *SIGNS.split(),
    *PARTS.split(),
    *KEYWORDS.split(),
    *("STARTS WITH", "ENDS WITH", "CONTAINS", "IS NULL", "IS NOT NULL"),
    *(" ", "\n", "\r\n", "\t", "\u0301", "\x00", "\ud800"),
)

VALID = (
    "(a:Person)-[:KNOWS]->(b), (b)--(c), (c)-[x:A|B]-(a)",
    "MATCH (0)~>(1)<~[e]~(2) WHERE id(0) IN [1, 'a'] AND e.w < 1.5 AND may_equal(0, 2);",
    "(a {x: 1})--(`b c`:'l m'|3 WHERE n IS NOT NULL OR NOT m CONTAINS 'q')-[WHERE t > 2]->(a)",
    '(a)--(b) // comment\nWHERE 1 <= a.x < 5 AND (a.y = TRUE OR a.z STARTS WITH "p\\u0041") /* end */',
)


@pytest.mark.parametrize("depth", DEPTHS)
def test_any_text_is_read_or_refused(depth: str) -> None:
    @settings(settings.get_profile(depth), max_examples=MANY[depth])
    @given(st.text(st.characters(codec=None)) | st.lists(st.sampled_from(PIECES)).map("".join))
    @example("(a)--/* (b)")
    @example("(a)--// (b)")
    def holds(text: str) -> None:
        read_or_refuse(text)

    holds()


def mutated(text: str, chance: random.Random) -> str:
    """Return `text` with a few places left out, doubled, swapped or overwritten."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.choice((0, 1, 1, 2, 5, 20)))
        piece = chance.choice((*PIECES, chr(chance.randrange(0x110000)), text[start:end] * 2, ""))
        text = text[:start] + piece + text[end:]
    return text


def fuzz(rounds: int, seed: int) -> int:
    """Parse mutated texts; return how many were patterns."""
    chance, read = random.Random(seed), 0
    texts = list(VALID)
    for _ in range(rounds):
        text = mutated(chance.choice(texts), chance)
        pattern = read_or_refuse(text)
        if pattern is not None:
            read += 1
            assert Pattern.parse(str(pattern)) == pattern
            if len(text) < 300:  # what has changed and is still a pattern changes further
                texts[len(VALID) + read % KEPT : len(VALID) + read % KEPT + 1] = [text]
    return read


def test_damaged_text_is_read_or_refused() -> None:
    assert fuzz(1_000, seed=1) > 50


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_much_damaged_text_is_read_or_refused() -> None:
    assert fuzz(FUZZED, seed=2) > 5_000
