"""Tables of transfers with the attributes that the queries look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import motiflux as mf
from motiflux.generate import Transfers

COUNTRIES = np.array(["AT", "BE", "CH", "DE", "ES", "FR"])
FIRST_DAY = np.datetime64("2024-01-01", "ms")


@dataclass(frozen=True, eq=False)
class Tables:
    """Columns of transfers, with an entry each, and of accounts; ids are 0, 1, ..."""

    src: Any
    dst: Any
    edge_labels: Any
    edge_attributes: dict[str, Any]
    vertex_labels: Any
    vertex_attributes: dict[str, Any]

    def graph(self, *, directed: bool = True) -> mf.Graph:
        """Return the graph."""
        return mf.Graph.from_edges(
            (self.src, self.dst),
            directed=directed,
            num_vertices=len(self.vertex_labels),
            edge_labels=self.edge_labels,
            edge_attributes=self.edge_attributes,
            vertex_labels=self.vertex_labels,
            vertex_attributes=self.vertex_attributes,
        )

    def columns(self) -> dict[str, Any]:
        """Return the columns as `peer.pattern_sql.load` takes them."""
        return {
            "src": self.src,
            "dst": self.dst,
            "edge_labels": self.edge_labels,
            "edge_attributes": self.edge_attributes,
            "vertex_ids": np.arange(len(self.vertex_labels)),
            "vertex_labels": self.vertex_labels,
            "vertex_attributes": self.vertex_attributes,
        }


def tables_of(generator: Transfers, *, threads: int = 1) -> Tables:
    """Draw the transfers, and what else is known of them and of the accounts."""
    columns = generator.columns(threads=threads)
    random = np.random.default_rng(generator.seed)
    size, accounts = len(columns), columns.num_vertices
    amounts = columns.edge_attributes["amount"]
    fees = np.where(random.random(size) < 0.2, np.nan, np.round(0.01 * amounts, 2))
    span = np.timedelta64(1000 * generator.seconds, "ms")
    return Tables(
        src=columns.sources,
        dst=columns.targets,
        edge_labels=np.array(columns.edge_label_names)[columns.edge_labels],
        edge_attributes={
            "time": FIRST_DAY + columns.edge_attributes["time"].astype("timedelta64[ms]"),
            "amount": amounts,
            "cents": np.round(100 * amounts).astype(np.int64),
            "fee": fees,
        },
        vertex_labels=random.choice(["person", "firm"], accounts, p=[0.75, 0.25]),
        vertex_attributes={
            "country": random.choice(COUNTRIES, accounts),
            "opened": FIRST_DAY + random.random(accounts) * span,
            "limit": random.integers(10, 2000, accounts),
        },
    )
