"""What NVRTC says of units, kept between runs of one checkout.

A result is a file in ``build/nvrtc``, named after all inputs: the unit's text and options, every header that
it includes, directly or not, and the toolchain's identity (architecture, versions, options). `make clean`
removes them, and runs with ``--long`` compile everything anew.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from motiflux.jit import HEADERS, BuildError, NvrtcToolchain, Source, nvrtc

FOLDER = Path(__file__).resolve().parents[2] / "build" / "nvrtc"
_MOST_FILES = 4000
"""Results that are kept: about four for each of all that a run asks for."""

_TIMES = re.compile(r"^ptxas info *: Compile time = .*\n?", re.MULTILINE)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)[>\"]", re.MULTILINE)


class Depth(StrEnum):
    """How far a unit is compiled."""

    FRONT_END = "front end"
    """Parsed, with all templates instantiated: errors, warnings and static assertions show. It takes a
    twentieth of the time."""
    CUBIN = "cubin"
    """To machine code: the log tells the registers and the local memory that it takes."""


@dataclass(frozen=True, slots=True)
class Result:
    """What NVRTC made of a unit.

    Parameters
    ----------
    is_image
        Whether that is an ELF file.
    log
        Warnings, and what ptxas says of resources.
    """

    is_image: bool
    log: str


class Results:
    """Compiles units unless their results are known.

    Parameters
    ----------
    anew
        Compile all of them; results are kept for the next runs all the same.
    """

    def __init__(self, *, anew: bool = False, folder: Path = FOLDER, headers: Path = HEADERS) -> None:
        self.compiled = 0
        self._anew, self._folder, self._headers = anew, folder, headers

    def of(self, source: Source, arch: str, depth: Depth = Depth.CUBIN) -> Result:
        """Return the result of a unit; raises what `NvrtcToolchain.build` does, which is not kept."""
        path = self._folder / f"{self.key(source, arch, depth)}.json"
        if not self._anew and (known := _read(path)) is not None:
            return known
        self.compiled += 1
        build = _through_the_front_end if depth is Depth.FRONT_END else _to_cubin
        found = build(source, arch, self._headers)
        _write(path, found)
        return found

    def key(self, source: Source, arch: str, depth: Depth) -> str:
        """Return the digest of all inputs."""
        identity = dict(NvrtcToolchain(arch).identity())
        headers = [(name, _digest(self._headers / name)) for name in sorted(self._included(source.text))]
        inputs = [depth, identity, source.name, source.text, source.options, headers]
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()

    def _included(self, text: str) -> set[str]:
        """Return the headers that a text includes, also where an ``#if`` may leave them out."""
        found: set[str] = set()
        left = [text]
        while left:
            for name in _INCLUDE.findall(left.pop()):
                path = self._headers / name
                if name not in found and path.is_file():  # others are NVRTC's own
                    found.add(name)
                    left.append(path.read_text())
        return found


def prune(folder: Path = FOLDER) -> None:
    """Remove the oldest results where there are many."""
    files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
    for path in files[:-_MOST_FILES]:
        path.unlink(missing_ok=True)


def _to_cubin(source: Source, arch: str, headers: Path) -> Result:
    built = NvrtcToolchain(arch).build(source, (headers,))
    return _result(built.image, built.log)


def _through_the_front_end(source: Source, arch: str, headers: Path) -> Result:
    from cuda import core  # not a part of motiflux: those who ask for results have looked whether it is there

    options = core.ProgramOptions(
        name=source.name,
        arch=arch,
        include_path=[str(headers)],
        fdevice_syntax_only=True,
        **nvrtc._OPTIONS,
        **nvrtc._unit_options(source),
    )
    log = io.StringIO()
    try:
        code = core.Program(source.text, "c++", options).compile("cubin", logs=log)
    except Exception as error:
        raise BuildError(f"{log.getvalue()}{error}".replace("\0", "")) from error
    return _result(bytes(code.code), log.getvalue())


def _result(image: bytes, log: str) -> Result:
    """Return what is the same each time."""
    return Result(image.startswith(b"\x7fELF"), _TIMES.sub("", log.replace("\0", "")).strip())


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read(path: Path) -> Result | None:
    try:
        return Result(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _write(path: Path, result: Result) -> None:
    """Write a file that appears whole: several processes may share the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(asdict(result)))
    temporary.replace(path)
