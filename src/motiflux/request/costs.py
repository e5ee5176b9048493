"""What a call is expected to take on the CPU and on a GPU: a model with measured constants."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

from motiflux.plan import Plan
from motiflux.plan.estimate.predict import START_SECONDS, expected_count, expected_seconds
from motiflux.plan.ir import Formula
from motiflux.plan.local_counts.speeds import DEVICE_SPEEDS, Speeds
from motiflux.request.request import Request

_FOUND_ROW, _GIVEN_ROW = 2e-9, 5e-9
_ROW_VERTICES = 4
_BRIEF_SECONDS = 50e-6
_SEARCH_THREAD, _SEARCH_SHARE = 0.04e-3, 0.45
_TABLE_THREAD, _TABLE_POWER = 0.2e-3, 0.4


@dataclass(frozen=True)
class HostWork:
    """What a count or a listing takes one thread of this machine.

    Parameters
    ----------
    kind
        How it is done: ``"search"``, ``"tail"``, ``"parts"`` or ``"tables"``.
    seconds
        Of one thread.
    levels
        Vertices of the pattern.
    rows
        Rows of four vertices that are listed; 0 to count.
    """

    kind: str
    seconds: float
    levels: int
    rows: float = 0.0

    def shared(self, threads: int) -> float:
        """Return the seconds of so many threads, which take time to start, and to agree."""
        seconds = self.seconds + self.rows * _FOUND_ROW
        if threads > 1 and seconds > _BRIEF_SECONDS:
            if self.kind == "tables":
                seconds = threads * _TABLE_THREAD + seconds / threads**_TABLE_POWER
            else:
                seconds = threads * _SEARCH_THREAD + seconds / max(1.0, _SEARCH_SHARE * threads)
        return START_SECONDS + seconds + self.rows * _GIVEN_ROW  # ids are put in by the calling thread


def host_work(
    plan: Plan, formula: Formula | None, request: Request, *, listing: bool = False
) -> HostWork | None:
    """Return what `plan` takes, or the formula that it is counted by; None where nothing was sampled."""
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
    """Return the formula of a plan, unless a search is expected to find more by the limit or in time."""
    formula = plan.formula
    if formula is None or request.tuning["tables"] == "on":
        return formula
    if request.timeout is not None and formula.seconds > request.timeout / 2:
        return None  # a search that is cut short returns its count so far, tables return nothing
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
    """Return about what one thread takes for what so many take that long."""
    return seconds * max(1.0, _SEARCH_SHARE * threads)


@dataclass(frozen=True)
class GpuState:
    """What is there already: the open device, kernels that were compiled once, the rows of the graph."""

    opened: bool
    compiled: bool
    resident: bool


@dataclass(frozen=True)
class GpuCosts:
    """Seconds that things take on a GPU, and on the host for it: measured constants, all in one place.

    Parameters
    ----------
    open
        The packages, the driver, the context and the first kernel, in a process that has none of them.
    compile
        A kernel that no process has compiled.
    call
        A call whose plan, rows and kernel are there.
    arc
        An arc that is copied to the device, the greater part of each row being picked on the host.
    first
        More, for a query that comes for the first time.
    look, look_growth, longest_look
        More for it, where a formula is worth a look: of a pattern of four vertices, how many times that for
        each more, and at most.
    worth_a_look
        Seconds of one thread beyond which it is.
    level
        More for each vertex beyond four.
    shares
        By the most levels that it is for, the share of one thread's time: deep searches leave most of the
        device idle, and beyond ten levels no kernel of their own is made.
    parts
        How many times that where parts are counted.
    row
        A row of four vertices, to NumPy.
    draw
        Draws of samples, beyond what these take: launches, results.
    samples
        Share of one thread's time that samples take.
    candidates, candidate_byte
        More for the first samples of a query: what is copied, and each byte of it.
    speed
        Multiprocessors times clock, in hertz, of the device that this was measured on.
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
    parts: float = DEVICE_SPEEDS.parts
    row: float = 6e-9
    draw: float = 2e-3
    samples: float = 0.005
    candidates: float = 3e-3
    candidate_byte: float = 0.5e-9
    speed: float = 132 * 1.98e9

    def search(self, work: HostWork, speed: float = 0.0) -> float:
        """Return the seconds of what takes the host so long, on a device of this speed (0: as measured)."""
        scale = self.speed / speed if speed else 1.0
        share = next(share for most, share in self.shares if work.levels <= most)
        share *= self.parts if work.kind == "parts" else 1.0
        begun = self.call + self.level * max(0, work.levels - _ROW_VERTICES)
        return begun + scale * work.seconds * share + self.row * work.rows

    def first_look(self, work: HostWork | None) -> float:
        """Return the seconds that it takes more to do this for the first time."""
        if work is None or work.seconds <= self.worth_a_look:
            return self.first
        look = self.look * self.look_growth ** (work.levels - _ROW_VERTICES)
        return self.first + min(self.longest_look, look)

    def sampling(self, seconds: float, nbytes: int, speed: float = 0.0) -> float:
        """Return the seconds of samples that take one thread so long, of `nbytes` of candidates."""
        scale = self.speed / speed if speed else 1.0
        copied = self.candidates + self.candidate_byte * nbytes
        return self.draw + copied + scale * self.samples * seconds

    def ready(self, state: GpuState, arcs: int) -> float:
        """Return the seconds until a call can begin, for a graph with so many arcs."""
        seconds = 0.0 if state.opened else self.open
        seconds += 0.0 if state.compiled else self.compile
        return seconds + (0.0 if state.resident else self.arc * arcs)


H100 = GpuCosts()
"""Of an NVIDIA H100 80GB (`benchmarks/micro/dispatch.py`)."""
