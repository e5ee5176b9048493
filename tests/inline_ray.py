"""Ray's functions that motiflux calls, in one process: tasks run when they are waited for, and may be lost.

Arguments and results are pickled, as those of other processes are. The module stands in for ``ray`` where a
test needs many tasks and losses in little time; tests marked long use Ray itself.
"""

from __future__ import annotations

import contextvars
import pickle
import random
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest


class RayError(Exception):
    pass


class WorkerCrashedError(RayError):
    pass


class ObjectLostError(RayError):
    pass


class ObjectFetchTimedOutError(ObjectLostError):
    pass


class GetTimeoutError(RayError, TimeoutError):
    pass


class ObjectStoreFullError(RayError):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass(frozen=True)
class Reference:
    number: int


_ACTORS: dict[int, tuple[InlineRay, Any, str]] = {}


@dataclass(frozen=True)
class Method:
    """A method of an actor, which may be sent to tasks."""

    number: int
    name: str

    def remote(self, *arguments: Any) -> Reference:
        ray, actor, node = _ACTORS[self.number]
        result, before = ray._next(), ray.here
        if self.name in ray.late:
            return result
        ray.here, ray.actor_calls = node, ray.actor_calls + 1
        try:
            given = pickle.loads(pickle.dumps(arguments))
            ray._values[result] = pickle.dumps(getattr(actor, self.name)(*given))
        finally:
            ray.here = before
        return result


@dataclass(frozen=True)
class Actor:
    """A handle of an actor."""

    number: int

    def __getattr__(self, name: str) -> Method:
        if name.startswith("__"):
            raise AttributeError(name)
        return Method(self.number, name)


class InlineRay(types.ModuleType):
    """The module.

    Attributes
    ----------
    loses
        Probability that the result of a task is lost after it ran.
    loses_object
        Number of times that a task finds its graph lost.
    names
        Names of the tasks that ran.
    late
        Names of methods of actors that do not end before any timeout.
    gpus_asked
        GPUs that each task asked for.
    """

    def __init__(self, *, cpus: int = 2, nodes: int = 1, seed: int = 0, gpus: int = 0) -> None:
        super().__init__("ray")
        self.loses = 0.0
        self.loses_object = 0
        self.names: list[str] = []
        self.late: set[str] = set()
        self.cancelled = 0
        self.submitted = 0
        self.largest = 0
        self.before: Callable[[], None] | None = None
        self.here = "0"
        self.actor_calls = 0
        self.exceptions = sys.modules[__name__]
        self._nodes = [
            {
                "NodeID": str(at),
                "Alive": True,
                "Resources": {"CPU": float(cpus), **({"GPU": float(gpus)} if gpus else {})},
            }
            for at in range(nodes)
        ]
        self._gpus = gpus
        self.gpus_asked: list[float] = []
        self._assigned: list[str] = []
        self._draws = random.Random(seed)
        self._values: dict[Reference, bytes | Exception] = {}
        self._tasks: dict[Reference, tuple[str, Callable[..., Any], bytes]] = {}
        self._wants: dict[Reference, float] = {}
        self._number = 0

    def is_initialized(self) -> bool:
        return True

    def init(self, **options: Any) -> None:
        raise ConnectionError("no cluster")

    def shutdown(self) -> None:
        pass

    def nodes(self) -> list[dict[str, Any]]:
        return self._nodes

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": sum(node["Resources"]["CPU"] for node in self._nodes)}

    def put(self, value: Any) -> Reference:
        reference = self._next()
        self._values[reference] = pickle.dumps(value)
        return reference

    def lose_objects(self) -> None:
        """Lose all objects that were put, and results that nobody has taken."""
        self._values.clear()

    def kill(self, actor: Actor) -> None:
        del _ACTORS[actor.number]

    def get_runtime_context(self) -> Any:
        return types.SimpleNamespace(
            get_node_id=lambda: self.here, get_accelerator_ids=lambda: {"GPU": self._assigned}
        )

    def get(self, reference: Any, timeout: float | None = None) -> Any:
        if isinstance(reference, list):
            return [self.get(one) for one in reference]
        self._run(reference)
        if reference not in self._values and self.late:
            assert timeout is not None, "a call without a timeout would wait for ever"
            raise GetTimeoutError
        if reference not in self._values:
            raise ObjectLostError(f"{reference} was lost")
        value = self._values[reference]
        if isinstance(value, Exception):
            raise value
        return pickle.loads(value)

    def remote(self, function: Callable[..., Any]) -> Any:
        ray = self

        class Remote:
            def __init__(self, options: dict[str, Any]) -> None:
                self._options = options

            def options(self, **options: Any) -> Remote:
                return Remote(options)

            def remote(self, *arguments: Any) -> Any:
                if isinstance(function, type):
                    number = len(_ACTORS)
                    node = self._options["scheduling_strategy"]
                    _ACTORS[number] = ray, function(*pickle.loads(pickle.dumps(arguments))), node
                    return Actor(number)
                reference, name = ray._next(), self._options.get("name", "")
                if name == "start":  # of a worker process
                    return reference
                ray.submitted += 1
                ray._tasks[reference] = (name, function, pickle.dumps(arguments))
                ray.gpus_asked.append(self._options.get("num_gpus", 0))
                ray._wants[reference] = ray.gpus_asked[-1]
                ray.largest = max(ray.largest, len(ray._tasks))
                return reference

        return Remote({})

    def wait(
        self, references: list[Reference], num_returns: int = 1, timeout: float = 0, fetch_local: bool = True
    ) -> tuple[list[Reference], list[Reference]]:
        if timeout > 0:
            self._run(self._draws.choice(references))
        ready = [one for one in references if one in self._values][:num_returns]
        return ready, [one for one in references if one not in ready]

    def cancel(self, reference: Reference) -> None:
        self.cancelled += self._tasks.pop(reference, None) is not None

    def _next(self) -> Reference:
        self._number += 1
        return Reference(self._number)

    def _run(self, reference: Reference) -> None:
        if reference not in self._tasks:
            return
        name, function, arguments = self._tasks.pop(reference)
        if self.before is not None:
            self.before()
        self.names.append(name)
        wanted = self._wants.pop(reference, 0)
        self._assigned = [str(reference.number % self._gpus)] if wanted else []
        try:
            if self.loses_object > 0:
                self.loses_object -= 1
                raise ObjectLostError("an object was lost")
            value = contextvars.Context().run(function, *pickle.loads(arguments))
        except RayError as error:
            self._values[reference] = error
        except Exception as error:  # noqa: BLE001  whatever a task raises
            self._values[reference] = RayTaskError(error)
        else:
            lost = self._draws.random() < self.loses
            self._values[reference] = WorkerCrashedError("a worker died") if lost else pickle.dumps(value)


def replace_ray(monkeypatch: pytest.MonkeyPatch, *, nodes: int = 1, gpus: int = 0) -> InlineRay:
    """Replace Ray by tasks of this process; tasks that ask for a GPU get one after another."""
    made = InlineRay(nodes=nodes, gpus=gpus)
    for module in ("ray", "ray.util", "ray.util.scheduling_strategies"):
        monkeypatch.setitem(sys.modules, module, made)
    made.NodeAffinitySchedulingStrategy = lambda node_id, soft: node_id  # type: ignore[attr-defined]
    return made
