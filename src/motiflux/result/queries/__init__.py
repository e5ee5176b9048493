"""Rows of queries: those of several patterns, in common columns."""
