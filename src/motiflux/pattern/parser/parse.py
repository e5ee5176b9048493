"""From text to a pattern. Imported when the first text is parsed: so is the parser library."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from zlib import crc32

import lark
from lark import Lark, Token, UnexpectedInput, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from motiflux.errors import ArgumentError, PatternSyntaxError
from motiflux.pattern.parser.refusals import end_refusal, refusal
from motiflux.pattern.parser.resolve import Q, resolve
from motiflux.pattern.parser.syntax import PatternText, TextError
from motiflux.pattern.parser.tree_builder import TreeBuilder
from motiflux.pattern.parser.unquoted import unquoted

MAX_TEXT = 100_000
"""Most characters of a text: it is read in a second, and lists of ids beyond it are better made in Python."""

_AT_START = frozenset({"_MATCH", "LEFT_PARENTHESIS"})
_NO_QUERY = (
    "RETURN DISTINCT is no part of a pattern: count, match and explain take it behind one, or distinct= names"
    " the vertices"
)
_NOT_DISTINCT = "expected RETURN DISTINCT: without RETURN there is a row for each occurrence already"
_MOST_TEXTS, _SHORT = 256, 2000
"""Number of texts whose patterns are cached, and their greatest length."""
_GRAMMAR = Path(__file__).with_name("grammar.lark")
TABLES_FILE = Path(__file__).with_name("tables.py")
"""Made by ``scripts/write_grammar.py``."""


def parse_pattern(text: str, name: str, pattern_class: Callable[..., Q]) -> Q:
    """Return the pattern that `text` describes, as an object of `pattern_class`; see `Pattern.parse`.

    Raises
    ------
    PatternSyntaxError
        With the text found and the text expected, and a caret under the place.
    """
    if not isinstance(text, str):
        raise ArgumentError("text", "a string", text)
    return _cached(text, name, pattern_class) if len(text) <= _SHORT else _parsed(text, name, pattern_class)


def _parsed(text: str, name: str, pattern_class: Callable[..., Q]) -> Q:
    try:
        return resolve(pattern_tree(text), name, pattern_class)
    except TextError as fault:
        raise PatternSyntaxError(fault.message, text, fault.position) from None


_cached = lru_cache(_MOST_TEXTS)(_parsed)
"""`_parsed` with its last results: patterns do not change."""


def pattern_tree(text: str) -> PatternText:
    """Return the syntax tree of a text that has no RETURN DISTINCT.

    Raises
    ------
    TextError
        As `checked_tree`; or there is RETURN DISTINCT.
    """
    tree = checked_tree(text)
    if tree.returned is not None:
        raise TextError(_NO_QUERY, tree.returned.start)
    return tree


def checked_tree(text: str) -> PatternText:
    """Return the syntax tree of a text, with names that are not resolved.

    Raises
    ------
    TextError
        The text is too long, or the grammar does not accept it.
    """
    if len(text) > MAX_TEXT:
        raise TextError(f"expected at most {MAX_TEXT:,} characters, found {len(text):,}", MAX_TEXT)
    parser = _parser().parse_interactive(text)
    try:
        parser.exhaust_lexer()
        tree: PatternText = parser.feed_eof(_last_token(parser))  # type: ignore[no-untyped-call]
    except UnexpectedInput as error:
        raise _text_error(text, parser, error) from None
    return tree


def _text_error(text: str, parser: InteractiveParser, error: UnexpectedInput) -> TextError:
    accepted: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
    if isinstance(error, UnexpectedToken) and error.token.type == "$END" and accepted != {"COMPARISON"}:
        last = _last_token(parser)
        return TextError(end_refusal(accepted), (last.end_pos or 0) if last else 0)
    found = error.token.start_pos if isinstance(error, UnexpectedToken) else error.pos_in_stream
    assert found is not None
    parts = parser.parser_state.value_stack
    if accepted == {"COMPARISON"} and parts:
        # A word that could name a path, but no '=' comes after it: the word is the mistake.
        found = (parts[-1].start_pos if isinstance(parts[-1], Token) else parts[-1].start) or 0
        return TextError(refusal(text, found, _AT_START, in_condition=False), found)
    if accepted == {"_DISTINCT"}:
        return TextError(_NOT_DISTINCT, parts[-1].start_pos)
    if (fault := unquoted(text, found, accepted)) is not None:
        return TextError(*fault)
    in_condition = any(isinstance(part, Token) and part.type in ("WHERE", "HAVING") for part in parts)
    return TextError(refusal(text, found, accepted, in_condition=in_condition), found)


def _last_token(parser: InteractiveParser) -> Token | None:
    state = parser.lexer_thread.state
    return state.last_token if state else None


@cache
def _parser() -> Lark:
    """Return the parser: from its tables if they are of this version of lark, which is ten times as fast."""
    from motiflux.pattern.parser import tables

    if lark.__version__ == tables.LARK:
        return Lark._load_from_dict(tables.TABLES, tables.MEMO, transformer=TreeBuilder())  # type: ignore[no-any-return,no-untyped-call]
    return made_parser(transformer=TreeBuilder())


def made_parser(transformer: TreeBuilder | None = None) -> Lark:
    """Return a parser that is made from the grammar."""
    grammar = _GRAMMAR.read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", transformer=transformer)


def grammar_checksum() -> int:
    """Return a checksum of the grammar."""
    return crc32(_GRAMMAR.read_bytes())
