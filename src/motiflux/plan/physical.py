"""The physical plan: which kernels execute a plan, in which order, and what replaces one that cannot.

An engine makes it once (`motiflux.gpu.strategy`, `motiflux.cpu.engine`). Launches, `explain`, predictions of
memory and dispatch read it and decide nothing again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from motiflux.graph import AdjacencyKey
from motiflux.plan.ir import Plan, Searched
from motiflux.plan.local_counts.schedule import Schedule
from motiflux.plan.neighborhood.choices import UniversalVertexPlan


class Family(StrEnum):
    """A family of kernels."""

    SEARCH = "search"
    """Depth-first search."""
    TABLES = "tables"
    """Evaluation of a formula of local counts."""
    CLIQUES = "cliques"
    """Cliques in bit matrices of neighbourhoods."""
    UNIVERSAL_VERTEX = "universal vertex"
    """Patterns with a universal vertex in bit matrices of neighbourhoods."""
    HOST = "host"
    """Search on the CPU, for numbers that device kernels cannot hold."""


@dataclass(frozen=True, slots=True)
class RootFilter:
    """Search from vertices with more than `more_than` of these arcs only. The plan has no candidate space."""

    arcs: AdjacencyKey
    more_than: int


@dataclass(frozen=True, slots=True)
class SearchKernel:
    """Which depth-first kernel runs on a device.

    Parameters
    ----------
    goal
        Name of its function (`motiflux.codegen.kernels.Goal`).
    lanes
        Lanes of a group that searches together.
    stealing
        How groups take work within their block (``"passive"``, ``"active"``); None if they do not.
    work_queue
        Whether groups without work wait for half of another group's in a queue of the whole device.
    flattened
        Whether one lane counts each pair of candidates of the last two levels.
    remembers
        Whether counts of parts that repeat are stored.
    storage
        The rows that it reads: ``"candidate space"`` (rows of the graph if that does not fit) or ``"rows"``.
    """

    goal: str
    lanes: int
    stealing: str | None = None
    work_queue: bool = False
    flattened: bool = True
    remembers: bool = False
    storage: str = "rows"


@dataclass(frozen=True, slots=True)
class Stage:
    """One kernel job. The counts of all stages of a physical plan add up.

    Parameters
    ----------
    plan
        The logical plan that it executes.
    kernel
        Of a search on a device.
    clique
        Arcs of cliques.
    universal
        How a pattern with a universal vertex is counted in bits.
    schedule
        How a formula is evaluated.
    searched
        How the searches in it are executed.
    roots
        Where a search begins; None for everywhere.
    share
        Estimated share of the work.

    Attributes
    ----------
    name
        Names the job: equal for stages that the same job executes. A text, whose hash is computed once.
    """

    family: Family
    plan: Plan
    kernel: SearchKernel | None = None
    clique: AdjacencyKey | None = None
    universal: UniversalVertexPlan | None = None
    schedule: Schedule | None = field(default=None, compare=False, repr=False)
    searched: Mapping[Searched, PhysicalPlan] = field(default_factory=dict, compare=False, repr=False)
    roots: RootFilter | None = None
    share: float = 1.0
    name: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", f"{self.family} {id(self.plan)} {self.kernel} {self.roots}")

    def __str__(self) -> str:
        if self.kernel is None:
            return self.family.value
        kernel = self.kernel
        words = [f"{self.family} ({kernel.goal}, {kernel.lanes} lanes, {kernel.storage})"]
        words += [f"{kernel.stealing} stealing"] if kernel.stealing else []
        words += ["global work queue"] if kernel.work_queue else []
        words += ["from vertices with many neighbours"] if self.roots else []
        return ", ".join(words)


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """How an engine executes a plan.

    Parameters
    ----------
    engine
        Its name.
    plan
        The logical plan.
    stages
        Kernel jobs, one after another.
    seconds
        Expected time; None if nothing was sampled.
    notes
        What `explain` adds to the reason for the engine.
    why
        Why this engine, if it was a choice.
    expected
        Expected seconds by device (None: not known), if it was a choice.
    budget
        Seconds after which another engine is tried, if there is one; None for no end.
    expires
        Seconds of execution after which the choice should be made again; None: never.
    whole
        Whether all devices of a group share the work; else the first one does it.
    fallback
        What is executed instead if this runs out of memory, or its numbers pass the range of its kernels.
    """

    engine: str
    plan: Plan
    stages: tuple[Stage, ...]
    seconds: float | None = None
    notes: str = ""
    why: str = ""
    expected: tuple[tuple[str, float | None], ...] = ()
    budget: float | None = None
    expires: float | None = None
    whole: bool = True
    fallback: PhysicalPlan | None = field(default=None, repr=False)

    def __str__(self) -> str:
        told = f"{self.engine}: " + ", then ".join(map(str, self.stages))
        return told if self.fallback is None else f"{told}; else {self.fallback}"
