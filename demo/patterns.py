"""What the demo looks for."""

from __future__ import annotations

import motiflux as mf


def ring_pattern() -> mf.Pattern:
    """Four accounts, each wiring to the next."""
    builder = mf.PatternBuilder().vertex("a").vertex("b").vertex("c").vertex("d")
    for payer, payee in ("ab", "bc", "cd", "da"):
        builder.edge(payer, payee, "wire")
    return builder.build("ring of four wires")


def collector_pattern() -> mf.Pattern:
    """Three accounts wire to one, which wires on to a fifth."""
    builder = mf.PatternBuilder().vertex("a").vertex("b").vertex("c").vertex("collector").vertex("out")
    for payer in "abc":
        builder.edge(payer, "collector", "wire")
    return builder.edge("collector", "out", "wire").build("three wires in, one out")
