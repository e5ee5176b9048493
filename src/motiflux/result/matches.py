"""The rows that a call lists: batches, tables, arrays and graphs of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from motiflux.arguments import check_integer
from motiflux.errors import ArgumentError, DeviceError
from motiflux.io.tables.match_tables import AnyColumn
from motiflux.result.count import outcome_facts
from motiflux.result.images import Block, written
from motiflux.result.rows import StoresRows
from motiflux.result.taking import RowTaker
from motiflux.types import IdArray, VertexArray
from motiflux.units import quantity

if TYPE_CHECKING:
    from motiflux.device.arrays import DeviceArray

T = TypeVar("T")

_WIDE = 1 << 20
"""Rows of a block where all rows are wanted at once."""


class Matches(RowTaker):
    """Iterator over batches of embeddings as they are found; each row is given once, in bounded memory.

    Calls that return all rows (`to_numpy`, `to_pandas`, `save` and the like) are an error once rows were
    taken: keep the result of the first such call. To read the rows again, call `motiflux.match` again.
    Loops, `batches` and `graphs` continue where the one before stopped, until all rows are taken; another
    loop is an error then, as it is after `close` or an error that ended the search.

    Each batch is an array [rows, k] of external ids, one column per query vertex in the pattern's order.
    With several threads the order of rows is unspecified. Closing the iterator (or leaving a ``with``
    block) stops the search; a loop that is under way ends, and `complete` is False.

    With ``edges=True`` a batch also has a column for each query edge: the number of its witness in
    `Graph.to_edges`. If ids are strings, a batch is then an array [rows] with a field for each column.
    Attributes are in tables only: in the results of `to_arrow`, `to_pandas` and `to_polars`, and in files.

    The object is an Arrow stream: ``duckdb.sql("SELECT count(*) FROM matches")``,
    ``polars.DataFrame(matches)``, ``pyarrow.RecordBatchReader.from_stream(matches)``. Rows are produced on
    demand.

    Attributes
    ----------
    columns : list of str
        ``["v0", ..., "v<k-1>"]``, with edges also ``"e0", ...``; with ``names=True`` the names of the
        pattern.
    fields : list of Field
        The columns of tables: `columns` and attributes.
    rows : int
        Rows returned so far.
    complete : bool or None
        None during the search; afterwards, whether every embedding was returned.
    seconds : float
        Wall-clock seconds since the search began, until its end.
    plan_seconds : float
        Wall-clock seconds of planning.
    engine : str
        The engine that searches.
    device : str
        Its device.
    reason : str
        Why this engine and device, in words.
    """

    @property
    def vertex_dtype(self) -> np.dtype[Any]:
        """Type of the ids: int64, or strings as wide as the longest id of the graph."""
        return self._layout.graph.vertex_ids.dtype

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata of tables: the pattern as text, and the names of its vertices and edges."""
        return self._layout.metadata

    def __iter__(self) -> Iterator[IdArray]:
        self._check_open("iteration")
        return self

    def __next__(self) -> IdArray:
        batch = next(self._given(self._layout.array), None)
        if batch is None:
            raise StopIteration
        return batch

    def batches(self, batch_rows: int) -> Iterator[IdArray]:
        """Iterate over batches of exactly `batch_rows` rows; the last may have fewer.

        Examples
        --------
        >>> import motiflux as mf
        >>> g = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
        >>> [len(batch) for batch in mf.match(g, "(a)--(b)--(c)").batches(4)]
        [4, 2]
        """
        self._check_open("batches")
        return self._given(self._layout.array, check_integer("batch_rows", batch_rows, 1))

    def device_batches(self) -> Iterator[DeviceArray]:
        """Yield the rows as they are found, as arrays [rows, k] of 64-bit ids in GPU memory.

        Use them with ``cupy.asarray(batch)`` or ``torch.from_dlpack(batch)``. The number of rows varies
        between batches. All rows are taken this way, or none.

        Raises
        ------
        MotifluxError
            Rows were taken in the memory of the host before.
        ArgumentError
            Ids are text, or edges are requested.
        DeviceError
            The search is not on a GPU.
        DeviceMemoryError
            A batch does not fit beside the search.
        """
        if self._layout.ids_are_text or not self._layout.only_vertices:
            raise ArgumentError("device_batches", "integer ids, without edges=True", "others")
        self._check_open("device_batches")
        source = self._source
        if not isinstance(source, StoresRows):
            raise DeviceError(f"device_batches: expected rows on a GPU, found a search on {self.device!r}")
        ids = np.ascontiguousarray(self._layout.graph.vertex_ids).view(np.int64)

        def batch() -> DeviceArray | None:
            self._begun = True
            array = None if self.complete is not None else source.next_on_device(ids)
            self.seconds = time.perf_counter() - self._started
            if array is None:
                self.complete = self._source.complete
            else:
                self.rows += len(array)
            return array

        while True:
            self._keep_to(on_device=True)
            array = self._closing_on_error(batch, "device_batches")
            if array is None:
                return
            yield array

    def tables(self, batch_rows: int | None = None) -> Iterator[Sequence[AnyColumn]]:
        """Iterate over all rows in tables: for each batch a column for each of `fields`."""
        self._check_whole("tables")
        if batch_rows is not None:
            check_integer("batch_rows", batch_rows, 1)
        return self._given(self._layout.table, batch_rows)

    def to_numpy(self) -> IdArray:
        """Return all rows as one array.

        Raises
        ------
        MotifluxError
            Rows were taken before.
        OutOfMemoryError
            The rows do not fit into memory; says how many bytes they need.
        """

        def concatenated() -> NDArray[Any]:
            return np.concatenate([self._layout.empty(), *self])

        return self._whole("to_numpy", concatenated)

    def to_arrow(self) -> Any:
        """Return all rows as a ``pyarrow.Table``. Strings are of the type ``large_string``.

        Examples
        --------
        >>> import motiflux as mf
        >>> g = mf.Graph.from_edges([("ann", "bob")], directed=True, edge_attributes={"amount": [250]})
        >>> matches = mf.match(g, "(a)-[x]->(b)", edges=True, attributes=["amount"], names=True)
        >>> matches.to_arrow().to_pylist()
        [{'a': 'ann', 'b': 'bob', 'x': 0, 'x.amount': 250}]
        """
        from motiflux.io.arrow.batches import arrow_table

        return self._whole("to_arrow", lambda: arrow_table(self))

    def to_pandas(self) -> Any:
        """Return all rows as a ``pandas.DataFrame``; needs pyarrow too.

        Columns of integers and booleans with missing values have pandas' nullable types, such as ``Int64``.
        """
        from motiflux.io.arrow.batches import pandas_frame

        return self._whole("to_pandas", lambda: pandas_frame(self))

    def to_polars(self) -> Any:
        """Return all rows as a ``polars.DataFrame``; needs pyarrow too."""
        from motiflux.io.arrow.batches import polars_frame

        return self._whole("to_polars", lambda: polars_frame(self))

    def save(self, path: str | os.PathLike[str]) -> int:
        r"""Write all rows to a file as they are found, as ``motiflux match -o`` does.

        Parameters
        ----------
        path
            A ``.parquet``, ``.arrow``, ``.csv`` (also ``.csv.gz``, ``.csv.zst``) or ``.npy`` file; it appears
            when it is complete. See `motiflux.io.write_matches`.

        Returns
        -------
        int
            Rows written.

        Raises
        ------
        MotifluxError
            Rows were taken before.
        OutputError
            The file cannot be written. If this is known before the search, no row is taken.

        Examples
        --------
        >>> import tempfile, pathlib, motiflux as mf
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "rows.csv")
        >>> mf.match(mf.Graph.from_edges([(1, 2)], directed=True), "(a)-->(b)", names=True).save(path)
        1
        >>> path.read_text()
        'a,b\n1,2\n'
        >>> folder.cleanup()
        """
        from motiflux.io.writers import check_output, write_matches

        self._check_whole("save")
        check_output(path)
        return self._closing_on_error(lambda: write_matches(self, path), "save")

    def _whole(self, call: str, make: Callable[[], T]) -> T:
        """Return the result of `make`, which takes all rows."""
        self._check_whole(call)
        if call != "to_numpy":
            self._widen()
        return self._closing_on_error(make, call)

    def _widen(self) -> None:
        """Take rows in blocks so large that threads share the making of columns, and large pages serve."""
        if isinstance(self._source, StoresRows):
            self._source.widen(_WIDE)
            self._most_rows = None

    def to_networkx(self) -> Any:
        """Return the part of the data graph that the matches cover, as a networkx graph.

        It contains every vertex and every witness of a match, once, with labels and attributes. An undirected
        data graph gives an undirected graph; parallel edges or copies give a multigraph.
        See `graphs` for one graph per match.

        Examples
        --------
        >>> import motiflux as mf
        >>> g = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3)])
        >>> sorted(mf.match(g, "(a)--(b)--(c)--(a)").to_networkx().edges)
        [(0, 1), (0, 2), (1, 2)]
        """
        from motiflux.result.networks import union

        self._check_whole("to_networkx")
        return self._closing_on_error(lambda: union(self._layout, self._given(_as_it_is)), "to_networkx")

    def graphs(self) -> Iterator[Any]:
        """Iterate over the remaining matches, each as a networkx graph.

        Nodes are data vertices by their ids, with the name of the query vertex as the attribute ``query``;
        edges are the witnesses of the query edges. Labels and attributes as in `to_networkx`.

        Examples
        --------
        >>> import motiflux as mf
        >>> g = mf.Graph.from_edges([("ann", "bob"), ("bob", "cy")], directed=True)
        >>> [graph.nodes(data="query") for graph in mf.match(g, "(a)-->(b)-->(c)").graphs()]
        [NodeDataView({'ann': 'a', 'bob': 'b', 'cy': 'c'}, data='query')]
        """
        from motiflux.result.networks import one_by_one

        self._check_open("graphs")
        # A row at a time: if the caller stops, the other rows remain.
        return one_by_one(self._layout, self._given(_as_it_is, 1))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return all rows as an Arrow stream, which makes batches on demand."""
        from motiflux.io.arrow.batches import arrow_reader

        self._check_whole("the Arrow stream")
        return arrow_reader(self).__arrow_c_stream__(requested_schema)

    def __enter__(self) -> Matches:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Matches({quantity(len(self.columns), 'column')}, {self._taken()} taken, {self._state()})"

    def _repr_html_(self) -> str:
        """Return the known facts and the first rows taken as HTML; takes no row."""
        from motiflux.result.page import matches_page  # needed in notebooks only

        facts = [("columns", ", ".join(self.columns)), ("taken", self._taken()), ("state", self._state())]
        facts += outcome_facts(self, searched=self._begun)
        return matches_page(facts, self._layout, self._first, self.rows)


def _as_it_is(block: Block) -> VertexArray:
    return written(block)
