"""Passes that make or change the steps of a plan, delta plans, plans that share a search: one per file."""
