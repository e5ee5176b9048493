"""``motiflux info``: statistics of a graph, or the list of tuning switches."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode, UsageError
from motiflux.cli.output import print_json, print_table
from motiflux.cli.values import graph_words

if TYPE_CHECKING:
    from motiflux.graph import AttributeTable

HELP = "Show the statistics of GRAPH, or with --tuning the tuning switches."


def run(
    graph: Annotated[
        Path | None,
        typer.Argument(
            metavar="GRAPH",
            parser=opt.file_name,
            autocompletion=graph_words,
            help="Data graph.",
            show_default=False,
        ),
    ] = None,
    tuning: Annotated[
        bool, typer.Option("--tuning", metavar=opt.FLAG, help="List the tuning switches of --set.")
    ] = False,
    directed: opt.DirectedOption = None,
    verify: Annotated[
        bool, typer.Option("--verify", metavar=opt.FLAG, help="First check all checksums of an .mfg file.")
    ] = False,
    as_json: opt.JsonOption = False,
) -> ExitCode:
    """Print the statistics of the graph or the tuning switches."""
    if tuning and graph is not None:
        raise UsageError("info takes GRAPH or --tuning, not both")
    if verify and graph is None:
        raise UsageError("--verify needs a GRAPH")
    if graph is not None:
        _print_statistics(graph, directed, verify=verify, as_json=as_json)
    elif tuning:
        _print_tuning(as_json=as_json)
    else:
        raise UsageError("info needs a GRAPH, or --tuning")
    return ExitCode.DONE


def _print_statistics(path: Path, directed: bool | None, *, verify: bool, as_json: bool) -> None:
    import motiflux as mf

    if verify:
        mf.verify_graph(path)
    start = time.perf_counter()
    graph = opt.read_graph(path, directed=directed)
    load_seconds = time.perf_counter() - start
    fields = {
        **dataclasses.asdict(graph.stats()),
        "memory_bytes": graph.nbytes,
        "vertex_attributes": _kinds(graph.vertex_attributes),
        "edge_attributes": _kinds(graph.edge_attributes),
        **({"verified": True} if verify else {}),
    }
    shape = dataclasses.asdict(graph.shape_stats())
    ends = graph.end_columns
    if as_json:
        if ends is not None:
            fields["edges_from_columns"] = ends._asdict()
        print_json({"graph": str(path), **fields, "shape": shape, "load_seconds": load_seconds})
    else:
        rows = [[name.replace("_", " "), _text(value)] for name, value in {**fields, **shape}.items()]
        if ends is not None:
            rows.append(["edges from columns", f"{ends}, the first two" if ends.guessed else str(ends)])
        print_table(str(path), ["", "value"], rows, right=("value",))


def _kinds(attributes: "AttributeTable") -> dict[str, str]:
    return {name: kind.value for name, kind in attributes.kinds().items()}


def _print_tuning(*, as_json: bool) -> None:
    from motiflux.config import TUNING

    if as_json:
        switches = [
            {"name": name, "values": list(one.values), "default": one.default, "help": one.help}
            for name, one in TUNING.items()
        ]
        print_json({"tuning": switches})
    else:
        rows = [[name, "|".join(one.values), one.default, one.help] for name, one in TUNING.items()]
        print_table("tuning: --set name=value", ["name", "values", "default", "what it does"], rows)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{name} ({kind})" for name, kind in value.items()) or "none"
    if isinstance(value, tuple):
        return " ".join(f"{one:,}" for one in value) or "none"
    return f"{value:,.4g}" if isinstance(value, float) and value < 1 else f"{value:,.2f}"
