"""Copies of edges that have attributes: which ones there are, and which conditions each satisfies."""
