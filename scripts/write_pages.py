"""Write the pages of the documentation that are made from code and from results.

    python scripts/write_pages.py

These are the options of the commands, the tuning switches, and the table of `motiflux bench peers` between
its marks on the page of comparisons. A test compares what is there with what this would write.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from typer import Context, Typer
from typer.models import ArgumentInfo, OptionInfo

from motiflux.cli.app import app
from motiflux.config import TUNING
from motiflux.units import seconds_text

REPOSITORY = Path(__file__).resolve().parents[1]
REFERENCE = REPOSITORY / "docs" / "reference"
COMPARISON = REPOSITORY / "docs" / "comparison.md"
RESULTS = REPOSITORY / "benchmarks" / "results"
MADE = "<!-- Made by scripts/write_pages.py: change that, or what it reads. -->\n"
SYSTEMS = ("networkx", "igraph", "rustworkx", "grandiso", "duckdb")


def main() -> None:
    """Write them all."""
    for path, text in pages():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(REPOSITORY))


def pages() -> Iterator[tuple[Path, str]]:
    """Give each file with what belongs in it."""
    yield REFERENCE / "commands.md", commands_page()
    yield REFERENCE / "tuning.md", tuning_page()
    yield COMPARISON, comparison_page(COMPARISON.read_text(encoding="utf-8"))


# --- commands ---


COMMANDS = """\
This page lists every option of every command. [The command line](../guide/command-line.md) has examples;
[errors and exit codes](errors.md) lists the exit codes."""


def commands_page() -> str:
    """Describe every command from its signature, as ``--help`` does."""
    parts = [f"# Commands\n\n{MADE.strip()}", COMMANDS]
    for name, about, run in commands(app):
        rows = [
            one_parameter(*one)
            for one in inspect.signature(run).parameters.items()
            if one[1].annotation is not Context
        ]
        usage = " ".join(row[0] for row in rows if row[-1])
        parts += [f"## {name}\n\n```text\nmotiflux {name} [OPTIONS] {usage}".rstrip() + "\n```"]
        lines = ["| | takes | default | |", "|---|---|---|---|"]
        for option, takes, default, text, _ in sorted(rows, key=lambda row: not row[-1]):
            lines.append(f"| `{option}` | {takes} | {default} | {text} |")
        parts += [about, "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def commands(group: Typer, prefix: str = "") -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Give name, help and function of each command, those of groups after the others."""
    for command in group.registered_commands:
        assert command.callback is not None
        yield f"{prefix}{command.name}", " ".join(str(command.help).split()), command.callback
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from commands(inner.typer_instance, f"{prefix}{inner.name} ")


Row = tuple[str, str, str, str, bool]
"""Name, values taken, default, help, and whether it is an argument."""


def one_parameter(name: str, parameter: inspect.Parameter) -> Row:
    """Describe one parameter: its name, what it takes, its default, its help."""
    kind, about = get_args(parameter.annotation)[:2]
    default = None if parameter.default is inspect.Parameter.empty else parameter.default
    if isinstance(about, ArgumentInfo):
        return about.metavar or name.upper(), "", "", escaped(about.help), True
    given = [str(one) for one in (about.default, *(about.param_decls or ())) if str(one).startswith("-")]
    shown = ", ".join(sorted(given, key=len)) or f"--{name.replace('_', '-')}"
    takes = type_text(kind) if about.metavar is None else about.metavar.strip("[]")
    return shown, cell(takes), escaped(default_text(about, default)), escaped(about.help), False


def escaped(text: str | None) -> str:
    """Give a text on one line, safe in a table."""
    return " ".join(str(text or "").split()).replace("|", "\\|")


def cell(text: str) -> str:
    """Set a text as code, safe in a table."""
    return f"`{escaped(text)}`" if text else ""


def type_text(kind: Any) -> str:
    """Say which values an option takes."""
    if get_origin(kind) in (Union, UnionType):
        kind = next(one for one in get_args(kind) if one is not NoneType)
    if get_origin(kind) is list:
        kind = get_args(kind)[0]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(one.value) for one in kind)
    return {int: "INTEGER", float: "NUMBER", Path: "PATH", bool: ""}.get(kind, "TEXT")


def default_text(about: ArgumentInfo | OptionInfo, default: Any) -> str:
    """Say what holds where nothing is given."""
    if isinstance(about.show_default, str):
        return about.show_default
    if default is None or default is False or about.show_default is False:
        return ""
    return str(default.value if isinstance(default, Enum) else default)


# --- tuning ---


TUNING_PAGE = f"""\
# Tuning switches

{MADE}
Tuning switches are for ablations and for the analysis of slow searches. Set them with `tuning={{"order":
"cost"}}` in Python and with `--set order=cost` on the command line. `motiflux info --tuning` prints the same
list.

No switch changes a count, the set of matches (but a limit may select other matches) or the results of a
monitor. The switches of `estimate` and `sample` may change the random samples: the estimate then changes, as
with another seed, and stays unbiased.

| switch | values | default | effect |
|---|---|---|---|"""


def tuning_page() -> str:
    """Describe every switch that ``tuning=`` and ``--set`` take."""
    lines = [TUNING_PAGE]
    for option in TUNING.values():
        values = ", ".join(f"`{value}`" for value in option.values)
        lines.append(f"| `{option.name}` | {values} | `{option.default}` | {escaped(option.help)} |")
    return "\n".join(lines) + "\n"


# --- comparison ---


def comparison_page(text: str) -> str:
    """Put the tables of the newest result between their marks."""
    newest = max(RESULTS.glob("peers-amd-epyc-*.json"))
    result = json.loads(newest.read_text(encoding="utf-8"))
    tables = {
        "peers": peers_table(result["cases"]),
        "by hand": formulas_table(result["cases"]),
        "misses": misses_table(result["bars"]),
    }
    for name, table in tables.items():
        mark = f"<!-- {name}: made by scripts/write_pages.py from {newest.name} -->"
        parts = re.split(rf"<!-- {name}:.*?<!-- end -->", text, flags=re.DOTALL)
        if len(parts) != 2:
            raise ValueError(f"{COMPARISON}: expected one pair of marks for {name}, found {len(parts) - 1}")
        text = f"{mark}\n\n{table}\n\n<!-- end -->".join(parts)
    return text


def formulas_table(cases: list[dict[str, Any]]) -> str:
    """Give a row per formula by hand: its time, and ours."""
    lines = ["|  | by | time | motiflux, repeated |", "|---|---|---:|---:|"]
    for one in cases:
        if "by hand" in one["engine"] and one["count"] is not None:
            ours = next(case for case in cases if case["case"] == one["case"] and case["engine"] == "cpu")
            times = [seconds_text(case["seconds"]["min"]) for case in (one, ours)]
            method = one["engine"].replace(", by hand", "").split(" (")[0]
            lines.append(f"| {one['case']} | `{method}` | {' | '.join(times)} |")
    return "\n".join(lines)


def misses_table(bars: list[dict[str, Any]]) -> str:
    """Give a row per bar that does not hold."""
    missed = [bar for bar in bars if not bar["holds"]]
    lines = ["|  | times as fast as the best peer |", "|---|---:|"]
    lines += [f"| {bar['bar'].split(' on ', 1)[1]} | {bar['value']:,.1f} |" for bar in missed]
    return "\n".join(lines) if missed else "None is missed."


def peers_table(cases: list[dict[str, Any]]) -> str:
    """Give a row per case: our times, the best time of each system, and our ratios."""
    head = ["", "repeated", "first call", *("DuckDB" if one == "duckdb" else one for one in SYSTEMS)]
    head += ["best peer / repeated", "best peer / first call"]
    lines = [f"| {' | '.join(head)} |", f"|---{'|---:' * (len(head) - 1)}|"]
    ours = [case for case in cases if case["engine"] == "cpu" and not case["case"].endswith(", first call")]
    for case in ours:
        first = next(one for one in cases if one["case"] == f"{case['case']}, first call")
        row = [case["case"], *(seconds_text(one["seconds"]["min"]) for one in (case, first))]
        row += [best_of(system, case["case"], cases) for system in SYSTEMS]
        row += [ratio_text(one) for one in (case, first)]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def best_of(system: str, case: str, cases: list[dict[str, Any]]) -> str:
    """Give the best time of a system's own methods, or that none finished."""
    tried = [
        one
        for one in cases
        if one["case"] == case and one["engine"].startswith(f"{system}.") and "by hand" not in one["engine"]
    ]
    done = [one["seconds"]["min"] for one in tried if one["count"] is not None]
    if done:
        return seconds_text(min(done))
    stopped = [one["seconds"]["min"] for one in tried if one["seconds"]]
    if stopped:
        return f"> {max(stopped):.0f} s"
    return "fails" if tried else "-"


def ratio_text(case: dict[str, Any]) -> str:
    """Give how many times faster than the best peer; a bound where no peer finished."""
    if case["ratio"] is None:
        return "-"
    return f"{'> ' if case['baseline']['timeout'] else ''}{case['ratio']:,.1f}"


if __name__ == "__main__":
    main()
