"""Sets up searches by phases: tables of rows, memory, kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motiflux.codegen.pcsr import IntervalRows
from motiflux.gpu.launch.job_pool import job_pool
from motiflux.gpu.pvm.arguments import Constants
from motiflux.gpu.pvm.controls import PhaseControls
from motiflux.gpu.pvm.frontiers import FIRST_BYTES, MOST_BYTES, SHARE, allocate_frontiers, allocate_left
from motiflux.gpu.pvm.fusing import fused
from motiflux.gpu.pvm.launches import PhaseLaunches, PhaseReader, Room, most_warps
from motiflux.gpu.pvm.programs import ExtensionProgram, Layout, Programs, programs_of
from motiflux.gpu.pvm.resident_tables import TILES, ResidentTables
from motiflux.gpu.pvm.row_tables import RowTables
from motiflux.gpu.pvm.run import PhaseJob
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import setting_up
from motiflux.graph import Graph
from motiflux.plan.phases.data import PhasePlan
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request

MOST_ROW_BYTES = 32 << 20
"""Most bytes of the last frontier, if embeddings are listed."""
_FEW_ROWS = 1 << 20
"""If fewer are wanted, that frontier has room for no more."""


@dataclass(frozen=True)
class PhaseQuery:
    """A search by phases of a graph.

    Parameters
    ----------
    counts
        Whether embeddings are counted, or listed.
    """

    graph: Graph
    phases: PhasePlan
    request: Request
    counts: bool

    @property
    def name(self) -> tuple[object, ...]:
        """Name of its kept jobs."""
        tuning = self.request.tuning
        switches = tuning["pvm_distribution"], tuning["pvm_fused"], tuning["tail"]
        listed = None if self.counts else self.request.limit
        return "phases", id(self.phases), self.counts, listed, self.request.gpu_memory, switches


@dataclass(frozen=True)
class Memory:
    """Device memory and rows of a job that is set up.

    Parameters
    ----------
    room
        Its own memory.
    tables
        Tables that are made resident for each launch; None: all are, and the job holds them.
    rows
        The rows of each phase, if all tables are resident.
    is_first
        Whether frontiers may be made larger.
    """

    room: Room
    tables: ResidentTables | None
    rows: Sequence[Sequence[IntervalRows]]
    is_first: bool


def phase_job(
    accelerator: Accelerator, query: PhaseQuery, deadline: Deadline, *, grows: bool = False
) -> tuple[PhaseJob, Memory]:
    """Return a job, kept from an earlier call or set up now, and its memory.

    Parameters
    ----------
    grows
        Whether frontiers of the first size were full: the job is set up anew, with larger ones.
    """
    pool = job_pool(query.graph, accelerator)
    if not grows and (kept := pool.begin(query.name, query.request)) is not None:
        memory: Memory = kept.launches.memory
        return kept, memory
    job = PhaseJob(accelerator, budget=query.request.gpu_memory)
    with setting_up(job):
        memory = _set_up(job, query, deadline, grows=grows)
    if memory.tables is None:
        pool.keep(query.name, job, query.phases, query.request)
    return job, memory


def _set_up(job: PhaseJob, query: PhaseQuery, deadline: Deadline, *, grows: bool) -> Memory:
    graph, request, counts = query.graph, query.request, query.counts
    device, budget = job.accelerator.device, request.gpu_memory
    host = RowTables.of(graph, request.threads)
    programs = programs_of(query.phases, layout_of(graph, host), lists=not counts)
    room = ResidentTables.room(device, budget) - ResidentTables.vertex_bytes(host)
    share = min(MOST_BYTES, int(SHARE * room))
    tables = ResidentTables(
        job.accelerator, host, budget, room - share, expected=programs.tables, deadline=deadline
    )
    if not tables.fits:
        programs = programs_of(
            query.phases,
            layout_of(graph, host),
            lists=not counts,
            most_tables=TILES - 1,
            is_tiled=lambda key: tables.tiles(key) > 1,
        )
    elif request.tuning["pvm_fused"] == "on":
        programs = fused(programs, counts_last=counts and _counts_last(programs, request))
    labels = 0 if tables.labels is None else tables.labels.address
    constants = Constants(device, job.stream, graph, labels, budget)
    controls = PhaseControls(device, len(programs.phases), budget)
    launches = PhaseLaunches(
        job.accelerator,
        programs,
        controls,
        constants,
        vertices=graph.num_vertices,
        roots_ascend=any(first == query.phases.order[0] for first, _ in query.phases.restrictions),
        counts=counts,
        by_size=request.tuning["tail"] != "off",
        deadline=deadline,
    )
    job.set_up(launches, PhaseReader(job.control))
    is_first = tables.fits and not grows
    room_of = _room(job, launches, request, min(share, FIRST_BYTES) if is_first else share)
    for buffer in (*room_of.buffers, controls.buffer):
        job.memory.hold(buffer)
    if not tables.fits:
        return Memory(room_of, tables, (), is_first=False)
    rows = dict(
        zip(programs.tables, tables.acquire(job.stream, [(key, 0) for key in programs.tables]), strict=True)
    )
    for entry in tables.entries:
        job.memory.read(entry)
    tables.close()
    of_phases = [[rows[key] for key in phase.tables] for phase in programs.phases]
    launches.chain(room_of, of_phases, job.control.address)
    memory = launches.memory = Memory(room_of, None, of_phases, is_first)
    for buffer in constants.buffers:
        job.memory.hold(buffer)
    return memory


def _counts_last(programs: Programs, request: Request) -> bool:
    """Whether the last phase of a count may be counted by the numbers of candidates."""
    last = programs.phases[-1]
    one = isinstance(last, ExtensionProgram) and last.shape.members == 1
    return one or request.tuning["tail"] != "off"


def layout_of(graph: Graph, tables: RowTables) -> Layout:
    """Return the layout of the rows of a graph."""
    edge_labels = 1 if graph.forward.labels is None else len(graph.edge_label_table)
    labelled = graph.vertex_labels is not None
    return Layout(graph.directed, edge_labels, labelled, tables.by_target, tables.grouped)


def _room(job: PhaseJob, launches: PhaseLaunches, request: Request, nbytes: int) -> Room:
    device, budget = job.accelerator.device, request.gpu_memory
    phases = launches.programs.phases
    written = phases[:-1] if launches.counts else phases
    last = nbytes
    if not launches.counts:
        limit = request.limit
        few = limit is not None and limit < _FEW_ROWS
        last = 4 * written[-1].width * limit if few and limit else MOST_ROW_BYTES
    positions = None
    if request.tuning["pvm_distribution"] == "round_robin":
        positions = device.allocate(launches.position_bytes * len(phases), "the work of warps", budget=budget)
    return Room(
        allocate_frontiers(device, written, budget, nbytes, last),
        allocate_left(device, most_warps(device.multiprocessors), budget, nbytes),
        positions,
    )
