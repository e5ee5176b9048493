"""The resources that kernels are known to take, in ``budgets.json`` beside this file.

``{"nvrtc": version, "kernels": {unit and entry point: {arch: resources}}}``. Registers are there to be read;
stack and spills are limits. The version is that of the compiler that made the kernels; where another one made
one of them, its resources say so (``"nvrtc"``).
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.nvrtc.resources import Resources

FILE = Path(__file__).with_name("budgets.json")
HOW_TO_RECORD = "pytest tests/nvrtc --record-budgets records what they take now"
_LIMITS = ("stack", "spill_stores", "spill_loads")

_SLACK = 384
"""Bytes more that another version of NVRTC may take. It allots registers anew, with more spills here, fewer
there: of 12 units that NVRTC 13.5 compiled after 13.4, for five architectures each, those that grew most took
332 bytes more. Within one version the limits are exact."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a kernel took, and which version of NVRTC made it."""

    took: Resources
    nvrtc: str

    def limit(self, name: str, nvrtc: str) -> int:
        """Return the bytes that it may take where that version makes it: the same version, no more."""
        recorded: int = getattr(self.took, name)
        return recorded if nvrtc == self.nvrtc else recorded + _SLACK


Table = dict[str, dict[str, Recorded]]


class Budgets:
    """Recorded resources, compared with what a version of NVRTC makes of the kernels, or recorded anew."""

    def __init__(self, version: str, *, recording: bool, file: Path = FILE) -> None:
        self._file = file
        self.version = version
        self.recording = recording
        self.table: Table = _from_json(json.loads(file.read_text())) if file.exists() else {}

    def check(self, kernel: str, arch: str, found: Resources) -> None:
        """Fail if `kernel` has outgrown its budget."""
        if self.recording:
            self.table.setdefault(kernel, {})[arch] = Recorded(found, self.version)
            return
        budget = self.table.get(kernel, {}).get(arch)
        assert budget is not None, f"{kernel} for {arch} has no budget; {HOW_TO_RECORD}"
        outgrown = [
            f"{name}: {getattr(found, name)} bytes, budget {limit}"
            for name in _LIMITS
            if getattr(found, name) > (limit := budget.limit(name, self.version))
        ]
        registers = f"{found.registers} registers, {budget.took.registers} when recorded"
        made = "" if budget.nvrtc == self.version else f" with NVRTC {budget.nvrtc}, this is {self.version}"
        assert not outgrown, (
            f"{kernel} for {arch} has outgrown its budget: {'; '.join(outgrown)} ({registers}{made}). "
            f"If that is worth it, {HOW_TO_RECORD}"
        )

    def of_unit(self, unit: str, arch: str) -> str:
        """Return the budgets of all kernels of a unit, as text: other budgets are another text."""
        rows = sorted((kernel, archs[arch]) for kernel, archs in self.table.items() if arch in archs)
        return repr([row for row in rows if row[0].split("/")[0] == unit])

    def of_other_versions(self) -> dict[str, int]:
        """Return how many budgets were recorded with other versions, by version."""
        versions = Counter(budget.nvrtc for archs in self.table.values() for budget in archs.values())
        return {version: number for version, number in sorted(versions.items()) if version != self.version}

    def keep_only(self, kernels: set[str]) -> None:
        """When recording, drop kernels that there are no more."""
        self.table = {kernel: archs for kernel, archs in self.table.items() if kernel in kernels}

    def save(self) -> None:
        """Write what was recorded, if that was asked for; what was not looked at stays as it was."""
        if self.recording and self.table:
            self._file.write_text(as_json(self.table))


def _from_json(content: Any) -> Table:
    table: Table = {}
    for kernel, archs in content["kernels"].items():
        for arch, row in archs.items():
            nvrtc = row.pop("nvrtc", content["nvrtc"])
            table.setdefault(kernel, {})[arch] = Recorded(Resources(**row), nvrtc)
    return table


def as_json(table: Table) -> str:
    """Return the file's content, one line per kernel and architecture, so that changes are easy to see."""
    versions = Counter(budget.nvrtc for archs in table.values() for budget in archs.values())
    usual = versions.most_common(1)[0][0]
    kernels = []
    for kernel, archs in sorted(table.items()):
        lines = []
        for arch, budget in sorted(archs.items()):
            other = {} if budget.nvrtc == usual else {"nvrtc": budget.nvrtc}
            lines.append(f"      {json.dumps(arch)}: {json.dumps(asdict(budget.took) | other)}")
        kernels.append(f"    {json.dumps(kernel)}: {{\n" + ",\n".join(lines) + "\n    }")
    return f'{{\n  "nvrtc": {json.dumps(usual)},\n  "kernels": {{\n' + ",\n".join(kernels) + "\n  }\n}\n"
