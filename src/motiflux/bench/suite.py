"""Suites of cases, and their files."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from motiflux.bench.machine import cpu_model, slug
from motiflux.bench.measure import RUNS, Timing
from motiflux.bench.results import Bar, CaseResult
from motiflux.errors import ArgumentError
from motiflux.words import SymmetryName

if TYPE_CHECKING:
    import motiflux as mf

SHARED_VARIABLE = "MOTIFLUX_SHARED"
QUICK_RUNS = 2


@dataclass(frozen=True)
class Settings:
    """How a suite is run: seconds per count, and which of its cases."""

    timeout: float = 60.0
    quick: bool = False
    only: str = ""

    @property
    def runs(self) -> int:
        """Most runs of one count."""
        return QUICK_RUNS if self.quick else RUNS

    def includes(self, case: Case | Probe) -> bool:
        """Whether the case is run."""
        return self.only in case.name and (case.quick or not self.quick)

    def label(self, suite: str) -> str:
        """Name a run of `suite` so that a part of it does not pass for the whole."""
        return "-".join(
            [suite, *([slug(self.only)] if self.only else []), *(["quick"] if self.quick else [])]
        )


@dataclass(frozen=True)
class GraphSource:
    """A graph file and how to read it; `labelled=False` leaves its labels out."""

    path: Path
    directed: bool | None = None
    labelled: bool = True

    def read(self) -> mf.Graph:
        """Read it. Equal sources give equal graphs, so the last one is kept between cases."""
        import motiflux as mf

        graph = mf.read_graph(self.path, directed=self.directed)
        if self.labelled:
            return graph
        edges = graph.to_edges()
        return mf.Graph.from_edges(
            (edges.src, edges.dst), directed=graph.directed, vertex_ids=graph.vertex_ids
        )


@dataclass(frozen=True)
class BaselineResult:
    """The result of another system, comparable with the case's count; `count` is None if it did not finish.

    After a timeout, `seconds` is the time it was given. `note` is for people.
    """

    count: int | None
    seconds: Timing | None
    timeout: bool = False
    note: str = ""


class Baseline(Protocol):
    """Another system that can do a case."""

    @property
    def name(self) -> str:
        """The system and its method."""

    @property
    def compared(self) -> bool:
        """Whether the case's ratio may be against this one; if not, it is only listed."""

    def run(self, settings: Settings) -> BaselineResult | None:
        """Run it within the time limit; return None if it cannot run (for example, is not installed)."""


@dataclass(frozen=True)
class Case:
    """One count.

    Parameters
    ----------
    name
        Unique in its suite.
    graph
        Where the graph is from. Cases of one graph stand together: it is then read once.
    pattern
        Gives the pattern.
    expected
        The true count, or a function that computes it, or None if it is not known.
    source
        The source of the expected count.
    symmetry
        ``embeddings`` or ``subgraphs``.
    scaling
        Numbers of threads to time by the wall clock as well, the first one being the baseline of the others.
    first_call
        Whether to time a first call too: one that has to plan and to narrow the graph. Otherwise the runs
        after the first find both done.
    quick
        Whether it belongs to the quick run.
    baselines
        Other systems to run on it.
    """

    name: str
    graph: GraphSource
    pattern: Callable[[], mf.Pattern]
    expected: int | Callable[[], int] | None = None
    source: str = ""
    symmetry: SymmetryName = "embeddings"
    scaling: tuple[int, ...] = ()
    first_call: bool = False
    quick: bool = False
    baselines: Sequence[Baseline] = ()


class Probe(Protocol):
    """Something to measure that is not a count on one thread of the CPU."""

    @property
    def name(self) -> str:
        """Unique in its suite."""

    @property
    def quick(self) -> bool:
        """Whether it belongs to the quick run."""

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Measure it."""


def no_bars(results: Sequence[CaseResult]) -> Sequence[Bar]:
    """Set no targets."""
    return ()


@dataclass(frozen=True)
class Suite:
    """Cases, then probes, and the bars that their results are held against.

    `device` is the device to measure.
    """

    name: str
    cases: Sequence[Case]
    bars: Callable[[Sequence[CaseResult]], Sequence[Bar]] = no_bars
    packages: tuple[str, ...] = ("motiflux", "numpy")
    probes: Sequence[Probe] = ()
    device: Callable[[], str] = cpu_model


def shared_folder(suites: Path) -> Path:
    """Find the folder of graphs and oracles: ``MOTIFLUX_SHARED``, or ``shared`` beside the repository.

    Raises
    ------
    ArgumentError
        If it is not there.
    """
    beside = suites.resolve().parent.parent.parent / "shared"
    folder = Path(os.environ.get(SHARED_VARIABLE) or beside)
    if not folder.is_dir():
        raise ArgumentError(
            SHARED_VARIABLE, "the folder with the benchmark graphs, data/ and oracle/", str(folder)
        )
    return folder


def load_suite(name: str, suites: Path) -> Suite:
    """Build the suite of ``<suites>/<name>.py``, from the data in `shared_folder`.

    Raises
    ------
    ArgumentError
        If there is no such folder or file, it has no `build`, or there is no data.
    """
    if not suites.is_dir():
        raise ArgumentError("--suites", "a folder (benchmarks/suite in a clone)", str(suites))
    path = suites / f"{name}.py"
    if not path.is_file():
        known = sorted(file.stem for file in suites.glob("*.py") if not file.stem.startswith("_"))
        raise ArgumentError("SUITE", f"one of {', '.join(known) or 'none'} in {suites}", name)
    build = getattr(_run_file(path, f"motiflux_suite_{name}"), "build", None)
    if build is None:
        raise ArgumentError("SUITE", "a file with build(shared) -> Suite", str(path))
    suite: Suite = build(shared_folder(suites))
    return suite


def load_part(path: Path) -> ModuleType:
    """Return a file that suites share as a module: run once, so that its classes are the same for all."""
    name = f"motiflux_part_{slug(str(path.resolve()))}"
    return sys.modules.get(name) or _run_file(path, name)


def _run_file(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses find their module by name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
