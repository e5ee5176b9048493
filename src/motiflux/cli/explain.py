"""``motiflux explain``: what the search would do."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode
from motiflux.cli.output import print_json
from motiflux.types import Semantics, Symmetry

HELP = "Show the search plan for PATTERN in GRAPH, and why it is that one."


def run(
    graph: opt.GraphArgument,
    pattern: opt.PatternArgument,
    semantics: opt.SemanticsOption = Semantics.ISOMORPHISM,
    symmetry: opt.SymmetryOption = Symmetry.EMBEDDINGS,
    directed: opt.DirectedOption = None,
    device: opt.DeviceOption = "auto",
    engine: opt.EngineOption = opt.Engine.AUTO,
    settings: opt.TuningOption = None,
    as_json: opt.JsonOption = False,
) -> ExitCode:
    """Plan without searching, and print the plan."""
    import motiflux as mf

    tuning = opt.tuning_of(settings)
    inputs = opt.read_inputs(graph, pattern, directed=directed)
    explanation = mf.explain(
        inputs.graph,
        inputs.pattern,
        semantics=semantics.value,
        symmetry=symmetry.value,
        device=device,
        engine=engine.value,
        tuning=tuning,
    )
    if as_json:
        print_json({"plan": str(explanation), "load_seconds": inputs.load_seconds})
    else:
        print(explanation)
    return ExitCode.DONE
