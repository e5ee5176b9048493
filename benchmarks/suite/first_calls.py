"""First calls: 120 queries that a process has not seen, with an empty cache of kernels.

``motiflux bench first_calls``, on a machine with a GPU. Needs the shared graphs (``MOTIFLUX_SHARED``). Each
graph and device has a process of its own, which counts 15 labelled queries of 3 to 7 vertices, each twice.
The bars are those of an installation with compiled kernels (a wheel of `make wheels`) or of one without.

GRAPH SIZE no N         the first call on the GPU; `second` is the second call
GRAPH SIZE no N, auto   the first call with ``device="auto"``; its ratio is that to the CPU alone, in a
                        process of its own
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, CaseResult
from motiflux.bench.suite import Settings, Suite

CHILD = Path(__file__).resolve().parent / "first_calls_parts/child.py"
GRAPHS = (
    "wn18rr",
    "wordnet30_relations",
    "ldbc_snb_sample",
    "yago_temporal",
    "amlsim_20k_fanin_cycle",
    "hprd",
    "human",
    "enron_label20",
)
LONGEST = {"wheel": 1.0, "source": 2.5}
"""Seconds of the longest first call, by whether compiled kernels came with the package."""
PACKAGES = ("motiflux", "numpy", "cuda-core", "cuda-bindings")
BEYOND_SECOND = 30e-3
BEYOND_CPU = 20e-3


@dataclass
class Measured:
    """What the bars are about."""

    first: list[float] = field(default_factory=list)
    beyond_second: list[float] = field(default_factory=list)
    beyond_cpu: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class FirstCalls:
    """The queries of one graph."""

    shared: Path
    graph: str
    measured: Measured
    quick: bool = True

    @property
    def name(self) -> str:
        """The graph's name, with which those of its cases begin."""
        return self.graph

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        path = self.shared / f"data/{self.graph}.npz"
        by_device = {device: counted(path, device) for device in ("cuda", "auto", "cpu")}
        for gpu, auto, cpu in zip(*by_device.values(), strict=True):
            known = cpu["count"]
            counts = {one["count"] for one in (gpu, auto, cpu)} - {None}
            differs = len(counts) > 1
            first, second = gpu["seconds"]
            beyond = auto["seconds"][0] - cpu["seconds"][0]
            self.measured.first.append(first)
            self.measured.beyond_second.append(first - second)
            self.measured.beyond_cpu.append(beyond)
            yield CaseResult(
                gpu["case"],
                gpu["engine"],
                gpu["count"],
                None if known is None else "cpu",
                Timing.of([first]),
                disagrees=differs,
                figures={"second": second},
            )
            yield CaseResult(
                f"{auto['case']}, auto",
                auto["engine"],
                auto["count"],
                None if known is None else "cpu",
                Timing.of(auto["seconds"][:1]),
                ratio=auto["seconds"][0] / cpu["seconds"][0],
                figures={"cpu": cpu["seconds"][0]},
            )


def counted(path: Path, device: str) -> Sequence[Mapping]:
    """Return what a process printed that counts on a device, with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "MOTIFLUX_CACHE": cache, "CUDA_CACHE_DISABLE": "1"}
        command = [sys.executable, str(CHILD), str(path), device]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return [json.loads(line) for line in done.stdout.splitlines()]


def gpu_model() -> str:
    """Return the name of the GPU, which this process does not open."""
    from motiflux.device.cuda import list_devices

    return list_devices()[0].model


def kind_of_installation() -> str:
    """Return whether compiled kernels came with the package."""
    from motiflux.device.cuda import list_devices
    from motiflux.jit import PrebuiltKernels

    arch = f"sm_{list_devices()[0].capability.replace('.', '')}"
    return "wheel" if len(PrebuiltKernels.for_architecture(arch)) else "source"


def build(shared: Path) -> Suite:
    measured = Measured()

    def bars(results: Sequence[CaseResult]) -> list[Bar]:
        if not measured.first:
            return []
        kind = kind_of_installation()
        median = statistics.median(measured.beyond_second)
        return [
            Bar("counts that disagree", sum(one.disagrees for one in results), 0, "lower"),
            Bar(f"{kind}: longest first call, s", max(measured.first), LONGEST[kind], "lower"),
            Bar(f"{kind}: first beyond second call, median s", median, BEYOND_SECOND, "lower"),
            Bar(
                f"{kind}: auto beyond the CPU alone, longest s", max(measured.beyond_cpu), BEYOND_CPU, "lower"
            ),
        ]

    probes = [FirstCalls(shared, graph, measured) for graph in GRAPHS]
    return Suite("first_calls", (), bars, packages=PACKAGES, probes=probes, device=gpu_model)
