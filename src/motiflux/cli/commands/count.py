"""``motiflux count``: the number of occurrences."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motiflux.cli import clusters
from motiflux.cli import image_counts as images
from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode, UsageError
from motiflux.cli.interrupts import exit_code, keeping_partial
from motiflux.cli.output import outcome_fields, print_json, timing_text
from motiflux.cli.search import Search
from motiflux.units import quantity, seconds_text

if TYPE_CHECKING:
    import motiflux as mf

HELP = "Count the occurrences of each PATTERN in GRAPH, or those at each vertex or edge."


def run(
    graph: opt.GraphArgument,
    patterns: opt.PatternsArgument,
    *,
    per_vertex: images.PerVertexOption = None,
    per_edge: images.PerEdgeOption = None,
    top: images.TopOption = None,
    output: images.OutputOption = None,
    search: Search,
    copies: opt.CopiesOption = False,
    cluster: clusters.ClusterOption = None,
    task_log: clusters.TaskLogOption = None,
    memory: clusters.MemoryOption = None,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Count and print; return whether all counts are complete."""
    wanted = images.Wanted(per_vertex, per_edge, top, output)
    if wanted.given:
        clusters.refuse_memory(graph, memory)
        if copies:
            raise UsageError("--copies: expected no --per-vertex or --per-edge beside it")
        if cluster is not None:
            raise UsageError("--cluster: expected no --per-vertex or --per-edge beside it")
        search.refuse_rows("--per-vertex, --per-edge")
        return images.run_image_counts(graph, patterns, wanted, search, progress, as_json=as_json)
    keywords = {**search.keywords(), "copies": copies}
    if clusters.is_sharded(graph):
        address = clusters.checked_address(graph, cluster, search.directed)
        return _count_sharded(
            graph, patterns, keywords, search, address, task_log, memory, progress, as_json=as_json
        )
    clusters.refuse_memory(graph, memory)
    inputs = opt.read_inputs(
        graph,
        patterns,
        directed=search.directed,
        threads=search.threads,
        progress=progress,
        distinct=search.rows,
    )
    as_read = search.directed is None
    with clusters.opened(cluster, task_log, graph, inputs.graph, as_read=as_read) as where:
        started = time.perf_counter()
        with opt.search_progress(progress, "counting") as shown:
            results, stop = keeping_partial(lambda: _counted(inputs, {**keywords, "progress": shown}, where))
    seconds = time.perf_counter() - started
    nouns = [search.noun if one is None else "row" for one in inputs.projections]
    _print_all(patterns, results, nouns, search, (seconds, inputs.load_seconds), stop, as_json=as_json)
    opt.tell_why_none(inputs.patterns[: len(results)], inputs.graph, results)
    done = all(result.complete or search.reached(result) for result in results)
    return exit_code(stop, done=done)


def _print_all(
    patterns: list[str],
    results: list["mf.Count"],
    nouns: list[str],
    search: Search,
    times: tuple[float, float],
    stop: KeyboardInterrupt | None,
    *,
    as_json: bool,
) -> None:
    """Print counts, maybe of the first patterns alone; `times` are the seconds of the call and of reading."""
    seconds, load_seconds = times
    number = len(results)
    if len(patterns) == 1:
        _print_one(results[0], search, load_seconds, stop, nouns[0], as_json=as_json)
    elif as_json:
        print_json(_several_fields(patterns[:number], results, seconds, load_seconds))
    else:
        for source, result, noun in zip(patterns[:number], results, nouns[:number], strict=True):
            text = count_text(result, search, stop, noun)
            print(f"{' '.join(source.split())}: {text}")
        print(f"counted in {seconds_text(seconds)}, reading {seconds_text(load_seconds)}")


def _count_sharded(
    graph: Path,
    patterns: list[str],
    keywords: dict[str, Any],
    search: Search,
    cluster: str,
    task_log: Path | None,
    memory: str | None,
    progress: bool | None,
    *,
    as_json: bool,
) -> ExitCode:
    """Count in a sharded graph."""
    import motiflux as mf

    queries, projections = opt.read_queries(patterns, search.rows)
    began = time.perf_counter()
    with mf.Cluster(clusters.address_of(cluster), task_log=task_log) as where:
        data: Any = where.open_sharded(graph, memory=memory or clusters.DEFAULT_MEMORY)
        started = time.perf_counter()
        inputs = opt.Inputs(data, queries, started - began, projections)
        with opt.search_progress(progress, "counting") as shown:
            results, stop = keeping_partial(lambda: _counted(inputs, {**keywords, "progress": shown}, where))
        seconds = time.perf_counter() - started
    nouns = [search.noun if one is None else "row" for one in projections]
    _print_all(patterns, results, nouns, search, (seconds, inputs.load_seconds), stop, as_json=as_json)
    done = all(result.complete or search.reached(result) for result in results)
    return exit_code(stop, done=done)


def _counted(inputs: opt.Inputs, keywords: dict[str, Any], cluster: "mf.Cluster | None") -> list["mf.Count"]:
    """Count; errors name patterns by their numbers only if there are several."""
    import motiflux as mf

    count: Any = mf.count if cluster is None else cluster.count
    if len(inputs.patterns) == 1:
        return [count(inputs.graph, inputs.patterns[0], **keywords, **inputs.rows)]
    if any(inputs.projections):
        return _one_by_one(inputs, keywords, count)
    counts: list[mf.Count] = count(inputs.graph, inputs.patterns, **keywords)
    return counts


def _one_by_one(inputs: opt.Inputs, keywords: dict[str, Any], count: Any) -> list["mf.Count"]:
    """Count patterns of which some have distinct rows; an interrupt keeps the counts of the first ones."""
    from motiflux.api.pattern_list import naming_pattern
    from motiflux.request.deadline import Deadline
    from motiflux.result.partial import partial_result, replace_partial

    deadline, counts = Deadline.after(keywords["timeout"]), []
    try:
        for at, (pattern, projection) in enumerate(zip(inputs.patterns, inputs.projections, strict=True)):
            given = {**keywords, "timeout": deadline.left(), "distinct": projection}
            with naming_pattern(at):
                counts.append(count(inputs.graph, pattern, **given))
    except KeyboardInterrupt as stop:
        if so_far := [*counts, *(partial_result(stop) or [])]:
            replace_partial(stop, so_far)
        raise
    return counts


def _print_one(
    result: "mf.Count",
    search: Search,
    load_seconds: float,
    stop: KeyboardInterrupt | None,
    noun: str,
    *,
    as_json: bool,
) -> None:
    if as_json:
        print_json({"count": int(result), **outcome_fields(result, load_seconds)})
    else:
        print(count_text(result, search, stop, noun))
        print(timing_text(result, load_seconds))


def _several_fields(
    patterns: list[str], results: list["mf.Count"], seconds: float, load_seconds: float
) -> dict[str, Any]:
    """Give the JSON fields of several counts; `seconds` is the time of the whole call, planning included."""
    counts = [
        {"pattern": source, "count": int(result), **outcome_fields(result, load_seconds)}
        for source, result in zip(patterns, results, strict=True)
    ]
    return {"counts": counts, "seconds": seconds, "load_seconds": load_seconds}


def count_text(
    result: "mf.Count", search: Search, stop: KeyboardInterrupt | None = None, noun: str | None = None
) -> str:
    """Return the count as text; for a lower bound, with the reason."""
    number = quantity(int(result), noun or search.noun)
    if result.complete:
        return number
    reason = "stopped by the timeout" if stop is None else "interrupted"
    if search.reached(result):
        reason = "stopped at the limit"
    return f"at least {number} ({reason})"
