"""Patterns as text: what each form means, and that what is printed reads back."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from motiflux import ArgumentError, Pattern, PatternBuilder, QueryEdge, QueryVertex
from motiflux.conditions import AllOf, AnyOf, Comparison, Condition, IsMissing, Not, OneOf, Operator
from motiflux.pattern import as_pattern
from motiflux.pattern.parser import parse as parser
from motiflux.pattern.parser import tables
from motiflux.pattern.parser.syntax import TextError


def parse(text: str) -> Pattern:
    """Parse, after a look at what prints reads back."""
    pattern = Pattern.parse(text)
    again = Pattern.parse(str(pattern))
    assert again == pattern
    assert str(again) == str(pattern)
    return pattern


def names(pattern: Pattern) -> list[str]:
    return [vertex.name for vertex in pattern.vertices]


def arcs(pattern: Pattern) -> list[tuple[str, str, bool | None]]:
    listed = names(pattern)
    return [(listed[edge.source], listed[edge.target], edge.directed) for edge in pattern.edges]


def where(text: str) -> Condition | None:
    """The condition on x that the text after WHERE states."""
    vertex = parse(f"(x)--(y) WHERE {text}").vertices[0]
    assert vertex.name == "x"
    return vertex.where


def is_(operator: str, value: Any, attribute: str = "a") -> Comparison:
    return Comparison(attribute, Operator(operator), value)


class TestPaths:
    @pytest.mark.parametrize(
        ("edge", "expected"),
        [
            ("--", ("a", "b", False)),
            ("-[]-", ("a", "b", False)),
            ("-->", ("a", "b", True)),
            ("-[]->", ("a", "b", True)),
            ("<--", ("b", "a", True)),
            ("<-[]-", ("b", "a", True)),
            ("~>", ("a", "b", None)),
            ("~[]~>", ("a", "b", None)),
            ("<~", ("b", "a", None)),
            ("<~[]~", ("b", "a", None)),
            (" - [ ] - > ", ("a", "b", True)),
        ],
    )
    def test_an_edge_states_its_direction(self, edge: str, expected: tuple[str, str, bool | None]) -> None:
        pattern = parse(f"(a){edge}(b)")
        assert names(pattern) == ["a", "b"]
        assert arcs(pattern) == [expected]

    def test_a_path_may_be_long_and_there_may_be_several(self) -> None:
        pattern = parse("(a)-->(b)<--(c)--(d), (d)~>(a)")
        assert arcs(pattern) == [("a", "b", True), ("c", "b", True), ("c", "d", False), ("d", "a", None)]

    def test_vertices_are_ordered_as_first_mentioned(self) -> None:
        assert names(parse("(z)--(y)--(x)--(z), (x)--(w)")) == ["z", "y", "x", "w"]
        assert names(parse("(c), (a), (a)--(b)--(c)")) == ["c", "a", "b"]

    def test_vertices_without_a_name_are_each_another_one(self) -> None:
        pattern = parse("(a)--()--(), ()--(a)")
        assert names(pattern) == ["a", "_1", "_2", "_3"]
        assert names(parse("()--(_1)--()")) == ["_2", "_1", "_3"]

    def test_an_edge_named_like_an_unnamed_vertex_gets_out_of_its_way(self) -> None:
        assert names(parse("()-[_1]-()")) == ["_2", "_3"]

    def test_a_query_edge_listed_twice_counts_once(self) -> None:
        assert parse("(a)-[:A]->(b), (a)-[:A]->(b)").num_edges == 1
        assert parse("(a)-[:A]->(b), (b)<-[x:A]-(a)").edges[0].name == "x"
        assert parse("(a)-[x:A]->(b), (a)-[y:A]->(b)").num_edges == 2

    @pytest.mark.parametrize(
        "text",
        [
            "MATCH (a)--(b)",
            "match(a)--(b);",
            " \t\r\n(a)--(b) ; \n",
            "// first\n(a)--(b) # second\n/* third\n fourth */",
            "# (c)--(d)\n(a)/**/-/*-*/-(b)",
            "(a)--(b)// no end of line",
        ],
    )
    def test_what_stands_around_changes_nothing(self, text: str) -> None:
        assert parse(text) == parse("(a)--(b)")

    def test_the_name_is_given_beside(self) -> None:
        assert Pattern.parse("(a)--(b)", name="pair").name == "pair"

    def test_words_of_the_language_serve_as_names_where_they_cannot_be_meant(self) -> None:
        pattern = parse("(match:Where)-[not:in]->(return), (return)--(limit)")
        assert names(pattern) == ["match", "return", "limit"]
        assert names(parse("(`where`)--(b)")) == ["where", "b"]


class TestLabels:
    @pytest.mark.parametrize(
        ("written", "labels"),
        [
            ("", None),
            (":*", None),
            (": A", {"A"}),
            (":A|B | C", {"A", "B", "C"}),
            (":A|A", {"A"}),
            (":3", {3}),
            (":-1|0", {-1, 0}),
            (":007", {7}),
            (":'3'", {"3"}),
            (':3|"three"', {3, "three"}),
            (":`a b`", {"a b"}),
            (":`back``tick`", {"back`tick"}),
            (r":'it\'s'", {"it's"}),
            (r':"\\\"\n\t\u00e9\U0001F600"', {'\\"\n\té😀'}),
            (":''|``", {""}),
            (":漢字|été", {"漢字", "été"}),
            (":_x1", {"_x1"}),
        ],
    )
    def test_a_choice_of_labels(self, written: str, labels: set[int | str] | None) -> None:
        expected = None if labels is None else frozenset(labels)
        pattern = parse(f"(a{written})-[x{written}]-({written}), (a)-[{written}]->(b)")
        assert [pattern.vertices[0].labels, pattern.vertices[1].labels] == [expected, expected]
        assert [edge.labels for edge in pattern.edges] == [expected, expected]

    def test_labels_may_come_with_any_mention_and_again(self) -> None:
        pattern = parse("(a)--(b:B|C), (b)--(a:A), (a:A)--(c)--(b:C|B)")
        assert [vertex.labels for vertex in pattern.vertices] == [{"A"}, {"B", "C"}, None]


class TestNames:
    def test_vertices_may_be_called_by_numbers(self) -> None:
        pattern = parse("(0)--(1)--(-1), (007)--(0) WHERE 0.x = 1 AND id(1) = 2 AND `007`.y = 2")
        assert names(pattern) == ["0", "1", "-1", "007"]
        assert pattern.vertices[0].where == is_("=", 1, "x")
        assert pattern.vertices[1].ids == {2}
        assert pattern.vertices[3].where == is_("=", 2, "y")

    def test_quoted_names_hold_any_characters(self) -> None:
        pattern = parse("('a b')--(\"c,d\")-[`e:f`]-(``) WHERE `a b`.`x y` = 1 AND `e:f`.z = 2")
        assert names(pattern) == ["a b", "c,d", ""]
        assert pattern.vertices[0].where == is_("=", 1, "x y")
        assert (pattern.edges[1].name, pattern.edges[1].where) == ("e:f", is_("=", 2, "z"))


class TestConditions:
    @pytest.mark.parametrize(
        ("text", "condition"),
        [
            ("x.a = 1", is_("=", 1)),
            ("x.a <> 1", is_("<>", 1)),
            ("x.a != 1", is_("<>", 1)),
            ("x.a<-1", is_("<", -1)),
            ("x.a <= 1.5", is_("<=", 1.5)),
            ("x.a > 1e3", is_(">", 1000.0)),
            ("x.a >= -2.5E-1", is_(">=", -0.25)),
            ("x.a = 'text'", is_("=", "text")),
            ('x.a = "it\'s"', is_("=", "it's")),
            ("x.a = true", is_("=", True)),
            ("x.a = FALSE", is_("=", False)),
            ("10000 < x.a", is_(">", 10000)),
            ("1 = x.a", is_("=", 1)),
            ("1 <= x.a < 5", AllOf((is_(">=", 1), is_("<", 5)))),
            ("x.a IN [1, 'b', 2.5, TRUE]", OneOf("a", (1, "b", 2.5, True))),
            ("x.a in []", OneOf("a", ())),
            ("x.a STARTS WITH 'b'", is_("STARTS WITH", "b")),
            ("x.a ends\n with 'b'", is_("ENDS WITH", "b")),
            ("x.a CONTAINS 'b'", is_("CONTAINS", "b")),
            ("x.a IS NULL", IsMissing("a")),
            ("x.a is not null", Not(IsMissing("a"))),
            ("NOT x.a IS NULL", Not(IsMissing("a"))),
            ("NOT x.a = 1", Not(is_("=", 1))),
            ("NOT NOT x.a = 1", Not(Not(is_("=", 1)))),
            ("x.a = 1 OR x.b = 2", AnyOf((is_("=", 1), is_("=", 2, "b")))),
            ("x.a = 1 AND x.b = 2", AllOf((is_("=", 1), is_("=", 2, "b")))),
            ("(x.a = 1 AND (x.b = 2))", AllOf((is_("=", 1), is_("=", 2, "b")))),
            ("NOT (x.a = 1 OR x.a = 2)", Not(AnyOf((is_("=", 1), is_("=", 2))))),
            (
                "x.a = 1 AND x.a = 2 OR x.a = 3",
                AnyOf((AllOf((is_("=", 1), is_("=", 2))), is_("=", 3))),
            ),
            (
                "x.a = 1 AND (x.a = 2 OR x.a = 3)",
                AllOf((is_("=", 1), AnyOf((is_("=", 2), is_("=", 3))))),
            ),
        ],
    )
    def test_a_condition_means(self, text: str, condition: Condition) -> None:
        assert repr(where(text)) == repr(condition)

    def test_and_hands_conditions_to_what_they_are_about(self) -> None:
        pattern = parse("(x)-[e]->(y) WHERE x.a = 1 AND (e.b = 2 AND y.c = 3) AND x.d = 4")
        assert pattern.vertices[0].where == AllOf((is_("=", 1), is_("=", 4, "d")))
        assert pattern.vertices[1].where == is_("=", 3, "c")
        assert pattern.edges[0].where == is_("=", 2, "b")

    def test_braces_are_equalities(self) -> None:
        pattern = parse("(x:P {a: 'b', `c d`: 2})-[:wire {kind: TRUE}]->(y {})")
        assert pattern.vertices[0].where == AllOf((is_("=", "b"), is_("=", 2, "c d")))
        assert pattern.edges[0].where == is_("=", True, "kind")
        assert pattern.vertices[1].where is None

    def test_inside_an_element_its_attributes_need_no_name(self) -> None:
        pattern = parse("(x:P WHERE a = 1 AND x.b = 2)-[WHERE 10 < amount OR amount IS NULL]->(y)")
        assert pattern.vertices[0].where == AllOf((is_("=", 1), is_("=", 2, "b")))
        assert pattern.edges[0].where == AnyOf((is_(">", 10, "amount"), IsMissing("amount")))
        assert (pattern.edges[0].name, pattern.edges[0].labels) == ("", None)

    def test_all_that_is_said_of_one_vertex_is_joined(self) -> None:
        pattern = parse("(x {a: 1})--(y), (x {b: 2})--(z) WHERE x.c = 3")
        assert pattern.vertices[0].where == AllOf((is_("=", 1), is_("=", 2, "b"), is_("=", 3, "c")))

    def test_a_number_beyond_all_floats_is_infinite_and_prints(self) -> None:
        assert where("x.a < 1e999") == is_("<", float("inf"))
        assert where("x.a > -1e999") == is_(">", float("-inf"))


class TestAnchors:
    @pytest.mark.parametrize(
        ("text", "ids"),
        [
            ("id(x) = 5", {5}),
            ("5 = ID(x)", {5}),
            ("id(x) = 'ann'", {"ann"}),
            ("id(x) IN [1, -2, 'a']", {1, -2, "a"}),
            ("id(x) IN [1, 2, 3] AND id(x) IN [2, 3, 4]", {2, 3}),
            ("id('x') = 1", {1}),
        ],
    )
    def test_ids_say_which_vertex_it_may_be(self, text: str, ids: set[int | str]) -> None:
        pattern = parse(f"(x)--(y) WHERE {text}")
        assert pattern.vertices[0].ids == ids
        assert pattern.vertices[1].ids is None

    def test_anchors_and_conditions_stand_together(self) -> None:
        pattern = parse("(x)--(y WHERE id(y) = 7 AND a = 1) WHERE id(x) = 3 AND y.b = 2")
        assert [vertex.ids for vertex in pattern.vertices] == [{3}, {7}]
        assert pattern.vertices[1].where == AllOf((is_("=", 1), is_("=", 2, "b")))


class TestEquality:
    def test_may_equal_lets_a_pair_coincide(self) -> None:
        pattern = parse("(a)--(b)--(c)--(d) WHERE may_equal(c, a) AND MAY_EQUAL(a, d) AND may_equal(a, c)")
        assert pattern.may_coincide == ((0, 2), (0, 3))

    def test_inequality_is_so_already(self) -> None:
        assert parse("(a)--(b)--(c) WHERE a <> c AND b != c AND a <> b <> c") == parse("(a)--(b)--(c)")


class TestPrinting:
    @pytest.mark.parametrize(
        "text",
        [
            "(a:Person)-[:KNOWS]->(b), (b)--(c)",
            "(a)-[x:A|B]-(b:3|x)",
            "(0)~>(1), (1)~>(2)",
            "(a)~[:A]~>(b)",
            "(a:P), (b), (c), (a)-->(c), (c)-->(b)",
            "(a)-[:wire WHERE amount > 3]->(b)",
            "(a)-[WHERE amount > 3 OR kind IN ['x']]->(b)",
            "(a)-[x]->(b) WHERE id(a) = 1 AND a.age >= 18 AND id(b) IN [1, 2, 'c'] AND x.n IS NOT NULL",
            "(a)--(b) WHERE (a.x = 1 OR a.y = 2) AND NOT (a.z = 3 AND a.z = 4)",
            "(a)--(b), (b)--(c) WHERE may_equal(a, c)",
            "(`a b`:`not`)--(`AND`) WHERE `a b`.`in` STARTS WITH 'it\\'s'",
        ],
    )
    def test_ordinary_text_prints_as_it_is_written(self, text: str) -> None:
        assert str(parse(text)) == text

    def test_what_python_makes_prints(self) -> None:
        built = (
            PatternBuilder()
            .vertex("payer", {"person", 7}, ids=[3, "x"])
            .vertex("payee", where=is_("=", "\n\u200b😀'\\"))
            .vertex("we`ird\n")
            .edge("payee", "payer", name="back", where=is_(">", float("inf")))
            .edge("payer", "we`ird\n", "", directed=True, where=Not(IsMissing("a b")))
            .may_coincide("we`ird\n", "payee")
            .build()
        )
        assert parse(str(built)) == built
        assert (
            str(built) == "(payer:7|person), (payee), (`we``ird\n`), (payee)~[back]~>(payer),"
            " (payer)-[:`` WHERE `a b` IS NOT NULL]->(`we``ird\n`)"
            " WHERE id(payer) IN [3, 'x'] AND payee.a = '\\n\\u200b😀\\'\\\\' AND back.a > 1e999"
            " AND may_equal(payee, `we``ird\n`)"
        )

    def test_repr_stays_short(self) -> None:
        assert repr(parse("(a)--(b)")) == "Pattern(2 vertices, 1 edge)"


class TestAsPattern:
    def test_a_pattern_stays_and_text_is_parsed(self) -> None:
        pattern = Pattern((QueryVertex("a"), QueryVertex("b")), (QueryEdge(0, 1, directed=False),))
        assert as_pattern(pattern) is pattern
        assert as_pattern("(a)--(b)") == pattern

    @pytest.mark.parametrize("value", [None, 3, b"(a)--(b)", ["(a)--(b)"]])
    def test_anything_else_is_refused(self, value: object) -> None:
        with pytest.raises(ArgumentError, match=r"pattern: expected .*, its text, or a graph of networkx"):
            as_pattern(value)

    def test_only_text_is_parsed(self) -> None:
        with pytest.raises(ArgumentError, match="text: expected a string, found 3"):
            Pattern.parse(3)  # type: ignore[arg-type]


@pytest.mark.turns(8)
def test_the_parser_library_is_loaded_by_the_first_text_only() -> None:
    code = (
        "import sys, motiflux as mf; mf.PatternBuilder; str(mf.Pattern.from_edges([(0, 1)])); "
        "print('lark' in sys.modules, 'networkx' in sys.modules); "
        "mf.Pattern.parse('(a)--(b)'); print('lark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]


def test_the_tables_of_the_parser_are_of_its_grammar() -> None:
    assert parser.grammar_checksum() == tables.GRAMMAR, "python scripts/write_grammar.py writes them anew"


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    "text",
    [
        "(a:person {age: 3})-[:knows|likes]->(b), (b)<--(c) WHERE a.age > 3 AND NOT id(b) IN [1, 2]",
        "(a)--(b",
        "(a)-->(b)=(c)",
        "(a)--(b) WHERE a.x ==",
    ],
)
def test_tables_and_grammar_make_the_same_parser(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def parsed() -> str:
        parser._parser.cache_clear()
        try:
            return repr(parser.checked_tree(text))
        except TextError as error:
            return f"{error.position}: {error.message}"

    by_tables = parsed()
    monkeypatch.setattr(tables, "LARK", "another version")
    by_grammar = parsed()
    parser._parser.cache_clear()
    assert by_tables == by_grammar
