"""What NVRTC has accepted before, in ``accepted.json`` beside this file: a fresh clone need not ask again.

``{"unit name": {"sm_90 cubin": key}}``, and so for headers and policies. A key is a digest of all that the
result depends on (`results.Results.key`) and of the budgets that the kernels were within. After a change of
one of these, and with another version of NVRTC, the unit is compiled again. So is one of `_TURNS` units with
each commit, whatever the file says, and all of them with ``--long``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Set as AbstractSet
from pathlib import Path

from motiflux.jit import Source
from tests.nvrtc.results import Depth, Results
from tests.rotating import is_turn_of

FILE = Path(__file__).with_name("accepted.json")
HOW_TO_RECORD = "pytest tests/nvrtc --record-accepted records what was accepted"

_TURNS = 32
"""Commits after which all units were compiled, if none was changed: a few seconds with each."""


class Accepted:
    """Keys of accepted units, looked up or recorded anew.

    Parameters
    ----------
    results
        What makes the keys.
    recording
        Compile all that is asked for, and write the file in the end.
    anew
        Compile all that is asked for.
    """

    def __init__(
        self, results: Results, *, recording: bool = False, anew: bool = False, file: Path = FILE
    ) -> None:
        self.known = 0
        self.recording = recording
        self._results, self._anew, self._file = results, anew, file
        self.table: dict[str, dict[str, str]] = json.loads(file.read_text()) if file.exists() else {}

    def has(self, label: str, source: Source, arch: str, depth: Depth, budgets: str = "") -> bool:
        """Return whether the unit is known to be accepted as it is now.

        Parameters
        ----------
        label
            What the file calls it, a name of its own.
        budgets
            Budgets that its kernels have to be within.
        """
        if self.recording or self._anew:
            return False
        key = self._key(source, arch, depth, budgets)
        if self.table.get(label, {}).get(f"{arch} {depth}") != key or is_turn_of(key, _TURNS):
            return False
        self.known += 1
        return True

    def add(self, label: str, source: Source, arch: str, depth: Depth, budgets: str = "") -> None:
        """Note that it was accepted, within its budgets."""
        if self.recording:
            key = self._key(source, arch, depth, budgets)
            self.table.setdefault(label, {})[f"{arch} {depth}"] = key

    def save(self, labels: AbstractSet[str]) -> None:
        """Write what was recorded, if that was asked for; labels that are not among these are dropped."""
        if self.recording:
            self._file.write_text(as_json({label: self.table[label] for label in labels & self.table.keys()}))

    def _key(self, source: Source, arch: str, depth: Depth, budgets: str) -> str:
        whole = f"{self._results.key(source, arch, depth)} {budgets}"
        return hashlib.sha256(whole.encode()).hexdigest()[:16]


def as_json(table: dict[str, dict[str, str]]) -> str:
    """Return the file's content, a line for each unit."""
    lines = [
        f"  {json.dumps(label)}: {json.dumps(row, sort_keys=True)}" for label, row in sorted(table.items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"
