"""Counting by tables of local counts instead of one search (docs/design/counting.md)."""
