"""Passes that make or change the steps of a plan, and delta plans: one pass per file."""
