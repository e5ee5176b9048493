"""Estimates from samples: drawing, stopping, trawling."""
