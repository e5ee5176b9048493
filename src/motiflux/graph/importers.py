"""Methods of `Graph` that take objects of other libraries."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self

from motiflux.arguments import resolve_threads
from motiflux.graph.arrays import GraphArrays
from motiflux.graph.assemble import SelfLoops
from motiflux.interop import ColumnMapping, ColumnName, GraphColumns, VertexMapping
from motiflux.interop.libraries.adjacency import from_adjacency
from motiflux.interop.libraries.igraph import from_igraph
from motiflux.interop.libraries.networkx import from_networkx
from motiflux.interop.libraries.pyg import Chosen, from_pyg
from motiflux.interop.libraries.records import Wanted
from motiflux.interop.libraries.scipy_sparse import from_scipy
from motiflux.interop.missing import Missing
from motiflux.interop.tables import read_table
from motiflux.types import Label


class Importers(GraphArrays):
    """The ways from objects of other libraries to a graph."""

    @classmethod
    def from_table(
        cls,
        table: object,
        *,
        src: ColumnName | None = None,
        dst: ColumnName | None = None,
        label: ColumnName | None = None,
        time: ColumnName | None = None,
        attributes: Sequence[ColumnName] | None = None,
        vertices: object | None = None,
        vertex_id: ColumnName | None = None,
        vertex_label: ColumnName | None = None,
        directed: bool = False,
        missing: Missing = "error",
        self_loops: SelfLoops = "warn",
        threads: int | None = None,
    ) -> Self:
        """Build a graph from a table of edges.

        Parameters
        ----------
        table
            An object with the Arrow stream or array capsule (of pandas, polars, pyarrow, DuckDB: this takes
            the package pyarrow), a mapping from names to arrays, or a structured array of NumPy.
        src, dst, label, time, attributes
            The columns of each kind: names, or positions counted from 0. Without them the ends are the
            columns ``src``, ``source`` or ``from`` and ``dst``, ``target`` or ``to``, or two others whose
            names mean ends, such as ``payer`` and ``payee``; else the first two, which a `MotifluxWarning`
            names if there are more. The label is the column ``label``; ``time`` or ``timestamp`` becomes the
            edge attribute ``time``; all other columns become edge attributes of their own names.
            ``attributes=[...]`` takes only these.
        vertices
            A table of the vertices, which are then all that there are.
        vertex_id, vertex_label
            Its columns; without them the id is the column ``id``, else the first one, and the label the
            column ``label``. All others are vertex attributes.
        missing
            Treatment of rows without an id: null, NaN, or a word such as ``"nan"``, ``"NULL"`` or
            ``"N/A"``. ``"error"`` refuses them; ``"drop"`` leaves them out, with a `MotifluxWarning` that
            counts them, and takes floats without a fraction as integers, as pandas makes them of integers
            with missing values; ``"keep"`` takes such words as names, and refuses null and NaN.
        directed, self_loops, threads
            As for `Graph.from_edges`.

        Returns
        -------
        Graph
            Nulls in attributes are missing values. Timestamps and dates become datetimes; durations and
            times of day become integers in the unit of their column (of Python's own: microseconds), which a
            `MotifluxWarning` names.

        Raises
        ------
        ArgumentError
            There is no such column; the message lists the columns.
        GraphError
            An id or a label is missing or of another type, with its column and row, counted from 0; or the
            table describes no graph.

        Examples
        --------
        >>> import motiflux as mf
        >>> transfers = {"payer": ["ann", "bob"], "payee": ["bob", "cy"], "amount": [250, None]}
        >>> g = mf.Graph.from_table(transfers, src="payer", dst="payee", directed=True)
        >>> g.edge_attributes
        AttributeTable(edge: {'amount': Column(2 integers, 1 missing)})
        """
        columns = read_table(
            table,
            ColumnMapping(src, dst, label, time, attributes),
            vertices,
            VertexMapping(vertex_id, vertex_label),
            resolve_threads(threads),
            missing,
        )
        columns = dataclasses.replace(columns, directed=directed)
        return cls.from_columns(columns, self_loops=self_loops, threads=threads)

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        *,
        vertex_label: str | None = "label",
        edge_label: str | None = "label",
        default_vertex_label: Label | None = None,
        default_edge_label: Label | None = None,
        vertex_attributes: Sequence[str] | None = None,
        edge_attributes: Sequence[str] | None = None,
        directed: bool | None = None,
        self_loops: SelfLoops = "warn",
        threads: int | None = None,
    ) -> Self:
        """Build a graph from one of networkx, of any of its four kinds.

        Parameters
        ----------
        graph
            Its nodes are the ids: integers or strings as they are; nodes of other types, or of several, as
            their text ``str(node)``. Keys of parallel edges that are no integers become the edge attribute
            ``key``. Attributes of the graph itself are left out.
        vertex_label, edge_label
            The attributes that hold labels. Where nothing has one there are no labels.
        default_vertex_label, default_edge_label
            The label of elements without one, if others have one. None: such elements are an error.
        vertex_attributes, edge_attributes
            Names of the attributes to take; None takes all but the labels.
        directed
            None: as the graph is.
        self_loops, threads
            As for `Graph.from_edges`.

        Raises
        ------
        GraphError
            A label is missing or of another kind than the others, an attribute is of a type that attributes
            cannot have, or two nodes have one text; names the node or the edge.

        Examples
        --------
        >>> import motiflux as mf
        >>> import networkx as nx
        >>> friends = nx.DiGraph()
        >>> friends.add_edge("ann", "bob", since=2019)
        >>> mf.Graph.from_networkx(friends)
        Graph(2 vertices, 1 edge, directed)
        """
        columns = from_networkx(
            graph,
            Wanted(vertex_label, default_vertex_label, vertex_attributes),
            Wanted(edge_label, default_edge_label, edge_attributes),
        )
        return cls.from_columns(_directed(columns, directed), self_loops=self_loops, threads=threads)

    @classmethod
    def from_igraph(
        cls,
        graph: Any,
        *,
        vertex_label: str | None = "label",
        edge_label: str | None = "label",
        default_vertex_label: Label | None = None,
        default_edge_label: Label | None = None,
        vertex_attributes: Sequence[str] | None = None,
        edge_attributes: Sequence[str] | None = None,
        directed: bool | None = None,
        self_loops: SelfLoops = "warn",
        threads: int | None = None,
    ) -> Self:
        """Build a graph from one of igraph: ids are the names of its vertices, or their indexes if unnamed.

        All parameters are as in `from_networkx`, and so are names that are no integers or strings.

        Raises
        ------
        GraphError
            As for `from_networkx`; or two vertices have one name.

        Examples
        --------
        >>> import igraph
        >>> import motiflux as mf
        >>> mf.Graph.from_igraph(igraph.Graph.Ring(5))
        Graph(5 vertices, 5 edges, undirected)
        """
        columns = from_igraph(
            graph,
            Wanted(vertex_label, default_vertex_label, vertex_attributes),
            Wanted(edge_label, default_edge_label, edge_attributes),
        )
        return cls.from_columns(_directed(columns, directed), self_loops=self_loops, threads=threads)

    @classmethod
    def from_adjacency(
        cls,
        adjacency: Mapping[Any, Any],
        *,
        edge_label: str | None = "label",
        default_edge_label: Label | None = None,
        edge_attributes: Sequence[str] | None = None,
        directed: bool = False,
        self_loops: SelfLoops = "warn",
        threads: int | None = None,
    ) -> Self:
        """Build a graph from a dict of the neighbours of each vertex.

        Parameters
        ----------
        adjacency
            For each vertex a list, a set or an array of its neighbours, or a dict from its neighbours to
            dicts of attributes. Vertices are the keys and all neighbours, with ids as in `from_networkx`.
        edge_label, default_edge_label, edge_attributes
            As for `from_networkx`.
        directed
            Whether an entry leads from the key to the neighbour only. If it is False and every entry has a
            mirror image with equal attributes, the two are one edge; else each entry is one.
        self_loops, threads
            As for `Graph.from_edges`.

        Raises
        ------
        GraphError
            It is no dict of neighbours, or an error of `from_networkx`.

        Examples
        --------
        >>> import motiflux as mf
        >>> mf.Graph.from_adjacency({"ann": ["bob", "cy"], "bob": [], "dee": []})
        Graph(4 vertices, 2 edges, undirected)
        """
        wanted = Wanted(edge_label, default_edge_label, edge_attributes)
        columns = from_adjacency(adjacency, wanted, directed=directed)
        return cls.from_columns(columns, self_loops=self_loops, threads=threads)

    @classmethod
    def from_scipy(
        cls,
        matrix: Any,
        *,
        directed: bool = True,
        vertex_labels: Any = None,
        self_loops: SelfLoops = "warn",
        threads: int | None = None,
    ) -> Self:
        """Build a graph from a sparse matrix or array of scipy, in any format.

        Parameters
        ----------
        matrix
            Square [n, n]. Every entry, zeros that are kept included, is an edge from its row to its column;
            the values are the edge attribute ``weight`` unless all are one. The ids are ``0..n-1``.
        directed
            False reads the edges without direction. If the matrix is symmetric, an entry and its mirror image
            are then one edge; else each entry is one.
        vertex_labels
            Label of each vertex, [n].
        self_loops, threads
            As for `Graph.from_edges`; entries on the diagonal are self-loops.

        Raises
        ------
        GraphError
            It is no square sparse matrix, or its values cannot be attributes.

        Examples
        --------
        >>> import motiflux as mf
        >>> from scipy import sparse
        >>> matrix = sparse.coo_array(([0.5, 0.25], ([0, 1], [1, 2])), shape=(3, 3))
        >>> mf.Graph.from_scipy(matrix).edge_attributes["weight"]
        Column(2 floats, 0 missing)
        """
        columns = from_scipy(matrix, directed=directed)
        columns = dataclasses.replace(columns, vertex_labels=vertex_labels)
        return cls.from_columns(columns, self_loops=self_loops, threads=threads)

    @classmethod
    def from_pyg(
        cls,
        data: Any,
        *,
        vertex_label: str | None = None,
        edge_label: str | None = None,
        vertex_attributes: Sequence[str] | None = None,
        edge_attributes: Sequence[str] | None = None,
        directed: bool | None = None,
        self_loops: SelfLoops = "warn",
        threads: int | None = None,
    ) -> Self:
        """Build a graph from a Data or HeteroData of PyTorch Geometric.

        Parameters
        ----------
        data
            Its attributes of one dimension (``[n]`` or ``[n, 1]``) become attributes; others, such as feature
            matrices, are left out, and a `MotifluxWarning` names them. Vertices of a HeteroData are numbered
            through in the order of its node types, which are the vertex labels; the relations of its edge
            types are the edge labels.
        vertex_label, edge_label
            Attributes to take as labels, such as ``"y"``.
        vertex_attributes, edge_attributes
            Names of the attributes to take; None takes all of one dimension but the labels. If one of the two
            is given, there is no warning.
        directed
            None: as the data says. An undirected Data holds every edge both ways, and each pair is one edge
            here, if both have the same label and attributes; else the graph is directed. True keeps both
            arcs; False keeps every entry as one edge.
        self_loops, threads
            As for `Graph.from_edges`.

        Raises
        ------
        ArgumentError
            There is no such label or attribute.
        GraphError
            It holds no edges, or they describe no graph.

        Examples
        --------
        >>> import motiflux as mf
        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> data = SimpleNamespace(edge_index=np.array([[0, 1], [1, 2]]), num_nodes=3, y=np.array([7, 8, 7]))
        >>> mf.Graph.from_pyg(data, vertex_label="y").vertex_labels_by_id()[1]
        8
        """
        of_vertices = Chosen(vertex_label, vertex_attributes)
        columns = from_pyg(data, of_vertices, Chosen(edge_label, edge_attributes), directed)
        return cls.from_columns(columns, self_loops=self_loops, threads=threads)


def _directed(columns: GraphColumns, directed: bool | None) -> GraphColumns:
    return columns if directed is None else dataclasses.replace(columns, directed=directed)
