"""``motiflux watch``: matches that appear and vanish while edges are inserted and deleted."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from motiflux.atomic import check_place
from motiflux.cli import columns as col
from motiflux.cli import options as opt
from motiflux.cli import watch_options as wopt
from motiflux.cli.exits import ExitCode, UsageError
from motiflux.cli.output import print_json
from motiflux.cli.saving.checkpoints import Earlier, Task
from motiflux.cli.saving.moved_files import NO_GRAPH, is_standard
from motiflux.cli.saving.saver import Saver, read_every
from motiflux.cli.saving.stream_content import StreamContent
from motiflux.cli.signals import Terminated
from motiflux.errors import ArgumentError
from motiflux.units import quantity, seconds_text
from motiflux.words import Semantics, Symmetry

if TYPE_CHECKING:
    import motiflux as mf
    from motiflux.stream import Sink, VertexAlert
    from motiflux.stream.run.loop import Progress

_MOST_COUNTS = 20
"""Greatest counts at vertices that are printed."""

HELP = "Apply the edge insertions and deletions of STREAM to GRAPH; report matches that appear and vanish."


def run(
    context: typer.Context,
    graph: wopt.GraphArgument,
    stream: wopt.StreamArgument,
    patterns: wopt.PatternOption = None,
    mode: wopt.ModeOption = wopt.Mode.SEQUENCE,
    batch_size: wopt.BatchOption = None,
    outputs: wopt.OutputOption = None,
    follow: wopt.FollowOption = False,
    stream_format: wopt.FormatOption = None,
    stream_columns: wopt.StreamColumnOption = None,
    on_error: wopt.OnErrorOption = wopt.OnError.STOP,
    duplicates: wopt.DuplicatesOption = wopt.Duplicates.COUNT,
    strict: wopt.StrictOption = False,
    window: wopt.WindowOption = None,
    time_unit: wopt.TimeUnitOption = wopt.TimeUnit.SECONDS,
    disorder: wopt.DisorderOption = None,
    edge_times: wopt.EdgeTimesOption = None,
    edge_attributes: wopt.EdgeAttributesOption = None,
    per_vertex: wopt.PerVertexOption = None,
    alert: wopt.AlertOption = None,
    alert_down: wopt.AlertDownOption = False,
    semantics: opt.SemanticsOption = Semantics.ISOMORPHISM,
    symmetry: opt.SymmetryOption = Symmetry.EMBEDDINGS,
    directed: opt.DirectedOption = None,
    limit: wopt.LimitOption = None,
    timeout: wopt.TimeoutOption = None,
    save: wopt.SaveOption = None,
    save_every: wopt.SaveEveryOption = None,
    resume: wopt.ResumeOption = None,
    device: opt.DeviceOption = "auto",
    devices: opt.DevicesOption = None,
    engine: wopt.EngineOption = wopt.Engine.AUTO,
    gpu_memory: opt.GpuMemoryOption = None,
    threads: opt.ThreadsOption = None,
    settings: opt.TuningOption = None,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Process the stream to its end, and print the totals."""
    from motiflux.stream.run.loop import Run

    options: dict[str, Any] = {
        "mode": mode.value,
        "semantics": semantics.value,
        "symmetry": symmetry.value,
        "duplicates": duplicates.value,
        "strict": strict,
        "window": None if window is None else _window(window),
        "time_unit": time_unit.value,
        "disorder": None if disorder is None else disorder.value,
        "attributes": edge_attributes or None,
        "per_vertex": per_vertex,
        "alert": alert,
        "alert_down": alert_down,
        "tuning": opt.tuning_of(settings),
        "threads": threads,
    }
    placement: dict[str, Any] = {
        "device": device,
        "devices": devices,
        "engine": engine.value,
        "gpu_memory": gpu_memory,
    }
    outputs = outputs or []
    _check_together(limit, outputs, save, save_every, resume)
    _check_edge_times(edge_times, window, graph, resume)
    every = read_every(save_every or wopt.SAVE_EVERY)
    columns = _columns_of(stream_columns)
    missing = col.given().get("missing")
    missing = None if missing == "drop" else missing  # of GRAPH only
    task = Task(
        graph, stream, patterns or [], batch_size, outputs, stream_format, columns, missing or "error"
    )
    earlier = None
    if resume is not None:
        earlier = Earlier(resume, threads, placement)
        given = {"graph": graph, "stream": stream, "columns": columns, "missing": missing}
        earlier.check({**_given(context), **given})
        task = task.going_on(earlier)
    elif not patterns:
        raise UsageError("--pattern: expected at least one pattern, found none")
    task.check_places(save, resume)
    _check_printed(task, as_json=as_json)
    sink, sinks = _sinks(task, earlier, as_json=as_json)
    source = task.source(earlier, follow=follow, on_error=on_error.value)
    if earlier is None:
        options["edge_times"] = edge_times
        monitor = _begun(task, sink, options | placement, directed=directed, progress=progress)
    else:
        monitor = earlier.monitor
    alerts = _Alerts()
    monitor.on_alert = alerts.tell
    content = earlier.content if earlier is not None else None
    content = content or StreamContent(task.stream, task.open_options())
    with monitor, _shown(progress, prints_rows=sink.prints) as shown:
        totals = Run(
            monitor,
            source,
            batch_size=task.batch_size,
            timeout=timeout,
            progress=shown,
            skips=on_error is wopt.OnError.SKIP,
            limit=limit,
            saver=None if save is None else Saver(monitor, save, every, sinks, task, content),
        ).into(sink)
        what = str(monitor.options["symmetry"]).removesuffix("s")
        greatest = []
        if "per_vertex" in monitor.options:
            greatest = [monitor.per_vertex(at).top(_MOST_COUNTS) for at in range(len(task.patterns))]
    if as_json:
        counted = {"greatest": greatest, "alerts": alerts.number} if greatest else {}
        print_json(_fields(task.patterns, totals) | counted)
    else:
        _print(task.patterns, totals, what, to_stdout=not _prints_rows(task))
        _print_greatest(task.patterns, greatest, to_stdout=not _prints_rows(task))
    if isinstance(totals.stopped_by, Terminated):
        return ExitCode.TERMINATED
    return ExitCode.DONE if totals.complete else ExitCode.INCOMPLETE


class _Alerts:
    """Tells alerts on stderr, and counts them."""

    def __init__(self) -> None:
        self.number = 0

    def tell(self, alert: "VertexAlert") -> None:
        """Print one."""
        self.number += 1
        how = "reached" if alert.up else "fell to"
        print(f"alert: {alert.vertex} {how} {alert.count:,} (was {alert.before:,})", file=sys.stderr)


def _print_greatest(patterns: list[str], greatest: "list[mf.Top]", *, to_stdout: bool) -> None:
    """Print the greatest counts at vertices, on stderr if the matches are on stdout."""
    stream = sys.stdout if to_stdout else sys.stderr
    for source, top in zip(patterns, greatest, strict=False):
        name = f" of {' '.join(source.split())}" if len(patterns) > 1 else ""
        print(f"greatest counts at vertices{name}:" if top else f"no counts at vertices{name}", file=stream)
        for vertex, count in top:
            print(f"  {vertex}  {count:,}", file=stream)


def _prints_rows(task: Task) -> bool:
    """Return whether the matches are on standard output, if --json is not given."""
    return not task.outputs or any(is_standard(str(name)) for name in task.outputs)


def _check_edge_times(edge_times: str | None, window: str | None, graph: Path, resume: Path | None) -> None:
    """Raise an error for times of edges that nothing uses."""
    if edge_times is None:
        return
    if resume is not None:
        raise UsageError(
            "--edge-times: not allowed with --resume: the saved run has the edges and their times"
        )
    if str(graph) == NO_GRAPH:
        raise UsageError(f"--edge-times {edge_times}: expected a graph whose edges have times, found none")
    if window is None:
        raise UsageError(f"--edge-times {edge_times}: expected --window, found none")


def _window(text: str) -> str:
    """Return a window that `Monitor` takes.

    Raises
    ------
    ArgumentError
        It is neither a duration nor a number of edges.
    """
    from motiflux.stream.window import parse_window

    try:
        parse_window(text)
    except ArgumentError:
        raise ArgumentError(
            "--window", "a duration such as 90s, 15min or 1h30m, or a number of edges", text
        ) from None
    return text


def _check_together(
    limit: int | None,
    outputs: list[Path],
    save: Path | None,
    save_every: str | None,
    resume: Path | None,
) -> None:
    """Raise an error for contradictory options."""
    if limit is not None and (save or resume):
        raise UsageError("--limit: not allowed with --save or --resume, because a limit ends within a batch")
    if save_every is not None and save is None:
        raise UsageError("--save-every: expected --save, found none")
    if save is None:
        return
    check_place(save)
    for output in outputs:
        if output.suffix.lower() == ".parquet":
            raise UsageError(
                f"-o {output}: expected a format that --save can append to: .csv, .tsv, .jsonl or .arrow"
            )


def _check_printed(task: Task, *, as_json: bool) -> None:
    """Raise an error if both rows, perhaps those of the saved run, and the JSON object go to stdout."""
    for output in task.outputs:
        if as_json and is_standard(str(output)):
            raise UsageError(f"-o {output}: expected a file, because --json writes to stdout")


def _given(context: typer.Context) -> dict[str, Any]:
    """Return the parameters that the command line gives."""
    return {
        name: value
        for name, value in context.params.items()
        if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    }


def _begun(
    task: Task, sink: "Sink", options: dict[str, Any], *, directed: bool | None, progress: bool | None
) -> "mf.Monitor":
    """Read the graph and the patterns; an empty graph has only a direction."""
    import motiflux as mf

    threads = options["threads"]
    if str(task.graph) != NO_GRAPH:
        read = opt.read_inputs(
            task.graph, task.patterns, directed=directed, threads=threads, progress=progress
        )
        return mf.Monitor(read.graph, read.patterns, matches=sink.wants_matches, **options)
    _check_columns()
    nothing = mf.Graph.from_edges([], directed=bool(directed))
    return mf.Monitor(nothing, opt.read_patterns(task.patterns), matches=sink.wants_matches, **options)


def _check_columns() -> None:
    """Raise an error for options of graph tables without a graph; --missing keep is one of STREAM too."""
    given = {name: value for name, value in col.given().items() if (name, value) != ("missing", "keep")}
    if given.get("missing") == "drop":
        raise UsageError(
            "--missing drop: expected a graph table, found none; --on-error skip leaves out lines of STREAM "
            "without an id"
        )
    if given:
        names = ", ".join("--" + name.replace("_", "-") for name in given)
        raise UsageError(f"{names}: expected a graph table, found none")


def _sinks(task: Task, earlier: Earlier | None, *, as_json: bool) -> "tuple[Sink, list[Sink]]":
    """Return the sink of all matches, and the sink of each output of the task."""
    from motiflux.stream import FileSink, Nowhere, SeveralSinks, StandardOutput
    from motiflux.stream.sinks.standard_output import OUTPUTS

    sinks: list[Sink] = []
    for at, output in enumerate(task.outputs):
        if is_standard(str(output)):
            if str(output) not in OUTPUTS:
                raise UsageError(f"-o {output}: expected a file, or {' or '.join(OUTPUTS)}")
            sinks.append(StandardOutput(OUTPUTS[str(output)]))
        else:
            sinks.append(FileSink(output, kept=None if earlier is None else earlier.kept(at)))
    if not sinks and as_json:
        return Nowhere(), []
    if earlier is not None and not earlier.monitor.lists_matches:
        raise UsageError("--json: expected this option, because the saved run only counted")
    if not sinks:
        return StandardOutput(), []
    return sinks[0] if len(sinks) == 1 else SeveralSinks(sinks), sinks


def _columns_of(settings: list[str] | None) -> dict[str, str | int] | None:
    columns: dict[str, str | int] = {}
    for setting in settings or []:
        part, separator, name = setting.partition("=")
        if not separator or not name or part in columns:
            raise ArgumentError("--stream-column", "PART=COLUMN, each part once", setting)
        columns[part] = col.column(name)
    return columns or None


@contextmanager
def _shown(flag: bool | None, *, prints_rows: bool) -> Iterator["Progress"]:
    """Return the `progress` of `Monitor.run`.

    ``--progress`` always shows it, the default on a terminal, if no rows are printed there.
    """
    from motiflux.io.files.progress import is_shown, meter, shares_terminal
    from motiflux.stream.run.loop import progress_note

    if flag and not is_shown():
        with meter("watching") as update:
            yield lambda totals: update(0, 0, progress_note(totals))
    else:
        yield bool(flag) or (flag is None and not (prints_rows and shares_terminal()))


def _fields(patterns: list[str], totals: "mf.Totals") -> dict[str, Any]:
    latency = totals.latency
    return {
        "patterns": [
            {"pattern": source, "positive": one.positive, "negative": one.negative}
            for source, one in zip(_sources(patterns, totals), totals.patterns, strict=True)
        ],
        "updates": totals.updates,
        "noops": totals.noops,
        "skipped": totals.skipped,
        "seconds": totals.seconds,
        "updates_per_second": totals.updates_per_second,
        "latency_us": {name: getattr(latency, name, None) for name in ("p50", "p90", "p99", "max")},
        "complete": totals.complete,
        "engine": totals.engine,
        "device": totals.device,
        "reason": totals.reason,
    }


def _sources(patterns: list[str], totals: "mf.Totals") -> list[str]:
    """Return the text of each pattern that was watched: as it was given, unless queries stand for several."""
    if len(patterns) == len(totals.patterns):
        return patterns
    return [str(one.pattern) for one in totals.patterns]


def _print(patterns: list[str], totals: "mf.Totals", what: str, *, to_stdout: bool) -> None:
    """Print the totals of the run, on stderr if the matches are on stdout."""
    stream = sys.stdout if to_stdout else sys.stderr
    for source, one in zip(_sources(patterns, totals), totals.patterns, strict=True):
        text = f"{quantity(one.positive, what)} appeared, {one.negative:,} vanished"
        print(f"{' '.join(source.split())}: {text}" if len(totals.patterns) > 1 else text, file=stream)
    skipped = f", {quantity(totals.skipped, 'line')} skipped" if totals.skipped else ""
    stopped = "" if totals.complete else _reason(totals)
    print(
        f"{quantity(totals.updates, 'update')} ({totals.noops:,} without effect{skipped}) in "
        f"{seconds_text(totals.seconds)}, {totals.updates_per_second:,.0f}/s{stopped}",
        file=stream,
    )
    if totals.latency is not None:
        p50, p90, p99, most = (f"{value:,.0f}" for value in totals.latency)
        print(f"latency p50 {p50} us, p90 {p90} us, p99 {p99} us, at most {most} us", file=stream)


def _reason(totals: "mf.Totals") -> str:
    return ", stopped by the timeout" if totals.stopped_by is None else ", interrupted"
