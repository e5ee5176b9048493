"""Patterns with a universal vertex on a device: the units of work, and the job that counts in bitmaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import universal_vertex as layout
from motiflux.codegen.kernels import placed
from motiflux.codegen.layout import Adjacency
from motiflux.codegen.universal_vertex import universal_vertex_source
from motiflux.gpu.kernels.cliques import WARP, RootTasks, cut_up, set_up_units, upload_units
from motiflux.gpu.launch.prepare import place
from motiflux.gpu.runtime.job import SearchJob
from motiflux.gpu.storage.device_csr import CopiedArray, RowsKey, resident
from motiflux.gpu.storage.expected_opens import Arcs, Opens
from motiflux.gpu.storage.upload import UploadContext
from motiflux.graph import Graph, VertexFilter, filter_mask
from motiflux.plan.bind import Codes
from motiflux.plan.neighborhood.bits import LOOK_UP, MOST_MEMBERS, ROOT, degrees_of, instructions, words_of
from motiflux.plan.neighborhood.choices import UniversalVertexPlan
from motiflux.plan.physical import Stage
from motiflux.request.request import Request

_BLOCKS_AT_ONCE = 16
_LEAST_SLICE = 20_000.0
"""Instructions of warps below which a root is not divided."""
_MOST_SLICES = 256
_SHORT_ROW = 32


def bytes_of(row: int, warps: int, levels: int, bases: int) -> int:
    """Return the bytes that `warps` warps need for one row (``match::UniversalVertexCount``)."""
    capacity = WARP
    while capacity < row + row // 2:
        capacity *= 2
    words = -(-row // WARP)
    bits = row * (words | 1) + bases * words + warps * levels * (words + 2)
    return 12 * row + 6 * capacity + 4 * bits


def cut_universal_vertex(degrees: NDArray[np.int64], universal: UniversalVertexPlan, teams: int) -> RootTasks:
    """Divide the roots with these numbers of neighbours into units; leave out those with too many."""
    kept = np.where(degrees <= MOST_MEMBERS, degrees, 0)
    levels, bases = universal.levels, len(universal.shape.bases)

    def slices_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        return _slices(lengths, universal, teams)

    return cut_up(kept, universal.least, slices_of, lambda row, warps: bytes_of(row, warps, levels, bases))


def _slices(lengths: NDArray[np.int64], universal: UniversalVertexPlan, teams: int) -> NDArray[np.int64]:
    """Return the number of slices of each root: few enough that building the bitmap for each slice pays."""
    if len(lengths) == 0:
        return np.empty(0, np.int64)
    build = ROOT + lengths * (float(lengths[0]) * LOOK_UP / WARP + lengths / WARP)
    weight = lengths.astype(np.float64) ** 2 * (lengths / WARP + 1)
    work = instructions(universal, words_of(lengths)) * (weight / weight.sum())
    work = np.where(np.isfinite(work), work, 0.0)
    least = np.maximum(max(_LEAST_SLICE, float(work.sum()) / (4 * teams)), 4 * build)
    slices = np.minimum(np.ceil(work / least), np.minimum(lengths, _MOST_SLICES)).astype(np.int64)
    return np.where(lengths > _SHORT_ROW, np.maximum(slices, 1), 1)


def set_up_universal_vertex(
    job: SearchJob, graph: Graph, stage: Stage, request: Request, context: UploadContext, devices: int = 1
) -> None:
    """Have a job count in bitmaps from all roots that have few enough neighbours.

    Parameters
    ----------
    devices
        Number of devices that share the work: more devices need smaller units.
    """
    assert stage.universal is not None
    universal, device = stage.universal, job.accelerator.device
    copies, asked = resident(graph, device), universal.rows
    rows = job.memory.read(copies.rows(graph, RowsKey(asked.roots, above=False), context))
    above = job.memory.read(copies.rows(graph, RowsKey(asked.members, above=True), context))
    general, special = universal_vertex_source(), universal_vertex_source(universal.shape)
    read, read_above = Adjacency(*rows.addresses), Adjacency(*above.addresses)
    keys = RowsKey(asked.roots, above=False), RowsKey(asked.members, above=True)
    opens = [Opens(float(graph.num_vertices), ())], [Opens(float(rows.arcs), (Arcs.ALL,))]
    if (found := place(job, graph, stage, dict(zip(keys, opens, strict=True)), context)) is not None:
        general, special = placed(general), placed(special)
        read, read_above = (Adjacency(*found.kinds[key].addresses) for key in keys)
    teams = _BLOCKS_AT_ONCE * device.multiprocessors * devices
    name = (
        "universal vertices",
        asked.roots,
        universal.shape,
        universal.least,
        universal.plan.estimates,
        MOST_MEMBERS,
        teams,
    )
    units = graph.memo.get(
        name, lambda: cut_universal_vertex(degrees_of(graph, universal, request.threads), universal, teams)
    )
    cut = job.memory.read(copies.keep(name, lambda: upload_units(units, rows, device, context)))
    kernel, _ = job.choose_kernel(general, special, request.tuning["specialize"], context.deadline)
    argument = layout.Args(shape=layout.pack(universal.shape))
    argument.task.rows, argument.task.units = read, cut.buffer.address
    argument.task.vertices = universal.levels + 1
    argument.pattern.above = read_above
    if any(kind != (None, None) for kind in asked.kinds):
        kinds = copies.keep(("kinds", asked.kinds), lambda: _upload_kinds(graph, universal, job, context))
        job.memory.read(kinds)
        argument.pattern.kinds = kinds.buffer.address
    levels, bases = universal.levels, len(universal.shape.bases)
    set_up_units(
        job, kernel, argument, units, lambda row, warps: bytes_of(row, warps, levels, bases), context
    )


def _upload_kinds(
    graph: Graph, universal: UniversalVertexPlan, job: SearchJob, context: UploadContext
) -> CopiedArray:
    """Return a word for each vertex; each bit is one kind (labels and a filter) that it belongs to."""
    words = np.zeros(max(1, graph.num_vertices), np.uint32)
    for number, (labels, narrowing) in enumerate(universal.rows.kinds):
        words[: graph.num_vertices] |= _of_kind(graph, labels, narrowing).astype(np.uint32) << number
    buffer = job.accelerator.device.allocate(words.nbytes, "kinds of vertices", budget=context.budget)
    context.stream.upload(buffer, words)
    context.stream.wait()
    return CopiedArray(buffer, universal.rows)


def _of_kind(graph: Graph, labels: Codes, narrowing: VertexFilter | None) -> NDArray[np.bool_]:
    """Return a mask of the vertices that have one of the labels and pass the filter."""
    found = np.ones(graph.num_vertices, np.bool_)
    if labels is not None and graph.vertex_labels is not None:
        found &= np.isin(graph.vertex_labels, labels)
    if narrowing is not None and narrowing.has_mask:
        found &= filter_mask(graph, narrowing).astype(np.bool_)
    if narrowing is not None and narrowing.ids is not None:
        named = np.zeros(graph.num_vertices, np.bool_)
        named[list(narrowing.ids)] = True
        found &= named
    return found
