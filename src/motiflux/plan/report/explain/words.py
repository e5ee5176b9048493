"""Texts that all output formats share."""

from __future__ import annotations

from motiflux.plan.estimate.prediction import Prediction, TasksReport
from motiflux.plan.report.data import (
    Actual,
    PlanReport,
    RowsReport,
    SourceReport,
    SpaceReport,
    StepReport,
    TailReport,
    TermReport,
)
from motiflux.types import Label
from motiflux.units import bytes_text, grouped, quantity, seconds_text

_MOST_LABELS = 4
_MOST_SIZES = 8
_ROUNDED, _LARGE = 100, 1e6


def facts(report: PlanReport) -> list[tuple[str, str]]:
    """Return the facts about the whole search, each a heading and a text."""
    lines = [
        ("pattern", _pattern(report)),
        ("graph", _graph(report)),
        ("search", f"{report.semantics}, {report.symmetry}{', choices of copies' if report.copies else ''}"),
        *([] if report.rows is None else [("rows", _rows(report.rows))]),
        *(("negated", text) for text in report.idle),
        ("engine", f"{report.engine.name}: {report.engine.reason}"),
        ("symmetry", _symmetry(report)),
        ("space", f"none: {report.no_space}" if report.space is None else _space(report.space)),
    ]
    if report.phases:
        lines.append(("order", ", ".join(vertex for phase in report.phases for vertex in phase.vertices)))
    if report.free_order is not None:
        lines.append(("order", _FREE_ORDER[report.free_order]))
    if report.predicted is not None:
        lines += _prediction(report, report.predicted)
    if report.actual is not None:
        lines.append(("actual", _actual(report, report.actual)))
        if report.actual.note:
            lines.append(("note", report.actual.note))
    return lines


_FREE_ORDER = {
    "always": "adaptive: at each step, the vertex with the fewest candidates is next",
    "copies": "adaptive, from copy to copy: the edge with the fewest copies within bounds is next",
    "pairs": "by edges, from pair to pair of vertices, with all choices of copies between them",
    "wedges": "by edges, once all paths over the last vertex are gathered for the first one",
    "later": "fixed; once the search finds little, adaptive: the vertex with the fewest candidates is next",
}

TERMS = "The count is not searched but the sum of these counts of embeddings:"

TABLES = "The count is computed from tables of local counts; the last one is the result:"


def term(one: TermReport) -> str:
    """Return a count that is added or subtracted, with its time."""
    time = "" if one.seconds is None else f"  about {seconds_text(one.seconds)}"
    times = f"{one.times} times " if one.times > 1 else ""
    return f"{'+-'[one.sign < 0]} {times}{one.pattern}{time}"


def candidates(step: StepReport) -> str:
    """Return the sources of the candidates of a level."""
    if step.level == 0:
        return "vertices" + _labelled(step)
    sources = [] if step.reuse is None else [f"set of level {step.reuse}"]
    sources += [f"{arcs(source)}({source.vertex})" for source in step.sources]
    return " & ".join(sources) + _labelled(step)


def arcs(source: SourceReport) -> str:
    """Return the arcs of a vertex that lead to candidates."""
    conditions = [] if source.edge_labels is None else [label_names(source.edge_labels)]
    if source.where is not None:
        conditions.append(f"where {source.where}")
    return source.arcs + (f"[{' '.join(conditions)}]" if conditions else "")


def label_names(labels: tuple[Label, ...]) -> str:
    """Return labels as text, only the first few if there are many."""
    shown = "|".join(str(label) for label in labels[:_MOST_LABELS])
    return shown + (f"|... ({len(labels)})" if len(labels) > _MOST_LABELS else "")


def size(number: float | None) -> str:
    """Return an estimate as text.

    >>> size(0.8021), size(1483.2), size(2.5e9), size(None)
    ('0.802', '1,483', '2.5e+09', '-')
    """
    if number is None:
        return "-"
    return grouped(round(number)) if _ROUNDED <= number < _LARGE else f"{number:.3g}"


def tail(component: TailReport) -> str:
    """Return a line on the count of a component of the tail."""
    text = ", ".join(component.vertices) + ": " + tail_ways(component)
    if not component.under:
        return text
    cached = ", cached" if component.remembered else ""
    return "  " * len(component.under) + text + f"; under {component.under[-1]}{cached}"


def tail_ways(component: TailReport) -> str:
    """Return how a component is counted, without its vertices."""
    if component.ways == "product":
        return "the size of the set"
    if component.ways == "sum":
        return "a sum over its candidates, of the product of the parts under it"
    if component.ways == "lists":
        lists = " and ".join(f"({', '.join(separators)})" for separators in component.lists)
        return f"a list of the choices for each of {lists}, with the number of ways to choose the rest"
    levels, sets = len(component.levels), len(set(component.sets))
    text = f"falling factorial, {levels} from one set"
    if component.ways == "inclusion-exclusion":
        text = f"inclusion-exclusion, {levels} from {sets} sets"
    return text + (f", divided by {grouped(component.divisor)}" if component.divisor > 1 else "")


def _labelled(step: StepReport) -> str:
    return "" if step.labels is None else f" labelled {label_names(step.labels)}"


def _pattern(report: PlanReport) -> str:
    pattern = report.pattern
    vertices, edges = pattern.vertices, pattern.edges
    return f"{pattern.name or 'unnamed'}: {quantity(vertices, 'vertex')}, {quantity(edges, 'edge')}"


def _graph(report: PlanReport) -> str:
    kind = "directed" if report.graph.directed else "undirected"
    sizes = f"{quantity(report.graph.vertices, 'vertex')}, {quantity(report.graph.edges, 'edge')}"
    return f"Graph({sizes}, {kind})"


def _symmetry(report: PlanReport) -> str:
    text = quantity(report.automorphisms, "automorphism")
    if report.restrictions:
        text += "; one image of each embedding: " + ", ".join(f"{u} < {v}" for u, v in report.restrictions)
    if report.multiplier > 1:
        text += f"; the count is multiplied by {grouped(report.multiplier)}"
    if report.images > 1:
        text += f"; a listing has {quantity(report.images, 'row')} for each embedding found"
    return text


def _rows(rows: RowsReport) -> str:
    text = f"distinct {', '.join(rows.returned) or 'no vertices'}"
    if rows.thresholds:
        text += f" having {' and '.join(rows.thresholds)}"
    if rows.nbytes is not None:
        return f"{text}; {kept_rows(rows.nbytes)}"
    if rows.existential:
        text += f"; one witness of {', '.join(rows.existential)} is enough"
    if rows.kept:
        text += f"; rows of one {', '.join(rows.group)} are kept" if rows.group else "; all rows are kept"
    return text


def kept_rows(nbytes: int) -> str:
    """Return what becomes of listed rows of which the different ones are kept where a call is made."""
    return f"the different ones are kept where the call is made, at most {bytes_text(nbytes)} each"


def _space(space: SpaceReport) -> str:
    if len(space.candidates) <= _MOST_SIZES:
        sizes = ", ".join(f"{name}: {grouped(number)}" for name, number in space.candidates)
    else:
        numbers = [number for _, number in space.candidates]
        sizes = f"{grouped(min(numbers))} to {grouped(max(numbers))} for each of {len(numbers)} vertices"
    return f"candidates {sizes}; {quantity(space.rounds, 'round')}, {bytes_text(space.nbytes)}"


def _prediction(report: PlanReport, predicted: Prediction) -> list[tuple[str, str]]:
    noun = report.symmetry.removesuffix("s") if report.rows is None else "embedding"
    count = "no estimate" if predicted.count is None else f"about {_number(predicted.count, noun)}"
    if report.basis == "frequencies":
        count += " from label frequencies only"
    lines = [("predicted", count)]
    where = _where(predicted)
    time = (
        "not predicted"
        if predicted.seconds is None
        else f"about {seconds_text(predicted.seconds)} on {where}"
    )
    lines.append(("time", time + (f": {predicted.note}" if predicted.note else "")))
    if predicted.tasks is not None:
        lines += _tasks(predicted.tasks)
        if predicted.tasks.shards is not None:
            return lines
    memory = predicted.memory
    rows = "partitions" if report.phases else "narrowed rows" if report.space is None else "candidate space"
    if report.space is not None and memory.tables is not None:
        rows = "candidate space and narrowed rows"
    parts = [f"{rows} {bytes_text(memory.rows)}"]
    if memory.tables is not None:
        parts.append(f"tables about {bytes_text(memory.tables)}")
    if memory.tables is None or memory.search > 0:
        parts.append(f"search at most {bytes_text(memory.search)}")
    if memory.device is not None:
        parts.append(f"device at most {bytes_text(memory.device)}")
    if memory.copied is not None:
        to = "all devices" if _has_several_devices(report) else "it"
        parts.append(f"about {bytes_text(memory.copied)} to copy to {to}")
    return [*lines, ("memory", ", ".join(parts))]


def _where(predicted: Prediction) -> str:
    """Return where a time is predicted for."""
    threads, tasks = quantity(predicted.threads, "thread"), predicted.tasks
    if tasks is not None and tasks.gpus and tasks.shards is not None:
        return f"{quantity(tasks.gpus, 'GPU')} and {threads}"
    if predicted.memory.device is None:
        return threads
    where = "the GPU" if tasks is None else quantity(tasks.gpus, "GPU")
    return f"{where}, without planning and copying"


def _tasks(tasks: TasksReport) -> list[tuple[str, str]]:
    number = "not predicted" if tasks.expected is None else f"about {quantity(tasks.expected, 'task')}"
    lines = [("tasks", f"{number}, at most {grouped(tasks.at_once)} at a time")]
    if (shards := tasks.shards) is not None:
        rows = f"rows of the images of {', '.join(shards.read)} from {quantity(shards.shards, 'shard')}"
        entries = grouped(shards.entries) if shards.entries < _LARGE else f"{shards.entries:.2g}"
        size = f"about {quantity(shards.parts, 'part')} that read about {entries} entries"
        lines.append(("reads", f"{rows}; {size}"))
        memory = f"{bytes_text(shards.memory)} of each worker, at least {bytes_text(shards.least_memory)}"
        lines.append(("memory", memory))
    return lines


def _number(number: float, noun: str) -> str:
    text = grouped(round(number)) if number < _LARGE else f"{number:.3g}"
    return f"{text} {noun}{'' if text == '1' else 's'}"


def _has_several_devices(report: PlanReport) -> bool:
    return ", " in report.engine.device


def _actual(report: PlanReport, actual: Actual) -> str:
    counted = report.symmetry.removesuffix("s") if report.rows is None else "row"
    text = quantity(actual.count, "choice" if report.copies else counted)
    text = text if actual.complete else f"at least {text}, stopped early"
    to = "all devices" if _has_several_devices(report) else "the device"
    copied = f"; {bytes_text(actual.copied)} copied to {to}" if actual.copied is not None else ""
    return f"{text}; {seconds_text(actual.seconds)}, planning {seconds_text(actual.plan_seconds)}{copied}"
