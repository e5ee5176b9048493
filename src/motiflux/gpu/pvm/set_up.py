"""Sets up searches by phases: tables of rows, memory, kernels."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from motiflux.codegen.pvm import MOST_TABLES
from motiflux.device import Buffer
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.launch.job_pool import job_pool
from motiflux.gpu.pvm.arguments import Constants
from motiflux.gpu.pvm.buckets import Buckets
from motiflux.gpu.pvm.controls import PhaseControls
from motiflux.gpu.pvm.frontiers import (
    FIRST_BYTES,
    GROWN_BYTES,
    Frontier,
    LeftRoom,
    allocate_equal,
    allocate_frontiers,
    allocate_left,
)
from motiflux.gpu.pvm.fusing import fused
from motiflux.gpu.pvm.launches import PhaseLaunches, Room, most_warps
from motiflux.gpu.pvm.memory import room_for
from motiflux.gpu.pvm.memory_division import divided_memory, place_bytes
from motiflux.gpu.pvm.phase_kernels import entry_of, unit_of
from motiflux.gpu.pvm.phase_query import PhaseQuery
from motiflux.gpu.pvm.phase_reader import PhaseReader
from motiflux.gpu.pvm.phase_steps import PhaseJob
from motiflux.gpu.pvm.program_making import programs_of
from motiflux.gpu.pvm.programs import ExtensionProgram, Layout, Program, Programs
from motiflux.gpu.pvm.resident_signatures import resident_signatures, signature_bytes
from motiflux.gpu.pvm.resident_tables import TILES, ResidentTables
from motiflux.gpu.pvm.resident_tile import TableRows, Traffic
from motiflux.gpu.pvm.row_tables import RowForm, RowTables, TableKey
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import setting_up
from motiflux.graph import Graph
from motiflux.jit import Source
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request

MOST_ROW_BYTES = 32 << 20
"""Most bytes of the last frontier, if embeddings are listed."""
_GROWN, _MOST_GROWN = "phases with large frontiers", 64
"""Searches whose frontiers of the first size were full begin with larger ones; how many are remembered."""
_FEW_ROWS = 1 << 20
"""If fewer are wanted, that frontier has room for no more."""


@dataclass(frozen=True)
class TiledMemory:
    """Memory of a search whose tables do not fit together.

    Parameters
    ----------
    tables
        The tables.
    scratch
        A frontier of as many bytes as those between phases; None: there is one phase.
    buckets
        Sorts frontiers by tiles.
    """

    tables: ResidentTables
    scratch: Frontier | None
    buckets: Buckets


@dataclass(frozen=True)
class Memory:
    """Device memory and rows of a job that is set up.

    Parameters
    ----------
    room
        Its own memory.
    rows
        The rows of each phase, if all tables are on the device, where the job holds them.
    is_first
        Whether frontiers may be made larger.
    tiled
        The rest, if they are not; None: they are.
    traffic
        Bytes of the tables and of their copies, if they were copied to set up the job.
    """

    room: Room
    rows: Sequence[Sequence[TableRows]]
    is_first: bool
    tiled: TiledMemory | None = None
    traffic: Mapping[TableKey, Traffic] = field(default_factory=dict)

    def close(self) -> None:
        """Leave tables to later searches."""
        if self.tiled is not None:
            self.tiled.tables.close()


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
    known: OrderedDict[object, None] = query.graph.memo.keep(_GROWN, OrderedDict)
    if grows:
        known[query.name] = None
        if len(known) > _MOST_GROWN:
            known.popitem(last=False)
    if not grows and (kept := pool.begin(query.name, query.request)) is not None:
        memory: Memory = kept.launches.memory
        return kept, memory
    job = PhaseJob(accelerator, budget=query.request.gpu_memory)
    with setting_up(job):
        memory = _set_up(job, query, deadline, grows=grows or query.name in known)
    if memory.tiled is None:
        pool.keep(query.name, job, query.phases, query.request)
    return job, memory


def make_tables(query: PhaseQuery) -> None:
    """Have the tables of a search be made on the host, so that searches at the same time share them."""
    host = RowTables.of(query.graph, query.request.threads)
    for key in _programs(query, host).tables:
        host.table(key)


def sources_of(query: PhaseQuery) -> list[Source]:
    """Return the units of all kernels of a search whose tables are on the device."""
    programs = _joined(_programs(query, RowTables.of(query.graph, query.request.threads)), query)
    by_size, last, form = query.request.tuning["tail"] != "off", len(programs.phases) - 1, query.kernel_form
    entries = [
        entry_of(phase, counts=query.counts and at == last, by_size=by_size)
        for at, phase in enumerate(programs.phases)
    ]
    units = (unit_of(phase, entry, form) for phase, entry in zip(programs.phases, entries, strict=True))
    return [*dict.fromkeys(source for source, _ in units)]


def _joined(programs: Programs, query: PhaseQuery) -> Programs:
    """Return the programs of a search whose tables are on the device, those together that one kernel runs."""
    if query.request.tuning["pvm_fused"] != "on":
        return programs
    return fused(programs, counts_last=query.counts and _counts_last(programs, query.request))


def _set_up(job: PhaseJob, query: PhaseQuery, deadline: Deadline, *, grows: bool) -> Memory:
    graph, request = query.graph, query.request
    device, budget = job.accelerator.device, request.gpu_memory
    host = RowTables.of(graph, request.threads)
    programs = _programs(query, host)
    nbytes = [host.table(key).nbytes for key in programs.tables]
    room = room_for(job.accelerator, budget) - ResidentTables.vertex_bytes(host)
    room -= signature_bytes(graph) if query.signatures else 0
    whole, tiled = divided_memory(room, programs, query, most_warps(device.multiprocessors), max(nbytes))
    tables = ResidentTables(
        job.accelerator,
        host,
        budget,
        whole.tables,
        expected=programs.tables,
        deadline=deadline,
        most_in_tiles=tiled.tables,
    )
    try:
        if tables.fits:
            return _whole(job, query, programs, tables, whole.frontiers, deadline, grows=grows)
        if query.row_form is RowForm.HASH:
            what, hint = "hash tables of a search in phases", "set pvm_rows=interval"
            raise DeviceMemoryError(what, sum(nbytes), whole.tables, hint)
        return _tiled(job, query, tables, tiled.frontiers, deadline)
    except BaseException:
        tables.close()
        raise


def _programs(
    query: PhaseQuery,
    host: RowTables,
    *,
    most_tables: int = MOST_TABLES,
    is_tiled: Callable[[TableKey], bool] = lambda key: False,
) -> Programs:
    """Return the phases of a search for kernels."""
    return programs_of(
        query.phases,
        layout_of(query.graph, host, query.row_form),
        lists=not query.counts,
        most_tables=most_tables,
        is_tiled=is_tiled,
        signatures=query.signatures,
        nested=query.nests,
    )


def _whole(
    job: PhaseJob,
    query: PhaseQuery,
    programs: Programs,
    tables: ResidentTables,
    share: int,
    deadline: Deadline,
    *,
    grows: bool,
) -> Memory:
    """Set up a search whose tables are all on the device: all phases are launched in a chain."""
    request = query.request
    programs = _joined(programs, query)
    launches, constants = _launches(job, query, programs, tables, deadline)
    room = _room(job, launches, request, min(share, GROWN_BYTES if grows else FIRST_BYTES))
    for buffer in room.buffers:
        job.memory.hold(buffer)
    rows = dict(
        zip(programs.tables, tables.acquire(job.stream, [(key, 0) for key in programs.tables]), strict=True)
    )
    for entry in tables.entries:
        job.memory.read(entry)
    traffic = tables.traffic()
    tables.close()
    of_phases = [[rows[key] for key in phase.tables] for phase in programs.phases]
    launches.chain(room, of_phases, job.control.address)
    memory = launches.memory = Memory(room, of_phases, is_first=not grows)
    for buffer in constants.buffers:
        job.memory.hold(buffer)
    return replace(memory, traffic=traffic)


def _tiled(
    job: PhaseJob, query: PhaseQuery, tables: ResidentTables, share: int, deadline: Deadline
) -> Memory:
    """Set up a search whose tables are on the device tile by tile."""
    request, accelerator = query.request, job.accelerator
    device, budget = accelerator.device, request.gpu_memory
    host = RowTables.of(query.graph, request.threads)
    programs = _programs(
        query,
        host,
        most_tables=TILES - 1,
        is_tiled=lambda key: tables.expects(key) and tables.tiles(key) > 1,
    )
    launches, constants = _launches(job, query, programs, tables, deadline)
    last = programs.phases[-1:] if not query.counts else ()
    between = programs.phases[:-1]
    of_last = [] if query.counts else [min(share // 2, _last_bytes(programs.phases[-1], request))]
    sorted_ones = allocate_equal(
        device, [*between, between[-1]] if between else [], share - sum(of_last), budget
    )
    frontiers = sorted_ones[:-1] + allocate_equal(device, last, sum(of_last), budget)
    left = allocate_left(device, most_warps(device.multiprocessors), budget, share)
    room = Room(
        frontiers,
        left,
        _positions(job, launches, request),
        _places(job, launches, request, frontiers, left),
    )
    most_tiles = max(tables.tiles(key) for key in programs.tables)
    renamed = 0 if tables.renamed is None else tables.renamed.address
    buckets = Buckets(accelerator, job.stream, renamed, most_tiles, budget, deadline)
    for buffer in (*room.buffers, *(one.buffer for one in sorted_ones[-1:]), *buckets.buffers):
        job.memory.hold(buffer)
    for buffer in constants.buffers:
        job.memory.hold(buffer)
    tiled = TiledMemory(tables, sorted_ones[-1] if sorted_ones else None, buckets)
    return Memory(room, (), is_first=False, tiled=tiled)


def _launches(
    job: PhaseJob, query: PhaseQuery, programs: Programs, tables: ResidentTables, deadline: Deadline
) -> tuple[PhaseLaunches, Constants]:
    """Set the launches of a job."""
    graph, request = query.graph, query.request
    device, budget = job.accelerator.device, request.gpu_memory
    labels = 0 if tables.labels is None else tables.labels.address
    there = 0
    if query.signatures:
        there = job.memory.read(resident_signatures(job, graph, request, deadline)).buffer.address
    constants = Constants(device, job.stream, graph, labels, budget, there)
    form = query.kernel_form
    controls = PhaseControls(device, len(programs.phases) * (1 + form.two_passes), budget)
    launches = PhaseLaunches(
        job.accelerator,
        programs,
        controls,
        constants,
        vertices=graph.num_vertices,
        roots_ascend=any(first == query.phases.order[0] for first, _ in query.phases.restrictions),
        counts=query.counts,
        by_size=request.tuning["tail"] != "off",
        deadline=deadline,
        form=form,
        share=query.share,
    )
    job.set_up(launches, PhaseReader(job.control))
    job.memory.hold(controls.buffer)
    return launches, constants


def _counts_last(programs: Programs, request: Request) -> bool:
    """Whether the last phase of a count may be counted by the numbers of candidates."""
    last = programs.phases[-1]
    one = isinstance(last, ExtensionProgram) and last.shape.members == 1
    return one or request.tuning["tail"] != "off"


def layout_of(graph: Graph, tables: RowTables, form: RowForm = RowForm.INTERVAL) -> Layout:
    """Return the layout of the rows of a graph."""
    edge_labels = 1 if graph.forward.labels is None else len(graph.edge_label_table)
    labelled = graph.vertex_labels is not None
    return Layout(graph.directed, edge_labels, labelled, tables.by_target, tables.grouped, form)


def _room(job: PhaseJob, launches: PhaseLaunches, request: Request, nbytes: int) -> Room:
    device, budget = job.accelerator.device, request.gpu_memory
    phases = launches.programs.phases
    written = phases[:-1] if launches.counts else phases
    last = nbytes if launches.counts else _last_bytes(written[-1], request)
    frontiers = allocate_frontiers(device, written, budget, nbytes, last)
    left = allocate_left(device, most_warps(device.multiprocessors), budget, nbytes)
    return Room(
        frontiers,
        left,
        _positions(job, launches, request),
        _places(job, launches, request, frontiers, left),
    )


def _last_bytes(phase: Program, request: Request) -> int:
    """Return the most bytes of the frontier of rows that are listed."""
    limit = request.limit
    few = limit is not None and limit < _FEW_ROWS
    return 4 * phase.width * limit if few and limit else MOST_ROW_BYTES


def _positions(job: PhaseJob, launches: PhaseLaunches, request: Request) -> Buffer | None:
    """Return memory of the next batch of each warp in each phase, if embeddings are given out round robin."""
    if request.tuning["pvm_distribution"] != "round_robin":
        return None
    nbytes = launches.position_bytes * len(launches.programs.phases)
    return job.accelerator.device.allocate(nbytes, "the work of warps", budget=request.gpu_memory)


def _places(
    job: PhaseJob, launches: PhaseLaunches, request: Request, frontiers: Sequence[Frontier], left: LeftRoom
) -> Buffer | None:
    """Return memory of the place of each unit of work, if embeddings are written in two passes."""
    if request.tuning["pvm_writes"] != "two_pass":
        return None
    rows = max(launches.roots, *(one.capacity for one in frontiers), 1)
    nbytes = place_bytes(rows, left.most_long + left.most_left)
    return job.accelerator.device.allocate(nbytes, "places of embeddings", budget=request.gpu_memory)
