"""From text to a pattern. Imported when the first text is parsed: so is the parser library."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from lark import Lark, Token, UnexpectedInput, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from motiflux.errors import ArgumentError, PatternSyntaxError
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.refusals import end_refusal, refusal
from motiflux.pattern.resolve import resolve
from motiflux.pattern.syntax import PatternText, TextError, TreeBuilder

MAX_TEXT = 100_000
"""Most characters of a text: it is read in a second, and lists of ids beyond it are better made in Python."""

_MOST_TEXTS, _SHORT = 256, 2000
"""Texts whose patterns are remembered, and how long they are at most."""
_GRAMMAR = Path(__file__).with_name("grammar.lark")


def parse_pattern(text: str, name: str = "") -> Pattern:
    """Return the pattern that `text` describes; see `Pattern.parse`.

    Raises
    ------
    PatternSyntaxError
        Saying what was found and what was expected, with a caret under the place.
    """
    if not isinstance(text, str):
        raise ArgumentError("text", "a string", text)
    return _known(text, name) if len(text) <= _SHORT else _parsed(text, name)


@lru_cache(_MOST_TEXTS)
def _known(text: str, name: str) -> Pattern:
    """Return the pattern of a text, the same if it was asked for not long ago: patterns do not change."""
    return _parsed(text, name)


def _parsed(text: str, name: str) -> Pattern:
    try:
        if len(text) > MAX_TEXT:
            raise TextError(f"expected at most {MAX_TEXT:,} characters, found {len(text):,}", MAX_TEXT)
        return resolve(_tree_of(text), name)
    except TextError as fault:
        raise PatternSyntaxError(fault.message, text, fault.position) from None


def _tree_of(text: str) -> PatternText:
    parser = _parser().parse_interactive(text)
    try:
        parser.exhaust_lexer()
        tree: PatternText = parser.feed_eof(_last_token(parser))  # type: ignore[no-untyped-call]
    except UnexpectedInput as error:
        raise _text_error(text, parser, error) from None
    return tree


def _text_error(text: str, parser: InteractiveParser, error: UnexpectedInput) -> TextError:
    accepted: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        last = _last_token(parser)
        return TextError(end_refusal(accepted), (last.end_pos or 0) if last else 0)
    found = error.token.start_pos if isinstance(error, UnexpectedToken) else error.pos_in_stream
    assert found is not None
    parts = parser.parser_state.value_stack
    in_condition = any(isinstance(part, Token) and part.type == "WHERE" for part in parts)
    return TextError(refusal(text, found, accepted, in_condition=in_condition), found)


def _last_token(parser: InteractiveParser) -> Token | None:
    state = parser.lexer_thread.state
    return state.last_token if state else None


@cache
def _parser() -> Lark:
    return Lark(
        _GRAMMAR.read_text(encoding="utf-8"),
        parser="lalr",
        lexer="contextual",
        transformer=TreeBuilder(),
    )
