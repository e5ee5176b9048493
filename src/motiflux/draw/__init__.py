"""Pictures of points and lines as SVG: layout and output. Knows no graphs.

`diagram` lays out nodes and links, `Panel` takes shapes that were placed by hand, `Picture` is the document.
The drawings of patterns, plans and matches are defined in their packages.
"""

from motiflux.draw.diagram import MAX_NODES, Link, Node, diagram
from motiflux.draw.layout import place
from motiflux.draw.panel import Panel, grid
from motiflux.draw.picture import Picture
from motiflux.draw.style import slots_for

__all__ = ["MAX_NODES", "Link", "Node", "Panel", "Picture", "diagram", "grid", "place", "slots_for"]
