"""The workers of a cluster as engines, samplers and counters see them: tasks, jobs and shared graphs."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from motiflux.cluster.connection import Connection, put
from motiflux.cluster.driver import RETRIES, Driver, is_lost_object, raise_own
from motiflux.cluster.graphs import SharedGraph, SharedGraphs
from motiflux.cluster.prepared import PreparedObjects
from motiflux.cluster.records import TaskLog, TaskRecord
from motiflux.cluster.tasks import Done, Job, nothing, state_here
from motiflux.errors import ClusterError, DeviceError
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.deadline import Deadline

T = TypeVar("T")

_MOST_TRIES = 5
_LOOK_SECONDS = 0.05
_SEES_ALL_GPUS = {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1"}


@dataclass(slots=True)
class Workers:
    """The workers of a connected cluster.

    Parameters
    ----------
    threads
        Threads of each task.
    """

    connection: Connection
    threads: int
    records: TaskLog = field(default_factory=TaskLog)
    pattern: str = ""
    """The pattern of the call, for the names of tasks."""
    open: bool = True
    _graphs: SharedGraphs = field(init=False)
    _prepared: PreparedObjects = field(init=False)
    _remote: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._graphs = SharedGraphs(self.connection.ray, self._states)
        self._prepared = PreparedObjects(self.connection)

    @property
    def slots(self) -> int:
        """Number of tasks that can run at a time."""
        fits = sum(int(one["Resources"]["CPU"]) // self.threads for one in self.connection.nodes())
        return max(1, fits)

    @property
    def node_cpus(self) -> int:
        """Number of CPUs of the largest node."""
        return max((int(one["Resources"]["CPU"]) for one in self.connection.nodes()), default=1)

    @property
    def device(self) -> str:
        """The cluster in words."""
        return f"{self.connection.cpus} CPUs of {_nodes(len(self.connection.nodes()))}"

    @property
    def gpus(self) -> int:
        """Number of GPUs, each for one task at a time; a task takes the CPUs of its threads, too."""
        return sum(self._gpus_of(node) for node in self.connection.nodes())

    @property
    def gpus_told(self) -> str:
        """The GPUs in words."""
        having = [node for node in self.connection.nodes() if self._gpus_of(node) > 0]
        kinds = {name.partition(":")[2] for node in having for name in node["Resources"] if _is_kind(name)}
        told = f"{self.gpus} GPU{'' if self.gpus == 1 else 's'} of {_nodes(len(having))}"
        return f"{told}: {', '.join(sorted(kinds))}" if kinds else told

    def slots_on(self, kind: str | None) -> int:
        """Return the number of tasks that can run at a time on GPUs of a kind; None: on CPUs."""
        return self.slots if kind is None else self.gpus

    def device_on(self, kind: str | None) -> str:
        """Return the GPUs of a kind in words; None: the CPUs.

        Raises
        ------
        DeviceError
            There are no GPUs.
        """
        return self.device if kind is None else self.gpus_of_kind(kind)

    def gpus_of_kind(self, kind: str) -> str:
        """Return GPUs for tasks as a device in words.

        Raises
        ------
        DeviceError
            There are none.
        """
        self.check_open()
        if self.gpus == 0:
            threads = f" and {self.threads} CPUs" if self.threads > 1 else ""
            raise DeviceError(
                f"device={kind!r}: expected a cluster with a node of at least one GPU{threads}, "
                f"found {self.device}, none with a GPU that Ray was told of (ray start --num-gpus)"
            )
        return f"{kind}, {self.gpus_told}"

    def _gpus_of(self, node: dict[str, Any]) -> int:
        resources = node["Resources"]
        return min(int(resources.get("GPU", 0)), int(resources["CPU"]) // self.threads)

    def driver(self, slots: int | None = None) -> Driver:
        """Return who hands out the tasks of a call, of which `slots` can run at a time (None: by CPUs)."""
        self.check_open()
        return Driver(self.connection, self.slots if slots is None else slots, self.records)

    def begin(self) -> None:
        """Have worker processes start and import what tasks need, without waiting for them."""
        for _ in range(self.slots):
            self.submit(nothing, "start", cpus=self.threads)

    def share(self, graph: Graph) -> SharedGraph:
        """Return the way of workers to a graph."""
        self.check_open()
        return self._graphs.share(graph)

    def note_path(self, graph: Graph, path: Any) -> None:
        """Take note of the file that a graph was opened from."""
        self._graphs.note_path(graph, path)

    def job(
        self, graph: Graph, content: Any, units: int = 0, *, plan: Plan | None = None, again: bool = False
    ) -> Job:
        """Return a job whose plan and request each worker process gets once.

        Parameters
        ----------
        plan
            Workers get what the search of this plan was made from here, too.
        again
            An object was lost: put all of them again.
        """
        self.check_open()
        shared = self._graphs.put_again(graph) if again else self._graphs.share(graph)
        made = [] if plan is None else self._prepared.of(graph, plan, again=again)
        return Job(uuid.uuid4().hex, shared, [put(self.connection.ray, content, "the plan")], units, made)

    def token(self) -> str:
        """Return a name for what worker processes keep."""
        self.check_open()
        return uuid.uuid4().hex

    def submit(
        self,
        function: Callable[..., Done],
        name: str,
        *arguments: Any,
        cpus: int | None = None,
        on_gpu: bool = False,
    ) -> Any:
        """Start a task; return the reference of its result.

        Tasks on GPUs have processes of their own, which see all GPUs of the node: a process that has opened
        one cannot be given another.
        """
        remote = self._remote.get(function)
        if remote is None:
            remote = self._remote[function] = self.connection.ray.remote(function)
        options: dict[str, Any] = {
            "name": name,
            "num_cpus": self.threads if cpus is None else cpus,
            "max_retries": RETRIES,
            "retry_exceptions": False,
        }
        if on_gpu:
            options |= {"num_gpus": 1, "runtime_env": {"env_vars": _SEES_ALL_GPUS}}
        return remote.options(**options).remote(*arguments)

    def whole(
        self,
        name: str,
        function: Callable[..., Done],
        job: Any,
        deadline: Deadline,
        *,
        graph: Graph,
        content: Any = None,
        late: T | None = None,
        arguments: tuple[Any, ...] | None = None,
    ) -> Any:
        """Return the value of a task on the largest node, or `late` if time was up.

        Its arguments are the job, a number of threads and the seconds left, unless others are given. If an
        object is lost, the graph and the content of the job are shared again.
        """
        ray = self.connection.ray
        cpus = self.node_cpus
        for attempt in range(_MOST_TRIES):
            given = (job, cpus, deadline.left()) if arguments is None else (job, *arguments)
            reference = self.submit(function, name, *given, cpus=cpus)
            try:
                while not ray.wait([reference], timeout=_LOOK_SECONDS)[0]:
                    # A task that began later than this call ends later than its deadline.
                    if deadline.at is not None and time.perf_counter() > deadline.at + 1.0:
                        return late
                done: Done = ray.get(reference)
            except Exception as error:
                raise_own(error, ray)
                if attempt == _MOST_TRIES - 1:
                    raise ClusterError(
                        f"{name}: a task was lost {_MOST_TRIES} times, last: {error}"
                    ) from error
                if is_lost_object(error, ray):
                    shared = isinstance(job, SharedGraph)
                    job = self._graphs.put_again(graph) if shared else self.job(graph, content, again=True)
                continue
            finally:
                with suppress(Exception):
                    ray.cancel(reference)
            self.records.append(
                TaskRecord(
                    name,
                    0,
                    done.node,
                    done.process,
                    done.began,
                    done.seconds,
                    done.cpu_seconds,
                    1,
                    0,
                    0,
                    attempt + 1,
                )
            )
            return done.value
        return late

    def _states(self, path: str) -> list[tuple[int, int] | None]:
        """Return what each node finds at a path; None also of a node that is lost."""
        ray = self.connection.ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        remote = ray.remote(state_here)
        references = [
            remote.options(
                num_cpus=0,
                name="find graph file",
                scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=one["NodeID"], soft=False),
            ).remote(path)
            for one in self.connection.nodes()
        ]

        def found(reference: Any) -> tuple[int, int] | None:
            try:
                state: tuple[int, int] | None = ray.get(reference)
            except ray.exceptions.RayError:
                return None
            return state

        return [found(one) for one in references]

    def check_open(self) -> None:
        """Raise `ClusterError` if the cluster was closed."""
        if not self.open:
            raise ClusterError("this Cluster is closed: make a new one")


def _is_kind(resource: str) -> bool:
    """Return whether a resource of Ray's names a kind of GPU."""
    return resource.startswith("accelerator_type:")


def _nodes(number: int) -> str:
    return f"{number} node{'' if number == 1 else 's'}"
