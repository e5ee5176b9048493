"""The options of every command that searches for occurrences: count, match and explain."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from motiflux.cli import options as opt
from motiflux.cli.exits import UsageError
from motiflux.words import Semantics, Symmetry


@dataclass(frozen=True)
class Search:
    """The search options of the command line."""

    semantics: opt.SemanticsOption = Semantics.ISOMORPHISM
    symmetry: opt.SymmetryOption = Symmetry.EMBEDDINGS
    directed: opt.DirectedOption = None
    limit: opt.LimitOption = None
    timeout: opt.TimeoutOption = None
    threads: opt.ThreadsOption = None
    device: opt.DeviceOption = "auto"
    devices: opt.DevicesOption = None
    engine: opt.EngineOption = opt.Engine.AUTO
    gpu_memory: opt.GpuMemoryOption = None
    distinct: opt.DistinctOption = None
    having: opt.HavingOption = None
    settings: opt.TuningOption = None

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of `motiflux.count`, `match` and `explain`; `directed` belongs to the reader.

        Raises
        ------
        ArgumentError
            A setting is invalid.
        """
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        del given["directed"], given["settings"], given["distinct"], given["having"]
        enums = {name: given[name].value for name in ("semantics", "symmetry", "engine")}
        return {**given, **enums, "tuning": opt.tuning_of(self.settings)}

    @property
    def rows(self) -> dict[str, Any]:
        """The keywords of `motiflux.count`, `match` and `explain` for distinct rows.

        Raises
        ------
        UsageError
            There are thresholds, but no vertices that rows have.
        """
        if self.distinct is None:
            if self.having:
                raise UsageError(f"--having {self.having[0]}: expected --distinct beside it")
            return {}
        return {
            "distinct": [name.strip() for name in self.distinct.split(",")],
            "having": self.having or None,
        }

    def refuse_rows(self, option: str) -> None:
        """Raise an error if distinct rows are asked for beside an option.

        Raises
        ------
        UsageError
            Names both.
        """
        if self.rows:
            raise UsageError(f"{option}: expected no --distinct beside it")

    def read(self, graph: Path, pattern: str, progress: bool | None) -> opt.Inputs:
        """Read a graph and a pattern, which may have RETURN DISTINCT behind it."""
        return opt.read_inputs(
            graph,
            [pattern],
            directed=self.directed,
            threads=self.threads,
            progress=progress,
            distinct=self.rows,
        )

    @property
    def noun(self) -> str:
        """What is counted."""
        return self.symmetry.value.removesuffix("s")

    def reached(self, rows: int) -> bool:
        """Return whether this number of results reaches the limit."""
        return self.limit is not None and rows >= self.limit


def with_search(run: Callable[..., Any]) -> Callable[..., Any]:
    """Replace the parameter `search` of a command by the fields of `Search` as options."""
    parameters = []
    for parameter in inspect.signature(run).parameters.values():
        if parameter.annotation is Search:
            parameters += [
                inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
                )
                for field in fields(Search)
            ]
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(run)
    def taking(**options: Any) -> Any:
        search = Search(**{field.name: options.pop(field.name) for field in fields(Search)})
        return run(search=search, **options)

    taking.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return taking
