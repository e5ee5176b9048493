"""Matching several query vertices at a time, in phases that read tables of rows (GENEVA)."""
