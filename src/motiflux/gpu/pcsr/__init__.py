"""Arcs of a graph in partitions that are copied to a device one at a time (GENEVA, section 4)."""
