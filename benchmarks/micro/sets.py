"""What set operations take, by instructions: ``python benchmarks/micro/sets.py``.

Compiles ``sets.cpp`` beside this file together with ``csrc/sets`` and prints tables in nanoseconds, the least
of seven rounds. The thresholds in ``csrc/sets/routines.cpp`` come from them (docs/design/set-operations.md).
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "csrc"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "sets"
        compiler = os.environ.get("CXX", "g++")
        sources = [HERE / "sets.cpp", *sorted((SOURCES / "sets").glob("*.cpp"))]
        subprocess.run(
            [compiler, "-std=c++20", "-O3", f"-I{SOURCES}", *map(str, sources), "-o", str(program)],
            check=True,
        )
        subprocess.run([program], check=True)


if __name__ == "__main__":
    main()
