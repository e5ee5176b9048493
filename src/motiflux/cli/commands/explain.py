"""``motiflux explain``: the plan of a search."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motiflux.cli import clusters
from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode, UsageError
from motiflux.cli.output import print_json
from motiflux.cli.search import Search

if TYPE_CHECKING:
    import motiflux as mf

HELP = "Show the search plan for PATTERN in GRAPH, with reasons and predictions."

_STDOUT = Path("-")


def run(
    graph: opt.GraphArgument,
    pattern: opt.PatternArgument,
    *,
    analyze: Annotated[
        bool,
        typer.Option("--analyze", metavar=opt.FLAG, help="Run the count and show actual sizes."),
    ] = False,
    search: Search,
    copies: opt.CopiesOption = False,
    as_json: opt.JsonOption = False,
    as_mermaid: Annotated[
        bool, typer.Option("--mermaid", metavar=opt.FLAG, help="Print the levels as a mermaid flowchart.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", parser=opt.file_name, help="Write an HTML page; - is standard output."),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", parser=opt.file_name, help="Write an SVG picture; - is standard output."
        ),
    ] = None,
    cluster: clusters.ClusterOption = None,
    memory: clusters.MemoryOption = None,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Plan, count on request, and print the plan."""
    import motiflux as mf

    if as_json + as_mermaid + (html is not None) + (svg is not None) > 1:
        raise UsageError("expected at most one of --json, --mermaid, --html and --svg")
    for written in (html, svg):
        opt.refuse_to_overwrite(written, graph, pattern)
    _check_names(html, svg)
    if clusters.is_sharded(graph):
        address = clusters.checked_address(graph, cluster, search.directed)
        began = time.perf_counter()
        (query,), (projection,) = opt.read_queries([pattern], search.rows)
        with mf.Cluster(clusters.address_of(address)) as opened:
            data = opened.open_sharded(graph, memory=memory or clusters.DEFAULT_MEMORY)
            load_seconds = time.perf_counter() - began
            with opt.search_progress(progress, "counting") as shown:
                keywords = {**search.keywords(), "copies": copies, "distinct": projection}
                explanation = opened.explain(data, query, analyze=analyze, progress=shown, **keywords)
    else:
        clusters.refuse_memory(graph, memory)
        explanation, load_seconds = _of_whole(
            graph, pattern, search, cluster, progress, analyze=analyze, copies=copies
        )
    if as_json:
        print_json({**explanation.to_dict(), "plan": str(explanation), "load_seconds": load_seconds})
    elif as_mermaid:
        print(explanation.to_mermaid())
    elif html is not None:
        _write(explanation.to_html(), html)
    elif svg is not None:
        _write(explanation.to_svg() + "\n", svg)
    else:
        print(explanation)
    parts = explanation.parts if isinstance(explanation, mf.QueryExplanation) else (explanation,)
    ran = [actual for part in parts if (actual := part.report.actual) is not None]
    done = all(actual.complete or search.reached(actual.count) for actual in ran)
    return ExitCode.DONE if done else ExitCode.INCOMPLETE


def _of_whole(
    graph: Path,
    pattern: str,
    search: Search,
    cluster: str | None,
    progress: bool | None,
    *,
    analyze: bool,
    copies: bool,
) -> tuple["mf.Explanation", float]:
    """Return the explanation of a count in a graph that one machine reads, and the seconds of reading."""
    import motiflux as mf

    inputs = search.read(graph, pattern, progress)
    keywords = {**search.keywords(), "copies": copies, **inputs.rows}
    as_read = search.directed is None
    with (
        clusters.opened(cluster, None, graph, inputs.graph, as_read=as_read) as where,
        opt.search_progress(progress, "counting") as shown,
    ):
        explain: Any = mf.explain if where is None else where.explain
        told: mf.Explanation = explain(
            inputs.graph, inputs.pattern, analyze=analyze, progress=shown, **keywords
        )
    return told, inputs.load_seconds


def _check_names(html: Path | None, svg: Path | None) -> None:
    """Raise an error early for a file that is not writable, or has the suffix of another kind."""
    from motiflux.atomic import check_place
    from motiflux.draw.picture import check_svg_name

    if svg is not None and svg != _STDOUT:
        check_svg_name(svg)
        check_place(svg)
    if html is not None and html != _STDOUT:
        if html.suffix.lower() not in ("", ".html", ".htm", ".xhtml"):
            raise UsageError(f"--html {html}: found suffix {html.suffix!r}, expected .html")
        check_place(html)


def _write(text: str, path: Path) -> None:
    if path == _STDOUT:
        print(text, end="")
        return
    from motiflux.atomic import AtomicFile

    with AtomicFile(path) as file:
        file.write(text.encode())
