"""The expected time of a call on the CPU and on a GPU: a model with measured constants."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

from motiflux.plan import Plan
from motiflux.plan.estimate.predict import START_SECONDS, expected_count, expected_seconds
from motiflux.plan.ir import Formula
from motiflux.plan.local_counts.speeds import Speeds
from motiflux.request.request import Request

_FOUND_ROW, _GIVEN_ROW = 2e-9, 5e-9
_ROW_VERTICES = 4
_BRIEF_SECONDS = 50e-6
_SEARCH_THREAD, _SEARCH_SHARE = 0.04e-3, 0.45
_TABLE_THREAD, _TABLE_POWER = 0.2e-3, 0.4


@dataclass(frozen=True)
class HostWork:
    """The expected work of a count or a row listing on the host.

    Parameters
    ----------
    kind
        The method: ``"search"``, ``"tail"``, ``"parts"`` or ``"tables"``.
    seconds
        Seconds on one thread.
    levels
        Number of vertices of the pattern.
    rows
        Number of rows that are listed, in units of four vertices; 0 for a count.
    """

    kind: str
    seconds: float
    levels: int
    rows: float = 0.0

    def shared(self, threads: int) -> float:
        """Return the seconds on `threads` threads, with the time to start and synchronize them."""
        seconds = self.seconds + self.rows * _FOUND_ROW
        if threads > 1 and seconds > _BRIEF_SECONDS:
            if self.kind == "tables":
                seconds = threads * _TABLE_THREAD + seconds / threads**_TABLE_POWER
            else:
                seconds = threads * _SEARCH_THREAD + seconds / max(1.0, _SEARCH_SHARE * threads)
        return START_SECONDS + seconds + self.rows * _GIVEN_ROW  # the calling thread inserts ids


def host_work(
    plan: Plan, formula: Formula | None, request: Request, *, listing: bool = False
) -> HostWork | None:
    """Return the work of `plan`, or of the formula that counts it; None if nothing was sampled."""
    if formula is not None:
        return HostWork("tables", formula.seconds * request.threads, len(plan.order))
    seconds, count = expected_seconds(plan, 1, request.limit), expected_count(plan, request.limit)
    if seconds is None or count is None:
        return None
    rows = count * len(plan.order) / _ROW_VERTICES if listing else 0.0
    if not isfinite(rows):
        return None
    return HostWork(_kind(plan), max(0.0, seconds - START_SECONDS), len(plan.order), rows)


def usable_formula(plan: Plan, request: Request, speeds: Speeds) -> Formula | None:
    """Return the formula of a plan; None without one, or if a search suits the limit or timeout better."""
    formula = plan.formula
    if formula is None or request.tuning["tables"] == "on":
        return formula
    if request.timeout is not None and formula.seconds > request.timeout / 2:
        return None  # at a timeout, a search returns its count so far, tables return nothing
    if request.limit is None:
        return formula
    search = expected_seconds(plan, request.threads, request.limit)
    if search is None or formula.seconds < speeds.of_search(search, request.threads):
        return formula
    return None


def _kind(plan: Plan) -> str:
    if plan.tail is None:
        return "search"
    return "parts" if plan.tail.nested else "tail"


def seconds_alone(seconds: float, threads: int) -> float:
    """Return the approximate seconds on one thread of work that takes `seconds` on `threads` threads."""
    return seconds * max(1.0, _SEARCH_SHARE * threads)


@dataclass(frozen=True)
class GpuState:
    """Whether the device is open, kernels are compiled, and the graph's rows are on the device."""

    opened: bool
    compiled: bool
    resident: bool


@dataclass(frozen=True)
class GpuCosts:
    """Seconds of operations on a GPU, and on the host for it: measured constants.

    Parameters
    ----------
    open
        Importing the packages, opening the driver and the context, and loading the first kernel.
    compile
        Compiling a kernel that is not in the cache.
    call
        A call whose plan, rows and kernel exist.
    arc
        Copying an arc to the device, including the selection of greater neighbours on the host.
    first
        Extra time of the first call of a query.
    look, look_growth, longest_look
        Extra time of such a call if planning searches for a formula: the time for a pattern of four vertices,
        the factor for each further vertex, and the maximum.
    worth_a_look
        Seconds of one thread's search beyond which planning searches for a formula.
    level
        Extra time for each vertex beyond four.
    shares
        Pairs of a maximum number of levels, and the time as a share of one thread's time. Deep searches leave
        most of the device idle, and beyond ten levels there are no specialized kernels.
    parts
        Factor of this share for counts in parts.
    row
        Returning a row of four vertices to NumPy.
    draw
        Drawing samples: launches and results, without the samples' own time.
    samples
        Time of samples as a share of one thread's time.
    candidates, candidate_byte
        Extra time of the first samples of a query: copying the candidate graph, and each byte of it.
    over_bus
        Factor of searches whose edges stay on the host: what `benchmarks/suite/outofcore.py` allows.
    speed
        Multiprocessors times clock, in hertz, of the device on which the constants were measured.
    """

    open: float = 0.5
    compile: float = 3.0
    call: float = 0.06e-3
    level: float = 5e-6
    arc: float = 10e-9
    first: float = 1.3e-3
    look: float = 3e-3
    look_growth: float = 1.9
    longest_look: float = 0.05
    worth_a_look: float = 0.01
    shares: tuple[tuple[float, float], ...] = ((6, 0.02), (8, 0.075), (12, 0.4), (16, 10.0), (inf, 20.0))
    parts: float = 2.0
    row: float = 6e-9
    draw: float = 2e-3
    samples: float = 0.005
    candidates: float = 3e-3
    candidate_byte: float = 0.5e-9
    over_bus: float = 8.0
    speed: float = 132 * 1.98e9

    def search(self, work: HostWork, speed: float = 0.0) -> float:
        """Return the seconds of `work` on a device of this speed (0: that of the measured device)."""
        scale = self.speed / speed if speed else 1.0
        share = next(share for most, share in self.shares if work.levels <= most)
        share *= self.parts if work.kind == "parts" else 1.0
        begun = self.call + self.level * max(0, work.levels - _ROW_VERTICES)
        return begun + scale * work.seconds * share + self.row * work.rows

    def first_look(self, work: HostWork | None) -> float:
        """Return the extra seconds of the first call with this work."""
        if work is None or work.seconds <= self.worth_a_look:
            return self.first
        look = self.look * self.look_growth ** (work.levels - _ROW_VERTICES)
        return self.first + min(self.longest_look, look)

    def sampling(self, seconds: float, nbytes: int, speed: float = 0.0) -> float:
        """Return the seconds of samples that take one thread `seconds`, with `nbytes` of candidates."""
        scale = self.speed / speed if speed else 1.0
        copied = self.candidates + self.candidate_byte * nbytes
        return self.draw + copied + scale * self.samples * seconds

    def ready(self, state: GpuState, arcs: int) -> float:
        """Return the seconds until a call on a graph with `arcs` arcs can begin."""
        seconds = 0.0 if state.opened else self.open
        seconds += 0.0 if state.compiled else self.compile
        return seconds + (0.0 if state.resident else self.arc * arcs)


H100 = GpuCosts()
"""Costs of an NVIDIA H100 80GB (`benchmarks/micro/dispatch.py`)."""
