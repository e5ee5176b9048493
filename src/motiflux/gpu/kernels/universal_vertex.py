"""Cones on a device, counted in bits: which plans, how the work is cut up, and the search that does it."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import universal_vertex as layout
from motiflux.codegen.layout import Adjacency
from motiflux.codegen.tails import device_tail
from motiflux.codegen.universal_vertex import universal_vertex_source
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.kernels.cliques import WARP, RootTasks, clique_key, cut_up, set_up_units, upload_units
from motiflux.gpu.launch.prepare import MOST_VERTICES, Roots, task_limit
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.search import DeviceSearch
from motiflux.gpu.storage.device_csr import CopiedArray, RowsKey, UploadContext, resident
from motiflux.graph import Graph, VertexFilter
from motiflux.plan import Plan
from motiflux.plan.bind import Codes
from motiflux.plan.estimate.predict import distinct_keys, narrowed_bytes
from motiflux.plan.neighborhood.choices import Cone, find_cones
from motiflux.request.costs import H100, host_work
from motiflux.request.deadline import seconds_left
from motiflux.request.request import Request
from motiflux.units import seconds_text

MOST_MEMBERS = 4096
"""Neighbours of a root, beyond which its bits take megabytes; such roots are searched from."""
WORTH_A_CONE = 5e-3
"""Seconds that a search must be expected to take on the device before a cone is looked for."""
_MARGIN = 2.0
"""How many times as long it must be expected to take: what bits take is not known well."""
_NARROWED_ARC = 10e-9
"""Seconds of the host for an arc that rows are narrowed from."""
_BLOCKS_AT_ONCE = 16
_START = 30e-6
_STEP, _WORD, _LOOK_UP, _ROOT = 100.0, 0.4, 2.0, 1500.0
"""Instructions of a warp: for a vertex that it takes, a word that one lane reads, a neighbour that is looked
up among the members, and a root."""
_INSTRUCTIONS = 2e11
"""That warps of the whole device do in a second, about; on the device that `H100` was measured on."""
_LEAST_SLICE = 20_000.0
"""Instructions of warps below which a root is not cut up."""
_MOST_SLICES = 256
_SHORT_ROW = 32


@dataclass(frozen=True, slots=True)
class Bits:
    """How a plan is counted in bits.

    Parameters
    ----------
    seconds, searching
        What is expected of bits, and of the search in their place; None where nothing was sampled.
    left
        About which share of the work is at roots with too many neighbours, which are left to the search.
    taken
        Whether it is.
    """

    cone: Cone
    seconds: float
    searching: float | None
    left: float
    taken: bool = True

    @property
    def expected(self) -> float:
        """Seconds that the whole count is expected to take."""
        return H100.call + self.seconds + self.left * (self.searching or 0.0)

    @property
    def words(self) -> str:
        """What there is to say about it."""
        if not self.taken:
            return f"level by level: in bits it is expected to take {seconds_text(self.expected)}"
        told = "in bits that say which neighbours of a vertex are linked"
        if self.searching is not None:
            told += f": level by level it is expected to take {seconds_text(self.searching)}"
        if self.left > 0:
            told += f"; from vertices with more than {MOST_MEMBERS:,} neighbours level by level"
        return told


@dataclass(frozen=True, slots=True)
class Part:
    """What a kernel counts of a pattern: all of it, or what it finds from some of the roots.

    Parameters
    ----------
    bits
        How, if in bits.
    roots
        Where the search begins; None for everywhere.
    share
        About which share of the work it is.
    """

    plan: Plan
    bits: Bits | None = None
    roots: Roots | None = None
    share: float = 1.0


def parts_of(bits: Bits) -> list[Part]:
    """Return the parts that together are the whole count: each root is in one of them."""
    in_bits = Part(bits.cone.plan, bits, share=1.0 - bits.left)
    if bits.left == 0:
        return [in_bits]
    roots = Roots(bits.cone.rows.roots, MOST_MEMBERS)
    return [in_bits, Part(bits.cone.plan, roots=roots, share=bits.left)]


def bits_for(graph: Graph, plan: Plan, request: Request, speed: float = 0.0) -> Bits | None:
    """Return how `plan` would be counted in bits, and whether it is; None where it is no cone.

    None too where the search is expected to be over before one has looked.

    Parameters
    ----------
    speed
        Multiprocessors times clock of the device, as in `GpuCosts`; 0 for the one that was measured on.
    """
    switch = request.tuning["bitmaps"]
    if switch in ("off", "cliques") or graph.num_vertices > MOST_VERTICES:
        return None
    if switch == "auto" and request.limit is not None and not _worth_it(_searching(plan, request, speed)):
        return None

    def make() -> tuple[Plan, Bits | None]:
        return plan, _choose(
            graph, plan, replace(request, limit=None), speed
        )  # the plan, so that no other one gets its id

    return graph.memo.get(("bits", id(plan), switch, speed, MOST_MEMBERS), make)[1]


def _searching(plan: Plan, request: Request, speed: float) -> float | None:
    work = host_work(plan, None, request)
    return None if work is None else H100.search(work, speed)


def _worth_it(searching: float | None, besides: float = 0.0) -> bool:
    return searching is not None and searching >= WORTH_A_CONE + besides


def _narrowing(graph: Graph, plan: Plan) -> float:
    """Return the seconds that it takes to narrow rows to labels and conditions, which a space needs not."""
    keys = set(distinct_keys(plan))
    narrowed = [key for key in keys if narrowed_bytes(graph, key) > 0]
    return _NARROWED_ARC * 2 * graph.num_edges * (len(narrowed) + 2) if narrowed else 0.0


def _choose(graph: Graph, plan: Plan, request: Request, speed: float) -> Bits | None:
    searching, forced = _searching(plan, request, speed), request.tuning["bitmaps"] == "on"
    if clique_key(plan) is not None or not (forced or _worth_it(searching, _narrowing(graph, plan))):
        return None
    cones = find_cones(graph, plan, request.threads)
    found = [_bits(graph, cone, request, searching, speed) for cone in cones]
    best = min(filter(_countable, found), key=lambda bits: bits.seconds, default=None)
    if best is None or forced or searching is None:
        return best
    return replace(best, taken=_MARGIN * best.expected < searching)


def _countable(bits: Bits) -> bool:
    """Return whether kernels count what is left to the search too."""
    plan = bits.cone.plan
    return bits.left == 0 or plan.tail is None or device_tail(plan) is not None


def _bits(graph: Graph, cone: Cone, request: Request, searching: float | None, speed: float) -> Bits:
    degrees = _degrees(graph, cone, request.threads)
    squares = degrees.astype(np.float64) ** 2
    left = float(squares[degrees > MOST_MEMBERS].sum() / max(1.0, squares.sum()))
    return Bits(cone, cone_seconds(cone, degrees, graph, speed), searching, left)


def _degrees(graph: Graph, cone: Cone, threads: int) -> NDArray[np.int64]:
    return np.diff(graph.adjacency(cone.rows.roots, threads)[0]).astype(np.int64)


def _words(degrees: NDArray[np.int64]) -> float:
    """Return the words of a set, on average over pairs of members."""
    squares = degrees.astype(np.float64) ** 2
    return float((squares * (degrees / WARP + 1)).sum() / max(1.0, squares.sum()))


def _instructions(cone: Cone, words: float) -> float:
    taken, read = cone.weight(words)
    return taken * _STEP + read * _WORD


def cone_seconds(cone: Cone, degrees: NDArray[np.int64], graph: Graph, speed: float = 0.0) -> float:
    """Return the seconds that a device is expected to take, by what was sampled."""
    degrees = degrees[(degrees >= cone.least) & (degrees <= MOST_MEMBERS)]
    longest_above = sqrt(2.0 * graph.num_edges)
    looked_up = float((degrees * np.minimum(degrees, longest_above)).sum())
    instructions = _instructions(cone, _words(degrees)) + looked_up * _LOOK_UP + len(degrees) * _ROOT
    scale = H100.speed / speed if speed else 1.0
    return _START + scale * instructions / _INSTRUCTIONS


def bytes_of(row: int, warps: int, levels: int, bases: int) -> int:
    """Return the memory that so many warps need for one row (``match::UniversalVertexCount``)."""
    capacity = WARP
    while capacity < row + row // 2:
        capacity *= 2
    words = -(-row // WARP)
    bits = row * (words | 1) + bases * words + warps * levels * (words + 2)
    return 12 * row + 6 * capacity + 4 * bits


def cut_cone(degrees: NDArray[np.int64], cone: Cone, teams: int) -> RootTasks:
    """Cut up the roots with so many neighbours each, but for those with too many."""
    kept = np.where(degrees <= MOST_MEMBERS, degrees, 0)
    levels, bases = cone.levels, len(cone.shape.bases)

    def slices_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        return _slices(lengths, cone, teams)

    return cut_up(kept, cone.least, slices_of, lambda row, warps: bytes_of(row, warps, levels, bases))


def _slices(lengths: NDArray[np.int64], cone: Cone, teams: int) -> NDArray[np.int64]:
    """Return into how many slices each root goes: each finds the bits anew, so all must be worth it."""
    if len(lengths) == 0:
        return np.empty(0, np.int64)
    build = _ROOT + lengths * (float(lengths[0]) * _LOOK_UP / WARP + lengths / WARP)
    weight = lengths.astype(np.float64) ** 2 * (lengths / WARP + 1)
    work = _instructions(cone, _words(lengths)) * (weight / weight.sum())
    work = np.where(np.isfinite(work), work, 0.0)
    least = np.maximum(max(_LEAST_SLICE, float(work.sum()) / (4 * teams)), 4 * build)
    slices = np.minimum(np.ceil(work / least), np.minimum(lengths, _MOST_SLICES)).astype(np.int64)
    return np.where(lengths > _SHORT_ROW, np.maximum(slices, 1), 1)


def prepare_cone(
    accelerator: Accelerator,
    graph: Graph,
    bits: Bits,
    request: Request,
    limit: int | None,
    deadline: float | None = None,
    devices: int = 1,
) -> DeviceSearch:
    """Return a search that counts in bits from all roots that have few enough neighbours.

    Parameters
    ----------
    devices
        How many devices share the work, which is cut up as finely as all of them need.

    Raises
    ------
    DeviceMemoryError
        Not even the smallest launch fits.
    OutOfTimeError
        The deadline passed meanwhile.
    """
    seconds_left(deadline)
    search = DeviceSearch(accelerator)
    try:
        means = UploadContext(search.stream, request.threads, request.gpu_memory, deadline)
        _set_up(search, graph, bits.cone, request, means, limit, devices)
    except BaseException as error:
        search.close()
        if isinstance(error, DeviceMemoryError):
            traceback.clear_frames(error.__traceback__)  # they hold rows that could make room
        raise
    return search


def _set_up(
    search: DeviceSearch,
    graph: Graph,
    cone: Cone,
    request: Request,
    means: UploadContext,
    limit: int | None,
    devices: int,
) -> None:
    accelerator, device = search.accelerator, search.accelerator.device
    copies, asked = resident(graph, device), cone.rows
    rows = copies.rows(graph, RowsKey(asked.roots, above=False), means)
    search.read([rows])
    above = copies.rows(graph, RowsKey(asked.members, above=True), means)
    search.read([above])
    teams = _BLOCKS_AT_ONCE * device.multiprocessors * devices
    name = ("cones", asked.roots, cone.shape, cone.least, cone.plan.estimates, MOST_MEMBERS, teams)
    units = graph.memo.get(name, lambda: cut_cone(_degrees(graph, cone, request.threads), cone, teams))
    cut = copies.keep(name, lambda: upload_units(units, rows, device, means))
    search.read([cut])
    general, special = universal_vertex_source(), universal_vertex_source(cone.shape)
    source, specialized = accelerator.choose(general, special, request.tuning["specialize"])
    search.units = general, special, specialized
    kernel = accelerator.kernel(source, means.deadline)
    argument = layout.Args(shape=layout.pack(cone.shape))
    argument.task.rows, argument.task.units = Adjacency(*rows.addresses), cut.buffer.address
    argument.task.limit, argument.task.vertices = task_limit(limit), cone.levels + 1
    argument.pattern.above = Adjacency(*above.addresses)
    if any(kind != (None, None) for kind in asked.kinds):
        kinds = copies.keep(("kinds", asked.kinds), lambda: _upload_kinds(graph, cone, search, means))
        search.read([kinds])
        argument.pattern.kinds = kinds.buffer.address
    levels, bases = cone.levels, len(cone.shape.bases)
    set_up_units(
        search, kernel, argument, units, lambda row, warps: bytes_of(row, warps, levels, bases), means
    )


def _upload_kinds(graph: Graph, cone: Cone, search: DeviceSearch, means: UploadContext) -> CopiedArray:
    """Return the kinds of each vertex, as bits of a word."""
    words = np.zeros(max(1, graph.num_vertices), np.uint32)
    for number, (labels, narrowing) in enumerate(cone.rows.kinds):
        words[: graph.num_vertices] |= _of_kind(graph, labels, narrowing).astype(np.uint32) << number
    buffer = search.accelerator.device.allocate(words.nbytes, "kinds of vertices", budget=means.budget)
    means.stream.upload(buffer, words)
    means.stream.wait()
    return CopiedArray(buffer, cone.rows)


def _of_kind(graph: Graph, labels: Codes, narrowing: VertexFilter | None) -> NDArray[np.bool_]:
    """Return which vertices have one of the labels, and satisfy what else is asked."""
    found = np.ones(graph.num_vertices, np.bool_)
    if labels is not None and graph.vertex_labels is not None:
        found &= np.isin(graph.vertex_labels, labels)
    if narrowing is not None and narrowing.condition is not None:
        found &= graph.vertex_mask(narrowing.condition).astype(np.bool_)
    if narrowing is not None and narrowing.ids is not None:
        named = np.zeros(graph.num_vertices, np.bool_)
        named[list(narrowing.ids)] = True
        found &= named
    return found
