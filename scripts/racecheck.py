"""Look for races in shared memory with compute-sanitizer, and tell which of them are not known.

    python scripts/racecheck.py [CASE...] [--device cuda] [--logs FOLDER] [--record]
    python scripts/racecheck.py [CASE...] --read [--logs FOLDER] [--record]

Runs each case of `scripts/racecheck_workload.py` twice: first all beside each other without the tool, so that
kernels are compiled and answers checked, then one after the other under racecheck. What the tool prints stays
in FOLDER, a file for each case; logs of an earlier run are deleted first. With ``--read`` nothing is run, and
what lies there is read.

racecheck takes the loads and stores of ``device/builtin_atomics.hpp`` for plain ones. So it reports words
that groups of a block share, and what they hand over by these. `scripts/racecheck_known.json` says of such
pairs of accesses why they are ordered; `docs/design/races.md` has the whole argument:

    "CASE | read or write HEADER FUNCTION | read or write HEADER FUNCTION": "reason"

A ``*`` stands for anything, and the two accesses may come in either order. ``--record`` adds the pairs that
are not known, with an empty reason: the check fails until somebody fills it in. Nothing is added if anything
went wrong.

Exit codes: 0 all pairs are known, 1 some are not or have no reason, a run failed, or the tool saw nothing
where it always sees something.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
WORKLOAD = SCRIPTS / "racecheck_workload.py"
KNOWN = SCRIPTS / "racecheck_known.json"
HEADERS = SCRIPTS.parent / "src" / "motiflux" / "include" / "motiflux"
LOGS = SCRIPTS.parent / "build" / "racecheck"

TOOL, TOOLKIT = "compute-sanitizer", "/usr/local/cuda/bin"
OPTIONS = {
    "--tool": "racecheck",
    "--racecheck-report": "analysis",
    "--report-api-errors": "no",
    "--show-backtrace": "no",
    "--print-limit": "0",
    "--strip-paths": "no",
    "--launch-timeout": "120",
}
"""How it is called; ``--racecheck-report hazard`` and ``all`` are read as well."""
LONGEST_SECONDS = 300
"""That a case may take."""
NEVER_SILENT = ("passive-counts", "passive-tails", "active-counts", "active-tails")
"""Cases in which work changes hands, so that racecheck reports pairs of accesses each time."""


@dataclass(frozen=True, order=True)
class Access:
    """One of two accesses that race: what it does, and where.

    Parameters
    ----------
    does
        ``read`` or ``write``.
    function
        As the report names it, parameters and templates included.
    file, line
        Of the innermost inlined function; empty and 0 where the report has none.
    """

    does: str
    function: str
    file: str = ""
    line: int = 0

    @property
    def place(self) -> str:
        """The header, from its folder on, and the function in it; stays the same while lines move."""
        header = header_of(self.file)
        if header is None:
            return " ".join(filter(None, (Path(self.file).name, short_name(self.function))))
        return f"{header} {function_at(header, self.line) or short_name(self.function)}"

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.file else "no line"
        return f"{self.does} {self.place} ({where})"


@dataclass(frozen=True)
class Race:
    """Two accesses that racecheck holds for unordered, and how severe it says that is."""

    severity: str
    first: Access
    second: Access

    def keys(self, case: str) -> tuple[str, str]:
        """Return what the list of known races calls it: the one that is written down, and the other order."""
        one, other = sorted(f"{access.does} {access.place}" for access in (self.first, self.second))
        return f"{case} | {one} | {other}", f"{case} | {other} | {one}"


@dataclass
class Log:
    """What racecheck said.

    Attributes
    ----------
    races
        With the number of hazards of each; of one pair of accesses there may be several.
    reports, displayed
        How many reports were read, and how many there are, as the last line tells; None without that line.
    troubles
        Lines that say that something went wrong.
    """

    races: dict[Race, int] = field(default_factory=lambda: defaultdict(int))
    reports: int = 0
    displayed: int | None = None
    troubles: list[str] = field(default_factory=list)

    def faults(self) -> list[str]:
        """Return why the log cannot be relied upon."""
        if self.displayed is None:
            return [*self.troubles, "no summary: racecheck did not come to its end"]
        if self.reports != self.displayed:
            return [*self.troubles, f"{self.displayed} reports were displayed, {self.reports} could be read"]
        return self.troubles


_OF_TOOL = re.compile(r"={5,}\s?(?P<text>.*)")
_SEVERITY = r"(?P<severity>\w+)\s*:.*?"
_ANALYSIS = re.compile(_SEVERITY + r"Race reported between (?P<does>Read|Write) access at (?P<place>.+)")
_BESIDE = re.compile(
    r"and (?P<does>Read|Write) access at (?P<place>.+?)(?: \[(?P<hazards>[\d,]+) hazards?\])?"
)
_HAZARD = re.compile(_SEVERITY + r"Potential (?P<kind>RAW|WAR|WAW) hazard detected .*")
_THREAD = re.compile(r"(?P<does>Read|Write) Thread \([^)]*\) at (?P<place>.+)")
_SUMMARY = re.compile(r"RACECHECK SUMMARY: (?P<displayed>[\d,]+) hazards? displayed.*")
_IGNORED = re.compile(r"COMPUTE-SANITIZER|Current Value|Saved host backtrace|(Host|Device) Frame")
_TROUBLE = re.compile(
    r"\b(error|warning|fatal|internal|invalid|unable|not supported|not printed|maximum|terminated)\b",
    re.IGNORECASE,
)
_NEW_PLACE = re.compile(r"(?P<function>.+)[+:]0x[0-9a-fA-F]+(?: in (?P<file>.+):(?P<line>\d+)(?:\(\w*\))?)?")
_OLD_PLACE = re.compile(r"0x[0-9a-fA-F]+ in (?:(?P<file>[^:]+):(?P<line>\d+):)?(?P<function>.+)")


def parse(text: str) -> Log:
    """Read what racecheck printed, in hazards, in an analysis of them, or both."""
    log = Log()
    severity, first = "", None
    for line in text.splitlines():
        if (own := _OF_TOOL.match(line)) is None:
            continue  # the program's
        said = own["text"].strip()
        if found := _ANALYSIS.fullmatch(said):
            severity, first = found["severity"].lower(), access_of(found)
            log.reports += 1
        elif found := _HAZARD.fullmatch(said):
            severity, first = found["severity"].lower(), None
            log.reports += 1
        elif (found := _BESIDE.fullmatch(said)) and first is not None:
            log.races[Race(severity, first, access_of(found))] += _number(found["hazards"] or "1")
        elif found := _THREAD.fullmatch(said):
            if first is None:
                first = access_of(found)
            else:
                log.races[Race(severity, first, access_of(found))] += 1
                first = None
        elif found := _SUMMARY.fullmatch(said):
            log.displayed = _number(found["displayed"])
        elif not _IGNORED.match(said) and _TROUBLE.search(said):
            log.troubles.append(said)
    return log


def access_of(found: re.Match[str]) -> Access:
    """Return the access that a line of a report tells of."""
    does, text = found["does"].lower(), found["place"].strip()
    place = _OLD_PLACE.fullmatch(text) or _NEW_PLACE.fullmatch(text)
    if place is None:
        return Access(does, text)
    return Access(does, place["function"], place["file"] or "", int(place["line"] or 0))


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def short_name(function: str) -> str:
    """Return a function's name without result, namespaces, template arguments and parameters."""
    kept, depth = "", 0
    for letter in function.replace("operator()", "operator").replace("(anonymous namespace)::", ""):
        depth -= letter in ")>]"
        if depth == 0 and letter not in ")>]([<":
            kept += letter
        depth += letter in "([<"
    return kept.removesuffix(" const").split("::")[-1].split()[-1] if kept.strip() else function


@cache
def header_of(file: str) -> str | None:
    """Return which of motiflux' headers a file is, from its folder on; None if it is none of them."""
    _, inside, tail = file.rpartition("include/motiflux/")
    if inside and (HEADERS / tail).is_file():
        return tail
    named = list(HEADERS.rglob(Path(file).name)) if file else []
    return named[0].relative_to(HEADERS).as_posix() if len(named) == 1 else None


_DEFINITION = re.compile(
    r" {0,4}(?:[\w ]+ )?MOTIFLUX_(?:HOST_)?DEVICE(?:_CALL)?\b[^(=]*?(?P<name>operator\(\)|\w+)\("
)


@cache
def _lines_of(header: str) -> list[str]:
    return (HEADERS / header).read_text(encoding="utf-8").splitlines()


def function_at(header: str, line: int) -> str | None:
    """Return the function of a header that a line is in: the last one whose definition begins before it."""
    for text in reversed(_lines_of(header)[:line]):
        if found := _DEFINITION.match(text):
            return found["name"]
    return None


def matches(pattern: str, key: str) -> bool:
    """Whether a known race, in which ``*`` stands for anything, is the one of this key."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), key) is not None


@dataclass
class Verdict:
    """What a comparison with the known races says.

    Attributes
    ----------
    new, unexplained
        Keys that are not known, with a race of each; and known ones that have no reason.
    seen
        Known races that were there.
    """

    new: dict[str, list[tuple[Race, int]]] = field(default_factory=lambda: defaultdict(list))
    unexplained: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)


def judge(logs: Mapping[str, Log], known: Mapping[str, str]) -> Verdict:
    """Compare the races of all cases with the known ones."""
    verdict = Verdict(unexplained={key for key, reason in known.items() if not reason.strip()})
    for case, log in logs.items():
        for race, hazards in log.races.items():
            keys = race.keys(case)
            which = [pattern for pattern in known if any(matches(pattern, key) for key in keys)]
            verdict.seen.update(which)
            if not which:
                verdict.new[keys[0]].append((race, hazards))
    return verdict


def read_known(path: Path) -> dict[str, str]:
    """Return the known races and their reasons."""
    known: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return known


def record(keys: Iterable[str], path: Path) -> None:
    """Add races to the known ones, without a reason."""
    known = {**read_known(path), **dict.fromkeys(sorted(keys), "")}
    path.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")


def command_of(case: str, device: str) -> list[str]:
    """Return the command that runs a case as it is."""
    return [sys.executable, str(WORKLOAD), case, "--device", device]


def run(command: Sequence[str]) -> tuple[int, str]:
    """Return the exit code of a command, and what it printed."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the program too, which the tool started
        output, _ = process.communicate()
        return 1, f"{output}took longer than {LONGEST_SECONDS} s"
    return process.returncode, output


def run_plainly(cases: Sequence[str], device: str) -> bool:
    """Run all cases beside each other, without racecheck; whether all answers are right."""
    at_once = max(1, min(8, (os.cpu_count() or 2) // 2))
    with ThreadPoolExecutor(at_once) as pool:
        results = list(pool.map(lambda case: run(command_of(case, device)), cases))
    for case, (code, output) in zip(cases, results, strict=True):
        print(f"without racecheck: {output.strip() if code == 0 else f'{case} failed: {output}'}", flush=True)
    return all(code == 0 for code, _ in results)


def run_under_racecheck(tool: str, case: str, device: str, logs: Path) -> bool:
    """Run a case under racecheck, which prints into its log; whether the case itself went well."""
    log = str(log_of(case, logs))
    code, output = run(
        [tool, *chain.from_iterable(OPTIONS.items()), "--log-file", log, *command_of(case, device)]
    )
    print(f"under racecheck: {output.strip() if code == 0 else f'{case} failed: {output}'}", flush=True)
    return code == 0


def log_of(case: str, folder: Path) -> Path:
    """Return where racecheck prints what it says of a case."""
    return folder / f"{case}.log"


def run_all(tool: str, cases: Sequence[str], device: str, logs: Path) -> bool:
    """Run cases without racecheck, then under it; whether all went well. Earlier logs of them are deleted."""
    logs.mkdir(parents=True, exist_ok=True)
    for case in cases:
        log_of(case, logs).unlink(missing_ok=True)
    if not run_plainly(cases, device):
        return False
    went_well = [run_under_racecheck(tool, case, device, logs) for case in cases]
    return all(went_well)


def read_logs(cases: Sequence[str], folder: Path) -> tuple[dict[str, Log], list[str]]:
    """Return the logs of cases, and what is wrong with them."""
    logs, faults = {}, []
    for case in cases:
        path = log_of(case, folder)
        if not path.is_file():
            faults.append(f"{case}: there is no {path}")
            continue
        logs[case] = parse(path.read_text(encoding="utf-8", errors="replace"))
        faults += [f"{case}: {fault}" for fault in logs[case].faults()]
        if case in NEVER_SILENT and not logs[case].races:
            faults.append(f"{case}: the tool saw nothing: were kernels instrumented?")
    return logs, faults


def tell(logs: Mapping[str, Log], verdict: Verdict, known: Mapping[str, str], faults: Sequence[str]) -> None:
    """Print what was found."""
    for case, log in logs.items():
        print(f"{case}: {len(log.races)} pairs of accesses, {sum(log.races.values())} hazards")
    for key in sorted(known.keys() - verdict.seen):
        if any(matches(key.split(" | ")[0], case) for case in logs):
            print(f"not seen: {key}")
    for key in sorted(verdict.unexplained):
        print(f"known without a reason: {key}")
    for key, races in sorted(verdict.new.items()):
        print(f"new: {key}")
        for race, hazards in races:
            print(f"  {race.severity}, {hazards} hazards: {race.first}; {race.second}")
    for fault in faults:
        print(f"wrong: {fault}")
    print(
        f"{len(verdict.new)} new, {len(verdict.seen)} known, {len(verdict.unexplained)} without a reason,"
        f" {len(faults)} wrong"
    )


def all_cases() -> list[str]:
    """Return the names of all cases."""
    command = [sys.executable, str(WORKLOAD), "--list"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def main() -> None:
    """Run, read and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="all if none is named")
    parser.add_argument("--device", default="cuda", help="where to run them")
    parser.add_argument("--logs", type=Path, default=LOGS, help="folder of what racecheck prints")
    parser.add_argument("--read", action="store_true", help="run nothing, read the folder")
    parser.add_argument("--record", action="store_true", help="add new pairs to the known ones")
    given = parser.parse_args()
    tool = shutil.which(TOOL) or shutil.which(TOOL, path=TOOLKIT)
    if tool is None and not given.read:
        parser.exit(1, f"expected {TOOL} of the CUDA toolkit on the PATH or in {TOOLKIT}\n")
    cases = given.cases or all_cases()
    went_well = given.read or run_all(str(tool), cases, given.device, given.logs)
    logs, faults = read_logs(cases, given.logs)
    if not went_well:
        faults.append("a case failed")
    known = read_known(KNOWN)
    verdict = judge(logs, known)
    tell(logs, verdict, known, faults)
    if given.record and not faults:
        record(verdict.new, KNOWN)
    raise SystemExit(bool(verdict.new or verdict.unexplained or faults))


if __name__ == "__main__":
    main()
