"""Phases: a pattern decomposed for parallel vertex matching (GENEVA, sections 5 and 6)."""
