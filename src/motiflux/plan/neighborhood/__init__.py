"""Patterns with a universal vertex, counted within the neighbourhood of its image."""
