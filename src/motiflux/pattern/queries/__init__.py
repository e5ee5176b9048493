"""Queries: text that stands for several patterns, which are counted and listed as one."""
