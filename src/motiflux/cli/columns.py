"""The options that say which column of a table means what, the same on every command that reads a graph."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import typer


def column(text: str) -> str | int:
    """Take a column by name, or by position: digits."""
    if not text:
        raise typer.BadParameter("expected the name or the position of a column, found nothing")
    return int(text) if text.isdecimal() and text.isascii() else text


def columns(text: str) -> list[str | int]:
    """Take several columns, with commas between; nothing is none of them."""
    return [column(part) for part in text.split(",")] if text else []


def separator(text: str) -> str:
    r"""Take a separator; a tab may be written as ``\t``, which shells pass on as it is."""
    return "\t" if text == r"\t" else text


_PANEL = "Graphs that are tables (.csv, .parquet and the like)"


def _option(name: str, metavar: str, parser: Callable[[str], Any], text: str, default: str) -> Any:
    # The type is what typer shows; the parser gives what is wanted.
    option = typer.Option(
        name, metavar=metavar, parser=parser, help=text, show_default=default, rich_help_panel=_PANEL
    )
    return Annotated[Any, option]


def _flag(names: str, text: str) -> Any:
    option = typer.Option(
        names, metavar="", help=text, show_default="unless its ids are integers", rich_help_panel=_PANEL
    )
    return Annotated[bool | None, option]


OPTIONS = {
    "src": _option(
        "--src",
        "COLUMN",
        column,
        "The sources of edges, by name or position.",
        "src, source, from, or the first",
    ),
    "dst": _option("--dst", "COLUMN", column, "The targets of edges.", "dst, target, to, or the second"),
    "label": _option("--label", "COLUMN", column, "The labels of edges.", "label"),
    "time": _option("--time", "COLUMN", column, "The times of edges.", "time, timestamp"),
    "attributes": _option(
        "--attributes", "COLUMNS", columns, "The attributes of edges, with commas between.", "all others"
    ),
    "vertices": _option(
        "--vertices", "FILE", Path, "A table of the vertices: id, label, attributes.", "none"
    ),
    "vertex_id": _option("--vertex-id", "COLUMN", column, "The ids in it.", "id, or the first"),
    "vertex_label": _option("--vertex-label", "COLUMN", column, "The labels in it.", "label"),
    "sep": _option(
        "--sep", "TEXT", separator, r"What stands between fields of text; \t is a tab.", "as the suffix says"
    ),
    "header": _flag("--header/--no-header", "Whether the first line of text names the columns."),
    "vertices_header": _flag(
        "--vertices-header/--no-vertices-header", "Whether that of the table of vertices does."
    ),
}

_said: ContextVar[dict[str, Any] | None] = ContextVar("said", default=None)


def said() -> dict[str, Any]:
    """Return what the command line says of columns: keywords of `motiflux.read_graph`."""
    return dict(_said.get() or {})


def with_columns(run: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command these options.

    No command looks at them: what they say goes past it to where graphs are read.
    """
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in OPTIONS.items()
    ]

    @functools.wraps(run)
    def taking(**options: Any) -> Any:
        token = _said.set({name: value for name in OPTIONS if (value := options.pop(name)) is not None})
        try:
            return run(**options)
        finally:
            _said.reset(token)

    signature = inspect.signature(run)
    every = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in signature.parameters.values()]
    taking.__signature__ = signature.replace(parameters=[*every, *keywords])  # type: ignore[attr-defined]
    return taking
