"""Draw docs/images/ring.svg: a pattern, and where motiflux finds it in a small network of transfers."""

from __future__ import annotations

import sys
from pathlib import Path

from patterns import ring_pattern
from transfers import generate

import motiflux as mf
from motiflux.draw import Link, Node, Panel, Picture, diagram

DEFAULT_PATH = Path(__file__).resolve().parents[1] / "docs" / "images" / "ring.svg"
TITLE = "A ring of four wire transfers, and where it occurs in a network"


def picture(seed: int = 14) -> Picture:
    """Return the pattern beside a small network with its matches in colour."""
    network = generate(84, accounts=50, rings=1, seed=seed)
    graph = mf.Graph.from_edges((network.payer, network.payee), directed=True, edge_labels=network.kind)
    ring = ring_pattern()
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
