"""Error messages for values that are text and have no quotes."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from motiflux.pattern.parser.refusals import CLAUSES

_DATE = re.compile(
    r"(?<![\w.-])\d{4}-\d{1,2}-\d{1,2}"
    r"(?:[Tt ]\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:[Zz]|[+-]\d\d(?::?\d\d)?)?)?(?!\w)",
    re.ASCII,
)
_WORD = re.compile(r"[^\W\d]\w*\b(?!\s*[(.])")
_OTHER_WORDS = (
    "AND OR XOR NOT IN IS STARTS ENDS CONTAINS WHERE WHEN BETWEEN LIKE ILIKE MATCHES SIMILAR MATCH"
    " TRUE FALSE NULL"
)
_TEXT = rf"(?!(?i:{'|'.join(f'{_OTHER_WORDS} {CLAUSES}'.split())})\b)\w+"
_WORDS = re.compile(rf"{_TEXT}(?:[ \t]+{_TEXT})*(?!\w|\s*[(.])")
_AFTER = re.compile(rf"(?:<=|>=|<>|!=|=|<|>)\s*(?=\d*[^\W\d])(?P<words>{_WORDS.pattern})")
_COMPARED = re.compile(
    r"(?i)(?:\bid\s*\(\s*[\w`]+\s*\)|[\w.`]+)(?:\s*(?:<=|>=|<>|!=|=|<|>|:)|\s+(?:STARTS\s+WITH|ENDS\s+WITH|CONTAINS))\s*\Z"
)


def unquoted(text: str, position: int, accepted: AbstractSet[str]) -> tuple[str, int] | None:
    """Return the error and its place, if the character at `position` belongs to text without quotes.

    Parameters
    ----------
    position
        The place that the grammar does not take; only the `accepted` terminals are allowed there.
    """
    for date in _DATE.finditer(text):
        if date.start() < position < date.end():
            return _error(text, date.start(), date[0])
    if "FLOAT" in accepted and "WORD" not in accepted and (word := _WORD.match(text, position)):
        return _error(text, position, word[0])
    if "_AND" in accepted:
        for several in _AFTER.finditer(text):
            if several.start("words") < position < several.end():
                return _error(text, several.start("words"), several["words"])
    return None


def needs_quotes(compared: str, value: str) -> str:
    """Return the error of a value without quotes; `compared` is the text before it, which is shown again."""
    return f"text needs quotes: write {compared}'{value}'"


def _error(text: str, start: int, value: str) -> tuple[str, int]:
    before = _COMPARED.search(text, 0, start)
    return needs_quotes(before[0] if before else "", value), start
