"""The functions that run on workers for searches of sharded graphs, and what they keep between tasks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.folder import Folder
from motiflux.cluster.shards.columns import IdColumns, parquet_of_ids
from motiflux.cluster.shards.conditions import refuse_lost_copies
from motiflux.cluster.shards.edge_images import SHARE_OF_SUMS, RangedEdges, RangeEdges
from motiflux.cluster.shards.ids import VertexNumbers
from motiflux.cluster.shards.images import RangeImages
from motiflux.cluster.shards.listing import BYTES_OF_VERTEX, RowLister
from motiflux.cluster.shards.pairs import PairSums
from motiflux.cluster.shards.part_copies import compares_edges
from motiflux.cluster.shards.planning import RangedImages
from motiflux.cluster.shards.search import SHARE_OF_ROWS, Ranged, RangeSearch, Use
from motiflux.cluster.shards.server import Served, copies_of, ids_of, rows_of, values_of
from motiflux.cluster.shards.values import compared_names
from motiflux.cluster.shares import Share, roots
from motiflux.cluster.tasks import Bounds, Done, Watch

if TYPE_CHECKING:
    from motiflux.cluster.shards.gpu_parts import PartsOnGpu

_KEPT: dict[str, Any] = {}
"""The search of the last job: it has masks of all vertices."""


@dataclass(frozen=True, slots=True)
class ShardJob:
    """A search of a sharded graph by tasks.

    Parameters
    ----------
    token
        Names it in worker processes.
    content
        What is searched, in the object store, as a list: Ray would replace a reference by its object.
    """

    token: str
    served: Served
    content: list[Any]

    def open(self) -> Any:
        """Return what is searched."""
        import ray

        return ray.get(self.content[0])


def count_range(job: ShardJob, share: Share, bounds: Bounds, kind: str | None = None) -> Done:
    """Count the embeddings whose root arcs are in ranges of entries, multiplier not applied.

    Parameters
    ----------
    kind
        The kind of device that searches the parts; None: the CPU.
    """
    watch = Watch()
    search = _KEPT.get(job.token)
    if search is None:
        search = _keep(job, _search(job, job.open(), bounds.threads))
    gpu = _on_gpu(search, kind)
    return watch.done(*search_share(search, share, bounds, (search if gpu is None else gpu).counted))


def rows_of_range(job: ShardJob, share: Share, bounds: Bounds, kind: str | None = None) -> Done:
    """List the rows of a share in ids of the graph, [rows, vertices] int64."""
    return _rows(lister_of(job, kind), share, bounds)


def _rows(lister: RowLister, share: Share, bounds: Bounds) -> Done:
    watch = Watch()
    blocks, left, number = lister.rows(share, bounds)
    width = len(lister.order)
    return watch.done(np.concatenate([np.empty((0, width), np.int64), *blocks]), left, rows=number)


def numbers_of_range(job: ShardJob, share: Share, bounds: Bounds, kind: str | None = None) -> Done:
    """List the rows of a share in numbers of the graph's vertices, [rows, vertices] int64."""
    return _rows(lister_of(job, kind, VertexNumbers()), share, bounds)


def write_range(
    job: ShardJob,
    share: Share,
    bounds: Bounds,
    folder: str,
    name: str,
    columns: IdColumns,
    kind: str | None = None,
) -> Done:
    """Write the rows of a share into a file, as `motiflux.cluster.tasks.write_share`."""
    watch = Watch()
    blocks, left, number = lister_of(job, kind).rows(share, bounds)
    rows, data = parquet_of_ids(columns, blocks)
    if rows > 0:
        Folder(folder).write(name, data)
    return watch.done((rows, len(data) if rows > 0 else 0), left, rows=number)


def picked_rows(
    job: ShardJob, first: int, last: int, rows: int, places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the rows of a range of entries at ascending places, in ids: [places, vertices].

    Parameters
    ----------
    rows
        The number of rows of the range.
    """
    return lister_of(job).picked(first, last, rows, places)


def images_of_range(job: ShardJob, share: Share, bounds: Bounds, kind: str | None = None) -> Done:
    """Count the embeddings of a share at the images of levels.

    Returns the sum of the numbers of the first class, and all numbers above 0.
    """
    watch = Watch()
    images = _KEPT.get(job.token)
    if images is None:
        found: RangedImages = job.open()
        number = len(found.classes)
        search = _search(
            job, found.ranged, bounds.threads, of_graph=8 * number, of_part=16 * number + BYTES_OF_VERTEX
        )
        images = _keep(job, RangeImages(search, found, job.served.layout.num_vertices))
    gpu = _on_gpu(images.search, kind)
    images.numbers_of = None if gpu is None else gpu.numbers
    try:
        total, left = search_share(images.search, share, bounds, images.add)
    except BaseException:
        images.take()  # else the sums of this task would be in those of the next one of this process
        raise
    return watch.done((total, images.take()), left)


def edges_of_range(job: ShardJob, share: Share, bounds: Bounds, folder: str, kind: str | None = None) -> Done:
    """Count the embeddings of a share at the images of query edges; write the numbers above 0 into files.

    Returns the sum of the numbers of the first class, and the name and number of pairs of each file.
    """
    watch = Watch()
    edges = _KEPT.get(job.token)
    if edges is None:
        found: RangedEdges = job.open()
        search = _search(job, found.images.ranged, bounds.threads, of_part=BYTES_OF_VERTEX, share=found.share)
        sums = PairSums(len(found.sums), folder, search.room // SHARE_OF_SUMS)
        edges = _keep(job, RangeEdges(search, found, sums))
    gpu = _on_gpu(edges.search, kind)
    edges.numbers_of = None if gpu is None else gpu.numbers_of_arcs
    try:
        total, left = search_share(edges.search, share, bounds, edges.add)
        return watch.done((total, edges.sums.take()), left)
    except BaseException:
        edges.sums.drop()  # else they would be in the files of the next task of this process
        raise


def search_share(search: RangeSearch, share: Share, bounds: Bounds, use: Use) -> tuple[int, Share]:
    """Search ranges of entries, until time is up or a limit is passed; return a sum and what is left."""
    total, left = 0, list(share)
    started = time.perf_counter()
    while left:
        _, first, last, *_ = left[0]
        rest = None if bounds.seconds is None else bounds.seconds - (time.perf_counter() - started)
        if rest is not None and rest <= 0 and len(left) < len(share):
            break
        limit = None if bounds.limit is None else bounds.limit - total
        found = search.each(first, last, rest, limit, use)
        total += found.total
        left = [*([roots(first, found.left)] if found.left > first else []), *left[1:]]
        if found.left > first or (bounds.limit is not None and total > bounds.limit):
            break
    return total, left


def _search(job: ShardJob, found: Ranged, threads: int, **beside: int) -> RangeSearch:
    names = compared_names(found.plan)
    values = values_of(job.served, names) if names else None
    copies = None
    if compares_edges(found.plan):
        refuse_lost_copies(job.served.layout, found.request.copies)
        copies = copies_of(job.served)
    rows = rows_of(job.served, SHARE_OF_ROWS)
    return RangeSearch(rows, found, job.served.memory, threads, values=values, copies=copies, **beside)


def lister_of(job: ShardJob, kind: str | None = None, numbers: VertexNumbers | None = None) -> RowLister:
    """Return who lists the rows of a job, which the process keeps until it has another job.

    Parameters
    ----------
    numbers
        Stands in the place of ids; None: rows have ids.
    """
    lister: RowLister | None = _KEPT.get(job.token)
    if lister is None:
        found: Ranged = job.open()
        search = _search(job, found, 1, of_part=BYTES_OF_VERTEX)
        lister = _keep(job, RowLister(search, numbers or ids_of(job.served), found.plan))
    gpu = _on_gpu(lister.search, kind)
    lister.rows_of = None if gpu is None else gpu.rows
    return lister


def _on_gpu(search: RangeSearch, kind: str | None) -> PartsOnGpu | None:
    """Return who searches parts on the task's GPU; None if it has none."""
    if kind is None:
        return None
    from motiflux.cluster.gpu_tasks import assigned_gpu
    from motiflux.cluster.shards.gpu_parts import PartsOnGpu

    return PartsOnGpu(search, assigned_gpu(kind))


def _keep(job: ShardJob, made: Any) -> Any:
    _KEPT.clear()
    _KEPT[job.token] = made
    return made
