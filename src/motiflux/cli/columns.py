"""The options for columns of tables, shared by all commands that read a graph."""

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
        raise typer.BadParameter("expected the name or the position of a column, found an empty text")
    return int(text) if text.isdecimal() and text.isascii() else text


def columns(text: str) -> list[str | int]:
    """Return the columns of a comma-separated list; an empty text is an empty list."""
    return [column(part) for part in text.split(",")] if text else []


def separator(text: str) -> str:
    r"""Take a separator; a tab may be written as ``\t``, which shells pass on as it is."""
    return "\t" if text == r"\t" else text


def one_of(*words: str) -> Callable[[str], str]:
    """Return a parser that takes one of some words."""

    def parse(text: str) -> str:
        if text not in words:
            raise typer.BadParameter(f"expected one of {', '.join(words)}, found {text!r}")
        return text

    return parse


_PANEL = "Graph tables (.csv, .parquet and similar formats)"


def _option(name: str, metavar: str, parser: Callable[[str], Any], text: str, default: str) -> Any:
    # The type is shown in the help; the parser returns the value.
    option = typer.Option(
        name, metavar=metavar, parser=parser, help=text, show_default=default, rich_help_panel=_PANEL
    )
    return Annotated[Any, option]


def _flag(names: str, text: str) -> Any:
    option = typer.Option(
        names,
        metavar="",
        help=text,
        show_default="yes, unless an id in it is an integer",
        rich_help_panel=_PANEL,
    )
    return Annotated[bool | None, option]


OPTIONS = {
    "src": _option(
        "--src",
        "COLUMN",
        column,
        "Column of edge sources, by name or position from 0.",
        "src, source, from, a name such as payer, or the first",
    ),
    "dst": _option(
        "--dst",
        "COLUMN",
        column,
        "Column of edge targets.",
        "dst, target, to, a name such as payee, or the second",
    ),
    "label": _option("--label", "COLUMN", column, "Column of edge labels.", "label"),
    "time": _option("--time", "COLUMN", column, "Column of edge times.", "time, timestamp"),
    "attributes": _option(
        "--attributes", "COLUMNS", columns, "Columns of edge attributes, separated by commas.", "all others"
    ),
    "vertices": _option("--vertices", "FILE", Path, "Vertex table: id, label, attributes.", "none"),
    "vertex_id": _option("--vertex-id", "COLUMN", column, "Column of vertex ids.", "id, or the first"),
    "vertex_label": _option("--vertex-label", "COLUMN", column, "Column of vertex labels.", "label"),
    "sep": _option("--sep", "TEXT", separator, r"Field separator of text tables; \t is a tab.", "by suffix"),
    "ids": _option(
        "--ids",
        "[integers|names]",
        one_of("integers", "names"),
        "Kind of all ids of text tables; names keep ids such as 007 as they are.",
        "by the first row",
    ),
    "missing": _option(
        "--missing",
        "[error|drop|keep]",
        one_of("error", "drop", "keep"),
        "Rows without an id (empty, NaN, or a word such as NULL). error: stop; drop: leave out and count "
        "them; keep: take such words as names, also in STREAM of watch.",
        "error",
    ),
    "self_loops": _option(
        "--self-loops",
        "[warn|drop|error]",
        one_of("warn", "drop", "error"),
        "Edges of GRAPH from a vertex to itself, in any format. warn: leave them out and count them; drop: "
        "leave them out; error: stop.",
        "warn",
    ),
    "header": _flag("--header/--no-header", "Whether the first line of a text table holds column names."),
    "vertices_header": _flag(
        "--vertices-header/--no-vertices-header",
        "Whether the first line of the vertex table holds column names.",
    ),
}

_given: ContextVar[dict[str, Any] | None] = ContextVar("given", default=None)


def given() -> dict[str, Any]:
    """Return the column options of the command line as keywords of `motiflux.read_graph`."""
    return dict(_given.get() or {})


def with_columns(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add these options to a command.

    The command does not receive them; `given` passes them to the reader of the graph.
    """
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in OPTIONS.items()
    ]

    @functools.wraps(run)
    def taking(**options: Any) -> Any:
        token = _given.set({name: value for name in OPTIONS if (value := options.pop(name)) is not None})
        try:
            return run(**options)
        finally:
            _given.reset(token)

    signature = inspect.signature(run)
    every = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in signature.parameters.values()]
    taking.__signature__ = signature.replace(parameters=[*every, *keywords])  # type: ignore[attr-defined]
    return taking
