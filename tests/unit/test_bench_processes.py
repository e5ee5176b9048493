"""Processes whose first call is timed find the bytecode of modules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from motiflux.bench.processes import with_bytecode


def test_bytecode_is_kept_where_python_would_write_none(tmp_path: Path) -> None:
    (tmp_path / "imported.py").write_text("import sys\nprint(sys.dont_write_bytecode)\n")
    kept = tmp_path / "kept"
    given = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "-c", "import imported"],
        env=with_bytecode(kept, given),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert told.strip() == "False"
    assert [path.name.split(".")[0] for path in kept.rglob("imported*.pyc")] == ["imported"]
