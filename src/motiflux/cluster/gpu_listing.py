"""The functions that list rows on workers with a GPU.

A share has the same items as on CPUs (`motiflux.cluster.shares`), so each worker may go on with what another
one handed back. A range of root arcs is searched by the GPU, whole; one with more rows than a task may have
is halved. A single root arc with too many is searched by the CPU of the worker, which can divide it further.

The rows of a share, and what is left of it, depend on the share only: how many rows a range has does not
depend on the order in which a GPU finds them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.gpu_tasks import assigned_gpu
from motiflux.cluster.shares import Item, Share, halves
from motiflux.cluster.tasks import (
    Bounds,
    Columns,
    Done,
    Job,
    Watch,
    content_of,
    list_on_cpu,
    rows_of_blocks,
    write_blocks,
)
from motiflux.errors import ClusterError
from motiflux.gpu.group import DeviceGroup, working_on
from motiflux.gpu.launch.prepare import prepare, row_keys
from motiflux.gpu.rows.stored_rows import StoredRows
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.gpu.strategy import listing
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.physical import Stage
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request
from motiflux.types import VertexArray

_BLOCK_ROWS = 1 << 20
_HEAVY = [1]
"""In place of the vertices before, in an item of one root arc: the CPU searches it."""


def rows_on_gpu(job: Job, kind: str, share: Share, bounds: Bounds) -> Done:
    """List the rows of a share; see `motiflux.cluster.tasks.rows_of_share`."""
    watch = Watch()
    blocks, left = _listed(job, kind, share, bounds)
    return watch.done(rows_of_blocks(content_of(job)[1], blocks), left, rows=sum(map(len, blocks)))


def write_rows_on_gpu(
    job: Job, kind: str, share: Share, bounds: Bounds, folder: str, name: str, columns: Columns
) -> Done:
    """Write the rows of a share into a file; see `motiflux.cluster.tasks.write_share`.

    Rows are sorted, so that a task that runs twice writes the same bytes.
    """
    watch = Watch()
    blocks, left = _listed(job, kind, share, bounds)
    graph, plan, _, _ = content_of(job)
    ordered = [sorted_rows(block) for block in blocks]
    written = write_blocks(graph, plan, ordered, folder, name, columns)
    return watch.done(written, left, rows=sum(map(len, blocks)))


def _listed(job: Job, kind: str, share: Share, bounds: Bounds) -> tuple[list[VertexArray], Share]:
    """Return the rows of the first items of a share, without images, and the items that are left."""
    accelerator = open_accelerator(assigned_gpu(kind))
    with working_on(accelerator):
        arcs = _ArcRows(accelerator, job)
        blocks: list[VertexArray] = []
        found, left = 0, list(share)
        assert bounds.rows is not None
        while left and found < bounds.rows:
            item, *left = left
            rest: Share
            if item[0] > 0 or item[6]:
                rows, rest, _ = list_on_cpu(job, [(*item[:6], item[6] if item[0] else [])], bounds)
            else:
                rows, rest = arcs.rows(item, bounds.rows)
            blocks += rows
            found += sum(map(len, rows))
            left = rest + left
    return blocks, left


class _ArcRows:
    """Lists the rows of ranges of root arcs on one GPU."""

    def __init__(self, accelerator: Accelerator, job: Job) -> None:
        graph, plan, request, _ = content_of(job)
        self._accelerator, self._graph, self._request = accelerator, graph, request
        facts = DeviceGroup((accelerator,)).facts
        self._stage: Stage = listing(plan, facts, request).stages[0]
        self._plan: Plan = replace(plan, images=())
        self._every, self._there = _offsets(graph, plan, request.threads)
        if (units := int(self._every[-1])) != job.units:
            raise ClusterError(f"graph: expected {job.units:,} root arcs, as on the driver, found {units:,}")

    def rows(self, item: Item, most: int) -> tuple[list[VertexArray], Share]:
        """Return the rows of an item, or none and the parts that it is divided into."""
        _, first, last, *_ = item
        blocks = self._search(self._on_device(first), self._on_device(last), most)
        if blocks is not None:
            return blocks, []
        parts = halves([item])
        if parts is None:
            return [], [(*item[:6], _HEAVY)]
        return [], [*parts[0], *parts[1]]

    def _on_device(self, arc: int) -> int:
        """Return the place of a root arc on the device, which has the last entries of each row only."""
        row = int(np.searchsorted(self._every, arc, "right")) - 1
        if row == len(self._every) - 1:
            return int(self._there[-1])
        behind = int(self._every[row + 1]) - arc
        return max(int(self._there[row]), int(self._there[row + 1]) - behind)

    def _search(self, first: int, last: int, most: int) -> list[VertexArray] | None:
        """Return the rows of a range of root arcs of the device; None if they are more than `most`."""
        if first == last:
            return []
        deadline = Deadline.after(None)
        request: Request = replace(self._request, limit=most + 1)
        job = prepare(self._accelerator, self._graph, self._stage, request, None, deadline)
        if (extent := job.launches.partition.extent) != self._there[-1]:
            job.close()
            raise ClusterError(f"graph: expected {self._there[-1]:,} root arcs on the GPU, found {extent:,}")
        job.launches.take_range(first, last)
        source = StoredRows(job, self._plan, request, _BLOCK_ROWS, deadline)
        try:
            blocks: list[VertexArray] = []
            while (block := source.next()) is not None:
                blocks.append(block)  # type: ignore[arg-type]  # without images, blocks are rows
            return None if sum(map(len, blocks)) > most else blocks
        finally:
            source.close()


def _offsets(graph: Graph, plan: Plan, threads: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the offsets of the rows of root arcs, and of the entries that devices have of them."""
    key = row_keys(plan)[1][0]
    every = graph.adjacency(key.adjacency, threads)[0]
    return every, graph.offsets_above(key.adjacency, threads) if key.above else every


def sorted_rows(rows: VertexArray) -> VertexArray:
    """Return rows in ascending order.

    Columns are packed into words, as many as fit; rows of equal first words are sorted by the others.
    """
    if len(rows) == 0:
        return rows
    bits = max(1, int(rows.max()).bit_length())
    of_word = 64 // bits
    words = [_packed(rows[:, at : at + of_word], bits) for at in range(0, rows.shape[1], of_word)]
    order = np.argsort(words[0])
    if len(words) > 1:
        first = words[0][order]
        same = first[1:] == first[:-1]
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        among = order[tied]
        order[tied] = among[np.lexsort([word[among] for word in reversed(words)])]
    return rows[order]


def _packed(columns: VertexArray, bits: int) -> NDArray[np.uint64]:
    """Return a word for each row: its columns of some bits, the first one highest."""
    words = np.zeros(len(columns), np.uint64)
    for at in range(columns.shape[1]):
        words = words << np.uint64(bits) | columns[:, at]
    return words
