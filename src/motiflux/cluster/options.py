"""The options of calls on a cluster: those of the functions of motiflux."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from motiflux.api.estimating import EstimateShown
from motiflux.api.per_vertex import By
from motiflux.errors import ArgumentError
from motiflux.pattern.asked import Distinct, Having
from motiflux.request.policy import SamplingPolicy
from motiflux.request.progress import Progress
from motiflux.words import DeviceName, SemanticsName, SymmetryName


class SearchOptions(TypedDict, total=False):
    """Options that all calls have."""

    semantics: SemanticsName
    symmetry: SymmetryName
    device: DeviceName
    timeout: float | None
    threads: int | None
    gpu_memory: int | str | None
    tuning: Mapping[str, str] | None


class ExactOptions(SearchOptions, total=False):
    """Options of calls that search for all embeddings."""

    engine: str
    progress: Progress


class CountOptions(ExactOptions, total=False):
    """Options of `motiflux.count`."""

    limit: int | None
    copies: bool
    distinct: Distinct | None
    having: Having | None


class MatchOptions(ExactOptions, total=False):
    """Options of `motiflux.match` that a cluster has."""

    limit: int | None
    batch_rows: int
    edges: bool | Literal["all"]
    attributes: Sequence[str]
    names: bool
    distinct: Distinct | None
    having: Having | None


class VertexOptions(ExactOptions, total=False):
    """Options of `motiflux.count_per_vertex`."""

    by: By


class OrbitOptions(TypedDict, total=False):
    """Options of `Cluster.orbits` and `Cluster.edge_orbits`."""

    device: DeviceName
    gpu_memory: int | str | None
    timeout: float | None
    progress: Progress
    threads: int | None
    tuning: Mapping[str, str] | None


class _DrawOptions(SearchOptions, total=False):
    seed: int


class SampleOptions(_DrawOptions, total=False):
    """Options of `motiflux.sample`, and the progress of a sharded graph's."""

    progress: Progress


class EstimateOptions(_DrawOptions, total=False):
    """Options of `motiflux.estimate`."""

    rel_error: float | None
    confidence: float
    samples: int | None
    estimator: str | SamplingPolicy
    progress: EstimateShown


class CensusOptions(TypedDict, total=False):
    """Options of `motiflux.census`, and the device of a sharded graph's."""

    device: DeviceName
    gpu_memory: int | str | None
    directed: bool | None
    connected: bool
    timeout: float | None
    progress: Progress
    threads: int | None


def check_known(
    options: Mapping[str, Any], known: frozenset[str], where: str = "for a sharded graph"
) -> None:
    """Refuse options that a call has not; None is what any option may be."""
    for name, value in options.items():
        if name not in known and value is not None:
            there = ", ".join(sorted(known))
            raise ArgumentError(name, f"no such option {where}, which has {there}", value)
