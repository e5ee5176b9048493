"""Graphs of other libraries: one library per module."""
