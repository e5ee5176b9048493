"""Draw docs/images/ring.svg: a pattern, and where motiflux finds it in a small network of transfers."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import motiflux as mf
from motiflux.draw import Link, Node, Panel, Picture, diagram

DEFAULT_PATH = Path(__file__).resolve().parents[1] / "docs" / "images" / "ring.svg"
TITLE = "A ring of four wire transfers, and where it occurs in a network"
SEED = 7
RING = "(a)-[:wire]->(b)-[:wire]->(c)-[:wire]->(d)-[:wire]->(a)"


def network(seed: int, accounts: int = 50, transfers: int = 80) -> mf.Graph:
    """Return transfers between accounts, some of which do more business than others, with a ring planted."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(accounts)
    ring = rng.choice(accounts, size=4, replace=False)
    payer, payee = (ids[(accounts * rng.random(transfers) ** 2).astype(np.int64)] for _ in range(2))
    payee = np.where(payee == payer, (payee + 1) % accounts, payee)
    kind = rng.choice(["card", "cash", "wire"], size=transfers, p=[0.55, 0.25, 0.2])
    return mf.Graph.from_edges(
        (np.concatenate([payer, ring]), np.concatenate([payee, np.roll(ring, -1)])),
        directed=True,
        edge_labels=np.concatenate([kind, np.full(4, "wire")]),
    )


def picture(seed: int = SEED) -> Picture:
    """Return the pattern beside a small network with its matches in colour."""
    graph = network(seed)
    ring = mf.Pattern.parse(RING)
    rows = mf.match(graph, ring, symmetry="subgraphs").to_numpy()
    pattern = diagram(
        [Node(vertex.name, style="found") for vertex in ring.vertices],
        [Link(edge.source, edge.target, ("wire",), arrow=True, style="found") for edge in ring.edges],
    )
    found = mf.draw_graph(graph, pattern=ring, rows=rows).panel
    panel = Panel()
    panel.text(pattern.width / 2, 16, "the pattern", size=16)
    panel.put(pattern, 0, 40 + (found.height - pattern.height) / 2)
    start = pattern.width + 60
    panel.text(start + found.width / 2, 16, "where it occurs among transfers by card, cash and wire", size=16)
    panel.put(found, start, 40)
    return Picture(panel, TITLE)


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_PATH
    picture().save(path)
    print(path)
