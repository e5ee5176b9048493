"""Calls on the machines of a Ray cluster; see ``docs/design/cluster.md``."""
