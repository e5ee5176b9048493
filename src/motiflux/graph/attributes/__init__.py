"""Attributes of vertices and edges."""
