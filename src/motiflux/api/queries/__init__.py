"""Counts, rows and estimates of queries, made of those of their patterns."""
