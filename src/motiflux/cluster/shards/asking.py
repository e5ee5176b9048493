"""Calls of the servers of a sharded graph by the driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from motiflux.cluster.driver import raise_own
from motiflux.errors import ClusterError
from motiflux.request.deadline import Deadline, OutOfTimeError

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph


def ask_servers(
    graph: ShardedGraph, deadline: Deadline, method: str, calls: Sequence[tuple[int, tuple[Any, ...]]]
) -> list[Any]:
    """Return the results of calls of a method of servers, by their numbers."""
    actors = graph.served().actors
    asked = [getattr(actors[number], method).remote(*given) for number, given in calls]
    return [result_of_server(graph, deadline, reference) for reference in asked]


def result_of_server(graph: ShardedGraph, deadline: Deadline, reference: Any) -> Any:
    """Return what a server returned.

    Raises
    ------
    ClusterError
        It was lost, again and again.
    OutOfTimeError
        Time is up.
    """
    try:
        return graph.ray.get(reference, timeout=deadline.left())
    except graph.ray.exceptions.GetTimeoutError as error:
        raise OutOfTimeError from error
    except Exception as error:
        raise_own(error, graph.ray)
        raise ClusterError(f"{graph.folder}: a server of shards was lost: {error}") from error
