"""The physical plan: the kernels that execute a plan, in order, and the fallback if one of them fails.

An engine makes it once (`motiflux.gpu.strategy`, `motiflux.cpu.engine`). Launches, `explain`, predictions of
memory and dispatch read it and make no further choices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from motiflux.graph import AdjacencyKey
from motiflux.plan.ir import Plan, Searched
from motiflux.plan.local_counts.schedule import Schedule
from motiflux.plan.neighborhood.choices import UniversalVertexPlan
from motiflux.plan.phases.data import PhasePlan


class Family(StrEnum):
    """A family of kernels."""

    SEARCH = "search"
    """Depth-first search."""
    TABLES = "tables"
    """Evaluation of a formula of local counts."""
    CLIQUES = "cliques"
    """Cliques in bitmaps of neighbourhoods."""
    UNIVERSAL_VERTEX = "universal vertex"
    """Patterns with a universal vertex in bitmaps of neighbourhoods."""
    PHASES = "phases"
    """Search in phases, each of which matches several query vertices."""
    HOST = "host"
    """Count on the CPU, for numbers and tails that device kernels cannot handle."""


@dataclass(frozen=True, slots=True)
class RowCopies:
    """Rows of the host that are copied to a device.

    Parameters
    ----------
    policy
        Which ones: a value of the switch ``cache``, but not ``none``.
    percent
        Most bytes of copies, in percent of the bytes of the graph's edges; None: by the free memory.
    batches
        Whether roots are taken in batches where kernels can do so: a value of the switch ``root_batches``.
    """

    policy: str
    percent: int | None = None
    batches: str = "auto"


@dataclass(frozen=True, slots=True)
class RootFilter:
    """Search from vertices with more than `more_than` of these arcs only. The plan has no candidate space."""

    arcs: AdjacencyKey
    more_than: int


@dataclass(frozen=True, slots=True)
class SearchKernel:
    """The depth-first kernel that runs on a device.

    Parameters
    ----------
    goal
        Name of the kernel's function (`motiflux.codegen.kernels.Goal`).
    lanes
        Number of lanes of a group, which searches together.
    stealing
        The way in which groups take work within their block (``"passive"``, ``"active"``); None: they do not.
    work_queue
        Whether groups without work wait in the device's work queue for half of another group's work.
    flattened
        Whether one lane counts each pair of candidates of the last two levels.
    remembers
        Whether counts of parts are cached.
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
        The kernel of a search on a device.
    clique
        Arcs of cliques.
    universal
        The count of a pattern with a universal vertex in bitmaps.
    schedule
        The schedule of a formula.
    searched
        Physical plans of the searches in the formula.
    phases
        The phases of a search in phases.
    roots
        The vertices at which a search begins; None: all.
    copies
        The rows that are copied to the device, if rows stay on the host; None: all rows are where the engine
        has them.
    share
        Estimated share of the stage in the work.

    Attributes
    ----------
    name
        Name of the job: equal for stages that the same job executes. Strings compute their hash only once.
    """

    family: Family
    plan: Plan
    kernel: SearchKernel | None = None
    clique: AdjacencyKey | None = None
    universal: UniversalVertexPlan | None = None
    schedule: Schedule | None = field(default=None, compare=False, repr=False)
    searched: Mapping[Searched, PhysicalPlan] = field(default_factory=dict, compare=False, repr=False)
    phases: PhasePlan | None = field(default=None, compare=False, repr=False)
    roots: RootFilter | None = None
    copies: RowCopies | None = None
    share: float = 1.0
    name: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "name", f"{self.family} {id(self.plan)} {self.kernel} {self.roots} {self.copies}"
        )

    def __str__(self) -> str:
        if self.phases is not None:
            return f"{len(self.phases.phases)} {self.family}"
        if self.kernel is None:
            return self.family.value
        kernel = self.kernel
        words = [f"{self.family} ({kernel.goal}, {kernel.lanes} lanes, {kernel.storage})"]
        words += [f"{kernel.stealing} stealing"] if kernel.stealing else []
        words += ["global work queue"] if kernel.work_queue else []
        words += ["from vertices with many neighbours"] if self.roots else []
        words += [f"copies by {self.copies.policy}"] if self.copies else []
        return ", ".join(words)


@dataclass(frozen=True, slots=True)
class Term:
    """A count that is added or subtracted.

    Parameters
    ----------
    factor
        What the count is multiplied by: 1, -1, or more for several equal counts.
    pattern
        The pattern that is counted, as text.
    physical
        Its plan, which counts embeddings.
    """

    factor: int
    pattern: str
    physical: PhysicalPlan


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """The execution of a plan by an engine.

    Parameters
    ----------
    engine
        Name of the engine.
    plan
        The logical plan.
    stages
        Kernel jobs, one after another.
    seconds
        Expected time; None if nothing was sampled.
    notes
        Text that `explain` adds to the reason for the engine.
    why
        The reason for this engine, if there was a choice.
    expected
        Expected seconds by device (None: unknown), if there was a choice.
    budget
        Seconds after which another engine is tried, if there is one; None: no limit.
    expires
        Seconds of execution after which the choice should be made again; None: never.
    whole
        Whether all devices of a group share the work; else the first one does it.
    fallback
        The plan that runs instead if memory is too short, or a number passes the range of the kernels.
    terms
        Counts whose signed sum is the count, instead of the stages; empty for none.
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
    terms: tuple[Term, ...] = field(default=(), repr=False)

    @property
    def phases(self) -> PhasePlan | None:
        """The phases of a search in phases; None for another plan."""
        return self.stages[0].phases if self.stages else None

    def __str__(self) -> str:
        if self.terms:
            return "; ".join(f"{'+-'[term.factor < 0]} {term.physical}" for term in self.terms)
        told = f"{self.engine}: " + ", then ".join(map(str, self.stages))
        return told if self.fallback is None else f"{told}; else {self.fallback}"
