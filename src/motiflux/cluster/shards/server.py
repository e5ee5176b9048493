"""The processes that serve the rows of shards, and how workers reach them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.allowance import Allowance, Bits, bits_of_shard
from motiflux.cluster.shards.copies import EdgeCopies
from motiflux.cluster.shards.copies_at import (
    Arcs,
    AskCopies,
    CopiesWanted,
    FoundCopies,
    copies_at,
    first_values,
)
from motiflux.cluster.shards.ids import AskIds, VertexIds
from motiflux.cluster.shards.judging import Judged, bits_at, judge
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.cluster.shards.part_copies import PartCopies
from motiflux.cluster.shards.ranks import (
    Name,
    Sample,
    all_attributes,
    merge_range,
    ranks_of,
    sampled,
    write_ranks,
)
from motiflux.cluster.shards.rows import Piece, RowArrays, Rows, Shard, Wanted
from motiflux.cluster.shards.store import (
    open_attributes,
    open_copies,
    open_rows,
    open_vertex_ids,
    shard_path,
)
from motiflux.cluster.shards.values import AskValues, Names, VertexValues, values_at
from motiflux.graph import Column

_MOST_JUDGED = 4
"""Sets of conditions whose kinds a server has open."""


class ShardServer:
    """An actor that has the rows of a shard, mapped from its file.

    It has no other state: if its node is lost, Ray starts it on another one.
    """

    def __init__(self, folder: str, layout: Layout, number: int) -> None:
        self._rows = open_rows(shard_path(folder, number), layout, number)
        self._rows.neighbors.max(initial=0)  # reads the file once, into the memory of the node
        self._ids = open_vertex_ids(shard_path(folder, number), layout, number)
        self._attributes = open_attributes(shard_path(folder, number), layout, number)
        self._layout, self._folder, self._number = layout, folder, number
        self._judged: dict[str, RowArrays] = {}

    def node(self) -> str:
        """Return the node that it is on."""
        return node_here()

    def take(self, ids: Ids, cut: Wanted | None, most: int, skip: int, judged: Judged | None = None) -> Piece:
        """Return entries of rows, whose kinds have the bits of conditions; see `RowArrays.take`."""
        return self._rows_of(judged).take(ids, cut, most, skip).packed()

    def _rows_of(self, judged: Judged | None) -> RowArrays:
        if judged is None:
            return self._rows
        rows = self._judged.get(judged.folder)
        if rows is None:
            if len(self._judged) >= _MOST_JUDGED:
                self._judged.clear()
            rows = self._judged[judged.folder] = judged.rows(self._rows, self._layout, self._number)
        return rows

    def judge(self, judged: Judged) -> None:
        """Judge conditions on the copies of its entries, for other calls."""
        judge(judged, self._rows, self._copies, self._layout, self._number)

    def bits_at(self, judged: Judged, ends: tuple[Ids, Ids], kinds: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the bits of conditions of some entries, by rows, neighbours and kinds without bits."""
        return bits_at(judged, self._rows_of(judged), self._layout, ends, kinds)

    def ids(self, places: Ids) -> Ids:
        """Return the ids of vertices, by their places in the shard."""
        return self._ids[places]

    def allowed(
        self,
        wanted: Sequence[Allowance],
        judged: Judged | None = None,
        ends: Mapping[Allowance, Bits] | None = None,
    ) -> list[Bits]:
        """Return the bits of its vertices, for what each of several query vertices asks."""
        layout = self._layout if judged is None else judged.layout(self._layout)
        rows = self._rows_of(judged)
        return [bits_of_shard(one, rows, self._ids, self._attributes, layout, ends) for one in wanted]

    @cached_property
    def _copies(self) -> EdgeCopies:
        return open_copies(shard_path(self._folder, self._number), self._layout, self._number)

    def copies(self, wanted: CopiesWanted, arcs: Arcs, most: int, at_once: int) -> FoundCopies:
        """Return the copies of some arcs of its rows; see `copies_at`."""
        ranks = partial(ranks_of, self._folder, self._layout, self._number)
        return copies_at(wanted, arcs, most, at_once, self._rows, self._copies, self._layout, ranks)

    def first_values(
        self, names: Sequence[str], ends: tuple[Ids, Ids], kinds: NDArray[np.uint32]
    ) -> list[Column]:
        """Return attributes of the first copies of some entries, by rows, neighbours and kinds."""
        return first_values(names, self._rows, self._copies, ends, kinds)

    def greatest(self, names: Sequence[Name]) -> list[int]:
        """Return the greatest value of each of some attributes, and 0 for one without values."""
        return [int(self._all_attributes()[name].data.max(initial=0)) for name in names]

    def _all_attributes(self) -> dict[Name, Column]:
        return all_attributes(self._attributes, self._copies.columns)

    def values(self, names: Names, places: Ids) -> list[Column]:
        """Return the attributes, and ids, of some of its vertices."""
        ranks = partial(ranks_of, self._folder, self._layout, self._number)
        return values_at(names, self._ids, self._attributes, places, ranks)

    def sample_strings(self, among: Sequence[Name], number: int) -> list[Sample]:
        """Return samples of its strings; see `motiflux.cluster.shards.ranks`."""
        return sampled(self._all_attributes(), among, number)

    def merge_strings(
        self, among: Sequence[Name], within: tuple[bytes, bytes | None], folder: str, number: int
    ) -> int:
        """Merge a range of the strings of all shards."""
        layout, tables = self._layout, []
        for shard in range(len(layout.starts) - 1):
            path = shard_path(self._folder, shard)
            columns = open_copies(path, layout, shard).columns
            tables.append(all_attributes(open_attributes(path, layout, shard), columns))
        return merge_range(tables, among, within, folder, number)

    def write_ranks(self, among: Sequence[Name], folder: str, before: Sequence[int]) -> None:
        """Write the ranks of its strings."""
        write_ranks(self._all_attributes(), among, folder, self._number, before)


def node_here() -> str:
    """Return the id of this node."""
    import ray

    return str(ray.get_runtime_context().get_node_id())


@dataclass(frozen=True, slots=True)
class RemoteShard:
    """A shard that an actor serves."""

    actor: Any
    judged: Judged | None = None

    def ask(self, ids: Ids, cut: Wanted | None, most: int, skip: int = 0) -> Callable[[], Piece]:
        """Ask for entries of rows."""
        import ray

        reference = self.actor.take.remote(ids, cut, most, skip, self.judged)
        return lambda: ray.get(reference)

    def ask_values(self, names: Names) -> AskValues:
        """Return the function that asks for attributes of vertices, by their places in the shard."""
        import ray

        def ask(places: Ids) -> Callable[[], list[Column]]:
            reference = self.actor.values.remote(names, places)
            return lambda: ray.get(reference)

        return ask

    def ask_copies(
        self, wanted: CopiesWanted, arcs: Arcs, most: int, at_once: int
    ) -> Callable[[], FoundCopies]:
        """Ask for the copies of arcs of its rows."""
        import ray

        reference = self.actor.copies.remote(wanted, arcs, most, at_once)
        return lambda: ray.get(reference)

    def ask_ids(self, places: Ids) -> Callable[[], Ids]:
        """Ask for the ids of vertices, by their places in the shard."""
        import ray

        reference = self.actor.ids.remote(places)
        return lambda: ray.get(reference)


@dataclass(frozen=True, slots=True)
class Served:
    """A sharded graph as tasks reach it.

    Parameters
    ----------
    token
        Names it in worker processes.
    actors, nodes
        The server of each shard, and the node that it was on when the graph was opened.
    hot
        Rows of the last vertices, in the object store; as a list, since Ray would replace a reference by its
        object. None for no rows.
    memory
        Bytes that a worker may use for all that depends on the graph.
    judged
        Conditions on edges whose bits the kinds of entries have.
    """

    token: str
    folder: str
    layout: Layout
    actors: tuple[Any, ...]
    nodes: tuple[str, ...]
    hot: list[Any] | None
    memory: int
    judged: Judged | None = None

    def open_rows(self, number: int) -> RowArrays:
        """Return the rows of a shard, mapped."""
        if self.judged is None:
            return open_rows(shard_path(self.folder, number), self.layout, number)
        layout = replace(self.layout, judged=())
        return self.judged.rows(open_rows(shard_path(self.folder, number), layout, number), layout, number)


_OPEN: dict[str, Rows] = {}


def rows_of(served: Served, share: int) -> Rows:
    """Return the rows of a sharded graph in a worker process, which keeps those of one graph.

    Parameters
    ----------
    share
        The rows' part of the memory is one of so many.
    """
    rows = _OPEN.get(served.token)
    if rows is None:
        import ray

        here = node_here()
        shards: list[Shard] = []
        near = [node == here for node in served.nodes]
        for number, actor in enumerate(served.actors):
            if near[number]:
                shards.append(served.open_rows(number))
            else:
                shards.append(RemoteShard(actor, served.judged))
        hot: RowArrays | None = None
        if served.hot is not None:
            with suppress(ray.exceptions.ObjectLostError):  # the shards have these rows, too
                hot = ray.get(served.hot[0])
        rows = Rows(served.layout, shards, near, hot, served.memory // share)
        _OPEN.clear()
        _OPEN[served.token] = rows
    return rows


def ids_of(served: Served) -> VertexIds:
    """Return the ids of a sharded graph: those of shards of this node are mapped."""
    here = node_here()
    asks: list[AskIds] = []
    for number, (actor, node) in enumerate(zip(served.actors, served.nodes, strict=True)):
        if node == here:
            asks.append(_mapped_ids(shard_path(served.folder, number), served.layout, number))
        else:
            asks.append(RemoteShard(actor).ask_ids)
    return VertexIds(served.layout, asks)


def values_of(served: Served, names: Names) -> VertexValues:
    """Return the values of vertices of a sharded graph: those of shards of this node are mapped."""
    here = node_here()
    asks: list[AskValues] = []
    for number, (actor, node) in enumerate(zip(served.actors, served.nodes, strict=True)):
        if node == here:
            asks.append(_mapped_values(shard_path(served.folder, number), served.layout, number, names))
        else:
            asks.append(RemoteShard(actor).ask_values(names))
    return VertexValues(served.layout, names, asks)


def _mapped_values(path: Path, layout: Layout, number: int, names: Names) -> AskValues:
    ids, attributes = open_vertex_ids(path, layout, number), open_attributes(path, layout, number)
    ranks = partial(ranks_of, str(path.parent), layout, number)
    return lambda places: lambda: values_at(names, ids, attributes, places, ranks)


def copies_of(served: Served) -> PartCopies:
    """Return the object that asks for the copies of arcs: those of shards of this node are mapped."""
    here = node_here()
    layout = replace(served.layout, judged=())
    asks: list[AskCopies] = []
    for number, (actor, node) in enumerate(zip(served.actors, served.nodes, strict=True)):
        if node == here:
            asks.append(_mapped_copies(shard_path(served.folder, number), layout, number))
        else:
            asks.append(RemoteShard(actor).ask_copies)
    given = () if served.judged is None else served.judged.conditions
    return PartCopies(served.layout, asks, dict(zip(served.layout.judged, given, strict=True)))


def _mapped_copies(path: Path, layout: Layout, number: int) -> AskCopies:
    rows, copies = open_rows(path, layout, number), open_copies(path, layout, number)
    ranks = partial(ranks_of, str(path.parent), layout, number)

    def ask(wanted: CopiesWanted, arcs: Arcs, most: int, at_once: int) -> Callable[[], FoundCopies]:
        return lambda: copies_at(wanted, arcs, most, at_once, rows, copies, layout, ranks)

    return ask


def _mapped_ids(path: Path, layout: Layout, number: int) -> AskIds:
    ids = open_vertex_ids(path, layout, number)
    return lambda places: lambda: ids[places]


def last_rows(layout: Layout, nbytes: int, open_shard: Callable[[int], RowArrays]) -> RowArrays | None:
    """Return the rows of as many of the last vertices, of the highest degrees, as fit into some bytes.

    They are read from the last shards, which `open_shard` opens; None if no row fits.
    """
    kind = layout.kind_type
    each = 4 + (0 if kind is None else kind.itemsize)
    first = layout.num_vertices
    size = 0
    parts: list[Piece] = []
    for number in reversed(range(len(layout.starts) - 1)):
        begin, end = int(layout.starts[number]), int(layout.starts[number + 1])
        sizes = 20 + each * layout.degrees_of(np.arange(begin, end))
        fitting = int(np.searchsorted(np.cumsum(sizes[::-1]), nbytes - size, side="right"))
        if fitting:
            first = end - fitting
            size += int(sizes[len(sizes) - fitting :].sum())
            rows = open_shard(number)
            parts.append(rows.take(np.arange(first, end)).packed())
        if fitting < end - begin:
            break
    if not parts:
        return None
    parts.reverse()
    lengths = np.concatenate([one.lengths for one in parts])
    return RowArrays(
        first,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64),
        np.concatenate([one.neighbors for one in parts]),
        None if kind is None else np.concatenate([one.kinds for one in parts if one.kinds is not None]),
        np.concatenate([one.labels for one in parts]) if len(layout.vertex_label_table) > 1 else None,
    )
