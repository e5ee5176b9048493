"""Graphs of a cluster: sent to each node once, opened by each worker process once."""

from __future__ import annotations

import os
import uuid
import weakref
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from motiflux.errors import ClusterError, MotifluxError
from motiflux.graph import Graph

_MOST_OPEN = 2
"""Graphs that a worker process keeps open."""


@dataclass(frozen=True, slots=True)
class SharedGraph:
    """The way of a worker to a graph.

    Parameters
    ----------
    key
        Equal for equal graphs; another one if the graph had to be put again.
    path, state
        An ``.mfg`` file that each node sees, with its size and time of change.
    objects
        Else the graph in the object store: a list, since Ray would replace a reference by the graph.
    """

    key: str
    path: str | None = None
    state: tuple[int, int] | None = None
    objects: list[Any] = field(default_factory=list)


def state_of(path: str) -> tuple[int, int] | None:
    """Return the size and the time of change of a file; None if it is not there."""
    try:
        stat = os.stat(path)  # noqa: PTH116  a path of the driver, as it is
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns


_OPEN: OrderedDict[str, Graph] = OrderedDict()
_LOCK = Lock()


def opened(shared: SharedGraph) -> Graph:
    """Return the graph, in a worker process.

    Raises
    ------
    ClusterError
        The file of the graph is another one on this node.
    """
    with _LOCK:
        graph = _OPEN.get(shared.key)
        if graph is None:
            graph = _open(shared)
            _OPEN[shared.key] = graph
            while len(_OPEN) > _MOST_OPEN:
                _OPEN.popitem(last=False)
        else:
            _OPEN.move_to_end(shared.key)
        return graph


def _open(shared: SharedGraph) -> Graph:
    if shared.path is None:
        import ray

        graph: Graph = ray.get(shared.objects[0])
        return graph
    found = state_of(shared.path)
    if found != shared.state:
        raise ClusterError(
            f"{shared.path}: expected a file with size and time of change {shared.state}, as on the driver, "
            f"found {found} on node {os.uname().nodename}"
        )
    from motiflux.io import read_graph

    return read_graph(shared.path)


class SharedGraphs:
    """The graphs that a driver has shared; they leave the object store with the `Graph`.

    Parameters
    ----------
    ray
        The module.
    probe
        Returns what `state_of` finds on each node for a path.
    """

    def __init__(self, ray: Any, probe: Any) -> None:
        self._ray = ray
        self._probe = probe
        self._shared: weakref.WeakValueDictionary[int, Graph] = weakref.WeakValueDictionary()
        self._ways: dict[int, SharedGraph] = {}
        self._paths: dict[int, tuple[str, tuple[int, int] | None]] = {}

    def note_path(self, graph: Graph, path: str | os.PathLike[str]) -> None:
        """Take note of the ``.mfg`` file that a graph was opened from."""
        self._forget_old()
        self._shared[id(graph)] = graph
        file = str(Path(path).resolve())
        self._paths[id(graph)] = file, state_of(file)

    def share(self, graph: Graph) -> SharedGraph:
        """Return the way to a graph, which is put into the object store unless each node sees its file."""
        self._forget_old()
        way = self._ways.get(id(graph)) if self._shared.get(id(graph)) is graph else None
        if way is None:
            way = self._file(graph) or self._put(graph)
            self._shared[id(graph)] = graph
            self._ways[id(graph)] = way
        return way

    def put_again(self, graph: Graph) -> SharedGraph:
        """Return a new way to a graph whose object was lost."""
        self._shared[id(graph)] = graph
        self._ways[id(graph)] = way = self._put(graph)
        return way

    def _forget_old(self) -> None:
        for kept in (self._ways, self._paths):
            for key in [key for key in kept if key not in self._shared]:
                del kept[key]

    def _file(self, graph: Graph) -> SharedGraph | None:
        path, state = self._paths.get(id(graph), ("", None))
        # A file that was replaced meanwhile has another graph.
        if state is None or state_of(path) != state or any(found != state for found in self._probe(path)):
            return None
        return SharedGraph(f"{path} {state}", path, state)

    def _put(self, graph: Graph) -> SharedGraph:
        try:
            return SharedGraph(uuid.uuid4().hex, objects=[self._ray.put(graph)])
        except self._ray.exceptions.ObjectStoreFullError as error:
            raise ClusterError(
                f"graph: {graph.nbytes:,} bytes do not fit into Ray's object store; give it more "
                "(object_store=), or write the graph to an .mfg file that each node sees"
            ) from error
        except TypeError as error:
            raise MotifluxError(f"graph: it cannot be sent to other processes: {error}") from error
