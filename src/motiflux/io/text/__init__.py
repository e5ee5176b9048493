"""Formats of text: one per file."""
