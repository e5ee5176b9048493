"""DuckDB: a pattern as a join of one table of edges with itself, on one thread.

The table has a row per edge and direction it may be walked in, with the labels of its two ends, so that no
join is needed for them. SQL alone would count homomorphisms: vertices that no edge joins are told to differ.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from peer.methods import method
from peer.network import Network, order_conditions


def database(network: Network) -> Any:
    """Give a connection to a database in memory that holds the table."""
    import duckdb

    connection = duckdb.connect(":memory:")
    connection.execute("SET threads = 1")
    counts = [len(kinds) for kinds in network.kinds] if network.kinds else None
    pairs = np.repeat(np.asarray(network.edges, np.int64).reshape(-1, 2), counts or 1, axis=0)
    kinds = np.asarray([kind for there in network.kinds or [] for kind in there], np.int64)
    if not len(kinds):
        kinds = np.zeros(len(pairs), np.int64)
    if not network.directed:
        pairs, kinds = np.concatenate([pairs, pairs[:, ::-1]]), np.tile(kinds, 2)
    labels = np.asarray(network.labels or [0] * network.size, np.int64)
    columns = {
        "src": pairs[:, 0].copy(),
        "dst": pairs[:, 1].copy(),
        "kind": kinds,
        "src_label": labels[pairs[:, 0]],
        "dst_label": labels[pairs[:, 1]],
    }
    connection.register("given", columns)
    connection.execute("CREATE TABLE edges AS SELECT * FROM given")
    connection.unregister("given")
    return connection


def joins(query: Network, conditions: list[tuple[int, int]]) -> str:
    """Give the SQL that counts a query; `conditions` are pairs of vertices in ascending order."""
    place: dict[int, str] = {}
    where = []
    for position, ends in enumerate(query.edges):
        for vertex, column in zip(ends, ("src", "dst"), strict=True):
            here = f"e{position}.{column}"
            if vertex in place:
                where.append(f"{here} = {place[vertex]}")
            else:
                place[vertex] = here
            if query.labels is not None:
                where.append(f"{here}_label = {query.labels[vertex]}")
        if query.kinds is not None:
            where.append(f"e{position}.kind = {min(query.kinds[position])}")
    joined = {frozenset(edge) for edge in query.edges} | {frozenset(pair) for pair in conditions}
    apart = [pair for pair in combinations(range(query.size), 2) if frozenset(pair) not in joined]
    where += [f"{place[u]} <> {place[v]}" for u, v in apart]
    where += [f"{place[u]} < {place[v]}" for u, v in conditions]
    tables = ", ".join(f"edges e{position}" for position in range(len(query.edges)))
    return f"SELECT count(*) FROM {tables} WHERE {' AND '.join(where) or 'true'}"


def counted(connection: Any, sql: str) -> Callable[[], int]:
    return lambda: int(connection.execute(sql).fetchone()[0])


@method("duckdb.sql", "embeddings")
def duckdb_joins(data: Network, query: Network) -> Callable[[], int]:
    return counted(database(data), joins(query, []))


@method("duckdb.sql, ids in order", "subgraphs")
def duckdb_joins_in_order(data: Network, query: Network) -> Callable[[], int]:
    """Count each subgraph once, by conditions on the order of ids that a user may well write."""
    return counted(database(data), joins(query, order_conditions(query)))


COMMON = """
SELECT a.dst AS u, b.dst AS v, count(*) AS common
FROM edges a, edges b WHERE a.src = b.src AND a.dst < b.dst GROUP BY ALL
"""


@method("duckdb.sql of pairs, by hand", "subgraphs")
def duckdb_pairs(data: Network, query: Network) -> Callable[[], int]:
    """Count 4-cycles, or diamonds, as pairs of common neighbours: the user's formula."""
    pairs = f"WITH pairs AS ({COMMON}) SELECT coalesce(sum(common * (common - 1) // 2), 0)"
    if len(query.edges) == 4:
        return counted(database(data), f"{pairs} // 2 FROM pairs")
    return counted(database(data), f"{pairs} FROM pairs, edges WHERE src = u AND dst = v")
