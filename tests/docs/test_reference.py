"""The reference and the program name the same options, variables, formats, fields, loggers and names."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import motiflux as mf
from motiflux import log
from motiflux.cli.app import app
from motiflux.cli.exits import ExitCode
from motiflux.config import TUNING
from motiflux.io import registry, writers
from motiflux.stream.sinks.file_sink import SINK_FORMATS
from motiflux.stream.sources.convert import STREAM_FORMATS
from tests.data_paths import REPOSITORY
from tests.unit.cli_run import motiflux, only_json

DOCS = REPOSITORY / "docs"
REFERENCE = DOCS / "reference"
FORMATS = (REFERENCE / "formats.md").read_text(encoding="utf-8")
FOR_USERS = [
    REPOSITORY / "README.md",
    *(page for part in ("guide", "howto", "reference", "tutorial") for page in (DOCS / part).glob("*.md")),
]
SOURCES = [*(REPOSITORY / "src" / "motiflux").rglob("*.py")]
OF_OTHER_PROGRAMS = {
    *("--upgrade", "--no-deps", "--group"),
    *("--nodes", "--ntasks", "--ntasks-per-node", "--cpus-per-task", "--time", "--exclude", "--overlap"),
    *("--head", "--port", "--address", "--num-cpus", "--num-gpus", "--include-dashboard", "--block"),
}
"""Options of pip, Slurm and Ray that pages show."""


def options_of(command: Any) -> Iterator[str]:
    """Give the long options of a command and of all below it."""
    yield "--help"
    for param in command.params:
        yield from (name for name in [*param.opts, *param.secondary_opts] if name.startswith("--"))
    for inner in getattr(command, "commands", {}).values():
        yield from options_of(inner)


def part(text: str, heading: str) -> str:
    """Return a section of a page, up to the next heading of its level or above."""
    level = heading.partition(" ")[0]
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    after = text.split(f"\n{heading}\n", 1)[1]
    return re.split(rf"^#{{1,{len(level)}}} ", after, maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("page", FOR_USERS, ids=lambda page: page.name)
def test_every_option_and_switch_on_a_page_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    known = {*options_of(get_command(app)), *OF_OTHER_PROGRAMS}
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text)) - known == set()
    switches = re.findall(r"--set (\w+)=", text)
    for mapping in re.findall(r"tuning=\{([^}]*)\}", text):
        switches += re.findall(r'"(\w+)":', mapping)
    assert set(switches) - TUNING.keys() == set()


def test_every_option_is_in_the_reference() -> None:
    text = (REFERENCE / "commands.md").read_text(encoding="utf-8")
    described = set(re.findall(r"--[a-z][\w-]*", text))
    of_the_program = {"--help", "--version", "--show-completion", "--install-completion"}
    assert set(options_of(get_command(app))) - of_the_program <= described


@pytest.mark.parametrize("page", FOR_USERS, ids=lambda page: page.name)
def test_every_public_name_on_a_page_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    loggers = {one.name for one in (log.PLAN, log.ENGINE, log.MEMORY, log.COMPILE)}
    for name in re.findall(r"(?<![\w./-])(?:mf|motiflux)((?:\.[A-Za-z_]\w*)+)", text):
        if f"motiflux{name}" not in loggers:
            assert resolved(name.lstrip(".")), f"motiflux{name}"


def resolved(name: str) -> bool:
    """Return whether a name of the package, or of a module of it, exists."""
    value: Any = mf
    path = "motiflux"
    for one in name.split("."):
        path += f".{one}"
        if hasattr(value, one):
            value = getattr(value, one)
        else:
            try:
                value = importlib.import_module(path)
            except ImportError:
                return False
    return True


@pytest.mark.parametrize("page", sorted(REFERENCE.glob("*.md")), ids=lambda page: page.name)
def test_what_a_page_takes_from_docstrings_exists(page: Path) -> None:
    text, home = page.read_text(encoding="utf-8"), ""
    directives = re.findall(r"^\.\. (auto\w+|currentmodule):: (\S+)$", text, re.MULTILINE)
    for kind, name in directives:
        if kind == "currentmodule":
            home = name
        elif not name.startswith("motiflux"):
            assert resolved(f"{home}.{name}".removeprefix("motiflux.")), name
        else:
            assert resolved(name.removeprefix("motiflux.")), name


def described_parameters(value: Any) -> list[str]:
    """Return the parameters that a docstring describes, in its order."""
    text = inspect.getdoc(value) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE)
    lines = section[1].splitlines() if section else []
    names = [line.partition(" : ")[0] for line in lines if re.match(r"[\w*]+(, [\w*]+)*( : .*)?$", line)]
    return [name.strip("* ") for line in names for name in line.split(",")]


def public_functions() -> Iterator[tuple[str, Any]]:
    """Give every public function, and the public methods of public classes."""
    for name in mf.__all__:
        value = getattr(mf, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value):
            for method, inner in inspect.getmembers(value, inspect.isroutine):
                if not method.startswith("_") and str(getattr(inner, "__module__", "")).startswith(
                    "motiflux"
                ):
                    yield f"{name}.{method}", inner


@pytest.mark.parametrize(("name", "value"), [pytest.param(*one, id=one[0]) for one in public_functions()])
def test_docstrings_describe_parameters_that_exist_once(name: str, value: Any) -> None:
    described = described_parameters(value)
    assert len(set(described)) == len(described)
    assert set(described) <= inspect.signature(value).parameters.keys()
    assert inspect.getdoc(value)


@pytest.mark.parametrize("call", [mf.count, mf.estimate, mf.sample, mf.read_graph, mf.open_source])
def test_a_call_describes_all_of_its_parameters(call: Any) -> None:
    assert sorted(described_parameters(call)) == sorted(inspect.signature(call).parameters)


def test_the_reference_lists_the_environment_variables_of_the_program() -> None:
    listed = re.findall(
        r"^\| `(\w+)` \|", (REFERENCE / "environment.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    read = {
        name
        for source in SOURCES
        for name in re.findall(r'"(MOTIFLUX_[A-Z_]+)"', source.read_text(encoding="utf-8"))
    }
    assert sorted(listed) == sorted(read)


def test_the_reference_lists_the_loggers_of_the_program() -> None:
    text = part((REFERENCE / "errors.md").read_text(encoding="utf-8"), "## Logging")
    named = {one.name for one in vars(log).values() if hasattr(one, "isEnabledFor")}
    assert set(re.findall(r"^\| `([\w.]+)`", text, re.MULTILINE)) == named


@pytest.mark.parametrize("page", ["reference/errors.md", "guide/command-line.md"])
def test_each_table_of_exit_codes_is_whole(page: str) -> None:
    text = part((DOCS / page).read_text(encoding="utf-8"), "## Exit codes")
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == set(map(int, ExitCode))
    shown = motiflux("--help").stdout
    assert set(map(int, ExitCode)) <= {int(code) for code in re.findall(r"\b\d+\b", shown)}


@pytest.mark.parametrize(
    ("heading", "suffixes"),
    [
        (
            "## Graphs",
            [*registry.GRAPH_READERS, *registry.TEXT_READERS, *registry.TABLE_READERS],
        ),
        ("## Patterns", [*registry.PATTERN_READERS]),
        ("## Updates", [*STREAM_FORMATS]),
    ],
)
def test_the_reference_lists_the_formats_that_are_read(heading: str, suffixes: list[str]) -> None:
    text = part(FORMATS, heading)
    titles = re.findall(r"^### (.*)$|^\| ((?:`\.\w+`(?:, )?)+) \|", text, re.MULTILINE)
    assert sorted(re.findall(r"`(\.\w+)`", " ".join(map(" ".join, titles)))) == sorted(suffixes)


def test_the_reference_lists_the_formats_of_matches() -> None:
    once, grown = part(FORMATS, "## Matches").split("`watch` writes", 1)
    assert set(re.findall(r"^\| `(\.\w+)`", once, re.MULTILINE)) == set(writers.MATCH_WRITERS)
    rows = re.findall(r"^\| (`\..*?) \|", grown, re.MULTILINE)
    assert set(re.findall(r"`(\.\w+)`", " ".join(rows))) == set(SINK_FORMATS)


def json_fields() -> dict[str, set[str]]:
    """Return the fields that the reference lists for each command (classes it names begin with a capital)."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", part(FORMATS, "## JSON"), re.MULTILINE)
    return {name: set(re.findall(r"`([a-z]\w*)`", text)) for name, text in rows}


UNSEEN = {"estimate": {"slots", "searched", "share"}}
"""Fields of parts of a result that small searches lack; `motiflux.Trawled` has them."""


@pytest.mark.turns(8)
def test_the_reference_lists_the_fields_of_json(tmp_path: Path) -> None:
    graph, stream, table = tmp_path / "graph.txt", tmp_path / "updates.stream", tmp_path / "table.csv"
    graph.write_text("1 2\n2 3\n3 1\n")
    stream.write_text("e 1 4\n")
    table.write_text("one,two,name\n1,2,3\n")
    path, listed = "(a)--(b)", json_fields()
    binary = tmp_path / "graph.mfg"
    calls: dict[str, list[list[str | Path]]] = {
        "convert": [[graph, binary]],
        "count": [[graph, path, "(a)--(b)--(c)"]],
        "match": [[graph, path, "--picture", tmp_path / "one.svg"]],
        "estimate": [[graph, path]],
        "watch": [[graph, stream, "--pattern", path]],
        "generate": [["flows", tmp_path / "flows.csv", "--flows", "9"]],
        "doctor": [[]],
        "info": [[binary, "--verify"], [table], ["--tuning"]],
    }
    common = {
        "match": listed["count"] - {"counts", "pattern"},
        "info": {*mf.GraphStats.__dataclass_fields__, *mf.ShapeStats.__dataclass_fields__},
    }
    for name, argument_lists in calls.items():
        printed: set[str] = set()
        for arguments in argument_lists:
            printed |= set(names_in(only_json(motiflux(name, *arguments, "--json"))))
        of_others = common.get(name, set())
        assert printed - {"schema"} - of_others == listed[name] - of_others - UNSEEN.get(name, set()), name
        assert of_others <= printed, name
    assert all(
        field in dir(mf.Trawled) or field in inspect.get_annotations(mf.Trawled)
        for field in UNSEEN["estimate"]
    )


def names_in(value: object) -> Iterator[str]:
    """Give every key of an object, and of the objects in it."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from names_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from names_in(inner)


def test_the_reference_lists_the_fields_of_errors(tmp_path: Path) -> None:
    text = part(FORMATS, "## JSON")
    table = text.split("| field | content |", 1)[1].split("\n\n", 1)[0]
    listed = {
        name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in row.split("`")[1::2]
    }
    bad = tmp_path / "bad.txt"
    bad.write_text("1 2\n1 two\n")
    good = tmp_path / "good.txt"
    good.write_text("1 2\n")
    seen: set[str] = set()
    for arguments in (
        ["count", bad, "(a)--(b)"],
        ["count", bad, "(a)--(b"],
        ["count", good, "(a)--(b)", "--limit", "-1"],
    ):
        seen |= set(json.loads(motiflux(*arguments, "--json").stdout)["error"])
    assert seen == listed - {"row"}
