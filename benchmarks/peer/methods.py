"""The table of methods that the files beside fill."""

from __future__ import annotations

from collections.abc import Callable

from peer.network import Network, narrowed

Prepare = Callable[[Network, Network], Callable[[], int]]
METHODS: dict[str, tuple[str, Prepare]] = {}
"""What each method counts, and the function that takes graph and query and gives the count as a call."""


def method(name: str, counts: str) -> Callable[[Prepare], Prepare]:
    """Enter a method under its name; `counts` is "subgraphs" or "embeddings".

    Systems that hold a graph, and not a table, are given it without the edges that they would skip: making
    such a graph is no part of their time.
    """

    def register(prepare: Prepare) -> Prepare:
        filters_itself = name.startswith("duckdb.")

        def narrowing(data: Network, query: Network) -> Callable[[], int]:
            return prepare(data if filters_itself else narrowed(data, query), query)

        METHODS[name] = (counts, narrowing)
        return prepare

    return register
