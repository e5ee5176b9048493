"""The resources that kernels are known to take, in ``budgets.json`` beside this file.

``{"nvrtc": version, "kernels": {unit and entry point: {arch: resources}}}``. Registers are there to be read;
stack and spills are limits.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from motiflux.jit import Resources

FILE = Path(__file__).with_name("budgets.json")
HOW_TO_RECORD = "pytest tests/nvrtc --record-budgets records what they take now"
_LIMITS = ("stack", "spill_stores", "spill_loads")

Table = dict[str, dict[str, dict[str, int]]]


class Budgets:
    """Recorded resources, compared with what a version of NVRTC makes of the kernels, or recorded anew."""

    def __init__(self, version: str, *, recording: bool, file: Path = FILE) -> None:
        content = json.loads(file.read_text()) if file.exists() else {"nvrtc": version, "kernels": {}}
        self._file = file
        self._version = version
        self._recording = recording
        self._recorded_with: str = content["nvrtc"]
        self.table: Table = content["kernels"]
        # What another version made of kernels says nothing about this one.
        self._new: Table = {} if self._recorded_with != version else json.loads(json.dumps(self.table))

    @property
    def recording(self) -> bool:
        return self._recording

    def check(self, kernel: str, arch: str, found: Resources) -> None:
        """Fail if `kernel` has outgrown its budget; skip if that was recorded with another NVRTC."""
        if self._recording:
            self._new.setdefault(kernel, {})[arch] = asdict(found)
            return
        if self._recorded_with != self._version:
            pytest.skip(f"budgets were recorded with NVRTC {self._recorded_with}, this is {self._version}")
        budget = self.table.get(kernel, {}).get(arch)
        assert budget is not None, f"{kernel} for {arch} has no budget; {HOW_TO_RECORD}"
        outgrown = [
            f"{name}: {asdict(found)[name]} bytes, budget {budget[name]}"
            for name in _LIMITS
            if asdict(found)[name] > budget[name]
        ]
        registers = f"{found.registers} registers, {budget['registers']} when recorded"
        assert not outgrown, (
            f"{kernel} for {arch} has outgrown its budget: {'; '.join(outgrown)} ({registers}). "
            f"If that is worth it, {HOW_TO_RECORD}"
        )

    def keep_only(self, kernels: set[str]) -> None:
        """When recording, drop kernels that there are no more."""
        self._new = {kernel: archs for kernel, archs in self._new.items() if kernel in kernels}

    def save(self) -> None:
        """Write what was recorded, if that was asked for."""
        if self._recording:
            self._file.write_text(_as_json(self._version, self._new))


def _as_json(version: str, table: Table) -> str:
    """Return the file's content, one line per kernel and architecture, so that changes are easy to see."""
    kernels = []
    for kernel, archs in sorted(table.items()):
        lines = [f"      {json.dumps(arch)}: {json.dumps(archs[arch])}" for arch in sorted(archs)]
        kernels.append(f"    {json.dumps(kernel)}: {{\n" + ",\n".join(lines) + "\n    }")
    return f'{{\n  "nvrtc": {json.dumps(version)},\n  "kernels": {{\n' + ",\n".join(kernels) + "\n  }\n}\n"
