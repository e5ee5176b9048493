"""Make the pictures of README.md and the guide again: python docs/images/make.py [FOLDER]."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

import motiflux as mf
from motiflux.draw import Picture

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "demo"))

RING = "(a:person)-[w:wire]->(b:person)-[x:wire]->(c:person)-[y:wire]->(d:person)-[z:wire]->(a)"
FRAUD = (
    "(ann:person)-[:wire|cash]->(x:person|firm)-->(y)-[t:wire WHERE amount > 10000]->(b:bank), "
    "(ann)--(f:firm)--(v), (v)-->(b), (x)-[:owns]->(f), "
    "(p:person {country: 'CH'})-[:knows]->(w)~>(ann), (p)--(x)"
)


def transfers() -> mf.Graph:
    """Return the transfers that the guide searches."""
    rows = [
        ("Ann", "Bob", "wire", 9500.0),
        ("Bob", "Cleo", "wire", 9400.0),
        ("Cleo", "Dan", "wire", 9350.5),
        ("Dan", "Ann", "wire", 9200.0),
        ("Ann", "Bob", "wire", 120.0),
        ("Eve", "Ann", "card", 50.0),
        ("Fay", "Bob", "cash", 80.0),
        ("Bob", "Gus", "wire", 700.0),
        ("Cleo", "Hal", "wire", 20.0),
        ("Hal", "Dan", "card", 35.0),
        ("Ida", "Dan", "cash", 60.0),
        ("Jon", "Ann", "card", 45.0),
    ]
    payer, payee, kind, amount = zip(*rows, strict=True)
    names = sorted({*payer, *payee})
    return mf.Graph.from_edges(
        list(zip(payer, payee, strict=True)),
        directed=True,
        vertex_ids=names,
        vertex_labels=["person" if name < "Gus" else "firm" for name in names],
        edge_labels=list(kind),
        edge_attributes={"amount": list(amount)},
    )


def plan() -> Picture:
    """Return the plan of a search of five steps, with what came of it."""
    pairs = [(v, (v * step + offset) % 400) for v in range(400) for step, offset in ((3, 1), (7, 5), (11, 2))]
    pairs += [(v, (v + step) % 400) for v in range(400) for step in (1, 2, 5)]
    graph = mf.Graph.from_edges(
        [(u, v) for u, v in pairs if u != v],
        vertex_labels=["bank" if vertex % 8 == 0 else "person" for vertex in range(400)],
    )
    pattern = mf.Pattern.parse(
        "(a:person)~>(b:person)~>(c:person)~>(a), (a)~>(x:bank), (b)~>(y:bank)",
        name="a triangle of two banks",
    )
    return mf.explain(graph, pattern, threads=1, device="cpu").to_svg()


def pictures() -> dict[str, Picture]:
    """Return all pictures by the names of their files."""
    import picture as demo

    graph, ring = transfers(), mf.Pattern.parse(RING, name="ring of four wires")
    row = ["Ann", "Bob", "Cleo", "Dan"]
    tree = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]
    clients = "(hub:bank)--(a:person), (hub)--(b:person), (hub)--(c:firm), (hub)--(d), (hub)--(e:person)"
    return {
        "ring.svg": demo.picture(),
        "pattern-ring.svg": ring.to_svg(),
        "pattern-star.svg": mf.Pattern.parse(clients, name="a bank and its clients").to_svg(),
        "pattern-clique.svg": mf.Pattern.from_edges(
            combinations(range(4), 2), name="clique of four"
        ).to_svg(),
        "pattern-tree.svg": mf.Pattern.from_edges(tree, name="tree").to_svg(),
        "pattern-large.svg": mf.Pattern.parse(FRAUD).to_svg(),
        "match.svg": mf.draw_match(graph, ring, row, attributes=["amount"]),
        "match-neighbors.svg": mf.draw_match(graph, ring, row, neighbors=6),
        "graph.svg": mf.draw_graph(graph, pattern=ring, rows=row),
        "plan.svg": plan(),
    }


def waits(file: Path) -> None:
    """Draw the waits of updates that ``motiflux bench streaming`` measured."""
    benchmarks = HERE.parents[1] / "benchmarks"
    sys.path.insert(0, str(benchmarks / "suite" / "streaming_parts"))
    import chart

    measured = benchmarks / "results" / "streaming-flows-triangle-nvidia-h200-2026-11-30.json"
    ways = ("ring", "feed", "cpu, 16 threads", "changing", "batch of 128", "batch of 4096")
    chart.main([str(measured), "-o", str(file), *(word for way in ways for word in ("--way", way))])


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for name, picture in pictures().items():
        picture.save(folder / name)
        print(folder / name)
    waits(folder / "streaming-waits.svg")
