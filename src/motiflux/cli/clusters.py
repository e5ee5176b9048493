"""The options by which commands search on a Ray cluster."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motiflux.cli import options as opt
from motiflux.cli.exits import UsageError

if TYPE_CHECKING:
    import motiflux as mf

LOCAL = "local"

ClusterOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Search on a Ray cluster: its address, auto for that of this machine, local to start one here.",
        show_default=False,
        rich_help_panel=opt.MORE,
    ),
]
TaskLogOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        parser=opt.file_name,
        help="With --cluster: write a line of JSON for each task, with its node and its time.",
        show_default=False,
        rich_help_panel=opt.MORE,
    ),
]

DEFAULT_MEMORY = "1GiB"
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="BYTES",
        help=f"For a sharded graph: memory of each worker, such as 4GiB. Default: {DEFAULT_MEMORY}.",
        show_default=False,
        rich_help_panel=opt.MORE,
    ),
]


def address_of(address: str | None) -> str | None:
    """Return the address of `motiflux.Cluster` for that of the command line; without one, a local cluster."""
    return None if address == LOCAL else address


def is_sharded(graph: Path) -> bool:
    """Return whether a path is the folder of a sharded graph."""
    return graph.is_dir() and (graph / "layout.json").exists()


def checked_address(graph: Path, cluster: str | None, directed: bool | None) -> str:
    """Return the address for a sharded graph; refuse options that are for reading other graphs."""
    if cluster is None:
        raise UsageError(f"{graph}: found a sharded graph: expected --cluster beside it")
    if directed is not None:
        option = "--directed" if directed else "--undirected"
        raise UsageError(f"{option}: expected none for a sharded graph, whose direction is known")
    return cluster


def refuse_memory(graph: Path, memory: str | None) -> None:
    """Refuse the memory of workers for a graph that is not sharded."""
    if memory is not None and not is_sharded(graph):
        raise UsageError(f"--memory {memory}: expected a sharded graph, found {graph}")


@contextmanager
def opened(
    address: str | None, task_log: Path | None, graph: Path, data: "mf.Graph", *, as_read: bool
) -> Iterator["mf.Cluster | None"]:
    """Yield the cluster of a command; None without one.

    Parameters
    ----------
    as_read
        Whether the graph is as its file says; else workers do not open the file.
    """
    if address is None:
        if task_log is not None:
            raise UsageError(f"--task-log {task_log}: expected --cluster beside it")
        yield None
        return
    import motiflux as mf

    with mf.Cluster(address_of(address), task_log=task_log) as cluster:
        if as_read and graph.suffix == ".mfg":
            cluster.map_file(data, graph)
        yield cluster
