"""Kernels for plans: translation units, and arguments of launches."""
