"""The examples of the page of definitions say what motiflux does."""

from __future__ import annotations

import doctest
import re

from tests.data_paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "reference" / "semantics.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_example_prints_what_the_page_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert blocks
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    names: dict[str, object] = {}
    report: list[str] = []
    for block in blocks:
        line = text.count("\n", 0, block.start(1))
        example = doctest.DocTestParser().get_doctest(block[1], names, PAGE.name, str(PAGE), line)
        runner.run(example, out=report.append, clear_globs=False)
        names.update(example.globs)
    assert not runner.failures, "".join(report)
