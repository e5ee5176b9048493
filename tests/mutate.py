"""Change lines of the sources, one at a time, and tell which suites of tests notice.

    python tests/mutate.py --suite "before=../old=make test" --suite "now=../new=make test" \\
      --suite "parts=../new=.venv/bin/python tests/full_checks.py" --suite "all=../new=make test-all"
    python tests/mutate.py --list

A suite is a name, a clone in which `make setup` has been run, and a command to run in it. Clones are changed
and put back: they must have no changes of their own. Suites of several clones are given the same changes, so
that sources must be alike where they are changed; suites of one clone run in turn.

The lines are drawn by ``--seed``: 20 of ``src/motiflux`` and its headers, 8 of ``csrc``. Changes without an
effect on behaviour are listed in ``tests/mutate_equivalent.json``, with file, before, after and reason, and
left out. Results are kept in ``build/mutants.jsonl``: a run that was interrupted goes on where it was.

Exit codes: 0 each change was noticed by the last suite, 1 some were not.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import shlex
import signal
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
EQUIVALENT = Path(__file__).with_name("mutate_equivalent.json")
FOUND = REPOSITORY / "build" / "mutants.jsonl"

_HEADERS = "src/motiflux/include/**"
PYTHON_AND_HEADERS = ("src/motiflux/**/*.py", f"{_HEADERS}/*.hpp", f"{_HEADERS}/*.cuh")
NATIVE = ("csrc/**/*.cpp", "csrc/**/*.hpp")
LEFT_OUT = ("src/motiflux/bench/", "src/motiflux/datasets/")
"""Measurements and data, which tests of behaviour say little of."""

CHANGES: Sequence[tuple[str, str]] = (
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" \+ 1\b", " + 2"),
    (r" - 1\b", ""),
    (r" \+ ", " - "),
    (r" \* ", " + "),
    (r" \+= ", " -= "),
    (r" and ", " or "),
    (r" or ", " and "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r"\bnot (?!in\b)", ""),
    (r" not in ", " in "),
    (r"\bTrue\b", "False"),
    (r"\bFalse\b", "True"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"\bbreak\b", "continue"),
    (r"(?<![.\w])0\b(?!\.)", "1"),
    (r"(?<![.\w])1\b(?!\.)", "0"),
)
"""What is replaced, as a regular expression, and by what."""

_COMMENT = re.compile(r"^\s*(//|#|\*|/\*|using |namespace |template|static_assert)")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One line that is changed.

    Parameters
    ----------
    file, line
        Where, relative to the repository, counted from 1.
    before, after
        Its text.
    """

    file: str
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before.strip()}  =>  {self.after.strip()}"


@dataclass(frozen=True, slots=True)
class Suite:
    """A command that is run in a clone."""

    name: str
    folder: Path
    command: str

    @classmethod
    def parse(cls, text: str) -> Suite:
        """Read ``NAME=FOLDER=COMMAND``."""
        name, folder, command = text.split("=", 2)
        return cls(name, Path(folder).resolve(), command)

    def notices(self, seconds: float) -> bool:
        """Return whether the command fails, or takes so long that it is stopped."""
        try:
            done = subprocess.run(
                ["bash", "-c", self.command],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


def draw(seed: int, python: int, native: int, root: Path = REPOSITORY) -> list[Mutant]:
    """Return so many changes, at most one of a file, none of them known to change no behaviour."""
    drawn = random.Random(seed)
    equivalent = {(one["file"], one["before"], one["after"]) for one in json.loads(EQUIVALENT.read_text())}
    found = []
    for patterns, number in ((PYTHON_AND_HEADERS, python), (NATIVE, native)):
        files = sorted({path for pattern in patterns for path in root.glob(pattern)})
        files = [path for path in files if not path.relative_to(root).as_posix().startswith(LEFT_OUT)]
        sizes = [path.stat().st_size for path in files]
        chosen: dict[str, Mutant] = {}
        for _ in range(200 * number):
            if len(chosen) == number:
                break
            (path,) = drawn.choices(files, sizes)
            mutants = list(mutants_of(path, root))
            if not mutants:
                continue
            one = drawn.choice(mutants)
            if (one.file, one.before.strip(), one.after.strip()) not in equivalent:
                chosen.setdefault(one.file, one)
        found += chosen.values()
    return found


def mutants_of(path: Path, root: Path) -> Iterator[Mutant]:
    """Yield all changes of a file that it may be drawn from."""
    text = path.read_text()
    lines = text.splitlines()
    code = _code_of_python(text) if path.suffix == ".py" else set(range(1, len(lines) + 1))
    for number, line in enumerate(lines, 1):
        if number not in code or _COMMENT.match(line):
            continue
        body, comment = _without_comment(line, path.suffix)
        for pattern, other in CHANGES:
            for at in re.finditer(pattern, body):
                if _in_text(body, at.start()):
                    continue
                after = body[: at.start()] + other + body[at.end() :] + comment
                yield Mutant(path.relative_to(root).as_posix(), number, line, after)


def _code_of_python(text: str) -> set[int]:
    """Return the lines that hold code beside imports, decorators, signatures and strings of several lines."""
    lines: set[int] = set()
    strings: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        rows = range(token.start[0], token.end[0] + 1)
        if token.type == tokenize.STRING and (len(rows) > 1 or token.line.lstrip().startswith(('"', "r'"))):
            strings.update(rows)
        elif token.type in (tokenize.OP, tokenize.NAME, tokenize.NUMBER):
            lines.update(rows)
    quiet = ("import ", "from ", "@", "def ", "class ", "__all__")
    every = text.splitlines()
    return {row for row in lines - strings if not every[row - 1].lstrip().startswith(quiet)}


def _without_comment(line: str, suffix: str) -> tuple[str, str]:
    mark = "  # " if suffix == ".py" else "//"
    body, found, comment = line.partition(mark)
    return body, found + comment


def _in_text(body: str, at: int) -> bool:
    """Return whether a place is between quotes."""
    return body[:at].count('"') % 2 == 1 or body[:at].count("'") % 2 == 1


def apply(mutant: Mutant, root: Path) -> str:
    """Change a clone; return the file's text before."""
    path = root / mutant.file
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    end = len(lines[mutant.line - 1]) - len(lines[mutant.line - 1].rstrip("\r\n"))
    if lines[mutant.line - 1].rstrip("\r\n") != mutant.before:
        raise SystemExit(f"{path}, line {mutant.line}: expected {mutant.before!r}: clones differ")
    lines[mutant.line - 1] = mutant.after + lines[mutant.line - 1][-end:]
    path.write_text("".join(lines))
    return text


def look(mutants: Sequence[Mutant], suites: Sequence[Suite], seconds: float) -> dict[Mutant, dict[str, bool]]:
    """Return which suites notice which changes; what is known of an earlier run is not looked at again."""
    FOUND.parent.mkdir(parents=True, exist_ok=True)
    known = {}
    for line in FOUND.read_text().splitlines() if FOUND.exists() else ():
        row = json.loads(line)
        known[Mutant(**row["mutant"]), row["suite"], row["command"]] = row["noticed"]
    table: dict[Mutant, dict[str, bool]] = {}
    for mutant in mutants:
        row = table[mutant] = {}
        for suite in suites:
            if (mutant, suite.name, suite.command) not in known:
                before = apply(mutant, suite.folder)
                try:
                    noticed = suite.notices(seconds)
                finally:
                    (suite.folder / mutant.file).write_text(before)
                known[mutant, suite.name, suite.command] = noticed
                entry = {"mutant": asdict(mutant), "noticed": noticed}
                with FOUND.open("a") as file:
                    file.write(json.dumps({**entry, "suite": suite.name, "command": suite.command}) + "\n")
            row[suite.name] = known[mutant, suite.name, suite.command]
        print(f"{' '.join(f'{name}: {told(value)};' for name, value in row.items())} {mutant}", flush=True)
    return table


def told(noticed: bool) -> str:
    """Return how the table says it."""
    return "caught" if noticed else "MISSED"


def check_clones(suites: Sequence[Suite], seconds: float) -> None:
    """Refuse clones with changes, and suites that fail without any."""
    for suite in suites:
        command = ["git", "status", "--porcelain"]
        done = subprocess.run(command, cwd=suite.folder, capture_output=True, text=True, check=True)
        if done.stdout:
            raise SystemExit(f"{suite.folder}: expected no changes, found\n{done.stdout}")
        if suite.notices(seconds):
            raise SystemExit(f"{suite.name}: {shlex.quote(suite.command)} fails without a change")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", type=int, default=20, help="lines of src/motiflux and its headers")
    parser.add_argument("--native", type=int, default=8, help="lines of csrc")
    parser.add_argument("--seconds", type=float, default=7200.0, help="that a suite may take")
    parser.add_argument("--suite", type=Suite.parse, action="append", default=[], help="NAME=FOLDER=COMMAND")
    parser.add_argument("--list", action="store_true", help="only tell what would be changed")
    asked = parser.parse_args(arguments)
    mutants = draw(asked.seed, asked.python, asked.native)
    if asked.list or not asked.suite:
        print("\n".join(map(str, mutants)))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # puts the clone back
    check_clones(asked.suite, asked.seconds)
    table = look(mutants, asked.suite, asked.seconds)
    for suite in asked.suite:
        caught = sum(row[suite.name] for row in table.values())
        print(f"{suite.name}: {caught} of {len(table)} caught")
    return 0 if all(row[asked.suite[-1].name] for row in table.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
