"""Compile the kernels that default switches reach, for the wheel: one archive for each architecture.

    python scripts/build-kernels.py [--arch sm_90 ...] [--out src/motiflux/cubins]

Needs NVRTC (the group ``nvrtc`` of pyproject.toml), and no GPU. The headers are those of the installed
package: run it with the package that is going to be packed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from motiflux.codegen.all_kernels import reachable_sources
from motiflux.jit import HEADERS, NvrtcToolchain, Source
from motiflux.jit.archives import FOLDER
from motiflux.jit.key import headers_digest
from motiflux.jit.prebuilt import write_archive

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
"""Code for an architecture also runs on later ones of the same major version, such as sm_86 and sm_89."""


def main() -> int:
    """Write the archives, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", nargs="+", default=ARCHITECTURES, metavar="ARCH")
    parser.add_argument("--out", type=Path, default=FOLDER)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    sources, headers = reachable_sources(), headers_digest((HEADERS,))
    for arch in given.arch:
        began = time.perf_counter()
        toolchain = NvrtcToolchain(arch, line_table=False)

        def build(source: Source, toolchain: NvrtcToolchain = toolchain) -> bytes:
            return toolchain.build(source, (HEADERS,)).image

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            images = list(pool.map(build, sources))
        path = given.out / f"{arch}.zip"
        write_archive(path, zip(sources, images, strict=True), headers)
        sizes = f"{path.stat().st_size / 1e6:.2f} MB of {sum(map(len, images)) / 1e6:.2f}"
        print(f"{path}: {len(images)} kernels, {sizes}, {time.perf_counter() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
