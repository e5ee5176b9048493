"""``motiflux estimate``: an estimate of the number of occurrences."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motiflux.cli import options as opt
from motiflux.cli import vertex_estimates as at_vertices
from motiflux.cli.exits import ExitCode, UsageError
from motiflux.cli.interrupts import exit_code, keeping_partial
from motiflux.cli.output import print_json
from motiflux.units import quantity, seconds_text
from motiflux.words import Semantics, Symmetry

if TYPE_CHECKING:
    import motiflux as mf
    from motiflux.api.estimating import EstimateShown

_MOST_EXACT = 2.0**53
"""A float below holds every integer."""

HELP = "Estimate the number of occurrences of each PATTERN in GRAPH by sampling, with a confidence interval."


class Estimator(StrEnum):
    """How samples are drawn."""

    AUTO = "auto"
    WANDERJOIN = "wanderjoin"
    ALLEY = "alley"
    TREE = "tree"


RelErrorOption = Annotated[
    float | None,
    typer.Option(
        help="Stop at this relative error.",
        show_default="0.05, or after about a million samples",
    ),
]
ConfidenceOption = Annotated[float, typer.Option(help="Confidence level of the interval.")]
SamplesOption = Annotated[
    int | None,
    typer.Option(help="Number of samples; with --rel-error, the maximum.", show_default="as many as needed"),
]
EstimatorOption = Annotated[
    Estimator,
    typer.Option(help="Sampling method. auto: chosen by a few samples of each; tree: candidate trees."),
]
SeedOption = Annotated[
    int, typer.Option(help="Random seed. Equal seeds give equal estimates, except after a timeout.")
]
TraceOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        parser=opt.file_name,
        help="Write the progress of the estimate, one row per report, to a .parquet, .arrow or .csv file; "
        "with --per-vertex, the estimates of all vertices.",
        show_default=False,
    ),
]


def run(
    graph: opt.GraphArgument,
    patterns: opt.PatternsArgument,
    output: TraceOption = None,
    rel_error: RelErrorOption = None,
    confidence: ConfidenceOption = 0.95,
    samples: SamplesOption = None,
    per_vertex: at_vertices.PerVertexOption = None,
    top: at_vertices.TopOption = None,
    estimator: EstimatorOption = Estimator.AUTO,
    semantics: opt.SemanticsOption = Semantics.ISOMORPHISM,
    symmetry: opt.SymmetryOption = Symmetry.EMBEDDINGS,
    directed: opt.DirectedOption = None,
    timeout: opt.TimeoutOption = None,
    threads: opt.ThreadsOption = None,
    device: opt.DeviceOption = "auto",
    gpu_memory: opt.GpuMemoryOption = None,
    seed: SeedOption = 0,
    settings: opt.TuningOption = None,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Estimate, print, and return whether the requested precision was reached."""
    import motiflux as mf

    tuning = opt.tuning_of(settings)
    opt.refuse_to_overwrite(output, graph, *patterns)
    if output is not None:
        if len(patterns) > 1:
            raise UsageError(f"-o: expected one PATTERN, found {len(patterns)}")
        from motiflux.io.writers import check_table_output

        check_table_output(output)
    _check_per_vertex(per_vertex, top, rel_error, estimator, device)
    started = time.perf_counter()
    inputs = opt.read_inputs(graph, patterns, directed=directed, threads=threads, progress=progress)
    load_seconds = time.perf_counter() - started
    if per_vertex is not None:
        keywords = {
            "confidence": confidence,
            "semantics": semantics.value,
            "symmetry": symmetry.value,
            "threads": threads,
            "timeout": timeout,
            "seed": seed,
            "tuning": tuning,
        }
        return at_vertices.run_vertex_estimates(
            inputs, per_vertex, top, samples, output, keywords, as_json=as_json
        )
    with _shown(progress, rel_error, confidence, samples) as shown:
        results, stop = keeping_partial(
            lambda: mf.estimate(
                inputs.graph,
                inputs.patterns,
                rel_error=rel_error,
                confidence=confidence,
                samples=samples,
                estimator=estimator.value,
                semantics=semantics.value,
                symmetry=symmetry.value,
                device=device,
                threads=threads,
                timeout=timeout,
                gpu_memory=gpu_memory,
                seed=seed,
                progress=shown,
                tuning=tuning,
            )
        )
    if output is not None:
        from motiflux.io.writers import write_matches
        from motiflux.sampling.trace import TraceTables

        write_matches(TraceTables(results[0].trace), output)
    if as_json:
        print_json(_fields(patterns, results))
    else:
        for source, result in zip(patterns, results, strict=False):  # fewer if it was interrupted
            name = f"{' '.join(source.split())}: " if len(patterns) > 1 else ""
            print(f"{name}{text(result, symmetry)}")
            print(
                f"sampling {seconds_text(result.seconds)}, planning {seconds_text(result.plan_seconds)}, "
                f"reading {seconds_text(load_seconds)}, estimator {result.estimator}, device {result.device}"
            )
    values = [result.value for result in results]
    opt.tell_why_none(inputs.patterns[: len(values)], inputs.graph, values)
    for result in results:
        if result.warning is not None:
            print(f"warning: {result.warning}", file=sys.stderr)
    return exit_code(stop, done=all(result.complete for result in results))


def _fields(patterns: list[str], results: "list[mf.Estimate]") -> dict[str, Any]:
    """Return the JSON fields of an estimate, or of several."""
    if len(results) == 1:
        return json_fields(results[0])
    return {
        "estimates": [
            {"pattern": source, **json_fields(result)}
            for source, result in zip(patterns, results, strict=False)
        ]
    }


def _check_per_vertex(
    per_vertex: str | None, top: int | None, rel_error: float | None, estimator: Estimator, device: str
) -> None:
    """Refuse options that contradict each other."""
    if per_vertex is None:
        if top is not None:
            raise UsageError("--top: expected --per-vertex beside it, found none")
        return
    if rel_error is not None:
        raise UsageError(
            "--rel-error: expected no --per-vertex beside it; --samples is the number of samples"
        )
    if estimator is not Estimator.AUTO:
        raise UsageError("--estimator: expected no --per-vertex beside it, which samples trees")
    if device not in ("auto", "cpu"):
        raise UsageError("--device: expected cpu beside --per-vertex")


@contextmanager
def _shown(
    flag: bool | None, rel_error: float | None, confidence: float, samples: int | None
) -> Iterator["EstimateShown"]:
    """Return the library's `progress`: ``--progress`` always shows it, the default only on a terminal."""
    from motiflux.api.estimating import estimate_meter
    from motiflux.io.files.progress import is_shown
    from motiflux.sampling.stopping import make_rules

    if flag and not is_shown():
        with estimate_meter(make_rules(rel_error, confidence, samples)) as callback:
            yield callback
    else:
        yield flag is not False


def json_fields(result: "mf.Estimate") -> dict[str, Any]:
    """Return the JSON fields; an unknown upper end is null."""
    return {
        "estimate": result.value,
        "low": result.low,
        "high": result.high if math.isfinite(result.high) else None,
        "confidence": result.confidence,
        "samples": result.samples,
        "valid_samples": result.valid_samples,
        "complete": result.complete,
        "seconds": result.seconds,
        "sampled": result.sampled,
        "trawled": None if result.trawled is None else trawled_fields(result.trawled),
        "estimator": result.estimator,
        "device": result.device,
        "reason": result.reason,
        "warning": result.warning,
    }


def trawled_fields(trawled: "mf.Trawled") -> dict[str, Any]:
    """Return the JSON fields of the trawling result."""
    return {
        "estimate": trawled.value,
        "low": trawled.low,
        "high": trawled.high if math.isfinite(trawled.high) else None,
        "slots": trawled.slots,
        "searched": trawled.searched,
        "share": trawled.share,
    }


def text(result: "mf.Estimate", symmetry: Symmetry) -> str:
    """Return the estimate with its confidence interval as text."""
    if result.estimator == "exact":
        if result.value == 0:
            return f"0 {symmetry.value}, exactly: nothing can match"
        return f"{exact_number(result.value)} {symmetry.value}, exactly: counted without sampling"
    if result.low == result.high < _MOST_EXACT:
        drawn = quantity(result.samples, "sample")
        return f"{exact_number(result.value)} {symmetry.value}, exactly: all of {drawn} are embeddings"
    interval = f"{100 * result.confidence:g} % interval {number(result.low)} to {number(result.high)}"
    drawn = f"{quantity(result.samples, 'sample')}, {result.valid_samples:,} valid"
    cut = "" if result.complete else ", stopped before the requested precision"
    if result.trawled is not None:
        both = f"{number(result.sampled)} by samples, {number(result.trawled.value)} by trawling"
        drawn = f"{drawn}, {quantity(result.trawled.slots, 'slot')} trawled: {both}"
    return f"about {number(result.value)} {symmetry.value}, {interval} ({drawn}{cut})"


def exact_number(value: float) -> str:
    """Return a count as text, with all digits if a float represents it exactly.

    >>> exact_number(12345678901.0), exact_number(1e30)
    ('12,345,678,901', '1e+30')
    """
    return f"{value:,.0f}" if value < _MOST_EXACT else number(value)


def number(value: float) -> str:
    """Return a number as text with four significant digits.

    >>> number(12345.6), number(1.23456e13), number(0.12345)
    ('12,346', '1.235e+13', '0.1235')
    """
    if 1000 <= value < 1e9:
        return f"{value:,.0f}"
    return f"{value:.4g}"
