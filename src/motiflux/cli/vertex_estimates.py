"""``motiflux estimate --per-vertex``: estimates at each vertex, and which are certainly the greatest."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode, UsageError
from motiflux.cli.interrupts import exit_code
from motiflux.cli.output import print_json, print_table
from motiflux.units import quantity, seconds_text

if TYPE_CHECKING:
    import motiflux as mf

PerVertexOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Estimate for each vertex how often it is this query vertex; intervals hold for all together.",
        show_default=False,
    ),
]
TopOption = Annotated[
    int | None,
    typer.Option(
        metavar="K",
        min=1,
        help="With --per-vertex: print the K greatest; without -o, sample until they are certain.",
        show_default="20",
    ),
]
_TOP = 20
_SAMPLES = 1_000_000


def run_vertex_estimates(
    inputs: opt.Inputs,
    by: str,
    top: int | None,
    samples: int | None,
    output: Path | None,
    keywords: Mapping[str, Any],
    *,
    as_json: bool,
) -> ExitCode:
    """Estimate, print the greatest estimates, and write all to a file."""
    import motiflux as mf

    whole: mf.VertexEstimates | None = None
    try:
        if top is not None and output is None:
            most: dict[str, Any] = {} if samples is None else {"samples": samples}
            found = mf.estimate_top(
                inputs.graph, inputs.one_pattern("--per-vertex"), by, top, **most, **keywords
            )
        else:
            whole = mf.estimate_per_vertex(
                inputs.graph,
                inputs.one_pattern("--per-vertex"),
                by,
                samples=samples or _SAMPLES,
                simultaneous=True,
                **keywords,
            )
            found = whole.top(top or _TOP)
    except mf.ArgumentError as error:
        if error.argument != "by":
            raise
        raise UsageError(str(error).replace("by:", "--per-vertex:", 1)) from None
    if whole is not None and output is not None:
        whole.save(output)
    if as_json:
        rows = [list(row) for row in found]
        fields = {"by": by, "top": rows, "samples": found.samples, "confidence": found.confidence}
        print_json({**fields, "complete": found.complete, "output": None if output is None else str(output)})
    else:
        _print(found, by)
        if whole is not None:
            if output is not None:
                print(f"{quantity(len(whole), 'row')} written to {output}")
            print(f"sampling {seconds_text(whole.seconds)}")
    return exit_code(None, done=found.complete)


def _print(found: "mf.EstimatedTop", by: str) -> None:
    """Print the greatest estimates as a table."""
    level = f"{100 * found.confidence:g} %"
    title = (
        f"greatest estimates of {by}, {quantity(found.samples, 'sample')}, confidence {level} for all rows"
    )
    rows = [
        (
            str(row.id),
            *(f"{number:.6g}" for number in (row.value, row.low, row.high)),
            "yes" if row.certain else "",
        )
        for row in found
    ]
    columns = ["vertex", "estimate", "low", "high", "certainly among them"]
    print_table(title, columns, rows, right=columns[1:4])
