"""Write the tables of the parser of pattern text, which take longer to make than a small search.

    python scripts/write_grammar.py

A test compares the grammar with the one that the tables are of. Another version of lark than theirs makes its
own tables from the grammar.
"""

from __future__ import annotations

from pprint import pformat

import lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

from motiflux.pattern.parser import parse

TEXT = '''\
"""Made by scripts/write_grammar.py from grammar.lark: what lark makes of it."""

from typing import Any

LARK = "{version}"
"""Version of lark that these are for."""
GRAMMAR = {checksum}
"""Checksum of the grammar."""
TABLES: dict[str, Any] = {data}
MEMO: dict[int, Any] = {memo}
'''


def main() -> None:
    """Write them."""
    data, memo = parse.made_parser().memo_serialize([TerminalDef, Rule])
    shown = {"data": pformat(data, width=109, compact=True), "memo": pformat(memo, width=109, compact=True)}
    text = TEXT.format(version=lark.__version__, checksum=parse.grammar_checksum(), **shown)
    parse.TABLES_FILE.write_text(text, encoding="utf-8")
    print(f"{parse.TABLES_FILE}: {len(text):,} characters")


if __name__ == "__main__":
    main()
