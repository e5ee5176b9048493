"""Whether a GPU is expected to match a call sooner than the CPU: a model with measured constants."""

from __future__ import annotations

from dataclasses import dataclass

from motiflux.request.costs import H100, seconds_alone
from motiflux.units import seconds_text

LEAST_UPDATES = 1 << 14
"""Updates of a call below which rows are not brought to a GPU.

Calls of 4,096 updates take about as long on both; at a hub, where the CPU counts paths once for all updates,
the GPU was up to 35 times slower.
"""

LEAST_SECONDS = 5e-3
"""A call of fewer updates that takes so long on the CPU tells how long searches take."""
_MARGIN = 2.5
"""Calls of fewer updates go to a GPU if they are expected to take 1 / _MARGIN of the time."""
_UNKNOWN_SECONDS = 0.5
"""So many seconds must a GPU be expected to save as long as no call told how long searches take.

What plans expect was .002 to 40 times the time of searches on graphs with hubs and with labels.
"""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds, measured on an H200 and 16 threads of its machine (`benchmarks/NOTES.md`).

    Parameters
    ----------
    call
        A call on the GPU, beyond what follows.
    update, host_update
        Each update without its searches, on the GPU (with writing its rows and roots) and on the CPU.
    search
        Searches on the GPU, as a share of the time of one thread.
    candidate
        A candidate that a thread of the CPU visits.
    entry
        Each entry of a row that is brought to the GPU.
    open
        Opening the GPU.
    compile
        Compiling the kernels.
    """

    call: float = 1e-3
    update: float = 0.06e-6
    host_update: float = 0.1e-6
    search: float = 1 / 50
    candidate: float = 2e-9
    entry: float = 4e-9
    open: float = H100.open
    compile: float = H100.compile


H200 = Costs()


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known before a call.

    Parameters
    ----------
    updates
        Number of updates of the call.
    work
        Expected seconds of one thread's searches for an update.
    threads
        Threads of the CPU.
    entries
        Entries of the rows that patterns need.
    lists
        Whether matches are listed.
    current
        Whether the GPU has the rows as they are: it matched the call before.
    opened
        Whether this process has the GPU open.
    lost
        Seconds that the calls since the last change took longer than they would have on the other engine.
    least
        The least number of updates for the GPU, whatever is expected (`tuning`); None: by expectation.
    seen
        Whether calls of fewer than `LEAST_UPDATES` updates took long on the CPU.
    measured
        Whether a call told how long searches take; else `work` is what plans expect.
    gpu_scale
        Time of calls on the GPU over what the model expects.
    """

    updates: int
    work: float
    threads: int
    entries: int
    lists: bool = False
    current: bool = False
    opened: bool = False
    lost: float = 0.0
    least: int | None = None
    seen: bool = False
    measured: bool = True
    gpu_scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of an engine for a call.

    Parameters
    ----------
    host, gpu
        Expected seconds on the CPU, and on a GPU with current rows.
    why
        The reason, in words.
    """

    on_gpu: bool
    host: float
    gpu: float
    why: str


def decide(facts: Facts, costs: Costs = H200) -> Choice:
    """Return the engine for a call.

    Rows are brought to the GPU, or given up there, when the other engine would have saved as much time as it
    takes to load them: a change then costs at most as much again as what calls lost before.
    """
    host, gpu = expected(facts, costs)
    if facts.lists:
        return Choice(False, host, gpu, "matches are listed")
    if facts.least is not None:
        kind = "at least" if facts.updates >= facts.least else "fewer than"
        return Choice(facts.updates >= facts.least, host, gpu, f"the call has {kind} {facts.least} updates")
    is_heavy = facts.seen and _MARGIN * gpu <= host
    if not facts.current and facts.updates < LEAST_UPDATES and not is_heavy:
        return Choice(False, host, gpu, f"the call has fewer than {LEAST_UPDATES:,} updates")
    if not facts.measured and gpu < host < gpu + _UNKNOWN_SECONDS:
        return Choice(False, host, gpu, "how long searches take is not known yet")
    here, there = (f"about {seconds_text(seconds)}" for seconds in (host, gpu))
    if facts.current:
        leaves = host < gpu and facts.lost + gpu - host >= costs.entry * facts.entries
        if host < gpu and not leaves:
            return Choice(True, host, gpu, "the GPU has the rows, which would have to be loaded again")
        on_gpu = not leaves
    else:
        on_gpu = gpu < host and facts.lost + host - gpu >= price(facts, costs)
        if gpu < host and not on_gpu:
            why = f"{here} expected, {there} on the GPU once it has the rows"
            return Choice(False, host, gpu, why)
    if on_gpu:
        return Choice(True, host, gpu, f"{there} expected, {here} on the CPU")
    return Choice(False, host, gpu, f"{here} expected, {there} on the GPU")


def price(facts: Facts, costs: Costs) -> float:
    """Return the seconds that it takes to load the rows, and to open the GPU, if that has to be done."""
    if facts.current:
        return 0.0
    return costs.entry * facts.entries + (0.0 if facts.opened else costs.open)


def expected(facts: Facts, costs: Costs) -> tuple[float, float]:
    """Return the expected seconds of a call on the CPU, and on a GPU with current rows."""
    alone = facts.updates * facts.work
    host = facts.updates * costs.host_update + alone / seconds_alone(1.0, facts.threads)
    gpu = costs.call + facts.updates * costs.update + alone * costs.search
    return host, facts.gpu_scale * gpu


def work_of(updates: int, seconds: float, threads: int, costs: Costs = H200) -> float:
    """Return the seconds of one thread's searches for an update, from the seconds of a call on the CPU."""
    return seconds_alone(max(0.0, seconds - updates * costs.host_update), threads) / max(1, updates)
