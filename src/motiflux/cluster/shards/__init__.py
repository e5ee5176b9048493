"""Graphs whose rows are sharded over the nodes of a cluster; see ``docs/design/cluster.md``."""
