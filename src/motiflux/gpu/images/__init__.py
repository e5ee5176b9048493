"""Counts by images on a GPU: per vertex, per edge, and orbits."""
