"""Scripts of `benchmarks/` that no other test runs use what the package has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(BENCHMARKS.rglob("*.py"))


def missing(source: str) -> Iterator[str]:
    """Give the names that a script imports from the package, and that the package lacks."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or (node.module or "").partition(".")[0] != "motiflux":
            continue
        assert node.module is not None
        for name in node.names:
            try:
                if not hasattr(import_module(node.module), name.name):
                    import_module(f"{node.module}.{name.name}")
            except ModuleNotFoundError as error:
                if not (error.name or "").startswith("motiflux"):
                    raise
                yield f"{node.module}: {name.name}"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_what_a_script_imports_is_there(script: Path) -> None:
    assert list(missing(script.read_text())) == []


def test_names_that_are_gone_are_found() -> None:
    source = (
        "from motiflux import Graph, gone\nfrom motiflux.gone import plan\nfrom motiflux.gpu import engine\n"
    )
    assert list(missing(source)) == ["motiflux: gone", "motiflux.gone: plan"]
