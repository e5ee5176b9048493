"""Flows between hosts in a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.arguments import check_integer
from motiflux.generate.base import Progress, Values, check_number, check_rows, check_vertices
from motiflux.generate.degrees import skew_of
from motiflux.generate.draws import Stream, draw_codes, times_of
from motiflux.generate.generator import CountedGenerator
from motiflux.graph import Graph
from motiflux.types import Label

_PROTOCOLS = {"dns": 0.24, "http": 0.12, "https": 0.41, "icmp": 0.05, "ntp": 0.06, "smtp": 0.04, "ssh": 0.08}


@dataclass(frozen=True, kw_only=True)
class Flows(CountedGenerator):
    """Flows from host to host in the order of their times, each of one of seven protocols.

    A few hosts send much, and other few receive much. The same two hosts may have many flows.

    Parameters
    ----------
    flows
        How many.
    hosts
        How many; None: as many as flows, which makes the average degree 2.
    exponent
        Of the power law that both degrees of hosts follow; above 2, at most 100.
    seconds
        Duration; the attribute ``time`` is in milliseconds from 0 and never decreases.

    Examples
    --------
    >>> import motiflux as mf
    >>> import numpy as np
    >>> columns = mf.generate.Flows(flows=1000, seed=1).columns()
    >>> columns.edge_label_names
    ('dns', 'http', 'https', 'icmp', 'ntp', 'smtp', 'ssh')
    >>> bool((np.diff(columns.edge_attributes["time"]) >= 0).all())
    True
    """

    flows: int
    hosts: int | None = None
    exponent: float = 2.2
    seconds: int = 86_400

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rows("flows", self.flows)
        if self.hosts is not None:
            check_vertices("hosts", self.hosts)
        check_vertices("hosts", self.num_vertices)
        check_number("exponent", self.exponent, 2.001, 100)
        check_integer("seconds", self.seconds, 1, 2**40)

    @property
    def num_vertices(self) -> int:
        """Number of hosts."""
        return max(2, self.flows) if self.hosts is None else self.hosts

    @property
    def is_directed(self) -> bool:
        """Flows have a direction."""
        return True

    @property
    def num_rows(self) -> int:
        """Number of flows."""
        return self.flows

    @property
    def edge_label_names(self) -> tuple[Label, ...]:
        """The protocols."""
        return tuple(_PROTOCOLS)

    @property
    def edge_attribute_names(self) -> tuple[str, ...]:
        """Flows have a time."""
        return ("time",)

    def draw_ends(
        self, first: int, sources: NDArray[np.uint32], targets: NDArray[np.uint32], threads: int
    ) -> None:
        """Fill the arrays with the ends of the flows number `first`, ..."""
        source = skew_of(self.seed, self.num_vertices, self.exponent, Stream.SOURCE_IDS)
        target = skew_of(self.seed, self.num_vertices, self.exponent, Stream.TARGET_IDS)
        _native.draw_skewed(self.seed, Stream.ENDS, source, target, True, first, sources, targets, threads)

    def draw_values(self, first: int, size: int, threads: int) -> Values:
        """Return the protocols and times of `size` flows from number `first` on."""
        shares = np.array(list(_PROTOCOLS.values()))
        labels = draw_codes(self.seed, Stream.EDGE_LABELS, shares, first, size, threads)
        times = times_of(self.seed, first, size, self.flows, 1000 * self.seconds, threads)
        return labels, {"time": times}


def flows(
    flows: int,
    *,
    hosts: int | None = None,
    exponent: float = 2.2,
    seconds: int = 86_400,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = False,
) -> Graph:
    """Return a graph of flows between hosts; parameters as for `Flows` and `Generator.columns`.

    Examples
    --------
    >>> import motiflux as mf
    >>> graph = mf.generate.flows(1000, seed=1)
    >>> graph.num_vertices, graph.num_edge_copies, list(graph.edge_attributes)
    (1000, 1000, ['time'])
    """
    generator = Flows(flows=flows, hosts=hosts, exponent=exponent, seconds=seconds, seed=seed)
    return generator.graph(threads=threads, progress=progress)
